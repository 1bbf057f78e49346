/* fake_link - stands below the session room where ZeroMQ is: a kernel that says what the target
 * says. It keeps to what link.h promises, and holds its user to it. */
#pragma once

#include "session/link.h"

enum { FAKE_LINKS_MAX = 4, FAKE_HEARD_MAX = 16 };

/* The link of that number; NULL where there is none. */
struct link *fake_link_find(unsigned number);

/* What becomes of it; without consequence where link.h would not let it happen now. */
void fake_link_connect(struct link *link);
void fake_link_fail(struct link *link);
void fake_link_drain(struct link *link);
/* What it says of unread and unsent bytes. */
void fake_link_hold(struct link *link, bool has_unread, size_t queued);

/* The header of one of the last requests that it was sent; "" where there is none. */
struct slice fake_link_heard(const struct link *link, unsigned number);
/* The kernel says a message; headers that are none are refused. */
void fake_link_say(struct link *link, const struct msg *msg);
