/* SPDX-License-Identifier: BSD-3-Clause */
/* sentinel.h - a server that watches others (valkey-sentinel, or --sentinel). supervisor.h has its decisions;
 * the other files connect it to sockets, files and users. This header declares the one supervisor of the
 * process.
 *
 *     sentinel_env      start and ticks              instance           data about each server
 *     supervisor*       decisions                    sentinel_scripts   scripts of operators
 *     peer_sockets      connections to servers       sentinel_events    to the log and to subscribers
 *     sentinel_conf     sentinel.conf                sentinel_answers   ROLE, PUBLISH, INFO
 *     sentinel_commands SENTINEL ... (with sentinel_show, sentinel_set, sentinel_checks) */
#pragma once

#include <stdbool.h>

#include "sentinel/supervisor.h"

extern struct supervisor sentinel; /* used in Sentinel mode only */
