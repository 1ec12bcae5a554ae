/* SPDX-License-Identifier: BSD-3-Clause */
/* failover.c - see failover.h.
 *
 *     no-failover ──FAILOVER──▶ waiting-for-sync ──────────────▶ failover-in-progress
 *          ▲                    writes are paused  a replica     we are its replica
 *          │                            │          has all; or           │
 *          │                            │          FORCE                 │
 *          ├─────── ABORT, time-out ────┘                                │
 *          └─────── it has taken over; ABORT; it refuses ────────────────┘
 *
 * Invariant: while writes are paused nothing is added to the stream (no PING and no GETACK either). A replica
 * whose acknowledgement is our offset has therefore exactly what we have, and goes on where we end. */
#include "repl/failover.h"

#include "base/log.h"
#include "base/num.h"
#include "client/reply.h"
#include "command/command.h"
#include "command/pause.h"
#include "commands/cmd_replication.h"
#include "data/server_state/role.h"
#include "net/ae.h"
#include "registry/cron.h"
#include "registry/info.h"
#include "repl/history.h"
#include "repl/link.h"
#include "repl/replicas.h"

static struct {
    enum failoverState { NO_FAILOVER, WAITING_FOR_SYNC, IN_PROGRESS } state;
    sds host; /* the target; NULL: any replica */
    int port;
    bool force;    /* after the time-out the target takes over with what it has */
    int64_t timer; /* the time-out's; 0: none */
} failover;

/* ---- Course ---- */

static void failoverStopTimer(void) {
    if (failover.timer) aeDeleteTimeEvent(server_el, failover.timer);
    failover.timer = 0;
}

static void failoverSetTarget(struct str host, int port) {
    sds old = failover.host;
    failover.host = host.ptr ? sdsnewstr(host) : NULL;
    failover.port = port;
    sdsfree(old);
}

/* Ends the failover. Writes go on, whichever server accepts them now. */
static void failoverEnd(void) {
    failoverStopTimer();
    failover.state = NO_FAILOVER;
    failoverSetTarget((struct str){0}, 0);
    unpauseClients(PAUSE_FAILOVER);
}

static void failoverAbortBecause(const char *reason) {
    if (failover.host)
        serverLog(LL_NOTICE, "The failover to %s:%d was aborted: %s", failover.host, failover.port, reason);
    else
        serverLog(LL_NOTICE, "The failover to any replica was aborted: %s", reason);
    if (failover.state == IN_PROGRESS) linkBecomePrimary();
    failoverEnd();
}

static void failoverOnAnswer(bool accepted) {
    if (!accepted) {
        failoverAbortBecause("Failover target rejected psync request");
        return;
    }
    link_on_primary_changed(); /* until now the failover could have been aborted */
    failoverEnd();
}

static void failoverHandOver(void) {
    failoverStopTimer();
    failover.state = IN_PROGRESS;
    linkFollowForHandover(sdsview(failover.host), failover.port, failoverOnAnswer);
}

static struct replicaClient *failoverReplicaAt(struct str host, int port) {
    listForEach(&replicas, it) {
        struct replicaClient *r = listEntry(it, struct replicaClient, node);
        if (r->listening_port == port && strEq(host, strOf(replicaAddress(r)))) return r;
    }
    return NULL;
}

static bool failoverHasAll(const struct replicaClient *r) {
    return r && r->state == REPLICA_ONLINE && r->acked == historyOffset();
}

/* Returns the target, or without a target the first replica, that has all data; NULL: none has yet. */
static struct replicaClient *failoverFindSynced(void) {
    if (failover.host) {
        struct replicaClient *target = failoverReplicaAt(sdsview(failover.host), failover.port);
        return failoverHasAll(target) ? target : NULL;
    }
    listForEach(&replicas, it) {
        struct replicaClient *r = listEntry(it, struct replicaClient, node);
        if (failoverHasAll(r)) return r;
    }
    return NULL;
}

static void failoverCheckSynced(void) {
    if (__builtin_expect(failover.state != WAITING_FOR_SYNC, 1)) return;
    struct replicaClient *r = failoverFindSynced();
    if (!r) return;
    if (!failover.host) failoverSetTarget(strOf(replicaAddress(r)), r->listening_port);
    serverLog(LL_NOTICE, "Replica %s:%d has all data, so it takes over now", failover.host, failover.port);
    failoverHandOver();
}

static int64_t failoverOnTimeout(struct aeEventLoop *el, int64_t id, void *data) {
    (void)el, (void)id, (void)data;
    failover.timer = 0;
    if (failover.force) {
        serverLog(LL_NOTICE, "FAILOVER to %s:%d time out exceeded, failing over.", failover.host,
                  failover.port);
        failoverHandOver();
    } else {
        failoverAbortBecause("no replica caught up before the timeout");
    }
    return AE_NOMORE;
}

bool failoverRunning(void) {
    return failover.state != NO_FAILOVER;
}

/* ---- FAILOVER ---- */

struct failoverOptions {
    struct str host; /* ptr NULL: any replica */
    int64_t port, timeout_ms;
    bool abort, force;
};

/* Parses an option with its operands and returns how many words it has; 0: an error has been replied. */
static int failoverParseOption(struct client *c, const struct str *words, int count,
                               struct failoverOptions *w) {
    if (strIs(words[0], "timeout") && count > 1 && !w->timeout_ms) {
        if (!argRange(c, words[1], INT32_MIN, INT32_MAX, &w->timeout_ms, NULL)) return 0;
        if (w->timeout_ms > 0) return 2;
        replyError(c, "ERR FAILOVER timeout must be greater than 0");
        return 0;
    }
    if (strIs(words[0], "to") && count > 2 && !w->host.ptr) {
        w->host = words[1];
        return argRange(c, words[2], INT32_MIN, INT32_MAX, &w->port, NULL) ? 3 : 0;
    }
    bool *flag = strIs(words[0], "abort") ? &w->abort : strIs(words[0], "force") ? &w->force : NULL;
    if (flag && !*flag) {
        *flag = true;
        return 1;
    }
    replySyntaxError(c);
    return 0;
}

static const char *failoverFindError(const struct failoverOptions *w) {
    if (failoverRunning()) return "ERR FAILOVER already in progress.";
    if (roleIsReplica()) return "ERR FAILOVER is not valid when server is a replica.";
    if (!replicas.length) return "ERR FAILOVER requires connected replicas.";
    if (w->force && !(w->timeout_ms && w->host.ptr))
        return "ERR FAILOVER with force option requires both a timeout and target HOST and IP.";
    if (!w->host.ptr) return NULL;
    const struct replicaClient *r = failoverReplicaAt(w->host, (int)w->port);
    if (!r) return "ERR FAILOVER target HOST and PORT is not a replica.";
    return r->state == REPLICA_ONLINE ? NULL : "ERR FAILOVER target replica is not online.";
}

static void failoverBegin(const struct failoverOptions *w) {
    failover.state = WAITING_FOR_SYNC;
    failover.force = w->force;
    failoverSetTarget(w->host, (int)w->port);
    if (w->host.ptr)
        serverLog(LL_NOTICE, "A failover to %s:%d was requested", failover.host, failover.port);
    else
        serverLog(LL_NOTICE, "A failover to any replica was requested");
    if (w->timeout_ms) failover.timer = aeCreateTimeEvent(server_el, w->timeout_ms, failoverOnTimeout, NULL);
    pauseClients(PAUSE_FAILOVER, PAUSE_WRITES, INT64_MAX);
}

void failoverCommand(struct client *c) {
    struct failoverOptions options = {0};
    if (cluster_enabled) {
        replyError(c, "ERR FAILOVER not allowed in cluster mode. Use CLUSTER FAILOVER command instead.");
        return;
    }
    for (int i = 1, words; i < c->argc; i += words) {
        words = failoverParseOption(c, c->argv + i, c->argc - i, &options);
        if (!words) return;
    }
    if (options.abort && c->argc > 2) {
        replySyntaxError(c);
        return;
    }
    if (options.abort && !failoverRunning()) {
        replyError(c, "ERR No failover in progress.");
        return;
    }
    const char *error = options.abort ? NULL : failoverFindError(&options);
    if (error) {
        replyError(c, error);
        return;
    }
    if (options.abort)
        failoverAbortBecause("FAILOVER ABORT was called");
    else
        failoverBegin(&options);
    replyOk(c);
}

/* ---- Registration ---- */

static sds failoverInfo(sds s) {
    static const char *const names[] = {"no-failover", "waiting-for-sync", "failover-in-progress"};
    return infoField(s, "master_failover_state:%s", names[failover.state]);
}

void failoverInit(void) {
    infoRegister("replication", failoverInfo);
    beforeSleepRegister(failoverCheckSynced);
}
