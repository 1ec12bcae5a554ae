/* SPDX-License-Identifier: BSD-3-Clause */
/* Unit tests of json_escape.h. */
#include "base/json_escape.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

static void assertEscaped(struct str text, const char *expected) {
    char out[256];
    size_t len = jsonEscape(out, sizeof out, &text);
    out[len] = 0;
    assert_int_equal(text.len, 0);
    assert_string_equal(out, expected);
}

static void testEscapes(void **state) {
    (void)state;
    assertEscaped(STR(""), "");
    assertEscaped(STR("plain/\x7f"), "plain/\x7f");
    assertEscaped(STR("a\"b\\c"), "a\\\"b\\\\c");
    assertEscaped(STR("\b\f\n\r\t"), "\\b\\f\\n\\r\\t");
    assertEscaped(strN("\0\x01\x1f", 3), "\\u0000\\u0001\\u001f");
}

static void jsonEscapeTestUtf8(void **state) {
    (void)state;
    static const char *const good[] = {"\xc2\x80",         "\xdf\xbf",          "\xe0\xa0\x80",
                                       "\xed\x9f\xbf",     "\xee\x80\x80",      "\xf0\x90\x80\x80",
                                       "\xf4\x8f\xbf\xbf", "gr\xc3\xbc\xc3\x9f"};
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) assertEscaped(strOf(good[i]), good[i]);
    assertEscaped(STR("\x80"), "\\\\x80");
    assertEscaped(STR("\xc0\xaf"), "\\\\xc0\\\\xaf");            /* overlong */
    assertEscaped(STR("\xe0\x9f\xbf"), "\\\\xe0\\\\x9f\\\\xbf"); /* overlong */
    assertEscaped(STR("\xed\xa0\x80"), "\\\\xed\\\\xa0\\\\x80"); /* surrogate */
    assertEscaped(STR("\xf0\x8f\xbf\xbf"), "\\\\xf0\\\\x8f\\\\xbf\\\\xbf");
    assertEscaped(STR("\xf4\x90\x80\x80"), "\\\\xf4\\\\x90\\\\x80\\\\x80"); /* beyond U+10FFFF */
    assertEscaped(STR("\xf5\xff"), "\\\\xf5\\\\xff");
    assertEscaped(STR("\xe2\x82"
                      "a"),
                  "\\\\xe2\\\\x82"
                  "a");
    assertEscaped(strN("\xe2\x82\xac", 2), "\\\\xe2\\\\x82"); /* bytes behind the end are not read */
}

/* Escapes every byte into spaces of every size: never more than the space, never a part of an escape,
 * and everything in the end. */
static void testSpacesOfAllSizes(void **state) {
    (void)state;
    char all[256], whole[sizeof all * JSON_ESCAPE_MAX], pieces[sizeof whole];
    for (size_t i = 0; i < sizeof all; i++) all[i] = (char)i;
    struct str text = strN(all, sizeof all);
    size_t len = jsonEscape(whole, sizeof whole, &text);
    assert_int_equal(text.len, 0);
    for (size_t room = JSON_ESCAPE_MAX; room < 40; room++) {
        size_t at = 0;
        for (text = strN(all, sizeof all); text.len;) {
            size_t n = jsonEscape(pieces + at, room, &text);
            assert_in_range(n, 1, room);
            at += n;
        }
        assert_int_equal(at, len);
        assert_memory_equal(pieces, whole, len);
    }
    text = strN(all, sizeof all);
    assert_int_equal(jsonEscape(pieces, JSON_ESCAPE_MAX - 1, &text), 0);
    assert_int_equal(text.len, sizeof all);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(testEscapes),
        cmocka_unit_test(jsonEscapeTestUtf8),
        cmocka_unit_test(testSpacesOfAllSizes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
