/* SPDX-License-Identifier: BSD-3-Clause */
/* resp_request_test.c - the request parser against what valkey-server 9.1.2 was seen to do, fed whole, split
 * at every byte, and byte by byte; limits, big arguments, cost, random round trips and random garbage.
 *
 *     stream -> respRequestTestFeed(): input in pieces -> parser -> transcript "(SET|key|v)(GET|key)"
 *
 * respRequestTestFeed() moves the bytes to a new allocation of exactly their size before each call, so that
 * the sanitizer sees a read past the end and stale pointers. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <cmocka.h>

#include "base/clock.h"
#include "base/random.h"
#include "base/zmalloc.h"
#include "net/resp.h"

static const struct respLimits open_limits = {512 * 1024 * 1024, RESP_MAX_MULTIBULK, true};

/* Uses the caller's variables of these names. */
#define PARSE_AT(at)                                                                                         \
    respParseRequest(&p, at, &len, &open_limits, &argv, &cap, 0, &argc, &consumed, &big, &err)

struct feeder {
    struct respParser p;
    struct respLimits limits;
    char *buf;
    size_t len;
    struct str *argv;
    size_t argv_cap;
    sds out;
    bool dead;
};

static void feederInit(struct feeder *f, struct respLimits limits) {
    *f = (struct feeder){.limits = limits, .out = sdsempty()};
}

static sds feederEnd(struct feeder *f) {
    respParserReset(&f->p);
    zfree(f->buf);
    zfree(f->argv);
    return f->out;
}

static void keepTail(struct feeder *f, size_t from, const void *more, size_t n) {
    char *moved = zmalloc(f->len - from + n);
    if (f->len > from) memcpy(moved, f->buf + from, f->len - from);
    if (n) memcpy(moved + f->len - from, more, n);
    zfree(f->buf);
    f->buf = moved;
    f->len += n - from;
}

static void respRequestTestTranscribe(struct feeder *f, int argc) {
    for (int i = 0; i < argc; i++) {
        f->out = sdscatlen(f->out, i ? "|" : "(", 1);
        f->out = sdscatstr(f->out, f->argv[3 + i]);
    }
    f->out = sdscat(f->out, ")");
}

/* Checks that every big argument is where its view points, and large. */
static void checkBig(const struct feeder *f, const struct respBigArg *big, int argc) {
    for (const struct respBigArg *b = big; b; b = b->next) {
        assert_in_range(b->index, 0, argc - 1);
        assert_ptr_equal(f->argv[3 + b->index].ptr, b->buf);
        assert_int_equal(f->argv[3 + b->index].len, sdslen(b->buf));
        assert_true(sdslen(b->buf) >= RESP_BIG_ARG);
        assert_int_equal(b->buf[sdslen(b->buf)], '\0');
    }
}

static void parseAll(struct feeder *f) {
    while (!f->dead) {
        int argc = -1;
        size_t consumed = 0;
        struct respBigArg *big = NULL;
        const char *err = NULL;
        enum respStatus st = respParseRequest(&f->p, f->buf, &f->len, &f->limits, &f->argv, &f->argv_cap, 3,
                                              &argc, &consumed, &big, &err);
        if (st == RESP_MORE) return;
        if (st == RESP_ERROR) {
            f->out = sdscatprintf(f->out, "!%s", err);
            f->dead = true;
            return;
        }
        assert_true(respParserIdle(&f->p));
        assert_true(consumed > 0 && consumed <= f->len);
        if (st == RESP_EMPTY) {
            assert_int_equal(argc, 0);
            f->out = sdscat(f->out, "-");
        } else {
            respRequestTestTranscribe(f, argc);
            checkBig(f, big, argc);
        }
        respBigArgsFree(big);
        keepTail(f, consumed, NULL, 0);
    }
}

/* Plays one read of the client that gave these bytes. */
static void respRequestTestFeed(struct feeder *f, const char *bytes, size_t n) {
    while (n > 0 && !f->dead) {
        char *dst;
        size_t space = respBigSpace(&f->p, &dst), take = space && space < n ? space : n;
        if (space) {
            memcpy(dst, bytes, take);
            respBigFilled(&f->p, take);
            if (respBigSpace(&f->p, &dst) > 0) assert_int_equal(f->len, f->p.pos);
        } else {
            keepTail(f, 0, bytes, take);
        }
        parseAll(f);
        bytes += take;
        n -= take;
    }
}

static sds runCut(struct str stream, struct respLimits limits, size_t cut) {
    struct feeder f;
    feederInit(&f, limits);
    respRequestTestFeed(&f, stream.ptr, cut);
    respRequestTestFeed(&f, stream.ptr + cut, stream.len - cut);
    return feederEnd(&f);
}

static sds runPieces(struct str stream, struct respLimits limits, size_t max_piece) {
    struct feeder f;
    feederInit(&f, limits);
    for (size_t pos = 0, n; pos < stream.len; pos += n) {
        n = 1 + randomBelow(max_piece);
        if (n > stream.len - pos) n = stream.len - pos;
        respRequestTestFeed(&f, stream.ptr + pos, n);
    }
    return feederEnd(&f);
}

static void respRequestTestExpectText(sds got, struct str want) {
    if (!strEq(sdsview(got), want))
        fail_msg("got  %.200s\nwant %.*s", got, (int)(want.len < 200 ? want.len : 200), want.ptr);
    sdsfree(got);
}

static void expectLimited(struct str stream, struct str want, struct respLimits limits) {
    for (size_t cut = 0; cut <= stream.len; cut++)
        respRequestTestExpectText(runCut(stream, limits, cut), want);
    respRequestTestExpectText(runPieces(stream, limits, 1), want);
    respRequestTestExpectText(runPieces(stream, limits, 3), want);
}

#define expect(stream, want) expectLimited(STR(stream), STR(want), open_limits)

/* ---- Tests --------------------------------------------------------------------------------------------- */

static void testMultibulk(void **state) {
    (void)state;
    expect("", "");
    expect("*1\r\n$4\r\nPING\r\n", "(PING)");
    expect("*3\r\n$3\r\nSET\r\n$3\r\nkey\r\n$5\r\nvalue\r\n", "(SET|key|value)");
    expect("*2\r\n$0\r\n\r\n$12\r\n\0\r\n*1\r\n$1\r\n'\r\n", "(|\0\r\n*1\r\n$1\r\n')");
    expect("*0\r\n*-1\r\n*-5\r\n*1\r\n$1\r\na\r\n", "---(a)");
    expect("*1\r\n$1\r\na\r\nPING\r\n*2\r\n$1\r\nb\r\n$10\r\n0123456789\r\n\r\n", "(a)(PING)(b|0123456789)-");
    expect(
        "*11\r\n$1\r\n0\r\n$1\r\n1\r\n$1\r\n2\r\n$1\r\n3\r\n$1\r\n4\r\n$1\r\n5\r\n$1\r\n6\r\n$1\r\n7\r\n$1\r\n8\r\n"
        "$1\r\n9\r\n$2\r\n10\r\n",
        "(0|1|2|3|4|5|6|7|8|9|10)");
    expect("*2147483647\r\n$1\r\na\r\n", "");
    expect("*2\r\n$4\r\nPING\r\n$536870912\r\nabc", "");
}

/* Counts and lengths around those that the fast path handles. */
static void testShortAndLong(void **state) {
    (void)state;
    static const int sizes[] = {1, 9, 10, 11, 99, 100};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        int count = sizes[i];
        sds stream = sdscatprintf(sdsempty(), "*%d\r\n", count), want = sdsnew("(");
        for (int k = 0; k < count; k++) {
            int len = sizes[(size_t)k % (sizeof sizes / sizeof *sizes)];
            stream = sdscatprintf(stream, "$%d\r\n%0*d\r\n", len, len, k % 10);
            want = sdscatprintf(want, "%s%0*d", k ? "|" : "", len, k % 10);
        }
        want = sdscat(want, ")");
        for (size_t cut = 0; cut <= sdslen(stream); cut += 1 + cut / 50)
            respRequestTestExpectText(runCut(sdsview(stream), open_limits, cut), sdsview(want));
        struct respLimits before_login = {open_limits.max_bulk, open_limits.max_args, false};
        respRequestTestExpectText(runPieces(sdsview(stream), before_login, sdslen(stream)),
                                  count > RESP_UNAUTH_MAX_ARGS ? STR("!unauthenticated multibulk length")
                                                               : sdsview(want));
        sdsfree(stream);
        sdsfree(want);
    }
}

static void testMultibulkErrors(void **state) {
    (void)state;
    static const char *const bad_counts[] = {"",   "a",  "+1", " 1",         "01",
                                             "00", "-0", "1 ", "2147483648", "9223372036854775808"};
    for (size_t i = 0; i < sizeof(bad_counts) / sizeof(*bad_counts); i++) {
        sds s = sdscatprintf(sdsempty(), "*1\r\n$1\r\na\r\n*%s\r\nPING\r\n", bad_counts[i]);
        expectLimited(sdsview(s), STR("(a)!invalid multibulk length"), open_limits);
        sdsfree(s);
    }
    static const char *const bad_lengths[] = {"", "-1", "a", "04", "+4", "536870913", "99999999999999999999"};
    for (size_t i = 0; i < sizeof(bad_lengths) / sizeof(*bad_lengths); i++) {
        sds s = sdscatprintf(sdsempty(), "*2\r\n$1\r\na\r\n$%s\r\nPING\r\n", bad_lengths[i]);
        expectLimited(sdsview(s), STR("!invalid bulk length"), open_limits);
        sdsfree(s);
    }
    expect("*1\r\nPING\r\n", "!expected '$', got 'P'");
    expect("*1\r\n*4\r\nPING\r\n", "!expected '$', got '*'");
    expect("*2\r\n$1\r\na\r\n:3\r\n", "!expected '$', got ':'");
    expect("*1\r\n\r\n", "!expected '$', got ' '");
    expect("*1\r\n\xff\r\n", "!expected '$', got '\xff'");
    expect("*1\r\nX\r", "");
    expect("*1\n$4\nPING\n\n", "");
    expect("*1\r\n\0\r\n", "!expected '$', got ' '");
    expect("*1\0\r\n$1\r\na\r\n", "!invalid multibulk length");
    expect("*1\r\n$1\0\r\na\r\n", "!invalid bulk length");
    expect("*1\r\n$1\0", "");
}

static void testWrongCrlf(void **state) {
    (void)state;
    static const char *const requests[] = {"*1\rX",
                                           "*x\rX",
                                           "*0\rX",
                                           "*1\r\n$4\rX",
                                           "*1\r\n$-1\rX",
                                           "*1\r\n$4\r\nPINGxx",
                                           "*1\r\n$4\r\nPING\rx",
                                           "*1\r\n$4\r\nPINGx\n",
                                           "*1\r\n$4\r\nPING*1"};
    for (size_t i = 0; i < sizeof(requests) / sizeof(*requests); i++) {
        sds s = sdscatprintf(sdsempty(), "OK\r\n%s*1\r\n$4\r\nPING\r\n", requests[i]);
        expectLimited(sdsview(s), STR("(OK)!invalid CRLF in request"), open_limits);
        sdsfree(s);
    }
    expect("*1\r\nX4\rX", "!expected '$', got 'X'");
    expect("*1\r\n$4\r\nPINGx", "");
}

static void respRequestTestInline(void **state) {
    (void)state;
    expect("PING\r\n", "(PING)");
    expect("PING\n", "(PING)");
    expect(" \x0b SET  k\tv\f \r\n", "(SET|k|v\f)");
    expect("\r\n\n   \r\nPING\n", "---(PING)");
    expect("a\x0b"
           "b c\rd\r\r\n",
           "(a\x0b"
           "b|c|d)");
    expect("ECHO \"a b\" 'c d'\r\n", "(ECHO|a b|c d)");
    expect("ECHO '' \"\"\r\n\"\"\r\n", "(ECHO||)()");
    expect("ECHO a\"b c\" d'e f'\r\n", "(ECHO|ab c|de f)");
    expect("ECHO \"\\x41\\n\\r\\t\\b\\a\\q\\xzz\\x4\\\"\\\\\" x\r\n", "(ECHO|A\n\r\t\b\aqxzzx4\"\\|x)");
    expect("ECHO \"\\x00\\xfF\"\r\n", "(ECHO|\0\xff)");
    expect("ECHO 'a\\'b\\n' \\x41\r\n", "(ECHO|a'b\\n|\\x41)");
    expect("ECHO 'a'\x0b\r\n", "(ECHO|a\x0b)");
    expect("ECHO \"a\"b 'c''d' e'f'\"g\" \"'\"'\"'\r\n", "(ECHO|ab|cd|efg|'\")");
    expect("'*'1 \"\"\"\"\r\n", "(*1|)");
    expect("\"*1\" *2\r\n'$'\r\n", "(*1|*2)($)");
    expect("PING\0hello\r\n", "");
    expect("$4\r\n:1\r\n", "($4)(:1)");
}

static void testInlineErrors(void **state) {
    (void)state;
    static const char *const lines[] = {"E \"a",  "E 'a",   "E \"a\\", "E 'ab\\'", "E \"",
                                        "E a\"b", "\"\\x4", "'",       "\"a\"\"b", "E 'a\\''b'"};
    for (size_t i = 0; i < sizeof(lines) / sizeof(*lines); i++) {
        sds s = sdscatprintf(sdsempty(), "OK\r\n%s\r\nPING\r\n", lines[i]);
        expectLimited(sdsview(s), STR("(OK)!unbalanced quotes in request"), open_limits);
        sdsfree(s);
    }
}

/* The bytes that an inline request leaves in the buffer must not look like a multibulk one. */
static void testInlineKeepsFirstByte(void **state) {
    (void)state;
    char line[] = "\"*1\" \"\\x2a\"\r\n";
    size_t len = sizeof(line) - 1, consumed, cap = 0;
    struct respParser p = {0};
    struct str *argv = NULL;
    struct respBigArg *big;
    const char *err;
    int argc;
    assert_int_equal(
        respParseRequest(&p, line, &len, &open_limits, &argv, &cap, 0, &argc, &consumed, &big, &err),
        RESP_OK);
    assert_int_equal(argc, 2);
    assert_int_equal(line[0], '"');
    assert_true(strEq(argv[1], STR("*")));
    zfree(argv);
}

static sds respRequestTestFilled(const char *before, char c, size_t n, const char *after) {
    sds s = sdsgrowzero(sdsnew(before), strlen(before) + n);
    memset(s + strlen(before), c, n);
    return sdscat(s, after);
}

static void expectFilled(const char *before, char c, size_t n, const char *after, const char *want) {
    sds s = respRequestTestFilled(before, c, n, after);
    respRequestTestExpectText(runCut(sdsview(s), open_limits, 0), strOf(want));
    respRequestTestExpectText(runPieces(sdsview(s), open_limits, 16384), strOf(want));
    sdsfree(s);
}

static void testLineLimits(void **state) {
    (void)state;
    size_t max = RESP_INLINE_MAX_SIZE;
    expectFilled("", 'P', max, "", "");
    expectFilled("", 'P', max + 1, "", "!too big inline request");
    expectFilled("PING\r\n", 'P', max, "", "(PING)");
    expectFilled("PING\r\n", 'P', max + 1, "", "(PING)!too big inline request");
    expectFilled("PING", '\0', max, "\r\n", "!too big inline request");
    expectFilled("*", '1', max - 1, "", "");
    expectFilled("*", '1', max, "", "!too big mbulk count string");
    expectFilled("*", '1', 100, "\r\n", "!invalid multibulk length");
    expectFilled("*1\r\n$40000\r\n", 'a', 40000, "\rx*1\r\n$4\r\nPING\r\n", "!invalid CRLF in request");
    expectFilled("*1\r\n$", '1', max - 1, "", "");
    expectFilled("*1\r\n$", '1', max, "", "!too big bulk count string");
    expectFilled("*1\r\nx", '1', max, "", "!too big bulk count string");
    expectFilled("*1\r\n$", '1', 100, "\r\n", "!invalid bulk length");
    sds line = respRequestTestFilled("", 'P', 2 * max, "\n"),
        want = respRequestTestFilled("(", 'P', 2 * max, ")");
    respRequestTestExpectText(runCut(sdsview(line), open_limits, 0),
                              sdsview(want)); /* only an unfinished line is too long */
    sdsfree(line);
    sdsfree(want);
}

static void testConfiguredLimits(void **state) {
    (void)state;
    struct respLimits small = {10, 3, true}, guest = {512 * 1024 * 1024, RESP_MAX_MULTIBULK, false};
    expectLimited(STR("*3\r\n$1\r\na\r\n$0\r\n\r\n$10\r\n0123456789\r\n"), STR("(a||0123456789)"), small);
    expectLimited(STR("*4\r\n"), STR("!invalid multibulk length"), small);
    expectLimited(STR("*1\r\n$11\r\n"), STR("!invalid bulk length"), small);
    expectLimited(STR("*10\r\n"), STR(""), guest);
    expectLimited(STR("*11\r\n"), STR("!unauthenticated multibulk length"), guest);
    expectLimited(STR("*2147483648\r\n"), STR("!invalid multibulk length"), guest);
    expectLimited(STR("*1\r\n$16384\r\n"), STR(""), guest);
    expectLimited(STR("*1\r\n$16385\r\n"), STR("!unauthenticated bulk length"), guest);
    expectLimited(STR("*1\r\n$536870913\r\n"), STR("!invalid bulk length"), guest);
    expectLimited(STR("a a a a a a a a a a a a\r\n"), STR("(a|a|a|a|a|a|a|a|a|a|a|a)"), guest);
}

static sds randomBulk(size_t n) {
    sds s = sdsnewlen(NULL, n);
    for (size_t i = 0; i < n; i++) s[i] = (char)"ab\r\n*$0 \0"[randomBelow(10)];
    return s;
}

static void respRequestTestAddBulk(sds *stream, sds *want, sds bulk, bool first) {
    *stream = sdscatprintf(*stream, "$%zu\r\n", sdslen(bulk));
    *stream = sdscat(sdscatstr(*stream, sdsview(bulk)), "\r\n");
    *want = sdscatstr(sdscat(*want, first ? "(" : "|"), sdsview(bulk));
    sdsfree(bulk);
}

static void testBigArgs(void **state) {
    (void)state;
    static const size_t sizes[] = {RESP_BIG_ARG - 1, RESP_BIG_ARG, RESP_BIG_ARG + 1, 100000,
                                   1048574,          1048577,      3500000};
    for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
        sds stream = sdsnew("*5\r\n"), want = sdsempty();
        respRequestTestAddBulk(&stream, &want, sdsnew("MSET"), true);
        respRequestTestAddBulk(&stream, &want, sdsnew("key"), false);
        respRequestTestAddBulk(&stream, &want, randomBulk(sizes[i]), false);
        respRequestTestAddBulk(&stream, &want, sdsnew("k2"), false);
        respRequestTestAddBulk(&stream, &want, randomBulk(sizes[i]), false);
        stream = sdscat(stream, "PING\r\n");
        want = sdscat(want, ")(PING)");
        for (size_t cut = 0; cut < 48; cut++) {
            respRequestTestExpectText(runCut(sdsview(stream), open_limits, cut), sdsview(want));
            respRequestTestExpectText(runCut(sdsview(stream), open_limits, 20 + sizes[i] + cut),
                                      sdsview(want));
            respRequestTestExpectText(runCut(sdsview(stream), open_limits, sdslen(stream) - cut),
                                      sdsview(want));
            if (sizes[i] > 200000) cut += 6;
        }
        respRequestTestExpectText(runPieces(sdsview(stream), open_limits, 16384), sdsview(want));
        respRequestTestExpectText(runPieces(sdsview(stream), open_limits, 200000), sdsview(want));
        sdsfree(stream);
        sdsfree(want);
    }
}

/* The contract of a big argument that has begun, step by step; an announced length alone reserves little. */
static void testBigArgHandover(void **state) {
    (void)state;
    struct respParser p = {0};
    char buf[256] = "*2\r\n$3\r\nSET\r\n$40000\r\nabc", *dst;
    size_t header = strlen(buf) - 3, len = header + 3, consumed, cap = 0, n, total = 3;
    struct str *argv = NULL;
    struct respBigArg *big = NULL;
    const char *err;
    int argc;
    assert_int_equal(PARSE_AT(buf), RESP_MORE);
    assert_int_equal(len, header);
    assert_int_equal(PARSE_AT(buf), RESP_MORE); /* a call too many does no harm */
    assert_true(p.big_bytes >= 40000);
    while ((n = respBigSpace(&p, &dst)) > 0) {
        memset(dst, 'x', n);
        total += n;
        if (total == 40002) memcpy(dst + n - 2, "\r\n", 2);
        respBigFilled(&p, n);
    }
    assert_int_equal(total, 40002);
    assert_int_equal(PARSE_AT(buf), RESP_OK);
    assert_int_equal(consumed, header);
    assert_int_equal(big->index, 1);
    assert_null(big->next);
    assert_int_equal(sdslen(big->buf), 40000);
    assert_memory_equal(big->buf, "abcxxx", 6);
    respBigArgsFree(big);

    strcpy(buf, "*1\r\n$500000000\r\n");
    len = strlen(buf);
    size_t before = zmallocUsedMemory();
    assert_int_equal(PARSE_AT(buf), RESP_MORE);
    assert_true(zmallocUsedMemory() - before < 4 * 1024 * 1024);
    respParserReset(&p);
    assert_true(respParserIdle(&p));

    strcpy(buf, "*1\r\n$20000000\r\n"); /* it grows seldom, in proportion to what has come */
    len = strlen(buf);
    assert_int_equal(PARSE_AT(buf), RESP_MORE);
    size_t grown = 0, room = sdsAllocSize(p.big->buf);
    while ((n = respBigSpace(&p, &dst)) > 0) {
        size_t now = sdsAllocSize(p.big->buf);
        grown += now != room;
        room = now;
        assert_true(room <= 20 * sdslen(p.big->buf) + 2 * 1024 * 1024); /* rounded up to size classes */
        respBigFilled(&p, n < 500000 ? n : 500000);
    }
    assert_in_range(grown, 1, 2);
    respParserReset(&p);

    strcpy(buf, "*1\r\n$40000\r\n"); /* bytes that the caller left in the buffer are taken as well */
    header = len = strlen(buf);
    assert_int_equal(PARSE_AT(buf), RESP_MORE);
    for (int i = 0; i < 400; i++) {
        memset(buf + len, 'y', 100);
        len += 100;
        assert_int_equal(PARSE_AT(buf), RESP_MORE);
        assert_int_equal(len, header);
    }
    memcpy(buf + len, "\r\nPING", 6);
    len += 6;
    assert_int_equal(PARSE_AT(buf), RESP_OK);
    assert_int_equal(len, header + 4);
    assert_memory_equal(buf + consumed, "PING", 4);
    assert_int_equal(argv[0].len, 40000);
    respBigArgsFree(big);
    zfree(argv);
}

static void testNoAllocation(void **state) {
    (void)state;
    sds stream = sdsempty();
    for (int i = 0; i < 1000; i++)
        stream = sdscat(stream, "*3\r\n$3\r\nSET\r\n$3\r\nkey\r\n$10\r\n0123456789\r\n");
    struct respParser p = {0};
    size_t cap = 16, consumed, used = zmallocUsedMemory();
    struct str *argv = zmalloc(cap * sizeof(*argv)), *argv_before = argv;
    size_t with_argv = zmallocUsedMemory();
    struct respBigArg *big;
    const char *err;
    int argc, requests = 0;
    for (size_t pos = 0, len; (len = sdslen(stream) - pos) > 0; pos += consumed, requests++) {
        assert_int_equal(respParseRequest(&p, stream + pos, &len, &open_limits, &argv, &cap, 0, &argc,
                                          &consumed, &big, &err),
                         RESP_OK);
        assert_null(p.args);
        assert_ptr_equal(argv, argv_before);
    }
    assert_int_equal(requests, 1000);
    assert_int_equal(zmallocUsedMemory(), with_argv);
    zfree(argv);
    assert_int_equal(zmallocUsedMemory(), used);
    sdsfree(stream);
}

/* The smallest reservation: an argument whose header came before, then as many as the bytes can hold. */
static void testReservedViews(void **state) {
    (void)state;
    struct respParser p = {0};
    struct str *argv = NULL;
    size_t cap = 0, consumed, len;
    struct respBigArg *big;
    const char *err;
    int argc;
    sds stream = sdsnew("*1000\r\n$0\r\n");
    len = sdslen(stream);
    assert_int_equal(PARSE_AT(stream), RESP_MORE);
    zfree(argv);
    argv = NULL;
    cap = 0;
    stream = sdscat(stream, "\r\n");
    for (int i = 0; i < 40; i++) stream = sdscat(stream, "$0\r\n\r\n");
    len = sdslen(stream);
    assert_int_equal(PARSE_AT(stream), RESP_MORE);
    assert_int_equal(p.argc, 41);
    assert_true(cap >= 41 && cap < 1000);
    respParserReset(&p);
    zfree(argv);
    sdsfree(stream);
}

/* Two million arguments in pieces of a hundred bytes: looking back once per piece would take hours. */
static void testLinearCost(void **state) {
    (void)state;
    int count = 2000000, argc = 0;
    sds stream = sdscatprintf(sdsempty(), "*%d\r\n", count);
    for (int i = 0; i < count; i++) stream = sdscat(stream, "$1\r\nx\r\n");
    struct respParser p = {0};
    struct str *argv = NULL;
    size_t cap = 0, consumed = 0, total = sdslen(stream);
    struct respBigArg *big;
    const char *err;
    enum respStatus st = RESP_MORE;
    int64_t start_us = monotonicUs();
    for (size_t len = 0; st == RESP_MORE && len < total;) {
        len = len + 100 < total ? len + 100 : total;
        st = respParseRequest(&p, stream, &len, &open_limits, &argv, &cap, 0, &argc, &consumed, &big, &err);
    }
    assert_int_equal(st, RESP_OK);
    assert_int_equal(argc, count);
    assert_int_equal(consumed, total);
    for (int i = 0; i < argc; i++) assert_true(argv[i].len == 1 && argv[i].ptr[0] == 'x');
    assert_true(monotonicUs() - start_us < 10 * 1000000);
    zfree(argv);
    sdsfree(stream);
}

static void addRandomRequest(sds *stream, sds *want) {
    if (randomBelow(8) == 0) {
        unsigned n = (unsigned)randomBelow(1000);
        *stream = sdscatprintf(*stream, "GET k%u \"a b\"\r\n", n);
        *want = sdscatprintf(*want, "(GET|k%u|a b)", n);
        return;
    }
    int argc = 1 + (int)randomBelow(6);
    *stream = sdscatprintf(*stream, "*%d\r\n", argc);
    for (int i = 0; i < argc; i++) {
        size_t max = randomBelow(1000) == 0 ? 40000 : 40;
        respRequestTestAddBulk(stream, want, randomBulk(randomBelow(max)), i == 0);
    }
    *want = sdscat(*want, ")");
}

static void testRandomRoundTrips(void **state) {
    (void)state;
    for (int round = 0; round < 10000; round++) { /* of ten requests each */
        sds stream = sdsempty(), want = sdsempty();
        for (int i = 0; i < 10; i++) addRandomRequest(&stream, &want);
        respRequestTestExpectText(
            runPieces(sdsview(stream), open_limits, 1 + randomBelow(2 * sdslen(stream))), sdsview(want));
        sdsfree(stream);
        sdsfree(want);
    }
}

/* The pieces in which bytes come make no difference. */
static void testRandomGarbage(void **state) {
    (void)state;
    static const char *const parts[] = {"*",      "$",
                                        "\r\n",   "\r\n",
                                        "\n",     "1",
                                        "2",      "3",
                                        "10",     "-1",
                                        "'",      "\"",
                                        " ",      "a",
                                        "\\",     "\\x4",
                                        "40000",  "*2\r\n$1\r\na\r\n",
                                        "*1\r\n", "$3\r\nabc\r\n"};
    for (int round = 0; round < 60000; round++) {
        sds s = sdsempty();
        for (size_t n = 1 + randomBelow(24); n > 0; n--) {
            char byte = (char)randomBelow(256);
            if (randomBelow(20) == 0)
                s = sdscatlen(s, &byte, 1);
            else
                s = sdscat(s, parts[randomBelow(sizeof(parts) / sizeof(*parts))]);
        }
        sds whole = runCut(sdsview(s), open_limits, 0);
        respRequestTestExpectText(runPieces(sdsview(s), open_limits, 1 + randomBelow(8)), sdsview(whole));
        sdsfree(whole);
        sdsfree(s);
    }
}

/* Makes bytes that are nearly a request: some are changed, lost or inserted, or the end is cut off. Read at
 * once it may take the fast path up to there, byte by byte it never does. */
static sds respRequestTestMutated(sds s) {
    static const char likely[] = "\r\n*$0123456789-+ a";
    for (uint64_t n = 1 + randomBelow(3); n > 0 && sdslen(s) > 0; n--) {
        size_t at = randomBelow(sdslen(s)), gone = randomBelow(2);
        char byte = randomBelow(4) ? likely[randomBelow(sizeof likely - 1)] : (char)randomBelow(256);
        if (randomBelow(3) == 0) {
            s[at] = byte;
        } else if (randomBelow(8) == 0) {
            sdssetlen(s, at);
        } else {
            sds now = sdscatlen(sdsnewlen(s, at), &byte, !gone);
            now = sdscatlen(now, s + at + gone, sdslen(s) - at - gone);
            sdsfree(s);
            s = now;
        }
    }
    return s;
}

static void testRandomMutations(void **state) {
    (void)state;
    static const struct respLimits unauthenticated_limits = {512 * 1024 * 1024, RESP_MAX_MULTIBULK, false};
    for (int round = 0; round < 60000; round++) {
        sds s = sdsempty(), want = sdsempty();
        for (uint64_t n = 1 + randomBelow(3); n > 0; n--) addRandomRequest(&s, &want);
        s = respRequestTestMutated(s);
        struct respLimits limits = randomBelow(4) ? open_limits : unauthenticated_limits;
        sds apart = runPieces(sdsview(s), limits, 1);
        respRequestTestExpectText(runCut(sdsview(s), limits, randomBelow(sdslen(s) + 1)), sdsview(apart));
        respRequestTestExpectText(runCut(sdsview(s), limits, 0), sdsview(apart));
        sdsfree(apart);
        sdsfree(want);
        sdsfree(s);
    }
}

int main(void) {
    randomSeed(20260);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(testMultibulk),
        cmocka_unit_test(testShortAndLong),
        cmocka_unit_test(testMultibulkErrors),
        cmocka_unit_test(testWrongCrlf),
        cmocka_unit_test(respRequestTestInline),
        cmocka_unit_test(testInlineErrors),
        cmocka_unit_test(testInlineKeepsFirstByte),
        cmocka_unit_test(testLineLimits),
        cmocka_unit_test(testConfiguredLimits),
        cmocka_unit_test(testBigArgs),
        cmocka_unit_test(testBigArgHandover),
        cmocka_unit_test(testNoAllocation),
        cmocka_unit_test(testReservedViews),
        cmocka_unit_test(testLinearCost),
        cmocka_unit_test(testRandomRoundTrips),
        cmocka_unit_test(testRandomGarbage),
        cmocka_unit_test(testRandomMutations),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
