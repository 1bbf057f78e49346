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

/* Stands in for a limit of memory that the host cannot give: of each process, not of all. */
static uint64_t data_bytes(const struct jail_plan *plan) {
    const struct groups *groups = jail_groups(plan->session->prepared);
    return groups->controllers & CONTROLLER_MEMORY ? RLIM_INFINITY
                                                   : plan->session->limits.memory_bytes;
}

static int enter(struct jail_build *build, struct err *err) {
    const struct {
        const char *name;
        int which;
        uint64_t most;
    } rows[] = {
        {"core", RLIMIT_CORE, 1}, /* no file, and no helper of the host either: core(5) */
        {"data", RLIMIT_DATA, data_bytes(build->plan)},
        {"fsize", RLIMIT_FSIZE, 4ULL << 30},
        {"memlock", RLIMIT_MEMLOCK, 64ULL << 10},
        {"msgqueue", RLIMIT_MSGQUEUE, 0},
        {"nice", RLIMIT_NICE, 0},
        {"nproc", RLIMIT_NPROC, build->plan->pids}, /* of the session's user, so of all its trees */
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
