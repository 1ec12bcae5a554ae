/* SPDX-License-Identifier: BSD-3-Clause */
/* sentinel_events.c - see sentinel_events.h. */
#include "sentinel/sentinel_events.h"

#include "base/log.h"
#include "command/pubsub.h"

void sentinelEvent(enum eventLevel level, const char *name, const char *payload) {
    static const int log_levels[] = {[EVENT_DEBUG] = LL_DEBUG,
                                     [EVENT_VERBOSE] = LL_VERBOSE,
                                     [EVENT_NOTICE] = LL_NOTICE,
                                     [EVENT_WARNING] = LL_WARNING};
    serverLog(log_levels[level], "%s %s", name, payload);
    if (level != EVENT_DEBUG) pubsubPublish(strOf(name), strOf(payload));
}

void sentinelEventFormatted(enum eventLevel level, const char *name, const char *fmt, ...) {
    va_list ap;
    va_start(ap, fmt);
    sds payload = sdscatvprintf(sdsempty(), fmt, ap);
    va_end(ap);
    sentinelEvent(level, name, payload);
    sdsfree(payload);
}
