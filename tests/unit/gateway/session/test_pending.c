/* Which request an answer belongs to, and that the counters are what a count would give. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>

#include "base/mem.h"
#include "session/pending.h"

/* Stands for the kernel's, into which nothing here looks. */
struct seat {
    int nothing;
};

struct scene {
    struct pending pending;
    struct seat one, two;
};

static void begin(struct scene *scene) {
    *scene = (struct scene){0};
    pending_init(&scene->pending);
}

static void end(struct scene *scene) {
    pending_finish(&scene->pending);
    assert_int_equal(scene->pending.count, 0);
    assert_int_equal(scene->pending.bytes, 0);
    assert_int_equal(scene->pending.busy, 0);
    assert_int_equal(scene->pending.executing, 0);
    assert_int_equal(mem_live(), 0);
}

/* A request whose header differs from others of its ids by tag. */
static struct request *add(struct scene *scene, struct seat *seat, const char *msg_type,
                           const char *msg_id, const char *tag) {
    char json[128];
    snprintf(json, sizeof json, "{\"msg_id\":\"%s\",\"tag\":\"%s\"}", msg_id, tag);
    struct msg msg = {.channel = MSG_SHELL, .header = slice_from_text(json)};
    struct msg_header header = {
        .msg_id = (char *)msg_id, .msg_type = (char *)msg_type, .session = "s"};
    return pending_add(&scene->pending, seat, seat == &scene->one ? "one" : "", &msg, &header);
}

static struct request *find(struct scene *scene, const char *msg_id, const char *session) {
    struct msg_header parent = {.msg_id = (char *)msg_id, .session = (char *)session};
    return pending_find(&scene->pending, &parent);
}

static const struct msg_type *type(const char *name) {
    return msg_type_from(slice_from_text(name));
}

static void remembers_what_has_a_reply(void **state) {
    (void)state;
    struct scene scene;
    begin(&scene);
    assert_null(add(&scene, &scene.one, "comm_msg", "a", ""));
    assert_null(add(&scene, &scene.one, "nobody_knows", "a", ""));
    struct request *a = add(&scene, &scene.one, "execute_request", "a", "");
    assert_ptr_equal(find(&scene, "a", "s"), a);
    assert_null(find(&scene, "a", "t"));
    assert_null(find(&scene, "b", "s"));
    assert_null(find(&scene, "", ""));
    assert_string_equal(a->header, "{\"msg_id\":\"a\",\"tag\":\"\"}");
    assert_int_equal(scene.pending.count, 1);
    assert_true(scene.pending.bytes > strlen(a->header));
    end(&scene);
}

static void is_over_with_reply_and_idle_in_any_order(void **state) {
    (void)state;
    struct scene scene;
    begin(&scene);
    struct request *a = add(&scene, &scene.one, "execute_request", "a", "");
    struct request *b = add(&scene, &scene.one, "execute_request", "b", "");
    pending_note_reply(&scene.pending, a);
    assert_int_equal(scene.pending.count, 2);
    pending_note_idle(&scene.pending, a);
    assert_int_equal(scene.pending.count, 1);
    pending_note_idle(&scene.pending, b);
    assert_int_equal(scene.pending.count, 1);
    assert_int_equal(scene.pending.executing, 0);
    pending_note_reply(&scene.pending, b);
    assert_int_equal(scene.pending.count, 0);
    end(&scene);
}

static void counts_what_keeps_a_kernel_busy(void **state) {
    (void)state;
    struct scene scene;
    begin(&scene);
    struct pending *pending = &scene.pending;
    struct request *cell = add(&scene, &scene.one, "execute_request", "a", "");
    struct request *info = add(&scene, &scene.one, "kernel_info_request", "b", "");
    struct request *help = add(&scene, &scene.one, "inspect_request", "c", "");
    assert_int_equal(pending->executing, 1);
    assert_int_equal(pending->busy, 0);
    pending_note_busy(pending, cell);
    pending_note_busy(pending, cell);
    pending_note_busy(pending, info); /* not tracked */
    pending_note_busy(pending, help);
    assert_int_equal(pending->busy, 2);
    pending_note_idle(pending, help);
    pending_note_idle(pending, help);
    assert_int_equal(pending->busy, 1);
    pending_note_error(pending, cell);
    assert_int_equal(pending->executing, 0);
    assert_int_equal(pending->busy, 1);
    pending_remove(pending, cell);
    assert_int_equal(pending->busy, 0);
    assert_int_equal(pending->executing, 0);
    end(&scene);
}

static void takes_only_the_reply_that_fits(void **state) {
    (void)state;
    struct scene scene;
    begin(&scene);
    struct request *a = add(&scene, &scene.one, "execute_request", "a", "");
    assert_null(pending_find_asker(a, MSG_SHELL, type("inspect_reply")));
    assert_null(pending_find_asker(a, MSG_SHELL, type("made_up_reply")));
    assert_null(pending_find_asker(a, MSG_CONTROL, type("execute_reply")));
    assert_null(pending_find_asker(a, MSG_IOPUB, type("execute_reply")));
    assert_null(pending_find_asker(NULL, MSG_SHELL, type("execute_reply")));
    assert_ptr_equal(pending_find_asker(a, MSG_SHELL, type("execute_reply")), a);
    pending_note_reply(&scene.pending, a);
    assert_null(pending_find_asker(a, MSG_SHELL, type("execute_reply")));
    end(&scene);
}

/* Two clients, one msg_id, one session: the kernel cannot tell them apart, but it keeps the order.
 */
static void serves_the_same_ids_in_their_order(void **state) {
    (void)state;
    struct scene scene;
    begin(&scene);
    struct request *first = add(&scene, &scene.one, "execute_request", "a", "1");
    struct request *second = add(&scene, &scene.two, "execute_request", "a", "2");
    struct request *third = add(&scene, &scene.one, "inspect_request", "a", "3");
    assert_int_equal(scene.pending.count, 3);
    assert_ptr_equal(find(&scene, "a", "s"), first);
    assert_ptr_equal(pending_find_asker(first, MSG_SHELL, type("inspect_reply")), third);
    pending_note_reply(&scene.pending, first);
    /* Both replies may be read before any status. */
    assert_ptr_equal(pending_find_asker(first, MSG_SHELL, type("execute_reply")), second);
    pending_note_reply(&scene.pending, second);
    pending_note_idle(&scene.pending, first);
    assert_ptr_equal(find(&scene, "a", "s"), second);
    pending_remove(&scene.pending, third);
    pending_note_idle(&scene.pending, second);
    assert_null(find(&scene, "a", "s"));
    end(&scene);
}

static void removes_from_anywhere_among_the_same_ids(void **state) {
    (void)state;
    struct scene scene;
    enum { COUNT = 5 };
    for (int gone = 0; gone < COUNT; gone++) {
        struct request *requests[COUNT], *last;
        begin(&scene);
        for (int i = 0; i < COUNT; i++) {
            char tag[2] = {(char)('0' + i)};
            requests[i] = add(&scene, &scene.one, "execute_request", "a", tag);
        }
        pending_remove(&scene.pending, requests[gone]);
        last = add(&scene, &scene.one, "execute_request", "a", "last");
        for (int i = 0; i < COUNT; i++) {
            if (i == gone)
                continue;
            assert_ptr_equal(find(&scene, "a", "s"), requests[i]);
            pending_remove(&scene.pending, requests[i]);
        }
        assert_ptr_equal(find(&scene, "a", "s"), last);
        end(&scene);
    }
}

/* A kernel that has seen the very same message drops it without a word. */
static void takes_the_same_header_for_the_same_request(void **state) {
    (void)state;
    struct scene scene;
    begin(&scene);
    struct request *a = add(&scene, &scene.one, "execute_request", "a", "");
    assert_ptr_equal(add(&scene, &scene.one, "execute_request", "a", ""), a);
    assert_false(a->is_shared);
    assert_ptr_equal(add(&scene, &scene.two, "execute_request", "a", ""), a);
    assert_true(a->is_shared);
    assert_int_equal(scene.pending.count, 1);
    end(&scene);
}

static void gives_a_session_id_back_what_is_its_own(void **state) {
    (void)state;
    struct scene scene;
    begin(&scene);
    struct request *a = add(&scene, &scene.one, "execute_request", "a", "");
    struct request *b = add(&scene, &scene.two, "execute_request", "b", "");
    pending_forget_seat(&scene.pending, &scene.one);
    pending_forget_seat(&scene.pending, &scene.two);
    assert_null(a->seat);
    assert_null(b->seat);
    pending_adopt(&scene.pending, &scene.two, "one");
    assert_ptr_equal(a->seat, &scene.two);
    assert_null(b->seat); /* it had no name */
    end(&scene);
}

static void holds_ten_thousand_without_counting_them(void **state) {
    (void)state;
    enum { COUNT = 10000 };
    struct scene scene;
    begin(&scene);
    for (int i = 0; i < COUNT; i++) {
        char text[16];
        snprintf(text, sizeof text, "%d", i);
        /* All of one id, which is the worst. */
        pending_note_busy(&scene.pending, add(&scene, &scene.one, "execute_request", "a", text));
    }
    assert_int_equal(scene.pending.count, COUNT);
    assert_int_equal(scene.pending.busy, COUNT);
    assert_int_equal(scene.pending.executing, COUNT);
    end(&scene);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(remembers_what_has_a_reply),
        cmocka_unit_test(is_over_with_reply_and_idle_in_any_order),
        cmocka_unit_test(counts_what_keeps_a_kernel_busy),
        cmocka_unit_test(takes_only_the_reply_that_fits),
        cmocka_unit_test(serves_the_same_ids_in_their_order),
        cmocka_unit_test(removes_from_anywhere_among_the_same_ids),
        cmocka_unit_test(takes_the_same_header_for_the_same_request),
        cmocka_unit_test(gives_a_session_id_back_what_is_its_own),
        cmocka_unit_test(holds_ten_thousand_without_counting_them),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
