/* SPDX-License-Identifier: BSD-3-Clause */
/* pop.h - commands that pop elements from the first of several keys that has some: BLPOP, LMPOP, BZPOPMAX,
 * ZMPOP and their kin. A struct popType has what differs between the types.
 *
 * A blocking command looks at its keys like the others. When it finds nothing it waits, and is run again from
 * the start when one of the keys gets a value: the handler does not know that it waited. */
#pragma once

#include "client/client.h"
#include "data/object.h"

enum popEnd { POP_FIRST, POP_LAST };

struct popType {
    int type;                         /* such as OBJ_LIST */
    const char *word[2], *command[2]; /* per end: "left"; "LPOP", as it is propagated */
    int single;                       /* length of the array that replies one element, including the key */
    uint64_t (*length)(const struct object *o);
    /* Removes `count` elements (at most as many as there are), replies them in the order of popping, and
     * reports the change. many: an array was announced, and each element is an array of its own. */
    void (*pop)(struct client *c, struct str key, struct object *o, enum popEnd end, uint64_t count,
                bool many);
};

/* Arguments: key [key ...] timeout */
void popOneBlocking(struct client *c, const struct popType *t, enum popEnd end);
/* Arguments: numkeys key [key ...] WORD [COUNT count]; when blocking, preceded by a timeout. */
void popMany(struct client *c, const struct popType *t);
void popManyBlocking(struct client *c, const struct popType *t);

static inline uint64_t popMin(uint64_t count, uint64_t length) {
    return count < length ? count : length;
}
