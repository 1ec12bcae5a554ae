/* SPDX-License-Identifier: BSD-3-Clause */
/* keyspace_test.c - keyspaces against a naive model: their keys and expiries, the calls of types' hooks,
 * SCAN's guarantee, and contents that are exchanged and released. Everything runs with one pair of
 * tables and with one table for each slot, where half of the keys are in one slot and the others in
 * slots of their own. */
#include "data/keyspace/keyspace.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "base/model_ops.h"
#include "base/zmalloc.h"
#include "data/lifetime/lazyfree.h"
#include "data/type.h"

#define NAMES   300 /* number of possible keys */
#define SPACES  2
#define TYPE_ID 3

/* ---- A type that counts its values: in `kept`, while there are any ---- */

static int freed;

static void typeFree(struct value v) {
    zfree(v.ptr);
    freed++;
}
static size_t typeEffort(const struct object *o) {
    (void)o;
    return 1;
}
static void keyspaceTestTypeOnAdded(struct keyspace *ks, const struct object *o) {
    (void)o;
    if (!ks->kept[TYPE_ID]) ks->kept[TYPE_ID] = zcalloc(1, sizeof(size_t));
    (*(size_t *)ks->kept[TYPE_ID])++;
}
static void keyspaceTestTypeOnRemoved(struct keyspace *ks, const struct object *o) {
    (void)o;
    assert_non_null(ks->kept[TYPE_ID]);
    assert_true((*(size_t *)ks->kept[TYPE_ID])-- > 0);
}
static void typeOnRemovedAll(struct keyspace *ks) {
    zfree(ks->kept[TYPE_ID]);
    ks->kept[TYPE_ID] = NULL;
}
static size_t typeCount(const struct keyspace *ks, bool overdue) {
    return ks->kept[TYPE_ID] && !overdue ? *(size_t *)ks->kept[TYPE_ID] : 0;
}
static const struct objectType counting = {.id = TYPE_ID,
                                           .name = "counting",
                                           .free = typeFree,
                                           .freeEffort = typeEffort,
                                           .onAdded = keyspaceTestTypeOnAdded,
                                           .onRemoved = keyspaceTestTypeOnRemoved,
                                           .onAllRemoved = typeOnRemovedAll,
                                           .volatileCount = typeCount};

/* ---- The model ---- */

static char names[NAMES][16];
static unsigned rng = 7;

static struct keyspaceModelKey {
    struct object *o; /* NULL: absent */
    int64_t expire_ms;
    int value;
} model[SPACES][NAMES];

static unsigned keyspaceTestRandomBelow(unsigned n) {
    rng = rng * 1103515245 + 12345;
    return (rng >> 8) % n;
}

static struct str keyspaceTestName(int i) {
    return strOf(names[i]);
}
static uint64_t keyspaceTestHashOf(int i) {
    return keyHash(keyspaceTestName(i));
}
static int keyspaceTestIndexOf(const struct object *o) {
    struct str key = objectKey(o);
    int i = 0;
    for (size_t at = 4; at < key.len && key.ptr[at] != '{'; at++) i = i * 10 + key.ptr[at] - '0';
    return i;
}
static unsigned expire_percent = 33;
static int64_t randomExpire(void) {
    return keyspaceTestRandomBelow(100) >= expire_percent ? OBJ_NO_EXPIRE
                                                          : (int64_t)keyspaceTestRandomBelow(1000);
}

/* Every second value is behind a pointer. */
static struct value makeValue(int n, char *text, size_t size) {
    if (n % 2) {
        int *p = zmalloc(sizeof *p);
        *p = n;
        return valuePtr(TYPE_ID, 0, p);
    }
    snprintf(text, size, "%d", n);
    return valueEmbed(TYPE_ID, 0, strOf(text));
}
static int keyspaceTestValueOf(const struct object *o) {
    if (objectHasPtr(o)) return *(int *)objectPtr(o);
    char text[32] = {0};
    struct str s = objectEmbedded(o);
    memcpy(text, s.ptr, s.len);
    return atoi(text);
}

static int slots[NAMES]; /* of the keys in `names` */

/* Each slot has exactly the keys that belong to it. */
static void compareSlots(struct keyspace *ks, const struct keyspaceModelKey *m) {
    static size_t sizes[KEY_SLOTS];
    memset(sizes, 0, sizeof sizes);
    for (int i = 0; i < NAMES; i++) sizes[slots[i]] += keys_by_slot && m[i].o;
    int next = keyspaceNextSlot(ks, 0);
    for (int slot = 0; slot < KEY_SLOTS; slot++) {
        assert_int_equal(keyspaceSlotSize(ks, slot), sizes[slot]);
        if (!sizes[slot] || keyspaceHides(ks, slot)) continue;
        assert_int_equal(next, slot);
        next = keyspaceNextSlot(ks, slot + 1);
    }
    assert_int_equal(next, KEY_SLOTS);
}

static void keyspaceTestCompare(struct keyspace *ks, const struct keyspaceModelKey *m) {
    size_t size = 0, expires = 0, shown = 0, shown_expires = 0;
    for (int i = 0; i < NAMES; i++) {
        struct object *o = keyspaceFind(ks, keyspaceTestName(i), keyspaceTestHashOf(i));
        assert_ptr_equal(o, m[i].o);
        if (!o) continue;
        size++;
        expires += m[i].expire_ms != OBJ_NO_EXPIRE;
        shown += !keyspaceHides(ks, slots[i]);
        shown_expires += !keyspaceHides(ks, slots[i]) && m[i].expire_ms != OBJ_NO_EXPIRE;
        assert_true(objectExpire(o) == m[i].expire_ms);
        assert_int_equal(keyspaceTestValueOf(o), m[i].value);
        assert_non_null(keyspacePeek(ks, keyspaceTestHashOf(i)));
    }
    assert_int_equal(keyspaceSize(ks), size);
    assert_int_equal(keyspaceExpiresSize(ks), expires);
    assert_int_equal(keyspaceShownSize(ks), shown);
    assert_int_equal(keyspaceShownExpires(ks), shown_expires);
    assert_int_equal(keyspaceVolatileCount(ks, false), size);
    assert_int_equal(keyspaceVolatileCount(ks, true), 0);
    assert_true(!size || keyspaceMemory(ks).keys >= size * 6 /* bytes of a slot */);
    compareSlots(ks, m);
    keyspaceVerify(ks);
}

static void keyspaceTestModelAdd(struct keyspace *ks, struct keyspaceModelKey *m, int i) {
    char text[32];
    m[i].value = (int)keyspaceTestRandomBelow(100000);
    m[i].expire_ms = randomExpire();
    m[i].o = objectCreate(keyspaceTestName(i), m[i].expire_ms, makeValue(m[i].value, text, sizeof text));
    keyspaceAdd(ks, m[i].o, keyspaceTestHashOf(i));
}

static void modelReplace(struct keyspace *ks, struct keyspaceModelKey *m, int i) {
    char text[32];
    struct value old = objectValue(m[i].o);
    m[i].value = (int)keyspaceTestRandomBelow(100000);
    m[i].expire_ms = randomExpire();
    keyspaceNotifyRemoved(ks, m[i].o);
    struct value v = makeValue(m[i].value, text, sizeof text);
    m[i].o = keyspaceReplace(ks, m[i].o, v, m[i].expire_ms, keyspaceTestHashOf(i));
    keyspaceNotifyAdded(ks, m[i].o);
    if (!old.embedded) typeFree(old);
}

static void keyspaceTestModelRemove(struct keyspace *ks, struct keyspaceModelKey *m, int i) {
    if (keyspaceTestRandomBelow(2))
        keyspaceRemove(ks, m[i].o, keyspaceTestHashOf(i));
    else
        assert_ptr_equal(keyspacePop(ks, keyspaceTestName(i), keyspaceTestHashOf(i)), m[i].o);
    objectFree(m[i].o);
    m[i].o = NULL;
}

static void keyspaceTestChange(struct keyspace *ks, struct keyspaceModelKey *m, int i) {
    if (!m[i].o)
        keyspaceTestModelAdd(ks, m, i);
    else if (keyspaceTestRandomBelow(2))
        modelReplace(ks, m, i);
    else
        keyspaceTestModelRemove(ks, m, i);
}

/* A keyspace that was filled beside another takes its place. */
static void exchangeAll(struct keyspace *ks, struct keyspaceModelKey *m) {
    struct keyspace *other = keyspaceCreate();
    struct keyspaceModelKey fresh[NAMES] = {0};
    for (int i = 0; i < NAMES; i += 3) keyspaceTestModelAdd(other, fresh, i);
    keyspaceExchange(ks, other);
    keyspaceTestCompare(other, m);
    memcpy(m, fresh, sizeof fresh);
    keyspaceTestCompare(ks, m);
    uint64_t had = keyspaceSize(other), before = lazyfreedObjects();
    bool async = keyspaceTestRandomBelow(2);
    keyspaceRelease(other, async);
    assert_int_equal(lazyfreedObjects() - before, async ? had : 0);
}

static void keyspaceTestEmptyAll(struct keyspace *ks, struct keyspaceModelKey *m) {
    size_t n = keyspaceSize(ks);
    assert_int_equal(keyspaceEmpty(ks, keyspaceTestRandomBelow(2)), n);
    assert_null(keyspaceAnyKey(ks, false));
    memset(m, 0, NAMES * sizeof *m);
    keyspaceTestCompare(ks, m);
}

/* Half of the keys are in slots[1]; the others have slots of their own. */
static void hideOrShow(struct keyspace *ks) {
    int slot = slots[keyspaceTestRandomBelow(4) ? keyspaceTestRandomBelow(NAMES) : 1];
    if (keys_by_slot) keyspaceHideSlot(ks, slot, !keyspaceHides(ks, slot));
}

static int called;

static void noteDropped(void *priv, const struct object *o) {
    struct keyspace *ks = priv;
    assert_null(keyspaceFind(ks, objectKey(o), keyHash(objectKey(o))));
    called++;
}

/* Drops the slot with many keys, or another one, which may have none. */
static void dropSlot(struct keyspace *ks, struct keyspaceModelKey *m) {
    int slot = slots[keyspaceTestRandomBelow(2) ? 1 : keyspaceTestRandomBelow(NAMES)];
    uint64_t n = keyspaceSlotSize(ks, slot), before = lazyfreedObjects();
    bool async = keyspaceTestRandomBelow(2), calls_hook = keyspaceTestRandomBelow(2);
    called = 0;
    assert_int_equal(keyspaceDropSlot(ks, slot, async, calls_hook ? noteDropped : NULL, ks), n);
    assert_int_equal(called, calls_hook ? n : 0);
    assert_int_equal(lazyfreedObjects() - before, async ? n : 0);
    for (int i = 0; keys_by_slot && i < NAMES; i++) {
        if (slots[i] == slot) m[i].o = NULL;
    }
    keyspaceTestCompare(ks, m);
}

static struct keyspace spaces[SPACES];
static uint64_t seen_states[3];

static void swapBoth(void) {
    struct keyspaceModelKey was[NAMES];
    keyspaceExchange(&spaces[0], &spaces[1]);
    memcpy(was, model[0], sizeof was);
    memcpy(model[0], model[1], sizeof was);
    memcpy(model[1], was, sizeof was);
}

static void randomOperations(void **state) {
    (void)state;
    uint64_t ops = modelShare(200000);
    for (int s = 0; s < SPACES; s++) keyspaceInit(&spaces[s]);
    for (uint64_t n = 0; n < ops; n++) {
        unsigned s = keyspaceTestRandomBelow(SPACES), what = keyspaceTestRandomBelow(20000);
        if (what == 0)
            keyspaceTestEmptyAll(&spaces[s], model[s]);
        else if (what == 1)
            exchangeAll(&spaces[s], model[s]);
        else if (what < 10)
            swapBoth();
        else if (what < 30)
            dropSlot(&spaces[s], model[s]);
        else if (what < 50)
            hideOrShow(&spaces[s]);
        else
            keyspaceTestChange(&spaces[s], model[s], (int)keyspaceTestRandomBelow(NAMES));
        if (n % 5000 == 0) expire_percent = (unsigned[]){0, 10, 33, 90, 100}[keyspaceTestRandomBelow(5)];
        seen_states[spaces[s].expires.state]++;
        if (n % 500 == 0 || spaces[s].expires.state == VOLATILE_MAKING)
            keyspaceTestCompare(&spaces[s], model[s]);
    }
    for (int s = 0; s < SPACES; s++) {
        exchangeAll(&spaces[s], model[s]);
        keyspaceTestEmptyAll(&spaces[s], model[s]);
    }
    for (int i = 0; i < 3; i++) assert_true(ops < 100000 || seen_states[i] > 50);
    expire_percent = 33;
}

/* ---- Scans ---- */

static bool passed[NAMES];

static void notePassed(void *priv, void *entry) {
    (void)priv;
    passed[keyspaceTestIndexOf(entry)] = true;
}

/* Adds the first third, and in every second round all the rest; marks nothing as passed. */
static void fillForScan(struct keyspace *ks, struct keyspaceModelKey *m, int round) {
    for (int i = 0; i < NAMES; i++) {
        if (!m[i].o && (i < NAMES / 3 || round % 2)) keyspaceTestModelAdd(ks, m, i);
    }
    memset(passed, 0, sizeof passed);
}

/* The first third stays; the rest comes and goes during the scan, and the table changes its size. */
static void scanPassesWhatStays(void **state) {
    (void)state;
    struct keyspace *ks = keyspaceCreate();
    struct keyspaceModelKey *m = model[0];
    for (int round = 0; round < 50; round++) {
        fillForScan(ks, m, round);
        uint64_t cursor = 0;
        do {
            cursor = keyspaceScan(ks, cursor, SLOTS_SHOWN, notePassed, NULL);
            assert_true(cursor < 1ULL << 53);
            for (int k = 0; k < 5; k++)
                keyspaceTestChange(ks, m, NAMES / 3 + (int)keyspaceTestRandomBelow(NAMES - NAMES / 3));
        } while (cursor);
        for (int i = 0; i < NAMES / 3; i++) assert_true(passed[i]);
    }
    keyspaceTestCompare(ks, m);
    keyspaceRelease(ks, false);
    memset(m, 0, NAMES * sizeof *m);
}

static void *moveAlways(void *priv, void *ptr) {
    (*(int *)priv)++;
    size_t size = zmallocSize(ptr);
    void *now = zmalloc(size);
    memcpy(now, ptr, size);
    zfree(ptr);
    return now;
}

/* Looks for keys with an expiry when this percentage has one. */
static void lookForExpires(unsigned percent, enum volatileState expected) {
    struct keyspace *ks = keyspaceCreate();
    struct keyspaceModelKey *m = model[0];
    expire_percent = percent;
    for (int i = 0; i < NAMES; i++) keyspaceTestModelAdd(ks, m, i);
    assert_int_equal(ks->expires.state, expected);
    for (int round = 0; round < 3; round++) {
        memset(passed, 0, sizeof passed);
        while (keyspaceScanExpires(ks, notePassed, NULL)) {
        }
        for (int i = 0; i < NAMES; i++) assert_int_equal(passed[i], m[i].expire_ms != OBJ_NO_EXPIRE);
    }
    struct object *sample[16];
    size_t n = keyspaceSample(ks, true, sample, 16);
    assert_int_equal(n, 16);
    for (size_t i = 0; i < n; i++) {
        assert_true(objectHasExpire(sample[i]));
        for (size_t j = 0; j < i; j++) assert_ptr_not_equal(sample[i], sample[j]);
    }
    assert_true(objectHasExpire(keyspaceAnyKey(ks, true)));
    keyspaceRelease(ks, true);
    memset(m, 0, NAMES * sizeof *m);
    expire_percent = 33;
}

static void scanOfExpiresPassesThemAll(void **state) {
    (void)state;
    lookForExpires(33, VOLATILE_TABLE);
    lookForExpires(90, VOLATILE_NONE);
    lookForExpires(100, VOLATILE_NONE);
}

/* When most keys had an expiry and few have one now, the table is built, a piece with each change, and idle
 * time helps. Keys that move in memory meanwhile are found. */
static void tableOfExpiresComesBack(void **state) {
    (void)state;
    for (int idle = 0; idle < 2; idle++) {
        struct keyspace *ks = keyspaceCreate();
        struct keyspaceModelKey *m = model[0];
        int changes = 0, moved = 0;
        expire_percent = 100;
        for (int i = 0; i < NAMES; i++) keyspaceTestModelAdd(ks, m, i);
        assert_int_equal(ks->expires.state, VOLATILE_NONE);
        expire_percent = 0;
        for (int i = 0; ks->expires.state == VOLATILE_NONE; i++) modelReplace(ks, m, i);
        assert_in_range(keyspaceExpiresSize(ks), NAMES / 5, NAMES / 4);
        for (; ks->expires.state == VOLATILE_MAKING; changes++) {
            for (int i = 0; i < NAMES; i += 7)
                if (m[i].o) m[i].o = keyspaceMoveObject(ks, m[i].o, moveAlways, &moved);
            keyspaceTestCompare(ks, m);
            assert_true(objectHasExpire(keyspaceAnyKey(ks, true)));
            if (idle)
                keyspaceResize(ks, 1000);
            else if (m[0].o)
                keyspaceTestModelRemove(ks, m, 0);
            else
                keyspaceTestModelAdd(ks, m, 0);
        }
        assert_int_equal(ks->expires.state, VOLATILE_TABLE);
        assert_in_range(changes, 1, idle ? 1 : NAMES / (keys_by_slot ? 4 : 10)); /* slots with one key each */
        assert_true(moved > 0);
        keyspaceTestCompare(ks, m);
        keyspaceRelease(ks, false);
        memset(m, 0, NAMES * sizeof *m);
        expire_percent = 33;
    }
}

static void iteratorAllowsDeleting(void **state) {
    (void)state;
    struct keyspace *ks = keyspaceCreate();
    struct keyspaceModelKey *m = model[0];
    for (int i = 0; i < NAMES; i++) keyspaceTestModelAdd(ks, m, i);
    struct keyspaceIterator it;
    struct object *o;
    int n = 0;
    keyspaceIteratorInit(&it, ks, SLOTS_SHOWN);
    while ((o = keyspaceIteratorNext(&it))) {
        keyspaceTestModelRemove(ks, m, keyspaceTestIndexOf(o));
        n++;
    }
    keyspaceIteratorStop(&it);
    assert_int_equal(n, NAMES);
    keyspaceTestCompare(ks, m);
    keyspaceRelease(ks, false);
}

/* ---- Slots ---- */

static void fillAndEmptySlots(void **state) {
    (void)state;
    struct keyspace *ks = keyspaceCreate();
    struct keyspaceModelKey *m = model[0];
    struct keyspaceIterator it;
    struct object *o;
    keyspaceIteratorInitSlots(&it, ks, slots[1], slots[1]);
    assert_null(keyspaceIteratorNext(&it));
    keyspaceIteratorStop(&it);
    for (int i = 0; i < NAMES; i++) keyspaceTestModelAdd(ks, m, i);
    size_t n = 0, had = keyspaceSlotSize(ks, slots[1]);
    keyspaceIteratorInitSlots(&it, ks, slots[1], slots[1]);
    for (; (o = keyspaceIteratorNext(&it)); n++) {
        assert_int_equal(keySlot(objectKey(o)), slots[1]);
        keyspaceTestModelRemove(ks, m, keyspaceTestIndexOf(o));
    }
    keyspaceIteratorStop(&it);
    assert_true(n >= NAMES / 2 && n == had);
    assert_int_equal(keyspaceScanSlot(ks, slots[1], 0, notePassed, NULL), 0);
    keyspaceTestCompare(ks, m);
    keyspaceRelease(ks, false);
    memset(m, 0, NAMES * sizeof *m);
}

/* Random keys and scans return only keys of shown slots. */
static void mayBeSeen(void *priv, void *entry) {
    struct keyspace *ks = priv;
    int i = keyspaceTestIndexOf(entry);
    assert_false(keyspaceHides(ks, slots[i]));
    passed[i] = true;
}

static void lookAround(struct keyspace *ks, struct keyspaceModelKey *m) {
    struct object *sample[16];
    struct keyspaceIterator it;
    struct object *o;
    for (int k = 0; k < 50; k++) {
        bool volatiles = k % 2;
        size_t n = keyspaceSample(ks, volatiles, sample, 16);
        size_t all = volatiles ? keyspaceShownExpires(ks) : keyspaceShownSize(ks);
        assert_true(n > 0 || !all);
        for (size_t i = 0; i < n; i++) mayBeSeen(ks, sample[i]);
        o = keyspaceAnyKey(ks, volatiles);
        assert_true((o != NULL) == (all > 0));
        if (o) mayBeSeen(ks, o);
    }
    memset(passed, 0, sizeof passed);
    while (keyspaceScanExpires(ks, mayBeSeen, ks)) {
    }
    for (int i = 0; i < NAMES; i++)
        assert_int_equal(passed[i], !keyspaceHides(ks, slots[i]) && m[i].expire_ms != OBJ_NO_EXPIRE);
    for (uint64_t cursor = 0; (cursor = keyspaceScan(ks, cursor, SLOTS_SHOWN, mayBeSeen, ks));) continue;
    for (int i = 0; i < NAMES; i++) assert_int_equal(passed[i], !keyspaceHides(ks, slots[i]));
    for (enum slotsSeen seen = SLOTS_SHOWN; seen <= SLOTS_ALL; seen++) {
        size_t n = 0;
        keyspaceIteratorInit(&it, ks, seen);
        for (; (o = keyspaceIteratorNext(&it)); n++) {
            if (seen == SLOTS_SHOWN) mayBeSeen(ks, o);
        }
        keyspaceIteratorStop(&it);
        assert_int_equal(n, seen == SLOTS_ALL ? keyspaceSize(ks) : keyspaceShownSize(ks));
    }
}

/* Hides from none to all slots and shows them again; the share of expiring keys decides how these are
 * searched. */
static void keyspaceTestHiddenSlots(void **state) {
    (void)state;
    for (int round = 0; round < 3; round++) {
        struct keyspace *ks = keyspaceCreate();
        struct keyspaceModelKey *m = model[0];
        expire_percent = (unsigned[]){10, 33, 100}[round];
        keyspaceHideSlot(ks, slots[1], true);
        for (int i = 0; i < NAMES; i++) keyspaceTestModelAdd(ks, m, i);
        for (bool hide = true;; hide = false) {
            for (int i = 0; i < NAMES; i++) {
                keyspaceHideSlot(ks, slots[i], hide);
                if (i % 30 && i < NAMES - 2) continue;
                keyspaceTestCompare(ks, m);
                lookAround(ks, m);
            }
            assert_int_equal(keyspaceShownSize(ks), hide ? 0 : NAMES);
            if (!hide) break;
        }
        assert_null(ks->hidden);
        keyspaceHideSlot(ks, slots[1], true);
        keyspaceRelease(ks, round % 2);
        memset(m, 0, NAMES * sizeof *m);
    }
    expire_percent = 33;
}

/* A scan of a slot passes the keys that stay in it, and no others, while others come and go. */
static void scanOfSlot(void **state) {
    (void)state;
    struct keyspace *ks = keyspaceCreate();
    struct keyspaceModelKey *m = model[0];
    for (int round = 0; round < 50; round++) {
        fillForScan(ks, m, round);
        uint64_t cursor = 0;
        do {
            cursor = keyspaceScanSlot(ks, slots[1], cursor, notePassed, NULL);
            for (int k = 0; k < 5; k++)
                keyspaceTestChange(ks, m, NAMES / 3 + (int)keyspaceTestRandomBelow(NAMES - NAMES / 3));
        } while (cursor);
        for (int i = 0; i < NAMES; i++) {
            if (i < NAMES / 3 || slots[i] != slots[1]) assert_int_equal(passed[i], slots[i] == slots[1]);
        }
    }
    keyspaceRelease(ks, false);
    memset(m, 0, NAMES * sizeof *m);
}

/* The keys of a whole keyspace come in the order of their slots, by iterator and by scan; a scan passes each
 * once when nothing changes. */
static int last_slot, passes;

static void noteOrder(void *priv, void *entry) {
    (void)priv;
    int slot = keySlot(objectKey(entry));
    assert_true(slot >= last_slot);
    last_slot = slot;
    passes++;
}

static void orderOfSlots(void **state) {
    (void)state;
    struct keyspace *ks = keyspaceCreate();
    struct keyspaceModelKey *m = model[0];
    for (int i = 0; i < NAMES; i++) keyspaceTestModelAdd(ks, m, i);
    struct keyspaceIterator it;
    struct object *o;
    last_slot = passes = 0;
    keyspaceIteratorInit(&it, ks, SLOTS_SHOWN);
    while ((o = keyspaceIteratorNext(&it))) noteOrder(NULL, o);
    keyspaceIteratorStop(&it);
    assert_int_equal(passes, NAMES);
    uint64_t cursor = last_slot = passes = 0;
    while ((cursor = keyspaceScan(ks, cursor, SLOTS_SHOWN, noteOrder, NULL))) {
    }
    assert_int_equal(passes, NAMES);
    keyspaceRelease(ks, false);
    memset(m, 0, NAMES * sizeof *m);
}

/* Any number is a harmless cursor. */
static void hostileCursors(void **state) {
    (void)state;
    struct keyspace *ks = keyspaceCreate();
    struct keyspaceModelKey *m = model[0];
    for (int i = 0; i < NAMES; i++) keyspaceTestModelAdd(ks, m, i);
    for (int i = 0; i < 200000; i++) {
        uint64_t cursor = ((uint64_t)keyspaceTestRandomBelow(1 << 22) << 32 |
                           (uint64_t)keyspaceTestRandomBelow(1 << 16) << 16) ^
                          keyspaceTestRandomBelow(1 << 20);
        cursor >>= keyspaceTestRandomBelow(54);
        assert_true(keyspaceScan(ks, cursor, SLOTS_SHOWN, notePassed, NULL) < 1ULL << 53);
        keyspaceScanSlot(ks, slots[1], cursor, notePassed, NULL);
    }
    assert_int_equal(keyspaceScan(ks, UINT64_MAX, SLOTS_SHOWN, notePassed, NULL), 0);
    keyspaceRelease(ks, false);
    memset(m, 0, NAMES * sizeof *m);
}

/* Each key is equally likely, whatever the size of its slot. */
static void anyKeyIsFair(void **state) {
    (void)state;
    struct keyspace *ks = keyspaceCreate();
    struct keyspaceModelKey *m = model[0];
    int draws = 60000, of_one_slot = 0, least = draws;
    static int times[NAMES];
    memset(times, 0, sizeof times);
    for (int i = 0; i < NAMES; i++) keyspaceTestModelAdd(ks, m, i);
    for (int i = 0; i < draws; i++) times[keyspaceTestIndexOf(keyspaceAnyKey(ks, false))]++;
    for (int i = 0; i < NAMES; i++) {
        if (times[i] < least) least = times[i];
        if (slots[i] == slots[1]) of_one_slot += times[i];
    }
    assert_true(least > draws / NAMES / 2);
    assert_true(of_one_slot > draws * 45 / 100 && of_one_slot < draws * 55 / 100);
    keyspaceRelease(ks, false);
    memset(m, 0, NAMES * sizeof *m);
}

static void estimateOfTtl(void **state) {
    (void)state;
    struct keyspace *ks = keyspaceCreate();
    keyspaceNoteTtl(ks, 1000);
    assert_int_equal(ks->avg_ttl_ms, 1000);
    keyspaceNoteTtl(ks, 6000);
    assert_int_equal(ks->avg_ttl_ms, 1100);
    keyspaceNoteTtl(ks, 0);
    assert_int_equal(ks->avg_ttl_ms, 0);
    keyspaceRelease(ks, false);
}

/* Objects that were moved in memory are found at their new address. */
static void objectsMove(void **state) {
    (void)state;
    struct keyspace *ks = keyspaceCreate();
    struct keyspaceModelKey *m = model[0];
    int moved = 0;
    for (int i = 0; i < NAMES; i++) keyspaceTestModelAdd(ks, m, i);
    for (int i = 0; i < NAMES; i++) m[i].o = keyspaceMoveObject(ks, m[i].o, moveAlways, &moved);
    assert_int_equal(moved, NAMES);
    keyspaceTestCompare(ks, m);
    keyspaceRelease(ks, false);
    memset(m, 0, NAMES * sizeof *m);
}

static void keyspaceTestNothingLeaks(void **state) {
    (void)state;
    size_t before = zmallocUsedMemory();
    randomOperations(NULL);
    scanPassesWhatStays(NULL);
    iteratorAllowsDeleting(NULL);
    objectsMove(NULL);
    assert_int_equal(zmallocUsedMemory(), before);
}

int main(void) {
    objectTypeRegister(&counting);
    for (int i = 0; i < NAMES; i++) {
        snprintf(names[i], sizeof names[i], i % 2 ? "key:%d{one}" : "key:%d", i);
        slots[i] = keySlot(keyspaceTestName(i));
    }
    const struct CMUnitTest of_slots[] = {
        cmocka_unit_test(fillAndEmptySlots),
        cmocka_unit_test(keyspaceTestHiddenSlots),
        cmocka_unit_test(scanOfSlot),
        cmocka_unit_test(orderOfSlots),
    };
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(randomOperations),
        cmocka_unit_test(scanPassesWhatStays),
        cmocka_unit_test(scanOfExpiresPassesThemAll),
        cmocka_unit_test(tableOfExpiresComesBack),
        cmocka_unit_test(iteratorAllowsDeleting),
        cmocka_unit_test(hostileCursors),
        cmocka_unit_test(anyKeyIsFair),
        cmocka_unit_test(estimateOfTtl),
        cmocka_unit_test(objectsMove),
        cmocka_unit_test(keyspaceTestNothingLeaks),
    };
    int failed = cmocka_run_group_tests_name("one pair of tables", tests, NULL, NULL);
    keys_by_slot = true;
    failed += cmocka_run_group_tests_name("tables by slot", tests, NULL, NULL);
    return failed + cmocka_run_group_tests_name("slots", of_slots, NULL, NULL);
}
