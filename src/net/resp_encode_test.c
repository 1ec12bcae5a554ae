/* SPDX-License-Identifier: BSD-3-Clause */
/* resp_encode_test.c - requests that are written are read back unchanged, and have the canonical form. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "base/sds.h"
#include "base/zmalloc.h"
#include "net/resp.h"

static sds respEncodeTestWritten(int argc, const struct str *argv) {
    size_t room = respRequestRoom(argc, argv);
    char *dst = zmalloc(room);
    size_t len = (size_t)(respWriteRequest(dst, argc, argv) - dst);
    assert_true(len <= room);
    sds s = sdsnewlen(dst, len);
    zfree(dst);
    return s;
}

static void testForm(void **state) {
    (void)state;
    sds s = respEncodeTestWritten(3, (struct str[]){STR("SET"), STR(""), STR("a\r\n\0b")});
    assert_int_equal(30, sdslen(s));
    assert_memory_equal("*3\r\n$3\r\nSET\r\n$0\r\n\r\n$5\r\na\r\n\0b\r\n", s, 30);
    sdsfree(s);
}

/* Lengths with up to six digits, and counts, too. */
static void testLengths(void **state) {
    (void)state;
    static const size_t lengths[] = {0, 1, 9, 10, 11, 99, 100, 101, 999, 1000, 9999, 10000, 99999, 100000};
    char *bytes = zcalloc(1, 100000);
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
        int argc = (int)(lengths[i] ? lengths[i] : 1);
        struct str *argv = zmalloc((size_t)argc * sizeof *argv), *got = NULL;
        for (int a = 0; a < argc; a++) argv[a] = strN(bytes, a ? (size_t)(a % 3) : lengths[i]);
        sds s = respEncodeTestWritten(argc, argv);
        struct respParser parser = {0};
        struct respLimits limits = {INT64_MAX, RESP_MAX_MULTIBULK, true};
        struct respBigArg *big;
        const char *error;
        size_t len = sdslen(s), cap = 0, consumed;
        int got_argc;
        assert_int_equal(RESP_OK, respParseRequest(&parser, s, &len, &limits, &got, &cap, 0, &got_argc,
                                                   &consumed, &big, &error));
        assert_int_equal(sdslen(s), consumed);
        assert_int_equal(argc, got_argc);
        for (int a = 0; a < argc; a++) assert_int_equal(argv[a].len, got[a].len);
        sdsfree(s);
        zfree(argv);
        zfree(got);
    }
    zfree(bytes);
}

/* The parser accepts no other form, so the bytes of a request may be passed on unchanged. */
static void testNoOtherForm(void **state) {
    (void)state;
    static const char *const odd[] = {"*01\r\n$1\r\na\r\n", "*+1\r\n$1\r\na\r\n", "* 1\r\n$1\r\na\r\n",
                                      "*1 \r\n$1\r\na\r\n", "*1\r\n$01\r\na\r\n", "*1\r\n$+1\r\na\r\n",
                                      "*1\r\n$ 1\r\na\r\n", "*1\r\n$-0\r\n\r\n",  "*1\r\n$1 \r\na\r\n"};
    for (size_t i = 0; i < sizeof odd / sizeof *odd; i++) {
        sds s = sdsnew(odd[i]);
        struct respParser parser = {0};
        struct respLimits limits = {INT64_MAX, RESP_MAX_MULTIBULK, true};
        struct respBigArg *big;
        struct str *argv = NULL;
        const char *error;
        size_t len = sdslen(s), cap = 0, consumed;
        int argc;
        assert_int_equal(RESP_ERROR, respParseRequest(&parser, s, &len, &limits, &argv, &cap, 0, &argc,
                                                      &consumed, &big, &error));
        respParserReset(&parser);
        zfree(argv);
        sdsfree(s);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(testForm), cmocka_unit_test(testLengths),
                                       cmocka_unit_test(testNoOtherForm)};
    return cmocka_run_group_tests_name("resp_encode", tests, NULL, NULL);
}
