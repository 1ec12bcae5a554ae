/* SPDX-License-Identifier: BSD-3-Clause */
/* slot_keys.h - the keys of a slot, in all databases: how many, and away with them. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

uint64_t slotKeys(int slot); /* O(databases) */
/* Deletes them, as lazyfree-lazy-server-del says; each is told to everybody who hears of deletions, and
 * propagated. */
void slotDeleteKeys(int slot);
/* They have left with their slot, and are another node's: so here it is no event that they go. Replicas and
 * files are told of the slot as a whole (CLUSTER FLUSHSLOT). */
void slotDropKeys(int slot);
/* The data of a primary have been loaded: it takes slots that it has keys of and that nobody owns, and
 * deletes keys of slots that are another's. */
void slotsOfKeysFound(void);
