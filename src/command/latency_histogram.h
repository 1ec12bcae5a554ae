/* SPDX-License-Identifier: BSD-3-Clause */
/* latency_histogram.h - how long each command takes: a histogram for each, made when it is first called;
 * values in nanoseconds, with an error of less than one in a hundred. LATENCY HISTOGRAM and INFO latencystats
 * show them (metrics/latency_histogram_command.c). */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/histogram.h"

#define LATENCY_BITS 7 /* precision: two significant digits */

extern bool latency_tracking;
extern uint64_t latency_ns_per_tick; /* in units of 2^-32 ns; set by latencyStart */
struct histogram *latencyHistogramCreate(void);

/* Records a call that took so many ticks. NULL histogram: it is the command's first call. */
static inline void latencyRecord(struct histogram **h, uint64_t ticks) {
    if (!latency_tracking) return;
    if (__builtin_expect(!*h, 0)) *h = latencyHistogramCreate();
    unsigned __int128 scaled = (unsigned __int128)ticks * latency_ns_per_tick;
    histogramCount(*h, LATENCY_BITS, (uint64_t)(scaled >> 32));
}

void latencyHistogramInit(void); /* latency-tracking */
void latencyStart(void);         /* after the configuration, when the ticks are known */
