/* SPDX-License-Identifier: BSD-3-Clause */
/* supervisor_private.h - what the parts of the supervisor (supervisor*.c) share. */
#pragma once

#include <stdarg.h>

#include "base/log.h"
#include "sentinel/supervisor.h"

#define DOWN_AFTER_MS       30000 /* of a primary about which nothing is said */
#define FAILOVER_TIMEOUT_MS 180000

#define EPOCH_MAX (INT64_MAX - UINT32_MAX) /* of others: above it there is room to count up */

static inline struct primaryState *primaryOf(struct instance *i) { /* its own, or its primary's */
    return &instancePrimary(i)->p;
}
static inline int64_t minTime(int64_t a, int64_t b) {
    return a < b ? a : b;
}

/* ---- supervisor.c ---- */
/* "<type> <name> <ip> <port>[ @ <primary> <ip> <port>]" and what `tail` makes ("" nothing); warnings also run
 * the notification script of its primary. i NULL: the tail alone, and no script. */
void supervisorEvent(struct supervisor *s, enum eventLevel level, const char *name, const struct instance *i,
                     const char *tail, ...) __attribute__((format(printf, 5, 6)));
/* The payload is the text alone; a warning runs the notification script of that primary all the same. */
void supervisorEventText(struct supervisor *s, enum eventLevel level, const char *name,
                         const struct instance *primary, const char *fmt, ...)
    __attribute__((format(printf, 5, 6)));
void supervisorLog(struct supervisor *s, int level, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
/* Adopts a greater epoch, of which something about that primary has told: saves, +new-epoch. */
void supervisorTakeEpoch(struct supervisor *s, const struct instance *primary, uint64_t epoch);
/* The primary lives at this address from now on: replicas as they were but for that address, and the old one
 * among them, each with +slave; Sentinels stay. Saved. +switch-master is the caller's, before. */
void primarySwitchAddress(struct supervisor *s, struct instance *primary, const struct hostAddress *to);

/* ---- supervisor_instances.c ---- */
/* Its IP once more, by its name (which may be an IP); false: as it was. */
bool hostAddressResolve(struct supervisor *s, struct hostAddress *a);
/* 1 to RUN_ID_LEN letters and digits: what can stand in a hello and in a file. */
bool runIdValid(struct str id);

/* ---- supervisor_links.c ---- */
void peerLinkTick(struct supervisor *s, struct instance *i); /* connects, drops what is stale */
void periodicTick(struct supervisor *s, struct instance *i); /* INFO, PING, hello */
struct peerLink *linkCreate(struct supervisor *s, struct instance *owner);
/* Frees the link (and closes it) when `owner` was the last. */
void linkRelease(struct supervisor *s, struct peerLink *link, struct instance *owner);
/* A Sentinel whose run id is known with another primary: it has that one's link from now on. */
void linkShare(struct supervisor *s, struct instance *sentinel);
void linkClose(struct supervisor *s, struct peerLink *link, enum channel ch); /* if it is there */
/* On the command channel, which is there. What the answer means is told by `what`; commands of which nothing
 * is expected have ASKED_NOTHING. The first word goes by its primary's renames. */
void instanceSend(struct supervisor *s, struct instance *i, enum peerRequest what, int argc,
                  const struct str *argv);
/* May something periodic be sent: is the channel there, and not too much waiting for answers? */
bool instanceMaySend(const struct instance *i);

/* ---- supervisor_info.c ---- */
void infoReceived(struct supervisor *s, struct instance *i, struct str text);

/* ---- supervisor_hello.c ---- */
bool helloSend(struct supervisor *s, struct instance *i);              /* false: it could not be */
void helloForceUpdate(struct supervisor *s, struct instance *primary); /* one leaves at the next tick */

/* ---- supervisor_down.c ---- */
void downTick(struct supervisor *s, struct instance *i);                  /* s_down */
void downForAllTick(struct supervisor *s, struct instance *primary);      /* o_down */
void downAsk(struct supervisor *s, struct instance *primary, bool force); /* the questions */
void downAnswered(struct supervisor *s, struct instance *sentinel, const struct respReply *reply);

/* ---- supervisor_vote.c ---- */
/* Our vote: for run_id in that epoch, or the one that has been given already. Saved when it is new. */
void voteFor(struct supervisor *s, struct instance *primary, uint64_t epoch, const char *run_id,
             char leader[RUN_ID_LEN + 1], uint64_t *leader_epoch);
/* Who is elected in that epoch, as far as is known; false: nobody. */
bool voteWinner(struct supervisor *s, struct instance *primary, uint64_t epoch, char winner[RUN_ID_LEN + 1]);

/* When an attempt is taken to begin that begins now: up to a second later, not the same everywhere. */
int64_t failoverStartTime(struct supervisor *s);

/* ---- supervisor_failover.c ---- */
bool failoverStartIfNeeded(struct supervisor *s, struct instance *primary);
void failoverTick(struct supervisor *s, struct instance *primary); /* the state machine; not update_config */
/* At the end of a tick, when the state is update_config: +switch-master, and the primary moves. */
void failoverFinish(struct supervisor *s, struct instance *primary);
/* The promoted replica says that it is a primary. */
void failoverPromoted(struct supervisor *s, struct instance *replica);
/* The best replica, or NULL. */
struct instance *failoverSelectReplica(struct supervisor *s, struct instance *primary);
/* The transaction that makes i follow that address; NULL: nobody. False: it has no channel that works. */
bool sendReplicaOf(struct supervisor *s, struct instance *i, const struct hostAddress *to);
/* Runs the reconfiguration script: role "leader" or "observer". */
void callReconfigScript(struct supervisor *s, struct instance *primary, const char *role,
                        const struct hostAddress *from, const struct hostAddress *to);
