/* SPDX-License-Identifier: BSD-3-Clause */
/* io_thread_test.c - threads that send back their messages: order, sleep and waking, full queues, the end.
 * After a lost wake-up both sides would sleep; then the alarm ends the program. */
#include "net/io_thread.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>
#include <cmocka.h>

#include "base/model_ops.h"
#include "base/zmalloc.h"

#define PATIENCE_S 200
#define MANY       50000 /* messages: more than fit into queues */

enum { ECHO, SLOW, BURST, PIECES }; /* commands to a thread; BURST sends `a` messages; PIECES is long work */

static struct aeEventLoop *loop;
static struct heard {
    uintptr_t next; /* the number that must come */
    uint64_t count;
} heard[IO_THREADS_MAX + 1];

/* Long work: pieces that are left and done, and how long one takes. */
static _Atomic int pieces_left, pieces_done, piece_us;

static void ioThreadTestToThread(struct ioThread *t, const struct ioMessage *m) {
    if (m->what == PIECES) {
        pieces_left = (int)(uintptr_t)m->a;
        return;
    }
    ++*(uint64_t *)ioThreadState(t);
    if (m->what == SLOW) usleep(20000);
    uintptr_t n = m->what == BURST ? (uintptr_t)m->b : 1;
    for (uintptr_t i = 0; i < n; i++)
        ioThreadPost(t, (struct ioMessage){.what = m->what, .a = (void *)((uintptr_t)m->a + i)});
}

static void ioThreadTestFetch(const struct ioMessage *m) {
    assert_non_null(m);
}

static void ioThreadTestToMain(struct ioThread *t, const struct ioMessage *m) {
    struct heard *h = &heard[ioThreadNumber(t)];
    assert_ptr_equal(m->a, h->next);
    h->next++;
    h->count++;
}

static int begun, ended;
static _Atomic uint64_t told_in_all;

static void *ioThreadTestCreate(struct ioThread *t) {
    (void)t;
    return zcalloc(1, sizeof(uint64_t));
}
static bool ioThreadTestTurn(struct ioThread *t) {
    (void)t;
    return pieces_left > 0;
}
static void ioThreadTestLongWork(struct ioThread *t) {
    (void)t;
    usleep((useconds_t)piece_us);
    pieces_left--;
    pieces_done++;
}
static void ioThreadTestEnd(struct ioThread *t) {
    told_in_all += *(uint64_t *)ioThreadState(t);
}

static struct ioThread *ioThreadTestStart(int number) {
    heard[number] = (struct heard){0};
    struct ioThread *t = ioThreadStart(number, NULL);
    assert_non_null(t);
    begun++;
    return t;
}
static void ioThreadTestStop(struct ioThread *t) {
    ioThreadStop(t);
    ended++;
}

/* A turn like that of the server's loop: sleeps when no thread has sent anything. */
static void mainTurn(struct ioThread **threads, int n) {
    for (int i = 0; i < n; i++) ioThreadFlush(threads[i]);
    aeSetDontWait(loop, !ioMainSleeps());
    aeProcessEvents(loop, AE_FILE_EVENTS);
    ioMainWakes();
    for (int i = 0; i < n; i++) ioThreadReceive(threads[i]);
}

/* With a single message, both sides sleep between every two. */
static void noWakeUpIsLost(void **state) {
    (void)state;
    struct ioThread *t = ioThreadTestStart(1);
    uint64_t turns = modelShare(300000);
    for (uintptr_t i = 0; i < turns; i++) {
        ioThreadSend(t, (struct ioMessage){.what = ECHO, .a = (void *)i});
        while (heard[1].count == i) mainTurn(&t, 1);
    }
    ioThreadTestStop(t);
    assert_int_equal(heard[1].count, turns);
}

/* Several threads at once, of which some work while others fall asleep. */
static void noWakeUpIsLostAmongSeveral(void **state) {
    (void)state;
    enum { THREADS = 4 };
    struct ioThread *t[THREADS];
    uintptr_t sent[THREADS] = {0}, in_all = 0;
    for (int i = 0; i < THREADS; i++) t[i] = ioThreadTestStart(i + 1);
    uint64_t turns = modelShare(300000), seed = 7;
    for (uint64_t n = 0; n < turns; n++) {
        seed = seed * 6364136223846793005u + 1442695040888963407u;
        int i = (int)((seed >> 40) % THREADS);
        for (unsigned burst = 1 + (unsigned)(seed >> 50) % 5; burst; burst--, in_all++)
            ioThreadSend(t[i], (struct ioMessage){.what = ECHO, .a = (void *)sent[i]++});
        if (seed >> 63) mainTurn(t, THREADS);
        if ((seed >> 55) % 16) continue;
        for (;;) {
            uintptr_t back = 0;
            for (int k = 1; k <= THREADS; k++) back += heard[k].count;
            if (back == in_all) break;
            mainTurn(t, THREADS);
        }
    }
    for (int i = 0; i < THREADS; i++) {
        ioThreadTestStop(t[i]);
        assert_int_equal(heard[i + 1].count, sent[i]);
    }
}

/* The main thread sends more than the queue can hold, receives nothing, and waits for the slow thread. */
static void moreMessagesThanTheQueueHolds(void **state) {
    (void)state;
    struct ioThread *t = ioThreadTestStart(1);
    ioThreadSend(t, (struct ioMessage){.what = SLOW, .a = (void *)0});
    for (uintptr_t i = 1; i < MANY; i++) ioThreadSend(t, (struct ioMessage){.what = ECHO, .a = (void *)i});
    while (heard[1].count < MANY) mainTurn(&t, 1);
    /* One message makes the thread send more than the queue can hold. */
    ioThreadSend(t, (struct ioMessage){.what = BURST, .a = (void *)MANY, .b = (void *)MANY});
    while (heard[1].count < 2 * MANY) mainTurn(&t, 1);
    ioThreadSend(t, (struct ioMessage){.what = BURST, .a = (void *)(2 * MANY), .b = (void *)MANY});
    ioThreadAwait(t);
    assert_in_range(heard[1].count, 2 * MANY + 1, 3 * MANY);
    ioThreadTestStop(t);
    assert_int_equal(heard[1].count, 3 * MANY);
}

/* Messages that were sent before the end are handled, and their replies received. */
static void theEndWaitsForAll(void **state) {
    (void)state;
    for (uintptr_t n = 0; n < 12000; n = n * 3 + 1) {
        struct ioThread *t = ioThreadTestStart(2);
        for (uintptr_t i = 0; i < n; i++) ioThreadSend(t, (struct ioMessage){.what = ECHO, .a = (void *)i});
        ioThreadTestStop(t);
        assert_int_equal(heard[2].count, n);
    }
    struct ioThread *t = ioThreadTestStart(2);
    ioThreadSend(t, (struct ioMessage){.what = SLOW, .a = (void *)0});
    ioThreadSend(t, (struct ioMessage){.what = BURST, .a = (void *)1, .b = (void *)MANY});
    ioThreadTestStop(t);
    assert_int_equal(heard[2].count, MANY + 1);
}

/* Any thread can end first, and its number be used again. */
static void threadsComeAndGo(void **state) {
    (void)state;
    enum { THREADS = 8 };
    struct ioThread *t[THREADS];
    for (int round = 0; round < 5; round++) {
        for (int i = 0; i < THREADS; i++) t[i] = ioThreadTestStart(i + 1);
        for (int i = 0; i < THREADS; i++) {
            assert_int_equal(ioThreadNumber(t[i]), i + 1);
            ioThreadSend(t[i], (struct ioMessage){.what = ECHO, .a = (void *)0});
        }
        for (int i = 0; i < THREADS; i++) {
            int at = (i * 3 + round) % THREADS;
            ioThreadTestStop(t[at]);
            assert_int_equal(heard[at + 1].count, 1);
        }
    }
}

/* A thread that has nothing to do takes no processor. */
static void anIdleThreadSleeps(void **state) {
    (void)state;
    struct ioThread *t = ioThreadTestStart(1);
    ioThreadSend(t, (struct ioMessage){.what = ECHO, .a = (void *)0});
    while (!heard[1].count) mainTurn(&t, 1);
    uint64_t before = ioThreadCpuNs(t);
    usleep(200000);
    assert_in_range(ioThreadCpuNs(t) - before, 0, 20000000);
    ioThreadTestStop(t);
}

/* Messages do not wait for long work that came with them, although the main thread sleeps. */
static void messagesOvertakeLongWork(void **state) {
    (void)state;
    struct ioThread *t = ioThreadTestStart(1);
    pieces_done = 0;
    piece_us = 500000;
    ioThreadSend(t, (struct ioMessage){.what = PIECES, .a = (void *)1});
    ioThreadSend(t, (struct ioMessage){.what = ECHO, .a = (void *)0});
    while (!heard[1].count) mainTurn(&t, 1);
    assert_int_equal(pieces_done, 0);
    ioThreadTestStop(t);
}

/* A piece is done in each turn, with no message that would wake the thread in between. */
static void longWorkGoesOn(void **state) {
    (void)state;
    struct ioThread *t = ioThreadTestStart(1);
    pieces_done = 0;
    piece_us = 1;
    ioThreadSend(t, (struct ioMessage){.what = PIECES, .a = (void *)100});
    ioThreadFlush(t);
    for (int ms = 0; pieces_done < 100 && ms < 20000; ms++) usleep(1000);
    assert_int_equal(pieces_done, 100);
    ioThreadTestStop(t);
}

static int ioThreadTestSetUp(void **state) {
    (void)state;
    static const struct ioThreadHandlers handlers = {.to_thread = ioThreadTestToThread,
                                                     .fetch = ioThreadTestFetch,
                                                     .to_main = ioThreadTestToMain,
                                                     .create = ioThreadTestCreate,
                                                     .destroy = zfree,
                                                     .turn = ioThreadTestTurn,
                                                     .long_work = ioThreadTestLongWork,
                                                     .end = ioThreadTestEnd};
    alarm(PATIENCE_S);
    loop = aeCreate(64);
    ioThreadsInit(loop, &handlers);
    return loop ? 0 : -1;
}

static int ioThreadTestTearDown(void **state) {
    (void)state;
    aeDelete(loop);
    return begun == ended ? 0 : -1;
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(noWakeUpIsLost),
        cmocka_unit_test(noWakeUpIsLostAmongSeveral),
        cmocka_unit_test(moreMessagesThanTheQueueHolds),
        cmocka_unit_test(theEndWaitsForAll),
        cmocka_unit_test(threadsComeAndGo),
        cmocka_unit_test(anIdleThreadSleeps),
        cmocka_unit_test(messagesOvertakeLongWork),
        cmocka_unit_test(longWorkGoesOn),
    };
    return cmocka_run_group_tests(tests, ioThreadTestSetUp, ioThreadTestTearDown);
}
