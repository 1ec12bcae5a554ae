/* SPDX-License-Identifier: BSD-3-Clause */
/* module_call.h - running a command for a module: Call (api_call.c), CallArgv (module_call_handlers.c).
 *
 *     module ──▶ moduleCall ──▶ who asks, may it? ──▶ commandRun(an inner client, ORIGIN_MODULE)
 *                   ▲                                      │
 *                   └── the reply's bytes ◀── its chain ◀──┤
 *                       or a promise (module_call_promise.c) ◀────┘ it waits
 *
 * An inner client has no connection, and does not block unless the module says so. It comes from the pool of
 * context.c, and goes back there as it came. */
#pragma once

#include "module/api.h"

struct request;

struct callOutcome {
    enum { CALL_FAILED, CALL_ANSWERED, CALL_WAITS } what;
    int error;             /* an errno; 0: it has run, or could have */
    sds reply;             /* of CALL_ANSWERED, the caller's: whole replies, or nothing at all */
    uint8_t resp;          /* its protocol */
    int dbid;              /* its database at the end */
    bool has_errors;       /* among the reply: nobody has counted them */
    struct client *client; /* of CALL_WAITS: in which it waits, the caller's */
};
/* flags: VALKEYMODULE_CALL_ARGV_... With ERRORS_AS_REPLIES a refusal is answered, too. */
void moduleCall(struct ValkeyModuleCtx *ctx, struct str *argv, int argc, unsigned flags,
                struct callOutcome *outcome);
/* Of a command that has waited in it, and has ended. The client goes. */
void moduleCallEnded(struct client *c, struct callOutcome *outcome);
/* PROPAGATED_NOT_TO_... of A and R. */
unsigned moduleCallKeptFrom(unsigned flags);
/* The user whose rights a call with C has; NULL: there is none. */
struct aclUser;
struct aclUser *moduleCallUser(const struct ValkeyModuleCtx *ctx);

/* ---- Promises (module_call_promise.c) ---- */

/* Who is told when a command that waited has ended: the reply is theirs. */
typedef void promiseKept(void *priv, struct module *m, struct callOutcome *outcome);
struct promise;
struct promise *promiseNew(struct module *m, struct client *c);
/* NULL: nobody wants to know (yet). priv is zmalloc's, and the promise's from now on. */
void promiseTell(struct promise *p, promiseKept *fn, void *priv);
bool promiseAbort(struct promise *p);   /* false: it has been kept */
void promiseRelease(struct promise *p); /* who has made it needs it no more */
void promisePartInit(void);
