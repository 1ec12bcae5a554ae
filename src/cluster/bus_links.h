/* SPDX-License-Identifier: BSD-3-Clause */
/* bus_links.h - the sockets of the cluster bus: listening, connecting, whole messages in, bytes out. Knows
 * nothing of what they mean.
 *
 *     socket ─▶ in: bytes until a message is whole ─▶ handlers.message
 *     socket ◀─ out: bytes that the socket had no room for ◀─ busLinkSend
 *
 * What is sent in a turn of the loop leaves at its end in one write for each link (busLinksFlush). A message
 * that is none closes its link. Handlers may close any link at any time: it is freed when nothing here looks
 * at it any more. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/sds.h"
#include "cluster/cluster_engine.h"
#include "net/tls.h"

struct busLinkHandlers {
    bool (*accepts)(void);              /* another inbound link, now? */
    void (*up)(struct busLink *link);   /* an outbound one is established */
    void (*down)(struct busLink *link); /* it is freed after this */
    bool (*message)(struct busLink *link, const uint8_t *packet,
                    uint32_t len); /* false: it is to be closed */
};

/* The context of accepted links, which is not the bus's to free; NULL: there is none. */
void busLinksSetTls(struct tlsContext *(*server)(void));

/* Listens on these addresses (as netListenTcp; those with a leading '-' may be missing). False: the reason is
 * in err. */
bool busLinksListen(const struct busLinkHandlers *h, const char *const *addresses, int count, int port,
                    bool tls, char *err, size_t errlen);
void busLinksStop(void); /* closes all, without a word to the handlers */

/* NULL: it cannot be tried. `up` or `down` follows. */
struct busLink *busLinkConnect(const char *ip, uint16_t port);
void busLinkClose(struct busLink *link); /* `down` is not called */
void busLinkSend(struct busLink *link, const char *bytes, size_t len);
void busLinksFlush(void);

/* For CLUSTER LINKS and INFO. */
size_t busLinkQueued(const struct busLink *link);    /* bytes that wait to be sent */
size_t busLinkAllocated(const struct busLink *link); /* for them */
bool busLinkWrites(const struct busLink *link);      /* does it wait for room? */
size_t busLinksMemory(void);                         /* of all */
void busLinksForEach(void (*fn)(void *priv, struct busLink *link), void *priv);
/* Closes (with `down`) those with more than `limit` bytes queued; how many. 0: no limit. */
int busLinksEnforceLimit(size_t limit);

/* Strangers are those who have connected to us, and have not said yet that they are a node that we know (the
 * first message of one does). Their messages are short, and of too many of them the oldest is closed. */
#define BUS_STRANGERS_MAX         1024
#define BUS_STRANGERS_MESSAGE_MAX (1024 * 1024)
/* Closes those that have been silent for longer than that; how many. */
int busLinksDropStrangers(int64_t silent_ms);
