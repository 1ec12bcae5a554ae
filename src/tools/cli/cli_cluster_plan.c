/* SPDX-License-Identifier: BSD-3-Clause */
/* cli_cluster_plan.c - see cli_cluster_plan.h. */
#include "tools/cli/cli_cluster_plan.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/assert.h"
#include "base/zmalloc.h"

#define SWAPS_PER_NODE 500

/* ---- create ---- */

void planEvenSlots(int primaries, struct planRange *ranges) {
    double each = (double)CLUSTER_SLOTS / primaries;
    for (int i = 0; i < primaries; i++) {
        ranges[i].first = i ? ranges[i - 1].last + 1 : 0;
        ranges[i].last = i == primaries - 1 ? CLUSTER_SLOTS - 1 : (int)lround((i + 1) * each - 1);
    }
}

/* Returns the first unused node with this host from `from` on, or -1. */
static int cliPlanNodeOnHost(int from, int count, const char *const *hosts, const char *host,
                             const bool *used) {
    for (int i = from; i < count; i++) {
        if (strcmp(hosts[i], host) == 0 && (!used || !used[i])) return i;
    }
    return -1;
}

void planInterleave(int count, const char *const *hosts, int *order) {
    bool *used = zcalloc((size_t)count + 1, sizeof(used[0]));
    for (int done = 0; done < count;) {
        for (int i = 0; i < count; i++) {
            if (cliPlanNodeOnHost(0, count, hosts, hosts[i], NULL) != i)
                continue; /* handles each host once, at its first node */
            int node = cliPlanNodeOnHost(i, count, hosts, hosts[i], used);
            if (node == -1) continue;
            used[node] = true;
            order[done++] = node;
        }
    }
    zfree(used);
}

/* Returns whether the node's host differs from the primary's and those of its other replicas. */
static bool cliPlanIsSeparate(int node, int primary, int count, const char *const *hosts,
                              const int *follows) {
    if (strcmp(hosts[node], hosts[primary]) == 0) return false;
    for (int i = 0; i < count; i++) {
        if (i != node && follows[i] == primary && strcmp(hosts[i], hosts[node]) == 0) return false;
    }
    return true;
}

/* Chooses among nodes without a role, in order: the first that is far from the primary, else the first. */
static int cliPlanChooseReplica(int primary, int count, const char *const *hosts, const int *queue,
                                int queued, const int *follows) {
    int first = -1;
    for (int i = 0; i < queued; i++) {
        if (follows[queue[i]] != -1) continue;
        if (cliPlanIsSeparate(queue[i], primary, count, hosts, follows)) return queue[i];
        if (first == -1) first = queue[i];
    }
    return first;
}

int planRoles(int count, const char *const *hosts, int primaries, int each, const int *order, int *follows,
              int *chosen) {
    int queued = count - primaries, given = 0;
    int *queue = zmalloc(((size_t)count + 1) * sizeof(queue[0]));
    /* The first remaining node is often on the host of the first primary, so it goes to the end. */
    for (int i = 0; i < queued; i++) queue[i] = order[primaries + (i + 1) % queued];
    for (int i = 0; i < count; i++) follows[i] = -1;
    for (int i = 0; i < primaries; i++) {
        for (int r = 0; r < each && given < queued; r++) {
            int node = cliPlanChooseReplica(order[i], count, hosts, queue, queued, follows);
            follows[node] = order[i];
            chosen[given++] = node;
        }
    }
    for (int i = 0; given < queued; i = (i + 1) % primaries) {
        int node = cliPlanChooseReplica(order[i], count, hosts, queue, queued, follows);
        follows[node] = order[i];
        chosen[given++] = node;
    }
    zfree(queue);
    return given;
}

int64_t planAffinity(int count, const char *const *hosts, const int *follows) {
    int64_t score = 0;
    for (int i = 0; i < count; i++) {
        if (follows[i] == -1) continue;
        if (strcmp(hosts[i], hosts[follows[i]]) == 0) score += PLAN_SAME_HOST;
        for (int j = i + 1; j < count; j++)
            score += follows[j] == follows[i] && strcmp(hosts[i], hosts[j]) == 0;
    }
    return score;
}

/* Draws a random number by xorshift64* (Vigna 2016), so that a plan depends on its arguments only. */
static int planRandom(uint64_t *state, int below) {
    *state ^= *state >> 12;
    *state ^= *state << 25;
    *state ^= *state >> 27;
    return (int)((*state * 2685821657736338717ull >> 33) % (uint64_t)below);
}

int64_t planSpread(int count, const char *const *hosts, int *follows, uint64_t seed) {
    int replicas = 0;
    int *replica = zmalloc(((size_t)count + 1) * sizeof(int)),
        *now = zmalloc(((size_t)count + 1) * sizeof(int));
    memcpy(now, follows, (size_t)count * sizeof(int));
    for (int i = 0; i < count; i++) {
        if (follows[i] != -1) replica[replicas++] = i;
    }
    int64_t best = planAffinity(count, hosts, follows), score = best;
    uint64_t state = seed | 1;
    for (int left = SWAPS_PER_NODE * count; left > 0 && best > 0 && replicas > 1; left--) {
        int a = replica[planRandom(&state, replicas)], b = replica[planRandom(&state, replicas)];
        int primary = now[a];
        if (now[b] == primary) continue;
        now[a] = now[b];
        now[b] = primary;
        int64_t swapped = planAffinity(count, hosts, now);
        if (swapped > score) { /* equal scores are accepted, to leave local optima */
            now[b] = now[a];
            now[a] = primary;
            continue;
        }
        score = swapped;
        if (score >= best) continue;
        best = score;
        memcpy(follows, now, (size_t)count * sizeof(int));
    }
    zfree(replica);
    zfree(now);
    return best;
}

/* ---- reshard and rebalance ---- */

struct slotSource {
    int node, slots, place;
};

static int cliPlanCompareSources(const void *a, const void *b) {
    const struct slotSource *x = a, *y = b;
    return x->slots != y->slots ? y->slots - x->slots : x->place - y->place;
}

int planReshard(const struct nodeSlots *owned, const int *sources, int source_count, int to, int slots,
                struct planMove *moves) {
    struct slotSource *list = zmalloc(((size_t)source_count + 1) * sizeof(list[0]));
    int total = 0, count = 0;
    for (int i = 0; i < source_count; i++) {
        list[i] = (struct slotSource){sources[i], nodeSlotsCount(&owned[sources[i]]), i};
        total += list[i].slots;
    }
    if (slots > total) slots = total;
    qsort(list, (size_t)source_count, sizeof(list[0]), cliPlanCompareSources);
    for (int i = 0; i < source_count && total; i++) {
        double exact = (double)slots / total * list[i].slots;
        int share = (int)(i == 0 ? ceil(exact) : floor(exact)), taken = 0;
        for (int slot = 0; slot < CLUSTER_SLOTS && taken < share && count < slots; slot++) {
            if (!nodeSlotsHas(&owned[list[i].node], slot)) continue;
            moves[count++] = (struct planMove){list[i].node, to, slot};
            taken++;
        }
    }
    zfree(list);
    return count;
}

static bool cliPlanExceedsThreshold(const struct planShare *s, int expected, double threshold) {
    if (s->slots == 0) return expected > 1;
    return fabs(100 - 100.0 * expected / s->slots) > threshold;
}

bool planBalance(struct planShare *shares, int count, double threshold) {
    double weights = 0;
    int slots = 0, sum = 0;
    bool off = false;
    for (int i = 0; i < count; i++) {
        weights += shares[i].weight;
        slots += shares[i].slots;
    }
    serverAssert(weights > 0);
    for (int i = 0; i < count; i++) {
        int expected = (int)(slots / weights * shares[i].weight);
        shares[i].surplus = shares[i].slots - expected;
        sum += shares[i].surplus;
        off |= cliPlanExceedsThreshold(&shares[i], expected, threshold);
    }
    /* Rounding has left some slots over: nodes that get slots get them, else those that would give. */
    for (int pass = 0; sum > 0; pass++) {
        for (int i = 0; i < count && sum > 0; i++) {
            if (shares[i].weight == 0 || (shares[i].surplus > 0 && pass == 0)) continue;
            shares[i].surplus--;
            sum--;
        }
    }
    return off;
}

int planTransfers(struct planShare *shares, int count, struct planTransfer *transfers) {
    for (int done = 0;; done++) {
        int rich = 0, poor = 0;
        for (int i = 1; i < count; i++) {
            if (shares[i].surplus > shares[rich].surplus) rich = i;
            if (shares[i].surplus < shares[poor].surplus) poor = i;
        }
        int slots =
            shares[rich].surplus < -shares[poor].surplus ? shares[rich].surplus : -shares[poor].surplus;
        if (slots <= 0) return done;
        transfers[done] = (struct planTransfer){rich, poor, slots};
        shares[rich].surplus -= slots;
        shares[poor].surplus += slots;
    }
}

/* ---- fix ---- */

enum planFix planFixOpen(const struct planOpenNode *nodes, int count, int target, int *from, int *to) {
    int migrating = 0, importing = 0, owners = 0, owner = -1, imported = 0;
    *from = *to = -1;
    for (int i = 0; i < count; i++) {
        const struct planOpenNode *n = &nodes[i];
        if (n->owner) owner = i, owners++;
        if (n->migrating) *from = i, migrating++;
        if (n->importing) *to = i, importing++, imported += n->keys > 0;
    }
    if (owners != 1) return PLAN_OWNER;
    if (migrating == 1 && importing == 1) return PLAN_FINISH;
    if (migrating == 0 && importing > 0) {
        *to = owner;
        return PLAN_COLLECT;
    }
    if (migrating == 1 && importing > 1 && target >= 0 && nodes[target].importing) {
        *to = target;
        return PLAN_FINISH_ONE;
    }
    if (migrating == 1 && importing > 1 && imported == 0) return PLAN_CLOSE_ALL;
    if (migrating == 1 && importing == 0 && (nodes[*from].owner || nodes[*from].keys == 0)) return PLAN_CLOSE;
    return PLAN_NONE;
}

int planOwner(const struct planOpenNode *nodes, int count) {
    int best = 0;
    for (int i = 1; i < count; i++) {
        int64_t more = nodes[i].keys - nodes[best].keys;
        bool open = nodes[i].migrating || nodes[i].importing,
             best_open = nodes[best].migrating || nodes[best].importing;
        if (more > 0 || (more == 0 && open && !best_open)) best = i;
    }
    return best;
}
