/* kernel_warden - what a kernel asks of the warden, and what its answers mean. Its one
 * complication: answers come late, when the kernel may have gone on to something else. */
#include <string.h>

#include "base/cleanup.h"
#include "session/kernel_parts.h"
#include "wire/connection.h"

static void ask_warden(struct kernel *kernel, void *body, size_t size, struct slice tail,
                       void (*done)(void *, const struct err *)) {
    kernel->calls++;
    warden_request(kernel->context->warden, body, size, tail, done, kernel);
}

/* A deleted kernel is freed with the warden's last answer. */
static void count_answer(struct kernel *kernel) {
    kernel->calls--;
    if (kernel->life == LIFE_ENDING && kernel->calls == 0)
        kernels_remove(kernel->kernels, kernel);
}

static void on_jail_created(void *context, const struct err *err) {
    struct kernel *kernel = context;
    kernel->jail = err->code ? JAIL_NONE : JAIL_THERE;
    if (err->code && kernel->life == LIFE_JAILING)
        kernel_set_fate(kernel, REASON_failed, slice_from_text(err->text));
    kernel_happen(kernel, err->code ? JAIL_REFUSED : JAIL_MADE);
    count_answer(kernel);
}

/* A restart may come while the answer to an earlier launch is still awaited: there is one jail. */
void kernel_create_jail(struct kernel *kernel) {
    kernel->life = LIFE_JAILING;
    if (kernel->jail == JAIL_ASKED)
        return;
    struct rpc_jail_create body = {
        .head.kind = RPC_JAIL_CREATE, .limits = kernel->limits, .data_mask = kernel->data_mask};
    memcpy(body.jail, kernel->uuid, ID_BYTES);
    kernel->jail = JAIL_ASKED;
    ask_warden(kernel, &body, sizeof body, (struct slice){0}, on_jail_created);
}

void kernel_forget_tree(struct kernel *kernel) {
    kernels_forget_tree(kernel->kernels, kernel->tree);
    kernel->tree = 0;
}

static void on_tree_started(void *context, const struct err *err) {
    struct kernel *kernel = context;
    if (err->code && kernel->tree) {
        kernel_forget_tree(kernel);
        if (kernel->life != LIFE_STOPPING)
            kernel_set_fate(kernel, REASON_failed, slice_from_text(err->text));
        kernel_happen(kernel, TREE_REFUSED);
    }
    count_answer(kernel);
}

static struct bytes *write_connection(struct kernel *kernel) {
    uint8_t key[ID_BYTES];
    id_make(key);
    id_format(key, kernel->key);
    bool is_tcp = kernel->transport == RPC_TRANSPORT_TCP;
    struct connection connection = {.transport = is_tcp ? "tcp" : "ipc",
                                    .ip = is_tcp ? "127.0.0.1" : RPC_KERNEL_SOCKETS,
                                    .key = kernel->key,
                                    .signature_scheme = "hmac-sha256",
                                    .kernel_name = kernel->spec_name};
    for (int i = 0; i < CONNECTION_PORT_COUNT; i++)
        connection.ports[i] = is_tcp ? rpc_tcp_port(kernel->tree, i) : i + 1;
    return connection_write(&connection);
}

void kernel_start_tree(struct kernel *kernel) {
    kernel->tree = kernels_next_tree(kernel->kernels, kernel);
    cleanup_bytes struct bytes *connection = write_connection(kernel);
    cleanup_text struct text tail = {0};
    text_append(&tail, bytes_slice(connection));
    text_append(&tail, bytes_slice(kernel->environment));
    text_append(&tail, bytes_slice(kernel->directory));
    struct rpc_tree_start body = {.head.kind = RPC_TREE_START,
                                  .tree = kernel->tree,
                                  .kind = RPC_TREE_KERNEL,
                                  .spec = kernel->spec_number,
                                  .connection_size = (uint32_t)connection->size,
                                  .environment_size = (uint32_t)kernel->environment->size,
                                  .directory_size = (uint32_t)kernel->directory->size};
    memcpy(body.jail, kernel->uuid, ID_BYTES);
    kernel->life = LIFE_LAUNCHING;
    ask_warden(kernel, &body, sizeof body, text_slice(&tail), on_tree_started);
}

void kernel_kill_tree(struct kernel *kernel) {
    struct rpc_tree_kill body = {.head.kind = RPC_TREE_KILL, .tree = kernel->tree};
    kernel->life = LIFE_STOPPING;
    /* RPC_TREE_ENDED says that it is done; the answer says nothing more. */
    warden_request(kernel->context->warden, &body, sizeof body, (struct slice){0}, NULL, NULL);
}

static void on_jail_ended(void *context, const struct err *err) {
    static const struct err none = {0};
    struct kernel *kernel = context;
    /* Of a jail that was refused nothing is left either. */
    kernel_tell_waiters(kernel, kernel->jail == JAIL_THERE ? err : &none);
    count_answer(kernel);
}

void kernel_end_jail(struct kernel *kernel) {
    struct rpc_jail_end body = {.head.kind = RPC_JAIL_END};
    memcpy(body.jail, kernel->uuid, ID_BYTES);
    ask_warden(kernel, &body, sizeof body, (struct slice){0}, on_jail_ended);
}

static void on_signalled(void *context, const struct err *err) {
    struct kernel *kernel = context;
    (void)err; /* it is dead, which RPC_TREE_ENDED tells */
    kernel->signal_asked = false;
    count_answer(kernel);
}

void kernel_signal(struct kernel *kernel, int signal) {
    if (kernel->signal_asked)
        return;
    struct rpc_tree_signal body = {
        .head.kind = RPC_TREE_SIGNAL, .tree = kernel->tree, .signal = signal};
    kernel->signal_asked = true;
    ask_warden(kernel, &body, sizeof body, (struct slice){0}, on_signalled);
}
