/* SPDX-License-Identifier: BSD-3-Clause */
/* stream_idmp_commands.c - idempotent XADD, XCFGSET and XIDMPRECORD (part of stream_commands.h; the records
 * are in stream_idmp.h).
 *
 * What is propagated has the form of Redis 8.6: the XADD with its option and the ID that the entry got, so
 * that files and replicas have the record, too. A duplicate changes nothing and is not propagated. While an
 * older server reads the stream of changes, it gets the XADD without the option, and neither XCFGSET nor
 * XIDMPRECORD. */
#include "base/clock.h"
#include "client/reply.h"
#include "command/call.h"
#include "command/command.h"
#include "command/lookup.h"
#include "command/propagate.h"
#include "commands/cmd_stream.h"
#include "data/keyspace/db.h"
#include "data/notify.h"
#include "registry/cron.h"
#include "types/stream/stream_commands.h"
#include "types/types.h"

#define DROPPED_PER_ADDITION 4 /* a stream gets rid of old records faster than it gets new ones */

/* ---- XADD ---- */

int idmpOptionWords(const struct client *c, int at) {
    return strIs(c->argv[at], "idmp") ? 3 : 2;
}

/* Without the words that belong to it, it is an ID. */
bool idmpIsOption(const struct client *c, int at) {
    bool automatic = strIs(c->argv[at], "idmpauto");
    return (automatic || strIs(c->argv[at], "idmp")) && at + (automatic ? 1 : 2) < c->argc;
}

int idmpCheckOption(struct client *c, int at, int before) {
    bool automatic = idmpOptionWords(c, at) == 2;
    const char *error = NULL;
    if (before)
        error = "ERR syntax error, IDMP/IDMPAUTO specified multiple times";
    else if (!c->argv[at + 1].len)
        error = automatic ? "ERR syntax error, IDMPAUTO requires a non-empty producer ID"
                          : "ERR syntax error, IDMP requires a non-empty producer ID";
    else if (!automatic && !c->argv[at + 2].len)
        error = "ERR syntax error, IDMP requires a non-empty idempotent ID";
    if (!error) return at + idmpOptionWords(c, at) - 1;
    replyError(c, error);
    return 0;
}

void idmpReadOption(const struct client *c, int at, int pairs_at, struct idmpArgs *a) {
    a->pid = c->argv[at + 1];
    if (idmpOptionWords(c, at) == 3) {
        a->iid = c->argv[at + 2];
        return;
    }
    idmpAutoIid(c->argv + pairs_at, (size_t)(c->argc - pairs_at) / 2, a->auto_iid);
    a->iid = strN(a->auto_iid, IDMP_AUTO_BYTES);
}

bool idmpReplyDuplicate(struct client *c, const struct idmpArgs *a) {
    struct object *o = dbFind(c->db, c->argv[1]);
    struct idmpStream *x = o ? idmpOpen(o) : NULL;
    if (!x) return false;
    const struct idmpRecord *r = idmpFindValid(x, a->pid, a->iid, cmd_time_ms);
    if (!r) return false;
    x->duplicates++;
    replyStreamID(c, r->entry);
    return true;
}

/* A module that hears of the entry may have deleted the key. An entry of a primary may still have a record
 * here: the primary's clock is ahead. */
void idmpRemember(struct client *c, const struct idmpArgs *a, struct streamID id) {
    struct object *o = dbFind(c->db, c->argv[1]);
    if (!o || o->type != OBJ_STREAM) return;
    struct idmpStream *x = idmpOpenFor(o);
    struct idmpRecord *old = idmpFind(x, a->pid, a->iid);
    if (old) idmpRemove(x, old);
    idmpExpire(x, cmd_time_ms, DROPPED_PER_ADDITION);
    idmpAdd(x, a->pid, a->iid, id);
    idmpKeep(&c->db->keyspace, x);
}

/* ---- XCFGSET ---- */

/* Finds the object of a stream; replies an error if there is none. */
static struct object *idmpLookUp(struct client *c) {
    struct object *o;
    if (!lookupKeyWriteType(c, c->argv[1], OBJ_STREAM, &o)) return NULL;
    if (!o) replyError(c, err_nosuchkey);
    return o;
}

struct idmpLimits {
    int64_t duration_s, maxsize; /* 0: not given */
};

static bool idmpParseLimit(struct client *c, int at, int64_t *limit, int64_t max, const char *repeated,
                           const char *range) {
    if (*limit) return replyError(c, repeated);
    if (!argLongLong(c, c->argv[at], limit, NULL)) return false;
    return (*limit > 0 && *limit <= max) || replyError(c, range);
}

static bool idmpParseLimits(struct client *c, struct idmpLimits *l) {
    *l = (struct idmpLimits){0};
    if (c->argc == 2) return replyError(c, "ERR At least one parameter must be specified");
    for (int i = 2; i < c->argc; i += 2) {
        bool more = i + 1 < c->argc, ok;
        if (more && strIs(c->argv[i], "idmp-duration"))
            ok = idmpParseLimit(c, i + 1, &l->duration_s, IDMP_DURATION_MAX_S,
                                "ERR IDMP-DURATION specified multiple times",
                                "ERR IDMP-DURATION must be between 1 and 86400 seconds");
        else if (more && strIs(c->argv[i], "idmp-maxsize"))
            ok = idmpParseLimit(c, i + 1, &l->maxsize, IDMP_MAXSIZE_MAX,
                                "ERR IDMP-MAXSIZE specified multiple times",
                                "ERR IDMP-MAXSIZE must be between 1 and 10000 entries");
        else
            return replySyntaxError(c);
        if (!ok) return false;
    }
    return true;
}

/* Reports a change of a stream's records, which older readers cannot follow. */
static void idmpReportChange(struct client *c, struct idmpStream *x, const char *event) {
    idmpKeep(&c->db->keyspace, x);
    keyStateChanged(c->db, c->argv[1], NOTIFY_STREAM, event, 1);
    if (!propagateReadersAreNew()) propagateSuppress(c);
}

void xcfgsetCommand(struct client *c) {
    struct idmpLimits l;
    struct object *o = idmpLookUp(c);
    if (!o || !idmpParseLimits(c, &l)) return;
    const struct idmpStream *now = idmpOpen(o);
    if (!l.duration_s) l.duration_s = now ? now->duration_s : idmp_duration_s;
    if (!l.maxsize) l.maxsize = now ? now->maxsize : idmp_maxsize;
    if (now || l.duration_s != idmp_duration_s || l.maxsize != idmp_maxsize) {
        struct idmpStream *x = idmpOpenFor(o);
        if (idmpConfigure(x, l.duration_s, l.maxsize)) idmpReportChange(c, x, NULL);
    }
    replyOk(c);
}

/* ---- XIDMPRECORD ---- */

static bool idmpCheckRecord(struct client *c, struct streamID *id) {
    if (!argStreamID(c, c->argv[4], 0, id)) return false;
    if (!c->argv[2].len) return replyError(c, "ERR producer ID must be non-empty");
    if (!c->argv[3].len) return replyError(c, "ERR idempotent ID must be non-empty");
    return true;
}

/* A file that is loaded also has the records of entries that were deleted. */
void xidmprecordCommand(struct client *c) {
    struct streamID id;
    if (!idmpCheckRecord(c, &id)) return;
    struct object *o = idmpLookUp(c);
    if (!o) return;
    if (!callReplays() && !streamExists(streamOpen(o), id)) {
        replyError(c, "ERR No such message in stream");
        return;
    }
    struct idmpStream *x = idmpOpenFor(o);
    const struct idmpRecord *old = idmpFindValid(x, c->argv[2], c->argv[3], cmd_time_ms);
    if (old && streamIDCompare(old->entry, id)) {
        replyError(c, "ERR IID already exists for this producer with a different stream ID");
        return;
    }
    if (!old) {
        idmpAdd(x, c->argv[2], c->argv[3], id);
        idmpReportChange(c, x, "xadd");
    }
    replyOk(c);
}
