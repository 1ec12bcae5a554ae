/* SPDX-License-Identifier: BSD-3-Clause */
/* bus_links.c - see bus_links.h. */
#include "cluster/bus_links.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

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
#define KEEP_BYTES       (64 * 1024) /* a larger buffer that has run empty is given back */

struct link {
    struct busLink bus;
    struct listNode node, dirty; /* of all; of those with something to send in this turn */
    struct dial dial;            /* runs while it connects */
    struct connection *conn;     /* NULL: not connected yet */
    bool busy, closing;          /* somebody looks at it; it is to be freed then */
    int64_t received_ms;         /* the last whole message, or since it is there */
    sds in, out;                 /* NULL: nothing */
    size_t sent;                 /* of `out` */
};

static struct list all = {{&all.head, &all.head}, 0}, dirty = {{&dirty.head, &dirty.head}, 0};
static const struct busLinkHandlers *handlers;
static struct tlsContext *(*server_context)(void);
static int listening[ADDRESSES_MAX], listening_count;
static bool use_tls;
static size_t buffer_bytes; /* of all buffers */
static struct logLimit bad_message_log;

static struct link *busLinksLinkOf(const struct busLink *bus) {
    return listEntry(bus, struct link, bus);
}

void busLinksSetTls(struct tlsContext *(*server)(void)) {
    server_context = server;
}

/* ---- Life ---- */

static size_t busLinksRoomOf(sds s) {
    return s ? sdsAllocSize(s) : 0;
}

static struct link *busLinksLinkNew(void) {
    struct link *l = zcalloc(1, sizeof *l);
    l->received_ms = mstime();
    listAddTail(&all, &l->node);
    return l;
}

static void busLinksLinkFree(struct link *l) {
    buffer_bytes -= busLinksRoomOf(l->in) + busLinksRoomOf(l->out);
    sdsfree(l->in);
    sdsfree(l->out);
    zfree(l);
}

static void busLinksLinkClose(struct link *l) {
    if (l->closing) return;
    l->closing = true;
    dialCancel(&l->dial);
    if (l->conn) connClose(l->conn);
    l->conn = NULL;
    if (listLinked(&l->dirty)) listRemove(&dirty, &l->dirty);
    listRemove(&all, &l->node);
    if (!l->busy) busLinksLinkFree(l);
}

static void busLinksLinkDown(struct link *l) {
    if (l->closing) return;
    handlers->down(&l->bus);
    busLinksLinkClose(l);
}

void busLinkClose(struct busLink *link) {
    busLinksLinkClose(busLinksLinkOf(link));
}

/* What handlers do in between may close it. */
static void busLinksEnter(struct link *l) {
    l->busy = true;
}
static bool busLinksLeave(struct link *l) {
    l->busy = false;
    if (!l->closing) return true;
    busLinksLinkFree(l);
    return false;
}

/* ---- Reading ---- */

static bool busLinksIsUnknownNode(const struct link *l) {
    return l->bus.inbound && !l->bus.node;
}

/* Of the message that begins there. 0: none that we want. */
static uint32_t busLinksLengthFrom(const struct link *l, const uint8_t *prefix) {
    uint32_t length = busLength(prefix);
    return busLinksIsUnknownNode(l) && length > BUS_STRANGERS_MESSAGE_MAX ? 0 : length;
}

static void busLinksLogBadMessage(const struct link *l) {
    unsigned held;
    if (!logLimitAllows(&bad_message_log, mstime(), &held)) return;
    if (held) serverLog(LL_WARNING, "%u more bad messages on the cluster bus were not logged", held);
    serverLog(LL_WARNING, "A message from %s on the cluster bus has a wrong length or signature",
              l->bus.peer_ip);
}

/* The whole messages at the start of `in` go out. False: the link is closed. */
static bool busLinksTakeMessages(struct link *l) {
    size_t at = 0, len = sdslen(l->in);
    bool good = true;
    busLinksEnter(l);
    while (good && !l->closing && len - at >= BUS_PREFIX) {
        const uint8_t *packet = (const uint8_t *)l->in + at;
        uint32_t length = busLinksLengthFrom(l, packet);
        if (!length) {
            busLinksLogBadMessage(l);
            good = false;
            handlers->down(&l->bus);
            break;
        }
        if (len - at < length) break;
        good = handlers->message(&l->bus, packet, length);
        at += length;
    }
    if (!good) busLinksLinkClose(l);
    if (!busLinksLeave(l)) return false;
    if (!at) return true;
    sdsrange(l->in, (ptrdiff_t)at, -1);
    l->received_ms = mstime();
    return true;
}

/* Room for the rest of the message that has begun, or for some bytes. */
static void busLinksMakeRoom(struct link *l) {
    size_t before = busLinksRoomOf(l->in), wanted = READ_BYTES;
    if (!l->in) l->in = sdsempty();
    if (sdslen(l->in) >= BUS_PREFIX) {
        size_t rest = busLength((const uint8_t *)l->in) - sdslen(l->in);
        /* A peer that announces much gets room for it as it comes. */
        if (rest > wanted) wanted = rest > 16 * sdslen(l->in) + READ_BYTES ? 16 * sdslen(l->in) : rest;
    }
    if (sdsavail(l->in) < wanted) l->in = sdsMakeRoomForExact(l->in, wanted);
    buffer_bytes += busLinksRoomOf(l->in) - before;
}

static void busLinksOnReadable(struct connection *conn) {
    struct link *l = conn->data;
    busLinksMakeRoom(l);
    size_t have = sdslen(l->in);
    ssize_t n = connRead(conn, l->in + have, sdsavail(l->in));
    if (n < 0 && (errno == EAGAIN || errno == EINTR)) return;
    if (n <= 0) {
        serverLog(LL_DEBUG, "Reading from the link of a node failed: %s",
                  n ? strerror(conn->last_errno) : "connection closed");
        busLinksLinkDown(l);
        return;
    }
    sdssetlen(l->in, have + (size_t)n);
    if (!busLinksTakeMessages(l)) return;
    if (sdslen(l->in) > 0) return;
    buffer_bytes -= busLinksRoomOf(l->in);
    sdsfree(l->in);
    l->in = NULL;
}

/* ---- Writing ---- */

static void busLinksOnWritable(struct connection *conn);

static void clusterBusLinksFlush(struct link *l) {
    while (l->out && l->sent < sdslen(l->out)) {
        struct iovec iov = {l->out + l->sent, sdslen(l->out) - l->sent};
        ssize_t n = connWritev(l->conn, &iov, 1);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0 && errno == EAGAIN) {
            connSetWriteHandler(l->conn, busLinksOnWritable);
            return;
        }
        if (n <= 0) {
            busLinksLinkDown(l);
            return;
        }
        l->sent += (size_t)n;
    }
    connSetWriteHandler(l->conn, NULL);
    l->sent = 0;
    if (!l->out) return;
    sdssetlen(l->out, 0);
    if (busLinksRoomOf(l->out) <= KEEP_BYTES) return;
    buffer_bytes -= busLinksRoomOf(l->out);
    sdsfree(l->out);
    l->out = NULL;
}

/* Not before the end of the turn: what is queued may say what is not saved yet. */
static void busLinksOnWritable(struct connection *conn) {
    struct link *l = conn->data;
    connSetWriteHandler(conn, NULL);
    if (!listLinked(&l->dirty)) listAddTail(&dirty, &l->dirty);
}

void busLinkSend(struct busLink *link, const char *bytes, size_t len) {
    struct link *l = busLinksLinkOf(link);
    if (l->closing) return;
    size_t before = busLinksRoomOf(l->out);
    if (!l->out) l->out = sdsempty();
    if (l->sent > sdslen(l->out) / 2) { /* what was sent makes room */
        sdsrange(l->out, (ptrdiff_t)l->sent, -1);
        l->sent = 0;
    }
    l->out = sdscatlen(l->out, bytes, len);
    buffer_bytes += busLinksRoomOf(l->out) - before;
    if (!listLinked(&l->dirty)) listAddTail(&dirty, &l->dirty);
}

void busLinksFlush(void) {
    struct listNode *it;
    while ((it = listFirst(&dirty))) {
        struct link *l = listEntry(it, struct link, dirty);
        listRemove(&dirty, it);
        if (l->conn && !l->conn->write_handler) clusterBusLinksFlush(l);
    }
}

/* ---- Connections ---- */

static void busLinksNoteAddresses(struct link *l, int fd) {
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

static void busLinksCarry(struct link *l, struct connection *conn) {
    l->conn = conn;
    conn->data = l;
    busLinksNoteAddresses(l, conn->fd);
}

static void busLinksOnDialed(struct dial *d, struct connection *conn, const char *error) {
    struct link *l = listEntry(d, struct link, dial);
    if (error) {
        serverLog(LL_VERBOSE,
                  d->connected ? "TLS handshake of a link of the cluster bus with %s failed: %s"
                               : "The connection with the node at %s failed: %s",
                  l->bus.peer_ip, error);
        busLinksLinkDown(l);
        return;
    }
    busLinksCarry(l, conn);
    connSetReadHandler(conn, busLinksOnReadable);
    busLinksEnter(l);
    handlers->up(&l->bus);
    busLinksLeave(l);
}

struct busLink *busLinkConnect(const char *ip, uint16_t port) {
    char err[256];
    struct link *l = busLinksLinkNew();
    strncpy(l->bus.peer_ip, ip, NODE_IP_LEN - 1);
    if (dialStart(&l->dial, (struct dialTarget){ip, port, .tls = use_tls}, busLinksOnDialed, err, sizeof err))
        return &l->bus;
    serverLog(LL_DEBUG, "Connecting to the cluster bus of [%s]:%d failed: %s", ip, port, err);
    busLinksLinkClose(l);
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
    busLinksLinkDown(l);
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
    struct link *l = busLinksLinkNew();
    l->bus.inbound = true;
    l->bus.created_ms = l->received_ms;
    busLinksCarry(l, conn);
    if (!use_tls) connSetReadHandler(conn, busLinksOnReadable);
}

/* The oldest go. */
static void busLinksEnforceStrangersMax(void) {
    size_t strangers = 0;
    if (all.length <= BUS_STRANGERS_MAX) return;
    listForEach(&all, it) strangers += busLinksIsUnknownNode(listEntry(it, struct link, node));
    listForEach(&all, it) {
        if (strangers <= BUS_STRANGERS_MAX) return;
        struct link *l = listEntry(it, struct link, node);
        if (!busLinksIsUnknownNode(l)) continue;
        busLinksLinkDown(l);
        strangers--;
    }
}

static void busLinksOnAccept(struct aeEventLoop *el, int listen_fd, void *data, int mask) {
    (void)el, (void)data, (void)mask;
    if (!handlers->accepts()) return;
    for (int i = 0; i < ACCEPTS_PER_TURN; i++) {
        int fd = netAccept(listen_fd);
        if (fd < 0) break;
        busLinksAcceptOne(fd);
    }
    busLinksEnforceStrangersMax();
}

bool busLinksListen(const struct busLinkHandlers *h, const char *const *addresses, int count, int port,
                    bool tls, char *err, size_t errlen) {
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

void busLinksStop(void) {
    listForEach(&all, it) busLinksLinkClose(listEntry(it, struct link, node));
    while (listening_count) {
        int fd = listening[--listening_count];
        aeDeleteFileEvent(server_el, fd, AE_READABLE);
        close(fd);
    }
}

/* ---- What there is ---- */

size_t busLinkQueued(const struct busLink *link) {
    const struct link *l = busLinksLinkOf(link);
    return l->out ? sdslen(l->out) - l->sent : 0;
}
size_t busLinkAllocated(const struct busLink *link) {
    return busLinksRoomOf(busLinksLinkOf(link)->out);
}
bool busLinkWrites(const struct busLink *link) {
    const struct link *l = busLinksLinkOf(link);
    return l->conn && l->conn->write_handler;
}
size_t busLinksMemory(void) {
    return all.length * sizeof(struct link) + buffer_bytes;
}
void busLinksForEach(void (*fn)(void *priv, struct busLink *link), void *priv) {
    listForEach(&all, it) fn(priv, &listEntry(it, struct link, node)->bus);
}

int busLinksEnforceLimit(size_t limit) {
    int closed = 0;
    listForEach(&all, it) {
        struct link *l = listEntry(it, struct link, node);
        if (!limit || busLinkQueued(&l->bus) <= limit) continue;
        busLinksLinkDown(l);
        closed++;
    }
    return closed;
}

int busLinksDropStrangers(int64_t silent_ms) {
    int64_t now_ms = mstime();
    int closed = 0;
    listForEach(&all, it) {
        struct link *l = listEntry(it, struct link, node);
        if (l->received_ms > now_ms) l->received_ms = now_ms; /* the clock was set back */
        if (!busLinksIsUnknownNode(l) || now_ms - l->received_ms <= silent_ms) continue;
        serverLog(LL_VERBOSE, "Closing a link of the cluster bus from %s: it does not say whose it is",
                  l->bus.peer_ip);
        busLinksLinkDown(l);
        closed++;
    }
    return closed;
}
