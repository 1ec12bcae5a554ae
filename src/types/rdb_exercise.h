/* SPDX-License-Identifier: BSD-3-Clause */
/* rdb_exercise.h - for tests and fuzzers: loads a value from arbitrary bytes, and uses it in every way that
 * could fail on something that loading should have rejected. */
#pragma once

#include "base/assert.h"
#include "base/zmalloc.h"
#include "command/command.h"
#include "data/rdb/rdb.h"
#include "data/rdb/rewrite.h"
#include "data/rdb/rio_pieces.h"
#include "data/type.h"
#include "registry/config.h"
#include "types/hash/hash_private.h"
#include "types/list/list.h"
#include "types/pathhash/pathhash.h"
#include "types/set/set.h"
#include "types/stream/stream.h"
#include "types/stream/stream_idmp.h"
#include "types/stream/stream_node.h"
#include "types/string/string_commands.h"
#include "types/types.h"
#include "types/zset/zset.h"

/* Returns the value as an object, or NULL. piece 0: from memory, else from a stream in pieces of so many
 * bytes. */
static struct object *exerciseLoadVersion(int version, struct str body, bool deep, size_t piece,
                                          enum rdbLoaded *result) {
    struct rioPieces source = {body, piece};
    struct rdbReader r = {.version = version, .deep = deep, .from_client = true};
    struct object *o = NULL;
    struct value v;
    uint8_t type;
    if (piece)
        rioReaderInit(&r.io, rioReadPiece, &source, RIO_SIZE_UNKNOWN);
    else
        rioReaderInitMemory(&r.io, body);
    *result = rioReadByte(&r.io, &type) ? rdbReadValue(&r, type, &v) : RDB_FAILED;
    if (*result == RDB_LOADED) o = objectCreate(STR("key"), OBJ_NO_EXPIRE, v);
    serverAssert((*result == RDB_FAILED) == rioFailed(&r.io));
    rdbReaderFree(&r);
    return o;
}

static inline struct object *exerciseLoad(struct str body, bool deep, size_t piece, enum rdbLoaded *result) {
    return exerciseLoadVersion(RDB_VERSION_LATEST, body, deep, piece, result);
}

/* Version 0: ours. */
static inline sds exerciseSaveVersion(int version, const struct object *o) {
    sds bytes = sdsempty();
    struct rioWriter w;
    rioWriterInit(&w, rioSinkSds, &bytes);
    w.version = version;
    rioWriteByte(&w, rdbValueType(&w, o));
    rdbWriteValue(&w, o);
    rioFlush(&w);
    rioWriterFree(&w);
    return bytes;
}

static inline sds exerciseSave(const struct object *o) {
    return exerciseSaveVersion(0, o);
}

static inline sds exerciseRewrite(const struct object *o) {
    sds text = sdsempty();
    struct rioWriter w;
    rioWriterInit(&w, rioSinkSds, &text);
    objectTypeOf(o)->rewrite(&w, objectKey(o), o);
    rioFlush(&w);
    rioWriterFree(&w);
    return text;
}

/* ---- Changes, until nothing is left ---- */

static void exerciseList(struct object *o) {
    struct listRef l = listTypeOpen(o);
    struct listIterator it;
    char text[LP_INTBUF_SIZE];
    uint64_t n = 0;
    for (bool more = listTypeSeek(&it, l, -1); more; more = listTypePrev(&it)) {
        listTypeText(&it, text);
        n++;
    }
    listTypeStop(&it);
    serverAssert(n == listTypeLength(l));
    listTypePush(&l, STR("pushed"), LIST_LEFT);
    listTypePush(&l, STR("pushed"), LIST_RIGHT);
    listTypeSet(&l, (int64_t)n / 2, STR("set"));
    listTypeDelete(&l, 1, n);
    listTypeShrink(&l);
    serverAssert(listTypeLength(l) == 2);
    listTypeDiscard(o, l);
}

static void exerciseSet(struct object *o, struct object *copy) {
    struct setRef s = setOpen(copy);
    struct setIterator it;
    struct setMember m;
    setRandom(s, &m);
    setAdd(&s, STR("a member that is added"));
    setIterate(&it, setOpen(o));
    while (setNext(&it, &m)) {
        bool removed = setRemove(&s, m.s);
        serverAssert(removed);
    }
    setStop(&it);
    serverAssert(setSize(s) <= 1);
    setCommit(copy, s);
}

/* `copy` is opened and dropped here; only its header is left. */
static void exerciseHash(struct object *o, struct object *copy) {
    struct hash from, h;
    struct hashIterator it;
    struct hashItem item;
    hashOpen(&from, o);
    hashOpen(&h, copy);
    hashRandomPlace(&h);
    hashSet(&h, STR("a field that is added"), (struct hashInput){STR("value"), NULL}, false);
    hashIterate(&it, &from);
    while (hashNext(&it, &item)) {
        if (item.expire_ms != HASH_NO_EXPIRE) hashSetExpire(&h, item.field.s, item.expire_ms ^ 1);
        hashRemove(&h, item.field.s);
        serverAssert(!hashGet(&h, item.field.s, NULL));
    }
    hashStop(&it);
    hashDrop(&h);
}

static void exerciseZset(struct object *o, struct object *copy) {
    struct zsetRef z = zsetOpen(copy);
    struct zsetIterator it;
    struct zsetElement e;
    struct zsetPlace p;
    struct zscore score = zscoreOf(0.5);
    uint64_t i = 0;
    zsetAdd(&z, STR("a member that is added"), &score, 0);
    for (it = zsetIterate(zsetOpen(o), 0); zsetNext(&it, &e); i++) {
        bool found = zsetFind(z, e.member, &p);
        serverAssert(found);
        struct zscore moved = zscoreOf(-e.score.value);
        if (i % 3 == 0) zsetAdd(&z, e.member, &moved, 0);
        if (i % 3 == 1) zsetRemove(&z, e.member);
    }
    zsetRemoveRange(&z, 0, zsetLength(z));
    zsetCommit(copy, z);
}

/* Every record is found, and all expire in order. */
static void exerciseRecords(struct idmpStream *x) {
    size_t n = 0;
    for (struct idmpRecord *r = x->oldest; r; r = r->newer, n++) {
        serverAssert(idmpFind(x, idmpName(r->producer), idmpIid(r)) == r);
        serverAssert(!r->older || streamIDCompare(r->older->entry, r->entry) <= 0);
    }
    serverAssert(n == x->count && idmpProducers(x) <= n);
    idmpAdd(x, STR("a name that is added"), STR("i"), STREAM_ID_MAX);
    if (x->oldest->next) idmpRemove(x, x->oldest->next);
    idmpExpire(x, INT64_MAX, SIZE_MAX);
    while (x->oldest) idmpRemove(x, x->newest);
    serverAssert(!idmpProducers(x));
}

static void exerciseStream(struct object *copy) {
    struct stream *s = streamOpen(copy);
    if (idmpOpen(copy)) exerciseRecords(idmpOpen(copy));
    struct streamIterator it;
    struct str pair[2] = {STR("field"), STR("value")}, field, value;
    struct streamID last = s->last_id;
    for (int reverse = 0; reverse < 2; reverse++) {
        uint64_t n = 0;
        streamIterate(&it, s, STREAM_ID_MIN, STREAM_ID_MAX, reverse);
        for (; streamNext(&it); n++)
            for (int64_t i = 0; i < it.pairs; i++) streamNextPair(&it, &field, &value);
        streamStop(&it);
    }
    if (streamIDNext(&last)) streamAppend(s, last, pair, 1);
    streamDelete(s, s->first_id);
    struct streamTrim half = {.kind = TRIM_MAXLEN, .maxlen = (int64_t)s->length / 2};
    struct streamTrim all = {.kind = TRIM_MINID, .minid = STREAM_ID_MAX, .approximate = true};
    streamTrimTo(s, &half);
    streamTrimTo(s, &all);
}

static void exercisePath(struct pathHash *all, struct pathHash *ph, struct str path) {
    struct payloadChange e;
    struct hash h;
    size_t length;
    void **place = pathmapLongest(all->paths, path, &length);
    serverAssert(place && length == path.len && place == pathmapFind(all->paths, path));
    payloadInsert(&e, ph, path); /* it may have been removed with a prefix */
    hashSet(&e.h, STR("a field that is added"), (struct hashInput){.text = path}, false);
    payloadCommit(&e);
    bool found = pathHashGet(ph, path, &h) && hashGet(&h, STR("a field that is added"), NULL);
    serverAssert(found);
}

static void exercisePathHash(struct object *o, struct object *copy) {
    struct pathHash *all = pathHashOpen(o), *ph = pathHashOpen(copy);
    struct pathmapIterator it;
    size_t n = 0;
    pathmapCheck(all->paths);
    pathmapIterate(&it, all->paths, STR(""), NULL);
    for (; pathmapNext(&it); n++) {
        exercisePath(all, ph, sdsview(it.path));
        if (n % 3 == 0) pathHashRemove(ph, sdsview(it.path), false);
        if (n % 5 == 0) pathHashRemovePrefix(ph, strN(it.path, sdslen(it.path) - sdslen(it.path) / 3), false);
        if (n % 3 == 0 || n % 5 == 0) pathHashRemovePrefix(ph, sdsview(it.path), false);
    }
    pathmapStop(&it);
    serverAssert(n == pathHashCount(all));
    pathmapCheck(ph->paths);
    pathHashRemovePrefix(ph, STR(""), false);
    serverAssert(!pathHashCount(ph) && !ph->table_fields);
}

static void exerciseChange(struct object *o) {
    const struct objectType *type = objectTypeOf(o);
    struct object *copy = objectCreate(STR("copy"), OBJ_NO_EXPIRE, type->copy(o));
    switch (type->id) {
    case OBJ_LIST: exerciseList(copy); break;
    case OBJ_SET: exerciseSet(o, copy); break;
    case OBJ_ZSET: exerciseZset(o, copy); break;
    case OBJ_STREAM: exerciseStream(copy); break;
    case OBJ_PATH_HASH: exercisePathHash(o, copy); break;
    case OBJ_HASH:
        exerciseHash(o, copy);
        objectFreeHeader(copy);
        return;
    }
    objectFree(copy);
}

/* ---- Everything together ---- */

static void exerciseValue(const struct object *o, uint8_t digest[20]) {
    const struct objectType *type = objectTypeOf(o);
    memset(digest, 0, 20);
    type->digest(o, digest);
    type->memoryUsage(o, 0);
    type->memoryUsage(o, 5);
    type->freeEffort(o);
    type->encodingName(o);
    sdsfree(exerciseRewrite(o));
}

/* Loads, uses, saves in the same family of versions, loads again and compares. */
static enum rdbLoaded exerciseBytesVersion(int version, struct str body, bool deep, size_t piece) {
    enum rdbLoaded result, again;
    uint8_t digest[20], other[20];
    struct object *o = exerciseLoadVersion(version, body, deep, piece, &result);
    if (!o) return result;
    exerciseValue(o, digest);
    sds bytes = exerciseSaveVersion(rdbVersionIsRedis(version) ? version : 0, o);
    struct object *reloaded = exerciseLoadVersion(version, sdsview(bytes), deep, 0, &again);
    serverAssert(reloaded);
    exerciseValue(reloaded, other);
    serverAssert(memcmp(digest, other, sizeof digest) == 0);
    exerciseChange(reloaded);
    objectFree(reloaded);
    sdsfree(bytes);
    exerciseChange(o);
    objectFree(o);
    return result;
}

static inline enum rdbLoaded exerciseBytes(struct str body, bool deep, size_t piece) {
    return exerciseBytesVersion(RDB_VERSION_LATEST, body, deep, piece);
}

/* ---- For fuzzing: | flags | type | value |, where flags are deep, btree, how the bytes are read (2 bits),
 * and whether they are Redis's ---- */

static inline enum rdbLoaded exerciseFuzzed(struct str bytes) {
    const char *err;
    static const size_t pieces[] = {0, 0, 1, 13};
    if (bytes.len < 1) return RDB_FAILED;
    unsigned flags = (unsigned char)bytes.ptr[0];
    configSet("zset-index", flags & 2 ? STR("btree") : STR("skiplist"), &err);
    return exerciseBytesVersion(flags & 16 ? RDB_VERSION_REDIS_86 : RDB_VERSION_LATEST,
                                strN(bytes.ptr + 1, bytes.len - 1), flags & 1, pieces[flags >> 2 & 3]);
}

/* Registers the types and what they need. The caller defines their (empty) tables of commands. */
static inline void exerciseInit(void) {
    commandCoreInit();
    rdbInit();
    stringInit();
    listTypeInit();
    setInit();
    hashTypeInit();
    zsetInit();
    streamInit();
    pathHashInit();
}
