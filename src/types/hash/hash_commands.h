/* SPDX-License-Identifier: BSD-3-Clause */
/* hash_commands.h - what the files of the hash commands share. */
#pragma once

#include "client/client.h"
#include "types/hash/hash.h"

/* A key that was looked up for a hash command: an open hash, a new one to be filled when there was no key. */
struct hashKey {
    struct client *c;
    struct str key;
    struct object *o; /* NULL: no such key */
    struct hash h;
};

/* The key in argv[1]. False: it is no hash, the error has been replied. */
bool hashKeyRead(struct client *c, struct hashKey *k);
bool hashKeyWrite(struct client *c, struct hashKey *k);
/* After a change: commits, and tells everybody. `event` and `then` (either may be NULL) are events of the
 * hash; "del" follows by itself. `changes` are added to the dirty counter. */
void hashKeyChanged(struct hashKey *k, const char *event, const char *then, size_t changes);
/* The first part of that: without `then` and "del". False: the key has gone, and who calls tells of "del". */
bool hashKeyCommit(struct hashKey *k, const char *event, size_t changes);
/* A value, or null. */
void hashReplyField(struct client *c, const struct hash *h, struct str field);
/* Propagate the command `name key [middle...] fields...` in place of the running one. Nothing when count is
 * 0. */
void hashPropagate(struct hashKey *k, struct str name, const struct str *middle, size_t middle_count,
                   const struct str *fields, size_t count);
