/* SPDX-License-Identifier: BSD-3-Clause */
/* cluster_engine_private.h - what the parts of the engine (engine*.c) share. */
#pragma once

#include "cluster/cluster_engine.h"

#define START_DELAY_MS          2000 /* a primary neither votes nor serves for so long after its start */
#define CLOCK_TOLERANCE_MS      500  /* others' clocks may be ahead by that */
#define REJOIN_MIN_MS           500
#define REJOIN_MAX_MS           5000
#define ORPHAN_DELAY_MS         5000
#define ELECTION_TIMEOUT_MIN_MS 2000
#define RELOG_MS                10000
#define RESERVE_AGAIN_MS        1000
#define ANNOUNCE_AGAIN_MS       1000
#define EPOCH_MAX               (UINT64_MAX - UINT32_MAX) /* of others: above it there is room to count up */

static inline bool inSameShard(const struct clusterNode *a, const struct clusterNode *b) {
    return memcmp(a->shard_id, b->shard_id, NODE_ID_LEN) == 0;
}
static inline bool
nodeUsable(const struct clusterNode *n) { /* is it told about, and are messages sent to it? */
    return !(n->flags & (NODE_MYSELF | NODE_HANDSHAKE | NODE_NOADDR));
}
/* Myself, or the primary of myself. NULL: a replica that does not know it. */
static inline struct clusterNode *myPrimary(struct engine *e) {
    return nodeShardPrimary(e->t.myself);
}

void engineSetTime(struct engine *e, int64_t now_ms); /* first of all, in whatever is told the time */
void engineLog(struct engine *e, int level, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
/* Logs what anybody who reaches the bus can cause as often as they like: ten lines in ten seconds. */
void engineLogLimited(struct engine *e, int level, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

/* ---- cluster_engine_send.c ---- */
/* A message of this type to be added to, and sent; its flags are of this message alone. */
sds messageBegin(struct engine *e, enum busType type, uint8_t flags);
/* Sets its length, counts and frees it; the second to everybody who is connected, but to no handshakes. */
void messageSend(struct engine *e, struct busLink *link, sds message);
void messageBroadcast(struct engine *e, sds message);
enum whom { TO_ALL, TO_SHARD };
void sendPing(struct engine *e, struct busLink *link, enum busType type); /* or PONG, or MEET */
void broadcastPong(struct engine *e, enum whom whom);
void sendUpdate(struct engine *e, struct busLink *link, const struct clusterNode *about);

/* ---- cluster_engine_members.c ---- */
/* The two have nothing to do with each other any more. */
void nodeDetach(struct clusterNode *n, struct busLink *link);
/* Closes it, if there is one; one whose message is looked at is closed behind that. */
void nodeDropLink(struct engine *e, struct clusterNode *n, bool outbound);
void nodeRemove(struct engine *e, struct clusterNode *n); /* with its links */
/* Begins a handshake with whoever is at that address, as engineMeet, with a PING, or with a MEET for one that
 * does not know us. */
enum meetVerdict nodeHandshake(struct engine *e, bool meet, const char *ip, uint16_t port, uint16_t bus_port);
void newNodeId(struct engine *e, char id[NODE_ID_LEN]);
/* The address that a message tells: of its header, or of the link. True: it is another one than before. */
bool nodeTakeAddress(struct engine *e, struct clusterNode *n, const struct busLink *link,
                     const struct busHeader *h);
void gossipProcess(struct engine *e, struct clusterNode *sender, const struct busMessage *m);
void extensionsProcess(struct engine *e, struct clusterNode *sender, const struct busMessage *m);
void linkTick(struct engine *e, struct clusterNode *n); /* connects, gives up handshakes; may remove n */

/* ---- cluster_engine_failure.c ---- */
void heartbeatTick(struct engine *e);
void markFailingIfAgreed(struct engine *e, struct clusterNode *n);
void markFailed(struct engine *e, struct clusterNode *n);
void clearFailIfSafe(struct engine *e, struct clusterNode *n);
void stateUpdate(struct engine *e);
int healthyReplicas(const struct clusterNode *primary);

/* ---- cluster_engine_slots.c ---- */
/* `owner` says that these are its slots, with that epoch. */
void slotsClaimed(struct engine *e, struct clusterNode *owner, uint64_t epoch, const struct slotSet *slots);
/* Tells the sender if somebody with a higher epoch has one of the slots that it claims. */
void correctClaims(struct engine *e, struct clusterNode *sender, struct busLink *link,
                   const struct busHeader *h);
void epochCollision(struct engine *e, struct clusterNode *other, const struct slotSet *slots);
void updateReceived(struct engine *e, const struct busMessage *m);
/* All that `from` has (slots, and what is open towards it) is `to`'s. */
void slotsInherit(struct engine *e, struct clusterNode *from, struct clusterNode *to);

/* ---- cluster_engine_election.c ---- */
void electionTick(struct engine *e); /* of a replica */
void voteRequested(struct engine *e, struct clusterNode *sender, struct busLink *link,
                   const struct busHeader *h);
void voteReceived(struct engine *e, struct clusterNode *sender, const struct busHeader *h);
/* Another primary took this epoch: an election for it is lost. */
void electionOvertaken(struct engine *e, const struct clusterNode *by, uint64_t epoch);
void takeOver(struct engine *e); /* from my primary, with the epoch that I have */

/* ---- cluster_engine_manual.c ---- */
void manualReset(struct engine *e);
void manualTick(struct engine *e);
void manualRequested(struct engine *e, struct clusterNode *sender);
void manualOffsetTold(struct engine *e, struct clusterNode *sender, const struct busHeader *h);

/* ---- cluster_engine_orphans.c ---- */
void orphansTick(struct engine *e);
