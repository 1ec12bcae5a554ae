/* SPDX-License-Identifier: BSD-3-Clause */
/* zset.h - sorted sets as values: the interface for their commands, and for other modules that keep data
 * in sorted sets.
 *
 *     struct zsetRef                                    one table of functions per encoding
 *     | index  ----------------------------------->     struct zsetIndex
 *     | ptr    -->  listpack | struct zset | ...
 *
 *     listpack       member, score, member, score ...                  small sets; zset_listpack.c
 *     struct zset    | skiplist head: 200 | member index: 48 |         all others; zset_skiplist.c
 *     zbtree         | packed B+ tree |                          the same with zset-index btree; zset_btree.c
 *     | old | new |                         a large set that is getting the other index; zset_converting.c
 *
 * An encoding is a table of functions. A call through it costs an indirect jump, so hot paths do not make one
 * per element: what walks over many elements there (emit, extent, eraseRange) is itself a function of the
 * encoding. A place (struct zsetPlace) identifies an element; a search returns it, and it is valid until the
 * set changes. Ranks are 0-based and ascending everywhere; only commands know "reverse". */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/assert.h"
#include "base/num.h"
#include "base/str.h"
#include "data/object.h"
#include "data/type.h"
#include "ds/hashtable.h"
#include "ds/keysort.h"
#include "ds/listpack.h"
#include "ds/zskiplist.h"
#include "types/types.h"

struct client;

/* A set has the encoding behind ZSET_ENCODINGS only for a while: it is getting another one. */
enum { ZSET_LISTPACK, ZSET_SKIPLIST, ZSET_BTREE, ZSET_ENCODINGS, ZSET_CONVERTING = ZSET_ENCODINGS };

/* The container of the skiplist encoding. The entries of the member index are the nodes of the list: a score
 * is read from the node, and there is no second copy. The allocation starts on a cache line: reading the ends
 * of the list touches the first line, finding a member the last one. */
struct zset {
    zskiplist list;
    uint64_t padding[9]; /* 256 bytes would put the first lines of all sets into a quarter of the cache */
    hashtable members;
};
_Static_assert(sizeof(struct zset) == 320, "exactly an allocator class");

struct zsetIndex;

/* A sorted set to work on, in the keyspace or being built. Changing it may move or convert the container:
 * functions that change take a pointer to this struct, and zsetCommit updates the object afterwards. */
struct zsetRef {
    void *ptr;
    const struct zsetIndex *index;
};

struct zsetPlace {
    void *at; /* private to the encoding, like slot */
    unsigned slot;
    struct zscore score; /* the element's score */
    uint64_t hash;       /* the member's hash; set by a search for a member, found or not */
};

/* An element that was read. The member may point into `text`, so the struct must not be copied. */
struct zsetElement {
    struct str member;
    struct zscore score;
    char text[LP_INTBUF_SIZE];
};

/* A range as commands take it. start and stop may be negative (from the end); offset and limit count from the
 * near end, which is the high one when reverse. */
struct zsetRange {
    enum { ZRANGE_RANK, ZRANGE_SCORE, ZRANGE_LEX } by;
    bool reverse, read; /* read: the elements will be read, not only counted */
    int64_t start, stop;
    struct zscoreRange score;
    struct zlexRange lex;
    int64_t offset, limit; /* limit < 0: no limit */
};
/* The elements of a range: `count` from rank on. */
struct zsetSlice {
    uint64_t rank, count;
    struct zsetPlace near; /* the end from which it was searched, or at == NULL */
};

/* How elements are replied: members only; member and score side by side; or arrays [member, score]. */
enum zsetShape { ZSHAPE_MEMBERS, ZSHAPE_FLAT, ZSHAPE_PAIRS };

/* ---- The functions of an encoding ---- */
struct zsetIndex {
    uint8_t encoding;
    const char *name; /* the reply of OBJECT ENCODING */

    void *(*create)(size_t entries); /* entries: expected number */
    /* Makes a set of items, which are in order and have each member once. */
    void *(*build)(const struct zsetItem *items, size_t count);
    void (*destroy)(void *z); /* may run on another thread */
    void *(*copy)(const void *z);
    uint64_t (*length)(const void *z);
    /* Whether a score may have a rest (zscore.h): such a set is saved in another form. O(1) for large sets.
     */
    bool (*hasRests)(const void *z);
    size_t (*memory)(const void *z, size_t samples); /* bytes; samples as in struct objectType */
    size_t (*allocations)(const void *z);

    /* Searches for a member; returns false when there is none. */
    bool (*find)(void *z, struct str member, struct zsetPlace *p);
    /* Searches for a member whose hashBytes() is known. */
    bool (*findHashed)(void *z, struct str member, uint64_t hash, struct zsetPlace *p);
    bool (*atRank)(const void *z, uint64_t rank, struct zsetPlace *p);
    /* Finds the first element in a score or lex range, or the last one, and its rank. */
    bool (*seek)(const void *z, const struct zsetRange *r, bool last, struct zsetPlace *p, uint64_t *rank);
    /* Returns how many elements from this place on (towards the start when reverse) are in the range,
     * at most max. */
    uint64_t (*extent)(const void *z, const struct zsetRange *r, const struct zsetPlace *p, uint64_t rank,
                       uint64_t max);
    uint64_t (*rank)(const void *z, const struct zsetPlace *p);
    bool (*step)(const void *z, struct zsetPlace *p, bool back); /* false at the end */
    void (*read)(const void *z, const struct zsetPlace *p, struct zsetElement *e);

    /* Changes return the container, which may have moved. insert and update take the place that find has
     * set. */
    void *(*insert)(void *z, struct str member, struct zscore score, const struct zsetPlace *missed);
    void *(*append)(void *z, struct str member, struct zscore score); /* the element sorts after all others */
    /* The element sorts before all others; `missed` as for insert. */
    void *(*prepend)(void *z, struct str member, struct zscore score, const struct zsetPlace *missed);
    void *(*update)(void *z, struct str member, struct zscore score, const struct zsetPlace *found);
    void *(*erase)(void *z, const struct zsetPlace *found);
    /* For loading elements in no order; NULL: insert is good for that. loosen takes all elements out of the
     * order and writes them to `loose`, addLoose adds one that is only in the member index, and link puts
     * all into the order. */
    void (*loosen)(void *z, struct sortKey *loose);
    struct sortKey (*addLoose)(void *z, struct str member, struct zscore score,
                               const struct zsetPlace *missed);
    void (*link)(void *z, struct sortKey *loose, size_t count);
    void *(*eraseRange)(void *z, uint64_t rank, uint64_t count);

    /* Replies `count` elements from p on. */
    void (*emit)(const void *z, struct client *c, const struct zsetPlace *p, uint64_t count, bool reverse,
                 enum zsetShape shape);
    /* Passes some elements to fn and returns the next cursor (SCAN). Cursors of the tree are odd, those of
     * the skiplist even: a scan that finds another index than it began with begins again. */
    uint64_t (*scan)(void *z, uint64_t cursor, void (*fn)(void *priv, const struct zsetElement *e),
                     void *priv);
    /* Defragmentation: offers every allocation to `move`, some with each call; the set may change between
     * calls. `move` copies the allocation, frees it and returns the copy, or returns NULL to leave it.
     * *cursor is 0 at the start, and 0 again at the end. Returns the container, which may have moved, too. */
    void *(*defrag)(void *z, uint64_t *cursor, void *(*move)(void *priv, void *ptr), void *priv);
    struct hashtable *(*table)(void *z); /* the member index; NULL: it has none */
    /* Prefetches all elements at once, if they fit the cache; may be NULL. */
    void (*warm)(const void *z);
    /* These are the hooks of struct objectType. */
    sds (*debugInfo)(const void *z, sds s);
    bool (*prefetch)(const void *z, const struct prefetchRequests *wants, int step,
                     struct prefetchState *state);
};
extern const struct zsetIndex zsetListpack, zsetSkiplist, zsetBtree, zsetConverting;
extern const struct zsetIndex *const zsetIndexes[ZSET_ENCODINGS + 1];
/* For any listpack: whether it consists of pairs whose scores can be parsed, and the length of the longest
 * member. */
bool zsetListpackIsPairs(unsigned char *lp, size_t *longest);

/* ---- Life ---- */
static inline struct zsetRef zsetOpen(const struct object *o) {
    debugAssert(o->type == OBJ_ZSET);
    return (struct zsetRef){objectPtr(o), zsetIndexes[o->encoding]};
}
/* Updates the object after a change of the container. (A new encoding can be at the old one's address.) */
static inline void zsetCommit(struct object *o, struct zsetRef z) {
    debugAssert(o->type == OBJ_ZSET && z.ptr);
    objectSetPtr(o, z.index->encoding, z.ptr);
}
/* Returns a new set in the encoding that suits this many elements of at most this length. */
struct zsetRef zsetNew(size_t entries, size_t longest);
/* Returns a new set of items, which are in order and have each member once. */
struct zsetRef zsetBuild(const struct zsetItem *items, size_t count);
void zsetFree(struct zsetRef z);
struct value zsetValue(struct zsetRef z); /* to put into the keyspace; owns the container */

/* ---- Scores ---- */
/* Whether the text of an integer is one that is kept exactly (zset-exact-integers), not the nearest double.
 */
extern bool zset_exact_integers;
/* Makes a score of the text from which `value` was parsed. */
static inline struct zscore zsetScoreOf(double value, struct str text) {
    bool small = __builtin_expect(zscoreIsSmall(value), 1);
    return small || !zset_exact_integers ? zscoreOf(value) : zscoreOfLargeText(value, text);
}
/* Writes a score as replies have it, adds a NUL and returns the length: ZSCORE_TEXT_SIZE is enough. Without
 * zset-exact-integers, doubles from 2^62 on have an exponent, as in Valkey. */
static inline unsigned zsetPrintScore(char *dst, struct zscore s) {
    return s.rest || zset_exact_integers ? zscorePrint(dst, s) : d2string(dst, s.value);
}
static inline struct zscore zsetAddScores(struct zscore a, struct zscore b) {
    bool small = __builtin_expect(zscoreSumIsSmall(a.value, b.value), 1);
    return small || !zset_exact_integers ? zscoreOf(a.value + b.value) : zscoreAddLarge(a, b);
}

/* ---- Reading ---- */
static inline uint64_t zsetLength(struct zsetRef z) {
    return z.index->length(z.ptr);
}
static inline bool zsetHasRests(struct zsetRef z) {
    return z.index->hasRests(z.ptr);
}
static inline hashtable *zsetTable(struct zsetRef z) { /* the member index; NULL: it has none */
    return z.index->table ? z.index->table(z.ptr) : NULL;
}
static inline bool zsetFind(struct zsetRef z, struct str member, struct zsetPlace *p) {
    return z.index->find(z.ptr, member, p);
}
static inline bool zsetFindHashed(struct zsetRef z, struct str member, uint64_t hash, struct zsetPlace *p) {
    return z.index->findHashed(z.ptr, member, hash, p);
}
/* Prefetches where the members with these hashes are, or would be, so that their cache misses overlap. At
 * most ZSET_AHEAD hashes. */
#define ZSET_AHEAD 16
void zsetPrefetchMembers(struct zsetRef z, const uint64_t *hashes, unsigned count);
/* Parses "[a", "(b", "-", "+" as bounds. Returns false when one of them is invalid. */
bool zsetReadLexRange(struct str min, struct str max, struct zsetRange *r);
/* Resolves a range. O(log n), plus the elements counted where there is a small limit. */
void zsetSliceOf(struct zsetRef z, const struct zsetRange *r, struct zsetSlice *s);
/* Replies the slice's elements, without the length in front. */
void zsetEmit(struct zsetRef z, struct client *c, const struct zsetSlice *s, bool reverse,
              enum zsetShape shape);

/* Iterates over all elements from a rank on, ascending; or over all from the highest score down, the
 * order of RDB files and dumps. The set must not change meanwhile; an element is valid until the next
 * call. O(1) a step. */
struct zsetIterator {
    struct zsetRef z;
    struct zsetPlace place;
    bool more, down;
};
struct zsetIterator zsetIterate(struct zsetRef z, uint64_t rank);
struct zsetIterator zsetIterateDown(struct zsetRef z);
bool zsetNext(struct zsetIterator *it, struct zsetElement *e);
/* Iterates over all elements, as zsetIterate does or, unless in_order, in any order: where each has the
 * pointer to the next one, and they are not in the cache, it reads several at a time by the member index. */
#define ZSET_READ_AHEAD 8
struct zsetIteratorOfAll {
    struct zsetIterator ordered; /* unless by_index */
    bool by_index;
    unsigned next;
    struct hashtableIterator index;
    void *ahead[ZSET_READ_AHEAD]; /* nodes that are being fetched, a ring; NULL: the end */
};
void zsetIterateAll(struct zsetIteratorOfAll *it, struct zsetRef z, bool in_order);
bool zsetNextOfAll(struct zsetIteratorOfAll *it, struct zsetElement *e);

/* Called before a walk over all of a set that has not been used lately: where each element has the pointer to
 * the next one, cache misses would otherwise come one after the other. */
static inline void zsetWarm(struct zsetRef z) {
    if (z.index->warm) z.index->warm(z.ptr);
}

/* ---- Changing ---- */
enum { ZADD_NX = 1, ZADD_XX = 2, ZADD_GT = 4, ZADD_LT = 8, ZADD_INCR = 16 };
enum zsetAdded { ZADD_NOP, ZADD_ADDED, ZADD_UPDATED, ZADD_SAME, ZADD_NAN };
/* Adds or updates one member. *score becomes the member's new score; it is unchanged after ZADD_NOP (the
 * flags forbid the change) and ZADD_NAN (the increment would give NaN). */
enum zsetAdded zsetAdd(struct zsetRef *z, struct str member, struct zscore *score, int flags);
bool zsetRemove(struct zsetRef *z, struct str member);
void zsetRemoveRange(struct zsetRef *z, uint64_t rank, uint64_t count);

/* ---- Loading ---- */

/* Builds a set from elements in the order of zsetIterateDown: no search for their places, containers sized
 * ahead. From the first element out of order on, those of a large skiplist are collected and sorted at the
 * end. The encoding follows the present limits, whatever it was when the elements were saved.
 *
 *     struct zsetLoader l = zsetLoad(n);
 *     while (..) if (!zsetLoadAdd(&l, member, score)) { zsetFree(zsetLoadEnd(&l)); return corrupt; }
 *     v = zsetValue(zsetLoadEnd(&l));    an empty set must not come into the keyspace: check n
 *
 * `entries` may come from an untrusted file: no more than a bounded part of it is allocated ahead. */
struct zsetLoader {
    struct zsetRef z;
    size_t entries;
    struct sortKey *loose; /* elements that are not in the order yet, or NULL */
    size_t loose_count, loose_room;
};
struct zsetLoader zsetLoad(size_t entries);
/* Adds a copy of the member. Returns false, and changes nothing, when the member exists already or the
 * score is NaN. */
bool zsetLoadAdd(struct zsetLoader *l, struct str member, struct zscore score);
/* Returns the set. Must be called before it is used or freed. */
struct zsetRef zsetLoadEnd(struct zsetLoader *l);
/* Makes a set from a listpack of pairs (member, score), as zset_listpack.c writes it; takes lp over, which
 * lpValidate has accepted. Returns false and frees lp when it has no pairs, an invalid score, pairs out of
 * order, or (deep) a member twice. Converted when it is beyond the present limits. */
bool zsetFromListpack(unsigned char *lp, bool deep, struct zsetRef *z);

void zsetInit(void); /* type, directives, commands */
