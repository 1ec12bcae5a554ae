/* SPDX-License-Identifier: BSD-3-Clause */
/* tool_nodes.h - the text of CLUSTER NODES, which only this module parses.
 *
 *     <id> <host>:<port>@<bus>[,<hostname>] <flags> <primary|-> <ping> <pong> <epoch> <link> <slots ...>
 *
 * Slots are "5" and "7-9"; on the line of the node that was asked also "[5->-id]" (being migrated away)
 * and "[5-<-id]" (being imported). */
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
/* Finds the first run of slots from `from` on: *first to *last. Returns false when there is none. */
bool nodeSlotsRun(const struct nodeSlots *s, int from, int *first, int *last);
/* Returns "[0-5],[7]"; empty when there are no slots. */
sds slotSetText(const struct nodeSlots *s);

struct cliOpenSlot {
    int slot;
    bool importing;                 /* else migrating */
    char peer[CLUSTER_ID_SIZE + 1]; /* the source of an import, the target of a migration */
};

struct toolNode {
    char id[CLUSTER_ID_SIZE + 1];
    char primary[CLUSTER_ID_SIZE + 1]; /* the primary's id of a replica; else empty */
    sds host;                          /* may be empty: the node does not know its own address yet */
    int port, bus_port;                /* bus_port 0 if unknown */
    sds flags;                         /* unchanged, but without "myself" */
    bool myself, replica, failed, handshake, noaddr, connected;
    uint64_t epoch;
    struct nodeSlots slots;
    struct cliOpenSlot *open;
    int open_count;
};

/* Reads all nodes of the text in its order. The caller owns *nodes. Returns how many there are, -1 when
 * a line is malformed. */
int toolNodesParse(struct str text, struct toolNode **nodes);
void toolNodesFree(struct toolNode *nodes, int count);
/* Returns the view that all nodes have to agree on: "id:[0-5],[7]|..." of those with slots, ordered by
 * id. */
sds toolNodesSignature(const struct toolNode *nodes, int count);
/* Reads "host:port", "[v6]:port" or "v6:port", optionally followed by "@bus"; bus may be NULL. The
 * caller owns *host. Returns false for anything else. */
bool toolAddressParse(struct str text, sds *host, int *port, int *bus);

/* Returns the slot of a key, by its hash tag if it has one. */
int toolKeySlot(struct str key);
