/* sys - of /sys only how many processors there are, as many as the session may use, and that there
 * is no battery (psutil fails where nothing says so). `possible` is the host's: a process can run
 * on each of those, and some allocators keep an array by that number. */
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "jail/attach.h"
#include "jail/machine.h"

static int write_range(int root_fd, const char *name, unsigned count, struct err *err) {
    char path[64], range[32];
    snprintf(path, sizeof path, "/sys/devices/system/cpu/%s", name);
    if (count == 1)
        strcpy(range, "0\n");
    else
        snprintf(range, sizeof range, "0-%u\n", count - 1);
    return attach_file(root_fd, path, range, err);
}

/* Each processor a core of its own, all in one package. */
static int write_topology(int root_fd, unsigned number, struct err *err) {
    static const struct {
        const char *name;
        bool is_number; /* else 0 */
    } files[] = {
        {"core_id", true},
        {"core_cpus_list", true},
        {"thread_siblings_list", true},
        {"physical_package_id", false},
    };
    int result = 0;
    for (size_t i = 0; result == 0 && i < sizeof files / sizeof files[0]; i++) {
        char path[96], value[16];
        snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu%u/topology/%s", number,
                 files[i].name);
        snprintf(value, sizeof value, "%u\n", files[i].is_number ? number : 0);
        result = attach_file(root_fd, path, value, err);
    }
    return result;
}

static int enter(struct jail_build *build, struct err *err) {
    const struct machine machine = machine_of(build->plan);
    int root_fd = build->root_fd;
    cleanup_fd int supplies = -1;
    int result = attach_folder(root_fd, "/sys/class/power_supply", &supplies, err);
    if (result == 0)
        result = write_range(root_fd, "online", machine.cpus, err);
    if (result == 0)
        result = write_range(root_fd, "present", machine.cpus, err);
    if (result == 0)
        result = write_range(root_fd, "possible", machine.host_cpus, err);
    for (unsigned i = 0; result == 0 && i < machine.cpus; i++)
        result = write_topology(root_fd, i, err);
    return result;
}

const struct jail_step step_sys = {"sys", enter};
