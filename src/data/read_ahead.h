/* SPDX-License-Identifier: BSD-3-Clause */
/* read_ahead.h - the keys of an iterator, each fetched into the cache some places before its turn: the object
 * first, then, when that is there, the first line of what it points to.
 *
 *     struct readAhead ahead = {.in = 0};
 *     dbIteratorInit(&ahead.it, db);
 *     while ((o = readAheadNext(&ahead))) ...
 *     dbIteratorStop(&ahead.it);
 *
 * Nothing may be deleted meanwhile. */
#pragma once

#include "data/db.h"

#define READ_AHEAD           32               /* objects on their way; a power of two */
#define READ_AHEAD_CONTAINER (READ_AHEAD / 2) /* places before its turn that a container is fetched */
_Static_assert((READ_AHEAD & (READ_AHEAD - 1)) == 0, "numbers of places wrap");

struct readAhead {
    struct dbIterator it;
    const struct object *ring[READ_AHEAD];
    size_t in, out;
};

static inline const struct object *readAheadNext(struct readAhead *r) {
    while (r->in - r->out < READ_AHEAD) {
        const struct object *next = dbIteratorNext(&r->it);
        if (!next) break;
        r->ring[r->in++ % READ_AHEAD] = next;
        __builtin_prefetch(next);
        if (r->in - r->out <= READ_AHEAD_CONTAINER) continue;
        const struct object *o = r->ring[(r->in - 1 - READ_AHEAD_CONTAINER) % READ_AHEAD];
        if (objectHasPtr(o)) __builtin_prefetch(objectPtr(o));
    }
    return r->out < r->in ? r->ring[r->out++ % READ_AHEAD] : NULL;
}
