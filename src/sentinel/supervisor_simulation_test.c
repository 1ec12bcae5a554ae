/* SPDX-License-Identifier: BSD-3-Clause */
/* supervisor_simulation_test.c - Sentinels in virtual time: their decisions about a primary that dies, stands
 * still, is cut off, or changes its role, in fixed scenarios and in random schedules.
 *
 * SIM_SCHEDULES=10000 runs so many schedules (default 300); SIM_SEED=n runs the one with that seed, and
 * prints events and logs. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "base/assert.h"
#include "tests/sim/sentinel_simulation.h"

#define DOWN_MS     2000
#define FAILOVER_MS 10000

static const struct sentinelSimOptions usual = {.sentinels = 3,
                                                .replicas = 2,
                                                .quorum = 2,
                                                .parallel_syncs = 1,
                                                .down_after_ms = DOWN_MS,
                                                .failover_timeout_ms = FAILOVER_MS,
                                                .latency_ms = 2,
                                                .seed = 1};

/* Returns the time until all agree; -1: not within that time. */
static int64_t supervisorSimulationTestUntilAgreed(struct sentinelSim *s, int64_t at_most_ms) {
    int64_t begin = sentinelSimNow(s);
    while (!sentinelSimAgrees(s)) {
        if (sentinelSimNow(s) - begin > at_most_ms) return -1;
        sentinelSimRun(s, 100);
    }
    return sentinelSimNow(s) - begin;
}

static struct sentinelSim *supervisorSimulationTestAgreed(const struct sentinelSimOptions *o) {
    struct sentinelSim *s = sentinelSimCreate(o);
    assert_true(supervisorSimulationTestUntilAgreed(s, 20000) >= 0);
    sentinelSimRun(s, 3000); /* all have replied to INFO and sent hellos */
    sentinelSimForgetEvents(s);
    return s;
}

/* Returns the time until one of them sends an event with that name. */
static int64_t untilEvent(struct sentinelSim *s, const char *name, int64_t at_most_ms) {
    int64_t begin = sentinelSimNow(s);
    for (;;) {
        for (int i = 0; i < sentinelSimServer(s, 0); i++) {
            if (sentinelSimCountEvents(s, i, name, NULL)) return sentinelSimNow(s) - begin;
        }
        if (sentinelSimNow(s) - begin > at_most_ms) return -1;
        sentinelSimRun(s, 10);
    }
}

/* Returns the first Sentinel that sent it, after untilEvent. */
static int firstSenderOf(struct sentinelSim *s, const char *name) {
    for (int i = 0; i < sentinelSimServer(s, 0); i++) {
        if (sentinelSimCountEvents(s, i, name, NULL)) return i;
    }
    return -1;
}

/* Checks that these events come in that order, possibly with others between. Words of the
 * payload may follow the name. */
static void assertInOrder(const char *text, const char *const *events) {
    for (; *events; events++) {
        const char *at = strstr(text, *events);
        if (!at) fail_msg("no %s in what is left:\n%s", *events, text);
        text = at + strlen(*events);
    }
}
#define IN_ORDER(s, sentinel, ...)                                                                           \
    assertInOrder(sentinelSimEventText(s, sentinel), (const char *const[]){__VA_ARGS__, NULL})

static void simTestHeal(struct sentinelSim *s) {
    for (int i = 0; i < sentinelSimCount(s); i++) {
        sentinelSimSide(s, i, 0);
        sentinelSimHang(s, i, false);
        sentinelSimRestart(s, i);
    }
    sentinelSimSetBreaks(s, 0);
}

/* ---- Discovery ---- */

static void unknownSentinelsFindEachOther(void **state) {
    (void)state;
    struct sentinelSimOptions o = usual;
    o.only_primary_known = true;
    struct sentinelSim *s = sentinelSimCreate(&o);
    assert_in_range(supervisorSimulationTestUntilAgreed(s, 20000), 0,
                    15000); /* replicas by INFO, Sentinels by hellos */
    IN_ORDER(s, 0, "+monitor master it 10.0.0.4 6379 quorum 2\n",
             "+slave slave 10.0.0.5:6379 10.0.0.5 6379 @ it 10.0.0.4 6379\n");
    sentinelSimKill(s, 1); /* what they have found is saved */
    sentinelSimRestart(s, 1);
    assert_int_equal(sentinelSimWatched(s, 1)->p.sentinels.count, 2);
    assert_int_equal(sentinelSimWatched(s, 1)->p.replicas.count, 2);
    sentinelSimDestroy(s);
}

/* ---- Down, and replaced ---- */

static void aDeadPrimaryIsReplaced(void **state) {
    (void)state;
    for (uint64_t seed = 1; seed <= 20; seed++) {
        struct sentinelSimOptions o = usual;
        o.seed = seed;
        struct sentinelSim *s = supervisorSimulationTestAgreed(&o);
        int old = sentinelSimServer(s, 0);
        sentinelSimKill(s, old);
        assert_in_range(untilEvent(s, "+promoted-slave", 20000), DOWN_MS - 1000, DOWN_MS + 2000);
        assert_true(supervisorSimulationTestUntilAgreed(s, 20000) >= 0);
        assert_int_not_equal(sentinelSimPrimaryOf(s, 0), old);
        sentinelSimRestart(s, old); /* it still believes that it is a primary */
        assert_true(supervisorSimulationTestUntilAgreed(s, 30000) >= 0);
        assert_false(sentinelSimIsPrimary(s, old));
        sentinelSimDestroy(s);
    }
}

static void theLeaderPublishesEachStep(void **state) {
    (void)state;
    struct sentinelSim *s = supervisorSimulationTestAgreed(&usual);
    sentinelSimKill(s, sentinelSimServer(s, 0));
    assert_true(untilEvent(s, "+elected-leader", 20000) >= 0);
    int leader = firstSenderOf(s, "+elected-leader"), observer = (leader + 1) % 3;
    sentinelSimRun(s, 10000);
    IN_ORDER(
        s, leader, "+sdown master it 10.0.0.4 6379\n", "+odown master it 10.0.0.4 6379 #quorum ",
        "+new-epoch 1\n", "+try-failover master it 10.0.0.4 6379\n", "+vote-for-leader ",
        "+elected-leader master it 10.0.0.4 6379\n", "+failover-state-select-slave master it 10.0.0.4 6379\n",
        "+selected-slave slave 10.0.0.", "+failover-state-send-slaveof-noone slave ",
        "+failover-state-wait-promotion slave ", "-role-change slave ", "+promoted-slave slave 10.0.0.",
        "+failover-state-reconf-slaves master it 10.0.0.4 6379\n", "+slave-reconf-sent slave ",
        "+slave-reconf-inprog slave ", "+slave-reconf-done slave ", "+failover-end master it 10.0.0.4 6379\n",
        "+switch-master it 10.0.0.4 6379 10.0.0.", "+slave slave ",
        "+slave slave 10.0.0.4:6379 10.0.0.4 6379 @ it 10.0.0.", "+sdown slave 10.0.0.4:6379 ");
    IN_ORDER(s, observer, "+vote-for-leader ", "+config-update-from sentinel ",
             "+switch-master it 10.0.0.4 6379 10.0.0.", "+slave slave ");
    assert_int_equal(sentinelSimCountEvents(s, observer, "+elected-leader", NULL), 0);
    sentinelSimDestroy(s);
}

static void aHungPrimaryIsReplacedAndDemoted(void **state) {
    (void)state;
    struct sentinelSim *s = supervisorSimulationTestAgreed(&usual);
    int old = sentinelSimServer(s, 0);
    sentinelSimHang(s, old, true);
    assert_in_range(untilEvent(s, "+switch-master", 20000), DOWN_MS, DOWN_MS + 8000);
    sentinelSimRun(s, 20000);
    assert_true(sentinelSimIsPrimary(s, old)); /* it has not been reconfigured */
    sentinelSimHang(s, old, false);
    assert_true(supervisorSimulationTestUntilAgreed(s, 60000) >= 0);
    assert_false(sentinelSimIsPrimary(s, old));
    assert_true(sentinelSimCountEvents(s, 0, "+convert-to-slave", NULL) +
                sentinelSimCountEvents(s, 1, "+convert-to-slave", NULL) +
                sentinelSimCountEvents(s, 2, "+convert-to-slave", NULL));
    sentinelSimDestroy(s);
}

static void aMajorityOnTheOtherSideReplacesIt(void **state) {
    (void)state;
    struct sentinelSimOptions o = usual;
    o.sentinels = 5;
    o.quorum = 3;
    struct sentinelSim *s = supervisorSimulationTestAgreed(&o);
    int old = sentinelSimServer(s, 0);
    sentinelSimSide(s, old, 1);
    sentinelSimSide(s, 0, 1);
    sentinelSimSide(s, 1, 1);
    sentinelSimRun(s, 60000);
    assert_int_equal(sentinelSimPrimaryOf(s, 0), old); /* two of five see it alive, and no replicas */
    assert_int_not_equal(sentinelSimPrimaryOf(s, 2), old);
    assert_int_equal(sentinelSimPrimaryOf(s, 2), sentinelSimPrimaryOf(s, 4));
    simTestHeal(s);
    assert_true(supervisorSimulationTestUntilAgreed(s, 60000) >= 0);
    assert_false(sentinelSimIsPrimary(s, old));
    sentinelSimDestroy(s);
}

static void aSentinelThatIsCutOffReplacesNothing(void **state) {
    (void)state;
    struct sentinelSim *s = supervisorSimulationTestAgreed(&usual);
    sentinelSimSide(s, 0, 1); /* it reaches no other process */
    sentinelSimRun(s, 30000);
    assert_int_equal(sentinelSimCountEvents(s, 0, "+sdown", "master it"), 1);
    assert_int_equal(sentinelSimCountEvents(s, 0, "+odown", NULL), 0);
    simTestHeal(s);
    assert_true(supervisorSimulationTestUntilAgreed(s, 60000) >= 0);
    assert_int_equal(sentinelSimCountEvents(s, 0, "-sdown", "master it"), 1);
    sentinelSimDestroy(s);
}

static void withoutQuorumNothingIsTried(void **state) {
    (void)state;
    struct sentinelSimOptions o = usual;
    o.quorum = 3;
    struct sentinelSim *s = supervisorSimulationTestAgreed(&o);
    sentinelSimKill(s, 2);
    sentinelSimKill(s, sentinelSimServer(s, 0));
    sentinelSimRun(s, 40000);
    assert_int_equal(sentinelSimCountEvents(s, 0, "+odown", NULL), 0);
    struct quorumCheck check = supervisorCheckQuorum(sentinelSimWatched(s, 0));
    assert_int_equal(check.usable, 2);
    assert_false(check.quorum);
    assert_true(check.majority);
    sentinelSimRestart(s, 2); /* regained, but all three have to vote for one */
    assert_true(untilEvent(s, "+switch-master", 300000) >= 0);
    sentinelSimDestroy(s);
}

static void supervisorSimulationTestWithoutAMajorityNobodyIsElected(void **state) {
    (void)state;
    struct sentinelSimOptions o = usual;
    o.sentinels = 5;
    struct sentinelSim *s = supervisorSimulationTestAgreed(&o);
    for (int i = 2; i < 5; i++) sentinelSimKill(s, i);
    sentinelSimKill(s, sentinelSimServer(s, 0));
    assert_in_range(untilEvent(s, "-failover-abort-not-elected", 40000), FAILOVER_MS, FAILOVER_MS + 6000);
    sentinelSimRun(s, 30000);
    assert_int_equal(sentinelSimCountEvents(s, 0, "+elected-leader", NULL) +
                         sentinelSimCountEvents(s, 1, "+elected-leader", NULL),
                     0);
    struct quorumCheck check = supervisorCheckQuorum(sentinelSimWatched(s, 0));
    assert_true(check.quorum);
    assert_false(check.majority);
    sentinelSimRestart(s, 2);
    assert_true(untilEvent(s, "+switch-master", 40000) >= 0);
    sentinelSimDestroy(s);
}

/* A Sentinel that has voted for another waits for twice the failover time-out before it tries itself. */
static void theNextAttemptWaits(void **state) {
    (void)state;
    struct sentinelSimOptions o = usual;
    o.replicas = 1;
    struct sentinelSim *s = supervisorSimulationTestAgreed(&o);
    sentinelSimSetPriority(s, sentinelSimServer(s, 1), 0);
    sentinelSimRun(s, 11000); /* INFO has reported it */
    sentinelSimKill(s, sentinelSimServer(s, 0));
    assert_true(untilEvent(s, "-failover-abort-no-good-slave", 20000) >= 0);
    sentinelSimForgetEvents(s);
    assert_in_range(untilEvent(s, "+try-failover", 40000), FAILOVER_MS, 2 * FAILOVER_MS + 1500);
    sentinelSimDestroy(s);
}

static void aPrimaryThatSaysItIsAReplicaIsDown(void **state) {
    (void)state;
    struct sentinelSim *s = supervisorSimulationTestAgreed(&usual);
    int old = sentinelSimServer(s, 0);
    sentinelSimReplicaOf(s, old, sentinelSimServer(s, 1));
    assert_in_range(untilEvent(s, "+sdown", 60000), 20000, 20000 + DOWN_MS + 11000);
    assert_true(untilEvent(s, "+switch-master", 20000) >= 0);
    assert_true(supervisorSimulationTestUntilAgreed(s, 60000) >= 0);
    sentinelSimDestroy(s);
}

static void aReplicaPromotedByHandIsDemoted(void **state) {
    (void)state;
    struct sentinelSim *s = supervisorSimulationTestAgreed(&usual);
    sentinelSimReplicaOf(s, sentinelSimServer(s, 1), -1);
    assert_true(untilEvent(s, "+convert-to-slave", 40000) >= 0);
    assert_true(supervisorSimulationTestUntilAgreed(s, 20000) >= 0);
    assert_int_equal(sentinelSimPrimaryOf(s, 0), sentinelSimServer(s, 0));
    sentinelSimDestroy(s);
}

/* The primary is back before it would be down, but without its data yet. */
static void aRebootMayCountAsDown(void **state) {
    (void)state;
    struct sentinelSimOptions o = usual;
    o.down_after_ms = 20000;
    for (int noticed = 0; noticed <= 1; noticed++) {
        o.reboot_down_after_ms = noticed ? 3000 : 0;
        struct sentinelSim *s = supervisorSimulationTestAgreed(&o);
        int old = sentinelSimServer(s, 0);
        sentinelSimSetLoading(s, old, 40000);
        sentinelSimKill(s, old);
        sentinelSimRun(s, 500);
        sentinelSimRestart(s, old);
        int64_t took = untilEvent(s, "+sdown", 35000);
        if (noticed)
            assert_in_range(took, 3000, 14000);
        else
            assert_int_equal(took, -1); /* LOADING counts as alive */
        assert_int_equal(sentinelSimCountEvents(s, 0, "+reboot", "master it"), 1);
        sentinelSimDestroy(s);
    }
}

/* ---- Selecting a replica ---- */

static void theReplicaWithTheBestPriorityIsChosen(void **state) {
    (void)state;
    struct sentinelSimOptions o = usual;
    o.replicas = 4;
    struct sentinelSim *s = supervisorSimulationTestAgreed(&o);
    sentinelSimSetPriority(s, sentinelSimServer(s, 3), 10);
    sentinelSimSetPriority(s, sentinelSimServer(s, 4), 0);
    sentinelSimRun(s, 11000);
    sentinelSimKill(s, sentinelSimServer(s, 0));
    assert_true(untilEvent(s, "+switch-master", 20000) >= 0);
    assert_int_equal(sentinelSimPrimaryOf(s, 0), sentinelSimServer(s, 3));
    sentinelSimDestroy(s);
}

static void theReplicaWithMostDataIsChosen(void **state) {
    (void)state;
    for (uint64_t seed = 1; seed <= 5; seed++) {
        struct sentinelSimOptions o = usual;
        o.seed = seed;
        struct sentinelSim *s = supervisorSimulationTestAgreed(&o);
        int behind = sentinelSimServer(s, 1);
        sentinelSimSetNeverSyncs(s, behind, true);
        sentinelSimReplicaOf(s, behind, -1);
        sentinelSimReplicaOf(s, behind,
                             sentinelSimServer(s, 0)); /* gets no new data from now on, for not too long */
        sentinelSimRun(s, 5000);
        sentinelSimKill(s, sentinelSimServer(s, 0));
        assert_true(untilEvent(s, "+selected-slave", 20000) >= 0);
        int leader = firstSenderOf(s, "+selected-slave");
        assert_int_equal(sentinelSimCountEvents(s, leader, "+selected-slave", "10.0.0.6:6379"), 1);
        sentinelSimDestroy(s);
    }
}

/* Each reason against a replica, one at a time. */
static void unsuitableReplicasAreNotChosen(void **state) {
    (void)state;
    struct sentinelSimOptions o = usual;
    o.replicas = 1;
    struct sentinelSim *s = supervisorSimulationTestAgreed(&o);
    sentinelSimRun(s, 11000);
    struct supervisor *sup = sentinelSimSupervisor(s, 0);
    struct instance *primary = sentinelSimWatched(s, 0), *r = primary->p.replicas.items[0];
    assert_ptr_equal(failoverSelectReplica(sup, primary), r);
    const struct instance was = *r;
    const struct peerLink link_was = *r->link;
#define NOT_CHOSEN(change)                                                                                   \
    do {                                                                                                     \
        change;                                                                                              \
        assert_null(failoverSelectReplica(sup, primary));                                                    \
        *r = was;                                                                                            \
        *r->link = link_was;                                                                                 \
        assert_non_null(failoverSelectReplica(sup, primary));                                                \
    } while (0)
    NOT_CHOSEN(r->flags |= FLAG_S_DOWN);
    NOT_CHOSEN(r->r.priority = 0);
    NOT_CHOSEN(r->link->channel[CHANNEL_PUBSUB] = NULL);
    NOT_CHOSEN(r->link->good_pong_ms = sup->now_ms - 5001);
    NOT_CHOSEN(r->info_ms = sup->now_ms - 30001);
    NOT_CHOSEN(r->r.link_down_ms = 10 * DOWN_MS + 1);
    r->r.link_down_ms = 10 * DOWN_MS + 1; /* a primary that is down excuses that, but requires newer INFO */
    r->info_ms = sup->now_ms - 5000;
    primary->flags |= FLAG_S_DOWN;
    primary->s_down_ms = sup->now_ms - 1;
    assert_non_null(failoverSelectReplica(sup, primary));
    r->info_ms = sup->now_ms - 5001;
    assert_null(failoverSelectReplica(sup, primary));
    *r = was;
    sentinelSimDestroy(s);
}

/* The replica that has more is promoted, although INFO of before the primary's end, which came at different
 * times, may say otherwise. */
static void theReplicaThatHasMoreIsPromoted(void **state) {
    (void)state;
    for (uint64_t seed = 1; seed <= 200; seed++) {
        struct sentinelSimOptions o = usual;
        o.seed = seed;
        o.down_after_ms = seed % 2 ? 300 : 1000;
        struct sentinelSim *s = supervisorSimulationTestAgreed(&o);
        int less = 1 + (int)(seed / 2 % 2), more = 3 - less;
        sentinelSimSetBehind(s, sentinelSimServer(s, less), 14);
        sentinelSimKill(s, sentinelSimServer(s, less)); /* so that its INFO comes at other times */
        sentinelSimRun(s, 500 + (int64_t)(seed * 104729 % 9000));
        sentinelSimRestart(s, sentinelSimServer(s, less));
        sentinelSimRun(s, 11000 + (int64_t)(seed * 7919 % 10000));
        sentinelSimKill(s, sentinelSimServer(s, 0));
        if (untilEvent(s, "+promoted-slave", 20000) < 0)
            fail_msg("seed %llu: none is promoted", (unsigned long long)seed);
        if (!sentinelSimIsPrimary(s, sentinelSimServer(s, more)))
            fail_msg("seed %llu: the replica that has less is promoted", (unsigned long long)seed);
        sentinelSimDestroy(s);
    }
}

/* ---- After the promotion ---- */

static void onlySoManyAreReconfiguredAtATime(void **state) {
    (void)state;
    struct sentinelSimOptions o = usual;
    o.replicas = 5;
    for (o.parallel_syncs = 1; o.parallel_syncs <= 3; o.parallel_syncs += 2) {
        struct sentinelSim *s = supervisorSimulationTestAgreed(&o);
        sentinelSimKill(s, sentinelSimServer(s, 0));
        assert_true(untilEvent(s, "+promoted-slave", 20000) >= 0);
        int leader = firstSenderOf(s, "+promoted-slave"), most = 0;
        while (!sentinelSimCountEvents(s, leader, "+failover-end", NULL)) {
            int busy = sentinelSimCountEvents(s, leader, "+slave-reconf-sent", NULL) -
                       sentinelSimCountEvents(s, leader, "+slave-reconf-done", NULL);
            if (busy > most) most = busy;
            sentinelSimRun(s, 20);
        }
        assert_int_equal(most, o.parallel_syncs);
        assert_int_equal(sentinelSimCountEvents(s, leader, "+slave-reconf-done", NULL), 4);
        sentinelSimDestroy(s);
    }
}

/* A replica that does not follow delays the failover for a limited time only. */
static void theFailoverEndsWithoutSlowReplicas(void **state) {
    (void)state;
    struct sentinelSimOptions o = usual;
    o.failover_timeout_ms = 30000;
    struct sentinelSim *s = supervisorSimulationTestAgreed(&o);
    sentinelSimSetNeverSyncs(s, sentinelSimServer(s, 1), true);
    sentinelSimSetNeverSyncs(s, sentinelSimServer(s, 2), true);
    sentinelSimKill(s, sentinelSimServer(s, 0));
    assert_true(untilEvent(s, "+slave-reconf-inprog", 20000) >= 0);
    int leader = firstSenderOf(s, "+slave-reconf-inprog");
    assert_in_range(untilEvent(s, "+failover-end-for-timeout", 60000), 20000, 31000);
    sentinelSimRun(s, 100);
    IN_ORDER(s, leader, "+failover-end-for-timeout master it", "+failover-end master it",
             "+slave-reconf-sent-be slave ", "+switch-master it");
    sentinelSimDestroy(s);
}

static void aReplicaThatReceivesNothingIsSkipped(void **state) {
    (void)state;
    struct sentinelSimOptions o = usual;
    o.failover_timeout_ms = 60000;
    o.down_after_ms = 25000; /* it does not become down meanwhile */
    o.replicas = 3;
    struct sentinelSim *s = supervisorSimulationTestAgreed(&o);
    sentinelSimKill(s, sentinelSimServer(s, 0));
    assert_true(untilEvent(s, "+slave-reconf-sent", 60000) >= 0);
    int leader = firstSenderOf(s, "+slave-reconf-sent");
    for (int i = 1; i <= 3; i++)
        if (sentinelSimServer(s, i) != sentinelSimPrimaryOf(s, leader))
            sentinelSimHang(s, sentinelSimServer(s, i), true);
    assert_in_range(untilEvent(s, "-slave-reconf-sent-timeout", 20000), 9000, 11000);
    sentinelSimDestroy(s);
}

static void aDeadPromotedReplicaDoesNotHoldUpTheLeader(void **state) {
    (void)state;
    struct sentinelSimOptions o = usual;
    o.sentinels = o.quorum = 1; /* no other Sentinel takes over */
    struct sentinelSim *s = supervisorSimulationTestAgreed(&o);
    sentinelSimKill(s, sentinelSimServer(s, 0));
    assert_true(untilEvent(s, "+promoted-slave", 20000) >= 0);
    sentinelSimKill(s, sentinelSimPrimaryOf(s, 0));
    assert_in_range(untilEvent(s, "+failover-end", 20000), FAILOVER_MS, FAILOVER_MS + 500);
    assert_true(untilEvent(s, "+promoted-slave", 20000) >= 0);
    assert_true(supervisorSimulationTestUntilAgreed(s, 60000) >= 0); /* to the third server */
    assert_int_equal(sentinelSimWatched(s, 0)->p.replicas.count, 2);
    simTestHeal(s);
    assert_true(supervisorSimulationTestUntilAgreed(s, 60000) >= 0);
    sentinelSimDestroy(s);
}

/* ---- Aborts ---- */

static void aReplicaThatDiesBeforeItIsPromoted(void **state) {
    (void)state;
    struct sentinelSim *s = supervisorSimulationTestAgreed(&usual);
    sentinelSimKill(s, sentinelSimServer(s, 0));
    assert_true(untilEvent(s, "+selected-slave", 20000) >= 0);
    int leader = firstSenderOf(s, "+selected-slave");
    sentinelSimKill(s, sentinelSimServer(
                           s, sentinelSimCountEvents(s, leader, "+selected-slave", "10.0.0.5:6379") ? 1 : 2));
    assert_in_range(untilEvent(s, "-failover-abort-slave-timeout", 40000), FAILOVER_MS, FAILOVER_MS + 500);
    sentinelSimRun(s, 100);
    assert_int_equal(sentinelSimWatched(s, leader)->p.failover_state, FAILOVER_NONE);
    assert_false(sentinelSimWatched(s, leader)->flags & FLAG_FAILOVER_IN_PROGRESS);
    assert_null(sentinelSimWatched(s, leader)->p.promoted);
    assert_true(untilEvent(s, "+promoted-slave", 60000) >= 0); /* the other replica */
    sentinelSimDestroy(s);
}

static void anElectionThatOthersHaveOvertakenIsNotWon(void **state) {
    (void)state;
    struct sentinelSim *s = supervisorSimulationTestAgreed(&usual);
    struct supervisor *sup = sentinelSimSupervisor(s, 0);
    struct instance *primary = sentinelSimWatched(s, 0);
    char winner[RUN_ID_LEN + 1];
    sup->current_epoch = 7;
    for (int i = 0; i < 2; i++) {
        struct sentinelState *other = &primary->p.sentinels.items[i]->s;
        strcpy(other->leader, sup->my_id);
        other->leader_epoch = 7;
    }
    assert_true(voteFindWinner(sup, primary, 7, winner));
    assert_string_equal(winner, sup->my_id);
    primary->p.quorum = 4; /* a majority is not enough */
    assert_false(voteFindWinner(sup, primary, 7, winner));
    primary->p.quorum = 3;
    assert_true(voteFindWinner(sup, primary, 7, winner));
    sup->current_epoch = 8; /* from a failover of another primary */
    assert_true(voteFindWinner(sup, primary, 7, winner));
    primary->p.leader_epoch = 8; /* from a failover of this primary */
    assert_false(voteFindWinner(sup, primary, 7, winner));
    sentinelSimDestroy(s);
}

static void answersAreBelievedForFivePeriods(void **state) {
    (void)state;
    struct sentinelSim *s = supervisorSimulationTestAgreed(&usual);
    struct supervisor *sup = sentinelSimSupervisor(s, 0);
    serverAssert(sup);
    struct instance *primary = sentinelSimWatched(s, 0), *other = primary->p.sentinels.items[0];
    other->flags |= FLAG_MASTER_DOWN;
    memcpy(other->s.leader, sup->my_id, sizeof other->s.leader);
    other->s.down_reply_ms = sup->now_ms - 5 * sup->timers.ask_period;
    downSendQuestions(sup, primary, false);
    assert_true(other->flags & FLAG_MASTER_DOWN);
    assert_string_equal(other->s.leader, sup->my_id);
    other->s.down_reply_ms--;
    downSendQuestions(sup, primary, false);
    assert_false(other->flags & FLAG_MASTER_DOWN);
    assert_string_equal(other->s.leader, "");
    sentinelSimDestroy(s);
}

/* Several primaries go down at once: each failover begins an epoch, and the earlier ones become outdated. */
static void epochsOfOtherPrimariesDoNotStopAnElection(void **state) {
    (void)state;
    for (int told_ms = 0; told_ms <= 400; told_ms += 20) {
        struct sentinelSim *s = supervisorSimulationTestAgreed(&usual);
        sentinelSimKill(s, sentinelSimServer(s, 0));
        assert_true(untilEvent(s, "+try-failover", 20000) >= 0);
        sentinelSimRun(s, told_ms);
        uint64_t newer = 0;
        for (int i = 0; i < usual.sentinels; i++) newer += sentinelSimSupervisor(s, i)->current_epoch;
        for (int i = 0; i < usual.sentinels; i++)
            supervisorTakeEpoch(sentinelSimSupervisor(s, i), NULL, newer);
        assert_in_range(untilEvent(s, "+promoted-slave", 20000), 0, 2000);
        assert_true(supervisorSimulationTestUntilAgreed(s, 20000) >= 0);
        sentinelSimDestroy(s);
    }
}

/* A later failover of another Sentinel has completed with the same primary. */
static void aFailoverThatIsOvertakenIsGivenUp(void **state) {
    (void)state;
    struct sentinelSim *s = supervisorSimulationTestAgreed(&usual);
    assert_int_equal(sentinelSimFailover(s, 0, false), MANUAL_OK);
    assert_true(untilEvent(s, "+failover-state-wait-promotion", 20000) >= 0);
    sds hello = sdscatprintf(sdsempty(), "10.0.0.2,26379,%s,9,it,10.0.0.4,6379,9",
                             sentinelSimSupervisor(s, 1)->my_id);
    supervisorProcessHello(sentinelSimSupervisor(s, 0), sdsview(hello), sentinelSimSupervisor(s, 0)->now_ms);
    sdsfree(hello);
    sentinelSimRun(s, 150);
    assert_int_equal(sentinelSimWatched(s, 0)->p.failover_state, FAILOVER_NONE);
    assert_true(supervisorSimulationTestUntilAgreed(s, 60000) >= 0);
    assert_int_equal(sentinelSimCountEvents(s, 0, "+promoted-slave", NULL), 0);
    assert_int_equal(sentinelSimWatched(s, 2)->config_epoch, 9);
    assert_int_equal(sentinelSimPrimaryOf(s, 2), sentinelSimServer(s, 0));
    sentinelSimDestroy(s);
}

/* ---- Votes ---- */

static struct downAnswer askFor(struct supervisor *sup, uint64_t epoch, const char *run_id) {
    return supervisorAnswerDown(sup, "10.0.0.4", 6379, epoch, run_id, sup->now_ms);
}

static void aVoteIsGivenOnce(void **state) {
    (void)state;
    struct sentinelSim *s = supervisorSimulationTestAgreed(&usual);
    struct supervisor *sup = sentinelSimSupervisor(s, 0);
    struct downAnswer a = askFor(sup, 5, NULL);
    assert_false(a.down);
    assert_string_equal(a.leader, "");
    assert_int_equal(a.leader_epoch, 0);
    assert_int_equal(sup->current_epoch, 0); /* without a request for a vote the epoch does not count */
    a = askFor(sup, 5, "abc");
    assert_string_equal(a.leader, "abc");
    assert_int_equal(a.leader_epoch, 5);
    assert_int_equal(sup->current_epoch, 5);
    a = askFor(sup, 5, "other");
    assert_string_equal(a.leader, "abc");
    a = askFor(sup, 4, "other"); /* too late */
    assert_string_equal(a.leader, "abc");
    assert_int_equal(a.leader_epoch, 5);
    a = askFor(sup, 6, "other");
    assert_string_equal(a.leader, "other");
    supervisorTakeEpoch(sup, NULL, 8);
    a = askFor(sup, 7, "abc"); /* no vote in it, but it is over */
    assert_string_equal(a.leader, "other");
    assert_int_equal(a.leader_epoch, 6);
    IN_ORDER(s, 0, "+new-epoch 5\n", "+vote-for-leader abc 5\n", "+new-epoch 6\n",
             "+vote-for-leader other 6\n");
    a = supervisorAnswerDown(sup, "10.0.0.9", 6379, 9, "abc", sup->now_ms); /* not watched */
    assert_string_equal(a.leader, "");
    assert_int_equal(sup->current_epoch, 8);
    sentinelSimDestroy(s);
}

static void aVoteSurvivesARestart(void **state) {
    (void)state;
    struct sentinelSim *s = supervisorSimulationTestAgreed(&usual);
    askFor(sentinelSimSupervisor(s, 0), 5, "abc");
    sentinelSimKill(s, 0);
    sentinelSimRestart(s, 0);
    struct downAnswer a = askFor(sentinelSimSupervisor(s, 0), 5, "other");
    assert_string_equal(a.leader, ""); /* the candidate is not saved */
    assert_int_equal(a.leader_epoch, 5);
    sentinelSimDestroy(s);
}

static void aVoteAlsoOutlivesAReset(void **state) {
    (void)state;
    struct sentinelSim *s = supervisorSimulationTestAgreed(&usual);
    struct supervisor *sup = sentinelSimSupervisor(s, 0);
    askFor(sup, 5, "abc");
    assert_int_equal(supervisorResetMatching(sup, STR("i*"), sup->now_ms), 1);
    assert_int_equal(supervisorResetMatching(sup, STR("I*"), sup->now_ms), 0);
    assert_int_equal(sentinelSimWatched(s, 0)->p.replicas.count, 0);
    assert_int_equal(sentinelSimWatched(s, 0)->p.sentinels.count, 0);
    assert_int_equal(sentinelSimCountEvents(s, 0, "+reset-master", "master it 10.0.0.4 6379"), 1);
    assert_string_equal(askFor(sup, 5, "other").leader, "");
    assert_true(supervisorSimulationTestUntilAgreed(s, 20000) >= 0); /* it finds all of them again */
    sentinelSimDestroy(s);
}

/* An epoch near the end of the numbers would end all elections. */
static void anEpochNearTheLimitIsNotTaken(void **state) {
    (void)state;
    struct sentinelSim *s = supervisorSimulationTestAgreed(&usual);
    struct supervisor *sup = sentinelSimSupervisor(s, 0);
    const uint64_t hostile[] = {UINT64_MAX, UINT64_MAX - 1, INT64_MAX, (uint64_t)EPOCH_MAX + 1};
    for (size_t i = 0; i < sizeof hostile / sizeof *hostile; i++) {
        assert_string_equal(askFor(sup, hostile[i], "abc").leader, "");
        assert_int_equal(sup->current_epoch, 0);
    }
    assert_string_equal(askFor(sup, EPOCH_MAX, "abc").leader, "abc");
    char long_id[RUN_ID_LEN + 2];
    memset(long_id, 'a', sizeof long_id - 1);
    long_id[sizeof long_id - 1] = '\0';
    assert_string_equal(askFor(sup, 7, long_id).leader, "abc");
    sentinelSimDestroy(s);
}

/* ---- Answers of other Sentinels ---- */

static void simTestAnswer(struct sentinelSim *s, struct instance *sentinel, const char *bytes) {
    struct respReply reply;
    assert_int_equal(respReadReply(bytes, strlen(bytes), &reply), strlen(bytes));
    downProcessAnswer(sentinelSimSupervisor(s, 0), sentinel, &reply);
    respReplyFree(&reply);
}

static void answersThatMakeNoSenseAreIgnored(void **state) {
    (void)state;
    struct sentinelSim *s = supervisorSimulationTestAgreed(&usual);
    struct instance *other = sentinelSimWatched(s, 0)->p.sentinels.items[0];
    static const char *const senseless[] = {
        "+OK\r\n",
        "-ERR unknown command\r\n",
        "*-1\r\n",
        "*0\r\n",
        "*2\r\n:1\r\n$1\r\n*\r\n",
        "*4\r\n:1\r\n$1\r\n*\r\n:0\r\n:0\r\n",
        "*3\r\n$1\r\n1\r\n$1\r\n*\r\n:0\r\n",
        "*3\r\n:1\r\n$-1\r\n:0\r\n",
        "*3\r\n:1\r\n:7\r\n:0\r\n",
        "*3\r\n:1\r\n$3\r\nabc\r\n$1\r\n1\r\n",
        "*3\r\n:1\r\n$3\r\nabc\r\n:-1\r\n",
        "*3\r\n:1\r\n$0\r\n\r\n:1\r\n",
        "*3\r\n:1\r\n$3\r\na\nb\r\n:1\r\n",
        "*3\r\n:1\r\n$41\r\naaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\r\n:1\r\n",
    };
    for (size_t i = 0; i < sizeof senseless / sizeof *senseless; i++) {
        simTestAnswer(s, other, senseless[i]);
        assert_int_equal(other->s.down_reply_ms, 0);
        assert_false(other->flags & FLAG_MASTER_DOWN);
    }
    simTestAnswer(s, other, "*3\r\n:1\r\n$1\r\n*\r\n:0\r\n");
    assert_true(other->flags & FLAG_MASTER_DOWN);
    assert_string_equal(other->s.leader, "");
    simTestAnswer(s, other, "*3\r\n:0\r\n$3\r\nabc\r\n:9223372036854775807\r\n");
    assert_false(other->flags & FLAG_MASTER_DOWN);
    assert_string_equal(other->s.leader, "abc");
    sentinelSimRun(s, 5200); /* answers expire */
    assert_string_equal(other->s.leader, "");
    sentinelSimDestroy(s);
}

/* ---- Requests of users ---- */

static void aForcedFailoverNeedsNoVotes(void **state) {
    (void)state;
    struct sentinelSim *s = supervisorSimulationTestAgreed(&usual);
    sentinelSimKill(s, 1);
    sentinelSimKill(s, 2);
    int old = sentinelSimServer(s, 0);
    assert_int_equal(sentinelSimFailover(s, 0, false), MANUAL_OK);
    assert_int_equal(sentinelSimFailover(s, 0, false), MANUAL_IN_PROGRESS);
    assert_in_range(untilEvent(s, "+switch-master", 20000), 0, 8000);
    IN_ORDER(s, 0, "+new-epoch 1\n", "+try-failover master it", "-sdown master it", "+vote-for-leader ",
             "+elected-leader master it");
    simTestHeal(s);
    assert_true(supervisorSimulationTestUntilAgreed(s, 60000) >= 0);
    assert_false(sentinelSimIsPrimary(s, old));
    sentinelSimDestroy(s);
}

/* No votes are needed, and the events are those of a failover that promotes without the primary. */
static void aForcedFailoverHandsOver(void **state) {
    (void)state;
    for (uint64_t seed = 1; seed <= 10; seed++) {
        struct sentinelSimOptions o = usual;
        o.seed = seed;
        struct sentinelSim *s = supervisorSimulationTestAgreed(&o);
        int old = sentinelSimServer(s, 0);
        assert_int_equal(sentinelSimFailover(s, 0, false), MANUAL_OK);
        assert_true(sentinelSimWatched(s, 0)->p.handing_over);
        assert_in_range(untilEvent(s, "+switch-master", 20000), 0, 8000);
        sentinelSimRun(s, 5000);
        IN_ORDER(s, 0, "+try-failover", "+elected-leader", "+selected-slave",
                 "+failover-state-send-slaveof-noone", "+failover-state-wait-promotion", "+promoted-slave",
                 "+slave-reconf-sent", "+failover-end", "+switch-master");
        assert_true(supervisorSimulationTestUntilAgreed(s, 20000) >= 0);
        assert_false(sentinelSimIsPrimary(s, old));
        sentinelSimDestroy(s);
    }
}

/* The primary hangs in its FAILOVER, refuses it, or dies before it gets it: the replica
 * is promoted nevertheless. */
static void aForcedFailoverDoesWithoutThePrimary(void **state) {
    (void)state;
    static const enum sentinelSimFailoverMode how[] = {SIM_FAILOVER_STUCK, SIM_FAILOVER_REFUSED,
                                                       SIM_FAILOVER_WORKS, SIM_FAILOVER_UNKNOWN};
    static const int least_ms[] = {FAILOVER_MS / 2, 0, 0, 0};
    for (int i = 0; i < 4; i++) {
        struct sentinelSimOptions o = usual;
        o.down_after_ms = 30000;
        struct sentinelSim *s = supervisorSimulationTestAgreed(&o);
        int old = sentinelSimServer(s, 0);
        sentinelSimSetFailoverCommand(s, old, how[i]);
        sentinelSimRun(s, 11000); /* INFO reports whether it is known */
        assert_int_equal(sentinelSimFailover(s, 0, false), MANUAL_OK);
        assert_int_equal(sentinelSimWatched(s, 0)->p.handing_over, how[i] != SIM_FAILOVER_UNKNOWN);
        if (how[i] == SIM_FAILOVER_WORKS) {
            assert_true(untilEvent(s, "+elected-leader", 20000) >= 0);
            sentinelSimKill(s, old);
        }
        assert_in_range(untilEvent(s, "+promoted-slave", 20000), least_ms[i], least_ms[i] + 2500);
        assert_int_equal(sentinelSimCountEvents(s, 0, "+failover-state-wait-promotion", NULL), 1);
        simTestHeal(s);
        assert_true(supervisorSimulationTestUntilAgreed(s, 60000) >= 0);
        assert_false(sentinelSimIsPrimary(s, old));
        sentinelSimDestroy(s);
    }
}

static void aFailoverNeedsAReplica(void **state) {
    (void)state;
    struct sentinelSim *s = supervisorSimulationTestAgreed(&usual);
    sentinelSimSetPriority(s, sentinelSimServer(s, 1), 0);
    sentinelSimSetPriority(s, sentinelSimServer(s, 2), 0);
    sentinelSimRun(s, 11000);
    assert_int_equal(sentinelSimFailover(s, 0, false), MANUAL_NO_REPLICA);
    sentinelSimSetFailoverCommand(s, sentinelSimServer(s, 0), SIM_FAILOVER_UNKNOWN);
    sentinelSimRun(s, 11000);
    assert_int_equal(sentinelSimFailover(s, 0, true), MANUAL_NO_PRIMARY);
    sentinelSimDestroy(s);
}

static void aCoordinatedFailoverHandsOver(void **state) {
    (void)state;
    for (uint64_t seed = 1; seed <= 10; seed++) {
        struct sentinelSimOptions o = usual;
        o.seed = seed;
        struct sentinelSim *s = supervisorSimulationTestAgreed(&o);
        int old = sentinelSimServer(s, 0);
        assert_int_equal(sentinelSimFailover(s, 0, true), MANUAL_OK);
        assert_in_range(untilEvent(s, "+switch-master", 20000), 0, 8000);
        sentinelSimRun(s, 5000);
        IN_ORDER(s, 0, "+try-failover", "+vote-for-leader", "+elected-leader", "+selected-slave",
                 "+failover-state-send-slaveof-noone", "+failover-state-wait-promotion", "+promoted-slave",
                 "+slave-reconf-sent", "+failover-end", "+switch-master");
        assert_true(supervisorSimulationTestUntilAgreed(s, 20000) >= 0);
        assert_false(sentinelSimIsPrimary(s, old));
        for (int i = 0; i < 3; i++)
            assert_int_equal(sentinelSimCountEvents(s, i, "+convert-to-slave", NULL), 0);
        sentinelSimDestroy(s);
    }
}

static void aCoordinatedFailoverNeedsVotes(void **state) {
    (void)state;
    struct sentinelSim *s = supervisorSimulationTestAgreed(&usual);
    sentinelSimKill(s, 1);
    sentinelSimKill(s, 2);
    assert_int_equal(sentinelSimFailover(s, 0, true), MANUAL_OK);
    assert_in_range(untilEvent(s, "-failover-abort-not-elected", 20000), FAILOVER_MS, FAILOVER_MS + 1500);
    assert_int_equal(sentinelSimWatched(s, 0)->flags & ~(unsigned)FLAG_S_DOWN, 0);
    sentinelSimDestroy(s);
}

static void votesAreAskedForAgain(void **state) {
    (void)state;
    struct sentinelSim *s = supervisorSimulationTestAgreed(&usual);
    sentinelSimKill(s, 1);
    sentinelSimKill(s, 2);
    sentinelSimRun(s, 10);
    sentinelSimRestart(s, 1);
    sentinelSimRestart(s, 2);
    assert_true(instanceIsDisconnected(sentinelSimWatched(s, 0)->p.sentinels.items[0]));
    assert_true(instanceIsDisconnected(sentinelSimWatched(s, 0)->p.sentinels.items[1]));
    assert_int_equal(sentinelSimFailover(s, 0, true), MANUAL_OK);
    assert_in_range(untilEvent(s, "+elected-leader", 20000), 0, 5000);
    sentinelSimDestroy(s);
}

static void aCoordinatedFailoverMayFail(void **state) {
    (void)state;
    struct sentinelSim *s = supervisorSimulationTestAgreed(&usual);
    sentinelSimSetFailoverCommand(s, sentinelSimServer(s, 0), SIM_FAILOVER_STUCK);
    assert_int_equal(sentinelSimFailover(s, 0, true), MANUAL_OK);
    assert_in_range(untilEvent(s, "-failover-abort-slave-timeout", 20000), FAILOVER_MS, FAILOVER_MS + 500);
    assert_true(supervisorSimulationTestUntilAgreed(s, 20000) >= 0); /* as before */
    assert_int_equal(sentinelSimPrimaryOf(s, 0), sentinelSimServer(s, 0));
    sentinelSimDestroy(s);
}

static void aCoordinatedFailoverNeedsThePrimary(void **state) {
    (void)state;
    struct sentinelSimOptions o = usual;
    o.down_after_ms = 30000;
    struct sentinelSim *s = supervisorSimulationTestAgreed(&o);
    assert_int_equal(sentinelSimFailover(s, 0, true), MANUAL_OK);
    assert_true(untilEvent(s, "+elected-leader", 20000) >= 0);
    sentinelSimKill(s, sentinelSimServer(s, 0));
    assert_in_range(untilEvent(s, "-failover-abort-master-timeout", 20000), FAILOVER_MS - 1500, FAILOVER_MS);
    sentinelSimDestroy(s);
}

/* ---- TILT ---- */

static void inTiltNothingIsDecided(void **state) {
    (void)state;
    struct sentinelSim *s = supervisorSimulationTestAgreed(&usual);
    for (int i = 0; i < 3; i++) sentinelSimSetClock(s, i, 5000);
    sentinelSimRun(s, 200);
    assert_true(sentinelSimSupervisor(s, 0)->tilt);
    sentinelSimKill(s, sentinelSimServer(s, 0));
    sentinelSimRun(s, 29000);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(sentinelSimCountEvents(s, i, "+tilt", "#tilt mode entered"), 1);
        assert_int_equal(sentinelSimCountEvents(s, i, "+sdown", NULL), 0);
        assert_int_equal(sentinelSimCountEvents(s, i, "-tilt", NULL), 0);
    }
    assert_string_equal(askFor(sentinelSimSupervisor(s, 0), 1, "abc").leader, "abc"); /* votes are given */
    assert_in_range(untilEvent(s, "-tilt", 3000), 0, 1500);
    assert_true(untilEvent(s, "+promoted-slave", 200000) >= 0);
    assert_int_equal(sentinelSimSupervisor(s, 0)->total_tilt, 1);
    sentinelSimDestroy(s);
}

/* A failover that TILT has interrupted does not replace a primary that has come back meanwhile. */
static void aPrimaryThatIsBackIsNotReplaced(void **state) {
    (void)state;
    struct sentinelSim *s = supervisorSimulationTestAgreed(&usual);
    int primary = sentinelSimServer(s, 0);
    sentinelSimHang(s, primary, true);
    assert_true(untilEvent(s, "+try-failover", 20000) >= 0);
    for (int i = 0; i < 3; i++) sentinelSimSetClock(s, i, 5000);
    sentinelSimHang(s, primary, false);
    sentinelSimRun(s, 60000);
    assert_true(firstSenderOf(s, "-tilt") >= 0);
    assert_true(firstSenderOf(s, "-failover-abort-master-is-back") >= 0);
    assert_int_equal(firstSenderOf(s, "+promoted-slave"), -1);
    assert_true(sentinelSimIsPrimary(s, primary));
    sentinelSimDestroy(s);
}

static void knownFailuresAreNotAnsweredInTilt(void **state) {
    (void)state;
    struct sentinelSimOptions o = usual;
    o.quorum = 3;
    struct sentinelSim *s = supervisorSimulationTestAgreed(&o);
    sentinelSimKill(s, 2);
    sentinelSimKill(s, sentinelSimServer(s, 0));
    sentinelSimRun(s, 5000);
    struct supervisor *sup = sentinelSimSupervisor(s, 0);
    assert_true(askFor(sup, 0, NULL).down);
    sentinelSimSetClock(s, 0, 5000);
    sentinelSimRun(s, 200);
    assert_true(sup->tilt);
    assert_false(askFor(sup, 0, NULL).down);
    sentinelSimDestroy(s);
}

/* A clock that is set back for an hour stops nothing for longer than TILT lasts. */
static void aClockSetBackStopsNothing(void **state) {
    (void)state;
    struct sentinelSim *s = supervisorSimulationTestAgreed(&usual);
    for (int i = 0; i < 3; i++) sentinelSimSetClock(s, i, -3600 * 1000);
    sentinelSimRun(s, 32000);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(sentinelSimCountEvents(s, i, "-tilt", NULL), 1);
        assert_int_equal(sentinelSimCountEvents(s, i, "+sdown", NULL), 0);
    }
    sentinelSimKill(s, sentinelSimServer(s, 0));
    assert_in_range(untilEvent(s, "+promoted-slave", 20000), DOWN_MS - 1000, DOWN_MS + 3000);
    sentinelSimDestroy(s);
}

/* As after SIGSTOP, or when the machine was suspended. */
static void aSentinelThatStoodStillTilts(void **state) {
    (void)state;
    struct sentinelSim *s = supervisorSimulationTestAgreed(&usual);
    sentinelSimHang(s, 0, true);
    sentinelSimRun(s, 30000);
    sentinelSimHang(s, 0, false);
    sentinelSimRun(s, 1000);
    assert_int_equal(sentinelSimCountEvents(s, 0, "+tilt", NULL), 1);
    assert_int_equal(sentinelSimCountEvents(s, 0, "+sdown", NULL), 0);
    assert_true(supervisorSimulationTestUntilAgreed(s, 60000) >= 0);
    assert_int_equal(sentinelSimCountEvents(s, 0, "+sdown", "master it"), 0);
    sentinelSimDestroy(s);
}

/* ---- Adding and removing primaries ---- */

static void primariesComeAndGo(void **state) {
    (void)state;
    struct sentinelSim *s = supervisorSimulationTestAgreed(&usual);
    struct supervisor *sup = sentinelSimSupervisor(s, 0);
    const char *err = NULL;
    assert_null(supervisorMonitor(sup, "b", "10.0.0.5", 6379, 0, &err));
    assert_string_equal(err, "Quorum must be 1 or greater.");
    assert_null(supervisorMonitor(sup, "b", "somewhere", 6379, 1, &err));
    assert_string_equal(err, "Can't resolve instance hostname.");
    assert_null(supervisorMonitor(sup, "it", "10.0.0.5", 65536, 1, &err));
    assert_string_equal(err, "Invalid port number.");
    assert_null(supervisorMonitor(sup, "it", "10.0.0.5", 6379, 1, &err));
    assert_string_equal(err, "Duplicate master name.");
    assert_int_equal(sup->primaries.count, 1);
    struct instance *b = supervisorMonitor(sup, "b", "10.0.0.5", 6379, 1, &err);
    assert_non_null(b);
    supervisorMonitorEvent(sup, b);
    assert_int_equal(sentinelSimCountEvents(s, 0, "+monitor", "master b 10.0.0.5 6379 quorum 1"), 1);
    assert_ptr_equal(supervisorFindPrimary(sup, "b"), b);
    sentinelSimRun(s, 1000);
    supervisorRemove(sup, b);
    assert_int_equal(sentinelSimCountEvents(s, 0, "-monitor", "master b 10.0.0.5 6379"), 1);
    assert_null(supervisorFindPrimary(sup, "b"));
    sentinelSimDestroy(s);
}

static void warningsRunTheNotificationScript(void **state) {
    (void)state;
    struct sentinelSim *s = supervisorSimulationTestAgreed(&usual);
    struct instance *primary = sentinelSimWatched(s, 0);
    primary->p.notification_script = sdsnew("/n");
    primary->p.reconfig_script = sdsnew("/r");
    askFor(sentinelSimSupervisor(s, 0), 1, "abc");
    IN_ORDER(s, 0, "+new-epoch 1\nscript /n +new-epoch 1\n",
             "+vote-for-leader abc 1\nscript /n +vote-for-leader abc 1\n");
    sentinelSimForgetEvents(s);
    sentinelSimFailover(s, 0, false);
    assert_true(untilEvent(s, "+switch-master", 20000) >= 0);
    sentinelSimRun(s, 5000);
    assert_int_equal(sentinelSimCountEvents(s, 0, "script", "/r it leader start 10.0.0.4 6379 10.0.0."), 1);
    assert_int_equal(sentinelSimCountEvents(s, 0, "script", "/n +switch-master it 10.0.0.4 6379 10.0.0."), 1);
    assert_int_equal(sentinelSimCountEvents(s, 0, "script", "/n +slave"), 0); /* only a notice */
    sentinelSimDestroy(s);
}

/* ---- Random schedules ---- */

static uint64_t supervisorSimulationTestDraw(uint64_t *random) {
    *random = *random * 6364136223846793005ULL + 1442695040888963407ULL;
    return *random >> 33;
}

static void supervisorSimulationTestAct(struct sentinelSim *s, uint64_t *random) {
    int i = (int)(supervisorSimulationTestDraw(random) % (uint64_t)sentinelSimCount(s));
    int sentinel = (int)(supervisorSimulationTestDraw(random) % (uint64_t)sentinelSimServer(s, 0));
    switch (supervisorSimulationTestDraw(random) % 12) {
    case 0:
    case 1:
    case 2: sentinelSimKill(s, i); break;
    case 3:
    case 4:
    case 5: sentinelSimRestart(s, i); break;
    case 6: sentinelSimSide(s, i, (int)(supervisorSimulationTestDraw(random) % 2)); break;
    case 7: sentinelSimSide(s, i, 0); break;
    case 8: sentinelSimHang(s, i, supervisorSimulationTestDraw(random) % 2); break;
    case 9:
        if (sentinelSimSupervisor(s, sentinel)) sentinelSimFailover(s, sentinel, true);
        break;
    case 10: sentinelSimSetBreaks(s, (double)(supervisorSimulationTestDraw(random) % 3) / 200); break;
    default:
        if (supervisorSimulationTestDraw(random) % 4 == 0)
            sentinelSimSetClock(s, sentinel,
                                ((int64_t)(supervisorSimulationTestDraw(random) % 3) - 1) * 3600 * 1000);
        break;
    }
}

static void supervisorSimulationTestSchedule(uint64_t seed, bool verbose) {
    uint64_t random = seed * 2654435761u + 1;
    struct sentinelSimOptions o = {.sentinels = 5,
                                   .replicas = 2 + (int)(supervisorSimulationTestDraw(&random) % 2),
                                   .quorum = 1 + (int)(supervisorSimulationTestDraw(&random) % 4),
                                   .parallel_syncs = 1 + (int)(supervisorSimulationTestDraw(&random) % 2),
                                   .down_after_ms = DOWN_MS,
                                   .failover_timeout_ms = FAILOVER_MS,
                                   .latency_ms = 1 + (int64_t)(supervisorSimulationTestDraw(&random) % 100),
                                   .breaks = (double)(supervisorSimulationTestDraw(&random) % 3) / 200,
                                   .seed = seed,
                                   .verbose = verbose};
    struct sentinelSim *s = sentinelSimCreate(&o);
    for (int step = 0; step < 30; step++) {
        supervisorSimulationTestAct(s, &random);
        sentinelSimRun(s, (int64_t)(supervisorSimulationTestDraw(&random) % 5000));
    }
    simTestHeal(s);
    bool agreed = supervisorSimulationTestUntilAgreed(s, 300000) >= 0;
    if (!agreed && verbose) sentinelSimPrint(s);
    if (!agreed) fail_msg("no agreement: SIM_SEED=%llu", (unsigned long long)seed);
    sentinelSimDestroy(s);
}

/* ---- Primaries that hang, and go on in the middle of a failover ---- */

/* Lets the primary hang until the failover has come to a random place, and for a while at most. Replicas and
 * Sentinels hang meanwhile, too. */
static void supervisorSimulationTestHangOnce(struct sentinelSim *s, uint64_t *random) {
    static const char *const places[] = {"+try-failover", "+selected-slave", "+failover-state-wait-promotion",
                                         "+promoted-slave", "+slave-reconf-sent"};
    int primary = sentinelSimPrimaryOf(s, 0);
    sentinelSimForgetEvents(s);
    if (supervisorSimulationTestDraw(random) % 3 == 0) {
        sentinelSimHang(s, (int)(supervisorSimulationTestDraw(random) % (uint64_t)sentinelSimCount(s)), true);
        sentinelSimRun(s, (int64_t)(supervisorSimulationTestDraw(random) % 1500));
    }
    sentinelSimHang(s, primary, true);
    untilEvent(s, places[supervisorSimulationTestDraw(random) % 5], 12000);
    sentinelSimRun(s, (int64_t)(supervisorSimulationTestDraw(random) % 400));
    if (supervisorSimulationTestDraw(random) % 4 == 0)
        sentinelSimHang(s, (int)(supervisorSimulationTestDraw(random) % (uint64_t)sentinelSimCount(s)), true);
    sentinelSimHang(s, primary, false);
    sentinelSimRun(s, (int64_t)(supervisorSimulationTestDraw(random) % 10000));
    simTestHeal(s);
    sentinelSimRun(s, (int64_t)(supervisorSimulationTestDraw(random) % 15000));
}

/* Returns how much of what clients knew to be kept is lost. */
static uint64_t supervisorSimulationTestHangs(uint64_t seed, bool without_pauses, bool verbose) {
    uint64_t random = seed * 2654435761u + 1;
    struct sentinelSimOptions o = usual;
    o.replicas = 2 + (int)(supervisorSimulationTestDraw(&random) % 3);
    o.sync_replicas = 1 + (int)(supervisorSimulationTestDraw(&random) % (uint64_t)o.replicas);
    o.parallel_syncs = 1 + (int)(supervisorSimulationTestDraw(&random) % 2);
    o.latency_ms = 1 + (int64_t)(supervisorSimulationTestDraw(&random) % 40);
    o.without_pauses = without_pauses;
    o.seed = seed;
    o.verbose = verbose;
    struct sentinelSim *s = supervisorSimulationTestAgreed(&o);
    for (int round = 0; round < 4; round++) supervisorSimulationTestHangOnce(s, &random);
    simTestHeal(s);
    if (supervisorSimulationTestUntilAgreed(s, 300000) < 0) {
        if (verbose) sentinelSimPrint(s);
        fail_msg("no agreement after hangs: SIM_SEED=%llu", (unsigned long long)seed);
    }
    uint64_t lost = sentinelSimCountLost(s, sentinelSimPrimaryOf(s, 0));
    sentinelSimDestroy(s);
    return lost;
}

static void nothingAcknowledgedIsLostByHangs(void **state) {
    (void)state;
    const char *seed = getenv("SIM_SEED"), *count = getenv("SIM_SCHEDULES");
    uint64_t schedules = count ? strtoull(count, NULL, 10) : 300, losing = 0;
    if (seed) {
        uint64_t lost = supervisorSimulationTestHangs(strtoull(seed, NULL, 10), false, true);
        assert_int_equal(lost, 0);
        return;
    }
    for (uint64_t i = 1; i <= schedules; i++) {
        uint64_t lost = supervisorSimulationTestHangs(i, false, false);
        if (lost) fail_msg("%llu lost: SIM_SEED=%llu", (unsigned long long)lost, (unsigned long long)i);
        if (i <= 300) losing += supervisorSimulationTestHangs(i, true, false) > 0;
    }
    if (schedules >= 300) assert_true(losing > 0); /* the schedules are such that it matters */
}

/* ---- Any faults ---- */

static void supervisorSimulationTestWhateverHappensTheyAgreeInTheEnd(void **state) {
    (void)state;
    const char *seed = getenv("SIM_SEED"), *count = getenv("SIM_SCHEDULES");
    if (seed) {
        supervisorSimulationTestSchedule(strtoull(seed, NULL, 10), true);
        return;
    }
    uint64_t schedules = count ? strtoull(count, NULL, 10) : 300;
    for (uint64_t i = 1; i <= schedules; i++) supervisorSimulationTestSchedule(i, false);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(unknownSentinelsFindEachOther),
        cmocka_unit_test(aDeadPrimaryIsReplaced),
        cmocka_unit_test(theLeaderPublishesEachStep),
        cmocka_unit_test(aHungPrimaryIsReplacedAndDemoted),
        cmocka_unit_test(aMajorityOnTheOtherSideReplacesIt),
        cmocka_unit_test(aSentinelThatIsCutOffReplacesNothing),
        cmocka_unit_test(withoutQuorumNothingIsTried),
        cmocka_unit_test(supervisorSimulationTestWithoutAMajorityNobodyIsElected),
        cmocka_unit_test(theNextAttemptWaits),
        cmocka_unit_test(aPrimaryThatSaysItIsAReplicaIsDown),
        cmocka_unit_test(aReplicaPromotedByHandIsDemoted),
        cmocka_unit_test(aRebootMayCountAsDown),
        cmocka_unit_test(theReplicaWithTheBestPriorityIsChosen),
        cmocka_unit_test(theReplicaWithMostDataIsChosen),
        cmocka_unit_test(unsuitableReplicasAreNotChosen),
        cmocka_unit_test(theReplicaThatHasMoreIsPromoted),
        cmocka_unit_test(onlySoManyAreReconfiguredAtATime),
        cmocka_unit_test(theFailoverEndsWithoutSlowReplicas),
        cmocka_unit_test(aReplicaThatReceivesNothingIsSkipped),
        cmocka_unit_test(aDeadPromotedReplicaDoesNotHoldUpTheLeader),
        cmocka_unit_test(aReplicaThatDiesBeforeItIsPromoted),
        cmocka_unit_test(anElectionThatOthersHaveOvertakenIsNotWon),
        cmocka_unit_test(answersAreBelievedForFivePeriods),
        cmocka_unit_test(epochsOfOtherPrimariesDoNotStopAnElection),
        cmocka_unit_test(aFailoverThatIsOvertakenIsGivenUp),
        cmocka_unit_test(aVoteIsGivenOnce),
        cmocka_unit_test(aVoteSurvivesARestart),
        cmocka_unit_test(aVoteAlsoOutlivesAReset),
        cmocka_unit_test(anEpochNearTheLimitIsNotTaken),
        cmocka_unit_test(answersThatMakeNoSenseAreIgnored),
        cmocka_unit_test(aForcedFailoverNeedsNoVotes),
        cmocka_unit_test(aFailoverNeedsAReplica),
        cmocka_unit_test(aForcedFailoverHandsOver),
        cmocka_unit_test(aForcedFailoverDoesWithoutThePrimary),
        cmocka_unit_test(aCoordinatedFailoverHandsOver),
        cmocka_unit_test(aCoordinatedFailoverNeedsVotes),
        cmocka_unit_test(votesAreAskedForAgain),
        cmocka_unit_test(aCoordinatedFailoverMayFail),
        cmocka_unit_test(aCoordinatedFailoverNeedsThePrimary),
        cmocka_unit_test(inTiltNothingIsDecided),
        cmocka_unit_test(aPrimaryThatIsBackIsNotReplaced),
        cmocka_unit_test(knownFailuresAreNotAnsweredInTilt),
        cmocka_unit_test(aClockSetBackStopsNothing),
        cmocka_unit_test(aSentinelThatStoodStillTilts),
        cmocka_unit_test(primariesComeAndGo),
        cmocka_unit_test(warningsRunTheNotificationScript),
        cmocka_unit_test(nothingAcknowledgedIsLostByHangs),
        cmocka_unit_test(supervisorSimulationTestWhateverHappensTheyAgreeInTheEnd),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
