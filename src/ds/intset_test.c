/* SPDX-License-Identifier: BSD-3-Clause */
/* intset_test.c - intset against a plain array of bools and integers, and its validator against garbage. */
#include "ds/intset.h"

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

#define MODEL_MAX 300

struct intsetModel {
    int64_t v[MODEL_MAX];
    uint32_t n;
};

static bool intsetTestModelFind(const struct intsetModel *m, int64_t v, uint32_t *at) {
    for (*at = 0; *at < m->n && m->v[*at] < v; ++*at) {
    }
    return *at < m->n && m->v[*at] == v;
}

static bool intsetTestModelAdd(struct intsetModel *m, int64_t v) {
    uint32_t at;
    if (intsetTestModelFind(m, v, &at)) return false;
    memmove(m->v + at + 1, m->v + at, (m->n++ - at) * sizeof *m->v);
    m->v[at] = v;
    return true;
}

static bool intsetTestModelRemove(struct intsetModel *m, int64_t v) {
    uint32_t at;
    if (!intsetTestModelFind(m, v, &at)) return false;
    memmove(m->v + at, m->v + at + 1, (--m->n - at) * sizeof *m->v);
    return true;
}

/* Returns an integer, often near zero, sometimes near a border of the widths. */
static int64_t intsetTestPick(int wide) {
    static const int64_t borders[] = {INT16_MIN, INT16_MAX, INT32_MIN, INT32_MAX, INT64_MIN, INT64_MAX};
    if (!wide || randomBelow(4)) return (int64_t)randomBelow(200) - 100;
    int64_t b = borders[randomBelow((uint64_t)wide * 2)];
    return (int64_t)((uint64_t)b + randomBelow(7) - 3);
}

static void checkEqual(const unsigned char *is, const struct intsetModel *m) {
    assert_int_equal(intsetLength(is), m->n);
    for (uint32_t i = 0; i < m->n; i++) assert_int_equal(intsetGet(is, i), m->v[i]);
    if (m->n) assert_true(intsetValidate(is, intsetBytes(is), true));
}

static void intsetTestModel(void **state) {
    (void)state;
    long ops = (long)modelOps();
    for (int wide = 0; wide <= 3; wide++) {
        unsigned char *is = intsetNew();
        struct intsetModel m = {.n = 0};
        for (long i = 0; i < ops / 4; i++) {
            int64_t v = intsetTestPick(wide);
            uint32_t at;
            bool done;
            switch (randomBelow(3)) {
            case 0:
                if (m.n == MODEL_MAX) break;
                is = intsetAdd(is, v, &done);
                assert_int_equal(done, intsetTestModelAdd(&m, v));
                break;
            case 1:
                is = intsetRemove(is, v, &done);
                assert_int_equal(done, intsetTestModelRemove(&m, v));
                break;
            default: assert_int_equal(intsetFind(is, v), intsetTestModelFind(&m, v, &at));
            }
            if (i % 64 == 0) checkEqual(is, &m);
        }
        checkEqual(is, &m);
        unsigned char *copy = intsetDup(is);
        checkEqual(copy, &m);
        intsetFree(copy);
        intsetFree(is);
    }
}

static void testFormat(void **state) {
    (void)state;
    unsigned char *is = intsetNew();
    is = intsetAdd(is, 5, NULL);
    is = intsetAdd(is, -1, NULL);
    static const unsigned char narrow[] = {2, 0, 0, 0, 2, 0, 0, 0, 0xff, 0xff, 5, 0};
    assert_int_equal(intsetBytes(is), sizeof narrow);
    assert_memory_equal(is, narrow, sizeof narrow);
    is = intsetAdd(is, 65536, NULL);
    static const unsigned char wide[] = {4,    0,    0, 0, 3, 0, 0, 0, 0xff, 0xff,
                                         0xff, 0xff, 5, 0, 0, 0, 0, 0, 1,    0};
    assert_int_equal(intsetBytes(is), sizeof wide);
    assert_memory_equal(is, wide, sizeof wide);
    intsetFree(is);
}

static void testValidator(void **state) {
    (void)state;
    unsigned char *is = intsetNew();
    assert_false(intsetValidate(is, intsetBytes(is), true)); /* empty sets do not exist */
    for (int i = 0; i < 20; i++) is = intsetAdd(is, i * 1000, NULL);
    size_t size = intsetBytes(is);
    assert_true(intsetValidate(is, size, true));
    assert_false(intsetValidate(is, size - 1, true));
    assert_false(intsetValidate(is, size + 1, true));
    for (int i = 0; i < 100000; i++) {
        unsigned char *bad = zmalloc(size);
        memcpy(bad, is, size);
        bad[randomBelow(size)] ^= (unsigned char)(1 + randomBelow(255));
        size_t claimed = randomBelow(4) ? size : randomBelow(size);
        if (intsetValidate(bad, claimed, true)) { /* then every read must be within bounds and in order */
            for (uint32_t k = 1; k < intsetLength(bad); k++)
                assert_true(intsetGet(bad, k - 1) < intsetGet(bad, k));
        }
        zfree(bad);
    }
    intsetFree(is);
}

int main(void) {
    modelSeed();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(intsetTestModel),
        cmocka_unit_test(testFormat),
        cmocka_unit_test(testValidator),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
