/* SPDX-License-Identifier: BSD-3-Clause */
/* io_input_test.c - a reader makes the same requests of bytes, in whatever pieces they come, as the parser
 * makes of all of them at once. */
#include "command/io_input.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "base/hash_function.h"
#include "base/model_ops.h"
#include "base/zmalloc.h"
#include "command/test_commands.h"

/* ---- Expected requests ---- */

/* Appends "[SET] [k] [v]\n" for each request, and "!error\n". */
static sds ioInputTestDescribe(sds s, int argc, const struct str *argv) {
    for (int i = 0; i < argc; i++) {
        s = sdscat(s, i ? " [" : "[");
        s = argv[i].len > 200 ? sdscatprintf(s, "%zu bytes: %llx", argv[i].len,
                                             (unsigned long long)hashBytes(argv[i].ptr, argv[i].len))
                              : sdscatstr(s, argv[i]);
        s = sdscat(s, "]");
    }
    return sdscat(s, "\n");
}

/* Parses all bytes in one piece. */
static sds ioInputTestModel(const char *bytes, size_t len, bool authenticated) {
    struct respParser parser = {0};
    struct respLimits limits = {INT64_MAX, RESP_MAX_MULTIBULK, authenticated};
    struct str *argv = NULL;
    size_t cap = 0, pos = 0;
    sds copy = sdsnewlen(bytes, len), s = sdsempty();
    while (pos < len) {
        int argc = 0;
        size_t have = len - pos, consumed = 0;
        struct respBigArg *big = NULL;
        const char *error = NULL;
        enum respStatus st = respParseRequest(&parser, copy + pos, &have, &limits, &argv, &cap, 0, &argc,
                                              &consumed, &big, &error);
        if (st == RESP_OK) s = ioInputTestDescribe(s, argc, argv);
        if (st == RESP_ERROR) s = sdscatprintf(s, "!%s\n", error);
        respBigArgsFree(big);
        if (st == RESP_MORE || st == RESP_ERROR) break;
        pos += consumed;
        len = pos + (have - consumed); /* big arguments were taken out */
    }
    respParserReset(&parser);
    zfree(argv);
    sdsfree(copy);
    return s;
}

/* ---- Requests from pieces ---- */

struct ioInputRun {
    struct ioReader reader;
    sds seen;
    size_t inputs, most_kept;
};

/* Uses an input as the main thread does: takes some requests, and may encode others again. */
static void ioInputTestTake(struct ioInputRun *run, struct ioInput *in, size_t leave) {
    run->inputs++;
    while ((size_t)(in->count - in->next) > leave) {
        struct request *r = &in->requests[in->next++];
        assert_true(r->argc > 0);
        if (r->raw.ptr) {
            sds again = ioInputTestModel(r->raw.ptr, r->raw.len, true),
                is = ioInputTestDescribe(sdsempty(), r->argc, r->argv);
            assert_string_equal(again, is); /* a request's raw bytes are its encoding */
            sdsfree(again);
            sdsfree(is);
        } else {
            assert_non_null(r->big);
        }
        run->seen = ioInputTestDescribe(run->seen, r->argc, r->argv);
        respBigArgsFree(r->big);
        r->big = NULL;
    }
    sds rest = ioInputAppendRest(sdsempty(), in);
    sds text = ioInputTestModel(rest, sdslen(rest), true);
    run->seen = sdscatstr(run->seen, sdsview(text));
    sdsfree(rest);
    sdsfree(text);
    if (in->error) run->seen = sdscatprintf(run->seen, "!%s\n", in->error);
}

/* Reads n more bytes. The input is used again, as threads do. */
static void ioInputTestFeed(struct ioInputRun *run, struct ioInput *in, const char *bytes, size_t n,
                            size_t leave) {
    while (n) {
        char *dst;
        size_t room = ioReaderSpace(&run->reader, in, &dst), piece = n < room ? n : room;
        assert_true(room > 0);
        memcpy(dst, bytes, piece);
        bytes += piece;
        n -= piece;
        bool more = ioReaderParse(&run->reader, in, dst, piece);
        for (;;) {
            assert_true(more == (in->count || in->error || in->over_limit));
            if (in->partial_bytes > run->most_kept) run->most_kept = in->partial_bytes;
            if (more) ioInputTestTake(run, in, leave);
            ioInputClear(in);
            if (!run->reader.unparsed) break;
            /* The input was given back: the reader continues. */
            more = ioReaderParse(&run->reader, in, NULL, 0);
        }
    }
}

#define FEED(run, in, text) ioInputTestFeed(run, in, text, sizeof text - 1, 0)

static void freeRun(struct ioInputRun *run) {
    ioReaderFree(&run->reader);
    assert_null(run->reader.kept);
    sdsfree(run->seen);
}

/* Reads all of `bytes`, in pieces of `step`; 0: of random sizes up to 40000. */
static void expectSame(sds bytes, size_t step, bool authenticated, size_t leave) {
    struct ioInputRun run = {.seen = sdsempty(), .reader.authenticated = authenticated};
    struct ioInput *in = ioInputNew();
    static uint64_t seed = 5;
    for (size_t at = 0; at < sdslen(bytes);) {
        seed = seed * 6364136223846793005u + 1442695040888963407u;
        size_t n = step ? step : (seed >> 40) % 5 ? 1 + (seed >> 33) % 300 : 1 + (seed >> 33) % 40000;
        if (n > sdslen(bytes) - at) n = sdslen(bytes) - at;
        ioInputTestFeed(&run, in, bytes + at, n, leave);
        at += n;
    }
    sds want = ioInputTestModel(bytes, sdslen(bytes), authenticated);
    assert_string_equal(run.seen, want);
    sdsfree(want);
    freeRun(&run);
    ioInputFree(in);
}

/* ---- Streams ---- */

static sds ioInputTestAppend(sds s, int argc, ...) {
    struct str argv[8];
    va_list ap;
    va_start(ap, argc);
    for (int i = 0; i < argc; i++) {
        const char *word = va_arg(ap, const char *);
        argv[i] = strN(word, strlen(word));
    }
    va_end(ap);
    s = sdsMakeRoomFor(s, respRequestRoom(argc, argv));
    char *end = respWriteRequest(s + sdslen(s), argc, argv);
    sdssetlen(s, (size_t)(end - s));
    return s;
}

static sds appendBig(sds s, size_t size) {
    sds value = sdsnewlen(NULL, size);
    for (size_t i = 0; i < size; i++) value[i] = (char)('a' + (i * 7 + size) % 26);
    s = ioInputTestAppend(s, 3, "SET", "big", value);
    sdsfree(value);
    return s;
}

static sds someOfAll(void) {
    sds s = ioInputTestAppend(sdsempty(), 3, "SET", "k", "a value");
    s = sdscat(s, "PING\r\n\r\nset inline 'with blanks'\r\n*0\r\n");
    s = ioInputTestAppend(s, 1, "");
    s = ioInputTestAppend(s, 2, "GET", "k");
    return ioInputTestAppend(s, 6, "MSET", "a", "1", "b", "2", "");
}

static void partedAtEveryByte(void **state) {
    (void)state;
    sds s = someOfAll();
    for (size_t at = 0; at <= sdslen(s); at++) {
        struct ioInputRun run = {.seen = sdsempty(), .reader.authenticated = true};
        struct ioInput *in = ioInputNew();
        ioInputTestFeed(&run, in, s, at, at % 3);
        ioInputTestFeed(&run, in, s + at, sdslen(s) - at, at % 3);
        sds want = ioInputTestModel(s, sdslen(s), true);
        assert_string_equal(run.seen, want);
        assert_null(run.reader.kept); /* nothing is kept: the reader takes no memory */
        sdsfree(want);
        freeRun(&run);
        ioInputFree(in);
    }
    for (size_t step = 1; step < 20; step++) expectSame(s, step, true, step % 3);
    sdsfree(s);
}

static void bigArguments(void **state) {
    (void)state;
    static const size_t sizes[] = {RESP_BIG_ARG - 1, RESP_BIG_ARG, RESP_BIG_ARG + 1, 100000, 1000000};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        sds s = ioInputTestAppend(sdsempty(), 2, "GET", "before");
        s = ioInputTestAppend(appendBig(s, sizes[i]), 2, "GET", "behind");
        s = ioInputTestAppend(appendBig(appendBig(s, sizes[i]), 5), 1, "PING");
        for (size_t leave = 0; leave < 3; leave++) {
            expectSame(s, 0, true, leave);
            expectSame(s, 16 * 1024, true, leave);
            expectSame(s, sdslen(s), true, leave);
            if (i < 3) expectSame(s, 1, true, leave);
        }
        sdsfree(s);
    }
}

static void errorsComeBehindWholeRequests(void **state) {
    (void)state;
    static const char *bad[] = {"*1\r\n!\r\n", "*1\r\n$-5\r\n", "*x\r\n", "PING \"open\r\n",
                                "*2\r\n$4\r\nECHO\r\n$x\r\n"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        sds s = ioInputTestAppend(sdscat(someOfAll(), bad[i]), 2, "NEVER", "seen");
        for (size_t step = 0; step < 30; step++) expectSame(s, step, true, step % 3);
        sdsfree(s);
    }
}

/* All bytes behind an error are dropped. */
static void bytesBehindAnErrorAreDropped(void **state) {
    (void)state;
    struct ioInputRun run = {.seen = sdsempty(), .reader.authenticated = true};
    struct ioInput *in = ioInputNew();
    FEED(&run, in, "*1\r\n!\r\n");
    assert_int_equal(run.inputs, 1);
    for (int i = 0; i < 100; i++) FEED(&run, in, "SET k v\r\nand half a requ");
    assert_int_equal(run.inputs, 1);
    assert_null(run.reader.kept);
    freeRun(&run);
    ioInputFree(in);
}

/* Only one request at a time, as it may be AUTH, and with lower limits. */
static void beforeAuthentication(void **state) {
    (void)state;
    sds s = ioInputTestAppend(ioInputTestAppend(sdsempty(), 2, "AUTH", "x"), 2, "GET", "k");
    struct ioInputRun run = {.seen = sdsempty()};
    struct ioInput *in = ioInputNew();
    memcpy(in->room, s, sdslen(s));
    assert_true(ioReaderParse(&run.reader, in, in->room, sdslen(s)));
    assert_int_equal(in->count, 1);
    assert_true(run.reader.unparsed);
    assert_int_equal(in->partial_bytes, strlen("*2\r\n$3\r\nGET\r\n$1\r\nk\r\n"));
    ioInputClear(in);
    run.reader.authenticated = true;
    assert_true(ioReaderParse(&run.reader, in, NULL, 0));
    assert_int_equal(in->count, 1);
    assert_true(strEq(in->requests[0].argv[0], STR("GET")));
    assert_false(run.reader.unparsed);
    ioInputClear(in);
    freeRun(&run);
    ioInputFree(in);
    for (size_t step = 0; step < 20; step++) expectSame(s, step, false, 0);
    sdsfree(s);
    s = appendBig(ioInputTestAppend(sdsempty(), 1, "PING"), RESP_UNAUTH_MAX_BULK + 1);
    expectSame(s, 100, false, 0);
    sdsfree(s);
}

static void limitOfKeptBytes(void **state) {
    (void)state;
    ioReaderSetLimits(INT64_MAX, 100000);
    struct ioInputRun run = {.seen = sdsempty(), .reader.authenticated = true};
    struct ioInput *in = ioInputNew();
    sds value = sdsnewlen(NULL, 200000);
    memset(value, 'v', 200000);
    FEED(&run, in, "*2\r\n$4\r\nECHO\r\n$200000\r\n");
    ioInputTestFeed(&run, in, value, 90000, 0);
    assert_int_equal(run.inputs, 0);
    ioInputTestFeed(&run, in, value, 20000, 0);
    assert_true(run.inputs > 0); /* inputs contain only that */
    assert_int_equal(sdslen(run.seen), 0);
    assert_in_range(run.most_kept, 110000, 110100);
    ioReaderSetLimits(100, 1 << 30);
    ioInputTestFeed(&run, in, value, 90000, 0); /* the lower limit of a bulk does not apply to it any more */
    FEED(&run, in, "\r\n*2\r\n$4\r\nECHO\r\n$101\r\n");
    assert_non_null(strstr(run.seen, "[ECHO] [200000 bytes"));
    assert_non_null(strstr(run.seen, "!invalid bulk length\n"));
    ioReaderSetLimits(INT64_MAX, SIZE_MAX);
    sdsfree(value);
    freeRun(&run);
    ioInputFree(in);
}

/* Parsing can continue elsewhere after any byte, with the kept bytes and the parser's state alone. */
static void detachedAtEveryByte(void **state) {
    (void)state;
    sds s = appendBig(someOfAll(), 40000);
    s = ioInputTestAppend(s, 2, "GET", "behind");
    sds want = ioInputTestModel(s, sdslen(s), true);
    for (size_t at = 0; at <= sdslen(s); at += at < 200 ? 1 : 977) {
        struct ioInputRun run = {.seen = sdsempty(), .reader.authenticated = true};
        struct ioInput *in = ioInputNew();
        ioInputTestFeed(&run, in, s, at, 0);
        struct respParser parser = {0};
        sds rest = ioReaderDetach(&run.reader, &parser);
        assert_null(run.reader.kept);
        assert_true(rest || respParserIdle(&parser));
        /* The turn's own parser continues. */
        struct respLimits limits = {INT64_MAX, RESP_MAX_MULTIBULK, true};
        struct str *argv = NULL;
        size_t cap = 0, from = at, pos = 0;
        rest = rest ? rest : sdsempty();
        for (char *dst; from < sdslen(s) && respBigSpace(&parser, &dst);) {
            size_t n = respBigSpace(&parser, &dst);
            if (n > sdslen(s) - from) n = sdslen(s) - from;
            memcpy(dst, s + from, n);
            respBigFilled(&parser, n);
            from += n;
        }
        rest = sdscatlen(rest, s + from, sdslen(s) - from);
        for (size_t len = sdslen(rest); pos < len;) {
            int argc = 0;
            size_t have = len - pos, consumed = 0;
            struct respBigArg *big = NULL;
            const char *error;
            enum respStatus st = respParseRequest(&parser, rest + pos, &have, &limits, &argv, &cap, 0, &argc,
                                                  &consumed, &big, &error);
            assert_true(st == RESP_OK || st == RESP_EMPTY);
            if (st == RESP_OK) run.seen = ioInputTestDescribe(run.seen, argc, argv);
            respBigArgsFree(big);
            pos += consumed;
            len = pos + (have - consumed);
        }
        assert_string_equal(run.seen, want);
        respParserReset(&parser);
        zfree(argv);
        sdsfree(rest);
        freeRun(&run);
        ioInputFree(in);
    }
    sdsfree(want);
    sdsfree(s);
}

/* Commands are looked up and keys hashed before the main thread sees the requests. */
static void commandsAndKeysAreLookedUp(void **state) {
    (void)state;
    struct ioInputRun run = {.seen = sdsempty(), .reader.authenticated = true};
    struct ioInput *in = ioInputNew();
    sds s = ioInputTestAppend(
        ioInputTestAppend(ioInputTestAppend(sdsempty(), 3, "set", "k1", "v"), 1, "what"), 2, "Get", "k2");
    for (int i = 0; i < 300; i++)
        s = ioInputTestAppend(s, 2, "GET", "k2"); /* more than the initial capacity of key_hashes */
    memcpy(in->room, s, sdslen(s));
    assert_true(ioReaderParse(&run.reader, in, in->room, sdslen(s)));
    assert_int_equal(in->count, 303);
    assert_string_equal(in->requests[0].cmd->fullname, "set");
    assert_null(in->requests[1].cmd);
    assert_int_equal(in->requests[0].key_count, 1);
    assert_int_equal(in->requests[1].key_count, 0);
    assert_true(in->requests[0].key_hashes[0].hash == hashBytes("k1", 2));
    for (int i = 2; i < 303; i++) {
        assert_string_equal(in->requests[i].cmd->fullname, "get");
        assert_int_equal(in->requests[i].key_count, 1);
        assert_true(in->requests[i].key_hashes[0].hash == hashBytes("k2", 2));
    }
    ioInputClear(in);
    sdsfree(s);
    freeRun(&run);
    ioInputFree(in);
}

static uint64_t rng = 11;
static uint64_t ioInputTestDraw(uint64_t n) {
    rng = rng * 6364136223846793005u + 1442695040888963407u;
    return (rng >> 33) % n;
}

static void randomStreams(void **state) {
    (void)state;
    static const char *odd[] = {"\r\n", "*0\r\n", "PING\r\n", "get  x\r\n", "*-1\r\n", "set 'a b' c\r\n"};
    uint64_t runs = modelShare(1500) + 1;
    for (uint64_t i = 0; i < runs; i++) {
        sds s = sdsempty();
        for (uint64_t n = ioInputTestDraw(60); n; n--) {
            switch (ioInputTestDraw(8)) {
            case 0: s = sdscat(s, odd[ioInputTestDraw(sizeof odd / sizeof *odd)]); break;
            case 1:
                s = appendBig(s,
                              ioInputTestDraw(10) ? ioInputTestDraw(2000) : 30000 + ioInputTestDraw(60000));
                break;
            default: s = ioInputTestAppend(s, 3, "SET", "some key", "v"); break;
            }
        }
        if (!ioInputTestDraw(4)) s = sdscat(s, "*2\r\n$3\r\nx");
        expectSame(s, ioInputTestDraw(3) ? 0 : 1 + ioInputTestDraw(100), true, ioInputTestDraw(4));
        sdsfree(s);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(partedAtEveryByte),
        cmocka_unit_test(bigArguments),
        cmocka_unit_test(errorsComeBehindWholeRequests),
        cmocka_unit_test(bytesBehindAnErrorAreDropped),
        cmocka_unit_test(beforeAuthentication),
        cmocka_unit_test(limitOfKeptBytes),
        cmocka_unit_test(detachedAtEveryByte),
        cmocka_unit_test(commandsAndKeysAreLookedUp),
        cmocka_unit_test(randomStreams),
    };
    return cmocka_run_group_tests(tests, registerCommandsOfTests, NULL);
}
