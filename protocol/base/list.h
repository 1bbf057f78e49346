/* list - an intrusive, circular, doubly linked list. A head is a link that points at itself. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct list {
    struct list *previous, *next;
};

/* The struct of type that holds link as its member. */
#define LIST_ENTRY(link, type, member) ((type *)((char *)(link)-offsetof(type, member)))

/* Safe where the body removes or frees the entry it stands on. */
#define list_for_each(entry, head, member)                                                         \
    for (struct list *at_ = (head)->next, *next_ = at_->next;                                      \
         at_ != (head) && ((entry) = LIST_ENTRY(at_, __typeof__(*(entry)), member), 1);            \
         at_ = next_, next_ = at_->next)

static inline void list_init(struct list *head) {
    head->previous = head->next = head;
}

static inline bool list_is_empty(const struct list *head) {
    return head->next == head;
}

static inline void list_append(struct list *head, struct list *link) {
    link->previous = head->previous;
    link->next = head;
    head->previous->next = link;
    head->previous = link;
}

/* The link points at itself afterwards, so removing it again does nothing. */
static inline void list_remove(struct list *link) {
    link->previous->next = link->next;
    link->next->previous = link->previous;
    list_init(link);
}

/* Moves all entries of from, which is empty afterwards, to the head to, which need not be
 * initialised. */
static inline void list_take(struct list *to, struct list *from) {
    list_init(to);
    if (list_is_empty(from))
        return;
    *to = *from;
    to->next->previous = to->previous->next = to;
    list_init(from);
}
