/* client_evict.h - `maxmemory-clients`: when all clients together take more memory than that, the largest are
 * disconnected until they do not. Replicas and clients with CLIENT NO-EVICT neither count nor go. */
#pragma once

#include <stdbool.h>

#include "client/client.h"

/* A limit is set. While it is not, the path of a command costs one branch on this. */
extern bool client_weighing;

/* The memory of c may have changed. Only while client_weighing; O(1). */
void clientWeigh(struct client *c);
/* Before a command of c runs: disconnects who must go. True: c is among them. */
bool clientEvict(const struct client *c);

sds clientWeightsText(sds s); /* a line for each magnitude: how many clients, and their bytes */

void clientEvictInit(void); /* directive, CLIENT NO-EVICT, INFO fields */
