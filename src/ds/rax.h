/* SPDX-License-Identifier: BSD-3-Clause */
/* rax.h - a radix tree: binary keys, kept in order, whose common beginnings are stored once.
 *
 * Streams keep everything in it that has an order: nodes and pending entries by ID, groups and consumers by
 * name.
 *
 * A value is NULL or a pointer to something aligned to at least two bytes; the tree does not own it. Keys are
 * ordered by their bytes, a key before those it begins. Lookup, insertion and removal take O(length of the
 * key). */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/str.h"
#include "base/zmalloc.h"

/* 32 bytes, meant to be embedded. Fields are private to rax.c, except `size`. */
struct rax {
    void *root;      /* a slot: NULL, a node, or a value (see rax.c) */
    size_t size;     /* keys */
    size_t bytes;    /* of all nodes, as the allocator sees them */
    uint32_t nodes;  /* allocations */
    uint32_t change; /* counts changes of the tree's form: iterators notice them */
};

void raxInit(struct rax *r);
/* Frees the nodes, and each value by freeValue when that is not NULL. The tree is empty then. */
void raxDestroy(struct rax *r, void (*freeValue)(void *value));

/* Returns true if the key was added. Otherwise *old, unless NULL, is its old value, which `value`
 * replaces. */
bool raxInsert(struct rax *r, struct str key, void *value, void **old);
/* Returns whether the key exists; *value, unless NULL, receives its value. */
bool raxFind(const struct rax *r, struct str key, void **value);
/* Removes a key and returns whether it existed; *old, unless NULL, receives its value. */
bool raxRemove(struct rax *r, struct str key, void **old);

/* Iteration, both ways. An iterator survives every change of the tree: when the form has changed since its
 * last step, the next one looks for its place again, from the key where it stands, which may have been
 * removed. `key` and `value` are those at the last step; `key` belongs to the iterator.
 *
 *     struct raxIterator it;
 *     raxStart(&it, r);
 *     if (raxSeek(&it, ">=", key))
 *         do { ... } while (raxNext(&it));
 *     raxStop(&it); */
struct raxStep {
    void *node;
    int child; /* -1 at the node's own key */
};
struct raxIterator {
    const struct rax *rax;
    struct str key;
    void *value;
    bool valid; /* is at a key, possibly one that has been removed */
    uint32_t change;
    char *bytes; /* bytes of the key, inline or allocated */
    size_t room;
    struct raxStep *path;
    size_t depth, path_room;
    char inline_bytes[32];
    struct raxStep inline_path[18]; /* an ID has 16 bytes: never more than 17 steps */
};
void raxStart(struct raxIterator *it, const struct rax *r);
/* Moves to a key: op is "=", ">", ">=", "<", "<=" (than key), "^" (first) or "$" (last). Returns false
 * if there is none. */
bool raxSeek(struct raxIterator *it, const char *op, struct str key);
bool raxNext(struct raxIterator *it); /* false past the end; the iterator must be sought again then */
bool raxPrev(struct raxIterator *it);
void raxStop(struct raxIterator *it);

/* Passes to `move` the nodes on the paths to up to `keys` keys from a place on (op and key as in
 * raxSeek), and each key's value to `value`, unless that is NULL, which returns the value's new address
 * and must not change the tree. Returns true if there are more keys. O(keys, and their length). */
typedef void *raxValueFn(void *priv, struct str key, void *value);
bool raxMove(struct rax *r, const char *op, struct str key, size_t keys, zmoveFn *move, raxValueFn *value,
             void *priv);

/* Checks every invariant; for tests. Asserts on failure. */
void raxVerify(const struct rax *r);
