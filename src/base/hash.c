/* hash.c - SipHash-1-3 (Aumasson and Bernstein, "SipHash: a fast short-input PRF", 2012).
 *
 *     four words, from the key -> for each 8 bytes of input: xor in, 1 round, xor in -> the last 0-7 bytes
 *     with the length on top, likewise -> 3 rounds -> the words xor'ed
 *
 * Both functions are one inlined loop, with or without case folding of each 8-byte word. */
#include "base/hash.h"

#include <stdbool.h>

#include "base/load.h"

#define INLINE static inline __attribute__((always_inline))

static uint64_t key0, key1;

/* The 0-7 bytes at p, zeros above. Two overlapping loads instead of a loop. */
INLINE uint64_t loadTail(const uint8_t *p, size_t n) {
    if (n >= 4) {
        return load32(p) | (uint64_t)load32(p + n - 4) << (8 * (n - 4));
    }
    if (n == 0) return 0;
    return p[0] | (uint64_t)p[n / 2] << (8 * (n / 2)) | (uint64_t)p[n - 1] << (8 * (n - 1));
}

/* Set bit 5 of each byte that is 'A'-'Z': adding to the low seven bits carries into bit 7 from 'A' on, and
 * from 'Z' + 1 on; bytes that have bit 7 themselves are left alone. */
INLINE uint64_t toLower8(uint64_t x) {
    const uint64_t ones = 0x0101010101010101;
    uint64_t low = x & ones * 0x7f;
    uint64_t upper = (low + ones * (0x80 - 'A')) & ~(low + ones * (0x80 - 'Z' - 1)) & ~x & ones * 0x80;
    return x | upper >> 2;
}

INLINE uint64_t rotateLeft(uint64_t x, int k) {
    return x << k | x >> (64 - k);
}

struct sip {
    uint64_t a, b, c, d;
};

INLINE void sipRound(struct sip *s) {
    s->a += s->b;
    s->c += s->d;
    s->b = rotateLeft(s->b, 13) ^ s->a;
    s->d = rotateLeft(s->d, 16) ^ s->c;
    s->a = rotateLeft(s->a, 32);
    s->c += s->b;
    s->a += s->d;
    s->b = rotateLeft(s->b, 17) ^ s->c;
    s->d = rotateLeft(s->d, 21) ^ s->a;
    s->c = rotateLeft(s->c, 32);
}

INLINE void sipWord(struct sip *s, uint64_t word) {
    s->d ^= word;
    sipRound(s);
    s->a ^= word;
}

INLINE uint64_t sipHash(const uint8_t *p, size_t len, bool fold) {
    struct sip s = {key0 ^ 0x736f6d6570736575, key1 ^ 0x646f72616e646f6d, key0 ^ 0x6c7967656e657261,
                    key1 ^ 0x7465646279746573};
    const uint8_t *end = p + (len & ~(size_t)7);
    for (; p != end; p += 8) sipWord(&s, fold ? toLower8(load64(p)) : load64(p));
    uint64_t tail = loadTail(p, len & 7);
    sipWord(&s, (fold ? toLower8(tail) : tail) | (uint64_t)len << 56);
    s.c ^= 0xff;
    sipRound(&s);
    sipRound(&s);
    sipRound(&s);
    return s.a ^ s.b ^ s.c ^ s.d;
}

void hashSetSeed(const uint8_t seed[16]) {
    key0 = load64(seed);
    key1 = load64(seed + 8);
}

uint64_t hashBytes(const void *p, size_t len) {
    return sipHash(p, len, false);
}

uint64_t hashBytesNoCase(const void *p, size_t len) {
    return sipHash(p, len, true);
}
