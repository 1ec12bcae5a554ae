/* SPDX-License-Identifier: BSD-3-Clause */
/* io_client_test.c - clients whose connections move between the main thread and I/O threads, in every order.
 *
 * A peer sends numbered requests, "ECHO n", in pieces; a small receiver replies ":n". Whatever moves
 * meanwhile: requests and replies arrive in order and once, and a client's end leaves nothing behind. */
#include "command/io_client.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include <cmocka.h>

#include "base/model_ops.h"
#include "base/num.h"
#include "base/zmalloc.h"
#include "client/client_output.h"
#include "client/client_session.h"
#include "client/reply.h"
#include "command/command.h"
#include "data/keyspace/db.h"

#define PEERS      12
#define THREADS    3
#define PATIENCE_S 200

static struct ioThread *threads[THREADS];

/* Both ends of a connection. */
static struct portPeer {
    int fd; /* -1: none */
    struct client *client;
    bool closing;
    /* Number of requests sent, of requests received, and of replies received. */
    uint64_t requested, received, answered;
    sds unsent, replies; /* bytes that the socket did not take; the incomplete reply */
} peers[PEERS];

static struct portPeer *peerOf(const struct client *c) {
    for (int i = 0; i < PEERS; i++) {
        if (peers[i].client == c) return &peers[i];
    }
    fail();
    return NULL;
}

/* ---- The receiver ---- */

static void ioClientTestHandle(struct client *c, const struct request *r) {
    struct portPeer *p = peerOf(c);
    int64_t n;
    if (c->flags & CLIENT_CLOSE_ASAP) return;
    assert_int_equal(r->argc, 2);
    assert_true(string2ll(r->argv[1], &n));
    assert_int_equal(n, p->received);
    p->received++;
    char reply[64];
    replyRaw(c, reply, (size_t)snprintf(reply, sizeof reply, ":%lld\r\n", (long long)n));
}

/* Runs the requests in the client's own buffer. */
static void runOwn(struct client *c) {
    struct respLimits limits = {INT64_MAX, RESP_MAX_MULTIBULK, true};
    struct str *argv = NULL;
    size_t cap = 0, pos = 0, len = c->querybuf ? sdslen(c->querybuf) : 0;
    while (pos < len) {
        struct request r = {0};
        size_t have = len - pos, consumed = 0;
        const char *error;
        enum respStatus st = respParseRequest(&c->parser, c->querybuf + pos, &have, &limits, &argv, &cap, 0,
                                              &r.argc, &consumed, &r.big, &error);
        len = pos + have; /* big arguments are taken out */
        if (st == RESP_MORE) break;
        assert_int_equal(st, RESP_OK);
        r.argv = argv;
        ioClientTestHandle(c, &r);
        respBigArgsFree(r.big);
        pos += consumed;
    }
    zfree(argv);
    if (c->querybuf) {
        sdssetlen(c->querybuf, len);
        sdsrange(c->querybuf, (ptrdiff_t)pos, -1);
    }
    if (c->querybuf && !sdslen(c->querybuf)) {
        sdsfree(c->querybuf);
        c->querybuf = NULL;
    }
}

static void readOnMainThread(struct connection *conn) {
    struct client *c = conn->data;
    char buf[1000], *dst = buf;
    size_t big = respBigSpace(&c->parser, &dst);
    ssize_t n = connRead(conn, dst, big ? big : sizeof buf);
    if (c->flags & CLIENT_CLOSE_ASAP || (n < 0 && errno == EAGAIN)) return;
    if (n <= 0) {
        clientClose(c);
        return;
    }
    if (!c->querybuf) c->querybuf = sdsempty();
    if (big)
        respBigFilled(&c->parser, (size_t)n);
    else
        c->querybuf = sdscatlen(c->querybuf, buf, (size_t)n);
    runOwn(c);
}

static void ioClientTestBegin(void) {}
static uint64_t parts, inputs;
static void ioClientTestOnPart(struct client *c, size_t n) {
    assert_true(c->flags & CLIENT_OFFLOADED && n > 0);
    parts++;
}
static void ioClientTestOnInput(struct client *c, struct ioInput *in) {
    inputs++;
    for (; in->next < in->count; in->next++) {
        ioClientTestHandle(c, &in->requests[in->next]);
        respBigArgsFree(in->requests[in->next].big);
        in->requests[in->next].big = NULL;
    }
    assert_null(in->error);
    ioClientInputDone(ioClientOf(c), in);
}
static void onDisconnected(struct client *c, int error) {
    (void)error;
    clientClose(c);
}
static void ioClientTestOnRecalled(struct client *c) {
    assert_false(c->flags & CLIENT_OFFLOADED);
    runOwn(c);
}
static const struct ioClientReceiver receiver = {.begin = ioClientTestBegin,
                                                 .part = ioClientTestOnPart,
                                                 .input = ioClientTestOnInput,
                                                 .disconnected = onDisconnected,
                                                 .recalled = ioClientTestOnRecalled};

static void onClientFree(struct client *c) {
    peerOf(c)->client = NULL;
}

static void ioClientTestFlush(void) {
    ioClientsFlush();
    for (int i = 0; i < THREADS; i++) {
        if (threads[i]) ioThreadFlush(threads[i]);
    }
}

/* A turn as the server's: runs what has come, then sends replies. Waits a moment if there is nothing. */
static void ioClientTestTurn(void) {
    for (int i = 0; i < THREADS; i++) {
        if (threads[i]) ioThreadReceive(threads[i]);
    }
    aeProcessEvents(server_el, AE_FILE_EVENTS | AE_DONT_WAIT);
    clientsWritePending();
    clientFreeClosed();
    ioClientTestFlush();
}

/* ---- The peer ---- */

static void connectPeer(struct portPeer *p) {
    int fds[2];
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, fds), 0);
    int small = 4096; /* so that a few replies fill it */
    setsockopt(fds[0], SOL_SOCKET, SO_SNDBUF, &small, sizeof small);
    *p = (struct portPeer){.fd = fds[1], .unsent = sdsempty(), .replies = sdsempty()};
    p->client = clientCreate(connCreateUnix(server_el, fds[0]));
    p->client->flags |= CLIENT_AUTHENTICATED;
    clientResumeReading(p->client);
}

static void disconnectPeer(struct portPeer *p) {
    close(p->fd);
    sdsfree(p->unsent);
    sdsfree(p->replies);
    p->fd = -1;
    p->unsent = p->replies = NULL;
}

/* Sends the next requests, some of them big, as far as the socket takes them, but at most `most` bytes. */
static void ioClientTestSendRequests(struct portPeer *p, int count, size_t most) {
    for (; count; count--) {
        char number[64];
        int width = p->requested % 50 == 7 ? 40000 : 1;
        int digits = snprintf(number, sizeof number, "%llu", (unsigned long long)p->requested++);
        if (width > 1) { /* numbers have no leading zeros: a long name of the command fills up instead */
            p->unsent = sdscatprintf(p->unsent, "*2\r\n$%d\r\n%0*d\r\n$%d\r\n%s\r\n", width, width, 0, digits,
                                     number);
        } else {
            p->unsent = sdscatprintf(p->unsent, "*2\r\n$4\r\nECHO\r\n$%d\r\n%s\r\n", digits, number);
        }
    }
    size_t n = sdslen(p->unsent) < most ? sdslen(p->unsent) : most;
    ssize_t sent = n ? send(p->fd, p->unsent, n, MSG_NOSIGNAL) : 0;
    if (sent > 0) sdsrange(p->unsent, sent, -1);
}

/* Returns true when the connection has ended. */
static bool receiveReplies(struct portPeer *p) {
    char buf[4096];
    ssize_t n = read(p->fd, buf, sizeof buf);
    if (n > 0) p->replies = sdscatlen(p->replies, buf, (size_t)n);
    for (char *end; (end = strstr(p->replies, "\r\n"));) {
        char want[64];
        snprintf(want, sizeof want, ":%llu", (unsigned long long)p->answered);
        *end = '\0';
        assert_string_equal(p->replies, want);
        p->answered++;
        sdsrange(p->replies, end + 2 - p->replies, -1);
    }
    return n == 0 || (n < 0 && errno != EAGAIN);
}

static int openDescriptors(void) {
    int n = 0;
    for (int fd = 0; fd < 1000; fd++) n += fcntl(fd, F_GETFD) != -1;
    return n;
}

/* ---- Tests ---- */

static uint64_t rng = 3;
static uint64_t ioClientTestDraw(uint64_t n) {
    rng = rng * 6364136223846793005u + 1442695040888963407u;
    return (rng >> 33) % n;
}

static void ioClientTestSettle(struct portPeer *p) {
    while (p->client && p->answered < p->requested) {
        ioClientTestSendRequests(p, 0, SIZE_MAX);
        ioClientTestTurn();
        receiveReplies(p);
    }
}

static size_t offloadedClients(void) {
    size_t n = 0;
    for (int i = 0; i < THREADS; i++) n += threads[i] ? ioClientCount(threads[i]) : 0;
    return n;
}

static void offloadAndRecall(void **state) {
    (void)state;
    struct portPeer *p = &peers[0];
    connectPeer(p);
    ioClientTestSendRequests(p, 3, SIZE_MAX);
    ioClientTestSettle(p);
    assert_false(p->client->flags & CLIENT_OFFLOADED);
    assert_true(ioClientOffload(p->client, threads[0]));
    assert_false(ioClientOffload(p->client, threads[1])); /* it has gone */
    assert_true(p->client->flags & CLIENT_OFFLOADED);
    assert_int_equal(ioClientCount(threads[0]), 1);
    ioClientTestSendRequests(p, 100, SIZE_MAX);
    ioClientTestSettle(p);
    assert_true(p->client->flags & CLIENT_OFFLOADED && inputs > 0);
    uint64_t before = parts;
    ioClientTestSendRequests(p, 1, 9); /* half a request */
    for (int i = 0; i < 1000 && parts == before; i++) usleep(1000), ioClientTestTurn();
    assert_int_equal(parts, before + 1);
    ioClientRecall(p->client);
    assert_false(p->client->flags & CLIENT_OFFLOADED);
    assert_int_equal(ioClientCount(threads[0]), 0);
    ioClientTestSettle(p);
    assert_false(ioClientOffload(p->client, threads[0]) && p->client->querybuf);
    clientClose(p->client);
    while (offloadedClients() || p->client) ioClientTestTurn();
    while (!receiveReplies(p)) usleep(100);
    disconnectPeer(p);
}

/* Output that waits in a thread is returned with its client, in front of what is written there. */
static void outputIsRecalled(void **state) {
    (void)state;
    struct portPeer *p = &peers[0];
    connectPeer(p);
    assert_true(ioClientOffload(p->client, threads[0]));
    ioClientTestSendRequests(p, 3000, SIZE_MAX);
    for (int i = 0; i < 20; i++) {
        ioClientTestSendRequests(p, 0, SIZE_MAX);
        ioClientTestTurn();
        usleep(1000);
    }
    assert_true(clientOutputPending(p->client) > 0 || sdslen(p->unsent) > 0);
    ioClientRecall(p->client);
    ioClientTestSettle(p);
    assert_int_equal(p->answered, 3000);
    clientClose(p->client);
    while (p->client) ioClientTestTurn();
    disconnectPeer(p);
}

/* A block that the thread has sent in part continues there: nothing is sent twice. */
static void partOfABlockIsRecalled(void **state) {
    (void)state;
    struct portPeer *p = &peers[0];
    connectPeer(p);
    assert_true(ioClientOffload(p->client, threads[0]));
    sds lines = sdsempty();
    while (sdslen(lines) < 200000)
        lines = sdscatprintf(lines, ":%llu\r\n", (unsigned long long)p->requested++);
    replyRaw(p->client, lines, sdslen(lines));
    for (size_t left = 0; left != clientOutputPending(p->client);) { /* until the socket is full */
        left = clientOutputPending(p->client);
        ioClientTestTurn();
        usleep(20000);
    }
    assert_in_range(clientOutputPending(p->client), 1, sdslen(lines) - 1);
    ioClientRecall(p->client);
    assert_true(p->client->out.sent > 0);
    ioClientTestSettle(p);
    assert_int_equal(p->answered, p->requested);
    assert_int_equal(sdslen(p->replies), 0);
    clientClose(p->client);
    while (p->client) ioClientTestTurn();
    disconnectPeer(p);
    sdsfree(lines);
}

/* A client that closes after its replies, with replies in the thread, or during a recall. */
static void closeAfterReplies(void **state) {
    (void)state;
    for (int recall_asked = 0; recall_asked < 2; recall_asked++) {
        struct portPeer *p = &peers[0];
        connectPeer(p);
        assert_true(ioClientOffload(p->client, threads[1]));
        ioClientTestSendRequests(p, 2000, SIZE_MAX);
        while (p->received < 300) ioClientTestTurn(), ioClientTestSendRequests(p, 0, SIZE_MAX);
        if (recall_asked) ioClientRequestRecall(p->client);
        clientCloseAfterReply(p->client);
        uint64_t received = p->received;
        while (p->client || offloadedClients()) {
            ioClientTestTurn();
            receiveReplies(p);
        }
        while (!receiveReplies(p)) usleep(100);
        assert_in_range(p->answered, received, p->received);
        disconnectPeer(p);
    }
}

static void ioClientTestAct(struct portPeer *p) {
    if (p->fd < 0) {
        if (!p->client) connectPeer(p);
        return;
    }
    struct client *c = p->client;
    bool offloaded = c && c->flags & CLIENT_OFFLOADED;
    switch (ioClientTestDraw(24)) {
    case 0: disconnectPeer(p); break;
    case 1:
        if (c && !ioClientTestDraw(3)) clientClose(c);
        break;
    case 2:
        if (c && !ioClientTestDraw(3) && !(c->flags & CLIENT_CLOSE_ASAP)) clientCloseAfterReply(c);
        break;
    case 3:
        if (offloaded) ioClientRequestRecall(c);
        break;
    case 4:
        if (offloaded && !(c->flags & CLIENT_CLOSE_ASAP)) ioClientRecall(c);
        break;
    case 5:
    case 6:
    case 7:
        if (c && !offloaded) ioClientOffload(c, threads[ioClientTestDraw(THREADS)]);
        break;
    case 8:
    case 9:
    case 10:
    case 11: ioClientTestSendRequests(p, (int)ioClientTestDraw(40), 1 + ioClientTestDraw(200)); break;
    case 12:
    case 13: ioClientTestSendRequests(p, (int)ioClientTestDraw(200), SIZE_MAX); break;
    case 14: usleep((useconds_t)ioClientTestDraw(300)); break;
    default: receiveReplies(p); break;
    }
}

static void inEveryOrder(void **state) {
    (void)state;
    int before = openDescriptors();
    for (int i = 0; i < PEERS; i++) connectPeer(&peers[i]);
    for (uint64_t steps = modelShare(300000); steps; steps--) {
        ioClientTestAct(&peers[ioClientTestDraw(PEERS)]);
        if (!ioClientTestDraw(4)) ioClientTestTurn();
    }
    for (int i = 0; i < PEERS; i++) { /* clients that are still connected get all replies */
        struct portPeer *p = &peers[i];
        bool closing = !p->client || p->client->flags & (CLIENT_CLOSE_ASAP | CLIENT_CLOSE_AFTER_REPLY);
        if (p->fd < 0) continue;
        if (!closing) ioClientTestSettle(p);
        if (!closing && p->client) assert_int_equal(p->answered, p->requested);
        disconnectPeer(p);
    }
    for (int i = 0; i < PEERS; i++) {
        while (peers[i].client) ioClientTestTurn();
    }
    while (offloadedClients()) ioClientTestTurn();
    assert_int_equal(openDescriptors(), before);
}

/* A thread ends when its last connection has left, while others continue. */
static void threadsEnd(void **state) {
    (void)state;
    for (int i = 0; i < PEERS; i++) {
        connectPeer(&peers[i]);
        assert_true(ioClientOffload(peers[i].client, threads[i % THREADS]));
        ioClientTestSendRequests(&peers[i], 50, SIZE_MAX);
    }
    for (int t = 0; t < THREADS; t++) {
        for (int i = t; i < PEERS; i += THREADS) ioClientRequestRecall(peers[i].client);
        while (ioClientCount(threads[t])) ioClientTestTurn();
        ioThreadStop(threads[t]);
        threads[t] = NULL;
        for (int i = 0; i < PEERS; i++) ioClientTestSendRequests(&peers[i], 20, SIZE_MAX);
    }
    for (int i = 0; i < PEERS; i++) {
        ioClientTestSettle(&peers[i]);
        assert_int_equal(peers[i].answered, 50 + 20 * THREADS);
        clientClose(peers[i].client);
        clientFreeClosed();
        disconnectPeer(&peers[i]);
    }
}

static int ioClientTestSetUp(void **state) {
    (void)state;
    alarm(PATIENCE_S);
    for (int i = 0; i < PEERS; i++) peers[i].fd = -1;
    server_el = aeCreate(1024);
    commandCoreInit();
    clientCoreInit();
    clientOutputInit();
    clientSetReadHandler(readOnMainThread);
    clientOnFree(onClientFree);
    dbInit();
    ioClientSetReceiver(&receiver);
    ioClientsStart(server_el, ioClientTestFlush);
    for (int i = 0; i < THREADS; i++) threads[i] = ioThreadStart(i + 1, NULL);
    return 0;
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(offloadAndRecall),       cmocka_unit_test(outputIsRecalled),
        cmocka_unit_test(partOfABlockIsRecalled), cmocka_unit_test(closeAfterReplies),
        cmocka_unit_test(inEveryOrder),           cmocka_unit_test(threadsEnd),
    };
    return cmocka_run_group_tests(tests, ioClientTestSetUp, NULL);
}
