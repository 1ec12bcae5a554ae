/* SPDX-License-Identifier: BSD-3-Clause */
/* busy.h - something runs for longer than busy-reply-threshold, and lets the server answer meanwhile
 * (scripts, commands of modules): whoever asks for more than the few commands that are allowed then hears
 * that it is busy. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "client/client.h"

extern int64_t busy_threshold_ms;

/* From now on, to busyEnd, `reply` replies what is refused: a BUSY error. Not while there is another. */
void busyBegin(void (*reply)(struct client *c));
void busyEnd(void);
bool busyNow(void);

void busyInit(void); /* directive, RULE_BUSY */
