/* SPDX-License-Identifier: BSD-3-Clause */
/* stream_read.c - XREAD and XREADGROUP (part of stream.h).
 *
 * Both look at their streams and reply what is there. When there is nothing they wait, and are run again from
 * the start when one of the streams has grown. Only "$", the end of the stream when the client called, must
 * not be evaluated again: the waiting command has the ID in its place.
 *
 * With CLAIM, reading ">" first takes over what has been pending for long, the longest first (stream_due.c),
 * and then what is new. A waiting command is then also run again when the entry that was delivered first has
 * been pending for that long. An entry that is delivered meanwhile cannot come earlier, except by XCLAIM with
 * an older time, which wakes the waiting clients itself. */
#include "base/clock.h"
#include "base/read_phase.h"
#include "base/zmalloc.h"
#include "client/reply.h"
#include "command/blocking.h"
#include "command/command.h"
#include "command/propagate.h"
#include "commands/cmd_stream.h"
#include "data/keyspace/db.h"
#include "data/notify.h"
#include "types/stream/stream_commands.h"
#include "types/types.h"

#define CLAIM_RECHECK_MS                                                                                     \
    100 /* how soon a waiting CLAIM looks again when nothing is pending, at the earliest */

struct readArgs {
    bool from_group, block, noack, group_given, claim;
    int64_t count;                /* 0: all */
    int64_t max_count, max_bytes; /* of all streams together; 0: no limit */
    int64_t deadline_ms, min_idle_ms;
    struct str group, consumer;
    int keys_at, streams; /* the IDs follow the keys */
};

struct readStream {
    struct stream *stream; /* NULL: no such key */
    struct streamGroup *group;
    struct streamConsumer *consumer;
    struct streamID after; /* entries with higher IDs */
    bool fresh;            /* ">": entries that the group has not delivered */
};

/* ---- Arguments ---- */

static bool streamReadOnlyForGroups(struct client *c, const struct readArgs *a, const char *option) {
    if (a->from_group) return true;
    return replyErrorFmt(c, "ERR The %s option is only supported by XREADGROUP. You called XREAD instead.",
                         option);
}

enum readOption {
    READ_UNKNOWN,
    READ_BLOCK,
    READ_CLAIM,
    READ_COUNT,
    READ_GROUP,
    READ_MAXCOUNT,
    READ_MAXSIZE,
    READ_NOACK,
    READ_STREAMS
};

/* Returns the option at argv[i]; *args: how many arguments it takes (STREAMS: at least). */
static enum readOption streamReadOptionAt(const struct str *argv, int argc, int i, int *args) {
    static const struct {
        const char *name;
        int args;
        enum readOption option;
    } options[] = {{"streams", 1, READ_STREAMS}, {"count", 1, READ_COUNT},      {"group", 2, READ_GROUP},
                   {"block", 1, READ_BLOCK},     {"noack", 0, READ_NOACK},      {"claim", 1, READ_CLAIM},
                   {"maxsize", 1, READ_MAXSIZE}, {"maxcount", 1, READ_MAXCOUNT}};
    for (size_t o = 0; o < sizeof options / sizeof *options; o++) {
        *args = options[o].args;
        if (strIs(argv[i], options[o].name) && i + *args < argc) return options[o].option;
    }
    *args = 0;
    return READ_UNKNOWN;
}

/* Returns the streams: half of what follows the keyword. */
int xreadGetKeys(const struct serverCommand *cmd, const struct str *argv, int argc, struct keyRef **keys) {
    (void)cmd;
    enum readOption option = READ_UNKNOWN;
    int i = 1, args = 0;
    for (; i < argc && option != READ_STREAMS; i += option == READ_STREAMS ? 1 : 1 + args)
        option = streamReadOptionAt(argv, argc, i, &args);
    int streams = (argc - i) / 2;
    return streams ? keyRefsAdd(keys, 0, i, i + streams - 1, 1, KEY_RO | KEY_ACCESS) : -1;
}

static bool streamReadParseClaim(struct client *c, struct readArgs *a, struct str arg) {
    if (!streamReadOnlyForGroups(c, a, "CLAIM")) return false;
    a->claim = true;
    if (!argLongLong(c, arg, &a->min_idle_ms, "ERR min-idle-time is not an integer or out of range"))
        return false;
    return a->min_idle_ms >= 0 || replyError(c, "ERR min-idle-time must be a positive integer");
}

/* Parses the option at argv[*i] and moves *i to the last argument that it uses. */
static bool streamReadParseOption(struct client *c, struct readArgs *a, enum readOption option, int *i) {
    switch (option) {
    case READ_BLOCK: a->block = true; return argTimeout(c, c->argv[++*i], true, &a->deadline_ms);
    case READ_CLAIM: return streamReadParseClaim(c, a, c->argv[++*i]);
    case READ_COUNT:
        if (!argLongLong(c, c->argv[++*i], &a->count, NULL)) return false;
        if (a->count < 0) a->count = 0;
        return true;
    case READ_GROUP:
        if (!streamReadOnlyForGroups(c, a, "GROUP")) return false;
        a->group_given = true;
        a->group = c->argv[++*i];
        a->consumer = c->argv[++*i];
        return true;
    case READ_MAXCOUNT:
        return argRange(c, c->argv[++*i], 1, INT64_MAX, &a->max_count, "ERR MAXCOUNT must be > 0");
    case READ_MAXSIZE:
        return argRange(c, c->argv[++*i], 1, INT64_MAX, &a->max_bytes, "ERR MAXSIZE must be > 0");
    case READ_NOACK: a->noack = true; return streamReadOnlyForGroups(c, a, "NOACK");
    default: replySyntaxError(c); return false;
    }
}

static bool streamReadParseReadArgs(struct client *c, struct readArgs *a) {
    int i = 1, args;
    for (; i < c->argc; i++) {
        enum readOption option = streamReadOptionAt(c->argv, c->argc, i, &args);
        if (option == READ_STREAMS) break;
        if (!streamReadParseOption(c, a, option, &i)) return false;
    }
    a->keys_at = i + 1;
    int left = c->argc - a->keys_at;
    if (left <= 0) return replySyntaxError(c);
    if (left % 2)
        return replyErrorFmt(
            c, "ERR Unbalanced '%s' list of streams: for each stream key an ID or '%c' must be specified.",
            a->from_group ? "xreadgroup" : "xread", a->from_group ? '>' : '$');
    a->streams = left / 2;
    if (a->max_count && a->max_count < a->count)
        return replyError(c, "ERR MAXCOUNT must be greater than or equal to COUNT");
    if (!a->from_group || a->group_given) return true;
    return replyError(c, "ERR Missing GROUP option for XREADGROUP");
}

static bool streamReadMeaningless(struct client *c, char id) {
    return replyErrorFmt(
        c,
        "ERR The %c ID is meaningless in the context of XREADGROUP: you want to read the history of this "
        "consumer by specifying a proper ID, or use the > ID to get new messages. The %c ID would just return "
        "an empty result set.",
        id, id);
}

static bool streamReadParseStart(struct client *c, const struct readArgs *a, struct str arg,
                                 struct readStream *r) {
    r->fresh = streamIsChar(arg, '>');
    if ((streamIsChar(arg, '$') || streamIsChar(arg, '+')) && a->from_group)
        return streamReadMeaningless(c, arg.ptr[0]);
    if (r->fresh && !a->from_group)
        return replyError(
            c,
            "ERR The > ID can be specified only when calling XREADGROUP using the GROUP <group> <consumer> "
            "option.");
    if (r->fresh) {
        r->after = r->group->last_id;
    } else if (streamIsChar(arg, '$')) {
        r->after = r->stream ? r->stream->last_id : STREAM_ID_MIN;
    } else if (streamIsChar(arg, '+')) { /* the last entry, or the next one if there is none */
        r->after = r->stream ? streamHighestID(r->stream) : STREAM_ID_MIN;
        if (streamIDIsZero(r->after))
            r->after = r->stream ? r->stream->last_id : STREAM_ID_MIN;
        else
            streamIDPrev(&r->after);
    } else if (!argStreamID(c, arg, 0, &r->after)) {
        return false;
    } else if (a->from_group && !streamIDCompare(r->after, STREAM_ID_MAX)) {
        r->fresh = true; /* the highest ID has always meant ">", as no history can follow it */
    }
    return true;
}

static bool streamReadOpenStream(struct client *c, const struct readArgs *a, int i, struct readStream *r) {
    struct str key = c->argv[a->keys_at + i];
    if (!(a->from_group ? lookupStreamGroups(c, key, &r->stream) : lookupStreamRead(c, key, &r->stream)))
        return false;
    if (a->from_group) {
        r->group = r->stream ? streamGroupFind(r->stream, a->group) : NULL;
        if (!r->group)
            return replyErrorFmt(
                c, "NOGROUP No such key '%.*s' or consumer group '%.*s' in XREADGROUP with GROUP option",
                (int)key.len, key.ptr, (int)a->group.len, a->group.ptr);
    }
    return streamReadParseStart(c, a, c->argv[a->keys_at + a->streams + i], r);
}

/* ---- Limits ---- */

/* A reply that is being written. */
struct readReply {
    struct client *c;
    const struct readArgs *args;
    int64_t now_ms;
    size_t start;    /* bytes that were in the chain before */
    int64_t entries; /* replied so far, of all streams */
    struct str key;  /* of the current stream */
};

/* Returns whether another entry may be replied, after `of_stream` ones of its stream. MAXSIZE ends the reply
 * with the entry that reaches it, so there is at least one. */
static bool streamReadMayReply(const struct readReply *r, int64_t of_stream) {
    const struct readArgs *a = r->args;
    if (a->count && of_stream >= a->count) return false;
    if (a->max_count && r->entries >= a->max_count) return false;
    return !a->max_bytes || !r->entries || r->c->out.bytes - r->start < (size_t)a->max_bytes;
}

/* ---- Delivery to a group ---- */

static void streamReadPropagateDelivery(struct readReply *d, const struct readStream *r, struct streamID id,
                                        const struct streamNack *nack) {
    if (nack) propagateClaim(d->c, d->key, d->args->group, r->group, id, nack);
}

/* Delivers entries that the group has not delivered yet, after `n` others. Returns the number of all. */
static int64_t streamReadDeliverFresh(struct readReply *d, struct readStream *r, int64_t n) {
    struct streamIterator it;
    int64_t before = n;
    struct streamID start = r->after;
    streamIDNext(&start);
    streamIterate(&it, r->stream, start, STREAM_ID_MAX, false);
    while (streamReadMayReply(d, n) && streamNext(&it)) {
        struct streamNack *nack = NULL;
        streamGroupAdvance(r->stream, r->group, it.id);
        replyStreamEntry(d->c, &it, d->args->claim ? 2 : 0);
        if (d->args->claim) { /* idle time and deliveries, of an entry that was never delivered */
            replyLongLong(d->c, 0);
            replyLongLong(d->c, 0);
        }
        if (!d->args->noack) nack = streamPendingSet(r->group, it.id, r->consumer, d->now_ms);
        streamReadPropagateDelivery(d, r, it.id, nack);
        n++;
        d->entries++;
    }
    streamStop(&it);
    if (n == before) return n;
    if (!d->args->noack) r->consumer->active_ms = d->now_ms;
    propagateGroupID(d->c, d->key, d->args->group, r->group);
    return n;
}

/* Returns the entry that has been pending for the longest time, and its ID; NULL when nothing is pending. */
static struct streamNack *streamReadFirstDue(const struct readStream *r, struct streamFinder *f,
                                             struct streamID *id) {
    for (struct streamNack *nack; (nack = streamDueFirst(r->group, id)); streamDueTakeFirst(r->group))
        if (streamFinderFind(f, *id)) return nack;
    return NULL;
}

static bool streamReadIsDue(const struct readArgs *a, const struct streamNack *nack, int64_t now_ms) {
    return nack && nack->delivered_ms <= now_ms - a->min_idle_ms;
}

/* Gives the entry where the finder is to the consumer. */
static void streamReadClaim(struct readReply *d, struct readStream *r, struct streamFinder *f,
                            struct streamNack *nack) {
    struct streamID id = f->it.id;
    replyStreamEntry(d->c, &f->it, 2);
    replyLongLong(d->c, d->now_ms - nack->delivered_ms);
    replyLongLong(d->c, (int64_t)nack->deliveries);
    streamPendingAssign(r->group, id, nack, r->consumer);
    streamPendingCountDelivery(nack);
}

/* Claims what has been pending for long enough. Returns how many entries there were. They have their new
 * time, and are in the index again, only at the end: with a minimum of 0 ms they would come again. */
static int64_t streamReadClaimDue(struct readReply *d, struct readStream *r) {
    struct streamFinder f;
    struct streamIDList claimed = {0};
    streamFinderStart(&f, r->stream);
    while (streamReadMayReply(d, (int64_t)claimed.count)) {
        struct streamID id;
        struct streamNack *nack = streamReadFirstDue(r, &f, &id);
        if (!streamReadIsDue(d->args, nack, d->now_ms)) break;
        streamDueTakeFirst(r->group);
        streamReadClaim(d, r, &f, nack);
        streamIDListAdd(&claimed, id);
        d->entries++;
    }
    streamFinderStop(&f);
    for (size_t i = 0; i < claimed.count; i++) {
        struct streamNack *nack = streamPendingFind(r->group, claimed.ids[i]);
        nack->delivered_ms = d->now_ms;
        streamDueInsert(r->group, claimed.ids[i], d->now_ms);
        propagateClaim(d->c, d->key, d->args->group, r->group, claimed.ids[i], nack);
    }
    zfree(claimed.ids);
    if (claimed.count) r->consumer->active_ms = d->now_ms;
    return (int64_t)claimed.count;
}

static void streamReadDeliver(struct readReply *d, struct readStream *r) {
    struct replyMark mark = replyDeferLen(d->c);
    int64_t n = d->args->claim ? streamReadClaimDue(d, r) : 0;
    n = streamReadDeliverFresh(d, r, n);
    replySetArrayLen(d->c, mark, n);
    keyStateChanged(d->c->db, d->key, NOTIFY_STREAM, NULL, 1);
}

/* Delivers entries that the consumer has received before and not acknowledged. */
static void streamReadDeliverAgain(struct readReply *d, struct readStream *r) {
    struct raxIterator it;
    struct streamFinder f;
    struct streamKey key = streamKeyOf(r->after);
    int64_t n = 0;
    bool changed = false;
    struct replyMark mark = replyDeferLen(d->c);
    streamFinderStart(&f, r->stream);
    raxStart(&it, &r->consumer->pending);
    bool more = raxSeek(&it, ">", streamKeyView(&key));
    for (; more && streamReadMayReply(d, n); more = raxNext(&it), n++) {
        struct streamNack *nack = it.value;
        struct streamID id = streamKeyID(it.key);
        d->entries++;
        if (!replyStreamOne(d->c, &f, id)) continue;
        streamPendingDelivered(r->group, id, nack, d->now_ms);
        streamPendingCountDelivery(nack);
        propagateClaim(d->c, d->key, d->args->group, r->group, id, nack);
        changed = true;
    }
    raxStop(&it);
    streamFinderStop(&f);
    replySetArrayLen(d->c, mark, n);
    if (changed) keyStateChanged(d->c->db, d->key, NOTIFY_STREAM, NULL, 1);
}

/* ---- The commands ---- */

static bool streamReadHasDue(const struct readArgs *a, const struct readStream *r, int64_t now_ms) {
    struct streamFinder f;
    struct streamID id;
    streamFinderStart(&f, r->stream);
    bool due = streamReadIsDue(a, streamReadFirstDue(r, &f, &id), now_ms);
    streamFinderStop(&f);
    return due;
}

static bool streamReadHasSomething(const struct readArgs *a, const struct readStream *r, int64_t now_ms) {
    if (r->group && !r->fresh) return true; /* history is replied even when it is empty */
    if (!r->stream || !r->stream->length) return false;
    if (streamIDCompare(streamHighestID(r->stream), r->after) > 0) return true;
    return a->claim && streamReadHasDue(a, r, now_ms);
}

/* Replies entry by entry, up to MAXSIZE. */
static void streamReadReplySized(struct readReply *reply, struct stream *s, struct streamID start) {
    struct streamIterator it;
    int64_t n = 0;
    struct replyMark mark = replyDeferLen(reply->c);
    streamIterate(&it, s, start, STREAM_ID_MAX, false);
    for (; streamReadMayReply(reply, n) && streamNext(&it); n++, reply->entries++)
        replyStreamEntry(reply->c, &it, 0);
    streamStop(&it);
    replySetArrayLen(reply->c, mark, n);
}

static void streamReadReplyNew(struct readReply *reply, const struct readStream *r) {
    const struct readArgs *a = reply->args;
    struct streamID start = r->after;
    int64_t count = a->count, left = a->max_count - reply->entries;
    streamIDNext(&start);
    if (a->max_count && (!count || left < count)) count = left;
    if (a->max_bytes)
        streamReadReplySized(reply, r->stream, start);
    else
        reply->entries += replyStreamRange(reply->c, r->stream, start, STREAM_ID_MAX, false, count);
}

static void streamReadReplyOneStream(struct readReply *reply, struct str key, struct readStream *r) {
    struct client *c = reply->c;
    reply->key = key;
    if (c->resp == 2) replyArrayLen(c, 2);
    replyBulk(c, key);
    if (!r->group)
        streamReadReplyNew(reply, r);
    else if (r->fresh)
        streamReadDeliver(reply, r);
    else
        streamReadDeliverAgain(reply, r);
}

/* Returns false when there is nothing. */
static bool streamReadReplyStreams(struct client *c, const struct readArgs *a, struct readStream *streams,
                                   int64_t now_ms) {
    int64_t found = 0;
    struct replyMark mark;
    struct readReply reply = {.c = c, .args = a, .now_ms = now_ms, .start = c->out.bytes};
    for (int i = 0; i < a->streams; i++) {
        struct str key = c->argv[a->keys_at + i];
        struct readStream *r = &streams[i];
        if (r->group) {
            r->consumer = streamConsumerFor(c, key, a->group, r->group, a->consumer, now_ms);
            if (r->fresh) r->after = r->group->last_id; /* the same key may have been named before */
        }
        if (!streamReadMayReply(&reply, 0) || !streamReadHasSomething(a, r, now_ms)) continue;
        if (!found++) mark = replyDeferLen(c);
        streamReadReplyOneStream(&reply, key, r);
    }
    if (!found) return false;
    if (c->resp == 2)
        replySetArrayLen(c, mark, found);
    else
        replySetMapLen(c, mark, found);
    return true;
}

/* ---- Waiting ---- */

/* Returns when an entry of the stream may have been pending for long enough. */
static int64_t streamReadClaimTime(const struct readArgs *a, const struct readStream *r, int64_t now_ms) {
    struct streamFinder f;
    struct streamID id;
    streamFinderStart(&f, r->stream);
    const struct streamNack *nack = streamReadFirstDue(r, &f, &id);
    streamFinderStop(&f);
    if (nack && nack->delivered_ms <= now_ms) return nack->delivered_ms + a->min_idle_ms;
    return now_ms + (a->min_idle_ms > CLAIM_RECHECK_MS ? a->min_idle_ms : CLAIM_RECHECK_MS);
}

static void streamReadRetryInTime(struct client *c, const struct readArgs *a,
                                  const struct readStream *streams) {
    int64_t now_ms = mstime(), at = INT64_MAX;
    if (a->min_idle_ms > INT64_MAX / 2) return;
    for (int i = 0; i < a->streams; i++) {
        int64_t time = streams[i].fresh ? streamReadClaimTime(a, &streams[i], now_ms) : INT64_MAX;
        if (time < at) at = time;
    }
    if (at < INT64_MAX) blockedRetryAt(c, at);
}

/* The waiting copy of the command has IDs where the client wrote "$". */
static void streamReadWaitForStreams(struct client *c, const struct readArgs *a,
                                     const struct readStream *streams) {
    char(*texts)[STREAM_ID_TEXT] = zmalloc((size_t)a->streams * sizeof *texts);
    struct str *ids = c->argv + a->keys_at + a->streams, *given = zmalloc((size_t)a->streams * sizeof *given);
    memcpy(given, ids, (size_t)a->streams * sizeof *given);
    for (int i = 0; i < a->streams; i++)
        if (streamIsChar(ids[i], '$')) ids[i] = streamIDText(streams[i].after, texts[i]);
    blockForKeys(c, c->argv + a->keys_at, a->streams, OBJ_STREAM, a->deadline_ms, NULL, a->from_group);
    if (a->claim) streamReadRetryInTime(c, a, streams);
    memcpy(ids, given, (size_t)a->streams * sizeof *given);
    zfree(given);
    zfree(texts);
}

static void streamReadGeneric(struct client *c, bool from_group) {
    struct readArgs a = {.from_group = from_group};
    if (!streamReadParseReadArgs(c, &a)) return;
    struct readStream *streams = zcalloc((size_t)a.streams, sizeof *streams);
    int opened = 0;
    while (opened < a.streams && streamReadOpenStream(c, &a, opened, &streams[opened])) opened++;
    if (opened == a.streams && !streamReadReplyStreams(c, &a, streams, mstime())) {
        if (!a.block || c->flags & CLIENT_DENY_BLOCKING)
            replyNullArray(c);
        else if (!readRefuses())
            streamReadWaitForStreams(c, &a, streams);
    }
    zfree(streams);
}

void xreadCommand(struct client *c) {
    streamReadGeneric(c, false);
}

void xreadgroupCommand(struct client *c) {
    streamReadGeneric(c, true);
}
