/* slot_keys.h - the keys of a slot, in all databases: how many, and away with them. */
#pragma once

#include <stdint.h>

uint64_t slotKeys(int slot); /* O(databases) */
/* Deletes them; each is told to everybody who hears of deletions, and propagated. */
void slotDeleteKeys(int slot);
