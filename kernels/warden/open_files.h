/* open_files - keeps kernels and connections within the limit of open files, so that what strangers
 * hold open never makes a kernel fail, nor kernels a connection. */
#pragma once

#include <stdint.h>

#include "base/err.h"
#include "config/params.h"

/* Lowers max_kernels and http_connections to what fits into limit descriptors of one process, and
 * says so. -EMFILE where hardly anything would. */
int open_files_fit(struct params *params, uint64_t limit, struct err *err);
