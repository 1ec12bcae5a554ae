/* SPDX-License-Identifier: BSD-3-Clause */
/* supervisor_private.h - what the parts of the supervisor share. */
#pragma once

#include <stdarg.h>

#include "base/log.h"
#include "sentinel/supervisor.h"

#define DOWN_AFTER_MS       30000 /* default of a primary */
#define FAILOVER_TIMEOUT_MS 180000

#define EPOCH_MAX (INT64_MAX - UINT32_MAX) /* of others; counting up cannot overflow */

static inline struct primaryState *instancePrimaryState(struct instance *i) { /* of its primary or itself */
    return &instancePrimary(i)->p;
}
static inline int64_t minTime(int64_t a, int64_t b) {
    return a < b ? a : b;
}

/* ---- supervisor.c ---- */
/* Sends the event "<type> <name> <ip> <port>[ @ <primary> <ip> <port>]" plus the formatted
 * `tail` ("": nothing). A warning also runs the notification script of the primary. i NULL: the
 * tail alone, and no script. */
void supervisorEvent(struct supervisor *s, enum eventLevel level, const char *name, const struct instance *i,
                     const char *tail, ...) __attribute__((format(printf, 5, 6)));
/* Sends an event with this text alone. A warning also runs the notification script of the primary. */
void supervisorEventText(struct supervisor *s, enum eventLevel level, const char *name,
                         const struct instance *primary, const char *fmt, ...)
    __attribute__((format(printf, 5, 6)));
void supervisorLog(struct supervisor *s, int level, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
/* Adopts a greater epoch, which was received for that primary: saves, sends +new-epoch. */
void supervisorTakeEpoch(struct supervisor *s, const struct instance *primary, uint64_t epoch);
/* Changes the primary's address. Its replicas stay, except the one at the new address; the
 * old address becomes a replica; each gets a +slave event. Sentinels stay. Saves. The caller
 * sends +switch-master before. */
void primarySwitchAddress(struct supervisor *s, struct instance *primary, const struct hostAddress *to);

/* ---- supervisor_instances.c ---- */
/* Resolves the name (which may be an IP) again; false: the IP is unchanged. */
bool hostAddressResolve(struct supervisor *s, struct hostAddress *a);
/* Returns whether the id has 1 to RUN_ID_LEN letters and digits, so that hellos and files can contain it. */
bool runIdIsValid(struct str id);

/* ---- supervisor_links.c ---- */
void peerLinkTick(struct supervisor *s, struct instance *i); /* connects; closes dead channels */
void periodicTick(struct supervisor *s, struct instance *i); /* sends INFO, PING, hello */
struct peerLink *linkCreate(struct supervisor *s, struct instance *owner);
/* Removes the owner; closes and frees the link if it was the last. */
void linkRelease(struct supervisor *s, struct peerLink *link, struct instance *owner);
/* Gives a Sentinel that is known for another primary, too, the link that exists for its run id. */
void linkShare(struct supervisor *s, struct instance *sentinel);
void linkClose(struct supervisor *s, struct peerLink *link, enum channel ch); /* if it is open */
/* Returns whether a request of this kind has not been answered yet. */
bool linkAwaits(const struct peerLink *link, enum peerRequest what);
/* Sends on the command channel, which must exist. `what` says how to process the reply; REQ_OTHER ignores it.
 * The first word is replaced by the primary's rename, if any. */
void instanceSend(struct supervisor *s, struct instance *i, enum peerRequest what, int argc,
                  const struct str *argv);
/* Returns whether periodic requests may be sent: the channels exist, and not too many
 * replies are outstanding. */
bool instanceMaySend(const struct instance *i);

/* ---- supervisor_info.c ---- */
void infoProcess(struct supervisor *s, struct instance *i, struct str text);

/* ---- supervisor_hello.c ---- */
bool helloSend(struct supervisor *s, struct instance *i);              /* false: not possible now */
void helloForceUpdate(struct supervisor *s, struct instance *primary); /* one is sent at the next tick */

/* ---- supervisor_down.c ---- */
void downSubjectiveTick(struct supervisor *s, struct instance *i);      /* s_down */
void downObjectiveTick(struct supervisor *s, struct instance *primary); /* o_down */
void downSendQuestions(struct supervisor *s, struct instance *primary,
                       bool force); /* force: before the period, too */
void downProcessAnswer(struct supervisor *s, struct instance *sentinel, const struct respReply *reply);

/* ---- supervisor_vote.c ---- */
/* Gives this Sentinel's vote to run_id in that epoch, or returns the vote that was given
 * before. A new vote is saved. */
void voteGive(struct supervisor *s, struct instance *primary, uint64_t epoch, const char *run_id,
              char leader[RUN_ID_LEN + 1], uint64_t *leader_epoch);
/* Finds the Sentinel that is elected in that epoch as far as is known; returns false if there is none. */
bool voteFindWinner(struct supervisor *s, struct instance *primary, uint64_t epoch,
                    char winner[RUN_ID_LEN + 1]);

/* Returns the official start of an attempt that starts now: up to a second later, not the same everywhere. */
int64_t failoverStartTime(struct supervisor *s);

/* ---- supervisor_pause.c ---- */
/* Returns how many replicas must have what the primary acknowledges (min-replicas-sync); 0: none. */
int pauseSyncReplicas(const struct instance *primary);
void pauseBegin(struct instance *primary);                      /* a failover begins: nothing is paused */
void pauseTick(struct supervisor *s, struct instance *primary); /* in each tick, also during TILT */
void pauseEndForgotten(struct supervisor *s, struct instance *replica); /* ends the pauses of all Sentinels */
void pauseEnd(struct supervisor *s, struct instance *primary);          /* the failover is given up */
void pauseProcessReply(struct supervisor *s, struct instance *replica, const struct respReply *reply);
void pauseProcessInfo(struct instance *replica); /* an INFO has come */
/* Returns whether the replica has still to be paused, or to report its offset since. */
bool pauseAwaits(const struct supervisor *s, const struct instance *replica);
/* Returns whether replica a has something of the history of the primary that replica b does not have. */
bool pauseHasMore(const struct instance *a, const struct instance *b);
/* Returns whether nothing that the old primary acknowledges, before or afterwards, is lost by the promotion,
 * as far as the servers support that. */
bool pauseAllowsPromotion(struct supervisor *s, struct instance *primary, const struct instance *candidate);

/* ---- supervisor_failover.c ---- */
/* Returns whether the channel exists and has delivered a reply. What is sent while it
 * connects may never arrive. */
bool failoverIsReachable(const struct instance *i);
bool failoverStartIfNeeded(struct supervisor *s, struct instance *primary);
void failoverTick(struct supervisor *s, struct instance *primary); /* without update_config */
/* Called at the end of a tick in the state update_config: sends +switch-master and changes the address. */
void failoverFinish(struct supervisor *s, struct instance *primary);
/* Called when the promoted replica reports that it is a primary. */
void failoverProcessPromotion(struct supervisor *s, struct instance *replica);
/* Returns the best replica, or NULL. */
struct instance *failoverSelectReplica(struct supervisor *s, struct instance *primary);
/* Sends the transaction that makes i replicate that address (NULL: become a primary). Returns false if i has
 * no working channel. */
bool failoverSendReplicaOf(struct supervisor *s, struct instance *i, const struct hostAddress *to);
/* Runs the reconfiguration script; role is "leader" or "observer". */
void failoverRunReconfigScript(struct supervisor *s, struct instance *primary, const char *role,
                               const struct hostAddress *from, const struct hostAddress *to);
