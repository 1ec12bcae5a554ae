/* generic.h - commands about keys whatever they hold: DEL, EXPIRE, SCAN, RENAME ... */
#pragma once

#include "client/client.h"

/* Options of the SCAN family, shared with SSCAN, HSCAN, ZSCAN. */
struct scanOptions {
    int64_t count;
    bool use_pattern;
    struct str pattern;
    const struct objectType *type; /* SCAN only; NULL: any */
    bool values_off;               /* NOVALUES / NOSCORES */
};
/* Parses argv[from..]. `novalues` is the extra option that this command knows ("NOVALUES", "NOSCORES") or
 * NULL; allow_type: SCAN. Replies the error and returns false when it does not parse. */
bool scanParseOptions(struct client *c, int from, const char *novalues, bool allow_type,
                      struct scanOptions *out);
/* Most buckets that one call may walk, so that an empty stretch of a table does not hold up others. */
int64_t scanMaxSteps(const struct scanOptions *opt);
/* The cursor argument: "ERR invalid cursor". Spaces, a plus and zeros may stand before it. */
bool scanParseCursor(struct client *c, struct str arg, uint64_t *cursor);
struct object;
/* A command has given this key a time that is over: deletes it and tells everybody that it has expired. */
void expireAtOnce(struct client *c, struct object *o, struct str key);
/* FLUSHALL calls fn when the data is gone. */
void onFlushall(void (*fn)(void));
