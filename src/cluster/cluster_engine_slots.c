/* SPDX-License-Identifier: BSD-3-Clause */
/* cluster_engine_slots.c - owners of slots: claims, epochs, corrections.
 *
 * A slot belongs to the node that claims it with the greatest configuration epoch. When a node claims a slot
 * that another one has with a greater epoch, any node that knows sends it an UPDATE. Two primaries with one
 * epoch could both be right, so one of them takes a greater epoch.
 *
 * A node that takes an epoch without votes may be cut off just then, and its replica may be elected with the
 * same epoch: two owners in one epoch. So the epoch is reserved first:
 *
 *     6 is the greatest ── 8 is announced to all voters ──▶ most have answered: no vote in 7 ──▶ 7 is taken
 *
 * A voter that knows 8 refuses a request for 7 (so does 9.1.2), and has 8 on disk before it answers. A node
 * that is cut off from most voters gets no answers and takes no epoch. */
#include <string.h>

#include "base/assert.h"
#include "cluster/cluster_engine_private.h"

/* ---- Open slots, when their surroundings change ---- */

/* The node from which this one imports the slot has lost it to `owner`. The import continues if that is a
 * node of the same shard, and ends otherwise. `owner` may be myself. */
static void engineSlotsUpdateImportSource(struct engine *e, int slot, struct clusterNode *owner) {
    struct openSlot *open = slotFindOpen(&e->t, slot);
    if (!open || !open->from || open->from == owner) return;
    bool moved = owner && owner != e->t.myself && nodesShareShard(open->from, owner);
    engineLog(e, LL_NOTICE, "Slot %d that is imported from node %s is now of node %s: %s", slot,
              nodeLogName(open->from), owner ? nodeLogName(owner) : "nobody",
              moved ? "importing from there" : "not importing it any more");
    slotSetImporting(&e->t, slot, moved ? owner : NULL);
}

/* `by` has replaced the node to which a slot of this shard is migrating key by key: it has the keys that were
 * moved, and gets the rest. */
static void engineSlotsUpdateExportTarget(struct engine *e, struct clusterNode *by, uint64_t epoch) {
    for (int i = 0; i < e->t.open_count; i++) {
        struct openSlot *open = &e->t.open[i];
        if (!open->to || open->to == by || !nodesShareShard(open->to, by) || open->to->config_epoch >= epoch)
            continue;
        engineLog(e, LL_NOTICE,
                  "Slot %d that is migrated to node %s goes to node %s now, which took its place", open->slot,
                  nodeLogName(open->to), nodeLogName(by));
        open->to = by;
        engineAddTodo(e, TODO_SAVE | TODO_SLOTS);
    }
}

/* Sets the new owner. A migrating slot of this shard stays open when another node of the shard takes over. */
static void engineSlotsMoveSlot(struct engine *e, int slot, struct clusterNode *to) {
    bool stays = to && (to == engineMyPrimary(e) || nodesShareShard(to, e->t.myself));
    slotAssign(&e->t, slot, to);
    engineSlotsUpdateImportSource(e, slot, to);
    struct openSlot *open = slotFindOpen(&e->t, slot);
    if (open && open->to && !stays) slotSetMigrating(&e->t, slot, NULL);
}

void slotsInherit(struct engine *e, struct clusterNode *from, struct clusterNode *to) {
    for (int slot = 0; slot < KEY_SLOTS; slot++) {
        if (e->t.owner[slot] == from) engineSlotsMoveSlot(e, slot, to);
        struct openSlot *open = slotFindOpen(&e->t, slot);
        if (open && open->to == from) slotSetMigrating(&e->t, slot, to);
    }
    engineAddTodo(e, TODO_SAVE | TODO_STATE | TODO_SLOTS);
}

/* ---- Claims ---- */

struct engineClaim {
    struct clusterNode *by;
    uint64_t epoch;
    int lost;             /* slots of this shard that `by` owns now */
    struct slotSet dirty; /* slots among them that this node owned and has keys in */
    int dirty_count;
};

static bool engineSlotsMayTakeEpoch(struct engine *e);

static bool engineSlotsClaimWins(struct engine *e, const struct engineClaim *c, int slot) {
    const struct clusterNode *owner = e->t.owner[slot];
    return !owner || slotSetHas(&e->t.unclaimed, slot) || owner->config_epoch < c->epoch ||
           (owner == e->t.myself && e->env->slotGranted(e->ctx, slot, c->by));
}

static void engineSlotsClaimSlot(struct engine *e, struct engineClaim *c, int slot) {
    struct clusterNode *owner = e->t.owner[slot];
    if (owner == c->by) {
        slotSetRemove(&e->t.unclaimed, slot);
        return;
    }
    if (!engineSlotsClaimWins(e, c, slot)) return;
    if (owner == e->t.myself && e->env->keysInSlot(e->ctx, slot)) {
        slotSetAdd(&c->dirty, slot);
        c->dirty_count++;
    }
    c->lost += owner && owner == engineMyPrimary(e);
    engineSlotsMoveSlot(e, slot, c->by);
    engineAddTodo(e, TODO_SAVE | TODO_STATE | TODO_SLOTS);
}

/* `by` does not claim a slot that it is believed to own. If this node is importing the slot
 * key by key, it takes it. */
static void engineSlotsEndClaim(struct engine *e, struct clusterNode *by, int slot) {
    struct openSlot *open = slotFindOpen(&e->t, slot);
    if (!open || open->from != by || !nodeIsPrimary(e->t.myself)) {
        if (!slotSetHas(&e->t.unclaimed, slot)) engineAddTodo(e, TODO_SAVE);
        slotSetAdd(&e->t.unclaimed, slot);
        return;
    }
    if (!engineSlotsMayTakeEpoch(e))
        return; /* tried again at its next message, which will not claim the slot
                 * either */
    engineLog(e, LL_NOTICE,
              "Slot %d is no longer claimed by its owner %s, from which it is imported: taking it", slot,
              nodeLogName(by));
    engineSlotsMoveSlot(e, slot, e->t.myself);
    engineBumpEpoch(e, e->now_ms);
    engineAddTodo(e, TODO_SAVE | TODO_STATE | TODO_SLOTS | TODO_BROADCAST);
}

static void engineSlotsDeleteDirty(struct engine *e, const struct engineClaim *c) {
    slotSetForEach(&c->dirty, slot) {
        engineLog(e, LL_NOTICE, "Deleting keys in dirty slot %d on node %s after migration to node %s", slot,
                  nodeLogName(e->t.myself), nodeLogName(c->by));
        e->env->deleteSlot(e->ctx, slot);
    }
}

/* Returns the node that has replaced the primary of this shard, or NULL. */
static struct clusterNode *engineSlotsFindNewPrimary(struct engine *e) {
    topologyForEach(&e->t, n) {
        if (n != engineMyPrimary(e) && nodeIsVoter(n) && nodesShareShard(n, e->t.myself)) return n;
    }
    return NULL;
}

/* This shard has lost slots, perhaps its last ones. This node stays in the shard if another of its nodes owns
 * the rest, even if some had gone to the claimer: no other node would be its replica. */
static void engineSlotsHandleLoss(struct engine *e, const struct engineClaim *c) {
    struct clusterNode *me = e->t.myself, *primary = engineMyPrimary(e),
                       *new_owner = engineSlotsFindNewPrimary(e);
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

void slotsProcessClaim(struct engine *e, struct clusterNode *owner, uint64_t epoch,
                       const struct slotSet *slots) {
    serverAssert(owner && slots);
    if (owner == e->t.myself) return;
    struct engineClaim c = {.by = owner, .epoch = epoch};
    engineSlotsUpdateExportTarget(e, owner, epoch);
    for (int slot = 0; slot < KEY_SLOTS; slot++) {
        if (slotSetHas(slots, slot))
            engineSlotsClaimSlot(e, &c, slot);
        else if (e->t.owner[slot] == owner)
            engineSlotsEndClaim(e, owner, slot);
    }
    if (c.lost) engineSlotsHandleLoss(e, &c);
}

void slotsCorrectClaims(struct engine *e, struct clusterNode *sender, struct busLink *link,
                        const struct busHeader *h) {
    struct clusterNode *primary = nodeShardPrimary(sender);
    slotSetForEach(&h->slots, slot) {
        struct clusterNode *owner = e->t.owner[slot];
        if (!owner || owner == primary || owner == sender || owner->config_epoch <= h->config_epoch) continue;
        engineLog(e, LL_VERBOSE, "Node %s has old slots configuration, sending an UPDATE message about %s",
                  nodeLogName(sender), nodeLogName(owner));
        messageSendUpdate(e, sender->connected ? sender->out : link, owner);
        return;
    }
}

void updateProcess(struct engine *e, const struct busMessage *m) {
    serverAssert(m->about.slots);
    struct clusterNode *n = topologyFind(&e->t, m->about.id);
    uint64_t epoch = m->about.config_epoch;
    if (!n || n == e->t.myself || n->flags & NODE_HANDSHAKE || n->config_epoch >= epoch || epoch > EPOCH_MAX)
        return;
    if (nodeIsReplica(n)) nodeBecomePrimary(&e->t, n);
    n->config_epoch = epoch;
    if (epoch > e->t.current_epoch) e->t.current_epoch = epoch;
    engineAddTodo(e, TODO_SAVE | TODO_STATE);
    struct slotSet slots;
    memcpy(&slots, m->about.slots, sizeof slots);
    slotsProcessClaim(e, n, epoch, &slots);
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

/* Returns whether the epoch of this node is the reserved one, and the current epoch is just the one
 * announced to reserve it. */
static bool engineSlotsReservationIsTaken(const struct engine *e) {
    return e->reservation.epoch && e->t.myself->config_epoch == e->reservation.epoch &&
           e->t.current_epoch == e->reservation.epoch + 1;
}

/* Returns whether the reserved epoch may still be taken or kept. */
static bool engineSlotsReservationIsValid(const struct engine *e) {
    bool unused = e->reservation.epoch > e->t.myself->config_epoch;
    return (unused || engineSlotsReservationIsTaken(e)) &&
           e->reservation.epoch > engineSlotsGreatestOfOthers(e);
}

static void engineSlotsPingVoters(struct engine *e) {
    topologyForEach(&e->t, n) {
        if (!nodeIsVoter(n) || !nodeIsUsable(n) || !n->connected) continue;
        int64_t waiting_since = n->ping_sent_ms;
        messageSendPing(e, n->out, BUS_PING);
        if (waiting_since) n->ping_sent_ms = waiting_since;
    }
}

static void engineSlotsReserveNew(struct engine *e, unsigned above) {
    e->reservation =
        (struct engineReservation){.epoch = engineSlotsGreatestEpoch(e) + above, .announced_ms = e->now_ms};
    e->t.current_epoch = e->reservation.epoch + 1;
    engineAddTodo(e, TODO_SAVE);
    engineSlotsPingVoters(e);
}

void engineReserveEpoch(struct engine *e, int64_t now_ms) {
    engineSetTime(e, now_ms);
    if (!engineSlotsReservationIsValid(e)) {
        engineSlotsReserveNew(e, 1);
    } else if (now_ms - e->reservation.announced_ms >= RESERVE_AGAIN_MS) {
        e->reservation.announced_ms = now_ms;
        engineSlotsPingVoters(e);
    }
}

void engineReserveNewEpoch(struct engine *e, int64_t now_ms) {
    engineSetTime(e, now_ms);
    engineSlotsReserveNew(e, 2);
}

bool engineIsReservationKnownBy(const struct engine *e, const struct clusterNode *n) {
    return n->current_epoch > e->reservation.epoch && n->data_received_ms >= e->reservation.announced_ms;
}

bool engineIsEpochReserved(struct engine *e) {
    if (!engineSlotsReservationIsValid(e)) return false;
    int answered = nodeIsVoter(e->t.myself);
    for (int i = 0; i < e->t.count; i++) {
        const struct clusterNode *n = e->t.nodes[i];
        answered += n != e->t.myself && nodeIsVoter(n) && engineIsReservationKnownBy(e, n);
    }
    bool enough = answered >= topologySureQuorum(&e->t);
    e->reservation.holds |= enough;
    return enough;
}

/* Returns whether an epoch may be taken now; reserves one if not. A node without replicas cannot be replaced,
 * and need not reserve. */
static bool engineSlotsMayTakeEpoch(struct engine *e) {
    if (!e->t.myself->replica_count || engineIsEpochReserved(e)) return true;
    engineReserveEpoch(e, e->now_ms);
    return false;
}

static void engineSlotsTakeEpoch(struct engine *e) {
    bool reserved_epoch = engineSlotsReservationIsValid(e) && e->reservation.holds &&
                          e->reservation.epoch > e->t.myself->config_epoch;
    uint64_t epoch = reserved_epoch ? e->reservation.epoch : engineSlotsGreatestEpoch(e) + 1;
    e->t.myself->config_epoch = e->self_assigned_epoch = epoch;
    if (e->t.current_epoch < epoch) e->t.current_epoch = epoch;
    engineAddTodo(e, TODO_SAVE | TODO_SYNC | TODO_BROADCAST);
}

bool engineBumpEpoch(struct engine *e, int64_t now_ms) {
    engineSetTime(e, now_ms);
    uint64_t *mine = &e->t.myself->config_epoch;
    bool greatest = *mine != 0 && *mine == engineSlotsGreatestEpoch(e);
    if (greatest || (engineSlotsReservationIsTaken(e) && engineSlotsReservationIsValid(e))) return false;
    (void)engineIsEpochReserved(e);
    engineSlotsTakeEpoch(e);
    engineLog(e, LL_NOTICE, "This node takes configuration epoch %llu", (unsigned long long)*mine);
    return true;
}

/* A replica of this node has been elected, while this node was cut off, in the epoch that this
 * node had just taken without votes. What the replica serves belongs to it, and no greater epoch
 * of this node may take it back. */
static void engineSlotsYieldTo(struct engine *e, struct clusterNode *other, const struct slotSet *slots) {
    struct clusterNode *me = e->t.myself;
    if (e->self_assigned_epoch != me->config_epoch || !nodesShareShard(me, other)) return;
    slotsProcessClaim(e, other, other->config_epoch + 1, slots);
}

/* The node with the smaller id takes a greater epoch, so only one of the two does. */
void epochResolveCollision(struct engine *e, struct clusterNode *other, const struct slotSet *slots) {
    struct clusterNode *me = e->t.myself;
    if (memcmp(other->id, me->id, NODE_ID_LEN) <= 0) return;
    engineSlotsYieldTo(e, other, slots);
    if (nodeIsReplica(me) || e->settings.keeps_epoch || !engineSlotsMayTakeEpoch(e)) return;
    engineSlotsTakeEpoch(e); /* announced at once, before a failover in this shard can take the same epoch */
    engineLog(e, LL_NOTICE,
              "configEpoch collision with node %s. Updating my configEpoch: configEpoch set to %llu",
              nodeLogName(other), (unsigned long long)me->config_epoch);
}
