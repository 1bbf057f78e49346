/* types - how the value of each type of parameter is read, printed and ended. */
#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/mem.h"
#include "config/number.h"
#include "config/table.h"

static void finish_nothing(void *member) {
    (void)member;
}

enum { FOLDER_NAME_MAX = 63 };

/* -- numbers ------------------------------------------------------------------------------------
 */

static int read_number(const struct param_row *row, const char *text,
                       const struct number_unit *units, void *member, struct err *err) {
    uint64_t value;
    if (number_read(text, units, &value) && value >= row->minimum && value <= row->maximum) {
        memcpy(member, &value, sizeof value); /* COUNT and BYTES unsigned, MILLISECONDS signed */
        return 0;
    }
    cleanup_text struct text range = {0};
    param_print_range(row, &range);
    return err_set(err, EINVAL, "\"%.60s\" is not %s", text, range.data);
}

#define NUMBER_TYPE(type, units_, placeholder_, kind_)                                             \
    static int read_##type(const struct param_row *row, const char *text, void *member,            \
                           struct err *err) {                                                      \
        return read_number(row, text, units_, member, err);                                        \
    }                                                                                              \
    static void print_##type(const struct param_row *row, const void *member, struct text *out) {  \
        (void)row;                                                                                 \
        number_print(*(const uint64_t *)member, units_, out);                                      \
    }                                                                                              \
    const struct param_type param_type_##type = {.placeholder = placeholder_,                      \
                                                 .kind = kind_,                                    \
                                                 .has_range = true,                                \
                                                 .read = read_##type,                              \
                                                 .print = print_##type,                            \
                                                 .finish = finish_nothing};

NUMBER_TYPE(COUNT, number_plain, "N", "a number")
NUMBER_TYPE(BYTES, number_bytes, "SIZE", "a size")
NUMBER_TYPE(MILLISECONDS, number_times, "TIME", "a time")

/* -- bool ---------------------------------------------------------------------------------------
 */

static int read_bool(const struct param_row *row, const char *text, void *member, struct err *err) {
    static const struct {
        const char *word;
        bool value;
    } words[] = {{"true", true}, {"yes", true},  {"on", true}, {"1", true}, {"false", false},
                 {"no", false},  {"off", false}, {"0", false}, {"", false}};
    (void)row;
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        if (strcasecmp(words[i].word, text) != 0)
            continue;
        *(bool *)member = words[i].value;
        return 0;
    }
    return err_set(err, EINVAL, "\"%.60s\" is neither true nor false", text);
}

static void print_bool(const struct param_row *row, const void *member, struct text *out) {
    (void)row;
    text_append_text(out, *(const bool *)member ? "true" : "false");
}

const struct param_type param_type_BOOL = {
    .kind = "true or false", .read = read_bool, .print = print_bool, .finish = finish_nothing};

/* -- texts --------------------------------------------------------------------------------------
 */

static int check_size(const struct param_row *row, const char *text, struct err *err) {
    size_t size = strlen(text);
    if (size > row->maximum)
        return err_set(err, EINVAL, "%zu bytes are more than the %zu allowed", size,
                       (size_t)row->maximum);
    if (size < row->minimum)
        return err_set(err, EINVAL, "it may not be empty");
    return 0;
}

static void put_text(char **text, char *value) {
    mem_free(*text);
    *text = value;
}

/* What may stand in a header: no control characters (RFC 9110 section 5.5). */
static int check_header_text(const struct param_row *row, const char *text, struct err *err) {
    for (const char *at = text; *at; at++)
        if (iscntrl((unsigned char)*at))
            return err_set(err, EINVAL, "it holds a control character");
    return check_size(row, text, err);
}

static int read_text(const struct param_row *row, const char *text, void *member, struct err *err) {
    int r = check_header_text(row, text, err);
    if (r == 0)
        put_text(member, mem_strdup(text));
    return r;
}

static void print_text(const struct param_row *row, const void *member, struct text *out) {
    (void)row;
    text_append_text(out, *(char *const *)member);
}

static void finish_text(void *member) {
    put_text(member, NULL);
}

const struct param_type param_type_TEXT = {.placeholder = "TEXT",
                                           .kind = "a text",
                                           .read = read_text,
                                           .print = print_text,
                                           .finish = finish_text};

static void finish_secret(void *member) {
    char *text = *(char **)member;
    if (text)
        explicit_bzero(text, strlen(text));
    put_text(member, NULL);
}

/* What stands unchanged in a header, a query, a path and a shell's line (RFC 3986's unreserved
 * characters, and "="). Sentences never show it. */
static int read_secret(const struct param_row *row, const char *text, void *member,
                       struct err *err) {
    for (const char *at = text; *at; at++)
        if (!isascii((unsigned char)*at) || (!isalnum((unsigned char)*at) && !strchr("-._~=", *at)))
            return err_set(err, EINVAL, "it may hold letters, digits and - . _ ~ = only");
    int r = check_size(row, text, err);
    if (r == 0) {
        finish_secret(member);
        put_text(member, mem_strdup(text));
    }
    return r;
}

const struct param_type param_type_SECRET = {.placeholder = "SECRET",
                                             .kind = "a secret",
                                             .is_secret = true,
                                             .read = read_secret,
                                             .print = print_text,
                                             .finish = finish_secret};

/* Relative ones are meant from the working directory of now, which programs leave later. */
static int make_absolute(const struct param_row *row, const char *text, char **ret_path,
                         struct err *err) {
    int r = check_size(row, text, err);
    if (r < 0)
        return r;
    if (*text == '/' || !*text) {
        *ret_path = mem_strdup(text);
        return 0;
    }
    char here[4096];
    if (!getcwd(here, sizeof here))
        return err_errno(err, errno, "\"%.60s\" is relative and there is no working directory",
                         text);
    *ret_path = mem_format("%s/%s", strcmp(here, "/") == 0 ? "" : here, text);
    return 0;
}

static int read_path(const struct param_row *row, const char *text, void *member, struct err *err) {
    char *path;
    int r = make_absolute(row, text, &path, err);
    if (r == 0)
        put_text(member, path);
    return r;
}

const struct param_type param_type_PATH = {.placeholder = "PATH",
                                           .kind = "a path",
                                           .read = read_path,
                                           .print = print_text,
                                           .finish = finish_text};

/* Permissions of a file, in octal. */
static int read_mode(const struct param_row *row, const char *text, void *member, struct err *err) {
    char *end;
    unsigned long mode = strtoul(text, &end, 8);
    (void)row;
    if (*end || !isdigit((unsigned char)*text) || mode > 0777)
        return err_set(err, EINVAL, "\"%.60s\" is no mode in octal digits from 0 to 777", text);
    *(uint32_t *)member = (uint32_t)mode;
    return 0;
}

static void print_mode(const struct param_row *row, const void *member, struct text *out) {
    (void)row;
    text_append_format(out, "%o", *(const uint32_t *)member);
}

const struct param_type param_type_MODE = {.placeholder = "MODE",
                                           .kind = "a mode in octal digits",
                                           .read = read_mode,
                                           .print = print_mode,
                                           .finish = finish_nothing};

/* -- lists --------------------------------------------------------------------------------------
 */

static void list_take(struct params_list *list, char *item) {
    list->items = mem_realloc(list->items, (list->count + 1) * sizeof *list->items);
    list->items[list->count++] = item;
}

/* An environment variable's name (POSIX, chapter 8.1). */
static int make_name(const struct param_row *row, const char *text, char **ret_name,
                     struct err *err) {
    int r = check_size(row, text, err);
    if (r < 0)
        return r;
    for (const char *at = text; *at; at++)
        if (*at != '_' && !isalpha((unsigned char)*at) &&
            (at == text || !isdigit((unsigned char)*at)))
            return err_set(err, EINVAL, "\"%.60s\" is no name of a variable", text);
    *ret_name = mem_strdup(text);
    return 0;
}

/* As browsers send it: RFC 6454 section 6.2, without a path, in lower case. */
static int make_origin(const struct param_row *row, const char *text, char **ret_origin,
                       struct err *err) {
    int r = check_header_text(row, text, err);
    if (r < 0)
        return r;
    const char *host = strstr(text, "://");
    bool is_origin = host && host > text && host[3] && !strpbrk(host + 3, "/?#@\\*");
    for (const char *at = text; *at; at++)
        is_origin &= *at > ' ' && isascii((unsigned char)*at);
    if (!is_origin && strcmp(text, "*") != 0)
        return err_set(err, EINVAL, "\"%.60s\" is neither * nor like https://lab.example.org:8443",
                       text);
    *ret_origin = mem_strdup(text);
    for (char *at = *ret_origin; *at; at++)
        *at = (char)tolower((unsigned char)*at);
    return 0;
}

/* NAME=/host/folder. The name becomes that of a folder. */
static int make_folder(const struct param_row *row, const char *text, char **ret_folder,
                       struct err *err) {
    static const char letters[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-.";
    size_t size = strspn(text, letters);
    if (size == 0 || size > FOLDER_NAME_MAX || text[0] == '.' || text[size] != '=')
        return err_set(err, EINVAL,
                       "\"%.60s\" is not NAME=/host/folder with a NAME of up to %d letters, digits "
                       "and _ - .",
                       text, FOLDER_NAME_MAX);
    char *path;
    int r = make_absolute(row, text + size + 1, &path, err);
    if (r < 0)
        return r;
    *ret_folder = mem_format("%.*s=%s", (int)size, text, path);
    mem_free(path);
    return 0;
}

/* HOST:PORT or unix:/path. */
static int make_address(const struct param_row *row, const char *text, char **ret_address,
                        struct err *err) {
    struct params_address address;
    cleanup_mem char *path = NULL;
    cleanup_mem char *whole = NULL;
    bool is_path = strncmp(text, PARAMS_UNIX, strlen(PARAMS_UNIX)) == 0;
    int r = is_path ? make_absolute(row, text + strlen(PARAMS_UNIX), &path, err) : 0;
    if (r == 0 && is_path)
        whole = mem_format(PARAMS_UNIX "%s", path);
    if (r == 0)
        r = params_address_read(whole ? whole : text, &address, err);
    if (r == 0)
        *ret_address = params_address_print(&address);
    return r;
}

/* A user's name or number; the number is what is kept. */
static int make_user(const struct param_row *row, const char *text, char **ret_user,
                     struct err *err) {
    uint64_t number;
    struct passwd *user;
    (void)row;
    if (!number_read(text, number_plain, &number)) {
        if (!(user = getpwnam(text)))
            return err_set(err, EINVAL, "there is no user \"%.60s\"", text);
        number = user->pw_uid;
    }
    if (number >= UINT32_MAX)
        return err_set(err, EINVAL, "\"%.60s\" is no number of a user", text);
    *ret_user = mem_format("%" PRIu64, number);
    return 0;
}

typedef int make_item(const struct param_row *row, const char *text, char **ret_item,
                      struct err *err);

/* Empty parts are skipped: a trailing separator is no item. */
static int read_list(const struct param_row *row, const char *text, char separator, make_item *make,
                     struct params_list *list, struct err *err) {
    while (*text) {
        const char *end = strchrnul(text, separator);
        cleanup_mem char *part = mem_copy_text(text, (size_t)(end - text));
        char *item = NULL;
        int r = *part ? make(row, part, &item, err) : 0;
        if (r < 0)
            return r;
        if (*part)
            list_take(list, item);
        text = *end ? end + 1 : end;
    }
    return 0;
}

static void print_list(const struct params_list *list, char separator, struct text *out) {
    for (size_t i = 0; i < list->count; i++)
        text_append_format(out, "%.*s%s", i > 0, &separator, list->items[i]);
}

static void finish_list(void *member) {
    struct params_list *list = member;
    for (size_t i = 0; i < list->count; i++)
        mem_free(list->items[i]);
    mem_free(list->items);
    *list = (struct params_list){0};
}

#define LIST_TYPE(type, separator, make, placeholder_, kind_, is_kept_back_)                       \
    static int read_##type(const struct param_row *row, const char *text, void *member,            \
                           struct err *err) {                                                      \
        return read_list(row, text, separator, make, member, err);                                 \
    }                                                                                              \
    static void print_##type(const struct param_row *row, const void *member, struct text *out) {  \
        (void)row;                                                                                 \
        print_list(member, separator, out);                                                        \
    }                                                                                              \
    const struct param_type param_type_##type = {.placeholder = placeholder_,                      \
                                                 .kind = kind_,                                    \
                                                 .is_list = true,                                  \
                                                 .is_kept_back = is_kept_back_,                    \
                                                 .read = read_##type,                              \
                                                 .print = print_##type,                            \
                                                 .finish = finish_list};

LIST_TYPE(PATHS, ':', make_absolute, "PATHS", "paths", false)
LIST_TYPE(NAMES, ',', make_name, "NAMES", "names", false)
LIST_TYPE(ORIGINS, ',', make_origin, "ORIGINS", "web origins", false)
LIST_TYPE(ADDRESSES, ',', make_address, "ADDRESSES", "addresses", false)
LIST_TYPE(USERS, ',', make_user, "USERS", "users", false)
LIST_TYPE(FOLDERS, ':', make_folder, "NAME=PATH", "named folders", true)
