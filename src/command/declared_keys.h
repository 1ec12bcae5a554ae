/* SPDX-License-Identifier: BSD-3-Clause */
/* declared_keys.h - does a running command touch the keys that it declares, and no others?
 *
 * ACLs decide by what commandGetKeyRefs says, clusters route by it. So builds with -DDEBUG_ASSERTIONS
 * (sanitizer builds), or with -DCHECK_DECLARED_KEYS alone (`make CFLAGS=-DCHECK_DECLARED_KEYS`), ask at every
 * lookup and change of a key whether the command that runs has declared it, for that use. One that it has not
 * ends the server with a crash report, and so does one that tells of a change twice (data/notify.h). In other
 * builds nobody asks.
 *
 * Commands nest: EXEC, scripts and clients that were blocked run others, and the innermost answers for what
 * is touched. Where nobody does (jobs, expiry, eviction), nothing is asked. */
#pragma once

#include <stdbool.h>

#include "base/str.h"
#include "data/keyspace/key_use.h"

struct client;

struct declaredKeys {
    struct declaredKeys *outer;
    const struct client *client; /* NULL: what is touched is nobody's */
    struct declaredKey *keys;    /* by name */
    int count, db;
};

/* What the inline functions below do where keys are checked. */
void declaredKeysPush(struct declaredKeys *d, const struct client *c);
void declaredKeysPop(struct declaredKeys *d);
bool declaredKeysCover(const struct db *db, struct str key, enum keyUse use);
/* The running command tells everybody that it has changed this key. False: that is once too often, for one
 * that it names so many times. */
bool declaredKeysNotify(const struct db *db, struct str key);

/* Until the matching end, what is touched is to be among the keys of c's command. NULL: may be anything. */
static inline void declaredKeysBegin(struct declaredKeys *d, const struct client *c) {
    if (KEY_USES_CHECKED) declaredKeysPush(d, c);
}
static inline void declaredKeysEnd(struct declaredKeys *d) {
    if (KEY_USES_CHECKED) declaredKeysPop(d);
}
