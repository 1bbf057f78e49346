#include "wire/multipart.h"

#include <errno.h>

/* Topics and identities stand before the delimiter: one each in practice. */
enum { DELIMITER_MAX = 16 };

enum { SIGNATURE, HEADER, PARENT_HEADER, METADATA, CONTENT, BUFFERS };

static size_t find_delimiter(const struct slice *parts, size_t count) {
    size_t i = 0;
    while (i < count && !slice_equal_text(parts[i], MULTIPART_DELIMITER))
        i++;
    return i;
}

int multipart_read(const struct slice *parts, size_t count, size_t *ret_identities,
                   struct slice *ret_signature, struct msg *ret_msg, struct err *err) {
    size_t first = count < DELIMITER_MAX ? count : DELIMITER_MAX;
    size_t identities = find_delimiter(parts, first);
    if (identities == first)
        return err_set(err, EINVAL, "no delimiter within the first %zu parts", first);
    const struct slice *behind = parts + identities + 1;
    size_t more = count - identities - 1;
    if (more < BUFFERS)
        return err_set(err, EINVAL, "%zu parts behind the delimiter, at least %d are needed", more,
                       BUFFERS);
    if (more - BUFFERS > MSG_BUFFERS_MAX)
        return err_set(err, EINVAL, "%zu buffers, at most %d are taken", more - BUFFERS,
                       MSG_BUFFERS_MAX);
    *ret_identities = identities;
    *ret_signature = behind[SIGNATURE];
    ret_msg->header = behind[HEADER];
    ret_msg->parent_header = behind[PARENT_HEADER];
    ret_msg->metadata = behind[METADATA];
    ret_msg->content = behind[CONTENT];
    ret_msg->buffers = behind + BUFFERS;
    ret_msg->buffer_count = more - BUFFERS;
    return 0;
}
