/* SPDX-License-Identifier: BSD-3-Clause */
/* stream_node.h - a node of a stream: some entries, one after the other, and what can be done to it (between
 * stream.c and stream_node.c, which says how it is laid out). */
#pragma once

#include <stdbool.h>

#include "ds/listpack.h"
#include "types/stream/stream_id.h"

enum { ENTRY_DELETED = 1, ENTRY_SAME_NAMES = 2 };

struct streamNode {
    uint32_t bytes;            /* of the node, with these fields */
    uint32_t room;             /* of its allocation */
    uint32_t published;        /* what names and entries take in the published format */
    uint32_t entries, deleted; /* entries: those not deleted */
    uint32_t names;
    uint32_t first; /* where entries begin */
    unsigned char first_name[];
};

struct nodeEntry {
    struct streamID id;
    int flags;
    int64_t pairs;
    unsigned char *start, *first; /* flags; the first name or value */
};

static inline unsigned char *nodeEnd(struct streamNode *n) {
    return (unsigned char *)n + n->bytes;
}
static inline unsigned char *nodeFirstEntry(struct streamNode *n) { /* nodeEnd: there is none */
    return (unsigned char *)n + n->first;
}

struct streamNode *nodeNew(const struct str *pairs, size_t count); /* with these names, and no entry */
struct streamNode *nodeCopy(const struct streamNode *n);
struct streamNode *nodeFit(struct streamNode *n); /* gives back the room that is left; it may have moved */
void nodeFree(struct streamNode *n);
/* The node may have moved. `base` is its ID, here and below. */
struct streamNode *nodeAppend(struct streamNode *n, struct streamID base, struct streamID id,
                              const struct str *pairs, size_t count);
void nodeMarkDeleted(struct streamNode *n, unsigned char *entry);

struct nodeEntry nodeEntry(const struct streamNode *n, unsigned char *p, struct streamID base);
/* Where the next entry is, or nodeEnd; `values_end` is what is behind this one's last value. */
unsigned char *nodeEntryBehind(const unsigned char *entry, const unsigned char *values_end);
unsigned char *nodeEntryEnd(const struct nodeEntry *e);
/* The entry that ends at p: an entry, or nodeEnd. NULL: p is the first. */
unsigned char *nodeEntryBefore(struct streamNode *n, unsigned char *p);
struct streamID nodeLastID(struct streamNode *n, struct streamID base); /* deleted or not */

/* ---- The published format: a listpack, in files and for limits ---- */
size_t nodePublishedBytes(const struct streamNode *n);
void nodePublish(struct streamNode *n, struct streamID base, unsigned char *lp); /* writes so many bytes */
/* The node that these `size` bytes are. NULL: they are not one as streams have it, in every detail. Never
 * reads outside of them. */
struct streamNode *nodeOfPublished(unsigned char *lp, size_t size, struct streamID base);
