/* SPDX-License-Identifier: BSD-3-Clause */
/* quicklist_save.c - the nodes of a list as they were when the save began; the contract is in
 * quicklist_save.h.
 *
 * A frontier moves over the list from head to tail. Nodes behind it have been read, and so have those that
 * joined the list later: their mark is that of the list. All other nodes have another mark.
 *
 *                          at
 *     A --- B --- x --- C --- y --- D --- E       x, y: nodes that came later
 *     m     m     m     m     m     ?     m       m: the mark of the list
 *                                   |     |
 *                         kept:    d1    e1, e2
 *
 * Before a node that is not marked changes, its contents go into an image, which is a node outside of the
 * list, and the node is marked. Images are kept in front of a node of the list, or of its end (NULL): first
 * those of nodes that were unlinked there, and last the image of the node itself. When a node is unlinked,
 * its images go in front of its successor's. So the frontier finds the old contents in their order: the
 * images in front of each node, and then the node itself unless it is marked.
 *
 * The contents of an image may be stored elsewhere (struct qlImage).
 *
 * Marks: when no save lasts and `watched` is not set, all nodes have the mark of the list, and the next save
 * changes that one to 0 or 1. A save that ends early leaves nodes with other marks and the list watched;
 * no mark is higher than that of the list then, and the next save takes the next higher one. When there is
 * none, all nodes are marked anew. */
#include "ds/quicklist_save.h"

#include "base/assert.h"
#include "base/zmalloc.h"
#include "ds/quicklist_private.h"
#include "ds/rax.h"

#define MARK_MAX     127
#define SKIPS_MAX    256  /* new nodes that one call passes */
#define MARK_AT_ONCE 2048 /* a list of so many nodes is marked anew when its save ends early */

struct qlSave *(*ql_save_of)(const struct quicklist *ql);

/* An image in a chain. */
struct qlImage {
    struct qlNode node; /* with `prev` set, it is stored elsewhere, and that is the token */
    size_t stored;      /* how many bytes are */
};

/* A chain of images is circular and known by its last one, or NULL. */
struct qlSave {
    struct quicklist *ql;
    struct qlNode *at;    /* the frontier; NULL at the end */
    struct qlNode *ready; /* images to be read before anything else */
    uint32_t left;        /* nodes of the beginning that have not been read */
    uint8_t mark_before;
    size_t kept_bytes; /* of all images, in memory */
    qlSaveStoreFn *store;
    void *store_priv;
    struct rax kept; /* node, or NULL for the end -> its chain */
};

/* ---- Chains of images ---- */

static struct str qlSaveKey(struct qlNode *const *n) {
    return strN((const char *)n, sizeof *n);
}

static struct qlNode *qlSaveJoin(struct qlNode *first, struct qlNode *then) {
    if (!first || !then) return first ? first : then;
    struct qlNode *head = first->next;
    first->next = then->next;
    then->next = head;
    return then;
}

/* Returns the chain in front of a node, which is no longer kept there. */
static struct qlNode *qlSaveTakeChain(struct qlSave *s, struct qlNode *n) {
    void *chain = NULL;
    if (s->kept.size) raxRemove(&s->kept, qlSaveKey(&n), &chain);
    return chain;
}

static void qlSaveKeepChain(struct qlSave *s, struct qlNode *n, struct qlNode *chain) {
    if (chain) raxInsert(&s->kept, qlSaveKey(&n), chain, NULL);
}

static void qlSaveFreeImage(struct qlNode *n) {
    zfree(n->prev);
    zfree(n->data);
    zfree(n);
}

static void qlSaveFreeChain(void *chain) {
    if (!chain) return;
    struct qlNode *last = chain, *next = last->next;
    last->next = NULL;
    for (struct qlNode *n = next; n; n = next) {
        next = n->next;
        qlSaveFreeImage(n);
    }
}

/* ---- Before changes ---- */

/* `owned`: data is the image's from now on. */
static void qlSaveKeepImage(struct qlSave *s, struct qlNode *n, bool owned) {
    struct qlImage *image = zmalloc(sizeof *image);
    struct str bytes = qlNodeViewOf(n).bytes;
    size_t size = qlNodeDataSize(n);
    *image = (struct qlImage){.node = *n, .stored = bytes.len};
    image->node.prev = s->store ? s->store(s->store_priv, bytes) : NULL;
    image->node.next = &image->node;
    if (image->node.prev) {
        image->node.data = NULL;
        if (owned) zfree(n->data);
    } else {
        if (!owned) image->node.data = memcpy(zmalloc(size), n->data, size);
        s->kept_bytes += size;
    }
    qlSaveKeepChain(s, n, qlSaveJoin(qlSaveTakeChain(s, n), &image->node));
}

/* Returns the view of an image, or of a node of the list. */
static struct qlNodeView qlSaveView(const struct qlNode *n, bool is_image) {
    const struct qlImage *image = (const struct qlImage *)n;
    if (!is_image || !n->prev) return qlNodeViewOf(n);
    return (struct qlNodeView){.bytes = strN((const char *)n->prev, image->stored),
                               .length = n->bytes,
                               .plain = n->plain,
                               .compressed = n->compressed,
                               .elsewhere = true};
}

/* Marks the node. Returns the save that needs the contents it had, or NULL. */
static struct qlSave *qlSaveMark(const struct quicklist *ql, struct qlNode *n) {
    if (n->mark == ql->mark) return NULL;
    n->mark = ql->mark;
    return ql_save_of(ql);
}

void qlSaveNode(const struct quicklist *ql, struct qlNode *n) {
    struct qlSave *s = qlSaveMark(ql, n);
    if (!s) return;
    qlSaveKeepImage(s, n, false);
}

bool qlSaveTakeData(const struct quicklist *ql, struct qlNode *n) {
    struct qlSave *s = qlSaveMark(ql, n);
    if (s) qlSaveKeepImage(s, n, true);
    return s != NULL;
}

void qlSaveUnlink(const struct quicklist *ql, struct qlNode *n) {
    struct qlSave *s = ql_save_of(ql);
    if (!s) return;
    if (qlSaveTakeData(ql, n)) n->data = NULL;
    struct qlNode *chain = qlSaveTakeChain(s, n);
    if (chain) qlSaveKeepChain(s, n->next, qlSaveJoin(chain, qlSaveTakeChain(s, n->next)));
    if (s->at == n) s->at = n->next;
}

/* ---- The save ---- */

static void qlSaveMarkAll(struct quicklist *ql, uint8_t mark) {
    ql->mark = mark & MARK_MAX;
    for (struct qlNode *n = ql->head; n; n = n->next) n->mark = mark;
}

struct qlSave *qlSaveBegin(struct quicklist *ql, qlSaveStoreFn *store, void *priv) {
    struct qlSave *s = zmalloc(sizeof *s);
    if (ql->watched && ql->mark == MARK_MAX) qlSaveMarkAll(ql, 0);
    *s = (struct qlSave){.ql = ql,
                         .at = ql->head,
                         .left = ql->nodes,
                         .mark_before = ql->mark,
                         .store = store,
                         .store_priv = priv};
    raxInit(&s->kept);
    ql->mark = ql->watched ? (ql->mark + 1) & MARK_MAX : ql->mark == 0;
    ql->watched = true;
    return s;
}

enum qlSaveStep qlSaveCurrent(struct qlSave *s, struct qlNodeView *view) {
    for (int skips = 0; s->left; skips++) {
        if (!s->ready) s->ready = qlSaveTakeChain(s, s->at);
        struct qlNode *n = s->ready ? s->ready->next : s->at;
        debugAssert(n);
        if (s->ready || n->mark != s->ql->mark) {
            *view = qlSaveView(n, s->ready != NULL);
            return QL_SAVE_NODE;
        }
        if (skips == SKIPS_MAX) return QL_SAVE_SKIPPED;
        s->at = n->next;
    }
    return QL_SAVE_DONE;
}

void qlSaveAdvance(struct qlSave *s) {
    debugAssert(s->left);
    s->left--;
    if (!s->ready) {
        s->at->mark = s->ql->mark;
        s->at = s->at->next;
        return;
    }
    struct qlNode *n = s->ready->next;
    s->ready->next = n->next;
    if (n == s->ready) s->ready = NULL;
    if (!n->prev) s->kept_bytes -= qlNodeDataSize(n);
    qlSaveFreeImage(n);
}

void qlSaveEnd(struct qlSave *s) {
    struct quicklist *ql = s->ql;
    if (s->left) {
        if (ql->mark < s->mark_before) ql->mark = s->mark_before & MARK_MAX;
        if (ql->nodes <= MARK_AT_ONCE) qlSaveMarkAll(ql, ql->mark);
    }
    ql->watched = s->left && ql->nodes > MARK_AT_ONCE;
    qlSaveFreeChain(s->ready);
    raxDestroy(&s->kept, qlSaveFreeChain);
    zfree(s);
}

size_t qlSaveKeptBytes(const struct qlSave *s) {
    return s->kept_bytes;
}
