/* SPDX-License-Identifier: BSD-3-Clause */
/* key_slot_test.c - slots that a running server reported for keys, and the effect of braces. */
#include "base/key_slot.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#include "base/crc.h"

static int keySlotTestSlotOf(const char *key) {
    return keySlot(strOf(key));
}

static void knownKeysHaveTheirSlots(void **state) {
    (void)state;
    assert_int_equal(keySlotTestSlotOf("b"), 3300);
    assert_int_equal(keySlotTestSlotOf("foo"), 12182);
    assert_int_equal(keySlotTestSlotOf("foo{}{bar}"), 8363);
    assert_int_equal(keySlotTestSlotOf("{}b"), 6680);
    assert_int_equal(keySlotTestSlotOf(""), 0);
    assert_int_equal(keySlotTestSlotOf("123456789"), 0x31c3); /* the check value of this CRC */
}

static void onlyTheFirstTagCounts(void **state) {
    (void)state;
    int slot = keySlotTestSlotOf("user");
    assert_int_equal(keySlotTestSlotOf("{user}"), slot);
    assert_int_equal(keySlotTestSlotOf("{user}.name"), slot);
    assert_int_equal(keySlotTestSlotOf("a{user}b"), slot);
    assert_int_equal(keySlotTestSlotOf("a{user}{other}"), slot);
    assert_int_equal(keySlotTestSlotOf("{user}}"), slot);
    assert_int_equal(keySlotTestSlotOf("{{user}}"), keySlotTestSlotOf("x{{user}y")); /* the tag is "{user" */
    assert_int_not_equal(keySlotTestSlotOf("{{user}}"), slot);
}

static void aTagThatIsNotClosedOrEmptyIsNone(void **state) {
    (void)state;
    assert_int_not_equal(keySlotTestSlotOf("{user"), keySlotTestSlotOf("user"));
    assert_int_not_equal(keySlotTestSlotOf("user}"), keySlotTestSlotOf("user"));
    assert_int_not_equal(keySlotTestSlotOf("{}user"), keySlotTestSlotOf(""));
    assert_int_not_equal(keySlotTestSlotOf("}{user"), keySlotTestSlotOf("user"));
    assert_int_not_equal(keySlotTestSlotOf("{}{user}"),
                         keySlotTestSlotOf("user")); /* the first braces are empty: no tag */
}

/* Each key is in a block of its exact length, so that a sanitizer sees reads beyond it. */
static void nothingBehindAKeyIsRead(void **state) {
    (void)state;
    static const char text[] = "{ab}c{";
    for (size_t from = 0; from < sizeof text; from++) {
        for (size_t len = 0; from + len < sizeof text; len++) {
            char *key = malloc(len ? len : 1);
            memcpy(key, text + from, len);
            assert_in_range(keySlot(strN(key, len)), 0, KEY_SLOTS - 1);
            free(key);
        }
    }
    assert_in_range(keySlot(strN(NULL, 0)), 0, 0);
    assert_int_equal(keySlot(strN("a\0{user}", 8)), keySlotTestSlotOf("user"));
}

/* Tags are found in keys of any length, at any place, whatever the other bytes are. */
static void tagsAreFoundEverywhere(void **state) {
    (void)state;
    char key[80];
    int slot = keySlotTestSlotOf("q");
    for (size_t len = 3; len <= sizeof key; len++) {
        for (size_t at = 0; at + 3 <= len; at++) {
            for (size_t i = 0; i < len; i++) {
                key[i] = (char)(i * 7 + at);
                if (key[i] == '{') key[i] = i < at ? '}' : '{'; /* braces before or behind the tag */
            }
            memcpy(key + at, "{q}", 3);
            assert_int_equal(keySlot(strN(key, len)), slot);
            key[at] = '|'; /* next to '{', as is 'z' */
            for (size_t i = 0; i < len; i++) key[i] = key[i] == '{' ? 'z' : key[i];
            assert_int_equal(keySlot(strN(key, len)), crc16(key, len) & (KEY_SLOTS - 1));
            key[at] = '{', key[at + 2] = '!'; /* the tag is not closed */
            for (size_t i = at; i < len; i++) key[i] = key[i] == '}' ? ')' : key[i];
            assert_int_equal(keySlot(strN(key, len)), crc16(key, len) & (KEY_SLOTS - 1));
        }
    }
}

static void patternsThatPinASlot(void **state) {
    (void)state;
    assert_int_equal(patternSlot(STR("b")), 3300);
    assert_int_equal(patternSlot(STR("{b}*")), 3300);
    assert_int_equal(patternSlot(STR("x{b}[*")), 3300);
    assert_int_equal(patternSlot(STR("*{b}")), -1); /* "{foo}{b}" matches */
    assert_int_equal(patternSlot(STR("?{b}")), -1);
    assert_int_equal(patternSlot(STR("\\{b}")), -1);
    assert_int_equal(patternSlot(STR("{b*}")), -1);
    assert_int_equal(patternSlot(STR("{[b]}")), -1);
    assert_int_equal(patternSlot(STR("{}*")), -1);
    assert_int_equal(patternSlot(STR("{b*")), -1);
    assert_int_equal(patternSlot(STR("")), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(knownKeysHaveTheirSlots),          cmocka_unit_test(onlyTheFirstTagCounts),
        cmocka_unit_test(aTagThatIsNotClosedOrEmptyIsNone), cmocka_unit_test(nothingBehindAKeyIsRead),
        cmocka_unit_test(tagsAreFoundEverywhere),           cmocka_unit_test(patternsThatPinASlot),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
