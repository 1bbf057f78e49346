/* kernel_seats - how a message reaches the clients, and what becomes of it when one is not there.
 *
 * What a client was sent is kept until its TCP has acknowledged it. Its one complication is when to
 * ask for that, which costs a system call: when what is kept has doubled, some time after the last
 * message, and at the end, for what the next client of that session_id is to be sent. */
#include <inttypes.h>
#include <stdio.h>

#include "base/cleanup.h"
#include "loop/loop.h"
#include "session/kernel_parts.h"

enum {
    LOOK_BYTES = 16 * 1024,       /* below it nothing is asked at once */
    LOOK_MS = 1000,               /* but some time later */
    CATCH_UP_BYTES = 1024 * 1024, /* queued to a client that catches up */
    SHED_MIN_BYTES = 1024 * 1024, /* less is not worth losing */
    CLOCK_SLACK_MS = 1,           /* a timer may fire a little early */
    DEATHS_MAX = 2,               /* of a client in the middle of one message */
    DEADLY_BYTES = 1024 * 1024,   /* the smallest limit of any client known (websockets) */
};

static const struct params *params_of(const struct kernel *kernel) {
    return kernel->context->params;
}

/* -- seats ------------------------------------------------------------------------------------ */

struct seat *seat_find(struct kernel *kernel, const char *session_id) {
    struct seat *seat;
    list_for_each (seat, &kernel->seats, link)
        if (strcmp(seat->session_id, session_id) == 0)
            return seat;
    return NULL;
}

struct seat *seat_create(struct kernel *kernel, const char *session_id) {
    struct seat *seat = mem_zalloc(1, sizeof *seat);
    seat->session_id = mem_strdup(session_id);
    backlog_init(&seat->backlog, &kernel->buffered_bytes);
    list_append(&kernel->seats, &seat->link);
    return seat;
}

void seat_destroy(struct kernel *kernel, struct seat *seat) {
    pending_forget_seat(&kernel->pending, seat);
    list_remove(&seat->link);
    backlog_finish(&seat->backlog);
    mem_free(seat->session_id);
    mem_free(seat);
}

/* -- what has arrived ------------------------------------------------------------------------- */

static void look(struct seat *seat) {
    backlog_acknowledge(&seat->backlog, seat->client->acknowledged(seat->client));
    seat->look_at_bytes = 2 * seat->backlog.sent_bytes + LOOK_BYTES;
}

static void watch_arrivals(struct kernel *kernel) {
    if (!kernel->arrivals_watched)
        loop_timer_start(kernel->arrivals, LOOK_MS);
    kernel->arrivals_watched = true;
}

void kernel_on_arrivals(void *context) {
    struct kernel *kernel = context;
    struct seat *seat;
    kernel->arrivals_watched = false;
    list_for_each (seat, &kernel->seats, link) {
        if (!seat->client || list_is_empty(&seat->backlog.sent))
            continue;
        look(seat);
        if (!list_is_empty(&seat->backlog.sent))
            watch_arrivals(kernel);
    }
}

static void note_sent(struct kernel *kernel, struct seat *seat) {
    if (seat->backlog.sent_bytes > seat->look_at_bytes)
        look(seat);
    watch_arrivals(kernel);
}

/* -- what is too much ------------------------------------------------------------------------- */

static struct seat *find_fullest(struct kernel *kernel) {
    struct seat *seat, *fullest = NULL;
    list_for_each (seat, &kernel->seats, link)
        if (!fullest || seat->backlog.unsent_bytes > fullest->backlog.unsent_bytes)
            fullest = seat;
    return fullest;
}

static void keep_below(struct kernel *kernel, size_t limit) {
    while (kernel->buffered_bytes > limit) {
        struct backlog *backlog = &find_fullest(kernel)->backlog;
        size_t before = backlog->unsent_bytes, excess = kernel->buffered_bytes - limit;
        backlog_shrink(backlog, before > excess ? before - excess : 0);
        if (backlog->unsent_bytes >= before)
            return; /* a gap and nothing else */
    }
}

void kernel_shed(struct kernel *kernel) {
    size_t half = kernel->buffered_bytes / 2;
    if (half >= SHED_MIN_BYTES)
        keep_below(kernel, half);
}

/* -- catching up ------------------------------------------------------------------------------ */

/* One message for each request that something is missing of, where it would have been. */
static void say_missing(struct kernel *kernel, struct seat *seat, const struct missing *missing) {
    cleanup_text struct text words = {0}, metadata = {0};
    text_append_format(&words,
                       "\n[%" PRIu64 " messages (%" PRIu64
                       " bytes) are missing here: they came while the connection was gone, and "
                       "session_buffer_bytes is %" PRIu64 "]\n",
                       missing->messages, missing->bytes, params_of(kernel)->session_buffer_bytes);
    text_append_format(
        &metadata, "{\"cellblock\":{\"missing\":{\"messages\":%" PRIu64 ",\"bytes\":%" PRIu64 "}}}",
        missing->messages, missing->bytes);
    cleanup_bytes struct bytes *content = msg_content_stream("stderr", words.data);
    struct said said;
    said_begin(&said, kernel, MSG_IOPUB, "stream", bytes_slice(missing->parent),
               text_slice(&metadata), bytes_slice(content));
    struct frame frame = outgoing_frame(&said.outgoing, ENCODING_V1);
    backlog_add_next(&seat->backlog, &frame);
    said_finish(&said);
}

static void say_gap(struct kernel *kernel, struct seat *seat) {
    struct gap *gap = backlog_take_gap(&seat->backlog);
    for (size_t i = gap->count; i-- > 0;) /* each goes before the last */
        say_missing(kernel, seat, &gap->missing[i]);
    gap_destroy(gap);
}

/* Whether clients died on it: they take no frame of that size, and would die again and again. */
static bool is_deadly(const struct kept *kept) {
    return kept->deaths >= DEATHS_MAX && kept->frame.payload->size > DEADLY_BYTES;
}

/* Puts words about the next message into its place. */
static void replace_deadly(struct kernel *kernel, struct seat *seat, const struct kept *kept) {
    const struct msg_header *header;
    struct outgoing outgoing;
    outgoing_begin(&outgoing, &kept->frame);
    const struct msg *msg = outgoing_msg(&outgoing, &header);
    if (!msg) {
        backlog_lose_next(&seat->backlog);
        outgoing_finish(&outgoing);
        return;
    }
    char sentence[ERR_TEXT_MAX];
    struct said said;
    snprintf(sentence, sizeof sentence,
             "%.40s: a message of %zu bytes was left out: the connection ended %u times in the "
             "middle of it, so the client's own limit for a message may be lower",
             header->msg_type, kept->frame.payload->size, kept->deaths);
    said_begin_instead(&said, kernel, msg, header, sentence);
    struct frame frame = outgoing_frame(&said.outgoing, ENCODING_V1);
    backlog_drop_next(&seat->backlog);
    backlog_add_next(&seat->backlog, &frame);
    said_finish(&said);
    outgoing_finish(&outgoing);
}

/* False where the client takes nothing more. */
static bool send_kept(struct seat *seat, struct kept *kept) {
    struct outgoing outgoing;
    outgoing_begin(&outgoing, &kept->frame);
    struct frame frame = outgoing_frame(&outgoing, seat->client->encoding);
    uint64_t position = 0;
    bool binary; /* what is kept may be there, and what is sent of it not: as text */
    bool is_known = frame.payload && outgoing_encode(&outgoing, seat->client->encoding, &binary);
    if (!is_known)
        backlog_lose_next(&seat->backlog);
    else
        position = seat->client->on_message(seat->client, &outgoing);
    if (is_known && position != UINT64_MAX)
        backlog_note_sent(&seat->backlog, kept, &frame, position);
    outgoing_finish(&outgoing);
    return position != UINT64_MAX;
}

/* A message that fits into the client's queue alone may be too much behind others. */
static bool has_room(const struct seat *seat, const struct kept *kept) {
    size_t queued = seat->client->queued(seat->client);
    return queued == 0 || queued + kept->size <= CATCH_UP_BYTES;
}

void seat_catch_up(struct kernel *kernel, struct seat *seat) {
    struct kept *kept;
    while ((kept = backlog_next(&seat->backlog)) && has_room(seat, kept)) {
        if (kept_is_gap(kept))
            say_gap(kernel, seat);
        else if (is_deadly(kept))
            replace_deadly(kernel, seat, kept);
        else if (!send_kept(seat, kept))
            return;
        note_sent(kernel, seat);
    }
}

/* -- delivering ------------------------------------------------------------------------------- */

/* Keeps what may have to be said again. */
static void deliver_and_keep(struct kernel *kernel, struct seat *seat, struct outgoing *outgoing) {
    struct frame frame =
        outgoing_frame(outgoing, seat->client ? seat->client->encoding : ENCODING_V1);
    bool is_end = outgoing->asker == seat, is_behind = backlog_next(&seat->backlog) != NULL;
    uint64_t position = UINT64_MAX;
    if (seat->client && !is_behind)
        position = seat->client->on_message(seat->client, outgoing);
    if (position != UINT64_MAX) {
        backlog_add_sent(&seat->backlog, &frame, is_end, position);
        note_sent(kernel, seat);
    } else {
        backlog_add_unsent(&seat->backlog, &frame, is_end);
        keep_below(kernel, params_of(kernel)->session_buffer_bytes);
    }
}

static void deliver(struct kernel *kernel, struct seat *seat, struct outgoing *outgoing) {
    if (*seat->session_id)
        deliver_and_keep(kernel, seat, outgoing);
    else
        seat->client->on_message(seat->client, outgoing);
}

void kernel_deliver(struct kernel *kernel, struct seat *seat, struct outgoing *outgoing) {
    if (seat)
        return deliver(kernel, seat, outgoing);
    list_for_each (seat, &kernel->seats, link)
        deliver(kernel, seat, outgoing);
}

/* -- absence ---------------------------------------------------------------------------------- */

/* The one gone longest, and how many are. */
static struct seat *find_absent(struct kernel *kernel, size_t *ret_count) {
    struct seat *seat, *longest = NULL;
    *ret_count = 0;
    list_for_each (seat, &kernel->seats, link) {
        if (seat->client)
            continue;
        ++*ret_count;
        if (!longest || seat->gone_ms < longest->gone_ms)
            longest = seat;
    }
    return longest;
}

/* Forgets who is away too long or one too many, and comes back when the next one may be. */
void kernel_on_absences(void *context) {
    struct kernel *kernel = context;
    struct seat *longest;
    size_t count;
    while ((longest = find_absent(kernel, &count))) {
        int64_t left_ms = longest->gone_ms + params_of(kernel)->session_buffer_ms -
                          loop_now_ms(kernel->context->loop);
        if (left_ms > 0 && count <= params_of(kernel)->session_buffers) {
            loop_timer_start(kernel->absences, left_ms + CLOCK_SLACK_MS);
            return;
        }
        seat_destroy(kernel, longest);
    }
}

void seat_leave(struct kernel *kernel, struct seat *seat, bool is_sudden) {
    look(seat);
    if (is_sudden)
        backlog_note_death(&seat->backlog, seat->client->acknowledged(seat->client));
    seat->client = NULL;
    seat->gone_ms = loop_now_ms(kernel->context->loop);
    backlog_rewind(&seat->backlog);
    keep_below(kernel, params_of(kernel)->session_buffer_bytes);
    list_remove(&seat->link);
    list_append(&kernel->seats, &seat->link);
}
