/* SPDX-License-Identifier: BSD-3-Clause */
/* pathhash_commands.h - what the files of the path hash commands share. */
#pragma once

#include "client/client.h"
#include "types/pathhash/pathhash.h"

/* A block `FIELDS n field ...` or `FIELDS n field value ...`. */
struct pathFields {
    int first, step, count; /* argv[first], then every step-th; count 0: no block */
};
/* Parses a block whose word FIELDS is argv[at]. More arguments may follow it. Returns false after an error
 * reply. */
bool pathFieldsParse(struct client *c, int at, int step, struct pathFields *f);
static inline int pathFieldsEnd(const struct pathFields *f) {
    return f->first + f->count * f->step;
}
/* Replies the value of each of the fields, or null, without an array around them. h NULL: there are none. */
void pathFieldsReply(struct client *c, const struct hash *h, const struct pathFields *f);
/* Replies all fields with their values as a map. */
void payloadReply(struct client *c, const struct hash *h);

/* Looks up the key in argv[1] for reading. *ph is NULL when there is none. Returns false when it is of
 * another type; the error has been replied. */
bool pathHashLookup(struct client *c, const struct pathHash **ph);
