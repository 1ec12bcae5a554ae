/* SPDX-License-Identifier: BSD-3-Clause */
/* generic.h - commands about keys whatever they hold: DEL, EXPIRE, SCAN, RENAME ... */
#pragma once

#include "client/client.h"

/* Options of the SCAN family, shared with SSCAN, HSCAN, ZSCAN. */
struct scanOptions {
    int64_t count;
    bool use_pattern;
    struct str pattern;
    const struct objectType *type; /* SCAN only; NULL: any */
    struct str type_name;          /* the word for it */
    bool values_off;               /* NOVALUES / NOSCORES */
    bool slot_allowed;             /* CLUSTERSCAN */
    int slot;                      /* -1: none was asked for */
};
/* Parses argv[from..]. `novalues` is the extra option that this command knows ("NOVALUES", "NOSCORES") or
 * NULL; allow_type: SCAN. Replies the error and returns false when it does not parse. */
bool scanParseOptions(struct client *c, int from, const char *novalues, bool allow_type,
                      struct scanOptions *out);
bool scanParseClusterOptions(struct client *c, int from, struct scanOptions *out); /* TYPE and SLOT, too */
/* Most buckets that one call may walk, so that an empty stretch of a table does not hold up others. */
int64_t scanMaxSteps(const struct scanOptions *opt);
/* The cursor argument: "ERR invalid cursor". Spaces, a plus and zeros may stand before it. */
bool scanParseCursor(struct client *c, struct str arg, uint64_t *cursor);
bool scanReadCursor(struct str arg, uint64_t *cursor); /* the same without a reply */
/* What a scan of the keyspace has come upon, and the answer that it makes: expired keys are deleted. */
struct scannedKeys {
    struct object **objects;
    size_t count, cap;
};
void scanCollect(void *priv, void *entry); /* a hashtableScanFn; priv: struct scannedKeys, all 0 */
void scanReply(struct client *c, struct str cursor, const struct scanOptions *opt, struct scannedKeys *found);
struct object;
/* A command has given this key a time that is over: deletes it and tells everybody that it has expired. */
void expireAtOnce(struct client *c, struct object *o, struct str key);
/* FLUSHALL calls fn when the data is gone. */
void onFlushall(void (*fn)(void));
void flushAll(bool async); /* what FLUSHALL does, but for telling others */
