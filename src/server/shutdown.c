/* shutdown.c - see shutdown.h. A signal only sets a flag and wakes the loop; the work is done before the loop
 * sleeps. */
#include "server/shutdown.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/assert.h"
#include "base/log.h"
#include "base/log_signal.h"
#include "client/client.h"
#include "client/client_log.h"
#include "client/client_output.h"
#include "registry/config.h"
#include "registry/cron.h"
#include "registry/background.h"
#include "command/call.h"
#include "command/loading.h"
#include "client/reply.h"
#include "net/ae.h"
#include "server/listen.h"
#include "server/process.h"

#define EXIT_HOOKS_MAX 8

static volatile sig_atomic_t signal_received;
static int (*exit_hooks[EXIT_HOOKS_MAX])(int flags);
static int exit_hook_count;
static int64_t timeout_s; /* for replicas that have not got everything */

void shutdownOnExit(int (*fn)(int flags)) {
    serverAssert(exit_hook_count < EXIT_HOOKS_MAX);
    exit_hooks[exit_hook_count++] = fn;
}

/* ---- What a signal means: shutdown-on-sigint, shutdown-on-sigterm ---- */

static int on_sigint, on_sigterm; /* SHUTDOWN_*; 0: default */

static const struct {
    const char *name;
    int flag;
} option_names[] = {{"default", 0},
                    {"save", SHUTDOWN_SAVE},
                    {"nosave", SHUTDOWN_NOSAVE},
                    {"now", SHUTDOWN_NOW},
                    {"force", SHUTDOWN_FORCE},
                    {"safe", SHUTDOWN_SAFE},
                    {"failover", SHUTDOWN_FAILOVER}};
#define OPTION_COUNT (sizeof option_names / sizeof *option_names)

/* The flag of an option, -1 when there is none of that name. */
static int optionFlag(struct str name) {
    for (size_t k = 0; k < OPTION_COUNT; k++) {
        if (strIs(name, option_names[k].name)) return option_names[k].flag;
    }
    return -1;
}

static int *optionsOf(const struct configDirective *d) {
    return strcmp(d->name, "shutdown-on-sigint") == 0 ? &on_sigint : &on_sigterm;
}

static bool setOptions(const struct configDirective *d, int argc, const struct str *argv, const char **err) {
    int flags = 0;
    for (int i = 0; i < argc; i++) {
        int flag = optionFlag(argv[i]);
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
    *optionsOf(d) = flags;
    return true;
}

static sds getOptions(const struct configDirective *d) {
    int flags = *optionsOf(d);
    sds s = sdsempty();
    for (size_t k = 0; k < OPTION_COUNT; k++) {
        if (flags & option_names[k].flag)
            s = sdscatprintf(s, "%s%s", sdslen(s) ? " " : "", option_names[k].name);
    }
    return sdslen(s) ? s : sdscat(s, option_names[0].name);
}

/* ---- Signals ---- */

static void onSignal(int sig) {
    if (signal_received && sig == SIGINT) {
        logSignal("You insist... exiting now.");
        processRemovePidFile();
        _exit(1);
    }
    if (loadingActive()) { /* there is nothing to lose yet */
        logSignal("Received shutdown signal during loading, exiting now.");
        processRemovePidFile();
        _exit(0);
    }
    logSignal(sig == SIGINT ? "Received SIGINT scheduling shutdown..."
                            : "Received SIGTERM scheduling shutdown...");
    signal_received = sig;
    aeWakeup(server_el);
}

/* Who has asked; a signal has no name. */
static void logRequest(struct client *c) {
    if (!c || !c->conn) {
        serverLog(LL_NOTICE, "User requested shutdown...");
        return;
    }
    sds who = clientLogName(c, sdsempty());
    serverLog(LL_NOTICE, "User requested shutdown... (user request from '%s')", who);
    sdsfree(who);
}

bool shutdownPrepare(int flags) {
    logRequest(callOwner());
    for (int i = 0; i < exit_hook_count; i++) {
        if (!exit_hooks[i](flags) && !(flags & SHUTDOWN_FORCE)) {
            serverLog(LL_WARNING,
                      "Errors trying to shut down the server. Check the logs for more information.");
            return false;
        }
    }
    clientsWritePending();
    processStopping();
    listenStop();
    bioStop();
    return true;
}

/* False when a hook refuses. Does not return otherwise. */
static bool shutDown(int flags) {
    if (!shutdownPrepare(flags)) return false;
    serverLog(LL_WARNING, "Valkey is now ready to exit, bye bye...");
    exit(0);
}

static void shutdownOnSignal(void) {
    if (!signal_received) return;
    if (!shutDown(signal_received == SIGINT ? on_sigint : on_sigterm)) signal_received = 0;
}

void shutdownCommand(struct client *c) {
    int flags = 0;
    bool abort = false;
    for (int i = 1; i < c->argc; i++) {
        int flag = optionFlag(c->argv[i]);
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
    if (flags & SHUTDOWN_FAILOVER) {
        replyError(c, "ERR SHUTDOWN FAILOVER is only supported in cluster mode.");
        return;
    }
    if (loadingActive()) flags = (flags & ~SHUTDOWN_SAVE) | SHUTDOWN_NOSAVE;
    if (abort && signal_received) { /* one that had to wait, for a script that goes on and on */
        signal_received = 0;
        serverLog(LL_NOTICE, "Shutdown manually aborted.");
        replyOk(c);
        return;
    }
    if (abort) {
        replyError(c, "ERR No shutdown in progress.");
        return;
    }
    if (!shutDown(flags)) replyError(c, "ERR Errors trying to SHUTDOWN. Check logs.");
}

void shutdownRegister(void) {
    static struct configDirective directives[] = {
        CONFIG_INT("shutdown-timeout", NULL, CONFIG_MODIFIABLE, &timeout_s, 10, 0, INT32_MAX, NULL),
        CONFIG_SPECIAL("shutdown-on-sigint", NULL, CONFIG_MODIFIABLE | CONFIG_MULTI_ARG, setOptions,
                       getOptions, NULL),
        CONFIG_SPECIAL("shutdown-on-sigterm", NULL, CONFIG_MODIFIABLE | CONFIG_MULTI_ARG, setOptions,
                       getOptions, NULL),
    };
    configRegister(directives, sizeof directives / sizeof *directives);
    beforeSleepRegister(shutdownOnSignal);
}

void shutdownInit(void) {
    struct sigaction act = {.sa_handler = onSignal};
    sigemptyset(&act.sa_mask);
    sigaction(SIGTERM, &act, NULL);
    sigaction(SIGINT, &act, NULL);
    signal(SIGHUP, SIG_IGN);
    signal(SIGPIPE, SIG_IGN);
}
