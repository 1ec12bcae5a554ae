/* multi.h - transactions: MULTI, EXEC, DISCARD, and the keys that WATCH guards.
 *
 * A client in MULTI has CLIENT_MULTI set. commandProcess gives multiQueue() each command that passed all
 * checks, and multiRefused() each that did not. Nothing is allocated for a client that neither watches nor
 * queues. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/sds.h"
#include "base/str.h"
#include "client/client.h"

/* ---- For the call path ---- */
/* c is in MULTI. True: its command has been queued and QUEUED replied. False: it runs at once (EXEC, DISCARD,
 * RESET, QUIT). */
bool multiQueue(struct client *c);
/* The command of c was refused, an error has been replied: EXEC will not succeed any more; when it was EXEC,
 * the transaction is over. */
void multiRefused(struct client *c);
/* How an error begins for which EXEC itself is refused (reply_error_lead). */
extern const char err_exec_refused[];

/* Ends the transaction, if any, and forgets the watched keys. */
void multiReset(struct client *c);

/* ---- About a client ---- */
/* c is in MULTI: is its command EXEC, and does a queued command ask for memory? */
bool multiNeedsMemory(const struct client *c);
/* EXEC is about to run: the flags of all queued commands together. 0: it is another command. */
uint64_t multiExecFlags(const struct client *c);
int multiDb(const struct client *c);             /* in MULTI: the database behind what is queued */
size_t multiQueuedBytes(const struct client *c); /* of the queued commands */

void multiInit(void); /* sinks, INFO fields, what the client's line says of transactions */
