/* SPDX-License-Identifier: BSD-3-Clause */
/* client_output.h - sending clients their output, and client-output-buffer-limit.
 *
 * Invariant: a client with output and a connection is in the list of clients to write to, or waits for the
 * event that its socket is writable, or is being closed, or all its output is held back (reply_gate.h). */
#pragma once

#include "base/read_phase.h"
#include "client/client.h"
#include "client/client_offload.h"
#include "registry/cron.h"

/* client-output-buffer-limit of a class, in bytes; 0: no limit. */
uint64_t clientOutputHardLimit(enum clientClass class);
/* Returns the soft limit of a class in bytes; 0: none. */
uint64_t clientOutputSoftLimit(enum clientClass class);
/* Returns whether a replica may stay above the soft limit for a while longer (SOFT_EXCUSE_S); NULL: none may.
 */
extern bool (*client_soft_excuse)(const struct client *c);
#define SOFT_EXCUSE_S 120
/* Returns whether so many bytes exceed the limits of this class. *soft_since_s belongs to the caller and is
 * kept between calls: since when the bytes have been above the soft limit; 0: they are not. */
bool clientOutputIsTooMuch(enum clientClass class, uint64_t bytes, int64_t *soft_since_s);
/* Sends what it can to every client that has output, once each, and the rest when sockets are writable. */
void clientsWritePending(void);
/* Whether a priority client has output; sends to priority clients only. Both are O(clients with output). */
bool clientsHavePriorityOutput(void);
void clientsWritePriority(void);
/* Returns how many have output of this turn, plus how many outputs of earlier turns are held back. */
size_t clientsAwaitReply(void);
void clientWriteLater(struct client *c); /* called by reply.c for the first byte */
/* Sends until the chain is empty or the socket is full. Returns false when the connection is broken. */
bool clientSendNow(struct client *c);
/* Called when output that was held back (reply_gate.h) may be sent; NULL: nothing is. */
extern void (*client_on_opened)(struct client *c);
/* Closes the client when its unread output plus `more` bytes exceed client-output-buffer-limit. */
void clientCheckOutput(struct client *c, size_t more);
/* Whether clients of the class "normal" have a limit. In a reader (read_phase.h), where only such clients
 * are, clientCheckOutput closes nobody: it refuses a request whose output may exceed the limit. */
extern bool client_output_limited;
/* Called before what a reader must not do: as readRefuses. The rest of the reply, which would be dropped, is
 * not written. */
static inline bool clientRefusesRead(struct client *c) {
    if (!readRefuses()) return false;
    c->flags |= CLIENT_REPLY_SKIP; /* until the handler returns */
    return true;
}
/* Counts n bytes that were written to its socket, in one call. */
static inline void clientNoteSent(struct client *c, size_t n) {
    clientstats.writes++;
    clientstats.net_out += n;
    c->net_out += n;
    c->last_active_ms = cmd_time_ms;
}
/* Bytes not sent yet. */
static inline size_t clientOutputPending(const struct client *c) {
    size_t in_chain = c->out.bytes - c->out.sent;
    return __builtin_expect(c->flags & CLIENT_OFFLOADED, 0) ? in_chain + client_offload->pending(c)
                                                            : in_chain;
}

void clientOutputInit(void); /* directive, job, INFO field */
