/* SPDX-License-Identifier: BSD-3-Clause */
/* tracking.h - client-side caching: telling clients when keys that they hold copies of have changed.
 *
 * By default the server remembers which client read which key, and tells each of them once, when the key next
 * changes. In broadcasting mode (BCAST) it remembers nothing: a client names prefixes, and hears of every
 * changed key that begins with one. Keys are those of all databases together, by name only.
 *
 * A client of RESP3 gets `invalidate` as a push message. One of RESP2 lets another connection listen for it
 * (REDIRECT), on the channel `__redis__:invalidate` if that one speaks RESP2, too. */
#pragma once

#include <stddef.h>

#include "client/client.h"

/* Clients that track. */
extern size_t tracking_clients;

void trackingDisable(struct client *c); /* fine when it does not track */

void trackingInit(void); /* CLIENT TRACKING and its kin, directive, INFO fields, sinks */
