/* SPDX-License-Identifier: BSD-3-Clause */
/* full_sync_pipe.h - sends a snapshot to replicas while it is made, through this process.
 *
 *     child ─▶ pipe ─▶ buffer ─┬─▶ replica
 *                              ├─▶ replica      all at the same pace: that of the slowest
 *                              └─▶ replica
 *
 * Connections may be of any type, as only the main thread uses them. The child is a process or a thread. */
#pragma once

#include "repl/full_sync_transfer.h"

/* Starts the child; plan must live until the end. False: there is none, *err says why. */
bool syncPipeStart(const struct syncPlan *plan, struct syncMembers members, const char **err);
/* Returns whether a snapshot is under way, or its end has yet to be reported to members. */
bool syncPipeRunning(void);
