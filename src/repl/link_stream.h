/* SPDX-License-Identifier: BSD-3-Clause */
/* link_stream.h - the client that applies our primary's stream.
 *
 *     socket ─▶ turn ─▶ request ─┬─▶ commandRun(ORIGIN_PRIMARY), its replies dropped
 *                                └─▶ history (what has been applied): offset, backlog, our own replicas
 *
 * A transaction counts as applied with its EXEC. The primary gets an acknowledgement of what has been applied
 * once a second, and whenever it requests one.
 *
 * Invariant: historyOffset() is after the last request that has been applied. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/str.h"
#include "client/client.h"
#include "net/connection.h"

/* Creates the client. dbid: the database that the stream has selected so far, -1: none. input: the first
 * bytes of the stream, which were read already. acks: the primary understands acknowledgements. */
struct client *linkStreamOpen(struct connection *conn, int dbid, struct str input, bool acks);
/* The client is being freed, or is no longer our primary: the rest of its input is not applied. Returns false
 * when its last bytes broke the protocol, so that the stream must not be continued after them. */
bool linkStreamClose(struct client *c);
void linkStreamAck(void);              /* with this turn's output: all that is applied now */
void linkStreamAckUnlessPending(void); /* unless this turn sends one already */
void linkStreamPauseAcks(bool pause);  /* none is sent until pause is false; then one is (ack_pause.h) */

void linkStreamInit(void); /* propagation-error-behavior; registers with turnSetPrimary */
