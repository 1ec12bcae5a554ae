/* SPDX-License-Identifier: BSD-3-Clause */
/* generic.h - commands on keys of any type: DEL, EXPIRE, SCAN, RENAME ... */
#pragma once

#include "client/client.h"

/* Options of the SCAN family; SSCAN, HSCAN and ZSCAN have them too. */
struct scanOptions {
    int64_t count;
    bool use_pattern;
    struct str pattern;
    const struct objectType *type; /* SCAN only; NULL: any */
    struct str type_name;          /* as given */
    bool values_off;               /* NOVALUES / NOSCORES */
    bool slot_allowed;             /* CLUSTERSCAN */
    int slot;                      /* -1: no slot was given */
};
/* Parses argv[from..]. `novalues` is the extra option that this command has ("NOVALUES", "NOSCORES") or NULL;
 * allow_type: SCAN. Replies the error and returns false when an option is invalid. */
bool scanParseOptions(struct client *c, int from, const char *novalues, bool allow_type,
                      struct scanOptions *out);
bool scanParseClusterOptions(struct client *c, int from, struct scanOptions *out); /* with TYPE and SLOT */
/* Most buckets that one call may walk, so that an empty stretch of a table does not delay other clients. */
int64_t scanMaxSteps(const struct scanOptions *opt);
/* Parses the cursor argument; the error is "ERR invalid cursor". Spaces, a plus and zeros may precede the
 * number. */
bool scanParseCursor(struct client *c, struct str arg, uint64_t *cursor);
bool scanReadCursor(struct str arg, uint64_t *cursor); /* without a reply */
/* The keys that a scan of the keyspace has found, and the reply that it makes of them: expired keys are
 * deleted. */
struct scannedKeys {
    struct object **objects;
    size_t count, cap;
};
void scanCollect(void *priv, void *entry); /* a hashtableScanFn; priv: struct scannedKeys, all 0 */
void scanReply(struct client *c, struct str cursor, const struct scanOptions *opt, struct scannedKeys *found);
struct object;
/* Deletes a key that a command has given an expiry in the past, and reports it as expired. */
void genericExpireNow(struct client *c, struct object *o, struct str key);
/* Registers functions that FLUSHALL calls before it removes the data and when the data is gone. */
void onFlushall(void (*before)(void), void (*after)(void));
void flushAll(bool async); /* what FLUSHALL does, without the notification of others */
