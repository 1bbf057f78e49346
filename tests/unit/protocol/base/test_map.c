#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>

#include "base/map.h"
#include "base/mem.h"

static struct slice key_of(int i, char *buffer) {
    snprintf(buffer, 16, "key-%d", i);
    return slice_from_text(buffer);
}

/* Every key stays findable while others go: deletion must not break a probe chain. */
static void keeps_what_is_there_across_removals(void **state) {
    (void)state;
    struct map map;
    map_init(&map, 42);
    char buffer[16];
    static int values[2000];
    for (int i = 0; i < 2000; i++)
        assert_null(map_put(&map, key_of(i, buffer), &values[i]));
    for (int i = 0; i < 2000; i += 3)
        assert_ptr_equal(map_remove(&map, key_of(i, buffer)), &values[i]);
    for (int i = 0; i < 2000; i++)
        assert_ptr_equal(map_get(&map, key_of(i, buffer)), i % 3 ? &values[i] : NULL);
    size_t at = 0, seen = 0;
    struct slice key;
    void *value;
    while (map_next(&map, &at, &key, &value))
        seen++;
    assert_int_equal(seen, map.count);
    assert_int_equal(map.count, 1333);
    map_finish(&map);
    assert_int_equal(mem_live(), 0);
}

static void replaces_and_says_what_was_there(void **state) {
    (void)state;
    struct map map;
    map_init(&map, 0);
    int a, b;
    assert_null(map_get(&map, SLICE_LITERAL("x")));
    assert_null(map_remove(&map, SLICE_LITERAL("x")));
    assert_null(map_put(&map, SLICE_LITERAL("x"), &a));
    assert_ptr_equal(map_put(&map, SLICE_LITERAL("x"), &b), &a);
    assert_int_equal(map.count, 1);
    assert_ptr_equal(map_get(&map, SLICE_LITERAL("x")), &b);
    assert_null(map_get(&map, SLICE_LITERAL("")));
    map_finish(&map);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(keeps_what_is_there_across_removals),
        cmocka_unit_test(replaces_and_says_what_was_there),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
