/* SPDX-License-Identifier: BSD-3-Clause */
/* sim_queue.h - what simulations in virtual time share: random numbers from a seed, and a queue of events.
 *
 * Events are ordered by time and then by creation, so that one seed always gives the same run. An event is
 * for one process. It carries the life number of the process, and is void if the process has died since. */
#pragma once

#include <stdint.h>

#include "base/sds.h"

struct simEvent {
    int64_t at_ms;
    uint64_t order; /* of creation; set by simQueueAdd */
    int kind;       /* an enum of the simulation */
    int process;
    uint64_t life;       /* of the process, when the event was made */
    uint64_t connection; /* its number; 0: none */
    sds bytes;           /* of a message; NULL: none */
};

struct simQueue {
    struct simEvent *heap; /* binary, the earliest first */
    int count, capacity;
    uint64_t order;
};

void simQueueAdd(struct simQueue *q, struct simEvent ev);
struct simEvent simQueueTake(struct simQueue *q); /* the earliest; there must be one */
void simQueueFree(struct simQueue *q);            /* with the bytes of its events */

uint64_t simRandom(uint64_t *state); /* splitmix64 (Steele, Lea and Flood 2014) */
