/* SPDX-License-Identifier: BSD-3-Clause */
/* rax_test.c - the radix tree against a sorted array: a million random operations on keys of several
 * kinds, every way to seek, and iterators over a changing tree. */
#include "ds/rax.h"

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

#define MODEL_MAX 2000
#define KEY_MAX   300

struct modelKey {
    char bytes[KEY_MAX];
    size_t len;
    void *value;
};
struct raxModel {
    struct modelKey *key[MODEL_MAX];
    size_t n;
};

static struct str raxTestView(const struct modelKey *k) {
    return strN(k->bytes, k->len);
}

/* Returns the index of the first key that is not smaller. */
static size_t raxTestModelLower(const struct raxModel *m, struct str key) {
    size_t low = 0, high = m->n;
    while (low < high) {
        size_t mid = (low + high) / 2;
        if (strCmp(raxTestView(m->key[mid]), key) < 0)
            low = mid + 1;
        else
            high = mid;
    }
    return low;
}

static bool raxTestModelHas(const struct raxModel *m, size_t at, struct str key) {
    return at < m->n && strEq(raxTestView(m->key[at]), key);
}

static void raxTestModelAdd(struct raxModel *m, size_t at, struct str key, void *value) {
    struct modelKey *k = malloc(sizeof *k);
    memcpy(k->bytes, key.ptr, key.len);
    k->len = key.len;
    k->value = value;
    memmove(m->key + at + 1, m->key + at, (m->n++ - at) * sizeof *m->key);
    m->key[at] = k;
}

static void raxTestModelRemove(struct raxModel *m, size_t at) {
    free(m->key[at]);
    memmove(m->key + at, m->key + at + 1, (--m->n - at) * sizeof *m->key);
}

/* ---- Keys of several kinds ---- */

static size_t shortKey(char *p) {
    size_t n = randomBelow(7);
    for (size_t i = 0; i < n; i++) p[i] = "ab\xff"[randomBelow(3)];
    return n;
}

static size_t raxTestIdKey(char *p) {
    uint64_t ms = randomBelow(40) * 251, seq = randomBelow(30);
    for (int i = 0; i < 8; i++) {
        p[i] = (char)(ms >> (56 - 8 * i));
        p[8 + i] = (char)(seq >> (56 - 8 * i));
    }
    return 16;
}

static size_t byteKey(char *p) {
    p[0] = 'x';
    p[1] = (char)randomBelow(256);
    p[2] = (char)randomBelow(4);
    return 1 + randomBelow(3);
}

static size_t longKey(char *p) {
    memset(p, 'z', KEY_MAX);
    p[100] = (char)('a' + randomBelow(3));
    p[randomBelow(KEY_MAX)] = (char)('a' + randomBelow(20));
    return randomBelow(4) ? (size_t)KEY_MAX - 1 : randomBelow(KEY_MAX);
}

/* Makes keys that are prefixes of one another: the deepest tree. */
static size_t nestedKey(char *p) {
    memset(p, 'n', KEY_MAX);
    return randomBelow(KEY_MAX);
}

typedef size_t keyMaker(char *p);

static void *someValue(void) {
    return (void *)(uintptr_t)(randomBelow(1000) * 2);
}

/* ---- Checks ---- */

static void raxTestExpectAt(const struct raxIterator *it, bool found, const struct raxModel *m, size_t at) {
    assert_int_equal(found, at < m->n);
    if (!found) return;
    assert_true(strEq(it->key, raxTestView(m->key[at])));
    assert_ptr_equal(it->value, m->key[at]->value);
}

static void checkSeek(const struct rax *r, const struct raxModel *m, struct str key) {
    static const char *ops[] = {"=", ">", ">=", "<", "<=", "^", "$"};
    size_t op = randomBelow(7), at = raxTestModelLower(m, key);
    bool has = raxTestModelHas(m, at, key);
    size_t want[] = {has ? at : m->n, at + has, at, at - 1, has ? at : at - 1, 0, m->n - 1};
    struct raxIterator it;
    raxStart(&it, r);
    raxTestExpectAt(&it, raxSeek(&it, ops[op], key), m, want[op]);
    at = want[op];
    for (int steps = (int)randomBelow(8); steps && it.valid; steps--) {
        bool forward = randomBelow(2);
        at += forward ? 1 : (size_t)-1;
        raxTestExpectAt(&it, forward ? raxNext(&it) : raxPrev(&it), m, at);
    }
    raxStop(&it);
}

static void checkWalk(const struct rax *r, const struct raxModel *m) {
    struct raxIterator it;
    size_t at = 0;
    raxVerify(r);
    assert_int_equal(r->size, m->n);
    raxStart(&it, r);
    for (bool more = raxSeek(&it, "^", STR("")); more; more = raxNext(&it))
        raxTestExpectAt(&it, true, m, at++);
    assert_int_equal(at, m->n);
    for (bool more = raxSeek(&it, "$", STR("")); more; more = raxPrev(&it))
        raxTestExpectAt(&it, true, m, --at);
    assert_int_equal(at, 0);
    raxStop(&it);
}

/* ---- Moving ---- */

struct moving {
    struct raxModel *model;
    size_t at, offers;
};

/* Moves half of the allocations, overwrites the old ones, and counts the calls. */
static void *raxTestMoveSome(void *priv, void *ptr) {
    ((struct moving *)priv)->offers++;
    if (randomBelow(2)) return NULL;
    size_t size = zmallocSize(ptr);
    void *now = memcpy(zmalloc(size), ptr, size);
    memset(ptr, 0xdb, size);
    zfree(ptr);
    return now;
}

static void *giveValue(void *priv, struct str key, void *value) {
    struct moving *moving = priv;
    struct modelKey *k = moving->model->key[moving->at++];
    assert_true(strEq(key, raxTestView(k)));
    assert_ptr_equal(value, k->value);
    return k->value = someValue();
}

/* Moves all keys, in pieces. Each node is passed, some above the cuts more than once. */
static void moveAll(struct rax *r, struct raxModel *m) {
    struct moving moving = {.model = m};
    size_t pieces = 0;
    char last[KEY_MAX];
    struct str key = STR("");
    for (bool more = m->n > 0; more; pieces++) {
        more = raxMove(r, pieces ? ">" : "^", key, 1 + randomBelow(300), raxTestMoveSome, giveValue, &moving);
        struct modelKey *k = m->key[moving.at - 1];
        key = strN(memcpy(last, k->bytes, k->len), k->len);
    }
    assert_int_equal(moving.at, m->n);
    assert_true(moving.offers >= r->nodes);
}

static void raxTestStep(struct rax *r, struct raxModel *m, struct str key, unsigned addChance) {
    size_t at = raxTestModelLower(m, key);
    bool has = raxTestModelHas(m, at, key);
    void *old = (void *)1, *value = someValue();
    if (randomBelow(100) < addChance && m->n < MODEL_MAX - 1) {
        assert_int_equal(raxInsert(r, key, value, &old), !has);
        assert_ptr_equal(old, has ? m->key[at]->value : NULL);
        if (has)
            m->key[at]->value = value;
        else
            raxTestModelAdd(m, at, key, value);
    } else {
        assert_int_equal(raxRemove(r, key, &old), has);
        if (has) {
            assert_ptr_equal(old, m->key[at]->value);
            raxTestModelRemove(m, at);
        }
    }
}

static void raxTestRunModel(keyMaker *maker, int operations) {
    struct rax r;
    struct raxModel *m = calloc(1, sizeof *m);
    char bytes[KEY_MAX];
    unsigned addChance = 60;
    raxInit(&r);
    for (int i = 0; i < operations; i++) {
        if (i % 3000 == 0) addChance = (unsigned)randomBelow(101);
        raxTestStep(&r, m, strN(bytes, maker(bytes)), addChance);
        struct str key = strN(bytes, maker(bytes));
        size_t at = raxTestModelLower(m, key);
        void *value = NULL;
        assert_int_equal(raxFind(&r, key, &value), raxTestModelHas(m, at, key));
        if (raxTestModelHas(m, at, key)) assert_ptr_equal(value, m->key[at]->value);
        checkSeek(&r, m, key);
        if (i % 500 == 0) moveAll(&r, m);
        if (i % 1000 == 0) checkWalk(&r, m);
        if (i % 100 == 0) raxVerify(&r);
    }
    checkWalk(&r, m);
    raxDestroy(&r, NULL);
    assert_int_equal(r.bytes + r.nodes + r.size, 0);
    while (m->n) raxTestModelRemove(m, 0);
    free(m);
}

static void raxTestModel(void **state) {
    (void)state;
    static keyMaker *makers[] = {shortKey, raxTestIdKey, byteKey, longKey, nestedKey};
    for (int i = 0; i < 5; i++) raxTestRunModel(makers[i], modelShare(200000));
}

/* An iterator continues from its place whatever changes in the tree, its own key included. */
static void testIteratorThroughChanges(void **state) {
    (void)state;
    static keyMaker *makers[] = {shortKey, raxTestIdKey, byteKey, nestedKey};
    for (int round = 0; round < 400; round++) {
        keyMaker *maker = makers[round % 4];
        struct rax r;
        struct raxModel *m = calloc(1, sizeof *m);
        struct raxIterator it;
        char bytes[KEY_MAX], at[KEY_MAX];
        raxInit(&r);
        for (int i = 0; i < 200; i++) raxTestStep(&r, m, strN(bytes, maker(bytes)), 90);
        bool forward = round % 8 < 4;
        raxStart(&it, &r);
        bool more = raxSeek(&it, forward ? "^" : "$", STR(""));
        while (more) {
            size_t len = it.key.len;
            memcpy(at, it.key.ptr, len);
            if (randomBelow(3) == 0) { /* removes the iterator's key */
                raxTestModelRemove(m, raxTestModelLower(m, it.key));
                assert_true(raxRemove(&r, strN(at, len), NULL));
            }
            for (size_t i = randomBelow(3); i; i--) raxTestStep(&r, m, strN(bytes, maker(bytes)), 30);
            size_t next = raxTestModelLower(m, strN(at, len));
            next = forward ? next + raxTestModelHas(m, next, strN(at, len)) : next - 1;
            more = forward ? raxNext(&it) : raxPrev(&it);
            raxTestExpectAt(&it, more, m, next);
        }
        raxStop(&it);
        raxDestroy(&r, NULL);
        while (m->n) raxTestModelRemove(m, 0);
        free(m);
    }
}

static int freed;
static void raxTestCountFree(void *value) {
    freed++;
    zfree(value);
}

static void testDestroyFreesValues(void **state) {
    (void)state;
    struct rax r;
    char bytes[KEY_MAX];
    raxInit(&r);
    for (int i = 0; i < 2000; i++) {
        void *old;
        raxInsert(&r, strN(bytes, raxTestIdKey(bytes)), zmalloc(8), &old);
        zfree(old);
    }
    freed = 0;
    int size = (int)r.size;
    raxDestroy(&r, raxTestCountFree);
    assert_int_equal(freed, size);
    raxInsert(&r, STR(""), zmalloc(8), NULL); /* a root that is a value */
    raxDestroy(&r, raxTestCountFree);
    assert_int_equal(freed, size + 1);
}

/* The tree is made for IDs that count up: they must be cheap. */
static void raxTestMemory(void **state) {
    (void)state;
    struct rax r;
    char p[16] = {0};
    raxInit(&r);
    for (uint32_t i = 0; i < 100000; i++) { /* one entry per millisecond */
        for (int b = 0; b < 4; b++) p[4 + b] = (char)(i >> (24 - 8 * b));
        raxInsert(&r, strN(p, 16), NULL, NULL);
    }
    assert_in_range(r.bytes, 1, 100000 * 44);
    raxDestroy(&r, NULL);
    for (uint32_t i = 0; i < 100000; i++) { /* all in one millisecond */
        for (int b = 0; b < 4; b++) p[12 + b] = (char)(i >> (24 - 8 * b));
        raxInsert(&r, strN(p, 16), NULL, NULL);
    }
    assert_in_range(r.bytes, 1, 100000 * 11);
    raxDestroy(&r, NULL);
}

int main(void) {
    modelSeed();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(raxTestModel),
        cmocka_unit_test(testIteratorThroughChanges),
        cmocka_unit_test(testDestroyFreesValues),
        cmocka_unit_test(raxTestMemory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
