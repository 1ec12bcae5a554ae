/* SPDX-License-Identifier: BSD-3-Clause */
/* module_call.h - running a command for a module: Call (api_call.c), CallArgv (module_call_handlers.c).
 *
 *     module ──▶ moduleCall ──▶ checks of rights ──▶ commandRun(an inner client, ORIGIN_MODULE)
 *                   ▲                                      │
 *                   └── the reply's bytes ◀── its chain ◀──┤
 *                       or a promise (module_call_promise.c) ◀────┘ it blocks
 *
 * An inner client has no connection and does not block unless the module allows it. It comes from the pool
 * of context.c and returns there in its initial state. */
#pragma once

#include "module/api.h"

struct request;

struct callOutcome {
    enum { CALL_FAILED, CALL_REPLIED, CALL_BLOCKED } what;
    int error;             /* an errno; 0: it has run, or could have run */
    sds reply;             /* of CALL_REPLIED: complete replies or nothing; the caller frees it */
    uint8_t resp;          /* protocol of the reply */
    int dbid;              /* database after the command */
    bool has_errors;       /* the reply has errors that the statistics have not counted */
    struct client *client; /* of CALL_BLOCKED: the inner client that is blocked; the caller's */
};
/* Runs a command. flags: VALKEYMODULE_CALL_ARGV_... With ERRORS_AS_REPLIES a refusal is an answer, too. */
void moduleCall(struct ValkeyModuleCtx *ctx, struct str *argv, int argc, unsigned flags,
                struct callOutcome *outcome);
/* Fills outcome for a command that was blocked in c and has ended. Releases c. */
void moduleCallTakeOutcome(struct client *c, struct callOutcome *outcome);
/* Translates the flags A and R of a call into PROPAGATED_NOT_TO_... */
unsigned moduleCallExcludedSinks(unsigned flags);
/* Returns the user whose rights a call with the flag C has, or NULL. */
struct aclUser;
struct aclUser *moduleCallFindUser(const struct ValkeyModuleCtx *ctx);

/* ---- Promises (module_call_promise.c) ---- */

/* Called when a blocked command has ended. The callee owns the reply. */
typedef void promiseListener(void *priv, struct module *m, struct callOutcome *outcome);
struct promise;
struct promise *promiseNew(struct module *m, struct client *c);
/* Sets who is called at the end; fn NULL: nobody (yet). priv comes from zmalloc and belongs to the promise
 * from now on. */
void promiseSetListener(struct promise *p, promiseListener *fn, void *priv);
bool promiseAbort(struct promise *p);   /* false: the command has ended already */
void promiseRelease(struct promise *p); /* drops the reference of the creator */
void promisePartInit(void);
