/* fuzz_specs - kernelspecs that the warden tells of, whose files anybody may have written. Input:
 * the kernelspec's name, its kernel.json, and by turns the name and content of its other files,
 * each ended by NUL. What is taken has what JupyterLab demands; what is refused says which it was.
 */
#include <assert.h>
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/mem.h"
#include "session/specs.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const struct params params = {.memory_bytes = 512 << 20,
                                     .max_memory_bytes = 1024 << 20,
                                     .pids = 256,
                                     .max_pids = 512,
                                     .kernel_env_bytes = 200,
                                     .kernel_env_value_bytes = 100,
                                     .session_label_bytes = 100};
static const struct data_names names = {.names = {[0] = "sets"}};
static const struct parameters_context context = {&params, &names};

static struct slice next(struct slice *input) {
    size_t size = input->size ? strnlen((const char *)input->data, input->size) : 0;
    struct slice piece = slice_make(input->data, size);
    *input = slice_from(*input, size + (size < input->size));
    return piece;
}

static int write_file(struct slice content) {
    int fd = memfd_create("fuzz", MFD_CLOEXEC);
    ssize_t wrote = write(fd, content.data, content.size);
    assert(fd >= 0 && wrote == (ssize_t)content.size);
    return fd;
}

/* The texts of a packet end within it: rpc_receive lets no other through. */
static void copy_text(char *to, size_t room, struct slice text) {
    snprintf(to, room, "%.*s", (int)text.size, text.size ? (const char *)text.data : "");
}

static void fill(struct rpc_packet *packet, struct slice input) {
    packet->head.kind = RPC_SPEC;
    packet->spec.generation = 1;
    copy_text(packet->spec.name, sizeof packet->spec.name, next(&input));
    copy_text(packet->spec.files[0], sizeof packet->spec.files[0], SLICE_LITERAL("kernel.json"));
    packet->fds[packet->fd_count++] = write_file(next(&input));
    while (input.size && packet->fd_count < RPC_SPEC_FILES_MAX) {
        char *name = packet->spec.files[packet->fd_count];
        copy_text(name, sizeof packet->spec.files[0], next(&input));
        packet->fds[packet->fd_count++] = write_file(next(&input));
    }
    packet->spec.file_count = (uint32_t)packet->fd_count;
}

static void check_name(const char *name) {
    assert(*name && !strchr(name, '/') && strcmp(name, ".") != 0 && strcmp(name, "..") != 0);
}

static void check_taken(const struct specs *specs, const struct rpc_packet *packet) {
    const struct spec *spec = specs_find(specs, packet->spec.name);
    assert(spec && specs->count == 1);
    check_name(spec->name);
    assert(json_is_string(json_object_get(spec->content, "display_name")));
    assert(json_is_string(json_object_get(spec->content, "language")));
    assert(json_array_size(json_object_get(spec->content, "argv")) > 0);
    assert(spec->resource_count == packet->fd_count - 1);
    for (size_t i = 0; i < spec->resource_count; i++)
        check_name(spec->resources[i].name);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static struct rpc_packet packet; /* 64 KiB of tail */
    struct specs specs = {0};
    struct err err = {0};
    memset(&packet, 0, offsetof(struct rpc_packet, tail));
    fill(&packet, slice_make(data, size));
    int result = specs_add(&specs, &context, &packet, &err);
    assert(result == 0 || (err.code == -result && strncmp(err.text, "kernelspec ", 11) == 0));
    if (result == 0) {
        check_taken(&specs, &packet);
        assert(specs_add(&specs, &context, &packet, &err) == 0); /* once more: it is replaced */
        check_taken(&specs, &packet);
        specs_keep_generation(&specs, 2);
        assert(specs.count == 0);
    } else {
        assert(specs.count == 0);
    }
    rpc_packet_close(&packet);
    specs_finish(&specs);
    assert(mem_live() == 0);
    return 0;
}
