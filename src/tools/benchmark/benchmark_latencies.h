/* SPDX-License-Identifier: BSD-3-Clause */
/* benchmark_latencies.h - a histogram of latencies with three significant digits at any magnitude. */
#pragma once

#include <stdint.h>

#define LATENCIES_MAX_US ((INT64_C(1) << 36) - 1) /* about 19 hours; longer latencies count as this */

struct latencies;

struct latencies *latenciesCreate(void);
void latenciesFree(struct latencies *h);
/* Records `times` observations of value_us. O(1). */
void latenciesRecord(struct latencies *h, int64_t value_us, int64_t times);
void latenciesMerge(struct latencies *into, const struct latencies *from);

int64_t latenciesCount(const struct latencies *h);
/* The extremes are exact; 0 when nothing was recorded. */
int64_t latenciesMin(const struct latencies *h);
int64_t latenciesMax(const struct latencies *h);
double latenciesMean(const struct latencies *h);
/* Returns the smallest counted value that at least `percent` of the observations do not exceed: too
 * large by at most one part in a thousand, and never above the maximum. 0 when nothing was recorded. */
int64_t latenciesPercentile(const struct latencies *h, double percent);
/* Returns the number of observations whose counted value is at most value_us. */
int64_t latenciesCountUpTo(const struct latencies *h, int64_t value_us);
