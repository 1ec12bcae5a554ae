/* SPDX-License-Identifier: BSD-3-Clause */
/* key_use.h - reports which keys are looked up, read and changed, to check that a command has declared them,
 * and that a snapshot without a fork has saved what changes.
 *
 * Only builds with -DDEBUG_ASSERTIONS (sanitizer builds) or -DCHECK_DECLARED_KEYS (`make
 * CFLAGS=-DCHECK_DECLARED_KEYS`) report. command/declared_keys.c is the check. */
#pragma once

#include "base/str.h"

#if defined(DEBUG_ASSERTIONS) || defined(CHECK_DECLARED_KEYS)
enum { KEY_USES_CHECKED = 1 };
#else
enum { KEY_USES_CHECKED = 0 };
#endif

struct db;

enum keyUse {
    KEY_USE_LOOKUP, /* a key that is about to be changed, or whose existence matters */
    KEY_USE_READ,   /* its value is read */
    KEY_USE_CHANGE,
    KEY_USE_NOTIFY, /* its change is reported */
};

typedef void keyUseHook(const struct db *db, struct str key, enum keyUse use);
extern keyUseHook *key_use_hook; /* NULL: there is no check (notify.c) */

/* Asserts that a snapshot that runs has saved the key's old value, or that there is no key any more: called
 * where a value is changed in place, and when a change is reported (notify.c). */
void keyAssertSavedNow(const struct db *db, struct str key);
static inline void keyAssertSaved(const struct db *db, struct str key) {
    if (KEY_USES_CHECKED) keyAssertSavedNow(db, key);
}

static inline void keyUsed(const struct db *db, struct str key, enum keyUse use) {
    if (KEY_USES_CHECKED && key_use_hook) key_use_hook(db, key, use);
}
