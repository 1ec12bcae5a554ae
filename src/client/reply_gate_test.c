/* SPDX-License-Identifier: BSD-3-Clause */
/* reply_gate_test.c - the gate without connections: which output is held back, and when it may leave. */
#include "client/reply_gate.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "base/sds.h"
#include "client/client.h"
#include "client/client_output.h"
#include "client/reply.h"
#include "client/reply_block.h"
#include "data/keyspace/db.h"

static uint64_t made, covered, replicas_made, replicas_covered;
static bool exempt;
static int opened;

static void askDisk(uint64_t *m, uint64_t *c) {
    *m = made;
    *c = covered;
}
static void askReplicas(uint64_t *m, uint64_t *c) {
    *m = replicas_made;
    *c = replicas_covered;
}
static bool isExempt(const struct client *c) {
    (void)c;
    return exempt;
}
static void replyLost(struct client *c) {
    replyError(c, "LOST it");
}
static void countOpened(struct client *c) {
    (void)c;
    opened++;
}

/* Returns what may be sent to c. */
static sds replyGateTestApproved(const struct client *c) {
    struct iovec iov[16];
    int count = replyBlocksPieces(c->out.head, c->out.sent, iov, 16);
    sds s = sdsempty();
    for (int i = 0; i < count; i++) s = sdscatlen(s, iov[i].iov_base, iov[i].iov_len);
    return s;
}

static void assertApproved(const struct client *c, const char *text) {
    sds s = replyGateTestApproved(c);
    assert_string_equal(s, text);
    sdsfree(s);
}

/* A turn in which c gets this output. */
static void replyGateTestTurn(struct client *c, const char *text) {
    replyRaw(c, text, strlen(text));
    replyGateUpdate(countOpened);
    replyGateHold(c);
}

static void positionsAreComparedSourceBySource(void **state) {
    (void)state;
    const struct {
        uint64_t wanted[GATE_SOURCES], have[GATE_SOURCES];
        bool covered;
    } cases[] = {
        {{0, 0}, {0, 0}, true},
        {{5, 0}, {5, 0}, true},
        {{6, 0}, {5, 9}, false},
        {{5, 7}, {9, 6}, false},
        {{5, 7}, {5, 7}, true},
        {{0, 1}, {UINT64_MAX, 0}, false},
        {{UINT64_MAX, 1}, {UINT64_MAX, 1}, true},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_int_equal(replyGateIsCovered(cases[i].wanted, cases[i].have), cases[i].covered);
}

static void outputWaitsForThePositionOfItsTurn(void **state) {
    (void)state;
    struct client *c = clientCreate(NULL);
    made = covered = 10;
    opened = 0;
    replyGateUse(GATE_DISK, askDisk);
    replyGateTestTurn(c, "a");
    assertApproved(c, "a");
    assert_true(replyGateIsOpen());
    replyGateSeal(c); /* the socket is full */
    made = 20;
    replyGateTestTurn(c, "b");
    made = 30;
    replyGateTestTurn(c, "c");
    assertApproved(c, "a");
    assert_false(replyGateIsOpen());
    covered = 20;
    replyGateUpdate(countOpened);
    assert_int_equal(opened, 1);
    assertApproved(c, "ab");
    replyGateTestTurn(c, "d"); /* a read after both: it may tell of them */
    assertApproved(c, "ab");
    covered = 30;
    replyGateUpdate(countOpened);
    assert_int_equal(opened, 3);
    assertApproved(c, "abcd");
    replyGateTestTurn(c, "e");
    assertApproved(c, "abcde");
    replyFreeChain(c);
    replyGateUse(GATE_DISK, NULL);
    assert_false(replyGateIsActive());
    clientFreeNow(c);
}

static void bothSourcesHaveToCoverUnlessExempt(void **state) {
    (void)state;
    struct client *c = clientCreate(NULL), *watcher = clientCreate(NULL);
    made = covered = replicas_covered = 1;
    replicas_made = 2;
    replyGateExempt(isExempt);
    replyGateUse(GATE_DISK, askDisk);
    replyGateUse(GATE_REPLICAS, askReplicas);
    exempt = true;
    replyGateTestTurn(watcher, "pong");
    assertApproved(watcher, "pong");
    exempt = false;
    replyGateTestTurn(c, "data");
    assertApproved(c, "");
    assert_true(replyGateOldest() > 0);
    made = 2; /* the disk holds back everybody */
    exempt = true;
    replyGateSeal(watcher);
    replyGateTestTurn(watcher, "more");
    assertApproved(watcher, "pong");
    replicas_covered = 2;
    replyGateUpdate(countOpened);
    assertApproved(c, "data"); /* it was made before the disk had something to do */
    covered = 2;
    replyGateUpdate(countOpened);
    assertApproved(watcher, "pongmore");
    replyFreeChain(c);
    replyFreeChain(watcher);
    replyGateUse(GATE_DISK, NULL);
    replyGateUse(GATE_REPLICAS, NULL);
    clientFreeNow(c);
    clientFreeNow(watcher);
}

static void givingUpDropsWhatIsHeldBack(void **state) {
    (void)state;
    struct client *c = clientCreate(NULL);
    replicas_made = replicas_covered = 1;
    exempt = false;
    replyGateUse(GATE_REPLICAS, askReplicas);
    replyGateTestTurn(c, "before ");
    replyGateSeal(c);
    replicas_made = 2;
    replyGateTestTurn(c, "one ");
    replicas_made = 3;
    replyGateTestTurn(c, "two ");
    assert_int_equal(replyGateGiveUp(0, replyLost), 0);
    assert_int_equal(replyGateGiveUp(INT64_MAX, replyLost), 1);
    assertApproved(c, "before -LOST it\r\n");
    assert_true(c->flags & CLIENT_CLOSE_AFTER_REPLY);
    assert_int_equal(replyGateGiveUp(INT64_MAX, replyLost), 0);
    assert_int_equal(c->out.bytes, strlen("before -LOST it\r\n"));
    replyFreeChain(c);
    replyGateUse(GATE_REPLICAS, NULL);
    clientFreeNow(c);
}

static int replyGateTestSetup(void **state) {
    (void)state;
    clientCoreInit();
    replyGateInit();
    clientOutputInit();
    dbInit();
    return 0;
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(positionsAreComparedSourceBySource),
        cmocka_unit_test(outputWaitsForThePositionOfItsTurn),
        cmocka_unit_test(bothSourcesHaveToCoverUnlessExempt),
        cmocka_unit_test(givingUpDropsWhatIsHeldBack),
    };
    return cmocka_run_group_tests(tests, replyGateTestSetup, NULL);
}
