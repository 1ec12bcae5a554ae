/* SPDX-License-Identifier: BSD-3-Clause */
/* stream_parts_private.h - what is saved of a stream, for stream_parts.c and stream_parts_write.c. */
#pragma once

#include "data/forkless/large_value.h"
#include "types/stream/stream.h"

struct streamWalk {
    struct rax early;           /* ID -> image; NULL: it is new */
    struct streamID from, last; /* IDs from..last are left to be written */
    uint64_t left;              /* elements that are left to be written */
    bool begun, done;
};

/* The image of a pending entry. Consumers are not freed before the end. */
struct streamNackImage {
    int64_t delivered_ms;
    uint64_t deliveries;
    const struct streamConsumer *consumer;
};

struct streamConsumerParts {
    struct streamConsumer *consumer;
    bool owned;
    int64_t seen_ms, active_ms;
    struct streamWalk pending; /* images are only marks; done when commands are written */
};

struct streamGroupParts {
    struct streamGroup *group;
    bool owned;
    sds name;
    struct streamID last_id;
    int64_t entries_read;
    struct streamWalk pending;
    struct streamConsumerParts *consumers;
    size_t consumer_count;
};

struct streamParts {
    struct stream start; /* the counters at the start */
    sds records;         /* all that follows the groups, encoded at the start */
    struct streamWalk nodes;
    struct streamGroupParts *groups;
    size_t group_count;
    /* How far it is written: */
    bool (*const *stage)(struct largeValue *v, struct streamParts *p);
    size_t group, consumer; /* consumer 0: what is pending in the group */
    /* When commands are written: */
    struct rax missing;           /* IDs that are pending and no longer in the stream */
    struct streamID next_missing; /* those before it are written */
    bool missing_done;
    struct streamID found_up_to; /* in the group: IDs before it have been looked for */
};

/* ---- One part of a walk, in order ---- */
struct streamWalkStep {
    struct streamWalk *walk;
    struct raxIterator live, early;
    bool in_live, in_early;
    struct streamID id;
    struct streamKey key;
    void *value; /* the image, or what is in the tree */
    bool is_image;
};
/* Starts at an ID. */
void streamWalkOpen(struct streamWalkStep *step, struct streamWalk *walk, const struct rax *live,
                    struct streamID from);
bool streamWalkNext(struct streamWalkStep *step); /* false: there are no more */
/* The element has been written; its image is not needed any more. */
void streamWalkWritten(struct streamWalkStep *step);
void streamWalkClose(struct streamWalkStep *step);
/* All elements have been written. */
void streamWalkEnd(struct streamWalk *walk);
/* Returns the node that had the ID `id` or came before it at the start, and its ID; NULL: none. */
struct streamNode *streamWalkNodeBefore(struct streamParts *p, const struct stream *s, struct streamID id,
                                        struct streamID *node_id);

/* ---- Stages (stream_parts_write.c) ---- */
typedef bool streamPartsStage(struct largeValue *v, struct streamParts *p);
extern streamPartsStage *const stream_parts_save[], *const stream_parts_rewrite[];
/* Encodes what follows the groups. */
sds streamPartsEncodeRecords(struct largeValue *v, const struct object *o);
