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

#include "base/clock.h"
#include "base/linked_list.h"
#include "base/zmalloc.h"
#include "net/dial.h"
#include "registry/cron.h"
#include "sentinel/sentinel.h"

#define READ_BYTES     (16 * 1024)
#define KEEP_BYTES     (64 * 1024)        /* a larger buffer that has run empty is given back */
#define ANSWER_MAX     (16 * 1024 * 1024) /* an INFO has some kilobytes, and 100 for each replica */
#define CLOSED_BY_PEER "Server closed the connection"

struct peer {
    struct peerLink *link;
    enum channel ch;
    struct listNode dirty;   /* of those with something to send in this turn */
    struct dial dial;        /* runs while it connects */
    struct connection *conn; /* NULL: not connected yet */
    bool busy, closed;       /* somebody looks at it; it is to be freed then */
    sds in, out;
    size_t sent; /* of `out` */
};

static struct list dirty = {{&dirty.head, &dirty.head}, 0};

/* ---- Life ---- */

static void peerSocketsRelease(struct peer *p) {
    if (p->busy) return;
    sdsfree(p->in);
    sdsfree(p->out);
    zfree(p);
}

/* Everything but its memory goes. */
static void peerSocketsShut(struct peer *p) {
    if (p->closed) return;
    p->closed = true;
    dialCancel(&p->dial);
    if (p->conn) connClose(p->conn);
    p->conn = NULL;
    if (listLinked(&p->dirty)) listRemove(&dirty, &p->dirty);
}

static void peerSocketsDown(struct peer *p, const char *why) {
    if (p->closed) return;
    bool was_busy = p->busy;
    peerSocketsShut(p);
    p->busy = true;
    supervisorChannelDown(&sentinel, p->link, p->ch, why, mstime());
    p->busy = was_busy;
    peerSocketsRelease(p);
}

void peerClose(void *w, struct peerLink *link, enum channel ch) {
    (void)w;
    struct peer *p = link->channel[ch];
    link->channel[ch] = NULL;
    if (!p || p->closed) return;
    peerSocketsShut(p);
    peerSocketsRelease(p);
}

/* ---- Reading ---- */

/* The whole answers at the start of `in` go to the supervisor; how many bytes they were, -1 when what comes
 * is no answer. */
static int64_t peerSocketsTakeAnswers(struct peer *p) {
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
        peerSocketsDown(p, n ? strerror(conn->last_errno) : CLOSED_BY_PEER);
        return;
    }
    p->busy = true;
    int64_t taken = peerSocketsTakeAnswers(p);
    p->busy = false;
    if (p->closed) {
        peerSocketsRelease(p);
    } else if (taken < 0) {
        peerSocketsDown(p, "Protocol error");
    } else if (sdslen(p->in) - (size_t)taken > ANSWER_MAX) {
        peerSocketsDown(p, "The answer is too long");
    } else if ((size_t)taken == sdslen(p->in)) {
        sdsfree(p->in);
        p->in = NULL;
    } else if (taken) {
        sdsrange(p->in, (ptrdiff_t)taken, -1);
    }
}

/* ---- Writing: at the end of the turn, so that what it caused leaves at once, and after it was saved ---- */

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
            peerSocketsDown(p, strerror(errno));
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

static void peerSocketsOnDialed(struct dial *d, struct connection *conn, const char *error) {
    struct peer *p = listEntry(d, struct peer, dial);
    if (error) {
        peerSocketsDown(p, error);
        return;
    }
    p->conn = conn;
    conn->data = p;
    connSetReadHandler(conn, peerSocketsOnReadable);
    if (!listLinked(&p->dirty)) listAddTail(&dirty, &p->dirty);
    p->busy = true;
    supervisorChannelUp(&sentinel, p->link, p->ch, mstime());
    p->busy = false;
    if (p->closed) peerSocketsRelease(p);
}

bool peerConnect(void *w, struct peerLink *link, enum channel ch, const struct hostAddress *address,
                 char *err, size_t errlen) {
    (void)w;
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
    beforeSleepRegister(peerSocketsFlushAll);
}
