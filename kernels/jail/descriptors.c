/* descriptors - /dev/null as 0 to 2, what the plan keeps behind them, nothing else. What the
 * other steps opened goes with it. */
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/close_range.h>
#include <unistd.h>

#include "jail/steps.h"

enum { FIRST_KEPT = 3, KEPT_MAX = 16, OUT_OF_THE_WAY = 32 };

/* dup2 onto 3, 4, ... must not end a descriptor that is still to be moved: all go high first. */
static int place(const int *fds, size_t count, int first, struct err *err) {
    int high[KEPT_MAX];
    assert(count <= KEPT_MAX);
    for (size_t i = 0; i < count; i++) {
        high[i] = fcntl(fds[i], F_DUPFD_CLOEXEC, OUT_OF_THE_WAY);
        if (high[i] < 0)
            return err_errno(err, errno, "move descriptor %d", fds[i]);
    }
    for (size_t i = 0; i < count; i++)
        if (dup2(high[i], first + (int)i) < 0)
            return err_errno(err, errno, "place descriptor %d", first + (int)i);
    return 0;
}

int jail_place_descriptors(const int *fds, size_t count, int output, struct err *err) {
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    if (null < 0)
        return err_errno(err, errno, "open /dev/null");
    const int first[] = {null, output < 0 ? null : output, output < 0 ? null : output};
    int result = place(first, 3, 0, err);
    if (result == 0)
        result = place(fds, count, FIRST_KEPT, err);
    if (result < 0)
        return result;
    if (close_range(FIRST_KEPT + (unsigned)count, ~0U, 0) < 0)
        return err_errno(err, errno, "close_range");
    return 0;
}

static int enter(struct jail_build *build, struct err *err) {
    return jail_place_descriptors(build->plan->keep, build->plan->keep_count, -1, err);
}

const struct jail_step step_descriptors = {"descriptors", enter};
