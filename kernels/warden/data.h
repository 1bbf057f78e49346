/* data - the data folders of the config: sessions know each by its name, the gateway by name and
 * number, and nobody but the warden where it lies. */
#pragma once

#include <stdint.h>

#include "config/params.h"
#include "warden/outbox.h"
#include "warden/trees_shown.h"

struct data_folder {
    char *name;
    const char *path; /* as the config has it; of its struct params */
    char *source;     /* what that is: no links */
};

/* Numbered as the config has them. */
struct data {
    struct data_folder items[PARAMS_DATA_MAX];
    size_t count;
};

/* Finds what params names. Refuses, with a sentence, what is no folder, and what shows the system
 * itself: /, and what lies at or below /proc, /sys, /dev and /etc. */
int data_read(struct data *data, const struct params *params, struct err *err);
/* Looks again, on SIGHUP. A folder that is not good any more is said, and stays what it was. */
void data_read_again(struct data *data);
void data_finish(struct data *data);

/* Tells the gateway the name and number of each. */
void data_tell(const struct data *data, struct outbox *outbox);
/* -EINVAL where the mask has a number that no folder has. */
int data_check(const struct data *data, uint64_t mask, struct err *err);
/* Adds those of the mask, each at /data/NAME. */
void data_add_trees(const struct data *data, uint64_t mask, struct trees_shown *trees);
