/* SPDX-License-Identifier: BSD-3-Clause */
/* cluster_engine_private.h - what the parts of the cluster engine share. */
#pragma once

#include "cluster/cluster_engine.h"

#define START_DELAY_MS          2000 /* after its start a primary neither votes nor serves for so long */
#define CLOCK_TOLERANCE_MS      500  /* clocks of other nodes may be ahead by so much */
#define REJOIN_MIN_MS           500
#define REJOIN_MAX_MS           5000
#define ORPHAN_DELAY_MS         5000
#define ELECTION_TIMEOUT_MIN_MS 2000
#define RELOG_MS                10000
#define RESERVE_AGAIN_MS        1000
#define ANNOUNCE_AGAIN_MS       1000
#define EPOCH_MAX               (UINT64_MAX - UINT32_MAX) /* of other nodes; counting up cannot overflow */

static inline bool nodesShareShard(const struct clusterNode *a, const struct clusterNode *b) {
    return memcmp(a->shard_id, b->shard_id, NODE_ID_LEN) == 0;
}
/* Returns whether the node has an address and is neither myself nor in handshake. */
static inline bool nodeIsUsable(const struct clusterNode *n) {
    return !(n->flags & (NODE_MYSELF | NODE_HANDSHAKE | NODE_NOADDR));
}
/* Returns the primary of this node's shard, which may be this node. NULL: a replica that
 * does not know its primary. */
static inline struct clusterNode *engineMyPrimary(struct engine *e) {
    return nodeShardPrimary(e->t.myself);
}

void engineSetTime(struct engine *e, int64_t now_ms); /* called first by every function that gets the time */
void engineLog(struct engine *e, int level, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
/* Logs at most ten lines in ten seconds: for events that anybody who reaches the bus can cause. */
void engineLogLimited(struct engine *e, int level, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

/* ---- cluster_engine_send.c ---- */
/* Begins a message of this type, to be extended and sent. `flags` are set in this message only. */
sds messageBegin(struct engine *e, enum busType type, uint8_t flags);
/* Sets the length, counts the message, sends it and frees it. messageBroadcast sends to all connected nodes
 * that are not in handshake. */
void messageSend(struct engine *e, struct busLink *link, sds message);
void messageBroadcast(struct engine *e, sds message);
enum receivers { TO_ALL, TO_SHARD };
void messageSendPing(struct engine *e, struct busLink *link, enum busType type); /* a PING, PONG or MEET */
void messageBroadcastPong(struct engine *e, enum receivers to);
void messageSendUpdate(struct engine *e, struct busLink *link, const struct clusterNode *about);

/* ---- cluster_engine_members.c ---- */
/* Separates the node and the link from each other. */
void nodeDetach(struct clusterNode *n, struct busLink *link);
/* Closes the outbound or inbound link, if there is one. A link whose message is being
 * processed is closed after that. */
void nodeDropLink(struct engine *e, struct clusterNode *n, bool outbound);
void nodeRemove(struct engine *e, struct clusterNode *n); /* closes its links */
/* Begins a handshake with the node at that address, as engineMeet does. `meet`: with a MEET, for a node that
 * does not know this one; otherwise with a PING. */
enum meetVerdict nodeHandshake(struct engine *e, bool meet, const char *ip, uint16_t port, uint16_t bus_port);
void engineMakeNodeId(struct engine *e, char id[NODE_ID_LEN]);
/* Takes the node's address from a message header, or else from the link. Returns whether it has changed. */
bool nodeUpdateAddress(struct engine *e, struct clusterNode *n, const struct busLink *link,
                       const struct busHeader *h);
void gossipProcess(struct engine *e, struct clusterNode *sender, const struct busMessage *m);
void extensionsProcess(struct engine *e, struct clusterNode *sender, const struct busMessage *m);
void linkTick(struct engine *e, struct clusterNode *n); /* connects, gives up handshakes; may remove n */

/* ---- cluster_engine_failure.c ---- */
void heartbeatTick(struct engine *e);
void failureMarkIfAgreed(struct engine *e, struct clusterNode *n);
void failureMark(struct engine *e, struct clusterNode *n);
void failureClearIfSafe(struct engine *e, struct clusterNode *n);
void engineUpdateState(struct engine *e);
int nodeCountHealthyReplicas(const struct clusterNode *primary);

/* ---- cluster_engine_slots.c ---- */
/* Processes the claim of `owner` to these slots with that epoch. */
void slotsProcessClaim(struct engine *e, struct clusterNode *owner, uint64_t epoch,
                       const struct slotSet *slots);
/* Sends an UPDATE to the sender if a node with a higher epoch owns one of the slots that it claims. */
void slotsCorrectClaims(struct engine *e, struct clusterNode *sender, struct busLink *link,
                        const struct busHeader *h);
void epochResolveCollision(struct engine *e, struct clusterNode *other, const struct slotSet *slots);
void updateProcess(struct engine *e, const struct busMessage *m);
/* Gives all slots and open slots of `from` to `to`. */
void slotsInherit(struct engine *e, struct clusterNode *from, struct clusterNode *to);

/* ---- cluster_engine_election.c ---- */
void electionTick(struct engine *e); /* on replicas */
void voteProcessRequest(struct engine *e, struct clusterNode *sender, struct busLink *link,
                        const struct busHeader *h);
void voteProcessAck(struct engine *e, struct clusterNode *sender, const struct busHeader *h);
/* Gives up an election for this epoch, which another primary took. */
void electionAbandon(struct engine *e, const struct clusterNode *by, uint64_t epoch);
void electionTakeOver(struct engine *e); /* replaces my primary, with the epoch of this node */

/* Returns whether a user's failover may start: it needs no failed primary. */
static inline bool electionIsManual(const struct engine *e) {
    return e->manual.end_ms && e->manual.can_start;
}

/* ---- cluster_engine_fence.c ---- */
void fenceTick(struct engine *e);
void fenceNoteHistory(struct engine *e); /* before this node follows another primary */
/* Begins to ask for answers, if min-replicas-sync needs any, before the election's requests are sent. */
void fenceBegin(struct engine *e);
void fenceWithdraw(struct engine *e); /* this node will not win its present election */
void fenceUpdate(struct engine *e);   /* the election has ended, or it may have */
/* Returns whether enough replicas have ceased to acknowledge, and none of them has more. */
bool fenceAllowsTakeOver(struct engine *e);
void fenceLogMissing(struct engine *e);
void fenceProcessRequest(struct engine *e, struct clusterNode *sender, struct busLink *link,
                         const struct busHeader *h);
void fenceProcessAnswer(struct engine *e, struct clusterNode *sender, const struct busHeader *h);
/* Ends what the sender's election has stopped. Its claims have been processed. */
void fenceProcessHeartbeat(struct engine *e, struct clusterNode *sender, const struct busHeader *h);

/* ---- cluster_engine_manual.c ---- */
void manualReset(struct engine *e);
void manualTick(struct engine *e);
void manualProcessRequest(struct engine *e, struct clusterNode *sender);
void manualProcessOffset(struct engine *e, struct clusterNode *sender, const struct busHeader *h);

/* ---- cluster_engine_orphans.c ---- */
void orphansTick(struct engine *e);
