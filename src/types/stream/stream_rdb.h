/* SPDX-License-Identifier: BSD-3-Clause */
/* stream_rdb.h - the pieces that streams in files consist of; stream_rdb.c explains the format. Whole streams
 * are written from them, and large ones in parts (stream_parts_write.c). */
#pragma once

#include "data/rdb/rio.h"
#include "types/stream/stream.h"

/* ---- RDB ---- */
void streamRdbWriteNode(struct rioWriter *w, struct str key, struct streamNode *node);
void streamRdbWriteCounters(struct rioWriter *w, const struct stream *s); /* up to the number of groups */
/* Writes what comes before the pending entries of a group, or a consumer, with their number. */
void streamRdbWriteGroupHead(struct rioWriter *w, struct str name, struct streamID last_id,
                             int64_t entries_read, uint64_t pending);
void streamRdbWriteConsumerHead(struct rioWriter *w, struct str name, int64_t seen_ms, int64_t active_ms,
                                uint64_t pending);
void streamRdbWriteNack(struct rioWriter *w, struct str key, int64_t delivered_ms, uint64_t deliveries);
/* Writes the idempotence records if the value is saved with them. */
void streamRdbWriteIdempotence(struct rioWriter *w, const struct object *o);

/* ---- Commands ---- */
/* Writes the entries of s and, between them, placeholders for the missing IDs from *next on, and before the
 * last entry. */
void streamRdbRewriteEntries(struct rioWriter *w, struct str key, struct stream *s, const struct rax *missing,
                             struct streamID *next);
void streamRdbRewritePlaceholder(struct rioWriter *w, struct str key, struct streamID id);
void streamRdbRewriteEmpty(struct rioWriter *w, struct str key, struct streamID last); /* no entries at all */
void streamRdbRewriteGroupHead(struct rioWriter *w, struct str key, struct str name, struct streamID last_id,
                               int64_t entries_read);
void streamRdbRewriteConsumer(struct rioWriter *w, struct str key, struct str group, struct str name);
void streamRdbRewriteClaim(struct rioWriter *w, struct str key, struct str group, struct str consumer,
                           struct streamID id, int64_t delivered_ms, uint64_t deliveries);
/* Removes the placeholders before the first entry; those behind it are deleted one by one. */
void streamRdbTrimPlaceholders(struct rioWriter *w, struct str key, const struct stream *s,
                               const struct rax *missing);
void streamRdbDeletePlaceholder(struct rioWriter *w, struct str key, struct streamID id);
void streamRdbRewriteCounters(struct rioWriter *w, struct str key, const struct stream *s);
void streamRdbRewriteIdempotence(struct rioWriter *w, struct str key, const struct object *o);
