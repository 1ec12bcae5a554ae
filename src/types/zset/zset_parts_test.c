/* SPDX-License-Identifier: BSD-3-Clause */
/* zset_parts_test.c - sorted sets of both indexes that are saved in parts under random changes: what is
 * written, as RDB and as commands, has each element of the start once, with its score of then. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "base/model_ops.h"
#include "base/num.h"
#include "base/random.h"
#include "base/zmalloc.h"
#include "command/command.h"
#include "commands/cmd_sorted_set.h"
#include "data/forkless/item_queue.h"
#include "data/forkless/large_value.h"
#include "data/lifetime/lazyfree.h"
#include "data/rdb/rdb.h"
#include "ds/zbtree.h"
#include "registry/config.h"
#include "types/rdb_hooks.h"
#include "types/zset/zset.h"

/* The module registers a table that is above this layer. */
const struct commandSpec commandsSortedSet[] = {{0}};

#define UNIVERSE   6000
#define MEMBER_MAX 340

static struct object *object; /* NULL: it was deleted, and belongs to the snapshot */

/* ---- Changes ---- */

static struct str zsetPartsTestMember(char *buf) {
    unsigned id = (unsigned)randomBelow(UNIVERSE);
    size_t len = (size_t)sprintf(buf, "%u", id);
    if (id % 97 == 0) {
        memset(buf + len, 'x', 300);
        len += 300;
    }
    return strN(buf, len);
}

/* Some scores have rests: never, only those of changes, or always. */
static enum { RESTS_NEVER, RESTS_LATER, RESTS_ALWAYS } rests;
static bool as_text; /* whether the set had rests when the snapshot began */

static struct zscore zsetPartsTestScore(bool later) {
    if (randomBelow(4) == 0 && (rests == RESTS_ALWAYS || (rests == RESTS_LATER && later)))
        return zscoreOfInteger((1ll << 60) + (int64_t)randomBelow(2000));
    switch (randomBelow(4)) {
    case 0: return zscoreOf(1);
    case 1: return zscoreOf(randomDouble());
    default: return zscoreOf((double)randomBelow(3000) - 1000);
    }
}

static void zsetPartsTestRemoveRange(struct zsetRef *z) {
    uint64_t length = zsetLength(*z), rank = randomBelow(length);
    uint64_t most = randomBelow(30) ? 50 : length - rank, count = randomBelow(most + 1);
    zsetRemoveRange(z, rank, count < length - rank ? count : length - rank);
}

static void zsetPartsTestChange(void) {
    struct zsetRef z = zsetOpen(object);
    char buf[MEMBER_MAX];
    struct str member = zsetPartsTestMember(buf);
    struct zscore score = zsetPartsTestScore(true);
    uint64_t which = randomBelow(40);
    if (which == 0 && zsetLength(z))
        zsetPartsTestRemoveRange(&z);
    else if (which < 12)
        zsetRemove(&z, member);
    else
        zsetAdd(&z, member, &score, which < 22 ? ZADD_INCR : 0);
    zsetCommit(object, z);
}

static void zsetPartsTestMake(const struct zsetIndex *index) {
    struct zsetRef z = {index->create(0), index};
    char buf[MEMBER_MAX];
    uint64_t length = ZBT_WALK_MIN + 1 + randomBelow(UNIVERSE - 2000);
    while (zsetLength(z) < length) {
        struct zscore score = zsetPartsTestScore(false);
        zsetAdd(&z, zsetPartsTestMember(buf), &score, 0);
    }
    object = objectCreate(STR("key"), OBJ_NO_EXPIRE, zsetValue(z));
}

static void zsetPartsTestFree(void) {
    if (object) lazyfreeObject(object, false);
    object = NULL;
}

/* ---- What is written ---- */

/* Reads the number behind a letter, and goes behind its line. */
static size_t zsetPartsTestNumber(const char **p, char letter) {
    char *end;
    assert_int_equal(**p, letter);
    size_t n = strtoull(*p + 1, &end, 10);
    *p = end + 2;
    return n;
}

static struct str zsetPartsTestArg(const char **p) {
    size_t len = zsetPartsTestNumber(p, '$');
    struct str s = strN(*p, len);
    *p += len + 2;
    return s;
}

static void zsetPartsTestRunCommands(sds bytes, struct zsetRef *z) {
    const char *p = bytes, *end = bytes + sdslen(bytes);
    while (p < end) {
        size_t argc = zsetPartsTestNumber(&p, '*');
        assert_true(argc >= 4 && argc % 2 == 0 && argc <= 2 + 2 * 64);
        assert_true(strEq(zsetPartsTestArg(&p), STR("ZADD")));
        assert_true(strEq(zsetPartsTestArg(&p), STR("key")));
        for (argc -= 2; argc; argc -= 2) {
            double value;
            struct str text = zsetPartsTestArg(&p);
            assert_true(string2d(text, &value));
            struct zscore score = zscoreOfText(value, text);
            assert_int_equal(zsetAdd(z, zsetPartsTestArg(&p), &score, 0), ZADD_ADDED);
        }
    }
}

static void zsetPartsTestLoad(sds bytes, struct zsetRef *z) {
    struct rdbReader r = {0};
    struct rdbHeld key;
    struct value v;
    uint8_t type;
    rioReaderInitMemory(&r.io, sdsview(bytes));
    assert_true(rioReadByte(&r.io, &type) && type == (as_text ? RDB_TYPE_ZSET : RDB_TYPE_ZSET_2));
    assert_true(rdbReadHeld(&r, &key) && strEq(key.s, STR("key")));
    rdbHeldFree(&key);
    assert_int_equal(zsetRdbLoad(&r, type, &v), RDB_LOADED);
    assert_true(rioAtEnd(&r.io));
    *z = (struct zsetRef){v.ptr, zsetIndexes[v.encoding]};
    rioReaderFree(&r.io);
}

static void zsetPartsTestExpectEqual(struct zsetRef a, struct zsetRef b) {
    struct zsetIterator i = zsetIterate(a, 0), j = zsetIterate(b, 0);
    struct zsetElement x, y;
    assert_int_equal(zsetLength(a), zsetLength(b));
    while (zsetNext(&i, &x)) {
        assert_true(zsetNext(&j, &y));
        assert_true(strEq(x.member, y.member) && zscoreCompare(x.score, y.score) == 0);
    }
}

static void zsetPartsTestExpect(struct largeValue *v, bool commands, struct zsetRef wanted) {
    struct zsetRef written;
    rioFlush(largeValueWriter(v));
    if (commands) {
        written = zsetNew(zsetLength(wanted), 0);
        zsetPartsTestRunCommands(v->bytes, &written);
    } else {
        zsetPartsTestLoad(v->bytes, &written);
    }
    zsetPartsTestExpectEqual(written, wanted);
    zsetFree(written);
}

/* ---- Runs ---- */

/* Lets parts and changes alternate. Returns false when it is given up. */
static bool zsetPartsTestSteps(struct largeValue *v) {
    uint64_t changes = 1 + randomBelow(randomBelow(2) ? 30 : 600);
    bool give_up = randomBelow(4) == 0;
    do {
        if (give_up && randomBelow(5) == 0) return false;
        for (uint64_t i = randomBelow(changes); object && i; i--) zsetPartsTestChange();
        if (object && randomBelow(100) == 0) zsetPartsTestFree();
    } while (v->parts->next(v));
    return true;
}

static void zsetPartsTestSnapshot(bool commands) {
    struct rioWriter like = {.version = RDB_VERSION_OWN};
    struct zsetRef z = zsetOpen(object), wanted = {z.index->copy(z.ptr), z.index};
    as_text = zsetHasRests(z);
    struct itemQueue *queue = itemQueueCreate();
    largeValuesStart(queue, commands, &like);
    largeValueRegister(0, object);
    struct largeValue *v = largeValueFind(objectPtr(object));
    assert_non_null(v);
    if (zsetPartsTestSteps(v)) zsetPartsTestExpect(v, commands, wanted);
    largeValuesStop();
    itemQueueFree(queue);
    zsetFree(wanted);
}

static void zsetPartsTestRun(const struct zsetIndex *index) {
    size_t used = zmallocUsedMemory();
    rests = (int)randomBelow(3);
    zsetPartsTestMake(index);
    while (object && zsetLength(zsetOpen(object)) > ZBT_WALK_MIN && randomBelow(6))
        zsetPartsTestSnapshot(randomBelow(2));
    bool leaks_show = object; /* else another thread may free it later */
    zsetPartsTestFree();
    if (leaks_show) assert_int_equal(zmallocUsedMemory(), used);
}

static void testZsetParts(void **state) {
    (void)state;
    for (uint64_t i = 0; i < 10 + modelShare(300); i++) {
        zsetPartsTestRun(&zsetBtree);
        zsetPartsTestRun(&zsetSkiplist);
    }
}

/* Appends what the thread of a snapshot writes of the next value in the queue. */
static sds zsetPartsTestRead(struct itemQueue *queue) {
    sds bytes = sdsempty();
    struct rioWriter w;
    bool cancelled, last = false;
    rioWriterInit(&w, rioSinkSds, &bytes);
    while (!last) {
        struct queueItem *item = itemQueueNext(queue, &cancelled);
        struct queueEntries *batch = item->entries;
        if (!batch) {
            rioWriteStr(&w, sdsview(item->bytes));
            last = item->bytes_keys;
        } else if (itemQueueClaimEntries(batch)) {
            for (uint32_t i = 0; i < batch->count; i++) batch->write(&w, batch->entries[i], &batch->form);
            itemQueueDoneEntries(batch, 20);
        } else {
            rioWriteStr(&w, sdsview(batch->bytes));
        }
    }
    rioFlush(&w);
    rioWriterFree(&w);
    return bytes;
}

static void zsetPartsTestExpectRead(struct itemQueue *queue, struct zsetRef wanted) {
    struct zsetRef written;
    sds bytes = zsetPartsTestRead(queue);
    zsetPartsTestLoad(bytes, &written);
    zsetPartsTestExpectEqual(written, wanted);
    zsetFree(written);
    sdsfree(bytes);
}

/* The thread has all elements of a skiplist, and all bytes of a tree: the tree is not registered any more,
 * and the skiplist is until the thread has read it. `finish`: it is taken back as a whole. `remove`: its key
 * goes. Else it is changed, or stays as it is. */
static void zsetPartsTestGiven(bool finish, bool remove, bool change) {
    struct rioWriter like = {.version = RDB_VERSION_OWN};
    struct itemQueue *queue = itemQueueCreate();
    zsetPartsTestMake(&zsetBtree);
    struct object *tree = object;
    zsetPartsTestMake(&zsetSkiplist);
    struct zsetRef z = zsetOpen(object), t = zsetOpen(tree), wanted = {z.index->copy(z.ptr), z.index};
    as_text = rests == RESTS_ALWAYS;
    largeValuesStart(queue, false, &like);
    largeValueRegister(0, object);
    largeValueRegister(0, tree);
    assert_false(largeValuesStep(INT64_MAX, UINT64_MAX));
    struct largeValue *v = largeValueFind(z.ptr);
    assert_true(v && v->given && v->owner.outstanding > 1);
    assert_null(largeValueFind(t.ptr));
    if (finish) {
        largeValueFinish(z.ptr);
        assert_null(largeValueFind(z.ptr));
    }
    for (int i = 0; change && i < 1000; i++) zsetPartsTestChange();
    if (remove) zsetPartsTestFree();
    assert_int_equal(large_value_count, 1);
    assert_false(largeValuesStep(INT64_MAX, UINT64_MAX));
    assert_int_equal(large_value_count, 1);
    itemQueueEnd(queue);
    zsetPartsTestExpectRead(queue, wanted);
    zsetPartsTestExpectRead(queue, t);
    bool cancelled;
    assert_null(itemQueueNext(queue, &cancelled));
    assert_null(itemQueueReap(queue));
    assert_false(largeValuesStep(INT64_MAX, UINT64_MAX));
    assert_int_equal(large_value_count, 0);
    largeValuesStop();
    itemQueueFree(queue);
    zsetFree(wanted);
    zsetPartsTestFree();
    object = tree;
    zsetPartsTestFree();
}

static void testGivenZsets(void **state) {
    (void)state;
    for (unsigned bits = 0; bits < 24; bits++) {
        rests = bits / 8;
        zsetPartsTestGiven(bits & 1, bits & 2, bits & 4);
    }
}

static void testLargeZsets(void **state) {
    (void)state;
    for (int encoding = 0; encoding < ZSET_ENCODINGS; encoding++) {
        char buf[MEMBER_MAX];
        struct zsetRef z = {zsetIndexes[encoding]->create(0), zsetIndexes[encoding]};
        for (double score = 0; score < LARGE_VALUE_ELEMENTS; score++)
            z.ptr = z.index->append(z.ptr, strN(buf, (size_t)sprintf(buf, "%g", score)), zscoreOf(score));
        object = objectCreate(STR("key"), OBJ_NO_EXPIRE, zsetValue(z));
        assert_false(objectIsLarge(object));
        z.ptr = z.index->append(z.ptr, STR("last"), zscoreOf(INFINITY));
        zsetCommit(object, z);
        assert_true(objectIsLarge(object) == (encoding != ZSET_LISTPACK));
        zsetPartsTestFree();
    }
}

/* Sets whose members have `bytes` in total, all of them in one, or in all of them. */
static void zsetPartsTestBytes(int encoding, uint64_t elements, size_t bytes, bool in_one, bool large) {
    struct zsetRef z = {zsetIndexes[encoding]->create(0), zsetIndexes[encoding]};
    static char buf[2 * LARGE_VALUE_BYTES];
    memset(buf, 'x', sizeof buf);
    for (uint64_t i = 0; i < elements; i++) {
        size_t short_bytes = 8 + sizeof(double), len = bytes / elements - sizeof(double);
        if (in_one) len = i == elements / 2 ? bytes - (elements - 1) * short_bytes - sizeof(double) : 8;
        sprintf(buf, "%07d", (int)i);
        z.ptr = z.index->append(z.ptr, strN(buf, len), zscoreOf((double)i));
    }
    object = objectCreate(STR("key"), OBJ_NO_EXPIRE, zsetValue(z));
    assert_true(objectIsLarge(object) == large);
    zsetPartsTestFree();
}

/* The bytes of all elements count, wherever they are. A tree needs more than ZBT_WALK_MIN elements. */
static void testZsetsOfManyBytes(void **state) {
    (void)state;
    for (int in_one = 0; in_one < 2; in_one++) {
        zsetPartsTestBytes(ZSET_SKIPLIST, 200, LARGE_VALUE_BYTES / 200 * 200, in_one, false);
        zsetPartsTestBytes(ZSET_SKIPLIST, 200, LARGE_VALUE_BYTES + 200, in_one, true);
        zsetPartsTestBytes(ZSET_BTREE, 1500, LARGE_VALUE_BYTES / 1500 * 1500, in_one, false);
        zsetPartsTestBytes(ZSET_BTREE, 1500, LARGE_VALUE_BYTES + 1500, in_one, true);
        zsetPartsTestBytes(ZSET_BTREE, ZBT_WALK_MIN, 2 * LARGE_VALUE_BYTES, in_one, false);
    }
}

/* A part has 16 KB, or the elements of one range of positions, of which there are few. */
static void testPartsOfLongMembers(void **state) {
    (void)state;
    static char buf[10000];
    struct rioWriter like = {.version = RDB_VERSION_OWN};
    struct zsetRef z = {zsetSkiplist.create(0), &zsetSkiplist};
    memset(buf, 'x', sizeof buf);
    for (int i = 0; i < 2000; i++) {
        sprintf(buf, "%07d", i);
        z.ptr = z.index->append(z.ptr, strN(buf, i % 500 < 250 ? sizeof buf : 20), zscoreOf(i));
    }
    object = objectCreate(STR("key"), OBJ_NO_EXPIRE, zsetValue(z));
    for (int commands = 0; commands < 2; commands++) {
        uint64_t before, most = 0;
        bool more = true;
        struct itemQueue *queue = itemQueueCreate();
        largeValuesStart(queue, commands, &like);
        largeValueRegister(0, object);
        struct largeValue *v = largeValueFind(objectPtr(object));
        while (more) {
            before = rioWritten(largeValueWriter(v));
            more = v->parts->next(v);
            uint64_t bytes = rioWritten(largeValueWriter(v)) - before;
            if (bytes > most) most = bytes;
        }
        assert_in_range(most, 10000, 10 * 10000);
        largeValuesStop();
        itemQueueFree(queue);
    }
    zsetPartsTestFree();
}

int main(void) {
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(testZsetParts), cmocka_unit_test(testGivenZsets), cmocka_unit_test(testLargeZsets),
        cmocka_unit_test(testZsetsOfManyBytes), cmocka_unit_test(testPartsOfLongMembers)};
    modelSeed();
    zsetInit();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
