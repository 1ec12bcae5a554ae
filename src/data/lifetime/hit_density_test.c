/* SPDX-License-Identifier: BSD-3-Clause */
/* hit_density_test.c - the index beside a search of all stays; a cache that evicts by the scores beside exact
 * LRU, over uses of which each favours another policy. */
#include "data/lifetime/hit_density.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <cmocka.h>

#include "base/random.h"

#define CACHE    4096
#define REQUESTS (100 * CACHE)
#define SAMPLE   5

/* ---- The index ---- */

static double hitDensityTestWidth(int age) {
    return age < 16 ? 1 : 1 << (age / 8 - 1);
}

/* Tries every age at which a stay may end. */
static double hitDensityTestBest(const double *rates, int from) {
    double best = 0, use = 0, time_spent = 0, remain = 1;
    for (int a = from; a < DENSITY_AGES; a++) {
        double w = hitDensityTestWidth(a), x = rates[a] * w, r = 1 / (1 + x + x * x / 2);
        use += remain * (1 - r);
        time_spent += remain * w * (1 + r) / 2;
        remain *= r;
        if (use / time_spent > best) best = use / time_spent;
    }
    return best;
}

static void indexIsTheBestOfAllStays(void **state) {
    (void)state;
    for (int run = 0; run < 2000; run++) {
        double rates[DENSITY_AGES], index[DENSITY_AGES];
        for (int a = 0; a < DENSITY_AGES; a++)
            rates[a] = randomBelow(4) ? randomDouble() * 1e-3 : randomDouble() * 4;
        densityIndex(rates, index);
        for (int a = 0; a < DENSITY_AGES; a++) {
            double best = hitDensityTestBest(rates, a);
            if (index[a] < best * 0.999999 || index[a] > best * 1.000001)
                fail_msg("age %d: %g, the best stay has %g", a, index[a], best);
        }
    }
}

/* ---- Marks ---- */

static void marksCountUsesByChance(void **state) {
    (void)state;
    densityReset();
    uint32_t mark = densityMark(0);
    assert_int_equal(densityUses(mark), 0);
    mark = densityUse(densityUse(mark, true), true);
    assert_int_equal(densityUses(mark), 2);
    double sum = 0;
    for (int run = 0; run < 400; run++) {
        mark = densityMark(0);
        for (int i = 0; i < 256; i++) mark = densityUse(mark, true);
        sum += densityUses(mark);
    }
    if (sum / 400 < 8 || sum / 400 > 9) fail_msg("256 uses are counted as %g", sum / 400);
    for (int i = 0; i < 1000000; i++) mark = densityUse(mark, true);
    assert_int_equal(densityUses(mark), DENSITY_USES_MAX);
}

static void clockWrapsAround(void **state) {
    (void)state;
    densityReset();
    for (int i = 0; i < (1 << 20) + 100; i++) {
        uint32_t old = densityMark(3);
        densityNoteSample(old, 1);
        densityNoteSampled();
        for (int j = 0; j < 16; j++) densityNoteEviction(16);
        assert_true(old <= 0xffffff && densityMark(3) != old);
    }
    densityReset();
    uint32_t fresh = densityMark(0), score = densityScore(fresh);
    for (int i = 0; i < 16 * 10; i++) densityNoteEviction(16);
    assert_true(densityScore(fresh) > score); /* older: to be evicted first, while nothing is known */
    assert_int_equal(densityScore(densityMark(0)), score);
    assert_true(densityScore(densityMark(9)) < score);
}

/* ---- A cache ---- */

typedef uint32_t trace(uint32_t at);

static uint32_t traceLoop(uint32_t at) {
    return at % (CACHE * 3 / 2);
}

/* Keys of a skewed popularity: half of the requests are for a 32nd of the keys. */
static uint32_t traceSkewed(uint32_t at) {
    (void)at;
    double x = randomDouble();
    return (uint32_t)(x * x * x * x * x * 10 * CACHE);
}

static uint32_t traceScans(uint32_t at) {
    return at % (4 * CACHE) < CACHE ? 1000 * CACHE + at : traceSkewed(at);
}

static uint32_t traceDrift(uint32_t at) {
    return traceSkewed(at) / 4 + at / 10;
}

/* Open addressing would be more code: keys are small numbers, so a table of places does. */
static uint32_t *place, keys[CACHE], marks[CACHE], count;
static uint32_t lru_next[CACHE], lru_prev[CACHE], lru_head, lru_tail;
#define NOWHERE UINT32_MAX
#define KEYS    (1000 * CACHE + REQUESTS)

static uint32_t hitDensityTestVictim(void) {
    static uint32_t pool[16];
    uint32_t best = 0, worst;
    for (int i = 0; i < SAMPLE; i++) {
        uint32_t at = (uint32_t)randomBelow(count);
        densityNoteSample(marks[at], (double)count / SAMPLE);
        worst = 0;
        for (uint32_t j = 1; j < 16; j++)
            if (densityScore(marks[pool[j]]) < densityScore(marks[pool[worst]])) worst = j;
        pool[worst] = at;
    }
    densityNoteSampled();
    for (uint32_t j = 1; j < 16; j++)
        if (densityScore(marks[pool[j]]) > densityScore(marks[pool[best]])) best = j;
    return pool[best];
}

static double hitDensityTestMissesByDensity(trace *t) {
    uint32_t misses = 0;
    densityReset();
    count = 0;
    memset(place, 0xff, KEYS * sizeof *place);
    for (uint32_t i = 0; i < REQUESTS; i++) {
        uint32_t key = t(i), at = place[key];
        if (at != NOWHERE) {
            marks[at] = densityUse(marks[at], true);
            continue;
        }
        misses += i >= REQUESTS / 4;
        at = count < CACHE ? count++ : hitDensityTestVictim();
        if (count == CACHE && place[keys[at]] == at) {
            place[keys[at]] = NOWHERE;
            densityNoteEviction(CACHE);
        }
        keys[at] = key, place[key] = at, marks[at] = densityMark(0);
    }
    return misses / (0.75 * REQUESTS);
}

static void hitDensityTestLruUnlink(uint32_t at) {
    *(lru_prev[at] == NOWHERE ? &lru_head : &lru_next[lru_prev[at]]) = lru_next[at];
    *(lru_next[at] == NOWHERE ? &lru_tail : &lru_prev[lru_next[at]]) = lru_prev[at];
}

static void hitDensityTestLruPush(uint32_t at) {
    lru_prev[at] = NOWHERE;
    lru_next[at] = lru_head;
    *(lru_head == NOWHERE ? &lru_tail : &lru_prev[lru_head]) = at;
    lru_head = at;
}

static double hitDensityTestMissesByLru(trace *t) {
    uint32_t misses = 0;
    count = 0;
    lru_head = lru_tail = NOWHERE;
    memset(place, 0xff, KEYS * sizeof *place);
    for (uint32_t i = 0; i < REQUESTS; i++) {
        uint32_t key = t(i), at = place[key];
        if (at == NOWHERE) {
            misses += i >= REQUESTS / 4;
            if (count < CACHE) {
                at = count++;
            } else {
                at = lru_tail;
                place[keys[at]] = NOWHERE;
                hitDensityTestLruUnlink(at);
            }
            keys[at] = key, place[key] = at;
        } else {
            hitDensityTestLruUnlink(at);
        }
        hitDensityTestLruPush(at);
    }
    return misses / (0.75 * REQUESTS);
}

static void missesBesideLru(void **state) {
    (void)state;
    static const struct {
        const char *name;
        trace *t;
        double most; /* misses, of LRU's */
    } rows[] = {{"loop", traceLoop, 0.5},
                {"skewed", traceSkewed, 0.9},
                {"scans", traceScans, 0.95},
                {"drift", traceDrift, 1.02}};
    place = malloc(KEYS * sizeof *place);
    assert_non_null(place);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        double lru = hitDensityTestMissesByLru(rows[i].t), density = hitDensityTestMissesByDensity(rows[i].t);
        print_message("%-8s LRU %.4f, LHD %.4f: %.3f\n", rows[i].name, lru, density, density / lru);
        if (density > lru * rows[i].most) fail_msg("%s: more than %g", rows[i].name, rows[i].most);
    }
    free(place);
}

int main(void) {
    uint64_t seed = (uint64_t)time(NULL);
    print_message("seed %llu\n", (unsigned long long)seed);
    randomSeed(seed);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(indexIsTheBestOfAllStays),
        cmocka_unit_test(marksCountUsesByChance),
        cmocka_unit_test(clockWrapsAround),
        cmocka_unit_test(missesBesideLru),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
