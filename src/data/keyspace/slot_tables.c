/* SPDX-License-Identifier: BSD-3-Clause */
/* slot_tables.c - see slot_tables.h. */
#include "data/keyspace/slot_tables.h"

#include "base/assert.h"
#include "base/random.h"
#include "base/zmalloc.h"
#include "ds/scan_cursor.h"

#define STRIPE_BITS         34
#define CURSOR_LOCAL_BITS   (STRIPE_BITS + 5)
#define RESIZE_SLOTS_A_CALL 1024

_Static_assert((uint64_t)KEY_SLOTS << CURSOR_LOCAL_BITS == SCAN_CURSOR_END, "cursors are exact in a double");

struct slotTables *slotTablesCreate(const struct hashtableType *type) {
    serverAssert(type && type->entryKey);
    struct slotTables *st = zcalloc(1, sizeof *st);
    st->type = type;
    st->salt = (uint32_t)(randomU64() >> 40);
    st->salt_factor = hashtableSaltFactor(st->salt);
    return st;
}

void slotTablesRelease(struct slotTables *st) {
    if (!st) return;
    for (int slot = 0; slot < KEY_SLOTS; slot++) {
        if (st->tables[slot].type) hashtableDestroy(&st->tables[slot]); /* empty tables may have buckets */
    }
    zfree(st);
}

/* ---- Lookup ---- */

void slotTablesPrefetch(const struct slotTables *st, int slot, uint64_t hash) {
    uint64_t descriptor = st->descriptors[slot];
    if (__builtin_expect(descriptor <= DESCRIPTOR_LARGE, 0)) {
        if (descriptor) hashtablePrefetchBucket(&st->tables[slot], hash); /* such tables are few */
        return;
    }
    hashtablePrefetchByDescriptor(descriptor, st->salt_factor, hash);
    if (hashtableDescriptorIsSingle(descriptor)) return;
    __builtin_prefetch(&st->tables[slot]);
    __builtin_prefetch((const char *)(&st->tables[slot] + 1) - 1); /* the head may lie on two lines */
}

/* ---- Change ---- */

static inline void slotTablesCount(struct slotTables *st, int slot, uint64_t by) {
    st->used += by;
    st->group_used[slot / SLOT_GROUP] += by;
    if (__builtin_expect(st->hidden != NULL, 0)) hiddenCountKeys(st->hidden, slot, by);
}

static inline void slotTablesNoteChange(struct slotTables *st, int slot, uint64_t by) {
    slotTablesUpdateDescriptor(st, slot);
    slotTablesCount(st, slot, by);
}

static struct hashtable *slotTablesEnsureTable(struct slotTables *st, int slot) {
    struct hashtable *ht = slotTable(st, slot);
    if (!ht->type) hashtableInitSalted(ht, st->type, st->salt);
    return ht;
}

void slotTablesAdd(struct slotTables *st, int slot, void *entry, uint64_t hash) {
    debugAssert(slot == (int)(hash % KEY_SLOTS));
    hashtableAddUnchecked(slotTablesEnsureTable(st, slot), entry, hash);
    slotTablesNoteChange(st, slot, 1);
}

void slotTablesRemoveEntry(struct slotTables *st, int slot, const void *entry, uint64_t hash) {
    hashtableRemoveEntry(slotTable(st, slot), entry, hash);
    slotTablesNoteChange(st, slot, -1ULL);
}

void *slotTablesPop(struct slotTables *st, int slot, struct str key, uint64_t hash) {
    void *entry = hashtablePopHashed(slotTable(st, slot), key, hash);
    if (entry) slotTablesNoteChange(st, slot, -1ULL);
    return entry;
}

struct hashtable slotTablesTake(struct slotTables *st, int slot) {
    serverAssert(0 <= slot && slot < KEY_SLOTS);
    struct hashtable taken = *slotTable(st, slot);
    *slotTable(st, slot) = (struct hashtable){0};
    slotTablesNoteChange(st, slot, -(uint64_t)hashtableSize(&taken));
    return taken;
}

/* ---- Which slot ---- */

static uint64_t slotTablesShown(const struct slotTables *st) {
    return st->used - (st->hidden ? st->hidden->keys : 0);
}
static uint64_t slotTablesGroupShown(const struct slotTables *st, int group) {
    return st->group_used[group] - (st->hidden ? st->hidden->group_keys[group] : 0);
}
static uint64_t slotTablesShownInSlot(const struct slotTables *st, int slot) {
    return slotIsHidden(st->hidden, slot) ? 0 : hashtableSize(&st->tables[slot]);
}

int slotTablesNext(const struct slotTables *st, int slot, enum slotsSeen seen) {
    debugAssert(slot >= 0);
    while (slot < KEY_SLOTS) {
        int group = slot / SLOT_GROUP;
        if (!(seen == SLOTS_ALL ? st->group_used[group] : slotTablesGroupShown(st, group)))
            slot = (group + 1) * SLOT_GROUP;
        else if (seen == SLOTS_ALL ? hashtableSize(&st->tables[slot]) : slotTablesShownInSlot(st, slot))
            return slot;
        else
            slot++;
    }
    return KEY_SLOTS;
}

/* Returns the slot of the n-th shown entry, from 0, in the order of slots. */
static int slotTablesSlotOfEntry(const struct slotTables *st, uint64_t n) {
    debugAssert(n < slotTablesShown(st));
    int group = 0;
    for (; n >= slotTablesGroupShown(st, group); group++) n -= slotTablesGroupShown(st, group);
    int slot = group * SLOT_GROUP;
    for (; n >= slotTablesShownInSlot(st, slot); slot++) n -= slotTablesShownInSlot(st, slot);
    return slot;
}

/* ---- All entries ---- */

/* Scans one stripe of a slot's table. Returns the rest of the cursor, 0 after the last stripe. */
static uint64_t slotTablesScanStripe(struct hashtable *ht, uint64_t local, hashtableScanFn fn, void *priv) {
    unsigned level = (unsigned)(local >> STRIPE_BITS);
    uint64_t stripe = local & ((1ULL << STRIPE_BITS) - 1);
    if (level > POSITION_BITS || stripe >> level) return 0; /* no scan has returned this cursor */
    struct scanCursor c = {level, stripe << (POSITION_BITS - level)};
    uint64_t cursor = local ? scanCursorNumber(&c) : 0;
    do {
        cursor = hashtableScan(ht, cursor, fn, priv);
        c = (struct scanCursor){(unsigned)(cursor >> POSITION_BITS), cursor & (POSITION_END - 1)};
    } while (cursor && c.position & ((POSITION_END >> c.level) - 1));
    return cursor ? (uint64_t)c.level << STRIPE_BITS | c.position >> (POSITION_BITS - c.level) : 0;
}

uint64_t slotTablesScan(struct slotTables *st, uint64_t cursor, enum slotsSeen seen, hashtableScanFn fn,
                        void *priv) {
    if (cursor >= SCAN_CURSOR_END) return 0;
    int from = (int)(cursor >> CURSOR_LOCAL_BITS), slot = slotTablesNext(st, from, seen);
    if (slot == KEY_SLOTS) return 0;
    uint64_t local = slot == from ? cursor & ((1ULL << CURSOR_LOCAL_BITS) - 1) : 0;
    local = slotTablesScanStripe(slotTable(st, slot), local, fn, priv);
    slotTablesUpdateDescriptor(st, slot);
    if (!local) slot = slotTablesNext(st, slot + 1, seen);
    return slot < KEY_SLOTS ? (uint64_t)slot << CURSOR_LOCAL_BITS | local : 0;
}

void *slotTablesFairRandom(struct slotTables *st) {
    if (!slotTablesShown(st)) return NULL;
    int slot = slotTablesSlotOfEntry(st, randomBelow(slotTablesShown(st)));
    void *entry = hashtableFairRandomEntry(slotTable(st, slot));
    slotTablesUpdateDescriptor(st, slot);
    return entry;
}

size_t slotTablesSample(struct slotTables *st, void **dst, size_t count) {
    if (!slotTablesShown(st)) return 0;
    int first = slotTablesSlotOfEntry(st, randomBelow(slotTablesShown(st))), slot = first;
    size_t n = 0;
    do {
        n += hashtableSample(slotTable(st, slot), dst + n, count - n);
        slotTablesUpdateDescriptor(st, slot);
        slot = slotTablesNext(st, slot + 1, SLOTS_SHOWN);
        if (slot == KEY_SLOTS) slot = slotTablesNext(st, 0, SLOTS_SHOWN);
    } while (n < count && slot != first);
    return n;
}

/* ---- Memory ---- */

bool slotTablesTryExpand(struct slotTables *st, int slot, size_t n) {
    serverAssert(0 <= slot && slot < KEY_SLOTS);
    bool done = hashtableTryExpand(slotTablesEnsureTable(st, slot), hashtableSize(slotTable(st, slot)) + n);
    slotTablesUpdateDescriptor(st, slot);
    return done;
}

bool slotTablesResize(struct slotTables *st, uint64_t us) {
    for (int i = 0; i < RESIZE_SLOTS_A_CALL; i++) {
        int slot = slotTablesNext(st, st->resize_slot, SLOTS_ALL);
        if (slot == KEY_SLOTS) {
            st->resize_slot = 0;
            return false;
        }
        bool more = hashtableResizeMicroseconds(slotTable(st, slot), us);
        slotTablesUpdateDescriptor(st, slot);
        if (more) return true;
        st->resize_slot = slot + 1;
    }
    return false;
}

void slotTablesMoveArrays(struct slotTables *st, void *(*move)(void *priv, void *ptr), void *priv) {
    for (int slot = 0; (slot = slotTablesNext(st, slot, SLOTS_ALL)) < KEY_SLOTS; slot++) {
        hashtableMoveArrays(slotTable(st, slot), move, priv);
        slotTablesUpdateDescriptor(st, slot);
    }
}

size_t slotTablesSlots(const struct slotTables *st) {
    size_t n = 0;
    for (int slot = 0; (slot = slotTablesNext(st, slot, SLOTS_ALL)) < KEY_SLOTS; slot++) {
        n += hashtableSlots(&st->tables[slot]);
    }
    return n;
}

size_t slotTablesMemory(const struct slotTables *st) {
    size_t n = sizeof *st;
    for (int slot = 0; (slot = slotTablesNext(st, slot, SLOTS_ALL)) < KEY_SLOTS; slot++) {
        n += hashtableMemory(&st->tables[slot]);
    }
    return n;
}

void slotTablesVerify(struct slotTables *st) {
    const struct hiddenSlots *h = st->hidden;
    uint64_t all = 0, hidden = 0;
    for (int group = 0; group < SLOT_GROUPS; group++) {
        uint64_t used = 0, group_hidden = 0;
        for (int slot = group * SLOT_GROUP; slot < (group + 1) * SLOT_GROUP; slot++) {
            if (st->tables[slot].type) hashtableVerify(&st->tables[slot]);
            serverAssert(st->descriptors[slot] == hashtableDescriptor(&st->tables[slot]));
            used += hashtableSize(&st->tables[slot]);
            group_hidden += hashtableSize(&st->tables[slot]) - slotTablesShownInSlot(st, slot);
        }
        serverAssert(used == st->group_used[group] && (!h || group_hidden == h->group_keys[group]));
        all += used;
        hidden += group_hidden;
    }
    serverAssert(all == st->used && (!h || hidden == h->keys));
}
