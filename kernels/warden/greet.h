/* greet - what a person reads once requests are answered, and the ready file. */
#pragma once

struct warden;

void greet(const struct warden *warden);
