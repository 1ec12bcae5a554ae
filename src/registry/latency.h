/* latency.h - where time goes: spikes of the whole server (LATENCY LATEST, HISTORY, GRAPH, DOCTOR), and how
 * long each command takes (LATENCY HISTOGRAM, INFO latencystats).
 *
 * Spikes. Whatever may keep the server from its clients times itself and calls latencyAddSampleIfNeeded. What
 * takes as long as `latency-monitor-threshold` is remembered: per event the last LATENCY_SAMPLES seconds in
 * which there was one, with the worst of each. Off (0) it costs a comparison.
 *
 * Histograms. One per command, made when the command is first called; values in nanoseconds, with an error of
 * less than one in a hundred. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/histogram.h"
#include "base/ticks.h"
#include "command/command.h"

#define LATENCY_SAMPLES 160
#define LATENCY_BITS    7 /* precision of the histograms: two significant digits */

/* ---- Spikes ---- */
extern int64_t latency_threshold_ms; /* latency-monitor-threshold; 0: off */
void latencyAddSample(const char *event, int64_t ms);
static inline void latencyAddSampleIfNeeded(const char *event, int64_t ms) {
    if (__builtin_expect(latency_threshold_ms && ms >= latency_threshold_ms, 0)) latencyAddSample(event, ms);
}
/* The threshold in microseconds, UINT64_MAX when off. */
uint64_t latencyThresholdUs(void);

/* For whoever times something: latencyTimerStart gives 0 when nobody wants to know. */
static inline int64_t latencyTimerStart(void) {
    return latency_threshold_ms ? monotonicUs() : 0;
}
static inline void latencyTimerEnd(const char *event, int64_t started_us) {
    if (started_us) latencyAddSampleIfNeeded(event, (monotonicUs() - started_us) / 1000);
}

/* ---- What DOCTOR and GRAPH look at (latency_report.c) ---- */
struct latencySample {
    int64_t time_s; /* 0: never used */
    uint32_t ms;
};
struct latencyEvent {
    char *name;
    int next;
    uint32_t worst_ms;      /* of all times, */
    uint64_t sum_ms, count; /* as these, of every spike */
    struct latencySample samples[LATENCY_SAMPLES];
};
struct latencyEvent *latencyFind(struct str name); /* NULL: no spike so far */
void latencyForEach(void (*fn)(void *priv, struct latencyEvent *e), void *priv);

/* ---- Histograms ---- */
extern bool latency_tracking;
extern uint64_t latency_ns_per_tick; /* in units of 2^-32 ns; set by latencyStart */
void latencyFirstCall(struct serverCommand *cmd);

/* A command took so many ticks. */
static inline void latencyRecord(struct serverCommand *cmd, uint64_t ticks) {
    if (!latency_tracking) return;
    if (__builtin_expect(!cmd->latency, 0)) latencyFirstCall(cmd);
    unsigned __int128 scaled = (unsigned __int128)ticks * latency_ns_per_tick;
    histogramCount(cmd->latency, LATENCY_BITS, (uint64_t)(scaled >> 32));
}
void latencyResetHistograms(void); /* CONFIG RESETSTAT */

void latencyInit(void);          /* directives, INFO */
void latencyHistogramInit(void); /* by latencyInit; latency_histogram.c */
void latencyStart(void);         /* after the configuration, when the ticks are known */
