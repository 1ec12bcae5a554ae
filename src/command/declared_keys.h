/* SPDX-License-Identifier: BSD-3-Clause */
/* declared_keys.h - checks that a running command touches the keys that it declares, and no others.
 *
 * ACLs decide by what commandGetKeyRefs returns, and clusters route by it. Builds with -DDEBUG_ASSERTIONS
 * (sanitizer builds) or with -DCHECK_DECLARED_KEYS alone (`make CFLAGS=-DCHECK_DECLARED_KEYS`) check at every
 * look-up and change of a key that the running command has declared it, for that use. A key that was not
 * declared ends the server with a crash report, and so does a change that is notified twice (data/notify.h).
 * Other builds do not check.
 *
 * Commands nest: EXEC, scripts and unblocked clients run others, and the innermost command is the one that is
 * checked. Keys touched outside of commands (by jobs, expiry, eviction) are not checked. */
#pragma once

#include <stdbool.h>

#include "base/str.h"
#include "data/keyspace/key_use.h"

struct client;

struct declaredKeys {
    struct declaredKeys *outer;
    const struct client *client; /* NULL: accesses are not checked */
    struct declaredKey *keys;    /* sorted by name */
    int count, db;
};

/* The functions behind declaredKeysBegin and declaredKeysEnd, in builds that check. */
void declaredKeysPush(struct declaredKeys *d, const struct client *c);
void declaredKeysPop(struct declaredKeys *d);
bool declaredKeysCover(const struct db *db, struct str key, enum keyUse use);
/* Notes that the running command has notified a change of this key. False: more often than it names it. */
bool declaredKeysNotify(const struct db *db, struct str key);

/* From here to the matching end, the keys that are touched have to be among those of c's command. NULL: any
 * key may be touched. */
static inline void declaredKeysBegin(struct declaredKeys *d, const struct client *c) {
    if (KEY_USES_CHECKED) declaredKeysPush(d, c);
}
static inline void declaredKeysEnd(struct declaredKeys *d) {
    if (KEY_USES_CHECKED) declaredKeysPop(d);
}
