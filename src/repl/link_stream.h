/* SPDX-License-Identifier: BSD-3-Clause */
/* link_stream.h - the client that applies our primary's stream.
 *
 *     socket ─▶ round ─▶ request ─┬─▶ commandRun(ORIGIN_PRIMARY), its replies dropped
 *                                 └─▶ history (what has been applied): offset, backlog, our own replicas
 *
 * What stands between MULTI and EXEC counts as applied with EXEC. The primary is told how far we are: once a
 * second, and whenever it asks.
 *
 * Invariant: historyOffset() is behind the last request that has been applied. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/str.h"
#include "client/client.h"
#include "net/connection.h"

/* dbid: what the stream has selected so far, -1: nothing. input: its first bytes, which were read already.
 * acks: the primary understands them. */
struct client *linkStreamOpen(struct connection *conn, int dbid, struct str input, bool acks);
/* The client goes, or is not our primary any more: the rest of its input is not applied. False: what it had
 * sent last broke the protocol, so that nobody may go on behind it. */
bool linkStreamClose(struct client *c);
void linkStreamAck(void);           /* with this turn's output: of all that is applied now */
void linkStreamAckNowAndThen(void); /* unless there is an acknowledgement in it anyhow */

void linkStreamInit(void); /* propagation-error-behavior; takes its place in the round */
