/* SPDX-License-Identifier: BSD-3-Clause */
/* set.h - sets as values: the interface for the set commands, and for other modules that keep data in sets.
 *
 *     intset      integers only, sorted, in one allocation (ds/intset)
 *     listpack    a few short members (ds/listpack)
 *     hashtable   all others: ds/hashtable over members of one small allocation each
 *
 *                 member:   | len:8 | bytes |      or, from 255 bytes on,      | 255 | len:32 | bytes |
 *
 * Changing a set may move or convert it: functions that change take a pointer to the struct setRef, and
 * setCommit updates the object afterwards. Sets only ever convert upwards (an SPOP that leaves little behind
 * makes a new one). */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/assert.h"
#include "base/str.h"
#include "data/object.h"
#include "ds/hashtable.h"
#include "ds/listpack.h"
#include "types/types.h"

enum { SET_INTSET, SET_LISTPACK, SET_HASHTABLE };

struct setRef {
    void *ptr;
    uint8_t encoding;
};

/* A member that was read; `s` may point into `text`, so the struct must not be copied. */
struct setMember {
    struct str s;
    char text[LP_INTBUF_SIZE];
};

/* ---- Life ---- */
static inline struct setRef setOpen(const struct object *o) {
    debugAssert(o->type == OBJ_SET);
    return (struct setRef){objectPtr(o), (uint8_t)o->encoding};
}
static inline void setCommit(struct object *o, struct setRef s) {
    debugAssert(o->type == OBJ_SET && s.ptr);
    objectSetPtr(o, s.encoding, s.ptr);
}
/* Returns an empty set in the encoding that suits this first member and about this many. */
struct setRef setNew(struct str first, size_t expected);
struct setRef setNewStrings(struct str first, size_t expected); /* never an intset */
struct setRef setNewTable(size_t expected);                     /* always a table */
/* Whether its encoding is within the limits. For containers from outside; O(n). */
bool setFits(struct setRef s);
void setFree(struct setRef s);
struct value setValue(struct setRef s); /* to put into the keyspace; owns the container */

/* ---- Members ---- */
size_t setSize(struct setRef s);
bool setContains(struct setRef s, struct str member); /* O(1); listpack O(n) */
bool setAdd(struct setRef *s, struct str member);     /* false: it is a member already */
void setExpand(struct setRef *s, size_t expected);    /* makes room for so many, where that has a meaning */
void setCompact(struct setRef *s);                    /* becomes an intset when it may be one; O(n) */
void setPrefetch(struct setRef s, uint64_t hash); /* the place where a member with this hash is or would be */
static inline hashtable *setTable(struct setRef s) { /* NULL: it has no table */
    return s.encoding == SET_HASHTABLE ? s.ptr : NULL;
}
bool setRemove(struct setRef *s, struct str member);  /* false: it was no member */
void setRandom(struct setRef s, struct setMember *m); /* each equally likely; the set is not empty; O(1) */
/* A random member that is being removed: it may be read until setDrop, which has to follow before the set
 * is used again. */
struct setDrawn {
    struct setMember m;
    union {
        void *entry;
        unsigned char *p;
        int64_t number;
    };
};
void setDraw(struct setRef s, struct setDrawn *d);
void setDrop(struct setRef *s, struct setDrawn *d);

/* ---- Iteration. The set must not change meanwhile. It writes nothing to the set, which may be in the hands
 * of a snapshot's thread. ---- */
struct setIterator {
    struct setRef set;
    uint32_t index;
    unsigned char *p;
    struct hashtableIterator table;
};
void setIterate(struct setIterator *it, struct setRef s);
bool setNext(struct setIterator *it, struct setMember *m);
void setStop(struct setIterator *it);

void setInit(void); /* type, commands, directives */
