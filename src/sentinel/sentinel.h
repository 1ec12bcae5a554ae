/* SPDX-License-Identifier: BSD-3-Clause */
/* sentinel.h - the room of Sentinel: a server of another kind, that watches others (valkey-sentinel, or
 * --sentinel). Its decisions are supervisor.h's; around them is the environment. Here is the one supervisor
 * of a process, for those who feed it or look at it.
 *
 *     sentinel_world    all of it, put together: what a Sentinel starts, its ticks
 *     supervisor*       decisions                    instance           what it knows of whom
 *     peer_sockets      connections to servers       sentinel_scripts   scripts of operators
 *     sentinel_conf     sentinel.conf, rewritten     sentinel_events    to the log and to subscribers
 *     sentinel_commands SENTINEL ... (with _show, _set)
 *     sentinel_answers  what other commands answer in a Sentinel */
#pragma once

#include <stdbool.h>

#include "sentinel/supervisor.h"

extern struct supervisor sentinel; /* of a Sentinel only */
