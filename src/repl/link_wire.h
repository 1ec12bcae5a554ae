/* SPDX-License-Identifier: BSD-3-Clause */
/* link_wire.h - a connection to our primary while it is spoken to line by line: before its stream, or a
 * snapshot, begins.
 *
 *     wireConnect ──▶ connected() ── wireSay ... ──▶ heard(line) ... ──▶ wireTake
 *                         └──────── failed(why) ◀────────┘
 *
 * The connection that is taken stands right behind the line that was heard last.
 *
 * How it is connected (TLS, the address it comes from) is set by directives, which stand here. */
#pragma once

#include <stdbool.h>

#include "base/sds.h"
#include "base/str.h"
#include "net/connection.h"

struct tlsContext;

struct wire {
    int fd;                  /* on its way; -1: not */
    struct connection *conn; /* NULL: not connected */
    sds line;                /* the part of one that has come; NULL: nothing has */
    /* Each may drop or take the wire, and is then not called any more. */
    void (*connected)(struct wire *w);
    void (*heard)(struct wire *w, struct str line); /* without its end */
    void (*failed)(struct wire *w, const char *why);
};
#define WIRE(connected_, heard_, failed_)                                                                    \
    { .fd = -1, .connected = connected_, .heard = heard_, .failed = failed_ }

/* False: *err says why, and nothing has been started. The wire must be free. */
bool wireConnect(struct wire *w, const char *host, int port, sds *err);
/* A command; short ones only: they fit into the socket. */
void wireSay(struct wire *w, int argc, const struct str *argv);
void wireSayRaw(struct wire *w, struct str bytes);
void wireListen(struct wire *w, bool on); /* on from the start */
/* The connection, without handlers; the wire is free again. */
struct connection *wireTake(struct wire *w);
void wireDrop(struct wire *w); /* a free one, too */
static inline bool wireFree(const struct wire *w) {
    return w->fd < 0 && !w->conn;
}
bool wireIsEncrypted(void); /* tls-replication */

/* For tls-replication; server/ registers it. NULL: *err says why there is none. The context is the caller's.
 */
void wireSetTls(struct tlsContext *(*fn)(sds *err), bool (*check)(void)); /* check: are certificates there? */
void wireInit(void); /* tls-replication, bind-source-addr, repl-mptcp */
