/* stream_node.h - a listpack of stream entries: the format and what can be done to it (between stream.c and
 * stream_node.c). */
#pragma once

#include "ds/listpack.h"
#include "types/stream_id.h"

enum { ENTRY_DELETED = 1, ENTRY_SAME_NAMES = 2 };

struct nodeHead {
    int64_t names;
    unsigned char *first_name, *first_entry; /* first_entry may be NULL */
};
struct nodeEntry {
    struct streamID id;
    int flags;
    int64_t pairs;
    unsigned char *start, *first; /* flags; the first name or value */
};

/* Functions that change return the listpack, which may have moved. */
unsigned char *nodeNew(const struct str *pairs, size_t count); /* with these names, and no entry */
unsigned char *nodeAppend(unsigned char *lp, struct streamID relative, const struct str *pairs, size_t count);
unsigned char *nodeMarkDeleted(unsigned char *lp, unsigned char *entry);
/* So many entries now, and so many more deleted. */
unsigned char *nodeCount(unsigned char *lp, int64_t entries, int64_t deleted);

int64_t nodeEntries(unsigned char *lp); /* not deleted */
int64_t nodeDeleted(unsigned char *lp);
struct nodeHead nodeHead(unsigned char *lp);
/* The entry at p of a node with this ID and so many names of its own. */
struct nodeEntry nodeEntry(unsigned char *lp, unsigned char *p, struct streamID base, int64_t names);
unsigned char *nodeEntryEnd(unsigned char *lp, const struct nodeEntry *e); /* the next entry, or NULL */
/* The entry that ends with this element, or NULL at the node's head. */
unsigned char *nodeEntryBefore(unsigned char *lp, unsigned char *back);
struct streamID nodeLastID(unsigned char *lp, struct streamID base); /* deleted or not */

/* Are these `size` bytes a node as streams have it, in every detail? For data from outside. Never reads
 * outside of them. */
bool streamNodeValid(unsigned char *lp, size_t size);
