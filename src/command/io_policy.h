/* SPDX-License-Identifier: BSD-3-Clause */
/* io_policy.h - how many I/O threads shall be active: a function of loads, apart from the environment.
 *
 *     share     of one processor, used since the last review: 1 is one that was busy all the time
 *
 * A thread is added when those that there are (or the main thread, as long as there is none) are busy, and
 * taken away when the others could do its work at half of that: between the two nothing changes, so a load
 * at a boundary does not make threads come and go. Either has to be so in several reviews in a row.
 *
 * Where threads that could run often wait for a processor, more of them would only wait for each other: then
 * none is added, and one is taken away, the first among them, which is not tried again for a while. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#define IO_POLICY_BUSY    0.6  /* the share from which a thread needs help */
#define IO_POLICY_IDLE    0.3  /* what the others do each when one is too many */
#define IO_POLICY_WAITS   0.35 /* of the time in which threads wanted to run, they waited */
#define IO_POLICY_MORE    2    /* reviews in a row */
#define IO_POLICY_FEWER   5
#define IO_POLICY_CROWDED 10
#define IO_POLICY_REST    100 /* reviews without one more, after there was none to run it */

struct ioLoad {
    double main, threads; /* shares; of the active threads together */
    double waits;         /* 0 ... 1: see IO_POLICY_WAITS */
};

/* What came of the reviews so far. Zero-initialized: none. */
struct ioPolicy {
    int too_few, too_many, crowded; /* reviews in a row */
    int rest;                       /* reviews still to come without one more */
};

/* How many shall be active from now on, where `active` are and `most` may be: one more or one less, but no
 * more than `most`. */
int ioPolicyReview(struct ioPolicy *p, int active, int most, struct ioLoad load);

/* How connections are spread: has[i] is those of thread i of `running`, of which the first `active` shall
 * have some; it becomes how many the thread has to give back. A quarter more than its share a thread may
 * keep. False: none has to. */
bool ioPolicySurplus(size_t *has, int running, int active);
