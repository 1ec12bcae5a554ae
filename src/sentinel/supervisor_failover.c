/* SPDX-License-Identifier: BSD-3-Clause */
/* supervisor_failover.c - the failover of a primary, as a state machine with one step in a tick. Only the
 * Sentinel that leads goes beyond wait_start; the others learn the result from its hellos.
 *
 *     wait_start ──elected──▶ select_slave ──▶ send_slaveof_noone ──▶ wait_promotion
 *                                                                          │ it is a primary
 *                          none ◀── update_config ◀── reconf_slaves ◀──────┘
 *
 * Up to wait_promotion nothing has changed, and the failover can be aborted. From then on clients and other
 * Sentinels get the promoted replica, with a greater config_epoch. The failover cannot be undone then; it
 * ends when the other replicas follow, or when time is up.
 *
 * A replica is promoted by SLAVEOF NO ONE, or (handing_over) by the FAILOVER command of the primary, which
 * holds back writes and waits until the replica has everything. SLAVEOF NO ONE loses what the primary accepts
 * until it is demoted. A failover that a user requests hands over whenever the primary is up and knows
 * FAILOVER. With COORDINATED, it must hand over; otherwise, if the primary refuses or is not done in time,
 * SLAVEOF NO ONE follows. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/assert.h"
#include "base/zmalloc.h"
#include "sentinel/supervisor_private.h"

#define PONG_PERIODS                                                                                         \
    5 /* ages, in periods of PING and INFO, above which a replica cannot be                                  \
       * promoted */
#define INFO_PERIODS        3
#define INFO_PERIODS_URGENT 5
#define LINK_DOWN_PERIODS                                                                                    \
    10 /* limit, in down-after periods, for a replica without its                                            \
        * primary while that was up */
#define COORDINATED_MIN_MS 1000
#define HAND_OVER_MS       10000 /* if it is optional; at most half of failover-timeout */
#define OFFSETS_WAIT_MS    1000  /* how long a failover waits for INFO of all replicas */
#define INFO_URGENT_MS     100   /* interval of INFO while the failover waits for what it reports */

#define FLAGS_OF_FAILOVER ((unsigned)(FLAG_FAILOVER_IN_PROGRESS | FLAG_FORCE_FAILOVER | FLAG_COORDINATED))

static void supervisorFailoverSetState(struct supervisor *s, struct instance *primary,
                                       enum sentinelFailoverState state) {
    primary->p.failover_state = state;
    primary->p.failover_state_ms = s->now_ms;
}

static int64_t supervisorFailoverTimeInState(const struct supervisor *s, const struct instance *primary) {
    return s->now_ms - primary->p.failover_state_ms;
}

/* ---- Commands ---- */

static void supervisorFailoverSendWords(struct supervisor *s, struct instance *i, const char *const *words) {
    struct str argv[8];
    int argc = 0;
    while (words[argc]) {
        argv[argc] = strOf(words[argc]);
        argc++;
    }
    instanceSend(s, i, REQ_OTHER, argc, argv);
}
#define SEND(s, i, ...) supervisorFailoverSendWords(s, i, (const char *[]){__VA_ARGS__, NULL})

/* Disconnects clients, so that they reconnect and find the new primary. */
static void supervisorFailoverSendKillClients(struct supervisor *s, struct instance *i) {
    SEND(s, i, "CLIENT", "KILL", "TYPE", "normal");
    SEND(s, i, "CLIENT", "KILL", "TYPE", "pubsub");
}

bool failoverIsReachable(const struct instance *i) {
    const struct peerLink *link = i->link;
    return link->channel[CHANNEL_COMMAND] && link->pong_ms >= link->since_ms[CHANNEL_COMMAND];
}

bool failoverSendReplicaOf(struct supervisor *s, struct instance *i, const struct hostAddress *to) {
    if (!failoverIsReachable(i)) return false;
    char port[16];
    snprintf(port, sizeof port, "%d", to ? to->port : 0);
    SEND(s, i, "MULTI");
    if (i->failing_over) SEND(s, i, "FAILOVER", "ABORT");
    SEND(s, i, "SLAVEOF", to ? hostAddressText(s, to) : "NO", to ? port : "ONE");
    SEND(s, i, "CONFIG", "REWRITE");
    supervisorFailoverSendKillClients(s, i);
    SEND(s, i, "EXEC");
    return true;
}

/* Requests INFO more often than by its period, because clients wait for the change. */
static void supervisorFailoverRequestInfo(struct supervisor *s, struct instance *i) {
    if (!failoverIsReachable(i) || !instanceMaySend(i) || linkAwaits(i->link, REQ_INFO)) return;
    if (s->now_ms - i->info_ms >= INFO_URGENT_MS)
        instanceSend(s, i, REQ_INFO, 1, (struct str[]){STR("INFO")});
}

/* Requests the offsets of replicas, and returns whether one that can be reached has not reported its own
 * since the failover began. Clients may know (min-replicas-sync) what only one replica has, and an INFO of
 * before the primary's end does not show which one that is. */
static bool supervisorFailoverAwaitsOffsets(struct supervisor *s, struct instance *primary) {
    const struct instances *replicas = &primary->p.replicas;
    bool awaits = false;
    for (int i = 0; i < replicas->count; i++) {
        struct instance *r = replicas->items[i];
        bool reported = r->info_ms > primary->p.failover_begun_ms && !pauseAwaits(s, r);
        if (reported || r->flags & FLAG_S_DOWN || r->r.priority == 0) continue;
        supervisorFailoverRequestInfo(s, r);
        awaits |= failoverIsReachable(r);
    }
    return awaits;
}

/* Makes the primary hand over to the promoted replica within that time. */
static void supervisorFailoverSendFailover(struct supervisor *s, struct instance *primary,
                                           int64_t within_ms) {
    const struct hostAddress *to = &primary->p.promoted->address;
    char port[16], ms[32];
    snprintf(port, sizeof port, "%d", to->port);
    snprintf(ms, sizeof ms, "%lld", (long long)within_ms);
    SEND(s, primary, "MULTI");
    SEND(s, primary, "CLIENT", "PAUSE", ms, "WRITE");
    SEND(s, primary, "FAILOVER", "TO", hostAddressText(s, to), port, "TIMEOUT", ms);
    SEND(s, primary, "EXEC");
}

/* Does after FAILOVER what failoverSendReplicaOf does besides changing the role. */
static void supervisorFailoverSendCleanup(struct supervisor *s, struct instance *i) {
    if (!i->link->channel[CHANNEL_COMMAND]) return;
    SEND(s, i, "MULTI");
    SEND(s, i, "CONFIG", "REWRITE");
    supervisorFailoverSendKillClients(s, i);
    SEND(s, i, "CLIENT", "UNPAUSE");
    SEND(s, i, "EXEC");
}

void failoverRunReconfigScript(struct supervisor *s, struct instance *primary, const char *role,
                               const struct hostAddress *from, const struct hostAddress *to) {
    if (!primary->p.reconfig_script) return;
    char from_port[16], to_port[16];
    snprintf(from_port, sizeof from_port, "%d", from->port);
    snprintf(to_port, sizeof to_port, "%d", to->port);
    const char *argv[] = {primary->name,          role,   "start", hostAddressText(s, from), from_port,
                          hostAddressText(s, to), to_port};
    s->env->script(s->ctx, primary->p.reconfig_script, 7, argv);
}

/* ---- Start and abort ---- */

static void failoverStart(struct supervisor *s, struct instance *primary) {
    struct primaryState *p = &primary->p;
    serverAssert(p->failover_state == FAILOVER_NONE);
    supervisorFailoverSetState(s, primary, FAILOVER_WAIT_START);
    primary->flags |= FLAG_FAILOVER_IN_PROGRESS;
    p->handing_over = false;
    pauseBegin(primary);
    p->failover_begun_ms = s->now_ms;
    p->failover_epoch = ++s->current_epoch;
    p->failover_start_ms = failoverStartTime(s);
    supervisorEventText(s, EVENT_WARNING, "+new-epoch", primary, "%llu",
                        (unsigned long long)s->current_epoch);
    supervisorEvent(s, EVENT_WARNING, "+try-failover", primary, "%s", "");
}

static void supervisorFailoverLogDelay(struct supervisor *s, struct instance *primary, int64_t until_ms) {
    struct primaryState *p = &primary->p;
    if (p->failover_delay_logged_ms == p->failover_start_ms) return;
    p->failover_delay_logged_ms = p->failover_start_ms;
    time_t seconds = (time_t)(until_ms / 1000);
    struct tm tm;
    char text[64];
    localtime_r(&seconds, &tm);
    strftime(text, sizeof text, "%a %b %e %H:%M:%S %Y", &tm);
    supervisorLog(s, LL_NOTICE, "This Sentinel starts no other failover of this primary before %s", text);
}

bool failoverStartIfNeeded(struct supervisor *s, struct instance *primary) {
    const struct primaryState *p = &primary->p;
    if (!(primary->flags & FLAG_O_DOWN) || primary->flags & FLAG_FAILOVER_IN_PROGRESS) return false;
    int64_t not_before = p->failover_start_ms + 2 * p->failover_timeout_ms;
    if (s->now_ms < not_before) {
        supervisorFailoverLogDelay(s, primary, not_before);
        return false;
    }
    failoverStart(s, primary);
    return true;
}

/* Ends the handing over; the primary takes writes again. */
static void supervisorFailoverSendAbort(struct supervisor *s, struct instance *primary) {
    if (!failoverIsReachable(primary)) return;
    SEND(s, primary, "FAILOVER", "ABORT");
    SEND(s, primary, "CLIENT", "UNPAUSE");
}

static void failoverAbort(struct supervisor *s, struct instance *primary) {
    struct primaryState *p = &primary->p;
    serverAssert(p->failover_state <= FAILOVER_WAIT_PROMOTION);
    if (p->handing_over && p->failover_state == FAILOVER_WAIT_PROMOTION)
        supervisorFailoverSendAbort(s, primary);
    if (p->failover_state != FAILOVER_WAIT_PROMOTION) pauseEnd(s, primary); /* it may have been promoted */
    primary->flags &= ~FLAGS_OF_FAILOVER;
    supervisorFailoverSetState(s, primary, FAILOVER_NONE);
    if (p->promoted) p->promoted->flags &= ~(unsigned)FLAG_PROMOTED;
    p->promoted = NULL;
}

static void supervisorFailoverAbortWith(struct supervisor *s, struct instance *primary, const char *event) {
    supervisorEvent(s, EVENT_WARNING, event, primary, "%s", "");
    failoverAbort(s, primary);
}

/* Aborts if the primary is back before anything has changed, as after TILT. Until it is demoted it would
 * acknowledge what the promoted replica does not have. */
static bool supervisorFailoverAbortIfBack(struct supervisor *s, struct instance *primary) {
    if (primary->flags & (FLAG_S_DOWN | FLAG_FORCE_FAILOVER | FLAG_COORDINATED)) return false;
    supervisorFailoverAbortWith(s, primary, "-failover-abort-master-is-back");
    return true;
}

/* ---- Selecting a replica ---- */

static bool supervisorFailoverIsPromotable(const struct supervisor *s, const struct instance *primary,
                                           const struct instance *r) {
    bool primary_down = primary->flags & FLAG_S_DOWN;
    if (r->flags & FLAG_S_DOWN || instanceIsDisconnected(r) || r->r.priority == 0) return false;
    if (s->now_ms - r->link->good_pong_ms > PONG_PERIODS * s->timers.ping_period) return false;
    int64_t info_age =
        primary_down ? INFO_PERIODS_URGENT * s->timers.ping_period : INFO_PERIODS * s->timers.info_period;
    if (s->now_ms - r->info_ms > info_age) return false;
    int64_t allowed = LINK_DOWN_PERIODS * primary->down_after_ms;
    /* During TILT it may have been silent for long before that was noticed. */
    if (primary_down) allowed += s->now_ms - minTime(primary->s_down_ms, primary->link->good_pong_ms);
    return r->r.link_down_ms <= allowed;
}

static bool supervisorFailoverIsBetter(const struct instance *a, const struct instance *b) {
    bool data_first = pauseSyncReplicas(a->primary);
    if (data_first && pauseHasMore(a, b)) return true;
    if (data_first && pauseHasMore(b, a)) return false;
    if (a->r.priority != b->r.priority) return a->r.priority < b->r.priority;
    if (a->r.repl_offset != b->r.repl_offset) return a->r.repl_offset > b->r.repl_offset;
    if (!a->run_id[0] || !b->run_id[0]) return a->run_id[0];
    return strcasecmp(a->run_id, b->run_id) < 0;
}

struct instance *failoverSelectReplica(struct supervisor *s, struct instance *primary) {
    const struct instances *replicas = &primary->p.replicas;
    struct instance *best = NULL;
    for (int i = 0; i < replicas->count; i++) {
        struct instance *r = replicas->items[i];
        if (supervisorFailoverIsPromotable(s, primary, r) && (!best || supervisorFailoverIsBetter(r, best)))
            best = r;
    }
    return best;
}

/* ---- Up to the promotion ---- */

/* Failovers of other primaries may have begun newer epochs, in which no Sentinel votes in an
 * older one any more. If this Sentinel has not voted for this primary in the newest epoch, it
 * requests votes in that one. */
static void failoverFollowEpoch(struct supervisor *s, struct instance *primary) {
    struct primaryState *p = &primary->p;
    if (p->failover_epoch >= s->current_epoch || p->leader_epoch >= s->current_epoch) return;
    p->failover_epoch = s->current_epoch;
    downSendQuestions(s, primary, true);
}

static void supervisorFailoverWaitStart(struct supervisor *s, struct instance *primary) {
    struct primaryState *p = &primary->p;
    char winner[RUN_ID_LEN + 1];
    supervisorFailoverAwaitsOffsets(s, primary); /* requests them early */
    bool elected = voteFindWinner(s, primary, p->failover_epoch, winner) && strcmp(winner, s->my_id) == 0;
    if (!elected && !(primary->flags & FLAG_FORCE_FAILOVER)) {
        failoverFollowEpoch(s, primary);
        int64_t timeout = minTime(s->timers.election_timeout, p->failover_timeout_ms);
        if (s->now_ms - p->failover_start_ms > timeout)
            supervisorFailoverAbortWith(s, primary, "-failover-abort-not-elected");
        return;
    }
    supervisorEvent(s, EVENT_WARNING, "+elected-leader", primary, "%s", "");
    if (s->simulate_failure & FAIL_AFTER_ELECTION) s->env->crash(s->ctx);
    supervisorFailoverSetState(s, primary, FAILOVER_SELECT_REPLICA);
    supervisorEvent(s, EVENT_WARNING, "+failover-state-select-slave", primary, "%s", "");
}

/* With min-replicas-sync, a replica that is missed may still come. */
static bool supervisorFailoverMayWait(const struct supervisor *s, const struct instance *primary) {
    const struct primaryState *p = &primary->p;
    return pauseSyncReplicas(primary) && !p->handing_over && !(primary->flags & FLAG_FORCE_FAILOVER) &&
           s->now_ms - p->failover_begun_ms <= p->failover_timeout_ms;
}

static void supervisorFailoverSelectReplica(struct supervisor *s, struct instance *primary) {
    if (supervisorFailoverAbortIfBack(s, primary)) return;
    if (!primary->p.handing_over && supervisorFailoverTimeInState(s, primary) < OFFSETS_WAIT_MS &&
        supervisorFailoverAwaitsOffsets(s, primary))
        return;
    struct instance *replica = failoverSelectReplica(s, primary);
    bool allowed = replica && pauseAllowsPromotion(s, primary, replica);
    if (!allowed && supervisorFailoverMayWait(s, primary)) return;
    if (!allowed) {
        supervisorFailoverAbortWith(s, primary, "-failover-abort-no-good-slave");
        return;
    }
    supervisorEvent(s, EVENT_WARNING, "+selected-slave", replica, "%s", "");
    replica->flags |= FLAG_PROMOTED;
    primary->p.promoted = replica;
    supervisorFailoverSetState(s, primary, FAILOVER_SEND_REPLICAOF_NOONE);
    supervisorEvent(s, EVENT_NOTICE, "+failover-state-send-slaveof-noone", replica, "%s", "");
}

static int64_t supervisorFailoverHandOverTime(const struct instance *primary) {
    return minTime(HAND_OVER_MS, primary->p.failover_timeout_ms / 2);
}

/* An INFO that was requested before FAILOVER would not report it, see supervisorFailoverHasHandOverFailed. */
static bool supervisorFailoverSendHandOver(struct supervisor *s, struct instance *primary,
                                           int64_t within_ms) {
    if (!failoverIsReachable(primary->p.promoted) || !failoverIsReachable(primary) ||
        linkAwaits(primary->link, REQ_INFO))
        return false;
    supervisorFailoverSendFailover(s, primary, within_ms);
    return true;
}

static bool supervisorFailoverSendPromotion(struct supervisor *s, struct instance *primary, int64_t left_ms) {
    if (primary->flags & FLAG_COORDINATED) return supervisorFailoverSendHandOver(s, primary, left_ms);
    if (primary->p.handing_over && failoverIsReachable(primary))
        return supervisorFailoverSendHandOver(s, primary, supervisorFailoverHandOverTime(primary));
    primary->p.handing_over = false;
    return failoverSendReplicaOf(s, primary->p.promoted, NULL);
}

/* Looks for a replica once more. */
static void supervisorFailoverSelectAgain(struct supervisor *s, struct instance *primary) {
    primary->p.promoted->flags &= ~(unsigned)FLAG_PROMOTED;
    primary->p.promoted = NULL;
    supervisorFailoverSetState(s, primary, FAILOVER_SELECT_REPLICA);
}

static void supervisorFailoverPromote(struct supervisor *s, struct instance *primary) {
    if (supervisorFailoverAbortIfBack(s, primary)) return;
    if (!pauseAllowsPromotion(s, primary, primary->p.promoted)) {
        supervisorFailoverSelectAgain(s, primary);
        return;
    }
    int64_t left = primary->p.failover_timeout_ms - supervisorFailoverTimeInState(s, primary);
    if ((primary->flags & FLAG_COORDINATED) && left < COORDINATED_MIN_MS) {
        supervisorFailoverAbortWith(s, primary, "-failover-abort-master-timeout");
    } else if (supervisorFailoverSendPromotion(s, primary, left)) {
        supervisorFailoverSetState(s, primary, FAILOVER_WAIT_PROMOTION);
        supervisorEvent(s, EVENT_NOTICE, "+failover-state-wait-promotion", primary->p.promoted, "%s", "");
    } else if (left < 0) {
        supervisorFailoverAbortWith(s, primary, "-failover-abort-slave-timeout");
    }
}

/* Aborts if another Sentinel has completed a failover meanwhile. */
static bool supervisorFailoverAbortIfOvertaken(struct supervisor *s, struct instance *primary) {
    const struct primaryState *p = &primary->p;
    if (p->failover_epoch > primary->config_epoch) return false;
    supervisorLog(s, LL_NOTICE, "Failover of '%s' in epoch %llu given up: there is a newer configuration",
                  primary->name, (unsigned long long)p->failover_epoch);
    pauseEnd(s, primary);
    failoverAbort(s, primary);
    return true;
}

/* Returns whether the connection is lost, time is up, or INFO reports a primary without a failover under way:
 * it has refused or aborted FAILOVER. */
static bool supervisorFailoverHasHandOverFailed(struct supervisor *s, struct instance *primary) {
    if (!failoverIsReachable(primary) ||
        supervisorFailoverTimeInState(s, primary) > supervisorFailoverHandOverTime(primary))
        return true;
    supervisorFailoverRequestInfo(s, primary);
    bool reported = primary->info_ms > primary->p.failover_state_ms;
    return reported && !primary->failing_over && !primary->reports_replica;
}

/* The CLIENT PAUSE holds writes back on the primary until its time is over. */
static void supervisorFailoverPromoteWithoutPrimary(struct supervisor *s, struct instance *primary) {
    bool with_pauses = pauseSyncReplicas(primary);
    if (!with_pauses && !failoverSendReplicaOf(s, primary->p.promoted, NULL)) return;
    supervisorLog(s, LL_NOTICE, "'%s' has not handed over: its replica is promoted without it",
                  primary->name);
    if (failoverIsReachable(primary)) SEND(s, primary, "FAILOVER", "ABORT");
    primary->p.handing_over = false;
    if (with_pauses) {
        supervisorFailoverSelectAgain(s, primary);
        return;
    }
    supervisorFailoverSetState(s, primary, FAILOVER_WAIT_PROMOTION);
}

/* INFO reports the promotion, see failoverProcessPromotion. */
static void supervisorFailoverWaitPromotion(struct supervisor *s, struct instance *primary) {
    bool may_skip = primary->p.handing_over && !(primary->flags & FLAG_COORDINATED);
    if (may_skip && supervisorFailoverHasHandOverFailed(s, primary))
        supervisorFailoverPromoteWithoutPrimary(s, primary);
    if (supervisorFailoverTimeInState(s, primary) > primary->p.failover_timeout_ms)
        supervisorFailoverAbortWith(s, primary, "-failover-abort-slave-timeout");
    else
        supervisorFailoverRequestInfo(s, primary->p.promoted);
}

void failoverProcessPromotion(struct supervisor *s, struct instance *replica) {
    struct instance *primary = replica->primary;
    serverAssert(primary->p.promoted == replica && primary->p.failover_state == FAILOVER_WAIT_PROMOTION);
    if (supervisorFailoverAbortIfOvertaken(s, primary)) return;
    primary->config_epoch = primary->p.failover_epoch;
    supervisorFailoverSetState(s, primary, FAILOVER_RECONF_REPLICAS);
    supervisorSave(s);
    supervisorEvent(s, EVENT_WARNING, "+promoted-slave", replica, "%s", "");
    if (s->simulate_failure & FAIL_AFTER_PROMOTION) s->env->crash(s->ctx);
    supervisorEvent(s, EVENT_WARNING, "+failover-state-reconf-slaves", primary, "%s", "");
    failoverRunReconfigScript(s, primary, "leader", &primary->address, &replica->address);
    if (primary->p.handing_over) {
        supervisorFailoverSendCleanup(s, primary);
        supervisorFailoverSendCleanup(s, replica);
    }
    helloForceUpdate(s, primary);
}

/* ---- Reconfiguration of replicas ---- */

static bool supervisorFailoverIsDone(const struct instance *r) { /* or is the promoted one */
    return r->flags & (FLAG_PROMOTED | FLAG_RECONF_DONE);
}

static void supervisorFailoverExpireReconf(struct supervisor *s, struct instance *r) {
    if (!(r->flags & FLAG_RECONF_SENT) || s->now_ms - r->r.reconf_sent_ms <= s->timers.replica_reconf_timeout)
        return;
    supervisorEvent(s, EVENT_NOTICE, "-slave-reconf-sent-timeout", r, "%s", "");
    r->flags &= ~(unsigned)FLAG_RECONF_SENT;
    r->flags |= FLAG_RECONF_DONE;
}

static void supervisorFailoverReconfigure(struct supervisor *s, struct instance *r, const char *event) {
    if (!failoverSendReplicaOf(s, r, &r->primary->p.promoted->address)) return;
    r->flags |= FLAG_RECONF_SENT;
    r->r.reconf_sent_ms = s->now_ms;
    supervisorEvent(s, EVENT_NOTICE, event, r, "%s", "");
}

/* Reconfigures parallel_syncs replicas at a time, because they do not serve while they fetch everything. */
static void supervisorFailoverReconfigureNext(struct supervisor *s, struct instance *primary) {
    const struct instances *replicas = &primary->p.replicas;
    const unsigned under_way = FLAG_RECONF_SENT | FLAG_RECONF_INPROG;
    int syncing = 0;
    for (int i = 0; i < replicas->count; i++) {
        struct instance *r = replicas->items[i];
        supervisorFailoverExpireReconf(s, r);
        if (!(r->flags & under_way)) continue;
        syncing++;
        supervisorFailoverRequestInfo(s, r);
    }
    for (int i = 0; i < replicas->count && syncing < primary->p.parallel_syncs; i++) {
        struct instance *r = replicas->items[i];
        if (supervisorFailoverIsDone(r) || r->flags & under_way || instanceIsDisconnected(r)) continue;
        supervisorFailoverReconfigure(s, r, "+slave-reconf-sent");
        syncing += !!(r->flags & FLAG_RECONF_SENT);
    }
}

/* Counts the replicas that do not follow yet. Those that are down are reconfigured when they are back. */
static int supervisorFailoverCountOutstanding(const struct instance *primary) {
    const struct instances *replicas = &primary->p.replicas;
    int count = 0;
    for (int i = 0; i < replicas->count; i++)
        count += !supervisorFailoverIsDone(replicas->items[i]) && !(replicas->items[i]->flags & FLAG_S_DOWN);
    return count;
}

static void supervisorFailoverReconfigureRest(struct supervisor *s, struct instance *primary) {
    const struct instances *replicas = &primary->p.replicas;
    for (int i = 0; i < replicas->count; i++) {
        struct instance *r = replicas->items[i];
        if (supervisorFailoverIsDone(r) || r->flags & FLAG_RECONF_SENT || instanceIsDisconnected(r)) continue;
        supervisorFailoverReconfigure(s, r, "+slave-reconf-sent-be");
    }
}

static void supervisorFailoverReconfReplicas(struct supervisor *s, struct instance *primary) {
    supervisorFailoverReconfigureNext(s, primary);
    bool late = supervisorFailoverTimeInState(s, primary) > primary->p.failover_timeout_ms;
    bool promoted_down = primary->p.promoted->flags & FLAG_S_DOWN;
    if (!late && (promoted_down || supervisorFailoverCountOutstanding(primary))) return;
    if (late) supervisorEvent(s, EVENT_WARNING, "+failover-end-for-timeout", primary, "%s", "");
    supervisorEvent(s, EVENT_WARNING, "+failover-end", primary, "%s", "");
    supervisorFailoverSetState(s, primary, FAILOVER_UPDATE_CONFIG);
    if (late) supervisorFailoverReconfigureRest(s, primary);
}

void failoverFinish(struct supervisor *s, struct instance *primary) {
    const struct hostAddress *from = &primary->address, *to = supervisorCurrentAddress(primary);
    supervisorEventText(s, EVENT_WARNING, "+switch-master", primary, "%s %s %d %s %d", primary->name,
                        hostAddressText(s, from), from->port, hostAddressText(s, to), to->port);
    primarySwitchAddress(s, primary, to);
}

void failoverTick(struct supervisor *s, struct instance *primary) {
    enum sentinelFailoverState state = primary->p.failover_state;
    if (state > FAILOVER_NONE && state < FAILOVER_RECONF_REPLICAS &&
        supervisorFailoverAbortIfOvertaken(s, primary))
        return;
    switch (state) {
    case FAILOVER_WAIT_START: supervisorFailoverWaitStart(s, primary); return;
    case FAILOVER_SELECT_REPLICA: supervisorFailoverSelectReplica(s, primary); return;
    case FAILOVER_SEND_REPLICAOF_NOONE: supervisorFailoverPromote(s, primary); return;
    case FAILOVER_WAIT_PROMOTION: supervisorFailoverWaitPromotion(s, primary); return;
    case FAILOVER_RECONF_REPLICAS: supervisorFailoverReconfReplicas(s, primary); return;
    case FAILOVER_NONE:
    case FAILOVER_UPDATE_CONFIG: return;
    }
}

/* ---- Requests of users ---- */

enum manualFailover supervisorFailover(struct supervisor *s, struct instance *primary, bool coordinated,
                                       int64_t now_ms) {
    s->now_ms = now_ms;
    if (coordinated && !primary->p.knows_failover) return MANUAL_NO_PRIMARY;
    if (primary->flags & FLAG_FAILOVER_IN_PROGRESS) return MANUAL_IN_PROGRESS;
    if (!failoverSelectReplica(s, primary)) return MANUAL_NO_REPLICA;
    supervisorLog(s, LL_NOTICE, "SENTINEL FAILOVER was called for '%s'", primary->name);
    bool is_up = !(primary->flags & FLAG_S_DOWN);
    if (is_up) primary->s_down_ms = now_ms;
    primary->flags |= FLAG_S_DOWN | (coordinated ? FLAG_COORDINATED : FLAG_FORCE_FAILOVER);
    failoverStart(s, primary);
    primary->p.handing_over = coordinated || (is_up && primary->p.knows_failover);
    if (coordinated) downSendQuestions(s, primary, true);
    return MANUAL_OK;
}
