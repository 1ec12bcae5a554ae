/* SPDX-License-Identifier: BSD-3-Clause */
/* cluster_debug.h - what DEBUG switches on and off in a cluster node, for tests. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define DROP_NONE (-1)
#define DROP_ALL  (-2)
extern struct clusterDebug {
    int64_t drop; /* a message type that is ignored on receipt, or DROP_… */
    bool close_on_drop, no_reconnection;
} cluster_debug;

/* Returns whether this packet has to be ignored. */
static inline bool clusterDebugDrops(const uint8_t *packet) {
    if (cluster_debug.drop == DROP_NONE) return false;
    int type = (packet[12] & 0x7f) << 8 | packet[13]; /* without the bit of light headers */
    return cluster_debug.drop == DROP_ALL || cluster_debug.drop == type;
}
void clusterDebugInit(void);
