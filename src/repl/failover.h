/* failover.h - FAILOVER: a primary hands its part to one of its replicas, without losing a write.
 *
 *     writes stand still ─▶ the replica has all ─▶ we become its replica (PSYNC ... FAILOVER) ─▶ writes go on,
 *                                                                                               there */
#pragma once

#include <stdbool.h>

bool failoverRunning(void);
void failoverInit(void); /* FAILOVER, INFO field, job */
