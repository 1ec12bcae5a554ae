/* SPDX-License-Identifier: BSD-3-Clause */
/* blocking.h - clients that wait.
 *
 * A command that finds nothing calls blockForKeys. When one of the keys gets a value of the wanted type, the
 * command is run again from a copy of its arguments, clients of a key in the order in which they came. The
 * handler does not know the difference: it either replies, or calls blockForKeys again and keeps its place in
 * the queues. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "client/client.h"
#include "command/request.h"
#include "data/keyspace/db.h"

/* Parse a timeout argument in seconds (float, 0 waits for ever) into *deadline_ms (0: none). Replies "timeout
 * is not a float or out of range" / "timeout is negative" / "timeout is out of range" and returns false. */
bool argTimeout(struct client *c, struct str arg, bool milliseconds, int64_t *deadline_ms);

/* on_timeout replies (NULL: replyNullArray). wake_on_delete also wakes it when a key is deleted or changes
 * type (XREADGROUP). c must not be CLIENT_DENY_BLOCKING. */
/* count 0: it waits for its deadline, or for whoever ends the wait with unblockWithTimeout. */
void blockForKeys(struct client *c, const struct str *keys, int count, int type, int64_t deadline_ms,
                  void (*on_timeout)(struct client *c), bool wake_on_delete);
/* With count 0 and no deadline, and CLIENT UNBLOCK has no power over it. */
void blockUninterruptibly(struct client *c, void (*on_end)(struct client *c));
bool blockedUninterruptibly(const struct client *c);
/* Does it wait for keys? */
bool blockedForKeys(const struct client *c);

/* Waits of handlers that see to their ends themselves (modules'). Whatever ends one but an error (a key with
 * a value that it wants, or any with signalKeyReadyForHandlers; its time; blockingResume), the handler is run
 * once more, nobody asks whether it may, and looks at blocking_end. When it sets CLIENT_BLOCKED it goes on
 * waiting. `left` is told that c does not wait any more, perhaps because it is about to be freed. patient:
 * CLIENT UNBLOCK has no power over it. */
enum blockingReason { BLOCKING_KEY, BLOCKING_RESUMED, BLOCKING_TIMEOUT, BLOCKING_REFUSED };
struct blockingEnd {
    enum blockingReason reason;
    struct str key; /* that has made it run again */
};
extern struct blockingEnd blocking_end; /* of the handler that runs again */
struct blockingOptions {
    int64_t deadline_ms; /* 0: none */
    bool wake_on_delete, patient;
    bool (*wants)(const struct object *o);
    /* Instead of the handler, for a command that has run and only waits to reply; NULL: the handler. It is
     * told of errors, too (BLOCKING_REFUSED), which are not replied then, and counts nothing. */
    void (*ends)(struct client *c);
    void *whose;
    void (*left)(struct client *c, void *whose);
};
void blockForHandler(struct client *c, const struct str *keys, int count, const struct blockingOptions *wish);
void *blockedWhose(const struct client *c);
void blockingResume(struct client *c);
/* Time that others have spent on its command while it waited. */
void blockedAddTime(struct client *c, uint64_t us);

/* What a client without connection waited for has come to its end, by whatever way: it is a module's call,
 * the reply is in its chain. The module room's. */
void blockingOnInnerEnd(void (*fn)(struct client *c));
/* CLIENT UNBLOCK: false when it is not blocked (on keys). */
bool unblockWithTimeout(struct client *c);
bool unblockWithError(struct client *c);
/* The same with what `reply` replies: an error, which puts an end to it. */
bool unblockWithReply(struct client *c, void (*reply)(struct client *c));
/* The request that c waits in; NULL: it is not blocked. */
const struct request *blockedRequest(const struct client *c);

/* A value that was there is another one now for those who wait for it. (That a key has come or gone, db.c
 * says.) Cheap when nobody waits. */
void signalKeyReady(struct db *db, struct str key);
void signalKeyReadyForHandlers(struct db *db, struct str key); /* blockForHandler */
/* The contents of a whole database have changed: every key that clients wait for is looked at again. */
void blockingRecheckDb(struct db *db);
/* Run again what can be: after each command and before sleep. */
void blockingHandleReady(void);

uint64_t blockedClients(void);
/* While fn says true of a command's flags, it is not run again. Behind that, blockingRecheckDb. */
void blockingHoldBack(bool (*fn)(uint64_t command_flags));

void blockingInit(void);
