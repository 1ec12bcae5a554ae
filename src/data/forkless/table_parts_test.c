/* SPDX-License-Identifier: BSD-3-Clause */
/* table_parts_test.c - the entries of a table, saved in parts under random changes, against the entries at
 * the start. In some runs a thread reads them; what depends on it is not repeated by SEED=n. */
#include "data/forkless/table_parts.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <cmocka.h>

#include "base/model_ops.h"
#include "base/random.h"
#include "base/zmalloc.h"
#include "net/ae.h"

#define MAX_IDS 5000

struct partsItem {
    uint64_t id;
    uint32_t version; /* counts changes of the element */
    bool present;
};

static struct partsItem items[2]
                             [MAX_IDS]; /* an element is one of the two; a replacement takes the other one */
static struct partsItem *present[MAX_IDS]; /* NULL: not in the table */
static struct {
    bool expected; /* it was in the table at the start */
    uint32_t version, passed;
} saved[MAX_IDS];

static struct str tablePartsTestKey(const void *entry) {
    return strN((const char *)&((const struct partsItem *)entry)->id, sizeof(uint64_t));
}
/* All positions are in one part of 1/64, with some hashes that are equal. */
static uint64_t tablePartsTestPartHash(struct str key) {
    uint64_t id;
    memcpy(&id, key.ptr, sizeof(id));
    id /= 2;
    return hashBytes(&id, sizeof(id)) >> 6;
}
static const struct hashtableType types[] = {{.entryKey = tablePartsTestKey},
                                             {.entryKey = tablePartsTestKey, .hash = tablePartsTestPartHash}};

static void tablePartsTestSave(void *priv, void *entry) {
    const struct partsItem *item = entry;
    assert_ptr_equal(priv, &saved);
    assert_ptr_equal(present[item->id], item);
    assert_true(saved[item->id].expected);
    assert_int_equal(saved[item->id].version, item->version);
    saved[item->id].passed++;
}

/* Adds, removes, changes or replaces an element, after the report if `parts` is not NULL. */
static void tablePartsTestChange(hashtable *ht, struct tableParts *parts, uint64_t id, unsigned kind) {
    struct partsItem *old = present[id], *now = &items[old == &items[0][id]][id];
    uint64_t hash = hashtableHash(ht, tablePartsTestKey(&items[0][id]));
    if (parts) tablePartsBefore(parts, hash, tablePartsTestSave, &saved);
    now->version = old ? old->version + 1 : now->version + 1;
    if (!old && kind < 2) {
        hashtableAddUnchecked(ht, present[id] = now, hash);
    } else if (old && kind == 1) {
        old->version++;
    } else if (old && kind == 2) {
        hashtableReplaceEntry(ht, old, present[id] = now, hash);
    } else if (old && kind == 3) {
        hashtableRemoveEntry(ht, old, hash);
        present[id] = NULL;
    }
}

/* Adds or removes many elements now and then, so that the table is resized. */
static void tablePartsTestChanges(hashtable *ht, struct tableParts *parts, uint64_t ids) {
    uint64_t n = randomBelow(10) ? randomBelow(30) : randomBelow(2 * ids);
    unsigned one = (unsigned)randomBelow(4);
    bool mixed = randomBelow(2);
    for (uint64_t i = 0; i < n; i++)
        tablePartsTestChange(ht, parts, randomBelow(ids), mixed ? (unsigned)randomBelow(4) : one);
}

static size_t bytes_of_all;
static size_t tablePartsTestAllBytes(const void *entry) {
    (void)entry;
    return bytes_of_all;
}

/* Batches of all lengths. */
static size_t tablePartsTestBytes(const void *entry) {
    (void)entry;
    return randomBelow(100) ? 16 : randomBelow(20000);
}

static void tablePartsTestStart(hashtable *ht, const struct hashtableType *type, uint64_t ids) {
    memset(present, 0, sizeof(present));
    for (uint64_t id = 0; id < MAX_IDS; id++) items[0][id] = items[1][id] = (struct partsItem){.id = id};
    hashtableInit(ht, type);
    if (type->hash) ht->salt = 0;
    for (uint64_t i = 0; i < ids / 2; i++) tablePartsTestChange(ht, NULL, randomBelow(ids), 0);
    tablePartsTestChanges(ht, NULL, ids);
    for (uint64_t id = 0; id < MAX_IDS; id++) {
        saved[id].expected = present[id] != NULL;
        saved[id].version = present[id] ? present[id]->version : 0;
        saved[id].passed = 0;
    }
}

/* Moves the struct of the table. */
static hashtable *tablePartsTestMove(hashtable *ht, struct tableParts *parts) {
    hashtable *now = zmalloc(sizeof(*now));
    *now = *ht;
    memset(ht, 0xee, sizeof(*ht));
    zfree(ht);
    tablePartsMove(parts, now);
    return now;
}

/* ---- With a thread ---- */

static struct itemQueue *queue;
static sds thread_read; /* struct partsRead */
struct partsRead {
    uint64_t id;
    uint32_t version;
};

/* In either thread. */
static void tablePartsTestWrite(struct rioWriter *w, const void *entry, const struct queueEntryForm *form) {
    const struct partsItem *item = entry;
    struct partsRead read = {.id = item->id, .version = item->version};
    (void)form;
    rioWrite(w, &read, sizeof(read));
}

static void tablePartsTestPause(void) {
    nanosleep(&(struct timespec){.tv_nsec = 50000}, NULL);
}

static void *tablePartsTestThread(void *arg) {
    bool cancelled;
    struct rioWriter w;
    unsigned turn = 0;
    (void)arg;
    zmallocThreadStart();
    rioWriterInit(&w, rioSinkSds, &thread_read);
    for (struct queueItem *item; (item = itemQueueNext(queue, &cancelled)); turn++) {
        struct queueEntries *batch = item->entries;
        if (turn % 5 == 0) tablePartsTestPause(); /* some batches wait for a while */
        if (itemQueueClaimEntries(batch)) {
            for (uint32_t i = 0; i < batch->count; i++) {
                if (turn % 7 == 0 && i == batch->count / 2) tablePartsTestPause();
                batch->write(&w, batch->entries[i], &batch->form);
            }
            itemQueueDoneEntries(batch, turn % 3 * 20);
        } else {
            rioWriteStr(&w, sdsview(batch->bytes));
        }
    }
    rioFlush(&w);
    rioWriterFree(&w);
    zmallocThreadExit();
    return NULL;
}

static bool tablePartsTestGive(struct tableParts *parts) {
    struct queueItem *item = itemQueueNewEntries(&parts->value->owner, 0);
    item->entries->write = tablePartsTestWrite;
    bool more = tablePartsGive(parts, item->entries, tablePartsTestSave, &saved);
    if (item->entries->count)
        itemQueueGiveEntries(queue, item);
    else
        zfree(item);
    return more;
}

/* Changes go on until the thread has read everything. */
static void tablePartsTestRunThread(const struct hashtableType *type, uint64_t ids) {
    pthread_t thread;
    hashtable ht;
    struct tableParts parts;
    struct largeValue value = {.container = &ht};
    struct rioWriter like = {.version = 0};
    bool more = true;
    tablePartsTestStart(&ht, type, ids);
    queue = itemQueueCreate();
    thread_read = sdsempty();
    largeValuesStart(queue, false, &like);
    tablePartsBegin(&parts, &ht, &value, tablePartsTestBytes);
    itemQueueHold(queue, true);
    assert_int_equal(pthread_create(&thread, NULL, tablePartsTestThread, NULL), 0);
    while (more || value.owner.outstanding) {
        for (uint64_t n = randomBelow(10); more && n && itemQueueHasRoomForPart(queue, UINT64_MAX); n--)
            more = tablePartsTestGive(&parts);
        tablePartsTestChanges(&ht, &parts, ids);
        assert_null(itemQueueReap(queue));
    }
    itemQueueHold(queue, false);
    itemQueueEnd(queue);
    pthread_join(thread, NULL);
    for (size_t i = 0; i < sdslen(thread_read); i += sizeof(struct partsRead)) {
        struct partsRead read;
        memcpy(&read, thread_read + i, sizeof(read));
        assert_int_equal(saved[read.id].version, read.version);
        saved[read.id].passed++;
    }
    for (uint64_t id = 0; id < ids; id++) assert_int_equal(saved[id].passed, saved[id].expected);
    largeValuesStop();
    itemQueueFree(queue);
    sdsfree(thread_read);
    tablePartsEnd(&parts);
    hashtableDestroy(&ht);
}

/* ---- All runs ---- */

static void tablePartsTestRun(const struct hashtableType *type, uint64_t ids) {
    hashtable *ht = zmalloc(sizeof(*ht));
    struct tableParts parts;
    struct largeValue value = {.owner.ranges = 0};
    bool more = true, cancel = randomBelow(10) == 0;
    uint64_t every = 1 + randomBelow(8); /* how many times changes come for one step */
    tablePartsTestStart(ht, type, ids);
    tablePartsBegin(&parts, ht, &value, tablePartsTestBytes);
    while (more) {
        if (cancel && randomBelow(10) == 0) break;
        if (randomBelow(20) == 0) ht = tablePartsTestMove(ht, &parts);
        if (randomBelow(10) == 0) parts.step = 1U << randomBelow(7);
        if (randomBelow(every) == 0) more = tablePartsNext(&parts, tablePartsTestSave, &saved);
        bool pause = randomBelow(4) == 0; /* the table gets tails */
        if (pause) hashtablePause(ht);
        tablePartsTestChanges(ht, &parts, ids);
        if (pause && randomBelow(2)) more = tablePartsNext(&parts, tablePartsTestSave, &saved);
        if (pause) hashtableResume(ht);
    }
    for (uint64_t id = 0; id < ids; id++) {
        if (!more) assert_int_equal(saved[id].passed, saved[id].expected);
        assert_in_range(saved[id].passed, 0, saved[id].expected);
    }
    assert_true(more || !tablePartsNext(&parts, tablePartsTestSave, &saved));
    tablePartsEnd(&parts);
    hashtableDestroy(ht);
    zfree(ht);
}

static void testModel(void **state) {
    (void)state;
    for (uint64_t i = 0; i < 50 + modelShare(2000); i++)
        tablePartsTestRun(&types[i % 2], 1 + randomBelow(randomBelow(3) ? MAX_IDS : 100));
}

/* The first batches have about 8 KB, and one range at least. */
static void testFirstBatches(void **state) {
    (void)state;
    static const struct {
        size_t bytes;
        unsigned ranges;
    } cases[] = {{1, 256}, {16, 256}, {1000, 16}, {100000, 1}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        struct largeValue value = {.owner.ranges = 0};
        struct tableParts parts;
        hashtable ht;
        tablePartsTestStart(&ht, &types[0], 100);
        bytes_of_all = cases[i].bytes;
        tablePartsBegin(&parts, &ht, &value, tablePartsTestAllBytes);
        assert_int_equal(value.owner.ranges, cases[i].ranges);
        tablePartsEnd(&parts);
        hashtableDestroy(&ht);
    }
}

static size_t bytes_passed;
static size_t tablePartsTestOneIsLong(const void *entry) {
    return ((const struct partsItem *)entry)->id % 100 == 0 ? 10000 : 10;
}
static void tablePartsTestCount(void *priv, void *entry) {
    (void)priv;
    bytes_passed += tablePartsTestOneIsLong(entry);
}

/* All entries count, not the first few. */
static void testLargeByBytes(void **state) {
    (void)state;
    for (int i = 0; i < 20; i++) {
        hashtable ht;
        size_t bytes = 0;
        tablePartsTestStart(&ht, &types[i % 2], 4 * LARGE_VALUE_ELEMENTS / 2);
        for (uint64_t id = 0; id < MAX_IDS; id++)
            if (present[id]) bytes += tablePartsTestOneIsLong(present[id]);
        bool large = hashtableSize(&ht) > LARGE_VALUE_ELEMENTS || bytes > LARGE_VALUE_BYTES;
        assert_true(tablePartsIsLarge(&ht, tablePartsTestOneIsLong) == large);
        hashtableDestroy(&ht);
    }
}

/* A step has 16 KB or one range. A batch of long entries has 8 KB and one range. */
static void testBoundedParts(void **state) {
    (void)state;
    for (int i = 0; i < 20; i++) {
        hashtable ht;
        struct tableParts parts;
        struct largeValue value = {.owner.ranges = 0};
        bool more = true, give = i % 2;
        tablePartsTestStart(&ht, &types[0], MAX_IDS);
        tablePartsBegin(&parts, &ht, &value, tablePartsTestOneIsLong);
        if (give) parts.long_entries = true;
        while (more) {
            uint64_t at = parts.frontier;
            bytes_passed = 0;
            if (give) {
                struct queueItem *item = itemQueueNewEntries(&value.owner, 0);
                more = tablePartsGive(&parts, item->entries, tablePartsTestCount, NULL);
                for (uint32_t e = 0; e < item->entries->count; e++)
                    tablePartsTestCount(NULL, (void *)item->entries->entries[e]);
                value.owner.outstanding = 0;
                zfree(item);
                assert_in_range(bytes_passed, 0, 8192 + 3 * 10000);
            } else {
                more = tablePartsNext(&parts, tablePartsTestCount, NULL);
                assert_true(bytes_passed <= 16384 || parts.frontier == at + 1);
            }
        }
        tablePartsEnd(&parts);
        hashtableDestroy(&ht);
    }
}

static void testBesideAThread(void **state) {
    (void)state;
    server_el = aeCreate(64);
    for (uint64_t i = 0; i < 20 + modelShare(1000); i++)
        tablePartsTestRunThread(&types[i % 2], 1 + randomBelow(randomBelow(3) ? MAX_IDS : 100));
    aeDelete(server_el);
}

static int tablePartsTestSmallSegments(void **state) {
    (void)state;
    hashtableSetSegmentUnit(1);
    return 0;
}

int main(void) {
    modelSeed();
    const struct CMUnitTest tests[] = {cmocka_unit_test(testModel), cmocka_unit_test(testBesideAThread),
                                       cmocka_unit_test(testFirstBatches), cmocka_unit_test(testLargeByBytes),
                                       cmocka_unit_test(testBoundedParts)};
    int failed = cmocka_run_group_tests_name("segments as they are", tests, NULL, NULL);
    return failed +
           cmocka_run_group_tests_name("segments of 5 buckets", tests, tablePartsTestSmallSegments, NULL);
}
