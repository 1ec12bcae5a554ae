/* SPDX-License-Identifier: BSD-3-Clause */
/* client_output.h - sending clients what they are owed, and client-output-buffer-limit.
 *
 * Invariant: who has output and a connection is in the list of those who are to be sent something, or is told
 * by the loop when its socket has room again, or is on its way out. */
#pragma once

#include "client/client.h"
#include "client/client_offload.h"
#include "registry/cron.h"

/* client-output-buffer-limit of a class, in bytes; 0: none. */
uint64_t clientOutputHardLimit(enum clientClass class);
/* Is so much more than client-output-buffer-limit allows somebody of this class? *soft_since_s is the
 * caller's, for the next time: since when it has been above the soft limit; 0: it is not. */
bool clientOutputIsTooMuch(enum clientClass class, uint64_t bytes, int64_t *soft_since_s);
/* Sends what it can of every client that has output, once each; arms the write event for the rest. */
void clientsWritePending(void);
void clientWriteLater(struct client *c); /* called by reply.c at the first byte */
/* Sends until the chain is empty or the socket is full. False when the connection is broken. */
bool clientSendNow(struct client *c);
/* Closes the client when what it has not read, and `more` bytes, are beyond client-output-buffer-limit. */
void clientCheckOutput(struct client *c, size_t more);
/* n bytes have gone into its socket, in one call. */
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
