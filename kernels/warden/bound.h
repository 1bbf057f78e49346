/* bound - says which trees of kernelspecs and which data folders are bound in jails, where overlays
 * would keep sessions from noticing each other, and from reading where a data folder lies. */
#pragma once

#include "warden/data.h"
#include "warden/specs.h"

/* Each line once while the warden lives: said keeps those that were. */
void bound_say(const struct specs *specs, const struct data *data, struct strings *said);
