/* slot_keys.c - see slot_keys.h. */
#include "cluster/slot_keys.h"

uint64_t slotKeys(int slot) {
    (void)slot;
    return 0;
}

void slotDeleteKeys(int slot) {
    (void)slot;
}
