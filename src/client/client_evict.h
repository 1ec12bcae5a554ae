/* SPDX-License-Identifier: BSD-3-Clause */
/* client_evict.h - `maxmemory-clients`: when all clients together take more memory than that, the largest are
 * disconnected until they do not. Replicas and clients with CLIENT NO-EVICT neither count nor go. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "client/client.h"

/* How near a client is to a limit: while clients are weighed, or while its output is above the soft limit. */
struct clientLimits {
    struct client *client;
    struct listNode bucket_node; /* among clients of about its size, while they are weighed */
    size_t counted;              /* the memory that was counted for it there */
    int64_t over_soft_since_s;   /* its output is above the soft limit (client_output.c); 0: it is below */
};
/* Made when it is not there yet; as long as the client. */
struct clientLimits *clientLimits(struct client *c);

extern bool client_weighing;                /* a limit is set */
void clientOnWeighing(void (*fn)(bool on)); /* is told when that changes */

/* The memory of c may have changed. Only while client_weighing; O(1). */
void clientAccountMemory(struct client *c);
/* Before a command of c runs: disconnects who must go. True: c is among them. */
bool clientEvict(const struct client *c);

sds clientWeightsText(sds s); /* a line for each magnitude: how many clients, and their bytes */

void clientEvictInit(
    void); /* directive, INFO fields; before client_output.h, whose part of the limits goes first */
