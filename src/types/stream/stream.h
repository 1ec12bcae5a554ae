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
 * Most streams have one node, and every XADD goes to the last: keeping it at hand means that an addition
 * searches nothing, and that a small stream has no tree. In files, and as far as limits go, a node is a
 * listpack; in memory it has shorter heads of entries; see stream_node.c. */
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

struct stream {
    uint64_t length;
    struct streamID last_id;        /* the highest that was ever added or set */
    struct streamID first_id;       /* of the first entry; 0-0 when there is none */
    struct streamID max_deleted_id; /* the highest that XDEL removed */
    uint64_t entries_added;         /* ever */
    struct streamNode *tail;        /* NULL when there are no nodes at all */
    struct streamID tail_id;        /* its first ID */
    struct rax nodes, groups;
};

struct stream *streamNew(void);
void streamFree(struct stream *s);
struct stream *streamDup(struct stream *s);
struct value streamValue(struct stream *s);
static inline struct stream *streamOpen(const struct object *o) {
    return objectPtr(o);
}

/* The ID is higher than last_id. Takes pairs of field and value. False: too large, and nothing was added.
 * O(1). */
bool streamAppend(struct stream *s, struct streamID id, const struct str *pairs, size_t count);
bool streamDelete(struct stream *s, struct streamID id); /* false: not there */
bool streamExists(struct stream *s, struct streamID id);
/* The highest ID that is there; 0-0 when the stream is empty. */
struct streamID streamHighestID(struct stream *s);
size_t streamNodes(const struct stream *s);

enum streamTrimKind { TRIM_NONE, TRIM_MAXLEN, TRIM_MINID };
struct streamTrim {
    enum streamTrimKind kind;
    bool approximate; /* whole nodes only */
    int64_t limit;    /* remove at most so many, when approximate; 0: any number */
    int64_t maxlen;
    struct streamID minid;
};
/* How many were removed. */
int64_t streamTrimTo(struct stream *s, const struct streamTrim *t);

/* ---- Walking. The stream must not change meanwhile. ---- */
struct streamIterator {
    struct stream *stream;
    struct streamID start, end;
    bool reverse, in_tail;
    struct raxIterator nodes;
    struct streamNode *node; /* NULL: past the last */
    struct streamID node_id; /* what the IDs in the node are relative to */
    unsigned char *at;       /* the next element to read: of the entry, or the next entry */
    unsigned char *before;   /* reverse: where the entry ends that is next */
    unsigned char *entry;    /* the entry */
    unsigned char *name;     /* next name; NULL: names stand with the values */
    int64_t left;            /* values not read */
    char name_text[LP_INTBUF_SIZE], value_text[LP_INTBUF_SIZE];
    /* The entry. */
    struct streamID id;
    int64_t pairs;
};
/* From start to end, both included; reverse: from end to start. */
void streamIterate(struct streamIterator *it, struct stream *s, struct streamID start, struct streamID end,
                   bool reverse);
bool streamNext(struct streamIterator *it);
/* The entry's next pair; the views are good until the next call. To be called at most it->pairs times. */
void streamNextPair(struct streamIterator *it, struct str *field, struct str *value);
void streamStop(struct streamIterator *it);

/* Finds one entry after the other by ID: quick when each is a little behind the last one. The stream must not
 * change meanwhile, but by the finder. */
struct streamFinder {
    struct streamIterator it; /* on the entry that was found: its pairs may be read, all of them or none */
    bool open, on_entry;
    struct streamID asked;
};
void streamFinderStart(struct streamFinder *f, struct stream *s);
bool streamFinderFind(struct streamFinder *f, struct streamID id); /* false: not there */
void streamFinderDelete(struct streamFinder *f);                   /* the entry that was found */
void streamFinderStop(struct streamFinder *f);

/* For loading: a sound node whose ID is above those of all others; it is taken over, the counters are the
 * caller's. And the first entry's ID, looked up. */
void streamAddNode(struct stream *s, struct streamID id, struct streamNode *node);
void streamFixFirst(struct stream *s);

/* ---- Groups ---- */
#define STREAM_READ_UNKNOWN (-1)

struct streamGroup {
    struct streamID last_id; /* the last delivered */
    int64_t entries_read;    /* how many of those ever added come up to last_id; STREAM_READ_UNKNOWN */
    struct rax pending, consumers;
};
struct streamConsumer {
    sds name;
    int64_t seen_ms;   /* tried to do something */
    int64_t active_ms; /* got something; -1: never */
    struct rax pending;
};
struct streamNack {
    int64_t delivered_ms;
    uint64_t deliveries;
    struct streamConsumer *consumer;
};

struct streamGroup *streamGroupFind(struct stream *s, struct str name);
/* NULL: the name is taken. */
struct streamGroup *streamGroupCreate(struct stream *s, struct str name, struct streamID id,
                                      int64_t entries_read);
bool streamGroupDestroy(struct stream *s, struct str name);
void streamGroupFree(struct streamGroup *g);
struct streamGroup *streamGroupDup(struct streamGroup *g);

struct streamConsumer *streamConsumerFind(struct streamGroup *g, struct str name);
struct streamConsumer *streamConsumerCreate(struct streamGroup *g, struct str name,
                                            int64_t now_ms); /* absent */
void streamConsumerDelete(struct streamGroup *g, struct streamConsumer *consumer);

struct streamNack *streamPendingFind(struct streamGroup *g, struct streamID id);
/* Pending for this consumer from now on, delivered once; takes it from another consumer. */
struct streamNack *streamPendingSet(struct streamGroup *g, struct streamID id,
                                    struct streamConsumer *consumer, int64_t now_ms);
/* The same without touching time and count. */
void streamPendingGive(struct streamGroup *g, struct streamID id, struct streamNack *nack,
                       struct streamConsumer *consumer);
bool streamPendingRemove(struct streamGroup *g, struct streamID id);

/* Moves the group on to an entry that is delivered to it. */
void streamGroupAdvance(struct stream *s, struct streamGroup *g, struct streamID id);
/* Entries that the group has not read. False when that is not known. */
bool streamGroupLag(struct stream *s, const struct streamGroup *g, int64_t *lag);

extern int64_t stream_node_max_bytes, stream_node_max_entries;
void streamInit(void); /* type, commands, directives */
