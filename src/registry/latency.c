/* SPDX-License-Identifier: BSD-3-Clause */
/* latency.c - records spikes; see latency.h.
 *
 *     events -> struct latencyEvent: a ring of samples, one per second that had a spike
 *
 * There are few events, so they are a plain array, searched by name. */
#include "registry/latency.h"

#include "base/assert.h"
#include "base/sds.h"
#include "base/zmalloc.h"

int64_t latency_threshold_ms;

static struct latencyEvent **events;
static size_t event_count;

size_t latencyEventCount(void) {
    return event_count;
}

struct latencyEvent *latencyFind(struct str name) {
    for (size_t i = 0; i < event_count; i++) {
        if (strEq(strOf(events[i]->name), name)) return events[i];
    }
    return NULL;
}

void latencyForEach(void (*fn)(void *priv, struct latencyEvent *e), void *priv) {
    for (size_t i = 0; i < event_count; i++) fn(priv, events[i]);
}

static struct latencyEvent *latencyEventOf(const char *name) {
    struct latencyEvent *e = latencyFind(strOf(name));
    if (e) return e;
    e = zcalloc(1, sizeof *e);
    e->name = sdsnew(name);
    events = zrealloc(events, (event_count + 1) * sizeof *events);
    events[event_count++] = e;
    return e;
}

const struct latencySample *latencySampleAt(const struct latencyEvent *e, int i) {
    serverAssert(i >= 0 && i < LATENCY_SAMPLES);
    return &e->samples[(e->next + i) % LATENCY_SAMPLES];
}

void latencyAddSample(const char *name, int64_t ms) {
    struct latencyEvent *e = latencyEventOf(name);
    uint32_t value = ms > UINT32_MAX ? UINT32_MAX : (uint32_t)ms;
    int64_t now_s = ustime() / 1000000;
    if (value > e->worst_ms) e->worst_ms = value;
    e->sum_ms += value;
    e->count++;
    struct latencySample *last = &e->samples[(e->next + LATENCY_SAMPLES - 1) % LATENCY_SAMPLES];
    if (last->time_s == now_s) {
        if (value > last->ms) last->ms = value;
        return;
    }
    e->samples[e->next] = (struct latencySample){now_s, value};
    e->next = (e->next + 1) % LATENCY_SAMPLES;
}

uint64_t latencyThresholdUs(void) {
    if (latency_threshold_ms == 0 || latency_threshold_ms > INT64_MAX / 1000) return UINT64_MAX;
    return (uint64_t)latency_threshold_ms * 1000;
}

size_t latencyForget(bool (*matches)(void *priv, const char *event), void *priv) {
    size_t before = event_count;
    for (size_t i = event_count; i-- > 0;) {
        if (!matches(priv, events[i]->name)) continue;
        sdsfree(events[i]->name);
        zfree(events[i]);
        events[i] = events[--event_count];
    }
    return before - event_count;
}
