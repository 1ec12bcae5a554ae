/* declared_keys.h - does a running command touch the keys that it declares, and no others?
 *
 * ACLs decide by what commandGetKeyRefs says, clusters route by it. So builds with -DDEBUG_ASSERTIONS
 * (sanitizer builds), or with -DCHECK_DECLARED_KEYS alone (`make CFLAGS=-DCHECK_DECLARED_KEYS`), ask at every
 * lookup and change of a key whether the command that runs has declared it, for that use. One that it has not
 * ends the server with a crash report. In other builds nobody asks.
 *
 * Commands nest: EXEC, scripts and clients that were blocked run others, and the innermost answers for what
 * is touched. Where nobody does (jobs, expiry, eviction), nothing is asked. */
#pragma once

#include <stdbool.h>

#include "base/str.h"

#if defined(DEBUG_ASSERTIONS) || defined(CHECK_DECLARED_KEYS)
enum { DECLARED_KEYS_CHECKED = 1 };
#else
enum { DECLARED_KEYS_CHECKED = 0 };
#endif

struct client;
struct db;

enum keyUse {
    KEY_USE_LOOKUP, /* of a key that is about to be changed, or whose existence matters */
    KEY_USE_READ,   /* of its value */
    KEY_USE_CHANGE,
};

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
void declaredKeysPanic(const struct db *db, struct str key, enum keyUse use) __attribute__((noreturn, cold));

/* Until the matching end, what is touched is to be among the keys of c's command. NULL: may be anything. */
static inline void declaredKeysBegin(struct declaredKeys *d, const struct client *c) {
    if (DECLARED_KEYS_CHECKED) declaredKeysPush(d, c);
}
static inline void declaredKeysEnd(struct declaredKeys *d) {
    if (DECLARED_KEYS_CHECKED) declaredKeysPop(d);
}
static inline void declaredKeysCheck(const struct db *db, struct str key, enum keyUse use) {
    if (DECLARED_KEYS_CHECKED && !declaredKeysCover(db, key, use)) declaredKeysPanic(db, key, use);
}
