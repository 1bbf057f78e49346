/* A text in parts: together it is what it was, and each part is a message of its own. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "base/mem.h"
#include "wire/span.h"
#include "wire/stream_parts.h"

#define HEAD "{\"name\": \"stdout\", \"text\": \""
#define TAIL "\", \"more\": 1}"

struct scene {
    struct text content;
    struct msg msg;
    struct msg_header header;
    struct text together; /* the texts of all parts, one after another */
    unsigned count;
    int64_t memory;
};

/* A message whose text is `before` bytes of x, then unit again and again up to size bytes. */
static void begin(struct scene *scene, size_t before, const char *unit, size_t size) {
    *scene = (struct scene){.memory = mem_live()};
    text_append_text(&scene->content, HEAD);
    size_t start = scene->content.size;
    for (size_t i = 0; i < before; i++)
        text_append_text(&scene->content, "x");
    while (scene->content.size - start + strlen(unit) <= size)
        text_append_text(&scene->content, unit);
    text_append_text(&scene->content, TAIL);
    scene->msg =
        (struct msg){.channel = MSG_IOPUB,
                     .header = SLICE_LITERAL("{\"msg_type\":\"stream\",\"msg_id\":\"i\\\"\"}"),
                     .parent_header = SLICE_LITERAL("{\"p\":1}"),
                     .metadata = SLICE_LITERAL("{\"m\":1}"),
                     .content = text_slice(&scene->content)};
    assert_int_equal(msg_header_parse(scene->msg.header, &scene->header, NULL), 0);
}

static void end(struct scene *scene) {
    msg_header_finish(&scene->header);
    text_finish(&scene->content);
    text_finish(&scene->together);
    assert_int_equal(mem_live(), scene->memory);
}

/* The part's text without its quotes; everything else must be as in the whole. */
static struct slice look_at(struct scene *scene, const struct stream_parts *parts) {
    static const char *const name = "text";
    struct slice text, content = parts->msg.content;
    assert_int_equal(span_members(content, &name, 1, &text, NULL), 0);
    assert_true(slice_starts_with(content, SLICE_LITERAL(HEAD)));
    assert_true(slice_equal_text(slice_from(content, content.size - strlen(TAIL)), TAIL));
    assert_true(slice_equal(parts->msg.parent_header, scene->msg.parent_header));
    assert_true(slice_equal(parts->msg.metadata, scene->msg.metadata));
    assert_int_equal(parts->msg.channel, MSG_IOPUB);
    return slice_make(text.data + 1, text.size - 2);
}

static void check_id(const struct stream_parts *parts, unsigned number) {
    char expected[16] = "i\"";
    if (number > 1)
        snprintf(expected, sizeof expected, "i\".%u", number);
    assert_string_equal(parts->header.msg_id, expected);
    struct msg_header header;
    assert_int_equal(msg_header_parse(parts->msg.header, &header, NULL), 0);
    assert_string_equal(header.msg_id, expected);
    assert_string_equal(header.msg_type, "stream");
    msg_header_finish(&header);
}

/* least: bytes of every part but the last. */
static void split(struct scene *scene, size_t least) {
    struct stream_parts parts;
    size_t last = STREAM_PART_MAX;
    assert_true(stream_parts_begin(&parts, &scene->msg, &scene->header));
    while (stream_parts_next(&parts)) {
        struct slice text = look_at(scene, &parts);
        assert_true(last >= least);
        assert_true(text.size > 0 && text.size <= STREAM_PART_MAX);
        assert_true(text_is_utf8(text));
        check_id(&parts, ++scene->count);
        text_append(&scene->together, text);
        last = text.size;
    }
    stream_parts_finish(&parts);
    struct slice whole = slice_make(scene->content.data + strlen(HEAD),
                                    scene->content.size - strlen(HEAD) - strlen(TAIL));
    assert_true(slice_equal(text_slice(&scene->together), whole));
}

/* Wherever the border meets it, a character stays whole. */
static void cuts_between_characters(void **state) {
    (void)state;
    static const char *const units[] = {"x",
                                        "\\n",
                                        "\\\\",
                                        "\\u00e4",
                                        "\xc3\xa4",
                                        "\xe2\x82\xac",
                                        "\xf0\x9f\x90\x8d",
                                        "\\ud83d\\udc0d",
                                        "\\\"\\u005c"};
    for (size_t i = 0; i < sizeof units / sizeof *units; i++)
        for (size_t before = 0; before < 13; before++) {
            struct scene scene;
            begin(&scene, before, units[i], STREAM_PART_MAX * 5 / 2);
            split(&scene, STREAM_PART_MAX - strlen(units[i]));
            assert_int_equal(scene.count, 3);
            end(&scene);
        }
}

/* ipykernel prints a file name's bytes as lone surrogates; the pair that follows one stays whole.
 */
static void keeps_pairs_whole(void **state) {
    (void)state;
    for (size_t before = 0; before < 20; before++) {
        struct scene scene;
        begin(&scene, before, "\\udc80\\ud83d\\udc0d", STREAM_PART_MAX * 2);
        struct stream_parts parts;
        assert_true(stream_parts_begin(&parts, &scene.msg, &scene.header));
        while (stream_parts_next(&parts)) {
            struct slice text = look_at(&scene, &parts);
            struct slice end_of_it = slice_from(text, text.size - 6);
            assert_false(slice_equal_text(end_of_it, "\\ud83d"));
        }
        stream_parts_finish(&parts);
        end(&scene);
    }
}

static void leaves_alone(struct scene *scene) {
    struct stream_parts parts;
    assert_false(stream_parts_begin(&parts, &scene->msg, &scene->header));
    end(scene);
}

static void leaves_the_rest_alone(void **state) {
    (void)state;
    static const struct slice buffer = {(const uint8_t *)"b", 1};
    struct scene scene;
    begin(&scene, 0, "x", STREAM_PART_MAX);
    leaves_alone(&scene);
    begin(&scene, 0, "x", STREAM_PART_MAX * 2);
    scene.msg.buffers = &buffer;
    scene.msg.buffer_count = 1;
    leaves_alone(&scene);
    begin(&scene, 0, "x", STREAM_PART_MAX * 2);
    scene.msg.header = SLICE_LITERAL("{\"msg_type\":\"stream\",\"msg_id\":7}");
    leaves_alone(&scene);
    begin(&scene, 0, "x", STREAM_PART_MAX * 2);
    scene.msg.metadata = scene.msg.content; /* every part would have it */
    leaves_alone(&scene);
    begin(&scene, 0, "x", STREAM_PART_MAX * 2);
    scene.msg.content.size--; /* no JSON */
    leaves_alone(&scene);
}

static void takes_what_is_not_utf8(void **state) {
    (void)state;
    struct scene scene;
    begin(&scene, 1, "\x80", STREAM_PART_MAX * 2);
    struct stream_parts parts;
    size_t size = 0;
    assert_true(stream_parts_begin(&parts, &scene.msg, &scene.header));
    while (stream_parts_next(&parts))
        size += look_at(&scene, &parts).size;
    stream_parts_finish(&parts);
    assert_int_equal(size, STREAM_PART_MAX * 2);
    end(&scene);
}

/* Bytes that go on with nothing, behind an escape that ends near the border, never cut it. */
static void keeps_escapes_whole_beside_what_is_not_utf8(void **state) {
    (void)state;
    for (size_t before = 0; before < 10; before++) {
        struct scene scene;
        begin(&scene, before, "\\u001b\x80\x80\\n\x80", STREAM_PART_MAX * 2);
        struct stream_parts parts;
        assert_true(stream_parts_begin(&parts, &scene.msg, &scene.header));
        while (stream_parts_next(&parts))
            look_at(&scene, &parts);
        stream_parts_finish(&parts);
        end(&scene);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cuts_between_characters),
        cmocka_unit_test(keeps_pairs_whole),
        cmocka_unit_test(leaves_the_rest_alone),
        cmocka_unit_test(takes_what_is_not_utf8),
        cmocka_unit_test(keeps_escapes_whole_beside_what_is_not_utf8),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
