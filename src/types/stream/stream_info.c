/* SPDX-License-Identifier: BSD-3-Clause */
/* stream_info.c - XINFO: describes streams, groups and consumers (part of stream.h). */
#include "base/clock.h"
#include "client/reply.h"
#include "command/command.h"
#include "command/lookup.h"
#include "commands/cmd_stream.h"
#include "data/keyspace/db.h"
#include "types/stream/stream_commands.h"
#include "types/types.h"

#define FULL_COUNT 10

static void streamInfoField(struct client *c, const char *name, int64_t v) {
    replyBulkCstr(c, name);
    replyLongLong(c, v);
}

static void streamInfoIdField(struct client *c, const char *name, struct streamID id) {
    replyBulkCstr(c, name);
    replyStreamID(c, id);
}

/* Returns the stream argv[2], or NULL after an error reply. */
static struct stream *streamInfoStream(struct client *c) {
    struct stream *s;
    if (lookupStreamRead(c, c->argv[2], &s) && !s) replyError(c, err_nosuchkey);
    return s;
}

/* Replies entries-read and lag, each null when it is not known. */
static void streamInfoProgressFields(struct client *c, struct stream *s, const struct streamGroup *g) {
    int64_t lag;
    replyBulkCstr(c, "entries-read");
    if (g->entries_read == STREAM_READ_UNKNOWN)
        replyNull(c);
    else
        replyLongLong(c, g->entries_read);
    replyBulkCstr(c, "lag");
    if (streamGroupLag(s, g, &lag))
        replyLongLong(c, lag);
    else
        replyNull(c);
}

/* ---- XINFO STREAM ---- */

#define COMMON_FIELDS 7
#define IDMP_FIELDS   6

/* Begins a map of so many fields with those that are common; those of idempotence are added for streams that
 * use it. */
static void streamInfoBegin(struct client *c, const struct stream *s, const struct idmpStream *x,
                            int64_t others) {
    replyMapLen(c, COMMON_FIELDS + (x ? IDMP_FIELDS : 0) + others);
    size_t nodes = streamNodes(s);
    streamInfoField(c, "length", (int64_t)s->length);
    streamInfoField(c, "radix-tree-keys", (int64_t)nodes);
    streamInfoField(c, "radix-tree-nodes", (int64_t)(s->nodes.nodes + (s->tail != NULL) + 1));
    streamInfoIdField(c, "last-generated-id", s->last_id);
    streamInfoIdField(c, "max-deleted-entry-id", s->max_deleted_id);
    streamInfoField(c, "entries-added", (int64_t)s->entries_added);
    streamInfoIdField(c, "recorded-first-entry-id", s->first_id);
    if (!x) return;
    streamInfoField(c, "idmp-duration", x->duration_s);
    streamInfoField(c, "idmp-maxsize", x->maxsize);
    streamInfoField(c, "pids-tracked", (int64_t)idmpProducers(x));
    streamInfoField(c, "iids-tracked", (int64_t)x->count);
    streamInfoField(c, "iids-added", (int64_t)x->added);
    streamInfoField(c, "iids-duplicates", (int64_t)x->duplicates);
}

static void streamInfoEdgeEntry(struct client *c, struct stream *s, const char *name, bool last) {
    struct streamIterator it;
    replyBulkCstr(c, name);
    streamIterate(&it, s, STREAM_ID_MIN, STREAM_ID_MAX, last);
    if (streamNext(&it))
        replyStreamEntry(c, &it, 0);
    else
        replyNull(c);
    streamStop(&it);
}

static void streamInfoReplySummary(struct client *c, struct stream *s, const struct idmpStream *x) {
    streamInfoBegin(c, s, x, 3);
    streamInfoField(c, "groups", (int64_t)s->groups.size);
    streamInfoEdgeEntry(c, s, "first-entry", false);
    streamInfoEdgeEntry(c, s, "last-entry", true);
}

static int64_t streamInfoMin(size_t n, int64_t count) {
    return count && n > (size_t)count ? count : (int64_t)n;
}

/* Replies pending entries, for a consumer without its name. */
static void streamInfoPendingField(struct client *c, const struct rax *pending, int64_t count,
                                   bool of_group) {
    struct raxIterator it;
    int64_t n = streamInfoMin(pending->size, count);
    streamInfoField(c, "pel-count", (int64_t)pending->size);
    replyBulkCstr(c, "pending");
    replyArrayLen(c, n);
    raxStart(&it, pending);
    for (raxSeek(&it, "^", STR("")); n; n--, raxNext(&it)) {
        struct streamNack *nack = it.value;
        replyArrayLen(c, of_group ? 4 : 3);
        replyStreamID(c, streamKeyID(it.key));
        if (of_group) replyBulk(c, sdsview(nack->consumer->name));
        replyLongLong(c, nack->delivered_ms);
        replyLongLong(c, (int64_t)nack->deliveries);
    }
    raxStop(&it);
}

static void streamInfoFullConsumers(struct client *c, struct streamGroup *g, int64_t count) {
    struct raxIterator it;
    replyBulkCstr(c, "consumers");
    replyArrayLen(c, (int64_t)g->consumers.size);
    raxStart(&it, &g->consumers);
    for (bool more = raxSeek(&it, "^", STR("")); more; more = raxNext(&it)) {
        struct streamConsumer *consumer = it.value;
        replyMapLen(c, 5);
        replyBulkCstr(c, "name");
        replyBulk(c, it.key);
        streamInfoField(c, "seen-time", consumer->seen_ms);
        streamInfoField(c, "active-time", consumer->active_ms);
        streamInfoPendingField(c, &consumer->pending, count, false);
    }
    raxStop(&it);
}

static void streamInfoFullGroups(struct client *c, struct stream *s, int64_t count) {
    struct raxIterator it;
    replyBulkCstr(c, "groups");
    replyArrayLen(c, (int64_t)s->groups.size);
    raxStart(&it, &s->groups);
    for (bool more = raxSeek(&it, "^", STR("")); more; more = raxNext(&it)) {
        struct streamGroup *g = it.value;
        size_t unowned = streamPendingUnowned(g);
        replyMapLen(c, unowned ? 8 : 7);
        replyBulkCstr(c, "name");
        replyBulk(c, it.key);
        streamInfoIdField(c, "last-delivered-id", g->last_id);
        streamInfoProgressFields(c, s, g);
        if (unowned) streamInfoField(c, "nacked-count", (int64_t)unowned);
        streamInfoPendingField(c, &g->pending, count, true);
        streamInfoFullConsumers(c, g, count);
    }
    raxStop(&it);
}

static void streamInfoReplyFull(struct client *c, struct stream *s, const struct idmpStream *x,
                                int64_t count) {
    streamInfoBegin(c, s, x, 2);
    replyBulkCstr(c, "entries");
    replyStreamRange(c, s, STREAM_ID_MIN, STREAM_ID_MAX, false, count);
    streamInfoFullGroups(c, s, count);
}

void xinfoStreamCommand(struct client *c) {
    int64_t count = FULL_COUNT;
    bool full = c->argc > 3;
    struct object *o;
    if (!lookupKeyReadType(c, c->argv[2], OBJ_STREAM, &o)) return;
    if (!o) {
        replyError(c, err_nosuchkey);
        return;
    }
    struct stream *s = streamOpen(o);
    const struct idmpStream *x = idmpOpen(o);
    if (full && (!strIs(c->argv[3], "full") || (c->argc != 4 && c->argc != 6))) {
        replySubcommandError(c);
        return;
    }
    if (c->argc == 6) {
        if (!strIs(c->argv[4], "count")) {
            replySubcommandError(c);
            return;
        }
        if (!argLongLong(c, c->argv[5], &count, NULL)) return;
        if (count < 0) count = FULL_COUNT;
    }
    if (full)
        streamInfoReplyFull(c, s, x, count);
    else
        streamInfoReplySummary(c, s, x);
}

/* ---- XINFO GROUPS, CONSUMERS, HELP ---- */

void xinfoGroupsCommand(struct client *c) {
    struct raxIterator it;
    struct stream *s = streamInfoStream(c);
    if (!s) return;
    replyArrayLen(c, (int64_t)s->groups.size);
    raxStart(&it, &s->groups);
    for (bool more = raxSeek(&it, "^", STR("")); more; more = raxNext(&it)) {
        struct streamGroup *g = it.value;
        replyMapLen(c, 6);
        replyBulkCstr(c, "name");
        replyBulk(c, it.key);
        streamInfoField(c, "consumers", (int64_t)g->consumers.size);
        streamInfoField(c, "pending", (int64_t)g->pending.size);
        streamInfoIdField(c, "last-delivered-id", g->last_id);
        streamInfoProgressFields(c, s, g);
    }
    raxStop(&it);
}

static int64_t streamInfoElapsed(int64_t then_ms, int64_t now_ms) {
    return now_ms > then_ms ? now_ms - then_ms : 0;
}

void xinfoConsumersCommand(struct client *c) {
    struct raxIterator it;
    int64_t now = mstime();
    struct stream *s = streamInfoStream(c);
    if (!s) return;
    struct streamGroup *g = streamGroupFind(s, c->argv[3]);
    if (!g) {
        replyNoGroup(c, c->argv[2], c->argv[3]);
        return;
    }
    replyArrayLen(c, (int64_t)g->consumers.size);
    raxStart(&it, &g->consumers);
    for (bool more = raxSeek(&it, "^", STR("")); more; more = raxNext(&it)) {
        struct streamConsumer *consumer = it.value;
        replyMapLen(c, 4);
        replyBulkCstr(c, "name");
        replyBulk(c, it.key);
        streamInfoField(c, "pending", (int64_t)consumer->pending.size);
        streamInfoField(c, "idle", streamInfoElapsed(consumer->seen_ms, now));
        streamInfoField(c, "inactive",
                        consumer->active_ms < 0 ? -1 : streamInfoElapsed(consumer->active_ms, now));
    }
    raxStop(&it);
}

void xinfoHelpCommand(struct client *c) {
    static const char *lines[] = {
        "CONSUMERS <key> <group>",
        "    The consumers of a group, with their pending entries.",
        "GROUPS <key>",
        "    The groups of a stream, with their positions.",
        "STREAM <key> [FULL [COUNT <count>]]",
        "    Length, IDs and counters of a stream; FULL: entries, groups and consumers as well.",
        NULL,
    };
    replyHelp(c, lines);
}
