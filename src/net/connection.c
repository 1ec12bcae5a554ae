/* SPDX-License-Identifier: BSD-3-Clause */
/* connection.c - byte streams over TCP and unix sockets, and the sockets that lead to them.
 *
 *     kernel -> ae.c -> connectionOnReadable/connectionOnWritable(conn) -> conn->read_handler / write_handler
 *     owner -> connRead / connWritev / connClose -> conn->type -> ae.c (it may read ahead) -> the socket
 *
 * The idea: TCP and unix sockets differ only in how they are set up and named, so both types share one set of
 * functions. Closing takes the fd out of the event loop first. A handler may therefore close its connection,
 * or any other, at any time, and the loop will not call it again (see ae.c). */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* accept4, IOV_MAX */
#endif
#include "net/connection.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <string.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/assert.h"
#include "base/clock.h"
#include "base/zmalloc.h"

_Static_assert(offsetof(struct connection, unread) == offsetof(struct connection, pending_node.prev),
               "a connection that has some unread between two loops is not taken for linked");

#define KEEPALIVE_PROBES 3
/* bytes of a file that are read at once when sendfile(2) cannot be used */
#define FILE_PIECE (64 * 1024)
#define SEND_BATCH 64 /* writes that a loop gets at once */

/* ---- The types ----------------------------------------------------------------------------------------- */

static void connectionOnReadable(struct aeEventLoop *el, int fd, void *data, int mask) {
    (void)el, (void)fd, (void)mask;
    struct connection *conn = data;
    conn->read_handler(conn);
}

static void connectionOnWritable(struct aeEventLoop *el, int fd, void *data, int mask) {
    (void)el, (void)fd, (void)mask;
    struct connection *conn = data;
    conn->write_handler(conn);
}

static ssize_t connectionSocketRead(struct connection *conn, void *buf, size_t len) {
    ssize_t n = conn->el ? aeRead(conn->el, conn->fd, buf, len) : read(conn->fd, buf, len);
    if (n == -1) conn->last_errno = errno;
    if (__builtin_expect(listLinked(&conn->pending_node), 0))
        connSetPending(conn, aeHasUnread(conn->el, conn->fd));
    return n;
}

/* A closed peer is reported as an error, never by a signal. libc's send() is a cancellation point, which in a
 * process with threads costs two locked instructions each time, so it is not used. */
static ssize_t connectionSocketWritev(struct connection *conn, const struct iovec *iov, int cnt) {
    struct msghdr msg = {.msg_iov = (struct iovec *)iov,
                         .msg_iovlen = (size_t)(cnt > IOV_MAX ? IOV_MAX : cnt)};
    ssize_t n = cnt == 1 ? syscall(SYS_sendto, conn->fd, iov->iov_base, iov->iov_len, MSG_NOSIGNAL, NULL, 0)
                         : sendmsg(conn->fd, &msg, MSG_NOSIGNAL);
    if (n == -1) conn->last_errno = errno;
    return n;
}

static ssize_t connectionSocketSendFile(struct connection *conn, int fd, uint64_t at, size_t n) {
    off_t from = (off_t)at;
    ssize_t sent = sendfile(conn->fd, fd, &from, n);
    if (sent == -1) conn->last_errno = errno;
    return sent;
}

static void connectionSocketClose(struct connection *conn) {
    if (conn->el) {
        connSetPending(conn, false);
        aeRemoveFd(conn->el, conn->fd);
    } else {
        sdsfree(conn->unread);
    }
    close(conn->fd);
    zfree(conn);
}

/* Registers or removes a handler; *slot stays NULL when the loop refuses the fd. */
static void connectionSetHandler(struct connection *conn, connHandler **slot, connHandler *fn, int mask,
                                 aeFileProc *proc) {
    serverAssert(conn->el || !fn); /* without a loop it would never be called */
    if (__builtin_expect(conn->priority, 0)) mask = (mask & ~AE_STREAM) | AE_PRIORITY;
    if (fn && !*slot && aeCreateFileEvent(conn->el, conn->fd, mask, proc, conn) == -1) {
        conn->last_errno = errno;
        return;
    }
    *slot = fn;
}

/* Bytes that the loop has read ahead are pending while there is a read handler. */
static void connectionSocketSetReadHandler(struct connection *conn, connHandler *fn) {
    if (!fn && conn->read_handler) aeDeleteFileEvent(conn->el, conn->fd, AE_READABLE);
    connectionSetHandler(conn, &conn->read_handler, fn, AE_READABLE | AE_STREAM, connectionOnReadable);
    if (conn->el) connSetPending(conn, conn->read_handler && aeHasUnread(conn->el, conn->fd));
}

static void connectionSocketSetWriteHandler(struct connection *conn, connHandler *fn) {
    if (!fn && conn->write_handler) aeDeleteFileEvent(conn->el, conn->fd, AE_WRITABLE);
    connectionSetHandler(conn, &conn->write_handler, fn, AE_WRITABLE, connectionOnWritable);
}

static void connectionSocketDetach(struct connection *conn) {
    if (conn->read_handler) connectionSocketSetReadHandler(conn, NULL);
    if (conn->write_handler) connectionSocketSetWriteHandler(conn, NULL);
    conn->unread = aeTakeUnread(conn->el, conn->fd);
    conn->el = NULL;
}

static void connectionSocketAttach(struct connection *conn, struct aeEventLoop *el) {
    conn->el = el;
    if (conn->unread) aeGiveUnread(el, conn->fd, conn->unread);
    conn->unread = NULL;
}

#define SOCKET_TYPE(n)                                                                                       \
    {                                                                                                        \
        .name = (n), .read = connectionSocketRead, .writev = connectionSocketWritev,                         \
        .sendFile = connectionSocketSendFile, .close = connectionSocketClose,                                \
        .setReadHandler = connectionSocketSetReadHandler,                                                    \
        .setWriteHandler = connectionSocketSetWriteHandler, .detach = connectionSocketDetach,                \
        .attach = connectionSocketAttach,                                                                    \
    }
static const struct connType tcp_type = SOCKET_TYPE("tcp");
static const struct connType unix_type = SOCKET_TYPE("unix");

/* TLS needs the same bytes again after a write that failed; they are read again from the same position. */
ssize_t connSendFile(struct connection *conn, int fd, uint64_t at, size_t n) {
    static char piece[FILE_PIECE];
    if (conn->type->sendFile) return conn->type->sendFile(conn, fd, at, n);
    ssize_t got = pread(fd, piece, n < sizeof piece ? n : sizeof piece, (off_t)at);
    if (got <= 0) return got;
    struct iovec iov = {piece, (size_t)got};
    return connWritev(conn, &iov, 1);
}

static void connectionWriteOne(struct connWrite *w) {
    w->result = connWritev(w->conn, w->iov, w->count);
    w->error = w->result < 0 ? errno : 0;
}

/* Returns false when this loop has no faster way than single sends. */
static bool connectionSendTogether(struct connWrite *const *writes, struct aeSend *sends, int n) {
    if (n < 2 || !aeSendMany(writes[0]->conn->el, sends, n)) return false;
    for (int i = 0; i < n; i++) {
        struct connWrite *w = writes[i];
        w->error = sends[i].result < 0 ? (int)-sends[i].result : 0;
        w->result = w->error ? -1 : sends[i].result;
        if (w->error) w->conn->last_errno = w->error;
    }
    return true;
}

void connWriteMany(struct connWrite *writes, int n) {
    for (struct connWrite *w = writes, *end = writes + n; w < end;) {
        struct connWrite *together[SEND_BATCH];
        struct aeSend sends[SEND_BATCH];
        int count = 0;
        for (; w < end && count < SEND_BATCH; w++) {
            if (w->conn->type->writev == connectionSocketWritev && w->conn->el && w->count <= IOV_MAX) {
                sends[count] = (struct aeSend){.fd = w->conn->fd, .count = w->count, .iov = w->iov};
                together[count++] = w;
            } else {
                connectionWriteOne(w);
            }
        }
        if (connectionSendTogether(together, sends, count)) continue;
        for (int i = 0; i < count; i++) connectionWriteOne(together[i]);
    }
}

static bool connectionSetOption(int fd, int level, int option, int value) {
    return setsockopt(fd, level, option, &value, sizeof(value)) == 0;
}

void connSetPriority(struct connection *conn) {
    serverAssert(conn->el && !conn->read_handler);
    conn->priority = true;
    if (aeGetFileEvents(conn->el, conn->fd)) aeMakePriority(conn->el, conn->fd);
}

void connSetNoDelay(struct connection *conn, bool on) {
    connectionSetOption(conn->fd, IPPROTO_TCP, TCP_NODELAY, on);
}

/* Probes begin after idle_s of silence; the peer counts as lost after the same time without an answer. */
static void connectionSetKeepAlive(int fd, int idle_s) {
    connectionSetOption(fd, SOL_SOCKET, SO_KEEPALIVE, 1);
    connectionSetOption(fd, IPPROTO_TCP, TCP_KEEPIDLE, idle_s);
    connectionSetOption(fd, IPPROTO_TCP, TCP_KEEPINTVL,
                        idle_s < KEEPALIVE_PROBES ? 1 : idle_s / KEEPALIVE_PROBES);
    connectionSetOption(fd, IPPROTO_TCP, TCP_KEEPCNT, KEEPALIVE_PROBES);
}

/* ---- Names --------------------------------------------------------------------------------------------- */

union address {
    struct sockaddr any;
    struct sockaddr_in in;
    struct sockaddr_in6 in6;
    struct sockaddr_un un;
};

static bool connectionOwnAddress(int fd, union address *a) {
    socklen_t len = sizeof(*a);
    memset(a, 0, len);
    return getsockname(fd, &a->any, &len) == 0;
}

static bool connectionPeerAddress(int fd, union address *a) {
    socklen_t len = sizeof(*a);
    memset(a, 0, len);
    return getpeername(fd, &a->any, &len) == 0;
}

static sds connectionAddressName(const union address *a) {
    char host[INET6_ADDRSTRLEN];
    switch (a->any.sa_family) {
    case AF_INET:
        inet_ntop(AF_INET, &a->in.sin_addr, host, sizeof(host));
        return sdscatprintf(sdsempty(), "%s:%d", host, ntohs(a->in.sin_port));
    case AF_INET6:
        inet_ntop(AF_INET6, &a->in6.sin6_addr, host, sizeof(host));
        return sdscatprintf(sdsempty(), "[%s]:%d", host, ntohs(a->in6.sin6_port));
    case AF_UNIX:
        if (a->un.sun_path[0])
            return sdscatprintf(sdsempty(), "%.*s:0", (int)sizeof(a->un.sun_path), a->un.sun_path);
    }
    return sdsnew("?:0");
}

/* ---- Sockets ------------------------------------------------------------------------------------------- */

/* Fills err, keeps errno and returns -1. */
static int connectionFailed(char *err, size_t errlen, const char *what) {
    int saved = errno;
    snprintf(err, errlen, "%s%s", what, strerror(saved));
    errno = saved;
    return -1;
}

/* Closes fd, keeps errno and returns -1. */
static int connectionCloseFd(int fd) {
    int saved = errno;
    close(fd);
    errno = saved;
    return -1;
}

static int connectionCloseFailed(int fd, char *err, size_t errlen, const char *what) {
    connectionFailed(err, errlen, what);
    return connectionCloseFd(fd);
}

static bool connectionFamilyMissing(int error) {
    return error == EAFNOSUPPORT || error == EPFNOSUPPORT || error == EPROTONOSUPPORT ||
           error == ESOCKTNOSUPPORT || error == ENOPROTOOPT;
}

/* Returns 0 and a list for connectionFreeList, or -1 with the reason in err. */
static int connectionResolve(const char *host, int port, int family, int flags, struct addrinfo **list,
                             char *err, size_t errlen) {
    char service[16];
    snprintf(service, sizeof(service), "%d", port);
    struct addrinfo hints = {.ai_family = family, .ai_socktype = SOCK_STREAM, .ai_flags = flags};
    int rc = getaddrinfo(host, service, &hints, list);
    if (rc == 0) return 0;
    int saved = rc == EAI_SYSTEM ? errno : rc == EAI_ADDRFAMILY ? EAFNOSUPPORT : EINVAL;
    snprintf(err, errlen, "%s", gai_strerror(rc));
    errno = saved;
    return -1;
}

static int connectionSocketTo(const struct addrinfo *ai, bool mptcp) {
    int type = SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, fd = -1;
#ifdef IPPROTO_MPTCP
    if (mptcp) fd = socket(ai->ai_family, type, IPPROTO_MPTCP);
#else
    (void)mptcp;
#endif
    return fd != -1 ? fd : socket(ai->ai_family, type, ai->ai_protocol);
}

static int connectionListenOn(const struct addrinfo *ai, struct netOptions options, int backlog, char *err,
                              size_t errlen) {
    int fd = connectionSocketTo(ai, options.mptcp);
    if (fd == -1) return connectionFailed(err, errlen, "socket: ");
    if (options.mark && !connectionSetOption(fd, SOL_SOCKET, SO_MARK, (int)options.mark))
        return connectionCloseFailed(fd, err, errlen, "setsockopt SO_MARK: ");
    if (ai->ai_family == AF_INET6 && !connectionSetOption(fd, IPPROTO_IPV6, IPV6_V6ONLY, 1))
        return connectionCloseFailed(fd, err, errlen, "setsockopt: ");
    if (!connectionSetOption(fd, SOL_SOCKET, SO_REUSEADDR, 1))
        return connectionCloseFailed(fd, err, errlen, "setsockopt SO_REUSEADDR: ");
    if (bind(fd, ai->ai_addr, ai->ai_addrlen) == -1) return connectionCloseFailed(fd, err, errlen, "bind: ");
    if (listen(fd, backlog) == -1) return connectionCloseFailed(fd, err, errlen, "listen: ");
    return fd;
}

static void connectionFreeList(struct addrinfo *list) {
    int saved = errno;
    freeaddrinfo(list);
    errno = saved;
}

/* Waits for a connect that is under way; errno says why it failed. */
static bool connectionConnectDone(int fd, int64_t timeout_ms) {
    int ready = aeWait(fd, AE_WRITABLE, timeout_ms);
    if (ready == -1) return false;
    if (ready == 0) {
        errno = ETIMEDOUT;
        return false;
    }
    errno = netConnectEnd(fd);
    return errno == 0;
}

/* Binds the socket to a source address of this family, with any port. */
static bool connectionBindSource(int fd, const char *source, int family) {
    struct addrinfo *list;
    char err[128];
    if (connectionResolve(source, 0, family, 0, &list, err, sizeof(err)) == -1) return false;
    bool ok = connectionSetOption(fd, SOL_SOCKET, SO_REUSEADDR, 1) &&
              bind(fd, list->ai_addr, list->ai_addrlen) == 0;
    connectionFreeList(list);
    return ok;
}

static int connectionStartTo(const struct addrinfo *ai, bool mptcp, const char *source) {
    int fd = connectionSocketTo(ai, mptcp);
    if (fd == -1) return -1;
    bool ok = !source || connectionBindSource(fd, source, ai->ai_family);
    if (ok && (connect(fd, ai->ai_addr, ai->ai_addrlen) == 0 || errno == EINPROGRESS)) return fd;
    return connectionCloseFd(fd);
}

static int connectionConnectTo(const struct addrinfo *ai, bool mptcp, int64_t timeout_ms) {
    int fd = connectionStartTo(ai, mptcp, NULL);
    if (fd == -1) return -1;
    if (!connectionConnectDone(fd, timeout_ms) || !netSetNonBlock(fd, false)) return connectionCloseFd(fd);
    connectionSetOption(fd, IPPROTO_TCP, TCP_NODELAY, 1);
    return fd;
}

static bool connectionUnixAddress(const char *path, union address *a) {
    memset(a, 0, sizeof(*a));
    a->un.sun_family = AF_UNIX;
    if (strlen(path) >= sizeof(a->un.sun_path)) {
        errno = ENAMETOOLONG;
        return false;
    }
    strcpy(a->un.sun_path, path);
    return true;
}

/* ---- Public API ---------------------------------------------------------------------------------------- */

void connInit(struct connection *conn, const struct connType *type, struct aeEventLoop *el, int fd,
              int keepalive_s) {
    conn->type = type;
    conn->el = el;
    conn->fd = fd;
    if (keepalive_s == KEEPALIVE_INHERITED) return;
    netSetNonBlock(fd, true);
    fcntl(fd, F_SETFD, FD_CLOEXEC);
    if (keepalive_s >= 0) connectionSetOption(fd, IPPROTO_TCP, TCP_NODELAY, 1);
    if (keepalive_s > 0) connectionSetKeepAlive(fd, keepalive_s);
}

struct connection *connCreateTcp(struct aeEventLoop *el, int fd, int keepalive_s) {
    struct connection *conn = zcalloc(1, sizeof(*conn));
    connInit(conn, &tcp_type, el, fd, keepalive_s);
    return conn;
}

struct connection *connCreateUnix(struct aeEventLoop *el, int fd) {
    struct connection *conn = zcalloc(1, sizeof(*conn));
    connInit(conn, &unix_type, el, fd, -1);
    return conn;
}

void connSetPending(struct connection *conn, bool pending) {
    if (listLinked(&conn->pending_node) == pending) return;
    if (pending)
        listAddTail(aePending(conn->el), &conn->pending_node);
    else
        listRemove(aePending(conn->el), &conn->pending_node);
}

bool connHasPending(struct aeEventLoop *el) {
    return aePending(el)->length > 0;
}

/* Handlers may close any connection, so each step starts from the head, and there are as many steps as there
 * were connections. A connection that is still marked has moved to the tail. */
void connServePending(struct aeEventLoop *el) {
    struct list *pending = aePending(el);
    for (size_t left = pending->length; left && pending->length; left--) {
        struct listNode *node = listFirst(pending);
        listRemove(pending, node);
        listAddTail(pending, node);
        struct connection *conn = listEntry(node, struct connection, pending_node);
        conn->read_handler(conn);
    }
}

/* The connecting end of a unix socket has no name, so both ends have the path of the listening one. */
sds connPeerName(const struct connection *conn) {
    union address a;
    if (!connectionPeerAddress(conn->fd, &a)) return sdsnew("?:0");
    if (a.any.sa_family == AF_UNIX && !a.un.sun_path[0]) return connSockName(conn);
    return connectionAddressName(&a);
}

sds connSockName(const struct connection *conn) {
    union address a;
    if (!connectionOwnAddress(conn->fd, &a)) return sdsnew("?:0");
    return connectionAddressName(&a);
}

bool connPeerAddress(const struct connection *conn, uint8_t address[16]) {
    union address a;
    if (!connectionPeerAddress(conn->fd, &a)) return false;
    if (a.any.sa_family == AF_INET6) {
        memcpy(address, &a.in6.sin6_addr, 16);
    } else if (a.any.sa_family == AF_INET) {
        memset(address, 0, 10);
        memset(address + 10, 0xff, 2);
        memcpy(address + 12, &a.in.sin_addr, 4);
    } else {
        return false;
    }
    return true;
}

bool connIsLocal(const struct connection *conn) {
    union address a;
    if (!connectionOwnAddress(conn->fd, &a)) return false;
    if (a.any.sa_family == AF_UNIX) return true;
    if (!connectionPeerAddress(conn->fd, &a)) return false;
    if (a.any.sa_family == AF_INET) return ntohl(a.in.sin_addr.s_addr) >> 24 == 127;
    return a.any.sa_family == AF_INET6 && IN6_IS_ADDR_LOOPBACK(&a.in6.sin6_addr);
}

static int netListenBy(struct netOptions options, const char *bind, int port, int backlog, bool *unsupported,
                       char *err, size_t errlen) {
    bool all4 = strcmp(bind, "*") == 0, all6 = strcmp(bind, "::*") == 0;
    struct addrinfo *list;
    *unsupported = false;
    int fd = connectionResolve(all4 || all6 ? NULL : bind, port,
                               all4   ? AF_INET
                               : all6 ? AF_INET6
                                      : AF_UNSPEC,
                               AI_PASSIVE, &list, err, errlen);
    if (fd == 0) {
        fd = -1;
        for (struct addrinfo *ai = list; ai && fd == -1; ai = ai->ai_next)
            fd = connectionListenOn(ai, options, backlog, err, errlen);
        connectionFreeList(list);
    }
    if (fd == -1) *unsupported = connectionFamilyMissing(errno);
    return fd;
}

int netListenTcp(const char *bind, int port, int backlog, bool *unsupported, char *err, size_t errlen) {
    return netListenBy((struct netOptions){0}, bind, port, backlog, unsupported, err, errlen);
}

int netListenAll(struct netOptions options, char *const *addresses, int count, int port, int backlog,
                 int *fds, const char **failed, char *err, size_t errlen) {
    int n = 0;
    for (int i = 0; i < count; i++) {
        bool optional = addresses[i][0] == '-', unsupported = false;
        *failed = addresses[i] + optional;
        int fd = netListenBy(options, *failed, port, backlog, &unsupported, err, errlen);
        if (fd >= 0) {
            fds[n++] = fd;
        } else if (!(optional && (unsupported || errno == EADDRNOTAVAIL)) && !(unsupported && count > 1)) {
            while (n) close(fds[--n]);
            return -1;
        }
    }
    return n;
}

int netListenUnix(const char *path, unsigned perm, int backlog, char *err, size_t errlen) {
    union address a;
    struct stat st;
    if (!connectionUnixAddress(path, &a)) return connectionFailed(err, errlen, "bind: ");
    if (lstat(path, &st) == 0 && S_ISSOCK(st.st_mode)) unlink(path);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd == -1) return connectionFailed(err, errlen, "socket: ");
    if (bind(fd, &a.any, sizeof(a.un)) == -1) return connectionCloseFailed(fd, err, errlen, "bind: ");
    if (perm && chmod(path, perm) == -1) return connectionCloseFailed(fd, err, errlen, "chmod: ");
    if (listen(fd, backlog) == -1) return connectionCloseFailed(fd, err, errlen, "listen: ");
    return fd;
}

void netSetInherited(int listen_fd, int keepalive_s) {
    connectionSetOption(listen_fd, IPPROTO_TCP, TCP_NODELAY, 1);
    if (keepalive_s > 0)
        connectionSetKeepAlive(listen_fd, keepalive_s);
    else
        connectionSetOption(listen_fd, SOL_SOCKET, SO_KEEPALIVE, 0);
}

int netAccept(int listen_fd) {
    int fd;
    do fd = accept4(listen_fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
    while (fd == -1 && errno == EINTR);
    return fd;
}

int netConnect(const char *host, int port, int timeout_ms, char *err, size_t errlen) {
    return netConnectBy((struct netOptions){0}, host, port, timeout_ms, err, errlen);
}

int netConnectBy(struct netOptions options, const char *host, int port, int timeout_ms, char *err,
                 size_t errlen) {
    struct addrinfo *list;
    if (connectionResolve(host, port, options.family ? options.family : AF_UNSPEC, 0, &list, err, errlen) ==
        -1)
        return -1;
    int64_t deadline_ms = monotonicUs() / 1000 + timeout_ms;
    int fd = -1;
    for (struct addrinfo *ai = list; ai && fd == -1; ai = ai->ai_next) {
        int64_t left_ms = deadline_ms - monotonicUs() / 1000;
        fd = connectionConnectTo(ai, options.mptcp, timeout_ms <= 0 ? -1 : left_ms < 0 ? 0 : left_ms);
    }
    if (fd == -1) connectionFailed(err, errlen, "");
    connectionFreeList(list);
    return fd;
}

int netConnectStart(struct netOptions options, const char *host, int port, const char *source, char *err,
                    size_t errlen) {
    struct addrinfo *list;
    if (connectionResolve(host, port, options.family ? options.family : AF_UNSPEC, 0, &list, err, errlen) ==
        -1)
        return -1;
    int fd = -1;
    for (struct addrinfo *ai = list; ai && fd == -1; ai = ai->ai_next)
        fd = connectionStartTo(ai, options.mptcp, source);
    if (fd == -1) connectionFailed(err, errlen, "");
    connectionFreeList(list);
    return fd;
}

int netConnectEnd(int fd) {
    int error = 0;
    socklen_t len = sizeof(error);
    return getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &len) == -1 ? errno : error;
}

int netConnectUnix(const char *path, char *err, size_t errlen) {
    union address a;
    if (!connectionUnixAddress(path, &a)) return connectionFailed(err, errlen, "");
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd == -1) return connectionFailed(err, errlen, "");
    if (connect(fd, &a.any, sizeof(a.un)) == -1) return connectionCloseFailed(fd, err, errlen, "");
    return fd;
}

bool netSetNonBlock(int fd, bool on) {
    int flags = fcntl(fd, F_GETFL);
    if (flags == -1) return false;
    return fcntl(fd, F_SETFL, on ? flags | O_NONBLOCK : flags & ~O_NONBLOCK) == 0;
}
