/* SPDX-License-Identifier: BSD-3-Clause */
/* stream_read.c - XREAD and XREADGROUP (part of stream.h).
 *
 * Both look at their streams and reply what is there. When there is nothing they wait, and are run again from
 * the start when one of the streams has grown. Only "$", the end of the stream when the client called, must
 * not be evaluated again: the waiting command has the ID in its place. */
#include "base/clock.h"
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

struct readArgs {
    bool from_group, block, noack, group_given;
    int64_t count; /* 0: all */
    int64_t deadline_ms;
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

enum readOption { READ_UNKNOWN, READ_BLOCK, READ_COUNT, READ_GROUP, READ_NOACK, READ_STREAMS };

/* Returns the option at argv[i]; *args: how many arguments it takes (STREAMS: at least). */
static enum readOption streamReadOptionAt(const struct str *argv, int argc, int i, int *args) {
    static const struct {
        const char *name;
        int args;
        enum readOption option;
    } options[] = {{"block", 1, READ_BLOCK},
                   {"count", 1, READ_COUNT},
                   {"group", 2, READ_GROUP},
                   {"noack", 0, READ_NOACK},
                   {"streams", 1, READ_STREAMS}};
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

/* Parses the option at argv[*i] and moves *i to the last argument that it uses. */
static bool streamReadParseOption(struct client *c, struct readArgs *a, enum readOption option, int *i) {
    switch (option) {
    case READ_BLOCK: a->block = true; return argTimeout(c, c->argv[++*i], true, &a->deadline_ms);
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
    if (!lookupStreamRead(c, key, &r->stream)) return false;
    if (a->from_group) {
        r->group = r->stream ? streamGroupFind(r->stream, a->group) : NULL;
        if (!r->group)
            return replyErrorFmt(
                c, "NOGROUP No such key '%.*s' or consumer group '%.*s' in XREADGROUP with GROUP option",
                (int)key.len, key.ptr, (int)a->group.len, a->group.ptr);
    }
    return streamReadParseStart(c, a, c->argv[a->keys_at + a->streams + i], r);
}

/* ---- Delivery to a group ---- */

struct delivery {
    struct client *c;
    const struct readArgs *args;
    struct str key;
    int64_t now_ms;
};

static void streamReadPropagateDelivery(const struct delivery *d, const struct readStream *r,
                                        struct streamID id, const struct streamNack *nack) {
    if (nack) propagateClaim(d->c, d->key, d->args->group, r->group, id, nack);
}

/* Delivers entries that the group has not delivered yet. */
static void streamReadDeliverFresh(const struct delivery *d, struct readStream *r) {
    struct streamIterator it;
    int64_t n = 0;
    struct streamID start = r->after;
    struct replyMark mark = replyDeferLen(d->c);
    streamIDNext(&start);
    streamIterate(&it, r->stream, start, STREAM_ID_MAX, false);
    while ((!d->args->count || n < d->args->count) && streamNext(&it)) {
        struct streamNack *nack = NULL;
        streamGroupAdvance(r->stream, r->group, it.id);
        replyStreamEntry(d->c, &it);
        if (!d->args->noack) nack = streamPendingSet(r->group, it.id, r->consumer, d->now_ms);
        streamReadPropagateDelivery(d, r, it.id, nack);
        n++;
    }
    streamStop(&it);
    replySetArrayLen(d->c, mark, n);
    if (!d->args->noack) r->consumer->active_ms = d->now_ms;
    propagateGroupID(d->c, d->key, d->args->group, r->group);
    keyStateChanged(d->c->db, d->key, NOTIFY_STREAM, NULL, 1);
}

/* Delivers entries that the consumer has received before and not acknowledged. */
static void streamReadDeliverAgain(const struct delivery *d, struct readStream *r) {
    struct raxIterator it;
    struct streamFinder f;
    struct streamKey key = streamKeyOf(r->after);
    int64_t n = 0;
    bool changed = false;
    struct replyMark mark = replyDeferLen(d->c);
    streamFinderStart(&f, r->stream);
    raxStart(&it, &r->consumer->pending);
    bool more = raxSeek(&it, ">", streamKeyView(&key));
    for (; more && (!d->args->count || n < d->args->count); more = raxNext(&it), n++) {
        struct streamNack *nack = it.value;
        struct streamID id = streamKeyID(it.key);
        if (!replyStreamOne(d->c, &f, id)) continue;
        nack->delivered_ms = d->now_ms;
        nack->deliveries++;
        propagateClaim(d->c, d->key, d->args->group, r->group, id, nack);
        changed = true;
    }
    raxStop(&it);
    streamFinderStop(&f);
    replySetArrayLen(d->c, mark, n);
    if (changed) keyStateChanged(d->c->db, d->key, NOTIFY_STREAM, NULL, 1);
}

/* ---- The commands ---- */

static bool streamReadHasSomething(const struct readStream *r) {
    if (r->group && !r->fresh) return true; /* history is replied even when it is empty */
    return r->stream && r->stream->length && streamIDCompare(streamHighestID(r->stream), r->after) > 0;
}

static void streamReadReplyOneStream(struct client *c, const struct readArgs *a, struct str key,
                                     struct readStream *r, int64_t now_ms) {
    struct delivery d = {c, a, key, now_ms};
    if (c->resp == 2) replyArrayLen(c, 2);
    replyBulk(c, key);
    if (!r->group) {
        struct streamID start = r->after;
        streamIDNext(&start);
        replyStreamRange(c, r->stream, start, STREAM_ID_MAX, false, a->count);
    } else if (r->fresh) {
        streamReadDeliverFresh(&d, r);
    } else {
        streamReadDeliverAgain(&d, r);
    }
}

/* Returns false when there is nothing. */
static bool streamReadReplyStreams(struct client *c, const struct readArgs *a, struct readStream *streams,
                                   int64_t now_ms) {
    int64_t found = 0;
    struct replyMark mark;
    for (int i = 0; i < a->streams; i++) {
        struct str key = c->argv[a->keys_at + i];
        struct readStream *r = &streams[i];
        if (r->group) {
            r->consumer = streamConsumerFor(c, key, a->group, r->group, a->consumer, now_ms);
            if (r->fresh) r->after = r->group->last_id; /* the same key may have been named before */
        }
        if (!streamReadHasSomething(r)) continue;
        if (!found++) mark = replyDeferLen(c);
        streamReadReplyOneStream(c, a, key, r, now_ms);
    }
    if (!found) return false;
    if (c->resp == 2)
        replySetArrayLen(c, mark, found);
    else
        replySetMapLen(c, mark, found);
    return true;
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
        if (a.block && !(c->flags & CLIENT_DENY_BLOCKING))
            streamReadWaitForStreams(c, &a, streams);
        else
            replyNullArray(c);
    }
    zfree(streams);
}

void xreadCommand(struct client *c) {
    streamReadGeneric(c, false);
}

void xreadgroupCommand(struct client *c) {
    streamReadGeneric(c, true);
}
