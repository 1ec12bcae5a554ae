/* SPDX-License-Identifier: BSD-3-Clause */
/* sync_group_test.c - clients and a disk in virtual time: how many share an fsync, and what waiting costs.
 * SEED=n changes what is drawn. */
#include "persist/sync_group.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#define CLIENTS 50
#define TURN_US 5

static uint64_t seed = 1;

static int64_t syncGroupTestDraw(int64_t below) {
    seed = seed * 6364136223846793005ULL + 1442695040888963407ULL;
    return (int64_t)((seed >> 33) % (uint64_t)below);
}

#define BUCKETS 400 /* of latencies, each a hundredth of the time of an fsync */

struct course {
    int64_t sync_us, away_us;             /* a client comes back after 1 to away_us, */
    int64_t later_in, later_us;           /* and one time in later_in by 1 to later_us later; 0: never */
    int64_t at_us[CLIENTS];               /* when it comes; its write waits from then on */
    bool waits[CLIENTS], synced[CLIENTS]; /* for an fsync; the one under way has its write */
    uint64_t syncs, replies, most_us, latencies[BUCKETS];
};

static size_t syncGroupTestCountWaiting(const struct course *c) {
    size_t n = 0;
    for (int i = 0; i < CLIENTS; i++) n += c->waits[i];
    return n;
}

static void syncGroupTestRelease(struct course *c, int64_t now_us) {
    for (int i = 0; i < CLIENTS; i++) {
        if (!c->synced[i]) continue;
        uint64_t waited_us = (uint64_t)(now_us - c->at_us[i]);
        if (waited_us > c->most_us) c->most_us = waited_us;
        int64_t bucket = (int64_t)waited_us * 100 / c->sync_us;
        c->latencies[bucket < BUCKETS ? bucket : BUCKETS - 1]++;
        c->waits[i] = c->synced[i] = false;
        c->at_us[i] = now_us + 1 + syncGroupTestDraw(c->away_us);
        if (c->later_in && !syncGroupTestDraw(c->later_in)) c->at_us[i] += 1 + syncGroupTestDraw(c->later_us);
        c->replies++;
    }
}

/* Returns the 99th percentile of the latencies, in hundredths of the time of an fsync. */
static int syncGroupTestP99(const struct course *c) {
    uint64_t slower = 0;
    int i = BUCKETS;
    while (slower * 100 <= c->replies && i > 0) slower += c->latencies[--i];
    return i;
}

/* Runs for a virtual time, in turns as the server's. gathers: with the group; else each fsync begins at once.
 */
static struct course syncGroupTestRunWith(struct course c, bool gathers) {
    int64_t sync_us = c.sync_us, away_us = c.away_us;
    struct syncGroup g = {0};
    int64_t begins_us = 0, ends_us = 0; /* of the fsync; 0: none */
    for (int i = 0; i < CLIENTS; i++) c.at_us[i] = syncGroupTestDraw(away_us + sync_us);
    for (int64_t now_us = 1; now_us < 400 * (sync_us + away_us); now_us += TURN_US) {
        if (begins_us && now_us >= begins_us && !ends_us) {
            memcpy(c.synced, c.waits, sizeof c.synced);
            ends_us = now_us + sync_us;
            c.syncs++;
        }
        bool has_ended = ends_us && now_us >= ends_us;
        if (has_ended) {
            syncGroupNoteSynced(&g, syncGroupTestCountWaiting(&c), sync_us, now_us);
            syncGroupTestRelease(&c, now_us);
            begins_us = ends_us = 0;
        }
        for (int i = 0; i < CLIENTS; i++) {
            if (c.waits[i] || c.at_us[i] > now_us) continue;
            c.waits[i] = true;
            syncGroupNoteWrite(&g, now_us);
        }
        size_t waiting = syncGroupTestCountWaiting(&c);
        if (!begins_us && waiting) {
            int64_t until_us = gathers ? syncGroupUntil(&g, has_ended ? g.behind : waiting, now_us) : 0;
            begins_us = until_us ? until_us : now_us;
        } else if (begins_us && !ends_us && syncGroupIsComplete(&g, waiting, now_us)) {
            begins_us = now_us;
        }
    }
    return c;
}

static struct course syncGroupTestRun(int64_t sync_us, int64_t away_us, bool gathers) {
    return syncGroupTestRunWith((struct course){.sync_us = sync_us, .away_us = away_us}, gathers);
}

/* Clients that come back within the time of an fsync share each one, and wait for less than two. */
static void clientsThatComeBackShareAnFsync(void **state) {
    (void)state;
    static const struct {
        int64_t sync_us, away_us;
    } cases[] = {{1000, 100}, {1000, 600}, {5000, 100}, {5000, 3000}, {9000, 5000}, {400, 300}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct course with = syncGroupTestRun(cases[i].sync_us, cases[i].away_us, true);
        struct course without = syncGroupTestRun(cases[i].sync_us, cases[i].away_us, false);
        double each = (double)with.replies / (double)with.syncs;
        if (each < 0.95 * CLIENTS) fail_msg("case %zu: %.1f clients in a group", i, each);
        if (with.replies < without.replies * 11 / 10)
            fail_msg("case %zu: %llu replies, without groups %llu", i, (unsigned long long)with.replies,
                     (unsigned long long)without.replies);
        /* After the beginning, which counts for nothing here, nobody waits for two. */
        assert_true(with.most_us <= (uint64_t)(3 * cases[i].sync_us));
    }
}

/* Where they do not come back in time, waiting in vain costs little. */
static void waitingInVainCostsLittle(void **state) {
    (void)state;
    static const struct {
        int64_t sync_us, away_us;
    } cases[] = {{150, 600}, {150, 5000}, {1000, 10000}, {5000, 100000}, {60, 1000}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct course with = syncGroupTestRun(cases[i].sync_us, cases[i].away_us, true);
        struct course without = syncGroupTestRun(cases[i].sync_us, cases[i].away_us, false);
        if (with.replies < without.replies * 95 / 100)
            fail_msg("case %zu: %llu replies, without groups %llu", i, (unsigned long long)with.replies,
                     (unsigned long long)without.replies);
    }
}

/* However clients come, of a hundred one at most waits for more than two fsyncs. */
static void fewWaitForMoreThanTwo(void **state) {
    (void)state;
    static const struct course cases[] = {
        {.sync_us = 1000, .away_us = 600, .later_in = 200, .later_us = 1000},
        {.sync_us = 1000, .away_us = 600, .later_in = 50, .later_us = 3000},
        {.sync_us = 5000, .away_us = 800, .later_in = 50, .later_us = 10000},
        {.sync_us = 1000, .away_us = 10000},
        {.sync_us = 200, .away_us = 600},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct course with = syncGroupTestRunWith(cases[i], true);
        struct course without = syncGroupTestRunWith(cases[i], false);
        /* a tenth for the turns, and as the first group may be late as a whole */
        if (syncGroupTestP99(&with) > 210)
            fail_msg("case %zu: the 99th percentile is %d hundredths", i, syncGroupTestP99(&with));
        if (with.replies < without.replies * 95 / 100)
            fail_msg("case %zu: %llu replies, without groups %llu", i, (unsigned long long)with.replies,
                     (unsigned long long)without.replies);
    }
}

static void aClientAloneNeverWaits(void **state) {
    (void)state;
    struct syncGroup g = {0};
    assert_int_equal(syncGroupUntil(&g, 1, 10), 0);
    assert_false(syncGroupIsInline(&g, 1)); /* nobody knows how fast the disk is */
    for (int64_t now_us = 100; now_us < 2000; now_us += 100) {
        syncGroupNoteSynced(&g, 1, 100, now_us);
        assert_true(syncGroupIsInline(&g, 1));
        assert_false(syncGroupIsInline(&g, 2));
        assert_int_equal(syncGroupUntil(&g, 1, now_us + 1), 0);
    }
    syncGroupNoteSynced(&g, 1, 300, 3000);
    assert_false(syncGroupIsInline(&g, 1));
    syncGroupNoteSynced(&g, 2, 100, 4000);
    assert_false(syncGroupIsInline(&g, 1));
}

/* One fsync that took long does not make the next one wait for long. */
static void theWaitIsBounded(void **state) {
    (void)state;
    struct syncGroup g = {0};
    syncGroupNoteSynced(&g, 2, 5000000, 1000);
    assert_int_equal(syncGroupUntil(&g, 1, 2000), 1000 + 10000);
    assert_false(syncGroupIsComplete(&g, 1, 3000));
    assert_false(syncGroupIsComplete(&g, 2, 11000)); /* too late */
    syncGroupNoteSynced(&g, 2, 100, 12000);
    assert_int_equal(syncGroupUntil(&g, 1, 12001), 0); /* the last one has waited in vain */
    syncGroupNoteSynced(&g, 2, 100, 13000);
    assert_int_equal(syncGroupUntil(&g, 1, 13001), 13100);
    assert_true(syncGroupIsComplete(&g, 2, 13050));
    assert_false(syncGroupIsComplete(&g, 2, 13051));
}

int main(void) {
    if (getenv("SEED")) seed = strtoull(getenv("SEED"), NULL, 10);
    printf("SEED=%llu\n", (unsigned long long)seed);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(clientsThatComeBackShareAnFsync),
        cmocka_unit_test(waitingInVainCostsLittle),
        cmocka_unit_test(fewWaitForMoreThanTwo),
        cmocka_unit_test(aClientAloneNeverWaits),
        cmocka_unit_test(theWaitIsBounded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
