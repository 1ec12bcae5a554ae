/* SPDX-License-Identifier: BSD-3-Clause */
/* background_test.c - jobs of the background threads: their order, full queues, the end. */
#include "registry/background.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <unistd.h>
#include <cmocka.h>

#define JOBS 20000 /* more than fit into a queue */

static pthread_t main_thread;
static atomic_long done, by_main, out_of_order;
static long last_by_thread; /* set by the only thread */
static pthread_mutex_t gate = PTHREAD_MUTEX_INITIALIZER;

static void backgroundTestCount(void *arg) {
    atomic_fetch_add(&done, 1);
    if (pthread_equal(pthread_self(), main_thread)) {
        atomic_fetch_add(&by_main, 1);
        return;
    }
    if ((intptr_t)arg <= last_by_thread) atomic_fetch_add(&out_of_order, 1);
    last_by_thread = (intptr_t)arg;
}

static void waitAtGate(void *arg) {
    (void)arg;
    pthread_mutex_lock(&gate);
    pthread_mutex_unlock(&gate);
}

static void takeTime(void *arg) {
    (void)arg;
    usleep(50000);
}

static void testBefore(void **state) {
    (void)state;
    bioSubmit(BIO_FSYNC, backgroundTestCount, NULL);
    assert_int_equal(by_main, 1);
    assert_int_equal(bioPending(BIO_FSYNC), 0);
}

static void testThreads(void **state) {
    (void)state;
    done = by_main = last_by_thread = 0;
    bioInit();
    pthread_mutex_lock(&gate);
    bioSubmit(BIO_LAZY_FREE, waitAtGate, NULL);
    bioSubmit(BIO_CLOSE_FILE, backgroundTestCount,
              (void *)1); /* another kind's thread does not wait for the gate */
    bioDrain(BIO_CLOSE_FILE);
    assert_int_equal(done, 1);
    done = last_by_thread = 0;
    for (intptr_t i = 1; i <= JOBS; i++) bioSubmit(BIO_LAZY_FREE, backgroundTestCount, (void *)i);
    long done_early = done;
    size_t pending = bioPending(BIO_LAZY_FREE);
    pthread_mutex_unlock(&gate); /* before anything can fail: bioStop waits for that thread */
    bioDrain(BIO_LAZY_FREE);
    assert_true(by_main > 0 && by_main < JOBS); /* the queue was full, so the submitter ran it */
    assert_int_equal(done_early, by_main);
    assert_int_equal(pending, JOBS - by_main + 1);
    assert_int_equal(done, JOBS);
    assert_int_equal(bioPending(BIO_LAZY_FREE), 0);
    assert_int_equal(out_of_order, 0);
}

static void testEnd(void **state) {
    (void)state;
    done = by_main = last_by_thread = 0;
    bioSubmit(BIO_FSYNC, takeTime, NULL); /* so that the others are still waiting when bioStop is called */
    for (intptr_t i = 1; i <= 100; i++) bioSubmit(BIO_FSYNC, backgroundTestCount, (void *)i);
    bioStop(); /* returns when they are done */
    assert_int_equal(done, 100);
    assert_int_equal(by_main, 0);
    bioSubmit(BIO_FSYNC, backgroundTestCount, NULL);
    assert_int_equal(by_main, 1);
    bioStop();
}

int main(void) {
    main_thread = pthread_self();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(testBefore),
        cmocka_unit_test(testThreads),
        cmocka_unit_test(testEnd),
    };
    return cmocka_run_group_tests_name("background", tests, NULL, NULL);
}
