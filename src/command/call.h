/* SPDX-License-Identifier: BSD-3-Clause */
/* call.h - the one door through which a command runs, and what is known of the one that does.
 *
 *     commandRun(client, request, origin)
 *         admission     may it? (admission.h)
 *         the handler   between: hooks of rooms that look at commands, the clock, propagation
 *
 * Calls nest: EXEC, scripts, a round within a script that takes long. Each has a struct call on its stack,
 * linked to the one around it; call_running is the innermost.
 *
 * Invariant: while a handler runs, call_running is its call, and its client's argv, argc and cmd are those of
 * the call's request; behind the end of the last call nothing of it is left. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "command/request.h"

struct call {
    struct client *client;
    struct client *owner; /* who has asked for it in the end: of a script's command, the script's caller */
    struct request *request;
    struct request *waits; /* its copy, when the client blocks in it for the first time */
    enum requestOrigin origin;
    int slot; /* of keys that a script which this call runs may use, in a cluster: one, or CALL_SLOT_… */
    struct call *outer;
};
enum { CALL_SLOT_NONE_YET = -1, CALL_SLOT_ANY = -2 };
extern struct call *call_running; /* the innermost; NULL: none */

/* What a rule of admission has made of a request (REPLACED), in its own allocation: whoever runs it releases
 * it. NULL, or it has been: none. */
extern struct request *call_replacement;

/* The client on whose behalf anything runs now; NULL: nobody's. */
static inline struct client *callOwner(void) {
    return call_running ? call_running->owner : NULL;
}

/* Does what runs come from a file or from our primary? It has run already, elsewhere: limits that are only
 * this server's are no reason to refuse it. */
bool callReplays(void);
/* An append-only file is replayed: what scripts, transactions and modules run counts as callCountReplayed
 * does, and not in the calls and times of its command. */
extern bool call_file_replayed;
void callCountReplayed(const struct client *c, struct request *r);

/* Runs the request for c, unless a rule objects. True: its handler ran. A big argument that nobody has taken
 * stays with the request; c->argv and its kin are those of the call around this one again, or none. */
bool commandRun(struct client *c, struct request *r, enum requestOrigin origin);
/* A blocked request of c ends without being run again: it counts now. An error of its own is a failure;
 * rejected: it was given another's. */
void callCountEnded(struct client *c, struct request *r, bool rejected);

/* ---- Hooks ---- */
/* Rooms that look at commands as they run. Like rules of admission they start idle or not, and cost one test
 * for all of them together while all are. */
enum callPoint {
    CALL_BEFORE,   /* the handler */
    CALL_AFTER,    /* the handler; before what it changed is propagated */
    CALL_DONE,     /* it has been propagated, or will be with the call around it */
    REQUEST_DONE,  /* what a client itself had asked for: run, queued or refused */
    BETWEEN_CALLS, /* behind all that, when another client's command may run */
    CALL_POINTS
};
typedef void callHook(struct client *c);
void callAddHook(enum callPoint at, callHook *fn, bool idle);
void callHookIdle(callHook *fn, bool idle);
/* A request of c was refused, an error has been replied. */
void callOnRefused(callHook *fn);

extern unsigned call_points; /* a bit for each point with a hook that is not idle */
void callHooksRun(enum callPoint at, struct client *c);
static inline void callReached(enum callPoint at, struct client *c) {
    if (__builtin_expect(call_points & 1u << at, 0)) callHooksRun(at, c);
}

struct callStats {
    uint64_t processed, unexpected_errors;
    uint64_t ticks; /* spent in commands, those of scripts and transactions counted once */
};
extern struct callStats callstats;

void callInit(void); /* INFO fields */
