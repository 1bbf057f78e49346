/* kernel_clients - who is attached to a kernel, and what can be asked of it without changing it. */
#include <string.h>

#include "session/kernel_parts.h"

const char *kernel_id(const struct kernel *kernel) {
    return kernel->id;
}

const char *kernel_spec_name(const struct kernel *kernel) {
    return kernel->spec_name;
}

int64_t kernel_last_activity_us(const struct kernel *kernel) {
    return kernel->last_activity_us;
}

unsigned kernel_connections(const struct kernel *kernel) {
    unsigned count = 0;
    for (const struct list *at = kernel->clients.next; at != &kernel->clients; at = at->next)
        count++;
    return count;
}

/* The newest socket of a session_id wins: JupyterLab's server opens two at once, and the older one
 * is a zombie (contract 1.2). */
static void replace_older(struct kernel *kernel, const char *session_id) {
    struct kernel_client *older;
    list_for_each (older, &kernel->clients, link) {
        if (strcmp(older->session_id, session_id) != 0)
            continue;
        kernel_detach(kernel, older);
        older->on_end(older, REASON_NONE);
    }
}

void kernel_attach(struct kernel *kernel, struct kernel_client *client) {
    if (*client->session_id) {
        replace_older(kernel, client->session_id);
        pending_adopt(&kernel->pending, client, client->session_id);
    }
    list_append(&kernel->clients, &client->link);
    if (kernel->life == LIFE_DEAD)
        kernel_say_status(kernel, client, "dead", (struct slice){0});
}

void kernel_detach(struct kernel *kernel, struct kernel_client *client) {
    list_remove(&client->link);
    pending_forget_client(&kernel->pending, client);
}
