/* SPDX-License-Identifier: BSD-3-Clause */
/* zbtree_inner.c - inner nodes of the B+ tree: counts, separators, children.
 *
 *     | parent, count, cap, level | counts[cap] | separators[cap + 1] | children[cap] |
 *
 *     separators[i], i > 0: all scores in children[0 .. i - 1] <= it <= all scores in children[i ..]
 *     separators[0] is -inf; those from count on are NaN, so a search for those <= x needs no other bound
 *
 * Only the root is smaller than ZBT_INNER_MAX: it grows from 4 to 12 to 36 children. */
#include <math.h>

#include "ds/zbtree_private.h"

#define CAP_FIRST 4
#define CAP_GROW  3
_Static_assert(CAP_FIRST == 4 && CAP_GROW % 2 == 1, "an odd number of fours: see chooseAvx2");

size_t zbtInnerSize(unsigned cap) {
    return sizeof(struct zbtInner) + sizeof(double) +
           cap * (sizeof(uint64_t) + sizeof(double) + sizeof(void *));
}

static struct zbtInner *zbtInnerNew(unsigned cap, int level, struct zbtInner *parent) {
    struct zbtInner *n = zmalloc(zbtInnerSize(cap));
    memset(n, 0, zbtInnerSize(cap));
    *n = (struct zbtInner){.parent = parent, .cap = (uint16_t)cap, .level = (uint8_t)level};
    for (unsigned i = 0; i <= cap; i++) zbtSeparators(n)[i] = NAN;
    return n;
}

static void zbtInnerFree(struct zbtInner *n) {
    zfreeSized(n, zbtInnerSize(n->cap));
}

static uint64_t zbtInnerTotal(const struct zbtInner *n) {
    uint64_t sum = 0;
    for (unsigned i = 0; i < n->count; i++) sum += n->counts[i];
    return sum;
}

void zbtSetParent(void *child, int level, struct zbtInner *parent) {
    if (level == 0)
        ((struct zbtLeaf *)child)->parent = parent;
    else
        ((struct zbtInner *)child)->parent = parent;
}

static void zbtInnerAdopt(struct zbtInner *n, unsigned from) {
    for (unsigned i = from; i < n->count; i++) zbtSetParent(zbtChildren(n)[i], n->level - 1, n);
}

/* ---- Changing ---- */

void zbtAddCounts(const struct zbtLeaf *l, int64_t delta) {
    const void *child = l;
    for (struct zbtInner *n = l->parent; n; child = n, n = n->parent)
        n->counts[zbtChildIndex(n, child)] += (uint64_t)delta;
}

/* Moves one element in the counts. All leaves are equally deep, so both paths climb in step up to where
 * they meet. */
void zbtMoveCount(const struct zbtLeaf *from, const struct zbtLeaf *to) {
    const void *a = from, *b = to;
    struct zbtInner *n = from->parent, *m = to->parent;
    for (; n != m; a = n, b = m, n = n->parent, m = m->parent) {
        n->counts[zbtChildIndex(n, a)]--;
        m->counts[zbtChildIndex(m, b)]++;
    }
    n->counts[zbtChildIndex(n, a)]--;
    n->counts[zbtChildIndex(n, b)]++;
}

void zbtReplaceChild(zbtree *t, struct zbtInner *parent, const void *old, void *now) {
    if (parent)
        zbtChildren(parent)[zbtChildIndex(parent, old)] = now;
    else
        t->root = now;
}

static void zbtInnerCopyChildren(struct zbtInner *dst, const struct zbtInner *src, unsigned from,
                                 unsigned count) {
    unsigned at = dst->count;
    serverAssert(at + count <= dst->cap && from + count <= src->count);
    memcpy(dst->counts + at, src->counts + from, count * sizeof *dst->counts);
    memcpy(zbtSeparators(dst) + at, zbtSeparators(src) + from, count * sizeof(double));
    memcpy(zbtChildren(dst) + at, zbtChildren(src) + from, count * sizeof(void *));
    dst->count = (uint16_t)(at + count);
    zbtInnerAdopt(dst, at);
}

static void zbtInnerCutOff(struct zbtInner *n, unsigned count) {
    for (unsigned i = count; i < n->count; i++) zbtSeparators(n)[i] = NAN;
    n->count = (uint16_t)count;
}

static void zbtInnerPutChild(struct zbtInner *n, unsigned at, void *child, uint64_t count, double separator) {
    serverAssert(n->count < n->cap && at <= n->count);
    unsigned behind = n->count - at;
    memmove(n->counts + at + 1, n->counts + at, behind * sizeof *n->counts);
    memmove(zbtSeparators(n) + at + 1, zbtSeparators(n) + at, behind * sizeof(double));
    memmove(zbtChildren(n) + at + 1, zbtChildren(n) + at, behind * sizeof(void *));
    n->counts[at] = count;
    zbtSeparators(n)[at] = at ? separator : -INFINITY;
    zbtChildren(n)[at] = child;
    n->count++;
    zbtSetParent(child, n->level - 1, n);
}

static struct zbtInner *zbtInnerGrowRoot(zbtree *t, struct zbtInner *root) {
    serverAssert(root == t->root && !root->parent); /* only the root is smaller than the others */
    struct zbtInner *n = zbtInnerNew(CAP_GROW * root->cap, root->level, NULL);
    zbtInnerCopyChildren(n, root, 0, root->count);
    zbtInnerFree(root);
    t->root = n;
    return n;
}

static bool zbtInnerIsRightmost(const struct zbtInner *n) {
    for (; n->parent; n = n->parent)
        if (zbtChildren(n->parent)[n->parent->count - 1] != n) return false;
    return true;
}

/* Moves the upper half to a new node and returns it; its first separator separates both. */
static struct zbtInner *zbtInnerSplit(zbtree *t, struct zbtInner *n) {
    unsigned half = n->count / 2u;
    serverAssert(half > 0);
    struct zbtInner *right = zbtInnerNew(ZBT_INNER_MAX, n->level, NULL);
    zbtInnerCopyChildren(right, n, half, n->count - half);
    double separator = zbtSeparators(right)[0];
    zbtSeparators(right)[0] = -INFINITY;
    zbtInnerCutOff(n, half);
    zbtAttach(t, n->parent, n, zbtInnerTotal(n), right, zbtInnerTotal(right), separator, n->level + 1);
    return right;
}

void zbtAttach(zbtree *t, struct zbtInner *parent, void *left, uint64_t left_count, void *right,
               uint64_t right_count, double separator, int level) {
    if (!parent) {
        parent = t->root = zbtInnerNew(CAP_FIRST, level, NULL);
        zbtInnerPutChild(parent, 0, left, left_count, 0);
        t->height++;
    }
    unsigned at = zbtChildIndex(parent, left);
    if (parent->count == parent->cap && parent->cap < ZBT_INNER_MAX) parent = zbtInnerGrowRoot(t, parent);
    if (parent->count == ZBT_INNER_MAX) {
        if (at + 1 == ZBT_INNER_MAX && zbtInnerIsRightmost(parent)) { /* at the end the node stays full */
            struct zbtInner *fresh = zbtInnerNew(ZBT_INNER_MAX, level, NULL);
            zbtInnerPutChild(fresh, 0, right, right_count, 0);
            parent->counts[at] = left_count;
            zbtAttach(t, parent->parent, parent, zbtInnerTotal(parent), fresh, right_count, separator,
                      level + 1);
            return;
        }
        struct zbtInner *upper = zbtInnerSplit(t, parent);
        if (at >= parent->count) {
            at -= parent->count;
            parent = upper;
        }
    }
    parent->counts[at] = left_count;
    zbtInnerPutChild(parent, at + 1, right, right_count, separator);
}

static void zbtInnerDropChild(struct zbtInner *n, unsigned at) {
    serverAssert(at < n->count);
    unsigned behind = n->count - at - 1u;
    memmove(n->counts + at, n->counts + at + 1, behind * sizeof *n->counts);
    memmove(zbtSeparators(n) + at, zbtSeparators(n) + at + 1, behind * sizeof(double));
    memmove(zbtChildren(n) + at, zbtChildren(n) + at + 1, behind * sizeof(void *));
    zbtInnerCutOff(n, n->count - 1u);
    if (n->count) zbtSeparators(n)[0] = -INFINITY;
}

/* Merges children[at + 1] into children[at], if that leaves some space in the node. */
static bool zbtInnerMerge(zbtree *t, struct zbtInner *parent, unsigned at) {
    if (at + 1 >= parent->count) return false;
    struct zbtInner *left = zbtChildren(parent)[at], *right = zbtChildren(parent)[at + 1];
    if (left->count + right->count > ZBT_INNER_MAX * 3 / 4) return false;
    unsigned seam = left->count;
    zbtInnerCopyChildren(left, right, 0, right->count);
    zbtSeparators(left)[seam] = zbtSeparators(parent)[at + 1];
    parent->counts[at] += parent->counts[at + 1];
    parent->counts[at + 1] = 0;
    zbtInnerFree(right);
    zbtDetach(t, parent, at + 1);
    return true;
}

static void zbtInnerCollapseRoot(zbtree *t) {
    struct zbtInner *root = t->root;
    while (t->height && root->count == 1) {
        t->root = zbtChildren(root)[0];
        t->height--;
        zbtSetParent(t->root, t->height, NULL);
        zbtInnerFree(root);
        root = t->root;
    }
}

void zbtDetach(zbtree *t, struct zbtInner *n, unsigned at) {
    struct zbtInner *parent = n->parent;
    zbtInnerDropChild(n, at);
    if (!parent) {
        zbtInnerCollapseRoot(t);
    } else if (!n->count) {
        at = zbtChildIndex(parent, n);
        zbtInnerFree(n);
        zbtDetach(t, parent, at);
    } else if (n->count <= ZBT_INNER_MAX / 4) {
        at = zbtChildIndex(parent, n);
        if (!zbtInnerMerge(t, parent, at) && at) zbtInnerMerge(t, parent, at - 1);
    }
}
