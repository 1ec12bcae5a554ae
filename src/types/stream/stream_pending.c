/* SPDX-License-Identifier: BSD-3-Clause */
/* stream_pending.c - commands about entries that were delivered and not acknowledged: XACK, XPENDING, XCLAIM,
 * XAUTOCLAIM, XNACK (part of stream.h).
 *
 * A pending entry may have been deleted from the stream; claiming removes it from the list. These commands
 * look the stream up as readers (hits and misses count), and change only the group. */
#include "base/clock.h"
#include "base/num.h"
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

#define AUTOCLAIM_COUNT     100
#define AUTOCLAIM_ATTEMPTS  10                 /* pending entries looked at, for each that may be claimed */
#define AUTOCLAIM_COUNT_MAX ((int64_t)1 << 32) /* more would not fit into memory */

/* Returns the group argv[2] of the stream argv[1], or NULL after an error reply. */
static struct streamGroup *streamPendingGroupOfArgs(struct client *c, bool change, struct stream **s) {
    struct str key = c->argv[1], group = c->argv[2];
    if (!(change ? lookupStreamGroups(c, key, s) : lookupStreamRead(c, key, s))) return NULL;
    struct streamGroup *g = *s ? streamGroupFind(*s, group) : NULL;
    if (!g)
        replyErrorFmt(c, "NOGROUP No such key '%.*s' or consumer group '%.*s'", (int)key.len, key.ptr,
                      (int)group.len, group.ptr);
    return g;
}

/* ---- XACK ---- */

void xackCommand(struct client *c) {
    struct stream *s;
    if (!lookupStreamGroups(c, c->argv[1], &s)) return;
    struct streamGroup *g = s ? streamGroupFind(s, c->argv[2]) : NULL;
    if (!g) {
        replyLongLong(c, 0);
        return;
    }
    struct streamID *ids = argStreamIDs(c, 3, c->argc);
    if (!ids) return;
    int64_t acknowledged = 0;
    for (int i = 3; i < c->argc; i++) acknowledged += streamPendingRemove(g, ids[i - 3]);
    zfree(ids);
    keyStateChanged(c->db, c->argv[1], NOTIFY_STREAM, NULL, (uint64_t)acknowledged);
    replyLongLong(c, acknowledged);
}

/* ---- XPENDING ---- */

static void streamPendingReplyEdge(struct client *c, const struct rax *pending, const char *edge) {
    struct raxIterator it;
    raxStart(&it, pending);
    raxSeek(&it, edge, STR(""));
    replyStreamID(c, streamKeyID(it.key));
    raxStop(&it);
}

size_t streamPendingUnowned(struct streamGroup *g) {
    const struct streamConsumer *nobody = streamConsumerFind(g, STR(""));
    struct raxIterator it;
    if (!nobody || !nobody->pending.size) return 0;
    raxStart(&it, &nobody->pending);
    raxSeek(&it, "^", STR(""));
    const struct streamNack *nack = it.value;
    raxStop(&it);
    return nack->delivered_ms ? 0 : nobody->pending.size;
}

static void streamPendingReplyBusyConsumers(struct client *c, struct streamGroup *g) {
    struct raxIterator it;
    int64_t n = 0;
    bool skip_nobody = streamPendingUnowned(g);
    struct replyMark mark = replyDeferLen(c);
    raxStart(&it, &g->consumers);
    for (bool more = raxSeek(&it, "^", STR("")); more; more = raxNext(&it)) {
        struct streamConsumer *consumer = it.value;
        if (!consumer->pending.size || (skip_nobody && !it.key.len)) continue;
        replyArrayLen(c, 2);
        replyBulk(c, it.key);
        replyBulkLongLong(c, (int64_t)consumer->pending.size);
        n++;
    }
    raxStop(&it);
    replySetArrayLen(c, mark, n);
}

static void streamPendingReplySummary(struct client *c) {
    struct stream *s;
    struct streamGroup *g = streamPendingGroupOfArgs(c, false, &s);
    if (!g) return;
    replyArrayLen(c, 4);
    replyLongLong(c, (int64_t)g->pending.size);
    if (!g->pending.size) {
        replyNull(c);
        replyNull(c);
        replyNullArray(c);
        return;
    }
    streamPendingReplyEdge(c, &g->pending, "^");
    streamPendingReplyEdge(c, &g->pending, "$");
    streamPendingReplyBusyConsumers(c, g);
}

struct pendingArgs {
    int64_t min_idle_ms, count;
    struct streamID start, end;
    bool consumer_given;
    struct str consumer;
};

static bool streamPendingParsePending(struct client *c, struct pendingArgs *a) {
    int at = 3;
    *a = (struct pendingArgs){0};
    if (c->argc < 6 || c->argc > 9) goto syntax;
    if (strIs(c->argv[3], "idle")) {
        if (!argLongLong(c, c->argv[4], &a->min_idle_ms, NULL)) return false;
        if (c->argc < 8) goto syntax;
        at = 5;
    }
    if (!argLongLong(c, c->argv[at + 2], &a->count, NULL)) return false;
    if (!argStreamStart(c, c->argv[at], &a->start) || !argStreamEnd(c, c->argv[at + 1], &a->end))
        return false;
    a->consumer_given = at + 3 < c->argc;
    if (a->consumer_given) a->consumer = c->argv[at + 3];
    return true;
syntax:
    return replySyntaxError(c);
}

static void streamPendingReplyList(struct client *c, const struct rax *pending, const struct pendingArgs *a) {
    struct raxIterator it;
    struct streamKey start = streamKeyOf(a->start);
    int64_t n = 0, now = mstime();
    struct replyMark mark = replyDeferLen(c);
    raxStart(&it, pending);
    bool more = raxSeek(&it, ">=", streamKeyView(&start));
    for (; more && n < a->count; more = raxNext(&it)) {
        struct streamNack *nack = it.value;
        struct streamID id = streamKeyID(it.key);
        int64_t idle = now - nack->delivered_ms;
        if (streamIDCompare(id, a->end) > 0) break;
        if (a->min_idle_ms && idle < a->min_idle_ms) continue;
        replyArrayLen(c, 4);
        replyStreamID(c, id);
        replyBulk(c, sdsview(nack->consumer->name));
        replyLongLong(c, idle < 0 ? 0 : idle);
        replyLongLong(c, (int64_t)nack->deliveries);
        n++;
    }
    raxStop(&it);
    replySetArrayLen(c, mark, n);
}

void xpendingCommand(struct client *c) {
    struct pendingArgs a;
    struct stream *s;
    if (c->argc == 3) {
        streamPendingReplySummary(c);
        return;
    }
    if (!streamPendingParsePending(c, &a)) return;
    struct streamGroup *g = streamPendingGroupOfArgs(c, false, &s);
    if (!g) return;
    struct streamConsumer *consumer = a.consumer_given ? streamConsumerFind(g, a.consumer) : NULL;
    if (a.consumer_given && !consumer)
        replyArrayLen(c, 0);
    else
        streamPendingReplyList(c, consumer ? &consumer->pending : &g->pending, &a);
}

/* ---- Claiming ---- */

/* How an entry gets another consumer. */
struct xclaimOptions {
    struct client *c;
    struct stream *stream;
    struct streamFinder *finder; /* of entries of the stream */
    struct streamGroup *group;
    struct streamConsumer *consumer;
    int64_t now_ms, delivered_ms, min_idle_ms;
    int64_t retry_count; /* -1: one more, or unchanged with just_id */
    bool just_id, force;
};

static void streamPendingClaimEntry(const struct xclaimOptions *cl, struct streamID id,
                                    struct streamNack *nack) {
    struct client *c = cl->c;
    streamPendingAssign(cl->group, id, nack, cl->consumer);
    streamPendingDelivered(cl->group, id, nack, cl->delivered_ms);
    if (cl->delivered_ms < cl->now_ms) signalKeyReady(c->db, c->argv[1]); /* for XREADGROUP CLAIM */
    if (cl->retry_count >= 0)
        nack->deliveries = (uint64_t)cl->retry_count;
    else if (!cl->just_id)
        streamPendingCountDelivery(nack);
    if (cl->just_id)
        replyStreamID(c, id);
    else
        replyStreamOne(c, cl->finder, id);
    cl->consumer->active_ms = cl->now_ms;
    propagateClaim(c, c->argv[1], c->argv[2], cl->group, id, nack);
    keyStateChanged(c->db, c->argv[1], NOTIFY_STREAM, NULL, 1);
}

/* Handles a pending entry that is no longer in the stream. */
static void streamPendingDropEntry(const struct xclaimOptions *cl, struct streamID id) {
    if (!streamPendingRemove(cl->group, id)) return;
    propagateAck(cl->c, cl->c->argv[1], cl->c->argv[2], id);
    keyStateChanged(cl->c->db, cl->c->argv[1], NOTIFY_STREAM, NULL, 1);
}

static bool streamPendingIdleEnough(const struct xclaimOptions *cl, const struct streamNack *nack) {
    return !cl->min_idle_ms || cl->now_ms - nack->delivered_ms >= cl->min_idle_ms;
}

static bool streamPendingArgMinIdle(struct client *c, const char *command, int64_t *min_idle_ms) {
    if (!string2ll(c->argv[4], min_idle_ms))
        return replyErrorFmt(c, "ERR Invalid min-idle-time argument for %s", command);
    if (*min_idle_ms < 0) *min_idle_ms = 0;
    return true;
}

/* ---- XCLAIM ---- */

static bool streamPendingClaimNumber(struct client *c, struct str arg, const char *option, int64_t *n) {
    if (string2ll(arg, n)) return true;
    return replyErrorFmt(c, "ERR Invalid %s option argument for XCLAIM", option);
}

static bool streamPendingClaimOption(struct xclaimOptions *cl, int *i, int64_t *time,
                                     struct streamID *last_id) {
    struct client *c = cl->c;
    struct str opt = c->argv[*i];
    bool more = *i + 1 < c->argc;
    if (strIs(opt, "force")) return cl->force = true;
    if (strIs(opt, "justid")) return cl->just_id = true;
    if (more && strIs(opt, "idle")) {
        if (!streamPendingClaimNumber(c, c->argv[++*i], "IDLE", time)) return false;
        *time = (int64_t)((uint64_t)cl->now_ms - (uint64_t)*time);
        return true;
    }
    if (more && strIs(opt, "time")) return streamPendingClaimNumber(c, c->argv[++*i], "TIME", time);
    if (more && strIs(opt, "retrycount"))
        return streamPendingClaimNumber(c, c->argv[++*i], "RETRYCOUNT", &cl->retry_count);
    if (more && strIs(opt, "lastid")) return argStreamID(c, c->argv[++*i], 0, last_id);
    return replyErrorFmt(c, "ERR Unrecognized XCLAIM option '%.*s'", (int)opt.len, opt.ptr);
}

/* Parses the options from argv[i] on. */
static bool streamPendingParseClaim(struct xclaimOptions *cl, int i, struct streamID *last_id) {
    int64_t time = -1;
    for (; i < cl->c->argc; i++)
        if (!streamPendingClaimOption(cl, &i, &time, last_id)) return false;
    cl->delivered_ms = time < 0 || time > cl->now_ms ? cl->now_ms : time;
    return true;
}

static bool streamPendingClaimOne(const struct xclaimOptions *cl, struct streamID id) {
    struct streamNack *nack = streamPendingFind(cl->group, id);
    if (!streamFinderFind(cl->finder, id)) {
        streamPendingDropEntry(cl, id);
        return false;
    }
    if (!nack && cl->force)
        nack = streamPendingSet(cl->group, id, cl->consumer, cl->now_ms);
    else if (!nack || !streamPendingIdleEnough(cl, nack))
        return false;
    streamPendingClaimEntry(cl, id, nack);
    return true;
}

void xclaimCommand(struct client *c) {
    struct xclaimOptions cl = {.c = c, .now_ms = mstime(), .retry_count = -1};
    struct streamID last_id = STREAM_ID_MIN, id;
    cl.group = streamPendingGroupOfArgs(c, true, &cl.stream);
    if (!cl.group || !streamPendingArgMinIdle(c, "XCLAIM", &cl.min_idle_ms)) return;
    int ids_end = 5;
    while (ids_end < c->argc && streamIDParse(c->argv[ids_end], 0, &id)) ids_end++;
    if (!streamPendingParseClaim(&cl, ids_end, &last_id)) return;

    cl.consumer = streamConsumerFor(c, c->argv[1], c->argv[2], cl.group, c->argv[3], cl.now_ms);
    struct streamFinder finder;
    cl.finder = &finder;
    streamFinderStart(&finder, cl.stream);
    bool moved = streamIDCompare(last_id, cl.group->last_id) > 0;
    if (moved) cl.group->last_id = last_id;
    int64_t claimed = 0;
    struct replyMark mark = replyDeferLen(c);
    for (int i = 5; i < ids_end; i++) {
        streamIDParse(c->argv[i], 0, &id);
        claimed += streamPendingClaimOne(&cl, id);
    }
    streamFinderStop(&finder);
    replySetArrayLen(c, mark, claimed);
    if (!moved || claimed) return; /* a claim carries the last ID */
    propagateGroupID(c, c->argv[1], c->argv[2], cl.group);
    keyStateChanged(c->db, c->argv[1], NOTIFY_STREAM, NULL, 1);
}

/* ---- XAUTOCLAIM ---- */

static bool streamPendingParseAutoclaim(struct xclaimOptions *cl, struct streamID *start, int64_t *count) {
    struct client *c = cl->c;
    *count = AUTOCLAIM_COUNT;
    if (!streamPendingArgMinIdle(c, "XAUTOCLAIM", &cl->min_idle_ms) || !argStreamStart(c, c->argv[5], start))
        return false;
    for (int i = 6; i < c->argc; i++) {
        if (strIs(c->argv[i], "count") && i + 1 < c->argc) {
            int64_t most = INT64_MAX / (int64_t)sizeof(struct streamID);
            if (!argRange(c, c->argv[++i], 1, most, count, "ERR COUNT must be > 0")) return false;
        } else if (strIs(c->argv[i], "justid")) {
            cl->just_id = true;
        } else
            return replySyntaxError(c);
    }
    return true;
}

/* The reply begins with the ID to continue from, so the entries to claim are chosen first. Returns that ID;
 * 0-0 at the end. */
static struct streamID streamPendingChooseEntries(const struct xclaimOptions *cl, struct streamID start,
                                                  int64_t count, struct streamIDList *claimed,
                                                  struct streamIDList *deleted) {
    struct raxIterator it;
    struct streamKey key = streamKeyOf(start);
    raxStart(&it, &cl->group->pending);
    bool more = raxSeek(&it, ">=", streamKeyView(&key));
    for (int64_t attempts = count * AUTOCLAIM_ATTEMPTS; more && count && attempts--; more = raxNext(&it)) {
        struct streamID id = streamKeyID(it.key);
        bool exists = streamFinderFind(cl->finder, id);
        if (exists && !streamPendingIdleEnough(cl, it.value)) continue;
        streamIDListAdd(exists ? claimed : deleted, id);
        count--;
    }
    struct streamID next = more ? streamKeyID(it.key) : STREAM_ID_MIN;
    raxStop(&it);
    return next;
}

static void streamPendingAutoclaim(const struct xclaimOptions *cl, struct streamID start, int64_t count) {
    struct client *c = cl->c;
    struct streamIDList claimed = {0}, deleted = {0};
    replyArrayLen(c, 3);
    replyStreamID(c, streamPendingChooseEntries(cl, start, count, &claimed, &deleted));
    replyArrayLen(c, (int64_t)claimed.count);
    for (size_t i = 0; i < claimed.count; i++)
        streamPendingClaimEntry(cl, claimed.ids[i], streamPendingFind(cl->group, claimed.ids[i]));
    replyArrayLen(c, (int64_t)deleted.count);
    for (size_t i = 0; i < deleted.count; i++) {
        replyStreamID(c, deleted.ids[i]);
        streamPendingDropEntry(cl, deleted.ids[i]);
    }
    zfree(claimed.ids);
    zfree(deleted.ids);
}

void xautoclaimCommand(struct client *c) {
    struct xclaimOptions cl = {.c = c, .now_ms = mstime(), .retry_count = -1};
    struct streamID start;
    int64_t count;
    if (!streamPendingParseAutoclaim(&cl, &start, &count)) return;
    cl.group = streamPendingGroupOfArgs(c, true, &cl.stream);
    if (!cl.group) return;
    if (count > AUTOCLAIM_COUNT_MAX) {
        replyError(c, "ERR Insufficient memory, failed allocating transient memory, COUNT too high.");
        return;
    }
    struct streamFinder finder;
    cl.finder = &finder;
    cl.delivered_ms = cl.now_ms;
    cl.consumer = streamConsumerFor(c, c->argv[1], c->argv[2], cl.group, c->argv[3], cl.now_ms);
    streamFinderStart(&finder, cl.stream);
    streamPendingAutoclaim(&cl, start, count);
    streamFinderStop(&finder);
}

/* ---- XNACK ----
 *
 * An entry that a consumer gives back has no owner: it is pending for the consumer with the empty name, since
 * the time 0. So whoever claims takes it first, and files and replicas of other servers can hold it. */

enum nackMode { NACK_SILENT, NACK_FAIL, NACK_FATAL };

struct nackArgs {
    enum nackMode mode;
    int ids_at, ids_end;
    int64_t retry_count; /* -1: the mode says it */
    bool force;
};

static bool streamNackMode(struct str arg, enum nackMode *mode) {
    static const char *const names[] = {
        [NACK_SILENT] = "silent", [NACK_FAIL] = "fail", [NACK_FATAL] = "fatal"};
    for (*mode = NACK_SILENT; *mode <= NACK_FATAL; ++*mode)
        if (strIs(arg, names[*mode])) return true;
    return false;
}

/* Parses SILENT|FAIL|FATAL IDS numids id... [RETRYCOUNT count] [FORCE], except for the IDs. */
static bool streamNackParse(struct client *c, struct nackArgs *a) {
    int64_t count;
    *a = (struct nackArgs){.ids_at = 6, .retry_count = -1};
    if (!streamNackMode(c->argv[3], &a->mode) || !strIs(c->argv[4], "ids")) return replySyntaxError(c);
    if (!argRange(c, c->argv[5], 1, INT64_MAX, &count, "ERR Number of IDs must be a positive integer"))
        return false;
    if (count > c->argc - a->ids_at) return replySyntaxError(c);
    a->ids_end = a->ids_at + (int)count;
    for (int i = a->ids_end; i < c->argc; i++) {
        if (strIs(c->argv[i], "force")) {
            a->force = true;
        } else if (strIs(c->argv[i], "retrycount") && i + 1 < c->argc) {
            if (!argRange(c, c->argv[++i], 0, INT64_MAX, &a->retry_count, "ERR RETRYCOUNT must be >= 0"))
                return false;
        } else
            return replySyntaxError(c);
    }
    return true;
}

static uint64_t streamNackDeliveries(const struct nackArgs *a, uint64_t deliveries) {
    if (a->retry_count >= 0) return (uint64_t)a->retry_count;
    if (a->mode == NACK_FATAL) return INT64_MAX;
    return deliveries - (a->mode == NACK_SILENT && deliveries);
}

/* Returns whether the entry is pending without an owner now. */
static bool streamNackOne(struct xclaimOptions *cl, const struct nackArgs *a, struct streamID id) {
    struct client *c = cl->c;
    struct streamNack *nack = streamPendingFind(cl->group, id);
    if (!nack && !a->force) return false;
    if (!streamFinderFind(cl->finder, id)) {
        streamPendingDropEntry(cl, id);
        return false;
    }
    if (!cl->consumer)
        cl->consumer = streamConsumerFor(c, c->argv[1], c->argv[2], cl->group, STR(""), cl->now_ms);
    uint64_t deliveries = streamNackDeliveries(a, nack ? nack->deliveries : 0);
    nack = streamPendingSet(cl->group, id, cl->consumer, 0);
    nack->deliveries = deliveries;
    propagateClaim(c, c->argv[1], c->argv[2], cl->group, id, nack);
    keyStateChanged(c->db, c->argv[1], NOTIFY_STREAM, NULL, 1);
    return true;
}

void xnackCommand(struct client *c) {
    struct xclaimOptions cl = {.c = c, .now_ms = mstime()};
    struct nackArgs a;
    if (!streamNackParse(c, &a)) return;
    cl.group = streamPendingGroupOfArgs(c, true, &cl.stream);
    if (!cl.group) return;
    struct streamID *ids = argStreamIDs(c, a.ids_at, a.ids_end);
    if (!ids) return;
    int64_t nacked = 0;
    struct streamFinder finder;
    cl.finder = &finder;
    streamFinderStart(&finder, cl.stream);
    for (int i = a.ids_at; i < a.ids_end; i++) nacked += streamNackOne(&cl, &a, ids[i - a.ids_at]);
    streamFinderStop(&finder);
    zfree(ids);
    if (nacked) signalKeyReady(c->db, c->argv[1]); /* for XREADGROUP CLAIM */
    replyLongLong(c, nacked);
}
