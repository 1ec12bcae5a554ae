/* SPDX-License-Identifier: BSD-3-Clause */
/* script_debug.c - arming clients, and the session around a script; see script_debug.h.
 *
 * A session in a child process ends with the process. */
#define _GNU_SOURCE /* close_range */
#include "script/script_debug.h"

#include <errno.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/log.h"
#include "base/zmalloc.h"
#include "client/reply.h"
#include "command/io_client.h"
#include "net/connection.h"
#include "registry/cron.h"

#define SESSIONS_MAX   16 /* child processes */
#define REAP_PERIOD_MS 100

int debug_armed;

struct armedClient {
    struct client *client;
    struct scriptEngine *engine;
    bool sync;
};
static struct armedClient *armed;
static pid_t children[SESSIONS_MAX];
static int child_count;

/* ---- Armed clients ---- */

static struct armedClient *scriptDebugFindArmed(const struct client *c) {
    for (int i = 0; i < debug_armed; i++) {
        if (armed[i].client == c) return &armed[i];
    }
    return NULL;
}

bool scriptDebugIsArmed(const struct client *c) {
    return scriptDebugFindArmed(c) != NULL;
}

static void scriptDebugRemoveArmed(struct armedClient *a) {
    *a = armed[--debug_armed];
}

void scriptDebugDisarm(struct client *c) {
    struct armedClient *a = scriptDebugFindArmed(c);
    if (!a) return;
    a->engine->methods->debugger->disable(a->engine);
    scriptDebugRemoveArmed(a);
}

enum scriptDebugging scriptDebugArm(struct client *c, struct scriptEngine *e, bool sync) {
    const struct scriptDebugger *debugger = e->methods->debugger;
    enum scriptDebugging enabled = debugger ? debugger->enable(e) : DEBUGGING_NOT_SUPPORTED;
    if (enabled != DEBUGGING_ENABLED) return enabled;
    struct armedClient *before = scriptDebugFindArmed(c);
    if (before && before->engine == e) scriptDebugRemoveArmed(before);
    scriptDebugDisarm(c);
    armed = zrealloc(armed, ((size_t)debug_armed + 1) * sizeof *armed);
    armed[debug_armed++] = (struct armedClient){.client = c, .engine = e, .sync = sync};
    return enabled;
}

static void scriptDebugForgetEngine(struct scriptEngine *e) {
    for (int i = debug_armed - 1; i >= 0; i--) {
        if (armed[i].engine == e) scriptDebugRemoveArmed(&armed[i]);
    }
    if (debug_session.on && debug_session.engine == e) debug_session.engine = NULL;
}

/* ---- The session ---- */

/* Closes all descriptors of the parent but the client's connection. */
static void scriptDebugBecomeChild(struct connection *conn) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    signal(SIGTERM, SIG_DFL);
    signal(SIGINT, SIG_DFL);
    if (conn->fd > 3) close_range(3, (unsigned)conn->fd - 1, 0);
    close_range((unsigned)conn->fd + 1, ~0u, 0);
}

/* Returns true in the child. */
static bool scriptDebugForkSession(struct client *c) {
    pid_t pid = child_count < SESSIONS_MAX ? fork() : -1;
    if (pid == 0) {
        scriptDebugBecomeChild(c->conn);
        return true;
    }
    if (pid < 0) {
        serverLog(LL_WARNING, "Can't fork for a debugging session: %s",
                  child_count < SESSIONS_MAX ? strerror(errno) : "there are too many");
        replyError(c, "ERR Can't fork for a debugging session");
    } else {
        children[child_count++] = pid;
        serverLog(LL_NOTICE, "Forked for a debugging session of scripts, pid %d", (int)pid);
        clientClose(c);
    }
    return false;
}

bool scriptDebugBegin(struct client *c, struct str text) {
    const struct armedClient *a = scriptDebugFindArmed(c);
    struct scriptEngine *e = a->engine;
    bool sync = a->sync;
    debugWriteReplies(c); /* of earlier commands */
    bool child = !sync && scriptDebugForkSession(c);
    if (!sync && !child) {
        scriptDebugDisarm(c);
        return false;
    }
    if (sync) serverLog(LL_NOTICE, "A synchronous debugging session of scripts begins");
    debugSessionBegin(c, e, child);
    e->methods->debugger->start(e, text);
    return true;
}

void scriptDebugEnd(void) {
    struct debugSession *d = &debug_session;
    struct scriptEngine *e = d->engine;
    debugSessionEnd();
    if (e) e->methods->debugger->end(e);
    if (d->forked) _exit(0);
    scriptDebugDisarm(d->client);
    clientClose(d->client);
    *d = (struct debugSession){0};
    serverLog(LL_NOTICE, "The synchronous debugging session of scripts has ended");
}

static void scriptDebugReapChildren(void) {
    for (int i = child_count - 1; i >= 0; i--) {
        if (waitpid(children[i], NULL, WNOHANG) != 0) children[i] = children[--child_count];
    }
}

void scriptDebugInit(void) {
    clientOnFree(scriptDebugDisarm);
    ioClientKeepOnMainThread(scriptDebugIsArmed); /* sessions use the connection directly */
    cronRegister(scriptDebugReapChildren, REAP_PERIOD_MS);
    scriptEngineOnRemove(scriptDebugForgetEngine);
}
