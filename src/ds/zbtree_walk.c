/* SPDX-License-Identifier: BSD-3-Clause */
/* zbtree_walk.c - passes all elements of a B+ tree as they were at one moment, while it is changed.
 *
 *     tree: epoch 5      | 4 | 4 | 5 | 4 | 5 | 5 | 5 |      leaves
 *                              ^next   ^ changed           the walk goes this way: <--
 *
 * A leaf whose epoch is the tree's has been passed. A walk begins by increasing the tree's epoch, so that no
 * leaf has been passed; before a leaf changes, and before its elements go to other leaves, it is passed as a
 * whole. New leaves have the tree's epoch.
 *
 * After a walk that came to its end all leaves have the same epoch. One that is ended before leaves some with
 * older ones, which do no harm until the numbers come round: when STALE_MAX walks in a row were ended early,
 * the next one goes over all leaves once at its start. */
#include "ds/zbtree_private.h"

#define STALE_MAX 126u /* a new epoch must differ from this many, and from the tree's last one */

_Static_assert(ZBT_WALK_MIN > ZBT_MAP_LEAVES * ZBT_LEAF_SLOTS, "the tree has a map");
_Static_assert(STALE_MAX + 2 <= 1u << 7, "epochs have 7 bits");

void zbtWalkPass(zbtree *t, struct zbtLeaf *l) {
    if (l->epoch == t->epoch) return;
    struct zbtWalk *w = zbtMapOf(t)->walk;
    w->pass(w, l);
    l->epoch = t->epoch;
}

void zbtWalkStart(zbtree *t, struct zbtWalk *w) {
    serverAssert(t->form == ZBT_MAPPED && !t->walked);
    if (t->stale == STALE_MAX) {
        for (struct zbtLeaf *l = t->first; l; l = l->next) l->epoch = t->epoch;
        t->stale = 0;
    }
    t->epoch = (t->epoch + 1u) & 0x7f;
    t->walked = true;
    zbtMapOf(t)->walk = w;
    w->next = t->last;
}

bool zbtWalkStep(zbtree *t) {
    struct zbtWalk *w = zbtMapOf(t)->walk;
    struct zbtLeaf *l = w->next;
    if (!l) return false;
    w->next = l->prev;
    __builtin_prefetch(l->prev);
    zbtWalkPass(t, l);
    return true;
}

void zbtWalkEnd(zbtree *t) {
    serverAssert(t->walked);
    t->stale = zbtMapOf(t)->walk->next ? (uint8_t)(t->stale + 1) : 0;
    t->walked = false;
    zbtMapOf(t)->walk = NULL;
}
