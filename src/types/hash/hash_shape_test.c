/* SPDX-License-Identifier: BSD-3-Clause */
/* hash_shape_test.c - hashes with shapes beside the same hashes without: fields, order, and the bytes of the
 * listpack are equal; shapes are found only for what is there often, are limited, and are freed. */
#include "types/hash/hash_shape.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "base/model_ops.h"
#include "base/random.h"
#include "base/zmalloc.h"
#include "registry/config.h"
#include "types/hash/hash_private.h"
#include "types/types.h"

#define SIBLINGS 100

static struct str hashShapeTestText(char *to, size_t room, const char *form, int i) {
    return strN(to, (size_t)snprintf(to, room, form, i));
}

static void hashShapeTestSet(struct hash *h, struct str field, struct str value) {
    hashSet(h, field, (struct hashInput){.text = value}, false);
}

/* Sets fields form0, form1 ... */
static void hashShapeTestFill(struct hash *h, const char *form, int count) {
    char field[80], value[80];
    hashNew(h);
    for (int i = 0; i < count; i++)
        hashShapeTestSet(h, hashShapeTestText(field, sizeof field, form, i),
                         hashShapeTestText(value, sizeof value, "a value of %d", i));
    hashFindShape(h);
}

/* Fills hashes until one gets a shape. Entries that others have left in the tables lose their counts first.
 */
static bool hashShapeTestTryShaped(struct hash *h, const char *form, int count, int times) {
    for (; times; times--) {
        hashShapeTestFill(h, form, count);
        if (h->encoding == HASH_SHAPED) return true;
        hashDrop(h);
    }
    return false;
}

static void hashShapeTestFillShaped(struct hash *h, const char *form, int count) {
    assert_true(hashShapeTestTryShaped(h, form, count, 100 * SIBLINGS));
}

static size_t hashShapeTestFigure(const char *name) {
    sds info = hashShapesInfo(sdsempty());
    const char *at = strstr(info, name);
    assert_non_null(at);
    size_t n = strtoull(at + strlen(name), NULL, 10);
    sdsfree(info);
    return n;
}

/* Returns how many of `count` hashes with these fields have got a shape. They are gone afterwards. */
static int hashShapeTestShaped(const char *form, int fields, int count) {
    int shaped = 0;
    for (int i = 0; i < count; i++) {
        struct hash h;
        hashShapeTestFill(&h, form, fields);
        shaped += h.encoding == HASH_SHAPED;
        hashDrop(&h);
    }
    return shaped;
}

static void hashShapeTestSweep(void) {
    hashShapesSweep();
    hashShapesSweep();
}

static void hashShapeTestNone(void) {
    hashShapeTestSweep();
    assert_int_equal(0, hashShapeTestFigure("hash_shapes:"));
    assert_int_equal(0, hashShapeTestFigure("hash_shapes_bytes:"));
    assert_int_equal(0, hashShapeTestFigure("hash_shapes_hashes:"));
}

/* ---- Finding ---- */

static void siblingsGetAShape(void **state) {
    (void)state;
    /* Names are looked at when the hint has been seen five times, and then more and more seldom. */
    assert_in_range(hashShapeTestShaped("name%d", 10, SIBLINGS), SIBLINGS - 25, SIBLINGS - 17);
    assert_int_equal(1, hashShapeTestFigure("hash_shapes:"));
    hash_shapes_wanted = false;
    assert_int_equal(0, hashShapeTestShaped("name%d", 10, SIBLINGS));
    hash_shapes_wanted = true;
    assert_int_equal(SIBLINGS, hashShapeTestShaped("name%d", 10, SIBLINGS));
    assert_true(hashShapeTestShaped("other%d", 10, SIBLINGS) > 0);
    assert_int_equal(2, hashShapeTestFigure("hash_shapes:"));
    hashShapeTestNone();
}

static void uniqueHashesGetNone(void **state) {
    (void)state;
    for (int i = 0; i < 20000; i++) {
        char form[40];
        snprintf(form, sizeof form, "%d_name%%d", i);
        assert_int_equal(0, hashShapeTestShaped(form, 10, 1));
    }
    assert_int_equal(0, hashShapeTestFigure("hash_shapes:"));
}

/* Hashes can have the same first and last name, and others between them. */
static void hintsMayBeWrong(void **state) {
    (void)state;
    for (int i = 0; i < 20000; i++) {
        struct hash h;
        char field[40];
        hashNew(&h);
        hashShapeTestSet(&h, STR("the first"), STR("a value that is so long that the hash is not packed"));
        hashShapeTestSet(&h, hashShapeTestText(field, sizeof field, "%d", i % 2 ? i : 1), STR("some"));
        hashShapeTestSet(&h, hashShapeTestText(field, sizeof field, "f%d", i % 3 ? i : 2), STR("some"));
        hashShapeTestSet(&h, STR("the last"), STR("a value"));
        hashFindShape(&h);
        assert_int_not_equal(HASH_SHAPED, h.encoding); /* a number as a name */
        hashDrop(&h);
    }
    assert_int_equal(0, hashShapeTestFigure("hash_shapes:"));
}

/* Makes shapes until there are no new ones. Returns how many there are, and their bytes. */
static size_t hashShapeTestMost(bool long_names, size_t *bytes) {
    static struct hash kept[HASH_SHAPES_MAX];
    char form[80];
    size_t count = 0;
    for (int i = 0, refused = 0; refused < 20; i++) {
        snprintf(form, sizeof form, long_names ? "%d_%046d_%%d" : "%d_%d_%%d", i, i);
        bool shaped = hashShapeTestTryShaped(&kept[count], form, long_names ? 16 : 10, 500);
        refused = shaped ? 0 : refused + 1;
        count += shaped;
    }
    *bytes = hashShapeTestFigure("hash_shapes_bytes:");
    assert_int_equal(count, hashShapeTestFigure("hash_shapes:"));
    for (size_t i = 0; i < count; i++) hashDrop(&kept[i]);
    hashShapeTestNone();
    return count;
}

static void shapesAreLimited(void **state) {
    size_t bytes;
    (void)state;
    assert_int_equal(HASH_SHAPES_MAX - 1, hashShapeTestMost(false, &bytes));
    assert_in_range(bytes, 0, HASH_SHAPES_BYTES_MAX);
    assert_in_range(hashShapeTestMost(true, &bytes), HASH_SHAPES_MAX / 4, HASH_SHAPES_MAX - 2);
    assert_in_range(bytes, HASH_SHAPES_BYTES_MAX - 2048, HASH_SHAPES_BYTES_MAX);
}

static void oddNamesAndValues(void **state) {
    (void)state;
    static char text[5000];
    memset(text, 'x', sizeof text);
    hash_max_listpack_value = 5000;
    static const size_t lens[] = {0, 1, 62, 63, 64, 125, 126, 127, 128, 255, 4094, 4095, 4096, 5000};
    for (size_t f = 0; f < sizeof lens / sizeof *lens; f++) {
        for (size_t v = 0; v < sizeof lens / sizeof *lens; v++) {
            bool expected = lens[f] > 0 && lens[f] < 64 && lens[v] < 4096;
            for (int i = 0; i < 100; i++) {
                struct hash h;
                struct hashText value;
                char first[30];
                hashNew(&h);
                hashShapeTestSet(&h, hashShapeTestText(first, sizeof first, "first%d", (int)(100 * f + v)),
                                 strN(text, 64));
                hashShapeTestSet(&h, strN(text, lens[f]), strN(text, lens[v]));
                hashShapeTestSet(&h, STR("last"), STR("some"));
                hashFindShape(&h);
                assert_int_equal(expected && i == 99 ? HASH_SHAPED : h.encoding, h.encoding);
                if (!expected) assert_int_equal(HASH_LISTPACK, h.encoding);
                assert_true(hashGet(&h, strN(text, lens[f]), &value));
                assert_true(strEq(value.s, strN(text, lens[v])));
                assert_true(hashGet(&h, STR("last"), &value) && strEq(value.s, STR("some")));
                hashDrop(&h);
            }
        }
    }
    hash_max_listpack_value = 64;
    hashShapeTestNone();
}

/* A hash that gets its fields one by one goes from shape to shape. */
static void growingHashesStayShaped(void **state) {
    (void)state;
    for (int i = 0; i < 400; i++) {
        struct hash h;
        char field[20];
        hashNew(&h);
        for (int n = 0; n < 12; n++) {
            h.shape_before = 0; /* as hashOpen */
            hashShapeTestSet(&h, hashShapeTestText(field, sizeof field, "field%d", n), STR("some value"));
            if (n > 5 && i > 350) assert_int_equal(HASH_SHAPED, h.encoding); /* without looking for a shape */
            hashFindShape(&h);
        }
        hashDrop(&h);
    }
    hashShapeTestNone();
}

/* The id of a freed shape becomes that of another one, whose last name is the same. */
static void aFreedShapeIsNoNextOne(void **state) {
    (void)state;
    struct hash kept, h;
    struct hashText value;
    for (int i = 0; i < SIBLINGS; i++) {
        hashShapeTestFill(&h, "name%d", 10);
        hashShapeTestSet(&h, STR("more"), STR("x"));
        hashFindShape(&h);
        hashDrop(&h);
    }
    hashShapeTestFillShaped(&kept, "name%d", 10);
    hashShapeTestSweep();
    assert_int_equal(1, hashShapeTestFigure("hash_shapes:"));
    for (int i = 0; i < SIBLINGS; i++) {
        hashShapeTestFill(&h, "other%d", 10);
        hashShapeTestSet(&h, STR("more"), STR("x"));
        hashFindShape(&h);
        hashDrop(&h);
    }
    hashShapeTestSet(&kept, STR("more"), STR("y"));
    assert_true(hashGet(&kept, STR("name3"), &value) && strEq(value.s, STR("a value of 3")));
    assert_true(hashGet(&kept, STR("more"), &value) && strEq(value.s, STR("y")));
    hashDrop(&kept);
    hashShapeTestNone();
}

/* ---- Model ---- */

#define HASHES 40
#define FORMS  6

struct hashShapePair {
    struct hash with, without;
};
static struct hashShapePair pairs[HASHES];

static unsigned char *hashShapeTestListpack(const struct hash *h) {
    if (h->encoding == HASH_SHAPED) return hashShapedListpack(h->ptr);
    return h->encoding == HASH_LISTPACK ? lpDup(h->ptr) : NULL;
}

static void hashShapeTestCompare(const struct hash *a, const struct hash *b) {
    struct hashIterator it, other;
    struct hashItem item, expected;
    assert_int_equal(hashSize(b), hashSize(a));
    assert_int_equal(a->encoding == HASH_SHAPED ? HASH_LISTPACK : a->encoding, b->encoding);
    unsigned char *lp = hashShapeTestListpack(a), *lp2 = hashShapeTestListpack(b);
    if (lp) assert_memory_equal(lp, lp2, lpBytes(lp2));
    if (lp) lpFree(lp), lpFree(lp2);
    hashIterate(&it, a);
    hashIterate(&other, b);
    while (hashNext(&other, &expected)) {
        struct hashText value;
        assert_true(hashGet(b, expected.field.s, &value) && strEq(value.s, expected.value.s));
        if (b->encoding >= HASH_TABLE) continue;
        assert_true(hashNext(&it, &item));
        assert_true(strEq(item.field.s, expected.field.s) && strEq(item.value.s, expected.value.s));
        assert_int_equal(expected.expire_ms, item.expire_ms);
    }
    if (b->encoding < HASH_TABLE) assert_false(hashNext(&it, &item));
    hashStop(&it);
    hashStop(&other);
    const void *place = hashRandomPlace(a);
    assert_int_equal(hashSize(a) > 0, place != NULL);
    if (!place) return;
    struct hashText value;
    hashRead(a, place, &item);
    assert_true(hashGet(b, item.field.s, &value) && strEq(value.s, item.value.s));
}

static struct str hashShapeTestValue(char *to) {
    static const size_t lens[] = {0, 1, 5, 30, 62, 63, 64, 65, 100, 130};
    if (randomBelow(3) == 0)
        return strN(to, (size_t)sprintf(to, "%lld", (long long)randomU64() >> randomBelow(64)));
    size_t len = randomBelow(4) ? 1 + randomBelow(20) : lens[randomBelow(sizeof lens / sizeof *lens)];
    for (size_t i = 0; i < len; i++) to[i] = (char)randomU64();
    return strN(to, len);
}

/* Makes the struct what it is when a command has opened the hash. */
static void hashShapeTestBegin(struct hash *h) {
    h->shape_before = 0;
    h->named = false;
}

static void hashShapeTestStep(struct hashShapePair *p) {
    char field[40], text[200];
    int form = (int)randomBelow(FORMS);
    struct hash *h = &p->with, *plain = &p->without;
    hashShapeTestBegin(h);
    int first = (int)randomBelow(12);
    switch (randomBelow(12)) {
    case 0: /* a new hash of many fields */
    case 1:
    case 2: {
        struct str list[24];
        char names[12][40], values[12][200];
        int count = 3 + form;
        hashDrop(h);
        hashDrop(plain);
        hashNew(h);
        hashNew(plain);
        for (int i = 0; i < count; i++) {
            list[2 * i] = hashShapeTestText(names[i], sizeof names[i], form % 2 ? "field%d" : "%dname", i);
            list[2 * i + 1] = hashShapeTestValue(values[i]);
            hashShapeTestSet(plain, list[2 * i], list[2 * i + 1]);
        }
        if (!hashSetAll(h, list, (size_t)count))
            for (int i = 0; i < count; i++) hashShapeTestSet(h, list[2 * i], list[2 * i + 1]);
        break;
    }
    case 3: /* an expiry, and none */
        hashShapeTestText(field, sizeof field, form % 2 ? "field%d" : "%dname", first);
        if (randomBelow(20) == 0 && hashGet(h, strN(field, strlen(field)), NULL)) {
            hashSetExpire(h, strN(field, strlen(field)), 1);
            hashSetExpire(plain, strN(field, strlen(field)), 1);
        }
        break;
    case 4: {
        struct str name = hashShapeTestText(field, sizeof field, form % 2 ? "field%d" : "%dname", first);
        assert_int_equal(hashRemove(plain, name), hashRemove(h, name));
        break;
    }
    case 5: { /* a copy instead */
        if (h->encoding != HASH_SHAPED) break;
        void *copy = hashShapedCopy(h->ptr);
        hashDrop(h);
        h->ptr = copy;
        break;
    }
    default: {
        struct str name = hashShapeTestText(field, sizeof field, form % 2 ? "field%d" : "%dname", first);
        struct str value = hashShapeTestValue(text);
        struct hashInput input = {.text = value};
        assert_int_equal(hashSet(plain, name, input, true), hashSet(h, name, input, true));
    }
    }
    if (h->named) hashFindShape(h);
}

static void everythingAgreesWithPlainHashes(void **state) {
    (void)state;
    uint64_t shaped = 0, ops = modelShare(400000);
    for (int i = 0; i < HASHES; i++) hashNew(&pairs[i].with), hashNew(&pairs[i].without);
    for (uint64_t op = 0; op < ops; op++) {
        struct hashShapePair *p = &pairs[randomBelow(HASHES)];
        if (randomBelow(1000) == 0) hashShapesSweep();
        if (randomBelow(5000) == 0) {
            hash_max_listpack_entries = randomBelow(3) ? 512 : 3 + (int64_t)randomBelow(8);
            hash_max_listpack_value = randomBelow(3) ? 64 : 4 + (int64_t)randomBelow(200);
        }
        hashShapeTestStep(p);
        hashShapeTestCompare(&p->with, &p->without);
        shaped += p->with.encoding == HASH_SHAPED;
    }
    assert_true(ops < 20000 || shaped > ops / 10);
    size_t refs = 0;
    for (int i = 0; i < HASHES; i++) refs += pairs[i].with.encoding == HASH_SHAPED;
    assert_int_equal(refs, hashShapeTestFigure("hash_shapes_hashes:"));
    for (int i = 0; i < HASHES; i++) hashDrop(&pairs[i].with), hashDrop(&pairs[i].without);
    hash_max_listpack_entries = 512;
    hash_max_listpack_value = 64;
    hashShapeTestNone();
}

int main(void) {
    modelSeed();
    hash_shapes_wanted = true;
    hash_max_listpack_entries = 512;
    hash_max_listpack_value = 64;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(siblingsGetAShape),       cmocka_unit_test(uniqueHashesGetNone),
        cmocka_unit_test(hintsMayBeWrong),         cmocka_unit_test(oddNamesAndValues),
        cmocka_unit_test(growingHashesStayShaped), cmocka_unit_test(everythingAgreesWithPlainHashes),
        cmocka_unit_test(aFreedShapeIsNoNextOne),  cmocka_unit_test(shapesAreLimited),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
