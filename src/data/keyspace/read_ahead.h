/* SPDX-License-Identifier: BSD-3-Clause */
/* read_ahead.h - a loop over many keys or members prefetches each of them some turns before it is needed.
 *
 * A look-up waits for memory several times: for a bucket, then for the object or entry in it, then for what
 * the object points to. Each of these is a stage, which runs a fixed number of turns ahead of the loop, so
 * that what the stage before it fetched has arrived. With keys as arguments, in the turn of argument i:
 *
 *     argv:  | i | ... | i + 4: value | ... | i + 8: object | ... | i + 15: bucket |
 *
 * The functions exist for three kinds of loops:
 *
 *     keysAhead       arguments that are keys (MGET), with all three stages
 *     membersAhead    arguments that are members of one value (HMGET, SADD, ZADD ...): bucket and entry
 *     iteratorAhead   the keys of an iterator (a snapshot): object and value
 *
 * The batch has prefetched the first keys of a command and its first member already (command/turn.h). */
#pragma once

#include "data/keyspace/db.h"
#include "ds/hashtable.h"

#define READ_AHEAD          16 /* arguments that are hashed ahead; a power of two */
#define READ_AHEAD_ITERATOR 32 /* objects on their way; a power of two */
_Static_assert(!(READ_AHEAD & (READ_AHEAD - 1)) && !(READ_AHEAD_ITERATOR & (READ_AHEAD_ITERATOR - 1)),
               "indexes of rings wrap");

struct argsAhead {
    const struct str *argv;      /* the first argument, then one each `step` */
    int step, count;             /* count 0: too few to prefetch any */
    int at, hashed;              /* number of the argument whose turn is next; of the next to be hashed */
    uint64_t hashes[READ_AHEAD]; /* hashes of the arguments from `at` to `hashed` */
};

/* ---- Members ---- */

static inline struct argsAhead membersAhead(const struct str *argv, int step, int count) {
    struct argsAhead a;
    a.argv = argv;
    a.step = step;
    a.count = count > 1 ? count : 0;
    a.at = a.hashed = 0;
    return a;
}

void membersAheadFetch(struct argsAhead *a, const hashtable *table);

/* Called before each member is used. `table` is the value's present one, or NULL. A table that is resized
 * meanwhile, or a member that comes twice, only makes prefetches useless. */
static inline void membersAheadNext(struct argsAhead *a, const hashtable *table) {
    if (a->count && table) membersAheadFetch(a, table);
}

/* ---- Keys ---- */

struct keysAhead {
    struct argsAhead args;
    struct db *db;
    size_t size; /* keys in db; objects stay where they are while it does not change */
    const struct object *objects[READ_AHEAD];
    struct keyHint hint;         /* of the present key */
    const struct keyHint *hints; /* the running command's, which `hint` replaces meanwhile */
    int hint_count;
};

void keysAheadInit(struct keysAhead *k, struct db *db, const struct str *argv, int count);
void keysAheadFetch(struct keysAhead *k);

/* The keys are `count` arguments of the running command, whose hints keysAheadStop restores. In
 * between, the command may look keys up, which deletes expired ones, but not change them: objects have
 * to stay in place. */
static inline void keysAheadStart(struct keysAhead *k, struct db *db, const struct str *argv, int count) {
    k->args.count = 0;
    if (count > READ_AHEAD) keysAheadInit(k, db, argv, count);
}

/* Called before each key is looked up. */
static inline void keysAheadNext(struct keysAhead *k) {
    if (k->args.count) keysAheadFetch(k);
}

static inline void keysAheadStop(const struct keysAhead *k) {
    if (k->args.count) dbSetKeyHashes(k->hints, k->hint_count);
}

/* ---- Iterators ---- */

/* Zero-initialized but for `it`, which the caller starts and stops. Nothing may be deleted meanwhile. */
struct iteratorAhead {
    struct keyspaceIterator it;
    const struct object *ring[READ_AHEAD_ITERATOR];
    size_t in, out;
};

/* Returns the next object, or NULL at the end. */
static inline const struct object *iteratorAheadNext(struct iteratorAhead *a) {
    const size_t value_ahead = READ_AHEAD_ITERATOR / 2;
    while (a->in - a->out < READ_AHEAD_ITERATOR) {
        const struct object *next = keyspaceIteratorNext(&a->it);
        if (!next) break;
        a->ring[a->in++ % READ_AHEAD_ITERATOR] = next;
        __builtin_prefetch(next);
        if (a->in - a->out <= value_ahead) continue;
        const struct object *o = a->ring[(a->in - 1 - value_ahead) % READ_AHEAD_ITERATOR];
        if (objectHasPtr(o)) __builtin_prefetch(objectPtr(o));
    }
    return a->out < a->in ? a->ring[a->out++ % READ_AHEAD_ITERATOR] : NULL;
}
