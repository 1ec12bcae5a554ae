/* SPDX-License-Identifier: BSD-3-Clause */
/* log_limit.h - limits log messages that a peer can cause as often as it likes, so that
 * they do not fill the disk.
 *
 * LOG_LIMIT_LINES messages of one kind are logged in LOG_LIMIT_MS. The others are counted, and the next
 * message that is logged says how many there were. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define LOG_LIMIT_LINES 10
#define LOG_LIMIT_MS    10000

struct logLimit { /* for one kind of message; initially all 0 */
    int64_t since_ms;
    unsigned lines, held;
};

/* Returns whether one more message may be logged. If so, *held is how many were held back since the last one.
 * The limit starts anew when the clock was set back. */
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
