/* SPDX-License-Identifier: BSD-3-Clause */
/* supervisor.c - creation and ticks of a supervisor, TILT, adding and removing primaries, sending events.
 *
 * A tick goes from each primary to its replicas and its Sentinels:
 *
 *     every instance   channels ─▶ PING, INFO, hello ─▶ (not in TILT) s_down
 *     a primary        ... ─▶ o_down ─▶ start a failover? ─▶ one step of it ─▶ ask other Sentinels
 *     at last          a completed failover: the primary's address changes
 *
 * TILT: when the time between two ticks is impossible (the process stood still, or the clock was set), known
 * ages are worthless. Then only the first two steps are done for a while. */
#include <stdio.h>
#include <string.h>

#include "base/glob.h"
#include "base/zmalloc.h"
#include "sentinel/supervisor_private.h"

/* ---- Events ---- */

static void supervisorEmit(struct supervisor *s, enum eventLevel level, const char *name,
                           const struct instance *about, sds payload) {
    s->env->event(s->ctx, level, name, payload);
    const struct instance *primary = about && about->primary ? about->primary : about;
    if (level == EVENT_WARNING && primary && primary->p.notification_script)
        s->env->script(s->ctx, primary->p.notification_script, 2, (const char *[]){name, payload});
    sdsfree(payload);
}

void supervisorEvent(struct supervisor *s, enum eventLevel level, const char *name, const struct instance *i,
                     const char *tail, ...) {
    sds payload = sdsempty();
    if (i)
        payload = sdscatprintf(payload, "%s %s %s %d", instanceKindText(i), i->name,
                               hostAddressText(s, &i->address), i->address.port);
    if (i && i->primary)
        payload = sdscatprintf(payload, " @ %s %s %d", i->primary->name,
                               hostAddressText(s, &i->primary->address), i->primary->address.port);
    va_list ap;
    va_start(ap, tail);
    payload = sdscatvprintf(payload, tail, ap);
    va_end(ap);
    supervisorEmit(s, level, name, i, payload);
}

void supervisorEventText(struct supervisor *s, enum eventLevel level, const char *name,
                         const struct instance *primary, const char *fmt, ...) {
    va_list ap;
    va_start(ap, fmt);
    sds payload = sdscatvprintf(sdsempty(), fmt, ap);
    va_end(ap);
    supervisorEmit(s, level, name, primary, payload);
}

void supervisorLog(struct supervisor *s, int level, const char *fmt, ...) {
    va_list ap;
    va_start(ap, fmt);
    sds line = sdscatvprintf(sdsempty(), fmt, ap);
    va_end(ap);
    s->env->log(s->ctx, level, line);
    sdsfree(line);
}

bool supervisorSave(struct supervisor *s) {
    return s->env->save(s->ctx);
}

void supervisorTakeEpoch(struct supervisor *s, const struct instance *primary, uint64_t epoch) {
    if (epoch <= s->current_epoch || epoch > EPOCH_MAX) return;
    s->current_epoch = epoch;
    supervisorSave(s);
    supervisorEventText(s, EVENT_WARNING, "+new-epoch", primary, "%llu", (unsigned long long)epoch);
}

/* ---- Creation ---- */

void supervisorInit(struct supervisor *s, const struct supervisorEnv *env, void *ctx, int64_t now_ms) {
    *s = (struct supervisor){
        .env = env,
        .ctx = ctx,
        .now_ms = now_ms,
        .next_instance = 1,
        .timers = {.info_period = 10000,
                   .ping_period = 1000,
                   .ask_period = 1000,
                   .publish_period = 2000,
                   .default_down_after = DOWN_AFTER_MS,
                   .default_failover_timeout = FAILOVER_TIMEOUT_MS,
                   .tilt_trigger = 2000,
                   .tilt_period = 30000,
                   .replica_reconf_timeout = 10000,
                   .min_link_reconnect_period = 15000,
                   .election_timeout = 10000,
                   .script_max_runtime = 60000,
                   .script_retry_delay = 30000},
        .settings = {.deny_scripts_reconfig = true},
    };
}

void supervisorMonitorEvent(struct supervisor *s, const struct instance *primary) {
    supervisorEvent(s, EVENT_WARNING, "+monitor", primary, " quorum %d", primary->p.quorum);
}

static void supervisorMakeId(struct supervisor *s) {
    for (int i = 0; i < RUN_ID_LEN; i++) s->my_id[i] = "0123456789abcdef"[s->env->random(s->ctx) % 16];
    s->my_id[RUN_ID_LEN] = '\0';
}

void supervisorStart(struct supervisor *s, int64_t now_ms) {
    s->now_ms = now_ms;
    if (!s->my_id[0]) {
        supervisorMakeId(s);
        supervisorSave(s);
    }
    supervisorLog(s, LL_NOTICE, "The ID of this Sentinel is %s", s->my_id);
    for (int i = 0; i < s->primaries.count; i++) supervisorMonitorEvent(s, s->primaries.items[i]);
}

void supervisorDestroy(struct supervisor *s) {
    while (s->primaries.count) instanceRemove(s, s->primaries.items[s->primaries.count - 1]);
    zfree(s->primaries.items);
    s->primaries.items = NULL;
    sdsfree(s->settings.announce_ip);
    sdsfree(s->settings.sentinel_user);
    sdsfree(s->settings.sentinel_pass);
    sdsfree(s->settings.own_password);
}

/* ---- TILT ---- */

static void supervisorClampTime(const struct supervisor *s, int64_t *time_ms) {
    if (*time_ms > s->now_ms) *time_ms = s->now_ms;
}

static void supervisorClampLinkTimes(const struct supervisor *s, struct peerLink *link) {
    supervisorClampTime(s, &link->since_ms[CHANNEL_COMMAND]);
    supervisorClampTime(s, &link->since_ms[CHANNEL_PUBSUB]);
    supervisorClampTime(s, &link->pubsub_received_ms);
    supervisorClampTime(s, &link->reconnect_ms);
    supervisorClampTime(s, &link->ping_ms);
    supervisorClampTime(s, &link->last_ping_ms);
    supervisorClampTime(s, &link->good_pong_ms);
    supervisorClampTime(s, &link->pong_ms);
}

static void supervisorClampInstanceTimes(struct supervisor *s, struct instance *i) {
    supervisorClampLinkTimes(s, i->link);
    supervisorClampTime(s, &i->hello_sent_ms);
    supervisorClampTime(s, &i->s_down_ms);
    supervisorClampTime(s, &i->o_down_ms);
    supervisorClampTime(s, &i->info_ms);
    supervisorClampTime(s, &i->role_reported_ms);
    supervisorClampTime(s, &i->reboot_ms);
    if (i->kind == KIND_REPLICA) {
        supervisorClampTime(s, &i->r.reconf_sent_ms);
        supervisorClampTime(s, &i->r.conf_change_ms);
        supervisorClampTime(s, &i->r.pause_asked_ms);
        supervisorClampTime(s, &i->r.pause_sure_ms);
        supervisorClampTime(s, &i->r.paused_ms);
    } else if (i->kind == KIND_SENTINEL) {
        supervisorClampTime(s, &i->s.hello_ms);
        supervisorClampTime(s, &i->s.down_reply_ms);
    } else {
        supervisorClampTime(s, &i->p.failover_state_ms);
        supervisorClampTime(s, &i->p.failover_start_ms);
        supervisorClampTime(s, &i->p.failover_begun_ms);
    }
}

static void supervisorForEachInstance(struct supervisor *s, const struct instances *all,
                                      void (*fn)(struct supervisor *s, struct instance *i)) {
    for (int k = 0; k < all->count; k++) fn(s, all->items[k]);
}

/* After the clock was set back, times in the future would delay everything until the clock has caught up. */
static void supervisorClampAllTimes(struct supervisor *s) {
    supervisorForEachInstance(s, &s->primaries, supervisorClampInstanceTimes);
    for (int i = 0; i < s->primaries.count; i++) {
        supervisorForEachInstance(s, &s->primaries.items[i]->p.replicas, supervisorClampInstanceTimes);
        supervisorForEachInstance(s, &s->primaries.items[i]->p.sentinels, supervisorClampInstanceTimes);
    }
}

static void supervisorCheckTilt(struct supervisor *s) {
    int64_t gap = s->previous_tick_ms ? s->now_ms - s->previous_tick_ms : 0;
    s->previous_tick_ms = s->now_ms;
    if (gap < 0) supervisorClampAllTimes(s);
    if (gap < 0 || gap > s->timers.tilt_trigger) {
        s->tilt = true;
        s->total_tilt++;
        s->tilt_ms = s->now_ms;
        supervisorEvent(s, EVENT_WARNING, "+tilt", NULL, "#tilt mode entered");
    } else if (s->tilt && s->now_ms - s->tilt_ms >= s->timers.tilt_period) {
        s->tilt = false;
        supervisorEvent(s, EVENT_WARNING, "-tilt", NULL, "#tilt mode exited");
    }
}

/* ---- Ticks ---- */

static void supervisorInstanceTick(struct supervisor *s, struct instance *i) {
    peerLinkTick(s, i);
    periodicTick(s, i);
    if (!s->tilt) downSubjectiveTick(s, i);
}

static void supervisorPrimaryTick(struct supervisor *s, struct instance *primary) {
    supervisorInstanceTick(s, primary);
    pauseTick(s, primary);
    if (!s->tilt) {
        downObjectiveTick(s, primary);
        if (failoverStartIfNeeded(s, primary)) downSendQuestions(s, primary, true);
        failoverTick(s, primary);
        downSendQuestions(s, primary, false);
    }
    supervisorForEachInstance(s, &primary->p.replicas, supervisorInstanceTick);
    supervisorForEachInstance(s, &primary->p.sentinels, supervisorInstanceTick);
    if (primary->p.failover_state == FAILOVER_UPDATE_CONFIG) failoverFinish(s, primary);
}

void supervisorTick(struct supervisor *s, int64_t now_ms) {
    s->now_ms = now_ms;
    supervisorCheckTilt(s);
    supervisorForEachInstance(s, &s->primaries, supervisorPrimaryTick);
}

/* ---- Primaries ---- */

struct instance *supervisorFindPrimary(struct supervisor *s, const char *name) {
    return instancesFindName(&s->primaries, name);
}

struct instance *supervisorMonitor(struct supervisor *s, const char *name, const char *host, int port,
                                   int quorum, const char **err) {
    struct hostAddress address = {0};
    struct instance *primary = NULL;
    if (quorum <= 0)
        *err = "Quorum must be 1 or greater.";
    else if (!hostAddressInit(s, &address, host, port, false))
        *err = "Can't resolve instance hostname.";
    else if (port < 0 || port > UINT16_MAX)
        *err = "Invalid port number.";
    else if (supervisorFindPrimary(s, name))
        *err = "Duplicate master name.";
    else
        primary = instanceCreate(s, KIND_PRIMARY, name, &address, NULL);
    hostAddressFree(&address);
    if (primary) primary->p.quorum = quorum;
    return primary;
}

void supervisorRemove(struct supervisor *s, struct instance *primary) {
    supervisorEvent(s, EVENT_WARNING, "-monitor", primary, "%s", "");
    instanceRemove(s, primary);
}

static void supervisorRemoveAll(struct supervisor *s, struct instances *all) {
    while (all->count) instanceRemove(s, all->items[all->count - 1]);
}

/* Forgets everything about the server at the old address, except the vote. */
static void supervisorForgetServer(struct supervisor *s, struct instance *primary) {
    struct primaryState *p = &primary->p;
    linkRelease(s, primary->link, primary);
    primary->link = linkCreate(s, primary);
    primary->flags = 0;
    primary->run_id[0] = '\0';
    primary->s_down_ms = primary->o_down_ms = primary->reboot_ms = 0;
    primary->reports_replica = primary->failing_over = false;
    primary->role_reported_ms = s->now_ms;
    p->leader[0] = '\0';
    p->failover_state = FAILOVER_NONE;
    p->failover_state_ms = p->failover_start_ms = 0;
    p->promoted = NULL;
    p->sync_replicas = -1;
    primary->info_ms = 0; /* the one at the new address is asked at once */
    primary->replid[0] = primary->replid2[0] = '\0';
}

static void supervisorReset(struct supervisor *s, struct instance *primary) {
    supervisorRemoveAll(s, &primary->p.replicas);
    supervisorRemoveAll(s, &primary->p.sentinels);
    supervisorForgetServer(s, primary);
    supervisorEvent(s, EVENT_WARNING, "+reset-master", primary, "%s", "");
}

int supervisorResetMatching(struct supervisor *s, struct str pattern, int64_t now_ms) {
    s->now_ms = now_ms;
    int count = 0;
    for (int i = 0; i < s->primaries.count; i++) {
        struct instance *primary = s->primaries.items[i];
        if (!globMatch(pattern, sdsview(primary->name), false)) continue;
        supervisorReset(s, primary);
        count++;
    }
    return count;
}

/* Returns the replicas after the switch: the present ones without the one at `to`, plus
 * the primary's old address. */
static struct hostAddress *supervisorListReplicasAfterSwitch(const struct instance *primary,
                                                             const struct hostAddress *to, int *count) {
    const struct instances *replicas = &primary->p.replicas;
    struct hostAddress *all = zmalloc((size_t)(replicas->count + 1) * sizeof *all);
    *count = 0;
    for (int i = 0; i < replicas->count; i++) {
        if (!hostAddressIsSame(&replicas->items[i]->address, to))
            hostAddressCopy(&all[(*count)++], &replicas->items[i]->address);
    }
    if (!hostAddressIsSame(&primary->address, to) && !instancesFindAddress(replicas, &primary->address))
        hostAddressCopy(&all[(*count)++], &primary->address);
    return all;
}

void primarySwitchAddress(struct supervisor *s, struct instance *primary, const struct hostAddress *to) {
    struct hostAddress address;
    hostAddressCopy(&address, to); /* `to` may belong to a replica that is removed */
    int count;
    struct hostAddress *replicas = supervisorListReplicasAfterSwitch(primary, &address, &count);
    char replid[RUN_ID_LEN + 1] = "";
    const struct instance *promoted = instancesFindAddress(&primary->p.replicas, &address);
    if (promoted) memcpy(replid, promoted->replid, sizeof replid);
    supervisorRemoveAll(s, &primary->p.replicas);
    hostAddressFree(&primary->address);
    primary->address = address;
    supervisorForgetServer(s, primary);
    memcpy(primary->replid, replid, sizeof replid); /* or its predecessor, which its replicas know as well */
    for (int i = 0; i < count; i++) {
        struct instance *replica = instanceCreate(s, KIND_REPLICA, NULL, &replicas[i], primary);
        supervisorEvent(s, EVENT_NOTICE, "+slave", replica, "%s", "");
        hostAddressFree(&replicas[i]);
    }
    zfree(replicas);
    supervisorSave(s);
}

/* ---- Requests of users ---- */

struct quorumCheck supervisorCheckQuorum(const struct instance *primary) {
    const struct instances *sentinels = &primary->p.sentinels;
    int voters = sentinels->count + 1, usable = 1;
    for (int i = 0; i < sentinels->count; i++) usable += !(sentinels->items[i]->flags & FLAG_S_DOWN);
    return (struct quorumCheck){
        .usable = usable, .quorum = usable >= primary->p.quorum, .majority = usable >= voters / 2 + 1};
}

const struct hostAddress *supervisorCurrentAddress(const struct instance *primary) {
    const struct primaryState *p = &primary->p;
    return p->promoted && p->failover_state >= FAILOVER_RECONF_REPLICAS ? &p->promoted->address
                                                                        : &primary->address;
}

void supervisorSpreadDownAfter(struct instance *primary) {
    const struct instances *all[] = {&primary->p.replicas, &primary->p.sentinels};
    for (int k = 0; k < 2; k++) {
        for (int i = 0; i < all[k]->count; i++) all[k]->items[i]->down_after_ms = primary->down_after_ms;
    }
}
