#include "warden/say.h"

#include <stdarg.h>
#include <stdio.h>

void say(const char *format, ...) {
    char line[1024];
    va_list args;
    va_start(args, format);
    vsnprintf(line, sizeof line, format, args);
    va_end(args);
    /* One write: lines of several processes share this descriptor. */
    fprintf(stderr, "warden: %s\n", line);
}
