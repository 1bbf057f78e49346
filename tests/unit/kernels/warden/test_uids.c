#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>

#include "base/mem.h"
#include "warden/uids.h"

static void gives_each_once_and_none_too_soon(void **state) {
    (void)state;
    struct uids uids;
    struct err err;
    uid_t first, second, third, none;
    uids_init(&uids, 1000, 3);
    assert_int_equal(uids_take(&uids, 0, &first, &err), 0);
    assert_int_equal(uids_take(&uids, 0, &second, &err), 0);
    assert_int_equal(uids_take(&uids, 0, &third, &err), 0);
    assert_int_equal(first, 1000);
    assert_int_equal(second, 1001);
    assert_int_equal(third, 1002);
    assert_int_equal(uids_take(&uids, 0, &none, &err), -EAGAIN);

    uids_give_back(&uids, second, 100);
    assert_int_equal(uids_take(&uids, 100 + UIDS_QUARANTINE_MS - 1, &none, &err), -EAGAIN);
    assert_int_equal(uids_take(&uids, 100 + UIDS_QUARANTINE_MS, &second, &err), 0);
    assert_int_equal(second, 1001);
    uids_finish(&uids);
    assert_int_equal(mem_live(), 0);
}

static void comes_back_to_one_as_late_as_it_can(void **state) {
    (void)state;
    struct uids uids;
    struct err err;
    uids_init(&uids, 5, 4);
    for (int64_t now = 0, i = 0; i < 40; i++, now += UIDS_QUARANTINE_MS) {
        uid_t uid;
        assert_int_equal(uids_take(&uids, now, &uid, &err), 0);
        assert_int_equal(uid, 5 + i % 4);
        uids_give_back(&uids, uid, now);
    }
    uids_finish(&uids);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gives_each_once_and_none_too_soon),
        cmocka_unit_test(comes_back_to_one_as_late_as_it_can),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
