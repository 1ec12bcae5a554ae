/* SPDX-License-Identifier: BSD-3-Clause */
/* link_wire.h - a connection to our primary while both sides exchange lines, before a
 * stream or a snapshot begins.
 *
 *     linkWireConnect ──▶ onConnected() ── linkWireSend ... ──▶ onLine(line) ... ──▶ linkWireTake
 *                              └──────── onFailed(why) ◀────────┘
 *
 * The connection that is taken is positioned right after the last line that onLine got.
 *
 * TLS, the source address and repl-mptcp follow the directives. */
#pragma once

#include <stdbool.h>

#include "base/sds.h"
#include "base/str.h"
#include "net/dial.h"

struct linkWire {
    struct dial dial;        /* runs while the wire connects */
    struct connection *conn; /* NULL: not connected */
    sds line;                /* the part of a line that has come; NULL: nothing has */
    /* Each of these may drop or take the wire; no further one is called then. */
    void (*onConnected)(struct linkWire *w);
    void (*onLine)(struct linkWire *w, struct str line); /* without CR LF */
    void (*onFailed)(struct linkWire *w, const char *why);
};
#define LINK_WIRE(on_connected, on_line, on_failed)                                                          \
    { .onConnected = on_connected, .onLine = on_line, .onFailed = on_failed }

/* Starts to connect an idle wire. Returns false when nothing was started; err says why. */
bool linkWireConnect(struct linkWire *w, const char *host, int port, char *err, size_t errlen);
/* Sends a command, which must be short enough for the socket's buffer. */
void linkWireSend(struct linkWire *w, int argc, const struct str *argv);
void linkWireSendRaw(struct linkWire *w, struct str bytes);
void linkWireSetReading(struct linkWire *w, bool on); /* initially on */
/* Returns the connection without handlers; the wire is idle again. */
struct connection *linkWireTake(struct linkWire *w);
void linkWireDrop(struct linkWire *w); /* closes the connection; an idle wire may be dropped, too */
static inline bool linkWireIsIdle(const struct linkWire *w) {
    return !w->dial.running && !w->conn;
}
void linkWireInit(void); /* bind-source-addr, repl-mptcp */
