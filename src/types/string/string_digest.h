/* SPDX-License-Identifier: BSD-3-Clause */
/* string_digest.h - digests of strings: XXH3 of 64 bits as 16 hexadecimal digits. Clients compute them, too.
 */
#pragma once

#include "base/str.h"

#define STRING_DIGEST_LEN 16

/* Writes the digest of a text, without a NUL, and returns it as a view. */
struct str stringWriteDigest(struct str text, char digits[STRING_DIGEST_LEN]);
/* Returns whether a text has this digest. The case of the digits does not matter, and what is no digest
 * is the digest of nothing. */
bool stringHasDigest(struct str text, struct str digest);
