/* SPDX-License-Identifier: BSD-3-Clause */
/* defrag.h - active defragmentation: allocations are moved together while the server runs, until the pages
 * that they leave can be given back.
 *
 *     directives:  activedefrag; from which fragmentation on (active-defrag-ignore-bytes, -threshold-lower),
 *                  how much of the time (-cycle-min .. -cycle-max, the latter from -threshold-upper on), in
 *                  slices of how long (-cycle-us), and which values are done in pieces (-max-scan-fields)
 *
 * A slice goes over some keys and offers every allocation behind them to defragMove; the allocator knows
 * which are better off elsewhere (base/zmalloc.h). Slices run from a timer, so between commands only: a
 * pointer into a value that a room keeps across turns of the loop must be mended by the hook of the value's
 * type. There is none while a fork child lives, which shares all pages, nor while a file is loaded. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* Where in a value the next call goes on: zero at the start, else as the type likes. The value may have
 * become another one of the same type since. */
struct defragCursor {
    uint64_t at[3];
    int64_t stop_us; /* when this call should end, monotonic; 0: it is a value that is done at once */
};

/* What hooks offer allocations to: a zmoveFn, which also counts. */
void *defragMove(void *priv, void *ptr);
/* `pointer` is the address of a pointer to an allocation, or to nothing; mends it. */
void defragPointer(void *pointer);

/* For data that are in no database: `piece` is called with a cursor as hashtableScan has it, 0 at the start,
 * and returns the next one, 0 at the end. */
void defragRegister(uint64_t (*piece)(uint64_t cursor));

/* For tests: every allocation moves, now, in one pass; or again and again, half of the time. */
void defragAll(void);
void defragStress(bool on);

void defragInit(void); /* directives, INFO, cron */
