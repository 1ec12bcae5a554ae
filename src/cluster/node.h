/* SPDX-License-Identifier: BSD-3-Clause */
/* node.h - runs the cluster engine in the server: carries out its effects and passes events to it. */
#pragma once

#include <stdint.h>

void nodeInit(void);                        /* jobs */
void nodeStart(void), nodeDataLoaded(void); /* see cluster.h */
uint64_t clusterLinksOverLimit(void);       /* closed since the start because of too much queued output */
