/* SPDX-License-Identifier: BSD-3-Clause */
/* node.h - the engine in the environment: what it asks for is done, and it is told what happens. */
#pragma once

#include <stdint.h>

void nodeInit(void);                        /* jobs */
void nodeStart(void), nodeDataLoaded(void); /* see cluster.h */
uint64_t clusterLinksOverLimit(void);       /* closed since the start, as they had too much to send */
