/* cull - ends kernels that have been idle for too long, and dead ones that everybody has had the
 * time to look at. Which, is a table in docs/sessions.md. */
#pragma once

struct culler;
struct kernels;
struct kernels_context;

struct culler *culler_create(struct kernels *kernels, const struct kernels_context *context);
void culler_destroy(struct culler *culler);
/* Looks from now on every cull_interval_ms, as long as there are kernels. */
void culler_watch(struct culler *culler);
