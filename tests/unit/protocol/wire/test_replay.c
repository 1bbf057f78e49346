#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "base/mem.h"
#include "wire/replay.h"

/* A fixed scramble, so that the marks look like signatures. */
static uint64_t mark_of(uint64_t i) {
    i = (i + 1) * 0x9e3779b97f4a7c15;
    i ^= i >> 29;
    return i * 0xbf58476d1ce4e5b9;
}

static void remembers_exactly_the_last_ones(void **state) {
    (void)state;
    struct replay replay;
    replay_init(&replay);
    for (uint64_t i = 0; i < REPLAY_MAX; i++)
        assert_true(replay_note(&replay, mark_of(i)));
    for (uint64_t i = 0; i < REPLAY_MAX; i++)
        assert_false(replay_note(&replay, mark_of(i)));
    enum { MORE = 3 * REPLAY_MAX + 17 };
    for (uint64_t i = REPLAY_MAX; i < MORE; i++)
        assert_true(replay_note(&replay, mark_of(i)));
    assert_int_equal(replay.count, REPLAY_MAX);
    for (uint64_t i = MORE - REPLAY_MAX; i < MORE; i++)
        assert_false(replay_note(&replay, mark_of(i)));
    assert_true(replay_note(&replay, mark_of(MORE - REPLAY_MAX - 1))); /* one too old */
    assert_true(replay_note(&replay, mark_of(MORE - REPLAY_MAX))); /* which drove this one out */
    replay_finish(&replay);
    assert_int_equal(mem_live(), 0);
}

static void grows_only_with_use(void **state) {
    (void)state;
    struct replay replay;
    replay_init(&replay);
    assert_int_equal(mem_live(), 0);
    for (uint64_t i = 0; i < 100; i++)
        assert_true(replay_note(&replay, mark_of(i)));
    assert_int_equal(replay.capacity, 128);
    for (uint64_t i = 0; i < 5 * REPLAY_MAX; i++)
        replay_note(&replay, mark_of(i));
    assert_int_equal(replay.capacity, REPLAY_MAX);
    replay_finish(&replay);
    assert_int_equal(mem_live(), 0);
}

/* Marks that differ in their upper or lower bits only must not fall on one chain. */
static void is_not_fooled_by_similar_marks(void **state) {
    (void)state;
    for (int shift = 0; shift <= 48; shift += 8) {
        struct replay replay;
        replay_init(&replay);
        for (uint64_t i = 0; i < 60000; i++)
            assert_true(replay_note(&replay, i << shift));
        for (uint64_t i = 0; i < 60000; i++)
            assert_false(replay_note(&replay, i << shift));
        replay_finish(&replay);
    }
    assert_int_equal(mem_live(), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(remembers_exactly_the_last_ones),
        cmocka_unit_test(grows_only_with_use),
        cmocka_unit_test(is_not_fooled_by_similar_marks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
