/* SPDX-License-Identifier: BSD-3-Clause */
/* shutdown.c - see shutdown.h. A signal only sets a flag and wakes the loop; the work is done before
 * the loop sleeps.
 *
 *     requested ─┬─▶ modules save and flush ─▶ exit
 *                └─▶ writes are paused until all replicas have everything, shutdown-timeout ends, or ABORT */
#include "server/shutdown.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/assert.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/log_signal.h"
#include "client/client.h"
#include "client/client_log.h"
#include "client/client_output.h"
#include "client/reply.h"
#include "cluster/cluster.h"
#include "command/blocking.h"
#include "command/call.h"
#include "command/command.h"
#include "command/io_threads.h"
#include "command/loading.h"
#include "command/pause.h"
#include "commands/cmd_server.h"
#include "data/server_state/role.h"
#include "module/module.h"
#include "net/ae.h"
#include "registry/at_exit.h"
#include "registry/background.h"
#include "registry/config.h"
#include "registry/cron.h"
#include "registry/info.h"
#include "registry/server_events.h"
#include "repl/history.h"
#include "repl/replicas.h"
#include "server/listen.h"
#include "server/process.h"
#include "web/web.h"

static volatile sig_atomic_t signal_received;
static int64_t timeout_s; /* shutdown-timeout */

/* ---- Options for signals: shutdown-on-sigint, shutdown-on-sigterm ---- */

static int on_sigint, on_sigterm; /* SHUTDOWN_*; 0: default */

static const struct configEnum option_names[] = {
    {"default", 0},
    {"save", SHUTDOWN_SAVE},
    {"nosave", SHUTDOWN_NOSAVE},
    {"now", SHUTDOWN_NOW},
    {"force", SHUTDOWN_FORCE},
    {"safe", SHUTDOWN_SAFE},
    {"failover", SHUTDOWN_FAILOVER},
    {NULL, 0},
};
static const struct configDirective option_kind = {.type = CONFIG_TYPE_ENUM, .names = option_names};

/* Returns the flag of an option, or -1. */
static int shutdownOptionFlag(struct str name) {
    for (const struct configEnum *option = option_names; option->name; option++) {
        if (strIs(name, option->name)) return option->value;
    }
    return -1;
}

static int *shutdownOptionVariable(const struct configDirective *d) {
    return strcmp(d->name, "shutdown-on-sigint") == 0 ? &on_sigint : &on_sigterm;
}

static bool shutdownSetOptions(const struct configDirective *d, int argc, const struct str *argv,
                               const char **err) {
    int flags = 0;
    for (int i = 0; i < argc; i++) {
        int flag = shutdownOptionFlag(argv[i]);
        if (flag < 0) {
            *err =
                "argument(s) must be one of the following: default, save, nosave, now, force, safe, failover";
            return false;
        }
        flags |= flag;
    }
    if (flags & SHUTDOWN_SAVE && flags & SHUTDOWN_NOSAVE) {
        *err = "shutdown options SAVE and NOSAVE can't be used simultaneously";
        return false;
    }
    *shutdownOptionVariable(d) = flags;
    return true;
}

static sds shutdownGetOptions(const struct configDirective *d) {
    int flags = *shutdownOptionVariable(d);
    sds s = sdsempty();
    for (const struct configEnum *option = option_names; option->name; option++) {
        if (flags & option->value) s = sdscatprintf(s, "%s%s", sdslen(s) ? " " : "", option->name);
    }
    return sdslen(s) ? s : sdscat(s, option_names[0].name);
}

/* ---- Signals ---- */

static void shutdownOnSignal(int sig) {
    if (signal_received && sig == SIGINT) {
        logSignal("Second SIGINT: the server exits at once");
        processRemovePidFile();
        _exit(1);
    }
    if (loadingActive()) { /* nothing can be lost yet */
        logSignal("Received a signal to shut down while loading, so the server exits at once");
        processRemovePidFile();
        _exit(0);
    }
    logSignal(sig == SIGINT ? "Received SIGINT, so the server shuts down"
                            : "Received SIGTERM, so the server shuts down");
    signal_received = sig;
    aeWakeup(server_el);
}

/* Logs which client requested the shutdown. c is NULL for a signal. */
static void shutdownLogRequest(struct client *c) {
    if (!c || !c->conn) {
        serverLog(LL_NOTICE, "A shutdown was requested");
        return;
    }
    sds who = clientLogName(c, sdsempty());
    serverLog(LL_NOTICE, "A shutdown was requested by '%s'", who);
    sdsfree(who);
}

/* Logs the replicas that have not acknowledged everything up to offset. */
static void shutdownLogReplicas(uint64_t offset) {
    size_t in_sync = 0;
    listForEach(&replicas, it) {
        const struct replicaClient *r = listEntry(it, struct replicaClient, node);
        if (r->acked >= offset) {
            in_sync++;
            continue;
        }
        int64_t lag_ms = r->state == REPLICA_ONLINE ? cmd_time_ms - r->acked_ms : 0;
        serverLog(LL_NOTICE, "Lagging replica %s reported offset %lld behind master, lag=%lld, state=%s.",
                  replicaName(r), (long long)(offset - r->acked), (long long)lag_ms / 1000,
                  replicaStateName(r));
    }
    if (!replicas.length) return;
    serverLog(LL_NOTICE, "%zu of %zu replicas are in sync when shutting down.", in_sync, replicas.length);
}

static bool shutdownFinish(int flags, uint64_t offset) {
    shutdownLogReplicas(offset);
    if (!atExitRun(flags)) {
        serverLog(LL_WARNING, "Errors trying to shut down the server. Check the logs for more information.");
        return false;
    }
    serverEvent(SERVER_SHUTDOWN, 0, NULL);
    clusterOnExit(flags & SHUTDOWN_FAILOVER, offset);
    replicasWriteLater();
    clientsWritePending();
    ioThreadsEnd();
    clientsWritePending(); /* of clients that were on their way back from I/O threads */
    processNotifyStopping();
    listenStop();
    webStop();
    bioStop();
    return true;
}

bool shutdownPrepare(int flags) {
    shutdownLogRequest(callOwner());
    return shutdownFinish(flags, historyOffset());
}

/* Exits, or returns false if a module vetoes. */
static bool shutdownEndNow(int flags, uint64_t offset) {
    if (!shutdownFinish(flags, offset)) return false;
    moduleStop();
    serverLog(LL_WARNING, "%s is now ready to exit, bye bye...", sentinel_mode ? "Sentinel" : "Valkey");
    exit(0);
}

/* ---- Waiting for replicas ---- */

/* Writes are paused, so replicas need the stream up to `offset`. Behind it there are only
 * requests for acknowledgements. */
static struct {
    bool on;
    int flags;
    uint64_t offset;
    int64_t timer;
    int64_t until_ms;
} pending;

static bool shutdownReplicasHave(uint64_t offset) {
    listForEach(&replicas, it) {
        if (listEntry(it, struct replicaClient, node)->acked < offset) return false;
    }
    return true;
}

static void shutdownReplyErrors(struct client *c) {
    replyError(c, "ERR Errors trying to SHUTDOWN. Check logs.");
}

static void shutdownEndOfWait(void *priv, struct client *c) {
    (void)priv;
    if (c->blocked && c->lastcmd && c->lastcmd->spec->proc == shutdownCommand) unblockWithTimeout(c);
}

/* Lets the server continue. */
static void shutdownStopWaiting(void) {
    pending.on = false;
    signal_received = 0;
    if (pending.timer) aeDeleteTimeEvent(server_el, pending.timer);
    unpauseClients(PAUSE_SHUTDOWN);
    clientForEach(shutdownEndOfWait, NULL);
}

static int64_t shutdownOnDeadline(struct aeEventLoop *el, int64_t id, void *data) {
    (void)el, (void)id, (void)data;
    pending.timer = 0;
    if (!shutdownEndNow(pending.flags, pending.offset)) shutdownStopWaiting();
    return AE_NOMORE;
}

/* Tells whether the shutdown has to wait. It cannot within a running script, which keeps the stream from
 * advancing. A handover to another node is put into the stream behind the command that requested it, so it
 * waits for the end of that command. */
static bool shutdownMustWait(int flags) {
    bool within_script = call_running && call_running->outer;
    if (within_script) return false;
    if (flags & SHUTDOWN_FAILOVER && call_running) return true;
    return timeout_s && !(flags & SHUTDOWN_NOW) && !shutdownReplicasHave(historyOffset());
}

/* Returns true if the shutdown will happen, false if a module vetoes. */
static bool shutdownStart(int flags) {
    shutdownLogRequest(callOwner());
    if (flags & SHUTDOWN_SAFE && !clusterMayExit(flags & SHUTDOWN_FORCE)) return false;
    if (!shutdownMustWait(flags)) return shutdownEndNow(flags, historyOffset());
    pending.on = true;
    pending.flags = flags;
    pending.offset = historyOffset();
    pending.timer =
        aeCreateTimeEvent(server_el, flags & SHUTDOWN_NOW ? 0 : timeout_s * 1000, shutdownOnDeadline, NULL);
    pending.until_ms = mstime() + (flags & SHUTDOWN_NOW ? 0 : timeout_s * 1000);
    replicasRequestAck();
    pauseClients(PAUSE_SHUTDOWN, PAUSE_WRITES, INT64_MAX);
    serverLog(LL_NOTICE, "The shutdown waits until the replicas have everything");
    return true;
}

static __attribute__((noinline)) void shutdownContinue(void) {
    if (pending.on) {
        if (shutdownReplicasHave(pending.offset) && !shutdownEndNow(pending.flags, pending.offset))
            shutdownStopWaiting();
    } else if (!shutdownStart(signal_received == SIGINT ? on_sigint : on_sigterm)) {
        signal_received = 0;
    }
}

static void shutdownBeforeSleep(void) {
    if (__builtin_expect(pending.on || signal_received, 0)) shutdownContinue();
}

/* Without a wait, there may be a signal that has to wait for the end of a script. */
static bool shutdownAbortWaiting(void) {
    if (!pending.on && !signal_received) return false;
    shutdownStopWaiting();
    serverLog(LL_NOTICE, "Shutdown manually aborted.");
    return true;
}

void shutdownCommand(struct client *c) {
    int flags = 0;
    bool abort = false;
    for (int i = 1; i < c->argc; i++) {
        int flag = shutdownOptionFlag(c->argv[i]);
        if (flag > 0) {
            flags |= flag;
        } else if (strIs(c->argv[i], "abort")) {
            abort = true;
        } else {
            replySyntaxError(c);
            return;
        }
    }
    if ((abort && flags) || (flags & SHUTDOWN_NOSAVE && flags & SHUTDOWN_SAVE)) {
        replySyntaxError(c);
        return;
    }
    if (flags & SHUTDOWN_FAILOVER && !cluster_enabled) {
        replyError(c, "ERR SHUTDOWN FAILOVER is only supported in cluster mode.");
        return;
    }
    if (loadingActive()) flags = (flags & ~SHUTDOWN_SAVE) | SHUTDOWN_NOSAVE;
    if (abort && shutdownAbortWaiting())
        replyOk(c);
    else if (abort)
        replyError(c, "ERR No shutdown in progress.");
    else if (pending.on || shutdownStart(flags))
        blockUninterruptibly(c, shutdownReplyErrors);
    else
        shutdownReplyErrors(c);
}

static sds shutdownInfo(sds s) {
    if (!pending.on) return s;
    int64_t left_ms = pending.until_ms - mstime();
    return infoField(s, "shutdown_in_milliseconds:%lld", (long long)(left_ms > 0 ? left_ms : 0));
}

void shutdownRegister(void) {
    static struct configDirective directives[] = {
        CONFIG_INT("shutdown-timeout", NULL, CONFIG_MODIFIABLE, &timeout_s, 10, 0, INT32_MAX, NULL),
        CONFIG_WORDS("shutdown-on-sigint", CONFIG_MODIFIABLE | CONFIG_MULTI_ARG, shutdownSetOptions,
                     shutdownGetOptions, &option_kind),
        CONFIG_WORDS("shutdown-on-sigterm", CONFIG_MODIFIABLE | CONFIG_MULTI_ARG, shutdownSetOptions,
                     shutdownGetOptions, &option_kind),
    };
    configRegister(directives, sizeof directives / sizeof *directives);
    beforeSleepRegister(shutdownBeforeSleep);
    infoRegister("server", shutdownInfo);
}

void shutdownInit(void) {
    struct sigaction act = {.sa_handler = shutdownOnSignal};
    sigemptyset(&act.sa_mask);
    sigaction(SIGTERM, &act, NULL);
    sigaction(SIGINT, &act, NULL);
    signal(SIGHUP, SIG_IGN);
    signal(SIGPIPE, SIG_IGN);
}
