/* SPDX-License-Identifier: BSD-3-Clause */
/* pathhash_private.h - what a payload's pointer is, and one path in a file, for the files of path
 * hashes. */
#pragma once

#include <stdbool.h>

#include "base/str.h"
#include "data/rdb/rio.h"
#include "types/pathhash/pathhash.h"

#define PAYLOAD_TAG 7 /* low bits of a pointer that are the encoding: allocations are multiples of 8 */

static inline int payloadEncoding(const void *payload) {
    return (int)((uintptr_t)payload & PAYLOAD_TAG);
}
static inline void *payloadAddress(const void *payload) {
    return (char *)payload - ((uintptr_t)payload & PAYLOAD_TAG);
}
static inline void *payloadTag(void *address, int encoding) {
    return (char *)address + encoding;
}

/* ---- One path in files (pathhash_rdb.c) ---- */
void pathHashRdbSavePath(struct rioWriter *w, struct str path, const void *payload);
void pathHashRdbRewritePath(struct rioWriter *w, struct str key, struct str path, const void *payload);

/* A large path hash that a snapshot saves in parts (data/forkless/large_value.h), path by
 * path, while it changes.
 *
 * The walk goes over the paths in their order. A path behind the walk that is about to change or to be
 * removed is written at once, and `noted`; one that is new is only noted. The walk leaves noted paths out.
 * Paths that a prefix removes belong to the snapshot, together with what is noted of them, and get a walk of
 * their own after the others:
 *
 *     live     | written ... at |  a    b    c    |          noted: b (written), c (new)
 *     taken    | (after `at`)   |  x    y    z    |          noted: y
 *
 * A path is written whole: the time that a change or a part takes grows with the fields of its path. */
const struct valueParts *pathHashPartsOf(const struct object *o); /* struct objectType.parts */

/* Called before a path of ph changes or is removed (payload is what it has), or when it has been added
 * (NULL).
 */
void pathHashPartsChange(const struct pathHash *ph, struct str path, const void *payload);
/* Called when all paths that begin with `prefix` have been taken out of ph. Returns whether they belong to
 * the snapshot now; else the caller frees them. */
bool pathHashPartsTake(const struct pathHash *ph, struct str prefix, struct pathHash *taken);
