/* SPDX-License-Identifier: BSD-3-Clause */
/* random.h - random numbers: a fast generator per thread (xoshiro256**, Blackman and Vigna), seeded from the
 * system, and the system's own for secrets. */
#pragma once

#include <stddef.h>
#include <stdint.h>

uint64_t randomU64(void);
uint64_t randomBelow(uint64_t n);         /* uniform in [0, n), n > 0, without modulo bias (Lemire 2019) */
double randomDouble(void);                /* uniform in [0, 1) */
void randomSeed(uint64_t seed);           /* seeds this thread, for repeatable tests */
void randomBytes(void *p, size_t len);    /* from getrandom(2) */
void randomHexChars(char *p, size_t len); /* lower-case hex digits from randomBytes; no NUL */
