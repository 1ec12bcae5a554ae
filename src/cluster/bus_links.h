/* SPDX-License-Identifier: BSD-3-Clause */
/* bus_links.h - the sockets of the cluster bus: listening, connecting, reading whole messages, sending bytes.
 * It does not know what the messages mean.
 *
 *     socket ─▶ in: bytes until a message is whole ─▶ handlers.onMessage
 *     socket ◀─ out: bytes that the socket did not accept yet ◀─ busLinkSend
 *
 * What is sent in a turn of the loop leaves at its end, in one write for each link (busLinksFlush). Bytes
 * that are not a message close their link. Handlers may close any link at any time: its memory is freed when
 * no function of this file uses it any more. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/sds.h"
#include "cluster/cluster_engine.h"
#include "net/tls.h"

struct busLinkHandlers {
    bool (*mayAccept)(void);              /* whether another inbound link may be accepted now */
    void (*onUp)(struct busLink *link);   /* an outbound link is established */
    void (*onDown)(struct busLink *link); /* the link is freed after this call */
    bool (*onMessage)(struct busLink *link, const uint8_t *packet,
                      uint32_t len); /* false: the link has to be closed */
};

/* Sets the function that returns the TLS context of accepted links; NULL from it refuses them. The
 * caller owns the context. */
void busLinksSetTls(struct tlsContext *(*server)(void));

/* Listens on these addresses as netListenTcp does; an address with a leading '-' may be missing. Returns
 * false with the reason in err. */
bool busLinksListen(const struct busLinkHandlers *h, const char *const *addresses, int count, int port,
                    bool tls, char *err, size_t errlen);

/* Returns NULL if no attempt is possible; otherwise `onUp` or `onDown` follows. */
struct busLink *busLinkConnect(const char *ip, uint16_t port);
void busLinkClose(struct busLink *link); /* without a call of `onDown` */
void busLinkSend(struct busLink *link, const char *bytes, size_t len);
void busLinksFlush(void);

size_t busLinkQueuedBytes(const struct busLink *link);    /* bytes that wait to be sent */
size_t busLinkAllocatedBytes(const struct busLink *link); /* bytes allocated for output */
bool busLinkAwaitsWritable(const struct busLink *link);   /* waits until the socket is writable */
size_t busLinksMemory(void);                              /* bytes of all links */
/* Closes, with `onDown`, the links with more than `limit` bytes queued, and returns how many.
 * A limit of 0 means none. */
int busLinksEnforceLimit(size_t limit);

/* An inbound link is unidentified until its first message says which known node is on the other side.
 * Messages on such links are limited in length, and the oldest link is closed when there are too many. */
#define BUS_UNIDENTIFIED_MAX         1024
#define BUS_UNIDENTIFIED_MESSAGE_MAX (1024 * 1024)
/* Closes unidentified links that have been silent for longer than that, and returns how many. */
int busLinksDropUnidentified(int64_t silent_ms);

/* ---- For tests ---- */

void busLinksStop(void); /* closes all links and stops listening, without calls of handlers */
void busLinksForEach(void (*fn)(void *priv, struct busLink *link), void *priv);
