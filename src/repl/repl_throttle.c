/* SPDX-License-Identifier: BSD-3-Clause */
/* repl_throttle.c - see repl_throttle.h. */
#include "repl/repl_throttle.h"

#include "base/clock.h"
#include "base/log.h"
#include "client/client_output.h"
#include "client/client_stream.h"
#include "command/throttle.h"
#include "data/lifetime/evict.h"
#include "data/server_state/role.h"
#include "registry/config.h"
#include "registry/cron.h"
#include "registry/info.h"
#include "repl/replicas.h"
#include "repl/throttle_rate.h"

#define GUARDRAIL 100 /* commands a second; INFO counts the seconds with a lower rate */

static bool enabled;
static bool counting; /* `enabled`, as it was at the last review */
static struct throttleRate state;
static double rate = THROTTLE_UNLIMITED;
static uint64_t run_before, throttled_before;
static int64_t reviewed_ms;
static uint64_t below_guardrail_ms;

/* Returns the largest output buffer of a replica that is online. */
static uint64_t replThrottleLargest(void) {
    uint64_t largest = 0;
    listForEach(&replicas, it) {
        const struct replicaClient *r = listEntry(it, struct replicaClient, node);
        if (r->state != REPLICA_ONLINE || r->client->flags & CLIENT_CLOSE_ASAP) continue;
        uint64_t size = clientOutputPending(r->client) + client_stream->pending(r->client);
        if (size > largest) largest = size;
    }
    return largest;
}

static void replThrottleLogChange(double before, uint64_t size) {
    if (before < 0 && rate >= 0)
        serverLog(LL_NOTICE,
                  "A replica cannot keep up (%llu bytes wait for it): clients may run %.0f writes a second",
                  (unsigned long long)size, rate);
    else if (before >= 0 && rate < 0)
        serverLog(LL_NOTICE, "Replicas keep up again: clients may write without a limit");
}

/* The directive has been changed, in a file or at run time. */
static void replThrottleSwitch(int64_t now_ms) {
    counting = enabled;
    throttleEnable(counting);
    if (rate >= 0)
        serverLog(LL_NOTICE, "Clients may write without a limit, as repl-throttling-enabled is no");
    rate = THROTTLE_UNLIMITED;
    throttleRateForget(&state);
    run_before = throttleCountRun();
    reviewed_ms = now_ms;
}

static void replThrottleReview(void) {
    int64_t now_ms = (int64_t)(monotonicUs() / 1000), took_ms = now_ms - reviewed_ms;
    if (enabled != counting) replThrottleSwitch(now_ms);
    if (!counting || took_ms < THROTTLE_STEP_MS / 2) return;
    uint64_t run = throttleCountRun() - run_before, soft = clientOutputSoftLimit(CLIENT_CLASS_REPLICA);
    struct throttleLoad load = {.now_ms = now_ms,
                                .size = replThrottleLargest(),
                                .limit = soft ? soft : clientOutputHardLimit(CLIENT_CLASS_REPLICA),
                                .run = (double)run * 1000 / (double)took_ms,
                                .waits =
                                    throttleCountWaiting() || throttleCountThrottled() != throttled_before};
    double before = rate;
    if (rate >= 0 && rate < GUARDRAIL) below_guardrail_ms += (uint64_t)took_ms;
    rate = throttleRateReview(&state, load);
    run_before += run;
    throttled_before = throttleCountThrottled();
    reviewed_ms = now_ms;
    if (rate != before) throttleSetRate(rate);
    replThrottleLogChange(before, load.size);
}

/* A replica that slows clients down is given the time that this takes to have an effect. */
static bool replThrottleExcuses(const struct client *c) {
    return rate >= 0 && c->replica->state == REPLICA_ONLINE && !(evictLimit() && evictOverLimit());
}

/* ---- Registration ---- */

static sds replThrottleInfo(sds s) {
    uint64_t guardrail_s = below_guardrail_ms / 1000;
    if (guardrail_s) s = infoField(s, "throttle_repl_guardrail_secs:%llu", (unsigned long long)guardrail_s);
    s = infoField(s, "repl_throttle_rate:%.2f", rate);
    s = infoField(s, "repl_throttle_activation_events:%llu", (unsigned long long)state.activations);
    s = infoField(s, "repl_throttle_below_guardrail_secs:%llu", (unsigned long long)guardrail_s);
    return infoField(s, "repl_throttle_total_commands:%llu", (unsigned long long)throttleCountThrottled());
}

static sds replThrottleDebugInfo(sds s) {
    s = infoField(s, "repl_throttle_more_events:%llu", (unsigned long long)state.fewer);
    s = infoField(s, "repl_throttle_less_events:%llu", (unsigned long long)state.more);
    return infoField(s, "repl_throttle_current_clients:%zu", throttleCountWaiting());
}

static void replThrottleResetStats(void) {
    state.activations = state.fewer = state.more = below_guardrail_ms = 0;
}

void replThrottleInit(void) {
    static struct configDirective directives[] = {
        CONFIG_BOOL("repl-throttling-enabled", NULL, CONFIG_MODIFIABLE, &enabled, false, NULL),
    };
    configRegister(directives, sizeof directives / sizeof *directives);
    cronRegister(replThrottleReview, THROTTLE_STEP_MS);
    client_soft_excuse = replThrottleExcuses;
    configOnResetStat(replThrottleResetStats);
    infoRegister("throttling", replThrottleInfo);
    infoRegister("debug", replThrottleDebugInfo);
}
