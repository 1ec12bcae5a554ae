/* SPDX-License-Identifier: BSD-3-Clause */
/* type.h - a data type is a table of functions. Core calls types only through this. */
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

#define OBJ_TYPES_MAX 16

/* What a prefetch hook remembers between its steps. */
struct prefetchState {
    const void *at;    /* NULL before step 0 */
    uint64_t notes[5]; /* what they say is the type's affair; garbage before it has written any */
};

/* What a command will look for in a value, for its prefetch hook. A part of the command's request. */
struct prefetchRequests {
    unsigned parts;    /* PREFETCH_HEAD, PREFETCH_MEMBER ... (commands/cmd_spec.h) */
    struct str member; /* of the value, to be looked up there; ptr NULL: none */
    struct str score;  /* with PREFETCH_SCORE, what may be one. Only when there are others to overlap with */
    uint64_t member_hash;
};

/* A key, by its name. */
struct keyPlace {
    struct str key;
    int dbid;
};

/* What came of reading a value from a file. */
enum rdbLoaded {
    RDB_LOADED, /* *v is the value; the caller's. An embedded one is a view, good until the next read */
    RDB_EMPTY,  /* a container without elements (or whose elements have all expired): no value */
    RDB_FAILED
};

struct objectType {
    uint8_t id;       /* stable: 0 string, 1 list, 2 set, 3 zset, 4 hash, 5 module, 6 stream */
    const char *name; /* TYPE's answer */
    /* A type of many (modules have theirs): the one that this value is of, and is there one of this name
     * (case-insensitive)? NULL: it is one. */
    const char *(*nameOf)(const struct object *o);
    bool (*hasName)(struct str name);

    const char *(*encodingName)(const struct object *o);
    /* Frees a container (never embedded bytes). May run on the lazy-free thread: touches nothing but the
     * value. */
    void (*free)(struct value v);
    /* About how many allocations free() would release:
     * decides between freeing now and on the thread. O(1). */
    size_t (*freeEffort)(const struct object *o);
    /* Bytes of the value beyond the object's own allocation; `samples` elements are looked at, 0: all. */
    size_t (*memoryUsage)(const struct object *o, size_t samples);
    /* An independent copy (containers), or the same view (embedded). */
    struct value (*copy)(const struct object *o);
    /* The same for a type whose values want to know where the copy goes, or cannot always be copied; then it
     * is asked instead. NULL: *copy is it; else the error. */
    const char *(*copyTo)(const struct object *o, const struct keyPlace *to, struct value *copy);
    /* Mix the value into digest[20] so that equal values give equal digests whatever their encoding
     * (data/digest.h). */
    void (*digest)(const struct object *o, uint8_t digest[20]);
    /* Prefetch the cache lines that the command will touch after the object's first line, which is already on
     * its way. Called with step 0, 1, 2 ... in passes over a whole batch, until it returns false: what an
     * earlier step fetched may be read. NULL: nothing to fetch. Never changes anything; o may be another
     * key's object (tag collision). */
    bool (*prefetch)(const struct object *o, const struct prefetchRequests *wants, int step,
                     struct prefetchState *state);
    /* Iterate for SORT and scans of elements: fn gets each element's text; stops when fn returns false. NULL:
     * not iterable. */
    void (*iterate)(const struct object *o, bool (*fn)(void *priv, struct str element), void *priv);
    /* The hash table in the value, for DEBUG HTSTATS-KEY; NULL: this encoding has none.
     * The hook may be NULL. */
    struct hashtable *(*table)(const struct object *o);
    /* DEBUG OBJECT: more fields of this type ("ql_nodes:3 "), appended. May be NULL. */
    sds (*debugInfo)(const struct object *o, sds s);
    /* For a type that keeps track of its values (hash: those with fields that expire); each may be NULL. The
     * value has come into a keyspace under this object's key: added, renamed, written over another. It is
     * about to leave it: deleted, unlinked, overwritten. All values of the keyspace are about to leave at
     * once. */
    void (*enter)(struct keyspace *ks, const struct object *o);
    void (*leave)(struct keyspace *ks, const struct object *o);
    void (*leaveAll)(struct keyspace *ks);
    /* The RDB encoding (data/rdb/rdb.h). rdbType tells which of the RDB_TYPE_* save() writes for this value,
     * in the version of the format that the writer asks for as far as that can hold it; rdb_types has the bit
     * of each that load() reads. save runs in fork children and must not change the value. load has not
     * finished with *v unless it returns RDB_LOADED: it frees what it made. */
    uint64_t rdb_types;
    uint8_t (*rdbType)(const struct object *o, int version);
    void (*save)(struct rioWriter *w, const struct object *o);
    enum rdbLoaded (*load)(struct rdbReader *r, uint8_t rdb_type, struct value *v);
    /* Does a keyspace hold values that only RDB_VERSION_EXPIRING can tell? NULL: never. */
    bool (*needsNewRdb)(const struct keyspace *ks);
    /* How many values of a keyspace have parts that expire; `overdue`: parts whose time is over and that are
     * still there. NULL: none ever. */
    size_t (*volatileCount)(const struct keyspace *ks, bool overdue);
    /* In a fork child, which will not look at this container again: gives its large blocks back to the system
     * (zmallocDismiss), so that the parent does not have to copy them when it writes. NULL: it has none. */
    void (*dismiss)(const struct object *o);
    /* Defragmentation (data/lifetime/defrag.h), for values behind a pointer: offers their allocations to
     * defragMove, some with each call, and mends what points to those that moved. The value may change
     * between the calls. True when there is more to do. */
    bool (*defrag)(struct db *db, struct object *o, struct defragCursor *at);
    /* The commands that bring the value back under this key (data/rdb/rewrite.h), without its expiry. */
    void (*rewrite)(struct rioWriter *w, struct str key, const struct object *o);
};

extern const struct objectType *objectTypes[OBJ_TYPES_MAX];
void objectTypeRegister(const struct objectType *type);
static inline const struct objectType *objectTypeOf(const struct object *o) {
    return objectTypes[o->type];
}
/* Container (through its type) and allocation. */
void objectFree(struct object *o);
/* TYPE's answer. */
static inline const char *objectTypeName(const struct object *o) {
    const struct objectType *type = objectTypeOf(o);
    return __builtin_expect(type->nameOf != NULL, 0) ? type->nameOf(o) : type->name;
}
/* NULL when no type has this name (case-insensitive). */
const struct objectType *objectTypeByName(struct str name);
