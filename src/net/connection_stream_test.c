/* SPDX-License-Identifier: BSD-3-Clause */
/* connection_stream_test.c - connections whose bytes the loop may read ahead, on both backends:
 * nothing is lost, doubled or out of order, however little a reader takes and whether it pauses,
 * closes, moves or is replaced. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include "base/clock.h"
#include "net/connection.h"
#include "net/test_backends.h"

#define MANY 64

static struct aeEventLoop *el;

/* A connection and its other end. The bytes that are sent count modulo 251. */
struct end {
    struct connection *conn;
    int peer;
    size_t sent, got, piece; /* piece: bytes that the handler reads at once */
    int turns, ended, error;
};
static struct end ends[MANY];

static int connectionStreamTestSetUp(void **state) {
    (void)state;
    el = aeCreate(256);
    return el ? 0 : -1;
}

static int connectionStreamTestTearDown(void **state) {
    (void)state;
    aeDelete(el);
    return 0;
}

static void connectionStreamTestTurn(struct aeEventLoop *l) {
    connServePending(l);
    aeProcessEvents(l, AE_FILE_EVENTS | AE_DONT_WAIT);
}

static ssize_t readPiece(struct end *e) {
    static unsigned char buf[1 << 20];
    ssize_t n = connRead(e->conn, buf, e->piece);
    for (ssize_t i = 0; i < n; i++) assert_int_equal(buf[i], (e->got + (size_t)i) % 251);
    if (n > 0) e->got += (size_t)n;
    return n;
}

static void connectionStreamTestOnInput(struct connection *conn) {
    struct end *e = conn->data;
    e->turns++;
    if (!e->piece) return;
    ssize_t n = readPiece(e);
    if (n > 0 || (n < 0 && errno == EAGAIN)) return;
    e->ended = 1;
    e->error = n < 0 ? errno : 0;
    connSetReadHandler(conn, NULL);
}

static void connectionStreamTestBegin(struct end *e, size_t piece) {
    int p[2];
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, p), 0);
    *e = (struct end){.conn = connCreateUnix(el, p[0]), .peer = p[1], .piece = piece};
    e->conn->data = e;
    connSetReadHandler(e->conn, connectionStreamTestOnInput);
}

static void connectionStreamTestFinish(struct end *e) {
    connClose(e->conn);
    if (e->peer >= 0) close(e->peer);
}

/* Sends up to n bytes, as many as the socket takes. */
static void connectionStreamTestFeed(struct end *e, size_t n) {
    unsigned char buf[4096];
    while (n) {
        size_t some = n < sizeof buf ? n : sizeof buf;
        for (size_t i = 0; i < some; i++) buf[i] = (unsigned char)((e->sent + i) % 251);
        ssize_t sent = write(e->peer, buf, some);
        if (sent < 0) return;
        e->sent += (size_t)sent;
        n -= (size_t)sent;
    }
}

/* ---- Reading ------------------------------------------------------------------------------------------- */

static void testPieces(void **state) {
    (void)state;
    static const size_t pieces[] = {1, 7, 4095, 4096, 4097, 16384, 1 << 20};
    for (size_t i = 0; i < sizeof pieces / sizeof *pieces; i++) {
        struct end *e = &ends[0];
        connectionStreamTestBegin(e, pieces[i]);
        size_t total = pieces[i] * 40 < 2000000 ? pieces[i] * 40 : 2000000;
        for (int turns = 0; e->got < total; turns++) {
            assert_in_range(turns, 0, 100000);
            connectionStreamTestFeed(e, total - e->sent < 50000 ? total - e->sent : 50000);
            connectionStreamTestTurn(el);
        }
        assert_int_equal(e->got, total);
        connectionStreamTestTurn(el);
        assert_int_equal(e->ended, 0);
        connectionStreamTestFinish(e);
    }
}

/* Such a connection is reported in each turn, keeps what came, and does not receive without limit. */
static void testReaderThatDoesNotRead(void **state) {
    (void)state;
    struct end *e = &ends[0];
    connectionStreamTestBegin(e, 0);
    for (int i = 0; i < 50; i++) {
        connectionStreamTestFeed(e, 100000);
        connectionStreamTestTurn(el);
    }
    assert_int_equal(e->turns, 50);
    assert_in_range(e->sent, 1, 1000000);
    e->piece = 5000;
    size_t sent = e->sent;
    while (e->got < sent) connectionStreamTestTurn(el);
    connectionStreamTestFeed(e, 100000); /* sending continues afterwards */
    sent = e->sent;
    while (e->got < sent) connectionStreamTestTurn(el);
    connectionStreamTestFinish(e);
}

/* More at once than there are buffers. */
static void testManyAtOnce(void **state) {
    (void)state;
    for (int i = 0; i < MANY; i++) connectionStreamTestBegin(&ends[i], i % 2 ? 16384 : 333);
    for (int i = 0; i < MANY; i++) connectionStreamTestFeed(&ends[i], 100000);
    for (int i = 0; i < MANY; i++) {
        assert_in_range(ends[i].sent, 50000, 100000);
        while (ends[i].got < ends[i].sent) connectionStreamTestTurn(el);
    }
    for (int i = 0; i < MANY; i++) connectionStreamTestFinish(&ends[i]);
}

static void testEnds(void **state) {
    (void)state;
    struct end *e = &ends[0];
    connectionStreamTestBegin(e, 100);
    connectionStreamTestFeed(e, 250);
    shutdown(e->peer, SHUT_WR);
    for (int i = 0; i < 10 && !e->ended; i++) connectionStreamTestTurn(el);
    assert_int_equal(e->got, 250);
    assert_int_equal(e->ended, 1);
    assert_int_equal(e->error, 0);
    assert_int_equal(connWritev(e->conn, &(struct iovec){"still here", 10}, 1), 10);
    assert_int_equal(connRead(e->conn, &(char){0}, 1), 0); /* and again */
    connectionStreamTestFinish(e);

    connectionStreamTestBegin(e, 100);
    assert_int_equal(connWritev(e->conn, &(struct iovec){"unread", 6}, 1), 6);
    close(e->peer); /* with unread bytes, which reset a unix socket */
    e->peer = -1;
    for (int i = 0; i < 10 && !e->ended; i++) connectionStreamTestTurn(el);
    assert_int_equal(e->ended, 1);
    assert_int_equal(e->error, ECONNRESET);
    connectionStreamTestFinish(e);
}

static void testHandlerRemoved(void **state) {
    (void)state;
    struct end *e = &ends[0];
    connectionStreamTestBegin(e, 10);
    connectionStreamTestFeed(e, 30000);
    connectionStreamTestTurn(el);
    connSetReadHandler(e->conn, NULL);
    for (int i = 0; i < 5; i++) connectionStreamTestTurn(el);
    assert_int_equal(e->got, 10);
    e->piece = 1000;
    readPiece(e); /* without a handler it can be read, too */
    connectionStreamTestFeed(e, 30000);
    connectionStreamTestTurn(el);
    connSetReadHandler(e->conn, connectionStreamTestOnInput);
    assert_false(connHasPending(el)); /* the loop reports it */
    while (e->got < 60000) connectionStreamTestTurn(el);
    assert_false(connHasPending(el));
    connSetReadHandler(e->conn, NULL);
    connSetReadHandler(e->conn, connectionStreamTestOnInput);
    connectionStreamTestFinish(e);
}

static int64_t connectionStreamTestTick(struct aeEventLoop *l, int64_t id, void *data) {
    (void)l, (void)id;
    return ++*(int *)data < 20 ? 1 : AE_NOMORE;
}

/* Input without a handler seldom wakes the loop, is limited, and is reported once there is a handler. */
static void connectionStreamTestPause(void **state) {
    (void)state;
    /* with the last size the socket itself is read by then */
    static const size_t before[] = {0, 10, 3 * 70000};
    for (size_t i = 0; i < sizeof before / sizeof *before; i++) {
        struct end *e = &ends[0];
        connectionStreamTestBegin(e, 1 << 20);
        while (e->got < before[i]) {
            connectionStreamTestFeed(e, before[i] - e->sent < 70000 ? before[i] - e->sent : 70000);
            connectionStreamTestTurn(el);
        }
        for (int round = 0; round < 3; round++) {
            connSetReadHandler(e->conn, NULL);
            int turns = 0, ticks = 0;
            size_t got = e->got;
            aeCreateTimeEvent(el, 1, connectionStreamTestTick, &ticks);
            while (ticks < 20) {
                if (turns < 10) connectionStreamTestFeed(e, turns % 2 ? 100 : 30000);
                aeProcessEvents(el, AE_ALL_EVENTS);
                turns++;
            }
            assert_in_range(turns, 1, 60);
            assert_in_range(e->sent - got, 1, 1000000);
            assert_int_equal(e->got, got);
            connSetReadHandler(e->conn, connectionStreamTestOnInput);
            while (e->got < e->sent) connectionStreamTestTurn(el);
        }
        connSetReadHandler(e->conn, NULL);
        shutdown(e->peer, SHUT_WR);
        for (int k = 0; k < 5; k++) connectionStreamTestTurn(el);
        connSetReadHandler(e->conn, connectionStreamTestOnInput);
        for (int k = 0; k < 5; k++) connectionStreamTestTurn(el);
        assert_int_equal(e->ended, 1);
        connectionStreamTestFinish(e);
    }
}

/* ---- Closing ------------------------------------------------------------------------------------------- */

static void testNextOwnerOfTheNumber(void **state) {
    (void)state;
    for (int round = 0; round < 20; round++) {
        struct end *e = &ends[0], *next = &ends[1];
        connectionStreamTestBegin(e, 100);
        if (round % 2) connectionStreamTestTurn(el); /* half of them have a request with the kernel */
        connectionStreamTestFeed(e, round % 3 ? 5000 : 0);
        if (round % 5 == 0) connectionStreamTestTurn(el);
        int fd = e->conn->fd;
        connClose(e->conn);
        connectionStreamTestBegin(next, 3000);
        assert_int_equal(next->conn->fd, fd);
        connectionStreamTestFeed(next, 20000);
        while (next->got < 20000) connectionStreamTestTurn(el);
        char byte;
        assert_int_equal(read(e->peer, &byte, 1) > 0, 0); /* it sees that we closed */
        assert_true(errno != EAGAIN);
        close(e->peer);
        connectionStreamTestFinish(next);
    }
}

static void connectionStreamTestCloseAll(struct connection *conn) {
    struct end *e = conn->data;
    for (int i = 0; i < MANY; i++)
        if (&ends[i] != e && ends[i].conn) connClose(ends[i].conn);
    for (int i = 0; i < MANY; i++) ends[i].conn = NULL;
    connClose(conn);
}

static void testAllClosedByOne(void **state) {
    (void)state;
    for (int i = 0; i < MANY; i++) {
        connectionStreamTestBegin(&ends[i], 100);
        connSetReadHandler(ends[i].conn, connectionStreamTestCloseAll);
        connectionStreamTestFeed(&ends[i], 9000);
    }
    connectionStreamTestTurn(el);
    for (int i = 0; i < MANY; i++) {
        assert_null(ends[i].conn);
        close(ends[i].peer);
    }
    connectionStreamTestTurn(el);
}

/* ---- Moving -------------------------------------------------------------------------------------------- */

static void testMoves(void **state) {
    (void)state;
    enum aeBackend own = aeBackendOf(el);
    for (int to = AE_EPOLL; to <= (int)own; to++) {
        aeSetBackend((enum aeBackend)to);
        struct aeEventLoop *other = aeCreate(256), *loops[2] = {el, other};
        assert_non_null(other);
        struct end *e = &ends[0];
        connectionStreamTestBegin(e, 777);
        for (int move = 0; move < 40; move++) {
            connectionStreamTestFeed(e, 3000);
            connectionStreamTestTurn(loops[move % 2]);
            if (move % 3 == 0) connectionStreamTestTurn(loops[move % 2]);
            connDetach(e->conn);
            connectionStreamTestFeed(e, 100);
            connectionStreamTestTurn(loops[move % 2]); /* no handler is called there */
            connAttach(e->conn, loops[(move + 1) % 2]);
            connSetReadHandler(e->conn, connectionStreamTestOnInput);
        }
        while (e->got < e->sent) connectionStreamTestTurn(el);
        assert_int_equal(e->sent, 40 * 3100);
        assert_false(connHasPending(el) || connHasPending(other));
        connectionStreamTestFinish(e);
        aeDelete(other);
    }
    aeSetBackend(own);
}

static void *runThere(void *data) {
    struct aeEventLoop *other = data;
    struct end *e = &ends[0];
    connAttach(e->conn, other);
    connSetReadHandler(e->conn, connectionStreamTestOnInput);
    while (e->got < 50000) connectionStreamTestTurn(other);
    connDetach(e->conn);
    return NULL;
}

/* The loop is created in this thread and used in another. */
static void testThread(void **state) {
    (void)state;
    struct aeEventLoop *other = aeCreate(256);
    struct end *e = &ends[0];
    connectionStreamTestBegin(e, 1000);
    connectionStreamTestFeed(e, 50000);
    connectionStreamTestTurn(el);
    connDetach(e->conn);
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, runThere, other), 0);
    pthread_join(thread, NULL);
    connAttach(e->conn, el);
    connSetReadHandler(e->conn, connectionStreamTestOnInput);
    connectionStreamTestFeed(e, 1000);
    while (e->got < 51000) connectionStreamTestTurn(el);
    connectionStreamTestFinish(e);
    aeDelete(other);
}

/* A child may send before it exits. The parent's connections are not affected. */
static void testFork(void **state) {
    (void)state;
    struct iovec iov = {"from the child", 14};
    connectionStreamTestBegin(&ends[0], 1000);
    connectionStreamTestBegin(&ends[1], 1000);
    connectionStreamTestTurn(el);
    connectionStreamTestFeed(&ends[0], 5000);
    connectionStreamTestTurn(el);
    pid_t pid = fork();
    if (pid == 0) {
        connWriteMany((struct connWrite[2]){{ends[0].conn, &iov, 1, 0, 0}, {ends[1].conn, &iov, 1, 0, 0}}, 2);
        _exit(0);
    }
    int status = -1;
    waitpid(pid, &status, 0);
    assert_int_equal(status, 0);
    for (int i = 0; i < 2; i++) {
        char got[20];
        assert_int_equal(read(ends[i].peer, got, sizeof got), 14);
        connectionStreamTestFeed(&ends[i], 8000);
        while (ends[i].got < ends[i].sent) connectionStreamTestTurn(el);
    }
    for (int i = 0; i < 2; i++) connectionStreamTestFinish(&ends[i]);
}

/* ---- Sending ------------------------------------------------------------------------------------------- */

static size_t connectionStreamTestDrain(int fd) {
    static char buf[65536];
    size_t total = 0;
    for (ssize_t n; (n = read(fd, buf, sizeof buf)) > 0;) total += (size_t)n;
    return total;
}

static void testWriteMany(void **state) {
    (void)state;
    static char big[4 << 20];
    struct iovec small[3] = {{"abc", 3}, {"", 0}, {"de", 2}}, huge = {big, sizeof big};
    struct connWrite writes[MANY];
    for (int i = 0; i < MANY; i++) connectionStreamTestBegin(&ends[i], 100);
    connectionStreamTestTurn(el);
    while (write(ends[3].conn->fd, big, 4096) > 0) {
    } /* this one is full */
    close(ends[4].peer);
    for (int i = 0; i < MANY; i++)
        writes[i] = (struct connWrite){ends[i].conn, i % 8 == 5 ? &huge : small,
                                       i % 8 == 5 ? 1
                                       : i % 2    ? 3
                                                  : 1,
                                       0, 0};
    connWriteMany(writes, MANY);
    for (int i = 0; i < MANY; i++) {
        const struct connWrite *w = &writes[i];
        if (i == 3 || i == 4) {
            assert_int_equal(w->result, -1);
            assert_int_equal(w->error, i == 3 ? EAGAIN : EPIPE);
            assert_int_equal(ends[i].conn->last_errno, w->error);
            continue;
        }
        assert_int_equal(w->error, 0);
        if (i % 8 == 5)
            assert_in_range(w->result, 4096, sizeof big - 1); /* as much as the socket took */
        else
            assert_int_equal(w->result, i % 2 ? 5 : 3);
        assert_int_equal(connectionStreamTestDrain(ends[i].peer), w->result);
    }
    connWriteMany(writes, 0);
    ends[4].peer = -1;
    for (int i = 0; i < MANY; i++) connectionStreamTestFinish(&ends[i]);
}

int main(void) {
#define TEST(fn) cmocka_unit_test_setup_teardown(fn, connectionStreamTestSetUp, connectionStreamTestTearDown)
    const struct CMUnitTest tests[] = {
        TEST(testPieces),         TEST(testReaderThatDoesNotRead),
        TEST(testManyAtOnce),     TEST(testEnds),
        TEST(testHandlerRemoved), TEST(testNextOwnerOfTheNumber),
        TEST(testAllClosedByOne), TEST(testMoves),
        TEST(testThread),         TEST(testFork),
        TEST(testWriteMany),      TEST(connectionStreamTestPause),
    };
    RUN_WITH_EACH_BACKEND(tests);
}
