/* SPDX-License-Identifier: BSD-3-Clause */
/* tracking.h - client-side caching: clients are notified when keys that they have cached have changed.
 *
 * By default the server remembers which client read which key, and sends each of them one message when the
 * key changes next. In broadcasting mode (BCAST) it remembers nothing: a client names prefixes, and gets a
 * message for every changed key that begins with one. Keys of all databases share one table, by name only.
 *
 * A RESP3 client gets `invalidate` as a push message. A RESP2 client lets another connection listen for it
 * (REDIRECT), on the channel `__redis__:invalidate` if that connection also uses RESP2. */
#pragma once

#include <stddef.h>

#include "client/client.h"

void trackingDisable(struct client *c); /* does nothing when it does not track */

void trackingInit(void); /* CLIENT TRACKING and related commands, directive, INFO fields, sinks */
