/* slot_keys.c - see slot_keys.h. */
#include "cluster/slot_keys.h"

#include "base/log.h"
#include "cluster/state.h"
#include "data/db.h"
#include "data/lazyfree.h"

uint64_t slotKeys(int slot) {
    uint64_t n = 0;
    for (int i = 0; i < dbCount(); i++) n += keyspaceSlotSize(dbKeyspace(&dbs[i]), slot);
    return n;
}

void slotDeleteKeys(int slot) {
    for (int i = 0; i < dbCount(); i++) dbDeleteSlot(&dbs[i], slot, lazyfree_lazy_server_del, true);
}

static void keysFound(struct topology *t, int slot) {
    const struct openSlot *open = slotOpen(t, slot);
    if (t->owner[slot] == t->myself || (open && open->from)) return;
    if (t->owner[slot]) {
        serverLog(LL_NOTICE,
                  "I have keys for slot %d, but the slot is assigned to another node. Deleting keys in the "
                  "slot.",
                  slot);
        slotDeleteKeys(slot);
        return;
    }
    serverLog(LL_NOTICE, "I have keys for unassigned slot %d. Taking responsibility for it.", slot);
    slotAssign(t, slot, t->myself);
    engineTodo(&cluster_engine, TODO_SAVE | TODO_STATE | TODO_SLOTS);
}

void slotsOfKeysFound(void) {
    for (int slot = 0; slot < KEY_SLOTS; slot++) {
        if (slotKeys(slot)) keysFound(clusterTopology(), slot);
    }
}
