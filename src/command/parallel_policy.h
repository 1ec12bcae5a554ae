/* SPDX-License-Identifier: BSD-3-Clause */
/* parallel_policy.h - whether I/O threads should run reads themselves: a pure function of what that has cost.
 *
 * A read that a thread runs saves the main thread the hand-over, in and out. What it costs the main thread is
 * the time for which it waits until threads have left the read phase. With few writes it hardly ever waits;
 * with many, and long reads, the waiting may take more than it saves. Then reads are handed over for a while,
 * longer each time that a new attempt is no better.
 *
 * How many of the requests are writes does not matter by itself: an input that has one is handed over as it
 * came (io_reads.h), which costs what it costs without parallel reads. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define PARALLEL_POLICY_SAVED_US 0.1 /* of the main thread for each read: the least that was measured */
#define PARALLEL_POLICY_LEAST_US 500 /* waiting in one review below which nothing changes */
#define PARALLEL_POLICY_REVIEWS  3   /* reviews in a row that have to agree */
#define PARALLEL_POLICY_REST     20  /* reviews without reads in threads; doubled each time */
#define PARALLEL_POLICY_REST_MAX 640

/* Since the last review. */
struct parallelLoad {
    uint64_t reads;   /* that threads have run */
    uint64_t wait_us; /* for which the main thread waited for them */
};
/* The results of previous reviews. Zero-initialized: none. */
struct parallelPolicy {
    int too_dear; /* reviews in a row */
    int rest;     /* reviews left in which reads are handed over */
    int last_rest;
    int good; /* reviews with reads since the last rest that were worth it */
};
/* Returns whether threads should run reads until the next review. */
bool parallelPolicyReview(struct parallelPolicy *p, struct parallelLoad load);
