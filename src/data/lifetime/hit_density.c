/* SPDX-License-Identifier: BSD-3-Clause */
/* hit_density.c - see hit_density.h.
 *
 * Recency is the right measure for some uses of a cache, and frequency for others: a loop over more keys than
 * fit makes LRU useless, and LFU keeps what nobody wants any more. So neither is built in here. The keys are
 * divided into groups, by their count of uses and by their age, the time since the last use. What keys of a
 * group are worth is measured while the server runs:
 *
 *     rate of a group    uses of its keys, which densityUse counts  ╱  (keys in it × time)
 *     keys in it         its share of the samples that eviction takes anyway
 *
 *          age 0   1   2  ...  7   8   9  ...     wider by an eighth; the last one: 16 times as many keys
 *     uses 0  rate .   .   .   .   .   .   .       have been evicted as there are
 *          1  .    .   .   .   .   .   .   .
 *         ..  .    .   .       a key that is not used moves to the right; a use takes it to age 0, and
 *         15  .    .   .       perhaps one row down
 *
 * The rate alone is not what a key is worth: in a loop, a key is worth most just before its turn, and until
 * then it has to be kept. Worth is the density, the uses per time that are to be expected of a key that stays
 * until the best moment to evict it. The maximum over all such moments is the Gittins index (1979), which can
 * be computed for all ages in one pass. The idea of ranking by hit density is LHD's (Beckmann and others,
 * NSDI 2018), which measures it with evictions instead of samples, and without the maximum.
 *
 * Time is counted in evictions, so that it runs as fast as keys come and go. Groups with few samples take
 * over the rate of their neighbour with the next lower age. Old measurements fade: a fifth is forgotten each
 * time that a quarter of the keys has been evicted.
 *
 * Invariant: rates, and with them scores, change only in densityNoteEviction, on the main thread. */
#include "data/lifetime/hit_density.h"

#include <stdatomic.h>
#include <string.h>

#include "base/assert.h"
#include "base/random.h"
#include "base/read_phase.h"

#define USES_BITS     4
#define CLOCK_MASK    0xfffff
#define GROUPS        (DENSITY_USES_MAX + 1)
#define TICKS_PER_ALL 16 /* ticks in which as many keys are evicted as there are */
#define TICK_MIN      16 /* evictions */
#define PERIOD        4  /* ticks between computations */
#define KEEP          0.8
#define PRIOR         10.0 /* samples; a group with so many is half measured, half taken over */
#define GROWTH_MAX    8    /* of uses, from one computation to the next */
#define READERS_SHARE 8    /* one of so many uses is counted in threads that read at once, as so many */
_Static_assert((READERS_SHARE & (READERS_SHARE - 1)) == 0, "its bits are taken from a random number");

static uint32_t now, evictions_left, ticks_left;
static _Atomic uint32_t used[GROUPS][DENSITY_AGES]; /* since the last computation */
static double uses[GROUPS][DENSITY_AGES], sampled[GROUPS][DENSITY_AGES];
static double samples, sampled_keys, rounds, ticks, computations; /* these fade like the two above */
static uint32_t scores[GROUPS][DENSITY_AGES];

static uint32_t densityAge(uint32_t mark) {
    uint32_t age = (now - (mark >> USES_BITS)) & CLOCK_MASK;
    if (age < 8) return age;
    uint32_t octave = 28 - (uint32_t)__builtin_clz(age), group = 8 * octave + (age >> octave);
    return group < DENSITY_AGES ? group : DENSITY_AGES - 1;
}

/* Returns how many ticks a key spends in a group of ages. */
static double densityWidth(int age) {
    return age < 16 ? 1 : 1 << (age / 8 - 1);
}

static uint32_t densityScoreOf(double density) {
    float f = (float)density;
    uint32_t bits;
    memcpy(&bits, &f, sizeof bits); /* for positive numbers in the same order */
    return UINT32_MAX - bits;
}

static void densityForgetUses(void) {
    for (int g = 0; g < GROUPS; g++) {
        for (int a = 0; a < DENSITY_AGES; a++) atomic_store_explicit(&used[g][a], 0, memory_order_relaxed);
    }
}

void densityReset(void) {
    evictions_left = TICK_MIN;
    ticks_left = PERIOD;
    samples = sampled_keys = rounds = ticks = computations = 0;
    memset(uses, 0, sizeof uses);
    memset(sampled, 0, sizeof sampled);
    densityForgetUses();
    for (int g = 0; g < GROUPS; g++) {
        for (int a = 0; a < DENSITY_AGES; a++) scores[g][a] = densityScoreOf((double)(g + 1) / (a + 1));
    }
}

uint32_t densityMark(uint32_t uses_now) {
    debugAssert(uses_now <= DENSITY_USES_MAX);
    return now << USES_BITS | uses_now;
}

/* Threads that count at once may lose a use. */
static void densityCount(uint32_t mark, uint32_t n) {
    _Atomic uint32_t *cell = &used[densityUses(mark)][densityAge(mark)];
    uint32_t before = atomic_load_explicit(cell, memory_order_relaxed);
    atomic_store_explicit(cell, before + n, memory_order_relaxed);
}

/* The count n goes up with a chance of 2 in 2^n, and always below 2. */
uint32_t densityUse(uint32_t mark, bool counted) {
    uint64_t chance = randomU64();
    uint32_t n = densityUses(mark);
    if (counted && !read_context.reads)
        densityCount(mark, 1);
    else if (counted && (chance >> 32) % READERS_SHARE == 0)
        densityCount(mark, READERS_SHARE);
    bool up = n < DENSITY_USES_MAX && (n < 2 || (chance & ((1u << (n - 1)) - 1)) == 0);
    return densityMark(n + up);
}

void densityNoteSample(uint32_t mark, double keys) {
    sampled[densityUses(mark)][densityAge(mark)] += keys;
    sampled_keys += keys;
    samples++;
}

/* Uses before the first eviction took no time. */
void densityNoteSampled(void) {
    if (rounds == 0) densityForgetUses();
    rounds++;
}

/* A stay from one age on, to be extended while that makes it denser. */
struct densityStay {
    double use;    /* the chance of a use before its end */
    double time;   /* expected */
    double remain; /* the chance that there is none */
};

static double densityOf(const struct densityStay *s) {
    return s->use / s->time;
}

/* From the highest age to the lowest: the stay of an age is its own group, and as many of the stays that
 * begin behind it as are denser than what there is. Each is taken in at most once. */
void densityIndex(const double *rates, double *index) {
    struct densityStay stays[DENSITY_AGES];
    int top = 0;
    for (int a = DENSITY_AGES - 1; a >= 0; a--) {
        double width = densityWidth(a), expected = rates[a] * width;
        double remain = 1 / (1 + expected + expected * expected / 2); /* nearly e^-expected, and faster */
        struct densityStay s = {1 - remain, width * (1 + remain) / 2, remain};
        for (; top && densityOf(&stays[top - 1]) > densityOf(&s); top--) {
            s.use += s.remain * stays[top - 1].use;
            s.time += s.remain * stays[top - 1].time;
            s.remain *= stays[top - 1].remain;
        }
        stays[top++] = s;
        index[a] = densityOf(&s);
    }
}

static void densityFade(void) {
    samples *= KEEP, sampled_keys *= KEEP, rounds *= KEEP, ticks *= KEEP, computations *= KEEP;
    for (int g = 0; g < GROUPS; g++) {
        for (int a = 0; a < DENSITY_AGES; a++) sampled[g][a] *= KEEP, uses[g][a] *= KEEP;
    }
}

static double densitySum(double (*of)[DENSITY_AGES], int from, int to) {
    double sum = 0;
    for (int g = from; g <= to; g++) {
        for (int a = 0; a < DENSITY_AGES; a++) sum += of[g][a];
    }
    return sum;
}

/* Uses per sample; a sample stands for `per_sample` keys on average. */
static double densityRate(double n, double keys, double per_sample, double otherwise) {
    return (n + PRIOR * otherwise) / (keys / per_sample + PRIOR);
}

/* While nothing is evicted, uses take no time. So when there was a pause, there are far more of them than
 * usually, and only a part counts. */
static void densityTakeUses(void) {
    double before = densitySum(uses, 0, GROUPS - 1), taken = 0, share = 1;
    for (int g = 0; g < GROUPS; g++) {
        for (int a = 0; a < DENSITY_AGES; a++)
            taken += atomic_load_explicit(&used[g][a], memory_order_relaxed);
    }
    if (computations > 0 && taken * computations > GROWTH_MAX * (before + computations))
        share = GROWTH_MAX * (before + computations) / (taken * computations);
    for (int g = 0; g < GROUPS; g++) {
        for (int a = 0; a < DENSITY_AGES; a++)
            uses[g][a] += share * atomic_exchange_explicit(&used[g][a], 0, memory_order_relaxed);
    }
    computations++;
}

static void densityCompute(void) {
    densityTakeUses();
    double per_sample = sampled_keys / samples, to_ticks = rounds / per_sample / ticks;
    double all = densitySum(uses, 0, GROUPS - 1) / samples;
    for (int g = 0; g < GROUPS; g++) {
        double rates[DENSITY_AGES], index[DENSITY_AGES];
        double rate = densityRate(densitySum(uses, g, g), densitySum(sampled, g, g), per_sample, all);
        for (int a = 0; a < DENSITY_AGES; a++) {
            rate = densityRate(uses[g][a], sampled[g][a], per_sample, rate);
            rates[a] = rate * to_ticks;
        }
        densityIndex(rates, index);
        for (int a = 0; a < DENSITY_AGES; a++) scores[g][a] = densityScoreOf(index[a]);
    }
    densityFade();
}

void densityNoteEviction(uint64_t keys) {
    if (evictions_left && --evictions_left) return;
    uint64_t next = keys / TICKS_PER_ALL;
    evictions_left = next < TICK_MIN ? TICK_MIN : next > UINT32_MAX ? UINT32_MAX : (uint32_t)next;
    now = (now + 1) & CLOCK_MASK;
    ticks++;
    if (ticks_left && --ticks_left) return;
    ticks_left = PERIOD;
    if (samples > 0) densityCompute();
}

uint32_t densityScore(uint32_t mark) {
    return scores[densityUses(mark)][densityAge(mark)];
}
