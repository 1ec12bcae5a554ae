/* SPDX-License-Identifier: BSD-3-Clause */
/* sentinel_events.h - events: lines of the log, and messages on channels with the events' names. */
#pragma once

#include "sentinel/supervisor.h"

void sentinelEvent(enum eventLevel level, const char *name, const char *payload);
void sentinelEventFormatted(enum eventLevel level, const char *name, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
