/* SPDX-License-Identifier: BSD-3-Clause */
/* stream_idmp.c - see stream_idmp.h.
 *
 * Most producers have few records, which are found by going through their list. From MANY on a producer has a
 * table of them. */
#include "types/stream/stream_idmp.h"

#include <stdlib.h>
#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "base/assert.h"
#include "base/zmalloc.h"

#define MANY 16

int64_t idmp_duration_s, idmp_maxsize;

static struct str idmpRecordKey(const void *entry) {
    return idmpIid(entry);
}

static struct str idmpProducerKey(const void *entry) {
    return idmpName(entry);
}

static const struct hashtableType records_type = {.entryKey = idmpRecordKey, .tight = true},
                                  producers_type = {.entryKey = idmpProducerKey, .tight = true};

/* ---- Life ---- */

struct idmpStream *idmpFromPlain(struct stream *s) {
    struct idmpStream *x = zrealloc(s, sizeof *x);
    memset((char *)x + sizeof x->stream, 0, sizeof *x - sizeof x->stream);
    x->duration_s = idmp_duration_s;
    x->maxsize = idmp_maxsize;
    hashtableInit(&x->producers, &producers_type);
    return x;
}

struct stream *idmpToPlain(struct idmpStream *x) {
    serverAssert(!x->count && !listLinked(&x->node));
    hashtableDestroy(&x->producers);
    return zrealloc(x, sizeof x->stream);
}

static void idmpFreeProducer(struct idmpProducer *p) {
    hashtableRelease(p->records);
    zfree(p);
}

void idmpFreeRecords(struct idmpStream *x) {
    struct hashtableIterator it;
    void *p;
    for (struct idmpRecord *r = x->oldest, *newer; r; r = newer) {
        newer = r->newer;
        zfree(r);
    }
    hashtableInitIterator(&it, &x->producers, false);
    while (hashtableNext(&it, &p)) idmpFreeProducer(p);
    hashtableStopIterator(&it);
    hashtableDestroy(&x->producers);
    x->oldest = x->newest = NULL;
    x->count = 0;
}

struct idmpStream *idmpDup(struct idmpStream *x) {
    struct idmpStream *copy = idmpFromPlain(streamDup(&x->stream));
    copy->duration_s = x->duration_s;
    copy->maxsize = x->maxsize;
    for (const struct idmpRecord *r = x->oldest; r; r = r->newer)
        idmpAdd(copy, idmpName(r->producer), idmpIid(r), r->entry);
    copy->added = x->added;
    copy->duplicates = x->duplicates;
    return copy;
}

/* ---- Finding ---- */

struct idmpRecord *idmpFind(struct idmpStream *x, struct str pid, struct str iid) {
    struct idmpProducer *p = hashtableFind(&x->producers, pid);
    if (!p) return NULL;
    if (p->records) return hashtableFind(p->records, iid);
    struct idmpRecord *r = p->oldest;
    while (r && !strEq(idmpIid(r), iid)) r = r->next;
    return r;
}

bool idmpIsExpired(const struct idmpStream *x, const struct idmpRecord *r, int64_t now_ms) {
    uint64_t now = now_ms > 0 ? (uint64_t)now_ms : 0;
    return r->entry.ms < now && now - r->entry.ms >= (uint64_t)x->duration_s * 1000;
}

/* ---- Adding ---- */

static struct idmpProducer *idmpProducerFor(struct idmpStream *x, struct str name) {
    uint64_t hash = hashtableHash(&x->producers, name);
    struct idmpProducer *p = hashtableFindHashed(&x->producers, name, hash);
    if (p) return p;
    _Static_assert(sizeof *p == offsetof(struct idmpProducer, name), "the name begins where the struct ends");
    p = zmalloc(sizeof *p + name.len);
    *p = (struct idmpProducer){.len = (uint32_t)name.len};
    memcpy(p->name, name.ptr, name.len);
    hashtableAddUnchecked(&x->producers, p, hash);
    return p;
}

static void idmpIndex(struct idmpProducer *p) {
    p->records = hashtableCreate(&records_type);
    for (struct idmpRecord *r = p->oldest; r; r = r->next) hashtableAdd(p->records, r);
}

/* A short id lies within the struct. */
static struct idmpRecord *idmpNewRecord(struct idmpProducer *p, struct str iid, struct streamID entry) {
    size_t size = offsetof(struct idmpRecord, iid) + iid.len;
    struct idmpRecord *r = zmalloc(size < sizeof *r ? sizeof *r : size);
    *r = (struct idmpRecord){.producer = p, .entry = entry, .len = (uint32_t)iid.len};
    memcpy(r->iid, iid.ptr, iid.len);
    return r;
}

/* Appends a record to both lists. */
static void idmpAppend(struct idmpStream *x, struct idmpRecord *r) {
    struct idmpProducer *p = r->producer;
    r->older = x->newest;
    r->newer = r->next = NULL;
    *(x->newest ? &x->newest->newer : &x->oldest) = r;
    *(p->newest ? &p->newest->next : &p->oldest) = r;
    x->newest = p->newest = r;
}

void idmpAdd(struct idmpStream *x, struct str pid, struct str iid, struct streamID entry) {
    debugAssert(!idmpFind(x, pid, iid));
    struct idmpProducer *p = idmpProducerFor(x, pid);
    struct idmpRecord *r = idmpNewRecord(p, iid, entry);
    idmpAppend(x, r);
    x->count++;
    x->added++;
    if (p->records) hashtableAdd(p->records, r);
    if (++p->count == MANY && !p->records) idmpIndex(p);
    if (p->count > x->maxsize) idmpRemove(x, p->oldest);
}

/* ---- Removing ---- */

static void idmpUnlinkFromProducer(struct idmpProducer *p, struct idmpRecord *r) {
    struct idmpRecord *before = NULL;
    if (r != p->oldest)
        for (before = p->oldest; before->next != r;) before = before->next;
    *(before ? &before->next : &p->oldest) = r->next;
    if (r == p->newest) p->newest = before;
    if (p->records) hashtableRemoveEntry(p->records, r, hashtableHash(p->records, idmpIid(r)));
    p->count--;
}

void idmpRemove(struct idmpStream *x, struct idmpRecord *r) {
    struct idmpProducer *p = r->producer;
    *(r->older ? &r->older->newer : &x->oldest) = r->newer;
    *(r->newer ? &r->newer->older : &x->newest) = r->older;
    x->count--;
    idmpUnlinkFromProducer(p, r);
    zfree(r);
    if (p->count) return;
    hashtableRemoveEntry(&x->producers, p, hashtableHash(&x->producers, idmpName(p)));
    idmpFreeProducer(p);
}

struct idmpRecord *idmpFindValid(struct idmpStream *x, struct str pid, struct str iid, int64_t now_ms) {
    struct idmpRecord *r = idmpFind(x, pid, iid);
    if (!r || !idmpIsExpired(x, r, now_ms)) return r;
    const struct idmpProducer *p = r->producer;
    while (p->oldest != r && idmpIsExpired(x, p->oldest, now_ms)) idmpRemove(x, p->oldest);
    idmpRemove(x, r);
    return NULL;
}

size_t idmpExpire(struct idmpStream *x, int64_t now_ms, size_t limit) {
    size_t n = 0;
    for (; n < limit && x->oldest && idmpIsExpired(x, x->oldest, now_ms); n++) idmpRemove(x, x->oldest);
    return n;
}

static int idmpCompareRecords(const void *a, const void *b) {
    const struct idmpRecord *x = *(struct idmpRecord *const *)a, *y = *(struct idmpRecord *const *)b;
    return streamIDCompare(x->entry, y->entry);
}

void idmpSort(struct idmpStream *x) {
    struct idmpRecord **all = zmalloc(x->count * sizeof(struct idmpRecord *));
    size_t n = 0;
    for (struct idmpRecord *r = x->oldest; r; r = r->newer) {
        all[n++] = r;
        r->producer->oldest = r->producer->newest = NULL;
    }
    serverAssert(n == x->count);
    x->oldest = x->newest = NULL;
    qsort(all, n, sizeof *all, idmpCompareRecords);
    for (size_t i = 0; i < n; i++) idmpAppend(x, all[i]);
    zfree(all);
}

bool idmpConfigure(struct idmpStream *x, int64_t duration_s, int64_t maxsize) {
    serverAssert(duration_s > 0 && duration_s <= IDMP_DURATION_MAX_S);
    serverAssert(maxsize > 0 && maxsize <= IDMP_MAXSIZE_MAX);
    if (x->duration_s == duration_s && x->maxsize == maxsize) return false;
    x->duration_s = duration_s;
    x->maxsize = maxsize;
    idmpFreeRecords(x);
    hashtableInit(&x->producers, &producers_type);
    return true;
}

/* ---- Automatic ids ---- */

static XXH128_hash_t idmpHashPair(struct str field, struct str value) {
    XXH3_state_t state;
    unsigned char len[8];
    for (int i = 0; i < 8; i++) len[i] = (unsigned char)(field.len >> 8 * i);
    XXH3_128bits_reset(&state);
    XXH3_128bits_update(&state, field.ptr, field.len);
    XXH3_128bits_update(&state, len, sizeof len);
    XXH3_128bits_update(&state, value.ptr, value.len);
    return XXH3_128bits_digest(&state);
}

static void idmpWriteHalf(char *to, uint64_t sum, uint64_t other_xor) {
    uint64_t half = sum ^ (other_xor << 1 | other_xor >> 63);
    for (int i = 0; i < 8; i++) to[i] = (char)(half >> 8 * i);
}

void idmpAutoIid(const struct str *pairs, size_t count, char iid[IDMP_AUTO_BYTES]) {
    XXH128_hash_t sum = {0}, xor = {
                                 0};
    for (size_t i = 0; i < count; i++) {
        XXH128_hash_t h = idmpHashPair(pairs[2 * i], pairs[2 * i + 1]);
        sum.low64 += h.low64;
        sum.high64 += h.high64;
        xor.low64 ^= h.low64;
        xor.high64 ^= h.high64;
    }
    idmpWriteHalf(iid, sum.low64, xor.high64);
    idmpWriteHalf(iid + 8, sum.high64, xor.low64);
}

/* ---- Memory ---- */

/* Bytes of the records, estimated from `samples` of the oldest ones (0: all). */
static double idmpRecordsMemory(const struct idmpStream *x, size_t samples) {
    size_t bytes = 0, seen = 0;
    for (const struct idmpRecord *r = x->oldest; r && (!samples || seen < samples); r = r->newer, seen++)
        bytes += zmallocSize(r);
    return seen ? (double)bytes / (double)seen * (double)x->count : 0;
}

static double idmpProducersMemory(const struct idmpStream *x, size_t samples) {
    struct hashtableIterator it;
    void *entry;
    size_t bytes = 0, seen = 0;
    hashtableInitIterator(&it, (struct hashtable *)&x->producers, false);
    for (; (!samples || seen < samples) && hashtableNext(&it, &entry); seen++) {
        const struct idmpProducer *p = entry;
        bytes += zmallocSize(p);
        if (p->records) bytes += zmallocSize(p->records) + hashtableMemory(p->records);
    }
    hashtableStopIterator(&it);
    return seen ? (double)bytes / (double)seen * (double)idmpProducers(x) : 0;
}

size_t idmpMemory(const struct idmpStream *x, size_t samples) {
    double bytes = idmpRecordsMemory(x, samples) + idmpProducersMemory(x, samples);
    return hashtableMemory(&x->producers) + (size_t)bytes;
}

struct idmpMove {
    struct idmpStream *stream;
    void *(*move)(void *priv, void *ptr);
    void *priv;
};

/* Moves the record that *place points to, its predecessor's or producer's pointer. */
static void idmpMoveRecord(const struct idmpMove *m, struct idmpRecord **place) {
    struct idmpRecord *old = *place, *r = m->move(m->priv, old);
    if (!r) return;
    struct idmpStream *x = m->stream;
    *place = r;
    *(r->older ? &r->older->newer : &x->oldest) = r;
    *(r->newer ? &r->newer->older : &x->newest) = r;
    if (!r->next) r->producer->newest = r;
    struct hashtable *records = r->producer->records;
    if (records) hashtableReplaceEntry(records, old, r, hashtableHash(records, idmpIid(r)));
}

static void idmpMoveProducer(void *priv, void *entry) {
    const struct idmpMove *m = priv;
    struct idmpProducer *p = m->move(m->priv, entry);
    if (p) {
        hashtableReplaceEntry(&m->stream->producers, entry, p,
                              hashtableHash(&m->stream->producers, idmpName(p)));
        for (struct idmpRecord *r = p->oldest; r; r = r->next) r->producer = p;
    } else {
        p = entry;
    }
    if (p->records) {
        struct hashtable *records = m->move(m->priv, p->records);
        if (records) p->records = records;
        hashtableMoveArrays(p->records, m->move, m->priv);
    }
    for (struct idmpRecord **place = &p->oldest; *place; place = &(*place)->next) idmpMoveRecord(m, place);
}

uint64_t idmpMove(struct idmpStream *x, uint64_t cursor, void *(*move)(void *priv, void *ptr), void *priv) {
    struct idmpMove m = {x, move, priv};
    if (!cursor) hashtableMoveArrays(&x->producers, move, priv);
    return hashtableScan(&x->producers, cursor, idmpMoveProducer, &m);
}
