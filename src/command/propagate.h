/* SPDX-License-Identifier: BSD-3-Clause */
/* propagate.h - the one way by which changes reach the append-only file and replicas.
 *
 * A command that changed data (dbstats.dirty grew while it ran) is handed to the sinks after it ran: as it
 * came, or as its handler rewrote it. Handlers rewrite commands that would not have the same effect when run
 * again (relative times, random choice, floats).
 *
 * All effects of the outermost command form a unit: the commands that EXEC or a script ran, expired keys that
 * were deleted on the way, rewritten commands. More than one are enclosed by MULTI and EXEC. The bytes of a
 * unit are encoded once, however many sinks there are, and each byte has an offset. A SELECT precedes the
 * first command for another database. */
#pragma once

#include "base/str.h"
#include "client/client.h"
#include "command/request.h"

/* ---- For handlers ---- */

extern int propagate_sinks, propagate_replica_sinks; /* replica sinks: those that take for_replicas */
static inline bool propagateWanted(void) {           /* is there any sink? */
    return propagate_sinks > 0;
}
/* Whether all that read the stream know idempotence of streams (IDMP). Those that do not register themselves.
 */
extern int propagate_old_readers;
static inline bool propagateReadersAreNew(void) {
    return !propagate_old_readers;
}
/* Propagates this command, which is encoded at once, instead of the running one. Several calls propagate
 * several commands, in order. Does nothing when there is no sink. */
void propagateRewrite(struct client *c, int argc, const struct str *argv);
/* Begins a rewritten command of argc arguments: its name, its only key, and then argc - 2 arguments that
 * propagateRewriteArg gives one by one, without other calls in between. Only when propagateWanted(). */
void propagateRewriteOpen(struct client *c, int argc, struct str name, struct str key);
void propagateRewriteArg(struct str arg);
/* For a running command that changes nothing but may find many expired keys. When no other command has called
 * it, each deletion is propagated by itself, and not between MULTI and EXEC. */
void propagateSeparately(void);
/* Propagates nothing for the running command, or, before one is called from within, for that one. */
void propagateSuppress(struct client *c);
/* Propagates a change that no command has requested: expiry, eviction. */
void propagateNow(int dbid, int argc, const struct str *argv);
/* Propagates a module's command, in order with its other ones. The flags exclude sinks. */
enum { PROPAGATED_NOT_TO_FILES = 1, PROPAGATED_NOT_TO_REPLICAS = 2, PROPAGATED_TO_NOBODY = 3 };
void propagateModuleCommand(int dbid, int argc, const struct str *argv, unsigned exclude);
/* While it is on, commands and modules propagate nothing. Deletions of expired keys are still propagated, as
 * modules cannot prevent them. */
void propagateMute(bool on);

/* ---- For sinks ---- */

/* The keys that a command is about. They are only determined while there is a sink with SINK_DESCRIBED, since
 * that costs a look-up. For SELECT, and MULTI and EXEC around a unit, cmd is NULL and slot -1. */
struct propagatedCommand {
    const struct serverCommand *cmd; /* NULL: unknown */
    int slot;                        /* of the first key; -1: the command has no keys */
};

/* One or more whole commands, as RESP arrays in canonical form, for one database. They come unit by unit, in
 * order; one by one while there is a sink with SINK_DESCRIBED. */
struct propagated {
    const struct str
        *pieces; /* the bytes, valid during the call; one piece, or several around big arguments */
    int count;
    size_t len; /* of all pieces */
    int commands;
    int dbid;                              /* -1: any database */
    const struct propagatedCommand *about; /* valid during the call */
    bool first, last;                      /* of their unit */
    bool bracket;                          /* MULTI or EXEC around a unit */
    bool for_replicas;                     /* PING, REPLCONF GETACK, PUBLISH: not for files */
    uint8_t exclude;                       /* sinks that must not get it: PROPAGATED_NOT_TO_... */
    uint64_t offset; /* bytes propagated before to replicas, since the process started */
};
typedef void propagateSink(const struct propagated *p);
enum {
    SINK_FOR_REPLICAS = 1, /* it takes commands that are for replicas only */
    SINK_DESCRIBED = 2,    /* it uses the description of each command: struct propagatedCommand */
};
/* Adding or removing a sink in the middle of a unit ends the unit there and begins another one, as
 * propagateSelectAnew does. */
/* Adds a sink. The first command that it gets is a SELECT. */
void propagateAddSink(propagateSink *fn, unsigned options);
void propagateRemoveSink(propagateSink *fn); /* does nothing when it was not added */
/* Puts a SELECT in front of the next command: commands are for the database of the last SELECT among them,
 * and a consumer that begins anew (a file, a replica with a snapshot) has not seen that one. */
void propagateSelectAnew(void);
int propagateSelected(void); /* -1: no SELECT since */
/* Propagates a command outside of units that changes nothing. False: a unit is under way, and the caller has
 * to try again after it. Without sinks nothing happens. */
bool propagateToReplicas(int argc, const struct str *argv);
/* The offset behind all that has been propagated so far, including what the running unit has not sent yet. */
uint64_t propagateOffset(void);

/* ---- For command/call.c, around each command ---- */

/* The unit that runs now. There is one at a time: a turn that is nested in a script past its time limit
 * serves other clients, but no writes. */
struct propagationUnit {
    int depth;            /* nesting depth of running commands */
    bool busy;            /* something has to be done when a command ends */
    bool suppressed;      /* propagate nothing for the command that ends next */
    bool forced;          /* propagate it to replicas although it changes nothing */
    bool in_multi;        /* MULTI has been sent */
    bool apart;           /* deletions that the outermost command causes are propagated one by one */
    void (*at_end)(void); /* propagateAtUnitEnd; NULL: none */
    uint8_t exclude;      /* for what is propagated next: PROPAGATED_NOT_TO_... */
    struct propagatedCommand about; /* describes what is propagated next, while it is known */
    /* Commands in one database: buf[at, at + len). */
    struct propagationPart {
        size_t at, len; /* len 0: none */
        int dbid, commands;
        int depth; /* depth of the command that is rewritten */
        bool for_replicas;
        uint8_t exclude;
        struct propagatedCommand about;
    } held, *rewrites;
    int rewrite_count, rewrite_cap;
    char *buf;
    size_t used, size;
};
extern struct propagationUnit propagation;

/* Calls fn once when the running unit ends, within the unit. fn may register again. */
void propagateAtUnitEnd(void (*fn)(void));

static inline void propagateBegin(void) {
    propagation.depth++;
}
/* The bytes in which the running request came; ptr NULL: it did not come as bytes, or not in one piece. */
static inline struct str propagateRaw(const struct client *c) {
    return c->request && !c->request->big ? c->request->raw : (struct str){0};
}
void propagateCommand(struct client *c, bool dirty, struct str raw);
static inline void propagateAfterCommand(struct client *c, bool dirty) {
    if (propagateWanted()) propagateCommand(c, dirty, propagateRaw(c));
}
void propagateEndBusy(void);
static inline void propagateEnd(void) {
    propagation.depth--;
    if (__builtin_expect(propagation.busy, 0)) propagateEndBusy();
}

/* ---- For handlers, once more ---- */

/* Propagates the running command to replicas although it changes nothing here (PUBLISH). */
static inline void propagateForce(void) {
    propagation.forced = propagateWanted() && propagate_replica_sinks;
}
