/* SPDX-License-Identifier: BSD-3-Clause */
/* reply_test.c - replies into a chain, byte by byte; the chain's counts; bytes that several chains share;
 * long texts that keys and replies share; messages that wait for the end of a reply. */
#include "client/reply.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "base/sds.h"
#include "base/zmalloc.h"
#include "client/client.h"
#include "client/client_output.h"
#include "client/push.h"
#include "client/reply_block.h"

static struct client *c;
static bool in_call;

static void chainIsSound(void) {
    size_t bytes = 0, mem = 0;
    struct replyBlock *last = NULL;
    for (struct replyBlock *b = c->out.head; b; last = b, b = b->next) {
        assert_true(b->used <= b->cap);
        bytes += b->used;
        mem += sizeof *b + b->cap;
    }
    assert_ptr_equal(last, c->out.tail);
    assert_int_equal(bytes, c->out.bytes);
    assert_int_equal(mem, c->out.mem);
    assert_int_equal(clientOutputPending(c), bytes - c->out.sent);
}

static void replyTestExpectOutput(const char *expected) {
    chainIsSound();
    sds got = replyChainToSds(c);
    assert_string_equal(got, expected);
    sdsfree(got);
    assert_null(c->out.head);
}

static void inBothProtocols(void **state) {
    (void)state;
    static const char *const expected[] = {"*4\r\n$1\r\na\r\n$-1\r\n:1\r\n$3\r\n1.5\r\n",
                                           "%2\r\n$1\r\na\r\n_\r\n#t\r\n,1.5\r\n"};
    for (int i = 0; i < 2; i++) {
        c->resp = (uint8_t)(2 + i);
        replyMapLen(c, 2);
        replyBulk(c, STR("a"));
        replyNull(c);
        replyBool(c, true);
        replyDouble(c, 1.5);
        replyTestExpectOutput(expected[i]);
    }
    c->resp = 2;
}

/* The length is inserted before what is written already, in the block if there is space, or between two. */
static void marksAreFilledLater(void **state) {
    (void)state;
    for (size_t before = REPLY_BLOCK_ROOM - 300; before < REPLY_BLOCK_ROOM + 20; before++) {
        sds expected = sdscat(sdsempty(), "+");
        for (size_t i = 0; i < before; i++) expected = sdscat(expected, "x");
        replyRaw(c, expected, sdslen(expected));
        struct replyMark outer = replyDeferLen(c);
        replyLiteral(c, ":1\r\n");
        struct replyMark inner = replyDeferLen(c);
        for (int i = 0; i < 30; i++) replyLiteral(c, ":22222\r\n");
        replySetArrayLen(c, inner, 30);
        replySetArrayLen(c, outer, 2);
        expected = sdscat(expected, "*2\r\n:1\r\n*30\r\n");
        for (int i = 0; i < 30; i++) expected = sdscat(expected, ":22222\r\n");
        replyTestExpectOutput(expected);
        sdsfree(expected);
    }
}

static struct str nameOfCommand(const struct client *client) {
    (void)client;
    return STR("config");
}

static void replyTestErrors(void **state) {
    (void)state;
    uint64_t before = errorStatsTotal();
    c->argv = (struct str[]){{"got", 3}, {"foo", 3}};
    c->argc = 2;
    replySubcommandError(c);
    replyTestExpectOutput(
        "-ERR unknown subcommand or wrong number of arguments for 'foo'. Try GOT HELP.\r\n");
    replySetCommandName(nameOfCommand);
    replySubcommandError(c);
    replyTestExpectOutput(
        "-ERR unknown subcommand or wrong number of arguments for 'foo'. Try CONFIG HELP.\r\n");
    replyHelp(c, (const char *[]){"GET", NULL});
    replyTestExpectOutput(
        "*4\r\n+CONFIG <subcommand> [<arg> [value] [opt] ...]. Subcommands are:\r\n+GET\r\n+HELP\r\n"
        "+    Print this help.\r\n");
    replyErrorStr(c, STR("-WRONG two\r\nlines\n"));
    replyTestExpectOutput("-WRONG two  lines\r\n");
    reply_error_prefix = "EXECABORT because of: ";
    replyError(c, "ERR reason");
    reply_error_prefix = NULL;
    replyTestExpectOutput("-EXECABORT because of: reason\r\n");
    assert_int_equal(errorStatsTotal(), before + 4);
    assert_true(c->flags & CLIENT_ERROR);
    c->flags = 0;
    c->argv = NULL;
    c->argc = 0;
}

static void replyTestMuted(void **state) {
    (void)state;
    c->flags = CLIENT_REPLY_OFF;
    replyOk(c);
    assert_null(replyReserve(c, 10));
    struct replyMark mark = replyDeferLen(c);
    replySetMapLen(c, mark, 3);
    c->flags |= CLIENT_PUSHING;
    replyPushLen(c, 0);
    c->flags = 0;
    replyTestExpectOutput("*0\r\n");
}

static void sharedBytes(void **state) {
    (void)state;
    for (size_t n = 500; n <= 1500; n += 1000) { /* short ones are copied, long ones linked */
        size_t before = zmallocUsedMemory();
        struct replyShared *s = replySharedCreate(n);
        memset(s->bytes, 'x', n);
        s->len = n;
        replyAppendShared(c, s);
        assert_int_equal(s->refs, n < 1024 ? 1 : 2);
        replySharedRelease(s);
        chainIsSound();
        assert_int_equal(clientOutputPending(c), n);
        replyFreeChain(c);
        assert_int_equal(zmallocUsedMemory(), before);
    }
}

/* ---- A key's text, shared with replies ---- */

static void replyTestFillText(sds text) {
    for (size_t i = 0; i < sdslen(text); i++) text[i] = (char)('a' + i % 23);
}

static sds longText(size_t n) {
    sds text = sdsnewlen(NULL, n);
    replyTestFillText(text);
    return text;
}

static void outputText(size_t from, size_t n) {
    sds text = longText(from + n), expected = sdscatprintf(sdsempty(), "$%zu\r\n", n);
    expected = sdscat(sdscatlen(expected, text + from, n), "\r\n");
    replyTestExpectOutput(expected);
    sdsfree(expected);
    sdsfree(text);
}

static void textOfAnExistingKey(void **state) {
    (void)state;
    size_t before = zmallocUsedMemory();
    struct replyShared *key = replySharedOfText(longText(20000));
    assert_false(replySharedInUse(key));
    replyBulkShared(c, key, 0, key->len);
    assert_true(replySharedInUse(key));
    assert_ptr_equal(c->out.head->next->buf, key->bytes);
    assert_true(c->out.mem >= 20000);                          /* it counts in full */
    assert_true(c->out.mem < 20000 + REPLY_BLOCK_ROOM + 1024); /* with little overhead */
    outputText(0, 20000);
    assert_false(replySharedInUse(key));
    replyBulkShared(c, key, 7, 12345);
    outputText(7, 12345);
    replyBulkShared(c, key, 0, 0);
    outputText(0, 0);
    replySharedRelease(key);
    assert_int_equal(zmallocUsedMemory(), before);
}

/* The key is deleted before the reply is sent. */
static void textOfADeletedKey(void **state) {
    (void)state;
    size_t before = zmallocUsedMemory();
    struct replyShared *key = replySharedOfText(longText(20000));
    replyBulkShared(c, key, 0, key->len);
    replySharedRelease(key);
    outputText(0, 20000);
    assert_int_equal(zmallocUsedMemory(), before);
}

static void textIsChanged(void **state) {
    (void)state;
    sds text = longText(20000), now;
    assert_ptr_equal(replySharedTakeText(replySharedOfText(text)), text);

    struct replyShared *key = replySharedOfText(text);
    replyBulkShared(c, key, 0, key->len);
    now = replySharedTakeText(key);
    assert_ptr_not_equal(now, text);
    assert_memory_equal(now, text, 20000);
    memset(now, '!', sdslen(now));
    outputText(0, 20000);
    sdsfree(now);

    key = replySharedOfText(longText(20000));
    replyBulkShared(c, key, 0, key->len);
    replyFreeChain(c); /* sent */
    now = replySharedTakeText(key);
    replyTestFillText(now);
    sdsfree(now);
}

/* Freed blocks stay in the pool for a while, for the next turn. */
static void poolShrinks(void **state) {
    (void)state;
    enum { MANY = 700 };
    struct replyBlock *blocks = NULL;
    replyPoolTrim();
    size_t before = zmallocUsedMemory(), each = sizeof *blocks + REPLY_BLOCK_ROOM;
    for (int round = 0; round < 3; round++) {
        for (int i = 0; i < MANY; i++) {
            struct replyBlock *b = replyBlockNew(1);
            b->next = blocks;
            blocks = b;
        }
        replyBlocksFree(blocks);
        blocks = NULL;
        replyPoolTrim(); /* they were needed */
        assert_true(zmallocUsedMemory() - before > (MANY - 10) * each);
    }
    replyPoolTrim();
    assert_true(zmallocUsedMemory() - before < 300 * each);
    struct replyBlock *warm = replyBlockNew(1);
    assert_true(zmallocUsedMemory() - before < 300 * each);
    replyBlockFree(warm);
}

static void *releaseInThread(void *key) {
    replySharedRelease(key);
    return NULL;
}

/* FLUSHALL ASYNC while replies are being sent. */
static void textFreedOnAnotherThread(void **state) {
    (void)state;
    for (int i = 0; i < 200; i++) {
        struct replyShared *key = replySharedOfText(longText(5000));
        for (int j = 0; j < 3; j++) replyBulkShared(c, key, 0, key->len);
        pthread_t thread;
        assert_int_equal(pthread_create(&thread, NULL, releaseInThread, key), 0);
        replyFreeChain(c);
        pthread_join(thread, NULL);
    }
}

/* Marks before and behind linked bytes; short text between them is in small blocks. */
static void textsBesideMarks(void **state) {
    (void)state;
    struct replyShared *key = replySharedOfText(longText(3));
    struct replyMark outer = replyDeferLen(c);
    replyBulkShared(c, key, 0, 3);
    size_t mem = c->out.mem;
    struct replyMark inner = replyDeferLen(c);
    replyBulk(c, STR("x"));
    replyBulkShared(c, key, 1, 2);
    replySetArrayLen(c, inner, 2);
    replySetArrayLen(c, outer, 2);
    assert_true(c->out.mem - mem < 1024);
    replyTestExpectOutput("*2\r\n$3\r\nabc\r\n*2\r\n$1\r\nx\r\n$2\r\nbc\r\n");
    c->flags = CLIENT_REPLY_OFF;
    replyBulkShared(c, key, 0, 3);
    c->flags = 0;
    replyTestExpectOutput("");
    replySharedRelease(key);
}

static void replyTestSend(const char *text) {
    struct pushMessage m = {.parts = {strOf(text)}, .count = 1};
    pushSend(c, &m);
    pushRelease(&m);
}

static void messagesBesideReplies(void **state) {
    (void)state;
    c->resp = 3;
    replyTestSend("idle");
    c->flags |= CLIENT_EXECUTING;
    pushBeginCommand(c);
    replyTestSend("early"); /* the command has not begun to reply, and has not caused it */
    in_call = true;
    replyTestSend("caused");
    replyLiteral(c, "*1\r\n");
    replyTestSend("within");
    replyLiteral(c, ":1\r\n");
    in_call = false;
    c->flags = 0;
    assert_int_equal(push_held.length, 2);
    pushEndCommand();
    assert_int_equal(push_held.length, 0);
    replyTestExpectOutput(
        ">1\r\n$4\r\nidle\r\n>1\r\n$5\r\nearly\r\n*1\r\n:1\r\n>1\r\n$6\r\ncaused\r\n>1\r\n$6\r\nwithin\r\n");
    c->resp = 2;
}

/* Messages held for a client are freed with it. */
static void heldMessagesAreFreed(void **state) {
    (void)state;
    struct client *living = c;
    c = clientCreate(NULL);
    c->flags |= CLIENT_EXECUTING;
    pushBeginCommand(c);
    in_call = true;
    replyTestSend("never read");
    assert_int_equal(push_held.length, 1);
    clientFreeNow(c);
    assert_int_equal(push_held.length, 0);
    c = living;
    in_call = false;
}

/* Blocks that a turn needed stay for the next one, and are freed when they were not needed for a while. */
static void blocksAreKeptForTheNextTurn(void **state) {
    (void)state;
    enum { MANY = 1000, DEFERRED = 256 };
    static struct replyBlock *blocks[MANY];
    replyPoolTrim();
    replyPoolTrim();
    size_t before = zmallocUsedMemory();
    for (int turn = 0; turn < 2; turn++) {
        for (int i = 0; i < MANY; i++) blocks[i] = replyBlockNew(1);
        size_t most = zmallocUsedMemory();
        for (int i = 0; i < MANY; i++) replyBlockFree(blocks[i]);
        replyPoolTrim();
        assert_int_equal(zmallocUsedMemory(), most);
    }
    replyPoolTrim();
    assert_true(zmallocUsedMemory() <= before + DEFERRED * (sizeof(struct replyBlock) + REPLY_BLOCK_ROOM));
    for (int i = 0; i < DEFERRED; i++) blocks[i] = replyBlockNew(1); /* they are still there */
    assert_true(zmallocUsedMemory() <= before + DEFERRED * (sizeof(struct replyBlock) + REPLY_BLOCK_ROOM));
    for (int i = 0; i < DEFERRED; i++) replyBlockFree(blocks[i]);
}

static bool isInCall(void) {
    return in_call;
}

static int replyTestSetup(void **state) {
    (void)state;
    clientCoreInit();
    clientOutputInit();
    pushInit(isInCall);
    c = clientCreate(NULL);
    return 0;
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(inBothProtocols),       cmocka_unit_test(marksAreFilledLater),
        cmocka_unit_test(replyTestErrors),       cmocka_unit_test(replyTestMuted),
        cmocka_unit_test(sharedBytes),           cmocka_unit_test(textOfAnExistingKey),
        cmocka_unit_test(textOfADeletedKey),     cmocka_unit_test(poolShrinks),
        cmocka_unit_test(textIsChanged),         cmocka_unit_test(textFreedOnAnotherThread),
        cmocka_unit_test(textsBesideMarks),      cmocka_unit_test(heldMessagesAreFreed),
        cmocka_unit_test(messagesBesideReplies), cmocka_unit_test(blocksAreKeptForTheNextTurn),
    };
    return cmocka_run_group_tests(tests, replyTestSetup, NULL);
}
