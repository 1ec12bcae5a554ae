/* SPDX-License-Identifier: BSD-3-Clause */
/* hashtable_test.c - tests of hashtable.c against a naive model, and with --bench a micro-benchmark.
 *
 * The model is an array: model[id] is the entry with key id, or NULL. Keys are the 8 bytes of id, so that a
 * type's hash function can shape the distribution. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <cmocka.h>

#include "base/model_ops.h"
#include "base/random.h"
#include "base/zmalloc.h"
#include "ds/hashtable_private.h"

#define MAX_IDS 20000
#define ADDED   1000000 /* `seen` of an item that was added during the walk */

struct item {
    uint64_t id;
    uint32_t seen; /* counts visits by scans and iterators */
};

static struct item *model[MAX_IDS];
static size_t model_size, freed;
static uint32_t unit; /* unit of segments; 0 is the normal one */

static struct str itemKey(const void *entry) {
    return strN((const char *)&((const struct item *)entry)->id, sizeof(uint64_t));
}
static void itemFree(void *entry) {
    freed++;
    zfree(entry);
}
static uint64_t hashtableTestIdOf(struct str key) {
    uint64_t id;
    memcpy(&id, key.ptr, sizeof(id));
    return id;
}
/* Returns only five different hashes. */
static uint64_t fewHash(struct str key) {
    uint64_t five = hashtableTestIdOf(key) % 5;
    return hashBytes(&five, sizeof(five));
}
/* All hashes share their top 16 bits, so all entries have the same home near the end of any small table. */
static uint64_t topHash(struct str key) {
    return hashBytes(key.ptr, key.len) | 0xffff000000000000ULL;
}
/* Hashes keep only the bits that give the home among a hundred buckets, so nearly all tags are equal. */
static uint64_t oneTagHash(struct str key) {
    return hashBytes(key.ptr, key.len) >> 57 << 57;
}
/* Positions in the order of ids. */
static uint64_t orderedHash(struct str key) {
    return hashtableTestIdOf(key) * (UINT64_MAX / MAX_IDS);
}

static const struct hashtableType good_type = {.entryKey = itemKey, .entryFree = itemFree};
static const struct hashtableType few_type = {.entryKey = itemKey, .hash = fewHash, .entryFree = itemFree};
static const struct hashtableType top_type = {
    .entryKey = itemKey, .hash = topHash, .keyEqual = strEq, .entryFree = itemFree};
static const struct hashtableType tag_type = {.entryKey = itemKey, .hash = oneTagHash, .entryFree = itemFree};
static const struct hashtableType ordered_type = {
    .entryKey = itemKey, .hash = orderedHash, .entryFree = itemFree};

static struct str keyOfId(const uint64_t *id) {
    return strN((const char *)id, sizeof(*id));
}
static struct item *newItem(uint64_t id) {
    struct item *item = zcalloc(1, sizeof(*item));
    item->id = id;
    return item;
}
static void hashtableTestModelAdd(hashtable *ht, uint64_t id) {
    assert_null(model[id]);
    model[id] = newItem(id);
    model_size++;
    assert_true(hashtableAdd(ht, model[id]));
}
static void modelDelete(hashtable *ht, uint64_t id) {
    size_t before = freed;
    assert_int_equal(hashtableDelete(ht, keyOfId(&id)), model[id] != NULL);
    assert_int_equal(freed - before, model[id] != NULL);
    model_size -= model[id] != NULL;
    model[id] = NULL;
}
static void hashtableTestFill(hashtable *ht, uint64_t from, uint64_t to) {
    for (uint64_t id = from; id < to; id++) hashtableTestModelAdd(ht, id);
}
static void startModel(hashtable *ht, const struct hashtableType *type) {
    memset(model, 0, sizeof(model));
    model_size = 0;
    hashtableInit(ht, type);
    if (type->hash) ht->salt = 0; /* bad hashes have to become bad positions */
}
static void hashtableTestCheck(hashtable *ht) {
    hashtableVerify(ht);
    assert_int_equal(hashtableSize(ht), model_size);
}
static void hashtableTestCheckAll(hashtable *ht, uint64_t ids) {
    hashtableTestCheck(ht);
    for (uint64_t id = 0; id < ids; id++) assert_ptr_equal(hashtableFind(ht, keyOfId(&id)), model[id]);
}
static void endModel(hashtable *ht) {
    size_t before = freed;
    hashtableDestroy(ht);
    assert_int_equal(freed - before, model_size);
    assert_int_equal(hashtableMemory(ht), 0);
}

/* --- Buckets --- */

static void setOf(slotSet set, bool *is) {
    for (unsigned i = 0; i < SLOTS; i++) is[i] = false;
    for (; set; set &= set - 1) {
        assert_true(htSlotOfBit(set) < SLOTS && !is[htSlotOfBit(set)]);
        is[htSlotOfBit(set)] = true;
    }
}

/* Finds any tag among any others; bytes after the tags are compared, too, but ignored. */
static void testTags(void **state) {
    (void)state;
    for (size_t round = 0; round < modelShare(100000); round++) {
        bucket b;
        bool equal[SLOTS], used[SLOTS], empty[SLOTS];
        unsigned kinds = 1 + (unsigned)randomBelow(randomBelow(2) ? 3 : 255);
        uint8_t tag = (uint8_t)randomBelow(kinds + 1);
        for (unsigned i = 0; i < sizeof(b); i++) ((uint8_t *)&b)[i] = (uint8_t)randomBelow(kinds + 1);
        setOf(htMatchTag(&b, tag), equal);
        setOf(htUsedSlots(&b), used);
        setOf(htEmptySlots(&b), empty);
        for (unsigned i = 0; i < SLOTS; i++) {
            assert_int_equal(equal[i], b.tags[i] == tag);
            assert_int_equal(htMatchTagPlain(&b, tag) >> i & 1, b.tags[i] == tag);
            assert_int_equal(used[i], b.tags[i] != 0);
            assert_int_equal(empty[i], b.tags[i] == 0);
        }
        assert_int_equal(htMatchTagPlain(&b, tag) >> SLOTS, 0);
        assert_int_equal(htBucketIsEmpty(&b), !htUsedSlots(&b));
    }
}

/* Slots do not overlap each other, tags or overflow. */
static void testSlots(void **state) {
    (void)state;
    bucket b;
    uint64_t words[SLOTS] = {0};
    uint8_t tags[SLOTS] = {0};
    htClearBucket(&b);
    b.overflow = 0xa5;
    for (unsigned i = 0; i < SLOTS; i++) hashtableRefSetWord(&b.slots[i], 0);
    for (size_t round = 0; round < modelShare(10000); round++) {
        unsigned slot = (unsigned)randomBelow(SLOTS);
        uint64_t address = randomU64() >> 16 & ~7ULL;
        if (randomBelow(3) == 0) {
            hashtableRefSet(&b.slots[slot], (void *)address);
            words[slot] = address | (words[slot] & 7);
        } else {
            words[slot] = address | randomBelow(8);
            tags[slot] = (uint8_t)randomBelow(256);
            htSetSlot(&b, slot, tags[slot], words[slot]);
        }
        for (unsigned i = 0; i < SLOTS; i++) {
            assert_int_equal(htWordAt(&b, i), words[i]);
            assert_ptr_equal(htEntryAt(&b, i), (void *)(words[i] & ~7ULL));
            assert_int_equal(b.tags[i], tags[i]);
        }
        assert_int_equal(b.overflow, 0xa5);
    }
}

/* In each bucket near its home, the kept bits of a position give all bits that a segment uses; and scans
 * find the end of each home. */
static void testSubs(void **state) {
    (void)state;
    for (uint32_t n = 1; n <= 1 << 20; n = n < 300 ? n + 1 : n * 3 / 2) {
        struct hashtableSegment s = {.buckets = n, .fine = (uint8_t)htFineFor(n)};
        uint32_t subs = 1U << s.fine, near = htNearOf(&s) < n ? htNearOf(&s) : n, home = 0;
        assert_in_range(s.fine, FINE_LEAST, FINE_MOST);
        assert_true(near >= (n < 2 ? 1 : 2));
        uint32_t step = 1 + subs / ((uint32_t)modelShare(3000) + 1);
        for (uint32_t i = 0; i < subs; i += step) {
            uint32_t sub = htSubOf(&s, (uint64_t)i << (64 - s.fine)), by = (uint32_t)randomBelow(near);
            assert_true(sub < subs && htTagOf(sub) && sub - i <= 1);
            assert_true(htHomeOf(&s, sub) >= home && htHomeOf(&s, sub) < n); /* monotone */
            home = htHomeOf(&s, sub);
            assert_true(sub < htSubsEnd(&s, home) && (!home || sub >= htSubsEnd(&s, home - 1)));
            uint64_t word = htWordOf((void *)0x7ffffffffff8, sub);
            assert_int_equal(htSubOfSlot(&s, htTagOf(sub), word, htSubsEnd(&s, (home + by) % n)), sub);
        }
    }
}

/* --- Random operations --- */

static void replaceItem(hashtable *ht, uint64_t id, bool by_ref) {
    if (!model[id]) return;
    struct item *old = model[id], *now = newItem(id);
    uint64_t hash = hashtableHash(ht, keyOfId(&id));
    if (by_ref) {
        struct hashtableRef *ref = hashtableFindRef(ht, keyOfId(&id), hash);
        assert_non_null(ref);
        assert_ptr_equal(hashtableRefEntry(ref), old);
        hashtableRefSet(ref, now);
        zfree(old);
    } else {
        zfree(old);
        hashtableReplaceEntry(ht, old, now, hash);
    }
    model[id] = now;
}

static void removeItem(hashtable *ht, uint64_t id, bool by_key) {
    uint64_t hash = hashtableHash(ht, keyOfId(&id));
    struct item *item = model[id];
    if (by_key) {
        assert_ptr_equal(hashtablePopHashed(ht, keyOfId(&id), hash), item);
    } else if (item) {
        hashtableRemoveEntry(ht, item, hash);
    }
    if (!item) return;
    zfree(item);
    model[id] = NULL;
    model_size--;
}

static void peekItem(hashtable *ht, uint64_t id) {
    uint64_t hash = hashtableHash(ht, keyOfId(&id));
    hashtablePrefetchBucket(ht, hash);
    struct item *item = hashtablePeek(ht, hash);
    if (item) assert_ptr_equal(model[item->id], item);
    if (model[id]) assert_non_null(item);
}

static void addItem(hashtable *ht, uint64_t id, bool hashed) {
    if (model[id]) {
        struct item twin = {.id = id};
        assert_false(hashtableAdd(ht, &twin));
    } else if (hashed) {
        model[id] = newItem(id);
        model_size++;
        hashtableAddUnchecked(ht, model[id], hashtableHash(ht, keyOfId(&id)));
    } else {
        hashtableTestModelAdd(ht, id);
    }
}

static void randomItems(hashtable *ht) {
    void *sample[50];
    struct item *item = randomBelow(2) ? hashtableRandomEntry(ht) : hashtableFairRandomEntry(ht);
    assert_int_equal(item != NULL, model_size > 0);
    if (item) assert_ptr_equal(model[item->id], item);
    size_t count = randomBelow(50), n = hashtableSample(ht, sample, count);
    assert_int_equal(n, count < model_size ? count : model_size);
    for (size_t i = 0; i < n; i++) {
        assert_ptr_equal(model[((struct item *)sample[i])->id], sample[i]);
        for (size_t j = 0; j < i; j++) assert_ptr_not_equal(sample[i], sample[j]);
    }
}

/* Pops a random entry and adds it again. */
static void popRandom(hashtable *ht) {
    struct item *item = hashtablePopFairRandom(ht);
    assert_int_equal(item != NULL, model_size > 0);
    if (!item) return;
    uint64_t id = item->id;
    assert_ptr_equal(model[id], item);
    assert_null(hashtableFind(ht, keyOfId(&id)));
    assert_int_equal(hashtableSize(ht), model_size - 1);
    assert_true(hashtableAdd(ht, item));
}

static void clearSeen(uint64_t ids) {
    for (uint64_t id = 0; id < ids; id++)
        if (model[id]) model[id]->seen = 0;
}

/* Iterates, deletes some of the entries, and adds others meanwhile. */
static void hashtableTestIterate(hashtable *ht, uint64_t ids, bool change) {
    struct hashtableIterator it;
    void *entry;
    size_t n = 0, before = model_size;
    clearSeen(ids);
    hashtableInitIterator(&it, ht, change);
    while (hashtableNext(&it, &entry)) {
        struct item *item = entry;
        assert_ptr_equal(model[item->id], item);
        assert_true(item->seen == 0 || item->seen == ADDED);
        item->seen++;
        n++;
        if (!change) continue;
        if (randomBelow(3) == 0) {
            modelDelete(ht, item->id);
        } else if (randomBelow(3) == 0) {
            uint64_t id = randomBelow(ids);
            if (!model[id]) {
                hashtableTestModelAdd(ht, id);
                model[id]->seen = ADDED; /* may be returned or not */
                before++;
                n++;
            }
        }
    }
    hashtableStopIterator(&it);
    for (uint64_t id = 0; id < ids; id++)
        if (model[id] && !change) assert_int_equal(model[id]->seen, 1);
    if (!change) assert_int_equal(n, before);
    hashtableTestCheck(ht);
}

static void scanCount(void *priv, void *entry) {
    ((struct item *)entry)->seen++;
    ++*(size_t *)priv;
}

static void hashtableTestScanAll(hashtable *ht, uint64_t ids) {
    uint64_t cursor = 0;
    size_t slots = hashtableSlots(ht);
    clearSeen(ids);
    do {
        size_t emitted = 0;
        cursor = hashtableScan(ht, cursor, scanCount, &emitted);
        assert_true(cursor < 1ULL << 53);
    } while (cursor);
    /* A sparse table shrinks during the scan. If it shrinks much, the scan starts again. */
    bool once = hashtableSlots(ht) > slots / 4;
    for (uint64_t id = 0; id < ids; id++)
        if (model[id]) assert_true(once ? model[id]->seen == 1 : model[id]->seen >= 1);
}

static void *copyArray(void *priv, void *array) {
    (void)priv;
    if (randomBelow(2)) return NULL;
    size_t size = zmallocSize(array);
    bool aligned = (uintptr_t)array % 64 == 0 && size != 48 &&
                   size != 96; /* these are no classes of jemalloc with this alignment */
    void *copy = aligned ? zmallocAligned(64, size) : zmalloc(size);
    memcpy(copy, array, size);
    zfree(array);
    return copy;
}

static void rareOperation(hashtable *ht, uint64_t ids) {
    switch (randomBelow(12)) {
    case 0: hashtableTestIterate(ht, ids, false); break;
    case 1: hashtableTestIterate(ht, ids, true); break;
    case 2: hashtableTestScanAll(ht, ids); break;
    case 3: hashtableExpand(ht, randomBelow(ids)); break;
    case 4: assert_true(hashtableTryExpand(ht, randomBelow(ids))); break;
    case 5: hashtableShrinkIfNeeded(ht); break;
    case 6: hashtableMoveArrays(ht, copyArray, NULL); break;
    case 7: hashtableResizeMicroseconds(ht, 20); break;
    case 8: hashtablePause(ht); break;
    case 9: hashtableSetResizePolicy((enum hashtableResizePolicy)randomBelow(3)); break;
    case 10: hashtableSetResizePolicy(HASHTABLE_RESIZE_ALLOW); break;
    case 11:
        while (ht->pause) hashtableResume(ht);
        break;
    }
}

static void randomOperation(hashtable *ht, uint64_t ids, bool growing) {
    uint64_t id = randomBelow(ids), dice = randomBelow(100), adds = growing ? 50 : 15;
    bool coin = randomBelow(2);
    if (dice < adds) {
        addItem(ht, id, coin);
    } else if (dice < 65) {
        if (randomBelow(3))
            removeItem(ht, id, coin);
        else
            modelDelete(ht, id);
    } else if (dice < 75) {
        replaceItem(ht, id, coin);
    } else if (dice < 78) {
        peekItem(ht, id);
    } else if (dice < 80) {
        randomItems(ht);
        popRandom(ht);
    } else {
        assert_ptr_equal(hashtableFind(ht, keyOfId(&id)), model[id]);
    }
}

static void hashtableTestRunModel(const struct hashtableType *type, uint64_t ids, size_t operations) {
    hashtable ht;
    bool growing = true;
    startModel(&ht, type);
    for (size_t i = 0; i < operations; i++) {
        if (i % (4 * ids) == 0) growing = !growing || i == 0;
        randomOperation(&ht, ids, growing);
        if (randomBelow(ids) == 0 || randomBelow(1000) == 0) rareOperation(&ht, ids);
        if (randomBelow(2 * ids) == 0) hashtableTestCheck(&ht);
    }
    while (ht.pause) hashtableResume(&ht);
    hashtableSetResizePolicy(HASHTABLE_RESIZE_ALLOW);
    hashtableTestCheckAll(&ht, ids);
    endModel(&ht);
}

static size_t operations;

static void testModelGood(void **state) {
    (void)state;
    hashtableTestRunModel(&good_type, 10, operations / 10);
    hashtableTestRunModel(&good_type, 100, operations / 10);
    hashtableTestRunModel(&good_type, 1000, operations / 5);
    hashtableTestRunModel(&good_type, MAX_IDS, operations / 5);
}
static void testModelBad(void **state) {
    (void)state;
    hashtableTestRunModel(&few_type, 300, operations / 10);
    hashtableTestRunModel(&few_type, 2000, operations / 50);
    hashtableTestRunModel(&top_type, 20, operations / 20);
    hashtableTestRunModel(&top_type, 1500, operations / 20);
    hashtableTestRunModel(&tag_type, 1000, operations / 10);
    hashtableTestRunModel(&ordered_type, 3000, operations / 10);
}

/* --- Sizes --- */

static void hashtableTestEmpty(void **state) {
    (void)state;
    hashtable *ht = hashtableCreate(&good_type);
    uint64_t id = 1;
    struct hashtableIterator it;
    void *entry;
    size_t n = 0;
    assert_int_equal(hashtableMemory(ht), 0);
    assert_null(hashtableFind(ht, keyOfId(&id)));
    assert_null(hashtablePop(ht, keyOfId(&id)));
    assert_null(hashtablePeek(ht, 1));
    hashtablePrefetchBucket(ht, 1);
    assert_null(hashtableRandomEntry(ht));
    assert_null(hashtableFairRandomEntry(ht));
    assert_int_equal(hashtableSample(ht, &entry, 1), 0);
    assert_int_equal(hashtableScan(ht, 0, scanCount, &n), 0);
    hashtableInitIterator(&it, ht, true);
    assert_false(hashtableNext(&it, &entry));
    hashtableStopIterator(&it);
    hashtableVerify(ht);
    hashtableEmpty(ht, NULL);
    hashtableRelease(ht);
    hashtableRelease(NULL);
}

static void testSmallSizes(void **state) {
    (void)state;
    hashtable ht;
    startModel(&ht, &good_type);
    hashtableTestFill(&ht, 0, SLOTS);
    assert_int_equal(hashtableMemory(&ht), sizeof(bucket));
    hashtableTestFill(&ht, SLOTS, SLOTS + 1);
    assert_int_equal(hashtableMemory(&ht), 2 * sizeof(bucket));
    hashtableTestCheckAll(&ht, 20);
    hashtableTestFill(&ht, SLOTS + 1, 129);
    hashtableTestCheck(&ht);
    size_t buckets = hashtableMemory(&ht) / sizeof(bucket);
    assert_true(buckets >= 16 && buckets <= (unit ? 26 : 20));
    endModel(&ht);
}

/* Returns a table's bytes where buckets are cache lines; buckets for leak checkers are larger. */
static size_t hashtableTestBytesOf(const hashtable *ht) {
    size_t buckets = hashtableSlots(ht) / SLOTS;
    return hashtableMemory(ht) - buckets * (sizeof(bucket) - 64);
}

/* Tight tables grow by one step at a time, so that their fill varies less. */
static void testTightTables(void **state) {
    (void)state;
    if (unit) return; /* these tables would have many segments */
    static const struct hashtableType tight_type = {
        .entryKey = itemKey, .entryFree = itemFree, .tight = true};
    const struct hashtableType *types[] = {&good_type, &tight_type};
    double bytes[2] = {0};
    for (int i = 0; i < 2; i++) {
        hashtable ht;
        startModel(&ht, types[i]);
        for (uint64_t id = 0; id < 300; id++) {
            hashtableTestModelAdd(&ht, id);
            if (id >= 30) bytes[i] += (double)hashtableTestBytesOf(&ht) / (double)model_size / 270;
        }
        hashtableTestCheckAll(&ht, 300);
        endModel(&ht);
    }
    assert_true(bytes[1] < 8.9 && bytes[1] < bytes[0] * 0.95);
}

/* Searches by the descriptor find the same entries, and prefetch a bucket of the table. */
static void findByDescriptor(hashtable *ht, uint64_t ids) {
    uint64_t descriptor = hashtableDescriptor(ht), factor = hashtableSaltFactor(ht->salt);
    assert_int_equal(hashtableDescriptorIsSingle(descriptor), hashtableSlots(ht) == SLOTS);
    assert_int_equal(descriptor == 0, hashtableSlots(ht) == 0);
    for (uint64_t id = 0; hashtableDescriptorIsSingle(descriptor) && id < ids; id++) {
        struct str key = keyOfId(&id);
        uint64_t hash = hashtableHash(ht, key);
        assert_ptr_equal(hashtableFindSingle(ht->type, descriptor, factor, key, hash), model[id]);
        assert_ptr_equal(hashtablePeekSingle(descriptor, factor, hash), hashtablePeek(ht, hash));
    }
    for (uint64_t id = 0; descriptor > DESCRIPTOR_LARGE && id < ids; id++) {
        hashtablePrefetchByDescriptor(descriptor, factor, hashtableHash(ht, keyOfId(&id)));
    }
}

static void testDescriptors(void **state) {
    (void)state;
    hashtable ht;
    startModel(&ht, &good_type);
    hashtableDestroy(&ht);
    hashtableInitSalted(&ht, &good_type, 12345);
    findByDescriptor(&ht, 20);
    for (uint64_t id = 0; id < 300; id++) {
        hashtableTestModelAdd(&ht, id);
        findByDescriptor(&ht, id < 20 ? 20 : 0);
    }
    assert_int_equal(ht.salt, 12345);
    assert_int_equal(hashtableDescriptor(&ht) == DESCRIPTOR_LARGE, ht.bits != 0);
    for (uint64_t id = 0; id < 300; id++) {
        modelDelete(&ht, id);
        findByDescriptor(&ht, id > 280 ? 300 : 0);
    }
    /* A single bucket with a tail has no descriptor: entries in the tail would not be found. */
    hashtablePause(&ht);
    hashtableTestFill(&ht, 0, 40);
    assert_false(hashtableDescriptorIsSingle(hashtableDescriptor(&ht)));
    hashtableResume(&ht);
    endModel(&ht);
}

/* Small tables of one array swing; many segments stay near their mean. */
static void testMemoryPerEntry(void **state) {
    (void)state;
    hashtable ht;
    double sum = 0, weights = 0, worst = 0, small = 0;
    startModel(&ht, &good_type);
    for (uint64_t id = 0; id < MAX_IDS; id++) {
        hashtableTestModelAdd(&ht, id);
        double fill = (double)model_size / (double)hashtableSlots(&ht);
        if (!ht.bits) assert_true(fill <= 29.0 / 32 || hashtableMemory(&ht) == sizeof(bucket));
        if (id < 1000) continue;
        double bytes = (double)hashtableTestBytesOf(&ht) / (double)model_size;
        if (bytes > (ht.bits ? worst : small)) *(ht.bits ? &worst : &small) = bytes;
        sum += fill / (double)model_size; /* every doubling of the size has the same weight */
        weights += 1 / (double)model_size;
    }
    printf("fill on average %.1f%%, bytes per entry at worst %.2f in one array, %.2f in many\n",
           100 * sum / weights, small, worst);
    assert_true(sum / weights > 0.72);
    assert_true(small < 12);
    assert_true(ht.bits && worst < (unit == 1 ? 13 : 11));
    endModel(&ht);
}

static void testShrink(void **state) {
    (void)state;
    hashtable ht;
    startModel(&ht, &good_type);
    hashtableTestFill(&ht, 0, MAX_IDS);
    for (uint64_t id = 0; id < MAX_IDS - 3; id++) {
        modelDelete(&ht, id);
        if (id % 1000 == 0) hashtableTestCheck(&ht);
        if (model_size > 100) assert_true(hashtableSlots(&ht) <= 8 * model_size + 8);
        if (model_size > 100 && ht.bits) assert_true(hashtableSlots(&ht) <= 5 * model_size);
    }
    hashtableTestCheckAll(&ht, MAX_IDS);
    assert_true(hashtableMemory(&ht) <= 4 * sizeof(bucket));
    endModel(&ht);
}

/* A table that has lost its entries while it could not shrink keeps its size while reads must not change it.
 */
static void testReadsDoNotShrink(void **state) {
    (void)state;
    hashtable ht;
    struct hashtableIterator it;
    void *entry;
    startModel(&ht, &good_type);
    hashtableTestFill(&ht, 0, MAX_IDS);
    hashtableSetResizePolicy(HASHTABLE_RESIZE_AVOID);
    for (uint64_t id = 0; id < MAX_IDS - 10; id++) modelDelete(&ht, id);
    hashtableSetResizePolicy(HASHTABLE_RESIZE_ALLOW);
    hashtableLetReadsShrink(false);
    size_t slots = hashtableSlots(&ht), n = 0;
    assert_true(slots > MAX_IDS);
    hashtableInitIterator(&it, &ht, true);
    while (hashtableNext(&it, &entry)) n++;
    hashtableStopIterator(&it);
    assert_int_equal(n, 10);
    assert_non_null(hashtableRandomEntry(&ht));
    assert_non_null(hashtableFairRandomEntry(&ht));
    assert_int_equal(hashtableSample(&ht, &entry, 1), 1);
    assert_int_equal(hashtableSlots(&ht), slots);
    hashtableLetReadsShrink(true);
    assert_non_null(hashtableFairRandomEntry(&ht));
    assert_true(hashtableSlots(&ht) < slots);
    endModel(&ht);
}

static void testPresize(void **state) {
    (void)state;
    for (size_t n = 1; n < MAX_IDS; n += 1 + n / 3) {
        hashtable ht;
        startModel(&ht, &good_type);
        hashtableExpand(&ht, n);
        size_t memory = hashtableMemory(&ht);
        hashtableTestFill(&ht, 0, n);
        if (!unit) assert_int_equal(hashtableMemory(&ht), memory);
        /* At least 70% full. */
        assert_true(n < 20 || memory <= (n * 10 / 7 / SLOTS + 1) * sizeof(bucket) + (24U << ht.bits));
        endModel(&ht);
    }
    hashtable ht;
    startModel(&ht, &good_type);
    hashtableTestFill(&ht, 0, 100);
    hashtableExpand(&ht, 500);
    hashtableTestCheck(&ht);
    hashtableExpand(&ht, 9000);
    hashtableTestFill(&ht, 100, 9000);
    hashtableTestCheckAll(&ht, 9001);
    assert_false(hashtableTryExpand(&ht, SIZE_MAX / 2));
    assert_false(hashtableTryExpand(&ht, SIZE_MAX));
    hashtableTestCheckAll(&ht, 9001);
    endModel(&ht);
}

static size_t progress_calls;
static void countProgress(hashtable *ht) {
    assert_int_equal(hashtableSize(ht), 0);
    progress_calls++;
}

static void testEmptyProgress(void **state) {
    (void)state;
    hashtable ht;
    startModel(&ht, &good_type);
    hashtableExpand(&ht, 1000000);
    hashtableTestFill(&ht, 0, 1000);
    size_t buckets = hashtableSlots(&ht) / SLOTS;
    progress_calls = 0;
    hashtableEmpty(&ht, countProgress);
    assert_int_equal(progress_calls, buckets / 65536);
    model_size = 0;
    memset(model, 0, sizeof(model));
    hashtableTestFill(&ht, 0, 10);
    hashtableTestCheck(&ht);
    endModel(&ht);
}

/* --- Policies and pauses --- */

static void testPolicies(void **state) {
    (void)state;
    for (int policy = HASHTABLE_RESIZE_ALLOW; policy <= HASHTABLE_RESIZE_FORBID; policy++) {
        hashtable ht;
        startModel(&ht, &good_type);
        hashtableTestFill(&ht, 0, 1000);
        size_t slots = hashtableSlots(&ht), id = 1000;
        hashtableSetResizePolicy((enum hashtableResizePolicy)policy);
        while (hashtableSlots(&ht) == slots) hashtableTestModelAdd(&ht, id++);
        double percent = 100.0 * (double)(id - 1) / (double)slots;
        double expected = policy == HASHTABLE_RESIZE_ALLOW   ? 90.625
                          : policy == HASHTABLE_RESIZE_AVOID ? 93.75
                                                             : 96.9;
        if (!ht.bits) assert_true(percent > expected - 0.5 && percent <= expected + 0.01);
        for (; id < MAX_IDS; id++) { /* inserts are accepted under every policy */
            hashtableTestModelAdd(&ht, id);
            if (id % 500 == 0) hashtableTestCheck(&ht);
        }
        hashtableTestCheckAll(&ht, MAX_IDS);
        for (id = 0; id < MAX_IDS - 10; id++) modelDelete(&ht, id);
        if (policy != HASHTABLE_RESIZE_ALLOW) { /* no shrink, and random picks still end */
            assert_true(hashtableSlots(&ht) > MAX_IDS);
            randomItems(&ht);
        }
        hashtableSetResizePolicy(HASHTABLE_RESIZE_ALLOW);
        for (int i = 0; i < 1000; i++) randomItems(&ht);
        for (int i = 0; i < 1000; i++) popRandom(&ht);
        assert_true(hashtableSlots(&ht) < 100); /* random picks alone made it shrink */
        hashtableTestCheckAll(&ht, MAX_IDS);
        endModel(&ht);
    }
}

/* While there is a fork child only nearly full segments move. Afterwards idle time does the missing
 * resizes, and so do adds, a segment at a time. */
static void testForbid(void **state) {
    (void)state;
    for (int idle = 0; idle < 2; idle++) {
        hashtable ht;
        startModel(&ht, &good_type);
        hashtableTestFill(&ht, 0, 10000);
        hashtableSetResizePolicy(HASHTABLE_RESIZE_FORBID);
        hashtableTestFill(&ht, 10000, 15000);
        assert_false(hashtableResizeMicroseconds(&ht, 1000));
        assert_true(model_size > 80 * hashtableSlots(&ht) / 100);
        hashtableTestCheck(&ht);
        hashtableSetResizePolicy(HASHTABLE_RESIZE_ALLOW);
        size_t slots = hashtableSlots(&ht);
        if (idle) {
            while (hashtableResizeMicroseconds(&ht, 1000)) hashtableTestCheck(&ht);
        } else {
            hashtableTestFill(&ht, 15000, 15100);
            assert_true(ht.bits < 6 || hashtableSlots(&ht) < slots * 105 / 100);
            hashtableTestFill(&ht, 15100, MAX_IDS);
        }
        if (ht.bits) assert_true(model_size < 82 * hashtableSlots(&ht) / 100);
        hashtableTestCheckAll(&ht, MAX_IDS);
        endModel(&ht);
    }
}

static bool hasTail(const hashtable *ht) {
    return ht->bits ? ht->tails : ht->one.tail > 0;
}

/* A paused table takes any number of entries, and they stay where they are. */
static void testPausedFill(void **state) {
    (void)state;
    for (uint64_t start = 0; start < 3000; start += 1 + start / 2) {
        hashtable ht;
        startModel(&ht, &good_type);
        hashtableTestFill(&ht, 0, start);
        hashtablePause(&ht);
        hashtablePause(&ht);
        uint64_t id = start;
        for (; id < 5 * start + 30; id++) {
            hashtableTestModelAdd(&ht, id);
            if (id % (start + 1) == 0) hashtableTestCheck(&ht);
        }
        if (start > 0) assert_true(hasTail(&ht));
        hashtableTestCheckAll(&ht, id);
        hashtableTestIterate(&ht, id, false);
        hashtableTestScanAll(&ht, id);
        randomItems(&ht);
        for (uint64_t i = 0; i < id; i += 2) modelDelete(&ht, i);
        hashtableTestCheck(&ht);
        hashtableResume(&ht);
        assert_true(start == 0 || hasTail(&ht));
        hashtableResume(&ht);
        assert_false(hasTail(&ht));
        hashtableTestCheckAll(&ht, id);
        endModel(&ht);
    }
}

/* Adds a few more entries than fit: only their segments get tails. */
static void testPausedSlightly(void **state) {
    (void)state;
    hashtable ht;
    startModel(&ht, &good_type);
    hashtableTestFill(&ht, 0, 10000);
    hashtablePause(&ht);
    uint64_t id = 10000;
    while (!hasTail(&ht)) hashtableTestModelAdd(&ht, id++);
    hashtableTestCheckAll(&ht, id);
    hashtableTestIterate(&ht, id, false);
    hashtableTestScanAll(&ht, id);
    size_t slots = hashtableSlots(&ht);
    hashtableResume(&ht);
    if (ht.bits > 4) assert_in_range(hashtableSlots(&ht), slots * 9 / 10, slots * 11 / 10);
    hashtableTestCheckAll(&ht, id);
    endModel(&ht);
}

/* Filled to 100% while paused, without a tail. */
static void testPausedFull(void **state) {
    (void)state;
    hashtable ht;
    startModel(&ht, &good_type);
    hashtableTestFill(&ht, 0, 12);
    hashtablePause(&ht);
    hashtableTestFill(&ht, 12, hashtableSlots(&ht));
    assert_int_equal(hashtableSize(&ht), hashtableSlots(&ht));
    assert_true(ht.one.tail == 0);
    hashtableResume(&ht);
    assert_true(hashtableSize(&ht) < hashtableSlots(&ht));
    hashtableTestCheckAll(&ht, 100);
    endModel(&ht);
}

/* --- Iterators and scans --- */

static void testIteratorDeletesAll(void **state) {
    (void)state;
    for (uint64_t n = 1; n < 9000; n = n * 3 + 1) {
        hashtable ht;
        startModel(&ht, &good_type);
        hashtableTestFill(&ht, 0, n);
        struct hashtableIterator it;
        void *entry;
        size_t count = 0;
        hashtableInitIterator(&it, &ht, true);
        while (hashtableNext(&it, &entry)) {
            modelDelete(&ht, ((struct item *)entry)->id);
            count++;
        }
        assert_int_equal(count, n);
        hashtableStopIterator(&it);
        hashtableTestCheck(&ht);
        hashtableTestFill(&ht, 0, 10);
        hashtableTestCheckAll(&ht, 20);
        endModel(&ht);
    }
}

/* Keeps entries below `kept`; others are added and removed between the calls, so that the table is
 * resized. */
static void scanDuringResize(const struct hashtableType *type, uint64_t kept, uint64_t to, bool grow) {
    hashtable ht;
    uint64_t cursor = 0, id = kept;
    size_t resized = 0, emitted = 0, memory;
    startModel(&ht, type);
    hashtableTestFill(&ht, 0, grow ? kept : to);
    memory = hashtableMemory(&ht);
    do {
        cursor = hashtableScan(&ht, cursor, scanCount, &emitted);
        uint64_t changes = 100 + randomBelow(100);
        for (uint64_t i = 0; i < changes && id < to; i++) {
            if (grow)
                hashtableTestModelAdd(&ht, id++);
            else
                modelDelete(&ht, id++);
        }
        if (memory != hashtableMemory(&ht)) resized++;
        memory = hashtableMemory(&ht);
    } while (cursor);
    assert_true(resized >= (grow && type == &good_type ? 8 : 1));
    for (id = 0; id < kept; id++) assert_true(model[id]->seen >= 1);
    hashtableTestCheck(&ht);
    endModel(&ht);
}

static void testScanResize(void **state) {
    (void)state;
    scanDuringResize(&good_type, 500, MAX_IDS, true);
    scanDuringResize(&good_type, 500, MAX_IDS, false);
    scanDuringResize(&few_type, 300, 2000, true);
    scanDuringResize(&ordered_type, 500, 8000, true);
    scanDuringResize(&ordered_type, 500, 8000, false);
    scanDuringResize(&tag_type, 500, 3000, true);
    for (int i = 0; i < 20; i++) scanDuringResize(&good_type, 200 + randomBelow(300), 10000, randomBelow(2));
}

/* At every stage of a sweep, up and down, a scan passes each entry exactly once, and so does an iterator. */
static void testScanHalfway(void **state) {
    (void)state;
    hashtable ht;
    size_t stages = 0, slots = 0;
    startModel(&ht, &good_type);
    for (uint64_t i = 0; i < 6000; i++) {
        if (i < 3000)
            hashtableTestModelAdd(&ht, i);
        else
            modelDelete(&ht, i - 3000);
        if (hashtableSlots(&ht) == slots) continue;
        slots = hashtableSlots(&ht);
        stages++;
        hashtableTestScanAll(&ht, 3000);
        hashtableTestIterate(&ht, 3000, false);
    }
    assert_true(stages > (unit ? 40 : 10));
    endModel(&ht);
}

/* A table that lost nearly all entries while it was paused shrinks during the scans that follow. */
static void testScanShrinks(void **state) {
    (void)state;
    for (uint64_t left = 1; left < 400; left += 1 + randomBelow(12)) {
        hashtable ht;
        startModel(&ht, &good_type);
        hashtableTestFill(&ht, 0, 3000);
        hashtablePause(&ht);
        for (uint64_t id = left; id < 3000; id++) modelDelete(&ht, id);
        hashtableResume(&ht);
        for (int i = 0; i < 3; i++) hashtableTestScanAll(&ht, 3000);
        endModel(&ht);
    }
}

static void scanDelete(void *priv, void *entry) {
    modelDelete(priv, ((struct item *)entry)->id);
}

static void testScanDeletes(void **state) {
    (void)state;
    const struct hashtableType *types[] = {&good_type, &few_type, &top_type, &ordered_type};
    for (size_t i = 0; i < 4; i++) {
        hashtable ht;
        startModel(&ht, types[i]);
        hashtableTestFill(&ht, 0, 1500);
        uint64_t cursor = 0;
        do {
            cursor = hashtableScan(&ht, cursor, scanDelete, &ht);
            if (randomBelow(10) == 0) hashtableTestCheck(&ht);
        } while (cursor);
        assert_int_equal(hashtableSize(&ht), 0);
        endModel(&ht);
    }
}

/* --- Random picks --- */

/* Picks per entry: the variance over the mean; 1 when all are equally likely. */
static double hashtableTestDispersion(hashtable *ht, void *(*pick)(hashtable *ht), uint64_t ids,
                                      size_t per_entry) {
    double sum = 0, mean = (double)per_entry;
    clearSeen(ids);
    for (size_t i = 0; i < model_size * per_entry; i++) ((struct item *)pick(ht))->seen++;
    for (uint64_t id = 0; id < ids; id++) {
        if (!model[id]) continue;
        assert_true(model[id]->seen > 0);
        sum += ((double)model[id]->seen - mean) * ((double)model[id]->seen - mean);
    }
    return sum / (double)model_size / mean;
}

static void testRandomDistribution(void **state) {
    (void)state;
    hashtable ht;
    startModel(&ht, &good_type);
    hashtableTestFill(&ht, 0, 1500);
    double fair = hashtableTestDispersion(&ht, hashtableFairRandomEntry, MAX_IDS, 100);
    double quick = hashtableTestDispersion(&ht, hashtableRandomEntry, MAX_IDS, 100);
    printf("variance/mean of picks: fair %.2f, quick %.1f\n", fair, quick);
    assert_true(fair > 0.85 && fair < 1.15); /* sd of it is 0.037 */
    assert_true(quick < 40);
    endModel(&ht);
    startModel(&ht, &good_type);
    hashtableTestFill(&ht, 0, 5);
    fair = hashtableTestDispersion(&ht, hashtableRandomEntry, 5, 10000);
    assert_true(fair < 6);
    endModel(&ht);
}

static void testStats(void **state) {
    (void)state;
    hashtable ht;
    startModel(&ht, &good_type);
    hashtableTestFill(&ht, 0, 100);
    sds s = hashtableStats(&ht, sdsempty(), "main");
    assert_non_null(strstr(s, "number of elements: "));
    assert_non_null(strstr(s, "(main)"));
    sdsfree(s);
    endModel(&ht);
}

/* --- Benchmark --- */

static struct str benchKey(const void *entry) {
    return strN((const char *)entry + 4, 16);
}

static void hashtableTestShuffle(void **p, size_t n) {
    for (size_t i = n; i > 1; i--) {
        size_t j = randomBelow(i);
        void *t = p[i - 1];
        p[i - 1] = p[j];
        p[j] = t;
    }
}

static void benchSetKey(char *entry, const char *prefix, size_t i) {
    char text[32];
    snprintf(text, sizeof(text), "%s:%012zu", prefix, i);
    memcpy(entry + 4, text, 16);
}

/* Returns CPU time in microseconds, since other processes must not count. */
static int64_t cpuUs(void) {
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (int64_t)t.tv_sec * 1000000 + t.tv_nsec / 1000;
}

static double perOp(int64_t start, size_t ops) {
    return (double)(cpuUs() - start) * 1000.0 / (double)ops;
}

/* `rounds` repeats small sizes until the clock can tell. Entries are 24 bytes: 4 of header, 16 of key. */
static void hashtableTestBench(size_t n, size_t rounds) {
    static const struct hashtableType type = {.entryKey = benchKey};
    void **entries = zmalloc(n * sizeof(void *));
    char(*missing)[24] = zmalloc(n * 24);
    double add = 0, hit = 0, miss = 0, del = 0;
    int64_t worst = 0;
    size_t memory = 0;
    for (size_t i = 0; i < n; i++) {
        entries[i] = zmalloc(24);
        benchSetKey(entries[i], "key", i);
        benchSetKey(missing[i], "nil", i);
    }
    for (size_t r = 0; r < rounds; r++) {
        hashtable ht;
        hashtableInit(&ht, &type);
        hashtableTestShuffle(entries, n);
        int64_t t = cpuUs();
        for (size_t i = 0; i < n; i++) hashtableAdd(&ht, entries[i]);
        add += perOp(t, n);
        memory = hashtableMemory(&ht);
        hashtableTestShuffle(entries, n);
        t = cpuUs();
        for (size_t i = 0; i < n; i++)
            if (hashtableFind(&ht, benchKey(entries[i])) != entries[i]) abort();
        hit += perOp(t, n);
        t = cpuUs();
        for (size_t i = 0; i < n; i++)
            if (hashtableFind(&ht, benchKey(missing[i]))) abort();
        miss += perOp(t, n);
        t = cpuUs();
        for (size_t i = 0; i < n; i++)
            if (!hashtablePop(&ht, benchKey(entries[i]))) abort();
        del += perOp(t, n);
        for (size_t i = 0; r == 0 && i < n; i++) { /* latency: the slowest single add */
            t = cpuUs();
            hashtableAdd(&ht, entries[i]);
            if (cpuUs() - t > worst) worst = cpuUs() - t;
        }
        hashtableDestroy(&ht);
    }
    double k = (double)rounds;
    printf("| %zu | %.1f | %.1f | %.1f | %.1f | %.2f | %lld |\n", n, add / k, hit / k, miss / k, del / k,
           (double)memory / (double)n, (long long)worst);
    for (size_t i = 0; i < n; i++) zfree(entries[i]);
    zfree(entries);
    zfree(missing);
}

static int runBench(size_t most) {
    printf(
        "| entries | add ns | find hit ns | find miss ns | delete ns | table bytes/entry | slowest add us |\n");
    printf("|---|---|---|---|---|---|---|\n");
    for (size_t n = 100; n <= most; n *= 10) hashtableTestBench(n, n < 1000000 ? 1000000 / n : 1);
    return 0;
}

static int hashtableTestSomeSegments(void **state) {
    (void)state;
    hashtableSetSegmentUnit(unit = 16);
    return 0;
}
static int hashtableTestManySegments(void **state) {
    (void)state;
    hashtableSetSegmentUnit(unit = 1);
    return 0;
}

int main(int argc, char **argv) {
    if (argc > 1 && strcmp(argv[1], "--bench") == 0)
        return runBench(argc > 2 ? strtoull(argv[2], NULL, 10) : 10000000);
    operations = modelOps();
    modelSeed();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(testTags),
        cmocka_unit_test(testSlots),
        cmocka_unit_test(testSubs),
        cmocka_unit_test(hashtableTestEmpty),
        cmocka_unit_test(testSmallSizes),
        cmocka_unit_test(testTightTables),
        cmocka_unit_test(testDescriptors),
        cmocka_unit_test(testMemoryPerEntry),
        cmocka_unit_test(testShrink),
        cmocka_unit_test(testReadsDoNotShrink),
        cmocka_unit_test(testPresize),
        cmocka_unit_test(testEmptyProgress),
        cmocka_unit_test(testPolicies),
        cmocka_unit_test(testForbid),
        cmocka_unit_test(testPausedFill),
        cmocka_unit_test(testPausedSlightly),
        cmocka_unit_test(testIteratorDeletesAll),
        cmocka_unit_test(testScanResize),
        cmocka_unit_test(testScanShrinks),
        cmocka_unit_test(testScanDeletes),
        cmocka_unit_test(testScanHalfway),
        cmocka_unit_test(testPausedFull),
        cmocka_unit_test(testRandomDistribution),
        cmocka_unit_test(testStats),
        cmocka_unit_test(testModelGood),
        cmocka_unit_test(testModelBad),
    };
    /* Few segments, if any; then many, and very many. */
    int failed = cmocka_run_group_tests_name("segments as they are", tests, NULL, NULL);
    failed +=
        cmocka_run_group_tests_name("segments of some 80 buckets", tests, hashtableTestSomeSegments, NULL);
    return failed +
           cmocka_run_group_tests_name("segments of 5 buckets", tests, hashtableTestManySegments, NULL);
}
