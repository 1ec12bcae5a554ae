/* SPDX-License-Identifier: BSD-3-Clause */
/* supervisor.c - the life of a supervisor: its beginning, its ticks, TILT; primaries that come, go and move;
 * and how events are told.
 *
 * A tick goes from each primary to its replicas and its Sentinels:
 *
 *     every instance   channels ─▶ PING, INFO, hello ─▶ (not in TILT) s_down
 *     a primary        ... ─▶ o_down ─▶ start a failover? ─▶ one step of it ─▶ ask the others
 *     at last          a failover that is through: the primary moves
 *
 * TILT: when the time between two ticks makes no sense (the process stood still, or the clock was set), what
 * is known about ages is worth nothing. Then for a while only the first two steps are done. */
#include <stdio.h>
#include <string.h>

#include "base/glob.h"
#include "base/zmalloc.h"
#include "sentinel/supervisor_private.h"

/* ---- Telling ---- */

static void supervisorEmit(struct supervisor *s, enum eventLevel level, const char *name,
                           const struct instance *about, sds payload) {
    s->env->event(s->w, level, name, payload);
    const struct instance *primary = about && about->primary ? about->primary : about;
    if (level == EVENT_WARNING && primary && primary->p.notification_script)
        s->env->script(s->w, primary->p.notification_script, 2, (const char *[]){name, payload});
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
    s->env->log(s->w, level, line);
    sdsfree(line);
}

bool supervisorSave(struct supervisor *s) {
    return s->env->save(s->w);
}

void supervisorTakeEpoch(struct supervisor *s, const struct instance *primary, uint64_t epoch) {
    if (epoch <= s->current_epoch || epoch > EPOCH_MAX) return;
    s->current_epoch = epoch;
    supervisorSave(s);
    supervisorEventText(s, EVENT_WARNING, "+new-epoch", primary, "%llu", (unsigned long long)epoch);
}

/* ---- Beginning and end ---- */

void supervisorInit(struct supervisor *s, const struct supervisorEnv *env, void *w, int64_t now_ms) {
    *s = (struct supervisor){
        .env = env,
        .w = w,
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

static void supervisorNewId(struct supervisor *s) {
    for (int i = 0; i < RUN_ID_LEN; i++) s->my_id[i] = "0123456789abcdef"[s->env->random(s->w) % 16];
    s->my_id[RUN_ID_LEN] = '\0';
}

void supervisorBegin(struct supervisor *s, int64_t now_ms) {
    s->now_ms = now_ms;
    if (!s->my_id[0]) {
        supervisorNewId(s);
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

static void supervisorNotAhead(const struct supervisor *s, int64_t *time_ms) {
    if (*time_ms > s->now_ms) *time_ms = s->now_ms;
}

static void supervisorLinkTimesNotAhead(const struct supervisor *s, struct peerLink *link) {
    supervisorNotAhead(s, &link->since_ms[CHANNEL_COMMAND]);
    supervisorNotAhead(s, &link->since_ms[CHANNEL_PUBSUB]);
    supervisorNotAhead(s, &link->pubsub_received_ms);
    supervisorNotAhead(s, &link->reconnect_ms);
    supervisorNotAhead(s, &link->ping_ms);
    supervisorNotAhead(s, &link->last_ping_ms);
    supervisorNotAhead(s, &link->good_pong_ms);
    supervisorNotAhead(s, &link->pong_ms);
}

static void supervisorInstanceTimesNotAhead(struct supervisor *s, struct instance *i) {
    supervisorLinkTimesNotAhead(s, i->link);
    supervisorNotAhead(s, &i->hello_sent_ms);
    supervisorNotAhead(s, &i->s_down_ms);
    supervisorNotAhead(s, &i->o_down_ms);
    supervisorNotAhead(s, &i->info_ms);
    supervisorNotAhead(s, &i->role_reported_ms);
    supervisorNotAhead(s, &i->reboot_ms);
    if (i->kind == KIND_REPLICA) {
        supervisorNotAhead(s, &i->r.reconf_sent_ms);
        supervisorNotAhead(s, &i->r.conf_change_ms);
    } else if (i->kind == KIND_SENTINEL) {
        supervisorNotAhead(s, &i->s.hello_ms);
        supervisorNotAhead(s, &i->s.down_reply_ms);
    } else {
        supervisorNotAhead(s, &i->p.failover_state_ms);
        supervisorNotAhead(s, &i->p.failover_start_ms);
    }
}

static void supervisorForEachInstance(struct supervisor *s, const struct instances *all,
                                      void (*fn)(struct supervisor *s, struct instance *i)) {
    for (int k = 0; k < all->count; k++) fn(s, all->items[k]);
}

/* After a clock that was set back nothing would be due, or ever too old, until it has caught up. */
static void supervisorTimesNotAhead(struct supervisor *s) {
    supervisorForEachInstance(s, &s->primaries, supervisorInstanceTimesNotAhead);
    for (int i = 0; i < s->primaries.count; i++) {
        supervisorForEachInstance(s, &s->primaries.items[i]->p.replicas, supervisorInstanceTimesNotAhead);
        supervisorForEachInstance(s, &s->primaries.items[i]->p.sentinels, supervisorInstanceTimesNotAhead);
    }
}

static void supervisorTiltCheck(struct supervisor *s) {
    int64_t gap = s->previous_tick_ms ? s->now_ms - s->previous_tick_ms : 0;
    s->previous_tick_ms = s->now_ms;
    if (gap < 0) supervisorTimesNotAhead(s);
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
    if (!s->tilt) downTick(s, i);
}

static void supervisorPrimaryTick(struct supervisor *s, struct instance *primary) {
    supervisorInstanceTick(s, primary);
    if (!s->tilt) {
        downForAllTick(s, primary);
        if (failoverStartIfNeeded(s, primary)) downAsk(s, primary, true);
        failoverTick(s, primary);
        downAsk(s, primary, false);
    }
    supervisorForEachInstance(s, &primary->p.replicas, supervisorInstanceTick);
    supervisorForEachInstance(s, &primary->p.sentinels, supervisorInstanceTick);
    if (primary->p.failover_state == FAILOVER_UPDATE_CONFIG) failoverFinish(s, primary);
}

void supervisorTick(struct supervisor *s, int64_t now_ms) {
    s->now_ms = now_ms;
    supervisorTiltCheck(s);
    supervisorForEachInstance(s, &s->primaries, supervisorPrimaryTick);
}

/* ---- Primaries that come and go ---- */

struct instance *supervisorFind(struct supervisor *s, const char *name) {
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
    else if (supervisorFind(s, name))
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

/* All that was true of the server at the old address; a vote is no such thing. */
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

/* Its replicas from now on: those that it has but for the one at `to`, and where the primary was. */
static struct hostAddress *supervisorReplicasAfterSwitch(const struct instance *primary,
                                                         const struct hostAddress *to, int *count) {
    const struct instances *replicas = &primary->p.replicas;
    struct hostAddress *all = zmalloc((size_t)(replicas->count + 1) * sizeof *all);
    *count = 0;
    for (int i = 0; i < replicas->count; i++) {
        if (!hostAddressSame(&replicas->items[i]->address, to))
            hostAddressCopy(&all[(*count)++], &replicas->items[i]->address);
    }
    if (!hostAddressSame(&primary->address, to) && !instancesFindAddress(replicas, &primary->address))
        hostAddressCopy(&all[(*count)++], &primary->address);
    return all;
}

void primarySwitchAddress(struct supervisor *s, struct instance *primary, const struct hostAddress *to) {
    struct hostAddress address;
    hostAddressCopy(&address, to); /* it may be that of a replica, which goes */
    int count;
    struct hostAddress *replicas = supervisorReplicasAfterSwitch(primary, &address, &count);
    supervisorRemoveAll(s, &primary->p.replicas);
    hostAddressFree(&primary->address);
    primary->address = address;
    supervisorForgetServer(s, primary);
    for (int i = 0; i < count; i++) {
        struct instance *replica = instanceCreate(s, KIND_REPLICA, NULL, &replicas[i], primary);
        supervisorEvent(s, EVENT_NOTICE, "+slave", replica, "%s", "");
        hostAddressFree(&replicas[i]);
    }
    zfree(replicas);
    supervisorSave(s);
}

/* ---- Asked by users ---- */

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
