/* SPDX-License-Identifier: BSD-3-Clause */
/* cluster_engine_slots.c - who owns which slot: claims, epochs, corrections.
 *
 * A slot is the node's that claims it with the greatest configuration epoch. A node that claims what another
 * one has with a greater epoch is told so (UPDATE), by anybody who knows. Two primaries with the same epoch
 * could both be right, so one of them takes a greater one.
 *
 * An epoch that a node takes without votes may be the one that its replica is elected with meanwhile, when it
 * is cut off just then: two owners in one epoch. So it is reserved first:
 *
 *     6 is the greatest ── all voters are told of 8 ──▶ most have answered: no vote in 7 ──▶ 7 is taken
 *
 * (Who knows 8 refuses a request of 7: 9.1.2 as well. A voter has 8 on disk before it answers.) Who is cut
 * off from most voters gets no answer, and takes none. */
#include <string.h>

#include "base/assert.h"
#include "cluster/cluster_engine_private.h"

/* ---- Open slots, when something around them changes ---- */

/* The one that we import a slot from has lost it: to one of its own shard, then we go on from there; or to
 * another. `owner` may be us. */
static void engineSlotsImportSourceChanged(struct engine *e, int slot, struct clusterNode *owner) {
    struct openSlot *open = slotOpen(&e->t, slot);
    if (!open || !open->from || open->from == owner) return;
    bool moved = owner && owner != e->t.myself && inSameShard(open->from, owner);
    engineLog(e, LL_NOTICE, "Slot %d that is imported from node %s is now of node %s: %s", slot,
              nodeLogName(open->from), owner ? nodeLogName(owner) : "nobody",
              moved ? "importing from there" : "not importing it any more");
    slotSetImporting(&e->t, slot, moved ? owner : NULL);
}

/* Whom a slot of our shard goes to, key by key, has been replaced by `by`: that one has the keys that went
 * there, and is asked for them from now on. */
static void engineSlotsExportTargetChanged(struct engine *e, struct clusterNode *by, uint64_t epoch) {
    for (int i = 0; i < e->t.open_count; i++) {
        struct openSlot *open = &e->t.open[i];
        if (!open->to || open->to == by || !inSameShard(open->to, by) || open->to->config_epoch >= epoch)
            continue;
        engineLog(e, LL_NOTICE,
                  "Slot %d that is migrated to node %s goes to node %s now, which took its place", open->slot,
                  nodeLogName(open->to), nodeLogName(by));
        open->to = by;
        engineTodo(e, TODO_SAVE | TODO_SLOTS);
    }
}

/* A slot that our shard gives away stays open in all of it when another node of the shard takes over. */
static void engineSlotsSlotMoved(struct engine *e, int slot, struct clusterNode *to) {
    bool stays = to && (to == myPrimary(e) || inSameShard(to, e->t.myself));
    slotAssign(&e->t, slot, to);
    engineSlotsImportSourceChanged(e, slot, to);
    struct openSlot *open = slotOpen(&e->t, slot);
    if (open && open->to && !stays) slotSetMigrating(&e->t, slot, NULL);
}

void slotsInherit(struct engine *e, struct clusterNode *from, struct clusterNode *to) {
    for (int slot = 0; slot < KEY_SLOTS; slot++) {
        if (e->t.owner[slot] == from) engineSlotsSlotMoved(e, slot, to);
        struct openSlot *open = slotOpen(&e->t, slot);
        if (open && open->to == from) slotSetMigrating(&e->t, slot, to);
    }
    engineTodo(e, TODO_SAVE | TODO_STATE | TODO_SLOTS);
}

/* ---- Claims ---- */

struct engineClaim {
    struct clusterNode *by;
    uint64_t epoch;
    int lost;             /* slots of our shard that are its now */
    struct slotSet dirty; /* of those, what we own ourselves, and have keys in */
    int dirty_count;
};

static bool engineSlotsEpochAtHand(struct engine *e);

static bool engineSlotsClaimWins(struct engine *e, const struct engineClaim *c, int slot) {
    const struct clusterNode *owner = e->t.owner[slot];
    return !owner || slotSetHas(&e->t.unclaimed, slot) || owner->config_epoch < c->epoch ||
           (owner == e->t.myself && e->env->slotGranted(e->w, slot, c->by));
}

static void engineSlotsClaimSlot(struct engine *e, struct engineClaim *c, int slot) {
    struct clusterNode *owner = e->t.owner[slot];
    if (owner == c->by) {
        slotSetRemove(&e->t.unclaimed, slot);
        return;
    }
    if (!engineSlotsClaimWins(e, c, slot)) return;
    if (owner == e->t.myself && e->env->keysInSlot(e->w, slot)) {
        slotSetAdd(&c->dirty, slot);
        c->dirty_count++;
    }
    c->lost += owner && owner == myPrimary(e);
    engineSlotsSlotMoved(e, slot, c->by);
    engineTodo(e, TODO_SAVE | TODO_STATE | TODO_SLOTS);
}

/* It does not claim what we think is its. We may be importing the slot, by hand: then it is ours. */
static void engineSlotsClaimEnded(struct engine *e, struct clusterNode *by, int slot) {
    struct openSlot *open = slotOpen(&e->t, slot);
    if (!open || open->from != by || !nodeIsPrimary(e->t.myself)) {
        if (!slotSetHas(&e->t.unclaimed, slot)) engineTodo(e, TODO_SAVE);
        slotSetAdd(&e->t.unclaimed, slot);
        return;
    }
    if (!engineSlotsEpochAtHand(e)) return; /* it will not claim it the next time either */
    engineLog(e, LL_NOTICE,
              "Slot %d is no longer claimed by its owner %s, from which it is imported: taking it", slot,
              nodeLogName(by));
    engineSlotsSlotMoved(e, slot, e->t.myself);
    engineBumpEpoch(e, e->now_ms);
    engineTodo(e, TODO_SAVE | TODO_STATE | TODO_SLOTS | TODO_BROADCAST);
}

static void engineSlotsDeleteDirty(struct engine *e, const struct engineClaim *c) {
    for (int last, slot = slotSetRun(&c->dirty, 0, &last); slot >= 0;
         slot = slotSetRun(&c->dirty, last + 1, &last)) {
        for (; slot <= last; slot++) {
            engineLog(e, LL_NOTICE, "Deleting keys in dirty slot %d on node %s after migration to node %s",
                      slot, nodeLogName(e->t.myself), nodeLogName(c->by));
            e->env->deleteSlot(e->w, slot);
        }
    }
}

/* Returns the node that has taken the place of our shard's primary. NULL: there is none. */
static struct clusterNode *engineSlotsShardNewOwner(struct engine *e) {
    topologyForEach(&e->t, n) {
        if (n != myPrimary(e) && nodeVotes(n) && inSameShard(n, e->t.myself)) return n;
    }
    return NULL;
}

/* Our shard has lost slots: the last ones, perhaps. We stay in it if another of its nodes has the rest of
 * them, even if that had given some to the claimer: nobody else would be its replica. */
static void engineSlotsLost(struct engine *e, const struct engineClaim *c) {
    struct clusterNode *me = e->t.myself, *primary = myPrimary(e), *new_owner = engineSlotsShardNewOwner(e);
    if (primary->slot_count == 0 && (new_owner || e->settings.allow_replica_migration)) {
        struct clusterNode *to = new_owner ? new_owner : c->by;
        engineLog(
            e, LL_NOTICE,
            "The slots of this shard have a new owner, so this node becomes a replica of %s in shard %s",
            nodeLogName(to), to->shard_id);
        engineFollow(e, to, !new_owner);
        return;
    }
    if (primary->slot_count == 0 && primary == me)
        engineLog(e, LL_NOTICE,
                  "My last slot was migrated to node %s in shard %s. I am now an empty primary.",
                  nodeLogName(c->by), c->by->shard_id);
    if (c->dirty_count) engineSlotsDeleteDirty(e, c);
}

void slotsClaimed(struct engine *e, struct clusterNode *owner, uint64_t epoch, const struct slotSet *slots) {
    if (owner == e->t.myself) return;
    struct engineClaim c = {.by = owner, .epoch = epoch};
    engineSlotsExportTargetChanged(e, owner, epoch);
    for (int slot = 0; slot < KEY_SLOTS; slot++) {
        if (slotSetHas(slots, slot))
            engineSlotsClaimSlot(e, &c, slot);
        else if (e->t.owner[slot] == owner)
            engineSlotsClaimEnded(e, owner, slot);
    }
    if (c.lost) engineSlotsLost(e, &c);
}

void correctClaims(struct engine *e, struct clusterNode *sender, struct busLink *link,
                   const struct busHeader *h) {
    struct clusterNode *primary = nodeShardPrimary(sender);
    for (int last, slot = slotSetRun(&h->slots, 0, &last); slot >= 0;
         slot = slotSetRun(&h->slots, last + 1, &last)) {
        for (; slot <= last; slot++) {
            struct clusterNode *owner = e->t.owner[slot];
            if (!owner || owner == primary || owner == sender || owner->config_epoch <= h->config_epoch)
                continue;
            engineLog(e, LL_VERBOSE,
                      "Node %s has old slots configuration, sending an UPDATE message about %s",
                      nodeLogName(sender), nodeLogName(owner));
            sendUpdate(e, sender->connected ? sender->out : link, owner);
            return;
        }
    }
}

void updateReceived(struct engine *e, const struct busMessage *m) {
    struct clusterNode *n = topologyFind(&e->t, m->about.id);
    uint64_t epoch = m->about.config_epoch;
    if (!n || n == e->t.myself || n->flags & NODE_HANDSHAKE || n->config_epoch >= epoch || epoch > EPOCH_MAX)
        return;
    if (nodeIsReplica(n)) nodeBecomePrimary(&e->t, n);
    n->config_epoch = epoch;
    if (epoch > e->t.current_epoch) e->t.current_epoch = epoch;
    engineTodo(e, TODO_SAVE | TODO_STATE);
    struct slotSet slots;
    memcpy(&slots, m->about.slots, sizeof slots);
    slotsClaimed(e, n, epoch, &slots);
}

/* ---- Epochs ---- */

static uint64_t engineSlotsGreatestOfOthers(const struct engine *e) {
    uint64_t greatest = 0;
    for (int i = 0; i < e->t.count; i++) {
        const struct clusterNode *n = e->t.nodes[i];
        if (n != e->t.myself && n->config_epoch > greatest) greatest = n->config_epoch;
    }
    return greatest;
}

static uint64_t engineSlotsGreatestEpoch(const struct engine *e) {
    uint64_t others = engineSlotsGreatestOfOthers(e), mine = e->t.myself->config_epoch,
             current = e->t.current_epoch;
    uint64_t greatest = others > mine ? others : mine;
    return greatest > current ? greatest : current;
}

/* Ours, and what is above it is nothing but its bar. */
static bool engineSlotsReserveEpochs(const struct engine *e) {
    return e->bar.epoch && e->t.myself->config_epoch == e->bar.epoch &&
           e->t.current_epoch == e->bar.epoch + 1;
}

/* Is it still one to be taken, or kept? */
static bool engineSlotsReservationIsValid(const struct engine *e) {
    bool unused = e->bar.epoch > e->t.myself->config_epoch;
    return (unused || engineSlotsReserveEpochs(e)) && e->bar.epoch > engineSlotsGreatestOfOthers(e);
}

static void engineSlotsTellVoters(struct engine *e) {
    topologyForEach(&e->t, n) {
        if (!nodeVotes(n) || !nodeUsable(n) || !n->connected) continue;
        int64_t waiting_since = n->ping_sent_ms;
        sendPing(e, n->out, BUS_PING);
        if (waiting_since) n->ping_sent_ms = waiting_since;
    }
}

static void engineSlotsReserveAgain(struct engine *e, unsigned above) {
    e->bar = (struct engineReservation){.epoch = engineSlotsGreatestEpoch(e) + above, .asked_ms = e->now_ms};
    e->t.current_epoch = e->bar.epoch + 1;
    engineTodo(e, TODO_SAVE);
    engineSlotsTellVoters(e);
}

void engineReserveEpoch(struct engine *e, int64_t now_ms) {
    engineSetTime(e, now_ms);
    if (!engineSlotsReservationIsValid(e)) {
        engineSlotsReserveAgain(e, 1);
    } else if (now_ms - e->bar.asked_ms >= RESERVE_AGAIN_MS) {
        e->bar.asked_ms = now_ms;
        engineSlotsTellVoters(e);
    }
}

void engineReserveEpochAbove(struct engine *e, int64_t now_ms) {
    engineSetTime(e, now_ms);
    engineSlotsReserveAgain(e, 2);
}

bool engineReservationKnownBy(const struct engine *e, const struct clusterNode *n) {
    return n->current_epoch > e->bar.epoch && n->data_received_ms >= e->bar.asked_ms;
}

bool engineEpochReserved(struct engine *e) {
    if (!engineSlotsReservationIsValid(e)) return false;
    int heard = nodeVotes(e->t.myself);
    for (int i = 0; i < e->t.count; i++) {
        const struct clusterNode *n = e->t.nodes[i];
        heard += n != e->t.myself && nodeVotes(n) && engineReservationKnownBy(e, n);
    }
    bool enough = heard >= topologySureQuorum(&e->t);
    e->bar.holds |= enough;
    return enough;
}

/* May one be taken now? Of who has no replicas, nobody can take the place. */
static bool engineSlotsEpochAtHand(struct engine *e) {
    if (!e->t.myself->replica_count || engineEpochReserved(e)) return true;
    engineReserveEpoch(e, e->now_ms);
    return false;
}

static void engineSlotsTakeEpoch(struct engine *e) {
    bool reserved_epoch =
        engineSlotsReservationIsValid(e) && e->bar.holds && e->bar.epoch > e->t.myself->config_epoch;
    uint64_t epoch = reserved_epoch ? e->bar.epoch : engineSlotsGreatestEpoch(e) + 1;
    e->t.myself->config_epoch = e->given_epoch = epoch;
    if (e->t.current_epoch < epoch) e->t.current_epoch = epoch;
    engineTodo(e, TODO_SAVE | TODO_SYNC | TODO_BROADCAST);
}

bool engineBumpEpoch(struct engine *e, int64_t now_ms) {
    engineSetTime(e, now_ms);
    uint64_t *mine = &e->t.myself->config_epoch;
    bool greatest = *mine != 0 && *mine == engineSlotsGreatestEpoch(e);
    if (greatest || (engineSlotsReserveEpochs(e) && engineSlotsReservationIsValid(e))) return false;
    (void)engineEpochReserved(e);
    engineSlotsTakeEpoch(e);
    engineLog(e, LL_NOTICE, "This node takes configuration epoch %llu", (unsigned long long)*mine);
    return true;
}

/* A replica of ours has been elected while we were away, in the epoch that we had just given ourselves: what
 * it serves is its, and no greater epoch of ours may take that back. */
static void engineSlotsYieldTo(struct engine *e, struct clusterNode *other, const struct slotSet *slots) {
    struct clusterNode *me = e->t.myself;
    if (e->given_epoch != me->config_epoch || !inSameShard(me, other)) return;
    slotsClaimed(e, other, other->config_epoch + 1, slots);
}

/* Of two equals, the one with the smaller id takes a greater epoch; so both do not. */
void epochCollision(struct engine *e, struct clusterNode *other, const struct slotSet *slots) {
    struct clusterNode *me = e->t.myself;
    if (memcmp(other->id, me->id, NODE_ID_LEN) <= 0) return;
    engineSlotsYieldTo(e, other, slots);
    if (nodeIsReplica(me) || e->settings.keeps_epoch || !engineSlotsEpochAtHand(e)) return;
    engineSlotsTakeEpoch(e); /* told at once: before a failover of ours can take the same one */
    engineLog(e, LL_NOTICE,
              "configEpoch collision with node %s. Updating my configEpoch: configEpoch set to %llu",
              nodeLogName(other), (unsigned long long)me->config_epoch);
}
