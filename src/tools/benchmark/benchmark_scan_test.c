/* SPDX-License-Identifier: BSD-3-Clause */
/* benchmark_scan_test.c - the reply counter: every type, split at every byte. */
#include "tools/benchmark/benchmark_scan.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "net/resp.h"

static const char stream[] = "+OK\r\n"
                             ":12\r\n"
                             "-ERR first\r\n"
                             "$3\r\nx\r\n\r\n"
                             "$-1\r\n"
                             "$0\r\n\r\n"
                             "*-1\r\n"
                             "*0\r\n"
                             "*3\r\n$1\r\na\r\n*2\r\n:1\r\n%1\r\n+k\r\n+v\r\n_\r\n"
                             ">2\r\n+invalidate\r\n*1\r\n$1\r\nk\r\n" /* does not count */
                             "%2\r\n+a\r\n~1\r\n#t\r\n+b\r\n,1.5\r\n"
                             "|1\r\n+ttl\r\n:3\r\n$2\r\nhi\r\n"
                             "=7\r\ntxt:abc\r\n"
                             "(123456789012345678901234567890\r\n"
                             "!9\r\nERR bulky\r\n"
                             "*2\r\n-ERR inside\r\n:1\r\n";
#define REPLIES 15

static void testWhole(void **state) {
    (void)state;
    struct replyScan s;
    replyScanInit(&s);
    assert_int_equal(replyScanFeed(&s, stream, sizeof(stream) - 1), REPLIES);
    assert_int_equal(s.count, 3);
    assert_string_equal(s.error, "ERR inside");
    assert_false(s.broken);
}

static void testSplitAnywhere(void **state) {
    (void)state;
    size_t len = sizeof(stream) - 1;
    for (size_t step = 1; step < 40; step++) {
        struct replyScan s;
        replyScanInit(&s);
        int64_t replies = 0;
        for (size_t at = 0; at < len; at += step)
            replies += replyScanFeed(&s, stream + at, len - at < step ? len - at : step);
        assert_int_equal(replies, REPLIES);
        assert_int_equal(s.count, 3);
        assert_int_equal(s.open, 1);
    }
}

/* Each prefix of a stream holds as many replies as the reply reader of net/ finds in it. */
static void testAgreesWithReader(void **state) {
    (void)state;
    static const char text[] = "*2\r\n$3\r\nabc\r\n:1\r\n+OK\r\n$5\r\nhello\r\n*1\r\n*1\r\n*0\r\n:5\r\n";
    for (size_t len = 0; len < sizeof(text); len++) {
        struct replyScan s;
        replyScanInit(&s);
        int64_t want = 0;
        for (size_t at = 0; at < len; want++) {
            int64_t n = respReplyLength(text + at, len - at);
            if (n <= 0) break;
            at += (size_t)n;
        }
        assert_int_equal(replyScanFeed(&s, text, len), want);
    }
}

static void testBroken(void **state) {
    (void)state;
    static const char *const bad[] = {"hello\r\n", "$x\r\n", "$\r\n",
                                      "*1x\r\n",   "\r\n",   "$12345678901234567890\r\n"};
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        struct replyScan s;
        replyScanInit(&s);
        assert_int_equal(replyScanFeed(&s, bad[i], strlen(bad[i])), 0);
        assert_true(s.broken);
    }
}

static void testLongErrorLine(void **state) {
    (void)state;
    char line[1000];
    memset(line, 'e', sizeof(line));
    line[0] = '-';
    struct replyScan s;
    replyScanInit(&s);
    assert_int_equal(replyScanFeed(&s, line, sizeof(line)), 0);
    assert_int_equal(replyScanFeed(&s, "\r\n+OK\r\n", 7), 2);
    assert_int_equal(s.count, 1);
    assert_int_equal(strlen(s.error), SCAN_LINE_MAX - 1);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(testWhole),
        cmocka_unit_test(testSplitAnywhere),
        cmocka_unit_test(testAgreesWithReader),
        cmocka_unit_test(testBroken),
        cmocka_unit_test(testLongErrorLine),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
