/* SPDX-License-Identifier: BSD-3-Clause */
/* object.c - the allocation of a key and its value; object.h has the layout. */
#include "data/object.h"

#include "base/assert.h"
#include "base/zmalloc.h"

_Static_assert(OBJ_EMBED_MAX <= UINT8_MAX, "a long value's length is one byte");

/* Leak checkers recognize only unpacked, aligned pointers. They work with libc's allocator. */
#ifdef USE_JEMALLOC
#define NARROW_POINTERS true
#else
#define NARROW_POINTERS false
#endif

uint64_t objectWideField(const struct object *o, unsigned i) {
    debugAssert(objectIsWide(o));
    uint64_t word;
    memcpy(&word, (const char *)o + objectFieldOffset(true, i), sizeof word);
    return word;
}

void objectSetWideField(struct object *o, unsigned i, uint64_t word) {
    debugAssert(objectIsWide(o));
    memcpy((char *)o + objectFieldOffset(true, i), &word, sizeof word);
}

struct objectLayout {
    size_t key_offset, value_offset, total;
    bool wide, expire, ptr, longvalue;
};

static struct objectLayout objectLayoutFor(size_t keylen, int64_t expire_ms, const struct value *v) {
    struct objectLayout l = {.expire = expire_ms != OBJ_NO_EXPIRE,
                             .ptr = !v->embedded,
                             .longvalue = v->embedded && v->bytes.len >= OBJ_LONG_VALUE};
    l.wide = keylen >= OBJ_WIDE || (l.expire && !objectFieldIsNarrow((uint64_t)expire_ms)) ||
             (l.ptr && !NARROW_POINTERS);
    l.key_offset = objectFieldOffset(l.wide, (unsigned)l.expire + l.ptr);
    l.value_offset = l.key_offset + keylen + l.longvalue;
    l.total = l.value_offset + (v->embedded ? v->bytes.len : 0);
    return l;
}

/* Fills in everything but the key, the value and lru. */
static void objectFillHeader(struct object *o, const struct objectLayout *l, size_t keylen, int64_t expire_ms,
                             const struct value *v) {
    o->type = v->type & 15;
    o->encoding = v->encoding & 15;
    o->keylen = l->wide ? OBJ_WIDE : (uint8_t)keylen;
    o->info = (uint8_t)((l->expire ? OBJ_INFO_EXPIRE : 0) | (l->ptr         ? OBJ_INFO_PTR
                                                             : l->longvalue ? OBJ_LONG_VALUE
                                                                            : v->bytes.len));
    if (l->wide) {
        uint64_t n = keylen;
        memcpy((char *)o + 8, &n, sizeof n);
    }
    if (l->ptr) objectSetField(o, 0, (uintptr_t)v->ptr);
    if (l->expire) objectSetField(o, l->ptr, (uint64_t)expire_ms);
}

/* The bytes may be a view of the value itself, at another place in it (INCR) or after a length that goes:
 * they are moved before the length is written. */
static void objectFillValue(struct object *o, const struct objectLayout *l, struct str bytes) {
    char *to = (char *)o + l->value_offset;
    memmove(to, bytes.ptr, bytes.len);
    if (l->longvalue) to[-1] = (char)bytes.len;
}

static size_t objectRequestedSize(const struct object *o) {
    struct str end = objectHasPtr(o) ? objectKey(o) : objectEmbedded(o);
    return (size_t)(end.ptr + end.len - (const char *)o);
}

struct value objectValue(const struct object *o) {
    if (objectHasPtr(o)) return valuePtr((int)o->type, (int)o->encoding, objectPtr(o));
    return valueEmbed((int)o->type, (int)o->encoding, objectEmbedded(o));
}

struct object *objectCreate(struct str key, int64_t expire_ms, struct value v) {
    serverAssert(!v.embedded || v.bytes.len <= OBJ_EMBED_MAX);
    debugAssert(v.type < 16 && v.encoding < 16);
    struct objectLayout l = objectLayoutFor(key.len, expire_ms, &v);
    struct object *o = zmalloc(l.total < sizeof(struct object) ? sizeof(struct object) : l.total);
    objectFillHeader(o, &l, key.len, expire_ms, &v);
    o->lru = 0;
    memcpy((char *)o + l.key_offset, key.ptr, key.len);
    if (v.embedded) objectFillValue(o, &l, v.bytes);
    return o;
}

bool objectRewrite(struct object *o, int64_t expire_ms, struct value v) {
    debugAssert(!v.embedded || v.bytes.len <= OBJ_EMBED_MAX);
    struct str key = objectKey(o);
    struct objectLayout l = objectLayoutFor(key.len, expire_ms, &v);
    if (l.key_offset != objectKeyOffset(o)) return false;
    size_t now = objectRequestedSize(o);
    if (l.total != now && !zmallocSameRoom(o, now, l.total)) return false;
    objectFillHeader(o, &l, key.len, expire_ms, &v);
    if (v.embedded) objectFillValue(o, &l, v.bytes);
    return true;
}

size_t objectAllocSize(const struct object *o) {
    return zmallocSize(o);
}

void objectFreeHeader(struct object *o) {
    size_t size = objectRequestedSize(o);
    zfreeSized(o, size < sizeof(struct object) ? sizeof(struct object) : size);
}
