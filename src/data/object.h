/* SPDX-License-Identifier: BSD-3-Clause */
/* object.h - a key and its value in one allocation.
 *
 *     | type:4 enc:4 lru:24 | keylen:8 | info:8 | [ptr:48] [expire:48] | key | value |          narrow
 *     | type:4 enc:4 lru:24 | 255:8    | info:8 | pad:16 | longlen:64 |
 *                                                 [ptr:64] [expire:64] | key | value |          wide
 *
 * In `info`, bit 7 says that there is an expiry, bit 6 that the value is behind a pointer, and bits 0..5
 * are the length of the embedded value. Length 63 means that the length is in a byte of its own, between
 * key and value.
 *
 * Most objects are narrow: user space ends below 2^47, and 48 bits of milliseconds last to the year 10889. A
 * 16-byte key with a 10-byte value takes exactly 32 bytes, and 38 with an expiry. Objects are wide when their
 * key has 255 bytes or more or their expiry is out of that range; and, in builds whose leak checkers have to
 * see pointers as they are, when they have a pointer.
 *
 * Because the expiry and the embedded value are part of the allocation, changing them can move the object.
 * Only the keyspace does that (keyspaceReplace, keyspaceMoveObject), and then puts the new pointer into its
 * tables. All others hold an object pointer only until the next call that changes this key. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/assert.h"
#include "base/str.h"

/* The longest embedded value. Up to this length one allocation is smaller than two, and faster to read
 * and to replace. */
#define OBJ_EMBED_MAX 255
#define OBJ_NO_EXPIRE (-1)

struct object {
    uint32_t type : 4;     /* id of a struct objectType */
    uint32_t encoding : 4; /* private to the type */
    uint32_t lru : 24;     /* LRU clock or LFU data */
    uint8_t keylen;
    uint8_t info;
    char data[];
} __attribute__((packed, aligned(4)));
_Static_assert(offsetof(struct object, data) == 6, "a narrow object's fields start at 6");
_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "a field's low bytes come first");

/* A value that is not, or no longer, in the keyspace, passed by value: an owned pointer, or a view
 * of embedded bytes. */
struct value {
    uint8_t type, encoding;
    bool embedded;
    union {
        void *ptr;
        struct str bytes; /* at most OBJ_EMBED_MAX */
    };
};
static inline struct value valuePtr(int type, int encoding, void *ptr) {
    return (struct value){
        .type = (uint8_t)type, .encoding = (uint8_t)encoding, .embedded = false, .ptr = ptr};
}
static inline struct value valueEmbed(int type, int encoding, struct str bytes) {
    return (struct value){
        .type = (uint8_t)type, .encoding = (uint8_t)encoding, .embedded = true, .bytes = bytes};
}

enum { OBJ_INFO_EXPIRE = 0x80, OBJ_INFO_PTR = 0x40, OBJ_INFO_LEN = 0x3f, OBJ_WIDE = 255 };
#define OBJ_LONG_VALUE   OBJ_INFO_LEN /* the length is in a byte of its own */
#define OBJ_NARROW_BITS  48
#define OBJ_NARROW_BYTES (OBJ_NARROW_BITS / 8)

static inline bool objectHasExpire(const struct object *o) {
    return o->info & OBJ_INFO_EXPIRE;
}
static inline bool objectHasPtr(const struct object *o) {
    return o->info & OBJ_INFO_PTR;
}
static inline bool objectIsWide(const struct object *o) {
    return __builtin_expect(o->keylen == OBJ_WIDE, 0);
}

/* Returns the offset of the i-th field. After the last field comes the key. */
static inline size_t objectFieldOffset(bool wide, unsigned i) {
    return wide ? 16 + 8 * (size_t)i : 6 + OBJ_NARROW_BYTES * (size_t)i;
}
uint64_t objectWideField(const struct object *o, unsigned i);
void objectSetWideField(struct object *o, unsigned i, uint64_t word);
static inline bool objectFieldIsNarrow(uint64_t word) {
    return word >> OBJ_NARROW_BITS == 0;
}
/* A narrow field is read together with the two bytes before it, so that nothing behind the object is read. */
static inline uint64_t objectField(const struct object *o, unsigned i) {
    if (objectIsWide(o)) return objectWideField(o, i);
    uint64_t word;
    memcpy(&word, (const char *)o + objectFieldOffset(false, i) - 2, sizeof word);
    return word >> (64 - OBJ_NARROW_BITS);
}
static inline void objectSetField(struct object *o, unsigned i, uint64_t word) {
    if (objectIsWide(o)) {
        objectSetWideField(o, i, word);
    } else {
        debugAssert(objectFieldIsNarrow(word));
        memcpy((char *)o + objectFieldOffset(false, i), &word, OBJ_NARROW_BYTES);
    }
}

/* Offset of the key bytes from the start of the object. */
static inline size_t objectKeyOffset(const struct object *o) {
    unsigned fields = (objectHasExpire(o) ? 1 : 0) + (objectHasPtr(o) ? 1 : 0);
    return objectFieldOffset(objectIsWide(o), fields);
}
static inline struct str objectKey(const struct object *o) {
    size_t len = o->keylen;
    if (objectIsWide(o)) {
        uint64_t longlen;
        memcpy(&longlen, (const char *)o + 8, sizeof longlen);
        len = longlen;
    }
    return (struct str){(const char *)o + objectKeyOffset(o), len};
}
/* Unix time in ms, or OBJ_NO_EXPIRE. */
static inline int64_t objectExpire(const struct object *o) {
    if (!objectHasExpire(o)) return OBJ_NO_EXPIRE;
    return (int64_t)objectField(o, objectHasPtr(o) ? 1 : 0);
}
/* The container behind the object; only when objectHasPtr. */
static inline void *objectPtr(const struct object *o) {
    debugAssert(objectHasPtr(o));
    return (void *)(uintptr_t)objectField(o, 0);
}
/* Embedded bytes; only when not objectHasPtr. */
static inline struct str objectEmbedded(const struct object *o) {
    debugAssert(!objectHasPtr(o));
    struct str key = objectKey(o), value = {key.ptr + key.len, o->info & OBJ_INFO_LEN};
    if (value.len == OBJ_LONG_VALUE) value.len = (uint8_t)*value.ptr++;
    return value;
}
/* The embedded bytes, to be changed in place; their number stays. */
static inline char *objectEmbeddedBytes(struct object *o) {
    return (char *)objectEmbedded(o).ptr;
}
/* Replaces the container (a conversion). The object does not move. */
static inline void objectSetPtr(struct object *o, int encoding, void *ptr) {
    debugAssert(objectHasPtr(o) && encoding >= 0 && encoding < 16);
    o->encoding = (uint32_t)encoding & 15;
    objectSetField(o, 0, (uintptr_t)ptr);
}
/* Returns the value: a view of an embedded one; a container stays owned by the object. */
struct value objectValue(const struct object *o);

/* Creates an object. Only db.c, keyspace.c and rdb_load.c call it. `expire_ms` may be OBJ_NO_EXPIRE. The
 * value's container passes to the object. */
struct object *objectCreate(struct str key, int64_t expire_ms, struct value v);
/* Rewrites value and expiry in place when that needs no other allocation class and no other layout; the old
 * container, if any, is not freed. Returns false when nothing was changed. */
bool objectRewrite(struct object *o, int64_t expire_ms, struct value v);
size_t objectAllocSize(const struct object *o); /* usable bytes of the object's own allocation */
void objectFreeHeader(struct object *o);        /* frees the allocation only, not the container */
