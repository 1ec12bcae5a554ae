/* SPDX-License-Identifier: BSD-3-Clause */
/* link_dual.h - full synchronization over two connections at once (dual channel): the snapshot comes over a
 * connection of its own while the stream comes over the main one and is kept until the snapshot is in place.
 *
 *     main ── +DUALCHANNELSYNC     set-rdb-client-id, PSYNC ─▶ +CONTINUE ─▶ stream ─▶ kept ┐
 *                    │                       ▲                                              ├─▶ applied
 *     RDB connection └▶ REPLCONF, SYNC ─▶ $ENDOFF ─▶ snapshot (repl/receive.h) ─────────────┘
 *
 * At most replica-full-sync-buffer-limit bytes are kept; if that is 0, as many as a primary keeps for a
 * replica (client-output-buffer-limit). Beyond that the socket is not read any more, and the primary keeps
 * the rest. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/sds.h"
#include "net/connection.h"

struct dualResult {
    bool ok; /* false: both connections are closed */
    struct connection *conn;
    int dbid;   /* the database that the stream has selected; -1: none */
    sds stream; /* its first bytes, valid during the call */
};
/* Takes over the main connection. `end` is called once, and from within dualStart when the second
 * connection cannot even be started. */
void dualStart(struct connection *main, const char *host, int port, void (*keepAlive)(void),
               void (*end)(const struct dualResult *how));
void dualCancel(void); /* `end` is not called; does nothing when none is running */
bool dualRunning(void);
bool dualAwaitsSnapshot(void); /* the snapshot has not begun yet */
int64_t dualLastIoMs(void);
void dualInit(void);                                     /* directive, memory report */
size_t dualStreamBytes(void), dualStreamPeakBytes(void); /* bytes kept; the peak of the latest run */
