#include "init/output.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

/* Makes room for one more read, and keeps what a tail may need. */
static void drop_oldest(struct output *output) {
    if (output->size <= INIT_OUTPUT_MAX)
        return;
    memmove(output->data, output->data + output->size - INIT_OUTPUT_MAX, INIT_OUTPUT_MAX);
    output->size = INIT_OUTPUT_MAX;
}

bool output_read(struct output *output) {
    if (output->fd < 0)
        return false;
    drop_oldest(output);
    ssize_t count = read(output->fd, output->data + output->size, INIT_OUTPUT_MAX);
    if (count > 0) {
        output->size += (size_t)count;
        return true;
    }
    if (count < 0 && (errno == EAGAIN || errno == EINTR))
        return false;
    close(output->fd);
    output->fd = -1;
    return false;
}

const uint8_t *output_tail(const struct output *output, size_t *ret_size) {
    size_t size = output->size < INIT_OUTPUT_MAX ? output->size : INIT_OUTPUT_MAX;
    *ret_size = size;
    return output->data + output->size - size;
}
