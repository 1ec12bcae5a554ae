/* SPDX-License-Identifier: BSD-3-Clause */
/* lookup.c - see lookup.h. */
#include "command/lookup.h"

#include "base/assert.h"
#include "client/reply.h"

static int lookupTouchFlag(const struct client *c) {
    return c->flags & CLIENT_NO_TOUCH ? LOOKUP_NOTOUCH : 0;
}

struct object *lookupKeyRead(struct client *c, struct str key) {
    return lookupKey(c->db, key, lookupTouchFlag(c));
}

struct object *lookupKeyWrite(struct client *c, struct str key) {
    return lookupKey(c->db, key, LOOKUP_WRITE | lookupTouchFlag(c));
}

static bool lookupTyped(struct client *c, struct str key, int type, int flags, struct object **o) {
    struct object *found = *o = lookupKey(c->db, key, flags | lookupTouchFlag(c));
    if (!found || found->type == (uint32_t)type) return true;
    *o = NULL;
    replyWrongType(c);
    return false;
}

bool lookupKeyReadType(struct client *c, struct str key, int type, struct object **o) {
    return lookupTyped(c, key, type, 0, o);
}

bool lookupKeyWriteType(struct client *c, struct str key, int type, struct object **o) {
    return lookupTyped(c, key, type, LOOKUP_WRITE, o);
}

bool lookupFirstKeyWriteType(struct client *c, const struct str *keys, int count, int type, struct str *key,
                             struct object **o) {
    serverAssert(count > 0);
    for (int i = 0; i < count; i++) {
        *key = keys[i];
        if (!lookupKeyWriteType(c, keys[i], type, o)) return false;
        if (*o) return true;
    }
    return true;
}
