/* SPDX-License-Identifier: BSD-3-Clause */
/* pop.h - commands that pop elements from the first of several keys that has some: BLPOP, LMPOP, BZPOPMAX,
 * ZMPOP and their kin. A type tells in a struct popType what is its own.
 *
 * A blocking command looks at its keys like the others. When it finds nothing it waits, and is run again from
 * the start when one of the keys gets a value: it does not know that it waited. */
#pragma once

#include "client/client.h"
#include "data/object.h"

enum popEnd { POP_FIRST, POP_LAST };

struct popType {
    int type;                         /* OBJ_LIST */
    const char *word[2], *command[2]; /* of each end: "left"; "LPOP", as it is propagated */
    int single; /* what replies one element of a key: an array of so many, key included */
    uint64_t (*length)(const struct object *o);
    /* Replies `count` elements, of at least as many, in the order of popping, takes them out and tells
     * everybody. many: an array was announced, and each element is one of its own. */
    void (*pop)(struct client *c, struct str key, struct object *o, enum popEnd end, uint64_t count,
                bool many);
};

/* key [key ...] timeout */
void popOneBlocking(struct client *c, const struct popType *t, enum popEnd end);
/* numkeys key [key ...] WORD [COUNT count]; blocking: with a timeout before it. */
void popMany(struct client *c, const struct popType *t);
void popManyBlocking(struct client *c, const struct popType *t);

static inline uint64_t popAtMost(uint64_t count, uint64_t length) {
    return count < length ? count : length;
}
