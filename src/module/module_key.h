/* SPDX-License-Identifier: BSD-3-Clause */
/* module_key.h - a key that a module has open. What it holds is looked up by name each time: the module may
 * have changed it in other ways, and objects move. */
#pragma once

#include "data/keyspace/db.h"
#include "module/api.h"
#include "types/list/list.h"
#include "types/stream/stream.h"
#include "types/zset/zset.h"

struct client;

/* A mode of the server's own: a key past its time is there, too. */
#define MODULE_KEY_EXPIRED_TOO (1u << 31)

enum keyWalk { WALK_NONE, WALK_LIST, WALK_ZSET, WALK_STREAM };

struct ValkeyModuleKey {
    struct ValkeyModuleCtx *ctx; /* NULL: nobody's, as in callbacks of the server's own */
    struct client *client;       /* on whose behalf; may be NULL */
    struct db *db;
    struct ValkeyModuleString *name;
    unsigned mode; /* VALKEYMODULE_READ, _WRITE, _OPEN_KEY_... */
    /* Where the module is in the value; whatever changes the value by this key ends it, unless it says
     * otherwise. */
    enum keyWalk walk;
    union {
        struct {
            struct listIterator it;
            int64_t index; /* from the front */
        } list;
        struct {
            struct zsetPlace place;
            uint64_t at, count; /* in the range; at == count: there is none */
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

/* NULL: there is no value. */
struct object *moduleKeyObject(const struct ValkeyModuleKey *key);
static inline struct str moduleKeyName(const struct ValkeyModuleKey *key) {
    return stringText(key->name);
}
static inline bool moduleKeyWrites(const struct ValkeyModuleKey *key) {
    return key && key->mode & VALKEYMODULE_WRITE;
}
void moduleKeyWalkEnd(struct ValkeyModuleKey *key);
/* The checks of lists and streams, which set errno: EINVAL (no key), ENOTSUP (another type; `absent_ok`: or
 * nothing there), EBADF (not open for that). */
bool moduleKeyIs(struct ValkeyModuleKey *key, int type, unsigned mode, bool absent_ok);
/* Of the server's own, for callbacks; the name is retained. End with moduleKeyDrop. */
void moduleKeyInit(struct ValkeyModuleKey *key, struct db *db, struct ValkeyModuleString *name,
                   unsigned mode);
void moduleKeyDrop(struct ValkeyModuleKey *key);
