/* SPDX-License-Identifier: BSD-3-Clause */
/* commandlog.h - COMMANDLOG and SLOWLOG: the last commands that took long, had a large request or had
 * a large reply. There is one log for each, the newest entry first, with a bounded number of entries
 * of bounded size. */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct client;

enum commandlogType { COMMANDLOG_SLOW, COMMANDLOG_LARGE_REQUEST, COMMANDLOG_LARGE_REPLY, COMMANDLOG_TYPES };

/* The state of a log in three numbers. Two describe its newest entry, and are 0 while there is none. */
struct commandlogState {
    size_t length;
    int64_t last_id, last_value; /* last_value: microseconds, or bytes */
};
struct commandlogState commandlogState(enum commandlogType type);

/* The limits with which commandRun compares each call; the largest value of the type means no limit. A
 * request with fewer arguments than `args`, none of them big (RESP_BIG_ARG), cannot be large. */
struct commandlogLimits {
    uint64_t ticks; /* the lower one of the slow log's limit and of latency-monitor-threshold */
    int64_t reply_bytes;
    int args;
};
extern struct commandlogLimits commandlog_limits;
/* Has to be called when a directive behind one of the limits has changed. */
void commandlogRefreshLimits(void);

/* Logs c->cmd, which has run, if it exceeds a limit. owner: the client to show. */
void commandlogRecord(struct client *c, struct client *owner, uint64_t us, uint64_t reply_bytes);

void commandlogInit(void); /* directives */
