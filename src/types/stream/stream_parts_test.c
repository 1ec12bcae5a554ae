/* SPDX-License-Identifier: BSD-3-Clause */
/* stream_parts_test.c - a stream that is saved in parts under random changes of its entries, groups, pending
 * entries and consumers: RDB must be the very bytes that saving it at once gave at the start, and commands
 * the same ones but for the order of XCLAIM. */
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
#include "command/command.h"
#include "commands/cmd_stream.h"
#include "data/forkless/item_queue.h"
#include "data/forkless/large_value.h"
#include "data/lifetime/lazyfree.h"
#include "data/rdb/rdb.h"
#include "registry/config.h"
#include "types/rdb_hooks.h"
#include "types/stream/stream.h"
#include "types/stream/stream_idmp.h"

/* The module registers a table that is above this layer. */
const struct commandSpec commandsStream[] = {{0}};

#define GROUPS    3
#define CONSUMERS 4
#define TIMES     50

static struct object *object; /* NULL: it was deleted, and belongs to the snapshot */
static uint64_t last_ms;

static struct stream *partsTestStream(void) {
    return streamOpen(object);
}

/* ---- Changes ---- */

static struct str partsTestName(const char *prefix, uint64_t i, char *buf) {
    return strN(buf, (size_t)sprintf(buf, "%s%d", prefix, (int)i));
}

/* Returns an ID that an entry may have, or has had. */
static struct streamID partsTestID(void) {
    return (struct streamID){randomBelow(last_ms + 2), randomBelow(4)};
}

static void partsTestAdd(void) {
    struct stream *s = partsTestStream();
    static char text[300];
    char value[32];
    struct streamID id = s->last_id;
    memset(text, 'v', sizeof text);
    if (id.seq == 3 || randomBelow(3) == 0)
        id = (struct streamID){id.ms + 1, randomBelow(3)};
    else
        id.seq++;
    struct str pairs[] = {STR("field"), partsTestName("value", randomBelow(1000), value),
                          randomBelow(4) ? STR("other") : STR("another"),
                          strN(text, randomBelow(10) ? randomBelow(20) : sizeof text)};
    if (!streamIDCompare(id, s->last_id) || streamIDIsZero(id)) return;
    assert_true(streamAppend(s, id, pairs, 1 + randomBelow(2)));
    if (id.ms > last_ms) last_ms = id.ms;
}

static bool partsTestPick(void *priv, struct streamID id) {
    (void)priv, (void)id;
    return randomBelow(3);
}

static void partsTestTrim(void) {
    struct stream *s = partsTestStream();
    struct streamTrim t = {.kind = randomBelow(2) ? TRIM_MAXLEN : TRIM_MINID,
                           .approximate = randomBelow(2),
                           .maxlen = (int64_t)(s->length * randomBelow(5) / 4),
                           .minid = partsTestID()};
    struct streamPick pick = {partsTestPick, NULL, STREAM_ID_MAX};
    if (randomBelow(20) == 0) t = (struct streamTrim){.kind = TRIM_MAXLEN};
    if (randomBelow(2))
        streamTrimTo(s, &t);
    else
        streamTrimPicked(s, &t, &pick);
}

/* XSETID of an empty stream: later entries may have lower IDs than earlier ones had. */
static void partsTestSetBack(void) {
    struct stream *s = partsTestStream();
    if (s->tail) return; /* a node without entries may be left */
    s->last_id = (struct streamID){randomBelow(last_ms + 1), randomBelow(3)};
    s->max_deleted_id = STREAM_ID_MIN;
}

static struct streamGroup *partsTestGroup(void) {
    char name[32];
    return streamGroupFind(partsTestStream(), partsTestName("g", randomBelow(GROUPS), name));
}

static struct streamConsumer *partsTestConsumer(struct streamGroup *g) {
    char text[32];
    struct str name = partsTestName("c", randomBelow(CONSUMERS), text);
    struct streamConsumer *consumer = streamConsumerFind(g, name);
    if (!consumer) consumer = streamConsumerCreate(g, name, (int64_t)randomBelow(TIMES));
    consumer->seen_ms++;
    return consumer;
}

static void partsTestChangeGroups(void) {
    char text[32];
    struct stream *s = partsTestStream();
    struct str name = partsTestName("g", randomBelow(GROUPS), text);
    struct streamGroup *g = streamGroupFind(s, name);
    if (!g)
        streamGroupCreate(s, name, partsTestID(), STREAM_READ_UNKNOWN);
    else if (randomBelow(3) == 0)
        streamGroupDestroy(s, name);
    else if (randomBelow(2))
        streamConsumerDelete(g, partsTestConsumer(g));
    else
        g->last_id = partsTestID();
}

/* Changes what is pending, as XREADGROUP, XCLAIM and XACK do. */
static void partsTestChangePending(void) {
    struct streamGroup *g = partsTestGroup();
    struct streamID id = partsTestID();
    if (!g) return;
    struct streamNack *nack = streamPendingFind(g, id);
    switch (randomBelow(5)) {
    case 0:
    case 1:
        nack = streamPendingSet(g, id, partsTestConsumer(g), (int64_t)randomBelow(TIMES));
        nack->deliveries = randomBelow(9);
        break;
    case 2: streamPendingRemove(g, id); break;
    case 3:
        if (!nack) break;
        streamPendingAssign(g, id, nack, partsTestConsumer(g));
        streamPendingCountDelivery(nack);
        break;
    default:
        if (!nack) break;
        streamPendingDelivered(g, id, nack, (int64_t)randomBelow(TIMES));
        streamPendingCountDelivery(nack);
    }
}

static void partsTestRecord(void) {
    char text[32];
    struct idmpStream *x = idmpOpenFor(object);
    struct str iid = partsTestName("i", randomBelow(20), text);
    struct idmpRecord *old = idmpFind(x, STR("producer"), iid);
    if (old)
        idmpRemove(x, old);
    else
        idmpAdd(x, STR("producer"), iid, partsTestID());
}

static void partsTestChange(void) {
    switch (randomBelow(40)) {
    case 0: partsTestTrim(); break;
    case 1: partsTestChangeGroups(); break;
    case 2: partsTestSetBack(); break;
    case 3:
        if (randomBelow(40) == 0) partsTestRecord();
        break;
    case 4 ... 9: streamDelete(partsTestStream(), partsTestID()); break;
    case 10 ... 24: partsTestChangePending(); break;
    default: partsTestAdd();
    }
}

static void partsTestMakeStream(void) {
    last_ms = 0;
    object = objectCreate(STR("key"), OBJ_NO_EXPIRE, streamValue(streamNew()));
    for (uint64_t n = randomBelow(3) ? randomBelow(3000) : randomBelow(40); n; n--) partsTestChange();
    if (randomBelow(10) == 0)
        while (partsTestStream()->length) partsTestTrim();
}

/* ---- What is written ---- */

static void partsTestInitWriter(struct rioWriter *w, sds *bytes) {
    *bytes = sdsempty();
    rioWriterInit(w, rioSinkSds, bytes);
    w->version = RDB_VERSION_OWN;
    w->plain_strings = true;
}

/* Saves the object at once. */
static sds partsTestExpected(bool commands) {
    struct rioWriter w;
    sds bytes;
    partsTestInitWriter(&w, &bytes);
    if (commands) {
        streamRdbRewrite(&w, objectKey(object), object);
    } else {
        rioWriteByte(&w, rdbValueType(&w, object));
        rdbWriteString(&w, objectKey(object));
        streamRdbSave(&w, object);
    }
    rioFlush(&w);
    rioWriterFree(&w);
    return bytes;
}

struct partsTestCommand {
    struct str text;
    bool claim;
    size_t at;
};

static int partsTestCompareCommands(const void *a, const void *b) {
    const struct partsTestCommand *x = a, *y = b;
    if (x->claim != y->claim) return x->claim ? 1 : -1;
    if (!x->claim) return x->at < y->at ? -1 : 1;
    return strCmp(x->text, y->text);
}

/* Puts the commands XCLAIM at the end, in some order. A command begins with "*", which no argument does. */
static sds partsTestSortClaims(sds bytes) {
    size_t n = 0, len = sdslen(bytes), count = 1;
    for (size_t i = 0; i < len; i++) count += bytes[i] == '*';
    struct partsTestCommand *all = zmalloc(count * sizeof *all);
    for (size_t i = 0, start = 0; i < len; i++) {
        if (i + 1 < len && bytes[i + 1] != '*') continue;
        struct str text = strN(bytes + start, i + 1 - start);
        all[n] = (struct partsTestCommand){text, strStarts(text, STR("*12\r\n$6\r\nXCLAIM")), n};
        start = i + 1;
        n++;
    }
    qsort(all, n, sizeof *all, partsTestCompareCommands);
    sds sorted = sdsempty();
    for (size_t i = 0; i < n; i++) sorted = sdscatlen(sorted, all[i].text.ptr, all[i].text.len);
    zfree(all);
    sdsfree(bytes);
    return sorted;
}

static void partsTestFree(void) {
    if (object) lazyfreeObject(object, false);
    object = NULL;
}

/* Lets parts and changes alternate. Returns false when it is given up. */
static bool partsTestSteps(struct largeValue *v) {
    uint64_t changes = 1 + randomBelow(randomBelow(2) ? 3 : 60);
    bool give_up = randomBelow(10) == 0;
    do {
        if (give_up && randomBelow(30) == 0) return false;
        for (uint64_t i = randomBelow(changes); object && i; i--) partsTestChange();
        if (object && randomBelow(300) == 0) partsTestFree();
    } while (v->parts->next(v));
    return true;
}

static void partsTestRun(bool commands) {
    struct rioWriter like;
    sds none;
    size_t used = zmallocUsedMemory();
    partsTestMakeStream();
    partsTestInitWriter(&like, &none);
    sds expected = partsTestExpected(commands);
    struct itemQueue *queue = itemQueueCreate();
    largeValuesStart(queue, commands, &like);
    largeValueRegister(0, object);
    struct largeValue *v = largeValueFind(objectPtr(object));
    assert_non_null(v);
    if (partsTestSteps(v)) {
        rioFlush(largeValueWriter(v));
        sds written = sdsdup(v->bytes);
        if (commands) {
            written = partsTestSortClaims(written);
            expected = partsTestSortClaims(expected);
        }
        assert_int_equal(sdslen(written), sdslen(expected));
        assert_memory_equal(written, expected, sdslen(expected));
        sdsfree(written);
    }
    largeValuesStop();
    itemQueueFree(queue);
    if (object) {
        assert_null(partsTestStream()->parts);
        for (int i = 0; i < 100; i++) partsTestChange();
    }
    bool leaks_show = object; /* else another thread may free it later */
    partsTestFree();
    sdsfree(expected);
    sdsfree(none);
    rioWriterFree(&like);
    if (leaks_show) assert_int_equal(zmallocUsedMemory(), used);
}

static void testStreamParts(void **state) {
    (void)state;
    for (uint64_t i = 0; i < 20 + modelShare(2000); i++) {
        stream_node_max_entries = (int64_t)(1 + randomBelow(randomBelow(2) ? 5 : 100));
        partsTestRun(i % 2);
    }
}

/* ---- What is large ---- */

static bool partsTestIsLarge(void) {
    bool large = objectIsLarge(object);
    partsTestFree();
    return large;
}

static void partsTestEmpty(void) {
    object = objectCreate(STR("key"), OBJ_NO_EXPIRE, streamValue(streamNew()));
    last_ms = 0;
}

static void testLargeStreams(void **state) {
    (void)state;
    stream_node_max_entries = 100;
    partsTestEmpty();
    while (partsTestStream()->length < LARGE_VALUE_ELEMENTS) partsTestAdd();
    assert_false(objectIsLarge(object));
    partsTestAdd();
    assert_true(objectIsLarge(object));
    streamTrimTo(partsTestStream(), &(struct streamTrim){.kind = TRIM_MAXLEN});
    struct streamGroup *g = streamGroupCreate(partsTestStream(), STR("g"), STREAM_ID_MIN, 0);
    struct streamConsumer *consumer = streamConsumerCreate(g, STR("c"), 0);
    for (uint64_t i = 1; i < LARGE_VALUE_ELEMENTS; i++)
        streamPendingSet(g, (struct streamID){i, 0}, consumer, 0);
    assert_false(objectIsLarge(object));
    streamPendingSet(g, (struct streamID){0, 1}, consumer, 0);
    assert_true(partsTestIsLarge());
    partsTestEmpty();
    g = streamGroupCreate(partsTestStream(), STR("g"), STREAM_ID_MIN, 0);
    static char name[1000];
    memset(name, 'n', sizeof name);
    for (size_t i = 0; i <= LARGE_VALUE_BYTES / sizeof name; i++) {
        assert_false(objectIsLarge(object));
        sprintf(name + sizeof name - 8, "%07d", (int)i);
        streamConsumerCreate(g, strN(name, sizeof name), 0);
    }
    assert_true(partsTestIsLarge());
    partsTestEmpty();
    stream_node_max_entries = 1;
    for (int i = 0; i < 100; i++) partsTestAdd();
    assert_true(partsTestIsLarge());
    partsTestEmpty();
    idmpOpenFor(object);
    assert_true(partsTestIsLarge());
}

int main(void) {
    static const struct CMUnitTest tests[] = {cmocka_unit_test(testStreamParts),
                                              cmocka_unit_test(testLargeStreams)};
    modelSeed();
    streamInit();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
