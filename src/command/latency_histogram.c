/* SPDX-License-Identifier: BSD-3-Clause */
/* latency_histogram.c - see latency_histogram.h. */
#include "command/latency_histogram.h"

#include "base/ticks.h"
#include "registry/config.h"

#define MAX_NS UINT64_C(1000000000)

bool latency_tracking;
uint64_t latency_ns_per_tick;

struct histogram *latencyHistogramCreate(void) {
    return histogramCreate(LATENCY_BITS, MAX_NS);
}

void latencyHistogramInit(void) {
    static struct configDirective directives[] = {
        CONFIG_BOOL("latency-tracking", NULL, CONFIG_MODIFIABLE, &latency_tracking, true, NULL),
    };
    configRegister(directives, sizeof directives / sizeof *directives);
}

void latencyStart(void) {
    latency_ns_per_tick = (uint64_t)((1000.0 / (double)ticks_per_us) * 4294967296.0);
}
