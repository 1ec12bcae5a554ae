/* SPDX-License-Identifier: BSD-3-Clause */
/* io_short_test.c - a short request, one that came alone in few bytes, is the same as the full request. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "base/hash_function.h"
#include "base/zmalloc.h"
#include "command/io_input.h"
#include "command/test_commands.h"

/* Makes an input of one read. */
static struct ioInput *inputOf(struct ioReader *r, const char *bytes) {
    struct ioInput *in = ioInputNew();
    char *dst;
    r->authenticated = true;
    assert_true(ioReaderSpace(r, in, &dst) >= strlen(bytes));
    memcpy(dst, bytes, strlen(bytes));
    ioReaderParse(r, in, dst, strlen(bytes));
    return in;
}

static void ioShortTestAssertSame(const struct request *brief, const struct request *full) {
    assert_ptr_equal(brief->cmd, full->cmd);
    assert_int_equal(brief->argc, full->argc);
    for (int i = 0; i < full->argc; i++) {
        assert_ptr_equal(brief->argv[i].ptr, full->argv[i].ptr);
        assert_int_equal(brief->argv[i].len, full->argv[i].len);
    }
    assert_ptr_equal(brief->raw.ptr, full->raw.ptr);
    assert_int_equal(brief->raw.len, full->raw.len);
    assert_int_equal(brief->key_count, full->key_count);
    assert_int_equal(brief->key_hash_count, full->key_hash_count);
    for (int i = 0; i < full->key_hash_count; i++) {
        assert_ptr_equal(brief->key_hashes[i].key.ptr, full->key_hashes[i].key.ptr);
        assert_true(brief->key_hashes[i].hash == full->key_hashes[i].hash);
    }
    if (full->key_count) assert_int_equal(brief->prefetch.parts, full->prefetch.parts);
    assert_ptr_equal(brief->prefetch.member.ptr, full->prefetch.member.ptr);
    if (!full->prefetch.member.ptr || full->key_hash_count == full->key_count) return;
    assert_true(brief->prefetch.member_hash == full->prefetch.member_hash);
    assert_ptr_equal(brief->prefetch.score[0], full->prefetch.score[0]);
    assert_int_equal(brief->prefetch.score_len[0], full->prefetch.score_len[0]);
}

static void shortAndFullRequestsAreEqual(void **state) {
    (void)state;
    static const char *const requests[] = {
        "*1\r\n$4\r\nPING\r\n",
        "PING\r\n",
        "set key value\r\n",
        "*2\r\n$3\r\nGET\r\n$3\r\nkey\r\n",
        "*2\r\n$3\r\nGET\r\n$0\r\n\r\n",
        "*3\r\n$3\r\nSET\r\n$3\r\nkey\r\n$0\r\n\r\n",
        "*4\r\n$4\r\nZADD\r\n$1\r\nz\r\n$1\r\n1\r\n$1\r\nm\r\n",
        "*4\r\n$4\r\nZADD\r\n$0\r\n\r\n$0\r\n\r\n$0\r\n\r\n",
        "*4\r\n$5\r\nPHGET\r\n$1\r\nk\r\n$3\r\na/b\r\n$1\r\nf\r\n",
        "*5\r\n$3\r\nSET\r\n$1\r\nk\r\n$1\r\nv\r\n$2\r\nEX\r\n$2\r\n10\r\n",
        "*3\r\n$4\r\nMGET\r\n$1\r\na\r\n$1\r\nb\r\n",
        "*2\r\n$3\r\nset\r\n$5\r\nwrong\r\n",
    };
    for (size_t i = 0; i < sizeof requests / sizeof *requests; i++) {
        struct ioReader r = {0};
        struct ioInput *in = inputOf(&r, requests[i]);
        assert_int_equal(in->count, 1);
        assert_true(ioInputIsShort(in));
        assert_int_equal(ioInputRead(in), strlen(requests[i]));
        assert_int_equal(in->kept, 0);
        assert_false(ioInputIsEmpty(in));
        struct str argv[SHORT_ARGS];
        struct keyHint key_hashes[SHORT_KEY_HASHES];
        struct request req = {0};
        ioInputTakeShort(in, &req, argv, key_hashes);
        req.argv = argv; /* the turn sets it when all requests of the batch are there */
        ioShortTestAssertSame(&req, &in->requests[0]);
        assert_true(ioInputIsEmpty(in));
        ioInputClear(in);
        assert_false(ioInputIsShort(in));
        ioInputFree(in);
        ioReaderFree(&r);
    }
}

static void longerRequestIsNotShort(void **state) {
    (void)state;
    static const char *const requests[] = {
        "PING\r\nPING\r\n",       /* two requests */
        "PING\r\n*1\r\n$4\r\nPI", /* with the beginning of another */
        "\r\nPING\r\n",           /* with bytes before it */
        "PING\r\n*x\r\n",         /* with an error behind it */
        /* Too many arguments */
        "*6\r\n$4\r\nMGET\r\n$1\r\na\r\n$1\r\nb\r\n$1\r\nc\r\n$1\r\nd\r\n$1\r\ne\r\n",
        "*4\r\n$4\r\nMGET\r\n$1\r\na\r\n$1\r\nb\r\n$1\r\nc\r\n", /* too many keys */
        "*1\r\n$4\r\nPI",                                        /* incomplete */
    };
    for (size_t i = 0; i < sizeof requests / sizeof *requests; i++) {
        struct ioReader r = {0};
        struct ioInput *in = inputOf(&r, requests[i]);
        assert_false(ioInputIsShort(in));
        assert_int_equal(ioInputRead(in), strlen(requests[i]));
        ioInputFree(in);
        ioReaderFree(&r);
    }
}

static void secondHalfOfARequestIsNotShort(void **state) {
    (void)state;
    struct ioReader r = {0};
    struct ioInput *in = inputOf(&r, "*2\r\n$3\r\nGET\r\n$3\r\nk");
    assert_int_equal(in->count, 0);
    ioInputFree(in);
    in = inputOf(&r, "ey\r\n");
    assert_int_equal(in->count, 1);
    assert_false(ioInputIsShort(in));
    ioInputFree(in);
    ioReaderFree(&r);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(shortAndFullRequestsAreEqual),
        cmocka_unit_test(longerRequestIsNotShort),
        cmocka_unit_test(secondHalfOfARequestIsNotShort),
    };
    return cmocka_run_group_tests(tests, registerCommandsOfTests, NULL);
}
