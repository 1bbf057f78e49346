#include "jail/places.h"

#include <stdio.h>
#include <string.h>

static const struct {
    enum controller bit;
    const char *name;
} controllers[] = {
    {CONTROLLER_MEMORY, "memory"}, {CONTROLLER_PIDS, "pids"}, {CONTROLLER_CPU, "cpu"}};

enum { CONTROLLER_COUNT = sizeof controllers / sizeof controllers[0], LINE_MAX_SIZE = 8192 };

static unsigned controller_of(const char *name, size_t size) {
    for (size_t i = 0; i < CONTROLLER_COUNT; i++)
        if (strlen(controllers[i].name) == size && memcmp(controllers[i].name, name, size) == 0)
            return controllers[i].bit;
    return 0;
}

unsigned controllers_read(const char *words) {
    unsigned set = 0;
    while (*(words += strspn(words, ", \n"))) {
        size_t size = strcspn(words, ", \n");
        set |= controller_of(words, size);
        words += size;
    }
    return set;
}

void controllers_write(unsigned set, const char *prefix, char ret_text[64]) {
    size_t size = 0;
    ret_text[0] = 0;
    for (size_t i = 0; i < CONTROLLER_COUNT; i++)
        if (set & controllers[i].bit)
            size += (size_t)snprintf(ret_text + size, 64 - size, "%s%s%s", size ? " " : "", prefix,
                                     controllers[i].name);
}

/* Copies one line; false at the end. Lines that do not fit name no group of ours. */
static bool next_line(const char **text, char ret_line[LINE_MAX_SIZE]) {
    size_t size = strcspn(*text, "\n");
    if (**text == 0)
        return false;
    snprintf(ret_line, LINE_MAX_SIZE, "%.*s", (int)(size < LINE_MAX_SIZE ? size : 0), *text);
    *text += size + ((*text)[size] == '\n');
    return true;
}

/* What a line of mountinfo says of a mount of cgroups (proc(5)). */
struct mount_line {
    char *root, *point, *type, *options;
};

static bool read_mount(char *line, struct mount_line *ret_mount) {
    char *rest = strstr(line, " - "), *skipped;
    if (!rest)
        return false;
    *rest = 0;
    rest += 3;
    for (int i = 0; i < 3; i++) /* its id, its parent's, the device */
        strsep(&line, " ");
    ret_mount->root = strsep(&line, " ");
    ret_mount->point = strsep(&line, " ");
    ret_mount->type = strsep(&rest, " ");
    skipped = strsep(&rest, " "); /* the source */
    ret_mount->options = rest;
    return ret_mount->root && ret_mount->point && skipped && rest;
}

/* The group's folder below a mount that may show a part of the hierarchy only. */
static bool join(const struct mount_line *mount, const char *group, char ret_path[PATH_MAX]) {
    size_t size = strlen(mount->root);
    if (strcmp(mount->root, "/") == 0)
        size = 0;
    if (strncmp(group, mount->root, size) != 0 || (group[size] && group[size] != '/'))
        return false;
    const char *below = strcmp(group + size, "/") == 0 ? "" : group + size;
    return snprintf(ret_path, PATH_MAX, "%s%s", mount->point, below) < PATH_MAX;
}

static bool is_mount_of(const struct mount_line *mount, const struct place *place) {
    if (place->is_v2)
        return strcmp(mount->type, "cgroup2") == 0;
    return strcmp(mount->type, "cgroup") == 0 &&
           (controllers_read(mount->options) & place->controllers);
}

static bool find_folder(const char *mountinfo, const char *group, struct place *place) {
    char line[LINE_MAX_SIZE];
    struct mount_line mount;
    while (next_line(&mountinfo, line))
        if (read_mount(line, &mount) && is_mount_of(&mount, place) &&
            join(&mount, group, place->path))
            return true;
    return false;
}

size_t places_find(const char *cgroup, const char *mountinfo, struct place places[PLACES_MAX]) {
    char line[LINE_MAX_SIZE];
    size_t count = 0;
    while (count < PLACES_MAX && next_line(&cgroup, line)) {
        char *group = line;
        const char *number = strsep(&group, ":"), *names = group ? strsep(&group, ":") : NULL;
        if (!group)
            continue;
        struct place *place = &places[count];
        *place = (struct place){.is_v2 = strcmp(number, "0") == 0 && !*names,
                                .controllers = controllers_read(names)};
        if (place->is_v2 || place->controllers)
            count += find_folder(mountinfo, group, place);
    }
    return count;
}
