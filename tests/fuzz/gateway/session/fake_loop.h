/* fake_loop - stands below the session room where the event loop is: time is what the target says,
 * and descriptors are looked at when it says so. */
#pragma once

#include "loop/loop.h"

/* Lets time pass; timers that are due fire in their order. */
void fake_loop_pass(struct loop *loop, int64_t ms);
/* Calls whoever watches a descriptor that can be read, until none can. */
void fake_loop_turn(struct loop *loop);
