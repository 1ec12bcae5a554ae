/* SPDX-License-Identifier: BSD-3-Clause */
/* hash_shape.h - hashes of one shape: small hashes that have the same field names in the same order. Their
 * names are kept once, in the shape.
 *
 *     container   | id:16 | bytes:16 | value | value | ...         a value: a listpack element, no backlen
 *     shape       | refs, count ... | tags | offsets of names | name | name | ...    a name: an element
 *
 * A listpack becomes such a container when a command or a file has given it its fields, and enough others had
 * the same names before (hash_shape.c). It becomes a listpack again before anything is done to it that its
 * shape does not provide for. Elements keep their bytes, so that the listpack is the one that it would have
 * been, to the byte.
 *
 * A shape does not change after it has been published, except for `refs`, which is atomic, and `next`, which
 * is the main thread's. Each container counts as one reference, wherever it is freed. The main thread frees
 * a shape that has none, in a job, while no reader is at work. */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/sds.h"
#include "base/str.h"
#include "ds/listpack.h"

#define HASH_SHAPES_MAX        2048              /* with 0, which is no shape */
#define HASH_SHAPES_BYTES_MAX  ((size_t)1 << 20) /* of all shapes */
#define HASH_SHAPE_FIELDS_MIN  2
#define HASH_SHAPE_FIELDS_MAX  64
#define HASH_SHAPE_NAME_MAX    63   /* bytes of one name */
#define HASH_SHAPE_NAMES_MAX   1024 /* bytes of the names as elements */
#define HASH_SHAPED_VALUE_MAX  4095 /* bytes of one value */
#define HASH_SHAPED_BYTES_MAX  UINT16_MAX
#define HASH_SHAPED_HEAD_BYTES 4

struct hashShape {
    uint64_t hash; /* of the names' bytes */
    _Atomic uint32_t refs;
    uint16_t id, count;
    uint16_t next; /* a shape with these names and one more; 0: none is known */
    uint16_t names_bytes;
    bool idle;               /* it had no references when the job came last */
    const uint16_t *name_at; /* offsets of the names; this and what follows are in the same allocation */
    const unsigned char *names;
    unsigned char tags[]; /* one byte of each name, never 0; zeros up to a multiple of 8 */
};

extern struct hashShape *hash_shapes[HASH_SHAPES_MAX];
extern bool hash_shapes_wanted; /* the directive hash-shapes */

/* ---- Shapes (hash_shape.c) ---- */
static inline struct str hashShapeName(const struct hashShape *s, unsigned i) {
    const unsigned char *p = s->names + s->name_at[i];
    return strN((const char *)p + 1, *p & 0x3fu);
}
int hashShapeFind(const struct hashShape *s, struct str field); /* -1: it has no such name */
/* Returns the shape of this listpack of pairs if there is one now, else NULL. `before` is the shape that the
 * hash had before a field was added, or 0. For the main thread. */
struct hashShape *hashShapeOf(unsigned char *lp, unsigned before);
/* Returns the shape of these pairs if the last hash that looked like them had it, else NULL. */
struct hashShape *hashShapeOfPairs(const struct str *pairs, size_t count);
void hashShapesInit(void);  /* directive, INFO fields, job */
void hashShapesSweep(void); /* the job */
sds hashShapesInfo(sds s);

/* ---- Containers (hash_shaped.c) ---- */
static inline unsigned hashShapedId(const void *container) {
    uint16_t id;
    memcpy(&id, container, sizeof id);
    return id;
}
static inline unsigned hashShapedBytes(const void *container) {
    uint16_t bytes;
    memcpy(&bytes, (const char *)container + 2, sizeof bytes);
    return bytes;
}
static inline struct hashShape *hashShapedShape(const void *container) {
    return hash_shapes[hashShapedId(container)];
}
static inline unsigned char *hashShapedFirst(const void *container) {
    return (unsigned char *)container + HASH_SHAPED_HEAD_BYTES;
}
/* Returns the address behind a value. An element of more than 127 bytes has a backlen of two. */
static inline unsigned char *hashShapedNext(unsigned char *p) {
    if (p[0] < 0x80) return p + 1;
    if (p[0] < 0xc0) return p + 1 + (p[0] & 0x3f);
    unsigned char *end = lpElementEnd(p);
    return end - (end - p > 128 ? 2 : 1);
}
static inline unsigned char *hashShapedAt(const void *container, unsigned i) {
    unsigned char *p = hashShapedFirst(container);
    while (i--) p = hashShapedNext(p);
    return p;
}
void *hashShapedNew(struct hashShape *s, unsigned char *lp); /* the values of a listpack of this shape */
/* Makes a container of the values of pairs that have this shape and are within the limits, or returns NULL.
 */
void *hashShapedNewOfPairs(struct hashShape *s, const struct str *pairs);
void hashShapedFree(void *container); /* in any thread */
void *hashShapedCopy(const void *container);
unsigned char *hashShapedListpack(const void *container); /* a new listpack of fields and values */
/* Sets a field, which must be within the limits. Returns false when the hash has to become a listpack first,
 * else *added says whether the field is new. The container may move. */
bool hashShapedSet(void **container, struct str field, struct str value, bool *added);
