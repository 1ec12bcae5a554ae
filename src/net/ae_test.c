/* SPDX-License-Identifier: BSD-3-Clause */
/* ae_test.c - the event loop: order and deletion of timers, file events whose handlers delete each other in
 * the same turn, nested turns, hooks, wake-ups from a thread, limits. Events are pipes and socket
 * pairs; handlers write what happened into a trace, one letter per call. */
#include "net/ae.h"

#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include <cmocka.h>

#include "base/clock.h"
#include "net/test_backends.h"

static struct aeEventLoop *el;
static char trace[256];
static int64_t ids[8];

static void aeTestNote(char c) {
    size_t n = strlen(trace);
    assert_true(n + 1 < sizeof(trace));
    trace[n] = c;
    trace[n + 1] = '\0';
}

static int aeTestSetUp(void **state) {
    (void)state;
    el = aeCreate(128);
    trace[0] = '\0';
    return el ? 0 : -1;
}

static int aeTestTearDown(void **state) {
    (void)state;
    aeDelete(el);
    return 0;
}

static void makePair(int fds[2]) {
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, fds), 0);
}
static void closePair(int fds[2]) {
    close(fds[0]);
    close(fds[1]);
}
static void makeReadable(int fds[2]) {
    assert_int_equal(write(fds[1], "x", 1), 1);
}

/* Runs turns until `ms` have passed, and one after that. */
static void runFor(int64_t ms) {
    int64_t end_us = monotonicUs() + ms * 1000;
    bool over;
    do {
        over = monotonicUs() > end_us;
        aeProcessEvents(el, AE_ALL_EVENTS | AE_DONT_WAIT);
    } while (!over);
}

/* ---- Timers -------------------------------------------------------------------------------------------- */

static int64_t noteOnce(struct aeEventLoop *l, int64_t id, void *data) {
    (void)l, (void)id;
    aeTestNote(*(const char *)data);
    return AE_NOMORE;
}

static int64_t noteAgainAtOnce(struct aeEventLoop *l, int64_t id, void *data) {
    (void)l, (void)id;
    aeTestNote(*(const char *)data);
    return 0;
}

static int64_t deleteOthers(struct aeEventLoop *l, int64_t id, void *data) {
    aeTestNote(*(const char *)data);
    for (int i = 0; i < 8; i++)
        if (ids[i] != id) aeDeleteTimeEvent(l, ids[i]);
    return AE_NOMORE;
}

static int64_t deleteSelf(struct aeEventLoop *l, int64_t id, void *data) {
    aeTestNote(*(const char *)data);
    aeDeleteTimeEvent(l, id);
    return 0; /* would be called again */
}

static int64_t createAnother(struct aeEventLoop *l, int64_t id, void *data) {
    (void)id;
    aeTestNote(*(const char *)data);
    aeCreateTimeEvent(l, 0, createAnother, data);
    return AE_NOMORE;
}

static int64_t nestedTurn(struct aeEventLoop *l, int64_t id, void *data) {
    (void)id;
    aeTestNote('<');
    usleep(2000);
    aeProcessEvents(l, AE_ALL_EVENTS | AE_DONT_WAIT);
    aeTestNote('>');
    return data ? AE_NOMORE : 0;
}

static void testTimerOrder(void **state) {
    (void)state;
    static const int delays[] = {9, 2, 7, 2, 12, 5, 1, 30};
    bool slow = true;
    for (int64_t start_us; slow;) { /* a busy machine may take longer than the timers are apart */
        start_us = monotonicUs();
        for (int i = 0; i < 8; i++) ids[i] = aeCreateTimeEvent(el, delays[i] * 5, noteOnce, &"abcdefgh"[i]);
        slow = monotonicUs() - start_us >= 5000;
        for (int i = 0; i < 8 && slow; i++) aeDeleteTimeEvent(el, ids[i]);
    }
    runFor(60);
    assert_memory_equal(trace, "gbdfcae", 7);
    runFor(91);
    assert_string_equal(trace, "gbdfcaeh");
}

/* Many timers, some removed from the middle of the heap. Bounds are known for when each is due. */
static int64_t due_from_us[200], due_to_us[200], latest_us;
static int64_t checkDue(struct aeEventLoop *l, int64_t id, void *data) {
    (void)l, (void)id;
    intptr_t i = (intptr_t)data;
    assert_true(due_to_us[i] >= latest_us); /* none that was surely due later has run */
    assert_true(due_from_us[i] <= monotonicUs());
    if (due_from_us[i] > latest_us) latest_us = due_from_us[i];
    aeTestNote('.');
    return AE_NOMORE;
}

static void testManyTimers(void **state) {
    (void)state;
    int64_t created[200];
    latest_us = 0;
    srand(7);
    for (intptr_t i = 0; i < 200; i++) {
        int64_t delay_ms = rand() % 200;
        due_from_us[i] = monotonicUs() + delay_ms * 1000;
        created[i] = aeCreateTimeEvent(el, delay_ms, checkDue, (void *)i);
        due_to_us[i] = monotonicUs() + delay_ms * 1000;
    }
    for (int i = 0; i < 200; i += 2) aeDeleteTimeEvent(el, created[(i * 7) % 200]);
    aeDeleteTimeEvent(el, 424242);
    usleep(201000); /* all are due: one turn runs them in order of time */
    assert_int_equal(aeProcessEvents(el, AE_TIME_EVENTS), 100);
    assert_int_equal(strlen(trace), 100);
}

static void testTimerDeletion(void **state) {
    (void)state;
    for (int i = 0; i < 8; i++) ids[i] = aeCreateTimeEvent(el, 1, deleteOthers, &"abcdefgh"[i]);
    aeCreateTimeEvent(el, 1, deleteSelf, "s");
    runFor(5);
    assert_string_equal(trace, "as");
}

/* The slot of a timer that has ended is used again; its id is not. */
static void testTimerIds(void **state) {
    (void)state;
    int64_t live[100], gone[100];
    for (int i = 0; i < 100; i++) gone[i] = aeCreateTimeEvent(el, 0, noteOnce, "x");
    for (int i = 0; i < 100; i++) aeDeleteTimeEvent(el, gone[i]);
    for (int i = 0; i < 100; i++) live[i] = aeCreateTimeEvent(el, 0, noteOnce, ".");
    for (int i = 0; i < 100; i++) aeDeleteTimeEvent(el, gone[i]);
    for (int i = 0; i < 100; i += 2) aeDeleteTimeEvent(el, live[i]);
    runFor(5);
    assert_int_equal(strlen(trace), 50);
    assert_null(strchr(trace, 'x'));
}

static void testTimerWithoutDelay(void **state) {
    (void)state;
    aeCreateTimeEvent(el, 0, noteAgainAtOnce, "a");
    aeCreateTimeEvent(el, 0, createAnother, "b");
    for (int i = 0; i < 3; i++) {
        usleep(100);
        assert_int_equal(aeProcessEvents(el, AE_TIME_EVENTS), 2); /* once each, and the turn ends */
    }
    assert_int_equal(strlen(trace), 6);
}

static void testTimerNested(void **state) {
    (void)state;
    aeCreateTimeEvent(el, 0, nestedTurn, "");
    aeCreateTimeEvent(el, 1, noteOnce, "a");
    usleep(100);
    aeProcessEvents(el, AE_TIME_EVENTS);
    assert_string_equal(trace, "<a>"); /* not itself */
}

static int64_t killFromNested(struct aeEventLoop *l, int64_t id, void *data) {
    (void)id, (void)data;
    aeTestNote('k');
    aeDeleteTimeEvent(l, ids[0]);
    return AE_NOMORE;
}

static void testTimerDeletedFromNested(void **state) {
    (void)state;
    ids[0] = aeCreateTimeEvent(el, 0, nestedTurn, NULL); /* would repeat */
    aeCreateTimeEvent(el, 1, killFromNested, NULL);
    runFor(8);
    assert_string_equal(trace, "<k>");
}

static void testPollWaitsForTimer(void **state) {
    (void)state;
    aeCreateTimeEvent(el, 20, noteOnce, "a");
    aeCreateTimeEvent(el, INT64_MAX, noteOnce, "never");
    int64_t start_us = monotonicUs();
    assert_int_equal(aeProcessEvents(el, AE_ALL_EVENTS), 1);
    assert_in_range(monotonicUs() - start_us, 20000, 500000);
    aeSetDontWait(el, true);
    assert_int_equal(aeProcessEvents(el, AE_ALL_EVENTS), 0);
    assert_string_equal(trace, "a");
}

/* ---- File events --------------------------------------------------------------------------------------- */

static void noteMask(struct aeEventLoop *l, int fd, void *data, int mask) {
    (void)l, (void)fd;
    if (data) aeTestNote(*(const char *)data);
    if (mask & AE_READABLE) aeTestNote('r');
    if (mask & AE_WRITABLE) aeTestNote('w');
}

static void noteMask2(struct aeEventLoop *l, int fd, void *data, int mask) {
    noteMask(l, fd, data, mask);
}

static void testReadAndWrite(void **state) {
    (void)state;
    int p[2];
    makePair(p);
    assert_int_equal(aeCreateFileEvent(el, p[0], AE_READABLE, noteMask, "1"), 0);
    assert_int_equal(aeProcessEvents(el, AE_FILE_EVENTS | AE_DONT_WAIT), 0);
    makeReadable(p);
    assert_int_equal(aeProcessEvents(el, AE_FILE_EVENTS), 1);
    aeCreateFileEvent(el, p[0], AE_WRITABLE, noteMask2, "2");
    assert_int_equal(aeProcessEvents(el, AE_FILE_EVENTS), 1);
    assert_int_equal(aeGetFileEvents(el, p[0]), AE_READABLE | AE_WRITABLE);
    aeCreateFileEvent(el, p[0], AE_WRITABLE, noteMask2, "3");
    aeProcessEvents(el, AE_FILE_EVENTS);
    aeDeleteFileEvent(el, p[0], AE_READABLE);
    aeProcessEvents(el, AE_FILE_EVENTS);
    aeDeleteFileEvent(el, p[0], AE_WRITABLE);
    assert_int_equal(aeGetFileEvents(el, p[0]), AE_NONE);
    assert_int_equal(aeProcessEvents(el, AE_FILE_EVENTS | AE_DONT_WAIT), 0);
    assert_string_equal(trace, "1r1r2w1r3w3w");
    aeCreateFileEvent(el, p[0], AE_READABLE | AE_WRITABLE, noteMask, "4");
    aeProcessEvents(el, AE_FILE_EVENTS);
    assert_string_equal(trace + 12, "4rw"); /* one handler for both: one call */
    closePair(p);
}

static void testHangUp(void **state) {
    (void)state;
    int p[2];
    makePair(p);
    close(p[1]);
    aeCreateFileEvent(el, p[0], AE_WRITABLE, noteMask, NULL);
    aeProcessEvents(el, AE_FILE_EVENTS);
    assert_string_equal(trace, "w"); /* only what was asked for */
    aeDeleteFileEvent(el, p[0], AE_WRITABLE);
    close(p[0]);
}

static int pairs[2][2];

/* Whichever of the two is called first closes the other, whose event is waiting in the same turn. */
static void closeOther(struct aeEventLoop *l, int fd, void *data, int mask) {
    (void)data, (void)mask;
    aeTestNote('c');
    int *other = pairs[fd == pairs[0][0]];
    aeDeleteFileEvent(l, other[0], AE_READABLE | AE_WRITABLE);
    closePair(other);
}

/* Closes the other fd, whose number is at once used for another file with a handler of its own. */
static void reuseOther(struct aeEventLoop *l, int fd, void *data, int mask) {
    closeOther(l, fd, data, mask);
    int *other = pairs[fd == pairs[0][0]], old = other[0];
    makePair(other);
    assert_true(other[0] == old || other[1] == old);
    if (other[1] == old) other[1] = other[0], other[0] = old;
    assert_int_equal(aeCreateFileEvent(l, old, AE_READABLE, noteMask, NULL), 0);
}

static void startPairs(aeFileProc *proc) {
    for (int i = 0; i < 2; i++) {
        makePair(pairs[i]);
        makeReadable(pairs[i]);
        aeCreateFileEvent(el, pairs[i][0], AE_READABLE, proc, NULL);
    }
}

static void testDeleteReady(void **state) {
    (void)state;
    startPairs(closeOther);
    assert_int_equal(aeProcessEvents(el, AE_FILE_EVENTS), 1);
    assert_string_equal(trace, "c");
    closePair(pairs[aeGetFileEvents(el, pairs[0][0]) == AE_NONE]);
}

static void testReuseReady(void **state) {
    (void)state;
    startPairs(reuseOther);
    assert_int_equal(aeProcessEvents(el, AE_FILE_EVENTS), 1);
    assert_string_equal(trace, "c"); /* the new file is not readable */
    closePair(pairs[0]);
    closePair(pairs[1]);
}

static void deleteOwn(struct aeEventLoop *l, int fd, void *data, int mask) {
    noteMask(l, fd, data, mask);
    aeDeleteFileEvent(l, fd, AE_READABLE | AE_WRITABLE);
}

static void testDeleteOwnOtherDirection(void **state) {
    (void)state;
    int p[2];
    makePair(p);
    makeReadable(p);
    aeCreateFileEvent(el, p[0], AE_READABLE, deleteOwn, NULL);
    aeCreateFileEvent(el, p[0], AE_WRITABLE, noteMask, NULL);
    assert_int_equal(aeProcessEvents(el, AE_FILE_EVENTS), 1);
    assert_string_equal(trace, "r");
    closePair(p);
}

/* The fd is writable, too, and its number is used for another writable file before that event is handled. */
static void reuseOwn(struct aeEventLoop *l, int fd, void *data, int mask) {
    (void)data, (void)mask;
    aeTestNote('o');
    aeDeleteFileEvent(l, fd, AE_READABLE | AE_WRITABLE);
    close(fd);
    assert_int_equal(dup2(pairs[1][0], fd), fd);
    assert_int_equal(aeCreateFileEvent(l, fd, AE_WRITABLE, noteMask, NULL), 0);
}

static void testReuseOwn(void **state) {
    (void)state;
    makePair(pairs[0]);
    makePair(pairs[1]);
    makeReadable(pairs[0]);
    aeCreateFileEvent(el, pairs[0][0], AE_READABLE, reuseOwn, NULL);
    aeCreateFileEvent(el, pairs[0][0], AE_WRITABLE, noteMask, NULL);
    aeProcessEvents(el, AE_FILE_EVENTS);
    assert_string_equal(trace, "o"); /* what was ready was the old file */
    aeProcessEvents(el, AE_FILE_EVENTS);
    assert_string_equal(trace, "ow");
    closePair(pairs[0]);
    closePair(pairs[1]);
}

/* The nested turn handles everything, deletes it, and the outer one goes on with its own array. */
static void nestOnce(struct aeEventLoop *l, int fd, void *data, int mask) {
    (void)data, (void)mask;
    aeTestNote('<');
    aeDeleteFileEvent(l, fd, AE_READABLE);
    assert_int_equal(aeProcessEvents(l, AE_FILE_EVENTS | AE_DONT_WAIT), 1);
    aeTestNote('>');
}

static void testNested(void **state) {
    (void)state;
    startPairs(nestOnce);
    int third[2];
    makePair(third);
    makeReadable(third);
    aeCreateFileEvent(el, third[0], AE_READABLE, deleteOwn, NULL);
    aeDeleteFileEvent(el, pairs[1][0], AE_READABLE);
    assert_int_equal(aeProcessEvents(el, AE_FILE_EVENTS), trace[0] == 'r' ? 2 : 1);
    assert_string_equal(trace, "<r>");
    closePair(pairs[0]);
    closePair(pairs[1]);
    closePair(third);
}

static int counted;
static void countAndDelete(struct aeEventLoop *l, int fd, void *data, int mask) {
    (void)data, (void)mask;
    counted++;
    aeDeleteFileEvent(l, fd, AE_READABLE);
}

/* More fds ready than a turn takes from the kernel, where the process may have so many. */
static void testManyReady(void **state) {
    (void)state;
    int p[2], fds[3000], n = 0;
    makePair(p);
    makeReadable(p);
    assert_int_equal(aeSetSize(el, 4096), 0);
    while (n < 3000 && (fds[n] = dup(p[0])) != -1) n++;
    for (int i = 0; i < n; i++)
        assert_int_equal(aeCreateFileEvent(el, fds[i], AE_READABLE, countAndDelete, NULL), 0);
    counted = 0;
    for (int turns = 0; turns < 4; turns++) aeProcessEvents(el, AE_FILE_EVENTS | AE_DONT_WAIT);
    assert_int_equal(counted, n);
    for (int i = 0; i < n; i++) close(fds[i]);
    closePair(p);
}

/* ---- The loop ------------------------------------------------------------------------------------------ */

static void noteBefore(struct aeEventLoop *l) {
    (void)l;
    aeTestNote('b');
}
static void noteAfter(struct aeEventLoop *l) {
    (void)l;
    aeTestNote('a');
}
static void noteEvents(struct aeEventLoop *l) {
    (void)l;
    aeTestNote('e');
}

static void notePollBegins(struct aeEventLoop *l) {
    (void)l;
    aeTestNote('p');
}
static void notePollEnds(struct aeEventLoop *l) {
    (void)l;
    aeTestNote('q');
}

static void testHooks(void **state) {
    (void)state;
    int p[2];
    makePair(p);
    makeReadable(p);
    aeCreateFileEvent(el, p[0], AE_READABLE, noteMask, NULL);
    aeCreateTimeEvent(el, 0, noteOnce, "t");
    aeSetBeforeSleep(el, noteBefore);
    aeSetAfterSleep(el, noteAfter);
    aeSetAfterEvents(el, noteEvents);
    usleep(100);
    aeProcessEvents(el, AE_ALL_EVENTS | AE_CALL_HOOKS);
    assert_string_equal(trace, "baret");
    trace[0] = '\0';
    aeProcessEvents(el, AE_ALL_EVENTS);
    assert_string_equal(trace, "re");
    trace[0] = '\0';
    aeSetAroundPoll(el, notePollBegins, notePollEnds);
    aeProcessEvents(el, AE_ALL_EVENTS | AE_CALL_HOOKS);
    assert_string_equal(trace, "bpqare");
    trace[0] = '\0';
    aeProcessEvents(el, AE_ALL_EVENTS); /* a nested turn is not a sleep */
    assert_string_equal(trace, "re");
    trace[0] = '\0';
    aeSetAroundPoll(el, NULL, NULL);
    aeProcessEvents(el, AE_ALL_EVENTS | AE_CALL_HOOKS);
    assert_string_equal(trace, "bare");
    closePair(p);
}

static int64_t stopLoop(struct aeEventLoop *l, int64_t id, void *data) {
    (void)id, (void)data;
    aeStop(l);
    return AE_NOMORE;
}

static void testMain(void **state) {
    (void)state;
    aeCreateTimeEvent(el, 1, noteOnce, "a");
    aeCreateTimeEvent(el, 3, stopLoop, NULL);
    aeCreateTimeEvent(el, 60000, noteOnce, "b");
    aeMain(el);
    assert_string_equal(trace, "a");
}

static void *wakeSoon(void *arg) {
    usleep(20000);
    for (int i = 0; i < 5; i++) aeWakeup(arg);
    return NULL;
}

static void testWakeup(void **state) {
    (void)state;
    pthread_t thread;
    int64_t start_us = monotonicUs();
    assert_int_equal(pthread_create(&thread, NULL, wakeSoon, el), 0);
    assert_int_equal(aeProcessEvents(el, AE_FILE_EVENTS), 0); /* returns, and is no event */
    assert_in_range(monotonicUs() - start_us, 15000, 5000000);
    pthread_join(thread, NULL);
    aeProcessEvents(el, AE_FILE_EVENTS | AE_DONT_WAIT);
    start_us = monotonicUs();
    aeCreateTimeEvent(el, 20, noteOnce, "t");
    assert_int_equal(aeProcessEvents(el, AE_ALL_EVENTS), 1); /* drained: this one sleeps */
    assert_true(monotonicUs() - start_us >= 20000);
    aeWakeup(el);
    start_us = monotonicUs();
    aeProcessEvents(el, AE_FILE_EVENTS); /* not lost when the loop was not sleeping */
    assert_true(monotonicUs() - start_us < 5000000);
}

/* ---- Whether the loop is late ---- */

static struct {
    int fds[2];
    atomic_int step; /* 1: something is readable, 2: the handler runs, 3: it may end */
    int late;        /* times that the loop was seen late */
    bool late_before, late_in_handler;
} lateness;

static void aeTestWaitForStep(int step) {
    while (lateness.step < step) usleep(100);
}

static void endWhenSeen(struct aeEventLoop *loop, int fd, void *data, int mask) {
    (void)data, (void)mask;
    char c;
    lateness.step = 2;
    aeTestWaitForStep(3);
    assert_int_equal(aeRead(loop, fd, &c, 1), 1);
}

/* Looks at the loop from outside: asleep with nothing to do, just woken, and in a handler with input left. */
static void *seeLateness(void *arg) {
    (void)arg;
    usleep(5000);
    lateness.late_before |= aeIsLate(el);
    lateness.step = 1;
    makeReadable(lateness.fds);
    while (lateness.step < 2) lateness.late += aeIsLate(el);
    lateness.late_in_handler |= aeIsLate(el);
    lateness.step = 3;
    return NULL;
}

static void testLateness(void **state) {
    (void)state;
    pthread_t thread;
    memset(&lateness, 0, sizeof lateness);
    makePair(lateness.fds);
    aeCreateFileEvent(el, lateness.fds[0], AE_READABLE, endWhenSeen, NULL);
    for (int64_t end_us = monotonicUs() + 20000000; !lateness.late && monotonicUs() < end_us;) {
        lateness.step = 0;
        assert_int_equal(pthread_create(&thread, NULL, seeLateness, NULL), 0);
        while (lateness.step < 3) aeProcessEvents(el, AE_FILE_EVENTS);
        pthread_join(thread, NULL);
    }
    assert_true(lateness.late > 0);
    assert_false(lateness.late_before || lateness.late_in_handler);
    closePair(lateness.fds);
}

static void testSizes(void **state) {
    (void)state;
    int p[2];
    makePair(p);
    assert_int_equal(dup2(p[0], 100), 100);
    assert_int_equal(aeCreateFileEvent(el, 128, AE_READABLE, noteMask, NULL), -1);
    assert_int_equal(errno, ERANGE);
    assert_int_equal(aeCreateFileEvent(el, 127, AE_READABLE, noteMask, NULL), -1); /* not open */
    assert_int_equal(aeGetFileEvents(el, 127), AE_NONE);
    assert_int_equal(aeCreateFileEvent(el, 100, AE_WRITABLE, noteMask, NULL), 0);
    assert_int_equal(aeSetSize(el, 100), -1);
    assert_int_equal(aeGetSize(el), 128);
    assert_int_equal(aeSetSize(el, 101), 0);
    assert_int_equal(aeSetSize(el, 1000), 0);
    assert_int_equal(aeProcessEvents(el, AE_FILE_EVENTS), 1);
    aeDeleteFileEvent(el, 100, AE_WRITABLE);
    aeDeleteFileEvent(el, 5000, AE_WRITABLE);
    assert_int_equal(aeSetSize(el, 100), 0);
    close(100);
    closePair(p);
}

static void testWait(void **state) {
    (void)state;
    int p[2];
    makePair(p);
    assert_int_equal(aeWait(p[0], AE_READABLE, 0), 0);
    int64_t start_us = monotonicUs();
    assert_int_equal(aeWait(p[0], AE_READABLE, 20), 0);
    assert_true(monotonicUs() - start_us >= 19000);
    assert_int_equal(aeWait(p[0], AE_READABLE | AE_WRITABLE, 1000), AE_WRITABLE);
    makeReadable(p);
    assert_int_equal(aeWait(p[0], AE_READABLE, -1), AE_READABLE);
    closePair(p);
}

static void testWaitForEvent(void **state) {
    (void)state;
    int fds[2];
    makePair(fds);
    aeCreateFileEvent(el, fds[0], AE_READABLE, noteMask, NULL);
    int64_t start_us = monotonicUs();
    aeWaitForEvent(el, 20);
    assert_in_range(monotonicUs() - start_us, 19000, 5000000);
    makeReadable(fds);
    start_us = monotonicUs();
    aeWaitForEvent(el, 10000);
    assert_true(monotonicUs() - start_us < 5000000);
    assert_string_equal(trace, ""); /* it is left for the next turn */
    aeProcessEvents(el, AE_FILE_EVENTS | AE_DONT_WAIT);
    assert_string_equal(trace, "r");
    aeDeleteFileEvent(el, fds[0], AE_READABLE);
    closePair(fds);
}

static void testTakeWakeup(void **state) {
    (void)state;
    int fds[2];
    makePair(fds);
    aeCreateFileEvent(el, fds[0], AE_READABLE, noteMask, NULL);
    makeReadable(fds);
    aeWakeup(el);
    int64_t start_us = monotonicUs();
    aeTakeWakeup(el, 10000);
    assert_true(monotonicUs() - start_us < 5000000);
    start_us = monotonicUs();
    aeTakeWakeup(el, 20); /* that wake-up is taken, and the file does not count */
    assert_in_range(monotonicUs() - start_us, 19000, 5000000);
    aeWakeup(el);
    aeProcessEvents(el, AE_FILE_EVENTS | AE_DONT_WAIT);
    assert_string_equal(trace, "r");
    aeDeleteFileEvent(el, fds[0], AE_READABLE);
    closePair(fds);
}

/* ---- Priority ---- */

static void noteAndRead(struct aeEventLoop *loop, int fd, void *data, int mask) {
    char c;
    (void)loop, (void)mask;
    assert_int_equal(read(fd, &c, 1), 1);
    aeTestNote(*(const char *)data);
}

static void testPriorityServedApart(void **state) {
    (void)state;
    int a[2], b[2], c[2];
    makePair(a), makePair(b), makePair(c);
    assert_int_equal(aeServePriority(el), 0);
    assert_int_equal(aeCreateFileEvent(el, a[0], AE_READABLE | AE_PRIORITY, noteAndRead, "a"), 0);
    assert_int_equal(aeCreateFileEvent(el, b[0], AE_READABLE, noteAndRead, "b"), 0);
    assert_int_equal(aeCreateFileEvent(el, c[0], AE_READABLE, noteAndRead, "c"), 0);
    assert_true(ae_any_priority);
    aeMakePriority(el, c[0]);
    makeReadable(a), makeReadable(b), makeReadable(c);
    assert_int_equal(aeServePriority(el), 2);
    assert_true(strcmp(trace, "ac") == 0 || strcmp(trace, "ca") == 0);
    assert_int_equal(aeServePriority(el), 0);
    trace[0] = '\0';
    makeReadable(a);
    aeProcessEvents(el, AE_FILE_EVENTS | AE_DONT_WAIT); /* the loop sees all of them */
    if (aeBackendOf(el) == AE_URING) aeProcessEvents(el, AE_FILE_EVENTS | AE_DONT_WAIT);
    assert_true(strcmp(trace, "ab") == 0 || strcmp(trace, "ba") == 0);
    aeDeleteFileEvent(el, a[0], AE_READABLE);
    aeDeleteFileEvent(el, c[0], AE_READABLE);
    makeReadable(a), makeReadable(c);
    assert_int_equal(aeServePriority(el), 0);
    trace[0] = '\0';
    assert_int_equal(aeCreateFileEvent(el, a[0], AE_READABLE, noteAndRead, "a"), 0); /* an ordinary one now */
    assert_int_equal(aeServePriority(el), 0);
    aeProcessEvents(el, AE_FILE_EVENTS | AE_DONT_WAIT);
    if (!*trace) aeProcessEvents(el, AE_FILE_EVENTS | AE_DONT_WAIT);
    assert_string_equal(trace, "a");
    aeRemoveFd(el, a[0]), aeRemoveFd(el, b[0]);
    closePair(a), closePair(b), closePair(c);
}

static int priority_inner;
static void servePriorityWithin(struct aeEventLoop *loop, int fd, void *data, int mask) {
    noteAndRead(loop, fd, data, mask);
    priority_inner = aeServePriority(loop);
}

/* A handler serves priority fds of which the poll around it has events, too: each is handled once. */
static void testPriorityWithinTurn(void **state) {
    (void)state;
    int a[2], b[2], outer = 0;
    priority_inner = 0;
    makePair(a), makePair(b);
    assert_int_equal(aeCreateFileEvent(el, a[0], AE_READABLE, servePriorityWithin, "a"), 0);
    assert_int_equal(aeCreateFileEvent(el, b[0], AE_READABLE | AE_PRIORITY, noteAndRead, "b"), 0);
    makeReadable(a), makeReadable(b);
    for (int i = 0; i < 3; i++) outer += aeProcessEvents(el, AE_FILE_EVENTS | AE_DONT_WAIT);
    assert_int_equal(strlen(trace), 2);
    assert_int_equal(outer + priority_inner, 2);
    aeRemoveFd(el, a[0]), aeRemoveFd(el, b[0]);
    closePair(a), closePair(b);
}

int main(void) {
#define TEST(fn) cmocka_unit_test_setup_teardown(fn, aeTestSetUp, aeTestTearDown)
    const struct CMUnitTest tests[] = {
        TEST(testPriorityServedApart),
        TEST(testPriorityWithinTurn),
        TEST(testTimerOrder),
        TEST(testManyTimers),
        TEST(testTimerDeletion),
        TEST(testTimerIds),
        TEST(testTimerWithoutDelay),
        TEST(testTimerNested),
        TEST(testTimerDeletedFromNested),
        TEST(testPollWaitsForTimer),
        TEST(testReadAndWrite),
        TEST(testHangUp),
        TEST(testDeleteReady),
        TEST(testReuseReady),
        TEST(testReuseOwn),
        TEST(testDeleteOwnOtherDirection),
        TEST(testNested),
        TEST(testManyReady),
        TEST(testHooks),
        TEST(testMain),
        TEST(testWakeup),
        TEST(testLateness),
        TEST(testSizes),
        TEST(testWait),
        TEST(testWaitForEvent),
        TEST(testTakeWakeup),
    };
    RUN_WITH_EACH_BACKEND(tests);
}
