/* SPDX-License-Identifier: BSD-3-Clause */
/* hyperloglog.h - estimating the number of distinct elements in 16384 registers of 6 bits, inside an sds, in
 * the published byte format of the HYLL strings, so that they can come from and go to other servers.
 *
 *     | "HYLL" | encoding | 3 unused | cached count: 64 bits little endian, top bit: stale | registers ... |
 *
 * Dense (encoding 0): register i takes bits 6i .. 6i+5, lowest first; 12288 bytes. Sparse (encoding 1): runs
 * of equal registers,
 *
 *     ZERO  00xxxxxx            x+1 registers that are 0
 *     XZERO 01xxxxxx yyyyyyyy   the same, a 14-bit run
 *     VAL   1vvvvvxx            x+1 registers that are v+1
 *
 * as long as no register passes 32 and the whole stays below a limit. The estimate is Ertl's (New cardinality
 * estimation algorithms for HyperLogLog sketches, 2017); the hash is MurmurHash64A (Appleby), which the
 * format prescribes.
 *
 * Functions that change take a pointer to the sds, which may move. They return false on corrupt data, then
 * nothing is changed. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/sds.h"
#include "base/str.h"

#define HLL_REGISTERS 16384
#define HLL_BITS      6

sds hllNew(void);              /* returns an empty sparse one, whose cached count is stale */
bool hllIsValid(struct str s); /* header and size; cheap */
bool hllIsSparse(struct str s);
bool hllIsWhole(struct str s); /* all sparse registers are present, so later calls do not fail; O(n) */
/* Adds an element; *changed: a register grew (and the cached count was marked stale). */
bool hllAdd(sds *hll, struct str element, size_t sparse_max, bool *changed);
bool hllToDense(sds *hll);
/* Returns whether a valid one has a count that is up to date, and sets it. */
bool hllCountIsCached(struct str s, uint64_t *count);
/* Returns the count from the cache, or computes and caches it. False: the value is corrupt. */
bool hllCount(sds hll, uint64_t *count);
/* Sets registers[i] = max(registers[i], register i of s). */
bool hllMergeInto(uint8_t registers[HLL_REGISTERS], struct str s);
uint64_t hllCountRegisters(const uint8_t registers[HLL_REGISTERS]);
/* Raises every register of *hll to registers[i]; the encoding stays sparse when that fits, unless `dense`. */
bool hllRaise(sds *hll, const uint8_t registers[HLL_REGISTERS], bool dense, size_t sparse_max);
/* Appends the runs of a sparse one as text: "z:10 v:3,1 Z:100 "; for PFDEBUG DECODE. */
sds hllDescribe(sds out, struct str s);
/* For tests: index and rank of an element. */
unsigned hllPattern(struct str element, unsigned *index);
