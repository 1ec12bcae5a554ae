/* SPDX-License-Identifier: BSD-3-Clause */
/* expiry_options.h - the arguments of commands about times to live, of keys and of fields of hashes: the time
 * (EX, PX, EXAT, PXAT, KEEPTTL, PERSIST) and its conditions (NX, XX, GT, LT). Parsers reply the error and
 * return false when an argument does not make sense. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "client/client.h"

/* EXPIRY_EX and greater have an argument. */
enum expiryKind { EXPIRY_NONE, EXPIRY_KEEP, EXPIRY_PERSIST, EXPIRY_EX, EXPIRY_PX, EXPIRY_EXAT, EXPIRY_PXAT };

/* EXPIRY_EX to EXPIRY_PXAT, or EXPIRY_NONE when the word is none of these. */
enum expiryKind expiryKindOf(struct str word);
/* Options of GETEX and HGETEX, argv[from] to argv[end - 1]: one of PERSIST, EX, PX, EXAT, PXAT, or none. The
 * same one may be given again and then replaces the first. */
bool expiryParseOptions(struct client *c, int from, int end, enum expiryKind *kind, struct str *time);
/* The time of a kind >= EXPIRY_EX as an absolute one in ms; the argument is at least `least`. */
bool expiryParseTime(struct client *c, struct str arg, enum expiryKind kind, int64_t least, int64_t *when_ms);
/* Replies an expiry as TTL does: rounded to seconds when these are asked for, and relative to now unless
 * `absolute`. */
void expiryReply(struct client *c, int64_t when_ms, bool absolute, bool seconds);

struct expiryCondition {
    bool nx, xx, gt, lt;
};
/* argv[from] to argv[end - 1]. */
bool expiryParseCondition(struct client *c, int from, int end, struct expiryCondition *cond);
/* Whether a new expiry may replace the one of now. OBJ_NO_EXPIRE counts as an infinite time. */
bool expiryConditionHolds(const struct expiryCondition *cond, int64_t now_ms, int64_t new_ms);
