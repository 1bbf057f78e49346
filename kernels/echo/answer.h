/* answer - from a request to its reply. One function per message type takes the request and its
 * content and returns the content of the reply (owned by the caller), NULL for none. */
#pragma once

#include <jansson.h>

struct kernel;
struct request;

/* Says busy, answers, says idle. A type that is not known gets the two statuses alone. */
void answer_request(struct kernel *kernel, const struct request *request);

/* content is NULL for types that nothing replies to. */
typedef json_t *answer_function(struct kernel *kernel, const struct request *request,
                                const json_t *content);

/* execute.c */
answer_function answer_execute;
/* inform.c */
answer_function answer_kernel_info, answer_is_complete, answer_complete, answer_inspect;
/* history.c */
answer_function answer_history;
/* comms.c */
answer_function answer_comm_info, answer_comm_open, answer_comm_msg, answer_comm_close;
/* answer.c */
answer_function answer_shutdown, answer_interrupt;
