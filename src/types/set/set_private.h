/* SPDX-License-Identifier: BSD-3-Clause */
/* set_private.h - large sets in a snapshot without a fork (data/forkless/large_value.h). Only tables can be
 * large. set.c reports each change of a member before it makes it. */
#pragma once

#include "data/forkless/large_value.h"
#include "ds/hashtable.h"

struct str setMemberText(const void *entry);               /* of an entry of a table */
const struct valueParts *setParts(const struct object *o); /* the hook `parts` */
void setPartsBefore(struct largeValue *v, uint64_t hash);
/* Called before a member with this hash is added or removed. */
static inline void setMemberWillChange(const hashtable *table, uint64_t hash) {
    struct largeValue *v = largeValueFind(table);
    if (__builtin_expect(v != NULL, 0)) setPartsBefore(v, hash);
}
