/* SPDX-License-Identifier: BSD-3-Clause */
/* module_key.h - a key that a module has opened. Each function looks its value up by name, because the
 * module may have changed the key in other ways and objects move. */
#pragma once

#include "data/keyspace/db.h"
#include "module/api.h"
#include "types/list/list.h"
#include "types/stream/stream.h"
#include "types/zset/zset.h"

struct client;

/* A mode for internal use: an expired key counts as present. */
#define MODULE_KEY_EXPIRED_TOO (1u << 31)

enum keyWalk { WALK_NONE, WALK_LIST, WALK_ZSET, WALK_STREAM };

struct ValkeyModuleKey {
    struct ValkeyModuleCtx *ctx; /* NULL in callbacks that the server itself calls */
    struct client *client;       /* on whose behalf the key is open; may be NULL */
    struct db *db;
    struct ValkeyModuleString *name;
    unsigned mode; /* VALKEYMODULE_READ, _WRITE, _OPEN_KEY_... */
    /* The position of an iteration over the value. Each change of the value through this key ends the
     * iteration, unless the function documents otherwise. */
    enum keyWalk walk;
    union {
        struct {
            struct listIterator it;
            int64_t index; /* from the front */
        } list;
        struct {
            struct zsetPlace place;
            uint64_t at, count; /* position in the range and its size; equal: no element is left */
            bool end;
        } zset;
        struct {
            struct streamIterator it;
            bool on_entry;
            int64_t pairs_left;
            struct streamID start, end;
        } stream;
    };
};

/* Returns NULL if there is no value. */
struct object *moduleKeyObject(const struct ValkeyModuleKey *key);
static inline struct str moduleKeyName(const struct ValkeyModuleKey *key) {
    return stringText(key->name);
}
static inline bool moduleKeyIsWritable(const struct ValkeyModuleKey *key) {
    return key && key->mode & VALKEYMODULE_WRITE;
}
void moduleKeyEndWalk(struct ValkeyModuleKey *key);
/* Checks the key before an operation and sets errno: EINVAL if key is NULL, ENOTSUP if it has another type
 * or, without absent_ok, is empty, EBADF if it is not open in `mode`. */
bool moduleKeyCheck(struct ValkeyModuleKey *key, int type, unsigned mode, bool absent_ok);
/* Whether any key is open for writing: its value may change without a further look-up. */
bool moduleKeyAnyWritable(void);
/* Initializes a key for a callback without a module's context. Retains the name. To be
 * ended with moduleKeyFree. */
void moduleKeyInit(struct ValkeyModuleKey *key, struct db *db, struct ValkeyModuleString *name,
                   unsigned mode);
void moduleKeyFree(struct ValkeyModuleKey *key);
