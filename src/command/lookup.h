/* SPDX-License-Identifier: BSD-3-Clause */
/* lookup.h - key look-ups of commands, in their client's database. A look-up counts as a use of the key
 * unless the client has set CLIENT NO-TOUCH. A missing or expired key gives NULL. O(1). data/keyspace/db.h
 * has look-ups without a client. */
#pragma once

#include "client/client.h"
#include "data/keyspace/db.h"

struct object *lookupKeyRead(struct client *c, struct str key);
struct object *lookupKeyWrite(struct client *c, struct str key);
/* True: *o is the key's object, or NULL when there is none. False: the key holds another type, WRONGTYPE was
 * replied, and *o is NULL. */
bool lookupKeyReadType(struct client *c, struct str key, int type, struct object **o);
bool lookupKeyWriteType(struct client *c, struct str key, int type, struct object **o);
/* lookupKeyWriteType for the first of several keys that exists; *key is that key. */
bool lookupFirstKeyWriteType(struct client *c, const struct str *keys, int count, int type, struct str *key,
                             struct object **o);
