/* SPDX-License-Identifier: BSD-3-Clause */
/* stream_commands.c - the commands on streams themselves: XADD, XLEN, XRANGE, XDEL, XTRIM, XSETID
 * (part of stream.h). */
#include "types/stream/stream_commands.h"

#include "base/clock.h"
#include "base/num.h"
#include "base/zmalloc.h"
#include "client/reply.h"
#include "command/blocking.h"
#include "command/call.h"
#include "command/command.h"
#include "command/lookup.h"
#include "command/propagate.h"
#include "commands/cmd_stream.h"
#include "data/keyspace/db.h"
#include "data/notify.h"
#include "types/types.h"

#define TRIM_LIMIT_NODES 100 /* an approximate XTRIM looks at the entries of so many nodes */
#define TRIM_LIMIT_MAX   1000000
#define TRIM_LIMIT_ANY   10000 /* or at so many entries when nodes are of any size */

static const char err_stream_id[] = "ERR Invalid stream ID specified as stream command argument";

/* ---- IDs in arguments ---- */

bool argStreamID(struct client *c, struct str arg, uint64_t missing_seq, struct streamID *id) {
    if (streamIDParse(arg, missing_seq, id)) return true;
    return replyError(c, err_stream_id);
}

static bool streamArgStreamBound(struct client *c, struct str arg, uint64_t missing_seq, struct streamID *id,
                                 bool *excluded) {
    *excluded = arg.len > 1 && arg.ptr[0] == '(';
    if (*excluded) return argStreamID(c, strN(arg.ptr + 1, arg.len - 1), missing_seq, id);
    *id = streamIsChar(arg, '+') ? STREAM_ID_MAX : STREAM_ID_MIN;
    return streamIsChar(arg, '-') || streamIsChar(arg, '+') || argStreamID(c, arg, missing_seq, id);
}

bool argStreamStart(struct client *c, struct str arg, struct streamID *id) {
    bool excluded;
    if (!streamArgStreamBound(c, arg, 0, id, &excluded)) return false;
    if (!excluded || streamIDNext(id)) return true;
    return replyError(c, "ERR invalid start ID for the interval");
}

bool argStreamEnd(struct client *c, struct str arg, struct streamID *id) {
    bool excluded;
    if (!streamArgStreamBound(c, arg, UINT64_MAX, id, &excluded)) return false;
    if (!excluded || streamIDPrev(id)) return true;
    return replyError(c, "ERR invalid end ID for the interval");
}

struct streamID *argStreamIDs(struct client *c, int from, int end) {
    struct streamID *ids = zmalloc((size_t)(end - from) * sizeof *ids);
    for (int i = from; i < end; i++) {
        if (argStreamID(c, c->argv[i], 0, &ids[i - from])) continue;
        zfree(ids);
        return NULL;
    }
    return ids;
}

/* ---- Lookup ---- */

bool lookupStreamRead(struct client *c, struct str key, struct stream **s) {
    struct object *o;
    bool ok = lookupKeyReadType(c, key, OBJ_STREAM, &o);
    *s = o ? streamOpen(o) : NULL;
    return ok;
}

bool lookupStreamWrite(struct client *c, struct str key, struct stream **s) {
    struct object *o;
    bool ok = lookupKeyWriteType(c, key, OBJ_STREAM, &o);
    *s = o ? streamOpen(o) : NULL;
    return ok;
}

bool lookupStreamGroups(struct client *c, struct str key, struct stream **s) {
    struct object *o;
    bool ok = lookupKeyReadType(c, key, OBJ_STREAM, &o);
    if (o) keyspaceObjectWillChange(&c->db->keyspace, o);
    *s = o ? streamOpen(o) : NULL;
    return ok;
}

/* ---- Replies ---- */

void replyStreamID(struct client *c, struct streamID id) {
    char text[STREAM_ID_TEXT];
    replyBulk(c, streamIDText(id, text));
}

void replyStreamEntry(struct client *c, struct streamIterator *it, int more) {
    replyArrayLen(c, 2 + more);
    replyStreamID(c, it->id);
    replyArrayLen(c, 2 * it->pairs);
    for (int64_t i = 0; i < it->pairs; i++) {
        struct str field, value;
        streamNextPair(it, &field, &value);
        replyBulk(c, field);
        replyBulk(c, value);
    }
}

int64_t replyStreamRange(struct client *c, struct stream *s, struct streamID start, struct streamID end,
                         bool reverse, int64_t count) {
    struct streamIterator it;
    int64_t n = 0;
    struct replyMark mark = replyDeferLen(c);
    streamIterate(&it, s, start, end, reverse);
    while ((!count || n < count) && streamNext(&it)) {
        replyStreamEntry(c, &it, 0);
        n++;
    }
    streamStop(&it);
    replySetArrayLen(c, mark, n);
    return n;
}

bool replyStreamOne(struct client *c, struct streamFinder *f, struct streamID id) {
    bool found = streamFinderFind(f, id);
    if (found) {
        replyStreamEntry(c, &f->it, 0);
    } else {
        replyArrayLen(c, 2);
        replyStreamID(c, id);
        replyNullArray(c);
    }
    return found;
}

/* ---- XADD and XTRIM: arguments ---- */

struct addArgs {
    struct streamTrim trim;
    bool nomkstream, auto_id, auto_seq;
    bool limit_given;
    struct streamID id;
    enum delexMode mode;
    /* Indexes of arguments. 0: no trimming; no mode, neither IDMP nor IDMPAUTO are given. */
    int id_at, threshold_at, mode_at, idmp_at;
};

/* Parses MAXLEN or MINID at argv[i], with its threshold; moves *i to the last argument used. Returns false
 * after an error reply. */
static bool streamParseStrategy(struct client *c, struct addArgs *a, int *i) {
    struct streamTrim *t = &a->trim;
    bool maxlen = strIs(c->argv[*i], "maxlen");
    if (t->kind && (t->kind == TRIM_MAXLEN) != maxlen)
        return replyError(c,
                          "ERR syntax error, MAXLEN and MINID options at the same time are not compatible");
    t->kind = maxlen ? TRIM_MAXLEN : TRIM_MINID;
    t->approximate = false;
    struct str next = c->argv[*i + 1];
    if (*i + 2 < c->argc && (streamIsChar(next, '~') || streamIsChar(next, '='))) {
        t->approximate = streamIsChar(next, '~');
        ++*i;
    }
    a->threshold_at = ++*i;
    if (!maxlen) return argStreamID(c, c->argv[*i], 0, &t->minid);
    if (!argLongLong(c, c->argv[*i], &t->maxlen, NULL)) return false;
    if (t->maxlen >= 0) return true;
    return replyError(c, "ERR The MAXLEN argument must be >= 0.");
}

static bool streamParseLimit(struct client *c, struct addArgs *a, int *i) {
    ++*i;
    if (!argLongLong(c, c->argv[*i], &a->trim.limit, NULL)) return false;
    a->limit_given = true;
    if (a->trim.limit >= 0) return true;
    return replyError(c, "ERR The LIMIT argument must be >= 0.");
}

static bool streamCheckLimit(struct client *c, struct addArgs *a) {
    if (a->limit_given && !a->trim.kind)
        return replyError(c, "ERR syntax error, LIMIT cannot be used without specifying a trimming strategy");
    if (a->limit_given && !a->trim.approximate && !callReplays()) { /* Valkey propagates it until 9.1 */
        return replyError(c, "ERR syntax error, LIMIT cannot be used without the special ~ option");
    }
    if (!a->trim.approximate) a->trim.limit = 0;
    if (a->limit_given || !a->trim.approximate) return true;
    int64_t per_node = stream_node_max_entries;
    if (!per_node)
        a->trim.limit = TRIM_LIMIT_ANY;
    else
        a->trim.limit =
            per_node > TRIM_LIMIT_MAX / TRIM_LIMIT_NODES ? TRIM_LIMIT_MAX : per_node * TRIM_LIMIT_NODES;
    return true;
}

/* Parses "*", "ms-*", "ms-seq" or "ms". */
static bool streamParseNewID(struct client *c, struct str arg, struct addArgs *a) {
    if (streamIsChar(arg, '*')) {
        a->auto_id = true;
        return true;
    }
    a->auto_seq = arg.len > 2 && arg.ptr[arg.len - 1] == '*' && arg.ptr[arg.len - 2] == '-';
    if (!a->auto_seq) return argStreamID(c, arg, 0, &a->id);
    if (streamIDParseNumber(strN(arg.ptr, arg.len - 2), &a->id.ms)) return true;
    return replyError(c, err_stream_id);
}

/* Parses the options from argv[2] on, and the ID for XADD. */
static bool streamParseAddArgs(struct client *c, struct addArgs *a, bool xadd) {
    *a = (struct addArgs){0};
    int i = 2;
    for (; i < c->argc; i++) {
        struct str opt = c->argv[i];
        bool more = i + 1 < c->argc;
        if ((strIs(opt, "maxlen") || strIs(opt, "minid")) && more) {
            if (!streamParseStrategy(c, a, &i)) return false;
        } else if (strIs(opt, "limit") && more) {
            if (!streamParseLimit(c, a, &i)) return false;
        } else if (opt.len >= strlen("acked") && !a->mode_at && streamDelexMode(opt, &a->mode)) {
            a->mode_at = i;
        } else if (xadd && strIs(opt, "nomkstream")) {
            a->nomkstream = true;
        } else if (xadd && opt.len > 1 && idmpIsOption(c, i)) {
            int last = idmpCheckOption(c, i, a->idmp_at);
            if (!last) return false;
            a->idmp_at = i;
            i = last;
        } else if (xadd) {
            if (!streamParseNewID(c, opt, a)) return false;
            if (a->idmp_at && !a->auto_id && !callReplays())
                return replyError(c,
                                  "ERR syntax error, IDMP/IDMPAUTO can be used only with auto-generated IDs");
            break;
        } else
            return replySyntaxError(c);
    }
    a->id_at = i;
    return streamCheckLimit(c, a);
}

/* ---- XADD ---- */

/* Chooses the new entry's ID. Returns false when none is left. */
static bool streamChooseID(const struct addArgs *a, const struct stream *s, struct streamID *id) {
    struct streamID last = s ? s->last_id : STREAM_ID_MIN;
    if (!a->auto_id && !a->auto_seq) {
        *id = a->id;
        return true;
    }
    uint64_t ms = a->auto_id ? (uint64_t)mstime() : a->id.ms;
    *id = (struct streamID){ms, 0};
    if (a->auto_id ? ms > last.ms : ms != last.ms) return true;
    *id = last;
    return a->auto_id ? streamIDNext(id) : id->seq++ != UINT64_MAX;
}

static bool streamCheckNewID(struct client *c, const struct addArgs *a, const struct stream *s,
                             struct streamID *id) {
    struct streamID last = s ? s->last_id : STREAM_ID_MIN;
    if (!streamIDCompare(last, STREAM_ID_MAX))
        return replyError(c, "ERR The stream has exhausted the last possible ID, unable to add more items");
    bool chosen = streamChooseID(a, s, id);
    if (chosen && streamIDCompare(*id, last) > 0) return true;
    return replyError(c, "ERR The ID specified in XADD is equal or smaller than the target stream top item");
}

/* Returns the threshold with exactly the effect that the trimming had. */
static struct str streamExactThreshold(const struct stream *s, const struct streamTrim *t, char *text) {
    if (t->kind == TRIM_MAXLEN) return strN(text, ull2string(text, s->length));
    return streamIDText(s->length ? s->first_id : t->minid, text);
}

/* Copies the options of trimming to argv[n] and on as they came, with approximate ones made exact. LIMIT is
 * dropped: with "=" only a loader accepts it. The mode is dropped as well: the exact trim does the same
 * without it. Returns the number of words in argv. */
static int streamExactOptions(struct client *c, const struct addArgs *a, const struct stream *s,
                              struct str *argv, int n, char *threshold) {
    for (int i = 2; i < a->id_at; i++) {
        if (i == a->mode_at) continue;
        if (a->trim.approximate && strIs(c->argv[i], "limit"))
            i++;
        else if ((a->trim.approximate || a->mode_at) && i == a->threshold_at)
            argv[n++] = streamExactThreshold(s, &a->trim, threshold);
        else if (i == a->idmp_at)
            i += idmpOptionWords(c, i) - 1;
        else
            argv[n++] = streamIsChar(c->argv[i], '~') ? STR("=") : c->argv[i];
    }
    return n;
}

static void streamPropagateAdd(struct client *c, const struct addArgs *a, const struct stream *s,
                               struct streamID id, bool trimmed_apart) {
    if (!(a->auto_id || a->auto_seq || a->trim.approximate || a->mode_at || a->idmp_at)) return;
    struct str *argv = zmalloc((size_t)c->argc * sizeof *argv);
    char id_text[STREAM_ID_TEXT], threshold[STREAM_ID_TEXT];
    memcpy(argv, c->argv, 2 * sizeof *argv);
    int n = 2, idmp_words = a->idmp_at && propagateReadersAreNew() ? idmpOptionWords(c, a->idmp_at) : 0;
    for (int i = 0; i < idmp_words; i++) argv[n++] = c->argv[a->idmp_at + i];
    if (!trimmed_apart) n = streamExactOptions(c, a, s, argv, n, threshold);
    argv[n++] = streamIDText(id, id_text);
    for (int i = a->id_at + 1; i < c->argc; i++) argv[n++] = c->argv[i];
    propagateRewrite(c, n, argv);
    zfree(argv);
}

/* Returns how many entries were removed. *trim is filled when there is a mode other than KEEPREF. */
static int64_t streamApplyTrim(struct client *c, const struct addArgs *a, struct stream *s,
                               struct delexTrim *trim) {
    if (a->mode == DELEX_KEEPREF) return streamTrimTo(s, &a->trim);
    *trim = streamDelexTrim(c, s, &a->trim, a->mode);
    return trim->removed;
}

/* Trims the stream to which the entry was added, and propagates both. */
static void streamTrimAfterAdd(struct client *c, const struct addArgs *a, struct stream *s,
                               struct streamID id) {
    struct delexTrim trim = {0};
    if (streamApplyTrim(c, a, s, &trim)) keyEvent(NOTIFY_STREAM, "xtrim", c->argv[1], c->db);
    if (propagateWanted()) streamPropagateAdd(c, a, s, id, trim.gaps);
    if (trim.call) streamDelexEndTrim(&trim);
}

/* Returns false after an error reply. */
static bool streamAddEntry(struct client *c, const struct addArgs *a, struct stream *s, struct streamID id) {
    struct str key = c->argv[1];
    bool made = !s;
    if (made) s = streamNew();
    if (!streamAppend(s, id, c->argv + a->id_at + 1, (size_t)(c->argc - a->id_at - 1) / 2)) {
        if (made) streamFree(s);
        return replyError(c, "ERR Elements are too large to be stored");
    }
    if (made) dbAdd(c->db, key, streamValue(s));
    replyStreamID(c, id);
    keyChanged(c, c->db, key, NOTIFY_STREAM, "xadd", 1);
    if (a->trim.kind)
        streamTrimAfterAdd(c, a, s, id);
    else if (propagateWanted())
        streamPropagateAdd(c, a, s, id, false);
    if (!made) signalKeyReady(c->db, key);
    return true;
}

/* Returns false when the entry is a duplicate and a reply was sent. A primary chooses the ID of each entry
 * that it adds. If it asks for one, the entry is a duplicate. */
static bool streamCheckIdempotent(struct client *c, const struct addArgs *a, struct idmpArgs *idmp) {
    idmpReadOption(c, a->idmp_at, a->id_at + 1, idmp);
    if (!a->auto_id) return true;
    if (idmpReplyDuplicate(c, idmp)) return false;
    if (callReplays()) replyNull(c);
    return !callReplays();
}

void xaddCommand(struct client *c) {
    struct addArgs a;
    struct streamID id;
    if (!streamParseAddArgs(c, &a, true)) return;
    int pairs = c->argc - a.id_at - 1;
    if (pairs < 2 || pairs % 2) {
        replyError(c, "ERR wrong number of arguments for 'xadd' command");
        return;
    }
    if (!a.auto_id && !a.auto_seq && streamIDIsZero(a.id)) {
        replyError(c, "ERR The ID specified in XADD must be greater than 0-0");
        return;
    }
    struct stream *s;
    if (!lookupStreamWrite(c, c->argv[1], &s)) return;
    if (!s && a.nomkstream) {
        replyNull(c);
        return;
    }
    struct idmpArgs idmp;
    if (a.idmp_at && !streamCheckIdempotent(c, &a, &idmp)) return;
    if (!streamCheckNewID(c, &a, s, &id) || !streamAddEntry(c, &a, s, id)) return;
    if (a.idmp_at) idmpRemember(c, &idmp, id);
}

/* ---- Ranges ---- */

static void streamRangeGeneric(struct client *c, bool reverse) {
    struct streamID start, end;
    int64_t count = -1;
    if (!argStreamStart(c, c->argv[reverse ? 3 : 2], &start) ||
        !argStreamEnd(c, c->argv[reverse ? 2 : 3], &end))
        return;
    for (int i = 4; i < c->argc; i++) {
        if (!strIs(c->argv[i], "count") || i + 1 == c->argc) {
            replySyntaxError(c);
            return;
        }
        if (!argLongLong(c, c->argv[++i], &count, NULL)) return;
        if (count < 0) count = 0;
    }
    struct stream *s;
    if (!lookupStreamRead(c, c->argv[1], &s)) return;
    if (!s)
        replyArrayLen(c, 0);
    else if (!count)
        replyNullArray(c);
    else
        replyStreamRange(c, s, start, end, reverse, count < 0 ? 0 : count);
}

void xrangeCommand(struct client *c) {
    streamRangeGeneric(c, false);
}

void xrevrangeCommand(struct client *c) {
    streamRangeGeneric(c, true);
}

void xlenCommand(struct client *c) {
    struct stream *s;
    if (!lookupStreamRead(c, c->argv[1], &s)) return;
    replyLongLong(c, s ? (int64_t)s->length : 0);
}

/* ---- Removal ---- */

static void streamEntriesRemoved(struct client *c, const char *event, int64_t removed) {
    replyLongLong(c, removed);
    if (!removed) return;
    keyChanged(c, c->db, c->argv[1], NOTIFY_STREAM, event, (uint64_t)removed);
}

void xdelCommand(struct client *c) {
    struct stream *s;
    if (!lookupStreamWrite(c, c->argv[1], &s)) return;
    if (!s) {
        replyLongLong(c, 0);
        return;
    }
    struct streamID *ids = argStreamIDs(c, 2, c->argc);
    if (!ids) return;
    int64_t removed = 0;
    struct streamFinder f;
    streamFinderStart(&f, s);
    for (int i = 2; i < c->argc; i++) {
        if (!streamFinderFind(&f, ids[i - 2])) continue;
        streamFinderDelete(&f);
        removed++;
    }
    streamFinderStop(&f);
    zfree(ids);
    streamEntriesRemoved(c, "xdel", removed);
}

static void streamPropagateTrim(struct client *c, const struct addArgs *a, const struct stream *s) {
    if (!propagateWanted() || !(a->trim.approximate || a->mode_at)) return;
    char threshold[STREAM_ID_TEXT];
    struct str argv[] = {STR("XTRIM"), c->argv[1], a->trim.kind == TRIM_MAXLEN ? STR("MAXLEN") : STR("MINID"),
                         STR("="), streamExactThreshold(s, &a->trim, threshold)};
    propagateRewrite(c, 5, argv);
}

void xtrimCommand(struct client *c) {
    struct addArgs a;
    if (!streamParseAddArgs(c, &a, false)) return;
    struct stream *s;
    if (!lookupStreamWrite(c, c->argv[1], &s)) return;
    struct delexTrim trim = {0};
    int64_t removed = s ? streamApplyTrim(c, &a, s, &trim) : 0;
    if (removed && !trim.gaps) streamPropagateTrim(c, &a, s);
    if (trim.call) streamDelexEndTrim(&trim);
    streamEntriesRemoved(c, "xtrim", removed);
}

/* ---- XSETID ---- */

struct setidArgs {
    struct streamID id, max_deleted;
    int64_t added; /* -1: not given */
    bool max_deleted_given;
};

static bool streamParseSetid(struct client *c, struct setidArgs *a) {
    *a = (struct setidArgs){.added = -1};
    if (!argStreamID(c, c->argv[2], 0, &a->id)) return false;
    for (int i = 3; i < c->argc; i++) {
        bool more = i + 1 < c->argc;
        if (more && strIs(c->argv[i], "entriesadded")) {
            if (!argLongLong(c, c->argv[++i], &a->added, NULL)) return false;
            if (a->added < 0) return replyError(c, "ERR entries_added must be positive");
        } else if (more && strIs(c->argv[i], "maxdeletedid")) {
            if (!argStreamID(c, c->argv[++i], 0, &a->max_deleted)) return false;
            a->max_deleted_given = true;
            if (streamIDCompare(a->id, a->max_deleted) < 0)
                return replyError(
                    c, "ERR The ID specified in XSETID is smaller than the provided max_deleted_entry_id");
        } else
            return replySyntaxError(c);
    }
    return true;
}

static bool streamCheckSetid(struct client *c, const struct setidArgs *a, struct stream *s) {
    if (streamIDCompare(a->id, s->max_deleted_id) < 0)
        return replyError(c, "ERR The ID specified in XSETID is smaller than current max_deleted_entry_id");
    if (!s->length) return true;
    if (streamIDCompare(a->id, streamHighestID(s)) < 0)
        return replyError(c, "ERR The ID specified in XSETID is smaller than the target stream top item");
    if (a->added >= 0 && s->length > (uint64_t)a->added)
        return replyError(
            c, "ERR The entries_added specified in XSETID is smaller than the target stream length");
    return true;
}

/* Drops the indexes from which IDs of deleted entries are missing: they may be given to new entries again. */
static void streamForgetDue(struct stream *s) {
    struct raxIterator it;
    raxStart(&it, &s->groups);
    for (bool more = raxSeek(&it, "^", STR("")); more; more = raxNext(&it)) streamDueDrop(it.value);
    raxStop(&it);
}

void xsetidCommand(struct client *c) {
    struct setidArgs a;
    if (!streamParseSetid(c, &a)) return;
    struct stream *s;
    if (!lookupStreamWrite(c, c->argv[1], &s)) return;
    if (!s) {
        replyError(c, err_nosuchkey);
        return;
    }
    if (!streamCheckSetid(c, &a, s)) return;
    if (streamIDCompare(a.id, s->last_id) < 0) streamForgetDue(s);
    s->last_id = a.id;
    if (a.added >= 0) s->entries_added = (uint64_t)a.added;
    if (a.max_deleted_given && !streamIDIsZero(a.max_deleted)) s->max_deleted_id = a.max_deleted;
    keyChanged(c, c->db, c->argv[1], NOTIFY_STREAM, "xsetid", 1);
    replyOk(c);
}
