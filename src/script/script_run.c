/* SPDX-License-Identifier: BSD-3-Clause */
/* script_run.c - running a script or a function: the checks, then its engine (see script_private.h). */
#include "base/assert.h"
#include "base/ticks.h"
#include "client/reply.h"
#include "command/admission.h"
#include "command/call.h"
#include "command/command.h"
#include "command/propagate.h"
#include "data/lifetime/evict.h"
#include "data/server_state/role.h"
#include "registry/debug.h"
#include "script/script_private.h"

static const char *scriptRunRefusal(const struct scriptCode *code, bool read_only) {
    if (code->flags & SCRIPT_NO_CLUSTER && cluster_enabled)
        return "ERR Can not run script on cluster, 'no-cluster' flag is set.";
    if (read_only && code->flags & SCRIPT_SHEBANG && !(code->flags & SCRIPT_NO_WRITES))
        return "ERR Can not execute a script with write flag using *_ro command.";
    if (code->kind == SCRIPT_EVAL && !(code->flags & SCRIPT_SHEBANG) && roleDataIsStale())
        return err_masterdown; /* a script without "#!" is not known to accept stale data */
    return NULL;
}

/* Checks a script that a module calls against its declared flags, because fewer rules of admission apply to
 * modules' calls. Returns an error or NULL. */
static const char *scriptRunRefusalOfCall(const struct scriptCode *code) {
    if (call_running->origin != ORIGIN_MODULE || !(code->flags & SCRIPT_SHEBANG) || callReplays())
        return NULL;
    if (!(code->flags & SCRIPT_ALLOW_STALE) && roleDataIsStale())
        return "MASTERDOWN Link with MASTER is down, replica-serve-stale-data is set to 'no' and 'allow-stale' "
               "flag is not set on the script.";
    bool writes = !(code->flags & SCRIPT_NO_WRITES);
    return writes && roleIsReplica() && role_read_only
               ? "READONLY Can not run script with write flag on readonly replica"
               : NULL;
}

/* Checks such a call against rules of admission, which reply the error themselves. */
static bool scriptRunCallRefused(struct client *c, const struct scriptCode *code) {
    static const enum admissionRule rows[] = {RULE_SNAPSHOT_FAILS, RULE_AOF_FAILS, RULE_SCRIPT_REPLICAS};
    if (call_running->origin != ORIGIN_MODULE || !(code->flags & SCRIPT_SHEBANG) || callReplays())
        return false;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        if (admissionApplyRule(rows[i], c, c->request, ORIGIN_MODULE) != ADMITTED) return true;
    }
    return false;
}

/* ---- Rules for commands that a script calls ---- */

static enum admission scriptRunCheckNoscript(struct client *c, struct request *r, enum requestOrigin origin) {
    (void)origin;
    if (!(r->cmd->flags & CMD_NOSCRIPT) || debug_switches.scripts_run_all) return ADMITTED;
    replyError(c, "ERR This Valkey command is not allowed from script");
    return REFUSED;
}

/* If memory was short when the script began, its first write must not enlarge the data. */
static enum admission scriptRunCheckMemory(struct client *c, struct request *r, enum requestOrigin origin) {
    (void)origin;
    if (!script_run.deny_oom || script_run.wrote || !(r->cmd->flags & CMD_DENYOOM)) return ADMITTED;
    replyError(c, err_oom);
    return REFUSED;
}

static enum admission scriptRunCheckReadOnly(struct client *c, struct request *r, enum requestOrigin origin) {
    (void)origin;
    if (!script_run.read_only || !(r->cmd->flags & (CMD_WRITE | CMD_MAY_REPLICATE))) return ADMITTED;
    replyError(c, "ERR Write commands are not allowed from read-only scripts.");
    return REFUSED;
}

/* ---- Running ---- */

static void scriptRunBeginRun(struct client *c, const struct scriptCode *code, bool read_only) {
    struct client *fake = script_run.client;
    fake->db = c->db;
    fake->resp = 2;
    fake->user = c->user;
    fake->flags = CLIENT_SCRIPT | CLIENT_DENY_BLOCKING | (c->flags & CLIENT_NO_TOUCH);
    script_run.name = code->name;
    script_run.kind = code->kind;
    script_run.flags = code->flags;
    script_run.engine = code->engine;
    script_run.caller = c;
    script_run.start = ticksNow();
    script_run.read_only = read_only;
    script_run.deny_oom = !(code->flags & SCRIPT_ALLOW_OOM) && !c->request->exceeds_memory &&
                          evictOutOfMemory() && !callReplays();
    script_run.wrote = script_run.busy = script_run.killed = false;
    if (code->flags & SCRIPT_ALLOW_CROSS_SLOT || !(code->flags & SCRIPT_SHEBANG))
        call_running->slot = CALL_SLOT_ANY;
}

static void scriptRunEndRun(struct client *c) {
    script_run.client->user = NULL; /* was borrowed from the caller */
    script_run.name = NULL;
    script_run.caller = NULL;
    if (script_run.busy) scriptSetBusy(false);
    propagateSuppress(c); /* its effects have been propagated */
}

void scriptExecute(struct client *c, const struct scriptCode *code, int keys, bool read_only) {
    serverAssert(!script_run.name);
    if (!call_running->outer) clockRefresh(); /* the time that TIME shows during the script */
    const char *error = scriptRunRefusalOfCall(code);
    if (!error) error = scriptRunRefusal(code, read_only);
    if (error) {
        replyError(c, error);
        return;
    }
    if (scriptRunCallRefused(c, code)) return;
    scriptRunBeginRun(c, code, read_only || code->flags & SCRIPT_NO_WRITES);
    code->engine->methods->run(code->engine, c, code, keys);
    scriptRunEndRun(c);
}

bool scriptParseKeyCount(struct client *c, int *keys, const char *not_a_number) {
    int64_t n;
    if (!argLongLong(c, c->argv[2], &n, not_a_number)) return false;
    if (n > c->argc - 3) return replyError(c, "ERR Number of keys can't be greater than number of args");
    if (n < 0) return replyError(c, "ERR Number of keys can't be negative");
    *keys = (int)n;
    return true;
}

void scriptRunInit(void) {
    admissionFill(RULE_NOSCRIPT, scriptRunCheckNoscript);
    admissionFill(RULE_SCRIPT_OOM, scriptRunCheckMemory);
    admissionFill(RULE_SCRIPT_READS, scriptRunCheckReadOnly);
}
