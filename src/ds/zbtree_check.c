/* SPDX-License-Identifier: BSD-3-Clause */
/* zbtree_check.c - walks over a whole B+ tree: verifies every invariant, for tests; and describes its
 * shape, for DEBUG. */
#include <math.h>

#include "ds/zbtree_private.h"

/* ---- Invariants ---- */

/* Checks that holes are erased members inside the heap, and no more of them than the garbage has. */
static void zbtVerifyHoles(const struct zbtLeaf *l) {
    unsigned sum = 0, size;
    for (unsigned offset = l->hole; offset; sum += size) {
        uint16_t next;
        const uint8_t *p = (const uint8_t *)l + l->size - offset;
        size = *p;
        serverAssert(offset <= l->heap && size >= 3 && size <= offset);
        memcpy(&next, p + 1, 2);
        offset = next;
        serverAssert(sum + size <= l->garbage);
    }
}

static void zbtVerifyLeaf(const struct zbtLeaf *l, uint64_t *bigs) {
    unsigned live = 0;
    serverAssert(l->cap % 16 == 0 && l->count <= l->cap && l->count <= ZBT_LEAF_SLOTS);
    serverAssert(l->scale < ZBT_SCALES && (!l->scale || l->width <= 4));
    serverAssert(zbtLeafNeed(l->count, 0, l->width) <= l->size); /* groups of fp are within the leaf */
    serverAssert(zbtSlot(l, l->count) + l->heap <= (uint8_t *)l + l->size);
    for (unsigned i = 0; i < l->count; i++) {
        const uint8_t *slot = zbtSlot(l, i), *bytes = zbtBytes(l, slot);
        struct str member = zbtMemberIn(l, slot);
        double score = zbtScoreIn(l, slot);
        serverAssert(bytes >= (uint8_t *)l + l->size - l->heap);
        serverAssert(l->fp[i] == zbtFp(hashBytes(member.ptr, member.len)));
        serverAssert(score == score && zbtLeafFits(l, score, zbtRestIn(slot, l->width)));
        *bigs += *bytes > ZBT_INLINE_MAX;
        live += *bytes > ZBT_INLINE_MAX ? 1 + sizeof(void *) : 1u + *bytes;
        if (!i) continue;
        struct zbtTarget target = {score, ZBT_TIES_BY_MEMBER, false, member, zbtRestIn(slot, l->width)};
        slot = zbtSlot(l, i - 1);
        serverAssert(zbtIsLeft(zbtScoreIn(l, slot), l, slot, &target));
    }
    serverAssert(live == (unsigned)l->heap - l->garbage);
    zbtVerifyHoles(l);
}

/* Checks a node and everything below it; leaves are visited in order, and `*before` is the last one.
 * Returns the number of elements below. */
static uint64_t zbtVerifyNode(const void *node, int level, const struct zbtInner *parent, double low,
                              double high, const struct zbtLeaf **before, uint32_t *leaves) {
    uint64_t sum = 0;
    if (level == 0) {
        const struct zbtLeaf *l = node;
        serverAssert(l->parent == parent && l->prev == *before);
        serverAssert(l->count || !parent);
        if (l->prev) {
            struct zbtPos p = {(struct zbtLeaf *)l, 0}, q = {l->prev, l->prev->count - 1u};
            serverAssert(l->prev->next == l);
            int order = zscoreCompare(zbtScore(q), zbtScore(p));
            serverAssert(order < 0 || (order == 0 && strCmp(zbtMember(q), zbtMember(p)) < 0));
        }
        for (unsigned i = 0; i < l->count; i++) {
            double score = zbtValue((struct zbtPos){(struct zbtLeaf *)l, i});
            serverAssert(low <= score && score <= high);
        }
        *before = l;
        ++*leaves;
        return l->count;
    }
    const struct zbtInner *n = node;
    const double *separators = zbtSeparators(n);
    serverAssert(n->parent == parent && n->level == level);
    serverAssert(n->count && n->count <= n->cap && n->cap <= ZBT_INNER_MAX && n->cap % 4 == 0);
    serverAssert(parent ? n->cap == ZBT_INNER_MAX : n->count > 1);
    for (unsigned i = 0; i < n->cap; i++) {
        if (i >= n->count) {
            serverAssert(isnan(separators[i]));
            continue;
        }
        serverAssert(i ? separators[i] >= separators[i - 1] : separators[i] == -INFINITY);
        double from = i ? separators[i] : low, to = i + 1u < n->count ? separators[i + 1] : high;
        uint64_t below = zbtVerifyNode(zbtChildren(n)[i], level - 1, n, from, to, before, leaves);
        serverAssert(below == n->counts[i]);
        sum += below;
    }
    return sum;
}

/* Checks that no leaf has an epoch that a coming walk could take for its own, and that a walk has passed all
 * leaves that are behind it. */
static void zbtVerifyEpochs(const zbtree *t) {
    unsigned older = t->stale + t->walked;
    const struct zbtLeaf *next = t->walked ? zbtMapOf(t)->walk->next : NULL;
    for (const struct zbtLeaf *l = t->first; l; l = l->next)
        serverAssert(((t->epoch - l->epoch) & 0x7fu) <= older);
    if (!t->walked) return;
    for (const struct zbtLeaf *l = next ? next->next : t->first; l; l = l->next)
        serverAssert(l->epoch == t->epoch);
}

void zbtVerify(const zbtree *t) {
    const struct zbtLeaf *last = NULL;
    uint64_t bigs = 0;
    uint32_t leaves = 0;
    serverAssert(zbtVerifyNode(t->root, t->height, NULL, -INFINITY, INFINITY, &last, &leaves) == t->length);
    serverAssert(t->last == last && !last->next && !t->first->prev && t->leaves == leaves);
    for (const struct zbtLeaf *l = t->first; l; l = l->next) zbtVerifyLeaf(l, &bigs);
    serverAssert(bigs == t->bigs);
    serverAssert(t->form != ZBT_ONE_LEAF || t->root == t + 1);
    serverAssert(t->form == ZBT_MAPPED || t->leaves <= ZBT_MAP_LEAVES);
    if (t->form == ZBT_MAPPED) zbtMapVerify(t);
    zbtVerifyEpochs(t);
}

/* ---- Shape ---- */

sds zbtStats(const zbtree *t, sds s) {
    size_t memory = zbtMemory(t, 0), size = 0, live = 0, widths = 0;
    for (const struct zbtLeaf *l = t->first; l; l = l->next) {
        size += l->size;
        live += zbtLeafLive(l);
        widths += (size_t)l->width * l->count;
    }
    double n = t->length ? (double)t->length : 1;
    s = sdscatprintf(s, "elements:%llu leaves:%u depth:%d leaf_fill:%.1f%% elements_per_leaf:%.1f ",
                     (unsigned long long)t->length, t->leaves, t->height + 1,
                     100 * (double)live / (double)size, (double)t->length / t->leaves);
    s = sdscatprintf(s, "score_bytes:%.2f long_members:%llu ", (double)widths / n,
                     (unsigned long long)t->bigs);
    if (t->form == ZBT_MAPPED) {
        const struct zbtMap *m = zbtMapOf(t);
        double slots = (double)zbtMapSlots(m);
        s = sdscatprintf(s, "map_fill:%.1f%% map_bytes:%zu rehashing:%d ", 100 * (double)t->length / slots,
                         zbtMapMemory(m), m->moving != 0);
    }
    return sdscatprintf(s, "bytes:%zu bytes_per_element:%.2f ", memory, (double)memory / n);
}
