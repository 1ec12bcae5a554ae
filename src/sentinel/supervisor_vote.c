/* SPDX-License-Identifier: BSD-3-Clause */
/* supervisor_vote.c - votes for the Sentinel that leads the failover of a primary.
 *
 * A vote is a promise for one epoch, made once, saved to disk before it is given, and given to the first
 * Sentinel that requests it. The Sentinel with the votes of a majority leads in that epoch, and there is no
 * second one. When votes are split, none leads, and after a while some Sentinel begins the next epoch. Their
 * starts are at random times, so one is first everywhere sooner or later. */
#include <string.h>

#include "sentinel/supervisor_private.h"

int64_t failoverStartTime(struct supervisor *s) {
    return s->now_ms + (int64_t)(s->env->random(s->ctx) % 1000);
}

static bool supervisorVoteMayVote(const struct supervisor *s, const struct instance *primary, uint64_t epoch,
                                  const char *run_id) {
    return runIdIsValid(strOf(run_id)) && epoch <= EPOCH_MAX && primary->p.leader_epoch < epoch &&
           s->current_epoch <= epoch;
}

void voteGive(struct supervisor *s, struct instance *primary, uint64_t epoch, const char *run_id,
              char leader[RUN_ID_LEN + 1], uint64_t *leader_epoch) {
    struct primaryState *p = &primary->p;
    supervisorTakeEpoch(s, primary, epoch);
    if (supervisorVoteMayVote(s, primary, epoch, run_id)) {
        strcpy(p->leader, run_id);
        p->leader_epoch = epoch;
        supervisorSave(s);
        supervisorEventText(s, EVENT_WARNING, "+vote-for-leader", primary, "%s %llu", p->leader,
                            (unsigned long long)epoch);
        if (strcmp(p->leader, s->my_id) != 0) p->failover_start_ms = failoverStartTime(s);
    }
    strcpy(leader, p->leader);
    *leader_epoch = p->leader_epoch;
}

/* Counts the other Sentinels that vote for run_id in that epoch. */
static int supervisorVoteCountVotes(const struct instance *primary, uint64_t epoch, const char *run_id) {
    const struct instances *sentinels = &primary->p.sentinels;
    int votes = 0;
    for (int i = 0; i < sentinels->count; i++) {
        const struct sentinelState *state = &sentinels->items[i]->s;
        votes += state->leader_epoch == epoch && strcmp(state->leader, run_id) == 0;
    }
    return votes;
}

/* Returns the run id with most votes of other Sentinels; "": none votes. */
static const char *supervisorVoteFindMostVoted(const struct instance *primary, uint64_t epoch) {
    const struct instances *sentinels = &primary->p.sentinels;
    const char *best = "";
    int most = 0;
    for (int i = 0; i < sentinels->count; i++) {
        const struct sentinelState *state = &sentinels->items[i]->s;
        if (!state->leader[0] || state->leader_epoch != epoch) continue;
        int votes = supervisorVoteCountVotes(primary, epoch, state->leader);
        if (votes <= most) continue;
        most = votes;
        best = state->leader;
    }
    return best;
}

/* Newer epochs of other primaries change nothing: votes are counted for each primary separately. */
bool voteFindWinner(struct supervisor *s, struct instance *primary, uint64_t epoch,
                    char winner[RUN_ID_LEN + 1]) {
    if (primary->p.leader_epoch > epoch) return false; /* a later election for this primary has begun */
    const char *best = supervisorVoteFindMostVoted(primary, epoch);
    char mine[RUN_ID_LEN + 1];
    uint64_t my_epoch;
    voteGive(s, primary, epoch, best[0] ? best : s->my_id, mine, &my_epoch);
    bool voted = mine[0] && my_epoch == epoch;
    int votes = best[0] ? supervisorVoteCountVotes(primary, epoch, best) : 0;
    if (voted) {
        int with_mine = supervisorVoteCountVotes(primary, epoch, mine) + 1;
        if (with_mine > votes) {
            votes = with_mine;
            best = mine;
        }
    }
    int voters = primary->p.sentinels.count + 1;
    strcpy(winner, best);
    return votes >= voters / 2 + 1 && votes >= primary->p.quorum;
}
