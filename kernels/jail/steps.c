#include "jail/steps.h"

static const struct jail_step *const steps[] = {
    &step_namespaces,
    &step_mounts,
    &step_privileges,
    &step_descriptors,
};

int jail_enter(const struct jail_plan *plan, struct err *err) {
    for (size_t i = 0; i < sizeof steps / sizeof steps[0]; i++) {
        int result = steps[i]->enter(plan, err);
        if (result < 0)
            return err_wrap(err, "%s", steps[i]->name);
    }
    return 0;
}
