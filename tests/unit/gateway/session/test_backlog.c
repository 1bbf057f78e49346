/* What is kept for a session_id: the arithmetic of what was acknowledged, and what is lost. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>

#include "base/mem.h"
#include "session/backlog.h"
#include "wire/ws_legacy.h"
#include "wire/ws_v1.h"

enum { MESSAGES = 400 };

struct scene {
    struct backlog backlog;
    size_t total;
};

static void begin(struct scene *scene) {
    scene->total = 0;
    backlog_init(&scene->backlog, &scene->total);
}

static void end(struct scene *scene) {
    backlog_finish(&scene->backlog);
    assert_int_equal(scene->total, 0);
    assert_int_equal(mem_live(), 0);
}

/* A stream message that says its number, of that parent, and as long as pad says. */
static struct frame make(enum encoding encoding, int number, const char *parent, int pad) {
    char header[80], parent_header[80];
    char *content = mem_format("{\"name\":\"stdout\",\"text\":\"%0*d\"}", pad, number);
    snprintf(header, sizeof header, "{\"msg_id\":\"%d\",\"msg_type\":\"stream\"}", number);
    snprintf(parent_header, sizeof parent_header, "{\"msg_id\":\"%s\"}", parent);
    struct msg msg = {MSG_IOPUB,
                      slice_from_text(header),
                      slice_from_text(parent_header),
                      SLICE_LITERAL("{}"),
                      slice_from_text(content),
                      NULL,
                      0};
    char id[16];
    snprintf(id, sizeof id, "%d", number);
    struct msg_header parsed = {.msg_id = id, .msg_type = (char *)"stream"};
    struct outgoing outgoing = {.msg = &msg, .header = &parsed};
    struct frame frame = {.encoding = encoding};
    frame.payload = bytes_ref(outgoing_encode(&outgoing, encoding, &frame.binary));
    outgoing_finish(&outgoing);
    mem_free(content);
    return frame;
}

static int number_of(const struct kept *kept) {
    struct outgoing outgoing;
    const struct msg_header *header;
    outgoing_begin(&outgoing, &kept->frame);
    assert_non_null(outgoing_msg(&outgoing, &header));
    int number = atoi(header->msg_id);
    outgoing_finish(&outgoing);
    return number;
}

static void add_sent(struct scene *scene, int number, uint64_t position) {
    struct frame frame = make(ENCODING_V1, number, "p", 1);
    backlog_add_sent(&scene->backlog, &frame, false, position);
    bytes_unref(frame.payload);
}

static void add_unsent(struct scene *scene, int number, const char *parent, int pad, bool is_end) {
    struct frame frame = make(number % 2 ? ENCODING_LEGACY : ENCODING_V1, number, parent, pad);
    backlog_add_unsent(&scene->backlog, &frame, is_end);
    bytes_unref(frame.payload);
}

/* Sends the next one at position; its number, -1 where there is none, -2 for the gap. */
static int send_next(struct scene *scene, uint64_t position) {
    struct kept *kept = backlog_next(&scene->backlog);
    if (!kept)
        return -1;
    if (kept_is_gap(kept))
        return -2;
    int number = number_of(kept);
    struct frame frame = kept->frame;
    backlog_note_sent(&scene->backlog, kept, &frame, position);
    return number;
}

static void forgets_what_was_acknowledged_whole(void **state) {
    (void)state;
    struct scene scene;
    begin(&scene);
    for (int i = 0; i < 5; i++)
        add_sent(&scene, i, 100 + 10 * (uint64_t)i);
    backlog_acknowledge(&scene.backlog, 99);
    size_t all = scene.backlog.sent_bytes;
    backlog_acknowledge(&scene.backlog, 119); /* 100 and 110; of 120 the last byte lacks */
    assert_int_equal(scene.backlog.sent_bytes, all / 5 * 3);
    assert_int_equal(scene.total, 0);
    add_sent(&scene, 5, UINT64_MAX - 1);
    backlog_rewind(&scene.backlog);
    assert_int_equal(scene.backlog.sent_bytes, 0);
    assert_int_equal(scene.total, all / 5 * 4);
    for (int i = 2; i <= 5; i++)
        assert_int_equal(send_next(&scene, (uint64_t)i), i); /* of a new stream */
    assert_int_equal(send_next(&scene, 6), -1);
    backlog_acknowledge(&scene.backlog, 5);
    assert_int_equal(scene.backlog.sent_bytes, 0);
    end(&scene);
}

/* Streams that end in message 0, after so many of its bytes: whether that was its death. */
static void counts_deaths_in_the_middle_alone(void **state) {
    (void)state;
    struct scene scene;
    begin(&scene);
    const uint64_t before = 200, head = 10; /* of the stream; of a frame */
    add_unsent(&scene, 0, "p", 1000, false);
    const uint64_t size = backlog_next(&scene.backlog)->frame.payload->size;
    const struct {
        uint64_t acknowledged;
        unsigned deaths;
    } rows[] = {{0, 0}, {before, 0}, {before + head + 1, 1}, {before - 1, 1}, {before + size, 2}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        assert_int_equal(send_next(&scene, before + head + size), 0);
        backlog_acknowledge(&scene.backlog, rows[i].acknowledged);
        backlog_note_death(&scene.backlog, rows[i].acknowledged);
        backlog_rewind(&scene.backlog);
        assert_int_equal(backlog_next(&scene.backlog)->deaths, rows[i].deaths);
    }
    end(&scene);
}

/* Beside a model that is only numbers: streams that end anywhere, over and over. */
static void follows_a_model(void **state) {
    (void)state;
    struct scene scene;
    begin(&scene);
    int said = 0, arrived = 0, sent = 0; /* numbers below them */
    uint64_t first = 0;                  /* position i of this stream is message first + i - 1 */
    srand(4711);
    for (int step = 0; step < 20000; step++) {
        int choice = rand() % 100;
        if (choice < 45 && sent == said) {
            add_sent(&scene, said, (uint64_t)said - first + 1);
            sent = ++said;
        } else if (choice < 60)
            add_unsent(&scene, said++, "p", 1, false);
        else if (choice < 80 && sent < said) {
            assert_int_equal(send_next(&scene, (uint64_t)sent - first + 1), sent);
            sent++;
        } else if (choice < 95 && arrived < sent) {
            arrived += rand() % (sent - arrived) + 1;
            backlog_acknowledge(&scene.backlog, (uint64_t)arrived - first);
        } else if (choice >= 95) {
            backlog_rewind(&scene.backlog);
            sent = arrived;
            first = (uint64_t)arrived;
        }
        assert_int_equal(scene.total, scene.backlog.unsent_bytes);
        assert_true(list_is_empty(&scene.backlog.sent) == (arrived == sent));
        assert_true(!backlog_next(&scene.backlog) == (sent == said));
    }
    assert_true(arrived > 1000);
    end(&scene);
}

/* Everything is kept or counted, in order, head and tail both, and never more than the limit. */
static void check_loss(struct scene *scene, size_t limit, bool has_ends) {
    int count = 0, last = -1, before_gap = 0, after_gap = 0;
    uint64_t missing = 0;
    assert_true(scene->total <= limit);
    for (int number; (number = send_next(scene, 1)) != -1;) {
        if (number == -2) {
            struct gap *gap = backlog_take_gap(&scene->backlog);
            assert_int_equal(missing, 0);
            for (size_t i = 0; i < gap->count; i++)
                missing += gap->missing[i].messages;
            gap_destroy(gap);
            continue;
        }
        assert_true(number > last);
        last = number;
        count++;
        *(missing ? &after_gap : &before_gap) += 1;
    }
    assert_int_equal(count + missing, MESSAGES);
    assert_true(missing > 0 && before_gap > 0 && after_gap > 0);
    assert_int_equal(last, MESSAGES - 1);
    if (has_ends)
        assert_true(after_gap >= MESSAGES / 20);
}

static void loses_from_the_middle(void **state) {
    (void)state;
    static const size_t limits[] = {8000, 9001, 20000, 47123};
    for (size_t i = 0; i < sizeof limits / sizeof *limits; i++) {
        struct scene scene;
        begin(&scene);
        for (int number = 0; number < MESSAGES; number++) {
            add_unsent(&scene, number, "p", number * 7 % 200, false);
            backlog_shrink(&scene.backlog, limits[i]);
            assert_true(scene.total <= limits[i]);
        }
        check_loss(&scene, limits[i], false);
        end(&scene);
    }
}

/* A twentieth are ends, and all of these in the tail are there. */
static void keeps_the_ends(void **state) {
    (void)state;
    enum { LIMIT = 40000 };
    struct scene scene;
    begin(&scene);
    for (int number = 0; number < MESSAGES; number++) {
        add_unsent(&scene, number, number % 3 ? "p" : "q", 600, number % 20 == 19);
        backlog_shrink(&scene.backlog, LIMIT);
    }
    int ends = 0;
    for (struct list *at = scene.backlog.unsent.next; at != &scene.backlog.unsent; at = at->next)
        ends += LIST_ENTRY(at, struct kept, link)->is_end;
    assert_int_equal(ends, MESSAGES / 20 + 1); /* the gap is none of them, but is marked so */
    assert_int_equal(scene.backlog.gap->count, 2);
    struct slice parent = bytes_slice(scene.backlog.gap->missing[0].parent);
    assert_true(slice_equal_text(parent, "{\"msg_id\":\"q\"}") ||
                slice_equal_text(parent, "{\"msg_id\":\"p\"}"));
    end(&scene);
}

/* Nothing but ends: the limit holds all the same. */
static void holds_the_limit_whatever_comes(void **state) {
    (void)state;
    enum { LIMIT = 30000 };
    struct scene scene;
    begin(&scene);
    for (int number = 0; number < MESSAGES; number++) {
        char parent[16];
        snprintf(parent, sizeof parent, "%d", number); /* more parents than a gap has */
        add_unsent(&scene, number, parent, 300, true);
        backlog_shrink(&scene.backlog, LIMIT);
        assert_true(scene.total <= LIMIT);
    }
    assert_int_equal(scene.backlog.gap->count, GAPS_MAX);
    end(&scene);
}

/* One that is larger than everything, and a limit of nothing. */
static void loses_everything_if_need_be(void **state) {
    (void)state;
    struct scene scene;
    begin(&scene);
    add_unsent(&scene, 0, "p", 5000, false);
    add_unsent(&scene, 1, "p", 5, true);
    backlog_shrink(&scene.backlog, 0);
    assert_int_equal(send_next(&scene, 1), -2);
    struct gap *gap = backlog_take_gap(&scene.backlog);
    assert_int_equal(gap->missing[0].messages, 2);
    assert_true(gap->missing[0].bytes > 5000);
    gap_destroy(gap);
    assert_int_equal(send_next(&scene, 1), -1);
    add_unsent(&scene, 2, "p", 5, false);
    backlog_lose_next(&scene.backlog);
    assert_int_equal(send_next(&scene, 1), -2);
    end(&scene);
}

/* What was sent, but not acknowledged, comes before a gap that was there already. */
static void rewinds_before_a_gap(void **state) {
    (void)state;
    struct scene scene;
    begin(&scene);
    for (int i = 0; i < 3; i++)
        add_sent(&scene, i, (uint64_t)i);
    for (int i = 3; i < 50; i++)
        add_unsent(&scene, i, "p", 100, false);
    backlog_shrink(&scene.backlog, scene.total / 2);
    backlog_acknowledge(&scene.backlog, 0);
    backlog_rewind(&scene.backlog);
    for (int i = 1; i < 4; i++)
        assert_int_equal(send_next(&scene, (uint64_t)i), i);
    end(&scene);
}

/* The next socket may speak another encoding; what a kernel says may be more than can be read. */
static void changes_the_encoding(void **state) {
    (void)state;
    bool binary;
    for (int from = 0; from < ENCODING_TEXT; from++) { /* in which frames are kept */
        struct frame frame = make(from, 7, "p", 3), wanted = make(!from, 7, "p", 3);
        struct outgoing outgoing;
        outgoing_begin(&outgoing, &frame);
        struct bytes *other = outgoing_encode(&outgoing, !from, &binary);
        assert_true(slice_equal(bytes_slice(other), bytes_slice(wanted.payload)));
        assert_int_equal(binary, wanted.binary);
        outgoing_finish(&outgoing);
        bytes_unref(frame.payload);
        bytes_unref(wanted.payload);
    }
    struct frame broken = {bytes_copy(SLICE_LITERAL("{\"header\":{}}")), ENCODING_LEGACY, false};
    struct outgoing outgoing;
    outgoing_begin(&outgoing, &broken);
    assert_null(outgoing_encode(&outgoing, ENCODING_V1, &binary));
    assert_ptr_equal(outgoing_encode(&outgoing, ENCODING_LEGACY, &binary), broken.payload);
    outgoing_finish(&outgoing);
    bytes_unref(broken.payload);
    assert_int_equal(mem_live(), 0);
}

/* A client of text alone shares the older encoding's frames, but for a message with buffers; what
 * is kept is that encoding's, which is whole. */
static void shares_text(void **state) {
    (void)state;
    static const struct slice buffers[] = {{(const uint8_t *)"b", 1}};
    bool binary;
    for (size_t count = 0; count < 2; count++) {
        struct msg msg = {.channel = MSG_IOPUB,
                          .header = SLICE_LITERAL("{\"msg_id\":\"i\"}"),
                          .content = SLICE_LITERAL("{}"),
                          .buffers = buffers,
                          .buffer_count = count};
        struct msg_header header;
        assert_int_equal(msg_header_parse(msg.header, &header, NULL), 0);
        struct outgoing outgoing = {.msg = &msg, .header = &header}, again;
        struct bytes *text = outgoing_encode(&outgoing, ENCODING_TEXT, &binary);
        assert_false(binary);
        struct frame kept = outgoing_frame(&outgoing, ENCODING_TEXT);
        assert_int_equal(kept.encoding, ENCODING_LEGACY);
        assert_int_equal(kept.binary, count > 0);
        assert_true((text == kept.payload) == (count == 0));
        outgoing_begin(&again, &kept);
        struct bytes *same = outgoing_encode(&again, ENCODING_TEXT, &binary);
        assert_true(slice_equal(bytes_slice(same), bytes_slice(text)));
        outgoing_finish(&again);
        outgoing_finish(&outgoing);
        msg_header_finish(&header);
    }
    assert_int_equal(mem_live(), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(forgets_what_was_acknowledged_whole),
        cmocka_unit_test(counts_deaths_in_the_middle_alone),
        cmocka_unit_test(follows_a_model),
        cmocka_unit_test(loses_from_the_middle),
        cmocka_unit_test(keeps_the_ends),
        cmocka_unit_test(holds_the_limit_whatever_comes),
        cmocka_unit_test(loses_everything_if_need_be),
        cmocka_unit_test(rewinds_before_a_gap),
        cmocka_unit_test(changes_the_encoding),
        cmocka_unit_test(shares_text),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
