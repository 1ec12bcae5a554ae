/* SPDX-License-Identifier: BSD-3-Clause */
/* set.h - sets as values: what the set commands, and other rooms that keep data in sets, may do.
 *
 *     intset      integers only, sorted, in one allocation (ds/intset)
 *     listpack    a few short members (ds/listpack)
 *     hashtable   all others: ds/hashtable over members of one small allocation each
 *
 *                 member:   | len:8 | bytes |      or, from 255 bytes on,      | 255 | len:32 | bytes |
 *
 * Changing a set may move or convert it: functions that change take a pointer to the struct setRef, and
 * setCommit tells the object afterwards. Sets only ever convert upwards (an SPOP that leaves little behind
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

/* A member that was read; `s` may point into `text`: do not copy the struct. */
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
/* An empty set in the encoding that suits this first member and about this many. */
struct setRef setNew(struct str first, size_t expected);
struct setRef setNewStrings(struct str first, size_t expected); /* the same, but never an intset */
struct setRef setNewTable(size_t expected);                     /* always a table */
/* Is it still in an encoding that the limits allow? For containers from outside; O(n). */
bool setFits(struct setRef s);
void setFree(struct setRef s);
struct value setValue(struct setRef s); /* to put it into the keyspace; owns the container */

/* ---- Members ---- */
size_t setSize(struct setRef s);
bool setContains(struct setRef s, struct str member); /* O(1); listpack O(n) */
bool setAdd(struct setRef *s, struct str member);     /* false: was there */
void setExpand(struct setRef *s, size_t expected);    /* room for so many, where that means anything */
void setCompact(struct setRef *s);                    /* an intset when it may be one; O(n) */
void setPrefetch(struct setRef s, uint64_t hash);     /* where a member with this hash is or would be */
static inline hashtable *setTable(struct setRef s) {  /* NULL: it has none */
    return s.encoding == SET_HASHTABLE ? s.ptr : NULL;
}
bool setRemove(struct setRef *s, struct str member);  /* false: was not there */
void setRandom(struct setRef s, struct setMember *m); /* fair; the set is not empty; O(1) */
/* A random member leaves: it is good to read until setDrop, which has to follow before anything else is done
 * with the set. */
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

/* ---- Walking. The set must not change meanwhile. ---- */
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
