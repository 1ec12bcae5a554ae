/* SPDX-License-Identifier: BSD-3-Clause */
/* dial.h - the one way in which the server opens connections: resolve the name, bind the source address,
 * connect, and do the TLS handshake where it is asked for, without blocking.
 *
 *     dialStart ──▶ TCP connect ──▶ TLS handshake ──▶ done(conn, NULL)
 *         │              └───────────────┴──────────▶ done(NULL, error)
 *         └▶ false: nothing was started
 *
 * The replication link, Sentinel, the cluster bus and slot migration use it. A `struct dial` lies in the
 * struct of its owner, which `done` finds by listEntry; all zero means idle. It belongs to the event loop
 * server_el.
 *
 * A dial has no timer. Each owner has one deadline for its whole conversation (repl-timeout, the node timeout
 * ...), in which connecting is the first step, and calls dialCancel when that has passed. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/sds.h"
#include "net/connection.h"

struct tlsContext;

/* What directives say about the connections between servers. */
struct dialSettings {
    sds source_address;   /* bind-source-addr; NULL: the kernel chooses */
    bool replication_tls; /* tls-replication: the replication link, Sentinel, slot migration */
    bool cluster_tls;     /* tls-cluster: the cluster bus and MIGRATE */
    /* Makes a context for outgoing connections, which the caller frees. NULL: *err, which the caller frees,
     * says why there is none. */
    struct tlsContext *(*tlsContext)(sds *err);
};
extern struct dialSettings dial_settings;

struct dial;
/* Called once for each dialStart that succeeded, unless dialCancel comes first. The dial is idle again, and
 * may be started or freed. conn belongs to the owner from now on and has no handlers; NULL: error says why.
 */
typedef void dialDone(struct dial *d, struct connection *conn, const char *error);

struct dial {
    bool running;
    bool connected; /* TCP is; what follows, or has failed, is the TLS handshake */
    bool tls;
    int fd;                  /* while TCP connects */
    struct connection *conn; /* during the TLS handshake */
    dialDone *done;
};

struct dialTarget {
    const char *host; /* a name (the look-up of which blocks) or an address */
    int port;
    bool tls, mptcp;
};

/* False: err says why, and nothing has been started; `done` is not called. It is never called from within. */
bool dialStart(struct dial *d, struct dialTarget target, dialDone *done, char *err, size_t errlen);
void dialCancel(struct dial *d); /* `done` is not called any more. An idle dial may be cancelled, too. */

/* The TLS handshake alone, on a connected socket, blocking for at most timeout_ms. NULL: *err, which the
 * caller frees, says why; fd stays the caller's. The connection belongs to no event loop. */
struct connection *dialEncryptBlocking(int fd, int timeout_ms, sds *err);
