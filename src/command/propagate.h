/* SPDX-License-Identifier: BSD-3-Clause */
/* propagate.h - the one door to the append-only file and to replicas.
 *
 * A command that changed data (dbstats.dirty grew while it ran) is handed to the sinks after it ran: as it
 * came, or as its handler rewrote it. Handlers rewrite what would not have the same effect when run again
 * (relative times, random choice, floats).
 *
 * What the outermost command causes is a unit: the commands that EXEC or a script ran, expired keys that it
 * came upon, its rewrites. More than one go out between MULTI and EXEC. The bytes of a unit are made once,
 * however many sinks there are, and each byte has an offset. A SELECT goes before the first command for
 * another database. */
#pragma once

#include "base/str.h"
#include "client/client.h"
#include "command/request.h"

/* ---- For handlers ---- */

extern int propagate_sinks, propagate_replica_sinks; /* of the latter: those with a use for for_replicas */
static inline bool propagateWanted(void) {           /* is there any sink? */
    return propagate_sinks > 0;
}
/* Instead of the running command, propagate this one (it is encoded at once). May be called several times:
 * then all of them, in order. Free of cost when there is no sink. */
void propagateRewrite(struct client *c, int argc, const struct str *argv);
/* Begins a rewritten command of argc arguments: its name, its only key, and then argc - 2 arguments that
 * propagateRewriteArg gives one by one, with nothing else in between. Only when propagateWanted(). */
void propagateRewriteOpen(struct client *c, int argc, struct str name, struct str key);
void propagateRewriteArg(struct str arg);
/* The running command changes nothing, but may come upon many expired keys. When no other command has called
 * it, each of these deletions goes out by itself, and not between MULTI and EXEC. */
void propagateApart(void);
/* Propagate nothing for the running command; before one is called from within: for that one. */
void propagateSuppress(struct client *c);
/* What no command asked for: expiry, eviction. */
void propagateNow(int dbid, int argc, const struct str *argv);
/* What a module asks for, in the order in which it does. */
enum { PROPAGATED_NOT_TO_FILES = 1, PROPAGATED_NOT_TO_REPLICAS = 2, PROPAGATED_TO_NOBODY = 3 };
void propagateThis(int dbid, int argc, const struct str *argv, unsigned but);
/* While it is on, commands and modules propagate nothing: nobody wants it. What expires still goes out: that
 * it is gone here is no module's affair. */
void propagateMute(bool on);

/* ---- For sinks ---- */

/* What a command is about. It is known only while there is a sink with SINK_DESCRIBED, since finding it costs
 * a look-up of the keys. SELECT, and MULTI and EXEC around a unit, have neither. */
struct propagatedCommand {
    const struct serverCommand *cmd; /* NULL: unknown */
    int slot;                        /* of the first key; -1: the command has no keys */
};

/* One or more whole commands, as arrays of bulks in canonical form, for one database. They come unit by unit,
 * in order; one by one while there is a sink with SINK_DESCRIBED. */
struct propagated {
    const struct str
        *pieces; /* the bytes, good during the call; one piece, or around big arguments several */
    int count;
    size_t len; /* of all pieces */
    int commands;
    int dbid;                              /* -1: any */
    const struct propagatedCommand *about; /* good during the call */
    bool first, last;                      /* of their unit */
    bool bracket;                          /* MULTI or EXEC around a unit */
    bool for_replicas;                     /* PING, REPLCONF GETACK, PUBLISH: files have no use for them */
    uint8_t but;                           /* who shall not have them: PROPAGATED_NOT_TO_... */
    uint64_t offset; /* bytes propagated before to replicas, in the life of the process */
};
typedef void propagateSink(const struct propagated *p);
enum {
    SINK_FOR_REPLICAS = 1, /* it uses commands that are for replicas only */
    SINK_DESCRIBED = 2,    /* it uses the description of each command: struct propagatedCommand */
};
/* A sink that is added or removed in the middle of a unit closes the unit there, and another one begins. So
 * does propagateSelectAnew. */
/* The first that a sink is given is a SELECT. */
void propagateAddSink(propagateSink *fn, unsigned options);
void propagateRemoveSink(propagateSink *fn); /* not there: nothing happens */
/* Commands are for the database that the last SELECT among them names. Whoever begins anew (a file, a replica
 * with a snapshot) needs one in front of the next. */
void propagateSelectAnew(void);
int propagateSelected(void); /* -1: none since */
/* A command that belongs to no unit and changes nothing. False: a unit is under way, try again behind it.
 * Without sinks nothing happens. */
bool propagateToReplicas(int argc, const struct str *argv);
/* Behind all that has been propagated so far, the part of the running unit that waits included. */
uint64_t propagateOffset(void);

/* ---- For command/call.c, around each command ---- */

/* The unit that runs now. There is one at a time: a round that is nested in a script past its time limit
 * serves other clients, but nothing that writes. */
struct propagationUnit {
    int depth;                      /* commands that run, one called by the other */
    bool busy;                      /* there is something to do when a command ends */
    bool suppressed;                /* the command that ends next */
    bool anyway;                    /* the same one goes to replicas, though it changes nothing */
    bool in_multi;                  /* MULTI has gone out */
    bool apart;                     /* what the outermost command comes upon goes out one by one */
    void (*at_end)(void);           /* propagateAtUnitEnd; NULL: nothing */
    uint8_t but;                    /* of what is propagated next */
    struct propagatedCommand about; /* of what is propagated next, while it is known */
    /* Commands in one database: buf[at, at + len). */
    struct propagationPart {
        size_t at, len; /* len 0: none */
        int dbid, commands;
        int depth; /* of the command that is rewritten */
        bool for_replicas;
        uint8_t but;
        struct propagatedCommand about;
    } held, *rewrites;
    int rewrite_count, rewrite_cap;
    char *buf;
    size_t used, size;
};
extern struct propagationUnit propagation;

/* For who has something to do when the running unit ends, within it: fn is called once, and may ask again. */
void propagateAtUnitEnd(void (*fn)(void));

static inline void propagateBegin(void) {
    propagation.depth++;
}
/* The bytes that the running request came in; ptr NULL: it did not come in bytes, or not all in one piece. */
static inline struct str propagateRaw(const struct client *c) {
    return c->request && !c->request->big ? c->request->raw : (struct str){0};
}
void propagateWhatRan(struct client *c, bool dirty, struct str raw);
static inline void propagateAfterCommand(struct client *c, bool dirty) {
    if (propagateWanted()) propagateWhatRan(c, dirty, propagateRaw(c));
}
void propagateEndBusy(void);
static inline void propagateEnd(void) {
    propagation.depth--;
    if (__builtin_expect(propagation.busy, 0)) propagateEndBusy();
}

/* ---- For handlers, once more ---- */

/* The running command changes nothing here, but replicas have to run it, too (PUBLISH). */
static inline void propagateForced(void) {
    propagation.anyway = propagateWanted() && propagate_replica_sinks;
}
