/* SPDX-License-Identifier: BSD-3-Clause */
/* expiry_options.h - the arguments of commands about the expiry of keys and of fields of hashes: the time
 * (EX, PX, EXAT, PXAT, KEEPTTL, PERSIST) and its conditions (NX, XX, GT, LT). Parsers reply the error and
 * return false when an argument is invalid. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/assert.h"
#include "client/client.h"
#include "client/reply.h"
#include "registry/cron.h"

/* EXPIRY_EX and greater have an argument. */
enum expiryKind { EXPIRY_NONE, EXPIRY_KEEP, EXPIRY_PERSIST, EXPIRY_EX, EXPIRY_PX, EXPIRY_EXAT, EXPIRY_PXAT };

/* Returns EXPIRY_EX to EXPIRY_PXAT, or EXPIRY_NONE when the word is none of these. */
enum expiryKind expiryKindOf(struct str word);
/* Parses the options of GETEX and HGETEX in argv[from] to argv[end - 1]: one of PERSIST, EX, PX, EXAT, PXAT,
 * or none. An option may be repeated; the last one counts. */
bool expiryParseOptions(struct client *c, int from, int end, enum expiryKind *kind, struct str *time);
void expiryReplyInvalid(struct client *c);
/* Parses the time of a kind >= EXPIRY_EX and makes it an absolute one in ms. An argument below `least` is an
 * error. Inline, since as a call it costs EXPIRE 1%. */
static inline bool expiryParseTime(struct client *c, struct str arg, enum expiryKind kind, int64_t least,
                                   int64_t *when_ms) {
    serverAssert(kind >= EXPIRY_EX);
    int64_t v;
    if (!argLongLong(c, arg, &v, NULL)) return false;
    bool seconds = kind == EXPIRY_EX || kind == EXPIRY_EXAT,
         relative = kind == EXPIRY_EX || kind == EXPIRY_PX;
    bool ok = v >= least && (!seconds || (v <= INT64_MAX / 1000 && v >= INT64_MIN / 1000));
    if (ok && seconds) v *= 1000;
    if (ok && relative) ok = !__builtin_add_overflow(v, cmd_time_ms, &v);
    if (!ok) expiryReplyInvalid(c);
    *when_ms = v;
    return ok;
}
/* Replies an expiry as TTL does: rounded to seconds if `seconds`, and relative to now unless `absolute`. */
void expiryReply(struct client *c, int64_t when_ms, bool absolute, bool seconds);

struct expiryCondition {
    bool nx, xx, gt, lt;
};
/* Parses argv[from] to argv[end - 1], and adds to what *cond has. */
bool expiryParseCondition(struct client *c, int from, int end, struct expiryCondition *cond);
/* Whether a new expiry may replace the present one. OBJ_NO_EXPIRE counts as an infinite time. */
bool expiryConditionHolds(const struct expiryCondition *cond, int64_t now_ms, int64_t new_ms);
