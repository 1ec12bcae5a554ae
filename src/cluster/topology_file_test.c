/* SPDX-License-Identifier: BSD-3-Clause */
/* topology_file_test.c - nodes.conf: a file that a node of Valkey 9.1 has written is parsed and written as
 * the same; each part of a line is checked; a truncated text is refused or means the same. */
#include "cluster/topology_file.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <cmocka.h>

#ifndef FIXTURES /* set by the Makefile */
#define FIXTURES "../tests/fixtures"
#endif

#define A      "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
#define B      "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb"
#define C      "cccccccccccccccccccccccccccccccccccccccc"
#define SHARD  "1111111111111111111111111111111111111111"
#define ADDR   "127.0.0.1:7000@17000,,tls-port=0,shard-id=" SHARD
#define ADDR_B "127.0.0.1:7001@17001,,tls-port=0,shard-id=" B
#define MYSELF A " " ADDR " myself,master - 0 0 1 connected"
#define OTHER  B " " ADDR_B " master - 0 0 2 connected"
#define VARS   "vars currentEpoch 5 lastVoteEpoch 4\n"

#define NOW_MS 5000

static struct topology t;
static sds err;

static bool readTls(struct str text, bool tls) {
    topologyClear(&t);
    sdsfree(err);
    err = NULL;
    char *copy = malloc(text.len ? text.len : 1); /* of the exact length, for sanitizers */
    memcpy(copy, text.ptr, text.len);
    bool good = topologyParse(&t, strN(copy, text.len), tls, NOW_MS, &err);
    free(copy);
    assert_int_equal(good, err == NULL);
    if (good) topologyVerify(&t);
    return good;
}
static bool topologyFileTestReads(const char *text) {
    return readTls(strOf(text), false);
}

static int topologyFileTestTearDown(void **state) {
    (void)state;
    topologyClear(&t);
    sdsfree(err);
    err = NULL;
    return 0;
}

static sds topologyFileTestFixture(void) {
    char bytes[8192];
    FILE *f = fopen(FIXTURES "/cluster/nodes.conf", "rb");
    assert_non_null(f);
    size_t len = fread(bytes, 1, sizeof bytes, f);
    fclose(f);
    return sdsnewlen(bytes, len);
}

static void assertText(const char *text) {
    sds ours = topologyFormat(sdsempty(), &t, false);
    assert_string_equal(ours, text);
    sdsfree(ours);
}

/* ---- Valid files ---- */

static void aFileOfAnotherServerIsUnderstood(void **state) {
    (void)state;
    sds text = topologyFileTestFixture();
    assert_true(topologyFileTestReads(text));
    assert_int_equal(t.count, 4);
    assert_int_equal(t.current_epoch, 6);
    assert_int_equal(t.last_vote_epoch, 4);
    struct clusterNode *me = t.myself;
    assert_string_equal(me->id, "077d2ac08ce6110dd952cdb0b415d1a3614bf4fc");
    assert_string_equal(me->ip, "127.0.0.1");
    assert_int_equal(me->tcp_port, 35001);
    assert_int_equal(me->tls_port, 0);
    assert_int_equal(me->bus_port, 35201);
    assert_string_equal(me->hostname, "host-0.example");
    assert_string_equal(me->human_name, "node0");
    assert_string_equal(me->availability_zone, "zone-a");
    assert_string_equal(me->client_ipv4, "10.1.2.3");
    assert_string_equal(me->client_ipv6, "fd00::1");
    assert_int_equal(me->client_tcp_port, 7001);
    assert_true(nodeIsReplica(me));
    assert_string_equal(me->primary->id, "f9cd73a071004e91a3c63b37098fcc1482a82799");
    assert_string_equal(me->shard_id, me->primary->shard_id);
    assert_int_equal(me->primary->slot_count, 5461);
    assert_int_equal(me->primary->config_epoch, 6);
    assert_int_equal(slotsCountOwned(&t), KEY_SLOTS);
    sdsfree(text);
}

/* Removes what differs between equal files: times, the state of connections, the order of lines. */
static sds topologyFileTestComparable(sds text) {
    int count;
    sds *lines = sdssplitlen(text, (ptrdiff_t)sdslen(text), "\n", 1, &count), all = sdsempty();
    for (int taken = 0; taken < count; taken++) {
        int least = -1;
        for (int i = 0; i < count; i++)
            if (lines[i] && (least < 0 || strcmp(lines[i], lines[least]) < 0)) least = i;
        int words;
        sds *word = sdssplitlen(lines[least], (ptrdiff_t)sdslen(lines[least]), " ", 1, &words);
        for (int i = 0; i < words; i++)
            if (words < 8 || (i != 4 && i != 5 && i != 7)) all = sdscatprintf(all, "%s ", word[i]);
        all = sdscat(all, "\n");
        sdsfreesplitres(word, words);
        sdsfree(lines[least]);
        lines[least] = NULL;
    }
    sdsfreesplitres(lines, count);
    return all;
}

static void aFileOfAnotherServerComesBackTheSame(void **state) {
    (void)state;
    sds text = topologyFileTestFixture();
    assert_true(topologyFileTestReads(text));
    sds ours = topologyFormat(sdsempty(), &t, false), a = topologyFileTestComparable(text),
        b = topologyFileTestComparable(ours);
    assert_string_equal(a, b);
    sdsfree(a);
    sdsfree(b);
    sdsfree(ours);
    sdsfree(text);
}

static void slotsAndOpenSlotsComeBack(void **state) {
    (void)state;
    static const char text[] = MYSELF
        " 0 2-3 16383 [2->-" B "] [100-<-" B "]\n" B " " ADDR_B " master,fail? - 0 0 2 disconnected 100\n" C
        " [::1]:0@0,,tls-port=0,shard-id=" B " slave,fail,noaddr " B " 0 0 2 disconnected\n" VARS;
    assert_true(topologyFileTestReads(text));
    assert_int_equal(t.myself->slot_count, 4);
    assert_ptr_equal(slotFindOpen(&t, 2)->to, topologyFind(&t, B));
    assert_ptr_equal(slotFindOpen(&t, 100)->from, topologyFind(&t, B));
    assert_string_equal(topologyFind(&t, C)->ip, "[::1]");
    assertText(text);
}

/* A node that restarts would believe that the slots still belong to that owner, in an epoch
 * in which they never did. */
static void slotsThatAreNotClaimedAnyMoreAreNotWritten(void **state) {
    (void)state;
    sds text = topologyFileTestFixture();
    assert_true(topologyFileTestReads(text));
    struct clusterNode *primary = t.myself->primary;
    int slot = 0;
    while (t.owner[slot] != primary) slot++;
    slotSetAdd(&t.unclaimed, slot);
    sdsfree(text);
    text = topologyFormat(sdsempty(), &t, false);
    sds seen = nodeFormatLine(sdsempty(), &t, primary, LINE_CLIENT);
    topologyClear(&t);
    assert_true(topologyFileTestReads(text));
    assert_null(t.owner[slot]);
    assert_ptr_equal(t.owner[slot + 1], t.myself->primary);
    char range[32];
    snprintf(range, sizeof range, " %d-", slot);
    assert_non_null(strstr(seen, range)); /* clients still see them */
    sdsfree(seen);
    sdsfree(text);
}

static void handshakesAreNotWritten(void **state) {
    (void)state;
    assert_true(topologyFileTestReads(MYSELF "\n" VARS));
    topologyAdd(&t, C, NODE_HANDSHAKE | NODE_MEET, NOW_MS);
    assertText(MYSELF "\n" VARS);
}

static void oldAndOtherFormsAreRead(void **state) {
    (void)state;
    /* No bus, no names. */
    assert_true(topologyFileTestReads(A " 10.0.0.1:7000 myself,primary - 0 0 1 connected\n" VARS));
    assert_int_equal(t.myself->bus_port, 17000);
    assert_string_equal(t.myself->shard_id, A);
    assert_true(topologyFileTestReads(A " 10.0.0.1:7000@5 myself,primary - 0 0 1 connected\n" VARS));
    assert_int_equal(t.myself->bus_port, 5);
    assert_true(topologyFileTestReads(VARS MYSELF "\n\n"));
    /* No end of the line. */
    assert_true(topologyFileTestReads(MYSELF "\nvars currentEpoch 5 lastVoteEpoch 4"));
    assert_true(topologyFileTestReads(MYSELF "\n" B " " ADDR_B " replica " A " 7 8 9 connected\n" VARS));
    struct clusterNode *b = topologyFind(&t, B);
    assert_ptr_equal(b->primary, t.myself);
    assert_int_equal(b->config_epoch, 0);
    assert_int_equal(b->ping_sent_ms, NOW_MS);
    assert_string_equal(b->shard_id, SHARD); /* that of its primary */
    assert_true(topologyFileTestReads(MYSELF "\n" B " " ADDR_B
                                             " slave - 0 0 0 connected\n" VARS)); /* unknown primary */
    assert_true(topologyFileTestReads(
        A " 10.0.0.1:7000@17000,host.name,nodename=n\xc3\xa9,tcp-port=1 myself,master - 0 0 1 x\n" VARS));
    assert_string_equal(t.myself->human_name, "n\xc3\xa9");
    assert_true(topologyFileTestReads(MYSELF "\nvars currentEpoch 5 somethingNew 1 lastVoteEpoch 4\n"));
}

/* A priority of 0 is not written, so that servers which do not know the word can read the file. */
static void aPriorityIsWrittenUnlessItIs0(void **state) {
    (void)state;
    static const char text[] = A " h:7000@17000,,tls-port=0,replica-priority=2147483647,shard-id=" SHARD
                                 " myself,master - 0 0 1 connected\n" VARS;
    assert_true(topologyFileTestReads(text));
    assert_int_equal(t.myself->replica_priority, INT32_MAX);
    assertText(text);
    t.myself->replica_priority = 0;
    sds ours = topologyFormat(sdsempty(), &t, false);
    assert_null(strstr(ours, "replica-priority"));
    sdsfree(ours);
}

static void theEpochIsAtLeastThatOfANode(void **state) {
    (void)state;
    assert_true(topologyFileTestReads(MYSELF "\nvars currentEpoch 0 lastVoteEpoch 0\n"));
    assert_int_equal(t.current_epoch, 1);
}

static void aSlotThatTwoLinesHaveIsTheFirstOnes(void **state) {
    (void)state;
    assert_true(topologyFileTestReads(MYSELF " 0-100\n" OTHER " 50-110\n" VARS));
    assert_int_equal(t.myself->slot_count, 101);
    assert_int_equal(topologyFind(&t, B)->slot_count, 10);
}

static void theAddressHasThePortOfTheBusTransport(void **state) {
    (void)state;
    static const char text[] =
        A " h:7000@17000,,tcp-port=6379,shard-id=" SHARD " myself,master - 0 0 1 connected\n" VARS;
    assert_true(readTls(STR(text), true));
    assert_int_equal(t.myself->tls_port, 7000);
    assert_int_equal(t.myself->tcp_port, 6379);
    sds ours = topologyFormat(sdsempty(), &t, true);
    assert_string_equal(ours, text);
    sdsfree(ours);
}

/* ---- Invalid files ---- */

static const char *const bad[] = {
    "",
    "\n",
    VARS,
    MYSELF "\n",
    A " " ADDR " master - 0 0 1 connected\n" VARS,
    MYSELF "\n" B " " ADDR_B " myself,master - 0 0 2 connected\n" VARS,
    MYSELF "\n" MYSELF "\n" VARS,
    MYSELF "\n" A " " ADDR_B " master - 0 0 2 connected\n" VARS,
    /* words */
    A "\n" VARS,
    A " " ADDR " myself,master - 0 0 1\n" VARS,
    A " " ADDR "  myself,master - 0 0 1 connected\n" VARS,
    MYSELF " \x01\n" VARS,
    /* ids */
    "aaaa " ADDR " myself,master - 0 0 1 connected\n" VARS,
    "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA " ADDR " myself,master - 0 0 1 connected\n" VARS,
    A "a " ADDR " myself,master - 0 0 1 connected\n" VARS,
    /* addresses */
    A " 127.0.0.1 myself,master - 0 0 1 connected\n" VARS,
    A " 127.0.0.1: myself,master - 0 0 1 connected\n" VARS,
    A " 127.0.0.1:65536@1 myself,master - 0 0 1 connected\n" VARS,
    A " 127.0.0.1:1@65536 myself,master - 0 0 1 connected\n" VARS,
    A " 127.0.0.1:-1@1 myself,master - 0 0 1 connected\n" VARS,
    A " 0123456789012345678901234567890123456789012345:1@1 myself,master - 0 0 1 connected\n" VARS,
    /* names and values */
    A " h:1@1,a;b myself,master - 0 0 1 connected\n" VARS,
    A " h:1@1,,unknown=1 myself,master - 0 0 1 connected\n" VARS,
    A " h:1@1,,nodename myself,master - 0 0 1 connected\n" VARS,
    A " h:1@1,,nodename=a=b myself,master - 0 0 1 connected\n" VARS,
    A " h:1@1,,tls-port=x myself,master - 0 0 1 connected\n" VARS,
    A " h:1@1,,replica-priority=2147483648 myself,master - 0 0 1 connected\n" VARS,
    A " h:1@1,,replica-priority=-1 myself,master - 0 0 1 connected\n" VARS,
    A " h:1@1,,shard-id=111 myself,master - 0 0 1 connected\n" VARS,
    A " h:1@1,,client-tcp-port=65536 myself,master - 0 0 1 connected\n" VARS,
    /* roles and flags */
    A " " ADDR " myself,master,strange - 0 0 1 connected\n" VARS,
    A " " ADDR " myself,master,slave - 0 0 1 connected\n" VARS,
    A " " ADDR " myself - 0 0 1 connected\n" VARS,
    MYSELF "\n" B " " ADDR_B " noflags - 0 0 2 connected\n" VARS,
    MYSELF "\n" B " " ADDR_B " master " A " 0 0 2 connected\n" VARS,
    MYSELF "\n" B " " ADDR_B " slave " B " 0 0 2 connected\n" VARS,
    MYSELF "\n" B " " ADDR_B " slave " C " 0 0 2 connected\n" VARS,
    MYSELF "\n" B " " ADDR_B " slave " A " 0 0 2 connected 1\n" VARS,
    /* numbers */
    A " " ADDR " myself,master - -1 0 1 connected\n" VARS,
    A " " ADDR " myself,master - 0 x 1 connected\n" VARS,
    A " " ADDR " myself,master - 0 0 18446744073709551616 connected\n" VARS,
    /* slots */
    MYSELF " 16384\n" VARS,
    MYSELF " 0-16384\n" VARS,
    MYSELF " -1\n" VARS,
    MYSELF " 5-\n" VARS,
    MYSELF " 5-4\n" VARS,
    MYSELF " 1-2-3\n" VARS,
    MYSELF " [\n" VARS,
    MYSELF " []\n" VARS,
    MYSELF " [5->-" A "\n" OTHER "\n" VARS,
    MYSELF " [5-" B "]\n" OTHER "\n" VARS,
    MYSELF " [5-=-" B "]\n" OTHER "\n" VARS,
    MYSELF " [16384->-" B "]\n" OTHER "\n" VARS,
    MYSELF " [5->-" C "]\n" OTHER "\n" VARS,
    MYSELF " [5->-bb]\n" OTHER "\n" VARS,
    /* vars */
    MYSELF "\nvars currentEpoch\n",
    MYSELF "\nvars currentEpoch x lastVoteEpoch 1\n",
    MYSELF "\nvars currentEpoch -1 lastVoteEpoch 1\n",
};

static void whatDoesNotFitTogetherIsRefused(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        if (topologyFileTestReads(bad[i])) print_message("taken for good: %s\n", bad[i]);
        assert_non_null(err);
    }
    assert_true(topologyFileTestReads(MYSELF "\n" OTHER "\n" VARS)); /* what they have in common is valid */
    assert_false(topologyFileTestReads(MYSELF "\n" OTHER " x\n" VARS));
    assert_string_equal(err, "line 2");
    static const char with_nul[] = MYSELF " 5\0\n" VARS;
    assert_false(readTls(strN(with_nul, sizeof with_nul - 1), false));
}

/* A file that ends with a whole line is refused, too, because the votes are in the last line. */
static void aFileThatIsCutIsRefused(void **state) {
    (void)state;
    sds text = topologyFileTestFixture();
    size_t vars = (size_t)(strstr(text, "vars") - text);
    for (size_t len = 0; len < vars + strlen("vars currentEpoch 6"); len++)
        assert_false(readTls(strN(text, len), false));
    sdsfree(text);
}

/* ---- For clients ---- */

static void clientsGetWhatIsAnnouncedForThem(void **state) {
    (void)state;
    assert_true(topologyFileTestReads(
        A " 10.0.0.1:6379@16379,h.example,client-ipv4=1.2.3.4,client-ipv6=fd00::1,client-tcp-port=7001,"
          "client-tls-port=7002,tls-port=6380 myself,master - 0 0 1 connected 5\n" VARS));
    static const struct {
        enum nodeLineAudience who;
        const char *address;
    } lines[] = {{LINE_CLIENT, "1.2.3.4:7001@16379,h.example"},
                 {LINE_TLS_CLIENT, "1.2.3.4:7002@16379,h.example"},
                 {LINE_CLIENT6, "fd00::1:7001@16379,h.example"},
                 {LINE_TLS_CLIENT6, "fd00::1:7002@16379,h.example"}};
    for (int i = 0; i < 4; i++) {
        sds line = nodeFormatLine(sdsempty(), &t, t.myself, lines[i].who);
        sds expected = sdscatprintf(sdsempty(), A " %s myself,master - 0 0 1 connected 5", lines[i].address);
        assert_string_equal(line, expected);
        sdsfree(line);
        sdsfree(expected);
    }
    assert_string_equal(nodeClientIp(t.myself, LINE_FILE), "10.0.0.1");
    assert_int_equal(nodeClientPort(t.myself, LINE_TLS_FILE), 6380);
}

int main(void) {
    const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_teardown(name, topologyFileTestTearDown)
        TEST(aFileOfAnotherServerIsUnderstood),
        TEST(aFileOfAnotherServerComesBackTheSame),
        TEST(slotsAndOpenSlotsComeBack),
        TEST(slotsThatAreNotClaimedAnyMoreAreNotWritten),
        TEST(handshakesAreNotWritten),
        TEST(oldAndOtherFormsAreRead),
        TEST(aPriorityIsWrittenUnlessItIs0),
        TEST(theEpochIsAtLeastThatOfANode),
        TEST(aSlotThatTwoLinesHaveIsTheFirstOnes),
        TEST(theAddressHasThePortOfTheBusTransport),
        TEST(whatDoesNotFitTogetherIsRefused),
        TEST(aFileThatIsCutIsRefused),
        TEST(clientsGetWhatIsAnnouncedForThem),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
