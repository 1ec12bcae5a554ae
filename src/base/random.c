/* SPDX-License-Identifier: BSD-3-Clause */
/* random.c - random numbers.
 *
 * Each thread has the 256 bits of state of a xoshiro256** generator (Blackman and Vigna, "Scrambled linear
 * pseudorandom number generators", 2018), filled from the system at the first use. All zeros, the one state
 * that the generator cannot leave, means not seeded yet. Secrets must come from randomBytes() instead. */
#include "base/random.h"

#include <errno.h>
#include <stdbool.h>
#include <sys/random.h>

#include "base/assert.h"

static __thread uint64_t state[4];

static uint64_t randomRotateLeft(uint64_t x, int k) {
    return x << k | x >> (64 - k);
}

static bool randomStateIsUnset(void) {
    return (state[0] | state[1] | state[2] | state[3]) == 0;
}

uint64_t randomU64(void) {
    if (__builtin_expect(randomStateIsUnset(), 0)) {
        while (randomStateIsUnset()) randomBytes(state, sizeof(state));
    }
    uint64_t result = randomRotateLeft(state[1] * 5, 7) * 9;
    uint64_t shifted = state[1] << 17;
    state[2] ^= state[0];
    state[3] ^= state[1];
    state[1] ^= state[2];
    state[0] ^= state[3];
    state[2] ^= shifted;
    state[3] = randomRotateLeft(state[3], 45);
    return result;
}

/* The high half of x * n is uniform when the few x are refused whose low half is below 2^64 mod n (Lemire,
 * "Fast random integer generation in an interval", 2019). The division is rarely reached. */
uint64_t randomBelow(uint64_t n) {
    debugAssert(n > 0);
    unsigned __int128 product = (unsigned __int128)randomU64() * n;
    if ((uint64_t)product < n) {
        uint64_t refused = -n % n;
        while ((uint64_t)product < refused) product = (unsigned __int128)randomU64() * n;
    }
    return (uint64_t)(product >> 64);
}

double randomDouble(void) {
    return (double)(randomU64() >> 11) * 0x1p-53;
}

/* SplitMix64 spreads the seed over the state, as the generator's authors advise. */
void randomSeed(uint64_t seed) {
    for (int i = 0; i < 4; i++) {
        uint64_t z = seed += 0x9e3779b97f4a7c15;
        z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
        z = (z ^ z >> 27) * 0x94d049bb133111eb;
        state[i] = z ^ z >> 31;
    }
}

void randomBytes(void *p, size_t len) {
    char *at = p;
    while (len > 0) {
        ssize_t n = getrandom(at, len, 0);
        if (n < 0 && errno == EINTR) continue;
        serverAssert(n > 0);
        at += n;
        len -= (size_t)n;
    }
}

void randomHexChars(char *p, size_t len) {
    uint8_t bytes[64];
    while (len > 0) {
        size_t n = len < sizeof(bytes) ? len : sizeof(bytes);
        randomBytes(bytes, n);
        for (size_t i = 0; i < n; i++) *p++ = "0123456789abcdef"[bytes[i] & 15];
        len -= n;
    }
}
