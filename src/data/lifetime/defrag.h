/* SPDX-License-Identifier: BSD-3-Clause */
/* defrag.h - active defragmentation: allocations are moved together while the server runs, until the pages
 * that they leave can be given back.
 *
 *     directives:  activedefrag; from which fragmentation on (active-defrag-ignore-bytes, -threshold-lower),
 *                  how much of the time (-cycle-min .. -cycle-max, the latter from -threshold-upper on), in
 *                  slices of how long (-cycle-us), and which values are done in pieces (-max-scan-fields)
 *
 * A slice goes over some keys and offers every allocation behind them to defragMove; the allocator knows
 * which of them to move (base/zmalloc.h). Slices run from a timer, so between commands only: a pointer into a
 * value that a module keeps across turns of the loop must be updated by the hook of the value's type. No
 * slice runs while a fork child lives, which shares all pages, nor while a file is loaded. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* The position in a value where the next call continues: zero at the start, else whatever the type puts
 * there. The value may have become another one of the same type since. */
struct defragCursor {
    uint64_t at[3];
    int64_t stop_us; /* monotonic time at which this call should end; 0: the value is done at once */
};

/* A zmoveFn that hooks pass allocations to; it also counts. */
void *defragMove(void *priv, void *ptr);
/* Offers the allocation that *pointer points to (pointer is the address of a pointer, which may be NULL)
 * and updates it. */
void defragPointer(void *pointer);

/* Registers data outside of databases: `piece` is called with a cursor as hashtableScan has it, 0 at the
 * start, and returns the next one, 0 at the end. */
void defragRegister(uint64_t (*piece)(uint64_t cursor));

/* For tests: moves every allocation now, in one pass; or again and again, half of the time. */
void defragAll(void);
void defragStress(bool on);

void defragInit(void); /* directives, INFO, cron */
