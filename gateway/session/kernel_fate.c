/* kernel_fate - why a kernel ended, in words, and what follows. */
#include <string.h>

#include "base/cleanup.h"
#include "msg/utf8.h"
#include "session/kernel_parts.h"

void kernel_set_fate(struct kernel *kernel, enum reason reason, struct slice sentence) {
    struct text mended = {0};
    utf8_append_mended(&mended, sentence);
    mem_free(kernel->fate.sentence);
    kernel->fate = (struct fate){reason, mended.data ? mended.data : mem_strdup("")};
}

struct cause_entry {
    enum rpc_cause cause;
    enum reason reason;
    const char *sentence;
    bool has_status;
};

static const struct cause_entry *cause_entry(uint32_t cause) {
    static const struct cause_entry entries[] = {
        {RPC_CAUSE_EXIT, REASON_exit, "the kernel left by itself with exit status", true},
        {RPC_CAUSE_SIGNAL, REASON_signal, "the kernel was ended by signal", true},
        {RPC_CAUSE_OOM, REASON_oom, "", false},
        {RPC_CAUSE_FAILED, REASON_failed, "the kernel could not be started", false},
        {RPC_CAUSE_KILLED, REASON_signal, "the kernel was killed by the warden", false},
    };
    size_t at = 0;
    while (at + 1 < sizeof entries / sizeof *entries && entries[at].cause != (enum rpc_cause)cause)
        at++;
    return &entries[at];
}

/* What the kernel printed last: the whole of a sentence of the warden's, else the last line, since
 * that line usually tells why. */
static struct slice last_words(const struct rpc_packet *packet) {
    struct slice tail = slice_make(packet->tail, packet->tail_size);
    while (tail.size && tail.data[tail.size - 1] == '\n')
        tail.size--;
    const uint8_t *line = tail.size ? memrchr(tail.data, '\n', tail.size) : NULL;
    if (line && packet->tree_ended.cause != RPC_CAUSE_FAILED)
        tail = slice_from(tail, (size_t)(line + 1 - tail.data));
    return tail;
}

static void append_words(const struct kernel *kernel, const struct rpc_packet *packet,
                         struct text *sentence) {
    struct slice words = last_words(packet);
    if (kernel->was_ready || !words.size)
        return;
    text_append_text(sentence, ": ");
    text_append(sentence, words);
}

static void append_bytes(struct text *sentence, uint64_t bytes) {
    const uint64_t mebibyte = 1ULL << 20;
    text_append_format(sentence, "%llu bytes (%llu MiB)", (unsigned long long)bytes,
                       (unsigned long long)((bytes + mebibyte / 2) / mebibyte));
}

/* Without a limit it was the host that had no more memory, whoever used it. */
static void append_memory(const struct rpc_tree_ended *ended, struct text *sentence) {
    if (ended->limit) {
        text_append_text(sentence, "the kernel was ended by its memory limit of ");
        append_bytes(sentence, ended->limit);
    } else {
        text_append_text(sentence, "the kernel was ended since the host has no more memory");
    }
    text_append_text(sentence, "; the session's processes and files had come to ");
    append_bytes(sentence, ended->peak);
}

static void name_cause(struct kernel *kernel, const struct rpc_packet *packet) {
    const struct rpc_tree_ended *ended = &packet->tree_ended;
    const struct cause_entry *entry = cause_entry(ended->cause);
    cleanup_text struct text sentence = {0};
    if (entry->cause == RPC_CAUSE_OOM)
        append_memory(ended, &sentence);
    else
        text_append_text(&sentence, entry->sentence);
    if (entry->has_status)
        text_append_format(&sentence, " %d", ended->status);
    const char *name = ended->cause == RPC_CAUSE_SIGNAL ? sigabbrev_np(ended->status) : NULL;
    if (name)
        text_append_format(&sentence, " (SIG%s)", name);
    append_words(kernel, packet, &sentence);
    kernel_set_fate(kernel, entry->reason, text_slice(&sentence));
}

void kernel_read_fate(struct kernel *kernel, const struct rpc_packet *packet) {
    bool was_killed = packet->tree_ended.cause == RPC_CAUSE_KILLED;
    if (kernel->life != LIFE_STOPPING || (kernel_is_doomed(kernel) && !was_killed)) {
        name_cause(kernel, packet);
    } else if (kernel_is_doomed(kernel)) {
        cleanup_text struct text sentence = {0};
        text_append_text(&sentence, kernel->fate.sentence);
        append_words(kernel, packet, &sentence);
        kernel_set_fate(kernel, kernel->fate.reason, text_slice(&sentence));
    }
}

/* -- what follows ----------------------------------------------------------------------------- */

/* Which ends of a kernel that had become ready are unexpected (docs/jupyter.md has the table). One
 * that fails while it starts would only fail again. */
static const bool is_unexpected[REASON_COUNT] = {
    [REASON_signal] = true, [REASON_exit] = true,   [REASON_oom] = true,
    [REASON_lost] = true,   [REASON_output] = true, [REASON_interrupted] = true,
};

enum sequel kernel_sequel(const struct kernel *kernel) {
    if (kernel->shutdown_asked)
        return kernel->shutdown_restarts ? SEQUEL_RESTART : SEQUEL_REMOVAL;
    if (!kernel->was_ready || !is_unexpected[kernel->fate.reason])
        return SEQUEL_DEATH;
    return kernel->revivals < kernel->context->params->restart_limit ? SEQUEL_REVIVAL
                                                                     : SEQUEL_DEATH;
}
