/* SPDX-License-Identifier: BSD-3-Clause */
/* topology.c - see topology.h. */
#include "cluster/topology.h"

#include <string.h>

#include "base/assert.h"
#include "base/zmalloc.h"

/* ---- Arrays that grow by one ---- */

/* Grows the array by one element of `size` bytes. It has as many as it needs, not more. */
static void *topologyGrowArray(void *array, int count, size_t size) {
    return zrealloc(array, (size_t)(count + 1) * size);
}

/* Removes element i of `count`. */
static void topologyRemoveElement(void *array, int i, int count, size_t size) {
    char *at = (char *)array + (size_t)i * size;
    memmove(at, at + size, (size_t)(count - i - 1) * size);
}

/* ---- Nodes ---- */

/* Returns the index at which the id is, or would be inserted. *found: it is there. */
static int topologySearch(const struct topology *t, const char *id, bool *found) {
    int low = 0, high = t->count;
    *found = false;
    while (low < high) {
        int middle = (low + high) / 2, cmp = memcmp(t->nodes[middle]->id, id, NODE_ID_LEN);
        if (cmp == 0) *found = true;
        if (cmp < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

struct clusterNode *topologyFind(const struct topology *t, const char id[NODE_ID_LEN]) {
    bool found;
    int i = topologySearch(t, id, &found);
    return found ? t->nodes[i] : NULL;
}

static void topologyInsertNode(struct topology *t, struct clusterNode *n) {
    bool found;
    int i = topologySearch(t, n->id, &found);
    serverAssert(!found);
    t->nodes = topologyGrowArray(t->nodes, t->count, sizeof *t->nodes);
    memmove(t->nodes + i + 1, t->nodes + i, (size_t)(t->count - i) * sizeof *t->nodes);
    t->nodes[i] = n;
    t->count++;
}

static void topologyTakeOutNode(struct topology *t, struct clusterNode *n) {
    bool found;
    int i = topologySearch(t, n->id, &found);
    serverAssert(found && t->nodes[i] == n);
    topologyRemoveElement(t->nodes, i, t->count--, sizeof *t->nodes);
}

struct clusterNode *topologyAdd(struct topology *t, const char id[NODE_ID_LEN], uint16_t flags,
                                int64_t now_ms) {
    struct clusterNode *n = zcalloc(1, sizeof *n);
    memcpy(n->id, id, NODE_ID_LEN);
    memcpy(n->shard_id, id, NODE_ID_LEN); /* until the node announces its shard */
    n->flags = flags;
    n->created_ms = now_ms;
    n->hostname = sdsempty();
    n->human_name = sdsempty();
    n->availability_zone = sdsempty();
    n->client_ipv4 = sdsempty();
    n->client_ipv6 = sdsempty();
    topologyInsertNode(t, n);
    return n;
}

static void topologyNodeFree(struct clusterNode *n) {
    sdsfree(n->hostname);
    sdsfree(n->human_name);
    sdsfree(n->availability_zone);
    sdsfree(n->client_ipv4);
    sdsfree(n->client_ipv6);
    zfree(n->replicas);
    zfree(n->reports);
    zfree(n);
}

static void topologyDropSlots(struct topology *t, struct clusterNode *n) {
    slotSetForEach(&n->slots, slot) slotAssign(t, slot, NULL);
}

static void topologyLeavePrimary(struct clusterNode *n) {
    struct clusterNode *primary = n->primary;
    n->primary = NULL;
    if (!primary) return;
    for (int i = 0; i < primary->replica_count; i++) {
        if (primary->replicas[i] != n) continue;
        topologyRemoveElement(primary->replicas, i, primary->replica_count--, sizeof *primary->replicas);
        return;
    }
    serverPanic("a replica is not among those of its primary");
}

/* Inserts in order of ids, so that all nodes show the replicas of a primary in one order. */
static void topologyJoinPrimary(struct clusterNode *n, struct clusterNode *primary) {
    int i = primary->replica_count++;
    primary->replicas = topologyGrowArray(primary->replicas, i, sizeof *primary->replicas);
    for (; i > 0 && memcmp(primary->replicas[i - 1]->id, n->id, NODE_ID_LEN) > 0; i--)
        primary->replicas[i] = primary->replicas[i - 1];
    primary->replicas[i] = n;
    n->primary = primary;
}

void topologyRemove(struct topology *t, struct clusterNode *n) {
    serverAssert(n != t->myself && !n->in && !n->out);
    topologyDropSlots(t, n);
    for (int i = t->open_count - 1; i >= 0; i--) {
        int slot = t->open[i].slot;
        if (t->open[i].to == n) slotSetMigrating(t, slot, NULL);
        if (slotFindOpen(t, slot) && slotFindOpen(t, slot)->from == n) slotSetImporting(t, slot, NULL);
    }
    topologyLeavePrimary(n);
    while (n->replica_count) topologyLeavePrimary(n->replicas[0]);
    for (int i = 0; i < t->count; i++) failureReportDrop(t->nodes[i], n);
    topologyTakeOutNode(t, n);
    topologyNodeFree(n);
}

void topologyRename(struct topology *t, struct clusterNode *n, const char id[NODE_ID_LEN]) {
    struct clusterNode *primary = n->primary;
    topologyTakeOutNode(t, n);
    topologyLeavePrimary(n);
    memcpy(n->id, id, NODE_ID_LEN);
    topologyInsertNode(t, n);
    if (primary) topologyJoinPrimary(n, primary);
}

/* ---- Roles ---- */

void nodeBecomePrimary(struct topology *t, struct clusterNode *n) {
    (void)t;
    topologyLeavePrimary(n);
    n->flags = (uint16_t)((n->flags & ~(NODE_REPLICA | NODE_PRIMARY_FAIL)) | NODE_PRIMARY);
}

void nodeBecomeReplica(struct topology *t, struct clusterNode *n, struct clusterNode *primary) {
    serverAssert(n != primary);
    topologyDropSlots(t, n);
    topologyLeavePrimary(n);
    n->flags = (uint16_t)((n->flags & ~(NODE_PRIMARY | NODE_MIGRATE_TO)) | NODE_REPLICA);
    if (!primary) return;
    memcpy(n->shard_id, primary->shard_id, NODE_ID_LEN);
    for (int i = 0; i < n->replica_count; i++) /* until they become its replicas */
        memcpy(n->replicas[i]->shard_id, primary->shard_id, NODE_ID_LEN);
    topologyJoinPrimary(n, primary);
    primary->flags |= NODE_MIGRATE_TO; /* it has had a replica, and may get another when that is lost */
}

/* ---- Slots ---- */

void slotAssign(struct topology *t, int slot, struct clusterNode *n) {
    serverAssert(slot >= 0 && slot < KEY_SLOTS);
    struct clusterNode *was = t->owner[slot];
    slotSetRemove(&t->unclaimed, slot);
    if (was == n) return;
    if (was) {
        serverAssert(was->slot_count > 0);
        slotSetRemove(&was->slots, slot);
        was->slot_count--;
    }
    t->owner[slot] = n;
    if (n) {
        slotSetAdd(&n->slots, slot);
        n->slot_count++;
    }
}

int slotsCountOwned(const struct topology *t) {
    int count = 0;
    for (int i = 0; i < t->count; i++) count += t->nodes[i]->slot_count;
    return count;
}

int topologyCountVoters(const struct topology *t) {
    int count = 0;
    for (int i = 0; i < t->count; i++) count += nodeIsVoter(t->nodes[i]);
    return count;
}

/* Returns whether this primary is known from other nodes only, and has never announced its slots. */
static bool topologyMayVoteUnseen(const struct clusterNode *n) {
    bool received = n->pong_received_ms || n->data_received_ms;
    return nodeIsPrimary(n) && !n->slot_count && !received &&
           !(n->flags & (NODE_MYSELF | NODE_HANDSHAKE | NODE_NOADDR));
}

int topologySureQuorum(const struct topology *t) {
    int unknown = KEY_SLOTS - slotsCountOwned(t), unseen = 0;
    for (int i = 0; i < t->count; i++) unseen += topologyMayVoteUnseen(t->nodes[i]);
    return (topologyCountVoters(t) + (unseen < unknown ? unseen : unknown)) / 2 + 1;
}

static int topologySearchOpen(const struct topology *t, int slot) {
    int i = 0;
    while (i < t->open_count && t->open[i].slot < slot) i++;
    return i;
}

struct openSlot *slotFindOpen(const struct topology *t, int slot) {
    int i = topologySearchOpen(t, slot);
    return i < t->open_count && t->open[i].slot == slot ? &t->open[i] : NULL;
}

static void topologySetOpen(struct topology *t, int slot, struct clusterNode *to, struct clusterNode *from) {
    serverAssert(slot >= 0 && slot < KEY_SLOTS);
    int i = topologySearchOpen(t, slot);
    bool there = i < t->open_count && t->open[i].slot == slot;
    if (!to && !from) {
        if (there) topologyRemoveElement(t->open, i, t->open_count--, sizeof *t->open);
        return;
    }
    if (!there) {
        t->open = topologyGrowArray(t->open, t->open_count, sizeof *t->open);
        memmove(t->open + i + 1, t->open + i, (size_t)(t->open_count++ - i) * sizeof *t->open);
    }
    t->open[i] = (struct openSlot){.slot = (uint16_t)slot, .to = to, .from = from};
}

void slotSetMigrating(struct topology *t, int slot, struct clusterNode *to) {
    struct openSlot *open = slotFindOpen(t, slot);
    topologySetOpen(t, slot, to, open ? open->from : NULL);
}

void slotSetImporting(struct topology *t, int slot, struct clusterNode *from) {
    struct openSlot *open = slotFindOpen(t, slot);
    topologySetOpen(t, slot, open ? open->to : NULL, from);
}

void topologyCloseSlots(struct topology *t) {
    t->open_count = 0;
}

/* ---- Failure reports ---- */

static int topologyFindReport(const struct clusterNode *about, const struct clusterNode *by) {
    for (int i = 0; i < about->report_count; i++) {
        if (about->reports[i].by == by) return i;
    }
    return -1;
}

bool failureReportAdd(struct clusterNode *about, struct clusterNode *by, int64_t now_ms) {
    serverAssert(about && by);
    int i = topologyFindReport(about, by);
    bool first = i < 0;
    if (first) {
        about->reports = topologyGrowArray(about->reports, about->report_count, sizeof *about->reports);
        i = about->report_count++;
    }
    about->reports[i] = (struct failureReport){by, now_ms};
    return first;
}

bool failureReportDrop(struct clusterNode *about, const struct clusterNode *by) {
    int i = topologyFindReport(about, by);
    if (i < 0) return false;
    topologyRemoveElement(about->reports, i, about->report_count--, sizeof *about->reports);
    return true;
}

int failureReportCount(struct clusterNode *about, int64_t since_ms) {
    serverAssert(about);
    for (int i = about->report_count - 1; i >= 0; i--) {
        if (about->reports[i].at_ms < since_ms)
            topologyRemoveElement(about->reports, i, about->report_count--, sizeof *about->reports);
    }
    return about->report_count;
}

/* ---- Forgotten nodes ---- */

void topologyTrimForgotten(struct topology *t, int64_t now_ms) {
    for (int i = t->forgotten_count - 1; i >= 0; i--) {
        if (t->forgotten[i].until_ms <= now_ms)
            topologyRemoveElement(t->forgotten, i, t->forgotten_count--, sizeof *t->forgotten);
    }
}

static struct forgottenNode *topologyFindForgotten(const struct topology *t, const char *id) {
    for (int i = 0; i < t->forgotten_count; i++) {
        if (memcmp(t->forgotten[i].id, id, NODE_ID_LEN) == 0) return &t->forgotten[i];
    }
    return NULL;
}

void topologyForget(struct topology *t, const char id[NODE_ID_LEN], int64_t until_ms) {
    struct forgottenNode *f = topologyFindForgotten(t, id);
    if (!f) {
        t->forgotten = topologyGrowArray(t->forgotten, t->forgotten_count, sizeof *t->forgotten);
        f = &t->forgotten[t->forgotten_count++];
        memcpy(f->id, id, NODE_ID_LEN);
    }
    f->until_ms = until_ms;
}

bool topologyIsForgotten(const struct topology *t, const char id[NODE_ID_LEN], int64_t now_ms) {
    const struct forgottenNode *f = topologyFindForgotten(t, id);
    return f && f->until_ms > now_ms;
}

/* ---- Life ---- */

void topologyInit(struct topology *t) {
    memset(t, 0, sizeof *t);
}

void topologyClear(struct topology *t) {
    for (int i = 0; i < t->count; i++) topologyNodeFree(t->nodes[i]);
    zfree(t->nodes);
    zfree(t->open);
    zfree(t->forgotten);
    topologyInit(t);
}

/* ---- Invariants ---- */

static void topologyVerifyNode(const struct topology *t, const struct clusterNode *n) {
    serverAssert(n->slot_count == slotSetCount(&n->slots));
    slotSetForEach(&n->slots, slot) serverAssert(t->owner[slot] == n);
    bool primary = nodeIsPrimary(n), replica = nodeIsReplica(n);
    serverAssert(primary != replica || (!primary && n->flags & NODE_HANDSHAKE));
    serverAssert(!replica || n->slot_count == 0);
    serverAssert(!n->primary || (replica && topologyFind(t, n->primary->id) == n->primary));
    for (int i = 0; i < n->replica_count; i++) {
        serverAssert(n->replicas[i]->primary == n);
        serverAssert(i == 0 || memcmp(n->replicas[i - 1]->id, n->replicas[i]->id, NODE_ID_LEN) < 0);
    }
    for (int i = 0; i < n->report_count; i++)
        serverAssert(topologyFind(t, n->reports[i].by->id) == n->reports[i].by);
}

void topologyVerify(const struct topology *t) {
    int owned = 0;
    for (int i = 0; i < t->count; i++) {
        serverAssert(i == 0 || memcmp(t->nodes[i - 1]->id, t->nodes[i]->id, NODE_ID_LEN) < 0);
        topologyVerifyNode(t, t->nodes[i]);
        owned += t->nodes[i]->slot_count;
    }
    for (int slot = 0; slot < KEY_SLOTS; slot++) owned -= t->owner[slot] != NULL;
    serverAssert(owned == 0);
    for (int i = 1; i < t->open_count; i++) serverAssert(t->open[i - 1].slot < t->open[i].slot);
    serverAssert(!t->myself || topologyFind(t, t->myself->id) == t->myself);
}
