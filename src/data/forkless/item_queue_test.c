/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests of item_queue: a thread reads objects and entries while the main thread takes some of them back; each
 * is saved exactly once, by the one who has it, and bytes keep their order. */
#include "data/forkless/item_queue.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <cmocka.h>

#include "base/model_ops.h"
#include "base/zmalloc.h"
#include "net/ae.h"

#define OBJECTS 20000
#define LARGE   7 /* one of so many objects counts as large */
#define ENTRIES 20000
#define PAUSES  16 /* one of so many batches is read slowly */

static struct fakeObject { int saved_by_thread, saved_by_main, registered; } objects[OBJECTS];
static struct fakeEntry { int changed, written; } entries[ENTRIES];
static struct itemQueue *queue;
static char order[4096];
static int orders;

static const struct object *itemQueueTestObject(int i) {
    return (const struct object *)(const void *)&objects[i];
}

static void itemQueueTestPause(void) {
    nanosleep(&(struct timespec){.tv_nsec = 100000}, NULL);
}

/* In either thread. */
static void itemQueueTestWrite(struct rioWriter *w, const void *entry, const struct queueEntryForm *form) {
    const struct fakeEntry *e = entry;
    int32_t at = (int32_t)(e - entries);
    if (e->changed || form->first_ms != 7) at = -1;
    rioWrite(w, &at, sizeof at);
}

static void itemQueueTestNote(sds bytes) {
    for (size_t i = 0; i < sdslen(bytes); i += sizeof(int32_t)) {
        int32_t at;
        memcpy(&at, bytes + i, sizeof at);
        if (at >= 0) entries[at].written++;
    }
}

static void itemQueueTestRead(struct queueEntries *batch) {
    if (!itemQueueClaimEntries(batch)) {
        itemQueueTestNote(batch->bytes);
        return;
    }
    struct rioWriter w;
    sds bytes = sdsempty();
    rioWriterInit(&w, rioSinkSds, &bytes);
    for (uint32_t i = 0; i < batch->count; i++) {
        if (i == batch->count / 2 && batch->first % PAUSES == 0) itemQueueTestPause();
        batch->write(&w, batch->entries[i], &batch->form);
    }
    itemQueueDoneEntries(batch, 1);
    rioFlush(&w);
    itemQueueTestNote(bytes);
    rioWriterFree(&w);
    sdsfree(bytes);
}

static void *itemQueueTestThread(void *arg) {
    bool cancelled;
    (void)arg;
    zmallocThreadStart();
    for (struct queueItem *item; (item = itemQueueNext(queue, &cancelled));) {
        if (item->bytes) {
            order[orders++] = item->bytes[0];
            continue;
        }
        if (item->entries) {
            itemQueueTestRead(item->entries);
            continue;
        }
        for (uint32_t i = 0; i < item->keys->count; i++) {
            if (!itemQueueClaim(item->keys, i)) continue;
            struct fakeObject *o = (struct fakeObject *)(void *)(uintptr_t)item->keys->objects[i];
            bool large = (o - objects) % LARGE == 0;
            o->saved_by_thread += !large;
            itemQueueDone(item->keys, i, large);
        }
    }
    zmallocThreadExit();
    return NULL;
}

static void itemQueueTestReap(uint64_t *reaped) {
    for (struct queueItem *item; (item = itemQueueReap(queue));) {
        assert_true(item->keys->first == *reaped);
        *reaped = item->keys->end;
        for (uint32_t i = 0; i < item->keys->count; i++) {
            struct fakeObject *o = (struct fakeObject *)(void *)(uintptr_t)item->keys->objects[i];
            if (atomic_load(&item->keys->states[i]) == ITEM_LARGE) o->registered++;
        }
        zfree(item);
    }
}

/* The main thread does this before it changes object i. */
static void itemQueueTestChange(int i, uint64_t reaped, uint64_t given) {
    if ((uint64_t)i < reaped || (uint64_t)i >= given) return;
    struct fakeObject *o = &objects[i];
    enum itemState state = itemQueueTake(queue, NULL, (uint64_t)i, itemQueueTestObject(i));
    if (state == ITEM_WAITING) o->saved_by_main++;
    if (state == ITEM_LARGE) o->registered++;
    assert_int_equal(o->saved_by_main + o->saved_by_thread + o->registered, 1);
}

static void itemQueueTestRound(unsigned seed) {
    pthread_t thread;
    uint64_t given = 0, reaped = 0;
    memset(objects, 0, sizeof objects);
    queue = itemQueueCreate();
    assert_int_equal(pthread_create(&thread, NULL, itemQueueTestThread, NULL), 0);
    srandom(seed);
    while (reaped < OBJECTS) {
        if (given < OBJECTS && itemQueueHasRoom(queue)) {
            struct queueItem *item = itemQueueNewKeys(NULL, 0);
            item->keys->first = given;
            int count = 1 + (int)(random() % ITEM_KEYS);
            for (int i = 0; i < count && given < OBJECTS; i++)
                item->keys->objects[item->keys->count++] = itemQueueTestObject((int)given++);
            item->keys->end = given;
            itemQueueGiveKeys(queue, item);
        }
        for (int i = 0; i < 20 && given > reaped; i++)
            itemQueueTestChange((int)(reaped + (uint64_t)random() % (given - reaped)), reaped, given);
        itemQueueTestReap(&reaped);
    }
    itemQueueEnd(queue);
    pthread_join(thread, NULL);
    assert_true(itemQueueIsIdle(queue));
    itemQueueFree(queue);
    for (int i = 0; i < OBJECTS; i++)
        assert_int_equal(objects[i].saved_by_main + objects[i].saved_by_thread + objects[i].registered, 1);
}

static void itemQueueTestTakesBack(void **state) {
    (void)state;
    unsigned rounds = (unsigned)(modelShare(1000000) / OBJECTS) + 1;
    for (unsigned seed = 1; seed <= rounds; seed++) itemQueueTestRound(seed);
}

/* Batches of entries of one value or of two: each entry is changed only when the thread has read it or never
 * will. What was taken back keeps its place in front of the last part. */
static void itemQueueTestRoundOfBatches(unsigned seed) {
    pthread_t thread;
    struct queueOwner owner = {.ranges = 64}, other = {.ranges = 64};
    struct rioWriter w;
    uint64_t given = 0;
    memset(entries, 0, sizeof entries);
    orders = 0;
    queue = itemQueueCreate();
    rioWriterInit(&w, rioSinkSds, NULL);
    itemQueueHold(queue, true);
    itemQueueGivePart(queue, 0, sdsnew("1"), false);
    assert_int_equal(pthread_create(&thread, NULL, itemQueueTestThread, NULL), 0);
    srandom(seed);
    while (given < ENTRIES || owner.outstanding) {
        if (given < ENTRIES && itemQueueHasRoomForPart(queue, UINT64_MAX)) {
            struct queueItem *item = itemQueueNewEntries(&owner, 0);
            uint64_t count = 1 + (uint64_t)random() % BATCH_ENTRIES;
            item->entries->write = itemQueueTestWrite;
            item->entries->form.first_ms = 7;
            item->entries->first = given;
            for (uint64_t i = 0; i < count && given < ENTRIES; i++)
                item->entries->entries[item->entries->count++] = &entries[given++];
            item->entries->end = given;
            itemQueueGiveEntries(queue, item);
        }
        for (int i = 0; i < 5; i++) {
            uint64_t at = given - 1 - (uint64_t)random() % given % 10000;
            itemQueueTakeEntries(queue, &owner, at, at + 1, &w);
            entries[at].changed = 1;
        }
        itemQueueTakeEntries(queue, &other, 0, UINT64_MAX, &w);
        assert_null(itemQueueReap(queue));
    }
    itemQueueGivePart(queue, 0, sdsnew("2"), true);
    itemQueueHold(queue, false);
    itemQueueEnd(queue);
    pthread_join(thread, NULL);
    assert_null(itemQueueReap(queue));
    assert_true(itemQueueIsIdle(queue));
    assert_int_equal(itemQueueBytes(queue), 0);
    itemQueueFree(queue);
    rioWriterFree(&w);
    assert_memory_equal(order, "12", 2);
    for (int i = 0; i < ENTRIES; i++) assert_int_equal(entries[i].written, 1);
}

static void itemQueueTestBatches(void **state) {
    (void)state;
    unsigned rounds = (unsigned)(modelShare(1000000) / ENTRIES) + 1;
    for (unsigned seed = 1; seed <= rounds; seed++) itemQueueTestRoundOfBatches(seed);
}

/* Takes all back while no thread reads, and part of it. */
static void itemQueueTestTakesAll(void **state) {
    (void)state;
    struct queueOwner owner = {.ranges = 64}, other = {.ranges = 64};
    struct rioWriter w;
    bool cancelled;
    memset(entries, 0, sizeof entries);
    queue = itemQueueCreate();
    rioWriterInit(&w, rioSinkSds, NULL);
    itemQueueHold(queue, true);
    for (uint64_t n = 0; n < QUEUE_BATCHES; n++) {
        assert_true(itemQueueHasRoomForPart(queue, 0));
        struct queueItem *item = itemQueueNewEntries(&owner, 0);
        *item->entries = (struct queueEntries){.owner = &owner,
                                               .first = 10 * n,
                                               .end = 10 * n + 10,
                                               .write = itemQueueTestWrite,
                                               .form = {.first_ms = 7},
                                               .count = 1,
                                               .entries = {&entries[n]}};
        itemQueueGiveEntries(queue, item);
    }
    assert_int_equal(owner.outstanding, QUEUE_BATCHES);
    assert_false(itemQueueHasRoomForPart(queue, 0));
    itemQueueTakeEntries(queue, &other, 0, UINT64_MAX, &w);
    assert_int_equal(itemQueueBytes(queue), 0);
    itemQueueTakeEntries(queue, &owner, 20, 30, &w);
    uint64_t each = itemQueueBytes(queue); /* allocated for 4 */
    assert_true(each >= 4 && each <= 64);
    itemQueueTakeEntries(queue, &owner, 29, 31, &w); /* and the one behind it */
    assert_int_equal(itemQueueBytes(queue), 2 * each);
    itemQueueTakeEntries(queue, &owner, 0, UINT64_MAX, &w);
    itemQueueTakeEntries(queue, &owner, 0, UINT64_MAX, &w);
    assert_int_equal(itemQueueBytes(queue), each * QUEUE_BATCHES);
    itemQueueHold(queue, false);
    for (int n = 0; n < QUEUE_BATCHES / 2; n++) {
        struct queueItem *item = itemQueueNext(queue, &cancelled);
        assert_false(itemQueueClaimEntries(item->entries));
        assert_int_equal(sdslen(item->entries->bytes), 4);
    }
    assert_int_equal(itemQueueBytes(queue), each * (QUEUE_BATCHES / 2 + 1)); /* the thread is busy with one */
    assert_null(itemQueueReap(queue));
    assert_int_equal(owner.outstanding, QUEUE_BATCHES / 2 + 1);
    itemQueueEnd(queue);
    while (itemQueueNext(queue, &cancelled)) {
    }
    assert_int_equal(itemQueueLength(queue), 0);
    assert_false(itemQueueIsIdle(queue));
    assert_null(itemQueueReap(queue));
    assert_true(itemQueueIsIdle(queue));
    assert_int_equal(owner.outstanding, 0);
    rioWriterFree(&w);
    itemQueueFree(queue);
}

/* A batch that took long makes the next ones shorter, to one range at least. */
static void itemQueueTestLength(void **state) {
    (void)state;
    struct queueOwner owner = {.ranges = 64};
    bool cancelled;
    queue = itemQueueCreate();
    itemQueueHold(queue, true);
    for (int i = 0; i < 40; i++) {
        struct queueItem *item = itemQueueNewEntries(&owner, 0);
        assert_in_range(item->entries->ranges, 1, BATCH_RANGES);
        if (i == 20) assert_int_equal(item->entries->ranges, 1);
        itemQueueGiveEntries(queue, item);
        item = itemQueueNext(queue, &cancelled);
        assert_true(itemQueueClaimEntries(item->entries));
        itemQueueDoneEntries(item->entries, i < 20 ? 1000 : 1);
        itemQueueGivePart(queue, 0, sdsempty(), false);
        itemQueueNext(queue, &cancelled);
        assert_null(itemQueueReap(queue));
    }
    assert_int_equal(owner.ranges, BATCH_RANGES);
    itemQueueFree(queue);
}

static void itemQueueTestGive(char c) {
    itemQueueGiveBytes(queue, 0, sdsnewlen(&c, 1), 1);
}

/* Between the parts of a large value nothing else is written. */
static void itemQueueTestHolds(void **state) {
    (void)state;
    pthread_t thread;
    orders = 0;
    queue = itemQueueCreate();
    itemQueueTestGive('a');
    itemQueueHold(queue, true);
    itemQueueGivePart(queue, 0, sdsnew("1"), false);
    itemQueueTestGive('b');
    assert_false(itemQueueHasRoom(queue));
    itemQueueGivePart(queue, 0, sdsnew("2"), true);
    itemQueueTestGive('c');
    sds one = sdsnew("1");
    assert_int_equal(itemQueueBytes(queue), 5 * sdsAllocSize(one));
    assert_int_equal(itemQueueBytesGiven(queue), 3 * sdsAllocSize(one));
    sdsfree(one);
    itemQueueHold(queue, false);
    itemQueueTestGive('d');
    itemQueueEnd(queue);
    assert_int_equal(pthread_create(&thread, NULL, itemQueueTestThread, NULL), 0);
    pthread_join(thread, NULL);
    assert_int_equal(orders, 6);
    assert_memory_equal(order, "a12bcd", 6);
    assert_int_equal(itemQueueBytes(queue), 0);
    itemQueueFree(queue);
}

static void itemQueueTestCancel(void **state) {
    (void)state;
    bool cancelled = false;
    queue = itemQueueCreate();
    itemQueueTestGive('a');
    itemQueueCancel(queue);
    assert_null(itemQueueNext(queue, &cancelled));
    assert_true(cancelled);
    itemQueueFree(queue); /* with what nobody has taken */
}

static int itemQueueTestSetUp(void **state) {
    (void)state;
    server_el = aeCreate(64);
    return server_el ? 0 : -1;
}

static int itemQueueTestTearDown(void **state) {
    (void)state;
    aeDelete(server_el);
    return 0;
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(itemQueueTestTakesBack), cmocka_unit_test(itemQueueTestBatches),
        cmocka_unit_test(itemQueueTestTakesAll),  cmocka_unit_test(itemQueueTestLength),
        cmocka_unit_test(itemQueueTestHolds),     cmocka_unit_test(itemQueueTestCancel),
    };
    return cmocka_run_group_tests(tests, itemQueueTestSetUp, itemQueueTestTearDown);
}
