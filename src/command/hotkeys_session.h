/* SPDX-License-Identifier: BSD-3-Clause */
/* hotkeys_session.h - HOTKEYS START and STOP, as Redis 8.6 has them: which keys take the most time of the
 * server and the most bytes of the network, from START until STOP or the end of DURATION. */
#pragma once

#include <stdbool.h>

#include "client/client.h"

bool hotkeysSessionRuns(void);
bool hotkeysSessionExists(void); /* it runs, or its results have not been reset yet */
void hotkeysSessionReply(struct client *c);
void hotkeysSessionForget(void); /* must not run; does nothing if there is none */
void hotkeysSessionInit(void);
