/* SPDX-License-Identifier: BSD-3-Clause */
/* list_commands.c - list commands that push, look up, and change elements in place. Also what all list
 * commands do after a change. list_pop.c has those that remove elements. */
#include "types/list/list_commands.h"

#include "base/assert.h"
#include "client/reply.h"
#include "command/command.h"
#include "command/lookup.h"
#include "commands/cmd_list.h"
#include "data/notify.h"
#include "types/types.h"

/* ---- After a change ---- */

void listChanged(struct client *c, struct str key, struct object *o, struct listRef l, const char *event,
                 uint64_t changes) {
    bool gone = listTypeLength(l) == 0;
    if (gone) {
        listTypeDeleteKey(c->db, key, o, l);
    } else {
        listTypeShrink(&l);
        listTypeCommit(c->db, o, l);
    }
    if (changes)
        keyChanged(c, c->db, key, NOTIFY_LIST, event, changes);
    else
        keyEvent(NOTIFY_LIST, event, key, c->db);
    if (gone) keyEvent(NOTIFY_GENERIC, "del", key, c->db);
}

struct object *listPushed(struct client *c, struct str key, struct object *o, struct listRef l,
                          enum listEnd end, uint64_t changes) {
    char room[LIST_EMBED_MAX];
    debugAssert(changes <= listTypeLength(l));
    o = o ? listTypeCommit(c->db, o, l) : dbAdd(c->db, key, listTypeValue(l, room));
    keyChanged(c, c->db, key, NOTIFY_LIST, end == LIST_LEFT ? "lpush" : "rpush", changes);
    return o;
}

/* Elements from clients have a limit, which is only reached with a raised proto-max-bulk-len. */
static bool listCheckSizes(struct client *c, int first) {
    for (int i = first; i < c->argc; i++) {
        if (c->argv[i].len < QL_ELEMENT_MAX) continue;
        return replyError(c, "ERR Element too large");
    }
    return true;
}

/* ---- LPUSH, RPUSH, LPUSHX, RPUSHX ---- */

static struct listRef listNewListFor(const struct client *c) {
    size_t bytes = 0;
    for (int i = 2; i < c->argc; i++) bytes += qlEntryBound(c->argv[i].len);
    return listTypeNew(bytes);
}

static void listPushGeneric(struct client *c, enum listEnd end, bool must_exist) {
    if (!listCheckSizes(c, 2)) return;
    struct object *o;
    if (!lookupKeyWriteType(c, c->argv[1], OBJ_LIST, &o)) return;
    if (!o && must_exist) {
        replyLongLong(c, 0);
        return;
    }
    struct listRef l = o ? listTypeOpen(o) : listNewListFor(c);
    listTypePushMany(&l, c->argv + 2, c->argc - 2, end);
    replyLongLong(c, (int64_t)listTypeLength(l));
    listPushed(c, c->argv[1], o, l, end, (uint64_t)c->argc - 2);
}

void lpushCommand(struct client *c) {
    listPushGeneric(c, LIST_LEFT, false);
}

void rpushCommand(struct client *c) {
    listPushGeneric(c, LIST_RIGHT, false);
}

void lpushxCommand(struct client *c) {
    listPushGeneric(c, LIST_LEFT, true);
}

void rpushxCommand(struct client *c) {
    listPushGeneric(c, LIST_RIGHT, true);
}

/* ---- LLEN, LINDEX, LRANGE ---- */

void llenCommand(struct client *c) {
    struct object *o;
    if (!lookupKeyReadType(c, c->argv[1], OBJ_LIST, &o)) return;
    replyLongLong(c, o ? (int64_t)listTypeLength(listTypeOpen(o)) : 0);
}

void lindexCommand(struct client *c) {
    int64_t index;
    char buf[LP_INTBUF_SIZE];
    struct listIterator it;
    struct object *o;
    if (!lookupKeyReadType(c, c->argv[1], OBJ_LIST, &o)) return;
    if (o && !argLongLong(c, c->argv[2], &index, NULL)) return;
    if (!o || !listTypeSeek(&it, listTypeOpen(o), index)) {
        replyNull(c);
        return;
    }
    replyBulk(c, listTypeText(&it, buf));
    listTypeStop(&it);
}

struct slice {
    int64_t start, stop; /* as given, negative from the end */
    uint64_t count;      /* number of elements from `start` on, once resolved */
};

static bool listParseSlice(struct client *c, struct slice *s) {
    return argLongLong(c, c->argv[2], &s->start, NULL) && argLongLong(c, c->argv[3], &s->stop, NULL);
}

static void listResolveSlice(struct slice *s, uint64_t list_length) {
    int64_t length = (int64_t)list_length;
    if (s->start < 0) s->start = s->start < -length ? 0 : s->start + length;
    if (s->stop < 0) s->stop = s->stop < -length ? -1 : s->stop + length;
    if (s->stop >= length) s->stop = length - 1;
    s->count = s->start <= s->stop ? (uint64_t)(s->stop - s->start + 1) : 0;
}

void lrangeCommand(struct client *c) {
    struct slice s = {0};
    if (!listParseSlice(c, &s)) return;
    struct object *o;
    if (!lookupKeyReadType(c, c->argv[1], OBJ_LIST, &o)) return;
    if (o) listResolveSlice(&s, listTypeLength(listTypeOpen(o)));
    replyArrayLen(c, (int64_t)s.count);
    if (s.count) listTypeReply(listTypeOpen(o), c, (uint64_t)s.start, s.count);
}

/* ---- LPOS ---- */

struct lposArgs {
    int64_t rank;   /* of the first match; negative from the end */
    int64_t count;  /* number of matches, 0 for all; -1: one, which is not replied as an array */
    int64_t maxlen; /* number of elements to compare, 0 for all */
};

static bool listParseLpos(struct client *c, struct lposArgs *a) {
    for (int i = 3; i < c->argc; i += 2) {
        bool ok = true;
        if (i + 1 == c->argc) return replySyntaxError(c);
        if (strIs(c->argv[i], "rank")) {
            ok = argRange(c, c->argv[i + 1], -INT64_MAX, INT64_MAX, &a->rank, NULL);
            if (ok && a->rank == 0) {
                replyError(
                    c,
                    "ERR RANK can't be zero: use 1 to start from the first match, 2 from the second ... or "
                    "use negative to start from the end of the list");
                ok = false;
            }
        } else if (strIs(c->argv[i], "count")) {
            ok = argRange(c, c->argv[i + 1], 0, INT64_MAX, &a->count, "ERR COUNT can't be negative");
        } else if (strIs(c->argv[i], "maxlen")) {
            ok = argRange(c, c->argv[i + 1], 0, INT64_MAX, &a->maxlen, "ERR MAXLEN can't be negative");
        } else {
            replySyntaxError(c);
            ok = false;
        }
        if (!ok) return false;
    }
    return true;
}

/* Replies the indexes of the matches; returns how many. */
static int64_t listReplyMatches(struct client *c, struct listRef l, const struct lposArgs *a) {
    bool back = a->rank < 0;
    int64_t length = (int64_t)listTypeLength(l), found = 0;
    int64_t wanted = a->count < 0 ? 1 : a->count == 0 ? INT64_MAX : a->count;
    int64_t skip = (back ? -a->rank : a->rank) - 1;
    int64_t left = a->maxlen ? a->maxlen : INT64_MAX, at = back ? length - 1 : 0;
    struct listNeedle needle = listTypeNeedle(c->argv[2]);
    struct listIterator it;
    struct lpValue v;
    bool more = listTypeSeek(&it, l, at);
    for (; more && left-- && found < wanted; at += back ? -1 : 1) {
        listTypeGet(&it, &v);
        if (listTypeMatches(&needle, &v) && skip-- <= 0) {
            replyLongLong(c, at);
            found++;
        }
        more = back ? listTypePrev(&it) : listTypeNext(&it);
    }
    listTypeStop(&it);
    return found;
}

void lposCommand(struct client *c) {
    struct lposArgs a = {.rank = 1, .count = -1};
    if (!listParseLpos(c, &a)) return;
    struct object *o;
    if (!lookupKeyReadType(c, c->argv[1], OBJ_LIST, &o)) return;
    if (a.count < 0) {
        if (!o || !listReplyMatches(c, listTypeOpen(o), &a)) replyNull(c);
    } else if (!o) {
        replyArrayLen(c, 0);
    } else {
        struct replyMark mark = replyDeferLen(c);
        replySetArrayLen(c, mark, listReplyMatches(c, listTypeOpen(o), &a));
    }
}

/* ---- LSET, LINSERT, LREM, LTRIM ---- */

void lsetCommand(struct client *c) {
    int64_t index;
    if (!listCheckSizes(c, 3)) return;
    struct object *o;
    if (!lookupKeyWriteType(c, c->argv[1], OBJ_LIST, &o)) return;
    if (!o) {
        replyError(c, err_nosuchkey);
        return;
    }
    if (!argLongLong(c, c->argv[2], &index, NULL)) return;
    struct listRef l = listTypeOpen(o);
    if (!listTypeSet(&l, index, c->argv[3])) {
        replyError(c, err_outofrange);
        return;
    }
    listChanged(c, c->argv[1], o, l, "lset", 1);
    replyOk(c);
}

void linsertCommand(struct client *c) {
    bool after = strIs(c->argv[2], "after");
    if (!after && !strIs(c->argv[2], "before")) {
        replySyntaxError(c);
        return;
    }
    if (!listCheckSizes(c, 4)) return;
    struct object *o;
    if (!lookupKeyWriteType(c, c->argv[1], OBJ_LIST, &o)) return;
    if (!o) {
        replyLongLong(c, 0);
        return;
    }
    struct listRef l = listTypeOpen(o);
    if (!listTypeInsert(&l, c->argv[3], c->argv[4], after)) {
        replyLongLong(c, -1);
        return;
    }
    int64_t length = (int64_t)listTypeLength(l);
    listTypeCommit(c->db, o, l);
    keyChanged(c, c->db, c->argv[1], NOTIFY_LIST, "linsert", 1);
    replyLongLong(c, length);
}

void lremCommand(struct client *c) {
    int64_t count;
    uint64_t removed = 0;
    if (!argRange(c, c->argv[2], -INT64_MAX, INT64_MAX, &count, NULL)) return;
    struct object *o;
    if (!lookupKeyWriteType(c, c->argv[1], OBJ_LIST, &o)) return;
    if (o) {
        struct listRef l = listTypeOpen(o);
        uint64_t max = count == 0 ? UINT64_MAX : (uint64_t)(count < 0 ? -count : count);
        removed = listTypeDeleteEqual(&l, c->argv[3], max, count < 0 ? LIST_RIGHT : LIST_LEFT);
        if (removed) listChanged(c, c->argv[1], o, l, "lrem", removed);
    }
    replyLongLong(c, (int64_t)removed);
}

void ltrimCommand(struct client *c) {
    struct slice s = {0};
    if (!listParseSlice(c, &s)) return;
    struct object *o;
    if (!lookupKeyWriteType(c, c->argv[1], OBJ_LIST, &o)) return;
    if (o) {
        struct listRef l = listTypeOpen(o);
        uint64_t length = listTypeLength(l);
        listResolveSlice(&s, length);
        uint64_t end = s.count ? (uint64_t)s.start + s.count : 0;
        listTypeDelete(&l, end, length - end);
        if (s.count) listTypeDelete(&l, 0, (uint64_t)s.start);
        listChanged(c, c->argv[1], o, l, "ltrim", length - s.count);
    }
    replyOk(c);
}
