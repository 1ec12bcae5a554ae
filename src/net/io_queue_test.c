/* SPDX-License-Identifier: BSD-3-Clause */
/* io_queue_test.c - the queue between two threads: full and empty, published or not, many times around. */
#include "net/io_queue.h"

#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/model_ops.h"

static struct ioMessage ioQueueTestNumbered(uintptr_t n) {
    return (struct ioMessage){.what = (uint32_t)n, .flags = 7, .port = (void *)n, .a = (void *)(n + 1)};
}

static void expectNext(struct ioQueue *q, uintptr_t n) {
    struct ioMessage m;
    assert_true(ioQueueTake(q, &m));
    assert_ptr_equal(m.port, n);
    assert_ptr_equal(m.a, n + 1);
    assert_int_equal(m.flags, 7);
}

static void whatIsNotPublishedIsNotSeen(void **state) {
    (void)state;
    struct ioQueue q;
    struct ioMessage m;
    ioQueueInit(&q, 4);
    assert_true(ioQueueEmpty(&q));
    assert_false(ioQueuePublish(&q));
    assert_true(ioQueuePut(&q, ioQueueTestNumbered(1)));
    assert_false(ioQueueTake(&q, &m));
    assert_true(ioQueueEmpty(&q));
    assert_true(ioQueuePublish(&q));
    assert_false(ioQueuePublish(&q));
    assert_false(ioQueueEmpty(&q));
    expectNext(&q, 1);
    assert_false(ioQueueTake(&q, &m));
    assert_true(ioQueueEmpty(&q));
    ioQueueFree(&q);
}

/* Puts every number of messages from every place of the ring on; a place is free when it is released. */
static void fullAndEmptyAtEveryPlace(void **state) {
    (void)state;
    struct ioQueue q;
    struct ioMessage m;
    const uintptr_t size = 8;
    ioQueueInit(&q, size);
    uintptr_t put = 0, taken = 0;
    for (uintptr_t start = 0; start < size; start++) {
        for (uintptr_t n = 0; n <= size; n++) {
            for (uintptr_t i = 0; i < n; i++) assert_true(ioQueuePut(&q, ioQueueTestNumbered(put++)));
            if (n == size) assert_false(ioQueuePut(&q, ioQueueTestNumbered(put)));
            ioQueuePublish(&q);
            for (uintptr_t i = 0; i < n; i++) expectNext(&q, taken++);
            assert_false(ioQueueTake(&q, &m));
            if (n == size) assert_false(ioQueuePut(&q, ioQueueTestNumbered(put)));
            ioQueueRelease(&q);
        }
        /* The next round starts one place further on. */
        assert_true(ioQueuePut(&q, ioQueueTestNumbered(put++)));
        ioQueuePublish(&q);
        expectNext(&q, taken++);
        ioQueueRelease(&q);
    }
    ioQueueFree(&q);
}

static struct {
    struct ioQueue q;
    uint64_t count;
} shared;

static void *ioQueueTestProduce(void *arg) {
    (void)arg;
    uint64_t seed = 1;
    for (uintptr_t n = 0; n < shared.count;) {
        seed = seed * 6364136223846793005u + 1442695040888963407u;
        for (unsigned burst = (unsigned)(seed >> 33) % 50; burst && n < shared.count; burst--) {
            while (!ioQueuePut(&shared.q, ioQueueTestNumbered(n))) {
                ioQueuePublish(&shared.q);
                sched_yield();
            }
            n++;
        }
        ioQueuePublish(&shared.q);
    }
    return NULL;
}

static void twoThreads(void **state) {
    (void)state;
    static const size_t sizes[] = {1, 2, 64, 4096};
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
        /* A small queue switches the threads often, which takes milliseconds on a busy machine. */
        shared.count = modelShare(sizes[s] <= 2 ? 2000 : sizes[s] <= 64 ? 50000 : 1000000);
        ioQueueInit(&shared.q, sizes[s]);
        pthread_t producer;
        assert_int_equal(pthread_create(&producer, NULL, ioQueueTestProduce, NULL), 0);
        struct ioMessage m;
        for (uintptr_t n = 0; n < shared.count;) {
            if (!ioQueueTake(&shared.q, &m)) {
                ioQueueRelease(&shared.q);
                sched_yield();
                continue;
            }
            assert_ptr_equal(m.port, n);
            assert_ptr_equal(m.a, n + 1);
            n++;
            if (n % 3 == 0) ioQueueRelease(&shared.q);
        }
        assert_false(ioQueueTake(&shared.q, &m));
        pthread_join(producer, NULL);
        ioQueueFree(&shared.q);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(whatIsNotPublishedIsNotSeen),
        cmocka_unit_test(fullAndEmptyAtEveryPlace),
        cmocka_unit_test(twoThreads),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
