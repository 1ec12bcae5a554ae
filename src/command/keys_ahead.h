/* SPDX-License-Identifier: BSD-3-Clause */
/* keys_ahead.h - for commands that read many keys: what they will look up is fetched ahead, and hashed once.
 *
 * The round fetches the first keys of each command (ROUND_HINTS_MAX). Those behind them would each wait for a
 * bucket, for the object in it, and for the object's value. So the loop over them asks for those that it will
 * come to:
 *
 *     argv:  | i | ... | i + 4: value | ... | i + 8: object | ... | i + 15: bucket |     (times the step)
 *
 *     struct keysAhead ahead;
 *     keysAheadStart(&ahead, c, first, step, count);
 *     for (...) {
 *         keysAheadNext(&ahead);
 *         ... lookupKeyRead(c, the next key) ...
 *     }
 *     keysAheadStop(&ahead);
 *
 * In between, the command may look keys up, which deletes those that have expired, but not change them:
 * objects that are to come must stay where they are. */
#pragma once

#include "command/request.h"
#include "data/db.h"

#define KEYS_AHEAD 16 /* a power of two */

struct keysAhead {
    struct client *c;
    const struct str *argv;           /* the first key, then one each `step` */
    int step, count;                  /* count 0: too few to bother */
    int at, bucket;                   /* the key that is next to be looked up; to have its bucket fetched */
    size_t size;                      /* of the database: while it stays, so do its objects */
    struct keyHint hints[KEYS_AHEAD]; /* of those between the two */
    struct object *objects[KEYS_AHEAD];
};

/* The keys are `count` arguments of the running command. A few cost nothing. */
static inline void keysAheadStart(struct keysAhead *k, struct client *c, int first, int step, int count) {
    k->count = count > KEYS_AHEAD && c->request ? count : 0;
    if (!k->count) return;
    k->c = c;
    k->argv = c->argv + first;
    k->step = step;
    k->at = k->bucket = 0;
    k->size = dbSize(c->db);
}

void keysAheadFetchNext(struct keysAhead *k);
void keysAheadEnd(struct keysAhead *k);

/* Before each key is looked up. */
static inline void keysAheadNext(struct keysAhead *k) {
    if (k->count) keysAheadFetchNext(k);
}

/* When all have been: the hints of the running command hold again. */
static inline void keysAheadStop(struct keysAhead *k) {
    if (k->count) keysAheadEnd(k);
}
