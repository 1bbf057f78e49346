/* folder - a folder of the target's own below /tmp, gone with the process. */
#pragma once

/* Its path; made at the first call. */
const char *folder_path(void);
/* Takes away what is in a folder below it, and that folder; path is absolute. */
void folder_remove(const char *path);
