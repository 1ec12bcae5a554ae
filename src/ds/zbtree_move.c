/* SPDX-License-Identifier: BSD-3-Clause */
/* zbtree_move.c - moves the allocations of a B+ tree, for defragmentation, some at a time.
 *
 *     tree, map, inner nodes       with the first call; they are a fiftieth of the leaves in number
 *     leaves and long members      by rank, a few leaves a call
 *
 * The caller has copied the allocation and freed the old one, of which only the address is still used. */
#include "ds/zbtree_private.h"

#define LEAVES_PER_CALL 16

static void *zbtMoveAllocation(void *p, zbtMoveFn *move, void *priv) {
    void *now = move(priv, p);
    return now ? now : p;
}

/* Moves the tree, with the leaf in its allocation. */
static zbtree *zbtMoveTree(zbtree *t, zbtMoveFn *move, void *priv) {
    t = zbtMoveAllocation(t, move, priv);
    if (t->form == ZBT_ONE_LEAF) t->root = t->first = t->last = (struct zbtLeaf *)(t + 1);
    if (t->form != ZBT_MAPPED) return t;
    struct zbtMap *m = zbtMapOf(t);
    for (unsigned i = 0; i < ZBT_PARTS; i++)
        m->part[i].table = zbtMoveAllocation(m->part[i].table, move, priv);
    if (m->moving) m->next.table = zbtMoveAllocation(m->next.table, move, priv);
    m->leaves = zbtMoveAllocation(m->leaves, move, priv);
    return t;
}

static void *zbtMoveInner(struct zbtInner *n, zbtMoveFn *move, void *priv) {
    n = zbtMoveAllocation(n, move, priv);
    for (unsigned i = 0; i < n->count; i++) {
        void **child = &zbtChildren(n)[i];
        if (n->level > 1) *child = zbtMoveInner(*child, move, priv);
        zbtSetParent(*child, n->level - 1, n);
    }
    return n;
}

static void zbtMoveBigs(struct zbtLeaf *l, zbtMoveFn *move, void *priv) {
    for (unsigned i = 0; i < l->count; i++) {
        uint8_t *bytes = zbtBytes(l, zbtSlot(l, i));
        if (*bytes <= ZBT_INLINE_MAX) continue;
        struct zbtBig *now = zbtMoveAllocation(zbtBigOf(bytes), move, priv);
        memcpy(bytes + 1, &now, sizeof now);
    }
}

static struct zbtLeaf *zbtMoveLeaf(zbtree *t, struct zbtLeaf *old, zbtMoveFn *move, void *priv) {
    struct zbtLeaf *l = move(priv, old);
    if (!l) return old;
    *(l->prev ? &l->prev->next : &t->first) = l;
    *(l->next ? &l->next->prev : &t->last) = l;
    zbtReplaceChild(t, l->parent, old, l);
    if (t->form == ZBT_MAPPED) zbtMapOf(t)->leaves[l->id] = l;
    return l;
}

zbtree *zbtMove(zbtree *t, uint64_t *cursor, zbtMoveFn *move, void *priv) {
    struct zbtPos p;
    debugAssert(!t->walked);
    if (*cursor == 0) {
        t = zbtMoveTree(t, move, priv);
        if (t->height) t->root = zbtMoveInner(t->root, move, priv);
    }
    for (int i = 0; i < LEAVES_PER_CALL && zbtAtRank(t, *cursor, &p); i++) {
        struct zbtLeaf *l = t->form == ZBT_ONE_LEAF ? p.leaf : zbtMoveLeaf(t, p.leaf, move, priv);
        if (t->bigs) zbtMoveBigs(l, move, priv);
        *cursor += l->count - p.slot;
    }
    if (*cursor >= t->length) *cursor = 0;
    return t;
}
