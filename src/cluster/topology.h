/* SPDX-License-Identifier: BSD-3-Clause */
/* topology.h - what this node believes about its cluster: nodes, their roles, the owners of slots. It has
 * data and their invariants, but no decisions (cluster_engine.h), no sockets and no clock.
 *
 *     struct topology ─┬─ nodes[]     in order of ids; all known nodes, with this one and those in handshake.
 *                      │              An array: its order is the same in each run (simulations), is that of
 *                      │              replies, and picking a random node is O(1)
 *                      ├─ myself      one of them
 *                      ├─ owner[slot] one of them, or NULL
 *                      └─ open slots  migrating to, importing from
 *
 *     struct clusterNode: slots = { s : owner[s] is this node }, slot_count of them
 *                         replicas = { n : n->primary is this node }, in order of ids
 *
 * Invariants (topologyVerify asserts them): the two lines above; a replica owns no slot, and has replicas
 * only while they have not noticed yet that it became a replica; a primary's `primary` is NULL; an id is in
 * `nodes` once. All changes of these fields go through the functions below. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/sds.h"
#include "base/str.h"
#include "cluster/bus.h"
#include "cluster/slot_set.h"

struct busLink; /* cluster_engine.h; embedded in a struct of the environment */

/* Another node reports that a node does not answer. */
struct failureReport {
    struct clusterNode *by;
    int64_t at_ms;
};

/* Acknowledgements that stop for an election (cluster_engine_fence.c). */
enum fences { FENCES_UNKNOWN, FENCES_YES, FENCES_NO };
struct nodeFence {
    enum fences knows;       /* whether the node answers elections by ceasing to acknowledge */
    uint16_t sync_replicas;  /* its min-replicas-sync */
    uint64_t for_epoch;      /* this node acknowledges nothing while the node may win an election
                              * in an epoch up to this one; 0: this node has not answered it */
    int ticks;               /* ...and for so many more ticks at most */
    uint64_t answered_epoch; /* the last election of this node that it answered, and what it had then: */
    uint64_t history, reign, offset;
};

struct clusterNode {
    char id[NODE_ID_LEN + 1], shard_id[NODE_ID_LEN + 1];
    uint16_t flags; /* NODE_… */
    uint64_t config_epoch;
    struct clusterNode *primary; /* the primary of a replica; NULL: not known yet */
    struct clusterNode **replicas;
    int replica_count;
    struct slotSet slots;
    int slot_count;

    char ip[NODE_IP_LEN];                      /* "": not known */
    uint16_t tcp_port, tls_port, bus_port;     /* 0: none */
    sds hostname, human_name;                  /* "": none */
    sds availability_zone;                     /* "": none */
    sds client_ipv4, client_ipv6;              /* announced to clients in place of ip; "": none */
    uint16_t client_tcp_port, client_tls_port; /* announced to clients; 0: none */
    uint32_t replica_priority;                 /* lower is better in elections; at most INT32_MAX */

    struct busLink *out, *in; /* owned by the engine: links to and from the node; NULL: none */
    bool connected;           /* `out` is established */
    int64_t created_ms;       /* when this node learnt of it */
    int64_t ping_sent_ms;     /* oldest PING without an answer; 0: none */
    int64_t pong_received_ms; /* also as other nodes report it */
    int64_t data_received_ms; /* last message of any type */
    int64_t connect_ms;       /* last attempt */
    int64_t fail_ms;          /* since when it has NODE_FAIL */
    int64_t orphaned_ms;      /* since when a primary with slots has no working replica; 0: it has one */
    int64_t inbound_lost_ms;  /* since when it has no link to this node; 0: it has one */
    int64_t offset_ms;        /* when offset was received */
    uint64_t voted_epoch;     /* the last election of this node that it voted in */
    uint64_t current_epoch;   /* its current epoch in its last message; 0: no message yet */
    uint64_t offset;          /* its data's offset in the stream of its shard */
    struct failureReport *reports;
    int report_count;
    struct nodeFence fence; /* of nodes of this shard */
};

struct openSlot {
    uint16_t slot;
    struct clusterNode *to, *from; /* one of them is NULL unless the slot is both migrating and importing */
};

struct forgottenNode { /* must not be learnt again until then */
    char id[NODE_ID_LEN];
    int64_t until_ms;
};

struct topology {
    struct clusterNode **nodes;
    int count;
    struct clusterNode *myself;
    struct clusterNode *owner[KEY_SLOTS];
    struct slotSet unclaimed; /* slots that their owner does not claim any more */
    struct openSlot *open;    /* few; in order of slots */
    int open_count;
    uint64_t current_epoch, last_vote_epoch;
    struct forgottenNode *forgotten;
    int forgotten_count;
};

void topologyInit(struct topology *t);
void topologyClear(struct topology *t);

/* ---- Nodes ---- */
/* Returns NULL if the id is unknown. O(log nodes). */
struct clusterNode *topologyFind(const struct topology *t, const char id[NODE_ID_LEN]);
/* Adds a node in a shard of its own, with these flags, created at now_ms. */
struct clusterNode *topologyAdd(struct topology *t, const char id[NODE_ID_LEN], uint16_t flags,
                                int64_t now_ms);
/* Removes a node other than myself, whose links have been closed. Its slots lose their owner, its replicas
 * their primary; reports by it are dropped. */
void topologyRemove(struct topology *t, struct clusterNode *n);
void topologyRename(struct topology *t, struct clusterNode *n, const char id[NODE_ID_LEN]);
/* Iterates over all nodes. The body may remove `n` and must not add nodes. The macro has two loops: `break`
 * does not end both. */
#define topologyForEach(t, n)                                                                                \
    for (int n##_i = (t)->count - 1; n##_i >= 0; n##_i--)                                                    \
        for (struct clusterNode *n = (t)->nodes[n##_i]; n; n = NULL)

static inline bool nodeIsPrimary(const struct clusterNode *n) {
    return n->flags & NODE_PRIMARY;
}
static inline bool nodeIsReplica(const struct clusterNode *n) {
    return n->flags & NODE_REPLICA;
}
static inline bool nodeHasFailed(const struct clusterNode *n) {
    return n->flags & NODE_FAIL;
}
static inline bool nodeIsVoter(const struct clusterNode *n) { /* a primary that has slots */
    return nodeIsPrimary(n) && n->slot_count > 0;
}
/* Returns the primary of n's shard: n itself if it is a primary, NULL if unknown. */
static inline struct clusterNode *nodeShardPrimary(struct clusterNode *n) {
    return nodeIsPrimary(n) ? n : n->primary;
}

/* nodeBecomePrimary keeps the node in its shard. nodeBecomeReplica moves it to the shard of `primary` (NULL:
 * not known yet), and its slots lose their owner. */
void nodeBecomePrimary(struct topology *t, struct clusterNode *n);
void nodeBecomeReplica(struct topology *t, struct clusterNode *n, struct clusterNode *primary);

/* ---- Slots ---- */
/* Sets the owner; NULL: none. The slot counts as claimed. O(1). */
void slotAssign(struct topology *t, int slot, struct clusterNode *n);
int slotsCountOwned(const struct topology *t);
/* Returns NULL if the slot is not open. Valid until the next change. */
struct openSlot *slotFindOpen(const struct topology *t, int slot);
void slotSetMigrating(struct topology *t, int slot, struct clusterNode *to); /* NULL: ends it */
void slotSetImporting(struct topology *t, int slot, struct clusterNode *from);
void topologyCloseSlots(struct topology *t);       /* closes all open slots */
int topologyCountVoters(const struct topology *t); /* primaries with slots: the size of the cluster */
/* Returns the number of voters that is a majority. */
static inline int topologyQuorum(const struct topology *t) {
    return topologyCountVoters(t) / 2 + 1;
}
/* Returns the number of votes or reports that is a majority even if the slots without a known owner
 * belong to primaries that have sent nothing yet: a node that knows little of the cluster must not take a
 * few voters for a majority. */
int topologySureQuorum(const struct topology *t);

/* ---- Failure reports ---- */
/* Returns true if `by` had not reported yet. */
bool failureReportAdd(struct clusterNode *about, struct clusterNode *by, int64_t now_ms);
bool failureReportDrop(struct clusterNode *about, const struct clusterNode *by); /* true: there was one */
/* Counts the reports since since_ms, and drops older ones. */
int failureReportCount(struct clusterNode *about, int64_t since_ms);

/* ---- Forgotten nodes ---- */
void topologyForget(struct topology *t, const char id[NODE_ID_LEN], int64_t until_ms);
bool topologyIsForgotten(const struct topology *t, const char id[NODE_ID_LEN], int64_t now_ms);
void topologyTrimForgotten(struct topology *t, int64_t now_ms); /* drops those whose time is over */

void topologyVerify(const struct topology *t); /* asserts the invariants; O(nodes × slots) */
