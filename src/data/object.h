/* object.h - a key and its value: one allocation.
 *
 *     | type:4 enc:4 lru:24 | keylen:8 | info:8 | key | value |                  short form: key at +6
 *     | type:4 enc:4 lru:24 | keylen:8 | info:8 | pad:16 | [expire:64] [ptr:64] [longlen:64] | key | value |
 *
 * info: bit 7 has an expiry, bit 6 the value is behind a pointer, bits 0..5 the length of the embedded value;
 * 63 there: it is in a byte of its own, between key and value.
 * The short form holds when there is neither expiry nor pointer nor a key of 255 bytes or more: a 16-byte key
 * with a 10-byte value takes exactly 32 bytes. keylen 255 means that the length is in `longlen`.
 *
 * Because the expiry and the embedded value are part of the allocation, changing them can move the object.
 * Only data/db.c does that, and it mends the tables; everybody else holds an object pointer only until the
 * next call that changes this key. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/str.h"

/* Longest embedded value: up to here one allocation is smaller than two on the average of all lengths. */
#define OBJ_EMBED_MAX 192
#define OBJ_NO_EXPIRE (-1)

struct object {
    uint32_t type : 4;     /* id of a struct objectType */
    uint32_t encoding : 4; /* private to the type */
    uint32_t lru : 24;     /* LRU clock or LFU data */
    uint8_t keylen;
    uint8_t info;
    char data[];
} __attribute__((packed, aligned(4)));
_Static_assert(offsetof(struct object, data) == 6, "short form starts at 6");

/* A value that is not (yet, or any more) in the keyspace. Passed by value. Either `ptr`, owned, or embedded
 * bytes (a view). */
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

enum { OBJ_INFO_EXPIRE = 0x80, OBJ_INFO_PTR = 0x40, OBJ_INFO_LEN = 0x3f, OBJ_LONG_KEY = 255 };
#define OBJ_LONG_VALUE OBJ_INFO_LEN /* the length is in a byte of its own */

static inline bool objectHasExpire(const struct object *o) {
    return o->info & OBJ_INFO_EXPIRE;
}
static inline bool objectHasPtr(const struct object *o) {
    return o->info & OBJ_INFO_PTR;
}

/* Offset of the key bytes from the start of the object. */
static inline size_t objectKeyOffset(const struct object *o) {
    unsigned extra =
        (objectHasExpire(o) ? 1 : 0) + (objectHasPtr(o) ? 1 : 0) + (o->keylen == OBJ_LONG_KEY ? 1 : 0);
    return extra ? 8 + 8 * (size_t)extra : 6;
}
static inline struct str objectKey(const struct object *o) {
    size_t off = objectKeyOffset(o);
    size_t len = o->keylen;
    if (len == OBJ_LONG_KEY) {
        uint64_t longlen;
        memcpy(&longlen, (const char *)o + off - 8, 8);
        len = longlen;
    }
    return (struct str){(const char *)o + off, len};
}
/* Unix time in ms, or OBJ_NO_EXPIRE. */
static inline int64_t objectExpire(const struct object *o) {
    if (!objectHasExpire(o)) return OBJ_NO_EXPIRE;
    return *(const int64_t *)((const char *)o + 8);
}
static inline void **objectPtrSlot(const struct object *o) {
    return (void **)((char *)o + 8 + (objectHasExpire(o) ? 8 : 0));
}
/* The container behind the object; only when objectHasPtr. */
static inline void *objectPtr(const struct object *o) {
    return *objectPtrSlot(o);
}
/* Embedded bytes; only when not objectHasPtr. */
static inline struct str objectEmbedded(const struct object *o) {
    struct str key = objectKey(o), value = {key.ptr + key.len, o->info & OBJ_INFO_LEN};
    if (value.len == OBJ_LONG_VALUE) value.len = (uint8_t)*value.ptr++;
    return value;
}
/* The same, to be changed where they are: as many as there were. */
static inline char *objectEmbeddedBytes(struct object *o) {
    return (char *)objectEmbedded(o).ptr;
}
/* Replace the container (a conversion). The object does not move. */
static inline void objectSetPtr(struct object *o, int encoding, void *ptr) {
    o->encoding = (uint32_t)encoding & 15;
    *objectPtrSlot(o) = ptr;
}
/* The value as a `struct value`: a view on an embedded one, shared (not owned) container otherwise. */
struct value objectValue(const struct object *o);

/* For data/db.c. expire may be OBJ_NO_EXPIRE. The value's container passes to the object. */
struct object *objectCreate(struct str key, int64_t expire_ms, struct value v);
/* Rewrites value and expiry in place when that needs no other allocation class and no other layout; the old
 * container, if any, is NOT freed. False: nothing changed. */
bool objectRewrite(struct object *o, int64_t expire_ms, struct value v);
size_t objectAllocSize(const struct object *o); /* usable bytes of the object's own allocation */
void objectFreeHeader(struct object *o);        /* the allocation only; the container is not touched */
