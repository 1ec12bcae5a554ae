/* SPDX-License-Identifier: BSD-3-Clause */
/* supervisor_failover.c - the failover of a primary, as a state machine of one step in a tick. Only the
 * Sentinel that leads goes beyond wait_start; the others learn from its hellos what has come of it.
 *
 *     wait_start ──elected──▶ select_slave ──▶ send_slaveof_noone ──▶ wait_promotion
 *                                                                          │ it is a primary
 *                          none ◀── update_config ◀── reconf_slaves ◀──────┘
 *
 * Up to wait_promotion nothing has changed, and it can be given up (abort: none). From then on the promoted
 * replica is what clients and other Sentinels are told, with a greater config_epoch: there is no way back,
 * only an end, when the others follow it or time is up.
 *
 * A replica is promoted by SLAVEOF NO ONE, or (handing_over) by the FAILOVER command of the primary, which
 * holds back writes and waits until the replica has everything: SLAVEOF NO ONE loses what the primary accepts
 * until it is demoted. A failover that a user asks for hands over whenever the primary is up and knows
 * FAILOVER. Where the user asks for COORDINATED, it is that or nothing; else, where the primary refuses or is
 * not done in time, SLAVEOF NO ONE follows. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/assert.h"
#include "base/zmalloc.h"
#include "sentinel/supervisor_private.h"

#define PONG_PERIODS         5 /* of PING, INFO: older than that, and it cannot be promoted */
#define INFO_PERIODS         3
#define INFO_PERIODS_PRESSED 5
#define LINK_DOWN_PERIODS    10 /* of down-after: without its primary, while that was up */
#define COORDINATED_MIN_MS   1000
#define HAND_OVER_MS         10000 /* where it may be done without; at most half of failover-timeout */
#define INFO_EAGER_MS        100   /* asked so often, while the failover waits for what it tells */

#define FLAGS_OF_FAILOVER ((unsigned)(FLAG_FAILOVER_IN_PROGRESS | FLAG_FORCE_FAILOVER | FLAG_COORDINATED))

static void supervisorFailoverStateSet(struct supervisor *s, struct instance *primary,
                                       enum sentinelFailoverState state) {
    primary->p.failover_state = state;
    primary->p.failover_state_ms = s->now_ms;
}

static int64_t supervisorFailoverInState(const struct supervisor *s, const struct instance *primary) {
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
    instanceSend(s, i, ASKED_NOTHING, argc, argv);
}
#define SEND(s, i, ...) supervisorFailoverSendWords(s, i, (const char *[]){__VA_ARGS__, NULL})

/* Clients come back, ask, and find the new primary. */
static void supervisorFailoverSendKillClients(struct supervisor *s, struct instance *i) {
    SEND(s, i, "CLIENT", "KILL", "TYPE", "normal");
    SEND(s, i, "CLIENT", "KILL", "TYPE", "pubsub");
}

/* Is its channel there, and has it been of use? What is sent while it connects may never arrive. */
static bool supervisorFailoverReachable(const struct instance *i) {
    const struct peerLink *link = i->link;
    return link->channel[CHANNEL_COMMAND] && link->pong_ms >= link->since_ms[CHANNEL_COMMAND];
}

bool sendReplicaOf(struct supervisor *s, struct instance *i, const struct hostAddress *to) {
    if (!supervisorFailoverReachable(i)) return false;
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

static bool supervisorFailoverAsksForInfo(const struct peerLink *link) {
    for (int i = 0; i < link->pending_count; i++)
        if (link->pending[i].what == ASKED_INFO) return true;
    return false;
}

/* Clients wait for what this one becomes: sooner than by the period of INFO. */
static void supervisorFailoverWatchClosely(struct supervisor *s, struct instance *i) {
    if (!supervisorFailoverReachable(i) || !instanceMaySend(i) || supervisorFailoverAsksForInfo(i->link))
        return;
    if (s->now_ms - i->info_ms >= INFO_EAGER_MS)
        instanceSend(s, i, ASKED_INFO, 1, (struct str[]){STR("INFO")});
}

/* To the primary: hand over to that replica, within that time. */
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

/* After FAILOVER: what sendReplicaOf does besides the change of the role. */
static void supervisorFailoverSendSettle(struct supervisor *s, struct instance *i) {
    if (!i->link->channel[CHANNEL_COMMAND]) return;
    SEND(s, i, "MULTI");
    SEND(s, i, "CONFIG", "REWRITE");
    supervisorFailoverSendKillClients(s, i);
    SEND(s, i, "CLIENT", "UNPAUSE");
    SEND(s, i, "EXEC");
}

void callReconfigScript(struct supervisor *s, struct instance *primary, const char *role,
                        const struct hostAddress *from, const struct hostAddress *to) {
    if (!primary->p.reconfig_script) return;
    char from_port[16], to_port[16];
    snprintf(from_port, sizeof from_port, "%d", from->port);
    snprintf(to_port, sizeof to_port, "%d", to->port);
    const char *argv[] = {primary->name,          role,   "start", hostAddressText(s, from), from_port,
                          hostAddressText(s, to), to_port};
    s->env->script(s->w, primary->p.reconfig_script, 7, argv);
}

/* ---- Beginning and giving up ---- */

static void failoverStart(struct supervisor *s, struct instance *primary) {
    struct primaryState *p = &primary->p;
    serverAssert(p->failover_state == FAILOVER_NONE);
    supervisorFailoverStateSet(s, primary, FAILOVER_WAIT_START);
    primary->flags |= FLAG_FAILOVER_IN_PROGRESS;
    p->handing_over = false;
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

/* The primary shall not hand over any more, and shall take writes again. */
static void supervisorFailoverSendTakeBack(struct supervisor *s, struct instance *primary) {
    if (!supervisorFailoverReachable(primary)) return;
    SEND(s, primary, "FAILOVER", "ABORT");
    SEND(s, primary, "CLIENT", "UNPAUSE");
}

static void failoverAbort(struct supervisor *s, struct instance *primary) {
    struct primaryState *p = &primary->p;
    serverAssert(p->failover_state <= FAILOVER_WAIT_PROMOTION);
    if (p->handing_over && p->failover_state == FAILOVER_WAIT_PROMOTION)
        supervisorFailoverSendTakeBack(s, primary);
    primary->flags &= ~FLAGS_OF_FAILOVER;
    supervisorFailoverStateSet(s, primary, FAILOVER_NONE);
    if (p->promoted) p->promoted->flags &= ~(unsigned)FLAG_PROMOTED;
    p->promoted = NULL;
}

static void supervisorFailoverAbortWith(struct supervisor *s, struct instance *primary, const char *event) {
    supervisorEvent(s, EVENT_WARNING, event, primary, "%s", "");
    failoverAbort(s, primary);
}

/* ---- Which replica ---- */

static bool supervisorFailoverPromotable(const struct supervisor *s, const struct instance *primary,
                                         const struct instance *r) {
    bool primary_down = primary->flags & FLAG_S_DOWN;
    if (r->flags & FLAG_S_DOWN || instanceDisconnected(r) || r->r.priority == 0) return false;
    if (s->now_ms - r->link->good_pong_ms > PONG_PERIODS * s->timers.ping_period) return false;
    int64_t info_age =
        primary_down ? INFO_PERIODS_PRESSED * s->timers.ping_period : INFO_PERIODS * s->timers.info_period;
    if (s->now_ms - r->info_ms > info_age) return false;
    int64_t allowed = LINK_DOWN_PERIODS * primary->down_after_ms;
    /* It may have been silent for long before that was noticed: during TILT. */
    if (primary_down) allowed += s->now_ms - minTime(primary->s_down_ms, primary->link->good_pong_ms);
    return r->r.link_down_ms <= allowed;
}

static bool supervisorFailoverBetterReplica(const struct instance *a, const struct instance *b) {
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
        if (supervisorFailoverPromotable(s, primary, r) &&
            (!best || supervisorFailoverBetterReplica(r, best)))
            best = r;
    }
    return best;
}

/* ---- Up to the promotion ---- */

/* Failovers of other primaries may have begun newer epochs, in which no Sentinel votes for an older one any
 * more. When this Sentinel has not voted in the newest epoch for this primary, it asks again for the votes of
 * that one. */
static void failoverFollowEpoch(struct supervisor *s, struct instance *primary) {
    struct primaryState *p = &primary->p;
    if (p->failover_epoch >= s->current_epoch || p->leader_epoch >= s->current_epoch) return;
    p->failover_epoch = s->current_epoch;
    downAsk(s, primary, true);
}

static void supervisorFailoverWaitStart(struct supervisor *s, struct instance *primary) {
    struct primaryState *p = &primary->p;
    char winner[RUN_ID_LEN + 1];
    bool elected = voteWinner(s, primary, p->failover_epoch, winner) && strcmp(winner, s->my_id) == 0;
    if (!elected && !(primary->flags & FLAG_FORCE_FAILOVER)) {
        failoverFollowEpoch(s, primary);
        int64_t timeout = minTime(s->timers.election_timeout, p->failover_timeout_ms);
        if (s->now_ms - p->failover_start_ms > timeout)
            supervisorFailoverAbortWith(s, primary, "-failover-abort-not-elected");
        return;
    }
    supervisorEvent(s, EVENT_WARNING, "+elected-leader", primary, "%s", "");
    if (s->simulate_failure & FAIL_AFTER_ELECTION) s->env->crash(s->w);
    supervisorFailoverStateSet(s, primary, FAILOVER_SELECT_REPLICA);
    supervisorEvent(s, EVENT_WARNING, "+failover-state-select-slave", primary, "%s", "");
}

static void supervisorFailoverSelectReplica(struct supervisor *s, struct instance *primary) {
    struct instance *replica = failoverSelectReplica(s, primary);
    if (!replica) {
        supervisorFailoverAbortWith(s, primary, "-failover-abort-no-good-slave");
        return;
    }
    supervisorEvent(s, EVENT_WARNING, "+selected-slave", replica, "%s", "");
    replica->flags |= FLAG_PROMOTED;
    primary->p.promoted = replica;
    supervisorFailoverStateSet(s, primary, FAILOVER_SEND_REPLICAOF_NOONE);
    supervisorEvent(s, EVENT_NOTICE, "+failover-state-send-slaveof-noone", replica, "%s", "");
}

static int64_t supervisorFailoverHandOverTime(const struct instance *primary) {
    return minTime(HAND_OVER_MS, primary->p.failover_timeout_ms / 2);
}

/* An INFO that was asked for before FAILOVER would not tell of it, see supervisorFailoverHandOverFailed. */
static bool supervisorFailoverSendHandOver(struct supervisor *s, struct instance *primary,
                                           int64_t within_ms) {
    if (!supervisorFailoverReachable(primary->p.promoted) || !supervisorFailoverReachable(primary) ||
        supervisorFailoverAsksForInfo(primary->link))
        return false;
    supervisorFailoverSendFailover(s, primary, within_ms);
    return true;
}

static bool supervisorFailoverSendPromotion(struct supervisor *s, struct instance *primary, int64_t left_ms) {
    if (primary->flags & FLAG_COORDINATED) return supervisorFailoverSendHandOver(s, primary, left_ms);
    if (primary->p.handing_over && supervisorFailoverReachable(primary))
        return supervisorFailoverSendHandOver(s, primary, supervisorFailoverHandOverTime(primary));
    primary->p.handing_over = false;
    return sendReplicaOf(s, primary->p.promoted, NULL);
}

static void supervisorFailoverPromote(struct supervisor *s, struct instance *primary) {
    int64_t left = primary->p.failover_timeout_ms - supervisorFailoverInState(s, primary);
    if ((primary->flags & FLAG_COORDINATED) && left < COORDINATED_MIN_MS) {
        supervisorFailoverAbortWith(s, primary, "-failover-abort-master-timeout");
    } else if (supervisorFailoverSendPromotion(s, primary, left)) {
        supervisorFailoverStateSet(s, primary, FAILOVER_WAIT_PROMOTION);
        supervisorEvent(s, EVENT_NOTICE, "+failover-state-wait-promotion", primary->p.promoted, "%s", "");
    } else if (left < 0) {
        supervisorFailoverAbortWith(s, primary, "-failover-abort-slave-timeout");
    }
}

/* Another Sentinel has led one since, and was first. */
static bool supervisorFailoverOvertaken(struct supervisor *s, struct instance *primary) {
    const struct primaryState *p = &primary->p;
    if (p->failover_epoch > primary->config_epoch) return false;
    supervisorLog(s, LL_NOTICE, "Failover of '%s' in epoch %llu given up: there is a newer configuration",
                  primary->name, (unsigned long long)p->failover_epoch);
    failoverAbort(s, primary);
    return true;
}

/* The connection is gone, time is up, or its INFO says that it is a primary and has no failover under way: it
 * has refused FAILOVER, or given it up. */
static bool supervisorFailoverHandOverFailed(struct supervisor *s, struct instance *primary) {
    if (!supervisorFailoverReachable(primary) ||
        supervisorFailoverInState(s, primary) > supervisorFailoverHandOverTime(primary))
        return true;
    supervisorFailoverWatchClosely(s, primary);
    bool told = primary->info_ms > primary->p.failover_state_ms;
    return told && !primary->failing_over && !primary->reports_replica;
}

/* Writes stay held back on the primary, by its CLIENT PAUSE, until the time that it was given is over. */
static void supervisorFailoverPromoteWithoutPrimary(struct supervisor *s, struct instance *primary) {
    if (!sendReplicaOf(s, primary->p.promoted, NULL)) return;
    supervisorLog(s, LL_NOTICE, "'%s' has not handed over: its replica is promoted without it",
                  primary->name);
    if (supervisorFailoverReachable(primary)) SEND(s, primary, "FAILOVER", "ABORT");
    primary->p.handing_over = false;
    supervisorFailoverStateSet(s, primary, FAILOVER_WAIT_PROMOTION);
}

/* INFO tells of the promotion, see failoverPromoted. */
static void supervisorFailoverWaitPromotion(struct supervisor *s, struct instance *primary) {
    bool may_do_without = primary->p.handing_over && !(primary->flags & FLAG_COORDINATED);
    if (may_do_without && supervisorFailoverHandOverFailed(s, primary))
        supervisorFailoverPromoteWithoutPrimary(s, primary);
    if (supervisorFailoverInState(s, primary) > primary->p.failover_timeout_ms)
        supervisorFailoverAbortWith(s, primary, "-failover-abort-slave-timeout");
    else
        supervisorFailoverWatchClosely(s, primary->p.promoted);
}

void failoverPromoted(struct supervisor *s, struct instance *replica) {
    struct instance *primary = replica->primary;
    serverAssert(primary->p.promoted == replica && primary->p.failover_state == FAILOVER_WAIT_PROMOTION);
    if (supervisorFailoverOvertaken(s, primary)) return;
    primary->config_epoch = primary->p.failover_epoch;
    supervisorFailoverStateSet(s, primary, FAILOVER_RECONF_REPLICAS);
    supervisorSave(s);
    supervisorEvent(s, EVENT_WARNING, "+promoted-slave", replica, "%s", "");
    if (s->simulate_failure & FAIL_AFTER_PROMOTION) s->env->crash(s->w);
    supervisorEvent(s, EVENT_WARNING, "+failover-state-reconf-slaves", primary, "%s", "");
    callReconfigScript(s, primary, "leader", &primary->address, &replica->address);
    if (primary->p.handing_over) {
        supervisorFailoverSendSettle(s, primary);
        supervisorFailoverSendSettle(s, replica);
    }
    helloForceUpdate(s, primary);
}

/* ---- After it ---- */

static bool supervisorFailoverFollows(const struct instance *r) { /* the promoted one, or is that one */
    return r->flags & (FLAG_PROMOTED | FLAG_RECONF_DONE);
}

static void supervisorFailoverGiveUpSilent(struct supervisor *s, struct instance *r) {
    if (!(r->flags & FLAG_RECONF_SENT) || s->now_ms - r->r.reconf_sent_ms <= s->timers.replica_reconf_timeout)
        return;
    supervisorEvent(s, EVENT_NOTICE, "-slave-reconf-sent-timeout", r, "%s", "");
    r->flags &= ~(unsigned)FLAG_RECONF_SENT;
    r->flags |= FLAG_RECONF_DONE;
}

static void supervisorFailoverReconfigure(struct supervisor *s, struct instance *r, const char *event) {
    if (!sendReplicaOf(s, r, &r->primary->p.promoted->address)) return;
    r->flags |= FLAG_RECONF_SENT;
    r->r.reconf_sent_ms = s->now_ms;
    supervisorEvent(s, EVENT_NOTICE, event, r, "%s", "");
}

/* Only so many at a time: they do not serve while they fetch everything. */
static void supervisorFailoverReconfigureNext(struct supervisor *s, struct instance *primary) {
    const struct instances *replicas = &primary->p.replicas;
    const unsigned under_way = FLAG_RECONF_SENT | FLAG_RECONF_INPROG;
    int busy = 0;
    for (int i = 0; i < replicas->count; i++) {
        struct instance *r = replicas->items[i];
        supervisorFailoverGiveUpSilent(s, r);
        if (!(r->flags & under_way)) continue;
        busy++;
        supervisorFailoverWatchClosely(s, r);
    }
    for (int i = 0; i < replicas->count && busy < primary->p.parallel_syncs; i++) {
        struct instance *r = replicas->items[i];
        if (supervisorFailoverFollows(r) || r->flags & under_way || instanceDisconnected(r)) continue;
        supervisorFailoverReconfigure(s, r, "+slave-reconf-sent");
        busy += !!(r->flags & FLAG_RECONF_SENT);
    }
}

/* Replicas that are still to follow; those that are down get told when they are back. */
static int supervisorFailoverOutstanding(const struct instance *primary) {
    const struct instances *replicas = &primary->p.replicas;
    int count = 0;
    for (int i = 0; i < replicas->count; i++)
        count += !supervisorFailoverFollows(replicas->items[i]) && !(replicas->items[i]->flags & FLAG_S_DOWN);
    return count;
}

static void supervisorFailoverTellTheRest(struct supervisor *s, struct instance *primary) {
    const struct instances *replicas = &primary->p.replicas;
    for (int i = 0; i < replicas->count; i++) {
        struct instance *r = replicas->items[i];
        if (supervisorFailoverFollows(r) || r->flags & FLAG_RECONF_SENT || instanceDisconnected(r)) continue;
        supervisorFailoverReconfigure(s, r, "+slave-reconf-sent-be");
    }
}

static void supervisorFailoverReconfReplicas(struct supervisor *s, struct instance *primary) {
    supervisorFailoverReconfigureNext(s, primary);
    bool late = supervisorFailoverInState(s, primary) > primary->p.failover_timeout_ms;
    bool promoted_down = primary->p.promoted->flags & FLAG_S_DOWN;
    if (!late && (promoted_down || supervisorFailoverOutstanding(primary))) return;
    if (late) supervisorEvent(s, EVENT_WARNING, "+failover-end-for-timeout", primary, "%s", "");
    supervisorEvent(s, EVENT_WARNING, "+failover-end", primary, "%s", "");
    supervisorFailoverStateSet(s, primary, FAILOVER_UPDATE_CONFIG);
    if (late) supervisorFailoverTellTheRest(s, primary);
}

void failoverFinish(struct supervisor *s, struct instance *primary) {
    const struct hostAddress *from = &primary->address, *to = supervisorCurrentAddress(primary);
    supervisorEventText(s, EVENT_WARNING, "+switch-master", primary, "%s %s %d %s %d", primary->name,
                        hostAddressText(s, from), from->port, hostAddressText(s, to), to->port);
    primarySwitchAddress(s, primary, to);
}

void failoverTick(struct supervisor *s, struct instance *primary) {
    enum sentinelFailoverState state = primary->p.failover_state;
    if (state > FAILOVER_NONE && state < FAILOVER_RECONF_REPLICAS && supervisorFailoverOvertaken(s, primary))
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

/* ---- Asked for by a user ---- */

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
    if (coordinated) downAsk(s, primary, true);
    return MANUAL_OK;
}
