/* SPDX-License-Identifier: BSD-3-Clause */
/* tool_nodes.h - what CLUSTER NODES says, for the tools: this is the only place that reads its text.
 *
 *     <id> <host>:<port>@<bus>[,<hostname>] <flags> <primary|-> <ping> <pong> <epoch> <link> <slots ...>
 *
 * Slots are "5", "7-9", and on the line of the node that was asked "[5->-id]" (leaving) and "[5-<-id]"
 * (coming). */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/sds.h"
#include "base/str.h"

#define CLUSTER_SLOTS   16384
#define CLUSTER_ID_SIZE 40

/* A set of slots, one bit each. */
struct nodeSlots {
    uint64_t words[CLUSTER_SLOTS / 64];
};

static inline bool nodeSlotsHas(const struct nodeSlots *s, int slot) {
    return s->words[slot / 64] >> (slot % 64) & 1;
}
static inline void nodeSlotsAdd(struct nodeSlots *s, int slot) {
    s->words[slot / 64] |= 1ull << (slot % 64);
}
static inline void nodeSlotsRemove(struct nodeSlots *s, int slot) {
    s->words[slot / 64] &= ~(1ull << (slot % 64));
}
int nodeSlotsCount(const struct nodeSlots *s);
/* The first run of slots from `from` on: *first to *last. False when there is none. */
bool nodeSlotsRun(const struct nodeSlots *s, int from, int *first, int *last);
/* "[0-5],[7]". Empty when there are none. */
sds slotSetText(const struct nodeSlots *s);

struct cliOpenSlot {
    int slot;
    bool importing;                 /* else it migrates */
    char peer[CLUSTER_ID_SIZE + 1]; /* from where, or to where */
};

struct toolNode {
    char id[CLUSTER_ID_SIZE + 1];
    char primary[CLUSTER_ID_SIZE + 1]; /* of a replica; else empty */
    sds host;                          /* may be empty: the node does not know its own address yet */
    int port, bus_port;                /* bus_port 0: not told */
    sds flags;                         /* as they are, without "myself" */
    bool myself, replica, failed, handshake, noaddr, connected;
    uint64_t epoch;
    struct nodeSlots slots;
    struct cliOpenSlot *open;
    int open_count;
};

/* All nodes of the text, in its order; *nodes is the caller's. Returns how many, -1 when a line is not
 * understood. */
int toolNodesRead(struct str text, struct toolNode **nodes);
void toolNodesFree(struct toolNode *nodes, int count);
/* What all nodes have to agree on: "id:[0-5],[7]|..." of those with slots, ordered by id. */
sds toolNodesSignature(const struct toolNode *nodes, int count);
/* "host:port", "[v6]:port" or "v6:port", with "@bus" behind it perhaps (*bus NULL: it is not wanted). False
 * when it is none. *host is the caller's. */
bool toolAddressRead(struct str text, sds *host, int *port, int *bus);

/* Of a key, by its hash tag if there is one. */
int toolKeySlot(struct str key);
