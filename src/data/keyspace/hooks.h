/* SPDX-License-Identifier: BSD-3-Clause */
/* hooks.h - what the data asks of the floors above, which fill this table in when they start.
 *
 * A hook that is NULL is not asked: in the tests of this floor all are, and most are while a server has no
 * use for them. (Who only wants to hear of changes registers a sink instead: notify.h.) */
#pragma once

#include <stdbool.h>

#include "base/str.h"

struct db;

struct dataHooks {
    /* A key has gone that no command deleted, expired or evicted: whoever follows our data has to delete it.
     * `async`: as UNLINK does. */
    void (*propagateDelete)(int dbid, struct str key, bool async);
    /* A key has come, has gone or has become one of another type. There while a client waits for any key. */
    void (*keyCameOrWent)(struct db *db, struct str key);
    /* Does the client that runs now see keys past their time as they are? */
    bool (*clientSeesExpired)(void);
    /* A key is given an expiry, perhaps the one that it had. There while that is this server's affair, though
     * another decides what expires (a replica that takes writes). */
    void (*keyGetsExpiry)(int dbid, struct str key);
    /* A key has left with its slot (dbDropSlot without events). There once a module looks at keys: those
     * slots go key by key then, as their types have to hear of it, too. */
    void (*keyLeft)(struct db *db, struct str key);
    /* Around a key that expires or is evicted: what modules do about it is propagated with its deletion, as
     * one. There once a module has subscribed to events of keys. */
    void (*dropBegins)(void);
    void (*dropEnds)(void);
};
extern struct dataHooks data_hooks; /* db.c */
