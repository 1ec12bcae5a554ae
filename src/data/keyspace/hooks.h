/* SPDX-License-Identifier: BSD-3-Clause */
/* hooks.h - what this layer needs from the layers above, which fill in this table when they start.
 *
 * A hook that is NULL is not called. All are NULL in the tests of this layer, and most are while a server has
 * no use for them. (A module that only has to know of changes registers a sink instead: notify.h.) */
#pragma once

#include <stdbool.h>

#include "base/str.h"

struct db;

struct dataHooks {
    /* A key was removed that no command deleted, and that neither expired nor was evicted: replicas and files
     * have to delete it. `async`: as UNLINK does. */
    void (*propagateDelete)(int dbid, struct str key, bool async);
    /* A key has come, has gone or has become one of another type. Set while a client waits for any key. */
    void (*keyExistenceChanged)(struct db *db, struct str key);
    /* Whether the client that runs now sees keys past their expiry as if they had none. */
    bool (*clientSeesExpired)(void);
    /* A key is given an expiry, perhaps the one that it had. Set while this server has to remember that
     * although another one decides what expires (a replica that takes writes). */
    void (*keyGetsExpiry)(int dbid, struct str key);
    /* A key was removed with its slot (dbDropSlot without events). Set once a module subscribes to keys:
     * those slots are then removed key by key, as their types have to be notified, too. */
    void (*keyLeft)(struct db *db, struct str key);
    /* Called around the removal of a key that expires or is evicted: what modules do about it is propagated
     * with the deletion as one transaction. Set once a module has subscribed to events of keys. */
    void (*dropBegins)(void);
    void (*dropEnds)(void);
    /* All keys of a database or of a slot have gone at once, or others have taken their place. It is not
     * called for databases that are swapped. */
    void (*keysDropped)(void);
};
extern struct dataHooks data_hooks; /* db.c */
