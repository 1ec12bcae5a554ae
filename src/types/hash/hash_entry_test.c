/* SPDX-License-Identifier: BSD-3-Clause */
/* hash_entry_test.c - entries of every shape, and the heap of due items, against naive models. */
#include "types/hash/hash_entry.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "base/model_ops.h"
#include "base/random.h"
#include "base/zmalloc.h"
#include "types/hash/hash_heap.h"

/* ---- Entries ---- */

static const size_t field_lens[] = {0, 1, 13, 61, 62, 63, 64, 255, 256, 70000};
static const size_t value_lens[] = {0, 1, 10, 100, 253, 254, 255, 256, 1000, 40000};
#define COUNT(a) (sizeof(a) / sizeof *(a))

static char bytes[70000];

static void hashEntryTestFill(void) {
    for (size_t i = 0; i < sizeof bytes; i++) bytes[i] = (char)(i * 131 + i / 251);
}

static void hashEntryTestCheck(const struct hashEntry *e, size_t flen, struct str value, int64_t expire_ms) {
    assert_true(strEq(hashEntryField(e), strN(bytes, flen)));
    assert_true(strEq(hashEntryValue(e), value));
    assert_int_equal(expire_ms, hashEntryExpire(e));
    assert_true(hashEntryMemory(e) >= flen + value.len);
}

static struct hashInput someInput(struct str value) {
    bool owned = value.len > HASH_EMBED_MAX && randomBelow(2);
    return (struct hashInput){.text = value, .owned = owned ? sdsnewstr(value) : NULL};
}

/* Any sequence of changes to value and expiry leaves field, value, expiry and heap position as they were
 * set. */
static void entriesKeepTheirContents(void **state) {
    (void)state;
    hashEntryTestFill();
    for (size_t f = 0; f < COUNT(field_lens); f++) {
        size_t flen = field_lens[f];
        struct str value = strN(bytes + 7, value_lens[f % COUNT(value_lens)]);
        int64_t expire_ms = HASH_NO_EXPIRE;
        uint32_t pos = 0;
        struct hashEntry *e = hashEntryNew(strN(bytes, flen), someInput(value));
        for (int i = 0; i < 500; i++) {
            if (randomBelow(2)) {
                value = strN(bytes + randomBelow(1000), value_lens[randomBelow(COUNT(value_lens))]);
                e = hashEntrySetValue(e, someInput(value));
            } else {
                expire_ms = randomBelow(3) ? (int64_t)(randomU64() >> 1) : HASH_NO_EXPIRE;
                e = hashEntrySetExpire(e, expire_ms);
                pos = (uint32_t)randomU64();
                if (expire_ms != HASH_NO_EXPIRE) hashEntrySetHeapPos(e, pos);
            }
            hashEntryTestCheck(e, flen, value, expire_ms);
            if (expire_ms != HASH_NO_EXPIRE) assert_int_equal(pos, hashEntryHeapPos(e));
            struct hashEntry *copy = hashEntryCopy(e);
            hashEntryFree(e);
            hashEntryTestCheck(copy, flen, value, expire_ms);
            e = copy;
        }
        hashEntryFree(e);
    }
}

static void usualEntriesCostTwoBytes(void **state) {
    (void)state;
    struct hashEntry *e =
        hashEntryNew(STR("field:0001234"), (struct hashInput){.text = STR("value:0001234567")});
    assert_in_range(hashEntryMemory(e), 13 + 16 + 2, zmallocGoodSize(13 + 16 + 2));
    hashEntryFree(e);
}

/* ---- Heap ---- */

#define ITEMS 300
struct hashEntryItem {
    int64_t when;
    uint32_t pos;
    bool in;
};
static struct hashEntryItem items[ITEMS];

static int64_t itemWhen(const void *p) {
    return ((const struct hashEntryItem *)p)->when;
}
static void itemPlaced(void *p, uint32_t pos) {
    ((struct hashEntryItem *)p)->pos = pos;
}
static const struct hashHeapType item_type = {itemWhen, itemPlaced};

static void checkHeap(const struct hashHeap *h) {
    uint32_t in = 0, before = 0;
    int64_t first = INT64_MAX, limit = (int64_t)randomBelow(100);
    for (int i = 0; i < ITEMS; i++) {
        if (!items[i].in) continue;
        assert_ptr_equal(&items[i], h->slot[items[i].pos]);
        if (items[i].when < first) first = items[i].when;
        before += items[i].when < limit;
        in++;
    }
    assert_int_equal(in, h->used);
    assert_int_equal(before, hashHeapCountBefore(h, &item_type, limit, UINT32_MAX));
    assert_int_equal(before < 5 ? before : 5, hashHeapCountBefore(h, &item_type, limit, 5));
    if (in)
        assert_int_equal(first, ((struct hashEntryItem *)hashHeapFirst(h))->when);
    else
        assert_null(hashHeapFirst(h));
}

static void heapKnowsWhatIsDueFirst(void **state) {
    (void)state;
    struct hashHeap h = {0};
    for (int round = 0; round < 20000; round++) {
        /* The heap grows for a while, then shrinks, so that both resizes happen. */
        bool growing = (round / 2000) % 2 == 0;
        struct hashEntryItem *it = &items[randomBelow(ITEMS)];
        if (!it->in && (growing || randomBelow(4) == 0)) {
            it->when = (int64_t)randomBelow(100);
            it->in = true;
            hashHeapAdd(&h, &item_type, it);
        } else if (it->in && (!growing || randomBelow(4) == 0)) {
            it->in = false;
            hashHeapRemove(&h, &item_type, it->pos);
        } else if (it->in) {
            it->when = (int64_t)randomBelow(100);
            hashHeapAdjust(&h, &item_type, it->pos);
        }
        checkHeap(&h);
    }
    hashHeapFree(&h);
}

int main(void) {
    modelSeed();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(entriesKeepTheirContents),
        cmocka_unit_test(usualEntriesCostTwoBytes),
        cmocka_unit_test(heapKnowsWhatIsDueFirst),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
