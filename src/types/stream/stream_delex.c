/* SPDX-License-Identifier: BSD-3-Clause */
/* stream_delex.c - XACKDEL, XDELEX, and XADD and XTRIM with a mode: entries are deleted with regard to the
 * groups that may still need them (part of stream.h).
 *
 * A group needs an entry while the entry is pending in it, or has not been delivered to it: its ID is above
 * the group's last ID. The modes differ in what they do about that:
 *
 *     KEEPREF   the entry is deleted; what is pending stays pending
 *     DELREF    the entry is deleted, and is no longer pending in any group
 *     ACKED     the entry is deleted only if no group needs it
 *
 * A call goes through its IDs in steps: acknowledge in one group (XACKDEL), clear the references in each
 * group (DELREF), delete the entries. Every step is propagated as the XACK or XDEL of the IDs that it
 * changed, so that older servers can follow. An ID counts as one change, however many steps have changed
 * something.
 *
 * With n IDs, g groups and p pending entries in a group a call is O(n log p), and O(n * g log p) with DELREF
 * and ACKED. Nothing is searched from its beginning.
 *
 * A trim picks its IDs itself, and n is the number of entries that it looks at. With ACKED it goes on behind
 * entries that are kept, up to the lowest of the groups' last IDs. What it removes then has gaps: no trim of
 * an older server removes the same, so the entries behind the first gap are propagated as XDEL. XDEL, but no
 * trim, changes max_deleted_id, from which the lag of groups follows; an XSETID sets it back. */
#include "base/num.h"
#include "base/zmalloc.h"
#include "client/reply.h"
#include "command/command.h"
#include "command/propagate.h"
#include "commands/cmd_stream.h"
#include "data/notify.h"
#include "types/stream/stream_commands.h"

enum delexReply { DELEX_UNKNOWN = -1, DELEX_DELETED = 1, DELEX_KEPT = 2 };

struct delexID {
    struct streamID id;
    int8_t reply;         /* enum delexReply; DELEX_DELETED until something speaks against it */
    bool picked, changed; /* by the running step; by any step */
};

struct delexCall {
    struct client *c;
    struct stream *stream;
    enum delexMode mode;
    const struct str *args; /* the IDs as they were given; NULL for a trim */
    int count, room;
    struct delexID *ids;
    struct streamID delivered; /* for a trim: the highest ID that all groups have been given */
};

/* ---- Arguments ---- */

bool streamDelexMode(struct str arg, enum delexMode *mode) {
    static const char *const names[] = {
        [DELEX_KEEPREF] = "keepref", [DELEX_DELREF] = "delref", [DELEX_ACKED] = "acked"};
    for (*mode = DELEX_KEEPREF; *mode <= DELEX_ACKED; ++*mode)
        if (strIs(arg, names[*mode])) return true;
    *mode = DELEX_KEEPREF;
    return false;
}

/* Parses [KEEPREF|DELREF|ACKED] IDS numids id... from argv[at] on, except for the IDs. */
static bool streamDelexParse(struct client *c, int at, struct delexCall *call) {
    int64_t count;
    call->c = c;
    if (streamDelexMode(c->argv[at], &call->mode)) at++;
    if (at + 1 >= c->argc || !strIs(c->argv[at], "ids")) return replySyntaxError(c);
    if (!argRange(c, c->argv[at + 1], 1, INT64_MAX, &count, "ERR Number of IDs must be a positive integer"))
        return false;
    at += 2;
    if (count != c->argc - at) return replySyntaxError(c);
    call->args = c->argv + at;
    call->count = call->room = (int)count;
    return true;
}

static bool streamDelexParseIDs(struct delexCall *call) {
    call->ids = zmalloc((size_t)call->count * sizeof *call->ids);
    for (int i = 0; i < call->count; i++) {
        call->ids[i] = (struct delexID){.reply = DELEX_DELETED};
        if (argStreamID(call->c, call->args[i], 0, &call->ids[i].id)) continue;
        zfree(call->ids);
        return false;
    }
    return true;
}

static void streamDelexReplyUnknown(const struct delexCall *call) {
    replyArrayLen(call->c, call->count);
    for (int i = 0; i < call->count; i++) replyLongLong(call->c, DELEX_UNKNOWN);
}

/* ---- Steps ---- */

static void streamDelexPropagate(const struct delexCall *call, int picked, const struct str *group) {
    if (!picked || !propagateWanted()) return;
    struct str name = group ? STR("XACK") : STR("XDEL");
    propagateRewriteOpen(call->c, picked + (group ? 3 : 2), name, call->c->argv[1]);
    if (group) propagateRewriteArg(*group);
    for (int i = 0; i < call->count; i++) {
        char text[STREAM_ID_TEXT];
        if (!call->ids[i].picked) continue;
        propagateRewriteArg(call->args ? call->args[i] : streamIDText(call->ids[i].id, text));
    }
}

/* Ends a step that acknowledged in this group, or deleted (NULL). Returns how many IDs it changed. */
static int streamDelexEndStep(const struct delexCall *call, const struct str *group) {
    int picked = 0;
    for (int i = 0; i < call->count; i++) picked += call->ids[i].picked;
    streamDelexPropagate(call, picked, group);
    for (int i = 0; i < call->count; i++) {
        call->ids[i].changed |= call->ids[i].picked;
        call->ids[i].picked = false;
    }
    return picked;
}

static int streamDelexAcknowledge(const struct delexCall *call, struct streamGroup *g, struct str name) {
    if (!g->pending.size) return 0;
    for (int i = 0; i < call->count; i++) {
        struct delexID *one = &call->ids[i];
        one->picked = one->reply == DELEX_DELETED && streamPendingRemove(g, one->id);
    }
    return streamDelexEndStep(call, &name);
}

/* Removes the references in all groups; returns how many there were. */
static int64_t streamDelexClearReferences(const struct delexCall *call) {
    struct raxIterator it;
    int64_t cleared = 0;
    raxStart(&it, &call->stream->groups);
    for (bool more = raxSeek(&it, "^", STR("")); more; more = raxNext(&it))
        cleared += streamDelexAcknowledge(call, it.value, it.key);
    raxStop(&it);
    return cleared;
}

/* Marks what a group still needs as kept. `own` has just acknowledged the IDs (NULL: none has): its last ID,
 * which may have been set back, does not count. */
static void streamDelexKeepNeeded(const struct delexCall *call, const struct streamGroup *own) {
    struct raxIterator it;
    raxStart(&it, &call->stream->groups);
    for (bool more = raxSeek(&it, "^", STR("")); more; more = raxNext(&it)) {
        struct streamGroup *g = it.value;
        for (int i = 0; i < call->count; i++) {
            struct delexID *one = &call->ids[i];
            if (one->reply != DELEX_DELETED) continue;
            bool undelivered = g != own && streamIDCompare(one->id, g->last_id) > 0;
            if (undelivered || streamPendingFind(g, one->id)) one->reply = DELEX_KEPT;
        }
    }
    raxStop(&it);
}

/* Deletes the entries that nothing speaks against; those that do not exist get `missing` as their reply. */
static int streamDelexDelete(const struct delexCall *call, enum delexReply missing) {
    struct streamFinder f;
    streamFinderStart(&f, call->stream);
    for (int i = 0; i < call->count; i++) {
        struct delexID *one = &call->ids[i];
        if (one->reply != DELEX_DELETED) continue;
        one->picked = streamFinderFind(&f, one->id);
        if (one->picked)
            streamFinderDelete(&f);
        else
            one->reply = (int8_t)missing;
    }
    streamFinderStop(&f);
    return streamDelexEndStep(call, NULL);
}

/* Applies the mode, deletes, reports and replies. Acknowledging alone does not change the value, as with
 * XACK. */
static void streamDelexFinish(const struct delexCall *call, const struct streamGroup *own) {
    struct client *c = call->c;
    int64_t cleared = call->mode == DELEX_DELREF ? streamDelexClearReferences(call) : 0;
    if (call->mode == DELEX_ACKED) streamDelexKeepNeeded(call, own);
    int deleted = streamDelexDelete(call, own ? DELEX_DELETED : DELEX_UNKNOWN);
    uint64_t changes = 0;
    replyArrayLen(c, call->count);
    for (int i = 0; i < call->count; i++) {
        changes += call->ids[i].changed;
        replyLongLong(c, call->ids[i].reply);
    }
    if (deleted || cleared)
        keyChanged(c, c->db, c->argv[1], NOTIFY_STREAM, deleted ? "xdel" : NULL, changes);
    else
        keyStateChanged(c->db, c->argv[1], NOTIFY_STREAM, NULL, changes);
    zfree(call->ids);
}

/* ---- Trimming ---- */

static bool streamDelexIsPending(const struct stream *s, struct streamID id) {
    struct raxIterator it;
    bool pending = false;
    raxStart(&it, &s->groups);
    for (bool more = raxSeek(&it, "^", STR("")); more && !pending; more = raxNext(&it))
        pending = streamPendingFind(it.value, id);
    raxStop(&it);
    return pending;
}

/* Returns the highest ID that all groups have been given. */
static struct streamID streamDelexDelivered(const struct stream *s) {
    struct raxIterator it;
    struct streamID lowest = STREAM_ID_MAX;
    raxStart(&it, &s->groups);
    for (bool more = raxSeek(&it, "^", STR("")); more; more = raxNext(&it)) {
        const struct streamGroup *g = it.value;
        if (streamIDCompare(g->last_id, lowest) < 0) lowest = g->last_id;
    }
    raxStop(&it);
    return lowest;
}

static bool streamDelexPick(void *priv, struct streamID id) {
    struct delexCall *call = priv;
    if (call->mode == DELEX_ACKED &&
        (streamIDCompare(id, call->delivered) > 0 || streamDelexIsPending(call->stream, id)))
        return false;
    if (call->count == call->room) {
        call->room = call->room ? call->room * 2 : 16;
        call->ids = zrealloc(call->ids, (size_t)call->room * sizeof *call->ids);
    }
    call->ids[call->count++] = (struct delexID){.id = id, .reply = DELEX_DELETED};
    return true;
}

struct delexTrim streamDelexTrim(struct client *c, struct stream *s, const struct streamTrim *t,
                                 enum delexMode mode) {
    struct delexCall *call = zcalloc(1, sizeof *call);
    call->c = c;
    call->stream = s;
    call->mode = mode;
    call->delivered = mode == DELEX_ACKED ? streamDelexDelivered(s) : STREAM_ID_MAX;
    struct streamPick pick = {streamDelexPick, call, call->delivered};
    struct delexTrim trim = {call, streamTrimPicked(s, t, &pick), false};
    if (mode == DELEX_DELREF) streamDelexClearReferences(call);
    trim.gaps = call->count && s->length && streamIDCompare(call->ids[call->count - 1].id, s->first_id) > 0;
    /* No XSETID sets 0-0 on replicas. Nothing was deleted up to 0-1, the first possible ID, either. */
    if (trim.gaps && streamIDIsZero(s->max_deleted_id)) s->max_deleted_id = (struct streamID){0, 1};
    return trim;
}

/* Propagates a trim with gaps. */
static void streamDelexPropagateGaps(const struct delexCall *call) {
    const struct stream *s = call->stream;
    char text[STREAM_ID_TEXT], last[STREAM_ID_TEXT], added[LONG_STR_SIZE];
    int gaps = 0;
    for (int i = 0; i < call->count; i++) {
        call->ids[i].picked = streamIDCompare(call->ids[i].id, s->first_id) > 0;
        gaps += call->ids[i].picked;
    }
    if (gaps < call->count) {
        struct str argv[] = {STR("XTRIM"), call->c->argv[1], STR("MINID"), STR("="),
                             streamIDText(s->first_id, text)};
        propagateRewrite(call->c, 5, argv);
    }
    streamDelexPropagate(call, gaps, NULL);
    struct str argv[] = {STR("XSETID"),
                         call->c->argv[1],
                         streamIDText(s->last_id, last),
                         STR("ENTRIESADDED"),
                         strN(added, ull2string(added, s->entries_added)),
                         STR("MAXDELETEDID"),
                         streamIDText(s->max_deleted_id, text)};
    propagateRewrite(call->c, 7, argv);
}

void streamDelexEndTrim(struct delexTrim *trim) {
    if (trim->gaps && propagateWanted()) streamDelexPropagateGaps(trim->call);
    zfree(trim->call->ids);
    zfree(trim->call);
}

/* ---- Commands ---- */

void xdelexCommand(struct client *c) {
    struct delexCall call;
    if (!lookupStreamWrite(c, c->argv[1], &call.stream) || !streamDelexParse(c, 2, &call)) return;
    if (!call.stream)
        streamDelexReplyUnknown(&call);
    else if (streamDelexParseIDs(&call))
        streamDelexFinish(&call, NULL);
}

void xackdelCommand(struct client *c) {
    struct delexCall call;
    if (!lookupStreamWrite(c, c->argv[1], &call.stream) || !streamDelexParse(c, 3, &call)) return;
    struct str name = c->argv[2];
    struct streamGroup *g = call.stream ? streamGroupFind(call.stream, name) : NULL;
    if (!g) {
        streamDelexReplyUnknown(&call);
        return;
    }
    if (!streamDelexParseIDs(&call)) return;
    for (int i = 0; i < call.count; i++) {
        struct delexID *one = &call.ids[i];
        one->picked = streamPendingRemove(g, one->id);
        if (!one->picked) one->reply = DELEX_UNKNOWN;
    }
    streamDelexEndStep(&call, &name);
    streamDelexFinish(&call, g);
}
