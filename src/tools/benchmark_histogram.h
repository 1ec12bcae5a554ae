/* benchmark_histogram.h - latencies counted with three significant digits, whatever their magnitude. */
#pragma once

#include <stdint.h>

#define HISTOGRAM_MAX_US ((INT64_C(1) << 36) - 1) /* about 19 hours; what is longer counts as this */

struct histogram;

struct histogram *histogramCreate(void);
void histogramFree(struct histogram *h);
void histogramReset(struct histogram *h);
/* Record `times` observations of value_us. Constant time. */
void histogramRecord(struct histogram *h, int64_t value_us, int64_t times);
void histogramMerge(struct histogram *into, const struct histogram *from);

int64_t histogramCount(const struct histogram *h);
/* Exact; 0 when nothing was recorded. */
int64_t histogramMin(const struct histogram *h);
int64_t histogramMax(const struct histogram *h);
double histogramMean(const struct histogram *h);
/* The smallest counted value that at least `percent` of the observations do not exceed: too large by at most
 * one part in a thousand, and never above the maximum. 0 when nothing was recorded. */
int64_t histogramPercentile(const struct histogram *h, double percent);
/* Observations whose counted value is at most value_us. */
int64_t histogramCountUpTo(const struct histogram *h, int64_t value_us);
