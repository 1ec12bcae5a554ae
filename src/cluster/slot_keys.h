/* SPDX-License-Identifier: BSD-3-Clause */
/* slot_keys.h - the keys of a slot in all databases: counting, deleting. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

uint64_t slotCountKeys(int slot); /* O(databases) */
/* Deletes the keys as lazyfree-lazy-server-del says. Each deletion is notified and propagated. */
void slotDeleteKeys(int slot);
/* Removes the keys of a slot that another node owns now. No deletion is notified; replicas and files get the
 * whole slot (CLUSTER FLUSHSLOT). */
void slotDropKeys(int slot);
/* Called when a primary has loaded its data: it takes slots that it has keys of and that have no owner, and
 * deletes keys of slots that other nodes own. */
void slotsReconcileKeys(void);
