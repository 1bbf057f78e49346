/* directory - where a program starts. */
#pragma once

/* Makes path, taken from where this process is (the session's home), its working directory: the
 * folder itself, where the session can see it and it is more than a step on the way to what is
 * shown; else the nearest one above it within the home; else nothing changes. Clients name folders
 * of their own machine, which need not be here (jupyter_server walks up likewise). */
void directory_enter(const char *path);
