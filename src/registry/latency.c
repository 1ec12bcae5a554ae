/* latency.c - spikes: remembering them, and LATENCY LATEST, HISTORY and RESET; see latency.h.
 *
 *     events -> struct latencyEvent: a ring of samples, one per second that had a spike
 *
 * There are few events, so they are a plain array, looked through by name. */
#include "registry/latency.h"

#include "base/assert.h"
#include "base/zmalloc.h"
#include "command/command.h"
#include "commands/server.h"
#include "commands/grammar.h"
#include "command/commandlog.h"
#include "registry/config.h"
#include "registry/cron.h"
#include "client/reply.h"

int64_t latency_threshold_ms;

static struct latencyEvent **events;
static size_t event_count;

/* ---- Samples ---- */

struct latencyEvent *latencyFind(struct str name) {
    for (size_t i = 0; i < event_count; i++) {
        if (strEq(strOf(events[i]->name), name)) return events[i];
    }
    return NULL;
}

void latencyForEach(void (*fn)(void *priv, struct latencyEvent *e), void *priv) {
    for (size_t i = 0; i < event_count; i++) fn(priv, events[i]);
}

static struct latencyEvent *eventOf(const char *name) {
    struct latencyEvent *e = latencyFind(strOf(name));
    if (e) return e;
    e = zcalloc(1, sizeof *e);
    e->name = sdsnew(name);
    events = zrealloc(events, (event_count + 1) * sizeof *events);
    events[event_count++] = e;
    return e;
}

static struct latencySample *lastSample(struct latencyEvent *e) {
    return &e->samples[(e->next + LATENCY_SAMPLES - 1) % LATENCY_SAMPLES];
}

void latencyAddSample(const char *name, int64_t ms) {
    struct latencyEvent *e = eventOf(name);
    uint32_t value = ms > UINT32_MAX ? UINT32_MAX : (uint32_t)ms;
    int64_t now_s = ustime() / 1000000;
    if (value > e->worst_ms) e->worst_ms = value;
    e->sum_ms += value;
    e->count++;
    struct latencySample *last = lastSample(e);
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

static void dropEvent(size_t i) {
    sdsfree(events[i]->name);
    zfree(events[i]);
    events[i] = events[--event_count];
}

/* ---- Commands ---- */

static void replyLatest(void *priv, struct latencyEvent *e) {
    struct client *c = priv;
    const struct latencySample *last = lastSample(e);
    replyArrayLen(c, 6);
    replyBulkCstr(c, e->name);
    replyLongLong(c, last->time_s);
    replyLongLong(c, last->ms);
    replyLongLong(c, e->worst_ms);
    replyLongLong(c, (int64_t)e->sum_ms);
    replyLongLong(c, (int64_t)e->count);
}

void latencyLatestCommand(struct client *c) {
    replyArrayLen(c, (int64_t)event_count);
    latencyForEach(replyLatest, c);
}

void latencyHistoryCommand(struct client *c) {
    struct latencyEvent *e = latencyFind(c->argv[2]);
    struct replyMark mark = replyDeferLen(c);
    int64_t n = 0;
    for (int i = 0; e && i < LATENCY_SAMPLES; i++) {
        const struct latencySample *sample = &e->samples[(e->next + i) % LATENCY_SAMPLES];
        if (!sample->time_s) continue;
        replyArrayLen(c, 2);
        replyLongLong(c, sample->time_s);
        replyLongLong(c, sample->ms);
        n++;
    }
    replySetArrayLen(c, mark, n);
}

static bool named(const struct client *c, const char *event) {
    for (int i = 2; i < c->argc; i++) {
        if (strEq(c->argv[i], strOf(event))) return true;
    }
    return c->argc == 2;
}

void latencyResetCommand(struct client *c) {
    int64_t dropped = 0;
    for (size_t i = event_count; i-- > 0;) {
        if (!named(c, events[i]->name)) continue;
        dropEvent(i);
        dropped++;
    }
    replyLongLong(c, dropped);
}

void latencyHelpCommand(struct client *c) {
    replyHelp(c, (const char *[]){
                     "DOCTOR",
                     "    What the spikes may come from, in words.",
                     "GRAPH <event>",
                     "    The spikes of an event as a drawing.",
                     "HISTOGRAM [<command> ...]",
                     "    How long calls took, for all commands or those given: calls that took up to 1, 2,",
                     "    4 ... microseconds.",
                     "HISTORY <event>",
                     "    Time and milliseconds of an event's spikes.",
                     "LATEST",
                     "    The last and the worst spike of every event, the sum and the number of all.",
                     "RESET [<event> ...]",
                     "    Forget the spikes of these events, or of all; answers how many were known.",
                     NULL,
                 });
}

/* ---- Registration ---- */

static bool applyThreshold(const char **err) {
    (void)err;
    callLimitsRefresh();
    return true;
}

void latencyInit(void) {
    static struct configDirective directives[] = {
        CONFIG_INT("latency-monitor-threshold", NULL, CONFIG_MODIFIABLE, &latency_threshold_ms, 0, 0,
                   INT64_MAX, applyThreshold),
    };
    configRegister(directives, sizeof directives / sizeof *directives);
    latencyHistogramInit();
}
