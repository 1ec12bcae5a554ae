/* SPDX-License-Identifier: BSD-3-Clause */
/* stream_commands.h - what the files of stream commands share. */
#pragma once

#include "client/client.h"
#include "types/stream/stream.h"

/* ---- IDs in arguments. They reply the error and return false. ---- */
/* Without "-" and "+". */
bool argStreamID(struct client *c, struct str arg, uint64_t missing_seq, struct streamID *id);
/* An end of an interval: "-", "+", an ID, or an ID behind "(" which is not included. */
bool argStreamStart(struct client *c, struct str arg, struct streamID *id);
bool argStreamEnd(struct client *c, struct str arg, struct streamID *id);
/* IDs from argv[from] on, as many as there are. NULL after an error; the caller frees. */
struct streamID *argStreamIDs(struct client *c, int from);

/* ---- Look-up. False: the key holds another type, WRONGTYPE was replied. *s is NULL when there is no key.
 * ---- */
bool lookupStreamRead(struct client *c, struct str key, struct stream **s);
bool lookupStreamWrite(struct client *c, struct str key, struct stream **s);

/* ---- Replies ---- */
void replyStreamID(struct client *c, struct streamID id);
/* The entry where the iterator stands: [id, [field, value ...]]. */
void replyStreamEntry(struct client *c, struct streamIterator *it);
/* At most `count` entries (0: all) as one array; how many. */
int64_t replyStreamRange(struct client *c, struct stream *s, struct streamID start, struct streamID end,
                         bool reverse, int64_t count);
/* One entry; or, and then false, its ID with a null array: it was deleted. */
bool replyStreamOne(struct client *c, struct streamFinder *f, struct streamID id);
void replyNoGroup(struct client *c, struct str key, struct str group);

/* ---- Groups on behalf of a client (stream_group_commands.c) ---- */
/* Finds the consumer or creates it, with all that follows from it. */
struct streamConsumer *streamConsumerFor(struct client *c, struct str key, struct str group,
                                         struct streamGroup *g, struct str name, int64_t now_ms);
/* Instead of the running command: the effects of a delivery, of a removed entry,
 * of a group's new position. */
void propagateClaim(struct client *c, struct str key, struct str group, struct streamGroup *g,
                    struct streamID id, const struct streamNack *nack);
void propagateAck(struct client *c, struct str key, struct str group, struct streamID id);
void propagateGroupID(struct client *c, struct str key, struct str group, const struct streamGroup *g);
