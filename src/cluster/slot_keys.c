/* SPDX-License-Identifier: BSD-3-Clause */
/* slot_keys.c - see slot_keys.h. */
#include "cluster/slot_keys.h"

#include "base/log.h"
#include "base/num.h"
#include "cluster/state.h"
#include "command/propagate.h"
#include "data/keyspace/db.h"
#include "data/lifetime/lazyfree.h"

uint64_t slotCountKeys(int slot) {
    uint64_t n = 0;
    for (int i = 0; i < dbCount(); i++) n += keyspaceSlotSize(&dbs[i].keyspace, slot);
    return n;
}

void slotDeleteKeys(int slot) {
    for (int i = 0; i < dbCount(); i++) dbDeleteSlot(&dbs[i], slot, lazyfree_lazy_server_del);
}

void slotDropKeys(int slot) {
    char digits[LONG_STR_SIZE];
    uint64_t n = 0;
    for (int i = 0; i < dbCount(); i++) n += dbDropSlot(&dbs[i], slot, lazyfree_lazy_server_del, false);
    if (!n) return;
    struct str flush[] = {STR("CLUSTER"), STR("FLUSHSLOT"), strN(digits, ll2string(digits, slot))};
    propagateNow(0, 3, flush);
}

static void slotReconcileKeys(struct topology *t, int slot) {
    const struct openSlot *open = slotFindOpen(t, slot);
    if (t->owner[slot] == t->myself || (open && open->from)) return;
    if (t->owner[slot]) {
        serverLog(LL_NOTICE,
                  "This node holds keys of slot %d, which belongs to another node. The keys are deleted.",
                  slot);
        slotDeleteKeys(slot);
        return;
    }
    serverLog(LL_NOTICE, "This node holds keys of slot %d, which nobody owns, so it takes the slot", slot);
    slotAssign(t, slot, t->myself);
    engineAddTodo(&cluster_engine, TODO_SAVE | TODO_STATE | TODO_SLOTS);
}

void slotsReconcileKeys(void) {
    for (int slot = 0; slot < KEY_SLOTS; slot++) {
        if (slotCountKeys(slot)) slotReconcileKeys(clusterTopology(), slot);
    }
}
