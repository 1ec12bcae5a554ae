/* SPDX-License-Identifier: BSD-3-Clause */
/* recent.c - see recent.h. */
#include "web/recent.h"

#include <string.h>

#include "base/assert.h"
#include "base/clock.h"
#include "base/zmalloc.h"
#include "data/keyspace/db.h"
#include "registry/cron.h"
#include "registry/info.h"
#include "web/info_view.h"
#include "web/json.h"

/* Series with fields are the sum of those fields of INFO, in the order of INFO's report; the others are read
 * directly, because INFO would visit all clients for them. */
static const struct {
    const char *name, *field, *second_field;
} all_series[RECENT_SERIES] = {
    [RECENT_COMMANDS] = {"commands", "total_commands_processed", NULL},
    [RECENT_ACTIVE_S] = {"active_s", "used_active_time_main_thread", NULL},
    [RECENT_CPU_S] = {"cpu_s", "used_cpu_user", "used_cpu_sys"},
    [RECENT_MEMORY] = {"memory", NULL, NULL},
    [RECENT_KEYS] = {"keys", NULL, NULL},
    [RECENT_EXPIRING] = {"expiring", NULL, NULL},
    [RECENT_HITS] = {"hits", "keyspace_hits", NULL},
    [RECENT_MISSES] = {"misses", "keyspace_misses", NULL},
    [RECENT_EXPIRED] = {"expired", "expired_keys", NULL},
    [RECENT_EVICTED] = {"evicted", "evicted_keys", NULL},
    [RECENT_CLIENTS] = {"clients", "connected_clients", NULL},
    [RECENT_REJECTED] = {"rejected", "rejected_connections", NULL},
    [RECENT_DROPPED] = {"dropped", "client_output_buffer_limit_disconnections", NULL},
    [RECENT_INPUT] = {"input", "total_net_input_bytes", NULL},
    [RECENT_OUTPUT] = {"output", "total_net_output_bytes", NULL},
    [RECENT_OFFSET] = {"offset", "master_repl_offset", NULL},
    [RECENT_REFUSED_PARTIAL] = {"refused_partial", "sync_partial_err", NULL},
    [RECENT_DELAYED_FSYNCS] = {"delayed_fsyncs", "aof_delayed_fsync", NULL},
    [RECENT_FAILED_LOGINS] = {"failed_logins", "acl_access_denied_auth", NULL},
};

/* ---- The ring ---- */

void recentAdd(struct recent *h, const struct recentSample *sample) {
    h->samples[h->next] = *sample;
    h->next = (h->next + 1) % RECENT_SAMPLES;
    if (h->count < RECENT_SAMPLES) h->count++;
}

const struct recentSample *recentAt(const struct recent *h, int i) {
    serverAssert(i >= 0 && i < h->count);
    return &h->samples[(h->next - h->count + i + RECENT_SAMPLES) % RECENT_SAMPLES];
}

int64_t recentSpanMs(const struct recent *h) {
    return h->count ? recentAt(h, h->count - 1)->time_ms - recentAt(h, 0)->time_ms : 0;
}

double recentIncrease(const struct recent *h, enum recentSeries series) {
    double sum = 0;
    for (int i = 1; i < h->count; i++) {
        double step = recentAt(h, i)->values[series] - recentAt(h, i - 1)->values[series];
        if (step > 0) sum += step;
    }
    return sum;
}

double recentChange(const struct recent *h, enum recentSeries series) {
    if (!h->count) return 0;
    return recentAt(h, h->count - 1)->values[series] - recentAt(h, 0)->values[series];
}

sds recentAppendJson(sds s, const struct recent *h, int64_t offset_ms) {
    s = jsonNameNumber(jsonOpen(s, '{'), "period_ms", RECENT_PERIOD_MS);
    s = jsonOpen(jsonName(s, STR("times")), '[');
    for (int i = 0; i < h->count; i++) s = jsonNumber(s, (double)(recentAt(h, i)->time_ms + offset_ms));
    s = jsonOpen(jsonName(jsonClose(s, ']'), STR("series")), '{');
    for (int k = 0; k < RECENT_SERIES; k++) {
        s = jsonOpen(jsonName(s, strOf(all_series[k].name)), '[');
        for (int i = 0; i < h->count; i++) s = jsonNumber(s, recentAt(h, i)->values[k]);
        s = jsonClose(s, ']');
    }
    return jsonClose(jsonClose(s, '}'), '}');
}

/* ---- Sampling ---- */

static struct recent *ring; /* NULL: not enabled */

static void recentReadInfo(struct recentSample *sample) {
    const struct str sections[] = {STR("clients"), STR("persistence"), STR("stats"), STR("replication"),
                                   STR("cpu")};
    struct infoView info;
    infoViewOpen(&info, infoText(sections, sizeof sections / sizeof *sections));
    for (int k = 0; k < RECENT_SERIES; k++) {
        if (all_series[k].field) sample->values[k] += infoViewNumber(&info, all_series[k].field);
        if (all_series[k].second_field)
            sample->values[k] += infoViewNumber(&info, all_series[k].second_field);
    }
    infoViewClose(&info);
}

static void recentSample(void) {
    if (!ring) return;
    struct recentSample sample = {.time_ms = monotonicUs() / 1000};
    sample.values[RECENT_MEMORY] = (double)zmallocUsedMemory();
    for (int i = 0; i < dbCount(); i++) {
        sample.values[RECENT_KEYS] += (double)keyspaceShownSize(&dbGet(i)->keyspace);
        sample.values[RECENT_EXPIRING] += (double)keyspaceShownExpires(&dbGet(i)->keyspace);
    }
    recentReadInfo(&sample);
    recentAdd(ring, &sample);
}

void recentInit(void) {
    cronRegister(recentSample, RECENT_PERIOD_MS);
}

void recentSetEnabled(bool enabled) {
    if (enabled == (ring != NULL)) return;
    if (enabled) {
        ring = zcalloc(1, sizeof *ring);
        return;
    }
    zfree(ring);
    ring = NULL;
}

const struct recent *recentCurrent(void) {
    static const struct recent none;
    return ring ? ring : &none;
}

sds recentMakeJson(void) {
    return recentAppendJson(sdsempty(), recentCurrent(), mstime() - monotonicUs() / 1000);
}
