/* SPDX-License-Identifier: BSD-3-Clause */
/* throttle_rate.c - see throttle_rate.h. */
#include "repl/throttle_rate.h"

#include "base/assert.h"

#define ENTRIES (THROTTLE_WINDOW + 1)

static void throttleRateNote(struct throttleRate *t, struct throttleLoad load) {
    t->sizes[t->next] = load.size;
    t->times_ms[t->next] = load.now_ms;
    t->next = (t->next + 1) % ENTRIES;
    if (t->count < ENTRIES) t->count++;
}

/* Returns the bytes a second by which the buffer grows; negative: it shrinks. */
static double throttleRateTrend(const struct throttleRate *t, struct throttleLoad load) {
    int oldest = (t->next + ENTRIES - t->count) % ENTRIES;
    double seconds = (double)(load.now_ms - t->times_ms[oldest]) / 1000;
    return seconds > 0 ? ((double)load.size - (double)t->sizes[oldest]) / seconds : 0;
}

static bool throttleRateIsTooHigh(const struct throttleRate *t, struct throttleLoad load) {
    if (load.size < load.limit / 4) return false;
    double expected = (double)load.size + THROTTLE_HORIZON_S * throttleRateTrend(t, load);
    return expected > (double)throttleTarget(load.limit);
}

static void throttleRateLower(struct throttleRate *t, struct throttleLoad load) {
    double lower = t->limits ? t->rate * THROTTLE_FEWER : load.run;
    if (load.run < lower) lower = load.run;
    t->activations += !t->limits;
    t->fewer++;
    t->limits = true;
    t->unused = 0;
    t->rate = lower < THROTTLE_RATE_LEAST ? THROTTLE_RATE_LEAST : lower;
}

static void throttleRateRaise(struct throttleRate *t, struct throttleLoad load) {
    t->rate *= THROTTLE_MORE;
    t->more++;
    t->unused = load.waits ? 0 : t->unused + 1;
    if (t->unused > THROTTLE_WINDOW || t->rate > THROTTLE_RATE_MOST) t->limits = false;
}

void throttleRateForget(struct throttleRate *t) {
    t->limits = false;
    t->count = t->next = t->unused = 0;
}

double throttleRateReview(struct throttleRate *t, struct throttleLoad load) {
    serverAssert(load.run >= 0 && (!t->limits || t->rate >= THROTTLE_RATE_LEAST));
    throttleRateNote(t, load);
    if (!load.limit)
        t->limits = false;
    else if (throttleRateIsTooHigh(t, load))
        throttleRateLower(t, load);
    else if (t->limits)
        throttleRateRaise(t, load);
    return t->limits ? t->rate : THROTTLE_UNLIMITED;
}
