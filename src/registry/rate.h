/* SPDX-License-Identifier: BSD-3-Clause */
/* rate.h - how fast a counter grows: the mean over the last samples, for INFO's instantaneous_... fields. */
#pragma once

#include <stdint.h>

#define RATE_SAMPLES   16
#define RATE_PERIOD_MS 100 /* period in which rateSample has to be called */

struct rate {
    uint64_t last, samples[RATE_SAMPLES];
    int64_t last_ms;
    int next;
};
void rateSample(struct rate *r, uint64_t now); /* the counter's value */
uint64_t ratePerSecond(const struct rate *r);
/* Starts anew, after the counter was reset: a mean across that moment would be wrong. */
void rateReset(struct rate *r);
