/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests of item_queue: a thread reads objects while the main thread takes some of them back; each is saved
 * exactly once, by the one who has it, and bytes keep their order. */
#include "data/forkless/item_queue.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "base/model_ops.h"
#include "base/zmalloc.h"
#include "net/ae.h"

#define OBJECTS 20000
#define LARGE   7 /* one of so many objects counts as large */

static struct fakeObject { int saved_by_thread, saved_by_main, registered; } objects[OBJECTS];
static struct itemQueue *queue;
static char order[4096];
static int orders;

static const struct object *itemQueueTestObject(int i) {
    return (const struct object *)(const void *)&objects[i];
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
    assert_int_equal(itemQueueBytes(queue), 5);
    assert_int_equal(itemQueueBytesGiven(queue), 3);
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
        cmocka_unit_test(itemQueueTestTakesBack),
        cmocka_unit_test(itemQueueTestHolds),
        cmocka_unit_test(itemQueueTestCancel),
    };
    return cmocka_run_group_tests(tests, itemQueueTestSetUp, itemQueueTestTearDown);
}
