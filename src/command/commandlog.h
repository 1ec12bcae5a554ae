/* SPDX-License-Identifier: BSD-3-Clause */
/* commandlog.h - COMMANDLOG and SLOWLOG: the last commands that took long, or came with a large request, or
 * went with a large reply. A log each, the newest first, with a bounded number of entries of bounded size. */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct client;

enum commandlogType { COMMANDLOG_SLOW, COMMANDLOG_LARGE_REQUEST, COMMANDLOG_LARGE_REPLY, COMMANDLOG_TYPES };

/* A log in three numbers, of which two are of its newest entry; 0 while there is none. */
struct commandlogState {
    size_t length;
    int64_t last_id, last_value; /* microseconds, or bytes */
};
struct commandlogState commandlogState(enum commandlogType type);

/* What commandRun compares each call with; the largest value of its type: no limit. A request with fewer
 * arguments than `args`, none of them big (RESP_BIG_ARG), cannot be large. */
struct commandlogLimits {
    uint64_t ticks; /* the lower one of the slow log's limit and of latency-monitor-threshold */
    int64_t reply_bytes;
    int args;
};
extern struct commandlogLimits commandlog_limits;
/* Call it when a directive behind one of them has changed. */
void commandlogRefreshLimits(void);

/* Logs what c->cmd, which has run, exceeds: at least one of the limits may be. owner: the client to show. */
void commandlogNote(struct client *c, struct client *owner, uint64_t us, uint64_t reply_bytes);

void commandlogInit(void); /* directives */
