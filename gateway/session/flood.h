/* flood - ends the kernel that sends more than can be passed on.
 *
 * Its one complication: ZeroMQ takes in whatever a kernel sends, and shows a message only when its
 * last part is there, so nothing of ours can count what it holds. The size of the process is
 * watched instead, and the kernel to end is the one whose connections have had something unread in
 * them the longest. */
#pragma once

#include <stddef.h>

struct flood;
struct kernels;
struct kernels_context;

struct flood *flood_create(struct kernels *kernels, const struct kernels_context *context);
void flood_destroy(struct flood *flood);
/* A kernel was started, or said something: watches closely for a moment, and now and then as long
 * as there are kernels. */
void flood_watch(struct flood *flood);
