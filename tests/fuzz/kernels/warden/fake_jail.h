/* fake_jail - stands below the warden where jails and processes are made. Nothing is made: files
 * are files of a folder of the target's own, pid 1 is a descriptor that the target makes ready. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* A pid 1 that "runs". */
struct fake_process {
    int event;  /* its pidfd, as the warden has it; -1: free */
    int link;   /* its end of the pair of init.h */
    int status; /* of its end, once it is told */
};

enum { FAKE_PROCESSES_MAX = 64 };
extern struct fake_process fake_processes[FAKE_PROCESSES_MAX];

/* The next calls that can fail do so where their bit is set; shifted with each call. */
extern uint32_t fake_failures;

/* Of the tree that was started last: where its sockets' folder is; "" before the first. */
extern char fake_run_folder[64];

void fake_begin(void);
/* Holds that no group, kept mount or process is left. */
void fake_end(void);

/* The process ends with this status, as waitpid(2) has it: its pidfd becomes ready. */
void fake_process_end(struct fake_process *process, int status);
