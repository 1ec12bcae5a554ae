/* SPDX-License-Identifier: BSD-3-Clause */
/* lookup.c - see lookup.h. */
#include "command/lookup.h"

#include "base/assert.h"
#include "client/reply.h"

static int touchFlag(const struct client *c) {
    return c->flags & CLIENT_NO_TOUCH ? LOOKUP_NOTOUCH : 0;
}

struct object *lookupKeyRead(struct client *c, struct str key) {
    return lookupKey(c->db, key, touchFlag(c));
}

struct object *lookupKeyWrite(struct client *c, struct str key) {
    return lookupKey(c->db, key, LOOKUP_WRITE | touchFlag(c));
}

static struct object *checkType(struct client *c, struct object *o, int type, bool *wrong) {
    *wrong = o && o->type != (uint32_t)type;
    if (!*wrong) return o;
    replyWrongType(c);
    return NULL;
}

struct object *lookupKeyReadType(struct client *c, struct str key, int type, bool *wrong) {
    return checkType(c, lookupKeyRead(c, key), type, wrong);
}

struct object *lookupKeyWriteType(struct client *c, struct str key, int type, bool *wrong) {
    return checkType(c, lookupKeyWrite(c, key), type, wrong);
}

struct object *lookupFirstKeyWriteType(struct client *c, const struct str *keys, int count, int type,
                                       struct str *key, bool *wrong) {
    serverAssert(count > 0);
    *wrong = false;
    for (int i = 0; i < count && !*wrong; i++) {
        struct object *o = lookupKeyWriteType(c, keys[i], type, wrong);
        *key = keys[i];
        if (o) return o;
    }
    return NULL;
}
