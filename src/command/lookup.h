/* SPDX-License-Identifier: BSD-3-Clause */
/* lookup.h - a command looks up its keys here: in its client's database. A look-up counts as a use of the key
 * unless the client set CLIENT NO-TOUCH. A key that is missing or expired gives NULL. O(1).
 * data/keyspace/db.h has the look-ups without a client. */
#pragma once

#include "client/client.h"
#include "data/keyspace/db.h"

struct object *lookupKeyRead(struct client *c, struct str key);
struct object *lookupKeyWrite(struct client *c, struct str key);
/* False: the key holds another type, WRONGTYPE was replied, and *o is NULL. True: *o is the key's object, or
 * NULL when there is none. */
bool lookupKeyReadType(struct client *c, struct str key, int type, struct object **o);
bool lookupKeyWriteType(struct client *c, struct str key, int type, struct object **o);
/* lookupKeyWriteType of the first of several keys that exists; *key is that key. */
bool lookupFirstKeyWriteType(struct client *c, const struct str *keys, int count, int type, struct str *key,
                             struct object **o);
