/* commandlog.h - COMMANDLOG and SLOWLOG: the last commands that took long, or came with a large request, or
 * went with a large reply. A log each, the newest first, with a bounded number of entries of bounded size. */
#pragma once

#include <stdint.h>

#include "client/client.h"

enum commandlogType { COMMANDLOG_SLOW, COMMANDLOG_LARGE_REQUEST, COMMANDLOG_LARGE_REPLY, COMMANDLOG_TYPES };

/* What the call path compares each command with before it looks closer; the largest value of its type: off.
 * `ticks` is the lower one of the slow log's limit and of latency-monitor-threshold (registry/latency.h). A
 * request with fewer arguments than `args`, none of them big (RESP_BIG_ARG), cannot be large. */
struct callLimits {
    uint64_t ticks;
    int64_t reply_bytes;
    int args;
};
extern struct callLimits call_limits;
void callLimitsRefresh(void); /* a directive has changed */

/* c->cmd has run, for us microseconds, and has replied reply_bytes: log it where it belongs. The size of the
 * request is that of its form in the protocol. */
void commandlogNote(struct client *c, uint64_t us, uint64_t reply_bytes);

void commandlogInit(void); /* directives */
