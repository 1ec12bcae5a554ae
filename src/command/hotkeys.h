/* SPDX-License-Identifier: BSD-3-Clause */
/* hotkeys.h - the keys that clients use most: HOTKEYS, INFO hotkeys.
 *
 * The turn counts its requests down to the next sampled one, once per batch, and runs that request between
 * hotkeysBeginSample and hotkeysEndSample. All other requests do not notice that keys are counted. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "client/client.h"

/* Requests until the next sampled one. While nothing is collected it is so far away that it is not reached.
 */
extern int64_t hotkeys_until_sample;
/* Whether keys are counted in windows: each request has to pass the turn then. */
bool hotkeysAreCounted(void);
/* Returns how many requests to skip until the next sample. */
int64_t hotkeysNextGap(void);
/* Counts the keys of all commands that run for c from now on. Returns false when c is not sampled. */
bool hotkeysBeginSample(struct client *c);
void hotkeysEndSample(void);
void hotkeysInit(void);
