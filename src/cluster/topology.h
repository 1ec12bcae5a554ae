/* SPDX-License-Identifier: BSD-3-Clause */
/* topology.h - what this node believes of its cluster: nodes, who replicates whom, who owns which slot. Data
 * and their invariants; no decisions (cluster_engine.h), no sockets, no clock.
 *
 *     struct topology ─┬─ nodes[]     in order of ids; every one that is known, this one and handshakes
 *                      │              included. An array: its order is the same in each run (simulations), is
 *                      │              that of replies, and a random one is had at once
 *                      ├─ myself      one of them
 *                      ├─ owner[slot] one of them, NULL: nobody's
 *                      └─ open slots  migrating to, importing from
 *
 *     struct clusterNode: slots = { s : owner[s] is it }, slot_count of them
 *                         replicas = { n : n->primary is it }, in order of ids
 *
 * Invariants (topologyVerify asserts them): the two lines above; a replica owns no slot, and has no replicas
 * but where it became one itself a moment ago; a primary's `primary` is NULL; an id is in `nodes` once. All
 * changes of these fields go through the functions below. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/sds.h"
#include "base/str.h"
#include "cluster/bus.h"
#include "cluster/slot_set.h"

struct busLink; /* cluster_engine.h; whoever runs the engine has them */

/* A node says that another one does not answer. */
struct failureReport {
    struct clusterNode *by;
    int64_t at_ms;
};

struct clusterNode {
    char id[NODE_ID_LEN + 1], shard_id[NODE_ID_LEN + 1];
    uint16_t flags; /* NODE_… */
    uint64_t config_epoch;
    struct clusterNode *primary; /* of a replica; NULL: not known yet */
    struct clusterNode **replicas;
    int replica_count;
    struct slotSet slots;
    int slot_count;

    char ip[NODE_IP_LEN];                      /* "": not known */
    uint16_t tcp_port, tls_port, bus_port;     /* 0: none */
    sds hostname, human_name;                  /* "" when none */
    sds availability_zone;                     /* "" when none */
    sds client_ipv4, client_ipv6;              /* what clients are told instead; "" when none */
    uint16_t client_tcp_port, client_tls_port; /* 0: as above */

    struct busLink *out, *in; /* engine's: to it, from it; NULL: none */
    bool connected;           /* out is established */
    int64_t created_ms;       /* when we learnt of it */
    int64_t ping_sent_ms;     /* of the oldest PING not answered; 0: none is */
    int64_t pong_received_ms; /* also as others say */
    int64_t data_received_ms; /* any message */
    int64_t connect_ms;       /* of the last try */
    int64_t fail_ms;          /* since when it has NODE_FAIL */
    int64_t orphaned_ms;      /* since when a primary with slots has no good replica; 0: it has */
    int64_t inbound_lost_ms;  /* since when it has no link to us; 0: it has one */
    int64_t offset_ms;        /* when offset was told */
    uint64_t voted_epoch;     /* of the last election of ours that it has voted in */
    uint64_t current_epoch;   /* the greatest one that it knew when it last said something; 0: it has not */
    uint64_t offset;          /* of its data, in the stream of its shard */
    struct failureReport *reports;
    int report_count;
};

struct openSlot {
    uint16_t slot;
    struct clusterNode *to, *from; /* migrating, importing: one of them, or both NULL: not open */
};

struct forgottenNode { /* is not to be learnt again, for a while */
    char id[NODE_ID_LEN];
    int64_t until_ms;
};

struct topology {
    struct clusterNode **nodes;
    int count;
    struct clusterNode *myself;
    struct clusterNode *owner[KEY_SLOTS];
    struct slotSet unclaimed; /* whose owner does not say any more that it has them */
    struct openSlot *open;    /* few; in order of slots */
    int open_count;
    uint64_t current_epoch, last_vote_epoch;
    struct forgottenNode *forgotten;
    int forgotten_count;
};

void topologyInit(struct topology *t);
void topologyClear(struct topology *t);

/* ---- Nodes ---- */
/* NULL when unknown. O(log nodes). */
struct clusterNode *topologyFind(const struct topology *t, const char id[NODE_ID_LEN]);
/* A node of its own shard, with these flags, created at now_ms. */
struct clusterNode *topologyAdd(struct topology *t, const char id[NODE_ID_LEN], uint16_t flags,
                                int64_t now_ms);
/* Its slots become nobody's, its replicas have no primary, reports by it are dropped. Its links have been
 * closed. Never myself. */
void topologyRemove(struct topology *t, struct clusterNode *n);
void topologyRename(struct topology *t, struct clusterNode *n, const char id[NODE_ID_LEN]);
/* All of them; the body may remove `n`, but add none. It has two loops: no `break`. */
#define topologyForEach(t, n)                                                                                \
    for (int n##_i = (t)->count - 1; n##_i >= 0; n##_i--)                                                    \
        for (struct clusterNode *n = (t)->nodes[n##_i]; n; n = NULL)

static inline bool nodeIsPrimary(const struct clusterNode *n) {
    return n->flags & NODE_PRIMARY;
}
static inline bool nodeIsReplica(const struct clusterNode *n) {
    return n->flags & NODE_REPLICA;
}
static inline bool nodeFailed(const struct clusterNode *n) {
    return n->flags & NODE_FAIL;
}
static inline bool nodeVotes(const struct clusterNode *n) { /* a primary that has slots */
    return nodeIsPrimary(n) && n->slot_count > 0;
}
/* The primary of its shard: itself, if it is one. NULL: unknown. */
static inline struct clusterNode *nodeShardPrimary(struct clusterNode *n) {
    return nodeIsPrimary(n) ? n : n->primary;
}

/* The node becomes a primary, of the shard it is in; or a replica of `primary`, in the shard of that. NULL:
 * of one that is not known. Its slots become nobody's. */
void nodeBecomePrimary(struct topology *t, struct clusterNode *n);
void nodeBecomeReplica(struct topology *t, struct clusterNode *n, struct clusterNode *primary);

/* ---- Slots ---- */
/* NULL: nobody's from now on. The slot is claimed. O(1). */
void slotAssign(struct topology *t, int slot, struct clusterNode *n);
int slotsOwned(const struct topology *t);
struct openSlot *slotOpen(const struct topology *t,
                          int slot); /* NULL: it is not. Valid until the next change */
void slotSetMigrating(struct topology *t, int slot, struct clusterNode *to); /* NULL: not any more */
void slotSetImporting(struct topology *t, int slot, struct clusterNode *from);
void topologyCloseSlots(struct topology *t);  /* none is open any more */
int topologyVoters(const struct topology *t); /* the size of the cluster: primaries with slots */
/* Voters that are a majority of it. */
static inline int topologyQuorum(const struct topology *t) {
    return topologyVoters(t) / 2 + 1;
}
/* Votes or reports that are one, even if the slots whose owner is not known are those of primaries that have
 * never been heard: who knows little of the cluster must not take a few for the most. */
int topologySureQuorum(const struct topology *t);

/* ---- Failure reports ---- */
/* True: the first by that node. */
bool failureReportAdd(struct clusterNode *about, struct clusterNode *by, int64_t now_ms);
bool failureReportDrop(struct clusterNode *about, const struct clusterNode *by); /* true: there was one */
/* Those not older than since_ms; drops the others. */
int failureReportCount(struct clusterNode *about, int64_t since_ms);

/* ---- Forgotten nodes ---- */
void topologyForget(struct topology *t, const char id[NODE_ID_LEN], int64_t until_ms);
bool topologyIsForgotten(const struct topology *t, const char id[NODE_ID_LEN], int64_t now_ms);
void topologyForgottenTrim(struct topology *t, int64_t now_ms); /* those whose time is over */

void topologyVerify(const struct topology *t); /* asserts the invariants; O(nodes × slots) */
