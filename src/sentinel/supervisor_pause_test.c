/* SPDX-License-Identifier: BSD-3-Clause */
/* supervisor_pause_test.c - the orders that stop acknowledgements for a failover, and the rule of a promotion
 * with min-replicas-sync, step by step; and in virtual time, how long pauses last.
 * supervisor_simulation_test.c has whole failovers. */
#include "tests/sim/sentinel_recorder.h"
#include "tests/sim/sentinel_simulation.h"

#define ID_1 "1111111111111111111111111111111111111111"
#define ID_2 "2222222222222222222222222222222222222222"
#define ID_3 "3333333333333333333333333333333333333333"

static struct supervisor *s = &recorded_supervisor;
static struct instance *primary, *a, *b;

/* Two replicas, at 6380 and 6381, that can be reached; one of them must have what is acknowledged. The
 * failover has come to the choice of a replica. */
static int supervisorPauseTestSetup(void **state) {
    recorderSetup(state);
    assert_null(recorderConfigLine("known-replica m 127.0.0.1 6380"));
    assert_null(recorderConfigLine("known-replica m 127.0.0.1 6381"));
    recorderTickAt(0);
    primary = s->primaries.items[0];
    a = primary->p.replicas.items[0];
    b = primary->p.replicas.items[1];
    for (int i = 0; i < 2; i++) {
        struct peerLink *link = primary->p.replicas.items[i]->link;
        link->pending_count = 0;
        link->pong_ms = link->since_ms[CHANNEL_COMMAND];
    }
    primary->p.sync_replicas = 1;
    snprintf(primary->replid, sizeof primary->replid, ID_1);
    snprintf(primary->replid2, sizeof primary->replid2, ID_2);
    primary->flags |= FLAG_FAILOVER_IN_PROGRESS;
    primary->p.failover_state = FAILOVER_SELECT_REPLICA;
    primary->p.failover_begun_ms = TEST_NOW;
    pauseBegin(primary);
    recorderForget();
    return 0;
}

static void supervisorPauseTestTickAt(int64_t since_start_ms) {
    s->now_ms = TEST_NOW + since_start_ms;
    pauseTick(s, primary);
}

static sds supervisorPauseTestInfo(const char *id, const char *id2, uint64_t fork, uint64_t offset) {
    return sdscatprintf(sdsempty(),
                        "role:slave\r\nmaster_host:127.0.0.1\r\nmaster_port:6379\r\nmaster_replid:%s\r\n"
                        "master_replid2:%s\r\nsecond_repl_offset:%llu\r\nslave_repl_offset:%llu\r\n",
                        id, id2, (unsigned long long)fork, (unsigned long long)offset);
}

/* An INFO that was requested some time ago: which history the replica has, and how much of it. */
static void supervisorPauseTestReport(struct instance *replica, const char *id, const char *id2,
                                      uint64_t fork, uint64_t offset) {
    sds text = supervisorPauseTestInfo(id, id2, fork, offset);
    infoProcess(s, replica, sdsview(text));
    sdsfree(text);
}

/* The reply to the oldest request on the channel, an INFO. */
static void supervisorPauseTestAnswerInfo(struct instance *replica, uint64_t offset) {
    sds text = supervisorPauseTestInfo(ID_1, ID_2, 1, offset);
    sds wire = sdscatprintf(sdsempty(), "$%zu\r\n%s\r\n", sdslen(text), text);
    recorderAnswer(replica, wire);
    sdsfree(wire);
    sdsfree(text);
}

/* It obeys, and reports. */
static void supervisorPauseTestObey(struct instance *replica, uint64_t offset) {
    recorderAnswer(replica, "+OK\r\n");
    supervisorPauseTestAnswerInfo(replica, offset);
}

#define LINE(reported, needed, why)                                                                          \
    "log: Failover of 'm': " reported " of 2 replicas have stopped acknowledging, " needed                   \
    " are needed with min-replicas-sync 1; " why "\n"
#define WAITS(reported) LINE(reported, "2", "it waits for them (with unclean-failover yes, it goes on)")

static void anInfoIsRequestedAfterThePause(void **state) {
    (void)state;
    supervisorPauseTestTickAt(0);
    expectRecord("6380 cmd> SLAVEOF ACK PAUSE\n6381 cmd> SLAVEOF ACK PAUSE\n");
    assert_false(pauseAllowsPromotion(s, primary, a));
    expectRecord(WAITS("0"));
    supervisorPauseTestReport(a, ID_1, ID_2, 1, 100); /* requested before */
    assert_true(pauseAwaits(s, a));
    recorderAnswer(a, "+OK\r\n");
    expectRecord("6380 cmd> INFO\n");
    assert_true(pauseAwaits(s, a));
    supervisorPauseTestAnswerInfo(a, 100);
    assert_false(pauseAwaits(s, a));
    assert_false(pauseAllowsPromotion(s, primary, a));
    expectRecord(""); /* the reason is the same */
    supervisorPauseTestObey(b, 101);
    expectRecord("6381 cmd> INFO\n");
    assert_false(pauseAllowsPromotion(s, primary, a));
    expectRecord(LINE("2", "2", "it waits, as the one that has most cannot be promoted"));
    assert_true(pauseAllowsPromotion(s, primary, b));
    expectRecord("");
}

static void pausesAreRenewedEachSecond(void **state) {
    (void)state;
    supervisorPauseTestTickAt(0);
    supervisorPauseTestObey(a, 100);
    recorderForget();
    supervisorPauseTestTickAt(999);
    expectRecord("");
    supervisorPauseTestTickAt(1000);
    expectRecord("6380 cmd> SLAVEOF ACK PAUSE\n"); /* the other one has not answered yet */
    recorderAnswer(a, "+OK\r\n");
    expectRecord(""); /* what it has reported is from behind its pause */
    supervisorPauseTestTickAt(11000);
    assert_false(pauseAwaits(s, a));
    recorder.quiet = true;
    supervisorPauseTestTickAt(11001); /* ten seconds after the last order that was obeyed */
    assert_true(pauseAwaits(s, a));
}

/* A server that was started since has no pause. */
static void aNewConnectionNeedsANewPause(void **state) {
    (void)state;
    supervisorPauseTestTickAt(0);
    supervisorPauseTestObey(a, 100);
    assert_false(pauseAwaits(s, a));
    a->link->since_ms[CHANNEL_COMMAND] += 10;
    a->link->pong_ms += 10;
    assert_true(pauseAwaits(s, a));
    recorderForget();
    supervisorPauseTestTickAt(20);
    expectRecord("6380 cmd> SLAVEOF ACK PAUSE\n");
    supervisorPauseTestObey(a, 100);
    assert_false(pauseAwaits(s, a));
    expectRecord("6380 cmd> INFO\n");
}

static void errorsOfServersThatDoNotKnowTheOrder(void **state) {
    (void)state;
    supervisorPauseTestTickAt(0);
    supervisorPauseTestObey(a, 100);
    recorderAnswer(b, "-LOADING it will know later\r\n");
    recorderForget();
    assert_false(pauseAllowsPromotion(s, primary, a));
    expectRecord(WAITS("1"));
    supervisorPauseTestTickAt(10); /* at once again */
    expectRecord("6381 cmd> SLAVEOF ACK PAUSE\n");
    recorderAnswer(b, "-ERR Invalid master port\r\n");
    assert_false(pauseAwaits(s, b));
    assert_true(pauseAllowsPromotion(s, primary, a));
    expectRecord(LINE("1", "2", "the others do not know REPLICAOF ACK, so it goes on without"));
    supervisorPauseTestReport(b, ID_1, ID_2, 1, 101); /* more, but not known to be all that it will have */
    assert_true(pauseAllowsPromotion(s, primary, a));
}

static void answersOfAnEarlierFailoverCountNothing(void **state) {
    (void)state;
    supervisorPauseTestTickAt(0);
    primary->p.failover_begun_ms = TEST_NOW + 5;
    pauseBegin(primary);
    recorderAnswer(a, "+OK\r\n");
    supervisorPauseTestReport(a, ID_1, ID_2, 1, 100);
    assert_true(pauseAwaits(s, a));
    supervisorPauseTestTickAt(10);
    supervisorPauseTestObey(a, 100);
    assert_false(pauseAwaits(s, a));
}

static void theFewestReplicasCountIfThePrimaryIsUnknown(void **state) {
    (void)state;
    primary->p.sync_replicas = -1;
    assert_int_equal(pauseSyncReplicas(primary), 0);
    a->r.sync_replicas = 2;
    assert_int_equal(pauseSyncReplicas(primary), 2);
    b->r.sync_replicas = 1;
    assert_int_equal(pauseSyncReplicas(primary), 1);
    a->r.sync_replicas = 0;
    assert_int_equal(pauseSyncReplicas(primary), 1);
    primary->p.sync_replicas = 0; /* it has none; what replicas will want is not yet its own */
    assert_int_equal(pauseSyncReplicas(primary), 0);
}

static void nobodyIsPausedWhereNothingIsPromised(void **state) {
    (void)state;
    for (int reason = 0; reason < 4; reason++) {
        primary->p.sync_replicas = reason != 0;
        primary->p.handing_over = reason == 1;
        primary->p.failover_state = reason == 2   ? FAILOVER_WAIT_START
                                    : reason == 3 ? FAILOVER_UPDATE_CONFIG
                                                  : FAILOVER_SELECT_REPLICA;
        supervisorPauseTestTickAt(0);
        assert_false(pauseAwaits(s, a));
        assert_true(pauseAllowsPromotion(s, primary, a));
        expectRecord("");
    }
}

static void oneIsEnoughIfAllHaveEverything(void **state) {
    (void)state;
    primary->p.sync_replicas = 2;
    supervisorPauseTestTickAt(0);
    recorder.quiet = true;
    assert_false(pauseAllowsPromotion(s, primary, a));
    primary->p.sync_replicas = 3; /* of two */
    assert_false(pauseAllowsPromotion(s, primary, a));
    supervisorPauseTestObey(a, 100);
    for (; primary->p.sync_replicas >= 2; primary->p.sync_replicas--)
        assert_true(pauseAllowsPromotion(s, primary, a));
}

static void usersMayGoOnWithout(void **state) {
    (void)state;
    for (int forced = 0; forced < 2; forced++) {
        primary->flags = forced ? FLAG_FORCE_FAILOVER : 0;
        primary->p.unclean_failover = !forced;
        pauseBegin(primary);
        assert_true(pauseAllowsPromotion(s, primary, a));
        expectRecord(LINE("0", "2", "it goes on, and may lose acknowledged writes"));
    }
}

static void afterThePromotionTheOthersStayPaused(void **state) {
    (void)state;
    primary->p.failover_state = FAILOVER_RECONF_REPLICAS;
    a->flags = FLAG_PROMOTED;
    supervisorPauseTestTickAt(0);
    expectRecord("6381 cmd> SLAVEOF ACK PAUSE\n");
    static const unsigned follows[] = {FLAG_RECONF_SENT, FLAG_RECONF_INPROG, FLAG_RECONF_DONE};
    for (size_t i = 0; i < sizeof follows / sizeof *follows; i++) {
        b->link->pending_count = 0;
        b->flags = follows[i];
        supervisorPauseTestTickAt(2000 * (int64_t)(i + 1));
        expectRecord("");
    }
}

static void aFailoverThatIsGivenUpEndsItsPauses(void **state) {
    (void)state;
    supervisorPauseTestTickAt(0);
    recorderAnswer(a, "-ERR Invalid master port\r\n");
    recorderForget();
    pauseEnd(s, primary);
    expectRecord("6381 cmd> SLAVEOF ACK RESUME\n"); /* its answer is on the way */
    pauseEnd(s, primary);
    expectRecord("6381 cmd> SLAVEOF ACK RESUME\n");
    b->link->pending_count = 0;
    supervisorPauseTestTickAt(10);
    supervisorPauseTestObey(a, 100);
    supervisorPauseTestObey(b, 100);
    recorderForget();
    b->link->channel[CHANNEL_COMMAND] = NULL;
    pauseEnd(s, primary);
    expectRecord("6380 cmd> SLAVEOF ACK RESUME\n");
    pauseEnd(s, primary);
    expectRecord("");
}

/* A replica can have the primary's history, its predecessor's, or neither. */
static void moreIsNotOnlyAGreaterOffset(void **state) {
    (void)state;
    static const struct {
        const char *id, *id2;
        uint64_t fork, offset;
    } order[] = {{ID_1, ID_2, 50, 100}, {ID_1, ID_2, 50, 99},   {ID_3, ID_1, 91, 500},
                 {ID_3, ID_1, 90, 600}, {ID_2, ID_3, 10, 700},  {ID_3, ID_2, 61, 800},
                 {ID_3, ID_2, 60, 800}, {ID_3, ID_3, 1, 10000}, {ID_3, ID_3, 1, 9999}};
    const int count = sizeof order / sizeof *order;
    for (int i = 0; i < count; i++) {
        for (int k = 0; k < count; k++) {
            supervisorPauseTestReport(a, order[i].id, order[i].id2, order[i].fork, order[i].offset);
            supervisorPauseTestReport(b, order[k].id, order[k].id2, order[k].fork, order[k].offset);
            if (pauseHasMore(a, b) != (i < k)) fail_msg("%d and %d", i, k);
        }
    }
}

/* ---- In whole failovers ---- */

static bool supervisorPauseTestUntilAgreed(struct sentinelSim *sim, int64_t at_most_ms) {
    for (int64_t ms = 0; ms < at_most_ms && !sentinelSimAgrees(sim); ms += 100) sentinelSimRun(sim, 100);
    return sentinelSimAgrees(sim);
}

/* Returns the Sentinel that has sent the event; -1: none has within that time. */
static int supervisorPauseTestSender(struct sentinelSim *sim, const char *event, int64_t at_most_ms) {
    for (int64_t ms = 0; ms <= at_most_ms; ms += 10) {
        for (int i = 0; i < sentinelSimServer(sim, 0); i++)
            if (sentinelSimCountEvents(sim, i, event, NULL)) return i;
        sentinelSimRun(sim, 10);
    }
    return -1;
}

/* Returns a simulation in which the failover waits for the second replica, with the first one paused. */
static struct sentinelSim *supervisorPauseTestWaiting(int64_t failover_timeout_ms) {
    struct sentinelSimOptions o = {.sentinels = 3,
                                   .replicas = 2,
                                   .quorum = 2,
                                   .parallel_syncs = 1,
                                   .down_after_ms = 2000,
                                   .failover_timeout_ms = failover_timeout_ms,
                                   .latency_ms = 2,
                                   .sync_replicas = 1,
                                   .seed = 1};
    struct sentinelSim *sim = sentinelSimCreate(&o);
    assert_true(supervisorPauseTestUntilAgreed(sim, 20000));
    sentinelSimRun(sim, 3000); /* all have replied to INFO and sent hellos */
    sentinelSimForgetEvents(sim);
    sentinelSimHang(sim, sentinelSimServer(sim, 2), true);
    sentinelSimHang(sim, sentinelSimServer(sim, 0), true);
    assert_true(supervisorPauseTestSender(sim, "+failover-state-select-slave", 20000) >= 0);
    sentinelSimRun(sim, 3000);
    assert_true(sentinelSimIsPaused(sim, sentinelSimServer(sim, 1)));
    assert_int_equal(supervisorPauseTestSender(sim, "+selected-slave", 0), -1);
    return sim;
}

/* Other Sentinels see that it was forgotten, some time after the primary is back. */
static void thePauseOfADeadLeaderIsEnded(void **state) {
    (void)state;
    struct sentinelSim *sim = supervisorPauseTestWaiting(60000);
    int paused = sentinelSimServer(sim, 1),
        leader = supervisorPauseTestSender(sim, "+failover-state-select-slave", 0);
    sentinelSimKill(sim, leader);
    sentinelSimHang(sim, sentinelSimServer(sim, 0), false);
    sentinelSimHang(sim, sentinelSimServer(sim, 2), false);
    sentinelSimRun(sim, 8000);
    assert_true(sentinelSimIsPaused(sim, paused));
    sentinelSimRun(sim, 40000);
    assert_false(sentinelSimIsPaused(sim, paused));
    sentinelSimRestart(sim, leader);
    assert_true(supervisorPauseTestUntilAgreed(sim, 60000));
    assert_true(sentinelSimIsPrimary(sim, sentinelSimServer(sim, 0)));
    sentinelSimDestroy(sim);
}

static void withoutSentinelsAPauseEndsAfterTenMinutes(void **state) {
    (void)state;
    struct sentinelSim *sim = supervisorPauseTestWaiting(60000);
    for (int i = 0; i < 3; i++) sentinelSimKill(sim, i);
    sentinelSimHang(sim, sentinelSimServer(sim, 0), false);
    sentinelSimHang(sim, sentinelSimServer(sim, 2), false);
    sentinelSimRun(sim, SIM_ACK_PAUSE_MS - 1500); /* it was renewed at most a second ago */
    assert_true(sentinelSimIsPaused(sim, sentinelSimServer(sim, 1)));
    sentinelSimRun(sim, 2000);
    assert_false(sentinelSimIsPaused(sim, sentinelSimServer(sim, 1)));
    sentinelSimDestroy(sim);
}

static void aPauseIsRenewedWhileTheFailoverWaits(void **state) {
    (void)state;
    struct sentinelSim *sim = supervisorPauseTestWaiting(3 * SIM_ACK_PAUSE_MS);
    sentinelSimRun(sim, 2 * SIM_ACK_PAUSE_MS);
    assert_true(sentinelSimIsPaused(sim, sentinelSimServer(sim, 1)));
    assert_int_equal(supervisorPauseTestSender(sim, "+selected-slave", 0), -1);
    sentinelSimHang(sim, sentinelSimServer(sim, 2), false);
    assert_true(supervisorPauseTestSender(sim, "+promoted-slave", 20000) >= 0);
    sentinelSimHang(sim, sentinelSimServer(sim, 0), false);
    assert_true(supervisorPauseTestUntilAgreed(sim, 60000));
    assert_int_equal(sentinelSimCountLost(sim, sentinelSimPrimaryOf(sim, 0)), 0);
    sentinelSimDestroy(sim);
}

int main(void) {
#define TEST(f) cmocka_unit_test_setup_teardown(f, supervisorPauseTestSetup, recorderTeardown)
    const struct CMUnitTest tests[] = {
        TEST(anInfoIsRequestedAfterThePause),
        TEST(pausesAreRenewedEachSecond),
        TEST(aNewConnectionNeedsANewPause),
        TEST(errorsOfServersThatDoNotKnowTheOrder),
        TEST(answersOfAnEarlierFailoverCountNothing),
        TEST(theFewestReplicasCountIfThePrimaryIsUnknown),
        TEST(nobodyIsPausedWhereNothingIsPromised),
        TEST(oneIsEnoughIfAllHaveEverything),
        TEST(usersMayGoOnWithout),
        TEST(afterThePromotionTheOthersStayPaused),
        TEST(aFailoverThatIsGivenUpEndsItsPauses),
        TEST(moreIsNotOnlyAGreaterOffset),
        cmocka_unit_test(thePauseOfADeadLeaderIsEnded),
        cmocka_unit_test(withoutSentinelsAPauseEndsAfterTenMinutes),
        cmocka_unit_test(aPauseIsRenewedWhileTheFailoverWaits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
