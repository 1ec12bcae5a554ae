/* SPDX-License-Identifier: BSD-3-Clause */
/* wait.h - WAIT and WAITAOF: clients that wait until their writes have reached replicas, the replicas' disks,
 * or our disk.
 *
 * Replication registers the functions that know about replicas; NULL counts as no replicas. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct waitSources {
    /* Number of replicas that have the stream up to this offset (propagateOffset); synced: on disk. */
    int (*replicas)(uint64_t propagated, bool synced);
    int (*online)(void);       /* replicas that follow and understand the protocol of 7.3 and later */
    void (*askReplicas)(void); /* requests an acknowledgement, sent in this turn of the loop */
};
extern struct waitSources wait_sources;
/* For a running command that replicas have to run first (propagateForce): c waits until so many of them have
 * run it, or until deadline_ms (0: none). In either case `then` replies; blockedRequest(c) is the request
 * that waited. c must not be CLIENT_DENY_BLOCKING. */
struct client;
void waitForReplicas(struct client *c, int replicas, int64_t deadline_ms,
                     void (*then)(struct client *c, bool enough));
/* Says that a replica has acknowledged more, or that a file was synced. Waiting clients are checked before
 * the loop sleeps. */
void waitRecheck(void);

void waitInit(void); /* WAIT, WAITAOF */
