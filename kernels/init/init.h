/* init - what the warden and pid 1 of a tree say to each other over a SOCK_SEQPACKET pair.
 *
 * pid 1 is started as `init TAG PORT SOCKETS DIRECTORY PROGRAM ARGUMENT...` with the environment,
 * user, limits and filter of the program it runs, /dev/null as descriptors 0 to 2 and its end of
 * the pair as INIT_FD_LINK. TAG is the session's id, which test builds report. PORT is 0, or the
 * first of the program's five tcp ports, for each of which it makes a socket in the file system,
 * SOCKETS-1 to SOCKETS-5, once somebody listens there. DIRECTORY is where the program is to start,
 * if directory.h finds it. It runs the program in a process group and session of its own, and ends,
 * and with it everything in its pid namespace, when the program has ended or the warden is gone. */
#pragma once

#include <stdint.h>

enum { INIT_FD_LINK = 3, INIT_OUTPUT_MAX = 4096 };

/* RLIMIT_NOFILE of pid 1 is its session's, which is no less than this (the minimum of open_files in
 * gateway/config/params.def); poll(2) refuses to look at more, used or not. */
enum { INIT_OPEN_FILES_LEAST = 64 };

enum init_report_kind {
    INIT_STARTED = 1, /* the program runs */
    INIT_EXITED,      /* value: its exit status; output follows. The last report */
    INIT_SIGNALED,    /* value: the signal that ended it; output follows. The last report */
    INIT_FAILED, /* value: errno. Without output running the program failed; else the output is a
                  * sentence of whoever prepared this process before it became pid 1. The last */
};

/* pid 1 to warden. The packet is as long as its output: the last bytes of stdout and stderr. */
struct init_report {
    uint32_t kind;
    int32_t value;
    uint8_t output[INIT_OUTPUT_MAX];
};
enum { INIT_REPORT_HEAD = 8 };

/* warden to pid 1: send this signal to the program's process group. */
struct init_signal {
    int32_t signal;
};
