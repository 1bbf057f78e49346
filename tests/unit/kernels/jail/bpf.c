#include "bpf.h"

#include <stdlib.h>
#include <string.h>

static uint32_t jump(const struct sock_filter *at, uint32_t accumulator, uint32_t *next) {
    int taken;
    switch (at->code) {
    case BPF_JMP | BPF_JA:
        *next += at->k;
        return accumulator;
    case BPF_JMP | BPF_JEQ | BPF_K:
        taken = accumulator == at->k;
        break;
    case BPF_JMP | BPF_JGT | BPF_K:
        taken = accumulator > at->k;
        break;
    case BPF_JMP | BPF_JGE | BPF_K:
        taken = accumulator >= at->k;
        break;
    case BPF_JMP | BPF_JSET | BPF_K:
        taken = (accumulator & at->k) != 0;
        break;
    default:
        abort();
    }
    *next += taken ? at->jt : at->jf;
    return accumulator;
}

uint32_t bpf_run(const struct sock_filter *code, unsigned count, const struct seccomp_data *data) {
    uint32_t accumulator = 0;
    for (uint32_t at = 0; at < count;) {
        const struct sock_filter *instruction = &code[at++];
        switch (instruction->code) {
        case BPF_LD | BPF_W | BPF_ABS:
            if (instruction->k > sizeof *data - 4)
                abort();
            memcpy(&accumulator, (const uint8_t *)data + instruction->k, 4);
            break;
        case BPF_ALU | BPF_AND | BPF_K:
            accumulator &= instruction->k;
            break;
        case BPF_RET | BPF_K:
            return instruction->k;
        default:
            accumulator = jump(instruction, accumulator, &at);
        }
    }
    abort();
}
