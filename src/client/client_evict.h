/* SPDX-License-Identifier: BSD-3-Clause */
/* client_evict.h - `maxmemory-clients`: when all clients together use more memory than that, the largest are
 * disconnected until they do not. Replicas and clients with CLIENT NO-EVICT are exempt. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "client/client.h"

/* How near a client is to a limit. Exists while memory is accounted, or output is above the soft limit. */
struct clientLimits {
    struct client *client;
    struct listNode bucket_node; /* among clients of about its size, while memory is accounted */
    size_t counted;              /* the memory with which it is counted there */
    /* Since when its output is above the soft limit (client_output.c); 0: it is below. */
    int64_t over_soft_since_s;
};
/* Creates it when it does not exist yet. It lives as long as the client. */
struct clientLimits *clientLimits(struct client *c);

extern bool client_accounting;                /* a limit is set */
void clientOnAccounting(void (*fn)(bool on)); /* called when that changes */

/* Says that the memory of c may have changed. Only while client_accounting; O(1). */
void clientAccountMemory(struct client *c);
/* Called before a command of c runs: disconnects clients above the limit. Returns whether c is among them. */
bool clientEvict(const struct client *c);

/* A line for each magnitude of memory: how many clients, and their bytes. */
sds clientMemoryBucketsText(sds s);

/* Registers the directive and INFO fields. Call it before clientOutputInit, whose part is freed first. */
void clientEvictInit(void);
