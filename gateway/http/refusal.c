#include "http/refusal.h"

#include <stdarg.h>
#include <stdio.h>

bool refuse(struct refusal *refusal, int status, const char *code, const char *format, ...) {
    va_list args;
    va_start(args, format);
    vsnprintf(refusal->message, sizeof refusal->message, format, args);
    va_end(args);
    refusal->status = status;
    refusal->code = code;
    refusal->header = NULL;
    return false;
}
