/* SPDX-License-Identifier: BSD-3-Clause */
/* stream_rdb.c - streams in files (part of rdb_hooks.h).
 *
 *     number of nodes, then each:  ID of the node: a string of 16 bytes, big endian | listpack
 *     length | last ID | (2: first ID | highest deleted ID | entries ever added)
 *     number of groups, then each:
 *         name | last delivered ID | (2: entries read)
 *         number of pending entries, then each:  ID: 16 bytes | delivered: ms | times delivered
 *         number of consumers, then each:
 *             name | seen: ms | (3: active: ms)
 *             number of pending entries, then each:  ID: 16 bytes
 *     (4: duration: s | maximal number of records of a producer
 *         number of producers, then each:
 *             name
 *             number of records, then each:  id | ID of the entry
 *         records ever added | duplicates ever found)
 *
 * IDs without a note are two numbers. Fields after "2:", "3:" and "4:" exist since these versions of the
 * format. Only streams that have idempotence records, or limits of their own for them, are written in
 * version 4. */
#include "types/stream/stream_rdb.h"

#include "base/zmalloc.h"
#include "data/rdb/rewrite.h"
#include "types/rdb_hooks.h"
#include "types/stream/stream.h"
#include "types/stream/stream_idmp.h"
#include "types/stream/stream_node.h"
#include "types/types.h"

#define KEY_BYTES    sizeof(struct streamKey)
#define NODE_MIN     (1 + KEY_BYTES + 1) /* minimal bytes of a node in a file */
#define GROUP_MIN    5
#define NACK_MIN     (KEY_BYTES + 9)
#define CONSUMER_MIN 10 /* minimal bytes of a consumer */
#define PRODUCER_MIN 3
#define RECORD_MIN   4

uint8_t streamRdbType(const struct object *o, int version) {
    const struct idmpStream *x = idmpOpen(o);
    if (x && idmpHasState(x) && rdbVersionHas(version, RDB_TYPE_STREAM_LISTPACKS_4))
        return RDB_TYPE_STREAM_LISTPACKS_4;
    return rdbIsForRedis7(version) ? RDB_TYPE_STREAM_LISTPACKS_2 : RDB_TYPE_STREAM_LISTPACKS_3;
}

/* ---- Saving ---- */

static void streamRdbWriteID(struct rioWriter *w, struct streamID id) {
    rdbWriteLen(w, id.ms);
    rdbWriteLen(w, id.seq);
}

void streamRdbWriteNode(struct rioWriter *w, struct str key, struct streamNode *node) {
    size_t bytes = nodePublishedBytes(node);
    unsigned char *lp = zmalloc(bytes);
    nodePublish(node, streamKeyID(key), lp);
    rdbWriteString(w, key);
    rdbWriteString(w, strN((const char *)lp, bytes));
    zfree(lp);
}

static void streamRdbWriteNodes(struct rioWriter *w, struct stream *s) {
    struct raxIterator it;
    rdbWriteLen(w, streamNodes(s));
    raxStart(&it, &s->nodes);
    for (bool more = raxSeek(&it, "^", STR("")); more; more = raxNext(&it))
        streamRdbWriteNode(w, it.key, it.value);
    raxStop(&it);
    if (s->tail) {
        struct streamKey key = streamKeyOf(s->tail_id);
        streamRdbWriteNode(w, streamKeyView(&key), s->tail);
    }
}

void streamRdbWriteCounters(struct rioWriter *w, const struct stream *s) {
    rdbWriteLen(w, s->length);
    streamRdbWriteID(w, s->last_id);
    streamRdbWriteID(w, s->first_id);
    streamRdbWriteID(w, s->max_deleted_id);
    rdbWriteLen(w, s->entries_added);
    rdbWriteLen(w, s->groups.size);
}

void streamRdbWriteGroupHead(struct rioWriter *w, struct str name, struct streamID last_id,
                             int64_t entries_read, uint64_t pending) {
    rdbWriteString(w, name);
    streamRdbWriteID(w, last_id);
    rdbWriteLen(w, (uint64_t)entries_read);
    rdbWriteLen(w, pending);
}

void streamRdbWriteConsumerHead(struct rioWriter *w, struct str name, int64_t seen_ms, int64_t active_ms,
                                uint64_t pending) {
    rdbWriteString(w, name);
    rdbWriteInt64(w, seen_ms);
    if (!rdbIsForRedis7(w->version)) rdbWriteInt64(w, active_ms);
    rdbWriteLen(w, pending);
}

void streamRdbWriteNack(struct rioWriter *w, struct str key, int64_t delivered_ms, uint64_t deliveries) {
    rioWriteStr(w, key);
    rdbWriteInt64(w, delivered_ms);
    rdbWriteLen(w, deliveries);
}

static void streamRdbWriteConsumer(struct rioWriter *w, struct str name, const struct streamConsumer *c) {
    struct raxIterator it;
    streamRdbWriteConsumerHead(w, name, c->seen_ms, c->active_ms, c->pending.size);
    raxStart(&it, &c->pending);
    for (bool more = raxSeek(&it, "^", STR("")); more; more = raxNext(&it)) rioWriteStr(w, it.key);
    raxStop(&it);
}

static void streamRdbWriteGroup(struct rioWriter *w, struct str name, const struct streamGroup *g) {
    struct raxIterator it;
    streamRdbWriteGroupHead(w, name, g->last_id, g->entries_read, g->pending.size);
    raxStart(&it, &g->pending);
    for (bool more = raxSeek(&it, "^", STR("")); more; more = raxNext(&it)) {
        const struct streamNack *nack = it.value;
        streamRdbWriteNack(w, it.key, nack->delivered_ms, nack->deliveries);
    }
    raxStop(&it);
    rdbWriteLen(w, g->consumers.size);
    raxStart(&it, &g->consumers);
    for (bool more = raxSeek(&it, "^", STR("")); more; more = raxNext(&it))
        streamRdbWriteConsumer(w, it.key, it.value);
    raxStop(&it);
}

static void streamRdbWriteProducer(struct rioWriter *w, const struct idmpProducer *p) {
    rdbWriteString(w, idmpName(p));
    rdbWriteLen(w, p->count);
    for (const struct idmpRecord *r = p->oldest; r; r = r->next) {
        rdbWriteString(w, idmpIid(r));
        streamRdbWriteID(w, r->entry);
    }
}

static void streamRdbWriteRecords(struct rioWriter *w, struct idmpStream *x) {
    struct hashtableIterator it;
    void *producer;
    rdbWriteLen(w, (uint64_t)x->duration_s);
    rdbWriteLen(w, (uint64_t)x->maxsize);
    rdbWriteLen(w, idmpProducers(x));
    hashtableInitIterator(&it, &x->producers, false);
    while (hashtableNext(&it, &producer)) streamRdbWriteProducer(w, producer);
    hashtableStopIterator(&it);
    rdbWriteLen(w, x->added);
    rdbWriteLen(w, x->duplicates);
}

void streamRdbWriteIdempotence(struct rioWriter *w, const struct object *o) {
    if (streamRdbType(o, w->version) == RDB_TYPE_STREAM_LISTPACKS_4) streamRdbWriteRecords(w, idmpOpen(o));
}

void streamRdbSave(struct rioWriter *w, const struct object *o) {
    struct stream *s = streamOpen(o);
    struct raxIterator it;
    streamRdbWriteNodes(w, s);
    streamRdbWriteCounters(w, s);
    raxStart(&it, &s->groups);
    for (bool more = raxSeek(&it, "^", STR("")); more; more = raxNext(&it))
        streamRdbWriteGroup(w, it.key, it.value);
    raxStop(&it);
    streamRdbWriteIdempotence(w, o);
}

/* ---- Loading ---- */

static bool streamRdbReadID(struct rdbReader *r, struct streamID *id) {
    return rdbReadLen(r, &id->ms) && rdbReadLen(r, &id->seq);
}

static bool streamRdbReadKey(struct rdbReader *r, struct streamKey *key) {
    return rioRead(&r->io, key->bytes, sizeof key->bytes);
}

static bool streamRdbLoadNode(struct rdbReader *r, struct stream *s) {
    struct str key;
    size_t size;
    if (!rdbReadString(r, &key)) return false;
    if (key.len != KEY_BYTES) return rioFail(&r->io, "a stream node's ID of %zu bytes", key.len);
    struct streamID id = streamKeyID(key);
    if (streamNodes(s) && streamIDCompare(id, s->tail_id) <= 0)
        return rioFail(&r->io, "stream nodes out of order");
    unsigned char *lp = rdbReadBlob(r, &size);
    if (!lp) return false;
    struct streamNode *node = nodeFromPublished(lp, size, id);
    zfree(lp);
    if (!node) return rioFail(&r->io, "a stream node that is not sound");
    s->length += node->entries;
    streamAddNode(s, id, node);
    return true;
}

static bool streamRdbIsInOrder(struct stream *s) {
    struct streamIterator it;
    struct streamID last = STREAM_ID_MIN;
    bool ordered = true, first = true;
    streamIterate(&it, s, STREAM_ID_MIN, STREAM_ID_MAX, false);
    for (; ordered && streamNext(&it); last = it.id, first = false)
        ordered = first || streamIDCompare(last, it.id) < 0;
    streamStop(&it);
    return ordered;
}

/* Reads the counters. Those that follow from the nodes must agree with them, except the first ID, as some
 * servers have written a wrong one. */
static bool streamRdbLoadCounters(struct rdbReader *r, struct stream *s, bool first_version) {
    uint64_t length;
    struct streamID first;
    if (!rdbReadLen(r, &length) || !streamRdbReadID(r, &s->last_id)) return false;
    if (length != s->length) return rioFail(&r->io, "a stream's length is not that of its nodes");
    streamFixFirst(s);
    if (s->length && streamIDCompare(s->last_id, streamHighestID(s)) < 0)
        return rioFail(&r->io, "a stream has entries behind its last ID");
    if (r->deep && !streamRdbIsInOrder(s)) return rioFail(&r->io, "entries of a stream are out of order");
    s->entries_added = length;
    if (first_version) return true;
    return streamRdbReadID(r, &first) && streamRdbReadID(r, &s->max_deleted_id) &&
           rdbReadLen(r, &s->entries_added);
}

static bool streamRdbLoadPending(struct rdbReader *r, struct streamGroup *g) {
    uint64_t n;
    if (!rdbReadCount(r, NACK_MIN, &n)) return false;
    for (; n; n--) {
        struct streamKey key;
        struct streamNack nack = {.consumer = NULL};
        if (!streamRdbReadKey(r, &key) || !rdbReadInt64(r, &nack.delivered_ms) ||
            !rdbReadLen(r, &nack.deliveries))
            return false;
        struct streamNack *own = zmalloc(sizeof *own);
        void *old;
        *own = nack;
        if (raxInsert(&g->pending, streamKeyView(&key), own, &old)) continue;
        zfree(old);
        return rioFail(&r->io, "an entry is pending twice");
    }
    return true;
}

static bool streamRdbLoadConsumer(struct rdbReader *r, struct streamGroup *g, bool has_active,
                                  uint64_t *claimed) {
    struct str name;
    struct streamConsumer *consumer;
    uint64_t n;
    if (!rdbReadElement(r, &name)) return false;
    if (streamConsumerFind(g, name)) return rioFail(&r->io, "a consumer is in its group twice");
    consumer = streamConsumerCreate(g, name, 0);
    if (!rdbReadInt64(r, &consumer->seen_ms)) return false;
    consumer->active_ms = consumer->seen_ms;
    if (has_active && !rdbReadInt64(r, &consumer->active_ms)) return false;
    if (!rdbReadCount(r, KEY_BYTES, &n)) return false;
    *claimed += n;
    for (; n; n--) {
        struct streamKey key;
        void *p;
        if (!streamRdbReadKey(r, &key)) return false;
        if (!raxFind(&g->pending, streamKeyView(&key), &p))
            return rioFail(&r->io, "an entry is pending for a consumer, but not in its group");
        struct streamNack *nack = p;
        if (nack->consumer) return rioFail(&r->io, "an entry is pending for two consumers");
        nack->consumer = consumer;
        raxInsert(&consumer->pending, streamKeyView(&key), nack, NULL);
    }
    return true;
}

static bool streamRdbLoadGroup(struct rdbReader *r, struct stream *s, uint8_t rdb_type) {
    struct str name;
    struct streamID last;
    uint64_t read = (uint64_t)STREAM_READ_UNKNOWN, n, claimed = 0;
    if (!rdbReadElement(r, &name)) return false;
    struct streamGroup *g = streamGroupCreate(s, name, STREAM_ID_MIN, STREAM_READ_UNKNOWN);
    if (!g) return rioFail(&r->io, "a group is in its stream twice");
    if (!streamRdbReadID(r, &last)) return false;
    if (rdb_type != RDB_TYPE_STREAM_LISTPACKS && !rdbReadLen(r, &read)) return false;
    g->last_id = last;
    g->entries_read = (int64_t)read;
    int64_t lag; /* the oldest form lacks it; at an end of the stream it follows from the ID */
    if (rdb_type == RDB_TYPE_STREAM_LISTPACKS && streamGroupLag(s, g, &lag))
        g->entries_read = (int64_t)(s->entries_added - (uint64_t)lag);
    if (!streamRdbLoadPending(r, g) || !rdbReadCount(r, CONSUMER_MIN, &n)) return false;
    for (; n; n--)
        if (!streamRdbLoadConsumer(r, g, rdb_type >= RDB_TYPE_STREAM_LISTPACKS_3, &claimed)) return false;
    return claimed == g->pending.size || rioFail(&r->io, "an entry is pending for no consumer");
}

static bool streamRdbLoadStream(struct rdbReader *r, uint8_t rdb_type, struct stream *s) {
    uint64_t n;
    if (!rdbReadCount(r, NODE_MIN, &n)) return false;
    for (; n; n--)
        if (!streamRdbLoadNode(r, s)) return false;
    if (!streamRdbLoadCounters(r, s, rdb_type == RDB_TYPE_STREAM_LISTPACKS)) return false;
    if (!rdbReadCount(r, GROUP_MIN, &n)) return false;
    for (; n; n--)
        if (!streamRdbLoadGroup(r, s, rdb_type)) return false;
    return true;
}

/* ---- Loading idempotence records ---- */

static bool streamRdbLoadLimits(struct rdbReader *r, struct idmpStream *x) {
    uint64_t duration_s, maxsize;
    if (!rdbReadLen(r, &duration_s) || !rdbReadLen(r, &maxsize)) return false;
    if (!duration_s || duration_s > IDMP_DURATION_MAX_S || !maxsize || maxsize > IDMP_MAXSIZE_MAX)
        return rioFail(&r->io, "limits of a stream's idempotence that no server has");
    idmpConfigure(x, (int64_t)duration_s, (int64_t)maxsize);
    return true;
}

static bool streamRdbLoadRecord(struct rdbReader *r, struct idmpStream *x, struct str pid) {
    struct rdbHeld iid = {.own = NULL};
    struct streamID entry;
    bool ok = rdbReadHeld(r, &iid) && streamRdbReadID(r, &entry);
    if (ok && (!iid.s.len || idmpFind(x, pid, iid.s)))
        ok = rioFail(&r->io, "a producer of a stream has an id twice, or an empty one");
    if (ok) idmpAdd(x, pid, iid.s, entry);
    rdbHeldFree(&iid);
    return ok;
}

static bool streamRdbLoadProducer(struct rdbReader *r, struct idmpStream *x) {
    struct rdbHeld pid = {.own = NULL};
    uint64_t n = 0;
    bool ok = rdbReadHeld(r, &pid) && rdbReadCount(r, RECORD_MIN, &n);
    if (ok && (!pid.s.len || n > (uint64_t)x->maxsize))
        ok = rioFail(&r->io, "a producer of a stream has no name, or too many records");
    for (; ok && n; n--) ok = streamRdbLoadRecord(r, x, pid.s);
    rdbHeldFree(&pid);
    return ok;
}

static bool streamRdbLoadRecords(struct rdbReader *r, struct idmpStream *x) {
    uint64_t n;
    if (!streamRdbLoadLimits(r, x) || !rdbReadCount(r, PRODUCER_MIN, &n)) return false;
    for (; n; n--)
        if (!streamRdbLoadProducer(r, x)) return false;
    idmpSort(x);
    return rdbReadLen(r, &x->added) && rdbReadLen(r, &x->duplicates);
}

/* Redis 8.6 writes all its streams in version 4. Most have nothing but its default limits; these stay plain
 * when the limits are ours, too. */
static bool streamRdbLoadVersion4(struct rdbReader *r, struct stream *s, struct value *v) {
    struct idmpStream *x = idmpFromPlain(s);
    *v = idmpValue(x);
    if (!streamRdbLoadRecords(r, x)) return false;
    if (!idmpHasState(x) && !x->added && !x->duplicates) *v = streamValue(idmpToPlain(x));
    return true;
}

/* A stream without entries is a valid value. */
enum rdbLoaded streamRdbLoad(struct rdbReader *r, uint8_t rdb_type, struct value *v) {
    struct stream *s = streamNew();
    *v = streamValue(s);
    if (streamRdbLoadStream(r, rdb_type, s) &&
        (rdb_type != RDB_TYPE_STREAM_LISTPACKS_4 || streamRdbLoadVersion4(r, s, v)))
        return RDB_LOADED;
    if (v->encoding == STREAM_ENCODING_IDMP) idmpFreeRecords(v->ptr);
    streamFree(v->ptr);
    return RDB_FAILED;
}

/* ---- Rewriting ---- */

static void streamRdbRewriteID(struct rioWriter *w, struct streamID id) {
    char text[STREAM_ID_TEXT];
    rewriteArg(w, streamIDText(id, text));
}

/* XCLAIM accepts only entries that exist. So pending entries that are no longer in the stream are added among
 * the others, without fields, and removed when they have been claimed. */
static void streamRdbFindMissing(struct stream *s, struct rax *missing) {
    struct raxIterator groups, it;
    raxStart(&groups, &s->groups);
    for (bool more = raxSeek(&groups, "^", STR("")); more; more = raxNext(&groups)) {
        raxStart(&it, &((struct streamGroup *)groups.value)->pending);
        for (bool next = raxSeek(&it, "^", STR("")); next; next = raxNext(&it))
            if (!streamExists(s, streamKeyID(it.key))) raxInsert(missing, it.key, NULL, NULL);
        raxStop(&it);
    }
    raxStop(&groups);
}

static void streamRdbRewriteAdd(struct rioWriter *w, struct str key, struct streamID id, int64_t pairs) {
    rewriteCommand(w, 3 + 2 * pairs);
    rewriteArgs(w, STR("XADD"), key);
    streamRdbRewriteID(w, id);
}

void streamRdbRewritePlaceholder(struct rioWriter *w, struct str key, struct streamID id) {
    streamRdbRewriteAdd(w, key, id, 1);
    rewriteArgs(w, STR("x"), STR("y"));
}

void streamRdbRewriteEntries(struct rioWriter *w, struct str key, struct stream *s, const struct rax *missing,
                             struct streamID *next) {
    struct streamIterator it;
    struct raxIterator hole;
    struct streamKey from = streamKeyOf(*next);
    raxStart(&hole, missing);
    bool more = raxSeek(&hole, ">=", streamKeyView(&from));
    streamIterate(&it, s, STREAM_ID_MIN, STREAM_ID_MAX, false);
    while (streamNext(&it)) {
        for (; more && streamIDCompare(streamKeyID(hole.key), it.id) < 0; more = raxNext(&hole))
            streamRdbRewritePlaceholder(w, key, streamKeyID(hole.key));
        streamRdbRewriteAdd(w, key, it.id, it.pairs);
        for (int64_t i = 0; i < it.pairs; i++) {
            struct str field, value;
            streamNextPair(&it, &field, &value);
            rewriteArgs(w, field, value);
        }
        *next = it.id; /* is not missing */
    }
    streamStop(&it);
    raxStop(&hole);
}

static void streamRdbRewriteLastPlaceholders(struct rioWriter *w, struct str key, const struct rax *missing,
                                             struct streamID next) {
    struct raxIterator it;
    struct streamKey from = streamKeyOf(next);
    raxStart(&it, missing);
    for (bool more = raxSeek(&it, ">=", streamKeyView(&from)); more; more = raxNext(&it))
        streamRdbRewritePlaceholder(w, key, streamKeyID(it.key));
    raxStop(&it);
}

/* An entry that is trimmed as it is added leaves an empty stream. */
void streamRdbRewriteEmpty(struct rioWriter *w, struct str key, struct streamID last) {
    rewriteCommand(w, 7);
    rewriteArgs(w, STR("XADD"), key, STR("MAXLEN"), STR("0"));
    streamRdbRewriteID(w, streamIDIsZero(last) ? (struct streamID){0, 1} : last);
    rewriteArgs(w, STR("x"), STR("y"));
}

void streamRdbTrimPlaceholders(struct rioWriter *w, struct str key, const struct stream *s,
                               const struct rax *missing) {
    struct raxIterator it;
    raxStart(&it, missing);
    bool any = raxSeek(&it, "^", STR(""));
    if (any && s->length && streamIDCompare(streamKeyID(it.key), s->first_id) < 0) {
        rewriteCommand(w, 4);
        rewriteArgs(w, STR("XTRIM"), key, STR("MINID"));
        streamRdbRewriteID(w, s->first_id);
    } else if (any && !s->length) {
        rewriteCommand(w, 4);
        rewriteArgs(w, STR("XTRIM"), key, STR("MAXLEN"));
        rewriteArgInt(w, 0);
    }
    raxStop(&it);
}

void streamRdbDeletePlaceholder(struct rioWriter *w, struct str key, struct streamID id) {
    rewriteCommand(w, 3);
    rewriteArgs(w, STR("XDEL"), key);
    streamRdbRewriteID(w, id);
}

/* Placeholders before the first entry are trimmed, as the entries were: XDEL would record a deletion. */
static void streamRdbRemovePlaceholders(struct rioWriter *w, struct str key, const struct stream *s,
                                        const struct rax *missing) {
    struct raxIterator it;
    struct streamKey first = streamKeyOf(s->first_id);
    streamRdbTrimPlaceholders(w, key, s, missing);
    raxStart(&it, missing);
    bool more = s->length && raxSeek(&it, ">", streamKeyView(&first));
    for (; more; more = raxNext(&it)) streamRdbDeletePlaceholder(w, key, streamKeyID(it.key));
    raxStop(&it);
}

void streamRdbRewriteCounters(struct rioWriter *w, struct str key, const struct stream *s) {
    rewriteCommand(w, 7);
    rewriteArgs(w, STR("XSETID"), key);
    streamRdbRewriteID(w, s->last_id);
    rewriteArg(w, STR("ENTRIESADDED"));
    rewriteArgInt(w, (int64_t)s->entries_added);
    rewriteArg(w, STR("MAXDELETEDID"));
    streamRdbRewriteID(w, s->max_deleted_id);
}

void streamRdbRewriteClaim(struct rioWriter *w, struct str key, struct str group, struct str consumer,
                           struct streamID id, int64_t delivered_ms, uint64_t deliveries) {
    rewriteCommand(w, 12);
    rewriteArgs(w, STR("XCLAIM"), key, group, consumer, STR("0"));
    streamRdbRewriteID(w, id);
    rewriteArg(w, STR("TIME"));
    rewriteArgInt(w, delivered_ms);
    rewriteArg(w, STR("RETRYCOUNT"));
    rewriteArgInt(w, (int64_t)deliveries);
    rewriteArgs(w, STR("JUSTID"), STR("FORCE"));
}

void streamRdbRewriteConsumer(struct rioWriter *w, struct str key, struct str group, struct str name) {
    rewriteCommand(w, 5);
    rewriteArgs(w, STR("XGROUP"), STR("CREATECONSUMER"), key, group, name);
}

static void streamRdbRewritePending(struct rioWriter *w, struct str key, struct str group,
                                    const struct streamConsumer *consumer) {
    struct raxIterator it;
    raxStart(&it, &consumer->pending);
    for (bool more = raxSeek(&it, "^", STR("")); more; more = raxNext(&it)) {
        const struct streamNack *nack = it.value;
        streamRdbRewriteClaim(w, key, group, sdsview(consumer->name), streamKeyID(it.key), nack->delivered_ms,
                              nack->deliveries);
    }
    raxStop(&it);
}

void streamRdbRewriteGroupHead(struct rioWriter *w, struct str key, struct str name, struct streamID last_id,
                               int64_t entries_read) {
    rewriteCommand(w, 7);
    rewriteArgs(w, STR("XGROUP"), STR("CREATE"), key, name);
    streamRdbRewriteID(w, last_id);
    rewriteArg(w, STR("ENTRIESREAD"));
    rewriteArgInt(w, entries_read);
}

static void streamRdbRewriteGroup(struct rioWriter *w, struct str key, struct str name,
                                  const struct streamGroup *g) {
    struct raxIterator it;
    streamRdbRewriteGroupHead(w, key, name, g->last_id, g->entries_read);
    raxStart(&it, &g->consumers);
    for (bool more = raxSeek(&it, "^", STR("")); more; more = raxNext(&it)) {
        streamRdbRewriteConsumer(w, key, name, it.key);
        streamRdbRewritePending(w, key, name, it.value);
    }
    raxStop(&it);
}

/* A server before 9.2 (w->version) knows nothing of idempotence. */
static void streamRdbRewriteRecords(struct rioWriter *w, struct str key, const struct idmpStream *x) {
    if (!rdbVersionHas(w->version, RDB_TYPE_STREAM_LISTPACKS_4)) return;
    rewriteCommand(w, 6);
    rewriteArgs(w, STR("XCFGSET"), key, STR("IDMP-DURATION"));
    rewriteArgInt(w, x->duration_s);
    rewriteArg(w, STR("IDMP-MAXSIZE"));
    rewriteArgInt(w, x->maxsize);
    for (const struct idmpRecord *r = x->oldest; r; r = r->newer) {
        rewriteCommand(w, 5);
        rewriteArgs(w, STR("XIDMPRECORD"), key, idmpName(r->producer), idmpIid(r));
        streamRdbRewriteID(w, r->entry);
    }
}

void streamRdbRewriteIdempotence(struct rioWriter *w, struct str key, const struct object *o) {
    const struct idmpStream *x = idmpOpen(o);
    if (x && idmpHasState(x)) streamRdbRewriteRecords(w, key, x);
}

/* The counters come last, as adding and removing changes them. */
void streamRdbRewrite(struct rioWriter *w, struct str key, const struct object *o) {
    struct stream *s = streamOpen(o);
    struct raxIterator it;
    struct rax missing;
    struct streamID next = STREAM_ID_MIN;
    raxInit(&missing);
    streamRdbFindMissing(s, &missing);
    streamRdbRewriteEntries(w, key, s, &missing, &next);
    streamRdbRewriteLastPlaceholders(w, key, &missing, next);
    if (!s->length && !missing.size) streamRdbRewriteEmpty(w, key, s->last_id);
    raxStart(&it, &s->groups);
    for (bool more = raxSeek(&it, "^", STR("")); more; more = raxNext(&it))
        streamRdbRewriteGroup(w, key, it.key, it.value);
    raxStop(&it);
    streamRdbRemovePlaceholders(w, key, s, &missing);
    streamRdbRewriteCounters(w, key, s);
    raxDestroy(&missing, NULL);
    streamRdbRewriteIdempotence(w, key, o);
}
