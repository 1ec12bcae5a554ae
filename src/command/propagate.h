/* propagate.h - the one door to the append-only file and to replicas.
 *
 * A command that changed data (dbstats.dirty grew while it ran) is handed to the sinks after it ran: as it
 * came, or as its handler rewrote it. Handlers rewrite what would not have the same effect when run again
 * (relative times, random choice, floats): */
#pragma once

#include "base/str.h"
#include "client/client.h"

/* Instead of the running command, propagate this one (copied). May be called several times: then all of them,
 * in order, as one unit. Free of cost when no sink is registered. */
void propagateRewrite(struct client *c, int argc, const struct str *argv);
void propagateSuppress(struct client *c); /* propagate nothing for the running command */
/* Outside of a command: expiry, eviction. */
void propagateNow(int dbid, int argc, const struct str *argv);
extern int propagate_sinks;
extern uint64_t propagate_commands;        /* how many have come through the door */
static inline bool propagateWanted(void) { /* is there any sink? */
    return propagate_sinks > 0;
}

typedef void propagateSink(int dbid, int argc, const struct str *argv);
void propagateAddSink(propagateSink *fn);
void propagateRemoveSink(propagateSink *fn); /* not there: nothing happens */

/* For command/command.c, around each command. What the outermost one causes is a unit: the commands that EXEC
 * or a script ran, expired keys that it came upon, its rewrites.
 * Sinks see more than one as MULTI ... EXEC. */
extern int propagate_depth;
extern bool propagate_open; /* something of the unit waits for its end */
void propagateCloseUnit(void);
static inline void propagateBegin(void) {
    propagate_depth++;
}
void propagateWhatRan(struct client *c, bool dirty);
static inline void propagateAfterCommand(struct client *c, bool dirty) {
    if (propagateWanted()) propagateWhatRan(c, dirty);
}
static inline void propagateEnd(void) {
    if (--propagate_depth == 0 && propagate_open) propagateCloseUnit();
}
