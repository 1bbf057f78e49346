/* machine - files of /proc as they would be on a machine of the session's limits. What moves with
 * time is of the moment when the tree started; what only the host has is zero. */
#include "jail/machine.h"

#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/sysinfo.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"

/* Of struct cpu_set's; a machine with more says so many. */
static unsigned count_usable(void) {
    cpu_set_t set;
    return sched_getaffinity(0, sizeof set, &set) < 0 ? 1 : (unsigned)CPU_COUNT(&set);
}

unsigned jail_cpus(uint64_t cpus_milli) {
    uint64_t cpus = (cpus_milli + 999) / 1000, usable = count_usable();
    return (unsigned)(cpus && cpus < usable ? cpus : usable);
}

struct machine machine_of(const struct jail_plan *plan) {
    struct sysinfo info;
    sysinfo(&info);
    uint64_t there_is = (uint64_t)info.totalram * info.mem_unit, limit = plan->memory_bytes;
    return (struct machine){.cpus = jail_cpus(plan->cpus_milli),
                            .host_cpus = (unsigned)get_nprocs_conf(),
                            .memory_bytes = limit && limit < there_is ? limit : there_is};
}

static double read_clock(clockid_t clock) {
    struct timespec now;
    clock_gettime(clock, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

/* -- cpuinfo */

/* What a block says of its place among the others; -1: its own number. */
static const struct {
    const char *key;
    int count; /* of these; 0 and -1: of none, or its own number */
} places[] = {
    {"processor", -1}, {"physical id", 0}, {"siblings", 1},        {"core id", -1},
    {"cpu cores", 1},  {"apicid", -1},     {"initial apicid", -1},
};

static bool has_key(const char *line, const char *key) {
    size_t size = strlen(key);
    return strncmp(line, key, size) == 0 && (line[size] == '\t' || line[size] == ':');
}

static void add_line(const char *line, unsigned number, unsigned cpus, struct text *text) {
    const char *colon = strchr(line, ':');
    for (size_t i = 0; colon && i < sizeof places / sizeof places[0]; i++)
        if (has_key(line, places[i].key)) {
            text_append(text, slice_make(line, (size_t)(colon - line)));
            unsigned value = places[i].count < 0 ? number : places[i].count ? cpus : 0;
            text_append_format(text, ": %u\n", value);
            return;
        }
    text_append_text(text, line);
}

/* The first blocks, one a processor; each kind of machine has other lines in them. */
static bool write_cpuinfo(const struct machine *machine, struct text *ret_text) {
    if (machine->cpus >= machine->host_cpus)
        return false;
    FILE *file = fopen("/proc/cpuinfo", "re");
    char line[8192];
    unsigned number = 0;
    while (file && number < machine->cpus && fgets(line, sizeof line, file)) {
        add_line(line, number, machine->cpus, ret_text);
        number += line[0] == '\n';
    }
    if (file)
        fclose(file);
    return true;
}

/* -- meminfo */

/* In the order and by the names of proc(5). */
static const struct {
    const char *name;
    int parts; /* of the memory, in halves */
} amounts[] = {
    {"MemTotal", 2},      {"MemFree", 2},        {"MemAvailable", 2}, {"Buffers", 0},
    {"Cached", 0},        {"SwapCached", 0},     {"Active", 0},       {"Inactive", 0},
    {"Active(anon)", 0},  {"Inactive(anon)", 0}, {"Active(file)", 0}, {"Inactive(file)", 0},
    {"Unevictable", 0},   {"Mlocked", 0},        {"SwapTotal", 0},    {"SwapFree", 0},
    {"Dirty", 0},         {"Writeback", 0},      {"AnonPages", 0},    {"Mapped", 0},
    {"Shmem", 0},         {"KReclaimable", 0},   {"Slab", 0},         {"SReclaimable", 0},
    {"SUnreclaim", 0},    {"KernelStack", 0},    {"PageTables", 0},   {"CommitLimit", 1},
    {"Committed_AS", 0},  {"VmallocTotal", 0},   {"VmallocUsed", 0},  {"VmallocChunk", 0},
    {"AnonHugePages", 0}, {"ShmemHugePages", 0}, {"Hugetlb", 0},
};

static bool write_meminfo(const struct machine *machine, struct text *ret_text) {
    unsigned long long half_kib = machine->memory_bytes / 2048;
    for (size_t i = 0; i < sizeof amounts / sizeof amounts[0]; i++)
        text_append_format(ret_text, "%s:%*llu kB\n", amounts[i].name,
                           23 - (int)strlen(amounts[i].name),
                           half_kib * (unsigned)amounts[i].parts);
    text_append_text(ret_text, "HugePages_Total:       0\nHugePages_Free:        0\n"
                               "HugePages_Rsvd:        0\nHugePages_Surp:        0\n"
                               "Hugepagesize:       2048 kB\n");
    return true;
}

/* -- what counts since the start of the machine */

static bool write_stat(const struct machine *machine, struct text *ret_text) {
    double up_s = read_clock(CLOCK_BOOTTIME);
    unsigned long long ticks = (unsigned long long)(up_s * (double)sysconf(_SC_CLK_TCK));
    text_append_format(ret_text, "cpu  0 0 0 %llu 0 0 0 0 0 0\n", ticks * machine->cpus);
    for (unsigned i = 0; i < machine->cpus; i++)
        text_append_format(ret_text, "cpu%u 0 0 0 %llu 0 0 0 0 0 0\n", i, ticks);
    /* Processes began at so many ticks behind the start of the machine, so that must be true. */
    text_append_format(ret_text,
                       "intr 0\nctxt 0\nbtime %lld\nprocesses 1\nprocs_running 1\n"
                       "procs_blocked 0\nsoftirq 0 0 0 0 0 0 0 0 0 0 0\n",
                       (long long)(read_clock(CLOCK_REALTIME) - up_s));
    return true;
}

static bool write_uptime(const struct machine *machine, struct text *ret_text) {
    double up_s = read_clock(CLOCK_BOOTTIME);
    text_append_format(ret_text, "%.2f %.2f\n", up_s, up_s * machine->cpus);
    return true;
}

static bool write_loadavg(const struct machine *machine, struct text *ret_text) {
    (void)machine;
    text_append_text(ret_text, "0.00 0.00 0.00 1/1 1\n");
    return true;
}

static bool write_vmstat(const struct machine *machine, struct text *ret_text) {
    (void)machine;
    text_append_text(ret_text, "pgpgin 0\npgpgout 0\npswpin 0\npswpout 0\noom_kill 0\n");
    return true;
}

const struct machine_file machine_files[MACHINE_FILES] = {
    {"/proc/cpuinfo", write_cpuinfo}, {"/proc/meminfo", write_meminfo},
    {"/proc/stat", write_stat},       {"/proc/uptime", write_uptime},
    {"/proc/loadavg", write_loadavg}, {"/proc/vmstat", write_vmstat},
};
