/* replication.h - the room of replication: what its parts share, and its start.
 *
 *     history      ids, offsets, the backlog           chain        its bytes
 *     replicas     who follows us                      full_sync    snapshots for them
 *     link         our primary                         receive      a snapshot from it
 *     failover     handing over                        rules        what a replica refuses, and keeps
 *
 * history stands below all; replicas and full_sync are the primary's side, link and receive the replica's (a
 * server in the middle of a chain has both); failover and rules stand on top. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/sds.h"

/* Directives that several parts look at; registered in replication.c. */
extern int64_t repl_timeout_s;
extern bool repl_disable_tcp_nodelay, repl_dual_channel, repl_diskless_sync;
extern bool replica_read_only, replica_serve_stale_data; /* rules.c */
extern int64_t repl_min_replicas, repl_max_lag_s;        /* rules.c; either 0: any will do */
enum { DISKLESS_LOAD_DISABLED, DISKLESS_LOAD_WHEN_EMPTY, DISKLESS_LOAD_SWAPDB, DISKLESS_LOAD_FLUSH };
extern int repl_diskless_load;

/* Counters of INFO stats. */
struct replStats {
    uint64_t full, partial_ok, partial_err;
    uint64_t net_in, net_out; /* bytes of streams and snapshots */
};
extern struct replStats replstats;

void replicationInit(void);  /* of all parts */
void replicationStart(void); /* when the dataset has been loaded */
