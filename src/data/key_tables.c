/* SPDX-License-Identifier: BSD-3-Clause */
/* key_tables.c - see key_tables.h. */
#include "data/key_tables.h"

#include "base/assert.h"
#include "data/lazyfree.h"
#include "data/object.h"

bool keys_by_slot;

/* ---- Life ---- */

void keyTablesInit(struct keyTables *kt, const struct hashtableType *type) {
    hashtableInit(&kt->one, type);
    kt->slots = NULL;
    kt->hidden = NULL;
}

void keyTablesDestroy(struct keyTables *kt) {
    hashtableDestroy(&kt->one);
    slotTablesRelease(kt->slots);
    hiddenFree(kt->hidden);
    kt->slots = NULL;
    kt->hidden = NULL;
}

static void releaseSlots(void *slots) {
    slotTablesRelease(slots);
}

void keyTablesEmpty(struct keyTables *kt, bool async) {
    struct slotTables *slots = kt->slots;
    kt->slots = NULL;
    if (kt->hidden) hiddenEmptied(kt->hidden);
    if (!slots)
        lazyfreeTable(&kt->one, async);
    else if (async)
        lazyfreeContents(releaseSlots, slots, slotTablesSize(slots));
    else
        slotTablesRelease(slots);
}

/* ---- Change ---- */

static void makeSlots(struct keyTables *kt) {
    if (kt->slots) return;
    kt->slots = slotTablesCreate(kt->one.type);
    kt->slots->hidden = kt->hidden;
}

__attribute__((noinline)) void keyTablesAddBySlot(struct keyTables *kt, void *entry, uint64_t hash) {
    makeSlots(kt);
    slotTablesAdd(kt->slots, keyHashSlot(hash), entry, hash);
}

static uint32_t countExpires(struct keyTables *kt, int slot) {
    struct keyTablesIterator it;
    uint32_t n = 0;
    keyTablesIteratorInit(&it, kt, slot, slot, SLOTS_ALL);
    for (struct object *o; (o = keyTablesIteratorNext(&it));) n += objectHasExpire(o);
    keyTablesIteratorStop(&it);
    return n;
}

void keyTablesHideSlot(struct keyTables *kt, int slot, bool hide) {
    serverAssert(keys_by_slot);
    size_t keys = keyTablesSlotSize(kt, slot);
    if (!hide)
        hiddenRemove(&kt->hidden, slot, keys);
    else if (!slotIsHidden(kt->hidden, slot))
        hiddenAdd(&kt->hidden, slot, keys, keys ? countExpires(kt, slot) : 0);
    if (kt->slots) kt->slots->hidden = kt->hidden;
}

/* ---- Iterating ---- */

/* The first slot from this one on that has to be passed. Behind the last there is the one table, which is all
 * there is, or empty. */
static void goToSlot(struct keyTablesIterator *it, int slot) {
    it->slot = keyTablesNextSlot(it->kt, slot, it->seen);
    struct hashtable *ht = it->slot <= it->last ? slotTable(it->kt->slots, it->slot) : &it->kt->one;
    hashtableInitIterator(&it->it, ht, true);
}

void keyTablesIteratorInit(struct keyTablesIterator *it, struct keyTables *kt, int first, int last,
                           enum slotsSeen seen) {
    it->kt = kt;
    it->last = last;
    it->seen = seen;
    goToSlot(it, first);
}

static void leaveSlot(struct keyTablesIterator *it) {
    hashtableStopIterator(&it->it);
    if (it->kt->slots && it->slot < KEY_SLOTS) slotTablesOutline(it->kt->slots, it->slot);
}

void *keyTablesIteratorNext(struct keyTablesIterator *it) {
    void *entry;
    while (!hashtableNext(&it->it, &entry)) {
        if (it->slot > it->last) return NULL;
        leaveSlot(it);
        goToSlot(it, it->slot + 1);
    }
    return entry;
}

void keyTablesIteratorStop(struct keyTablesIterator *it) {
    leaveSlot(it);
}

/* ---- Memory ---- */

bool keyTablesTryExpand(struct keyTables *kt, size_t n) {
    return keys_by_slot || hashtableTryExpand(&kt->one, n);
}

bool keyTablesTryExpandSlot(struct keyTables *kt, int slot, size_t n) {
    if (!keys_by_slot || !n) return true;
    makeSlots(kt);
    return slotTablesTryExpand(kt->slots, slot, n);
}

void keyTablesExpand(struct keyTables *kt, size_t n) {
    if (!keys_by_slot) hashtableExpand(&kt->one, n);
}

bool keyTablesResize(struct keyTables *kt, uint64_t us) {
    return kt->slots ? slotTablesResize(kt->slots, us) : hashtableResizeMicroseconds(&kt->one, us);
}

void keyTablesMoveArrays(struct keyTables *kt, void *(*move)(void *priv, void *ptr), void *priv) {
    hashtableMoveArrays(&kt->one, move, priv);
    if (kt->slots) slotTablesMoveArrays(kt->slots, move, priv);
}

size_t keyTablesSlots(const struct keyTables *kt) {
    return kt->slots ? slotTablesSlots(kt->slots) : hashtableSlots(&kt->one);
}

size_t keyTablesMemory(const struct keyTables *kt) {
    return kt->slots ? slotTablesMemory(kt->slots) : hashtableMemory(&kt->one);
}

sds keyTablesStats(struct keyTables *kt, sds s, const char *name) {
    if (!kt->slots) return hashtableStats(&kt->one, s, name);
    return sdscatprintf(s,
                        "Hash table 0 stats (%s):\n table size: %zu\n number of entries: %zu\n"
                        " rehashing index: -1\n",
                        name, slotTablesSlots(kt->slots), slotTablesSize(kt->slots));
}

void keyTablesVerify(struct keyTables *kt) {
    hashtableVerify(&kt->one);
    if (!kt->slots) return;
    slotTablesVerify(kt->slots);
    serverAssert(!hashtableSize(&kt->one));
}
