/* SPDX-License-Identifier: BSD-3-Clause */
/* io_policy.c - see io_policy.h. */
#include "command/io_policy.h"

static void ioPolicyCount(int *reviews, bool so) {
    *reviews = so ? *reviews + 1 : 0;
}

int ioPolicyReview(struct ioPolicy *p, int active, int most, struct ioLoad load) {
    bool crowded = load.waits > IO_POLICY_WAITS;
    bool busy = active ? load.threads > IO_POLICY_BUSY * active : load.main > IO_POLICY_BUSY;
    bool idle = active > 1 ? load.threads < IO_POLICY_IDLE * (active - 1)
                           : active && load.main + load.threads < IO_POLICY_IDLE;
    ioPolicyCount(&p->too_few, busy && active < most && !crowded && !p->rest);
    ioPolicyCount(&p->too_many, idle);
    ioPolicyCount(&p->crowded, crowded && active);
    if (p->rest) p->rest--;
    int now = active;
    if (active > most)
        now = most;
    else if (p->too_few >= IO_POLICY_MORE)
        now = active + 1;
    else if (p->too_many >= IO_POLICY_FEWER || p->crowded >= IO_POLICY_CROWDED)
        now = active - 1;
    if (now != active)
        *p = (struct ioPolicy){.rest = p->crowded >= IO_POLICY_CROWDED ? IO_POLICY_REST : p->rest};
    return now;
}

bool ioPolicySurplus(size_t *has, int running, int active) {
    size_t all = 0;
    for (int i = 0; i < running; i++) all += has[i];
    size_t share = active ? (all + (size_t)active - 1) / (size_t)active : 0;
    bool any = false;
    for (int i = 0; i < running; i++) {
        size_t most = i < active ? share + share / 4 + 1 : 0;
        has[i] = has[i] <= most ? 0 : i < active ? has[i] - share : has[i];
        any |= has[i] > 0;
    }
    return any;
}
