/* SPDX-License-Identifier: BSD-3-Clause */
/* lookup.h - looking up the keys of a command on behalf of its client: in the client's database, counted as
 * used unless it asked for CLIENT NO-TOUCH, with WRONGTYPE replied where a type is wanted. NULL when absent
 * or expired. O(1). (data/db.h has the lookups that know no client.) */
#pragma once

#include "client/client.h"
#include "data/db.h"

struct object *lookupKeyRead(struct client *c, struct str key);
struct object *lookupKeyWrite(struct client *c, struct str key);
/* As above; when the key holds another type, replies WRONGTYPE and sets *wrong (else false). */
struct object *lookupKeyReadType(struct client *c, struct str key, int type, bool *wrong);
struct object *lookupKeyWriteType(struct client *c, struct str key, int type, bool *wrong);
/* The first of several keys that exists, for writing. NULL when there is none, or the first is of another
 * type and an error was replied. */
struct object *lookupFirstKeyWriteType(struct client *c, const struct str *keys, int count, int type,
                                       struct str *key, bool *wrong);
