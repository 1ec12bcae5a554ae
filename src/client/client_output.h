/* client_output.h - sending clients what they are owed, and client-output-buffer-limit.
 *
 * Invariant: who has output and a connection is in the list of those who are to be sent something, or is told
 * by the loop when its socket has room again, or is on its way out. */
#pragma once

#include "client/client.h"

/* Sends what it can of every client that has output, once each; arms the write event for the rest. */
void clientsWritePending(void);
void clientWriteLater(struct client *c); /* called by reply.c at the first byte */
/* Closes the client when what it has not read, and `more` bytes, are beyond client-output-buffer-limit. */
void clientCheckOutput(struct client *c, size_t more);
/* Bytes in the chain not sent yet. */
static inline size_t clientOutputPending(const struct client *c) {
    return c->out.bytes - c->out.sent;
}

/* Clients with CLIENT_REPLICA are sent more than their chain, and behind it: bytes that many of them share
 * (repl/). The room registers how. */
struct clientStream {
    bool (*write)(struct client *c);       /* until there is nothing, or the socket is full; false: broken */
    bool (*waits)(const struct client *c); /* is there something that can be sent? */
    size_t (*pending)(const struct client *c); /* bytes: what its limit is about */
};
void clientOutputSetStream(const struct clientStream *stream); /* which must stay */

void clientOutputInit(void); /* directive, job, INFO field */
