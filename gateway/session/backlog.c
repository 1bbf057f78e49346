#include "session/backlog.h"

#include <assert.h>

#include "base/mem.h"

void backlog_init(struct backlog *backlog, size_t *total) {
    *backlog = (struct backlog){.total = total};
    list_init(&backlog->sent);
    list_init(&backlog->unsent);
}

/* -- entries ---------------------------------------------------------------------------------- */

static struct kept *create(const struct frame *frame, bool is_end, uint64_t position) {
    struct kept *kept = mem_alloc(sizeof *kept);
    *kept = (struct kept){.frame = *frame, .is_end = is_end, .position = position};
    list_init(&kept->link);
    kept->size = sizeof *kept;
    if (frame->payload) {
        bytes_ref(frame->payload);
        kept->size += frame->payload->size;
    }
    return kept;
}

static void destroy(struct kept *kept) {
    list_remove(&kept->link);
    bytes_unref(kept->frame.payload);
    mem_free(kept);
}

static struct kept *entry_of(struct list *link) {
    return LIST_ENTRY(link, struct kept, link);
}

static void count_unsent(struct backlog *backlog, size_t bytes) {
    backlog->unsent_bytes += bytes;
    *backlog->total += bytes;
}

/* list_append puts a link before its first argument. */
static void insert_unsent(struct backlog *backlog, struct list *before, struct kept *kept) {
    list_append(before, &kept->link);
    count_unsent(backlog, kept->size);
}

static void remove_unsent(struct backlog *backlog, struct kept *kept) {
    if (backlog->looking == &kept->link)
        backlog->looking = kept->link.next;
    list_remove(&kept->link);
    count_unsent(backlog, -kept->size);
}

void backlog_add_sent(struct backlog *backlog, const struct frame *frame, bool is_end,
                      uint64_t position) {
    assert(list_is_empty(&backlog->unsent));
    struct kept *kept = create(frame, is_end, position);
    list_append(&backlog->sent, &kept->link);
    backlog->sent_bytes += kept->size;
}

void backlog_add_unsent(struct backlog *backlog, const struct frame *frame, bool is_end) {
    struct kept *kept = create(frame, is_end, 0);
    insert_unsent(backlog, &backlog->unsent, kept);
    if (backlog->looking == &backlog->unsent)
        backlog->looking = &kept->link;
}

void backlog_add_next(struct backlog *backlog, const struct frame *frame) {
    insert_unsent(backlog, backlog->unsent.next, create(frame, true, 0));
}

/* -- sending ---------------------------------------------------------------------------------- */

struct kept *backlog_next(const struct backlog *backlog) {
    return list_is_empty(&backlog->unsent) ? NULL : entry_of(backlog->unsent.next);
}

void backlog_note_sent(struct backlog *backlog, struct kept *kept, const struct frame *frame,
                       uint64_t position) {
    assert(kept == backlog_next(backlog) && !kept_is_gap(kept));
    struct kept *sent = create(frame, kept->is_end, position);
    sent->deaths = kept->deaths;
    remove_unsent(backlog, kept);
    destroy(kept);
    list_append(&backlog->sent, &sent->link);
    backlog->sent_bytes += sent->size;
}

void backlog_acknowledge(struct backlog *backlog, uint64_t acknowledged) {
    struct kept *kept;
    list_for_each (kept, &backlog->sent, link) {
        if (kept->position > acknowledged)
            return;
        backlog->sent_bytes -= kept->size;
        destroy(kept);
    }
}

/* What is sent of a frame that is large enough to matter is no smaller than what is kept of it. */
void backlog_note_death(struct backlog *backlog, uint64_t acknowledged) {
    struct kept *kept = list_is_empty(&backlog->sent) ? NULL : entry_of(backlog->sent.next);
    if (kept && acknowledged + kept->frame.payload->size > kept->position)
        kept->deaths++;
}

void backlog_rewind(struct backlog *backlog) {
    while (!list_is_empty(&backlog->sent)) {
        struct kept *kept = entry_of(backlog->sent.previous);
        list_remove(&kept->link);
        insert_unsent(backlog, backlog->unsent.next, kept);
    }
    backlog->sent_bytes = 0;
}

/* -- losing ----------------------------------------------------------------------------------- */

void gap_destroy(struct gap *gap) {
    if (!gap)
        return;
    for (size_t i = 0; i < gap->count; i++)
        bytes_unref(gap->missing[i].parent);
    mem_free(gap);
}

/* Where a message of that parent is counted. */
static struct missing *find_missing(struct backlog *backlog, struct slice parent) {
    struct gap *gap = backlog->gap;
    for (size_t i = gap->count; i-- > 0;) /* the last one, mostly */
        if (slice_equal(bytes_slice(gap->missing[i].parent), parent))
            return &gap->missing[i];
    if (gap->count == GAPS_MAX)
        return &gap->missing[GAPS_MAX - 1];
    struct missing *missing = &gap->missing[gap->count++];
    *missing = (struct missing){.parent = bytes_copy(parent)};
    backlog->gap_at->size += parent.size;
    count_unsent(backlog, parent.size);
    return missing;
}

static void count_missing(struct backlog *backlog, const struct frame *frame) {
    struct outgoing outgoing;
    outgoing_begin(&outgoing, frame);
    const struct msg *msg = outgoing_msg(&outgoing, NULL);
    struct missing *missing = find_missing(backlog, msg ? msg->parent_header : SLICE_LITERAL("{}"));
    missing->messages++;
    missing->bytes += frame->payload->size;
    outgoing_finish(&outgoing);
}

/* Makes the gap, before the message at which the unsent grows beyond half of bytes. */
static void open_gap(struct backlog *backlog, size_t bytes) {
    struct list *at = backlog->unsent.next;
    for (size_t head = entry_of(at)->size; head <= bytes / 2; head += entry_of(at)->size) {
        at = at->next;
        if (at == &backlog->unsent)
            break;
    }
    struct kept *kept = create(&(struct frame){0}, true, 0);
    kept->size += sizeof *backlog->gap;
    insert_unsent(backlog, at, kept);
    backlog->gap = mem_zalloc(1, sizeof *backlog->gap);
    backlog->gap_at = kept;
    backlog->looking = kept->link.next;
}

static void lose(struct backlog *backlog, struct kept *kept) {
    count_missing(backlog, &kept->frame);
    remove_unsent(backlog, kept);
    destroy(kept);
}

/* The oldest of the tail that ends nothing, or NULL. */
static struct kept *find_in_tail(struct backlog *backlog) {
    while (backlog->looking != &backlog->unsent && entry_of(backlog->looking)->is_end)
        backlog->looking = backlog->looking->next;
    return backlog->looking == &backlog->unsent ? NULL : entry_of(backlog->looking);
}

/* What is lost when nothing else is left to lose: the newest of the head, the oldest of the tail.
 */
static struct kept *find_anywhere(struct backlog *backlog) {
    struct list *gap = &backlog->gap_at->link;
    if (gap->previous != &backlog->unsent)
        return entry_of(gap->previous);
    return gap->next != &backlog->unsent ? entry_of(gap->next) : NULL;
}

void backlog_shrink(struct backlog *backlog, size_t bytes) {
    if (backlog->unsent_bytes <= bytes)
        return;
    if (!backlog->gap_at)
        open_gap(backlog, bytes);
    while (backlog->unsent_bytes > bytes) {
        struct kept *kept = find_in_tail(backlog);
        if (!kept)
            kept = find_anywhere(backlog);
        if (!kept)
            return;
        lose(backlog, kept);
    }
}

struct gap *backlog_take_gap(struct backlog *backlog) {
    struct kept *kept = backlog->gap_at;
    struct gap *gap = backlog->gap;
    assert(kept && kept == backlog_next(backlog));
    remove_unsent(backlog, kept);
    destroy(kept);
    backlog->gap = NULL;
    backlog->gap_at = NULL;
    backlog->looking = NULL;
    return gap;
}

void backlog_drop_next(struct backlog *backlog) {
    struct kept *kept = backlog_next(backlog);
    remove_unsent(backlog, kept);
    destroy(kept);
}

void backlog_lose_next(struct backlog *backlog) {
    struct kept *kept = backlog_next(backlog);
    if (!backlog->gap_at)
        open_gap(backlog, 0);
    lose(backlog, kept);
}

void backlog_finish(struct backlog *backlog) {
    backlog_rewind(backlog);
    while (!list_is_empty(&backlog->unsent)) {
        struct kept *kept = entry_of(backlog->unsent.next);
        remove_unsent(backlog, kept);
        destroy(kept);
    }
    gap_destroy(backlog->gap);
}
