/* SPDX-License-Identifier: BSD-3-Clause */
/* peer_sockets.c - see peer_sockets.h.
 *
 *     socket ─▶ in: bytes until a reply is whole ─▶ supervisorProcessReply, supervisorProcessMessage
 *     socket ◀─ out: waits for the connection, the end of the turn or for the socket ◀─ peerSend
 *
 * The supervisor may close any channel, and free its link, whenever it is called. After that only the struct
 * peer itself may be used; it is freed when no function of this file uses it any more (`in_use`). */
#include "sentinel/peer_sockets.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>

#include "base/clock.h"
#include "base/linked_list.h"
#include "base/zmalloc.h"
#include "net/dial.h"
#include "registry/cron.h"
#include "sentinel/sentinel.h"

#define READ_BYTES     (16 * 1024)
#define KEEP_BYTES     (64 * 1024)        /* a larger buffer that has run empty is freed */
#define REPLY_MAX      (16 * 1024 * 1024) /* an INFO has some kilobytes, and 100 bytes for each replica */
#define CLOSED_BY_PEER "Server closed the connection"

struct peer {
    struct peerLink *link;
    enum channel ch;
    struct listNode dirty;   /* in the list of peers with output in this turn */
    struct dial dial;        /* active while it connects */
    struct connection *conn; /* NULL: not connected yet */
    bool in_use, closed;     /* a function uses it; it is to be freed after that */
    sds in, out;
    size_t sent; /* bytes of `out` that have been sent */
};

static struct list dirty = {{&dirty.head, &dirty.head}, 0};

/* ---- Closing ---- */

static void peerSocketsRelease(struct peer *p) {
    if (p->in_use) return;
    sdsfree(p->in);
    sdsfree(p->out);
    zfree(p);
}

/* Releases everything but the memory. */
static void peerSocketsDisconnect(struct peer *p) {
    if (p->closed) return;
    p->closed = true;
    dialCancel(&p->dial);
    if (p->conn) connClose(p->conn);
    p->conn = NULL;
    if (listLinked(&p->dirty)) listRemove(&dirty, &p->dirty);
}

static void peerSocketsReportDown(struct peer *p, const char *why) {
    if (p->closed) return;
    bool was_in_use = p->in_use;
    peerSocketsDisconnect(p);
    p->in_use = true;
    supervisorOnChannelDown(&sentinel, p->link, p->ch, why, mstime());
    p->in_use = was_in_use;
    peerSocketsRelease(p);
}

void peerClose(void *ctx, struct peerLink *link, enum channel ch) {
    (void)ctx;
    struct peer *p = link->channel[ch];
    link->channel[ch] = NULL;
    if (!p || p->closed) return;
    peerSocketsDisconnect(p);
    peerSocketsRelease(p);
}

/* ---- Reading ---- */

/* Passes the whole replies at the start of `in` to the supervisor. Returns their length, or -1
 * if the bytes are no reply. */
static int64_t peerSocketsProcessReplies(struct peer *p) {
    size_t at = 0, len = sdslen(p->in);
    while (!p->closed && at < len) {
        struct respReply reply;
        int64_t n = respReadReply(p->in + at, len - at, &reply);
        if (n < 0) return -1;
        if (n == 0) break;
        if (p->ch == CHANNEL_COMMAND)
            supervisorProcessReply(&sentinel, p->link, &reply, mstime());
        else
            supervisorProcessMessage(&sentinel, p->link, &reply, mstime());
        respReplyFree(&reply);
        at += (size_t)n;
    }
    return (int64_t)at;
}

/* Makes room for as much as there is already, because a long reply is parsed again each time
 * that a part of it arrives. */
static ssize_t peerSocketsReadSome(struct peer *p) {
    if (!p->in) p->in = sdsempty();
    size_t have = sdslen(p->in), wanted = have > READ_BYTES ? have : READ_BYTES;
    if (sdsavail(p->in) < wanted) p->in = sdsMakeRoomForExact(p->in, wanted);
    ssize_t n = connRead(p->conn, p->in + have, sdsavail(p->in));
    if (n > 0) sdssetlen(p->in, have + (size_t)n);
    return n;
}

static void peerSocketsOnReadable(struct connection *conn) {
    struct peer *p = conn->data;
    ssize_t n = peerSocketsReadSome(p);
    if (n < 0 && (errno == EAGAIN || errno == EINTR)) return;
    if (n <= 0) {
        peerSocketsReportDown(p, n ? strerror(conn->last_errno) : CLOSED_BY_PEER);
        return;
    }
    p->in_use = true;
    int64_t used = peerSocketsProcessReplies(p);
    p->in_use = false;
    if (p->closed) {
        peerSocketsRelease(p);
    } else if (used < 0) {
        peerSocketsReportDown(p, "Protocol error");
    } else if (sdslen(p->in) - (size_t)used > REPLY_MAX) {
        peerSocketsReportDown(p, "The answer is too long");
    } else if ((size_t)used == sdslen(p->in)) {
        sdsfree(p->in);
        p->in = NULL;
    } else if (used) {
        sdsrange(p->in, (ptrdiff_t)used, -1);
    }
}

/* ---- Writing: at the end of the turn, in one piece, and after changes have been saved ---- */

static void peerSocketsOnWritable(struct connection *conn) {
    struct peer *p = conn->data;
    connSetWriteHandler(conn, NULL);
    if (!listLinked(&p->dirty)) listAddTail(&dirty, &p->dirty);
}

static void peerSocketsFlush(struct peer *p) {
    while (p->out && p->sent < sdslen(p->out)) {
        struct iovec iov = {p->out + p->sent, sdslen(p->out) - p->sent};
        ssize_t n = connWritev(p->conn, &iov, 1);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0 && errno == EAGAIN) {
            connSetWriteHandler(p->conn, peerSocketsOnWritable);
            return;
        }
        if (n <= 0) {
            peerSocketsReportDown(p, strerror(errno));
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

static void peerSocketsFlushAll(void) {
    struct listNode *it;
    while ((it = listFirst(&dirty))) {
        struct peer *p = listEntry(it, struct peer, dirty);
        listRemove(&dirty, it);
        if (p->conn && !p->conn->write_handler) peerSocketsFlush(p);
    }
}

void peerSend(void *ctx, struct peerLink *link, enum channel ch, int argc, const struct str *argv) {
    (void)ctx;
    struct peer *p = link->channel[ch];
    if (!p->out) p->out = sdsempty();
    size_t len = sdslen(p->out);
    p->out = sdsMakeRoomFor(p->out, respRequestRoom(argc, argv));
    sdssetlen(p->out, len + (size_t)(respWriteRequest(p->out + len, argc, argv) - (p->out + len)));
    if (!listLinked(&p->dirty)) listAddTail(&dirty, &p->dirty);
}

/* ---- Connecting ---- */

static void peerSocketsOnDialed(struct dial *d, struct connection *conn, const char *error) {
    struct peer *p = listEntry(d, struct peer, dial);
    if (error) {
        peerSocketsReportDown(p, error);
        return;
    }
    p->conn = conn;
    conn->data = p;
    connSetReadHandler(conn, peerSocketsOnReadable);
    if (!listLinked(&p->dirty)) listAddTail(&dirty, &p->dirty);
    p->in_use = true;
    supervisorOnChannelUp(&sentinel, p->link, p->ch, mstime());
    p->in_use = false;
    if (p->closed) peerSocketsRelease(p);
}

bool peerConnect(void *ctx, struct peerLink *link, enum channel ch, const struct hostAddress *address,
                 char *err, size_t errlen) {
    (void)ctx;
    struct dialTarget target = {address->ip, address->port, .tls = dial_settings.replication_tls};
    struct peer *p = zcalloc(1, sizeof *p);
    p->link = link;
    p->ch = ch;
    if (!dialStart(&p->dial, target, peerSocketsOnDialed, err, errlen)) {
        zfree(p);
        return false;
    }
    link->channel[ch] = p;
    return true;
}

bool peerGetOwnIp(void *ctx, struct peerLink *link, char ip[HOST_IP_LEN]) {
    (void)ctx;
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
    beforeSleepRegister(peerSocketsFlushAll);
}
