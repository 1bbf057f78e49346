/* refusal - why a request is not served: what becomes the JSON error that goes back. */
#pragma once

#include <stdbool.h>

struct refusal {
    int status;         /* 0: none */
    const char *code;   /* stable, for programs */
    const char *header; /* a line that the status needs, with its CRLF; NULL: none */
    char message[200];  /* for people; ASCII, nothing of the stranger's in it */
};

/* Fills refusal; false, so that a check can end with it. */
__attribute__((format(printf, 4, 5))) bool refuse(struct refusal *refusal, int status,
                                                  const char *code, const char *format, ...);
