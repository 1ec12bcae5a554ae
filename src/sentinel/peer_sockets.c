/* SPDX-License-Identifier: BSD-3-Clause */
/* peer_sockets.c - see peer_sockets.h.
 *
 *     socket ─▶ in: bytes until an answer is whole ─▶ supervisorReply, supervisorMessage
 *     socket ◀─ out: what waits for the connection, for the end of the turn or for room ◀─ peerSend
 *
 * The supervisor may close any channel, and free its link, whenever it is called: after that nothing is known
 * but the peer itself, which lives on until nobody here looks at it (`busy`). */
#include "sentinel/peer_sockets.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/list.h"
#include "base/zmalloc.h"
#include "net/ae.h"
#include "net/connection.h"
#include "net/tls.h"
#include "registry/config.h"
#include "registry/cron.h"
#include "sentinel/sentinel.h"

#define KEEPALIVE_S    300
#define READ_BYTES     (16 * 1024)
#define KEEP_BYTES     (64 * 1024)        /* a larger buffer that has run empty is given back */
#define ANSWER_MAX     (16 * 1024 * 1024) /* an INFO has some kilobytes, and 100 for each replica */
#define CLOSED_BY_PEER "Server closed the connection"

struct peer {
    struct peerLink *link;
    enum channel ch;
    struct listNode dirty;   /* of those with something to send in this turn */
    int fd;                  /* connecting; -1: not, or not any more */
    struct connection *conn; /* NULL: not connected yet */
    bool ready;              /* TLS is agreed, too */
    bool busy, closed;       /* somebody looks at it; it is to be freed then */
    sds in, out;
    size_t sent; /* of `out` */
};

static struct list dirty = {{&dirty.head, &dirty.head}, 0};
static struct tlsContext *(*tls_client)(sds *err);
static bool (*tls_wanted)(void);

void peerSetTls(struct tlsContext *(*client)(sds *err), bool (*encrypted)(void)) {
    tls_client = client;
    tls_wanted = encrypted;
}

/* ---- Life ---- */

static void release(struct peer *p) {
    if (p->busy) return;
    sdsfree(p->in);
    sdsfree(p->out);
    zfree(p);
}

/* Everything but its memory goes. */
static void shut(struct peer *p) {
    if (p->closed) return;
    p->closed = true;
    if (p->conn) {
        connClose(p->conn);
    } else if (p->fd >= 0) {
        aeDeleteFileEvent(server_el, p->fd, AE_WRITABLE);
        close(p->fd);
    }
    p->conn = NULL;
    p->fd = -1;
    if (listLinked(&p->dirty)) listRemove(&dirty, &p->dirty);
}

static void down(struct peer *p, const char *why) {
    if (p->closed) return;
    bool was_busy = p->busy;
    shut(p);
    p->busy = true;
    supervisorChannelDown(&sentinel, p->link, p->ch, why, mstime());
    p->busy = was_busy;
    release(p);
}

void peerClose(void *w, struct peerLink *link, enum channel ch) {
    (void)w;
    struct peer *p = link->channel[ch];
    link->channel[ch] = NULL;
    if (!p || p->closed) return;
    shut(p);
    release(p);
}

/* ---- Reading ---- */

/* The whole answers at the start of `in` go to the supervisor; how many bytes they were, -1 when what comes
 * is no answer. */
static int64_t takeAnswers(struct peer *p) {
    size_t at = 0, len = sdslen(p->in);
    while (!p->closed && at < len) {
        struct respReply reply;
        int64_t n = respReadReply(p->in + at, len - at, &reply);
        if (n < 0) return -1;
        if (n == 0) break;
        if (p->ch == CHANNEL_COMMAND)
            supervisorReply(&sentinel, p->link, &reply, mstime());
        else
            supervisorMessage(&sentinel, p->link, &reply, mstime());
        respReplyFree(&reply);
        at += (size_t)n;
    }
    return (int64_t)at;
}

/* More room the more there is already: a long answer is looked at anew each time that a part of it comes. */
static ssize_t readSome(struct peer *p) {
    if (!p->in) p->in = sdsempty();
    size_t have = sdslen(p->in), wanted = have > READ_BYTES ? have : READ_BYTES;
    if (sdsavail(p->in) < wanted) p->in = sdsMakeRoomForExact(p->in, wanted);
    ssize_t n = connRead(p->conn, p->in + have, sdsavail(p->in));
    if (n > 0) sdssetlen(p->in, have + (size_t)n);
    return n;
}

static void onReadable(struct connection *conn) {
    struct peer *p = conn->data;
    ssize_t n = readSome(p);
    if (n < 0 && (errno == EAGAIN || errno == EINTR)) return;
    if (n <= 0) {
        down(p, n ? strerror(conn->last_errno) : CLOSED_BY_PEER);
        return;
    }
    p->busy = true;
    int64_t taken = takeAnswers(p);
    p->busy = false;
    if (p->closed) {
        release(p);
    } else if (taken < 0) {
        down(p, "Protocol error");
    } else if (sdslen(p->in) - (size_t)taken > ANSWER_MAX) {
        down(p, "The answer is too long");
    } else if ((size_t)taken == sdslen(p->in)) {
        sdsfree(p->in);
        p->in = NULL;
    } else if (taken) {
        sdsrange(p->in, (ptrdiff_t)taken, -1);
    }
}

/* ---- Writing: at the end of the turn, so that what it caused leaves at once, and after it was saved ---- */

static void onWritable(struct connection *conn) {
    struct peer *p = conn->data;
    connSetWriteHandler(conn, NULL);
    if (!listLinked(&p->dirty)) listAddTail(&dirty, &p->dirty);
}

static void flush(struct peer *p) {
    while (p->out && p->sent < sdslen(p->out)) {
        struct iovec iov = {p->out + p->sent, sdslen(p->out) - p->sent};
        ssize_t n = connWritev(p->conn, &iov, 1);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0 && errno == EAGAIN) {
            connSetWriteHandler(p->conn, onWritable);
            return;
        }
        if (n <= 0) {
            down(p, strerror(errno));
            return;
        }
        p->sent += (size_t)n;
    }
    p->sent = 0;
    if (!p->out) return;
    sdssetlen(p->out, 0);
    if (sdsAllocSize(p->out) <= KEEP_BYTES) return;
    sdsfree(p->out);
    p->out = NULL;
}

static void flushAll(void) {
    struct listNode *it;
    while ((it = listFirst(&dirty))) {
        struct peer *p = listEntry(it, struct peer, dirty);
        listRemove(&dirty, it);
        if (p->ready && !p->conn->write_handler) flush(p);
    }
}

void peerSend(void *w, struct peerLink *link, enum channel ch, int argc, const struct str *argv) {
    (void)w;
    struct peer *p = link->channel[ch];
    if (!p->out) p->out = sdsempty();
    size_t len = sdslen(p->out);
    p->out = sdsMakeRoomFor(p->out, respRequestRoom(argc, argv));
    sdssetlen(p->out, len + (size_t)(respWriteRequest(p->out + len, argc, argv) - (p->out + len)));
    if (!listLinked(&p->dirty)) listAddTail(&dirty, &p->dirty);
}

/* ---- Connecting ---- */

static void established(struct peer *p) {
    p->ready = true;
    connSetReadHandler(p->conn, onReadable);
    if (!listLinked(&p->dirty)) listAddTail(&dirty, &p->dirty);
    p->busy = true;
    supervisorChannelUp(&sentinel, p->link, p->ch, mstime());
    p->busy = false;
    if (p->closed) release(p);
}

static void onShaken(struct connection *conn, const char *error) {
    struct peer *p = conn->data;
    if (error)
        down(p, error);
    else
        established(p);
}

/* NULL: *err says why; the caller's to free. */
static struct connection *wrapTls(int fd, sds *err) {
    struct tlsContext *ctx = tls_client(err);
    struct connection *conn = ctx ? tlsStart(server_el, ctx, fd, KEEPALIVE_S, onShaken) : NULL;
    if (ctx) tlsContextFree(ctx);
    return conn;
}

static void onConnected(struct aeEventLoop *el, int fd, void *data, int mask) {
    (void)mask;
    struct peer *p = data;
    int error = netConnectEnd(fd);
    if (error) {
        down(p, strerror(error));
        return;
    }
    aeDeleteFileEvent(el, fd, AE_WRITABLE);
    sds err = NULL;
    bool tls = tls_wanted();
    p->conn = tls ? wrapTls(fd, &err) : connCreateTcp(el, fd, KEEPALIVE_S);
    if (!p->conn) {
        close(fd);
        p->fd = -1;
        down(p, err ? err : "TLS is not configured");
        sdsfree(err);
        return;
    }
    p->fd = -1;
    p->conn->data = p;
    if (!tls) established(p);
}

bool peerConnect(void *w, struct peerLink *link, enum channel ch, const struct hostAddress *address,
                 char *err, size_t errlen) {
    (void)w;
    sds source = configGet("bind-source-addr");
    int fd = netConnectStart((struct netWay){0}, address->ip, address->port,
                             source && *source ? source : NULL, err, errlen);
    sdsfree(source);
    if (fd < 0) return false;
    struct peer *p = zcalloc(1, sizeof *p);
    *p = (struct peer){.link = link, .ch = ch, .fd = fd};
    if (aeCreateFileEvent(server_el, fd, AE_WRITABLE, onConnected, p) != 0) {
        strncpy(err, strerror(errno), errlen - 1);
        close(fd);
        zfree(p);
        return false;
    }
    link->channel[ch] = p;
    return true;
}

bool peerOwnIp(void *w, struct peerLink *link, char ip[HOST_IP_LEN]) {
    (void)w;
    const struct peer *p = link->channel[CHANNEL_COMMAND];
    struct sockaddr_storage own;
    socklen_t len = sizeof own;
    if (!p || !p->conn || getsockname(p->conn->fd, (struct sockaddr *)&own, &len) != 0) return false;
    const void *bytes = own.ss_family == AF_INET6
                            ? (const void *)&((const struct sockaddr_in6 *)&own)->sin6_addr
                            : (const void *)&((const struct sockaddr_in *)&own)->sin_addr;
    return inet_ntop(own.ss_family, bytes, ip, HOST_IP_LEN) != NULL;
}

void peerSocketsInit(void) {
    beforeSleepRegister(flushAll);
}
