/* SPDX-License-Identifier: BSD-3-Clause */
/* propagate_test.c - what sinks get of units: one command as it is, more in MULTI and EXEC; SELECT before
 * commands for another database; raw bytes; and random nestings compared with a naive model. */
#include "command/propagate.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "base/random.h"
#include "base/sds.h"
#include "base/zmalloc.h"
#include "command/command.h"
#include "commands/cmd_grammar.h"
#include "data/keyspace/db.h"
#include "net/resp.h"

static sds seen;  /* "SELECT 0|SET a|DEL b|": in order of arrival */
static sds bytes; /* the bytes of these */
static const struct str *last_pieces;
static int last_count, calls, calls_of_other;
static bool in_unit, for_replicas;

/* Decodes the commands one after the other. */
static int propagateTestDecode(struct str s) {
    struct respLimits limits = {INT64_MAX, RESP_MAX_MULTIBULK, true};
    struct str *argv = NULL;
    size_t cap = 0;
    sds copy = sdsnewstr(s);
    int commands = 0;
    for (size_t at = 0, taken; at < s.len; at += taken, commands++) {
        struct respParser parser = {0};
        struct respBigArg *big = NULL;
        const char *error;
        size_t len = s.len - at;
        int argc;
        assert_int_equal(RESP_OK, respParseRequest(&parser, copy + at, &len, &limits, &argv, &cap, 0, &argc,
                                                   &taken, &big, &error));
        for (int i = 0; i < argc; i++)
            seen = sdscatlen(sdscatstr(seen, argv[i]), i < argc - 1 ? " " : "|", 1);
    }
    sdsfree(copy);
    zfree(argv);
    return commands;
}

static void propagateTestSink(const struct propagated *p) {
    static uint64_t offset;
    assert_int_equal(offset, p->offset);
    assert_int_equal(!in_unit, p->first);
    in_unit = !p->last;
    for_replicas = p->for_replicas;
    sds whole = sdsempty();
    for (int i = 0; i < p->count; i++) whole = sdscatstr(whole, p->pieces[i]);
    assert_int_equal(p->len, sdslen(whole));
    assert_int_equal(p->commands, propagateTestDecode(sdsview(whole)));
    bytes = sdscatstr(bytes, sdsview(whole));
    sdsfree(whole);
    offset += p->len;
    last_pieces = p->pieces;
    last_count = p->count;
    calls++;
}

/* A second sink that gets the same. */
static void secondSink(const struct propagated *p) {
    assert_ptr_equal(last_pieces, p->pieces);
    assert_int_equal(last_count, p->count);
    assert_int_equal(calls, ++calls_of_other);
}

static void propagateTestReset(void) {
    sdssetlen(seen, 0);
    sdssetlen(bytes, 0);
}

static void expectSeen(const char *expected) {
    assert_string_equal(seen, expected);
    assert_false(in_unit);
    propagateTestReset();
}

static struct db test_db;
static struct client test_client = {.db = &test_db};

/* Runs a command as commandRun does; inner: what it calls. */
static void runRaw(int dbid, int argc, struct str *argv, bool dirty, void (*inner)(void), struct str raw) {
    propagateBegin();
    if (inner) inner();
    test_db.id = dbid;
    test_client.argv = argv;
    test_client.argc = argc;
    if (propagateWanted()) propagateCommand(&test_client, dirty, raw);
    propagateEnd();
}

static void propagateTestRun(int dbid, const char *name, bool dirty, void (*inner)(void)) {
    runRaw(dbid, 1, (struct str[]){strOf(name)}, dirty, inner, (struct str){0});
}

static void propagateTestNothing(void) {
    propagateTestRun(0, "GET", false, NULL);
}
static void propagateTestOne(void) {
    propagateTestRun(0, "GET", false, NULL);
    propagateTestRun(1, "SET", true, NULL);
    propagateSuppress(&test_client);
}
static void propagateTestThree(void) {
    propagateTestRun(1, "SET", true, NULL);
    propagateTestNothing();
    propagateTestRun(2, "INCR", true, NULL);
    propagateTestRun(2, "DEL", true, propagateTestOne);
    propagateSuppress(&test_client);
}
static void propagateTestExpires(void) {
    propagateNow(3, 1, &STR("UNLINK"));
}
static void propagateTestRewrites(void) {
    propagateRewrite(&test_client, 1, &STR("PEXPIREAT"));
}
static void rewritesTwice(void) {
    propagateRewrite(&test_client, 1, &STR("SREM"));
    propagateRewrite(&test_client, 1, &STR("SADD"));
}

/* Registered while a command runs, called when the outermost has ended. */
static int jobs_left;
static void propagateTestJob(void) {
    propagateTestRun(0, "JOB", true, NULL);
    if (--jobs_left) propagateAtUnitEnd(propagateTestJob);
}
static void propagateTestRegistersJob(void) {
    propagateAtUnitEnd(propagateTestJob);
}
static void testAtUnitEnd(void **state) {
    (void)state;
    jobs_left = 1;
    propagateTestRun(0, "SET", true, propagateTestRegistersJob);
    expectSeen("MULTI|SET|JOB|EXEC|");
    jobs_left = 1;
    propagateTestRun(0, "GET", false, propagateTestRegistersJob);
    expectSeen("JOB|");
    jobs_left = 2;
    propagateBegin();
    propagateTestRun(0, "SET", true, propagateTestRegistersJob);
    propagateTestRun(0, "INCR", true, NULL);
    propagateEnd();
    expectSeen("MULTI|SET|INCR|JOB|JOB|EXEC|");
    propagateTestRun(0, "SET", true, NULL);
    expectSeen("SET|");
}

static void testSingle(void **state) {
    (void)state;
    propagateTestRun(0, "SET", true, NULL);
    expectSeen("SET|");
    propagateTestRun(4, "GET", false, NULL);
    expectSeen("");
    propagateTestExpires();
    expectSeen("SELECT 3|UNLINK|");
}

static void testUnits(void **state) {
    (void)state;
    propagateTestRun(0, "EXEC", false, propagateTestNothing);
    expectSeen("");
    propagateTestRun(0, "EXEC", true, propagateTestOne);
    expectSeen("SELECT 1|SET|");
    propagateTestRun(0, "EXEC", true, propagateTestThree);
    expectSeen("MULTI|SET|SELECT 2|INCR|SELECT 1|SET|EXEC|");
    propagateTestRun(0, "SET", true, NULL);
    expectSeen("SELECT 0|SET|");
}

static void testExpiry(void **state) {
    (void)state;
    propagateTestRun(0, "SET", true, propagateTestExpires);
    expectSeen("MULTI|SELECT 3|UNLINK|SELECT 0|SET|EXEC|");
    propagateTestRun(0, "GET", false, propagateTestExpires);
    expectSeen("SELECT 3|UNLINK|");
}

/* ---- SELECT ---- */

static void propagateTestSelect(void **state) {
    (void)state;
    propagateSelectAnew();
    assert_int_equal(-1, propagateSelected());
    propagateTestRun(0, "GET", false, NULL);
    assert_int_equal(-1, propagateSelected());
    expectSeen("");
    int before = calls;
    propagateTestRun(0, "SET", true, NULL);
    assert_int_equal(before + 2, calls);
    assert_int_equal(0, propagateSelected());
    expectSeen("SELECT 0|SET|");
    propagateTestRun(0, "SET", true, NULL);
    expectSeen("SET|");
    propagateTestRun(12345, "SET", true, NULL);
    assert_string_equal("*2\r\n$6\r\nSELECT\r\n$5\r\n12345\r\n*1\r\n$3\r\nSET\r\n", bytes);
    assert_int_equal(12345, propagateSelected());
    expectSeen("SELECT 12345|SET|");
    propagateSelectAnew();
    propagateTestRun(12345, "EXEC", true,
                     propagateTestOne); /* the SELECT of the initial database is already there */
    expectSeen("SELECT 1|SET|");
}

static void callsSelectAnew(void) {
    propagateTestRun(0, "INCR", true, NULL); /* held: it may be the only one */
    expectSeen("");
    propagateSelectAnew();
    expectSeen("INCR|");
    propagateTestRun(0, "DECR", true, NULL);
    propagateTestRun(0, "DECR", true, NULL);
    propagateSelectAnew();
    propagateTestRun(0, "INCR", true, NULL);
    propagateSuppress(&test_client);
}

/* Both parts of the unit that is cut are whole. */
static void testSelectWithinUnit(void **state) {
    (void)state;
    propagateTestRun(0, "EXEC", true, callsSelectAnew);
    expectSeen("MULTI|SELECT 0|DECR|DECR|EXEC|SELECT 0|INCR|");
    propagateTestRun(0, "SET", true, NULL);
    expectSeen("SET|");
}

static void inDatabases(void) {
    for (int i = 0; i < 40; i++) {
        test_db.id = i / 10;
        propagateRewrite(&test_client, 1, &STR("SREM"));
    }
}

static void testRewrites(void **state) {
    (void)state;
    test_db.id = 0;
    propagateTestRun(0, "SETEX", true, propagateTestRewrites);
    expectSeen("PEXPIREAT|");
    int before = calls;
    propagateTestRun(0, "SPOP", true, rewritesTwice);
    expectSeen("MULTI|SREM|SADD|EXEC|");
    assert_int_equal(3, calls - before);
    before = calls;
    propagateTestRun(0, "SPOP", true, inDatabases);
    /* MULTI, EXEC, one command for each database, and a SELECT for all but the first. */
    assert_int_equal(2 + 4 + 3, calls - before);
    assert_int_equal(3, propagateSelected());
    propagateTestRun(0, "SET", true, NULL);
    propagateTestReset();
    propagateBegin();
    propagateSuppress(&test_client);
    /* As a script calls a command that it does not propagate. */
    propagateTestRun(0, "SPOP", true, rewritesTwice);
    propagateEnd();
    expectSeen("");
    propagateTestRun(0, "SPOP", true, propagateTestRewrites);
    expectSeen("PEXPIREAT|");
}

static void rewritesAndCalls(void) {
    propagateTestRewrites();
    propagateTestExpires();
    propagateTestRun(0, "SPOP", true, propagateTestRewrites);
    propagateTestRun(0, "INCR", true, NULL);
    propagateRewrite(&test_client, 1, &STR("PERSIST"));
}

/* A command's rewrites are its own, not those of commands that it calls. */
static void propagateTestNesting(void **state) {
    (void)state;
    propagateTestRun(0, "CALLS", true, rewritesAndCalls);
    expectSeen("MULTI|SELECT 3|UNLINK|SELECT 0|PEXPIREAT|INCR|PEXPIREAT|PERSIST|EXEC|");
}

static void callsWithoutPropagation(void) {
    propagateBegin();
    rewritesTwice();
    propagateEnd();
}

static void callsSome(void) {
    propagateTestRewrites();
    callsWithoutPropagation();
    propagateTestRun(0, "SET", true, NULL);
}

static void testCalledWithoutPropagation(void **state) {
    (void)state;
    propagateTestRun(0, "EVAL", true, callsWithoutPropagation);
    expectSeen("EVAL|");
    callsWithoutPropagation();
    expectSeen("");
    propagateTestRun(0, "EVAL", true, callsSome);
    expectSeen("MULTI|SET|PEXPIREAT|EXEC|");
}

/* ---- Raw bytes ---- */

#define SELECT(digit) "*2\r\n$6\r\nSELECT\r\n$1\r\n" digit "\r\n"
#define RAW           "*2\r\n$3\r\nsEt\r\n$1\r\nk\r\n"

static void testRaw(void **state) {
    (void)state;
    const char *raw = RAW "*1\r\n$4\r\nPING\r\n";
    struct str argv[] = {strN(raw + 8, 3), strN(raw + 17, 1)}, good = strN(raw, sizeof RAW - 1);
    runRaw(0, 2, argv, true, NULL, good);
    assert_ptr_equal(raw, last_pieces[0].ptr);
    expectSeen("sEt k|");
    runRaw(0, 2, argv, true, propagateTestRewrites, good);
    expectSeen("PEXPIREAT|");
    runRaw(0, 2, argv, true, propagateTestExpires, good);
    assert_memory_equal("*1\r\n$5\r\nMULTI\r\n" SELECT("3") "*1\r\n$6\r\nUNLINK\r\n" SELECT("0") RAW
                        "*1\r\n$4\r\nEXEC\r\n",
                        bytes, sdslen(bytes));
    propagateTestReset();
    /* Arguments from elsewhere, or more bytes than one request. */
    struct str other[] = {STR("GET"), STR("k")};
    runRaw(0, 2, other, true, NULL, good);
    expectSeen("GET k|");
    runRaw(0, 2, argv, true, NULL, strOf(raw));
    expectSeen("sEt k|");
}

static void propagateTestInline(void **state) {
    (void)state;
    const char *raw = "set k\r\n";
    struct str argv[] = {strN(raw, 3), strN(raw + 4, 1)};
    runRaw(0, 2, argv, true, NULL, strOf(raw));
    assert_string_equal("*2\r\n$3\r\nset\r\n$1\r\nk\r\n", bytes);
    expectSeen("set k|");
}

/* ---- Big arguments ---- */

static sds propagateTestEncode(int argc, const struct str *argv) {
    sds s = sdscatprintf(sdsempty(), "*%d\r\n", argc);
    for (int i = 0; i < argc; i++) {
        s = sdscatprintf(s, "$%zu\r\n", argv[i].len);
        s = sdscatlen(sdscatstr(s, argv[i]), "\r\n", 2);
    }
    return s;
}

static struct str propagateTestBigArg(size_t len) {
    static char big[100000];
    memset(big, 'x', sizeof big);
    return strN(big, len);
}

static void testBig(void **state) {
    (void)state;
    struct str big = propagateTestBigArg(RESP_BIG_ARG);
    struct str argv[] = {
        STR("MSET"), STR("a"), big, STR("b"), STR("short"), STR("c"), propagateTestBigArg(100000)};
    runRaw(0, 7, argv, true, NULL, (struct str){0});
    assert_int_equal(5, last_count);
    assert_ptr_equal(big.ptr, last_pieces[1].ptr);
    assert_int_equal(100000, last_pieces[3].len);
    sds naive = propagateTestEncode(7, argv);
    assert_int_equal(sdslen(naive), sdslen(bytes));
    assert_memory_equal(naive, bytes, sdslen(bytes));
    sdsfree(naive);
    propagateTestReset();
    runRaw(0, 2, (struct str[]){STR("SET"), propagateTestBigArg(RESP_BIG_ARG - 100)}, true, NULL,
           (struct str){0});
    assert_int_equal(1, last_count);
    propagateTestReset();
}

static void bigFirst(void) {
    runRaw(0, 2, (struct str[]){STR("SET"), propagateTestBigArg(90000)}, true, NULL, (struct str){0});
}

static void bigBoth(void) {
    bigFirst();
    bigFirst();
    propagateSuppress(&test_client);
}

/* The first has to be kept, the second not. What was kept is freed. */
static void testBigInUnit(void **state) {
    (void)state;
    propagateTestRun(0, "EVAL", true, bigFirst);
    propagateTestReset();
    assert_true(propagation.size < 90000);
    propagateTestRun(0, "EXEC", true, bigBoth);
    assert_int_equal(15 + 2 * (4 + 9 + 8 + 90000 + 2) + 14, sdslen(bytes));
    assert_true(propagation.size < 90000);
    propagateTestReset();
}

/* Many short arguments are not big ones, even if as long together. */
static void testLong(void **state) {
    (void)state;
    static struct str argv[20000];
    for (int i = 0; i < 20000; i++) argv[i] = STR("short");
    runRaw(0, 20000, argv, true, NULL, (struct str){0});
    assert_int_equal(1, last_count);
    assert_int_equal(8 + 20000 * 11, sdslen(bytes));
    assert_true(propagation.size < 90000);
    propagateNow(0, 20000, argv);
    assert_true(propagation.size < 90000);
    propagateTestReset();
}

/* ---- Adding and removing sinks ---- */

static int other_calls;

static void otherSink(const struct propagated *p) {
    if (other_calls++ == 0) assert_memory_equal("*1\r\n$5\r\nMULTI", p->pieces[0].ptr, 12);
    if (other_calls == 2) assert_memory_equal(SELECT("0"), p->pieces[0].ptr, p->len);
}

static void changesOtherSink(void) {
    propagateTestRun(0, "INCR", true, NULL);
    other_calls = 0;
    propagateAddSink(otherSink, SINK_FOR_REPLICAS); /* does not get what came before */
    propagateTestRun(0, "DECR", true, NULL);
    propagateTestRun(0, "DECR", true, NULL);
    assert_int_equal(4, other_calls); /* MULTI, SELECT, two commands */
    propagateRemoveSink(otherSink);
    assert_int_equal(5, other_calls);
    propagateTestRun(0, "INCR", true, NULL);
    propagateSuppress(&test_client);
}

static void testSinkWithinUnit(void **state) {
    (void)state;
    propagateTestRun(0, "EXEC", true, changesOtherSink);
    expectSeen("INCR|MULTI|SELECT 0|DECR|DECR|EXEC|INCR|");
    assert_int_equal(5, other_calls);
}

/* ---- Descriptions ---- */

static const struct keySpec first_argument = {KEYS_AT(1), KEYS_RANGE(0, 1)};
static const struct commandSpec srem_spec = {
    .name = "srem", .arity = -3, .key_specs = &first_argument, .key_spec_count = 1};
static sds descriptions; /* "srem db 1 slot 12|": one of each command */

static void describedSink(const struct propagated *p) {
    assert_int_equal(1, p->commands);
    descriptions = sdscatprintf(descriptions, "%s%s db %d slot %d|", p->bracket ? "bracket " : "",
                                p->about->cmd ? p->about->cmd->spec->name : "?", p->dbid, p->about->slot);
}

static void removesMembers(void) {
    test_db.id = 1;
    for (int i = 0; i < 2; i++) {
        propagateRewriteOpen(&test_client, 3, STR("SREM"), STR("foo"));
        propagateRewriteArg(STR("member"));
        propagateRewrite(&test_client, 3, (struct str[]){STR("SREM"), STR("bar"), STR("member")});
    }
}

/* A sink that needs descriptions gets each command by itself, however it was declared. */
static void testDescribed(void **state) {
    (void)state;
    struct serverCommand set = {
        .spec = &(struct commandSpec){.name = "set", .key_specs = &first_argument, .key_spec_count = 1}};
    struct str argv[] = {STR("SET"), STR("x{foo}"), STR("1")};
    commandCoreInit();
    commandAdd(&srem_spec, NULL);
    descriptions = sdsempty();
    propagateAddSink(describedSink, SINK_DESCRIBED);
    test_client.cmd = &set;
    runRaw(2, 3, argv, true, NULL, (struct str){0});
    runRaw(2, 3, argv, true, propagateTestNothing, (struct str){0});
    assert_string_equal("? db 2 slot -1|set db 2 slot 12182|set db 2 slot 12182|", descriptions);
    sdssetlen(descriptions, 0);
    runRaw(1, 1, (struct str[]){STR("SPOP")}, true, removesMembers, (struct str){0});
    assert_string_equal("bracket ? db -1 slot -1|? db 1 slot -1|srem db 1 slot 12182|srem db 1 slot 5061|"
                        "srem db 1 slot 12182|srem db 1 slot 5061|bracket ? db -1 slot -1|",
                        descriptions);
    sdssetlen(descriptions, 0);
    propagateNow(1, 2, (struct str[]){STR("FLUSHSLOT"), STR("1")});
    propagateNow(1, 3, (struct str[]){STR("srem"), STR("bar"), STR("member")});
    assert_string_equal("? db 1 slot -1|srem db 1 slot 5061|", descriptions);
    propagateRemoveSink(describedSink);
    sdsfree(descriptions);
    test_client.cmd = NULL;
    propagateTestReset();
}

/* ---- Commands for replicas only ---- */

static void propagateTestPings(void) {
    assert_false(propagateToReplicas(1, &STR("PING")));
    propagateTestRun(0, "SET", true, NULL);
    assert_false(propagateToReplicas(1, &STR("PING")));
    propagateSuppress(&test_client);
}

static void testForReplicas(void **state) {
    (void)state;
    uint64_t before = propagateOffset();
    assert_true(propagateToReplicas(3, (struct str[]){STR("REPLCONF"), STR("GETACK"), STR("*")}));
    assert_true(for_replicas);
    assert_string_equal("*3\r\n$8\r\nREPLCONF\r\n$6\r\nGETACK\r\n$1\r\n*\r\n", bytes);
    assert_int_equal(before + sdslen(bytes), propagateOffset());
    expectSeen("REPLCONF GETACK *|");
    /* It is for no database, and does not change the selected one. */
    propagateSelectAnew();
    assert_true(propagateToReplicas(1, &STR("PING")));
    assert_int_equal(-1, propagateSelected());
    expectSeen("PING|");
    propagateTestRun(0, "EXEC", true, propagateTestPings);
    assert_false(for_replicas);
    expectSeen("SELECT 0|SET|");
}

static void testWithoutSinks(void **state) {
    (void)state;
    propagateRemoveSink(propagateTestSink);
    propagateRemoveSink(secondSink);
    uint64_t before = propagateOffset();
    assert_true(propagateToReplicas(1, &STR("PING")));
    propagateTestRun(0, "SET", true, NULL);
    propagateNow(5, 1, &STR("DEL"));
    assert_int_equal(before, propagateOffset());
    propagateAddSink(propagateTestSink, SINK_FOR_REPLICAS);
    propagateAddSink(secondSink, SINK_FOR_REPLICAS);
    propagateTestRun(0, "SET", true, NULL);
    expectSeen("SELECT 0|SET|");
}

/* ---- Offsets ---- */

#define SELECT_LEN (sizeof SELECT("0") - 1)

static void testOffsets(void **state) {
    (void)state;
    uint64_t before = propagateOffset();
    propagateTestRun(0, "SET", true, NULL);
    assert_int_equal(before + 13, propagateOffset());
    assert_int_equal(before + 13, test_client.wrote_at);
    propagateTestRun(0, "GET", false, NULL);
    assert_int_equal(before + 13, test_client.wrote_at);
    propagateTestReset();
    before = propagateOffset();
    propagateTestRun(0, "EXEC", true, propagateTestThree);
    assert_int_equal(before + 15 + 3 * SELECT_LEN + 13 + 14 + 13 + 14, propagateOffset());
    assert_int_equal(propagateOffset(), test_client.wrote_at);
    assert_int_equal(propagateOffset() - before, sdslen(bytes));
    propagateTestReset();
}

/* A held command counts already, with the SELECT in front of it: otherwise WAIT would end too early. */
static void testOffsetOfHeldCommand(void **state) {
    (void)state;
    uint64_t before = propagateOffset();
    propagateBegin();
    propagateTestRun(0, "SET", true, NULL);
    expectSeen("");
    assert_int_equal(before + 13, propagateOffset());
    assert_int_equal(before + 13, test_client.wrote_at);
    propagateTestRun(0, "SET", true, NULL);
    assert_int_equal(before + 15 + 13 + 13 + 14, propagateOffset()); /* MULTI, EXEC */
    propagateEnd();
    assert_int_equal(before + 15 + 13 + 13 + 14, propagateOffset());
    propagateTestReset();
    before = propagateOffset();
    propagateBegin();
    propagateTestRun(7, "SET", true, NULL);
    expectSeen("");
    assert_int_equal(before + SELECT_LEN + 13, propagateOffset());
    assert_int_equal(before + SELECT_LEN + 13, test_client.wrote_at);
    propagateEnd();
    assert_int_equal(before + SELECT_LEN + 13, propagateOffset());
    expectSeen("SELECT 7|SET|");
}

/* ---- Random units beside a model ---- */

/* The commands that the unit should contain. */
static struct {
    sds text;
    int dbid;
} expected[1024];
static int expected_count;
static bool last_dirty;

static void expectCommand(int dbid, sds text) {
    assert_true(expected_count < 1024);
    expected[expected_count].dbid = dbid;
    expected[expected_count++].text = text;
}

struct testCommand {
    int argc, dbid;
    struct str argv[4];
    char numbers[4][24];
};

/* Every command is different. Returns the encoded form. */
static sds randomCommand(struct testCommand *cmd) {
    static unsigned long long serial;
    cmd->dbid = (int)randomBelow(3);
    cmd->argc = 1 + (int)randomBelow(4);
    for (int i = 0; i < cmd->argc; i++) {
        int len = snprintf(cmd->numbers[i], sizeof cmd->numbers[i], "%llu", serial++);
        cmd->argv[i] = strN(cmd->numbers[i], (size_t)len);
    }
    if (cmd->argc == 4 && randomBelow(8) == 0)
        cmd->argv[3] = propagateTestBigArg(RESP_BIG_ARG - 50 + randomBelow(200));
    return propagateTestEncode(cmd->argc, cmd->argv);
}

/* Makes the arguments views of the text, as the parser does. */
static void pointInto(struct testCommand *cmd, sds text) {
    const char *at = text;
    for (int i = 0; i < cmd->argc; i++) {
        at = strchr(strchr(at, '$'), '\n') + 1;
        cmd->argv[i].ptr = at;
        at += cmd->argv[i].len;
    }
}

static void runRandom(int depth, bool suppressed);

/* An event while a command runs, other than its own rewrites. */
static void propagateTestRandomStep(int depth, bool may_call) {
    if (may_call && depth < 4 && randomBelow(2)) {
        bool suppress = randomBelow(6) == 0; /* as a script does it */
        if (suppress) propagateSuppress(&test_client);
        runRandom(depth + 1, suppress);
    } else if (randomBelow(3) == 0) {
        struct testCommand cmd;
        sds text = randomCommand(&cmd);
        propagateNow(cmd.dbid, cmd.argc, cmd.argv);
        expectCommand(cmd.dbid, text);
    }
}

/* Ends a command whose rewrites, if any, are in rewrites[]. */
static void endRandom(const struct testCommand *rewrites, sds *texts, int count, bool suppressed) {
    struct testCommand cmd;
    sds text = randomCommand(&cmd);
    bool dirty = randomBelow(3) != 0;
    last_dirty = dirty; /* that of the outermost remains at the end */
    int has_raw = (int)randomBelow(3);
    if (has_raw == 2) pointInto(&cmd, text);
    test_db.id = cmd.dbid;
    test_client.argv = cmd.argv;
    test_client.argc = cmd.argc;
    propagateCommand(&test_client, dirty, has_raw ? sdsview(text) : (struct str){0});
    if (!suppressed && dirty && !count)
        expectCommand(cmd.dbid, text);
    else
        sdsfree(text);
    for (int i = 0; i < count; i++) {
        if (suppressed)
            sdsfree(texts[i]);
        else
            expectCommand(rewrites[i].dbid, texts[i]);
    }
}

static void declareRandomly(const struct testCommand *cmd) {
    if (cmd->argc < 2 || randomBelow(2)) {
        propagateRewrite(&test_client, cmd->argc, cmd->argv);
        return;
    }
    propagateRewriteOpen(&test_client, cmd->argc, cmd->argv[0], cmd->argv[1]);
    for (int i = 2; i < cmd->argc; i++) propagateRewriteArg(cmd->argv[i]);
}

static void runRandom(int depth, bool suppressed) {
    struct testCommand rewrites[8];
    sds texts[8];
    int count = 0, steps = (int)randomBelow(8);
    bool rewriter = randomBelow(3) == 0;
    propagateBegin();
    for (int i = 0; i < steps; i++) {
        if (!rewriter || randomBelow(2)) {
            propagateTestRandomStep(depth, !suppressed);
            continue;
        }
        texts[count] = randomCommand(&rewrites[count]);
        test_db.id = rewrites[count].dbid;
        declareRandomly(&rewrites[count++]);
    }
    if (!suppressed && randomBelow(5) == 0) {
        propagateSuppress(&test_client);
        suppressed = true;
    }
    endRandom(rewrites, texts, count, suppressed);
    propagateEnd();
}

static int expected_db; /* selected by the model; -1: none */

static sds addExpected(sds all, int i) {
    if (expected[i].dbid != expected_db) {
        expected_db = expected[i].dbid;
        all = sdscatprintf(all, SELECT("%d"), expected_db);
    }
    all = sdscatstr(all, sdsview(expected[i].text));
    sdsfree(expected[i].text);
    return all;
}

static void compareWithModel(void) {
    bool wrapped = expected_count > 1;
    sds all = sdsnew(wrapped ? "*1\r\n$5\r\nMULTI\r\n" : "");
    for (int i = 0; i < expected_count; i++) all = addExpected(all, i);
    if (wrapped) all = sdscat(all, "*1\r\n$4\r\nEXEC\r\n");
    expected_count = 0;
    assert_int_equal(sdslen(all), sdslen(bytes));
    assert_memory_equal(all, bytes, sdslen(all));
    assert_int_equal(expected_db, propagateSelected());
    assert_false(in_unit);
    propagateTestReset();
    sdsfree(all);
}

static void propagateTestRandom(void **state) {
    (void)state;
    randomSeed(11);
    expected_db = propagateSelected();
    for (int i = 0; i < 20000; i++) {
        test_client.wrote_at = 0;
        if (randomBelow(20) == 0) {
            propagateSelectAnew();
            expected_db = -1;
        }
        if (randomBelow(10))
            runRandom(1, false);
        else
            propagateTestRandomStep(5, false); /* outside of any command */
        if (test_client.wrote_at && last_dirty) assert_int_equal(propagateOffset(), test_client.wrote_at);
        compareWithModel();
        assert_false(propagation.busy);
    }
}

/* Selects database 0. */
static int propagateTestBegin(void **state) {
    (void)state;
    propagateNow(0, 1, &STR("DEL"));
    propagateTestReset();
    return 0;
}

#define TEST(fn) cmocka_unit_test_setup(fn, propagateTestBegin)

int main(void) {
    seen = sdsempty();
    bytes = sdsempty();
    propagateAddSink(propagateTestSink, SINK_FOR_REPLICAS);
    propagateAddSink(secondSink, SINK_FOR_REPLICAS);
    const struct CMUnitTest tests[] = {
        TEST(testSingle),
        TEST(testUnits),
        TEST(testExpiry),
        TEST(propagateTestSelect),
        TEST(testSelectWithinUnit),
        TEST(testRewrites),
        TEST(propagateTestNesting),
        TEST(testCalledWithoutPropagation),
        TEST(testRaw),
        TEST(propagateTestInline),
        TEST(testBig),
        TEST(testBigInUnit),
        TEST(testLong),
        TEST(testSinkWithinUnit),
        TEST(testDescribed),
        TEST(testForReplicas),
        TEST(testWithoutSinks),
        TEST(testAtUnitEnd),
        TEST(testOffsets),
        TEST(testOffsetOfHeldCommand),
        TEST(propagateTestRandom),
    };
    int failed = cmocka_run_group_tests_name("propagate", tests, NULL, NULL);
    sdsfree(seen);
    sdsfree(bytes);
    return failed;
}
