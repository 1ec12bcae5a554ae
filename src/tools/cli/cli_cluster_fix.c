/* SPDX-License-Identifier: BSD-3-Clause */
/* cli_cluster_fix.c - --cluster fix: slots that are open, have no owner, or have several owners. Part of
 * cli_cluster.h.
 *
 * planFixOpen decides what to do with an open slot; this file does it. A slot is taken from a node only
 * after its keys have moved to the new owner. */
#include <stdio.h>
#include <string.h>

#include "base/num.h"
#include "base/zmalloc.h"
#include "tools/cli/cli_cluster.h"

/* A slot, and the state of each primary in respect of it. */
struct opened {
    struct cluster *cluster;
    int slot;
    char number[LONG_STR_SIZE]; /* the slot */
    struct cliNode **nodes;
    struct planOpenNode *plan;
    int count, target;
};

static bool cliFixSetState(struct cliNode *n, const char *slot, const char *state,
                           const struct cliNode *peer) {
    return clusterRun(n, "CLUSTER", "SETSLOT", slot, state, peer ? peer->is.id : NULL, NULL);
}

/* Makes the node the owner: its claim gets an epoch above all others. */
static bool cliFixAssignSlot(struct cliNode *n, int slot) {
    char number[LONG_STR_SIZE];
    struct respReply reply;
    ll2string(number, slot);
    if (!clusterRun(n, "CLUSTER", "SETSLOT", number, "STABLE", NULL)) return false;
    if (!cliClusterRequest(n, &reply, "CLUSTER", "DELSLOTS", number, NULL)) return false;
    respReplyFree(&reply); /* an error means that the slot had no owner in this node's view */
    nodeSlotsAdd(&n->is.slots, slot);
    return clusterRun(n, "CLUSTER", "ADDSLOTS", number, NULL) && clusterRun(n, "CLUSTER", "BUMPEPOCH", NULL);
}

static void cliFixReadNodeState(struct opened *o, struct cliNode *n) {
    struct planOpenNode *p = &o->plan[o->count];
    *p = (struct planOpenNode){.owner = nodeSlotsHas(&n->is.slots, o->slot),
                               .keys = clusterKeysInSlot(n, o->slot)};
    for (int i = 0; i < n->is.open_count; i++) {
        if (n->is.open[i].slot != o->slot) continue;
        p->importing |= n->is.open[i].importing;
        p->migrating |= !n->is.open[i].importing;
    }
    o->nodes[o->count++] = n;
}

/* Finds the node to which the migrating node sends the slot. */
static void cliFixFindTarget(struct opened *o) {
    o->target = -1;
    for (int i = 0; i < o->count; i++) {
        const struct toolNode *is = &o->nodes[i]->is;
        for (int j = 0; j < is->open_count; j++) {
            if (is->open[j].slot != o->slot || is->open[j].importing) continue;
            for (int k = 0; k < o->count; k++) {
                if (strcmp(o->nodes[k]->is.id, is->open[j].peer) == 0) o->target = k;
            }
        }
    }
}

/* Treats keys on a node that neither owns nor opened the slot as an import whose state was lost. */
static void cliFixMarkStrayKeys(struct opened *o) {
    for (int i = 0; i < o->count; i++) {
        struct planOpenNode *p = &o->plan[i];
        if (p->owner || p->migrating || p->importing || p->keys <= 0) continue;
        cliClusterPrint(TONE_WARNING, "*** Found keys about slot %d in non-owner node %s:%d!\n", o->slot,
                        AT(o->nodes[i]));
        p->importing = true;
    }
}

static sds cliFixNodeNames(const struct opened *o, bool importing) {
    sds out = sdsempty();
    for (int i = 0; i < o->count; i++) {
        if (!(importing ? o->plan[i].importing : o->plan[i].migrating)) continue;
        out = sdscatprintf(out, "%s%s:%d", sdslen(out) ? "," : "", AT(o->nodes[i]));
    }
    return out;
}

static void cliFixShowStates(const struct opened *o) {
    sds migrating = cliFixNodeNames(o, false), importing = cliFixNodeNames(o, true);
    if (sdslen(migrating)) printf("Set as migrating in: %s\n", migrating);
    if (sdslen(importing)) printf("Set as importing in: %s\n", importing);
    sdsfree(migrating);
    sdsfree(importing);
}

/* Without an owner, or with several, makes the node with most keys the only one; the others import from
 * it. */
static bool cliFixChooseOwner(struct opened *o) {
    cliClusterPrint(TONE_STEP,
                    ">>> No single clear owner for the slot, selecting an owner by # of keys...\n");
    if (o->count == 0) {
        cliClusterPrint(TONE_ERROR, "[ERR] Can't select a slot owner. Impossible to fix.\n");
        return false;
    }
    int owner = planOwner(o->plan, o->count);
    cliClusterPrint(TONE_WARNING, "*** Configuring %s:%d as the slot owner\n", AT(o->nodes[owner]));
    for (int i = 0; i < o->count; i++) {
        if (i == owner || !o->plan[i].owner) continue;
        if (!clusterRun(o->nodes[i], "CLUSTER", "DELSLOTS", o->number, NULL)) return false;
        if (!cliFixSetState(o->nodes[i], o->number, "IMPORTING", o->nodes[owner])) return false;
        nodeSlotsRemove(&o->nodes[i]->is.slots, o->slot);
        o->plan[i].owner = false;
        o->plan[i].importing = true;
    }
    o->plan[owner].owner = true;
    o->plan[owner].migrating = o->plan[owner].importing = false;
    return cliFixAssignSlot(o->nodes[owner], o->slot);
}

/* Moves the keys of all other importing nodes to the node and closes the slot on them. */
static bool cliFixCollectInto(struct opened *o, int to, int except) {
    for (int i = 0; i < o->count; i++) {
        if (i == to || i == except || !o->plan[i].importing) continue;
        /* A node accepts commands on keys of other owners only while the slot is open. */
        if (!cliFixSetState(o->nodes[i], o->number, "IMPORTING", o->nodes[to])) return false;
        if (!clusterMoveSlot(o->cluster, o->nodes[i], o->nodes[to], o->slot, MOVE_COLD)) return false;
        cliClusterPrint(TONE_STEP, ">>> Setting %d as STABLE in %s:%d\n", o->slot, AT(o->nodes[i]));
        if (!cliFixSetState(o->nodes[i], o->number, "STABLE", NULL)) return false;
    }
    return true;
}

static bool cliFixCloseAll(struct opened *o) {
    bool ok = true;
    for (int i = 0; i < o->count && ok; i++) {
        if (o->plan[i].migrating || o->plan[i].importing)
            ok = cliFixSetState(o->nodes[i], o->number, "STABLE", NULL);
    }
    return ok;
}

static bool cliFixReportFailure(const struct opened *o) {
    sds migrating = cliFixNodeNames(o, false), importing = cliFixNodeNames(o, true);
    const struct cliNode *owner = o->nodes[0];
    for (int i = 0; i < o->count; i++) {
        if (o->plan[i].owner) owner = o->nodes[i];
    }
    cliClusterPrint(
        TONE_ERROR,
        "[ERR] Sorry, valkey-cli can't fix this slot yet (work in progress). Slot is set as migrating in %s, as "
        "importing in %s, owner is %s:%d\n",
        migrating, importing, AT(owner));
    sdsfree(migrating);
    sdsfree(importing);
    return false;
}

static bool cliFixIsOpen(const struct opened *o) {
    bool open = false;
    for (int i = 0; i < o->count; i++) open |= o->plan[i].migrating || o->plan[i].importing;
    return open;
}

static bool cliFixOpenedSlot(struct opened *o) {
    int from, to;
    enum planFix fix = planFixOpen(o->plan, o->count, o->target, &from, &to);
    if (fix == PLAN_OWNER) {
        if (!cliFixChooseOwner(o)) return false;
        if (!cliFixIsOpen(o)) return true;
        fix = planFixOpen(o->plan, o->count, o->target, &from, &to);
    }
    struct cliNode *source = from >= 0 ? o->nodes[from] : NULL, *target = to >= 0 ? o->nodes[to] : NULL;
    switch (fix) {
    case PLAN_FINISH:
        cliClusterPrint(TONE_STEP, ">>> Case 1: Moving slot %d from %s:%d to %s:%d\n", o->slot, AT(source),
                        AT(target));
        return clusterMoveSlot(o->cluster, source, target, o->slot, MOVE_FIX);
    case PLAN_COLLECT:
        cliClusterPrint(TONE_STEP, ">>> Case 2: Moving all the %d slot keys to its owner %s:%d\n", o->slot,
                        AT(target));
        return cliFixCollectInto(o, to, -1);
    case PLAN_FINISH_ONE:
        cliClusterPrint(
            TONE_STEP,
            ">>> Case 3: Moving slot %d from %s:%d to %s:%d and closing it on all the other importing nodes.\n",
            o->slot, AT(source), AT(target));
        return cliFixCollectInto(o, to, from) &&
               clusterMoveSlot(o->cluster, source, target, o->slot, MOVE_FIX);
    case PLAN_CLOSE_ALL:
        cliClusterPrint(TONE_STEP, ">>> Case 3: Closing slot %d on both migrating and importing nodes.\n",
                        o->slot);
        return cliFixCloseAll(o);
    case PLAN_CLOSE:
        cliClusterPrint(TONE_STEP, ">>> Case 4: Closing slot %d on %s:%d\n", o->slot, AT(source));
        return cliFixSetState(source, o->number, "STABLE", NULL);
    default: return cliFixReportFailure(o);
    }
}

/* Closes a slot that only replicas have open, because the closing did not reach them. Their primaries
 * pass it on. */
static bool cliFixCloseOnReplicas(struct cluster *c, int slot, const char *number) {
    bool ok = true;
    for (int i = 0; i < c->count && ok; i++) {
        const struct toolNode *is = &c->nodes[i]->is;
        bool open = false;
        for (int j = 0; j < is->open_count; j++) open |= is->open[j].slot == slot;
        struct cliNode *primary = open ? clusterFind(c, is->primary) : NULL;
        if (!primary) continue;
        cliClusterPrint(TONE_STEP, ">>> Closing slot %d on the replicas of %s:%d\n", slot, AT(primary));
        ok = cliFixSetState(primary, number, "STABLE", NULL);
    }
    return ok;
}

static bool cliFixOpenSlot(struct cluster *c, int slot) {
    struct opened o = {.cluster = c,
                       .slot = slot,
                       .nodes = zmalloc((size_t)c->count * sizeof(struct cliNode *)),
                       .plan = zmalloc((size_t)c->count * sizeof(struct planOpenNode))};
    ll2string(o.number, slot);
    cliClusterPrint(TONE_STEP, ">>> Fixing open slot %d\n", slot);
    for (int i = 0; i < c->count; i++) {
        if (clusterIsPrimary(c->nodes[i])) cliFixReadNodeState(&o, c->nodes[i]);
    }
    cliFixFindTarget(&o);
    cliFixMarkStrayKeys(&o);
    cliFixShowStates(&o);
    bool ok = cliFixIsOpen(&o) ? cliFixOpenedSlot(&o) : cliFixCloseOnReplicas(c, slot, o.number);
    zfree(o.nodes);
    zfree(o.plan);
    return ok;
}

bool clusterFixOpenSlots(struct cluster *c, const struct nodeSlots *open) {
    for (int slot = 0; slot < CLUSTER_SLOTS; slot++) {
        if (nodeSlotsHas(open, slot) && !cliFixOpenSlot(c, slot)) return false;
    }
    return true;
}

/* ---- Slots without an owner ---- */

enum holders { HELD_BY_NONE, HELD_BY_ONE, HELD_BY_MANY, HOLDERS };

struct coverage {
    struct cluster *cluster;
    int64_t **keys;                  /* keys of each primary, by slot; NULL for other nodes */
    struct nodeSlots slots[HOLDERS]; /* uncovered slots, by the number of nodes with keys of them */
};

static bool cliFixCountHolders(struct coverage *v, const struct nodeSlots *uncovered) {
    struct cluster *c = v->cluster;
    for (int i = 0; i < c->count; i++) {
        if (!clusterIsPrimary(c->nodes[i])) continue;
        v->keys[i] = zcalloc(CLUSTER_SLOTS, sizeof(v->keys[i][0]));
        if (!clusterKeysBySlot(c->nodes[i], v->keys[i])) return false;
    }
    for (int slot = 0; slot < CLUSTER_SLOTS; slot++) {
        int holders = 0;
        for (int i = 0; i < c->count; i++) holders += v->keys[i] && v->keys[i][slot] > 0;
        if (nodeSlotsHas(uncovered, slot))
            nodeSlotsAdd(&v->slots[holders > 1 ? HELD_BY_MANY : holders], slot);
    }
    return true;
}

/* Returns the primary with most keys of the slot, or if none has any, the one with the fewest slots. */
static struct cliNode *cliFixChooseNewOwner(const struct coverage *v, int slot) {
    struct cluster *c = v->cluster;
    struct cliNode *new_owner = NULL;
    int64_t most = 0, fewest = INT64_MAX;
    for (int i = 0; i < c->count; i++) {
        if (!v->keys[i]) continue;
        int64_t keys = v->keys[i][slot], slots = nodeSlotsCount(&c->nodes[i]->is.slots);
        if (keys < most || (keys == most && slots >= fewest)) continue;
        new_owner = c->nodes[i];
        most = keys;
        fewest = slots;
    }
    return new_owner;
}

static bool cliFixCoverOne(const struct coverage *v, int slot, bool moving) {
    struct cluster *c = v->cluster;
    struct cliNode *new_owner = cliFixChooseNewOwner(v, slot);
    char number[LONG_STR_SIZE];
    if (!new_owner) return false;
    ll2string(number, slot);
    cliClusterPrint(TONE_STEP,
                    moving ? ">>> Covering slot %s moving keys to %s:%d\n"
                           : ">>> Covering slot %s with %s:%d\n",
                    number, AT(new_owner));
    if (!cliFixAssignSlot(new_owner, slot)) return false;
    for (int i = 0; i < c->count && moving; i++) {
        struct cliNode *n = c->nodes[i];
        if (n == new_owner || !v->keys[i] || v->keys[i][slot] == 0) continue;
        /* While the slot is importing, the node accepts commands on its keys. */
        if (!cliFixSetState(n, number, "NODE", new_owner) ||
            !cliFixSetState(n, number, "IMPORTING", new_owner))
            return false;
        if (!clusterMoveSlot(c, n, new_owner, slot, MOVE_COLD) || !cliFixSetState(n, number, "STABLE", NULL))
            return false;
    }
    return true;
}

static bool cliFixCoverAll(const struct coverage *v, enum holders held) {
    static const char *const titles[] = {
        [HELD_BY_NONE] = "The following uncovered slots have no keys across the cluster:",
        [HELD_BY_ONE] = "The following uncovered slots have keys in just one node:",
        [HELD_BY_MANY] = "The following uncovered slots have keys in multiple nodes:",
    };
    static const char *const questions[] = {
        [HELD_BY_NONE] = "Fix these slots by covering with a random node?",
        [HELD_BY_ONE] = "Fix these slots by covering with those nodes?",
        [HELD_BY_MANY] = "Fix these slots by moving keys into a single node?",
    };
    const struct nodeSlots *slots = &v->slots[held];
    if (nodeSlotsCount(slots) == 0) return true;
    sds text = slotSetText(slots);
    printf("%s\n%s\n", titles[held], text);
    sdsfree(text);
    if (!clusterConfirm(questions[held])) return false;
    bool ok = true;
    for (int slot = 0; slot < CLUSTER_SLOTS && ok; slot++) {
        if (nodeSlotsHas(slots, slot)) ok = cliFixCoverOne(v, slot, held == HELD_BY_MANY);
    }
    return ok;
}

bool clusterFixCoverage(struct cluster *c, const struct nodeSlots *uncovered) {
    struct coverage v = {.cluster = c, .keys = zcalloc((size_t)c->count, sizeof(int64_t *))};
    cliClusterPrint(TONE_STEP, ">>> Fixing slots coverage...\n");
    bool ok = cliFixCountHolders(&v, uncovered);
    for (int held = 0; held < HOLDERS && ok; held++) ok = cliFixCoverAll(&v, (enum holders)held);
    for (int i = 0; i < c->count; i++) zfree(v.keys[i]);
    zfree(v.keys);
    return ok;
}

/* ---- Slots with several owners ---- */

bool clusterFixOwners(struct cluster *c, int slot, struct cliNode **owners, int count) {
    char number[LONG_STR_SIZE];
    int best = 0;
    ll2string(number, slot);
    cliClusterPrint(TONE_STEP, ">>> Fixing multiple owners for slot %d...\n", slot);
    int64_t most = -1;
    for (int i = 0; i < count; i++) {
        int64_t keys = clusterKeysInSlot(owners[i], slot);
        if (keys > most) most = keys, best = i;
    }
    struct cliNode *owner = owners[best];
    cliClusterPrint(TONE_STEP, ">>> Setting slot %d owner: %s:%d\n", slot, AT(owner));
    bool ok = cliFixAssignSlot(owner, slot);
    for (int i = 0; i < count && ok; i++) {
        if (owners[i] == owner) continue;
        ok = cliFixSetState(owners[i], number, "NODE", owner) &&
             cliFixSetState(owners[i], number, "IMPORTING", owner) &&
             clusterMoveSlot(c, owners[i], owner, slot, MOVE_COLD) &&
             cliFixSetState(owners[i], number, "STABLE", NULL);
    }
    if (!ok) cliClusterPrint(TONE_ERROR, "Failed to fix multiple owners for slot %d\n", slot);
    return ok;
}
