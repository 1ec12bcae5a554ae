/* SPDX-License-Identifier: BSD-3-Clause */
/* zset_private.h - large sorted sets saved in parts while clients change them (data/forkless/large_value.h).
 * Private to the files zset*.c. */
#pragma once

#include "data/forkless/large_value.h"

/* Returns how this value is saved in parts, or NULL: a listpack is saved as a whole. */
const struct valueParts *zsetParts(const struct object *o);
/* Called before an element of a skiplist with this hash is added, removed or changed: saves it. */
void zsetPartsSave(struct largeValue *v, uint64_t hash);
