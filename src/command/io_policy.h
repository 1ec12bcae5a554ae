/* SPDX-License-Identifier: BSD-3-Clause */
/* io_policy.h - how many I/O threads should be active: a pure function of loads.
 *
 *     share     fraction of one processor used since the last review: 1 was busy all the time
 *
 * A thread is added when the active ones (or the main thread, while there is none) are busy, and removed when
 * the others could do its work at half that load. Between the two nothing changes, so a load near a boundary
 * does not make threads come and go. Either condition has to hold in several reviews in a row.
 *
 * Where runnable threads often wait for a processor, more threads would only wait for each other. Then none
 * is added and one is removed, even the only one, and no thread is added for a while. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#define IO_POLICY_BUSY    0.6  /* share from which a thread needs help */
#define IO_POLICY_IDLE    0.3  /* share of each remaining thread below which one is too many */
#define IO_POLICY_WAITS   0.35 /* part of their runnable time in which threads waited for a processor */
#define IO_POLICY_MORE    2    /* reviews in a row that have to agree */
#define IO_POLICY_FEWER   5
#define IO_POLICY_CROWDED 10
#define IO_POLICY_REST    100 /* reviews without adding one, after processors were short */

struct ioLoad {
    double main, threads; /* shares; `threads` is the sum of the active ones */
    double waits;         /* 0 ... 1: see IO_POLICY_WAITS */
};

/* The results of previous reviews. Zero-initialized: none. */
struct ioPolicy {
    int too_few, too_many, crowded; /* reviews in a row */
    int rest;                       /* reviews left in which no thread is added */
};

/* Returns how many threads should be active: `active`, or one more or one less, and at most `most`. */
int ioPolicyReview(struct ioPolicy *p, int active, int most, struct ioLoad load);

/* Spreads connections. has[i] is the number of thread i of `running`, of which the first `active` should have
 * some; it becomes the number that the thread has to give up. A thread may keep a quarter more than its
 * share. Returns false when no thread has to give up any. */
bool ioPolicySurplus(size_t *has, int running, int active);
