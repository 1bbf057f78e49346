#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "msg/types.h"

static const struct msg_type *find(const char *name) {
    return msg_type_from(slice_from_text(name));
}

/* Every row is found by its name, and every reply that a row names is a row of role reply that a
 * kernel sends where the request went (or, for input_reply, the client). */
static void holds_together(void **state) {
    (void)state;
    for (enum msg_type_id id = 0; id < MSG_TYPE_UNKNOWN; id++) {
        const struct msg_type *type = msg_type_of(id);
        assert_int_equal(type->id, id);
        assert_ptr_equal(find(type->name), type);
        assert_true(type->from_client || type->from_kernel);
        assert_int_equal(type->role == MSG_REQUEST, type->reply != NULL);
        if (!type->reply)
            continue;
        const struct msg_type *reply = find(type->reply);
        assert_int_equal(reply->role, MSG_REPLY);
        assert_int_equal(reply->tracked, type->tracked);
        assert_int_equal(type->from_client & ~reply->from_kernel, 0);
        assert_int_equal(type->from_kernel & ~reply->from_client, 0);
    }
}

static void says_who_sends_what_where(void **state) {
    (void)state;
    const struct msg_type *type = find("execute_request");
    assert_int_equal(type->id, MSG_TYPE_execute_request);
    assert_string_equal(type->reply, "execute_reply");
    assert_true(type->tracked);
    assert_true(msg_type_fits_client(type, MSG_SHELL));
    assert_false(msg_type_fits_client(type, MSG_IOPUB));
    assert_false(msg_type_fits_kernel(type, MSG_SHELL));

    type = find("comm_msg");
    assert_true(msg_type_fits_client(type, MSG_SHELL) && msg_type_fits_kernel(type, MSG_IOPUB));
    assert_int_equal(type->role, MSG_PUBLISH);
    assert_null(type->reply);

    type = find("input_request");
    assert_true(msg_type_fits_kernel(type, MSG_STDIN) && !type->from_client);
    assert_string_equal(type->reply, "input_reply");
}

/* jupyter_server's untracked_message_types, whole. */
static void knows_what_is_untracked(void **state) {
    (void)state;
    static const char *untracked[] = {
        "comm_info_request",
        "comm_info_reply",
        "kernel_info_request",
        "kernel_info_reply",
        "shutdown_request",
        "shutdown_reply",
        "interrupt_request",
        "interrupt_reply",
        "debug_request",
        "debug_reply",
        "stream",
        "display_data",
        "update_display_data",
        "execute_input",
        "execute_result",
        "error",
        "status",
        "clear_output",
        "debug_event",
        "input_request",
        "input_reply",
    };
    enum { COUNT = sizeof untracked / sizeof *untracked };
    for (size_t i = 0; i < COUNT; i++) {
        assert_int_not_equal(find(untracked[i])->id, MSG_TYPE_UNKNOWN);
        assert_false(find(untracked[i])->tracked);
    }
    int count = 0;
    for (enum msg_type_id id = 0; id < MSG_TYPE_UNKNOWN; id++)
        count += !msg_type_of(id)->tracked;
    assert_int_equal(count, COUNT);
}

static void lets_unknown_types_pass(void **state) {
    (void)state;
    static const char *unknown[] = {"", "execute_reques", "execute_requestx", "apply_request"};
    for (size_t i = 0; i < sizeof unknown / sizeof *unknown; i++) {
        const struct msg_type *type = find(unknown[i]);
        assert_int_equal(type->id, MSG_TYPE_UNKNOWN);
        assert_true(type->tracked);
        assert_null(type->reply);
        for (enum msg_channel channel = 0; channel < MSG_CHANNEL_COUNT; channel++)
            assert_true(msg_type_fits_client(type, channel) && msg_type_fits_kernel(type, channel));
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(holds_together),
        cmocka_unit_test(says_who_sends_what_where),
        cmocka_unit_test(knows_what_is_untracked),
        cmocka_unit_test(lets_unknown_types_pass),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
