/* SPDX-License-Identifier: BSD-3-Clause */
/* bus_links_test.c - links of the bus over loopback: messages in pieces of any size, bytes that wait until
 * the peer reads, invalid bytes, handlers that close links at any time. */
#include "cluster/bus_links.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>
#include <cmocka.h>

#include "net/test_backends.h"

#define TURNS_MAX 400
#define FDS_MAX   (2 * BUS_UNIDENTIFIED_MAX + 200) /* both ends */

/* ---- Calls of the handlers ---- */

static struct {
    int up, down, messages;
    sds bytes; /* of all messages */
    struct busLink *last;
    bool refuse;      /* no inbound links */
    int useless_from; /* messages from this one on make the handler return false; 0: none */
    bool close_it;    /* the handler closes the link of a message */
} seen;

static bool busLinksTestAccepts(void) {
    return !seen.refuse;
}
static void busLinksTestUp(struct busLink *link) {
    seen.up++;
    seen.last = link;
}
static void busLinksTestDown(struct busLink *link) {
    seen.down++;
    seen.last = link;
}
static bool busLinksTestMessage(struct busLink *link, const uint8_t *packet, uint32_t len) {
    assert_int_equal(busLength(packet), len);
    seen.last = link;
    seen.bytes = sdscatlen(seen.bytes, packet, len);
    seen.messages++;
    if (seen.close_it) busLinkClose(link);
    return !seen.useless_from || seen.messages < seen.useless_from;
}
static const struct busLinkHandlers handlers = {busLinksTestAccepts, busLinksTestUp, busLinksTestDown,
                                                busLinksTestMessage};

/* ---- Sockets of the test ---- */

static int port, peers[8], peer_count;
static size_t nothing; /* memory without links */

static struct sockaddr_in busLinksTestLoopback(int at) {
    struct sockaddr_in a = {.sin_family = AF_INET, .sin_port = htons((uint16_t)at)};
    a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    return a;
}

/* Returns a port on which nothing listens. */
static int busLinksTestFreePort(void) {
    struct sockaddr_in a = busLinksTestLoopback(0);
    socklen_t len = sizeof a;
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    assert_int_equal(bind(fd, (struct sockaddr *)&a, len), 0);
    assert_int_equal(getsockname(fd, (struct sockaddr *)&a, &len), 0);
    close(fd);
    return ntohs(a.sin_port);
}

static int keepPeer(int fd) {
    assert_true(fd >= 0 && peer_count < 8);
    fcntl(fd, F_SETFL, O_NONBLOCK);
    return peers[peer_count++] = fd;
}

static void busLinksTestTurn(void) {
    busLinksFlush();
    aeProcessEvents(server_el, AE_ALL_EVENTS | AE_CALL_HOOKS | AE_DONT_WAIT);
}
/* Runs turns until the condition holds, for a second at most. */
#define UNTIL(condition)                                                                                     \
    do {                                                                                                     \
        for (int tries = 0; tries < TURNS_MAX && !(condition); tries++) {                                    \
            busLinksTestTurn();                                                                              \
            if (!(condition)) usleep(tries < 10 ? 100 : 2500);                                               \
        }                                                                                                    \
        assert_true(condition);                                                                              \
    } while (0)

static void busLinksTestSettle(void) {
    for (int i = 0; i < 10; i++) {
        busLinksTestTurn();
        usleep(500);
    }
}

static void busLinksTestCountOne(void *priv, struct busLink *link) {
    (void)link;
    ++*(int *)priv;
}
static int busLinksTestCount(void) {
    int count = 0;
    busLinksForEach(busLinksTestCountOne, &count);
    return count;
}

/* Connects a peer to the listening port. */
static int busLinksTestInbound(void) {
    struct sockaddr_in a = busLinksTestLoopback(port);
    int fd = keepPeer(socket(AF_INET, SOCK_STREAM, 0)), before = busLinksTestCount();
    assert_true(connect(fd, (struct sockaddr *)&a, sizeof a) == 0 || errno == EINPROGRESS);
    UNTIL(busLinksTestCount() == before + 1);
    return fd;
}

static void busLinksTestSetNode(void *priv, struct busLink *link) {
    link->node = priv;
}

static struct clusterNode some_node;

/* Connects a peer and makes all links known nodes. */
static int busLinksTestInboundKnown(void) {
    int fd = busLinksTestInbound();
    busLinksForEach(busLinksTestSetNode, &some_node);
    return fd;
}

static void busLinksTestWrite(int fd, struct str bytes) {
    for (int tries = 0; bytes.len && tries < 100000; tries++) {
        ssize_t n = send(fd, bytes.ptr, bytes.len, MSG_NOSIGNAL);
        if (n < 0) assert_int_equal(errno, EAGAIN);
        if (n > 0) bytes = strN(bytes.ptr + n, bytes.len - (size_t)n);
        busLinksTestTurn();
    }
    assert_int_equal(bytes.len, 0);
}

/* Reads everything that has arrived at the peer. *ended: the connection is closed. */
static sds busLinksTestRead(sds s, int fd, bool *ended) {
    char bytes[65536];
    ssize_t n;
    while ((n = recv(fd, bytes, sizeof bytes, 0)) > 0) s = sdscatlen(s, bytes, (size_t)n);
    *ended = n == 0 || errno != EAGAIN;
    return s;
}
static bool hasEnded(int fd) {
    bool ended;
    sdsfree(busLinksTestRead(sdsempty(), fd, &ended));
    return ended;
}

static sds busLinksTestPacket(size_t payload, char fill) {
    char *text = malloc(payload + 1);
    memset(text, fill, payload);
    sds s = busAddPublish(busBeginLight(sdsempty(), BUS_PUBLISH), STR("c"), strN(text, payload));
    busEnd(s, 0);
    free(text);
    return s;
}

static sds busLinksTestPackets(int count, size_t payload) {
    sds all = sdsempty(), one = busLinksTestPacket(payload, 'x');
    for (; count > 0; count--) all = sdscatlen(all, one, sdslen(one));
    sdsfree(one);
    return all;
}

static int busLinksTestSetUp(void **state) {
    (void)state;
    char err[256];
    const char *addresses[] = {"127.0.0.1"};
    memset(&seen, 0, sizeof seen);
    seen.bytes = sdsempty();
    server_el = aeCreate(FDS_MAX);
    nothing = busLinksMemory();
    for (int tries = 0; tries < 20; tries++) { /* another process may take the port meanwhile */
        port = busLinksTestFreePort();
        if (busLinksListen(&handlers, addresses, 1, port, false, err, sizeof err)) return 0;
    }
    return -1;
}

static int busLinksTestTearDown(void **state) {
    (void)state;
    busLinksStop();
    assert_int_equal(busLinksTestCount(), 0);
    assert_int_equal(busLinksMemory(), nothing); /* everything is accounted */
    while (peer_count) close(peers[--peer_count]);
    aeDelete(server_el);
    server_el = NULL;
    sdsfree(seen.bytes);
    return 0;
}

/* ---- Receiving ---- */

static void aMessageMayComeByteByByte(void **state) {
    (void)state;
    int fd = busLinksTestInbound();
    sds s = busLinksTestPacket(30, 'x');
    for (size_t i = 0; i < sdslen(s); i++) {
        assert_int_equal(seen.messages, 0);
        busLinksTestWrite(fd, strN(s + i, 1));
    }
    UNTIL(seen.messages == 1);
    assert_int_equal(sdslen(seen.bytes), sdslen(s));
    assert_memory_equal(seen.bytes, s, sdslen(s));
    assert_true(seen.last->inbound);
    assert_string_equal(seen.last->peer_ip, "127.0.0.1");
    assert_string_equal(seen.last->own_ip, "127.0.0.1");
    sdsfree(s);
}

static void manyMessagesMayComeInOnePiece(void **state) {
    (void)state;
    int fd = busLinksTestInbound();
    sds all = sdsempty();
    for (int i = 0; i < 500; i++) {
        sds s = busLinksTestPacket((size_t)i * 7, (char)('a' + i % 26));
        all = sdscatlen(all, s, sdslen(s));
        sdsfree(s);
    }
    busLinksTestWrite(fd, sdsview(all));
    UNTIL(seen.messages == 500);
    assert_int_equal(sdslen(seen.bytes), sdslen(all));
    assert_memory_equal(seen.bytes, all, sdslen(all));
    sdsfree(all);
}

static void aLargeMessageTakesMemoryOnlyWhileItArrives(void **state) {
    (void)state;
    int fd = busLinksTestInboundKnown();
    sds s = busLinksTestPacket(3 << 20, 'y');
    busLinksTestWrite(fd, strN(s, sdslen(s) - 1));
    busLinksTestSettle();
    assert_int_equal(seen.messages, 0);
    assert_true(busLinksMemory() > 3 << 20);
    busLinksTestWrite(fd, strN(s + sdslen(s) - 1, 1));
    UNTIL(seen.messages == 1);
    assert_memory_equal(seen.bytes, s, sdslen(s));
    assert_true(busLinksMemory() < 1024);
    sdsfree(s);
}

static void anAnnouncedLengthTakesNoMemory(void **state) {
    (void)state;
    int fd = busLinksTestInboundKnown();
    sds s = busLinksTestPacket(0, 'z');
    s[4] = 0x1f; /* 496 MiB and more */
    busLinksTestWrite(fd, sdsview(s));
    busLinksTestSettle();
    assert_int_equal(busLinksTestCount(), 1);
    assert_true(busLinksMemory() < 256 * 1024);
    sdsfree(s);
}

static void whatIsNoMessageEndsTheLink(void **state) {
    (void)state;
    int fd = busLinksTestInbound();
    sds s = busLinksTestPacket(10, 'x');
    s = sdscat(s, "GET / HTTP/1.1\r\n");
    busLinksTestWrite(fd, sdsview(s));
    UNTIL(seen.down == 1 && hasEnded(fd));
    assert_int_equal(seen.messages, 1); /* the one before it counts */
    assert_int_equal(busLinksTestCount(), 0);
    sdsfree(s);
}

static void aLengthThatCannotBeEndsTheLink(void **state) {
    (void)state;
    static const uint8_t lengths[] = {0x00, 0xff};
    for (int i = 0; i < 2; i++) {
        int fd = busLinksTestInbound();
        sds s = busLinksTestPacket(10, 'x');
        s[4] = s[7] = (char)lengths[i];
        busLinksTestWrite(fd, strN(s, BUS_PREFIX)); /* refused because of its first bytes */
        UNTIL(seen.down == i + 1 && hasEnded(fd));
        sdsfree(s);
    }
    assert_int_equal(seen.messages, 0);
}

static void aPeerThatClosesIsReported(void **state) {
    (void)state;
    int fd = busLinksTestInbound();
    shutdown(fd, SHUT_WR);
    UNTIL(seen.down == 1);
    assert_int_equal(busLinksTestCount(), 0);
}

static void aLinkOfNoUseIsClosedWithoutAWord(void **state) {
    (void)state;
    seen.useless_from = 2;
    int fd = busLinksTestInbound();
    sds s = busLinksTestPackets(4, 10);
    busLinksTestWrite(fd, sdsview(s));
    UNTIL(hasEnded(fd));
    assert_int_equal(seen.messages, 2);
    assert_int_equal(seen.down, 0);
    assert_int_equal(busLinksTestCount(), 0);
    sdsfree(s);
}

static void aHandlerMayCloseItsLink(void **state) {
    (void)state;
    seen.close_it = true;
    for (int useless = 0; useless < 2; useless++) {
        seen.useless_from = useless;
        seen.messages = 0;
        int fd = busLinksTestInbound();
        sds s = busLinksTestPackets(2, 10);
        busLinksTestWrite(fd, sdsview(s));
        UNTIL(hasEnded(fd));
        assert_int_equal(seen.messages, 1);
        assert_int_equal(seen.down, 0);
        sdsfree(s);
    }
}

static void noLinksAreTakenWhileTheyAreRefused(void **state) {
    (void)state;
    seen.refuse = true;
    struct sockaddr_in a = busLinksTestLoopback(port);
    int fd = keepPeer(socket(AF_INET, SOCK_STREAM, 0));
    assert_true(connect(fd, (struct sockaddr *)&a, sizeof a) == 0 || errno == EINPROGRESS);
    busLinksTestSettle();
    assert_int_equal(busLinksTestCount(), 0);
    seen.refuse = false;
    UNTIL(busLinksTestCount() == 1);
}

/* ---- Sending ---- */

/* Connects a link to a peer of the test; *fd is the peer's end. */
static struct busLink *busLinksTestOutbound(int *fd) {
    struct sockaddr_in a = busLinksTestLoopback(0);
    socklen_t len = sizeof a;
    int listener = keepPeer(socket(AF_INET, SOCK_STREAM, 0)), ups = seen.up;
    assert_int_equal(bind(listener, (struct sockaddr *)&a, len), 0);
    assert_int_equal(listen(listener, 5), 0);
    assert_int_equal(getsockname(listener, (struct sockaddr *)&a, &len), 0);
    struct busLink *link = busLinkConnect("127.0.0.1", ntohs(a.sin_port));
    assert_non_null(link);
    UNTIL(seen.up == ups + 1);
    assert_ptr_equal(seen.last, link);
    assert_false(link->inbound);
    assert_string_equal(link->own_ip, "127.0.0.1");
    *fd = keepPeer(accept(listener, NULL, NULL));
    return link;
}

static void whatIsSentInATurnLeavesAtItsEnd(void **state) {
    (void)state;
    int fd;
    bool ended;
    struct busLink *link = busLinksTestOutbound(&fd);
    busLinkSend(link, "one ", 4);
    busLinkSend(link, "two", 3);
    assert_int_equal(busLinkQueuedBytes(link), 7);
    assert_true(busLinkAllocatedBytes(link) >= 7);
    sds s = busLinksTestRead(sdsempty(), fd, &ended);
    assert_int_equal(sdslen(s), 0);
    UNTIL(sdslen(s = busLinksTestRead(s, fd, &ended)) == 7);
    assert_string_equal(s, "one two");
    assert_int_equal(busLinkQueuedBytes(link), 0);
    assert_false(busLinkAwaitsWritable(link));
    sdsfree(s);
}

static void anAnswerComesByTheSameLink(void **state) {
    (void)state;
    int fd;
    struct busLink *link = busLinksTestOutbound(&fd);
    sds s = busLinksTestPacket(5, 'q');
    busLinksTestWrite(fd, sdsview(s));
    UNTIL(seen.messages == 1);
    assert_ptr_equal(seen.last, link);
    sdsfree(s);
}

static void aPortWithoutListenerIsReported(void **state) {
    (void)state;
    struct busLink *link = busLinkConnect("127.0.0.1", (uint16_t)busLinksTestFreePort());
    if (!link) return; /* reported at once */
    UNTIL(seen.down == 1);
    assert_int_equal(seen.up, 0);
    assert_int_equal(busLinksTestCount(), 0);
}

static void anAddressThatIsNoneCannotBeTried(void **state) {
    (void)state;
    struct busLink *link = busLinkConnect("no address", 1);
    assert_null(link);
    assert_int_equal(busLinksTestCount(), 0);
}

/* Sends the numbers from *next on. */
static void sendNumbers(struct busLink *link, uint32_t *next, int count) {
    for (; count > 0; count--, ++*next) busLinkSend(link, (const char *)next, sizeof *next);
}

static void aSlowPeerGetsEverythingInOrder(void **state) {
    (void)state;
    int fd;
    bool ended;
    struct busLink *link = busLinksTestOutbound(&fd);
    uint32_t sent = 0, expected = 0;
    sds s = sdsempty();
    while (busLinkQueuedBytes(link) < 1 << 20) { /* until the sockets are full */
        sendNumbers(link, &sent, 50000);
        busLinksTestTurn();
    }
    assert_true(busLinkAwaitsWritable(link));
    for (int i = 0; i < 50; i++) { /* some is read, more is sent */
        char bytes[40000];
        ssize_t n = recv(fd, bytes, sizeof bytes, 0);
        if (n > 0) s = sdscatlen(s, bytes, (size_t)n);
        sendNumbers(link, &sent, 3000);
        busLinksTestTurn();
    }
    UNTIL(sdslen(s = busLinksTestRead(s, fd, &ended)) == sent * sizeof sent);
    for (; expected < sent; expected++) {
        uint32_t number;
        memcpy(&number, s + expected * sizeof number, sizeof number);
        assert_int_equal(number, expected);
    }
    assert_int_equal(busLinkQueuedBytes(link), 0);
    UNTIL(!busLinkAwaitsWritable(link));
    assert_true(busLinkAllocatedBytes(link) <= 128 * 1024); /* the queue is freed */
    sdsfree(s);
}

static void aLinkWithTooMuchQueuedIsClosed(void **state) {
    (void)state;
    int fd, other;
    struct busLink *link = busLinksTestOutbound(&fd), *idle = busLinksTestOutbound(&other);
    uint32_t sent = 0;
    while (busLinkQueuedBytes(link) < 100000) {
        sendNumbers(link, &sent, 50000);
        busLinksTestTurn();
    }
    assert_int_equal(busLinksEnforceLimit(0), 0);
    assert_int_equal(busLinksEnforceLimit(busLinkQueuedBytes(link)), 0);
    assert_int_equal(busLinksEnforceLimit(busLinkQueuedBytes(link) - 1), 1);
    assert_int_equal(seen.down, 1);
    assert_int_equal(busLinksTestCount(), 1);
    assert_int_equal(busLinkQueuedBytes(idle), 0);
    busLinksTestTurn();
}

/* ---- Unidentified links ---- */

static void silentUnidentifiedLinksAreClosed(void **state) {
    (void)state;
    int known = busLinksTestInboundKnown(), fd;
    busLinksTestOutbound(&fd);
    int silent = busLinksTestInbound(), speaks = busLinksTestInbound();
    assert_int_equal(busLinksDropUnidentified(10000), 0);
    usleep(60000);
    sds s = busLinksTestPacket(10, 'x');
    busLinksTestWrite(speaks, sdsview(s));
    UNTIL(seen.messages == 1);
    assert_int_equal(busLinksDropUnidentified(50), 1);
    assert_int_equal(seen.down, 1);
    UNTIL(hasEnded(silent));
    assert_false(hasEnded(speaks) || hasEnded(known) || hasEnded(fd));
    usleep(60000);
    assert_int_equal(busLinksDropUnidentified(50), 1);
    UNTIL(hasEnded(speaks));
    assert_false(hasEnded(known) || hasEnded(fd));
    sdsfree(s);
}

static void unidentifiedLinksSendNothingLong(void **state) {
    (void)state;
    int known = busLinksTestInboundKnown();
    int unknown_node = busLinksTestInbound(), fds[] = {known, unknown_node};
    sds longest = busLinksTestPacket(BUS_UNIDENTIFIED_MESSAGE_MAX - 100, 'x'),
        longer = busLinksTestPacket(BUS_UNIDENTIFIED_MESSAGE_MAX, 'x');
    for (int i = 0; i < 2; i++) {
        busLinksTestWrite(fds[i], sdsview(longest));
        UNTIL(seen.messages == i + 1);
    }
    busLinksTestWrite(known, sdsview(longer));
    UNTIL(seen.messages == 3);
    busLinksTestWrite(unknown_node, strN(longer, BUS_PREFIX));
    UNTIL(hasEnded(unknown_node));
    assert_false(hasEnded(known));
    assert_int_equal(seen.messages, 3);
    sdsfree(longest);
    sdsfree(longer);
}

static void theOldestOfTooManyUnidentifiedIsClosed(void **state) {
    (void)state;
    int known = busLinksTestInboundKnown();
    int *unidentified = calloc(BUS_UNIDENTIFIED_MAX + 3, sizeof *unidentified);
    for (int i = 0; i < BUS_UNIDENTIFIED_MAX + 3; i++) {
        struct sockaddr_in a = busLinksTestLoopback(port);
        unidentified[i] = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
        assert_true(connect(unidentified[i], (struct sockaddr *)&a, sizeof a) == 0 || errno == EINPROGRESS);
        busLinksTestTurn();
    }
    UNTIL(hasEnded(unidentified[0]) && hasEnded(unidentified[1]) && hasEnded(unidentified[2]));
    busLinksTestSettle();
    assert_int_equal(busLinksTestCount(), 1 + BUS_UNIDENTIFIED_MAX);
    assert_false(hasEnded(known) || hasEnded(unidentified[3]) ||
                 hasEnded(unidentified[BUS_UNIDENTIFIED_MAX + 2]));
    for (int i = 0; i < BUS_UNIDENTIFIED_MAX + 3; i++) close(unidentified[i]);
    free(unidentified);
}

static void writingToAClosedPeerEndsTheLink(void **state) {
    (void)state;
    int fd;
    struct busLink *link = busLinksTestOutbound(&fd);
    struct linger at_once = {1, 0};
    setsockopt(fd, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
    close(fd);
    peer_count--;
    busLinkSend(link, "x", 1);
    UNTIL(seen.down == 1);
    assert_int_equal(busLinksTestCount(), 0);
}

static void aLinkMayBeClosedBeforeItIsUpOrFlushed(void **state) {
    (void)state;
    int fd;
    struct busLink *link = busLinkConnect("127.0.0.1", (uint16_t)busLinksTestFreePort());
    if (link) busLinkClose(link);
    link = busLinksTestOutbound(&fd);
    busLinkSend(link, "never", 5);
    busLinkClose(link);
    busLinksTestSettle();
    UNTIL(hasEnded(fd));
    assert_int_equal(seen.down, 0);
    assert_int_equal(seen.up, 1);
}

int main(void) {
    logSetLevel(LL_NOTHING);
    struct rlimit fds;
    getrlimit(RLIMIT_NOFILE, &fds);
    if (fds.rlim_cur < FDS_MAX) fds.rlim_cur = FDS_MAX;
    setrlimit(RLIMIT_NOFILE, &fds);
    const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, busLinksTestSetUp, busLinksTestTearDown)
        TEST(aMessageMayComeByteByByte),
        TEST(manyMessagesMayComeInOnePiece),
        TEST(aLargeMessageTakesMemoryOnlyWhileItArrives),
        TEST(anAnnouncedLengthTakesNoMemory),
        TEST(whatIsNoMessageEndsTheLink),
        TEST(aLengthThatCannotBeEndsTheLink),
        TEST(aPeerThatClosesIsReported),
        TEST(aLinkOfNoUseIsClosedWithoutAWord),
        TEST(aHandlerMayCloseItsLink),
        TEST(noLinksAreTakenWhileTheyAreRefused),
        TEST(whatIsSentInATurnLeavesAtItsEnd),
        TEST(anAnswerComesByTheSameLink),
        TEST(aPortWithoutListenerIsReported),
        TEST(anAddressThatIsNoneCannotBeTried),
        TEST(aSlowPeerGetsEverythingInOrder),
        TEST(aLinkWithTooMuchQueuedIsClosed),
        TEST(silentUnidentifiedLinksAreClosed),
        TEST(unidentifiedLinksSendNothingLong),
        TEST(theOldestOfTooManyUnidentifiedIsClosed),
        TEST(writingToAClosedPeerEndsTheLink),
        TEST(aLinkMayBeClosedBeforeItIsUpOrFlushed),
    };
    RUN_WITH_EACH_BACKEND(tests);
}
