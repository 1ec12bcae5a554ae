/* SPDX-License-Identifier: BSD-3-Clause */
/* pathhash_commands.c - the path hash commands that name their paths: setting, reading, deleting.
 * pathhash_search.c has those that search. */
#include "types/pathhash/pathhash_commands.h"

#include "client/reply.h"
#include "command/command.h"
#include "command/lookup.h"
#include "commands/cmd_pathhash.h"
#include "data/keyspace/db.h"
#include "data/lifetime/lazyfree.h"
#include "data/notify.h"
#include "types/types.h"

/* ---- Shared (pathhash_commands.h) ---- */

bool pathFieldsParse(struct client *c, int at, int step, struct pathFields *f) {
    int64_t n;
    if (at + 1 >= c->argc || !strIs(c->argv[at], "fields")) return replySyntaxError(c);
    if (!argRange(c, c->argv[at + 1], 1, INT64_MAX, &n, NULL)) return false;
    if (n > (c->argc - at - 2) / step) return replySyntaxError(c);
    *f = (struct pathFields){.first = at + 2, .step = step, .count = (int)n};
    return true;
}

static void pathHashReplyField(struct client *c, const struct hash *h, struct str field) {
    struct hashText value;
    if (h && hashGet(h, field, &value))
        replyBulk(c, value.s);
    else
        replyNull(c);
}

void pathFieldsReply(struct client *c, const struct hash *h, const struct pathFields *f) {
    for (int i = f->first; i < pathFieldsEnd(f); i += f->step) pathHashReplyField(c, h, c->argv[i]);
}

void payloadReply(struct client *c, const struct hash *h) {
    struct hashIterator it;
    struct hashItem item;
    replyMapLen(c, (int64_t)hashSize(h));
    hashIterate(&it, h);
    while (hashNext(&it, &item)) {
        replyBulk(c, item.field.s);
        replyBulk(c, item.value.s);
    }
    hashStop(&it);
}

bool pathHashLookup(struct client *c, const struct pathHash **ph) {
    struct object *o;
    if (!lookupKeyReadType(c, c->argv[1], OBJ_PATH_HASH, &o)) return false;
    *ph = o ? pathHashOpen(o) : NULL;
    return true;
}

/* ---- Setting ---- */

/* A key that was looked up to be set. */
struct pathHashKey {
    struct object *o;    /* NULL: no such key yet */
    struct pathHash *ph; /* a new one when there is no key */
};

static bool pathHashCheckPath(struct client *c, struct str path) {
    return path.len <= PATHMAP_PATH_MAX ||
           replyError(c, "ERR string exceeds maximum allowed size (proto-max-bulk-len)");
}

static void pathHashSetFields(struct client *c, struct pathHash *ph, struct str path,
                              const struct pathFields *f) {
    struct payloadChange e;
    payloadInsert(&e, ph, path);
    hashExpect(&e.h, (size_t)f->count);
    for (int i = f->first; i < pathFieldsEnd(f); i += 2)
        hashSet(&e.h, c->argv[i], (struct hashInput){.text = c->argv[i + 1]}, false);
    payloadCommit(&e);
}

static void pathHashReportSet(struct client *c, const struct pathHashKey *k, const char *event,
                              size_t assignments) {
    if (!k->o) dbAdd(c->db, c->argv[1], pathHashValue(k->ph));
    keyChanged(c, c->db, c->argv[1], NOTIFY_PATH_HASH, event, assignments);
    replyOk(c);
}

enum fieldCondition { FIELDS_ANY, FIELDS_NONE_EXIST, FIELDS_ALL_EXIST };

static enum fieldCondition pathHashConditionOf(struct str word) {
    return strIs(word, "fnx") ? FIELDS_NONE_EXIST : strIs(word, "fxx") ? FIELDS_ALL_EXIST : FIELDS_ANY;
}

static bool pathHashConditionHolds(const struct client *c, const struct pathHash *ph, struct str path,
                                   const struct pathFields *f, enum fieldCondition condition) {
    struct hash h;
    if (condition == FIELDS_ANY) return true;
    bool wanted = condition == FIELDS_ALL_EXIST;
    if (!ph || !pathHashGet(ph, path, &h)) return !wanted;
    for (int i = f->first; i < pathFieldsEnd(f); i += f->step) {
        if (hashGet(&h, c->argv[i], NULL) != wanted) return false;
    }
    return true;
}

void phsetCommand(struct client *c) {
    struct pathHashKey k;
    struct pathFields f;
    struct str path = c->argv[2];
    enum fieldCondition condition = pathHashConditionOf(c->argv[3]);
    if (!pathFieldsParse(c, condition == FIELDS_ANY ? 3 : 4, 2, &f)) return;
    if (pathFieldsEnd(&f) != c->argc) {
        replySyntaxError(c);
        return;
    }
    if (!pathHashCheckPath(c, path) || !lookupKeyWriteType(c, c->argv[1], OBJ_PATH_HASH, &k.o)) return;
    k.ph = k.o ? pathHashOpen(k.o) : NULL;
    if (!pathHashConditionHolds(c, k.ph, path, &f, condition)) {
        replyNull(c);
        return;
    }
    if (!k.ph) k.ph = pathHashNew();
    pathHashSetFields(c, k.ph, path, &f);
    pathHashReportSet(c, &k, "phset", (size_t)f.count);
}

/* Checks the groups `path FIELDS n ...` from argument 2 on, and counts all fields. Returns false after an
 * error reply. */
static bool pathHashCheckGroups(struct client *c, int step, int64_t *fields) {
    struct pathFields f;
    *fields = 0;
    for (int at = 2; at < c->argc; at = pathFieldsEnd(&f)) {
        if (!pathFieldsParse(c, at + 1, step, &f) || !pathHashCheckPath(c, c->argv[at])) return false;
        *fields += f.count;
    }
    return true;
}

void phmsetCommand(struct client *c) {
    struct pathHashKey k;
    struct pathFields f;
    int64_t assignments;
    if (!pathHashCheckGroups(c, 2, &assignments)) return;
    if (!lookupKeyWriteType(c, c->argv[1], OBJ_PATH_HASH, &k.o)) return;
    k.ph = k.o ? pathHashOpen(k.o) : pathHashNew();
    for (int at = 2; at < c->argc; at = pathFieldsEnd(&f)) {
        pathFieldsParse(c, at + 1, 2, &f);
        pathHashSetFields(c, k.ph, c->argv[at], &f);
    }
    pathHashReportSet(c, &k, "phmset", (size_t)assignments);
}

/* ---- Reading ---- */

void phgetCommand(struct client *c) {
    const struct pathHash *ph;
    const struct pathFields f = {.first = 3, .step = 1, .count = c->argc - 3};
    struct hash h;
    if (!pathHashLookup(c, &ph)) return;
    replyArrayLen(c, f.count);
    pathFieldsReply(c, ph && pathHashGet(ph, c->argv[2], &h) ? &h : NULL, &f);
}

void phmgetCommand(struct client *c) {
    const struct pathHash *ph;
    struct pathFields f;
    struct hash h;
    int64_t fields;
    if (!pathHashCheckGroups(c, 1, &fields) || !pathHashLookup(c, &ph)) return;
    replyArrayLen(c, fields);
    for (int at = 2; at < c->argc; at = pathFieldsEnd(&f)) {
        pathFieldsParse(c, at + 1, 1, &f);
        pathFieldsReply(c, ph && pathHashGet(ph, c->argv[at], &h) ? &h : NULL, &f);
    }
}

void phgetallCommand(struct client *c) {
    const struct pathHash *ph;
    struct hash h;
    if (!pathHashLookup(c, &ph)) return;
    if (ph && pathHashGet(ph, c->argv[2], &h))
        payloadReply(c, &h);
    else
        replyMapLen(c, 0);
}

void phexistsCommand(struct client *c) {
    const struct pathHash *ph;
    if (pathHashLookup(c, &ph)) replyLongLong(c, ph && pathmapFind(ph->paths, c->argv[2]));
}

void phcardCommand(struct client *c) {
    const struct pathHash *ph;
    if (pathHashLookup(c, &ph)) replyLongLong(c, ph ? (int64_t)pathHashCount(ph) : 0);
}

/* ---- Deleting ---- */

static void pathHashReportDeleted(struct client *c, const char *event, size_t deleted) {
    if (deleted) keyChanged(c, c->db, c->argv[1], NOTIFY_PATH_HASH, event, deleted);
    replyLongLong(c, (int64_t)deleted);
}

static size_t pathHashDeleteFields(struct client *c, struct pathHash *ph) {
    struct payloadChange e;
    size_t deleted = 0;
    if (!payloadFind(&e, ph, c->argv[2])) return 0;
    for (int i = 3; i < c->argc; i++) deleted += hashRemove(&e.h, c->argv[i]);
    if (deleted) payloadCommit(&e);
    return deleted;
}

void phdelCommand(struct client *c) {
    struct object *o;
    size_t deleted = 0;
    if (!lookupKeyWriteType(c, c->argv[1], OBJ_PATH_HASH, &o)) return;
    if (o && c->argc > 3)
        deleted = pathHashDeleteFields(c, pathHashOpen(o));
    else if (o)
        deleted = pathHashRemove(pathHashOpen(o), c->argv[2], lazyfree_lazy_user_del);
    pathHashReportDeleted(c, "phdel", deleted);
}

void phdelprefixCommand(struct client *c) {
    struct object *o;
    if (!lookupKeyWriteType(c, c->argv[1], OBJ_PATH_HASH, &o)) return;
    size_t deleted = o ? pathHashRemovePrefix(pathHashOpen(o), c->argv[2], lazyfree_lazy_user_del) : 0;
    pathHashReportDeleted(c, "phdelprefix", deleted);
}
