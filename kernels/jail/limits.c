/* limits - what one process may have, by rlimits. The very last step: with many sessions the
 * warden's child holds more descriptors than the limit allows until they are closed. */
#include <sys/resource.h>

#include <errno.h>

#include "jail/groups.h"
#include "jail/steps.h"

static int set_one(const char *name, int which, uint64_t wanted, struct err *err) {
    struct rlimit limit;
    if (getrlimit(which, &limit) < 0)
        return err_errno(err, errno, "read limit %s", name);
    /* Nobody without CAP_SYS_RESOURCE raises a hard limit. */
    if (limit.rlim_max > wanted)
        limit.rlim_max = wanted;
    limit.rlim_cur = limit.rlim_max;
    if (setrlimit(which, &limit) < 0)
        return err_errno(err, errno, "limit %s", name);
    return 0;
}

/* What stands in for a limit of all processes together where the host cannot give that one. */
static uint64_t stand_in(const struct jail_plan *plan, enum controller controller, uint64_t most) {
    const struct groups *groups = jail_groups(plan->session->prepared);
    return groups->controllers & controller ? RLIM_INFINITY : most;
}

static int enter(struct jail_build *build, struct err *err) {
    const struct jail_plan *plan = build->plan;
    const struct {
        const char *name;
        int which;
        uint64_t most;
    } rows[] = {
        {"core", RLIMIT_CORE, 1}, /* no file, and no helper of the host either: core(5) */
#ifndef CELLBLOCK_SANITIZED       /* whose programs reserve terabytes of it */
        /* Of each process. */
        {"data", RLIMIT_DATA, stand_in(plan, CONTROLLER_MEMORY, plan->memory_bytes)},
#endif
        {"fsize", RLIMIT_FSIZE, 4ULL << 30},
        {"memlock", RLIMIT_MEMLOCK, 64ULL << 10},
        {"msgqueue", RLIMIT_MSGQUEUE, 0},
        {"nice", RLIMIT_NICE, 0},
        /* Of the session's user: so of all its trees, but also of another warden's with that user.
         */
        {"nproc", RLIMIT_NPROC, stand_in(plan, CONTROLLER_PIDS, plan->pids)},
        {"rtprio", RLIMIT_RTPRIO, 0},
        {"sigpending", RLIMIT_SIGPENDING, 1024},
        {"stack", RLIMIT_STACK, 8ULL << 20},
    };
    int result = 0;
    for (size_t i = 0; result == 0 && i < sizeof rows / sizeof rows[0]; i++)
        result = set_one(rows[i].name, rows[i].which, rows[i].most, err);
    return result;
}

const struct jail_step step_limits = {"limits", enter};

static int enter_open_files(struct jail_build *build, struct err *err) {
    return set_one("nofile", RLIMIT_NOFILE, build->plan->open_files, err);
}

const struct jail_step step_open_files = {"open files", enter_open_files};
