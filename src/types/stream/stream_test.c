/* SPDX-License-Identifier: BSD-3-Clause */
/* stream_test.c - streams against an array of entries, consumer groups against a table of owners, the bytes
 * of a node against those that redis-server writes, and the validation of damaged nodes. */
#include "types/stream/stream.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "base/model_ops.h"
#include "base/random.h"
#include "base/zmalloc.h"
#include "types/stream/stream_node.h"

#define MODEL_MAX 4000
#define PAIRS_MAX 4

/* ---- The model ---- */

struct modelEntry {
    struct streamID id;
    size_t pairs;
    char text[2 * PAIRS_MAX][12];
};
struct streamModel {
    struct modelEntry e[MODEL_MAX];
    size_t n;
    struct streamID last, max_deleted;
    uint64_t added;
};

static void modelRemoveAt(struct streamModel *m, size_t at, size_t n) {
    memmove(m->e + at, m->e + at + n, (m->n - at - n) * sizeof *m->e);
    m->n -= n;
}

/* Returns the first entry whose ID is not lower. */
static size_t streamTestModelLower(const struct streamModel *m, struct streamID id) {
    size_t at = 0;
    while (at < m->n && streamIDCompare(m->e[at].id, id) < 0) at++;
    return at;
}

static bool streamTestModelHas(const struct streamModel *m, size_t at, struct streamID id) {
    return at < m->n && !streamIDCompare(m->e[at].id, id);
}

static struct streamID nearID(const struct streamModel *m) {
    uint64_t back = randomBelow(60);
    return (struct streamID){m->last.ms > back ? m->last.ms - back : 0, randomBelow(4)};
}

static void fillEntry(struct modelEntry *e) {
    static const char *names[] = {"a", "b", "temperature", "7"};
    e->pairs = 1 + randomBelow(PAIRS_MAX);
    bool usual = randomBelow(3);
    for (size_t i = 0; i < e->pairs; i++) {
        snprintf(e->text[2 * i], sizeof e->text[0], "%s", usual ? names[i] : names[randomBelow(4)]);
        snprintf(e->text[2 * i + 1], sizeof e->text[0], randomBelow(2) ? "%d" : "v%d",
                 (int)randomBelow(100000));
    }
}

static void streamTestAddOne(struct stream *s, struct streamModel *m) {
    struct str pairs[2 * PAIRS_MAX];
    if (m->n == MODEL_MAX) return;
    struct modelEntry *e = &m->e[m->n++];
    e->id = (struct streamID){m->last.ms + randomBelow(3), randomBelow(3)};
    if (streamIDCompare(e->id, m->last) <= 0) e->id = (struct streamID){m->last.ms, m->last.seq + 1};
    fillEntry(e);
    for (size_t i = 0; i < 2 * e->pairs; i++) pairs[i] = strOf(e->text[i]);
    assert_true(streamAppend(s, e->id, pairs, e->pairs));
    m->last = e->id;
    m->added++;
}

static void deleteOne(struct stream *s, struct streamModel *m) {
    struct streamID id = nearID(m);
    size_t at = streamTestModelLower(m, id);
    bool has = streamTestModelHas(m, at, id);
    assert_int_equal(streamExists(s, id), has);
    assert_int_equal(streamDelete(s, id), has);
    if (!has) return;
    modelRemoveAt(m, at, 1);
    if (streamIDCompare(id, m->max_deleted) > 0) m->max_deleted = id;
}

static void trimSome(struct stream *s, struct streamModel *m) {
    struct streamTrim t = {.kind = randomBelow(2) ? TRIM_MAXLEN : TRIM_MINID, .approximate = randomBelow(2)};
    t.maxlen = (int64_t)(m->n - randomBelow(m->n / 4 + 1));
    t.minid = nearID(m);
    if (t.approximate && randomBelow(2)) t.limit = (int64_t)randomBelow(30);
    size_t exact = t.kind == TRIM_MAXLEN ? m->n - (size_t)t.maxlen : streamTestModelLower(m, t.minid);
    int64_t removed = streamTrimTo(s, &t);
    if (t.approximate) {
        assert_in_range((uint64_t)removed, 0, exact);
        if (t.limit) assert_in_range((uint64_t)removed, 0, (uint64_t)t.limit);
    } else {
        assert_int_equal(removed, exact);
    }
    modelRemoveAt(m, 0, (size_t)removed);
}

/* ---- Checks ---- */

static void expectEntry(struct streamIterator *it, const struct modelEntry *e, bool read) {
    assert_int_equal(streamIDCompare(it->id, e->id), 0);
    assert_int_equal(it->pairs, e->pairs);
    for (size_t i = 0; read && i < e->pairs; i++) {
        struct str field, value;
        streamNextPair(it, &field, &value);
        assert_true(strEq(field, strOf(e->text[2 * i])));
        assert_true(strEq(value, strOf(e->text[2 * i + 1])));
        if (!randomBelow(8)) return; /* pairs need not all be read */
    }
}

static void checkRange(struct stream *s, const struct streamModel *m, struct streamID start,
                       struct streamID end) {
    struct streamIterator it;
    size_t from = streamTestModelLower(m, start), to = streamTestModelLower(m, end);
    bool reverse = randomBelow(2), read = randomBelow(4);
    if (streamTestModelHas(m, to, end)) to++;
    if (to < from) to = from;
    streamIterate(&it, s, start, end, reverse);
    while (streamNext(&it)) {
        assert_true(from < to);
        expectEntry(&it, &m->e[reverse ? --to : from++], read);
    }
    assert_true(from == to);
    streamStop(&it);
}

static unsigned char *streamTestPublished(struct streamNode *n, struct streamID id, size_t *bytes) {
    *bytes = nodePublishedBytes(n);
    unsigned char *lp = zmalloc(*bytes);
    nodePublish(n, id, lp);
    return lp;
}

/* A node that is published and read again is the same, except for its unused memory. */
static void checkNode(struct streamNode *n, struct streamID id) {
    size_t bytes;
    unsigned char *lp = streamTestPublished(n, id, &bytes);
    assert_int_equal(lpBytes(lp), bytes);
    struct streamNode *again = nodeFromPublished(lp, bytes, id);
    assert_non_null(again);
    assert_true(n->bytes <= n->room && n->room == zmallocSize(n) && again->room == zmallocSize(again));
    again->room = n->room;
    assert_int_equal(again->bytes, n->bytes);
    assert_memory_equal(again, n, n->bytes);
    nodeFree(again);
    zfree(lp);
    size_t seen = 0;
    for (unsigned char *p = nodeEnd(n); (p = nodeEntryBefore(n, p)); seen++) {
    }
    assert_int_equal(seen, n->entries + n->deleted);
}

static void streamTestCheckAll(struct stream *s, const struct streamModel *m) {
    struct raxIterator it;
    checkRange(s, m, STREAM_ID_MIN, STREAM_ID_MAX);
    raxVerify(&s->nodes);
    raxStart(&it, &s->nodes);
    for (bool more = raxSeek(&it, "^", STR("")); more; more = raxNext(&it))
        checkNode(it.value, streamKeyID(it.key));
    raxStop(&it);
    assert_true(s->tail || (!m->n && !s->nodes.size));
    if (s->tail) checkNode(s->tail, s->tail_id);
}

static void checkCounters(struct stream *s, const struct streamModel *m) {
    assert_int_equal(s->length, m->n);
    assert_int_equal(s->entries_added, m->added);
    assert_int_equal(streamIDCompare(s->last_id, m->last), 0);
    assert_int_equal(streamIDCompare(s->max_deleted_id, m->max_deleted), 0);
    assert_int_equal(streamIDCompare(s->first_id, m->n ? m->e[0].id : STREAM_ID_MIN), 0);
    assert_int_equal(streamIDCompare(streamHighestID(s), m->n ? m->e[m->n - 1].id : STREAM_ID_MIN), 0);
}

/* One finder searches many IDs, most of them ascending, some twice; entries are read, deleted, or left
 * alone. */
static void findSome(struct stream *s, struct streamModel *m) {
    struct streamFinder f;
    struct streamID id = nearID(m);
    streamFinderStart(&f, s);
    for (int i = 0; i < 40; i++) {
        size_t at = streamTestModelLower(m, id);
        bool has = streamTestModelHas(m, at, id);
        assert_int_equal(streamFinderFind(&f, id), has);
        if (has && randomBelow(2)) {
            struct str field, value;
            assert_int_equal(f.it.pairs, m->e[at].pairs);
            for (size_t p = 0; p < m->e[at].pairs; p++) {
                streamNextPair(&f.it, &field, &value);
                assert_true(strEq(value, strOf(m->e[at].text[2 * p + 1])));
            }
        }
        if (has && !randomBelow(4)) {
            streamFinderDelete(&f);
            modelRemoveAt(m, at, 1);
            if (streamIDCompare(id, m->max_deleted) > 0) m->max_deleted = id;
            checkCounters(s, m);
        }
        if (!randomBelow(10))
            id = nearID(m);
        else if (randomBelow(5))
            id = randomBelow(2) ? (struct streamID){id.ms, id.seq + 1}
                                : (struct streamID){id.ms + randomBelow(30), randomBelow(4)};
    }
    streamFinderStop(&f);
}

static void streamTestSetLimits(int64_t bytes, int64_t entries) {
    stream_node_max_bytes = bytes;
    stream_node_max_entries = entries;
}

static void streamTestModel(void **state) {
    (void)state;
    static const int64_t limits[][2] = {{4096, 100}, {0, 0}, {200, 0}, {0, 3}, {1, 0}, {0, 1}};
    for (size_t l = 0; l < sizeof limits / sizeof *limits; l++) {
        struct stream *s = streamNew();
        struct streamModel *m = calloc(1, sizeof *m);
        streamTestSetLimits(limits[l][0], limits[l][1]);
        for (int i = 0; i < 20000; i++) {
            unsigned r = (unsigned)randomBelow(100);
            if (r < 60)
                streamTestAddOne(s, m);
            else if (r < 97)
                deleteOne(s, m);
            else
                trimSome(s, m);
            checkCounters(s, m);
            if (i % 50 == 0) findSome(s, m);
            checkRange(s, m, nearID(m), nearID(m));
            if (i % 500 == 0) streamTestCheckAll(s, m);
            if (i % 5000 == 0) {
                struct stream *copy = streamDup(s);
                streamTestCheckAll(copy, m);
                streamFree(s);
                s = copy;
            }
        }
        streamTestCheckAll(s, m);
        streamFree(s);
        free(m);
    }
}

/* ---- Bytes ---- */

static struct stream *streamTestSample(void) {
    static const char v70[] = "vvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvv";
    struct stream *s = streamNew();
    streamTestSetLimits(4096, 100);
    streamAppend(s, (struct streamID){5, 1}, (struct str[]){STR("a"), STR("1"), STR("b"), STR("2")}, 2);
    streamAppend(s, (struct streamID){5, 2}, (struct str[]){STR("a"), STR("x"), STR("b"), STR("y")}, 2);
    streamAppend(s, (struct streamID){6, 1}, (struct str[]){STR("c"), STR("-5000")}, 1);
    streamAppend(s, (struct streamID){1000000, 7},
                 (struct str[]){STR("a"), STR("70000"), STR("b"), STR("9223372036854775807")}, 2);
    streamAppend(s, (struct streamID){1000001, 0},
                 (struct str[]){STR("a"), STR("1"), STR("b"), STR("2"), STR("c"), STR("3")}, 3);
    streamDelete(s, (struct streamID){5, 2});
    streamAppend(s, (struct streamID){1000002, 1}, (struct str[]){STR("a"), STR(v70), STR("b"), STR("")}, 2);
    return s;
}

/* The expected bytes are redis-server 7.0.15's reply to DUMP after the same commands, without type,
 * version and checksum. */
static void streamTestBytes(void **state) {
    (void)state;
    static const char want[] =
        "\xcd\x00\x00\x00\x30\x00\x05\x01\x01\x01\x02\x01\x81\x61\x02\x81\x62\x02\x00\x01"
        "\x02\x01\x00\x01\x00\x01\x01\x01\x02\x01\x05\x01\x03\x01\x00\x01\x01\x01\x81\x78"
        "\x02\x81\x79\x02\x05\x01\x00\x01\x01\x01\x00\x01\x01\x01\x81\x63\x02\xf1\x78\xec"
        "\x03\x06\x01\x02\x01\xf2\x3b\x42\x0f\x04\x06\x01\xf2\x70\x11\x01\x04\xf4\xff\xff"
        "\xff\xff\xff\xff\xff\x7f\x09\x05\x01\x00\x01\xf2\x3c\x42\x0f\x04\xdf\xff\x02\x03"
        "\x01\x81\x61\x02\x01\x01\x81\x62\x02\x02\x01\x81\x63\x02\x03\x01\x0a\x01\x02\x01"
        "\xf2\x3d\x42\x0f\x04\x00\x01\xe0\x46\x76\x76\x76\x76\x76\x76\x76\x76\x76\x76\x76"
        "\x76\x76\x76\x76\x76\x76\x76\x76\x76\x76\x76\x76\x76\x76\x76\x76\x76\x76\x76\x76"
        "\x76\x76\x76\x76\x76\x76\x76\x76\x76\x76\x76\x76\x76\x76\x76\x76\x76\x76\x76\x76"
        "\x76\x76\x76\x76\x76\x76\x76\x76\x76\x76\x76\x76\x76\x76\x76\x76\x76\x76\x76\x48"
        "\x80\x01\x05\x01\xff";
    struct stream *s = streamTestSample();
    size_t bytes;
    unsigned char *lp = streamTestPublished(s->tail, s->tail_id, &bytes);
    assert_int_equal(bytes, sizeof want - 1);
    assert_memory_equal(lp, want, sizeof want - 1);
    zfree(lp);
    streamFree(s);
}

/* Tests every head that an entry can have: every width of both numbers, in every order of IDs that a
 * file may have. */
static void streamTestWidths(void **state) {
    (void)state;
    struct streamID base = {INT64_C(1) << 40, 77};
    struct str pair[] = {STR("a"), STR("1"), STR("b"), STR("2")};
    struct streamNode *n = nodeNew(pair, 1);
    struct streamID ids[14 * 14];
    size_t count = 0;
    uint32_t entries_at = n->bytes;
    for (unsigned m = 0; m < 14; m++) {
        for (unsigned q = 0; q < 14; q++) { /* 0, 1, 2^5 - 1, 2^9, ..., 2^64 - 1 */
            uint64_t ms = m < 13 ? (UINT64_C(1) << (m * 5)) - m % 2 : UINT64_MAX;
            uint64_t seq = q < 13 ? (UINT64_C(1) << (q * 5)) - q % 2 : UINT64_MAX;
            ids[count] = (struct streamID){base.ms + ms - 1, seq - 1};
            n = nodeAppend(n, base, ids[count], pair, 1 + count % 2);
            count++;
        }
    }
    checkNode(n, base);
    unsigned char *p = (unsigned char *)n + entries_at;
    for (size_t i = 0; i < count; i++) {
        struct nodeEntry e = nodeEntry(n, p, base);
        assert_int_equal(streamIDCompare(e.id, ids[i]), 0);
        assert_int_equal(e.pairs, 1 + i % 2);
        p = nodeEntryEnd(&e);
    }
    assert_ptr_equal(p, nodeEnd(n));
    nodeFree(n);
}

/* The memory budget rests on this figure: 3 bytes of head before the values' elements, and 1 after them. */
static void testSize(void **state) {
    (void)state;
    struct streamID base = {1700000000000, 0};
    struct str pair[] = {STR("name"), STR("user1"), STR("age"), STR("42")};
    struct streamNode *n = nodeAppend(nodeNew(pair, 2), base, base, pair, 2);
    uint32_t before = n->bytes;
    n = nodeAppend(n, base, (struct streamID){base.ms + 200, 3}, pair, 2);
    assert_int_equal(n->bytes - before, 3 + (1 + 5 + 1) + 2 + 1);
    nodeFree(n);
}

/* ---- Damage ---- */

/* A node that passes the validation can be iterated and changed without reading outside of it. */
static void useNode(struct streamNode *node) {
    struct stream *s = streamNew();
    struct streamIterator it;
    struct streamID ids[64];
    size_t n = 0;
    s->tail = node;
    s->tail_id = (struct streamID){5, 1};
    s->length = node->entries;
    s->last_id = STREAM_ID_MAX;
    for (int reverse = 0; reverse < 2; reverse++) {
        streamIterate(&it, s, STREAM_ID_MIN, STREAM_ID_MAX, reverse);
        while (streamNext(&it)) {
            if (n < 64) ids[n++] = it.id;
            for (int64_t i = 0; i < it.pairs; i++) {
                struct str field, value;
                streamNextPair(&it, &field, &value);
                volatile char last = 0;
                if (field.len) last = field.ptr[field.len - 1];
                if (value.len) last = value.ptr[value.len - 1];
                (void)last;
            }
        }
        streamStop(&it);
    }
    for (size_t i = 0; i < n; i++) streamDelete(s, ids[i]);
    streamFree(s);
}

static void testDamage(void **state) {
    (void)state;
    struct stream *s = streamTestSample();
    size_t size;
    unsigned char *whole = streamTestPublished(s->tail, s->tail_id, &size);
    int passed = 0;
    for (int i = 0; i < 300000; i++) {
        size_t keep = randomBelow(10) ? size : randomBelow(size + 1);
        unsigned char *lp = memcpy(zmalloc(keep ? keep : 1), whole, keep);
        for (size_t changes = randomBelow(4); changes && keep; changes--)
            lp[randomBelow(randomBelow(2) ? keep : keep < 80 ? keep : 80)] = (unsigned char)randomBelow(256);
        if (keep > 6 && randomBelow(2)) lp[keep - 1] = 0xff;
        struct streamNode *node = nodeFromPublished(lp, keep, s->tail_id);
        zfree(lp);
        if (!node) continue;
        passed++;
        checkNode(node, s->tail_id);
        useNode(node);
    }
    assert_in_range(passed, 1000, 299000);
    zfree(whole);
    streamFree(s);
}

/* ---- Groups ---- */

#define IDS       200
#define CONSUMERS 5

struct owner {
    int consumer; /* -1: not pending */
    int64_t delivered_ms;
    uint64_t deliveries;
};

static struct str consumerName(int i) {
    static const char *names[CONSUMERS] = {"", "alice", "al", "bob", "x"};
    return strOf(names[i]);
}

static struct streamID streamTestIdOf(int i) {
    return (struct streamID){1000 + (uint64_t)i / 7, (uint64_t)i % 7};
}

static void checkGroup(struct streamGroup *g, const struct owner *owners, const bool *there) {
    size_t pending = 0, of[CONSUMERS] = {0}, consumers = 0;
    for (int i = 0; i < IDS; i++) {
        struct streamNack *nack = streamPendingFind(g, streamTestIdOf(i));
        assert_int_equal(nack != NULL, owners[i].consumer >= 0);
        if (!nack) continue;
        assert_true(strEq(sdsview(nack->consumer->name), consumerName(owners[i].consumer)));
        assert_int_equal(nack->delivered_ms, owners[i].delivered_ms);
        assert_int_equal(nack->deliveries, owners[i].deliveries);
        pending++;
        of[owners[i].consumer]++;
    }
    assert_int_equal(g->pending.size, pending);
    for (int c = 0; c < CONSUMERS; c++) {
        struct streamConsumer *consumer = streamConsumerFind(g, consumerName(c));
        assert_int_equal(consumer != NULL, there[c]);
        consumers += there[c];
        if (consumer) assert_int_equal(consumer->pending.size, of[c]);
        if (consumer) raxVerify(&consumer->pending);
    }
    assert_int_equal(g->consumers.size, consumers);
    raxVerify(&g->pending);
}

static void streamTestGroups(void **state) {
    (void)state;
    struct stream *s = streamNew();
    struct streamGroup *g = streamGroupCreate(s, STR("g"), STREAM_ID_MIN, STREAM_READ_UNKNOWN);
    assert_null(streamGroupCreate(s, STR("g"), STREAM_ID_MIN, 0));
    assert_non_null(streamGroupCreate(s, STR(""), STREAM_ID_MIN, 0));
    struct owner owners[IDS];
    bool there[CONSUMERS] = {0};
    for (int i = 0; i < IDS; i++) owners[i].consumer = -1;
    for (int i = 0; i < 100000; i++) {
        int c = (int)randomBelow(CONSUMERS), id = (int)randomBelow(IDS);
        unsigned r = (unsigned)randomBelow(1000);
        struct streamNack *nack = streamPendingFind(g, streamTestIdOf(id));
        if (r < 3 && there[c]) {
            streamConsumerDelete(g, streamConsumerFind(g, consumerName(c)));
            there[c] = false;
            for (int k = 0; k < IDS; k++)
                if (owners[k].consumer == c) owners[k].consumer = -1;
        } else if (r < 300) {
            assert_int_equal(streamPendingRemove(g, streamTestIdOf(id)), owners[id].consumer >= 0);
            owners[id].consumer = -1;
        } else {
            if (!there[c]) streamConsumerCreate(g, consumerName(c), i);
            there[c] = true;
            struct streamConsumer *consumer = streamConsumerFind(g, consumerName(c));
            if (nack && r < 600) {
                streamPendingAssign(g, streamTestIdOf(id), nack, consumer);
                nack->deliveries++;
                owners[id].consumer = c;
                owners[id].deliveries++;
            } else {
                streamPendingSet(g, streamTestIdOf(id), consumer, i);
                owners[id] = (struct owner){c, i, 1};
            }
        }
        if (i % 100 == 0) checkGroup(g, owners, there);
        if (i % 10000 == 0) {
            struct streamGroup *copy = streamGroupDup(g);
            checkGroup(copy, owners, there);
            streamGroupFree(copy);
        }
    }
    checkGroup(g, owners, there);
    assert_true(streamGroupDestroy(s, STR("g")));
    assert_false(streamGroupDestroy(s, STR("g")));
    streamFree(s);
}

/* ---- IDs ---- */

static void testIDs(void **state) {
    (void)state;
    char text[STREAM_ID_TEXT];
    struct streamID id;
    assert_true(streamIDParse(STR("18446744073709551615-18446744073709551615"), 0, &id));
    assert_int_equal(streamIDCompare(id, STREAM_ID_MAX), 0);
    assert_true(strEq(streamIDText(id, text), STR("18446744073709551615-18446744073709551615")));
    assert_false(streamIDNext(&id));
    assert_true(streamIDParse(STR("7"), 9, &id) && id.ms == 7 && id.seq == 9);
    assert_true(streamIDParse(STR("007-01"), 9, &id) && id.ms == 7 && id.seq == 1);
    static const char *bad[] = {"",    "-", "+", "1-", "-1", "1-1-1", "x", "1-x", "18446744073709551616",
                                "1-*", "1 "};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) assert_false(streamIDParse(strOf(bad[i]), 0, &id));
    id = (struct streamID){7, UINT64_MAX};
    assert_true(streamIDNext(&id) && id.ms == 8 && id.seq == 0);
    assert_true(streamIDPrev(&id) && id.ms == 7 && id.seq == UINT64_MAX);
    id = STREAM_ID_MIN;
    assert_false(streamIDPrev(&id));
    struct streamKey a = streamKeyOf((struct streamID){255, 1}), b = streamKeyOf((struct streamID){256, 0});
    assert_true(strCmp(streamKeyView(&a), streamKeyView(&b)) < 0);
    assert_int_equal(streamKeyID(streamKeyView(&b)).ms, 256);
}

int main(void) {
    modelSeed();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(testIDs),          cmocka_unit_test(streamTestBytes),
        cmocka_unit_test(streamTestModel),  cmocka_unit_test(streamTestWidths),
        cmocka_unit_test(testSize),         cmocka_unit_test(testDamage),
        cmocka_unit_test(streamTestGroups),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
