/* SPDX-License-Identifier: BSD-3-Clause */
/* module_call.c - see module_call.h. */
#include "module/module_call.h"

#include <errno.h>
#include <string.h>

#include "acl/acl.h"
#include "client/client.h"
#include "client/reply.h"
#include "command/admission.h"
#include "command/call.h"
#include "command/propagate.h"
#include "command/script_running.h"
#include "data/lifetime/evict.h"
#include "data/server_state/role.h"
#include "module/module_filter.h"
#include "module/parts.h"

#define REPLICATE    VALKEYMODULE_CALL_ARGV_REPLICATE
#define NO_FILES     VALKEYMODULE_CALL_ARGV_NO_AOF
#define NO_REPLICAS  VALKEYMODULE_CALL_ARGV_NO_REPLICAS
#define AS_USER      VALKEYMODULE_CALL_ARGV_RUN_AS_USER
#define AS_SCRIPT    VALKEYMODULE_CALL_ARGV_SCRIPT_MODE
#define NO_WRITES    VALKEYMODULE_CALL_ARGV_NO_WRITES
#define WITHIN_LIMIT VALKEYMODULE_CALL_ARGV_RESPECT_DENY_OOM
#define ANSWER       VALKEYMODULE_CALL_ARGV_ERRORS_AS_REPLIES
#define DRY          VALKEYMODULE_CALL_ARGV_DRY_RUN
#define MAY_WAIT     VALKEYMODULE_CALL_ARGV_ALLOW_BLOCK
/* Flags for internal use: the call comes from a function of a scripting engine; rights of a
 * user are checked. */
#define OF_SCRIPT  (1u << 30)
#define CHECK_USER (1u << 31)

/* ---- Checks ---- */

struct aclUser *moduleCallFindUser(const struct ValkeyModuleCtx *ctx) {
    if (ctx->user) return ctx->user->user;
    return ctx->client ? ctx->client->user : NULL;
}

/* Checks restrictions of the call that are not among the rules of admission. On refusal it has
 * replied an error. */
static bool moduleCallRefusedByFlags(struct client *c, const struct request *r, unsigned flags, int *error) {
    const struct serverCommand *cmd = r->cmd;
    uint64_t does = commandFlags(c, cmd); /* of a script: of what the script does */
    /* A script is checked when it starts. */
    bool limited = (flags & (WITHIN_LIMIT | OF_SCRIPT)) == WITHIN_LIMIT;
    if (flags & AS_SCRIPT && cmd->flags & CMD_NOSCRIPT) {
        replyErrorFmt(c, "ERR command '%s' is not allowed on script mode", cmd->fullname);
        *error = ESPIPE;
    } else if (limited && does & CMD_DENYOOM && evictLimit() && evictOutOfMemory()) {
        replyError(c, err_oom);
        *error = ENOSPC;
    } else if (flags & NO_WRITES && does & CMD_WRITE) {
        replyErrorFmt(c, "ERR Write command '%s' was called while write is not allowed.", cmd->fullname);
        *error = ENOSPC;
    }
    return *error != 0;
}

/* Returns 0 if the command may run. Else it has replied an error and returns an errno. */
static int moduleCallRefusal(struct client *c, struct request *r, unsigned flags) {
    static const struct {
        enum admissionRule rule;
        unsigned when; /* flags that must all be set; 0: always */
        int error;     /* 0: the rule sets admission_errno */
    } rows[] = {{RULE_SCRIPT_OOM, OF_SCRIPT | WITHIN_LIMIT, ENOSPC},
                {RULE_ACL, CHECK_USER, EACCES},
                {RULE_CLUSTER, 0, 0},
                {RULE_SCRIPT_READS, OF_SCRIPT, ENOSPC},
                {RULE_SCRIPT_REPLICAS, AS_SCRIPT, ESPIPE},
                {RULE_SNAPSHOT_FAILS, AS_SCRIPT, ESPIPE},
                {RULE_AOF_FAILS, AS_SCRIPT, ESPIPE},
                {RULE_READONLY, AS_SCRIPT, ESPIPE},
                {RULE_STALE, AS_SCRIPT, ESPIPE}};
    if (admissionApplyRule(RULE_UNKNOWN, c, r, ORIGIN_MODULE) != ADMITTED) return ENOENT;
    if (admissionApplyRule(RULE_ARITY, c, r, ORIGIN_MODULE) != ADMITTED) return EINVAL;
    if (!(flags & (AS_SCRIPT | WITHIN_LIMIT | NO_WRITES | AS_USER)) && !cluster_enabled) return 0;
    int error = 0;
    if (moduleCallRefusedByFlags(c, r, flags, &error)) return error;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        if ((flags & rows[i].when) != rows[i].when) continue;
        bool script = flags & OF_SCRIPT && rows[i].rule != RULE_ACL;
        if (admissionApplyRule(rows[i].rule, c, r, script ? ORIGIN_SCRIPT : ORIGIN_MODULE) != ADMITTED)
            return rows[i].error ? rows[i].error : admission_errno;
    }
    return 0;
}

/* Tells whether the command would break a running script: commands that run scripts, or that remove them. */
static bool moduleCallBreaksScript(const struct serverCommand *cmd) {
    if (!script_run.name || !(cmd->flags & CMD_NOSCRIPT)) return false;
    return cmd->acl & ACL_SCRIPTING || !strcmp(cmd->spec->name, "debug");
}

/* Refuses commands that would do damage and replies an error. Commands for the main thread need a
 * connection, as for a replica. */
static bool moduleCallRefuseHarmful(struct client *c, const struct request *r) {
    if (r->cmd->flags & CMD_MAIN_THREAD)
        replyErrorFmt(c, "ERR '%s' is for clients with a connection", r->cmd->fullname);
    else if (moduleCallBreaksScript(r->cmd))
        replyErrorFmt(c, "ERR '%s' cannot be called while a script runs", r->cmd->fullname);
    else
        return false;
    return true;
}

/* ---- Running ---- */

/* Lets the inner client act for the script's caller. Errors are counted when they occur, whatever the script
 * does with them. */
static void moduleCallActForScript(struct client *c, unsigned flags) {
    const struct client *fake = script_run.client;
    c->errors_held = ERRORS_COUNT;
    if (!(flags & AS_USER)) c->user = fake->user;
    c->flags |= fake->flags;
}

static struct client *moduleCallInnerClient(const struct ValkeyModuleCtx *ctx, unsigned flags) {
    struct client *c = poolClientAcquire();
    const struct client *outer = ctx->client;
    c->errors_held = ERRORS_HELD;
    c->db = contextDb(ctx);
    if (flags & VALKEYMODULE_CALL_ARGV_RESP_3)
        c->resp = 3;
    else if (flags & VALKEYMODULE_CALL_ARGV_RESP_AUTO)
        c->resp = ctx->thread_reply ? ctx->thread_reply->resp : outer ? outer->resp : 2;
    if (flags & AS_USER) c->user = moduleCallFindUser(ctx);
    if (flags & OF_SCRIPT)
        moduleCallActForScript(c, flags);
    else if (flags & MAY_WAIT)
        c->flags &= ~(uint32_t)CLIENT_DENY_BLOCKING;
    return c;
}

unsigned moduleCallExcludedSinks(unsigned flags) {
    return (flags & NO_FILES ? PROPAGATED_NOT_TO_FILES : 0u) |
           (flags & NO_REPLICAS ? PROPAGATED_NOT_TO_REPLICAS : 0u);
}

void moduleCallTakeOutcome(struct client *c, struct callOutcome *outcome) {
    outcome->what = CALL_REPLIED;
    outcome->reply = replyChainToSds(c);
    outcome->resp = c->resp;
    outcome->has_errors = c->errors_held == ERRORS_HELD_SOME;
    outcome->client = NULL;
    outcome->dbid = c->db->id;
    poolClientReturn(c);
}

static void moduleCallRunOrRefuse(struct client *c, struct request *r, unsigned flags,
                                  struct callOutcome *outcome) {
    r->unpropagated = !(flags & REPLICATE);
    r->exceeds_memory = !(flags & WITHIN_LIMIT);
    r->exclude = (uint8_t)(flags & REPLICATE ? moduleCallExcludedSinks(flags) : 0);
    c->argv = r->argv; /* refusals read them */
    c->argc = r->argc;
    c->lastcmd = r->cmd;
    outcome->error = moduleCallRefusal(c, r, flags);
    if (!outcome->error && !(flags & DRY) && !moduleCallRefuseHarmful(c, r)) {
        commandRun(c, r, ORIGIN_MODULE);
        if (flags & OF_SCRIPT) {
            script_run.wrote |= (r->cmd->flags & CMD_WRITE) != 0;
            script_run.caller->db = c->db; /* until the script ends (module_engine.c) */
        }
    }
    c->argv = NULL;
    c->argc = 0;
    if (c->flags & CLIENT_BLOCKED) {
        outcome->what = CALL_BLOCKED;
        outcome->client = c;
        return;
    }
    moduleCallTakeOutcome(c, outcome);
    if (outcome->error && flags & OF_SCRIPT) {
        if (r->cmd) r->cmd->rejected++;
        outcome->has_errors = true; /* a refusal is counted again when it is passed on */
    }
    if (!outcome->error || flags & ANSWER) return;
    sdsfree(outcome->reply);
    outcome->what = CALL_FAILED;
    outcome->reply = NULL;
}

static void moduleCallFiltered(struct ValkeyModuleCtx *ctx, struct str *argv, int argc, unsigned flags,
                               struct callOutcome *outcome) {
    struct client *c = moduleCallInnerClient(ctx, flags);
    struct request r = {.argv = argv, .argc = argc, .cmd = commandLookup(argv, argc)};
    struct request *instead = moduleFilterApply(c, &r);
    moduleCallRunOrRefuse(c, instead ? instead : &r, flags, outcome);
    requestRelease(instead);
}

static void moduleCallRefuseWithoutUser(unsigned flags, struct callOutcome *outcome) {
    outcome->error = ENOTSUP;
    if (!(flags & ANSWER)) return;
    outcome->what = CALL_REPLIED;
    outcome->reply =
        sdsnew("-ERR cannot run as user, no user directly attached to context or context's client\r\n");
    outcome->has_errors = true;
}

void moduleCall(struct ValkeyModuleCtx *ctx, struct str *argv, int argc, unsigned flags,
                struct callOutcome *outcome) {
    *outcome = (struct callOutcome){.what = CALL_FAILED, .resp = 2};
    if (flags & AS_USER && !moduleCallFindUser(ctx)) {
        moduleCallRefuseWithoutUser(flags, outcome);
        return;
    }
    struct module *m = ctx->module;
    if (ctx->flags & CTX_SCRIPT && flags & AS_SCRIPT) flags |= OF_SCRIPT;
    if (flags & (AS_USER | OF_SCRIPT)) flags |= CHECK_USER;
    if (m) m->in_call++;
    moduleCallFiltered(ctx, argv, argc, flags, outcome);
    if (m) m->in_call--;
}

/* ---- Unloading ---- */

/* A module cannot be unloaded while one of its functions waits for a command. */
static const char *moduleCallIsCalling(struct module *m) {
    return m->in_call ? "operation not possible." : NULL;
}

void callPartInit(void) {
    moduleAddObjection(moduleCallIsCalling);
    promisePartInit();
}
