/* SPDX-License-Identifier: BSD-3-Clause */
/* ack_pause_test.c - the time limit of pauses, and what INFO shows of them. The time is the test's. What a
 * pause does to acknowledgements is in unit/replication/ack_pause. */
#include "repl/ack_pause.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <cmocka.h>

#include "client/client.h"
#include "data/keyspace/db.h"
#include "registry/cron.h"
#include "registry/info.h"

static int64_t now_ms = 1000;

/* This program's clock_gettime. */
int ackPauseTestClock(clockid_t id, struct timespec *t) __asm__("clock_gettime");

int ackPauseTestClock(clockid_t id, struct timespec *t) {
    (void)id;
    *t = (struct timespec){now_ms / 1000, now_ms % 1000 * 1000000};
    return 0;
}

static struct client *sentinels[3];

static void ackPauseTestOrder(struct client *c, const char *order) {
    struct str argv[] = {STR("REPLICAOF"), STR("Ack"), strOf(order)}, *old = c->argv;
    c->argv = argv;
    assert_true(ackPauseCommand(c));
    c->argv = old;
}

static void ackPauseTestPassTime(int64_t ms) {
    now_ms += ms;
    cronRun();
}

/* Returns how many pauses INFO shows. */
static int ackPauseTestCountShown(void) {
    sds text = infoText((struct str[]){STR("replication")}, 1);
    const char *field = strstr(text, "replica_acks_paused:");
    int shown = field ? atoi(strchr(field, ':') + 1) : 0;
    assert_int_equal(field != NULL, shown > 0);
    sdsfree(text);
    return shown;
}

static void ackPauseTestLimit(void **state) {
    (void)state;
    ackPauseTestOrder(sentinels[0], "PAUSE");
    ackPauseTestPassTime(ACK_PAUSE_MS - 1);
    assert_int_equal(ackPauseTestCountShown(), 1);
    ackPauseTestPassTime(1);
    assert_int_equal(ackPauseTestCountShown(), 0);
}

static void ackPauseTestRenewal(void **state) {
    (void)state;
    for (int i = 0; i < 3; i++) {
        ackPauseTestOrder(sentinels[0], "pause");
        ackPauseTestPassTime(ACK_PAUSE_MS - 1);
        assert_int_equal(ackPauseTestCountShown(), 1);
    }
    ackPauseTestPassTime(1);
    assert_int_equal(ackPauseTestCountShown(), 0);
}

static void eachPauseHasItsOwnLimit(void **state) {
    (void)state;
    for (int i = 0; i < 3; i++) {
        ackPauseTestOrder(sentinels[i], "pause");
        ackPauseTestPassTime(1000);
    }
    ackPauseTestOrder(sentinels[0], "pause"); /* the oldest is the newest now */
    assert_int_equal(ackPauseTestCountShown(), 3);
    ackPauseTestPassTime(ACK_PAUSE_MS - 2000);
    assert_int_equal(ackPauseTestCountShown(), 2);
    ackPauseTestOrder(sentinels[1], "resume"); /* is over already */
    assert_int_equal(ackPauseTestCountShown(), 2);
    ackPauseTestPassTime(1000);
    assert_int_equal(ackPauseTestCountShown(), 1);
    ackPauseTestOrder(sentinels[0], "resume");
    assert_int_equal(ackPauseTestCountShown(), 0);
}

/* It is the cluster that ends it. */
static void anElectionHasNoLimitHere(void **state) {
    (void)state;
    ackPauseForElection(true);
    ackPauseTestOrder(sentinels[0], "pause");
    assert_int_equal(ackPauseTestCountShown(), 2);
    ackPauseTestPassTime(ACK_PAUSE_MS);
    assert_int_equal(ackPauseTestCountShown(), 1);
    for (int i = 0; i < 3; i++) ackPauseTestOrder(sentinels[i], "pause");
    ackPauseTestOrder(sentinels[0], "release");
    assert_int_equal(ackPauseTestCountShown(), 1);
    ackPauseForElection(false);
    assert_int_equal(ackPauseTestCountShown(), 0);
}

static void otherWordsAreNoOrder(void **state) {
    (void)state;
    struct str words[][3] = {{STR("replicaof"), STR("ack"), STR("stop")},
                             {STR("replicaof"), STR("no"), STR("pause")},
                             {STR("replicaof"), STR("ack"), STR("")}};
    for (int i = 0; i < 3; i++) {
        sentinels[0]->argv = words[i];
        assert_false(ackPauseCommand(sentinels[0]));
    }
    sentinels[0]->argv = NULL;
    assert_int_equal(ackPauseTestCountShown(), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ackPauseTestLimit),       cmocka_unit_test(ackPauseTestRenewal),
        cmocka_unit_test(eachPauseHasItsOwnLimit), cmocka_unit_test(anElectionHasNoLimitHere),
        cmocka_unit_test(otherWordsAreNoOrder),
    };
    dbInit();
    for (int i = 0; i < 3; i++) sentinels[i] = clientCreate(NULL);
    ackPauseInit();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
