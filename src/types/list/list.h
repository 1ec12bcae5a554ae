/* SPDX-License-Identifier: BSD-3-Clause */
/* list.h - lists as values: the interface for the list commands, and for other modules that keep data in
 * lists.
 *
 *     embedded     a listpack of a few bytes in the object itself      "listpack"
 *     listpack     one listpack behind the object                     "listpack"
 *     quicklist    struct quicklist: a chain of listpacks             "quicklist"; ds/quicklist.h
 *
 * A listpack that would grow past list-max-listpack-size becomes a quicklist first. A quicklist turns back
 * when deleting has left one node of at most half that limit, so that a list at the limit does not change to
 * and fro with each command. A listpack goes into the object when it is half as large as it may be there.
 * Each encoding has its own loops; this interface only dispatches to them. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/assert.h"
#include "base/str.h"
#include "data/object.h"
#include "ds/listpack.h"
#include "ds/quicklist.h"
#include "types/types.h"

struct client;
struct db;

enum { LIST_LISTPACK, LIST_QUICKLIST };
/* Maximum bytes of a listpack in an object. A list that grows there is copied at each push, so it is not
 * larger. */
#define LIST_EMBED_MAX 80
enum listEnd { LIST_LEFT = QL_HEAD, LIST_RIGHT = QL_TAIL };

/* A list to work on, in the keyspace or being built. Functions that change it take a pointer, as the
 * container may move or be converted; listTypeCommit updates the object afterwards. */
struct listRef {
    void *ptr;
    int encoding;
    bool borrowed; /* ptr is in the object: a change makes a copy first */
};

void listTypeInit(void); /* type, commands, directives */

/* Returns an empty list, with memory for `bytes` of entries (qlEntryBound) while it is a listpack. */
struct listRef listTypeNew(size_t bytes);
/* For loading: listTypeNewChain returns an empty quicklist, whatever its size will be; listTypeFit converts
 * it to the encoding that suits it then. */
struct listRef listTypeNewChain(void);
void listTypeFit(struct listRef *l);
void listTypeFree(struct listRef l);
static inline struct listRef listTypeOpen(const struct object *o) {
    debugAssert(o->type == OBJ_LIST);
    bool apart = objectHasPtr(o);
    return (struct listRef){.ptr = apart ? objectPtr(o) : (char *)objectEmbedded(o).ptr,
                            .encoding = (int)o->encoding,
                            .borrowed = !apart};
}
struct object *listTypeCommitListpack(struct db *db, struct object *o, struct listRef l); /* private */
/* Updates the object after a change. The object may move: use the result, and open it anew. */
static inline struct object *listTypeCommit(struct db *db, struct object *o, struct listRef l) {
    debugAssert(o->type == OBJ_LIST && l.ptr);
    if (l.encoding == LIST_LISTPACK || !objectHasPtr(o)) return listTypeCommitListpack(db, o, l);
    objectSetPtr(o, l.encoding, l.ptr);
    return o;
}
/* Called in place of listTypeCommit before the object is deleted. */
void listTypeDiscard(struct object *o, struct listRef l);
/* Deletes the key of a list that has become empty: modules that are notified of it find an empty list. */
void listTypeDeleteKey(struct db *db, struct str key, struct object *o, struct listRef l);
/* Returns a value for dbAdd and friends, which owns the list from now on; the list must not be empty. A short
 * list is put into `room`. */
struct value listTypeValue(struct listRef l, char room[LIST_EMBED_MAX]);
uint64_t listTypeLength(struct listRef l); /* O(1) */

/* ---- Change. Elements are shorter than QL_ELEMENT_MAX. ---- */
void listTypePush(struct listRef *l, struct str s, enum listEnd end);
void listTypePushMany(struct listRef *l, const struct str *s, int count, enum listEnd end); /* one by one */
void listTypeDelete(struct listRef *l, uint64_t start, uint64_t num); /* both within the list */
bool listTypeSet(struct listRef *l, int64_t index, struct str s);     /* false: no such index */
/* Inserts next to the first element equal to `pivot`. Returns false when there is none. */
bool listTypeInsert(struct listRef *l, struct str pivot, struct str s, bool after);
/* Inserts so that the new element is at `index`, which is within the list. */
void listTypeInsertAt(struct listRef *l, uint64_t index, struct str s);
/* Deletes the first `max` elements equal to s from that end; returns how many there were. */
uint64_t listTypeDeleteEqual(struct listRef *l, struct str s, uint64_t max, enum listEnd from);
/* Converts to a listpack if the list has become small; the functions above do not. */
void listTypeShrink(struct listRef *l);

/* ---- Read ---- */
/* A position on an element; nothing may change the list until listTypeStop. */
struct listIterator {
    struct listRef list;
    unsigned char *p;       /* LIST_LISTPACK */
    struct qlCursor cursor; /* LIST_QUICKLIST */
};
/* Moves to the element at `index`, negative from the end. Returns false when there is none; then listTypeStop
 * is not needed. */
bool listTypeSeek(struct listIterator *it, struct listRef l, int64_t index);
bool listTypeNext(struct listIterator *it);
bool listTypePrev(struct listIterator *it);
void listTypeGet(const struct listIterator *it, struct lpValue *v);
struct str listTypeText(const struct listIterator *it, char buf[LP_INTBUF_SIZE]);
void listTypeStop(struct listIterator *it);

/* An element to search for. */
struct listNeedle {
    struct str text;
    int64_t number;
    bool is_number; /* `text` is kept as a number in a listpack */
};
struct listNeedle listTypeNeedle(struct str s);
static inline bool listTypeMatches(const struct listNeedle *n, const struct lpValue *v) {
    return v->sval ? strEq(strN(v->sval, v->slen), n->text) : n->is_number && v->lval == n->number;
}

/* ---- Snapshots without a fork (list_parts.c) ---- */
const struct valueParts *listParts(const struct object *o);
struct qlSave *listSaveOf(const struct quicklist *ql); /* for ql_save_of */

/* ---- Reply (list_reply.c) ---- */
/* Replies elements start, start + 1 ... as bulk strings, without the array's header; or start, start
 * - 1 ... */
void listTypeReply(struct listRef l, struct client *c, uint64_t start, uint64_t count);
void listTypeReplyBack(struct listRef l, struct client *c, uint64_t start, uint64_t count);
