/* SPDX-License-Identifier: BSD-3-Clause */
/* sds_test.c - owned strings: header types at their borders, growth and shrinking, contents, splitting. */
#include "base/sds.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "base/model_ops.h"
#include "base/random.h"
#include "base/zmalloc.h"

static void checkEq(sds s, const void *expected, size_t len) {
    assert_int_equal(sdslen(s), len);
    assert_memory_equal(s, expected, len);
    assert_int_equal(s[len], '\0');
}

/* Frees s, so that a test can check a result in one line. */
static void checkText(sds s, const char *expected) {
    checkEq(s, expected, strlen(expected));
    sdsfree(s);
}

/* Makes sanitizers refuse absurd sizes, too. */
const char *__asan_default_options(void);
const char *__asan_default_options(void) {
    return "allocator_may_return_null=1";
}
const char *__tsan_default_options(void);
const char *__tsan_default_options(void) {
    return "allocator_may_return_null=1";
}

/* ---- Sizes ---- */

static void headersAtTheirBorders(void **state) {
    (void)state;
    static const struct {
        size_t len;
        unsigned width;
    } cases[] = {{0, SDS_WIDTH_1},   {1, SDS_WIDTH_1},     {255, SDS_WIDTH_1},
                 {256, SDS_WIDTH_2}, {65535, SDS_WIDTH_2}, {65536, SDS_WIDTH_4}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        sds s = sdsnewlen(NULL, cases[i].len);
        assert_int_equal(sdslen(s), cases[i].len);
        assert_int_equal(sdsWidth(s), cases[i].width);
        assert_int_equal(s[cases[i].len], '\0');
        memset(s, 'x', cases[i].len);
        assert_true(sdsAllocSize(s) > cases[i].len);
        assert_true((char *)sdsAllocPtr(s) < s);
        sdsfree(s);
    }
    sdsfree(NULL);
    assert_null(sdstrynewlen(NULL, SIZE_MAX));
    assert_null(sdstrynewlen(NULL, SIZE_MAX / 4));
}

static void growingByteByByte(void **state) {
    (void)state;
    sds s = sdsempty();
    size_t moves = 0;
    for (size_t i = 0; i < 200000; i++) {
        size_t room = sdsavail(s);
        char c = (char)('a' + i % 26);
        s = sdscatlen(s, &c, 1);
        moves += room == 0;
    }
    assert_int_equal(sdslen(s), 200000);
    for (size_t i = 0; i < 200000; i++) assert_int_equal(s[i], 'a' + i % 26);
    assert_true(moves < 25);
    sdsfree(s);
}

static void roomAndShrinking(void **state) {
    (void)state;
    sds s = sdsnew("hello");
    s = sdsMakeRoomForExact(s, 10);
    assert_true(sdsavail(s) >= 10 && sdsavail(s) < 100);
    s = sdsMakeRoomFor(s, 100);
    assert_true(sdsavail(s) >= 100 + 105 - 5);
    s = sdsMakeRoomFor(s, 3 << 20);
    assert_true(sdsavail(s) >= (4 << 20) && sdsavail(s) < (6 << 20));
    checkEq(s, "hello", 5);
    s = sdsShrink(s);
    assert_int_equal(sdsavail(s), 0);
    assert_int_equal(sdsWidth(s), SDS_WIDTH_1);
    assert_true(sdsAllocSize(s) < 64);
    checkText(s, "hello");
}

/* All memory that is allocated is freed, whatever happens to the string. A wrong size in a sized free would
 * show as a drift of the account. */
static void accountReturnsToZero(void **state) {
    (void)state;
    size_t before = zmallocUsedMemory();
    for (int i = 0; i < 20000; i++) {
        sds s = sdsnewlen(NULL, randomBelow(600));
        for (uint64_t n = randomBelow(4); n > 0; n--) {
            switch (randomBelow(4)) {
            case 0: s = sdsMakeRoomFor(s, randomBelow(70000)); break;
            case 1: s = sdsMakeRoomForExact(s, randomBelow(300)); break;
            case 2: s = sdsShrink(s); break;
            case 3: sdssetlen(s, sdslen(s) / 2); break;
            }
        }
        memset(s, 'z', sdslen(s) + sdsavail(s));
        sdsfree(s);
    }
    assert_true(zmallocUsedMemory() == before);
}

/* ---- Contents ---- */

static void sdsTestConcatenating(void **state) {
    (void)state;
    checkText(sdscat(sdsnew("foo"), "bar"), "foobar");
    checkText(sdscatstr(sdsempty(), strN("foobar", 3)), "foo");
    checkText(sdscpylen(sdsnew("a long text"), "xy", 2), "xy");
    checkText(sdscpylen(sdsnew("x"), "a longer text than before", 25), "a longer text than before");
    checkText(sdsfromll(-9223372036854775807LL - 1), "-9223372036854775808");
    checkText(sdscatprintf(sdsnew("<"), "%s %d>", "five", 5), "<five 5>");
    sds padded = sdscatprintf(sdsnew("<"), "%500d>", 7);
    assert_int_equal(sdslen(padded), 502);
    assert_string_equal(padded + 499, " 7>");
    sdsfree(padded);
    sds zeros = sdsgrowzero(sdsnew("a"), 300);
    assert_int_equal(sdslen(zeros), 300);
    for (size_t i = 1; i <= 300; i++) assert_int_equal(zeros[i], 0);
    zeros = sdsgrowzero(zeros, 10);
    assert_int_equal(sdslen(zeros), 300);
    sds copy = sdsdup(zeros);
    assert_int_equal(sdscmp(zeros, copy), 0);
    sdsfree(copy);
    sdsfree(zeros);
}

static void sdsTestEscaping(void **state) {
    (void)state;
    static const char bytes[] = "a\n\r\t\a\b\\\"\x00\x7f\xffz ~";
    checkText(sdscatrepr(sdsnew("="), bytes, sizeof(bytes) - 1),
              "=\"a\\n\\r\\t\\a\\b\\\\\\\"\\x00\\x7f\\xffz ~\"");
    checkText(sdscatrepr(sdsempty(), "", 0), "\"\"");
}

static void changingInPlace(void **state) {
    (void)state;
    sds s = sdsnew("Mixed [CASE] {1}\xc3\x84");
    sdstolower(s);
    assert_string_equal(s, "mixed [case] {1}\xc3\x84");
    sdstoupper(s);
    checkText(s, "MIXED [CASE] {1}\xc3\x84");
    checkText(sdstrim(sdsnew("xxciaoyyy"), "xy"), "ciao");
    checkText(sdstrim(sdsnew("xxyy"), "xy"), "");
    checkText(sdstrim(sdsnew("a b"), " "), "a b");
    checkText(sdstrim(sdsempty(), " "), "");
}

static void sdsTestRanges(void **state) {
    (void)state;
    static const struct {
        ptrdiff_t start, end;
        const char *expected;
    } cases[] = {{1, 1, "i"},     {1, -1, "iao"},  {-2, -1, "ao"},  {2, 1, ""},
                 {1, 100, "iao"}, {100, 100, ""},  {0, -1, "ciao"}, {0, -5, ""},
                 {0, -100, ""},   {-100, 1, "ci"}, {4, 4, ""},      {3, 3, "o"}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        sds s = sdsnew("ciao");
        sdsrange(s, cases[i].start, cases[i].end);
        checkText(s, cases[i].expected);
    }
    sds s = sdsempty();
    sdsrange(s, 0, -1);
    checkText(s, "");
}

static void sdsTestComparing(void **state) {
    (void)state;
    sds a = sdsnew("foo"), b = sdsnew("foobar"), c = sdsnew("fop"), d = sdsnewlen("fo\xff", 3);
    assert_true(sdscmp(a, b) < 0 && sdscmp(b, a) > 0);
    assert_true(sdscmp(b, c) < 0);
    assert_true(sdscmp(c, d) < 0);
    sdsfree(a);
    sdsfree(b);
    sdsfree(c);
    sdsfree(d);
}

/* ---- Splitting ---- */

/* `expected` joins the tokens with '|'; NULL is an error. */
static void checkArgs(const char *line, const char *expected) {
    int argc;
    sds *argv = sdssplitargs(line, strlen(line), &argc), joined = sdsempty();
    if (!argv != !expected) fail_msg("%s: %s", line, argv ? "accepted" : "refused");
    for (int i = 0; i < argc; i++) joined = sdscatstr(i ? sdscat(joined, "|") : joined, sdsview(argv[i]));
    checkText(joined, expected ? expected : "");
    sdsfreesplitres(argv, argc);
}

static void splittingCommandLines(void **state) {
    (void)state;
    size_t before = zmallocUsedMemory();
    checkArgs("", "");
    checkArgs(" \t\r\n", "");
    checkArgs("set foo bar", "set|foo|bar");
    checkArgs("  set   foo\tbar \r\n", "set|foo|bar");
    checkArgs("a \"\" ''", "a||");
    checkArgs("\"a\\x41\\x4\\n\\t\\r\\a\\b\\q\\\"\"", "aAx4\n\t\r\a\bq\"");
    checkArgs("'a\\'b\\n\"' c", "a'b\\n\"|c");
    checkArgs("fo\"o b\"", "foo b");
    checkArgs("a\vb \vc\fd", "a\vb|c\fd");
    checkArgs("a\\b", "a\\b");
    checkArgs("\"open", NULL);
    checkArgs("\"open\\\"", NULL);
    checkArgs("'open", NULL);
    checkArgs("ok \"a\"b", "ok|ab");
    checkArgs("'a'b", "ab");
    checkArgs("\"a\"'b' 'it''s'", "ab|its");
    checkArgs("\"a\"b\"", NULL);
    int argc;
    sds *argv = sdssplitargs("a\0b c", 5, &argc);
    assert_int_equal(argc, 2);
    checkEq(argv[0], "a\0b", 3);
    sdsfreesplitres(argv, argc);
    sdsfreesplitres(NULL, 0);
    assert_true(zmallocUsedMemory() == before);
}

/* sdssplitargs reads what sdscatrepr prints. */
static void escapedTextReadsBack(void **state) {
    (void)state;
    for (int i = 0; i < 2000; i++) {
        char bytes[40];
        size_t len = randomBelow(sizeof(bytes));
        randomBytes(bytes, len);
        sds line = sdscatrepr(sdsempty(), bytes, len);
        int argc;
        sds *argv = sdssplitargs(line, sdslen(line), &argc);
        assert_int_equal(argc, 1);
        checkEq(argv[0], bytes, len);
        sdsfreesplitres(argv, argc);
        sdsfree(line);
    }
}

/* sdssplitargs finds the words that sdscatword puts into a line, and the result is one line. */
static void wordsReadBack(void **state) {
    (void)state;
    static const char likely[] = "a\"'\\ \n\t\x7f\xff#";
    for (int i = 0; i < 2000; i++) {
        sds words[4], line = sdsempty();
        for (int n = 0; n < 4; n++) {
            char bytes[12];
            size_t len = randomBelow(sizeof bytes);
            randomBytes(bytes, len);
            for (size_t k = 0; k < len; k++)
                if (i % 2) bytes[k] = likely[randomBelow(sizeof likely)];
            words[n] = sdsnewlen(bytes, len);
            line = sdscatword(n ? sdscat(line, " ") : line, sdsview(words[n]));
        }
        for (size_t k = 0; k < sdslen(line); k++) assert_in_range((unsigned char)line[k], 0x20, 0x7e);
        int argc;
        sds *argv = sdssplitargs(line, sdslen(line), &argc);
        assert_int_equal(argc, 4);
        for (int n = 0; n < 4; n++) checkEq(argv[n], words[n], sdslen(words[n]));
        for (int n = 0; n < 4; n++) sdsfree(words[n]);
        sdsfreesplitres(argv, argc);
        sdsfree(line);
    }
    sds plain = sdscatword(sdsempty(), STR("plain:word-1"));
    checkText(plain, "plain:word-1");
}

static void checkSplit(const char *text, const char *sep, const char *expected, int expectedCount) {
    int count;
    sds *tokens = sdssplitlen(text, strlen(text), sep, strlen(sep), &count), joined = sdsempty();
    assert_int_equal(count, expectedCount);
    for (int i = 0; i < count; i++) joined = sdscatprintf(joined, "<%s>", tokens[i]);
    checkText(joined, expected);
    sdsfreesplitres(tokens, count);
}

static void splittingAtSeparators(void **state) {
    (void)state;
    checkSplit("", ",", "", 0);
    checkSplit("a", ",", "<a>", 1);
    checkSplit("a,b,,c", ",", "<a><b><><c>", 4);
    checkSplit(",", ",", "<><>", 2);
    checkSplit("a_-_b_-_c", "_-_", "<a><b><c>", 3);
    checkSplit("a_-_", "_-_", "<a><>", 2);
    checkSplit("a_-b", "_-_", "<a_-b>", 1);
}

int main(void) {
    modelSeed();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(headersAtTheirBorders), cmocka_unit_test(growingByteByByte),
        cmocka_unit_test(roomAndShrinking),      cmocka_unit_test(accountReturnsToZero),
        cmocka_unit_test(sdsTestConcatenating),  cmocka_unit_test(sdsTestEscaping),
        cmocka_unit_test(changingInPlace),       cmocka_unit_test(sdsTestRanges),
        cmocka_unit_test(sdsTestComparing),      cmocka_unit_test(splittingCommandLines),
        cmocka_unit_test(escapedTextReadsBack),  cmocka_unit_test(wordsReadBack),
        cmocka_unit_test(splittingAtSeparators),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
