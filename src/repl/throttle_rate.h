/* SPDX-License-Identifier: BSD-3-Clause */
/* throttle_rate.h - how many commands a second clients may run so that the slowest replica is not
 * disconnected: a pure function of the size of its output buffer.
 *
 *     0          limit/4             limit/2 (target)                limit
 *     |-------------|-------------------|------------------------------|
 *       never slower   slower if the buffer, growing as in the last two seconds,
 *                      would be above the target in 30 s
 *
 * The first step down is to what clients run now, and each further one to 0.95 of the rate, or to what they
 * run if that is less. Each step up is to 1.05 of the rate. The rate is removed when no client has waited for
 * a while, or when it is greater than any server can run. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define THROTTLE_STEP_MS    100
#define THROTTLE_WINDOW     20 /* steps over which the trend is taken: 2 s */
#define THROTTLE_HORIZON_S  30
#define THROTTLE_FEWER      0.95
#define THROTTLE_MORE       1.05
#define THROTTLE_RATE_LEAST 1.0
#define THROTTLE_RATE_MOST  1e7
#define THROTTLE_UNLIMITED  -1.0

struct throttleRate { /* zero-initialized: no limit */
    bool limits;
    double rate;                         /* commands a second; valid if `limits` */
    uint64_t sizes[THROTTLE_WINDOW + 1]; /* of the buffer, of the last steps */
    int64_t times_ms[THROTTLE_WINDOW + 1];
    int count, next;                   /* entries; the one that is overwritten next */
    int unused;                        /* steps in which no client waited */
    uint64_t activations, fewer, more; /* steps that began, lowered and raised the rate */
};

/* One step's observations. */
struct throttleLoad {
    int64_t now_ms;
    uint64_t size, limit; /* bytes: the largest buffer of a replica, and its limit; limit 0: none */
    double run;           /* commands a second that clients have run since the last step */
    bool waits;           /* a client waits */
};

/* Returns the rate from now on, or THROTTLE_UNLIMITED. */
double throttleRateReview(struct throttleRate *t, struct throttleLoad load);
/* Removes the limit, and forgets all sizes; the counters stay. */
void throttleRateForget(struct throttleRate *t);
/* Returns the size above which a replica should not be. */
static inline uint64_t throttleTarget(uint64_t limit) {
    return limit / 2;
}
