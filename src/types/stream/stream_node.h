/* SPDX-License-Identifier: BSD-3-Clause */
/* stream_node.h - a node of a stream: consecutive entries, and the operations on it that stream.c uses.
 * stream_node.c has the layout. */
#pragma once

#include <stdbool.h>

#include "ds/listpack.h"
#include "types/stream/stream_id.h"

enum { ENTRY_DELETED = 1, ENTRY_SAME_NAMES = 2 };

struct streamNode {
    uint32_t bytes;            /* in use, including these fields */
    uint32_t room;             /* of the allocation */
    uint32_t published;        /* bytes that names and entries take in the published format */
    uint32_t entries, deleted; /* entries: without deleted ones */
    uint32_t names;
    uint32_t first; /* offset of the first entry */
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
static inline unsigned char *nodeFirstEntry(struct streamNode *n) { /* nodeEnd when there is none */
    return (unsigned char *)n + n->first;
}

struct streamNode *nodeNew(const struct str *pairs, size_t count); /* a node with these names and no entry */
struct streamNode *nodeCopy(const struct streamNode *n);
struct streamNode *nodeFit(struct streamNode *n); /* gives back unused memory; the node may move */
void nodeFree(struct streamNode *n);
/* The node may move. `base` is its ID, here and below. */
struct streamNode *nodeAppend(struct streamNode *n, struct streamID base, struct streamID id,
                              const struct str *pairs, size_t count);
void nodeMarkDeleted(struct streamNode *n, unsigned char *entry);

struct nodeEntry nodeEntry(const struct streamNode *n, unsigned char *p, struct streamID base);
/* Returns the next entry, or nodeEnd; `values_end` is the end of this one's last value. */
unsigned char *nodeEntryBehind(const unsigned char *entry, const unsigned char *values_end);
unsigned char *nodeEntryEnd(const struct nodeEntry *e);
/* Returns the entry (or nodeEnd) that ends at p, or NULL when p is the first. */
unsigned char *nodeEntryBefore(struct streamNode *n, unsigned char *p);
struct streamID nodeLastID(struct streamNode *n, struct streamID base); /* including deleted entries */

/* ---- The published format: a listpack, in files and for limits ---- */
size_t nodePublishedBytes(const struct streamNode *n);
void nodePublish(struct streamNode *n, struct streamID base, unsigned char *lp); /* writes that many bytes */
/* Builds a node from these `size` bytes. Returns NULL when they are not a valid node in every detail. Never
 * reads outside of them. */
struct streamNode *nodeFromPublished(unsigned char *lp, size_t size, struct streamID base);
