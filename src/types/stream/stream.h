/* SPDX-License-Identifier: BSD-3-Clause */
/* stream.h - streams as values: a log of entries by ID, and the consumer groups that read it.
 *
 *     struct stream   length, IDs, counters
 *                     nodes:   rax   first ID of the node -> struct streamNode, full ones
 *                     tail:    the last node, which grows; it is not in the tree
 *                     groups:  rax   name -> struct streamGroup
 *     streamGroup     consumers: rax   name -> struct streamConsumer
 *                     pending:   rax   ID -> struct streamNack, delivered and not acknowledged
 *     streamConsumer  pending:   rax   the same nacks, those that were delivered to it
 *
 * Most streams have one node, and every XADD goes to the last one. As that is kept outside of the tree, an
 * addition searches nothing, and a small stream has no tree. In files, and for limits, a node is a listpack;
 * in memory its entries have shorter heads (stream_node.c). */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/sds.h"
#include "base/str.h"
#include "data/object.h"
#include "ds/listpack.h"
#include "ds/rax.h"
#include "types/stream/stream_id.h"
#include "types/stream/stream_node.h"
#include "types/stream/stream_private.h"

struct stream {
    uint64_t length;
    struct streamID last_id;        /* the highest ever added or set */
    struct streamID first_id;       /* of the first entry; 0-0 when there is none */
    struct streamID max_deleted_id; /* the highest that XDEL removed */
    uint64_t entries_added;         /* number of all entries ever added */
    struct streamNode *tail;        /* NULL when there are no nodes at all */
    struct streamID tail_id;        /* first ID in it */
    struct rax nodes, groups;
    struct streamParts *parts; /* of a snapshot that saves the stream in parts; NULL nearly always */
};

struct stream *streamNew(void);
void streamFree(struct stream *s);
struct stream *streamDup(struct stream *s);
struct value streamValue(struct stream *s);
static inline struct stream *streamOpen(const struct object *o) {
    return objectPtr(o);
}

/* Appends an entry of `count` pairs of field and value; the ID is higher than last_id. Returns false when the
 * entry is too large; then nothing was added. O(1). */
bool streamAppend(struct stream *s, struct streamID id, const struct str *pairs, size_t count);
bool streamDelete(struct stream *s, struct streamID id); /* false: no such entry */
bool streamExists(struct stream *s, struct streamID id);
/* Returns the highest ID of an entry, or 0-0 when the stream is empty. */
struct streamID streamHighestID(struct stream *s);
size_t streamNodes(const struct stream *s);

enum streamTrimKind { TRIM_NONE, TRIM_MAXLEN, TRIM_MINID };
struct streamTrim {
    enum streamTrimKind kind;
    bool approximate; /* whole nodes only */
    int64_t limit;    /* remove at most so many, when approximate; 0: no limit */
    int64_t maxlen;
    struct streamID minid;
};
/* Returns how many entries were removed. */
int64_t streamTrimTo(struct stream *s, const struct streamTrim *t);

/* Chooses what a trim removes out of the entries that it covers. */
struct streamPick {
    bool (*pick)(void *priv, struct streamID id); /* false: the entry stays */
    void *priv;
    struct streamID last; /* the trim ends with the node that holds it */
};
/* Trims as well, but goes on behind entries that stay. An approximate trim keeps its limit, and is exact
 * otherwise. As with streamTrimTo, max_deleted_id does not change, although there may be gaps now. */
int64_t streamTrimPicked(struct stream *s, const struct streamTrim *t, const struct streamPick *pick);

/* ---- Iteration. The stream must not change meanwhile. ---- */
struct streamIterator {
    struct stream *stream;
    struct streamID start, end;
    bool reverse, in_tail;
    struct raxIterator nodes;
    struct streamNode *node; /* NULL: after the last */
    struct streamID node_id; /* IDs in the node are relative to it */
    unsigned char *at;       /* the next element to read: in the entry, or the next entry */
    unsigned char *before;   /* reverse: end of the next entry */
    unsigned char *entry;    /* start of the entry */
    unsigned char *name;     /* next name; NULL: names are stored with the values */
    int64_t left;            /* values not read yet */
    char name_text[LP_INTBUF_SIZE], value_text[LP_INTBUF_SIZE];
    /* These describe the entry. */
    struct streamID id;
    int64_t pairs;
};
/* Iterates from start to end, both included; reverse: from end to start. */
void streamIterate(struct streamIterator *it, struct stream *s, struct streamID start, struct streamID end,
                   bool reverse);
bool streamNext(struct streamIterator *it);
/* Reads the entry's next pair; the views are valid until the next call. Called at most it->pairs times. */
void streamNextPair(struct streamIterator *it, struct str *field, struct str *value);
void streamStop(struct streamIterator *it);

/* Finds entries by ID, quickly when each is a little after the last one. Nothing but the finder may change
 * the stream meanwhile. */
struct streamFinder {
    struct streamIterator it; /* on the entry that was found: its pairs may be read */
    bool open, on_entry;
    struct streamID searched_id;
};
void streamFinderStart(struct streamFinder *f, struct stream *s);
bool streamFinderFind(struct streamFinder *f, struct streamID id); /* false: no such entry */
void streamFinderDelete(struct streamFinder *f);                   /* deletes the entry that was found */
void streamFinderStop(struct streamFinder *f);

/* For loading: takes over a valid node whose ID is above those of all others; the caller sets the counters.
 * streamFindFirst looks up the first entry's ID. */
void streamAddNode(struct stream *s, struct streamID id, struct streamNode *node);
void streamFixFirst(struct stream *s);

/* ---- Groups ---- */
#define STREAM_READ_UNKNOWN (-1)

struct streamGroup {
    struct streamID last_id; /* the last delivered */
    int64_t entries_read; /* how many of the entries ever added have IDs up to last_id; STREAM_READ_UNKNOWN */
    struct rax pending, consumers;
    struct streamDue *due;          /* stream_due.c; NULL: no index */
    struct streamGroupParts *parts; /* as in struct stream */
};
struct streamConsumer {
    sds name;
    int64_t seen_ms;   /* last attempt to do something */
    int64_t active_ms; /* last time it got something; -1: never */
    struct rax pending;
    struct streamConsumerParts *parts; /* as in struct stream */
};
struct streamNack {
    int64_t delivered_ms;
    uint64_t deliveries;
    struct streamConsumer *consumer;
};

struct streamGroup *streamGroupFind(struct stream *s, struct str name);
/* Returns NULL when the name exists. */
struct streamGroup *streamGroupCreate(struct stream *s, struct str name, struct streamID id,
                                      int64_t entries_read);
bool streamGroupDestroy(struct stream *s, struct str name);
void streamGroupFree(struct streamGroup *g);
struct streamGroup *streamGroupDup(struct streamGroup *g);

struct streamConsumer *streamConsumerFind(struct streamGroup *g, struct str name);
/* The name must not exist. */
struct streamConsumer *streamConsumerCreate(struct streamGroup *g, struct str name, int64_t now_ms);
void streamConsumerDelete(struct streamGroup *g, struct streamConsumer *consumer);
void streamConsumerFree(struct streamConsumer *consumer); /* not what is pending for it */

struct streamNack *streamPendingFind(struct streamGroup *g, struct streamID id);
/* Makes the entry pending for this consumer, delivered once; takes it from another consumer. */
struct streamNack *streamPendingSet(struct streamGroup *g, struct streamID id,
                                    struct streamConsumer *consumer, int64_t now_ms);
/* Makes it pending for this consumer without changing time and count, which the caller may change then. */
void streamPendingAssign(struct streamGroup *g, struct streamID id, struct streamNack *nack,
                         struct streamConsumer *consumer);
bool streamPendingRemove(struct streamGroup *g, struct streamID id);

/* ---- Pending entries by the time of their delivery (stream_due.c) ---- */
/* Returns the pending entry that was delivered first, and its ID; NULL when there is none. Entries that were
 * taken away do not count. */
struct streamNack *streamDueFirst(struct streamGroup *g, struct streamID *id);
/* Takes it away, until streamDueInsert: for an entry that is being claimed, or does not exist any more. The
 * time of its delivery must not change before. */
void streamDueTakeFirst(struct streamGroup *g);
void streamDueInsert(struct streamGroup *g, struct streamID id, int64_t delivered_ms); /* there is an index */
void streamDueDrop(struct streamGroup *g); /* what was taken away counts again */
size_t streamDueBytes(const struct streamGroup *g);

/* Counts a delivery. The count ends where XCLAIM RETRYCOUNT does. */
static inline void streamPendingCountDelivery(struct streamNack *nack) {
    if (nack->deliveries < INT64_MAX) nack->deliveries++;
}
/* Sets the time of an entry's last delivery. */
static inline void streamPendingDelivered(struct streamGroup *g, struct streamID id, struct streamNack *nack,
                                          int64_t delivered_ms) {
    bool earlier = delivered_ms < nack->delivered_ms;
    if (__builtin_expect(g->parts != NULL, 0)) streamPartsKeepNack(g, id, nack);
    nack->delivered_ms = delivered_ms;
    if (g->due && earlier) streamDueInsert(g, id, delivered_ms);
}

/* Advances the group to an entry that is delivered to it. */
void streamGroupAdvance(struct stream *s, struct streamGroup *g, struct streamID id);
/* Returns the number of entries that the group has not read; false when that is not known. */
bool streamGroupLag(struct stream *s, const struct streamGroup *g, int64_t *lag);

extern int64_t stream_node_max_bytes, stream_node_max_entries;
void streamInit(void); /* type, commands, directives */
