/* key_slot_test.c - slots of keys that a living server has told, and what the braces do. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/key_slot.h"

static int slotOf(const char *key) {
    return keySlot(strOf(key));
}

static void knownKeysHaveTheirSlots(void **state) {
    (void)state;
    assert_int_equal(slotOf("b"), 3300);
    assert_int_equal(slotOf("foo"), 12182);
    assert_int_equal(slotOf("foo{}{bar}"), 8363);
    assert_int_equal(slotOf("{}b"), 6680);
    assert_int_equal(slotOf(""), 0);
    assert_int_equal(slotOf("123456789"), 0x31c3); /* the check value of this CRC */
}

static void onlyTheFirstTagCounts(void **state) {
    (void)state;
    int slot = slotOf("user");
    assert_int_equal(slotOf("{user}"), slot);
    assert_int_equal(slotOf("{user}.name"), slot);
    assert_int_equal(slotOf("a{user}b"), slot);
    assert_int_equal(slotOf("a{user}{other}"), slot);
    assert_int_equal(slotOf("{user}}"), slot);
    assert_int_equal(slotOf("{{user}}"), slotOf("x{{user}y")); /* the tag is "{user" */
    assert_int_not_equal(slotOf("{{user}}"), slot);
}

static void aTagThatIsNotClosedOrEmptyIsNone(void **state) {
    (void)state;
    assert_int_not_equal(slotOf("{user"), slotOf("user"));
    assert_int_not_equal(slotOf("user}"), slotOf("user"));
    assert_int_not_equal(slotOf("{}user"), slotOf(""));
    assert_int_not_equal(slotOf("}{user"), slotOf("user"));
    assert_int_not_equal(slotOf("{}{user}"), slotOf("user")); /* the first braces are empty: no tag */
}

/* Keys in blocks of their own, as long as they are, so that a sanitizer sees what is read beyond them. */
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
    assert_int_equal(keySlot(strN("a\0{user}", 8)), slotOf("user"));
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
        cmocka_unit_test(knownKeysHaveTheirSlots),
        cmocka_unit_test(onlyTheFirstTagCounts),
        cmocka_unit_test(aTagThatIsNotClosedOrEmptyIsNone),
        cmocka_unit_test(nothingBehindAKeyIsRead),
        cmocka_unit_test(patternsThatPinASlot),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
