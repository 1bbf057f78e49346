/* What clients can make a session hold, and what they hear where it is too much. */
#include <errno.h>

#include "guest.h"
#include "played.h"

enum { PENDING_BYTES = 1 << 20, PIECE = 64 * 1024 };

static void expect_queue_full(struct guest *guest, const char *msg_id, const char *limit) {
    char line[128];
    snprintf(line, sizeof line, "iopub error:KernelQueueFull %s", msg_id);
    assert_int_equal(guest_count(guest, line), 1);
    snprintf(line, sizeof line, "shell execute_reply:error %s", msg_id);
    assert_int_equal(guest_count(guest, line), 1);
    snprintf(line, sizeof line, "iopub status:idle %s", msg_id);
    assert_int_equal(guest_count(guest, line), 1);
    if (!strstr(guest->evalue, limit))
        fail_msg("\"%s\" is not in: %s", limit, guest->evalue);
}

static void ask_number(struct guest *guest, const char *msg_type, int number,
                       struct slice content) {
    char msg_id[16];
    snprintf(msg_id, sizeof msg_id, "%d", number);
    guest_ask_as(guest, MSG_SHELL, msg_type, msg_id, "s", content);
}

/* As many as the parameter says, ready or not; one that ends makes room for one. */
static void holds_so_many_requests(void **state) {
    (void)state;
    struct slice nothing = {0};
    struct rig rig;
    struct guest guest;
    rig_begin(&rig);
    rig.params.session_pending_requests = 5;
    struct kernel *kernel = rig_start(&rig);
    guest_attach(&guest, kernel, "");
    for (int i = 0; i < 6; i++)
        ask_number(&guest, "execute_request", i, nothing);
    assert_int_equal(guest.heard, 3);
    expect_queue_full(&guest, "5", "5 requests are open");
    expect_queue_full(&guest, "5", "session_pending_requests");
    ask_number(&guest, "comm_msg", 6, nothing); /* has no reply, and is not counted */
    UNTIL(&rig, is_state(kernel, "idle") && played_got(played_newest(&rig), "6"));
    struct played *played = played_newest(&rig);
    assert_int_equal(played->asked_count, 6);
    ask_number(&guest, "execute_request", 7, nothing);
    expect_queue_full(&guest, "7", "session_pending_requests");
    played_serve(played, played_got(played, "0"));
    UNTIL(&rig, guest_count(&guest, "iopub status:idle 0") &&
                    guest_count(&guest, "shell execute_reply:ok 0"));
    ask_number(&guest, "execute_request", 8, nothing);
    UNTIL(&rig, played_got(played, "8"));
    ask_number(&guest, "execute_request", 9, nothing);
    expect_queue_full(&guest, "9", "session_pending_requests");
    assert_null(played_got(played, "5"));
    assert_null(played_got(played, "7"));
    /* What was turned down is over: it does not end a second time. */
    played_die(played, RPC_CAUSE_EXIT, 0, "");
    UNTIL(&rig, guest_count(&guest, "iopub status:dead -"));
    assert_int_equal(guest_count(&guest, "shell execute_reply:error 7"), 1);
    guest_finish(&guest);
    rig_end(&rig);
}

static struct slice make_piece(void) {
    static char piece[PIECE];
    memset(piece, 'x', sizeof piece);
    memcpy(piece, "{\"x\":\"", 6);
    memcpy(piece + sizeof piece - 2, "\"}", 2);
    return slice_make(piece, sizeof piece);
}

/* Before the kernel is ready: large messages fill it, and so do very many small ones. */
static void holds_so_many_bytes_until_ready(void **state) {
    (void)state;
    struct rig rig;
    struct guest guest;
    int taken = 0;
    rig_begin(&rig);
    rig.params.session_pending_bytes = PENDING_BYTES;
    rig.held_kind = RPC_JAIL_CREATE;
    struct kernel *kernel = rig_start(&rig);
    guest_attach(&guest, kernel, "");
    while (guest.heard == 0)
        ask_number(&guest, "execute_request", taken++, make_piece());
    assert_in_range(taken, PENDING_BYTES / PIECE - 1, PENDING_BYTES / PIECE);
    char last[16];
    snprintf(last, sizeof last, "%d", --taken);
    expect_queue_full(&guest, last, "session_pending_bytes, 1048576");
    for (int i = 0; i < 1000; i++) /* what has no reply is counted too, and told to the operator */
        ask_number(&guest, "comm_msg", 1000 + i, make_piece());
    assert_int_equal(guest.heard, 3);
    unsigned lines = 0;
    for (const char *at = rig.troubles.data; (at = strchr(at, '\n')); at++)
        lines++;
    assert_int_equal(lines, 10); /* the 1st, 2nd, 4th, ... 512th */
    UNTIL(&rig, rig.is_held);
    rig_answer_held(&rig);
    UNTIL(&rig, played_newest(&rig) && played_newest(&rig)->asked_count == (size_t)taken);
    ask_number(&guest, "execute_request", 5000, make_piece());
    UNTIL(&rig, played_got(played_newest(&rig), "5000"));
    guest_finish(&guest);
    rig_end(&rig);
}

static void counts_what_small_messages_cost(void **state) {
    (void)state;
    struct rig rig;
    struct guest guest;
    rig_begin(&rig);
    rig.params.session_pending_bytes = PENDING_BYTES;
    rig.held_kind = RPC_JAIL_CREATE;
    struct kernel *kernel = rig_start(&rig);
    guest_attach(&guest, kernel, "");
    int64_t before = mem_live();
    for (int i = 0; i < PENDING_BYTES / 100; i++)
        ask_number(&guest, "comm_msg", i, (struct slice){0});
    /* Two allocations each, of which the one takes more than 240 bytes. */
    assert_true((mem_live() - before) / 2 * 240 <= PENDING_BYTES);
    UNTIL(&rig, rig.is_held);
    rig_answer_held(&rig);
    guest_finish(&guest);
    rig_end(&rig);
}

/* Requests that were sent are not held any more, but their headers are. */
static void counts_the_headers_of_open_requests(void **state) {
    (void)state;
    struct rig rig;
    struct guest guest;
    rig_begin(&rig);
    char *msg_id = mem_zalloc(50001, 1);
    rig.params.session_pending_bytes = PENDING_BYTES;
    struct kernel *kernel = rig_start_ready(&rig);
    guest_attach(&guest, kernel, "");
    int count = 0;
    while (guest.heard == 0 && count < 100) {
        memset(msg_id, 'a' + count % 26, 50000);
        guest_ask_as(&guest, MSG_SHELL, "history_request", msg_id, "s", (struct slice){0});
        count++;
        UNTIL(&rig, guest.heard || played_newest(&rig)->asked_count == (size_t)count);
    }
    assert_in_range(count, 5, 20);
    assert_non_null(strstr(guest.evalue, "session_pending_bytes"));
    mem_free(msg_id);
    guest_finish(&guest);
    rig_end(&rig);
}

/* A kernel that is ready and does not read. */
static void holds_so_many_bytes_for_one_that_does_not_read(void **state) {
    (void)state;
    struct rig rig;
    struct guest guest;
    struct err err;
    rig_begin(&rig);
    rig.params.session_pending_bytes = PENDING_BYTES;
    rig.small_queues = true;
    rig.spec.interrupt_by_message = true;
    struct kernel *kernel = rig_start_ready(&rig);
    struct played *played = played_newest(&rig);
    guest_attach(&guest, kernel, "");
    played->deaf = true;
    int taken = 0;
    while (guest.heard == 0 && taken < 1000)
        ask_number(&guest, "execute_request", taken++, make_piece());
    taken--;
    assert_in_range(taken, PENDING_BYTES / PIECE - 2, PENDING_BYTES / PIECE + 40);
    assert_int_equal(guest.heard, 3);
    /* So it is with what has no reply. */
    for (int i = 0; i < 1000; i++)
        ask_number(&guest, "comm_msg", 1000 + i, make_piece());
    assert_true(rig.troubles.size > 0);
    /* When it reads again, all that was taken arrives, in order. */
    played->deaf = false;
    played_listen(played);
    for (int i = 0; i < taken; i++) {
        char msg_id[16];
        snprintf(msg_id, sizeof msg_id, "%d", i);
        UNTIL(&rig, played_got(played, msg_id));
        assert_string_equal(played->asked[i]->msg_id, msg_id);
    }
    assert_int_equal(kernel_interrupt(kernel, -1, &err), 0);
    guest_finish(&guest);
    rig_end(&rig);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(holds_so_many_requests),
        cmocka_unit_test(holds_so_many_bytes_until_ready),
        cmocka_unit_test(counts_what_small_messages_cost),
        cmocka_unit_test(counts_the_headers_of_open_requests),
        cmocka_unit_test(holds_so_many_bytes_for_one_that_does_not_read),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
