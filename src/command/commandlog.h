/* SPDX-License-Identifier: BSD-3-Clause */
/* commandlog.h - COMMANDLOG and SLOWLOG: the last commands that took long, or came with a large request, or
 * went with a large reply. A log each, the newest first, with a bounded number of entries of bounded size. */
#pragma once

#include <stddef.h>
#include <stdint.h>

enum commandlogType { COMMANDLOG_SLOW, COMMANDLOG_LARGE_REQUEST, COMMANDLOG_LARGE_REPLY, COMMANDLOG_TYPES };

/* A log in three numbers, of which two are of its newest entry; 0 while there is none. */
struct commandlogState {
    size_t length;
    int64_t last_id, last_value; /* microseconds, or bytes */
};
struct commandlogState commandlogState(enum commandlogType type);

/* A directive has changed: sets call_limits (call.h). `ticks` is the lower one of the slow log's limit and of
 * latency-monitor-threshold (registry/latency.h). */
void callLimitsRefresh(void);

void commandlogInit(void); /* directives */
