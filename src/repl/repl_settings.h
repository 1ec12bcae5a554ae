/* SPDX-License-Identifier: BSD-3-Clause */
/* repl_settings.h - directives that several modules of replication use, and their counters. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/compressed_stream.h"

extern int64_t repl_timeout_s;
extern bool repl_disable_tcp_nodelay, repl_dual_channel, repl_diskless_sync;
extern bool replica_read_only, replica_serve_stale_data; /* registered by rules.c */
extern int64_t repl_min_replicas, repl_max_lag_s;        /* registered by rules.c */
enum { DISKLESS_LOAD_DISABLED, DISKLESS_LOAD_WHEN_EMPTY, DISKLESS_LOAD_SWAPDB, DISKLESS_LOAD_FLUSH };
extern int repl_diskless_load;
/* Returns the strongest codec that repl-compression allows. */
enum streamCodec replCompression(void);

/* Counters of INFO stats. */
struct replStats {
    uint64_t full, partial_ok, partial_err;
    uint64_t net_in, net_out; /* bytes of streams and snapshots */
};
extern struct replStats replstats;

void replSettingsInit(void); /* directives, INFO stats */
