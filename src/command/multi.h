/* SPDX-License-Identifier: BSD-3-Clause */
/* multi.h - transactions: MULTI, EXEC, DISCARD, and the keys that WATCH guards.
 *
 * A client in MULTI has CLIENT_MULTI set. The last row of admission (admission.h) keeps a copy of each of its
 * requests; a refused one makes the transaction fail. Checks of EXEC (commandFlags) take all queued commands
 * into account. Nothing is allocated for a client that neither watches nor queues. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/sds.h"
#include "base/str.h"
#include "client/client.h"

/* Ends the transaction, if any, and forgets the watched keys. */
void multiReset(struct client *c);

/* Checks EXEC's conditions, which are arguments of c. False: one does not hold, and a null array or an error
 * was replied. types/keys/exec_conditions.c fills it in. */
extern bool (*multi_conditions_hold)(struct client *c);

/* ---- About a client ---- */
/* In MULTI: the database that is selected after the queued commands. */
int multiSelectedDb(const struct client *c);
size_t multiQueuedBytes(const struct client *c); /* of the queued commands */

/* The i-th queued command, NULL: there are no more; and the last one. */
const struct request *multiQueued(const struct client *c, int i);
const struct request *multiLastQueued(const struct client *c);

void multiInit(void); /* sinks, INFO fields, what the client's line says of transactions */
