/* say - the warden's log: lines on stderr. */
#pragma once

__attribute__((format(printf, 1, 2))) void say(const char *format, ...);
