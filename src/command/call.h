/* SPDX-License-Identifier: BSD-3-Clause */
/* call.h - the one entry point through which commands run, and the state of the running one.
 *
 *     commandRun(client, request, origin)
 *         admission     decides whether it may run (admission.h)
 *         the handler   surrounded by hooks of modules that look at commands, the clock, propagation
 *
 * Calls nest: EXEC, scripts, a nested turn within a script that takes long. Each has a struct call on its
 * stack, linked to the one around it; call_running is the innermost.
 *
 * Invariant: while a handler runs, call_running is its call, and its client's argv, argc and cmd are those of
 * the call's request. After the end of the last call none of this is left. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "command/commandlog.h"
#include "command/request.h"

struct call {
    struct client *client;
    /* The client that caused the call: the caller of the script, for a script's command. */
    struct client *owner;
    struct request *request;
    struct request *waits; /* copy of the request, made when the client blocks in it for the first time */
    enum requestOrigin origin;
    int slot; /* in a cluster: the slot of the keys that a script run by this call may use, or CALL_SLOT_… */
    struct call *outer;
};
enum { CALL_SLOT_NONE_YET = -1, CALL_SLOT_ANY = -2 };
extern struct call *call_running; /* the innermost; NULL: none */

/* The request that a rule of admission has put in another's place (REPLACED), in its own allocation. The
 * caller that runs it releases it. NULL: there is none. */
extern struct request *call_replacement;

/* The client on whose behalf the running command runs; NULL: nothing runs. */
static inline struct client *callOwner(void) {
    return call_running ? call_running->owner : NULL;
}

/* Returns whether the running command comes from a file or from our primary. It has already run elsewhere, so
 * limits of this server are no reason to refuse it. */
bool callReplays(void);
/* True while an append-only file is replayed: commands that scripts, transactions and modules run are counted
 * by callCountReplayed, and not in the calls and times of their commands. */
extern bool call_file_replayed;
void callCountReplayed(const struct client *c, struct request *r);

/* Runs the request for c unless a rule refuses it. Returns true when its handler ran. A big argument that the
 * handler has not taken stays with the request; afterwards c->argv, c->argc and c->cmd are those of the outer
 * call again, or none. */
bool commandRun(struct client *c, struct request *r, enum requestOrigin origin);
/* Counts a blocked request of c that ends without being run again: as failed when it replied an error of its
 * own, as rejected when it was given another's. */
void callCountEnded(struct client *c, struct request *r, bool rejected);

/* ---- Hooks ---- */
/* Modules that look at commands as they run. A hook starts idle or active, as rules of admission do; while
 * all hooks are idle they cost one test together. */
enum callPoint {
    CALL_BEFORE,   /* before the handler */
    CALL_AFTER,    /* after the handler, before its changes are propagated */
    CALL_DONE,     /* its changes have been propagated, or will be with those of the outer call */
    REQUEST_DONE,  /* a client's own request has been run, queued or refused */
    BETWEEN_CALLS, /* after all that, when another client's command may run */
    CALL_POINTS
};
typedef void callHook(struct client *c);
void callAddHook(enum callPoint at, callHook *fn, bool idle);
void callHookIdle(callHook *fn, bool idle);
/* Adds a function that is called when a request of c was refused; the error has been replied. */
void callOnRefused(callHook *fn);

extern unsigned call_points; /* a bit for each point with a hook that is not idle */
void callRunActiveHooks(enum callPoint at, struct client *c);
static inline void callRunHooks(enum callPoint at, struct client *c) {
    if (__builtin_expect(call_points & 1u << at, 0)) callRunActiveHooks(at, c);
}

#define SLOW_ENOUGH_TO_TICK 500 /* us: after a command this long the clock is refreshed */

struct callStats {
    uint64_t processed, unexpected_errors;
    uint64_t ticks; /* spent in commands; time in scripts and transactions counts once */
};
extern struct callStats callstats;

/* Returns whether the command log's limits may be exceeded. Only requests with many arguments, or with big
 * ones, can be large, so the exact size is only computed for those. */
static inline bool callMayBeUnusual(const struct request *r, uint64_t ticks, int64_t reply_bytes) {
    return ticks >= commandlog_limits.ticks || reply_bytes >= commandlog_limits.reply_bytes || r->big ||
           r->argc >= commandlog_limits.args;
}
/* Logs the running command, which is slow or large. Commands of a script are logged with the client that runs
 * the script. */
void callNoteUnusual(struct client *c, uint64_t ticks, int64_t reply_bytes);

void callInit(void); /* INFO fields */
