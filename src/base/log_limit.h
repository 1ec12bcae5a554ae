/* SPDX-License-Identifier: BSD-3-Clause */
/* log_limit.h - log messages that a peer can cause as often as it likes: it must not fill the disk with them.
 *
 * Of one kind, LOG_LIMIT_LINES are logged in LOG_LIMIT_MS. Those held back are counted, so that the next one
 * that is logged can say how many there were. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define LOG_LIMIT_LINES 10
#define LOG_LIMIT_MS    10000

struct logLimit { /* of one kind; all 0 at first */
    int64_t since_ms;
    unsigned lines, held;
};

/* May one more be logged? If so, *held is how many were not since the last one. A clock that was set back
 * begins anew. */
static inline bool logLimitAllows(struct logLimit *l, int64_t now_ms, unsigned *held) {
    if (now_ms - l->since_ms >= LOG_LIMIT_MS || now_ms < l->since_ms) {
        l->since_ms = now_ms;
        l->lines = 0;
    }
    if (l->lines == LOG_LIMIT_LINES) {
        l->held++;
        return false;
    }
    l->lines++;
    *held = l->held;
    l->held = 0;
    return true;
}
