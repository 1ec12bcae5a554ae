/* SPDX-License-Identifier: BSD-3-Clause */
/* simulation_test.c - clusters in virtual time: they form, notice failures, elect, heal, in fixed scenarios
 * and in random schedules of deaths, power failures, partitions, hangs, losses, failovers and clocks that
 * jump.
 *
 * SIM_SCHEDULES=10000 runs so many schedules (default 100), from the seed SIM_FIRST (1) on, so that a run can
 * be divided. SIM_SEED=n runs the one with that seed, and prints the nodes' logs. SIM_TABLE=6,100,500 runs no
 * test: it prints figures of clusters of these sizes, half of them primaries (500 nodes: minutes, 2 GB). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <cmocka.h>

#include "tests/sim/cluster_simulation.h"

#define TIMEOUT_MS 2000

static const struct clusterSimOptions usual = {
    .primaries = 3, .replicas = 1, .node_timeout_ms = TIMEOUT_MS, .latency_ms = 5, .sync_ms = 200, .seed = 1};

/* Returns the time until all agree; -1: not within that time. */
static int64_t simTestUntilAgreed(struct clusterSim *s, int64_t at_most_ms) {
    int64_t begin = clusterSimNow(s);
    while (!clusterSimAgrees(s)) {
        if (clusterSimNow(s) - begin > at_most_ms) return -1;
        clusterSimRun(s, 100);
    }
    return clusterSimNow(s) - begin;
}

static struct clusterSim *simTestAgreed(const struct clusterSimOptions *o) {
    struct clusterSim *s = clusterSimCreate(o);
    assert_true(simTestUntilAgreed(s, 60000) >= 0);
    return s;
}

/* Returns the time until slot 0 has another owner than `was`. */
static int64_t simTestUntilReplaced(struct clusterSim *s, int was, int64_t at_most_ms) {
    int64_t begin = clusterSimNow(s);
    for (;;) {
        int now = clusterSimPrimaryOf(s, 0);
        if (now >= 0 && now != was) return clusterSimNow(s) - begin;
        if (clusterSimNow(s) - begin > at_most_ms) return -1;
        clusterSimRun(s, 10);
    }
}

static void nodesMeetByOneAndAgree(void **state) {
    (void)state;
    struct clusterSimOptions o = usual;
    o.meet_one = true;
    struct clusterSim *s = simTestAgreed(&o);
    for (int i = 0; i < clusterSimCount(s); i++) assert_int_equal(clusterSimEngine(s, i)->t.count, 6);
    clusterSimDestroy(s);
}

/* Some of many pairs receive the newer message first, and then the older one. */
static void rolesAreKnownSoonInABigCluster(void **state) {
    (void)state;
    struct clusterSimOptions o = {
        .primaries = 40, .replicas = 1, .node_timeout_ms = 60000, .latency_ms = 5, .meet_one = true};
    for (o.seed = 1; o.seed <= 3; o.seed++) {
        struct clusterSim *s = clusterSimCreate(&o);
        int64_t took = simTestUntilAgreed(s, 60000);
        assert_in_range(took, 0, 5000);
        clusterSimDestroy(s);
    }
}

static void aReplicaTakesOverFromADeadPrimary(void **state) {
    (void)state;
    struct clusterSim *s = simTestAgreed(&usual);
    clusterSimKill(s, 0);
    int64_t took = simTestUntilReplaced(s, 0, 60000);
    assert_in_range(took, TIMEOUT_MS, 3 * TIMEOUT_MS);
    assert_int_equal(clusterSimPrimaryOf(s, 0), 3);
    clusterSimRestart(s, 0);
    assert_true(simTestUntilAgreed(s, 60000) >= 0);
    assert_true(nodeIsReplica(clusterSimEngine(s, 0)->t.myself));
    assert_string_equal(clusterSimEngine(s, 0)->t.myself->primary->id, clusterSimEngine(s, 3)->t.myself->id);
    clusterSimDestroy(s);
}

static void theOneWithMostDataIsElected(void **state) {
    (void)state;
    struct clusterSimOptions o = usual;
    o.replicas = 3;
    for (uint64_t seed = 1; seed <= 5; seed++) {
        o.seed = seed;
        struct clusterSim *s = simTestAgreed(&o);
        clusterSimRun(s, 5000);
        clusterSimHang(s, 3, true); /* two of the three stay behind, for less than makes them fail */
        clusterSimHang(s, 6, true);
        clusterSimRun(s, TIMEOUT_MS / 2);
        clusterSimKill(s, 0);
        clusterSimHang(s, 3, false);
        clusterSimHang(s, 6, false);
        assert_true(simTestUntilReplaced(s, 0, 60000) >= 0);
        assert_int_equal(clusterSimPrimaryOf(s, 0), 9);
        clusterSimDestroy(s);
    }
}

static bool simTestHaveEqualOffsets(struct clusterSim *s, int a, int b, int c) {
    uint64_t offset = engineAnnouncedOffset(clusterSimEngine(s, a));
    return offset && offset == engineAnnouncedOffset(clusterSimEngine(s, b)) &&
           offset == engineAnnouncedOffset(clusterSimEngine(s, c));
}

/* Three replicas with equal data: the one with the lowest number is elected, and no other. With priorities
 * that are equal the id decides. */
static void thePreferredOfEqualReplicasIsElected(void **state) {
    (void)state;
    struct clusterSimOptions o = usual;
    o.replicas = 3;
    for (uint64_t seed = 1; seed <= 12; seed++) {
        o.seed = seed;
        struct clusterSim *s = simTestAgreed(&o);
        int preferred = 3 + 3 * (int)(seed % 3);
        for (int i = 3; i <= 9; i += 3)
            clusterSimEngine(s, i)->t.myself->replica_priority = i == preferred ? 1 : 50;
        clusterSimRun(s, 5000);
        while (!simTestHaveEqualOffsets(s, 3, 6, 9)) clusterSimRun(s, 1);
        clusterSimKill(s, 0);
        assert_in_range(simTestUntilReplaced(s, 0, 60000), TIMEOUT_MS, 3 * TIMEOUT_MS);
        assert_int_equal(clusterSimPrimaryOf(s, 0), preferred);
        clusterSimRestart(s, 0);
        assert_true(simTestUntilAgreed(s, 60000) >= 0);
        assert_int_equal(clusterSimPrimaryOf(s, 0), preferred);
        clusterSimDestroy(s);
    }
}

/* A replica with less data, or with incomplete data, gains nothing by its priority. */
static void aPriorityReplacesNoData(void **state) {
    (void)state;
    struct clusterSimOptions o = usual;
    o.replicas = 2;
    for (uint64_t seed = 1; seed <= 5; seed++) {
        for (int incomplete = 0; incomplete < 2; incomplete++) {
            o.seed = seed;
            o.sync_ms = incomplete ? 3000 : 200;
            struct clusterSim *s = simTestAgreed(&o);
            clusterSimEngine(s, 6)->t.myself->replica_priority = 9;
            clusterSimRun(s, 5000);
            if (incomplete) {
                clusterSimReplicate(s, 3, 1); /* the data of another shard replace its own */
                clusterSimRun(s, 100);
                clusterSimReplicate(s, 3, 0);
            } else {
                clusterSimHang(s, 3, true);
                clusterSimRun(s, TIMEOUT_MS / 2);
            }
            clusterSimKill(s, 0);
            clusterSimHang(s, 3, false);
            assert_true(simTestUntilReplaced(s, 0, 60000) >= 0);
            assert_int_equal(clusterSimPrimaryOf(s, 0), 6);
            clusterSimDestroy(s);
        }
    }
}

/* The first synchronization of the replica is running, in its first or second half, when the primary dies. */
static void aReplicaWithIncompleteDataIsNotElected(void **state) {
    (void)state;
    for (int64_t ran_ms = 500; ran_ms < 3000; ran_ms += 500) {
        struct clusterSimOptions o = usual;
        o.sync_ms = 3000;
        struct clusterSim *s = clusterSimCreate(&o);
        clusterSimRun(s, ran_ms);
        clusterSimKill(s, 0);
        assert_int_equal(simTestUntilReplaced(s, 0, 60000), -1);
        clusterSimRestart(s, 0);
        assert_true(simTestUntilAgreed(s, 60000) >= 0);
        assert_int_equal(clusterSimPrimaryOf(s, 0), 0);
        clusterSimDestroy(s);
    }
}

/* A replica with another shard's data, whose offset is greater, delays no other replica,
 * and does not win itself. */
static void aReplicaFromAnotherShardIsNotElectedBeforeItIsSynchronized(void **state) {
    (void)state;
    for (int alone = 0; alone < 2; alone++) {
        struct clusterSimOptions o = usual;
        o.sync_ms = 3000;
        struct clusterSim *s = simTestAgreed(&o);
        clusterSimSide(s, 0, 1); /* its shard's offset is behind the others */
        clusterSimRun(s, 1500);
        clusterSimSide(s, 0, 0);
        assert_true(simTestUntilAgreed(s, 60000) >= 0);
        if (alone) clusterSimKill(s, 3);
        clusterSimReplicate(s, 4, 0); /* it was a replica of node 1 */
        clusterSimRun(s, 500);
        clusterSimKill(s, 0);
        int64_t took_ms = simTestUntilReplaced(s, 0, 30000);
        if (alone) {
            assert_int_equal(took_ms, -1);
        } else {
            assert_in_range(took_ms, TIMEOUT_MS, 3 * TIMEOUT_MS);
            assert_int_equal(clusterSimPrimaryOf(s, 0), 3);
        }
        clusterSimRestart(s, 0);
        clusterSimRestart(s, 3);
        assert_true(simTestUntilAgreed(s, 60000) >= 0);
        clusterSimDestroy(s);
    }
}

/* The data of the replica is too old, even if the primary lets it begin to synchronize again and again. */
static void aReplicaWhoseDataAreOldIsNotElected(void **state) {
    (void)state;
    const int64_t limit_ms = 10000 + 11 * TIMEOUT_MS; /* repl_ping_period_s, factor 10 */
    for (int old = 0; old < 2; old++) {
        struct clusterSim *s = simTestAgreed(&usual);
        clusterSimCutReplication(s, 3, true);
        clusterSimRun(s, old ? limit_ms : limit_ms / 2);
        clusterSimKill(s, 0);
        assert_int_equal(simTestUntilReplaced(s, 0, 30000) >= 0, !old);
        clusterSimCutReplication(s, 3, false);
        clusterSimRestart(s, 0);
        assert_true(simTestUntilAgreed(s, 60000) >= 0);
        clusterSimDestroy(s);
    }
}

/* A restarted replica has files of unknown age: it waits for its primary. */
static void aReplicaThatHasJustStartedIsNotElected(void **state) {
    (void)state;
    struct clusterSim *s = simTestAgreed(&usual);
    clusterSimKill(s, 0);
    clusterSimKill(s, 3);
    clusterSimRestart(s, 3);
    assert_int_equal(simTestUntilReplaced(s, 0, 60000), -1);
    clusterSimRestart(s, 0);
    assert_true(simTestUntilAgreed(s, 60000) >= 0);
    clusterSimKill(s, 0);
    assert_true(simTestUntilReplaced(s, 0, 60000) >= 0);
    clusterSimDestroy(s);
}

static void aMinorityStopsServing(void **state) {
    (void)state;
    struct clusterSim *s = simTestAgreed(&usual);
    clusterSimSide(s, 0, 1);
    clusterSimRun(s, 4 * TIMEOUT_MS);
    assert_false(engineIsClusterOk(clusterSimEngine(s, 0)));
    assert_int_equal(clusterSimEngine(s, 0)->down, DOWN_MINORITY);
    assert_true(engineIsClusterOk(clusterSimEngine(s, 1)));
    clusterSimSide(s, 0, 0);
    assert_true(simTestUntilAgreed(s, 60000) >= 0);
    assert_true(nodeIsReplica(clusterSimEngine(s, 0)->t.myself));
    clusterSimDestroy(s);
}

static void simTestWithoutAMajorityNobodyIsElected(void **state) {
    (void)state;
    struct clusterSim *s = simTestAgreed(&usual);
    clusterSimKill(s, 0);
    clusterSimKill(s, 1);
    clusterSimRun(s, 6 * TIMEOUT_MS);
    assert_int_equal(clusterSimPrimaryOf(s, 0), -1);
    assert_false(engineIsClusterOk(clusterSimEngine(s, 2)));
    clusterSimRestart(s, 1);
    assert_true(simTestUntilReplaced(s, 0, 60000) >= 0);
    clusterSimDestroy(s);
}

static void aSimulatedManualFailoverLosesNothing(void **state) {
    (void)state;
    struct clusterSim *s = simTestAgreed(&usual);
    clusterSimRun(s, 3000);
    clusterSimFailover(s, 3, FAILOVER_ASK);
    assert_in_range(simTestUntilReplaced(s, 0, 20000), 1, 1500);
    assert_int_equal(clusterSimPrimaryOf(s, 0), 3);
    assert_true(simTestUntilAgreed(s, 20000) >= 0);
    assert_true(nodeIsReplica(clusterSimEngine(s, 0)->t.myself));
    assert_false(clusterSimPaused(s, 0)); /* its clients are redirected at once */
    clusterSimDestroy(s);
}

/* A replica that is cut off together with its primary, before it has received the others' slots, cannot
 * distinguish a majority from this one vote. */
static void aReplicaThatDoesNotKnowTheOthersIsNotElected(void **state) {
    (void)state;
    struct clusterSimOptions o = usual;
    o.replicas = 2;
    for (int64_t cut_ms = 0; cut_ms < 40; cut_ms += 4) {
        struct clusterSim *s = clusterSimCreate(&o);
        clusterSimRun(s, cut_ms);
        clusterSimSide(s, 3, 1);
        clusterSimRun(s, 3 * TIMEOUT_MS); /* its primary has received them, and may vote */
        clusterSimSide(s, 0, 1);
        assert_true(simTestUntilReplaced(s, 0, 60000) >= 0);
        for (int tries = 0; tries < 10; tries++) {
            clusterSimFailover(s, 3, FAILOVER_ASK);
            clusterSimRun(s, TIMEOUT_MS);
        }
        assert_true(nodeIsReplica(clusterSimEngine(s, 3)->t.myself));
        clusterSimSide(s, 0, 0);
        clusterSimSide(s, 3, 0);
        assert_true(simTestUntilAgreed(s, 60000) >= 0);
        clusterSimDestroy(s);
    }
}

/* A clock that is set back for an hour prevents neither noticing a death nor voting. */
static void clocksThatGoBackStopNothing(void **state) {
    (void)state;
    struct clusterSim *s = simTestAgreed(&usual);
    clusterSimRun(s, 5000);
    clusterSimSetClocks(s, -3600 * 1000);
    clusterSimRun(s, 5000);
    clusterSimKill(s, 0);
    assert_in_range(simTestUntilReplaced(s, 0, 60000), TIMEOUT_MS / 2, 3 * TIMEOUT_MS);
    clusterSimRestart(s, 0);
    clusterSimSetClocks(s, 1800 * 1000);
    assert_true(simTestUntilAgreed(s, 60000) >= 0);
    clusterSimDestroy(s);
}

static void forceAndTakeoverWorkWithoutThePrimary(void **state) {
    (void)state;
    for (int kind = FAILOVER_FORCE; kind <= FAILOVER_TAKEOVER; kind++) {
        struct clusterSim *s = simTestAgreed(&usual);
        clusterSimKill(s, 0);
        clusterSimFailover(s, 3, (enum failoverKind)kind);
        assert_in_range(simTestUntilReplaced(s, 0, 20000), 0, TIMEOUT_MS / 2);
        clusterSimRestart(s, 0);
        assert_true(simTestUntilAgreed(s, 60000) >= 0);
        clusterSimDestroy(s);
    }
}

static void aReplicaGoesToAnOrphan(void **state) {
    (void)state;
    struct clusterSimOptions o = usual;
    o.replicas = 2;
    struct clusterSim *s = simTestAgreed(&o);
    for (int i = 1; i < clusterSimCount(s); i++) { /* they know of it only what they have loaded */
        clusterSimKill(s, i);
        clusterSimRestart(s, i);
    }
    assert_true(simTestUntilAgreed(s, 60000) >= 0);
    clusterSimKill(s, 3);
    clusterSimKill(s, 6); /* the replicas of node 0 */
    clusterSimRun(s, 12 * TIMEOUT_MS);
    assert_int_equal(clusterSimHealthyReplicasOf(s, 0), 1);
    clusterSimRestart(s, 3);
    clusterSimRestart(s, 6);
    assert_true(simTestUntilAgreed(s, 60000) >= 0);
    clusterSimDestroy(s);
}

static void lossAndLatencyMakeNobodyFail(void **state) {
    (void)state;
    struct clusterSimOptions o = usual;
    o.loss = 0.02;
    o.latency_ms = 40;
    struct clusterSim *s = simTestAgreed(&o);
    clusterSimRun(s, 60 * TIMEOUT_MS);
    for (int i = 0; i < clusterSimCount(s); i++) {
        for (int k = 0; k < clusterSimCount(s); k++)
            assert_false(nodeHasFailed(clusterSimEngine(s, i)->t.nodes[k]));
    }
    assert_int_equal(clusterSimPrimaryOf(s, 0), 0);
    clusterSimDestroy(s);
}

/* ---- Claimed slots ---- */

static void slotsGoToTheirClaimer(void **state) {
    (void)state;
    struct clusterSim *s = simTestAgreed(&usual);
    uint64_t epoch = clusterSimEngine(s, 1)->t.current_epoch;
    clusterSimMigrate(s, 0, 1);
    clusterSimRun(s, 300);
    assert_int_equal(clusterSimPrimaryOf(s, 0), 1);
    assert_int_equal(clusterSimPrimaryOf(s, CLUSTER_SIM_MIGRATION_SLOTS), 0);
    assert_int_equal(clusterSimEngine(s, 1)->t.myself->config_epoch, epoch + 1);
    assert_true(simTestUntilAgreed(s, 20000) >= 0);
    clusterSimMigrate(s, 0, 2); /* claimed by another node */
    clusterSimRun(s, 300);
    assert_int_equal(clusterSimPrimaryOf(s, CLUSTER_SIM_MIGRATION_SLOTS), 2);
    assert_true(simTestUntilAgreed(s, 20000) >= 0);
    clusterSimDestroy(s);
}

/* A node that is cut off at the moment of its claim, which no other node has received, is replaced, but not
 * in the epoch that it has taken. */
static void noReplicaIsElectedInAnEpochThatWasClaimed(void **state) {
    (void)state;
    for (uint64_t seed = 1; seed <= 10; seed++) {
        struct clusterSimOptions o = usual;
        o.seed = seed;
        for (int64_t cut_ms = 0; cut_ms <= 2 * ENGINE_TICK_MS; cut_ms += 10) {
            struct clusterSim *s = simTestAgreed(&o);
            clusterSimMigrate(s, 0, 1);
            clusterSimRun(s, cut_ms);
            clusterSimSide(s, 1, 1);
            clusterSimRun(s, 6 * TIMEOUT_MS); /* the simulation checks for two owners */
            assert_int_equal(clusterSimPrimaryOf(s, KEY_SLOTS / 2), 4);
            clusterSimSide(s, 1, 0);
            assert_true(simTestUntilAgreed(s, 60000) >= 0);
            assert_int_equal(clusterSimPrimaryOf(s, KEY_SLOTS / 2), 4);
            clusterSimDestroy(s);
        }
    }
}

/* The power of all others fails a moment later, and the replica has received nothing. */
static void noReplicaIsElectedInAClaimedEpochAfterPowerFailures(void **state) {
    (void)state;
    for (uint64_t seed = 1; seed <= 5; seed++) {
        struct clusterSimOptions o = usual;
        o.seed = seed;
        for (int64_t cut_ms = 0; cut_ms <= 2 * ENGINE_TICK_MS; cut_ms += 10) {
            struct clusterSim *s = simTestAgreed(&o);
            clusterSimSide(s, 4, 2);
            clusterSimMigrate(s, 0, 1);
            clusterSimRun(s, cut_ms);
            clusterSimSide(s, 1, 1);
            for (int i = 0; i < clusterSimCount(s); i++) {
                if (i == 1 || i == 4) continue;
                clusterSimPowerOff(s, i);
                clusterSimRestart(s, i);
            }
            clusterSimRun(s, 2000); /* they may vote */
            clusterSimSide(s, 4, 0);
            clusterSimRun(s, 6 * TIMEOUT_MS); /* the simulation checks for two owners */
            clusterSimSide(s, 1, 0);
            assert_true(simTestUntilAgreed(s, 60000) >= 0);
            clusterSimDestroy(s);
        }
    }
}

/* A node dies with its claim, which no other node has received: its source continues to serve, and what it
 * writes then is not lost when the other node comes back. */
static void aClaimThatNoNodeReceivedIsReclaimed(void **state) {
    (void)state;
    int unheard = 0;
    for (uint64_t seed = 1; seed <= 10; seed++) {
        struct clusterSimOptions o = usual;
        o.seed = seed;
        struct clusterSim *s = simTestAgreed(&o);
        clusterSimMigrate(s, 0, 1);
        clusterSimRun(s, 30); /* voters have answered */
        if (clusterSimMigrates(s, 1)) {
            clusterSimSide(s, 1, 1);
            clusterSimRun(s, ENGINE_TICK_MS);
            assert_false(clusterSimMigrates(s, 1));
            assert_int_equal(clusterSimPrimaryOf(s, 0), 1);
            clusterSimKill(s, 1);
            clusterSimRun(s, (int64_t)(seed % 3) * 4 * TIMEOUT_MS + CLUSTER_SIM_GRANTED_MS +
                                 ENGINE_TICK_MS); /* it may be replaced */
            assert_int_equal(clusterSimPrimaryOf(s, 0), 0);
            clusterSimSide(s, 1, 0);
            clusterSimRestart(s, 1);
            assert_true(simTestUntilAgreed(s, 60000) >= 0);
            assert_int_equal(clusterSimPrimaryOf(s, 0), 0);
            unheard++;
        }
        clusterSimDestroy(s);
    }
    assert_true(unheard > 3);
}

/* A node that reaches its source, but no majority, claims nothing. */
static void aNodeThatIsCutOffClaimsNothing(void **state) {
    (void)state;
    struct clusterSim *s = simTestAgreed(&usual);
    clusterSimSide(s, 1, 1);
    clusterSimMigrate(s, 0, 1);
    clusterSimRun(s, CLUSTER_SIM_MIGRATION_MS + ENGINE_TICK_MS);
    assert_false(clusterSimMigrates(s, 1));
    assert_int_equal(clusterSimPrimaryOf(s, 0), 0);
    clusterSimSide(s, 1, 0);
    assert_true(simTestUntilAgreed(s, 60000) >= 0);
    assert_int_equal(clusterSimPrimaryOf(s, 0), 0);
    clusterSimDestroy(s);
}

/* ---- Random schedules ---- */

static uint64_t simTestDraw(uint64_t *random) {
    *random = *random * 6364136223846793005ULL + 1442695040888963407ULL;
    return *random >> 33;
}

static void simTestAct(struct clusterSim *s, uint64_t *random) {
    int i = (int)(simTestDraw(random) % (uint64_t)clusterSimCount(s));
    switch (simTestDraw(random) % 13) {
    case 0: clusterSimKill(s, i); break;
    case 1: clusterSimPowerOff(s, i); break;
    case 2:
    case 3:
    case 4: clusterSimRestart(s, i); break;
    case 5: clusterSimSide(s, i, (int)(simTestDraw(random) % 2)); break;
    case 6: clusterSimSide(s, i, 0); break;
    case 7: clusterSimHang(s, i, simTestDraw(random) % 2); break;
    case 8: clusterSimFailover(s, i, simTestDraw(random) % 4 ? FAILOVER_ASK : FAILOVER_FORCE); break;
    case 9:
    case 10: clusterSimMigrate(s, (int)(simTestDraw(random) % (uint64_t)clusterSimCount(s)), i); break;
    case 11: clusterSimReplicate(s, i, (int)(simTestDraw(random) % (uint64_t)clusterSimCount(s))); break;
    default:
        if (simTestDraw(random) % 4 == 0)
            clusterSimSetClocks(s, ((int64_t)(simTestDraw(random) % 3) - 1) * 3600 * 1000);
        break;
    }
}

static void simTestSchedule(uint64_t seed, bool verbose) {
    uint64_t random = seed * 2654435761u + 1;
    struct clusterSimOptions o = {.primaries = 3 + (int)(simTestDraw(&random) % 3),
                                  .replicas = (int)(simTestDraw(&random) % 3),
                                  .node_timeout_ms = TIMEOUT_MS,
                                  .latency_ms = 1 + (int64_t)(simTestDraw(&random) % 50),
                                  .sync_ms = 200 << simTestDraw(&random) % 6,
                                  .loss = (double)(simTestDraw(&random) % 3) / 100,
                                  .meet_one = simTestDraw(&random) % 2,
                                  .seed = seed,
                                  .verbose = verbose};
    struct clusterSim *s = clusterSimCreate(&o);
    for (int i = 0; i < clusterSimCount(s); i++)
        clusterSimEngine(s, i)->t.myself->replica_priority = (uint32_t)(simTestDraw(&random) % 3);
    for (int step = 0; step < 30; step++) {
        simTestAct(s, &random);
        clusterSimRun(s, (int64_t)(simTestDraw(&random) % 3000));
    }
    for (int i = 0; i < clusterSimCount(s); i++) {
        clusterSimSide(s, i, 0);
        clusterSimHang(s, i, false);
        clusterSimRestart(s, i);
    }
    clusterSimSetLoss(s, 0);
    bool agreed = simTestUntilAgreed(s, 120000) >= 0;
    if (!agreed && verbose) clusterSimPrint(s);
    if (!agreed) fail_msg("no agreement: SIM_SEED=%llu", (unsigned long long)seed);
    clusterSimDestroy(s);
}

static void simTestWhateverHappensTheyAgreeInTheEnd(void **state) {
    (void)state;
    const char *seed = getenv("SIM_SEED"), *count = getenv("SIM_SCHEDULES"), *first = getenv("SIM_FIRST");
    if (seed) {
        simTestSchedule(strtoull(seed, NULL, 10), true);
        return;
    }
    uint64_t schedules = count ? strtoull(count, NULL, 10) : 100,
             from = first ? strtoull(first, NULL, 10) : 1;
    for (uint64_t i = 0; i < schedules; i++) simTestSchedule(from + i, false);
}

/* ---- min-replicas-sync: primaries that hang, and go on in the middle of a failover ---- */

enum { FAULT_HANGS = 1, FAULT_PARTITIONS = 2, FAULT_DEATHS = 4 };

static void simTestHealCluster(struct clusterSim *s) {
    for (int i = 0; i < clusterSimCount(s); i++) {
        clusterSimSide(s, i, 0);
        clusterSimHang(s, i, false);
        clusterSimRestart(s, i);
    }
}

/* Returns a random node of the shard of slot 0. */
static int simTestDrawMember(struct clusterSim *s, uint64_t *random) {
    int primaries = 3; /* as simTestSynced has it */
    return (int)(simTestDraw(random) % (uint64_t)(clusterSimCount(s) / primaries)) * primaries;
}

static void simTestDisturb(struct clusterSim *s, uint64_t *random, unsigned faults) {
    int i = simTestDrawMember(s, random);
    switch (simTestDraw(random) % 3) {
    case 0:
        if (faults & FAULT_PARTITIONS) clusterSimSide(s, i, 1 + (int)(simTestDraw(random) % 2));
        break;
    case 1:
        if (!(faults & FAULT_DEATHS) || i == clusterSimPrimaryOf(s, 0)) break;
        clusterSimKill(s, i);
        if (simTestDraw(random) % 2) clusterSimRestart(s, i);
        break;
    default: clusterSimHang(s, i, true); break;
    }
}

/* Returns whether the failover has come to that place: an election has begun, is won, or others follow. */
static bool simTestFailoverIsAt(struct clusterSim *s, int primary, int place) {
    int now = clusterSimPrimaryOf(s, 0);
    if (place > 0) return now >= 0 && now != primary;
    for (int i = 0; i < clusterSimCount(s); i++) {
        const struct engine *e = clusterSimEngine(s, i);
        if (e && e->election.sent) return true;
    }
    return false;
}

/* Lets the primary hang until the failover has come to a random place, and for a while at most. */
static void simTestHangOnce(struct clusterSim *s, uint64_t *random, unsigned faults) {
    int primary = clusterSimPrimaryOf(s, 0), place = (int)(simTestDraw(random) % 2);
    if (simTestDraw(random) % 3 == 0) {
        simTestDisturb(s, random, faults);
        clusterSimRun(s, (int64_t)(simTestDraw(random) % 1500));
    }
    if (primary < 0) return;
    clusterSimHang(s, primary, true);
    for (int ms = 0; ms < 5 * TIMEOUT_MS && !simTestFailoverIsAt(s, primary, place); ms++)
        clusterSimRun(s, 1);
    clusterSimRun(s, (int64_t)(simTestDraw(random) % (simTestDraw(random) % 4 ? 40 : 400)));
    if (simTestDraw(random) % 3 == 0) simTestDisturb(s, random, faults);
    clusterSimHang(s, primary, false);
    clusterSimRun(s, (int64_t)(simTestDraw(random) % (2 * TIMEOUT_MS)));
    if (simTestDraw(random) % 3 == 0) simTestDisturb(s, random, faults);
    clusterSimRun(s, (int64_t)(simTestDraw(random) % (2 * TIMEOUT_MS)));
    simTestHealCluster(s);
    clusterSimRun(s, (int64_t)(simTestDraw(random) % (4 * TIMEOUT_MS)));
}

static const struct clusterSimOptions synced = {.primaries = 3,
                                                .replicas = 2,
                                                .node_timeout_ms = TIMEOUT_MS,
                                                .latency_ms = 5,
                                                .sync_ms = 200,
                                                .sync_replicas = 1,
                                                .seed = 1};

static bool simTestHoldsAcks(struct clusterSim *s, int i) {
    const struct engine *e = clusterSimEngine(s, i);
    return e && e->fence.held;
}

/* Returns after how many ms nothing is held any more. */
static int64_t simTestUntilAcknowledged(struct clusterSim *s, int64_t at_most_ms) {
    int64_t begin = clusterSimNow(s);
    while (simTestHoldsAcks(s, 3) || simTestHoldsAcks(s, 6)) {
        if (clusterSimNow(s) - begin > at_most_ms) return -1;
        clusterSimRun(s, 10);
    }
    return clusterSimNow(s) - begin;
}

static void aFailoverThatIsAnsweredTakesNoLonger(void **state) {
    (void)state;
    int64_t total_ms[2] = {0};
    for (int needs_answers = 0; needs_answers < 2; needs_answers++) {
        struct clusterSimOptions o = synced;
        if (!needs_answers) o.without_fence = true;
        for (o.seed = 1; o.seed <= 10; o.seed++) {
            struct clusterSim *s = simTestAgreed(&o);
            clusterSimRun(s, 5000);
            clusterSimKill(s, 0);
            int64_t took_ms = simTestUntilReplaced(s, 0, 60000);
            assert_in_range(took_ms, TIMEOUT_MS, 3 * TIMEOUT_MS);
            total_ms[needs_answers] += took_ms;
            assert_in_range(simTestUntilAcknowledged(s, 10000), 0, 100);
            assert_int_equal(clusterSimCountLost(s), 0);
            clusterSimDestroy(s);
        }
    }
    assert_in_range(total_ms[1], 1, total_ms[0] + 10 * 100);
}

/* One of two replicas hangs, and it is not known whether it alone has acknowledged something. */
static void aFailoverWaitsForTheOtherReplica(void **state) {
    (void)state;
    for (int way = 0; way < 5; way++) { /* it comes back; unclean; N is 2, so each has all; FORCE; TAKEOVER */
        struct clusterSimOptions o = synced;
        o.unclean = way == 1;
        o.sync_replicas = way == 2 ? 2 : 1;
        struct clusterSim *s = simTestAgreed(&o);
        clusterSimRun(s, 5000);
        clusterSimHang(s, 6, true);
        clusterSimKill(s, 0);
        int64_t took_ms = simTestUntilReplaced(s, 0, 30000);
        if (way == 1 || way == 2) {
            assert_in_range(took_ms, TIMEOUT_MS, (way == 1 ? 5 : 3) * TIMEOUT_MS);
        } else {
            assert_int_equal(took_ms, -1);
            if (way == 0)
                clusterSimHang(s, 6, false);
            else
                clusterSimFailover(s, 3, way == 3 ? FAILOVER_FORCE : FAILOVER_TAKEOVER);
            took_ms = simTestUntilReplaced(s, 0, 30000);
            assert_in_range(took_ms, 0, way == 0 ? 5 * TIMEOUT_MS : 500);
        }
        simTestHealCluster(s);
        assert_true(simTestUntilAgreed(s, 60000) >= 0);
        clusterSimDestroy(s);
    }
}

/* The primary is back before anybody is elected: it is acknowledged again. A candidate that has died is
 * waited for only so long. */
static void acknowledgementsGoOnWithoutAPromotion(void **state) {
    (void)state;
    for (int dies = 0; dies < 2; dies++) {
        struct clusterSimOptions o = synced;
        o.replicas = 3;
        struct clusterSim *s = simTestAgreed(&o);
        clusterSimRun(s, 5000);
        clusterSimHang(s, 9, true); /* two answers are too few */
        clusterSimHang(s, 0, true);
        for (int ms = 0; ms < 10 * TIMEOUT_MS && !(simTestHoldsAcks(s, 3) && simTestHoldsAcks(s, 6)); ms++)
            clusterSimRun(s, 1);
        assert_true(simTestHoldsAcks(s, 3) && simTestHoldsAcks(s, 6));
        int candidate = clusterSimEngine(s, 3)->election.sent ? 3 : 6;
        if (dies) clusterSimKill(s, candidate);
        clusterSimHang(s, 0, false);
        int64_t took_ms = simTestUntilAcknowledged(s, 12 * TIMEOUT_MS);
        if (dies)
            assert_in_range(took_ms, 9 * TIMEOUT_MS, 11 * TIMEOUT_MS);
        else
            assert_in_range(took_ms, 0, 2 * TIMEOUT_MS + 200);
        simTestHealCluster(s);
        assert_true(simTestUntilAgreed(s, 60000) >= 0);
        clusterSimDestroy(s);
    }
}

/* Returns how much of what clients knew to be kept is lost. */
static uint64_t simTestSynced(uint64_t seed, bool without_fence, bool verbose) {
    uint64_t random = seed * 2654435761u + 1;
    struct clusterSimOptions o = usual;
    o.replicas = 2 + (int)(simTestDraw(&random) % 3);
    o.sync_replicas = 1 + (int)(simTestDraw(&random) % (uint64_t)o.replicas);
    o.latency_ms = 1 + (int64_t)(simTestDraw(&random) % 40);
    o.loss = (double)(simTestDraw(&random) % 3) / 200;
    o.without_fence = without_fence;
    o.seed = seed;
    o.verbose = verbose;
    unsigned faults = (unsigned)(simTestDraw(&random) % 8);
    struct clusterSim *s = simTestAgreed(&o);
    for (int round = 0; round < 4; round++) simTestHangOnce(s, &random, faults);
    simTestHealCluster(s);
    clusterSimSetLoss(s, 0);
    if (simTestUntilAgreed(s, 120000) < 0) {
        if (verbose) clusterSimPrint(s);
        fail_msg("no agreement after hangs: SIM_SEED=%llu", (unsigned long long)seed);
    }
    uint64_t lost = clusterSimCountLost(s);
    clusterSimDestroy(s);
    return lost;
}

static void nothingAcknowledgedIsLostInAClusterByHangs(void **state) {
    (void)state;
    const char *seed = getenv("SIM_SEED"), *count = getenv("SIM_SCHEDULES"), *first = getenv("SIM_FIRST");
    if (seed) {
        assert_int_equal(simTestSynced(strtoull(seed, NULL, 10), false, true), 0);
        return;
    }
    uint64_t schedules = count ? strtoull(count, NULL, 10) : 100,
             from = first ? strtoull(first, NULL, 10) : 1, losing = 0, without = 0;
    for (uint64_t i = 0; i < schedules; i++) {
        uint64_t lost = simTestSynced(from + i, false, false);
        if (lost)
            fail_msg("%llu lost: SIM_SEED=%llu", (unsigned long long)lost, (unsigned long long)(from + i));
        if (i >= 100) continue;
        losing += simTestSynced(from + i, true, false) > 0;
        without++;
    }
    print_message("%llu of %llu schedules lose without answers, none of %llu with them\n",
                  (unsigned long long)losing, (unsigned long long)without, (unsigned long long)schedules);
    if (schedules >= 100) assert_true(losing > 0); /* the schedules are such that it matters */
}

/* ---- Figures ---- */

struct simulationFigures {
    int64_t met_ms, agreed_ms, failed_ms, elected_ms, all_know_ms;
    double messages, bytes; /* of one node in a second, without events */
};

/* Counts the living nodes that consider it failed. */
static int simTestCountSuspecting(struct clusterSim *s, const char *id) {
    int count = 0;
    for (int k = 0; k < clusterSimCount(s); k++) {
        const struct engine *e = clusterSimEngine(s, k);
        const struct clusterNode *n = e ? topologyFind(&e->t, id) : NULL;
        count += n && nodeHasFailed(n);
    }
    return count;
}

/* Returns whether all living nodes see slot 0 as its owner does. */
static bool simTestAllKnowTheOwner(struct clusterSim *s) {
    const char *owner = clusterSimEngine(s, clusterSimPrimaryOf(s, 0))->t.myself->id;
    for (int k = 0; k < clusterSimCount(s); k++) {
        const struct engine *e = clusterSimEngine(s, k);
        if (e && (!e->t.owner[0] || memcmp(e->t.owner[0]->id, owner, NODE_ID_LEN) != 0)) return false;
    }
    return true;
}

static void simTestTraffic(struct clusterSim *s, struct simulationFigures *f) {
    const int seconds = 20;
    uint64_t messages = clusterSimMessages(s), bytes = clusterSimBytes(s);
    clusterSimRun(s, seconds * 1000);
    f->messages = (double)(clusterSimMessages(s) - messages) / seconds / clusterSimCount(s);
    f->bytes = (double)(clusterSimBytes(s) - bytes) / seconds / clusterSimCount(s);
}

static void simTestFailover(struct clusterSim *s, struct simulationFigures *f) {
    char id[NODE_ID_LEN + 1];
    memcpy(id, clusterSimEngine(s, 0)->t.myself->id, sizeof id);
    clusterSimKill(s, 0);
    int64_t begin = clusterSimNow(s);
    while (!simTestCountSuspecting(s, id)) clusterSimRun(s, 10);
    f->failed_ms = clusterSimNow(s) - begin;
    while (clusterSimPrimaryOf(s, 0) <= 0) clusterSimRun(s, 10);
    f->elected_ms = clusterSimNow(s) - begin;
    while (!simTestAllKnowTheOwner(s)) clusterSimRun(s, 10);
    f->all_know_ms = clusterSimNow(s) - begin;
}

/* Prints a row of a Markdown table: figures of clusters of that size with the usual time-out. */
static void printFigures(int nodes) {
    struct clusterSimOptions o = {.primaries = nodes / 2,
                                  .replicas = 1,
                                  .node_timeout_ms = 15000,
                                  .latency_ms = 1,
                                  .meet_one = true,
                                  .no_disk = true,
                                  .seed = 1};
    struct clusterSim *s = clusterSimCreate(&o);
    struct simulationFigures f = {.met_ms = clusterSimMetMs(s), .agreed_ms = simTestUntilAgreed(s, 120000)};
    simTestTraffic(s, &f);
    simTestFailover(s, &f);
    printf("| %d | %.1f s | %.1f s | %.0f | %.1f | %.1f s | %.2f s | %.2f s |\n", nodes,
           (double)f.met_ms / 1000, (double)(f.met_ms + f.agreed_ms) / 1000, f.messages, f.bytes / 1024,
           (double)f.failed_ms / 1000, (double)(f.elected_ms - f.failed_ms) / 1000,
           (double)(f.all_know_ms - f.elected_ms) / 1000);
    fflush(stdout);
    clusterSimDestroy(s);
}

static int printTable(const char *sizes) {
    printf(
        "| nodes | all know all, after MEET | and agree on slots and roles | messages/s sent by a node | KiB/s sent by a node | primary dies: FAIL after | election | all know |\n"
        "|---:|---:|---:|---:|---:|---:|---:|---:|\n");
    for (char *end; *sizes; sizes = *end ? end + 1 : end) {
        int nodes = (int)strtol(sizes, &end, 10);
        if (nodes < 6 || nodes > CLUSTER_SIM_NODES_MAX || (*end && *end != ',')) return 1;
        printFigures(nodes);
    }
    return 0;
}

int main(void) {
    if (getenv("SIM_TABLE")) return printTable(getenv("SIM_TABLE"));
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nodesMeetByOneAndAgree),
        cmocka_unit_test(rolesAreKnownSoonInABigCluster),
        cmocka_unit_test(aReplicaTakesOverFromADeadPrimary),
        cmocka_unit_test(theOneWithMostDataIsElected),
        cmocka_unit_test(thePreferredOfEqualReplicasIsElected),
        cmocka_unit_test(aPriorityReplacesNoData),
        cmocka_unit_test(aReplicaWithIncompleteDataIsNotElected),
        cmocka_unit_test(aReplicaFromAnotherShardIsNotElectedBeforeItIsSynchronized),
        cmocka_unit_test(aReplicaWhoseDataAreOldIsNotElected),
        cmocka_unit_test(aReplicaThatHasJustStartedIsNotElected),
        cmocka_unit_test(aMinorityStopsServing),
        cmocka_unit_test(simTestWithoutAMajorityNobodyIsElected),
        cmocka_unit_test(aSimulatedManualFailoverLosesNothing),
        cmocka_unit_test(aReplicaThatDoesNotKnowTheOthersIsNotElected),
        cmocka_unit_test(clocksThatGoBackStopNothing),
        cmocka_unit_test(forceAndTakeoverWorkWithoutThePrimary),
        cmocka_unit_test(aReplicaGoesToAnOrphan),
        cmocka_unit_test(lossAndLatencyMakeNobodyFail),
        cmocka_unit_test(slotsGoToTheirClaimer),
        cmocka_unit_test(noReplicaIsElectedInAnEpochThatWasClaimed),
        cmocka_unit_test(noReplicaIsElectedInAClaimedEpochAfterPowerFailures),
        cmocka_unit_test(aClaimThatNoNodeReceivedIsReclaimed),
        cmocka_unit_test(aNodeThatIsCutOffClaimsNothing),
        cmocka_unit_test(aFailoverThatIsAnsweredTakesNoLonger),
        cmocka_unit_test(aFailoverWaitsForTheOtherReplica),
        cmocka_unit_test(acknowledgementsGoOnWithoutAPromotion),
        cmocka_unit_test(nothingAcknowledgedIsLostInAClusterByHangs),
        cmocka_unit_test(simTestWhateverHappensTheyAgreeInTheEnd),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
