/* SPDX-License-Identifier: BSD-3-Clause */
/* rate.c - see rate.h. */
#include "registry/rate.h"

#include "base/clock.h"

void rateSample(struct rate *r, uint64_t now) {
    int64_t now_ms = monotonicUs() / 1000, elapsed = now_ms - r->last_ms;
    if (elapsed <= 0) return;
    if (now < r->last) r->last = 0; /* the counter was reset */
    r->samples[r->next++ % RATE_SAMPLES] = r->last_ms ? (now - r->last) * 1000 / (uint64_t)elapsed : 0;
    r->last = now;
    r->last_ms = now_ms;
}

uint64_t ratePerSecond(const struct rate *r) {
    uint64_t sum = 0;
    for (int i = 0; i < RATE_SAMPLES; i++) sum += r->samples[i];
    return sum / RATE_SAMPLES;
}

void rateReset(struct rate *r) {
    *r = (struct rate){.last_ms = monotonicUs() / 1000};
}
