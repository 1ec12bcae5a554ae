/* SPDX-License-Identifier: BSD-3-Clause */
/* zbtree_move.c - every allocation of a B+ tree can be moved: for defragmentation, some at a time.
 *
 *     tree, map, inner nodes       with the first call; their number is a fiftieth of that of the leaves
 *     leaves and long members      by rank, a few leaves a call
 *
 * The caller has copied the allocation and freed the old one: only the old address is still used. */
#include "ds/zbtree_private.h"

#define LEAVES_PER_CALL 16

static void *zbtreeMoveIt(void *p, zbtMoveFn *move, void *priv) {
    void *now = move(priv, p);
    return now ? now : p;
}

/* The leaf behind the tree goes with it. */
static zbtree *zbtreeMoveTree(zbtree *t, zbtMoveFn *move, void *priv) {
    t = zbtreeMoveIt(t, move, priv);
    if (t->form == ZBT_ONE_LEAF) t->root = t->first = t->last = (struct zbtLeaf *)(t + 1);
    if (t->form != ZBT_MAPPED) return t;
    struct zbtMap *m = zbtMapOf(t);
    for (unsigned i = 0; i < ZBT_PARTS; i++) m->part[i].table = zbtreeMoveIt(m->part[i].table, move, priv);
    if (m->moving) m->next.table = zbtreeMoveIt(m->next.table, move, priv);
    m->leaves = zbtreeMoveIt(m->leaves, move, priv);
    return t;
}

static void *zbtreeMoveInner(struct zbtInner *n, zbtMoveFn *move, void *priv) {
    n = zbtreeMoveIt(n, move, priv);
    for (unsigned i = 0; i < n->count; i++) {
        void **child = &zbtChildren(n)[i];
        if (n->level > 1) *child = zbtreeMoveInner(*child, move, priv);
        zbtSetParent(*child, n->level - 1, n);
    }
    return n;
}

static void zbtreeMoveBigs(struct zbtLeaf *l, zbtMoveFn *move, void *priv) {
    for (unsigned i = 0; i < l->count; i++) {
        uint8_t *bytes = zbtBytes(l, zbtSlot(l, i));
        if (*bytes <= ZBT_INLINE_MAX) continue;
        struct zbtBig *now = zbtreeMoveIt(zbtBigOf(bytes), move, priv);
        memcpy(bytes + 1, &now, sizeof now);
    }
}

static struct zbtLeaf *zbtreeMoveLeaf(zbtree *t, struct zbtLeaf *old, zbtMoveFn *move, void *priv) {
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
    if (*cursor == 0) {
        t = zbtreeMoveTree(t, move, priv);
        if (t->height) t->root = zbtreeMoveInner(t->root, move, priv);
    }
    for (int i = 0; i < LEAVES_PER_CALL && zbtAtRank(t, *cursor, &p); i++) {
        struct zbtLeaf *l = t->form == ZBT_ONE_LEAF ? p.leaf : zbtreeMoveLeaf(t, p.leaf, move, priv);
        if (t->bigs) zbtreeMoveBigs(l, move, priv);
        *cursor += l->count - p.slot;
    }
    if (*cursor >= t->length) *cursor = 0;
    return t;
}
