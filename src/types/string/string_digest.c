/* SPDX-License-Identifier: BSD-3-Clause */
/* string_digest.c - digests of strings; see string_digest.h.
 *
 * A client that knows the digest of a value can make a change depend on the value without sending it. The
 * function is the one of Redis 8, XXH3 with 64 bits and the seed 0, from the headers of libxxhash: no
 * library is linked. */
#define XXH_INLINE_ALL
#include "types/string/string_digest.h"

#include <stdint.h>
#include <xxhash.h>

struct str stringWriteDigest(struct str text, char digits[STRING_DIGEST_LEN]) {
    uint64_t hash = XXH3_64bits(text.ptr, text.len);
    for (int i = STRING_DIGEST_LEN - 1; i >= 0; i--, hash >>= 4) digits[i] = "0123456789abcdef"[hash & 15];
    return strN(digits, STRING_DIGEST_LEN);
}

bool stringHasDigest(struct str text, struct str digest) {
    char digits[STRING_DIGEST_LEN];
    return strEqNoCase(stringWriteDigest(text, digits), digest);
}
