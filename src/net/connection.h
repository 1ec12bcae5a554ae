/* SPDX-License-Identifier: BSD-3-Clause */
/* connection.h - a byte stream to a peer over TCP, a unix socket or TLS (tls.h).
 *
 * The type of a connection is a table of functions. All sockets are non-blocking. */
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
    /* sends n bytes of a file from `at` on as sendfile(2) does; NULL: the type has to see the bytes */
    ssize_t (*sendFile)(struct connection *conn, int fd, uint64_t at, size_t n);
    void (*close)(struct connection *conn);                           /* frees the connection */
    void (*setReadHandler)(struct connection *conn, connHandler *fn); /* NULL removes it */
    void (*setWriteHandler)(struct connection *conn, connHandler *fn);
    void (*detach)(struct connection *conn); /* see connDetach */
    void (*attach)(struct connection *conn, struct aeEventLoop *el);
};

struct connection {
    const struct connType *type;
    struct aeEventLoop *el;
    int fd;
    int last_errno : 31;
    unsigned priority : 1; /* see connSetPriority */
    void *data;            /* the owner's */
    connHandler *read_handler, *write_handler;
    union {
        struct listNode pending_node; /* see connSetPending */
        sds unread; /* between two loops: what the last one had read ahead; it overlays the node's prev */
    };
};

#define KEEPALIVE_INHERITED (-2)
/* Take over an fd, which becomes non-blocking and close-on-exec. A TCP socket gets TCP_NODELAY and
 * keep-alive (seconds, 0: off). KEEPALIVE_INHERITED means that the fd is from netAccept and the listening
 * socket had all that (netSetInherited). */
struct connection *connCreateTcp(struct aeEventLoop *el, int fd, int keepalive_s);
struct connection *connCreateUnix(struct aeEventLoop *el, int fd);

/* For types that take more from the socket than their reader asks for (TLS). A marked connection has input
 * that poll does not see. connServePending, called once a turn before the loop sleeps, calls the read
 * handlers of such connections; while connHasPending, the loop must not sleep. */
void connSetPending(struct connection *conn, bool pending);
void connServePending(struct aeEventLoop *el);
bool connHasPending(struct aeEventLoop *el);

/* For the types: initializes what all socket types share. TCP options are set when keepalive_s >= 0. */
void connInit(struct connection *conn, const struct connType *type, struct aeEventLoop *el, int fd,
              int keepalive_s);

static inline ssize_t connRead(struct connection *c, void *buf, size_t len) {
    return c->type->read(c, buf, len);
}
static inline ssize_t connWritev(struct connection *c, const struct iovec *iov, int cnt) {
    return c->type->writev(c, iov, cnt);
}
/* The writes of a turn, at most one for each connection of one loop. connWriteMany does each of them as
 * connWritev would, in any order. */
struct connWrite {
    struct connection *conn;
    const struct iovec *iov;
    int count;
    ssize_t result; /* result of connWritev */
    int error;      /* errno, when result is -1 */
};
void connWriteMany(struct connWrite *writes, int n);
/* Sends up to n bytes of a file from `at` on. 0: the file ends there. */
ssize_t connSendFile(struct connection *conn, int fd, uint64_t at, size_t n);
static inline void connClose(struct connection *c) {
    c->type->close(c);
}
/* Move a connection to another loop, and thus to another thread: connDetach is called in the old thread,
 * connAttach in the new one. In between the connection has no handlers, and nothing is read or written. It
 * keeps what it has already taken from the socket. */
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

/* Lets a connection be served apart from all others (aeServePriority). It has no read handler yet, and it
 * stays in its loop. */
void connSetPriority(struct connection *conn);

/* Sets TCP_NODELAY; does nothing on a unix socket. */
void connSetNoDelay(struct connection *conn, bool on);

/* Return "127.0.0.1:6379", "[::1]:6379", "/path:0", or "?:0" when unknown. The caller frees it. */
sds connPeerName(const struct connection *conn);
sds connSockName(const struct connection *conn);
bool connIsLocal(const struct connection *conn); /* loopback or unix socket */
/* The peer's address in IPv6's form (subnet.h). False: a unix socket, or unknown. */
bool connPeerAddress(const struct connection *conn, uint8_t address[16]);

/* Opens a listening socket. `bind` is as in the directive: an address, "*" (all IPv4) or "::*" (all IPv6).
 * Returns the fd, or -1 with the reason in err and errno (EADDRNOTAVAIL: no interface has the address).
 * *unsupported: the host lacks the address family. */
int netListenTcp(const char *bind, int port, int backlog, bool *unsupported, char *err, size_t errlen);
/* Options of a socket; `{0}` means none. MPTCP becomes plain TCP where the kernel or the peer lacks it. */
struct netOptions {
    int family;    /* AF_INET, AF_INET6; 0: either. Not for listening. */
    bool mptcp;    /* several paths, RFC 8684 */
    uint32_t mark; /* SO_MARK, for listening only; 0: none. Takes CAP_NET_ADMIN. */
};
/* Listens on each of the addresses. Writes the sockets to fds and returns how many they are. An address with
 * a leading '-' may be missing on this host; when there are several, an address of a family that the host
 * lacks may be missing, too. -1: no socket is open, *failed is the address that failed and err says why. */
int netListenAll(struct netOptions options, char *const *addresses, int count, int port, int backlog,
                 int *fds, const char **failed, char *err, size_t errlen);
/* Listens on a unix socket and removes a stale one. Returns the fd or -1. */
int netListenUnix(const char *path, unsigned perm, int backlog, char *err, size_t errlen);
/* returns a non-blocking, close-on-exec fd; -1 and errno (EAGAIN: none is waiting) */
int netAccept(int listen_fd);
/* Makes sockets that are accepted from now on have TCP_NODELAY and this keep-alive (seconds, 0: off). */
void netSetInherited(int listen_fd, int keepalive_s);
/* Connects with a time-out, for tools and MIGRATE. Returns a blocking socket; -1: err says why. */
int netConnect(const char *host, int port, int timeout_ms, char *err, size_t errlen);
/* Like netConnect, with options. */
int netConnectBy(struct netOptions options, const char *host, int port, int timeout_ms, char *err,
                 size_t errlen);
/* Starts to connect and returns a non-blocking socket, or -1 with the reason in err. When the socket is
 * writable, netConnectEnd returns the result. Resolving the name comes first and may block; of several
 * addresses the first that can be tried is taken. source: our own address to connect from; NULL: any. */
int netConnectStart(struct netOptions options, const char *host, int port, const char *source, char *err,
                    size_t errlen);
int netConnectEnd(int fd); /* 0, or an errno */
int netConnectUnix(const char *path, char *err, size_t errlen);
bool netSetNonBlock(int fd, bool on);
