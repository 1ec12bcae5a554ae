/* SPDX-License-Identifier: BSD-3-Clause */
/* digest.h - DEBUG DIGEST: a 160-bit digest of data that does not depend on order where order has no meaning.
 *
 * An unordered collection is the XOR of the SHA-1 of its elements; an ordered one chains: digest =
 * SHA-1(digest XOR SHA-1(element)). */
#pragma once

#include <stdint.h>

#include "base/str.h"

void digestXor(uint8_t digest[20], struct str s); /* digest ^= sha1(s): unordered */
void digestMix(uint8_t digest[20], struct str s); /* digest = sha1(digest ^ sha1(s)): ordered */
void digestXorDigest(uint8_t digest[20], const uint8_t other[20]); /* digest ^= sha1(other) */
