/* SPDX-License-Identifier: BSD-3-Clause */
/* bus_links.c - see bus_links.h. */
#include "cluster/bus_links.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/assert.h"
#include "base/clock.h"
#include "base/linked_list.h"
#include "base/log.h"
#include "base/log_limit.h"
#include "base/zmalloc.h"
#include "cluster/bus.h"
#include "net/ae.h"
#include "net/dial.h"

#define ADDRESSES_MAX    16
#define ACCEPTS_PER_TURN 1000
#define KEEPALIVE_S      300
#define READ_BYTES       (16 * 1024)
#define KEEP_BYTES       (64 * 1024) /* a larger buffer that has run empty is freed */

struct link {
    struct busLink bus;
    struct listNode node, dirty; /* in `links`; in `dirty_links` if it has output in this turn */
    struct dial dial;            /* active while it connects */
    struct connection *conn;     /* NULL: not connected yet */
    bool in_use, closing;        /* a function uses it; it is to be freed after that */
    int64_t received_ms;         /* time of the last whole message, or of its creation */
    sds in, out;                 /* NULL: empty */
    size_t sent;                 /* bytes of `out` that have been sent */
};

static struct list links = {{&links.head, &links.head}, 0},
                   dirty_links = {{&dirty_links.head, &dirty_links.head}, 0};
static const struct busLinkHandlers *handlers;
static struct tlsContext *(*server_context)(void);
static int listening[ADDRESSES_MAX], listening_count;
static bool use_tls;
static size_t buffer_bytes; /* allocated for all buffers */
static struct logLimit bad_message_log;

static struct link *busLinkOwner(const struct busLink *bus) {
    return listEntry(bus, struct link, bus);
}

void busLinksSetTls(struct tlsContext *(*server)(void)) {
    server_context = server;
}

/* ---- Life ---- */

static size_t busLinksBufferSize(sds s) {
    return s ? sdsAllocSize(s) : 0;
}

static struct link *busLinkCreate(void) {
    struct link *l = zcalloc(1, sizeof *l);
    l->received_ms = mstime();
    listAddTail(&links, &l->node);
    return l;
}

static void busLinkFree(struct link *l) {
    buffer_bytes -= busLinksBufferSize(l->in) + busLinksBufferSize(l->out);
    sdsfree(l->in);
    sdsfree(l->out);
    zfree(l);
}

static void busLinkDestroy(struct link *l) {
    if (l->closing) return;
    l->closing = true;
    dialCancel(&l->dial);
    if (l->conn) connClose(l->conn);
    l->conn = NULL;
    if (listLinked(&l->dirty)) listRemove(&dirty_links, &l->dirty);
    listRemove(&links, &l->node);
    if (!l->in_use) busLinkFree(l);
}

static void busLinkReportDown(struct link *l) {
    if (l->closing) return;
    handlers->onDown(&l->bus);
    busLinkDestroy(l);
}

void busLinkClose(struct busLink *link) {
    busLinkDestroy(busLinkOwner(link));
}

/* Between these two calls a handler may close the link. busLinkEndUse returns false if that has happened. */
static void busLinkBeginUse(struct link *l) {
    l->in_use = true;
}
static bool busLinkEndUse(struct link *l) {
    l->in_use = false;
    if (!l->closing) return true;
    busLinkFree(l);
    return false;
}

/* ---- Reading ---- */

static bool busLinkIsUnidentified(const struct link *l) {
    return l->bus.inbound && !l->bus.node;
}

/* Returns the length of the message that begins at `prefix`, or 0 if it is not acceptable. */
static uint32_t busLinkMessageLength(const struct link *l, const uint8_t *prefix) {
    uint32_t length = busLength(prefix);
    return busLinkIsUnidentified(l) && length > BUS_UNIDENTIFIED_MESSAGE_MAX ? 0 : length;
}

static void busLinksLogBadMessage(const struct link *l) {
    unsigned held;
    if (!logLimitAllows(&bad_message_log, mstime(), &held)) return;
    if (held) serverLog(LL_WARNING, "%u more bad messages on the cluster bus were not logged", held);
    serverLog(LL_WARNING, "A message from %s on the cluster bus has a wrong length or signature",
              l->bus.peer_ip);
}

/* Passes the whole messages at the start of `in` to the handler. Returns false if the link is closed. */
static bool busLinkProcessMessages(struct link *l) {
    size_t at = 0, len = sdslen(l->in);
    bool good = true;
    busLinkBeginUse(l);
    while (good && !l->closing && len - at >= BUS_PREFIX) {
        const uint8_t *packet = (const uint8_t *)l->in + at;
        uint32_t length = busLinkMessageLength(l, packet);
        if (!length) {
            busLinksLogBadMessage(l);
            good = false;
            handlers->onDown(&l->bus);
            break;
        }
        if (len - at < length) break;
        good = handlers->onMessage(&l->bus, packet, length);
        at += length;
    }
    if (!good) busLinkDestroy(l);
    if (!busLinkEndUse(l)) return false;
    if (!at) return true;
    sdsrange(l->in, (ptrdiff_t)at, -1);
    l->received_ms = mstime();
    return true;
}

/* Makes room for the rest of the message that has begun, or for some bytes. */
static void busLinkMakeRoom(struct link *l) {
    size_t before = busLinksBufferSize(l->in), wanted = READ_BYTES;
    if (!l->in) l->in = sdsempty();
    if (sdslen(l->in) >= BUS_PREFIX) {
        size_t rest = busLength((const uint8_t *)l->in) - sdslen(l->in);
        /* A peer that announces a long message gets memory for it as the bytes arrive. */
        if (rest > wanted) wanted = rest > 16 * sdslen(l->in) + READ_BYTES ? 16 * sdslen(l->in) : rest;
    }
    if (sdsavail(l->in) < wanted) l->in = sdsMakeRoomForExact(l->in, wanted);
    buffer_bytes += busLinksBufferSize(l->in) - before;
}

static void busLinksOnReadable(struct connection *conn) {
    struct link *l = conn->data;
    busLinkMakeRoom(l);
    size_t have = sdslen(l->in);
    ssize_t n = connRead(conn, l->in + have, sdsavail(l->in));
    if (n < 0 && (errno == EAGAIN || errno == EINTR)) return;
    if (n <= 0) {
        serverLog(LL_DEBUG, "Reading from the link of a node failed: %s",
                  n ? strerror(conn->last_errno) : "connection closed");
        busLinkReportDown(l);
        return;
    }
    sdssetlen(l->in, have + (size_t)n);
    if (!busLinkProcessMessages(l)) return;
    if (sdslen(l->in) > 0) return;
    buffer_bytes -= busLinksBufferSize(l->in);
    sdsfree(l->in);
    l->in = NULL;
}

/* ---- Writing ---- */

static void busLinksOnWritable(struct connection *conn);

static void busLinkFlush(struct link *l) {
    while (l->out && l->sent < sdslen(l->out)) {
        struct iovec iov = {l->out + l->sent, sdslen(l->out) - l->sent};
        ssize_t n = connWritev(l->conn, &iov, 1);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0 && errno == EAGAIN) {
            connSetWriteHandler(l->conn, busLinksOnWritable);
            return;
        }
        if (n <= 0) {
            busLinkReportDown(l);
            return;
        }
        l->sent += (size_t)n;
    }
    connSetWriteHandler(l->conn, NULL);
    l->sent = 0;
    if (!l->out) return;
    sdssetlen(l->out, 0);
    if (busLinksBufferSize(l->out) <= KEEP_BYTES) return;
    buffer_bytes -= busLinksBufferSize(l->out);
    sdsfree(l->out);
    l->out = NULL;
}

/* Sends at the end of the turn, not now: what is queued may depend on something that is not saved yet. */
static void busLinksOnWritable(struct connection *conn) {
    struct link *l = conn->data;
    connSetWriteHandler(conn, NULL);
    if (!listLinked(&l->dirty)) listAddTail(&dirty_links, &l->dirty);
}

void busLinkSend(struct busLink *link, const char *bytes, size_t len) {
    serverAssert(bytes);
    struct link *l = busLinkOwner(link);
    if (l->closing) return;
    size_t before = busLinksBufferSize(l->out);
    if (!l->out) l->out = sdsempty();
    if (l->sent > sdslen(l->out) / 2) { /* drops what was sent */
        sdsrange(l->out, (ptrdiff_t)l->sent, -1);
        l->sent = 0;
    }
    l->out = sdscatlen(l->out, bytes, len);
    buffer_bytes += busLinksBufferSize(l->out) - before;
    if (!listLinked(&l->dirty)) listAddTail(&dirty_links, &l->dirty);
}

void busLinksFlush(void) {
    struct listNode *it;
    while ((it = listFirst(&dirty_links))) {
        struct link *l = listEntry(it, struct link, dirty);
        listRemove(&dirty_links, it);
        if (l->conn && !l->conn->write_handler) busLinkFlush(l);
    }
}

/* ---- Connections ---- */

static void busLinkReadAddresses(struct link *l, int fd) {
    struct sockaddr_storage peer, own;
    socklen_t len = sizeof peer;
    char *const texts[] = {l->bus.peer_ip, l->bus.own_ip};
    memset(&peer, 0, sizeof peer);
    memset(&own, 0, sizeof own);
    getpeername(fd, (struct sockaddr *)&peer, &len);
    len = sizeof own;
    getsockname(fd, (struct sockaddr *)&own, &len);
    for (int i = 0; i < 2; i++) {
        const struct sockaddr_storage *sa = i ? &own : &peer;
        const void *bytes = sa->ss_family == AF_INET6
                                ? (const void *)&((const struct sockaddr_in6 *)sa)->sin6_addr
                                : (const void *)&((const struct sockaddr_in *)sa)->sin_addr;
        if (sa->ss_family == AF_INET || sa->ss_family == AF_INET6)
            inet_ntop(sa->ss_family, bytes, texts[i], NODE_IP_LEN);
    }
}

static void busLinkSetConnection(struct link *l, struct connection *conn) {
    l->conn = conn;
    conn->data = l;
    connSetPriority(conn);
    busLinkReadAddresses(l, conn->fd);
}

static void busLinksOnDialed(struct dial *d, struct connection *conn, const char *error) {
    struct link *l = listEntry(d, struct link, dial);
    if (error) {
        serverLog(LL_VERBOSE,
                  d->connected ? "TLS handshake of a link of the cluster bus with %s failed: %s"
                               : "The connection with the node at %s failed: %s",
                  l->bus.peer_ip, error);
        busLinkReportDown(l);
        return;
    }
    busLinkSetConnection(l, conn);
    connSetReadHandler(conn, busLinksOnReadable);
    busLinkBeginUse(l);
    handlers->onUp(&l->bus);
    busLinkEndUse(l);
}

struct busLink *busLinkConnect(const char *ip, uint16_t port) {
    serverAssert(ip && handlers);
    char err[256];
    struct link *l = busLinkCreate();
    strncpy(l->bus.peer_ip, ip, NODE_IP_LEN - 1);
    if (dialStart(&l->dial, (struct dialTarget){ip, port, .tls = use_tls}, busLinksOnDialed, err, sizeof err))
        return &l->bus;
    serverLog(LL_DEBUG, "Connecting to the cluster bus of [%s]:%d failed: %s", ip, port, err);
    busLinkDestroy(l);
    return NULL;
}

static void busLinksOnHandshakeDone(struct connection *conn, const char *error) {
    struct link *l = conn->data;
    if (!error) {
        connSetReadHandler(conn, busLinksOnReadable);
        return;
    }
    serverLog(LL_VERBOSE, "TLS handshake of a link of the cluster bus with %s failed: %s", l->bus.peer_ip,
              error);
    busLinkReportDown(l);
}

static void busLinksAcceptOne(int fd) {
    struct tlsContext *ctx = use_tls ? server_context() : NULL;
    struct connection *conn = !use_tls ? connCreateTcp(server_el, fd, KEEPALIVE_S)
                              : ctx    ? tlsAccept(server_el, ctx, fd, KEEPALIVE_S, busLinksOnHandshakeDone)
                                       : NULL;
    if (!conn) {
        close(fd);
        return;
    }
    struct link *l = busLinkCreate();
    l->bus.inbound = true;
    l->bus.created_ms = l->received_ms;
    busLinkSetConnection(l, conn);
    if (!use_tls) connSetReadHandler(conn, busLinksOnReadable);
}

/* Closes the oldest unidentified links if there are too many. */
static void busLinksEnforceUnidentifiedMax(void) {
    size_t unidentified = 0;
    if (links.length <= BUS_UNIDENTIFIED_MAX) return;
    listForEach(&links, it) unidentified += busLinkIsUnidentified(listEntry(it, struct link, node));
    listForEach(&links, it) {
        if (unidentified <= BUS_UNIDENTIFIED_MAX) return;
        struct link *l = listEntry(it, struct link, node);
        if (!busLinkIsUnidentified(l)) continue;
        busLinkReportDown(l);
        unidentified--;
    }
}

static void busLinksOnAccept(struct aeEventLoop *el, int listen_fd, void *data, int mask) {
    (void)el, (void)data, (void)mask;
    if (!handlers->mayAccept()) return;
    for (int i = 0; i < ACCEPTS_PER_TURN; i++) {
        int fd = netAccept(listen_fd);
        if (fd < 0) break;
        busLinksAcceptOne(fd);
    }
    busLinksEnforceUnidentifiedMax();
}

bool busLinksListen(const struct busLinkHandlers *h, const char *const *addresses, int count, int port,
                    bool tls, char *err, size_t errlen) {
    serverAssert(h && count > 0 && port > 0);
    handlers = h;
    use_tls = tls;
    for (int i = 0; i < count && listening_count < ADDRESSES_MAX; i++) {
        bool unsupported = false, optional = addresses[i][0] == '-';
        int fd = netListenTcp(addresses[i] + optional, port, 511, &unsupported, err, errlen);
        if (fd < 0) {
            if (unsupported || (optional && errno == EADDRNOTAVAIL)) continue;
            return false;
        }
        listening[listening_count++] = fd;
        if (aeCreateFileEvent(server_el, fd, AE_READABLE, busLinksOnAccept, NULL) != 0) return false;
    }
    return listening_count > 0;
}

/* ---- Statistics and limits ---- */

size_t busLinkQueuedBytes(const struct busLink *link) {
    const struct link *l = busLinkOwner(link);
    return l->out ? sdslen(l->out) - l->sent : 0;
}
size_t busLinkAllocatedBytes(const struct busLink *link) {
    return busLinksBufferSize(busLinkOwner(link)->out);
}
bool busLinkAwaitsWritable(const struct busLink *link) {
    const struct link *l = busLinkOwner(link);
    return l->conn && l->conn->write_handler;
}
size_t busLinksMemory(void) {
    return links.length * sizeof(struct link) + buffer_bytes;
}

int busLinksEnforceLimit(size_t limit) {
    int closed = 0;
    listForEach(&links, it) {
        struct link *l = listEntry(it, struct link, node);
        if (!limit || busLinkQueuedBytes(&l->bus) <= limit) continue;
        busLinkReportDown(l);
        closed++;
    }
    return closed;
}

int busLinksDropUnidentified(int64_t silent_ms) {
    int64_t now_ms = mstime();
    int closed = 0;
    listForEach(&links, it) {
        struct link *l = listEntry(it, struct link, node);
        if (l->received_ms > now_ms) l->received_ms = now_ms; /* the clock was set back */
        if (!busLinkIsUnidentified(l) || now_ms - l->received_ms <= silent_ms) continue;
        serverLog(LL_VERBOSE, "Closing a link of the cluster bus from %s: it does not say whose it is",
                  l->bus.peer_ip);
        busLinkReportDown(l);
        closed++;
    }
    return closed;
}

/* ---- For tests ---- */

void busLinksStop(void) {
    listForEach(&links, it) busLinkDestroy(listEntry(it, struct link, node));
    while (listening_count) {
        int fd = listening[--listening_count];
        aeDeleteFileEvent(server_el, fd, AE_READABLE);
        close(fd);
    }
}

void busLinksForEach(void (*fn)(void *priv, struct busLink *link), void *priv) {
    listForEach(&links, it) fn(priv, &listEntry(it, struct link, node)->bus);
}
