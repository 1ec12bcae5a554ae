/* SPDX-License-Identifier: BSD-3-Clause */
/* link_dual.h - full synchronization over two connections at once (dual channel): the snapshot comes over one
 * of its own, and meanwhile the stream behind it over the main one, where it is kept until the snapshot is in
 * place.
 *
 *     main ── +DUALCHANNELSYNC     set-rdb-client-id, PSYNC ─▶ +CONTINUE ─▶ stream ─▶ kept ┐
 *                    │                       ▲                                              ├─▶ applied
 *     RDB connection └▶ REPLCONF, SYNC ─▶ $ENDOFF ─▶ snapshot (repl/receive.h) ─────────────┘
 *
 * What is kept has a limit: that of a replica's output on a primary (client-output-buffer-limit). Beyond it
 * the socket is not read any more, and the primary keeps the rest. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/sds.h"
#include "net/connection.h"

struct dualEnd {
    bool ok; /* not: nothing is left of either connection */
    struct connection *conn;
    int dbid;   /* that the stream has selected; -1: none */
    sds stream; /* its first bytes; the dual's, good during the call */
};
/* Takes the main connection over. `end` is told once; from within when the second
 * connection cannot even be begun. */
void dualStart(struct connection *main, const char *host, int port, void (*alive)(void),
               void (*end)(const struct dualEnd *how));
void dualCancel(void); /* `end` is not called; also when none runs */
bool dualRunning(void);
bool dualWaits(void); /* for the snapshot to begin */
int64_t dualLastIoMs(void);
void dualInit(void);                       /* memory report */
size_t dualKept(void), dualKeptPeak(void); /* bytes of the stream; the peak is of the newest one */
