/* SPDX-License-Identifier: BSD-3-Clause */
/* connection.h - a byte stream to a peer, whatever carries it: TCP, unix socket, TLS (tls.h).
 *
 * The type is a table of functions. All sockets are non-blocking. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <sys/uio.h>

#include "base/linked_list.h"
#include "base/sds.h"
#include "net/ae.h"

struct connection;
typedef void connHandler(struct connection *conn);

struct connType {
    const char *name;                                                             /* "tcp", "unix", "tls" */
    ssize_t (*read)(struct connection *conn, void *buf, size_t len);              /* as read(2) */
    ssize_t (*writev)(struct connection *conn, const struct iovec *iov, int cnt); /* as writev(2) */
    /* n bytes of a file from `at` on, as sendfile(2); NULL: it must see the bytes. */
    ssize_t (*sendFile)(struct connection *conn, int fd, uint64_t at, size_t n);
    void (*close)(struct connection *conn);                           /* frees the connection */
    void (*setReadHandler)(struct connection *conn, connHandler *fn); /* NULL removes */
    void (*setWriteHandler)(struct connection *conn, connHandler *fn);
    void (*detach)(struct connection *conn); /* see connDetach */
    void (*attach)(struct connection *conn, struct aeEventLoop *el);
};

struct connection {
    const struct connType *type;
    struct aeEventLoop *el;
    int fd;
    int last_errno;
    void *data; /* owner's */
    connHandler *read_handler, *write_handler;
    union {
        struct listNode pending_node; /* see connSetPending */
        sds unread; /* between two loops: what the last one had read ahead. It lies where the node's prev does
                     */
    };
};

#define KEEPALIVE_INHERITED (-2)
/* Take over an fd: non-blocking, close-on-exec;
 * tcp: TCP_NODELAY and keep-alive (seconds, 0: off; KEEPALIVE_INHERITED: it is from netAccept, and the socket
 * that was listened on had all that: netSetInherited). */
struct connection *connCreateTcp(struct aeEventLoop *el, int fd, int keepalive_s);
struct connection *connCreateUnix(struct aeEventLoop *el, int fd);

/* For types that take more from the socket than their reader asks for (TLS). While a connection of an event
 * loop is marked, it has input that poll does not see; connServePending, once a turn before the loop sleeps,
 * calls the read handlers of such connections, and while connHasPending the loop must not sleep. */
void connSetPending(struct connection *conn, bool pending);
void connServePending(struct aeEventLoop *el);
bool connHasPending(struct aeEventLoop *el);

/* Moving to another loop, and so to another thread: connDetach in the thread of the old one, connAttach in
 * that of the new one. In between the connection has no handlers, and nothing is read or written. What it has
 * taken from the socket already stays with it. */
static inline void connDetach(struct connection *c);
static inline void connAttach(struct connection *c, struct aeEventLoop *el);

/* For the types: the part of a socket's connection that they share. TCP options are set where keepalive_s >=
 * 0. */
void connInit(struct connection *conn, const struct connType *type, struct aeEventLoop *el, int fd,
              int keepalive_s);

static inline ssize_t connRead(struct connection *c, void *buf, size_t len) {
    return c->type->read(c, buf, len);
}
static inline ssize_t connWritev(struct connection *c, const struct iovec *iov, int cnt) {
    return c->type->writev(c, iov, cnt);
}
/* The writes of a turn, at most one for a connection, all of one loop: for each as connWritev, in any order.
 */
struct connWrite {
    struct connection *conn;
    const struct iovec *iov;
    int count;
    ssize_t result; /* of connWritev */
    int error;      /* errno, where result is -1 */
};
void connWriteMany(struct connWrite *writes, int n);
/* Up to n bytes of a file from `at` on; 0: it ends there. */
ssize_t connSendFile(struct connection *conn, int fd, uint64_t at, size_t n);
static inline void connClose(struct connection *c) {
    c->type->close(c);
}
static inline void connDetach(struct connection *c) {
    c->type->detach(c);
}
static inline void connAttach(struct connection *c, struct aeEventLoop *el) {
    c->type->attach(c, el);
}
static inline void connSetReadHandler(struct connection *c, connHandler *fn) {
    c->type->setReadHandler(c, fn);
}
static inline void connSetWriteHandler(struct connection *c, connHandler *fn) {
    c->type->setWriteHandler(c, fn);
}

/* TCP_NODELAY; on a unix socket nothing happens. */
void connSetNoDelay(struct connection *conn, bool on);

/* "127.0.0.1:6379", "[::1]:6379", "/path:0"; "?:0" when unknown. */
sds connPeerName(const struct connection *conn);
sds connSockName(const struct connection *conn);
bool connIsLocal(const struct connection *conn); /* loopback or unix socket */

/* Listening. `bind` as in the directive: an address, "*" (all IPv4), "::*" (all IPv6). Returns the fd, or -1
 * with the reason in err and errno (EADDRNOTAVAIL: an address that no interface has). Addresses of families
 * that the host lacks give -1 with *unsupported set. */
int netListenTcp(const char *bind, int port, int backlog, bool *unsupported, char *err, size_t errlen);
/* Wishes for a socket, as `{0}` for none. MPTCP becomes plain TCP where the kernel or the peer lacks it. */
struct netOptions {
    int family;    /* AF_INET, AF_INET6; 0: either. Not for listening. */
    bool mptcp;    /* several paths, RFC 8684 */
    uint32_t mark; /* SO_MARK, for listening only; 0: none. Takes CAP_NET_ADMIN. */
};
/* At each of the addresses: fds gets the sockets, of which there are as many as is returned. An address with
 * a leading '-' may be missing on this host, and beside others one of a family that the host lacks. -1: none
 * is open, *failed is the address that could not be, err says why. */
int netListenAll(struct netOptions way, char *const *addresses, int count, int port, int backlog, int *fds,
                 const char **failed, char *err, size_t errlen);
/* Removes a stale socket. */
int netListenUnix(const char *path, unsigned perm, int backlog, char *err, size_t errlen);
int netAccept(int listen_fd); /* non-blocking, close-on-exec; -1 and errno (EAGAIN: none waiting) */
/* From now on what is accepted has TCP_NODELAY and this keep-alive (seconds, 0: off) from the beginning. */
void netSetInherited(int listen_fd, int keepalive_s);
/* Blocking connect with time-out, for tools and links. */
int netConnect(const char *host, int port, int timeout_ms, char *err, size_t errlen);
/* The same with wishes. */
int netConnectBy(struct netOptions way, const char *host, int port, int timeout_ms, char *err, size_t errlen);
/* The same without waiting: a non-blocking socket that is connected, or on its way. When it can be written
 * to, netConnectEnd says how it went. Names are resolved first, which may take a while; of several addresses
 * the first that can be tried is. source: an address of ours that it comes from, NULL: any. */
int netConnectStart(struct netOptions way, const char *host, int port, const char *source, char *err,
                    size_t errlen);
int netConnectEnd(int fd); /* 0, or an errno */
int netConnectUnix(const char *path, char *err, size_t errlen);
bool netSetNonBlock(int fd, bool on);
