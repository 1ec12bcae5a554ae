/* SPDX-License-Identifier: BSD-3-Clause */
/* blocking.h - clients that wait in a blocking command.
 *
 * A command that finds nothing calls blockForKeys. When one of the keys gets a value of the right type, the
 * command is run again from a copy of its arguments; clients that wait for one key are served in the order in
 * which they came. A handler does not need to know whether it runs for the first time: it either replies, or
 * calls blockForKeys again and keeps its place in the queues. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "client/client.h"
#include "command/request.h"
#include "data/keyspace/db.h"

/* Parses a timeout argument in seconds (float; 0 waits forever) into *deadline_ms (0: none). False: it has
 * replied "timeout is not a float or out of range", "timeout is negative" or "timeout is out of range". */
bool argTimeout(struct client *c, struct str arg, bool milliseconds, int64_t *deadline_ms);

/* Blocks c until one of the keys has a value of this type, until deadline_ms (0: none), or until
 * unblockWithTimeout. With count 0 it waits for no key. on_timeout replies (NULL: replyNullArray).
 * wake_on_delete: it is also run again when a key is deleted or changes its type (XREADGROUP). c must not be
 * CLIENT_DENY_BLOCKING. */
void blockForKeys(struct client *c, const struct str *keys, int count, int type, int64_t deadline_ms,
                  void (*on_timeout)(struct client *c), bool wake_on_delete);
/* Runs the command of c, which blockForKeys has blocked, again at that time as well, together with the others
 * that wait for its keys. Called again, it sets another time. */
void blockedRetryAt(struct client *c, int64_t at_ms);
/* Blocks c without keys and deadline; CLIENT UNBLOCK cannot end this wait. */
void blockUninterruptibly(struct client *c, void (*on_end)(struct client *c));
bool blockedIsUninterruptible(const struct client *c);
/* Returns whether c waits for keys. */
bool blockedForKeys(const struct client *c);

/* Waits of handlers that deal with every end of the wait themselves (modules'). Whatever ends the wait,
 * except an error, runs the handler once more, without admission, and blocking_end says what it was: a key
 * with a value that `accepts_value` accepts, any key with signalKeyReadyForHandlers, the deadline, or
 * blockingResume. A handler that sets CLIENT_BLOCKED goes on waiting. */
enum blockingReason { BLOCKING_KEY, BLOCKING_RESUMED, BLOCKING_TIMEOUT, BLOCKING_REFUSED };
struct blockingEnd {
    enum blockingReason reason;
    struct str key; /* the key that ended the wait */
};
extern struct blockingEnd blocking_end; /* set while a handler runs again */
struct blockingOptions {
    int64_t deadline_ms; /* 0: none */
    bool wake_on_delete;
    bool uninterruptible; /* CLIENT UNBLOCK cannot end the wait */
    bool (*accepts_value)(const struct object *o);
    /* Called instead of the handler, for a command that has run and only waits to reply; NULL: the handler
     * runs again. It is also called for errors (BLOCKING_REFUSED), neither replied nor counted then. */
    void (*on_end)(struct client *c);
    void *owner;
    void (*on_unblocked)(struct client *c,
                         void *owner); /* c does not wait any more, or is about to be freed */
};
void blockForHandler(struct client *c, const struct str *keys, int count,
                     const struct blockingOptions *options);
void *blockedOwner(const struct client *c);
void blockingResume(struct client *c);
/* Adds the time that other threads have spent on c's command while it waited. */
void blockedAddTime(struct client *c, uint64_t us);

/* Sets what is called when a client without connection (a module's call) has ended its wait, in whatever way;
 * the reply is in its chain. */
void blockingOnInnerEnd(void (*fn)(struct client *c));
/* CLIENT UNBLOCK. Returns false when c does not wait for keys. */
bool unblockWithTimeout(struct client *c);
bool unblockWithError(struct client *c);
/* Ends the wait with an error that `reply` replies. */
bool unblockWithReply(struct client *c, void (*reply)(struct client *c));
/* The request in which c waits; NULL: it is not blocked. */
const struct request *blockedRequest(const struct client *c);

/* Says that the value of an existing key has changed in a way that waiting clients may need. (db.c itself
 * reports keys that are created or deleted.) Cheap while nobody waits. */
void signalKeyReady(struct db *db, struct str key);
void signalKeyReadyForHandlers(struct db *db, struct str key); /* for waits of blockForHandler */
/* Says that a whole database has changed: all keys that clients wait for are checked again. */
void blockingRecheckDb(struct db *db);
/* Runs the commands of clients whose keys are ready. Called after each command and before the loop sleeps. */
void blockingHandleReady(void);

uint64_t blockedClients(void);
/* Commands for whose flags fn returns true are not run again. When its answer changes, call
 * blockingRecheckDb. */
void blockingHoldBack(bool (*fn)(uint64_t command_flags));

void blockingInit(void);
