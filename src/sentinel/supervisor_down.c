/* SPDX-License-Identifier: BSD-3-Clause */
/* supervisor_down.c - servers that are down, as this Sentinel sees it (s_down), and primaries that
 * are down as enough Sentinels see it (o_down). While a primary is s_down, the other Sentinels are
 * asked again and again. Their answers also carry their votes (supervisor_vote.c); answers and votes
 * expire when no new ones come. */
#include <stdio.h>

#include "sentinel/supervisor_private.h"

#define ANSWER_PERIODS 5 /* an answer is valid for so many ask periods */

/* ---- s_down ---- */

/* Returns for how long it has not answered. */
static int64_t supervisorDownSilentMs(const struct supervisor *s, const struct instance *i) {
    const struct peerLink *link = i->link;
    if (link->ping_ms) return s->now_ms - link->ping_ms;
    return instanceIsDisconnected(i) ? s->now_ms - link->good_pong_ms : 0;
}

static bool supervisorDownIsDown(const struct supervisor *s, const struct instance *i) {
    if (supervisorDownSilentMs(s, i) > i->down_after_ms) return true;
    if (i->kind != KIND_PRIMARY) return false;
    if (i->reports_replica && s->now_ms - i->role_reported_ms > i->down_after_ms + 2 * s->timers.info_period)
        return true;
    return (i->flags & FLAG_REBOOT) && s->now_ms - i->reboot_ms > i->p.reboot_down_after_ms;
}

void downSubjectiveTick(struct supervisor *s, struct instance *i) {
    bool down = supervisorDownIsDown(s, i);
    if (down == !!(i->flags & FLAG_S_DOWN)) return;
    if (down) {
        i->flags |= FLAG_S_DOWN;
        i->s_down_ms = s->now_ms;
    } else {
        i->flags &= ~(unsigned)(FLAG_S_DOWN | FLAG_SCRIPT_KILL_SENT);
    }
    supervisorEvent(s, EVENT_WARNING, down ? "+sdown" : "-sdown", i, "%s", "");
}

/* ---- o_down ---- */

void downObjectiveTick(struct supervisor *s, struct instance *primary) {
    const struct instances *sentinels = &primary->p.sentinels;
    int agree = 1;
    for (int i = 0; i < sentinels->count; i++) agree += !!(sentinels->items[i]->flags & FLAG_MASTER_DOWN);
    bool down = (primary->flags & FLAG_S_DOWN) && agree >= primary->p.quorum;
    if (down == !!(primary->flags & FLAG_O_DOWN)) return;
    if (down) {
        primary->flags |= FLAG_O_DOWN;
        primary->o_down_ms = s->now_ms;
        supervisorEvent(s, EVENT_WARNING, "+odown", primary, " #quorum %d/%d", agree, primary->p.quorum);
    } else {
        primary->flags &= ~(unsigned)FLAG_O_DOWN;
        supervisorEvent(s, EVENT_WARNING, "-odown", primary, "%s", "");
    }
}

/* ---- Questions ---- */

static void supervisorDownSendQuestion(struct supervisor *s, struct instance *primary,
                                       struct instance *sentinel) {
    char port[16], epoch[32];
    bool vote = primary->p.failover_state > FAILOVER_NONE;
    snprintf(port, sizeof port, "%d", primary->address.port);
    snprintf(epoch, sizeof epoch, "%llu",
             (unsigned long long)(vote ? primary->p.failover_epoch : s->current_epoch));
    instanceSend(s, sentinel, REQ_DOWN, 6,
                 (struct str[]){STR("SENTINEL"), STR("is-master-down-by-addr"),
                                strOf(hostAddressText(s, &primary->address)), strOf(port), strOf(epoch),
                                vote ? strOf(s->my_id) : STR("*")});
}

/* A coordinated failover needs votes, too, although no server is down. */
static bool supervisorDownNeedsQuestions(const struct instance *primary) {
    if (primary->flags & FLAG_S_DOWN) return true;
    return (primary->flags & FLAG_COORDINATED) && primary->p.failover_state == FAILOVER_WAIT_START;
}

void downSendQuestions(struct supervisor *s, struct instance *primary, bool force) {
    const struct instances *sentinels = &primary->p.sentinels;
    for (int i = 0; i < sentinels->count; i++) {
        struct instance *sentinel = sentinels->items[i];
        int64_t age = s->now_ms - sentinel->s.down_reply_ms;
        if (age > ANSWER_PERIODS * s->timers.ask_period) {
            sentinel->flags &= ~(unsigned)FLAG_MASTER_DOWN;
            sentinel->s.leader[0] = '\0';
        }
        if (!supervisorDownNeedsQuestions(primary) || !instanceMaySend(sentinel)) continue;
        if (force || age >= s->timers.ask_period) supervisorDownSendQuestion(s, primary, sentinel);
    }
}

/* ---- Answers ---- */

static bool supervisorDownIsAnswerValid(const struct respReply *reply) {
    if (reply->type != RESP_T_ARRAY || reply->elements != 3) return false;
    const struct respReply *down = reply->element, *leader = down + 1, *epoch = down + 2;
    if (down->type != RESP_T_INTEGER || leader->type != RESP_T_STRING || epoch->type != RESP_T_INTEGER)
        return false;
    return strIs(leader->str, "*") || (runIdIsValid(leader->str) && epoch->integer >= 0);
}

void downProcessAnswer(struct supervisor *s, struct instance *sentinel, const struct respReply *reply) {
    if (!supervisorDownIsAnswerValid(reply)) return;
    struct sentinelState *state = &sentinel->s;
    struct str leader = reply->element[1].str;
    uint64_t epoch = (uint64_t)reply->element[2].integer;
    state->down_reply_ms = s->now_ms;
    if (reply->element[0].integer == 1)
        sentinel->flags |= FLAG_MASTER_DOWN;
    else
        sentinel->flags &= ~(unsigned)FLAG_MASTER_DOWN;
    if (strIs(leader, "*")) return; /* it does not vote */
    memcpy(state->leader, leader.ptr, leader.len);
    state->leader[leader.len] = '\0';
    if (state->leader_epoch != epoch)
        supervisorLog(s, LL_NOTICE, "Sentinel %s votes for %s in epoch %llu", sentinel->name, state->leader,
                      (unsigned long long)epoch);
    state->leader_epoch = epoch;
}

/* Finds a primary by the name or IP that another Sentinel gave. A name that is known is not resolved: the
 * name of a server that is down may not resolve any more, as with containers, and just then it is asked for.
 */
static struct instance *supervisorDownFindPrimary(struct supervisor *s, const char *host, int port) {
    struct hostAddress address = {.name = sdsnew(host), .port = port};
    struct instance *primary = instancesFindAddress(&s->primaries, &address);
    hostAddressFree(&address);
    if (primary) return primary;
    if (hostAddressInit(s, &address, host, port, false))
        primary = instancesFindAddress(&s->primaries, &address);
    hostAddressFree(&address);
    return primary;
}

struct downAnswer supervisorAnswerDown(struct supervisor *s, const char *ip, int port, uint64_t epoch,
                                       const char *run_id, int64_t now_ms) {
    s->now_ms = now_ms;
    struct downAnswer answer = {0};
    struct instance *primary = supervisorDownFindPrimary(s, ip, port);
    if (!primary) return answer;
    answer.down = !s->tilt && (primary->flags & FLAG_S_DOWN);
    if (run_id) voteGive(s, primary, epoch, run_id, answer.leader, &answer.leader_epoch);
    return answer;
}
