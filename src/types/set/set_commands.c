/* SPDX-License-Identifier: BSD-3-Clause */
/* set_commands.c - the commands on single sets (part of set.h). set_operations.c has the operations on
 * several. */
#include <stdlib.h>

#include "base/assert.h"
#include "base/glob.h"
#include "base/num.h"
#include "base/random.h"
#include "base/zmalloc.h"
#include "client/reply.h"
#include "command/command.h"
#include "command/lookup.h"
#include "command/propagate.h"
#include "commands/cmd_set.h"
#include "data/forkless/large_value.h"
#include "data/keyspace/db.h"
#include "data/keyspace/read_ahead.h"
#include "data/lifetime/lazyfree.h"
#include "data/notify.h"
#include "types/keys/generic.h"
#include "types/set/set.h"
#include "types/types.h"

/* Reports that members were removed, and deletes the key of an empty set. */
static void setReportRemoved(struct client *c, struct object *o, struct str key, const char *event,
                             uint64_t removed) {
    debugAssert(removed > 0);
    keyChanged(c, c->db, key, NOTIFY_SET, event, removed);
    if (setSize(setOpen(o))) return;
    dbDelete(c->db, key);
    keyEvent(NOTIFY_GENERIC, "del", key, c->db);
}

static __attribute__((noinline)) int64_t setAddMany(struct client *c, struct setRef *s) {
    struct argsAhead ahead = membersAhead(c->argv + 2, 1, c->argc - 2);
    int64_t added = 0;
    for (int i = 2; i < c->argc; i++) {
        membersAheadNext(&ahead, setTable(*s));
        added += setAdd(s, c->argv[i]);
    }
    return added;
}

void saddCommand(struct client *c) {
    struct str key = c->argv[1];
    struct object *o;
    if (!lookupKeyWriteType(c, key, OBJ_SET, &o)) return;
    struct setRef s = o ? setOpen(o) : setNew(c->argv[2], (size_t)c->argc - 2);
    int64_t added = c->argc == 3 ? setAdd(&s, c->argv[2]) : setAddMany(c, &s);
    if (o)
        setCommit(o, s);
    else
        dbAdd(c->db, key, setValue(s));
    if (added) {
        keyChanged(c, c->db, key, NOTIFY_SET, "sadd", (uint64_t)added);
    }
    replyLongLong(c, added);
}

void sremCommand(struct client *c) {
    struct object *o;
    if (!lookupKeyWriteType(c, c->argv[1], OBJ_SET, &o)) return;
    int64_t removed = 0;
    if (o) {
        struct setRef s = setOpen(o);
        struct argsAhead ahead = membersAhead(c->argv + 2, 1, c->argc - 2);
        for (int i = 2; i < c->argc && setSize(s); i++) {
            membersAheadNext(&ahead, setTable(s));
            removed += setRemove(&s, c->argv[i]);
        }
        setCommit(o, s);
    }
    if (removed) setReportRemoved(c, o, c->argv[1], "srem", (uint64_t)removed);
    replyLongLong(c, removed);
}

void smoveCommand(struct client *c) {
    struct str src = c->argv[1], dst = c->argv[2], member = c->argv[3];
    struct object *from;
    if (!lookupKeyWriteType(c, src, OBJ_SET, &from)) return;
    if (!from) {
        replyLongLong(c, 0);
        return;
    }
    struct object *to;
    if (!lookupKeyWriteType(c, dst, OBJ_SET, &to)) return;
    struct setRef s = setOpen(from);
    if (from == to) {
        replyLongLong(c, setContains(s, member));
        return;
    }
    if (!setRemove(&s, member)) {
        replyLongLong(c, 0);
        return;
    }
    setCommit(from, s);
    setReportRemoved(c, from, src, "srem", 1);
    struct setRef t = to ? setOpen(to) : setNew(member, 1);
    bool added = setAdd(&t, member);
    if (to)
        setCommit(to, t);
    else
        dbAdd(c->db, dst, setValue(t));
    if (added) keyChanged(c, c->db, dst, NOTIFY_SET, "sadd", 1);
    replyLongLong(c, 1);
}

void sismemberCommand(struct client *c) {
    struct object *o;
    bool xx = c->argc > 3;
    if (xx && (c->argc > 4 || !strIs(c->argv[3], "xx"))) {
        replySyntaxError(c);
        return;
    }
    if (!lookupKeyReadType(c, c->argv[1], OBJ_SET, &o)) return;
    replyLongLong(c, o ? setContains(setOpen(o), c->argv[2]) : -xx);
}

void smismemberCommand(struct client *c) {
    struct object *o;
    if (!lookupKeyReadType(c, c->argv[1], OBJ_SET, &o)) return;
    replyArrayLen(c, c->argc - 2);
    struct argsAhead ahead = membersAhead(c->argv + 2, 1, c->argc - 2);
    for (int i = 2; i < c->argc; i++) {
        if (o) membersAheadNext(&ahead, setTable(setOpen(o)));
        replyLongLong(c, o && setContains(setOpen(o), c->argv[i]));
    }
}

void scardCommand(struct client *c) {
    struct object *o;
    if (!lookupKeyReadType(c, c->argv[1], OBJ_SET, &o)) return;
    replyLongLong(c, o ? (int64_t)setSize(setOpen(o)) : 0);
}

/* ---- Random members ---- */

#define KEEP_FACTOR 5    /* when so many times more members go than stay, a new set is made of the latter */
#define SREM_BATCH  1024 /* members in one command */

/* Propagates the i-th of `count` removed members by name, so that the random choice is not repeated
 * elsewhere. */
static void setPropagateRemoved(struct client *c, struct str key, struct str member, size_t i, size_t count) {
    if (!propagateWanted()) return;
    if (i % SREM_BATCH == 0) {
        int argc = 2 + (int)(count - i < SREM_BATCH ? count - i : SREM_BATCH);
        propagateRewriteOpen(c, argc, STR("SREM"), key);
    }
    propagateRewriteArg(member);
}

static void setPopAll(struct client *c, struct object *o, struct str key) {
    struct setIterator it;
    struct setMember m;
    struct setRef s = setOpen(o);
    size_t size = setSize(s);
    replySetLen(c, (int64_t)size);
    setIterate(&it, s);
    while (setNext(&it, &m)) replyBulk(c, m.s);
    setStop(&it);
    dbDelete(c->db, key);
    propagateRewrite(c, 2, (struct str[]){lazyfree_lazy_server_del ? STR("UNLINK") : STR("DEL"), key});
    keyChanged(c, c->db, key, NOTIFY_SET, "spop", size);
    keyEvent(NOTIFY_GENERIC, "del", key, c->db);
}

/* Takes one random member, the i-th of `count`, out of the set: replies, removes and propagates it. */
static void setPopOne(struct client *c, struct setRef *s, struct str key, size_t i, size_t count) {
    struct setDrawn d;
    setDraw(*s, &d);
    replyBulk(c, d.m.s);
    setPropagateRemoved(c, key, d.m.s, i, count);
    setDrop(s, &d);
}

/* When fewer members stay than go, draws those that stay into a set of their own. */
static void setPopKeepFew(struct client *c, struct setRef *s, struct str key, size_t keep) {
    struct setRef kept = {NULL, 0};
    struct setMember m;
    for (size_t i = 0; i < keep; i++) {
        struct setDrawn d;
        setDraw(*s, &d);
        if (!i) kept = setNewStrings(d.m.s, keep);
        setAdd(&kept, d.m.s);
        setDrop(s, &d);
    }
    struct setIterator it;
    size_t count = setSize(*s), n = 0;
    setIterate(&it, *s);
    while (setNext(&it, &m)) {
        replyBulk(c, m.s);
        setPropagateRemoved(c, key, m.s, n++, count);
    }
    setStop(&it);
    if (!largeValueKeeps(setValue(*s))) setFree(*s);
    *s = kept;
}

static void setPopCount(struct client *c) {
    struct str key = c->argv[1];
    int64_t count;
    if (!argPositive(c, c->argv[2], &count, NULL)) return;
    struct object *o;
    if (!lookupKeyWriteType(c, key, OBJ_SET, &o)) return;
    if (!o || count == 0) {
        replySetLen(c, 0);
        return;
    }
    struct setRef s = setOpen(o);
    if ((uint64_t)count >= setSize(s)) {
        dbstats.hits++;
        setPopAll(c, o, key);
        return;
    }
    replySetLen(c, count);
    size_t keep = setSize(s) - (size_t)count;
    if (s.encoding == SET_HASHTABLE && (size_t)count / KEEP_FACTOR >= keep)
        setPopKeepFew(c, &s, key, keep);
    else
        for (int64_t i = 0; i < count; i++) setPopOne(c, &s, key, (size_t)i, (size_t)count);
    setCommit(o, s);
    setReportRemoved(c, o, key, "spop", (uint64_t)count);
}

void spopCommand(struct client *c) {
    if (c->argc == 3) {
        setPopCount(c);
        return;
    }
    if (c->argc > 3) {
        replySyntaxError(c);
        return;
    }
    struct object *o;
    if (!lookupKeyWriteType(c, c->argv[1], OBJ_SET, &o)) return;
    if (!o) {
        replyNull(c);
        return;
    }
    struct setRef s = setOpen(o);
    setPopOne(c, &s, c->argv[1], 0, 1);
    setCommit(o, s);
    setReportRemoved(c, o, c->argv[1], "spop", 1);
}

/* All members as views, used when they are few or nearly all are asked for; integers are rendered into
 * `texts`. */
struct memberArray {
    struct setMember *members;
    size_t count;
};

static struct memberArray setCollectMembers(struct setRef s) {
    struct memberArray a = {.members = zmalloc(setSize(s) * sizeof(struct setMember))};
    struct setIterator it;
    setIterate(&it, s);
    while (setNext(&it, &a.members[a.count])) a.count++;
    setStop(&it);
    return a;
}

/* Replies `count` different members, count < size, by a partial Fisher-Yates shuffle over an index of all. */
static void setReplyDistinctByShuffle(struct client *c, struct setRef s, size_t count) {
    struct memberArray a = setCollectMembers(s);
    size_t *order = zmalloc(a.count * sizeof *order);
    for (size_t i = 0; i < a.count; i++) order[i] = i;
    for (size_t i = 0; i < count; i++) {
        size_t k = i + randomBelow(a.count - i), chosen = order[k];
        order[k] = order[i];
        replyBulk(c, a.members[chosen].s);
    }
    zfree(order);
    zfree(a.members);
}

/* Replies few of many members: draws until enough different ones were found. */
static void setReplyDistinctByDrawing(struct client *c, struct setRef s, size_t count) {
    struct setRef drawn = {NULL, 0};
    for (size_t n = 0; n < count;) {
        struct setMember m;
        setRandom(s, &m);
        if (!drawn.ptr) drawn = setNew(m.s, count);
        if (!setAdd(&drawn, m.s)) continue;
        replyBulk(c, m.s);
        n++;
    }
    setFree(drawn);
}

#define DRAW_FACTOR 4 /* draw when at most a quarter of the members is asked for */
#define DRAW_MIN    64

static void setRandomMembers(struct client *c, struct setRef s, int64_t count) {
    size_t size = setSize(s);
    if (count < 0) { /* with repetitions */
        replyArrayLen(c, -count);
        for (; count < 0; count++) {
            struct setMember m;
            setRandom(s, &m);
            replyBulk(c, m.s);
        }
        return;
    }
    size_t n = (uint64_t)count < size ? (size_t)count : size;
    replyArrayLen(c, (int64_t)n);
    if (n == size) {
        struct setIterator it;
        struct setMember m;
        setIterate(&it, s);
        while (setNext(&it, &m)) replyBulk(c, m.s);
        setStop(&it);
    } else if (size > DRAW_MIN && n < size / DRAW_FACTOR) {
        setReplyDistinctByDrawing(c, s, n);
    } else {
        setReplyDistinctByShuffle(c, s, n);
    }
}

void srandmemberCommand(struct client *c) {
    bool many = c->argc == 3;
    int64_t count = 0;
    if (c->argc > 3) {
        replySyntaxError(c);
        return;
    }
    if (many && !argRange(c, c->argv[2], -INT64_MAX, INT64_MAX, &count, NULL)) return;
    struct object *o;
    if (!lookupKeyReadType(c, c->argv[1], OBJ_SET, &o)) return;
    if (many) {
        if (o && count)
            setRandomMembers(c, setOpen(o), count);
        else
            replyArrayLen(c, 0);
        return;
    }
    struct setMember m;
    if (!o) {
        replyNull(c);
        return;
    }
    setRandom(setOpen(o), &m);
    replyBulk(c, m.s);
}

/* ---- SSCAN ---- */

/* Entries that one call of SSCAN has found. Entries of the table stay in place while it is scanned. */
struct sscanFound {
    void **entries;
    size_t count, cap;
};

static void setCollectEntry(void *priv, void *entry) {
    struct sscanFound *s = priv;
    if (s->count == s->cap) {
        s->cap = s->cap ? s->cap * 2 : 64;
        s->entries = zrealloc(s->entries, s->cap * sizeof *s->entries);
    }
    s->entries[s->count++] = entry;
}

static bool setReplyIfMatches(struct client *c, const struct scanOptions *opt, struct str member) {
    if (opt->use_pattern && !globMatch(opt->pattern, member, false)) return false;
    replyBulk(c, member);
    return true;
}

static void setReplyCursor(struct client *c, uint64_t cursor) {
    char text[LONG_STR_SIZE];
    replyArrayLen(c, 2);
    replyBulk(c, strN(text, ull2string(text, cursor)));
}

static void setScanTable(struct client *c, hashtable *ht, uint64_t cursor, const struct scanOptions *opt) {
    struct sscanFound found = {0};
    int64_t steps = scanMaxSteps(opt), n = 0;
    do {
        cursor = hashtableScan(ht, cursor, setCollectEntry, &found);
    } while (cursor && --steps && found.count < (size_t)opt->count);
    setReplyCursor(c, cursor);
    struct replyMark mark = replyDeferLen(c);
    for (size_t i = 0; i < found.count; i++)
        n += setReplyIfMatches(c, opt, ht->type->entryKey(found.entries[i]));
    replySetArrayLen(c, mark, n);
    zfree(found.entries);
}

/* Small encodings are replied as a whole. */
static void setScanAll(struct client *c, struct setRef s, const struct scanOptions *opt) {
    struct setIterator it;
    struct setMember m;
    int64_t n = 0;
    setReplyCursor(c, 0);
    struct replyMark mark = replyDeferLen(c);
    setIterate(&it, s);
    while (setNext(&it, &m)) n += setReplyIfMatches(c, opt, m.s);
    setStop(&it);
    replySetArrayLen(c, mark, n);
}

void sscanCommand(struct client *c) {
    uint64_t cursor;
    struct scanOptions opt;
    if (!scanParseCursor(c, c->argv[2], &cursor)) return;
    struct object *o;
    if (!lookupKeyReadType(c, c->argv[1], OBJ_SET, &o)) return;
    if (!o) {
        setReplyCursor(c, 0);
        replyArrayLen(c, 0);
        return;
    }
    if (!scanParseOptions(c, 3, NULL, false, &opt)) return;
    if (o->encoding == SET_HASHTABLE) {
        setScanTable(c, objectPtr(o), cursor, &opt);
    } else {
        setScanAll(c, setOpen(o), &opt);
    }
}
