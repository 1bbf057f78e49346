/* prepare - what all jails of a warden have in common. */
#include "base/mem.h"
#include "jail/filter.h"
#include "jail/groups.h"
#include "jail/keep.h"
#include "jail/own_root.h"
#include "jail/steps.h"

struct jail_prepared {
    struct filter filter;
    struct keeper keeper;
    struct groups groups;
};

int jail_prepare(struct jail_prepared **ret_prepared, struct err *err) {
    struct jail_prepared *prepared = mem_zalloc(1, sizeof *prepared);
    int result = own_root_make(err);
    if (result == 0)
        result = filter_init(&prepared->filter, err);
    if (result == 0 && (result = keeper_init(&prepared->keeper, err)) < 0)
        filter_finish(&prepared->filter);
    if (result < 0) {
        mem_free(prepared);
        return err_wrap(err, "prepare jails");
    }
    groups_init(&prepared->groups);
    *ret_prepared = prepared;
    return 0;
}

void jail_prepared_destroy(struct jail_prepared *prepared) {
    if (!prepared)
        return;
    groups_finish(&prepared->groups);
    keeper_finish(&prepared->keeper);
    filter_finish(&prepared->filter);
    mem_free(prepared);
}

struct keeper *jail_keeper(struct jail_prepared *prepared) {
    return &prepared->keeper;
}

struct groups *jail_groups(struct jail_prepared *prepared) {
    return &prepared->groups;
}

const char *jail_prepared_lacks(const struct jail_prepared *prepared) {
    return prepared->groups.lacks;
}

static int enter(struct jail_build *build, struct err *err) {
    return filter_load(&build->plan->prepared->filter, err);
}

const struct jail_step step_filter = {"filter", enter};
