/* greet - what a person reads once requests are answered, and the ready file. */
#pragma once

#include "base/err.h"

struct warden;

/* Fails where the ready file cannot be written: whoever waits for it would wait for ever. */
int greet(const struct warden *warden, struct err *err);
