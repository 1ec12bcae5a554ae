/* SPDX-License-Identifier: BSD-3-Clause */
/* wait.h - WAIT and WAITAOF: clients that wait until what they have written is where they want it: with
 * replicas, on the replicas' disks, on ours.
 *
 * The rooms that know register what is asked of them; a function that is NULL knows of nobody. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct waitSources {
    /* Replicas that have what was propagated up to there (propagateOffset); synced: on their disks. */
    int (*replicas)(uint64_t propagated, bool synced);
    int (*online)(void);       /* replicas that follow, and understand what 7.3 and later say */
    void (*askReplicas)(void); /* to say what they have, in this turn of the loop */
};
extern struct waitSources wait_sources;
/* The running command is one that replicas have to run first (propagateForced): c waits until so many of them
 * have, or until deadline_ms (0: none). Then `then` replies, in either case; blockedRequest(c) is what had
 * been asked. c must not be CLIENT_DENY_BLOCKING. */
struct client;
void waitThen(struct client *c, int replicas, int64_t deadline_ms,
              void (*then)(struct client *c, bool enough));
/* A replica has acknowledged more, or a file was synced: look through who waits, before the loop sleeps. */
void waitRecheck(void);

void waitInit(void); /* WAIT, WAITAOF */
