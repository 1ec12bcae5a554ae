/* SPDX-License-Identifier: BSD-3-Clause */
/* stream_private.h - a large stream that a snapshot saves in parts (data/forkless/large_value.h), while its
 * entries and its groups change.
 *
 *     struct stream ── parts ──▶ struct streamParts            counters at the start
 *                                   nodes                      struct streamWalk
 *     streamGroup ── parts ──▶ struct streamGroupParts         position at the start
 *                                   pending                    struct streamWalk
 *     streamConsumer ── parts ──▶ struct streamConsumerParts   times at the start
 *                                   pending                    struct streamWalk
 *
 * A walk goes over a tree by ID: nodes, what is pending in a group, what is pending for a consumer. Before an
 * element behind `from` changes or leaves the tree for the first time, its image goes to `early`; for one
 * that is new, NULL goes there. An ID that is in `early` counts as it is there, whatever the tree has:
 *
 *     the tree     | written ....... |   a    b    c    d |  ...
 *     early        |                 |        b'   -      |        b has changed; c is new
 *     from                           ^ next: a, b', d
 *
 * So everything is written in the order of IDs, and an image is freed as soon as it is written. The image of
 * a node that leaves is the node itself. The tail grows with each addition; its image is taken at the start,
 * and additions report nothing.
 *
 * A group or consumer that is deleted belongs to the snapshot, and its walk goes on. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/sds.h"
#include "ds/rax.h"
#include "types/stream/stream_id.h"
#include "types/stream/stream_node.h"

struct object;
struct stream;
struct streamGroup;
struct streamConsumer;
struct streamNack;
struct streamParts;
struct streamGroupParts;
struct streamConsumerParts;
struct valueParts;

const struct valueParts *streamPartsOf(const struct object *o); /* struct objectType.parts */

/* ---- Reports. Each is called before the change, and only while there are parts. ---- */
/* A node is about to change, or to become the tail. */
void streamPartsKeepNode(struct stream *s, struct streamID id, const struct streamNode *n);
/* A node is about to leave the stream. Returns whether it belongs to the snapshot now; else the caller frees
 * it. */
bool streamPartsTakeNode(struct stream *s, struct streamID id, struct streamNode *n);
void streamPartsNodeAdded(struct stream *s, struct streamID id);
/* A pending entry is about to change or to be removed. */
void streamPartsKeepNack(struct streamGroup *g, struct streamID id, const struct streamNack *nack);
/* An entry is about to be pending for `to` instead of `from`. NULL: it will not be pending any more. */
void streamPartsNackMoves(struct streamConsumer *from, struct streamConsumer *to, struct streamID id);
void streamPartsNackAdded(struct streamGroup *g, struct streamConsumer *consumer, struct streamID id);
/* A group or consumer has left its tree. Its nacks belong to the caller if it was a consumer. */
void streamPartsTakeGroup(struct streamGroup *g);
void streamPartsTakeConsumer(struct streamConsumer *consumer);
