/* bound - says which trees of kernelspecs are bound in jails, where overlays would keep sessions
 * from noticing each other. */
#pragma once

#include "warden/specs.h"

void bound_say(const struct specs *specs);
