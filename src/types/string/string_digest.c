/* SPDX-License-Identifier: BSD-3-Clause */
/* string_digest.c - DIGEST, and the comparison of strings by their digests; see string_digest.h.
 *
 * A client that knows the digest of a value can make a change depend on the value without sending it. The
 * function is the one of Redis 8, XXH3 with 64 bits and the seed 0, from the headers of libxxhash: no
 * library is linked. */
#define XXH_INLINE_ALL
#include "types/string/string_digest.h"

#include <stdint.h>
#include <xxhash.h>

#include "client/reply.h"
#include "command/lookup.h"
#include "commands/cmd_string.h"
#include "types/string/string_commands.h"
#include "types/types.h"

#define DIGEST_DIGITS 16

static struct str stringWriteDigest(struct str text, char digits[DIGEST_DIGITS]) {
    uint64_t hash = XXH3_64bits(text.ptr, text.len);
    for (int i = DIGEST_DIGITS - 1; i >= 0; i--, hash >>= 4) digits[i] = "0123456789abcdef"[hash & 15];
    return strN(digits, DIGEST_DIGITS);
}

bool stringCheckDigest(struct client *c, struct str digest) {
    if (digest.len == DIGEST_DIGITS) return true;
    return replyError(c, "ERR must be exactly 16 hexadecimal characters");
}

bool stringHasDigest(struct str text, struct str digest) {
    char digits[DIGEST_DIGITS];
    return strEqNoCase(stringWriteDigest(text, digits), digest);
}

void digestCommand(struct client *c) {
    struct object *o;
    if (!lookupKeyReadType(c, c->argv[1], OBJ_STRING, &o)) return;
    if (!o) {
        replyNull(c);
        return;
    }
    char buf[LONG_STR_SIZE], digits[DIGEST_DIGITS];
    replyBulk(c, stringWriteDigest(stringView(o, buf), digits));
}
