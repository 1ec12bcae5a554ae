/* SPDX-License-Identifier: BSD-3-Clause */
/* key_slot.c - see key_slot.h. */
#include "base/key_slot.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "base/crc.h"
#include "base/crc16_fold.h"
#include "base/siphash.h"

/* ---- Tags ---- */

/* Returns what is between the first { and the next }; empty when there is nothing. */
static struct str keySlotTagOf(struct str key) {
    const char *open = key.len ? memchr(key.ptr, '{', key.len) : NULL;
    if (!open) return strN(key.ptr, 0);
    const char *tag = open + 1;
    size_t rest = key.len - (size_t)(tag - key.ptr);
    const char *close = rest ? memchr(tag, '}', rest) : NULL;
    return strN(tag, close ? (size_t)(close - tag) : 0);
}

/* Returns the tag, if there is one, otherwise the key. */
static inline struct str keySlotHashedPart(struct str key) {
    struct str tag = keySlotTagOf(key);
    return tag.len ? tag : key;
}

#ifdef FOLDING
#define SHORT_KEY_MIN 8 /* length of keys that fit into two registers */
#define SHORT_KEY_MAX 32

static inline uint32_t keySlotMaskOf(char c, __m128i bytes) {
    return (uint32_t)_mm_movemask_epi8(_mm_cmpeq_epi8(bytes, _mm_set1_epi8(c)));
}

/* Looks at the first and last bytes of the key, which overlap, with a bit for each byte that is a brace. */
static inline struct str keySlotHashedPartOfShortKey(struct str key) {
    const char *p = key.ptr;
    bool wide = key.len >= sizeof(__m128i);
    size_t at = key.len - (wide ? sizeof(__m128i) : sizeof(uint64_t));
    __m128i first = wide ? _mm_loadu_si128((const void *)p) : _mm_loadl_epi64((const void *)p);
    __m128i last = wide ? _mm_loadu_si128((const void *)(p + at)) : _mm_loadl_epi64((const void *)(p + at));
    const __m128i brace = _mm_set1_epi8('{');
    __m128i any = _mm_or_si128(_mm_cmpeq_epi8(first, brace), _mm_cmpeq_epi8(last, brace));
    if (__builtin_expect(!_mm_movemask_epi8(any), 1)) return key;
    uint32_t opens = keySlotMaskOf('{', first) | keySlotMaskOf('{', last) << at;
    uint32_t closes = keySlotMaskOf('}', first) | keySlotMaskOf('}', last) << at;
    closes &= ~(opens ^ (opens - 1)); /* only those behind the first { */
    int begin = __builtin_ctz(opens) + 1, end = closes ? __builtin_ctz(closes) : begin;
    return end > begin ? strN(p + begin, (size_t)(end - begin)) : key;
}
#endif

/* ---- Slots ---- */

static __attribute__((noinline)) int keySlotOfAny(struct str key) {
    key = keySlotHashedPart(key);
    return crc16(key.ptr, key.len) & (KEY_SLOTS - 1);
}

#ifdef FOLDING
FOLDING static inline int keySlotOf(struct str key) {
    bool is_short = key.len >= SHORT_KEY_MIN && key.len <= SHORT_KEY_MAX;
    if (__builtin_expect(!is_short || !crc_can_fold, 0)) return keySlotOfAny(key);
    key = keySlotHashedPartOfShortKey(key);
    return crc16Fold(key.ptr, key.len) & (KEY_SLOTS - 1);
}
#else
#define FOLDING
static inline int keySlotOf(struct str key) {
    return keySlotOfAny(key);
}
#endif

FOLDING int keySlot(struct str key) {
    return keySlotOf(key);
}

FOLDING uint64_t keySlotHash(struct str key) {
    return (sipHash((const uint8_t *)key.ptr, key.len, false) & ~(uint64_t)(KEY_SLOTS - 1)) |
           (uint64_t)keySlotOf(key);
}

static bool keySlotIsPlain(const char *from, const char *to) {
    for (; from < to; from++) {
        if (strchr("*?[\\", *from) && *from) return false;
    }
    return true;
}

/* There may be no wildcard before the tag either, as it could match another tag. */
int patternSlot(struct str pattern) {
    struct str tag = keySlotTagOf(pattern);
    const char *end = tag.len ? tag.ptr + tag.len : pattern.ptr + pattern.len;
    return keySlotIsPlain(pattern.ptr, end) ? keySlot(pattern) : -1;
}
