/* SPDX-License-Identifier: BSD-3-Clause */
/* zset.h - the sorted set as a value: what its commands, and other rooms that keep data in sorted sets, may
 * do.
 *
 *                    struct zsetRef                                    one table of functions per encoding
 *                    | index  ----------------------------------->     struct zsetIndex
 *                    | ptr    -->  listpack | struct zset | ...
 *
 *     listpack       member, score, member, score ...                  small sets; zset_listpack.c
 *     struct zset    | skiplist head: 272 | member index: 48 |         all others; zset_skiplist.c
 *     zbtree         | packed B+ tree |                                instead, by zset-index; zset_btree.c
 *
 * An encoding is a table of functions. A call through it costs an indirect jump, so nothing calls it per
 * element where that counts: what walks over many elements in a hot path (emit, extent, eraseRange) is itself
 * a function of the encoding. Elements are told apart by a place (struct zsetPlace), got by searching, valid
 * until the next change of the set. Ranks are 0-based and ascending everywhere;
 * only commands know "reverse". */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/assert.h"
#include "base/str.h"
#include "data/object.h"
#include "data/type.h"
#include "ds/hashtable.h"
#include "ds/listpack.h"
#include "ds/zskiplist.h"
#include "types/types.h"

struct client;

enum { ZSET_LISTPACK, ZSET_SKIPLIST, ZSET_BTREE, ZSET_ENCODINGS };

/* The container of the skiplist encoding. The entries of the member index are the nodes of the list: a score
 * is read from the node, there is no second copy. The allocation starts on a cache line: reading the ends of
 * the list needs the first line, finding a member the last one. */
struct zset {
    zskiplist list;
    hashtable members;
};
_Static_assert(sizeof(struct zset) == 320, "exactly an allocator class");

struct zsetIndex;

/* A sorted set to work on, in the keyspace or being built. Changing it may move the container or convert it:
 * functions that change take a pointer to this, and zsetCommit tells the object afterwards. */
struct zsetRef {
    void *ptr;
    const struct zsetIndex *index;
};

struct zsetPlace {
    void *at; /* private to the encoding, as is slot */
    unsigned slot;
    double score;  /* of the element */
    uint64_t hash; /* of the member; only after a search for a member, found or not */
};

/* An element to read. The member may point into `text`: do not copy the struct. */
struct zsetElement {
    struct str member;
    double score;
    char text[LP_INTBUF_SIZE];
};

/* A range as commands take them. start and stop may be negative (from the end); offset and limit go from the
 * near end: the high one when reverse. */
struct zsetRange {
    enum { ZRANGE_RANK, ZRANGE_SCORE, ZRANGE_LEX } by;
    bool reverse;
    int64_t start, stop;
    struct zscoreRange score;
    struct zlexRange lex;
    int64_t offset, limit; /* limit < 0: no limit */
};
/* The elements of a range: `count` from rank on. */
struct zsetSlice {
    uint64_t rank, count;
    struct zsetPlace near; /* the end it was searched from, or at == NULL */
};

/* How elements are replied: members only; member and score side by side; [member, score] each. */
enum zsetShape { ZSHAPE_MEMBERS, ZSHAPE_FLAT, ZSHAPE_PAIRS };

/* ---- What an encoding provides ---- */
struct zsetIndex {
    uint8_t encoding;
    const char *name; /* answer of OBJECT ENCODING */

    void *(*create)(size_t entries); /* expected number of elements */
    void (*destroy)(void *z);        /* may run on another thread */
    void *(*copy)(const void *z);
    uint64_t (*length)(const void *z);
    size_t (*memory)(const void *z, size_t samples); /* bytes; samples as in struct objectType */
    size_t (*allocations)(const void *z);

    /* Searching: false when there is none such. */
    bool (*find)(void *z, struct str member, struct zsetPlace *p);
    bool (*atRank)(const void *z, uint64_t rank, struct zsetPlace *p);
    /* First element in a score or lex range, or the last one, and its rank. */
    bool (*seek)(const void *z, const struct zsetRange *r, bool last, struct zsetPlace *p, uint64_t *rank);
    /* How many elements from this place on (towards the start when reverse) are in the range, at most max. */
    uint64_t (*extent)(const void *z, const struct zsetRange *r, const struct zsetPlace *p, uint64_t rank,
                       uint64_t max);
    uint64_t (*rank)(const void *z, const struct zsetPlace *p);
    bool (*step)(const void *z, struct zsetPlace *p, bool back); /* false at the end */
    void (*read)(const struct zsetPlace *p, struct zsetElement *e);

    /* Changing: the container, which may have moved. insert and update take what find gave for the member. */
    void *(*insert)(void *z, struct str member, double score, const struct zsetPlace *missed);
    void *(*append)(void *z, struct str member, double score); /* sorts after all others */
    void *(*prepend)(void *z, struct str member, double score,
                     const struct zsetPlace *missed); /* sorts before all others; as insert */
    void *(*update)(void *z, struct str member, double score, const struct zsetPlace *found);
    void *(*erase)(void *z, const struct zsetPlace *found);
    void *(*eraseRange)(void *z, uint64_t rank, uint64_t count);

    /* Reply `count` elements from p on. */
    void (*emit)(const void *z, struct client *c, struct zsetPlace p, uint64_t count, bool reverse,
                 enum zsetShape shape);
    /* SCAN: some elements, and the next cursor. */
    uint64_t (*scan)(void *z, uint64_t cursor, void (*fn)(void *priv, const struct zsetElement *e),
                     void *priv);
    /* Defragmentation: lets every allocation be moved, some with each call; the set may change between the
     * calls. `move` copies what it is given, frees that and returns the copy, or NULL: it stays. Start with
     * *cursor == 0; it is 0 again at the end. Returns the container, which is moved, too. */
    void *(*defrag)(void *z, uint64_t *cursor, void *(*move)(void *priv, void *ptr), void *priv);
    struct hashtable *(*table)(void *z); /* the member index; NULL: it has none */
    /* Fetches all elements at once, if they fit the cache; may be NULL. */
    void (*warm)(const void *z);
    /* As the hooks of struct objectType. */
    sds (*debugInfo)(const void *z, sds s);
    bool (*prefetch)(const void *z, const struct prefetchRequests *wants, int step,
                     struct prefetchState *state);
};
extern const struct zsetIndex zsetListpack, zsetSkiplist, zsetBtree;
extern const struct zsetIndex *const zsetIndexes[ZSET_ENCODINGS];
/* Any listpack: is it one of pairs whose scores can be read, and how long is the longest member? */
bool zsetListpackIsPairs(unsigned char *lp, size_t *longest);

/* ---- Life ---- */
static inline struct zsetRef zsetOpen(const struct object *o) {
    debugAssert(o->type == OBJ_ZSET);
    return (struct zsetRef){objectPtr(o), zsetIndexes[o->encoding]};
}
/* Tell the object that its container may have changed. (A new encoding can have the old one's address.) */
static inline void zsetCommit(struct object *o, struct zsetRef z) {
    debugAssert(o->type == OBJ_ZSET && z.ptr);
    objectSetPtr(o, z.index->encoding, z.ptr);
}
/* A new set in the encoding that suits this many elements of at most this length. */
struct zsetRef zsetNew(size_t entries, size_t longest);
void zsetFree(struct zsetRef z);
struct value zsetValue(struct zsetRef z); /* to put it into the keyspace; owns the container */

/* ---- Reading ---- */
static inline uint64_t zsetLength(struct zsetRef z) {
    return z.index->length(z.ptr);
}
static inline hashtable *zsetTable(struct zsetRef z) { /* the member index; NULL: it has none */
    return z.index->table ? z.index->table(z.ptr) : NULL;
}
static inline bool zsetFind(struct zsetRef z, struct str member, struct zsetPlace *p) {
    return z.index->find(z.ptr, member, p);
}
/* "[a", "(b", "-", "+" as bounds. False: one of them is none. */
bool zsetReadLexRange(struct str min, struct str max, struct zsetRange *r);
/* Resolve a range. O(log n), plus the elements counted where there is a small limit. */
void zsetSliceOf(struct zsetRef z, const struct zsetRange *r, struct zsetSlice *s);
/* Reply the slice's elements, without the length in front. */
void zsetEmit(struct zsetRef z, struct client *c, const struct zsetSlice *s, bool reverse,
              enum zsetShape shape);

/* All elements from a rank on, ascending; or all from the highest score down, the order of RDB files and
 * dumps. The set must not change meanwhile; the element lives until the next call. O(1) a step. */
struct zsetIterator {
    struct zsetRef z;
    struct zsetPlace place;
    bool more, down;
};
struct zsetIterator zsetIterate(struct zsetRef z, uint64_t rank);
struct zsetIterator zsetIterateDown(struct zsetRef z);
bool zsetNext(struct zsetIterator *it, struct zsetElement *e);
/* Before a walk over all of a set that has not been used lately: where each element only tells where the next
 * one is, their cache misses would come one after the other. */
static inline void zsetWarm(struct zsetRef z) {
    if (z.index->warm) z.index->warm(z.ptr);
}

/* ---- Changing ---- */
enum { ZADD_NX = 1, ZADD_XX = 2, ZADD_GT = 4, ZADD_LT = 8, ZADD_INCR = 16 };
enum zsetAdded { ZADD_NOP, ZADD_ADDED, ZADD_UPDATED, ZADD_SAME, ZADD_NAN };
/* Add or update one member. *score becomes the score that the member has now; not on ZADD_NOP (the flags
 * forbid it) and ZADD_NAN (the increment would give NaN). */
enum zsetAdded zsetAdd(struct zsetRef *z, struct str member, double *score, int flags);
void zsetAppend(struct zsetRef *z, struct str member, double score); /* known to sort after all others */
bool zsetRemove(struct zsetRef *z, struct str member);
void zsetRemoveRange(struct zsetRef *z, uint64_t rank, uint64_t count);

/* ---- Loading ---- */

/* Builds a set from elements in the order of zsetIterateDown: no search for their places, containers sized
 * ahead. Elements out of order are put where they belong, only slower. The encoding is what the limits say
 * now, whatever it was when the elements were saved.
 *
 *     struct zsetLoader l = zsetLoad(n);
 *     while (..) if (!zsetLoadAdd(&l, member, score)) { zsetFree(l.z); return corrupt; }
 *     v = zsetValue(l.z);    an empty set must not come into the keyspace: check n
 *
 * `entries` may come from an untrusted file: no more than a bounded part of it is allocated ahead. */
struct zsetLoader {
    struct zsetRef z;
    size_t entries;
};
struct zsetLoader zsetLoad(size_t entries);
/* False, and nothing changed: the member is there already, or the score is NaN. The member is copied. */
bool zsetLoadAdd(struct zsetLoader *l, struct str member, double score);
/* A set from a listpack of pairs (member, score), as zset_listpack.c writes it; takes lp over. lpValidate has
 * accepted it. False, and lp freed: no pairs, a score that is none, pairs out of order, or (deep) a member
 * twice. Converted when it is beyond the limits of now. */
bool zsetFromListpack(unsigned char *lp, bool deep, struct zsetRef *z);

void zsetInit(void); /* type, directives, commands */
