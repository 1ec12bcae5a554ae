/* SPDX-License-Identifier: BSD-3-Clause */
/* full_sync_pipe.h - a snapshot goes to replicas while it is made, through this process:
 *
 *     child ─▶ pipe ─▶ buffer ─┬─▶ replica
 *                              ├─▶ replica      all at the same pace: that of the slowest
 *                              └─▶ replica
 *
 * Connections may be of any type, and join no other process. */
#pragma once

#include "repl/full_sync_transfer.h"

/* False: there is no child, *err says why. The plan and the list are read before it returns. */
bool syncPipeStart(const struct syncPlan *plan, struct syncMembers members, const char **err);
/* Is one under way, or its end not yet told to all? */
bool syncPipeRunning(void);
