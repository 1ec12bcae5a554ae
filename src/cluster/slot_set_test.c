/* SPDX-License-Identifier: BSD-3-Clause */
/* slot_set_test.c - sets of slots against an array of bools. */
#include "cluster/slot_set.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

static struct slotSet set;
static bool model[KEY_SLOTS];

static int slotSetTestEmpty(void **state) {
    (void)state;
    memset(&set, 0, sizeof set);
    memset(model, 0, sizeof model);
    return 0;
}

static void slotSetTestPut(int slot, bool in) {
    model[slot] = in;
    if (in)
        slotSetAdd(&set, slot);
    else
        slotSetRemove(&set, slot);
}

static int modelRun(int from, int *last) {
    while (from < KEY_SLOTS && !model[from]) from++;
    if (from == KEY_SLOTS) return -1;
    for (*last = from; *last + 1 < KEY_SLOTS && model[*last + 1];) ++*last;
    return from;
}

static void slotSetTestVerify(void) {
    int count = 0;
    for (int slot = 0; slot < KEY_SLOTS; slot++) {
        assert_int_equal(slotSetHas(&set, slot), model[slot]);
        count += model[slot];
    }
    assert_int_equal(slotSetCount(&set), count);
}

/* Starts runs from everywhere: word borders, and the borders of runs. */
static void verifyRuns(void) {
    int next = 0, runs = 0, last;
    for (int from = 0; (from = modelRun(from, &last)) >= 0; from = last + 1) runs++;
    assert_int_equal(slotSetCountRuns(&set), runs);
    slotSetForEach(&set, slot) {
        assert_int_equal(slot, modelRun(next, &last));
        next = slot + 1;
    }
    assert_int_equal(modelRun(next, &last), -1);
    for (int from = 0; from <= KEY_SLOTS; from++) {
        int expected_last = -7;
        last = -7;
        assert_int_equal(slotSetFindRun(&set, from, &last), modelRun(from, &expected_last));
        assert_int_equal(last, expected_last);
        if (from % 64 > 2 && from % 64 < 62) from += 5;
    }
}

static void bitsAreWhereTheBusHasThem(void **state) {
    (void)state;
    slotSetAdd(&set, 0);
    slotSetAdd(&set, 9);
    slotSetAdd(&set, KEY_SLOTS - 1);
    assert_int_equal(set.bits[0], 0x01);
    assert_int_equal(set.bits[1], 0x02);
    assert_int_equal(set.bits[2047], 0x80);
}

static void noneAndAll(void **state) {
    (void)state;
    int last;
    assert_int_equal(slotSetFindRun(&set, 0, &last), -1);
    assert_int_equal(slotSetFindRun(&set, KEY_SLOTS, &last), -1);
    assert_int_equal(slotSetCount(&set), 0);
    for (int slot = 0; slot < KEY_SLOTS; slot++) slotSetTestPut(slot, true);
    assert_int_equal(slotSetCount(&set), KEY_SLOTS);
    assert_int_equal(slotSetFindRun(&set, 0, &last), 0);
    assert_int_equal(last, KEY_SLOTS - 1);
    assert_int_equal(slotSetFindRun(&set, KEY_SLOTS - 1, &last), KEY_SLOTS - 1);
    assert_int_equal(slotSetFindRun(&set, KEY_SLOTS, &last), -1);
}

static void runsOfEveryLengthAtTheBordersOfWords(void **state) {
    (void)state;
    for (int first = 60; first < 68; first++) {
        for (int last = first; last < 132; last++) {
            int found_last = -1;
            memset(&set, 0, sizeof set);
            for (int slot = first; slot <= last; slot++) slotSetAdd(&set, slot);
            assert_int_equal(slotSetFindRun(&set, 0, &found_last), first);
            assert_int_equal(found_last, last);
            assert_int_equal(slotSetFindRun(&set, last + 1, &found_last), -1);
            assert_int_equal(slotSetCount(&set), last - first + 1);
        }
    }
}

static void randomSetsAreLikeTheModel(void **state) {
    (void)state;
    uint32_t seed = 1;
    for (int round = 0; round < 30; round++) {
        for (int i = 0; i < 400; i++) {
            seed = seed * 1664525 + 1013904223;
            int slot = (int)(seed >> 8) % KEY_SLOTS, len = (int)(seed >> 24) % 70;
            for (int s = slot; s < KEY_SLOTS && s < slot + len; s++) slotSetTestPut(s, seed >> 7 & 1);
        }
        slotSetTestVerify();
        verifyRuns();
    }
}

static void setsAreEqualIfAllBitsAre(void **state) {
    (void)state;
    struct slotSet other = {{0}};
    slotSetAdd(&set, 5000);
    assert_false(slotSetIsEqual(&set, &other));
    slotSetAdd(&other, 5000);
    assert_true(slotSetIsEqual(&set, &other));
    slotSetAdd(&other, 5001);
    assert_false(slotSetIsEqual(&set, &other));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(bitsAreWhereTheBusHasThem, slotSetTestEmpty),
        cmocka_unit_test_setup(noneAndAll, slotSetTestEmpty),
        cmocka_unit_test_setup(runsOfEveryLengthAtTheBordersOfWords, slotSetTestEmpty),
        cmocka_unit_test_setup(randomSetsAreLikeTheModel, slotSetTestEmpty),
        cmocka_unit_test_setup(setsAreEqualIfAllBitsAre, slotSetTestEmpty),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
