/* control - the files of a control group: each is read or written whole. Paths are relative to a
 * folder's descriptor; results are 0 or a negative errno. */
#pragma once

#include <stddef.h>
#include <stdint.h>

enum { CONTROL_TEXT_MAX = 4096 };

int control_write(int folder_fd, const char *path, const char *text);
/* What a group file says, NUL-terminated, cut at its size. */
int control_read(int folder_fd, const char *path, char *ret_text, size_t size);
int control_read_number(int folder_fd, const char *path, uint64_t *ret_number);
/* Of lines "KEY NUMBER"; -ENOENT where no line has that key. */
int control_read_key(int folder_fd, const char *path, const char *key, uint64_t *ret_number);
