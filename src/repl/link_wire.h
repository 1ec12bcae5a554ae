/* SPDX-License-Identifier: BSD-3-Clause */
/* link_wire.h - a connection to our primary while it is spoken to line by line: before its stream, or a
 * snapshot, begins.
 *
 *     wireConnect ──▶ connected() ── linkWireSend ... ──▶ heard(line) ... ──▶ wireTake
 *                         └──────── failed(why) ◀────────┘
 *
 * The connection that is taken stands right behind the line that was heard last.
 *
 * The directives say how it is connected: TLS and the source address as in net/dial.h, and repl-mptcp. */
#pragma once

#include <stdbool.h>

#include "base/sds.h"
#include "base/str.h"
#include "net/dial.h"

struct wire {
    struct dial dial;        /* runs while the wire connects */
    struct connection *conn; /* NULL: not connected */
    sds line;                /* the part of one that has come; NULL: nothing has */
    /* Each may drop or take the wire, and is then not called any more. */
    void (*connected)(struct wire *w);
    void (*heard)(struct wire *w, struct str line); /* without its end */
    void (*failed)(struct wire *w, const char *why);
};
#define WIRE(connected_, heard_, failed_)                                                                    \
    { .connected = connected_, .heard = heard_, .failed = failed_ }

/* False: err says why, and nothing has been started. The wire must be free. */
bool wireConnect(struct wire *w, const char *host, int port, char *err, size_t errlen);
/* A command; short ones only: they fit into the socket. */
void linkWireSend(struct wire *w, int argc, const struct str *argv);
void linkWireSendRaw(struct wire *w, struct str bytes);
void wireListen(struct wire *w, bool on); /* on from the start */
/* The connection, without handlers; the wire is free again. */
struct connection *wireTake(struct wire *w);
void wireDrop(struct wire *w); /* a free one, too */
static inline bool wireFree(const struct wire *w) {
    return !w->dial.running && !w->conn;
}
void wireInit(void); /* bind-source-addr, repl-mptcp */
