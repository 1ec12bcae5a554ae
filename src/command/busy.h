/* SPDX-License-Identifier: BSD-3-Clause */
/* busy.h - the state in which a script or a module's command has run for longer than busy-reply-threshold and
 * lets the server answer meanwhile: all but a few commands are refused with BUSY. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "client/client.h"

extern int64_t busy_threshold_ms;

/* Begins the busy state, which lasts until busyEnd; `reply` replies the BUSY error to refused commands. There
 * is at most one at a time. */
void busyBegin(void (*reply)(struct client *c));
void busyEnd(void);
bool busyIsActive(void);

void busyInit(void); /* directive, RULE_BUSY */
