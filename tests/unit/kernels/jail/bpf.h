/* bpf - runs a filter's program without a kernel: the part of classic BPF that seccomp programs are
 * made of (linux/filter.h, seccomp_check_filter in kernel/seccomp.c). */
#pragma once

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stdint.h>

/* The action it answers (SECCOMP_RET_*). Aborts on an instruction it does not know. */
uint32_t bpf_run(const struct sock_filter *code, unsigned count, const struct seccomp_data *data);
