/* SPDX-License-Identifier: BSD-3-Clause */
/* failover.h - FAILOVER: a primary hands its role to one of its replicas without losing a write.
 *
 *     writes are paused ─▶ the replica has all ─▶ we become its replica ─▶ writes go on there
 *                                                 (PSYNC ... FAILOVER) */
#pragma once

#include <stdbool.h>

bool failoverRunning(void);
void failoverInit(void); /* FAILOVER, INFO field, job */
