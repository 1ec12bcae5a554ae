/* SPDX-License-Identifier: BSD-3-Clause */
/* connection_test.c - listening, accepting, connecting; reading, writing and closing through the event loop,
 * over loopback TCP (IPv4, and IPv6 where the host has it) and unix sockets; names, options and errors. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "net/connection.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

#include "base/clock.h"
#include "net/test_backends.h"

static struct aeEventLoop *el;
static char err[256];
static char path[128];

static int connectionTestSetUp(void **state) {
    (void)state;
    el = aeCreate(256);
    snprintf(path, sizeof(path), "/tmp/connection_test.%d.sock", (int)getpid());
    err[0] = '\0';
    return el ? 0 : -1;
}

static int connectionTestTearDown(void **state) {
    (void)state;
    aeDelete(el);
    unlink(path);
    return 0;
}

static int connectionTestIoClientOf(int fd) {
    struct sockaddr_storage a;
    socklen_t len = sizeof(a);
    assert_int_equal(getsockname(fd, (struct sockaddr *)&a, &len), 0);
    return ntohs(a.ss_family == AF_INET ? ((struct sockaddr_in *)&a)->sin_port
                                        : ((struct sockaddr_in6 *)&a)->sin6_port);
}

static int connectionTestOption(int fd, int level, int name) {
    int value = -1;
    socklen_t len = sizeof(value);
    assert_int_equal(getsockopt(fd, level, name, &value, &len), 0);
    return value;
}

static int listenAt(const char *bind) {
    bool unsupported = true;
    int fd = netListenTcp(bind, 0, 16, &unsupported, err, sizeof(err));
    if (fd == -1) fail_msg("%s: %s", bind, err);
    assert_false(unsupported);
    return fd;
}

static int connectionTestAcceptOne(int listener) {
    assert_int_equal(aeWait(listener, AE_READABLE, 5000), AE_READABLE);
    int fd = netAccept(listener);
    assert_true(fd >= 0);
    return fd;
}

static void expectName(sds got, const char *want) {
    assert_string_equal(got, want);
    sdsfree(got);
}

static bool hasIpv6(void) {
    int fd = netListenTcp("::1", 0, 1, &(bool){false}, err, sizeof(err));
    if (fd != -1) close(fd);
    return fd != -1;
}

/* ---- TCP ----------------------------------------------------------------------------------------------- */

static void testTcpSetup(void **state) {
    (void)state;
    int listener = listenAt("127.0.0.1"), port = connectionTestIoClientOf(listener);
    assert_int_equal(netAccept(listener), -1);
    assert_int_equal(errno, EAGAIN);
    int client = netConnect("127.0.0.1", port, 1000, err, sizeof(err));
    assert_true(client >= 0);
    assert_int_equal(fcntl(client, F_GETFL) & O_NONBLOCK, 0);
    struct connection *conn = connCreateTcp(el, connectionTestAcceptOne(listener), 300);
    assert_string_equal(conn->type->name, "tcp");
    assert_true(fcntl(conn->fd, F_GETFL) & O_NONBLOCK);
    assert_true(fcntl(conn->fd, F_GETFD) & FD_CLOEXEC);
    assert_int_equal(connectionTestOption(conn->fd, IPPROTO_TCP, TCP_NODELAY), 1);
    assert_int_equal(connectionTestOption(conn->fd, SOL_SOCKET, SO_KEEPALIVE), 1);
    assert_int_equal(connectionTestOption(conn->fd, IPPROTO_TCP, TCP_KEEPIDLE), 300);
    assert_int_equal(connectionTestOption(conn->fd, IPPROTO_TCP, TCP_KEEPINTVL), 100);
    assert_int_equal(connectionTestOption(conn->fd, IPPROTO_TCP, TCP_KEEPCNT), 3);
    char name[64];
    snprintf(name, sizeof(name), "127.0.0.1:%d", connectionTestIoClientOf(client));
    expectName(connPeerName(conn), name);
    snprintf(name, sizeof(name), "127.0.0.1:%d", port);
    expectName(connSockName(conn), name);
    assert_true(connIsLocal(conn));
    connClose(conn);
    close(client);

    client = netConnect("localhost", port, 1000, err, sizeof(err)); /* tries ::1, then 127.0.0.1 */
    assert_true(client >= 0);
    conn = connCreateTcp(el, connectionTestAcceptOne(listener), 0);
    assert_int_equal(connectionTestOption(conn->fd, SOL_SOCKET, SO_KEEPALIVE), 0);
    connClose(conn);
    close(client);
    close(listener);
}

/* Accepted sockets inherit the listening one's options; later changes there affect later sockets only. */
static void testInherited(void **state) {
    (void)state;
    int listener = listenAt("127.0.0.1"), port = connectionTestIoClientOf(listener);
    static const int idle_s[] = {300, 61, 0, 2};
    for (size_t i = 0; i < sizeof idle_s / sizeof *idle_s; i++) {
        netSetInherited(listener, idle_s[i]);
        int client = netConnect("127.0.0.1", port, 1000, err, sizeof(err));
        assert_true(client >= 0);
        struct connection *conn = connCreateTcp(el, connectionTestAcceptOne(listener), KEEPALIVE_INHERITED);
        assert_true(fcntl(conn->fd, F_GETFL) & O_NONBLOCK);
        assert_true(fcntl(conn->fd, F_GETFD) & FD_CLOEXEC);
        assert_int_equal(connectionTestOption(conn->fd, IPPROTO_TCP, TCP_NODELAY), 1);
        assert_int_equal(connectionTestOption(conn->fd, SOL_SOCKET, SO_KEEPALIVE), idle_s[i] > 0);
        if (idle_s[i]) {
            assert_int_equal(connectionTestOption(conn->fd, IPPROTO_TCP, TCP_KEEPIDLE), idle_s[i]);
            assert_int_equal(connectionTestOption(conn->fd, IPPROTO_TCP, TCP_KEEPINTVL),
                             idle_s[i] < 3 ? 1 : idle_s[i] / 3);
            assert_int_equal(connectionTestOption(conn->fd, IPPROTO_TCP, TCP_KEEPCNT), 3);
        }
        connClose(conn);
        close(client);
    }
    close(listener);
}

static void testIpv6(void **state) {
    (void)state;
    if (!hasIpv6()) {
        print_message("skipped: this host has no IPv6\n");
        skip();
    }
    int listener = listenAt("::*"), port = connectionTestIoClientOf(listener);
    assert_int_equal(connectionTestOption(listener, IPPROTO_IPV6, IPV6_V6ONLY), 1);
    int client = netConnect("::1", port, 1000, err, sizeof(err));
    struct connection *conn = connCreateTcp(el, connectionTestAcceptOne(listener), 0);
    char name[64];
    snprintf(name, sizeof(name), "[::1]:%d", port);
    expectName(connSockName(conn), name);
    assert_true(connIsLocal(conn));
    connClose(conn);
    close(client);
    int both = netListenTcp("*", port, 16, &(bool){false}, err, sizeof(err)); /* the two do not clash */
    assert_true(both >= 0);
    close(both);
    close(listener);
}

static void testListenErrors(void **state) {
    (void)state;
    bool unsupported = true;
    int listener = listenAt("*"), port = connectionTestIoClientOf(listener);
    assert_int_equal(netListenTcp("127.0.0.1", port, 16, &unsupported, err, sizeof(err)), -1);
    assert_string_equal(err, "bind: Address already in use");
    assert_int_equal(errno, EADDRINUSE);
    assert_false(unsupported);
    assert_int_equal(netListenTcp("192.0.2.77", 0, 16, &unsupported, err, sizeof(err)), -1);
    assert_string_equal(err, "bind: Cannot assign requested address");
    assert_int_equal(errno, EADDRNOTAVAIL);
    assert_int_equal(netListenTcp("not an address", 0, 16, &unsupported, err, sizeof(err)), -1);
    assert_true(err[0] != '\0');
    assert_false(unsupported);
    close(listener);
}

static void testConnectErrors(void **state) {
    (void)state;
    int listener = listenAt("127.0.0.1"), port = connectionTestIoClientOf(listener);
    close(listener);
    assert_int_equal(netConnect("127.0.0.1", port, 1000, err, sizeof(err)), -1);
    assert_string_equal(err, "Connection refused");
    assert_int_equal(netConnectUnix(path, err, sizeof(err)), -1);
    assert_string_equal(err, "No such file or directory");
    char longpath[300];
    memset(longpath, 'x', sizeof(longpath) - 1);
    longpath[sizeof(longpath) - 1] = '\0';
    assert_int_equal(netConnectUnix(longpath, err, sizeof(err)), -1);
    assert_int_equal(netListenUnix(longpath, 0, 1, err, sizeof(err)), -1);
}

/* Connects to a listener whose queue is full hang: the time-out has to end them. */
static void testConnectTimeout(void **state) {
    (void)state;
    int listener = netListenTcp("127.0.0.1", 0, 0, &(bool){false}, err, sizeof(err)), fds[8], n = 0;
    int64_t start_us = 0;
    do start_us = monotonicUs();
    while ((fds[n] = netConnect("127.0.0.1", connectionTestIoClientOf(listener), 100, err, sizeof(err))) !=
               -1 &&
           ++n < 8);
    if (n < 8) {
        assert_string_equal(err, "Connection timed out");
        assert_in_range(monotonicUs() - start_us, 99000, 3000000);
    }
    while (n > 0) close(fds[--n]);
    close(listener);
}

/* ---- Unix sockets -------------------------------------------------------------------------------------- */

static void testUnix(void **state) {
    (void)state;
    for (int round = 0; round < 2; round++) { /* the second finds the first one's socket */
        int listener = netListenUnix(path, 0700, 16, err, sizeof(err));
        assert_true(listener >= 0);
        struct stat st;
        assert_int_equal(stat(path, &st), 0);
        assert_int_equal(st.st_mode & 0777, 0700);
        int client = netConnectUnix(path, err, sizeof(err));
        struct connection *conn = connCreateUnix(el, connectionTestAcceptOne(listener));
        assert_string_equal(conn->type->name, "unix");
        char name[160];
        snprintf(name, sizeof(name), "%s:0", path);
        expectName(connPeerName(conn), name);
        expectName(connSockName(conn), name);
        assert_true(connIsLocal(conn));
        connClose(conn);
        close(client);
        close(listener);
    }
    unlink(path);
    close(open(path, O_CREAT | O_WRONLY, 0600)); /* a file that is no socket stays */
    assert_int_equal(netListenUnix(path, 0, 16, err, sizeof(err)), -1);
    assert_string_equal(err, "bind: Address already in use");
    assert_int_equal(access(path, F_OK), 0);
}

static void testUnknownNames(void **state) {
    (void)state;
    int p[2];
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, p), 0);
    struct connection *conn = connCreateUnix(el, p[0]);
    expectName(connPeerName(conn), "?:0");
    connClose(conn);
    close(p[1]);
    assert_int_equal(pipe(p), 0);
    conn = connCreateUnix(el, p[0]);
    expectName(connSockName(conn), "?:0");
    assert_false(connIsLocal(conn));
    connClose(conn);
    close(p[1]);
}

/* ---- Through the loop ---------------------------------------------------------------------------------- */

static char seen[64];
static int reads, writes;
static struct connection *victim;

static void connectionTestReadSome(struct connection *conn) {
    ssize_t n = connRead(conn, seen, sizeof(seen) - 1);
    assert_true(n >= 0);
    seen[n] = '\0';
    reads++;
}

static void countWrite(struct connection *conn) {
    writes++;
    connSetWriteHandler(conn, NULL);
}

static void connectionTestCloseBoth(struct connection *conn) {
    reads++;
    connClose(conn == victim ? conn->data : victim);
    connClose(conn);
}

static void connectionTestTurn(void) {
    aeProcessEvents(el, AE_FILE_EVENTS | AE_DONT_WAIT);
}

static void makeConns(struct connection *c[2]) {
    int p[2];
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, p), 0);
    for (int i = 0; i < 2; i++) c[i] = connCreateUnix(el, p[i]);
    reads = writes = 0;
}

static void testHandlers(void **state) {
    (void)state;
    struct connection *c[2];
    makeConns(c);
    char byte;
    assert_int_equal(connRead(c[0], &byte, 1), -1);
    assert_int_equal(c[0]->last_errno, EAGAIN);
    struct iovec iov[3] = {{"abc", 3}, {"", 0}, {"defg", 4}};
    assert_int_equal(connWritev(c[1], iov, 3), 7);
    assert_int_equal(connWritev(c[1], iov, 1), 3);
    connectionTestTurn();
    assert_int_equal(reads, 0);
    connSetReadHandler(c[0], connectionTestReadSome);
    connSetWriteHandler(c[0], countWrite);
    connectionTestTurn();
    connectionTestTurn();
    assert_int_equal(reads, 1);
    assert_int_equal(writes, 1);
    assert_string_equal(seen, "abcdefgabc");
    connSetReadHandler(c[0], NULL);
    connSetReadHandler(c[0], NULL);
    assert_int_equal(connWritev(c[1], iov, 1), 3);
    connectionTestTurn();
    assert_int_equal(reads, 1);
    assert_int_equal(aeGetFileEvents(el, c[0]->fd), AE_NONE);
    connClose(c[1]);
    connSetReadHandler(c[0], connectionTestReadSome);
    connectionTestTurn();
    connectionTestTurn();
    assert_int_equal(reads, 3);
    assert_string_equal(seen, "");                  /* the end of the stream */
    assert_int_equal(connWritev(c[0], iov, 3), -1); /* no SIGPIPE */
    assert_int_equal(connWritev(c[0], iov, 1), -1);
    assert_int_equal(c[0]->last_errno, EPIPE);
    connClose(c[0]);
}

/* Both are readable; the handler that is called first closes both, its own connection last. */
static void testCloseInHandler(void **state) {
    (void)state;
    struct connection *c[2];
    makeConns(c);
    victim = c[0];
    c[0]->data = c[1];
    c[1]->data = c[0];
    for (int i = 0; i < 2; i++) {
        assert_int_equal(connWritev(c[i], &(struct iovec){"x", 1}, 1), 1);
        connSetReadHandler(c[i], connectionTestCloseBoth);
        connSetWriteHandler(c[i], countWrite);
    }
    connectionTestTurn();
    assert_int_equal(reads, 1);
    assert_int_equal(writes, 0);
}

static void testManyVectors(void **state) {
    (void)state;
    struct connection *c[2];
    makeConns(c);
    struct iovec iov[3000];
    for (int i = 0; i < 3000; i++) iov[i] = (struct iovec){"x", 1};
    assert_int_equal(connWritev(c[0], iov, 3000), 1024); /* as many as the kernel takes at once */
    connClose(c[0]);
    connClose(c[1]);
}

static void testLoopTooSmall(void **state) {
    (void)state;
    struct connection *c[2];
    makeConns(c);
    assert_int_equal(aeSetSize(el, 3), 0);
    connSetReadHandler(c[0], connectionTestReadSome);
    assert_null(c[0]->read_handler);
    assert_int_equal(c[0]->last_errno, ERANGE);
    connClose(c[0]);
    connClose(c[1]);
}

int main(void) {
#define TEST(fn) cmocka_unit_test_setup_teardown(fn, connectionTestSetUp, connectionTestTearDown)
    const struct CMUnitTest tests[] = {
        TEST(testTcpSetup),      TEST(testInherited),      TEST(testIpv6),        TEST(testListenErrors),
        TEST(testConnectErrors), TEST(testConnectTimeout), TEST(testUnix),        TEST(testUnknownNames),
        TEST(testHandlers),      TEST(testCloseInHandler), TEST(testManyVectors), TEST(testLoopTooSmall),
    };
    RUN_WITH_EACH_BACKEND(tests);
}
