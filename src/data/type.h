/* SPDX-License-Identifier: BSD-3-Clause */
/* type.h - a data type is a table of functions. All code outside a type's folder works on its values
 * through this table. */
#pragma once

#include "base/sds.h"
#include "data/object.h"

struct client;
struct hashtable;
struct db;
struct keyspace;
struct rioWriter;
struct rdbReader;
struct defragCursor;
struct valueParts;

#define OBJ_TYPES_MAX 16

/* The state of a prefetch hook between its steps. */
struct prefetchState {
    const void *at; /* NULL before step 0 */
    /* Once a step has set this, it is called for each further step instead of the hook, until it returns
     * false. It is for long ways of short steps, as it saves the way to the encoding. NULL before step 0. */
    bool (*next)(struct prefetchState *state);
    uint64_t notes[8]; /* for the type's use; undefined until it has written them */
};

/* Describes what a command will look for in a value; prefetch hooks read it. It is a part of the command's
 * request. */
struct prefetchRequests {
    unsigned parts;       /* PREFETCH_HEAD, PREFETCH_MEMBER ... (commands/cmd_spec.h) */
    struct str member;    /* to be looked up in the value; ptr NULL: none */
    struct str score;     /* with PREFETCH_SCORE: argv[2], which may be a score, or a bound of a range */
    struct str score_to;  /* with PREFETCH_RUN: argv[3], the other bound */
    uint64_t member_hash; /* not with PREFETCH_PATH */
};

/* Names a key. */
struct keyPlace {
    struct str key;
    int dbid;
};

/* The result of reading a value from a file. */
enum rdbLoaded {
    RDB_LOADED,  /* *v is the value and belongs to the caller; an embedded one is a view, valid until the next
                    read */
    RDB_EMPTY,   /* a container without elements (or whose elements have all expired): no value */
    RDB_SKIPPED, /* a value of a type that is unknown here: no value */
    RDB_FAILED
};

struct objectType {
    uint8_t id;       /* stable: 0 string, 1 list, 2 set, 3 zset, 4 hash, 5 module, 6 stream,
                   7 path hash */
    const char *name; /* the reply of TYPE */
    /* For a type that comprises several (modules define their own): the name of this value's type, and
     * whether one of them has this name (case-insensitive). NULL: there is one type only. */
    const char *(*nameOf)(const struct object *o);
    bool (*hasName)(struct str name);

    const char *(*encodingName)(const struct object *o);
    /* Frees a container (never embedded bytes). May run on the lazy-free thread, so it touches nothing
     * but the value. */
    void (*free)(struct value v);
    /* About how many allocations free() would release; decides between freeing now and on the thread.
     * O(1). */
    size_t (*freeEffort)(const struct object *o);
    /* Bytes of the value beyond the object's own allocation, estimated from `samples` elements (0: all). */
    size_t (*memoryUsage)(const struct object *o, size_t samples);
    /* The number of elements, or the bytes of a string, for INFO keysizes, where `plural` names the type.
     * O(1). Both are NULL for types that it leaves out. */
    size_t (*length)(const struct object *o);
    const char *plural;
    /* Returns an independent copy of a container, or the same view of embedded bytes. */
    struct value (*copy)(const struct object *o);
    /* Copies like copy, for a type whose values need to know the key of the copy or cannot always be copied;
     * it is called instead of copy. Returns NULL and sets *copy, or returns the error. */
    const char *(*copyTo)(const struct object *o, const struct keyPlace *to, struct value *copy);
    /* Mixes the value into digest[20] so that equal values give equal digests whatever their encoding
     * (data/digest.h). */
    void (*digest)(const struct object *o, uint8_t digest[20]);
    /* Prefetches the cache lines that the command will touch after the object's first line, which is already
     * on its way. It is called with step 0, 1, 2 ... in passes over a whole batch until it returns false; it
     * may read what an earlier step fetched. It never changes anything; `o` may be another key's object (tag
     * collision). NULL: nothing to fetch. */
    bool (*prefetch)(const struct object *o, const struct prefetchRequests *wants, int step,
                     struct prefetchState *state);
    /* Calls fn with each element's text, for SORT and scans, and stops when fn returns false.
     * NULL: not iterable. */
    void (*iterate)(const struct object *o, bool (*fn)(void *priv, struct str element), void *priv);
    /* The hash table in the value, for DEBUG HTSTATS-KEY; NULL when this encoding has none. The hook
     * may be NULL. */
    struct hashtable *(*table)(const struct object *o);
    /* Appends this type's fields of DEBUG OBJECT ("ql_nodes:3 "). May be NULL. */
    sds (*debugInfo)(const struct object *o, sds s);
    /* For a type that keeps track of its values, in keyspace.kept (hash: those with fields that expire).
     * onAdded: the value has come into a keyspace under this object's key (added, renamed, written over
     * another). onRemoved: it is about to leave (deleted, unlinked, overwritten). onAllRemoved: all values of
     * the keyspace are about to leave at once. Each may be NULL. */
    void (*onAdded)(struct keyspace *ks, const struct object *o);
    void (*onRemoved)(struct keyspace *ks, const struct object *o);
    void (*onAllRemoved)(struct keyspace *ks);
    /* The RDB encoding (data/rdb/rdb.h). rdbType returns which RDB_TYPE_* save() writes for this value, in
     * the format version that the writer asks for as far as that can hold the value. rdb_types has the bit of
     * each RDB_TYPE_* that load() reads. save runs in fork children and must not change the value. Unless
     * load returns RDB_LOADED, it has freed what it made. */
    uint64_t rdb_types;
    uint8_t (*rdbType)(const struct object *o, int version);
    void (*save)(struct rioWriter *w, const struct object *o);
    enum rdbLoaded (*load)(struct rdbReader *r, uint8_t rdb_type, struct value *v);
    /* Returns the lowest RDB version that can store all values of a keyspace. NULL: RDB_VERSION. */
    int (*rdbVersionNeeded)(const struct keyspace *ks);
    /* The number of values of a keyspace that have parts that expire; with `overdue`, the number of parts
     * that are past their expiry and still present. NULL: always 0. */
    size_t (*volatileCount)(const struct keyspace *ks, bool overdue);
    /* In a fork child that will not read this container again: gives its large blocks back to the system
     * (zmallocDismiss), so that the parent need not copy them when it writes. NULL: it has none. */
    void (*dismiss)(const struct object *o);
    /* Defragmentation (data/lifetime/defrag.h) of values behind a pointer: offers their allocations to
     * defragMove, some with each call, and updates what points to those that moved. The value may change
     * between calls. True: there is more to do. */
    bool (*defrag)(struct db *db, struct object *o, struct defragCursor *at);
    /* Writes the commands that create the value under this key again (data/rdb/rewrite.h), without its
     * expiry. */
    void (*rewrite)(struct rioWriter *w, struct str key, const struct object *o);
    /* How a snapshot without a fork saves this value in parts if it is large (data/forkless/large_value.h).
     * NULL, or the hook is NULL: it is saved as a whole, however large. */
    const struct valueParts *(*parts)(const struct object *o);
};

extern const struct objectType *objectTypes[OBJ_TYPES_MAX];
void objectTypeRegister(const struct objectType *type);
static inline const struct objectType *objectTypeOf(const struct object *o) {
    return objectTypes[o->type];
}
/* Frees the container (through its type) and the object. */
void objectFree(struct object *o);
/* Returns the reply of TYPE. */
static inline const char *objectTypeName(const struct object *o) {
    const struct objectType *type = objectTypeOf(o);
    return __builtin_expect(type->nameOf != NULL, 0) ? type->nameOf(o) : type->name;
}
/* Returns NULL when no type has this name (case-insensitive). */
const struct objectType *objectTypeByName(struct str name);
