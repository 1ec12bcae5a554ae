/* SPDX-License-Identifier: BSD-3-Clause */
/* simulation_test.c - clusters in virtual time: they form, notice failures, elect, heal; by fixed scenarios
 * and by random schedules of deaths, power failures, partitions, hangs, losses, failovers and clocks that
 * jump.
 *
 * SIM_SCHEDULES=10000 runs so many schedules (100), from the seed SIM_FIRST (1) on: shards of one run.
 * SIM_SEED=n runs the one of that seed, with the nodes' logs. SIM_TABLE=6,100,500 runs no test: it prints how
 * clusters of these sizes do, half of them primaries (500 nodes: minutes, 2 GB). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "cluster/simulation.h"

#define TIMEOUT_MS 2000

static const struct simOptions usual = {
    .primaries = 3, .replicas = 1, .node_timeout_ms = TIMEOUT_MS, .latency_ms = 5, .sync_ms = 200, .seed = 1};

/* How long until they agree; -1: not within that time. */
static int64_t untilAgreed(struct sim *s, int64_t at_most_ms) {
    int64_t begin = simNow(s);
    while (!simAgrees(s)) {
        if (simNow(s) - begin > at_most_ms) return -1;
        simRun(s, 100);
    }
    return simNow(s) - begin;
}

static struct sim *agreed(const struct simOptions *o) {
    struct sim *s = simCreate(o);
    assert_true(untilAgreed(s, 60000) >= 0);
    return s;
}

/* How long until slot 0 has another owner than `was`. */
static int64_t untilReplaced(struct sim *s, int was, int64_t at_most_ms) {
    int64_t begin = simNow(s);
    for (;;) {
        int now = simPrimaryOf(s, 0);
        if (now >= 0 && now != was) return simNow(s) - begin;
        if (simNow(s) - begin > at_most_ms) return -1;
        simRun(s, 10);
    }
}

static void nodesMeetByOneAndAgree(void **state) {
    (void)state;
    struct simOptions o = usual;
    o.meet_one = true;
    struct sim *s = agreed(&o);
    for (int i = 0; i < simCount(s); i++) assert_int_equal(simEngine(s, i)->t.count, 6);
    simDestroy(s);
}

/* Of many pairs some hear first what is new, and then what is old. */
static void rolesAreKnownSoonInABigCluster(void **state) {
    (void)state;
    struct simOptions o = {
        .primaries = 40, .replicas = 1, .node_timeout_ms = 60000, .latency_ms = 5, .meet_one = true};
    for (o.seed = 1; o.seed <= 3; o.seed++) {
        struct sim *s = simCreate(&o);
        int64_t took = untilAgreed(s, 60000);
        assert_in_range(took, 0, 5000);
        simDestroy(s);
    }
}

static void aReplicaTakesOverFromADeadPrimary(void **state) {
    (void)state;
    struct sim *s = agreed(&usual);
    simKill(s, 0);
    int64_t took = untilReplaced(s, 0, 60000);
    assert_in_range(took, TIMEOUT_MS, 3 * TIMEOUT_MS);
    assert_int_equal(simPrimaryOf(s, 0), 3);
    simRestart(s, 0);
    assert_true(untilAgreed(s, 60000) >= 0);
    assert_true(nodeIsReplica(simEngine(s, 0)->t.myself));
    assert_string_equal(simEngine(s, 0)->t.myself->primary->id, simEngine(s, 3)->t.myself->id);
    simDestroy(s);
}

static void theOneWithMostDataIsElected(void **state) {
    (void)state;
    struct simOptions o = usual;
    o.replicas = 3;
    for (uint64_t seed = 1; seed <= 5; seed++) {
        o.seed = seed;
        struct sim *s = agreed(&o);
        simRun(s, 5000);
        simHang(s, 3, true); /* two of the three stay behind, for less than makes them fail */
        simHang(s, 6, true);
        simRun(s, TIMEOUT_MS / 2);
        simKill(s, 0);
        simHang(s, 3, false);
        simHang(s, 6, false);
        assert_true(untilReplaced(s, 0, 60000) >= 0);
        assert_int_equal(simPrimaryOf(s, 0), 9);
        simDestroy(s);
    }
}

/* Its first synchronization runs, in either half, when the primary dies. */
static void oneThatWasNeverWholeIsNotElected(void **state) {
    (void)state;
    for (int64_t ran_ms = 500; ran_ms < 3000; ran_ms += 500) {
        struct simOptions o = usual;
        o.sync_ms = 3000;
        struct sim *s = simCreate(&o);
        simRun(s, ran_ms);
        simKill(s, 0);
        assert_int_equal(untilReplaced(s, 0, 60000), -1);
        simRestart(s, 0);
        assert_true(untilAgreed(s, 60000) >= 0);
        assert_int_equal(simPrimaryOf(s, 0), 0);
        simDestroy(s);
    }
}

/* A replica with another shard's data, which go further, stands in nobody's way, and does not win itself. */
static void oneFromAnotherShardIsNotElectedBeforeItIsSynchronized(void **state) {
    (void)state;
    for (int alone = 0; alone < 2; alone++) {
        struct simOptions o = usual;
        o.sync_ms = 3000;
        struct sim *s = agreed(&o);
        simSide(s, 0, 1); /* its shard is behind the others */
        simRun(s, 1500);
        simSide(s, 0, 0);
        assert_true(untilAgreed(s, 60000) >= 0);
        if (alone) simKill(s, 3);
        simReplicate(s, 4, 0); /* it was node 1's */
        simRun(s, 500);
        simKill(s, 0);
        int64_t took_ms = untilReplaced(s, 0, 30000);
        if (alone) {
            assert_int_equal(took_ms, -1);
        } else {
            assert_in_range(took_ms, TIMEOUT_MS, 3 * TIMEOUT_MS);
            assert_int_equal(simPrimaryOf(s, 0), 3);
        }
        simRestart(s, 0);
        simRestart(s, 3);
        assert_true(untilAgreed(s, 60000) >= 0);
        simDestroy(s);
    }
}

/* What it has is too old, even if the primary lets it begin to synchronize again and again. */
static void aReplicaWhoseDataAreOldIsNotElected(void **state) {
    (void)state;
    const int64_t limit_ms = 10000 + 11 * TIMEOUT_MS; /* of simulated nodes: repl_ping_period_s, factor 10 */
    for (int old = 0; old < 2; old++) {
        struct sim *s = agreed(&usual);
        simCutReplication(s, 3, true);
        simRun(s, old ? limit_ms : limit_ms / 2);
        simKill(s, 0);
        assert_int_equal(untilReplaced(s, 0, 30000) >= 0, !old);
        simCutReplication(s, 3, false);
        simRestart(s, 0);
        assert_true(untilAgreed(s, 60000) >= 0);
        simDestroy(s);
    }
}

/* A restarted replica has what its files hold, of nobody knows when: it waits for its primary. */
static void aReplicaThatHasJustStartedIsNotElected(void **state) {
    (void)state;
    struct sim *s = agreed(&usual);
    simKill(s, 0);
    simKill(s, 3);
    simRestart(s, 3);
    assert_int_equal(untilReplaced(s, 0, 60000), -1);
    simRestart(s, 0);
    assert_true(untilAgreed(s, 60000) >= 0);
    simKill(s, 0);
    assert_true(untilReplaced(s, 0, 60000) >= 0);
    simDestroy(s);
}

static void aMinorityStopsServing(void **state) {
    (void)state;
    struct sim *s = agreed(&usual);
    simSide(s, 0, 1);
    simRun(s, 4 * TIMEOUT_MS);
    assert_false(engineStateOk(simEngine(s, 0)));
    assert_int_equal(simEngine(s, 0)->down, DOWN_MINORITY);
    assert_true(engineStateOk(simEngine(s, 1)));
    simSide(s, 0, 0);
    assert_true(untilAgreed(s, 60000) >= 0);
    assert_true(nodeIsReplica(simEngine(s, 0)->t.myself));
    simDestroy(s);
}

static void withoutAMajorityNobodyIsElected(void **state) {
    (void)state;
    struct sim *s = agreed(&usual);
    simKill(s, 0);
    simKill(s, 1);
    simRun(s, 6 * TIMEOUT_MS);
    assert_int_equal(simPrimaryOf(s, 0), -1);
    assert_false(engineStateOk(simEngine(s, 2)));
    simRestart(s, 1);
    assert_true(untilReplaced(s, 0, 60000) >= 0);
    simDestroy(s);
}

static void aManualFailoverLosesNothing(void **state) {
    (void)state;
    struct sim *s = agreed(&usual);
    simRun(s, 3000);
    simFailover(s, 3, FAILOVER_ASK);
    assert_in_range(untilReplaced(s, 0, 20000), 1, 1500);
    assert_int_equal(simPrimaryOf(s, 0), 3);
    assert_true(untilAgreed(s, 20000) >= 0);
    assert_true(nodeIsReplica(simEngine(s, 0)->t.myself));
    assert_false(simPaused(s, 0)); /* its clients are told where to go at once */
    simDestroy(s);
}

/* Cut off before it has heard of the others' slots, with its primary alone, a replica cannot tell a majority
 * from the vote of that one. */
static void oneThatHasNotHeardTheOthersElectsNobody(void **state) {
    (void)state;
    struct simOptions o = usual;
    o.replicas = 2;
    for (int64_t cut_ms = 0; cut_ms < 40; cut_ms += 4) {
        struct sim *s = simCreate(&o);
        simRun(s, cut_ms);
        simSide(s, 3, 1);
        simRun(s, 3 * TIMEOUT_MS); /* its primary has heard them, and may vote */
        simSide(s, 0, 1);
        assert_true(untilReplaced(s, 0, 60000) >= 0);
        for (int tries = 0; tries < 10; tries++) {
            simFailover(s, 3, FAILOVER_ASK);
            simRun(s, TIMEOUT_MS);
        }
        assert_true(nodeIsReplica(simEngine(s, 3)->t.myself));
        simSide(s, 0, 0);
        simSide(s, 3, 0);
        assert_true(untilAgreed(s, 60000) >= 0);
        simDestroy(s);
    }
}

/* A clock that is set back for an hour is no reason not to notice a death, nor not to vote. */
static void clocksThatGoBackStopNothing(void **state) {
    (void)state;
    struct sim *s = agreed(&usual);
    simRun(s, 5000);
    simSetClocks(s, -3600 * 1000);
    simRun(s, 5000);
    simKill(s, 0);
    assert_in_range(untilReplaced(s, 0, 60000), TIMEOUT_MS / 2, 3 * TIMEOUT_MS);
    simRestart(s, 0);
    simSetClocks(s, 1800 * 1000);
    assert_true(untilAgreed(s, 60000) >= 0);
    simDestroy(s);
}

static void forceAndTakeoverWorkWithoutThePrimary(void **state) {
    (void)state;
    for (int kind = FAILOVER_FORCE; kind <= FAILOVER_TAKEOVER; kind++) {
        struct sim *s = agreed(&usual);
        simKill(s, 0);
        simFailover(s, 3, (enum failoverKind)kind);
        assert_in_range(untilReplaced(s, 0, 20000), 0, TIMEOUT_MS / 2);
        simRestart(s, 0);
        assert_true(untilAgreed(s, 60000) >= 0);
        simDestroy(s);
    }
}

static void aReplicaGoesToAnOrphan(void **state) {
    (void)state;
    struct simOptions o = usual;
    o.replicas = 2;
    struct sim *s = agreed(&o);
    for (int i = 1; i < simCount(s); i++) { /* what they know of it is what they have read */
        simKill(s, i);
        simRestart(s, i);
    }
    assert_true(untilAgreed(s, 60000) >= 0);
    simKill(s, 3);
    simKill(s, 6); /* the replicas of node 0 */
    simRun(s, 12 * TIMEOUT_MS);
    assert_int_equal(healthyReplicasOf(s, 0), 1);
    simRestart(s, 3);
    simRestart(s, 6);
    assert_true(untilAgreed(s, 60000) >= 0);
    simDestroy(s);
}

static void lossAndLatencyMakeNobodyFail(void **state) {
    (void)state;
    struct simOptions o = usual;
    o.loss = 0.02;
    o.latency_ms = 40;
    struct sim *s = agreed(&o);
    simRun(s, 60 * TIMEOUT_MS);
    for (int i = 0; i < simCount(s); i++) {
        for (int k = 0; k < simCount(s); k++) assert_false(nodeFailed(simEngine(s, i)->t.nodes[k]));
    }
    assert_int_equal(simPrimaryOf(s, 0), 0);
    simDestroy(s);
}

/* ---- Slots that are claimed ---- */

static void slotsGoToWhoClaimsThem(void **state) {
    (void)state;
    struct sim *s = agreed(&usual);
    uint64_t epoch = simEngine(s, 1)->t.current_epoch;
    simMigrate(s, 0, 1);
    simRun(s, 300);
    assert_int_equal(simPrimaryOf(s, 0), 1);
    assert_int_equal(simPrimaryOf(s, MIGRATION_SLOTS), 0);
    assert_int_equal(simEngine(s, 1)->t.myself->config_epoch, epoch + 1);
    assert_true(untilAgreed(s, 20000) >= 0);
    simMigrate(s, 0, 2); /* by another one */
    simRun(s, 300);
    assert_int_equal(simPrimaryOf(s, MIGRATION_SLOTS), 2);
    assert_true(untilAgreed(s, 20000) >= 0);
    simDestroy(s);
}

/* Cut off at the moment of its claim, which nobody has heard of, it is replaced: not in the epoch that it has
 * given itself. */
static void noReplicaIsElectedInAnEpochThatWasClaimed(void **state) {
    (void)state;
    for (uint64_t seed = 1; seed <= 10; seed++) {
        struct simOptions o = usual;
        o.seed = seed;
        for (int64_t cut_ms = 0; cut_ms <= 2 * ENGINE_TICK_MS; cut_ms += 10) {
            struct sim *s = agreed(&o);
            simMigrate(s, 0, 1);
            simRun(s, cut_ms);
            simSide(s, 1, 1);
            simRun(s, 6 * TIMEOUT_MS); /* the simulation looks for two owners */
            assert_int_equal(simPrimaryOf(s, KEY_SLOTS / 2), 4);
            simSide(s, 1, 0);
            assert_true(untilAgreed(s, 60000) >= 0);
            assert_int_equal(simPrimaryOf(s, KEY_SLOTS / 2), 4);
            simDestroy(s);
        }
    }
}

/* The same, when the power of all others fails a moment later, and the replica has heard nothing. */
static void norWhenVotersLoseTheirPower(void **state) {
    (void)state;
    for (uint64_t seed = 1; seed <= 5; seed++) {
        struct simOptions o = usual;
        o.seed = seed;
        for (int64_t cut_ms = 0; cut_ms <= 2 * ENGINE_TICK_MS; cut_ms += 10) {
            struct sim *s = agreed(&o);
            simSide(s, 4, 2);
            simMigrate(s, 0, 1);
            simRun(s, cut_ms);
            simSide(s, 1, 1);
            for (int i = 0; i < simCount(s); i++) {
                if (i == 1 || i == 4) continue;
                simPowerOff(s, i);
                simRestart(s, i);
            }
            simRun(s, 2000); /* they may vote */
            simSide(s, 4, 0);
            simRun(s, 6 * TIMEOUT_MS); /* the simulation looks for two owners */
            simSide(s, 1, 0);
            assert_true(untilAgreed(s, 60000) >= 0);
            simDestroy(s);
        }
    }
}

/* It dies with its claim, which nobody has heard of: its source serves on, and what it has written then is
 * not taken from it when the other one comes back. */
static void aClaimThatNobodyHasHeardIsTakenBack(void **state) {
    (void)state;
    int unheard = 0;
    for (uint64_t seed = 1; seed <= 10; seed++) {
        struct simOptions o = usual;
        o.seed = seed;
        struct sim *s = agreed(&o);
        simMigrate(s, 0, 1);
        simRun(s, 30); /* voters have answered */
        if (simMigrates(s, 1)) {
            simSide(s, 1, 1);
            simRun(s, ENGINE_TICK_MS);
            assert_false(simMigrates(s, 1));
            assert_int_equal(simPrimaryOf(s, 0), 1);
            simKill(s, 1);
            simRun(s, (int64_t)(seed % 3) * 4 * TIMEOUT_MS + GRANTED_MS +
                          ENGINE_TICK_MS); /* maybe it is replaced */
            assert_int_equal(simPrimaryOf(s, 0), 0);
            simSide(s, 1, 0);
            simRestart(s, 1);
            assert_true(untilAgreed(s, 60000) >= 0);
            assert_int_equal(simPrimaryOf(s, 0), 0);
            unheard++;
        }
        simDestroy(s);
    }
    assert_true(unheard > 3);
}

/* Who reaches its source, but no majority, claims nothing. */
static void whoIsCutOffClaimsNothing(void **state) {
    (void)state;
    struct sim *s = agreed(&usual);
    simSide(s, 1, 1);
    simMigrate(s, 0, 1);
    simRun(s, MIGRATION_MS + ENGINE_TICK_MS);
    assert_false(simMigrates(s, 1));
    assert_int_equal(simPrimaryOf(s, 0), 0);
    simSide(s, 1, 0);
    assert_true(untilAgreed(s, 60000) >= 0);
    assert_int_equal(simPrimaryOf(s, 0), 0);
    simDestroy(s);
}

/* ---- Random schedules ---- */

static uint64_t draw(uint64_t *random) {
    *random = *random * 6364136223846793005ULL + 1442695040888963407ULL;
    return *random >> 33;
}

static void act(struct sim *s, uint64_t *random) {
    int i = (int)(draw(random) % (uint64_t)simCount(s));
    switch (draw(random) % 13) {
    case 0: simKill(s, i); break;
    case 1: simPowerOff(s, i); break;
    case 2:
    case 3:
    case 4: simRestart(s, i); break;
    case 5: simSide(s, i, (int)(draw(random) % 2)); break;
    case 6: simSide(s, i, 0); break;
    case 7: simHang(s, i, draw(random) % 2); break;
    case 8: simFailover(s, i, draw(random) % 4 ? FAILOVER_ASK : FAILOVER_FORCE); break;
    case 9:
    case 10: simMigrate(s, (int)(draw(random) % (uint64_t)simCount(s)), i); break;
    case 11: simReplicate(s, i, (int)(draw(random) % (uint64_t)simCount(s))); break;
    default:
        if (draw(random) % 4 == 0) simSetClocks(s, ((int64_t)(draw(random) % 3) - 1) * 3600 * 1000);
        break;
    }
}

static void schedule(uint64_t seed, bool verbose) {
    uint64_t random = seed * 2654435761u + 1;
    struct simOptions o = {.primaries = 3 + (int)(draw(&random) % 3),
                           .replicas = (int)(draw(&random) % 3),
                           .node_timeout_ms = TIMEOUT_MS,
                           .latency_ms = 1 + (int64_t)(draw(&random) % 50),
                           .sync_ms = 200 << draw(&random) % 6,
                           .loss = (double)(draw(&random) % 3) / 100,
                           .meet_one = draw(&random) % 2,
                           .seed = seed,
                           .verbose = verbose};
    struct sim *s = simCreate(&o);
    for (int step = 0; step < 30; step++) {
        act(s, &random);
        simRun(s, (int64_t)(draw(&random) % 3000));
    }
    for (int i = 0; i < simCount(s); i++) {
        simSide(s, i, 0);
        simHang(s, i, false);
        simRestart(s, i);
    }
    simSetLoss(s, 0);
    bool agreed = untilAgreed(s, 120000) >= 0;
    if (!agreed && verbose) simPrint(s);
    if (!agreed) fail_msg("no agreement: SIM_SEED=%llu", (unsigned long long)seed);
    simDestroy(s);
}

static void whateverHappensTheyAgreeInTheEnd(void **state) {
    (void)state;
    const char *seed = getenv("SIM_SEED"), *count = getenv("SIM_SCHEDULES"), *first = getenv("SIM_FIRST");
    if (seed) {
        schedule(strtoull(seed, NULL, 10), true);
        return;
    }
    uint64_t schedules = count ? strtoull(count, NULL, 10) : 100,
             from = first ? strtoull(first, NULL, 10) : 1;
    for (uint64_t i = 0; i < schedules; i++) schedule(from + i, false);
}

/* ---- Figures ---- */

struct figures {
    int64_t met_ms, agreed_ms, failed_ms, elected_ms, all_know_ms;
    double messages, bytes; /* of one node in a second, when nothing happens */
};

/* How many of those alive take it for failed. */
static int whoTakesForFailed(struct sim *s, const char *id) {
    int count = 0;
    for (int k = 0; k < simCount(s); k++) {
        const struct engine *e = simEngine(s, k);
        const struct clusterNode *n = e ? topologyFind(&e->t, id) : NULL;
        count += n && nodeFailed(n);
    }
    return count;
}

/* Do all that are alive see slot 0 as its owner does? */
static bool allKnowTheOwner(struct sim *s) {
    const char *owner = simEngine(s, simPrimaryOf(s, 0))->t.myself->id;
    for (int k = 0; k < simCount(s); k++) {
        const struct engine *e = simEngine(s, k);
        if (e && (!e->t.owner[0] || memcmp(e->t.owner[0]->id, owner, NODE_ID_LEN) != 0)) return false;
    }
    return true;
}

static void traffic(struct sim *s, struct figures *f) {
    const int seconds = 20;
    uint64_t messages = simMessages(s), bytes = simBytes(s);
    simRun(s, seconds * 1000);
    f->messages = (double)(simMessages(s) - messages) / seconds / simCount(s);
    f->bytes = (double)(simBytes(s) - bytes) / seconds / simCount(s);
}

static void failover(struct sim *s, struct figures *f) {
    char id[NODE_ID_LEN + 1];
    memcpy(id, simEngine(s, 0)->t.myself->id, sizeof id);
    simKill(s, 0);
    int64_t begin = simNow(s);
    while (!whoTakesForFailed(s, id)) simRun(s, 10);
    f->failed_ms = simNow(s) - begin;
    while (simPrimaryOf(s, 0) <= 0) simRun(s, 10);
    f->elected_ms = simNow(s) - begin;
    while (!allKnowTheOwner(s)) simRun(s, 10);
    f->all_know_ms = simNow(s) - begin;
}

/* A row of a Markdown table: how clusters of that size do at the usual time-out. */
static void printFigures(int nodes) {
    struct simOptions o = {.primaries = nodes / 2,
                           .replicas = 1,
                           .node_timeout_ms = 15000,
                           .latency_ms = 1,
                           .meet_one = true,
                           .no_disk = true,
                           .seed = 1};
    struct sim *s = simCreate(&o);
    struct figures f = {.met_ms = simMetMs(s), .agreed_ms = untilAgreed(s, 120000)};
    traffic(s, &f);
    failover(s, &f);
    printf("| %d | %.1f s | %.1f s | %.0f | %.1f | %.1f s | %.2f s | %.2f s |\n", nodes,
           (double)f.met_ms / 1000, (double)(f.met_ms + f.agreed_ms) / 1000, f.messages, f.bytes / 1024,
           (double)f.failed_ms / 1000, (double)(f.elected_ms - f.failed_ms) / 1000,
           (double)(f.all_know_ms - f.elected_ms) / 1000);
    fflush(stdout);
    simDestroy(s);
}

static int printTable(const char *sizes) {
    printf(
        "| nodes | all know all, after MEET | and agree on slots and roles | messages/s sent by a node | KiB/s sent by a node | primary dies: FAIL after | election | all know |\n"
        "|---:|---:|---:|---:|---:|---:|---:|---:|\n");
    for (char *end; *sizes; sizes = *end ? end + 1 : end) {
        int nodes = (int)strtol(sizes, &end, 10);
        if (nodes < 6 || nodes > SIM_NODES_MAX || (*end && *end != ',')) return 1;
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
        cmocka_unit_test(oneThatWasNeverWholeIsNotElected),
        cmocka_unit_test(oneFromAnotherShardIsNotElectedBeforeItIsSynchronized),
        cmocka_unit_test(aReplicaWhoseDataAreOldIsNotElected),
        cmocka_unit_test(aReplicaThatHasJustStartedIsNotElected),
        cmocka_unit_test(aMinorityStopsServing),
        cmocka_unit_test(withoutAMajorityNobodyIsElected),
        cmocka_unit_test(aManualFailoverLosesNothing),
        cmocka_unit_test(oneThatHasNotHeardTheOthersElectsNobody),
        cmocka_unit_test(clocksThatGoBackStopNothing),
        cmocka_unit_test(forceAndTakeoverWorkWithoutThePrimary),
        cmocka_unit_test(aReplicaGoesToAnOrphan),
        cmocka_unit_test(lossAndLatencyMakeNobodyFail),
        cmocka_unit_test(slotsGoToWhoClaimsThem),
        cmocka_unit_test(noReplicaIsElectedInAnEpochThatWasClaimed),
        cmocka_unit_test(norWhenVotersLoseTheirPower),
        cmocka_unit_test(aClaimThatNobodyHasHeardIsTakenBack),
        cmocka_unit_test(whoIsCutOffClaimsNothing),
        cmocka_unit_test(whateverHappensTheyAgreeInTheEnd),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
