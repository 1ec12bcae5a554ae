/* SPDX-License-Identifier: BSD-3-Clause */
/* hash_shaped.c - the containers of hashes that have a shape: their values only; see hash_shape.h.
 *
 * Setting a field that exists replaces its element. A field that is new is appended when the shape knows a
 * next one with just this name more: so a hash that grows field by field, as many did before it, goes from
 * shape to shape without becoming a listpack in between. */
#include "base/assert.h"
#include "base/zmalloc.h"
#include "types/hash/hash_shape.h"

#define ELEMENT_ROOM (HASH_SHAPED_VALUE_MAX + 16)
#define PAIRS_BYTES  2048 /* of hashes that are made at once */

static void hashShapedSetHead(void *container, unsigned id, size_t bytes) {
    uint16_t head[2] = {(uint16_t)id, (uint16_t)bytes};
    debugAssert(id < HASH_SHAPES_MAX && bytes <= HASH_SHAPED_BYTES_MAX);
    memcpy(container, head, sizeof head);
}

static void hashShapedRefer(struct hashShape *s) {
    atomic_fetch_add_explicit(&s->refs, 1, memory_order_relaxed);
}

/* Another thread may free containers. All that it did to them comes before the shape is freed. */
static void hashShapedUnrefer(struct hashShape *s) {
    atomic_fetch_sub_explicit(&s->refs, 1, memory_order_release);
}

void *hashShapedNew(struct hashShape *s, unsigned char *lp) {
    size_t bytes = lpBytes(lp) - LP_HEADER_BYTES - LP_END_BYTES - s->names_bytes;
    for (unsigned char *p = lpFirst(lp); p;) { /* less the backlens */
        unsigned char *value = lpElementEnd(p), *end = lpElementEnd(value);
        bytes -= (size_t)(end - hashShapedNext(value));
        p = *end == 0xff ? NULL : end;
    }
    void *container = zmalloc(HASH_SHAPED_HEAD_BYTES + bytes);
    unsigned char *to = hashShapedFirst(container);
    for (unsigned char *p = lpFirst(lp); p;) {
        unsigned char *value = lpElementEnd(p), *end = lpElementEnd(value);
        size_t len = (size_t)(hashShapedNext(value) - value);
        memcpy(to, value, len);
        to += len;
        p = *end == 0xff ? NULL : end;
    }
    serverAssert(to == hashShapedFirst(container) + bytes);
    hashShapedSetHead(container, s->id, bytes);
    hashShapedRefer(s);
    return container;
}

void *hashShapedNewOfPairs(struct hashShape *s, const struct str *pairs) {
    unsigned char values[PAIRS_BYTES], *to = values;
    for (unsigned i = 0; i < s->count; i++) {
        struct str value = pairs[2 * i + 1];
        if (value.len > HASH_SHAPED_VALUE_MAX ||
            lpElementBound(value.len) > (size_t)(values + sizeof values - to))
            return NULL;
        lpElementWrite(to, value);
        to = hashShapedNext(to); /* the next value overwrites the backlen */
    }
    size_t bytes = (size_t)(to - values);
    void *container = zmalloc(HASH_SHAPED_HEAD_BYTES + bytes);
    memcpy(hashShapedFirst(container), values, bytes);
    hashShapedSetHead(container, s->id, bytes);
    hashShapedRefer(s);
    return container;
}

void hashShapedFree(void *container) {
    hashShapedUnrefer(hashShapedShape(container));
    zfree(container);
}

void *hashShapedCopy(const void *container) {
    size_t size = HASH_SHAPED_HEAD_BYTES + hashShapedBytes(container);
    hashShapedRefer(hashShapedShape(container));
    return memcpy(zmalloc(size), container, size);
}

unsigned char *hashShapedListpack(const void *container) {
    const struct hashShape *s = hashShapedShape(container);
    size_t bytes = LP_HEADER_BYTES + s->names_bytes + hashShapedBytes(container) + LP_END_BYTES;
    unsigned char *lp = zmalloc(bytes + 2u * s->count), *to = lp + LP_HEADER_BYTES;
    unsigned char *value = hashShapedFirst(container);
    for (unsigned i = 0; i < s->count; i++) {
        const unsigned char *name = s->names + s->name_at[i];
        size_t len = 2u + (*name & 0x3fu);
        memcpy(to, name, len);
        to += len;
        unsigned char *end = hashShapedNext(value);
        len = (size_t)(end - value);
        memcpy(to, value, len);
        to = lpBacklenWrite(to + len, len);
        value = end;
    }
    lpSeal(lp, (size_t)(to - lp) + LP_END_BYTES, 2u * s->count);
    return lpShrinkToFit(lp);
}

/* Makes `len` bytes out of the `old_len` at the offset `at` of the values; returns where they are. */
static unsigned char *hashShapedSplice(void **container, size_t at, size_t old_len, size_t len) {
    size_t before = hashShapedBytes(*container), after = before - old_len + len;
    size_t size = HASH_SHAPED_HEAD_BYTES + after, usable = zmallocSize(*container);
    unsigned char *p;
    if (size > usable) *container = zrealloc(*container, size);
    p = hashShapedFirst(*container) + at;
    memmove(p + len, p + old_len, before - at - old_len);
    hashShapedSetHead(*container, hashShapedId(*container), after);
    if (size < usable && usable - size > usable / 4 && zmallocGoodSize(size) < usable) {
        *container = zrealloc(*container, size);
        p = hashShapedFirst(*container) + at;
    }
    return p;
}

/* Replaces `old_len` bytes by the element of the value. Returns false when there would be too many bytes. */
static bool hashShapedWrite(void **container, size_t at, size_t old_len, struct str value) {
    unsigned char element[ELEMENT_ROOM];
    lpElementWrite(element, value);
    size_t len = (size_t)(hashShapedNext(element) - element);
    if (hashShapedBytes(*container) - old_len + len > HASH_SHAPED_BYTES_MAX) return false;
    unsigned char *to =
        len == old_len ? hashShapedFirst(*container) + at : hashShapedSplice(container, at, old_len, len);
    memcpy(to, element, len);
    return true;
}

static bool hashShapedAppend(void **container, struct hashShape *s, struct str field, struct str value) {
    struct hashShape *next = hash_shapes[s->next];
    if (!next || !strEq(hashShapeName(next, s->count), field)) return false;
    if (!hashShapedWrite(container, hashShapedBytes(*container), 0, value)) return false;
    hashShapedRefer(next);
    hashShapedUnrefer(s);
    hashShapedSetHead(*container, next->id, hashShapedBytes(*container));
    return true;
}

bool hashShapedSet(void **container, struct str field, struct str value, bool *added) {
    struct hashShape *s = hashShapedShape(*container);
    if (value.len > HASH_SHAPED_VALUE_MAX) return false;
    int i = hashShapeFind(s, field);
    *added = i < 0;
    if (i < 0) return hashShapedAppend(container, s, field, value);
    unsigned char *p = hashShapedAt(*container, (unsigned)i);
    return hashShapedWrite(container, (size_t)(p - hashShapedFirst(*container)),
                           (size_t)(hashShapedNext(p) - p), value);
}
