/* SPDX-License-Identifier: BSD-3-Clause */
/* list.c - lists as values: their encodings and the conversions between them, and the hooks of the type. */
#include "types/list/list.h"

#include "base/assert.h"
#include "base/num.h"
#include "base/zmalloc.h"
#include "client/reply.h"
#include "command/command.h"
#include "commands/cmd_list.h"
#include "data/digest.h"
#include "data/forkless/large_value.h"
#include "data/keyspace/db.h"
#include "data/type.h"
#include "ds/quicklist_save.h"
#include "registry/config.h"
#include "registry/debug.h"
#include "registry/server_events.h"
#include "types/defrag_hooks.h"
#include "types/rdb_hooks.h"
#include "types/types.h"

#define LP_EMPTY      7 /* bytes of a listpack without elements */
#define OVERHEAD_MAX  4
#define LINE          64
#define LINES_TO_MOVE 4 /* cache lines prefetched for a change at the front, which moves the rest */

static int64_t max_listpack_size, compress_depth;

/* ---- Encodings ---- */

static bool listIsListpack(const struct listRef *l) {
    return l->encoding == LIST_LISTPACK;
}

/* Copies an embedded listpack out of the object, before a change that makes it larger by up to `more` bytes.
 * Returns where `p` is now; NULL stays NULL. */
static unsigned char *listCopyOut(struct listRef *l, unsigned char *p, size_t more) {
    if (!l->borrowed) return p;
    size_t bytes = lpBytes(l->ptr), at = p ? (size_t)(p - (unsigned char *)l->ptr) : 0;
    unsigned char *scratch = lpScratch(l->ptr, more);
    l->ptr = scratch ? scratch : memcpy(zmalloc(bytes + more), l->ptr, bytes);
    l->borrowed = false;
    return p ? (unsigned char *)l->ptr + at : NULL;
}

static void listToQuicklist(struct listRef *l) {
    listCopyOut(l, NULL, 0);
    l->ptr = qlFromListpack(lpKeep(l->ptr), max_listpack_size, compress_depth);
    l->encoding = LIST_QUICKLIST;
}

/* Whether the list is a listpack and stays one when elements come that take `add` bytes more than those that
 * they replace. As in Valkey, pushes are counted by the lengths of the strings, without entry headers: a push
 * of many short ones can make a listpack larger than the limit, which the next push then converts. */
static bool listStaysListpack(struct listRef *l, size_t add_bytes, size_t add_count) {
    if (!listIsListpack(l)) return false;
    if (qlFits(qlLimitsOf(max_listpack_size), lpBytes(l->ptr), lpLength(l->ptr), add_bytes, add_count))
        return true;
    listToQuicklist(l);
    return false;
}

static void listToListpack(struct listRef *l, struct qlLimits limits) {
    unsigned char *lp = listIsListpack(l) ? NULL : qlToListpack(l->ptr, limits);
    if (!lp) return;
    if (!largeValueKeeps(valuePtr(OBJ_LIST, LIST_QUICKLIST, l->ptr))) qlFree(l->ptr);
    *l = (struct listRef){.ptr = lp, .encoding = LIST_LISTPACK};
}

void listTypeShrink(struct listRef *l) {
    struct qlLimits half = qlLimitsOf(max_listpack_size);
    if (max_listpack_size < 0)
        half.bytes /= 2;
    else
        half.count /= 2;
    listToListpack(l, half);
}

void listTypeFit(struct listRef *l) {
    listToListpack(l, qlLimitsOf(max_listpack_size));
}

/* ---- Life ---- */

struct listRef listTypeNew(size_t bytes) {
    struct qlLimits limits = qlLimitsOf(max_listpack_size);
    size_t capacity = bytes + LP_EMPTY <= limits.bytes ? bytes + LP_EMPTY : LP_EMPTY;
    return (struct listRef){.ptr = lpNew(capacity), .encoding = LIST_LISTPACK};
}

struct listRef listTypeNewChain(void) {
    return (struct listRef){.ptr = qlNew(max_listpack_size, compress_depth), .encoding = LIST_QUICKLIST};
}

void listTypeFree(struct listRef l) {
    if (l.borrowed) return;
    if (listIsListpack(&l))
        lpFree(l.ptr);
    else
        qlFree(l.ptr);
}

static bool listIsSmall(const struct listRef *l, size_t max_bytes) {
    return listIsListpack(l) && lpBytes(l->ptr) <= max_bytes;
}

static struct value listEmbeddedValue(const unsigned char *lp) {
    return valueEmbed(OBJ_LIST, LIST_LISTPACK, strN((const char *)lp, lpBytes(lp)));
}

struct value listTypeValue(struct listRef l, char room[LIST_EMBED_MAX]) {
    debugAssert(listTypeLength(l) > 0 && !l.borrowed);
    if (listIsSmall(&l, LIST_EMBED_MAX)) {
        memcpy(room, l.ptr, lpBytes(l.ptr));
        lpFree(l.ptr);
        return listEmbeddedValue((unsigned char *)room);
    }
    if (listIsListpack(&l)) l.ptr = lpShrinkToFit(l.ptr);
    return valuePtr(OBJ_LIST, l.encoding, l.ptr);
}

/* The value is a listpack or was one: then the object has no space for a pointer. */
struct object *listTypeCommitListpack(struct db *db, struct object *o, struct listRef l) {
    if (l.borrowed) return o; /* unchanged */
    bool apart = objectHasPtr(o);
    if (listIsSmall(&l, apart ? LIST_EMBED_MAX / 2 : LIST_EMBED_MAX)) {
        o = dbReplaceValue(db, o, listEmbeddedValue(l.ptr));
        lpFree(l.ptr);
        return o;
    }
    if (!apart) {
        if (listIsListpack(&l)) l.ptr = lpKeep(l.ptr);
        return dbReplaceValue(db, o, valuePtr(OBJ_LIST, l.encoding, l.ptr));
    }
    objectSetPtr(o, l.encoding, l.ptr);
    return o;
}

void listTypeDiscard(struct object *o, struct listRef l) {
    if (objectHasPtr(o))
        objectSetPtr(o, l.encoding, l.ptr);
    else
        listTypeFree(l);
}

void listTypeDeleteKey(struct db *db, struct str key, struct object *o, struct listRef l) {
    debugAssert(listTypeLength(l) == 0);
    if (serverEventWanted(SERVER_KEY))
        listTypeCommit(db, o, l);
    else
        listTypeDiscard(o, l);
    dbDelete(db, key);
}

uint64_t listTypeLength(struct listRef l) {
    return listIsListpack(&l) ? lpLength(l.ptr) : ((struct quicklist *)l.ptr)->count;
}

/* ---- Change ---- */

/* Strings of no or one byte take several times their length. */
static bool listManyStayListpack(struct listRef *l, const struct str *s, int count) {
    size_t bytes = 0, entries = 0;
    for (int i = 0; i < count; i++) {
        bytes += s[i].len;
        entries += qlEntryBound(s[i].len);
    }
    if (entries > OVERHEAD_MAX * qlLimitsOf(max_listpack_size).bytes) bytes = entries;
    return listStaysListpack(l, bytes, (size_t)count);
}

static void listCopyOutFor(struct listRef *l, const struct str *s, int count) {
    size_t more = 0;
    for (int i = 0; i < count; i++) more += qlEntryBound(s[i].len);
    listCopyOut(l, NULL, more);
}

void listTypePushMany(struct listRef *l, const struct str *s, int count, enum listEnd end) {
    if (!listIsListpack(l) || !listManyStayListpack(l, s, count)) {
        if (end == LIST_LEFT && count > 1)
            qlPrependMany(l->ptr, s, (size_t)count);
        else
            for (int i = 0; i < count; i++) qlPush(l->ptr, s[i], (enum qlEnd)end);
        return;
    }
    if (l->borrowed) listCopyOutFor(l, s, count);
    if (end == LIST_RIGHT) {
        for (int i = 0; i < count; i++) l->ptr = lpAppend(l->ptr, s[i]);
    } else if (!lpLength(l->ptr)) { /* nothing has to be moved for it */
        while (count--) l->ptr = lpAppend(l->ptr, s[count]);
    } else {
        for (int i = 0; i < count; i++) l->ptr = lpPrepend(l->ptr, s[i]);
    }
}

void listTypePush(struct listRef *l, struct str s, enum listEnd end) {
    listTypePushMany(l, &s, 1, end);
}

void listTypeDelete(struct listRef *l, uint64_t start, uint64_t num) {
    debugAssert(start + num <= listTypeLength(*l));
    if (!num) return;
    if (listIsListpack(l)) {
        listCopyOut(l, NULL, 0);
        l->ptr = lpDeleteRange(l->ptr, (long)start, num);
    } else {
        qlDeleteRange(l->ptr, start, num);
    }
}

static size_t listEntryBytes(unsigned char *lp, unsigned char *p) {
    unsigned char *next = lpNext(lp, p);
    return (size_t)((next ? next : lp + lpBytes(lp) - 1) - p);
}

bool listTypeSet(struct listRef *l, int64_t index, struct str s) {
    struct qlCursor cursor;
    if (listIsListpack(l)) {
        unsigned char *p = lpSeek(l->ptr, index);
        if (!p) return false;
        size_t bound = qlEntryBound(s.len), was = listEntryBytes(l->ptr, p);
        if (listStaysListpack(l, bound > was ? bound - was : 0, 0)) {
            p = listCopyOut(l, p, bound);
            l->ptr = lpInsert(l->ptr, s, p, LP_REPLACE, NULL);
            return true;
        }
    }
    if (!qlCursorSeek(&cursor, l->ptr, index)) return false;
    qlReplace(&cursor, s);
    return true;
}

bool listTypeInsert(struct listRef *l, struct str pivot, struct str s, bool after) {
    struct qlCursor cursor;
    struct lpValue v;
    struct listNeedle needle = listTypeNeedle(pivot);
    if (listIsListpack(l)) {
        unsigned char *first = lpFirst(l->ptr), *p = first ? lpFind(l->ptr, first, pivot, 0) : NULL;
        if (!p) return false;
        if (listStaysListpack(l, qlEntryBound(s.len), 1)) {
            p = listCopyOut(l, p, qlEntryBound(s.len));
            l->ptr = lpInsert(l->ptr, s, p, after ? LP_AFTER : LP_BEFORE, NULL);
            return true;
        }
    }
    qlCursorStart(&cursor, l->ptr, QL_HEAD);
    while (qlNext(&cursor)) {
        qlValue(&cursor, &v);
        if (!listTypeMatches(&needle, &v)) continue;
        qlInsert(&cursor, s, after);
        return true;
    }
    qlCursorClose(&cursor);
    return false;
}

void listTypeInsertAt(struct listRef *l, uint64_t index, struct str s) {
    struct qlCursor cursor;
    if (listIsListpack(l) && listStaysListpack(l, qlEntryBound(s.len), 1)) {
        unsigned char *p = listCopyOut(l, lpSeek(l->ptr, (long)index), qlEntryBound(s.len));
        l->ptr = lpInsert(l->ptr, s, p, LP_BEFORE, NULL);
        return;
    }
    bool there = qlCursorSeek(&cursor, l->ptr, (int64_t)index);
    serverAssert(there);
    qlInsert(&cursor, s, false);
}

static uint64_t listDeleteEqualListpack(struct listRef *l, const struct listNeedle *needle, uint64_t max,
                                        enum listEnd from) {
    unsigned char *lp = l->ptr, *p = from == LIST_LEFT ? lpFirst(lp) : lpLast(lp);
    uint64_t deleted = 0;
    struct lpValue v;
    while (p && deleted < max) {
        lpGetValue(p, &v);
        if (!listTypeMatches(needle, &v)) {
            p = from == LIST_LEFT ? lpNext(lp, p) : lpPrev(lp, p);
            continue;
        }
        p = listCopyOut(l, p, 0);
        l->ptr = lp = lpDelete(l->ptr, p, &p);
        if (from == LIST_RIGHT) p = p ? lpPrev(lp, p) : lpLast(lp);
        deleted++;
    }
    return deleted;
}

uint64_t listTypeDeleteEqual(struct listRef *l, struct str s, uint64_t max, enum listEnd from) {
    struct listNeedle needle = listTypeNeedle(s);
    if (listIsListpack(l)) return listDeleteEqualListpack(l, &needle, max, from);
    struct qlCursor cursor;
    struct lpValue v;
    uint64_t deleted = 0;
    qlCursorStart(&cursor, l->ptr, (enum qlEnd)from);
    while (deleted < max && (from == LIST_LEFT ? qlNext(&cursor) : qlPrev(&cursor))) {
        qlValue(&cursor, &v);
        if (!listTypeMatches(&needle, &v)) continue;
        qlDelete(&cursor);
        deleted++;
    }
    qlCursorClose(&cursor);
    return deleted;
}

/* ---- Read ---- */

bool listTypeSeek(struct listIterator *it, struct listRef l, int64_t index) {
    it->list = l;
    if (!listIsListpack(&l)) return qlCursorSeek(&it->cursor, l.ptr, index);
    it->p = lpSeek(l.ptr, index);
    return it->p != NULL;
}

bool listTypeNext(struct listIterator *it) {
    if (!listIsListpack(&it->list)) return qlNext(&it->cursor);
    it->p = lpNext(it->list.ptr, it->p);
    return it->p != NULL;
}

bool listTypePrev(struct listIterator *it) {
    if (!listIsListpack(&it->list)) return qlPrev(&it->cursor);
    it->p = lpPrev(it->list.ptr, it->p);
    return it->p != NULL;
}

void listTypeGet(const struct listIterator *it, struct lpValue *v) {
    if (listIsListpack(&it->list))
        lpGetValue(it->p, v);
    else
        qlValue(&it->cursor, v);
}

struct str listTypeText(const struct listIterator *it, char buf[LP_INTBUF_SIZE]) {
    struct lpValue v;
    listTypeGet(it, &v);
    return v.sval ? strN(v.sval, v.slen) : strN(buf, ll2string(buf, v.lval));
}

void listTypeStop(struct listIterator *it) {
    if (!listIsListpack(&it->list)) qlCursorClose(&it->cursor);
}

struct listNeedle listTypeNeedle(struct str s) {
    struct listNeedle n = {.text = s};
    n.is_number = s.len < LP_INTBUF_SIZE && string2ll(s, &n.number);
    return n;
}

/* ---- The type ---- */

static const char *listHookEncodingName(const struct object *o) {
    return o->encoding == LIST_LISTPACK ? "listpack" : "quicklist";
}

static void listHookFree(struct value v) {
    listTypeFree((struct listRef){.ptr = v.ptr, .encoding = v.encoding});
}

static size_t listHookFreeEffort(const struct object *o) {
    return o->encoding == LIST_LISTPACK ? 1 : 2 * ((struct quicklist *)objectPtr(o))->nodes;
}

static size_t listHookMemoryUsage(const struct object *o, size_t samples) {
    if (!objectHasPtr(o)) return 0;
    return o->encoding == LIST_LISTPACK ? zmallocSize(objectPtr(o)) : qlMemory(objectPtr(o), samples);
}

static struct value listHookCopy(const struct object *o) {
    struct listRef l = listTypeOpen(o);
    if (l.borrowed) return objectValue(o);
    l.ptr = listIsListpack(&l) ? (void *)lpDup(l.ptr) : qlDup(l.ptr);
    return valuePtr(OBJ_LIST, l.encoding, l.ptr);
}

static void listHookIterate(const struct object *o, bool (*fn)(void *priv, struct str element), void *priv) {
    char buf[LP_INTBUF_SIZE];
    struct listIterator it;
    for (bool more = listTypeSeek(&it, listTypeOpen(o), 0); more && fn(priv, listTypeText(&it, buf));)
        more = listTypeNext(&it);
    listTypeStop(&it);
}

static bool listDigestElement(void *digest, struct str element) {
    digestMix(digest, element);
    return true;
}

static void listHookDigest(const struct object *o, uint8_t digest[20]) {
    listHookIterate(o, listDigestElement, digest);
}

static sds listHookDebugInfo(const struct object *o, sds s) {
    if (o->encoding == LIST_LISTPACK) return s;
    const struct quicklist *ql = objectPtr(o);
    return sdscatprintf(
        s, "ql_nodes:%u ql_avg_node:%.2f ql_listpack_max:%d ql_compressed:%d ql_uncompressed_size:%zu",
        ql->nodes, (double)ql->count / ql->nodes, ql->fill, ql->depth != 0, qlUncompressedBytes(ql));
}

/* ---- Prefetch ---- */

static bool listPrefetchListpack(const unsigned char *lp, unsigned wants, int step) {
    if (step == 0) {
        for (int i = 0; i < (wants & PREFETCH_HEAD ? LINES_TO_MOVE : 1); i++)
            __builtin_prefetch(lp + LINE * i);
        return wants & PREFETCH_TAIL;
    }
    __builtin_prefetch(lp + lpBytes(lp) - 1); /* the size has arrived */
    return false;
}

static bool listHookPrefetch(const struct object *o, const struct prefetchRequests *wants, int step,
                             struct prefetchState *state) {
    unsigned parts = wants->parts;
    if (!objectHasPtr(o)) {
        __builtin_prefetch((const char *)o + LINE);
        return false;
    }
    if (o->encoding == LIST_LISTPACK) return listPrefetchListpack(objectPtr(o), parts, step);
    return qlPrefetch(objectPtr(o), parts & PREFETCH_TAIL ? QL_TAIL : QL_HEAD, step, &state->at);
}

#define NODES_PER_CALL 128

/* A long list is moved some nodes at a time; one that a snapshot is saving stays where it is. */
static bool listDefrag(struct db *db, struct object *o, struct defragCursor *at) {
    (void)db;
    if (o->encoding == LIST_LISTPACK) {
        defragContainer(o);
        return false;
    }
    objectSetPtr(o, LIST_QUICKLIST, qlMove(objectPtr(o), &at->at[0], NODES_PER_CALL, defragMove, NULL));
    return at->at[0] != 0;
}

static size_t listHookLength(const struct object *o) {
    return listTypeLength(listTypeOpen(o));
}

static const struct objectType listType = {
    .id = OBJ_LIST,
    .name = "list",
    .encodingName = listHookEncodingName,
    .free = listHookFree,
    .freeEffort = listHookFreeEffort,
    .memoryUsage = listHookMemoryUsage,
    .length = listHookLength,
    .plural = "lists",
    .copy = listHookCopy,
    .digest = listHookDigest,
    .prefetch = listHookPrefetch,
    .iterate = listHookIterate,
    .debugInfo = listHookDebugInfo,
    .defrag = listDefrag,
    .parts = listParts,
    RDB_HOOK_FIELDS(list, LIST_RDB_TYPES),
};

static struct configDirective directives[] = {
    CONFIG_INT("list-max-listpack-size", "list-max-ziplist-size", CONFIG_MODIFIABLE, &max_listpack_size, -2,
               INT32_MIN, INT32_MAX, NULL),
    CONFIG_INT("list-compress-depth", NULL, CONFIG_MODIFIABLE, &compress_depth, 0, 0, INT32_MAX, NULL),
};

#define PACKED_THRESHOLD_MAX (UINT64_C(4) << 30)

static void listDebugPackedThreshold(struct client *c) {
    uint64_t bytes;
    if (!memtoull(c->argv[2], &bytes) || bytes >= PACKED_THRESHOLD_MAX) {
        replyError(c, "ERR argument must be a memory value bigger than 1 and smaller than 4gb");
        return;
    }
    qlSetPackedThreshold(bytes);
    replyOk(c);
}

static const char *const packed_help[] = {
    "QUICKLIST-PACKED-THRESHOLD <bytes>",
    "    List elements as long as this get a node of their own; 0: only those that do not fit into one.",
    NULL};
static const struct debugSubcommand packed_subcommand = {"quicklist-packed-threshold", 1, 1,
                                                         listDebugPackedThreshold, packed_help};

void listTypeInit(void) {
    debugRegister(&packed_subcommand);
    ql_save_of = listSaveOf;
    objectTypeRegister(&listType);
    configRegister(directives, sizeof directives / sizeof *directives);
    commandRegister(commandsList);
}
