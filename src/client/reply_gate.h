/* SPDX-License-Identifier: BSD-3-Clause */
/* reply_gate.h - holds replies back until what they may tell about can no longer be lost.
 *
 * A *source* (our disk, our replicas) has two positions in a coordinate of its own: `made`, behind the last
 * change of the dataset, and `covered`, up to which changes are safe. While made > covered for a source in
 * use, any output may tell of a change that is not safe: the reply to the write itself, a read, a push, the
 * result of a script. So output that a turn has made waits for the position made at the end of that turn, and
 * leaves in order when the position is covered. Output made while all is covered leaves at once.
 *
 *     out.head -> [approved] -> HOLD 70 -> [turn 8's output] -> HOLD 90 -> [turn 9's] -> SEAL  <- out.tail
 *                               waits for covered >= 70
 *
 * A hold is a block of the client's output chain without bytes (reply_block.h). It stands in front of what it
 * holds back, and nothing behind a closed hold is sent. A seal is a hold that waits for output: nothing fits
 * into it, so the next output begins a block of its own, and the client joins the list of those to write to.
 *
 *     SEAL ──▶ CLOSED ──▶ OPEN         or SEAL ──▶ OPEN when all is covered at the end of the turn
 *
 * Invariants
 *  1. At the end of a turn each block of a client's output is approved, or stands behind a closed hold.
 *  2. While the gate is active, a chain that is not empty between turns ends with a hold.
 *  3. The holds of a list are in the order of their positions, so those that open are at its front.
 *  4. An open hold is never at the head of a chain, and a seal alone is no chain.
 *
 * Holds never leave the main thread. With no source in use and no hold left, the gate costs one test each
 * time that clients are written to (replyGateIsActive). */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "client/client.h"
#include "client/reply_block.h"

enum replyGateSource { GATE_DISK, GATE_REPLICAS, GATE_SOURCES };

/* Asks a source for its positions. Neither goes back while it is in use. */
typedef void replyGateAsk(uint64_t *made, uint64_t *covered);

/* Returns whether what is `wanted` of each source is covered. 0: anything is enough. */
bool replyGateIsCovered(const uint64_t wanted[GATE_SOURCES], const uint64_t covered[GATE_SOURCES]);

/* ---- For sources ---- */
/* Uses a source from now on, or no longer (NULL): then what waits only for it leaves with the next write. */
void replyGateUse(enum replyGateSource source, replyGateAsk *ask);
/* Gives up on what has waited for GATE_REPLICAS since before_ms (mstime; INT64_MAX: all of it), and is not
 * covered: all the output that is held back for such a client is dropped, `reply` replies an error, and the
 * connection ends. Returns the number of clients. Not while a command runs. */
size_t replyGateGiveUp(int64_t before_ms, void (*reply)(struct client *c));
/* Returns since when the oldest output has waited for GATE_REPLICAS (mstime); 0: none waits. */
int64_t replyGateOldest(void);

/* ---- For client_output.c, and those who ask ---- */
extern bool reply_gate_used; /* a source is in use */
static inline bool replyGateIsActive(void) {
    return __builtin_expect(reply_gate_used || reply_holds, 0);
}
/* Asks the sources, and opens the holds that are covered; calls `opened` for each. */
void replyGateUpdate(void (*opened)(struct client *c));
/* Whether all was covered at the last update, and nothing has waited since. */
bool replyGateIsOpen(void);
size_t replyGateHeldCount(void); /* closed holds: a client has one for each turn of output that waits */
bool replyGateSourceIsOpen(enum replyGateSource source); /* likewise, for one source */
/* Decides about the output that the client was given since the last call. */
void replyGateHold(struct client *c);
/* Ends the output that is approved: later output is decided about. */
void replyGateSeal(struct client *c);
/* Puts a seal at the head of the chain, unless it has one or all of it is decided about. */
void replyGateSealFront(struct client *c);

/* Clients for which fn returns true do not wait for GATE_REPLICAS: nothing that they have sent can have an
 * answer about the data. */
void replyGateExempt(bool (*fn)(const struct client *c));
/* Sets what is called when the first source is used, and when none is used any more; not within admission. */
void replyGateOnUse(void (*fn)(bool used));

void replyGateInit(void); /* INFO fields */
