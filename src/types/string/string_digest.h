/* SPDX-License-Identifier: BSD-3-Clause */
/* string_digest.h - digests of strings: XXH3 of 64 bits as 16 hexadecimal digits. Clients compute them, too.
 */
#pragma once

#include "base/str.h"

struct client;

/* Replies an error unless an argument has the length of a digest. */
bool stringCheckDigest(struct client *c, struct str digest);
/* Returns whether a text has this digest. The case of the digits does not matter, and what is no digest
 * is the digest of nothing. */
bool stringHasDigest(struct str text, struct str digest);
