/* publish - what the kernel says on iopub, each with the request that caused it as its parent
 * (NULL: none). Topics are kernel.SESSION.TYPE, as ipykernel's are. */
#pragma once

#include <jansson.h>

#include "base/slice.h"

struct kernel;
struct request;

void publish(struct kernel *kernel, const struct request *parent, const char *msg_type,
             struct slice content);
/* content is consumed. */
void publish_json(struct kernel *kernel, const struct request *parent, const char *msg_type,
                  json_t *content);
/* With the buffers of the parent. */
void publish_with_buffers(struct kernel *kernel, const struct request *parent, const char *msg_type,
                          struct slice content);
/* busy, idle or starting. */
void publish_status(struct kernel *kernel, const struct request *parent, const char *state);
/* name is stdout or stderr; bytes that are no UTF-8 become U+FFFD. */
void publish_stream(struct kernel *kernel, const struct request *parent, const char *name,
                    struct slice text);

/* Takes the subscriptions that came and greets the first subscriber of each topic (JEP 65). */
void publish_welcomes(struct kernel *kernel);
