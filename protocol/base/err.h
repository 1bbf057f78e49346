/* err - why something failed: a code and a sentence, wrapped outward as it travels up.
 * Plain data without pointers, so it crosses a fork, a pipe or an rpc packet as it is. */
#pragma once

enum { ERR_TEXT_MAX = 240 };

/* code is a positive errno, 0 means no error. text is a NUL-terminated sentence such as
 * "start python3: mount /proc: Operation not permitted". */
struct err {
    int code;
    char text[ERR_TEXT_MAX];
};

/* Sets err to the sentence and code (a positive errno); returns -code. err may be NULL.
 * A sentence that does not fit is cut. */
__attribute__((format(printf, 3, 4))) int err_set(struct err *err, int code, const char *format,
                                                  ...);

/* Like err_set, with ": " and strerror(code) behind the sentence. */
__attribute__((format(printf, 3, 4))) int err_errno(struct err *err, int code, const char *format,
                                                    ...);

/* Puts the sentence and ": " in front of what err says; returns -err->code. err may be NULL, then
 * -EIO is returned. */
__attribute__((format(printf, 2, 3))) int err_wrap(struct err *err, const char *format, ...);
