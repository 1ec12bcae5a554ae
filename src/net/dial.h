/* SPDX-License-Identifier: BSD-3-Clause */
/* dial.h - how the server opens connections: it resolves the name, binds the source address, connects, and
 * does the TLS handshake if required, all without blocking except for the look-up of a name.
 *
 *     dialStart ──▶ TCP connect ──▶ TLS handshake ──▶ done(conn, NULL)
 *         │              └───────────────┴──────────▶ done(NULL, error)
 *         └▶ false: nothing was started
 *
 * The replication link, Sentinel, the cluster bus and slot migration use it. A `struct dial` is a
 * member of its owner's struct, which `done` finds by listEntry; all zero means idle. It belongs to
 * the event loop server_el.
 *
 * A dial has no timer. Each owner has one deadline for its whole conversation (repl-timeout, the node timeout
 * ...), of which connecting is the first step, and calls dialCancel when it has passed. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/sds.h"
#include "net/connection.h"

struct tlsContext;

/* The directives about connections between servers. */
struct dialSettings {
    sds source_address;   /* bind-source-addr; NULL: the kernel chooses */
    bool replication_tls; /* tls-replication: the replication link, Sentinel, slot migration */
    bool cluster_tls;     /* tls-cluster: the cluster bus and MIGRATE */
    /* Creates a context for outgoing connections, which the caller frees. NULL: *err, which the caller
     * frees, says why there is none. */
    struct tlsContext *(*tlsContext)(sds *err);
};
extern struct dialSettings dial_settings;

struct dial;
/* Called once for each dialStart that succeeded, unless dialCancel comes first. The dial is
 * idle again and may be started or freed. conn has no handlers and belongs to the owner from
 * now on; NULL: error says why. */
typedef void dialDone(struct dial *d, struct connection *conn, const char *error);

struct dial {
    bool running;
    bool connected; /* TCP is connected; the TLS handshake follows, or has failed */
    bool tls;
    int fd;                  /* while TCP connects */
    struct connection *conn; /* during the TLS handshake */
    dialDone *done;
};

struct dialTarget {
    const char *host; /* an address, or a name, whose look-up blocks */
    int port;
    bool tls, mptcp;
};

/* Starts to connect; never calls `done` from within. False: nothing was started and err says why. */
bool dialStart(struct dial *d, struct dialTarget target, dialDone *done, char *err, size_t errlen);
void dialCancel(struct dial *d); /* `done` is not called; an idle dial may be cancelled, too */

/* Does only the TLS handshake, on a connected socket, and blocks for at most timeout_ms. NULL: *err, which
 * the caller frees, says why; fd stays the caller's. The connection belongs to no event loop. */
struct connection *dialEncryptBlocking(int fd, int timeout_ms, sds *err);
