/* SPDX-License-Identifier: BSD-3-Clause */
/* pop.c - see pop.h. */
#include "types/pop.h"

#include "base/assert.h"
#include "base/num.h"
#include "client/reply.h"
#include "command/blocking.h"
#include "command/command.h"
#include "command/lookup.h"
#include "command/propagate.h"
#include "data/keyspace/db.h"

/* Propagates the plain command: key [count]. */
static void popPropagate(struct client *c, const struct popType *t, struct str key, enum popEnd end,
                         uint64_t count) {
    char text[LONG_STR_SIZE];
    struct str argv[3] = {strOf(t->command[end]), key, {0}};
    if (!propagateWanted()) return;
    if (count) argv[2] = strN(text, ull2string(text, count));
    propagateRewrite(c, count ? 3 : 2, argv);
}

static void popWaitForKeys(struct client *c, const struct popType *t, const struct str *keys, int count,
                           int64_t deadline_ms) {
    if (c->flags & CLIENT_DENY_BLOCKING)
        replyNullArray(c);
    else
        blockForKeys(c, keys, count, t->type, deadline_ms, NULL, false);
}

void popOneBlocking(struct client *c, const struct popType *t, enum popEnd end) {
    int64_t deadline_ms;
    struct str key;
    struct object *o;
    if (!argTimeout(c, c->argv[c->argc - 1], false, &deadline_ms)) return;
    if (!lookupFirstKeyWriteType(c, c->argv + 1, c->argc - 2, t->type, &key, &o)) return;
    if (!o) {
        popWaitForKeys(c, t, c->argv + 1, c->argc - 2, deadline_ms);
        return;
    }
    replyArrayLen(c, t->single);
    replyBulk(c, key);
    popPropagate(c, t, key, end, 0);
    t->pop(c, key, o, end, 1, false);
}

/* ---- Several elements ---- */

struct popArgs {
    const struct str *keys;
    int64_t numkeys, count;
    enum popEnd end;
};

static bool popParseEnd(const struct popType *t, struct str word, enum popEnd *end) {
    *end = strIs(word, t->word[POP_LAST]) ? POP_LAST : POP_FIRST;
    return *end == POP_LAST || strIs(word, t->word[POP_FIRST]);
}

/* Parses the arguments from position `at` on. */
static bool popParseArgs(struct client *c, const struct popType *t, int at, struct popArgs *a) {
    if (!argRange(c, c->argv[at], 1, INT64_MAX, &a->numkeys, "ERR numkeys should be greater than 0"))
        return false;
    a->keys = c->argv + at + 1;
    a->count = 1;
    int64_t next = a->numkeys < c->argc ? at + 1 + a->numkeys : c->argc;
    bool ok = next < c->argc && popParseEnd(t, c->argv[next++], &a->end);
    if (ok && next + 1 < c->argc && strIs(c->argv[next], "count")) {
        if (!argRange(c, c->argv[next + 1], 1, INT64_MAX, &a->count, "ERR count should be greater than 0"))
            return false;
        next += 2;
    }
    if (ok && next == c->argc) return true;
    return replySyntaxError(c);
}

/* Returns false when there was nothing to pop. */
static bool popFirstKey(struct client *c, const struct popType *t, const struct popArgs *a) {
    struct str key;
    struct object *o;
    if (!lookupFirstKeyWriteType(c, a->keys, (int)a->numkeys, t->type, &key, &o)) return true;
    if (!o) return false;
    uint64_t count = popMin((uint64_t)a->count, t->length(o));
    serverAssert(count);
    replyArrayLen(c, 2);
    replyBulk(c, key);
    replyArrayLen(c, (int64_t)count);
    popPropagate(c, t, key, a->end, count);
    t->pop(c, key, o, a->end, count, true);
    return true;
}

void popMany(struct client *c, const struct popType *t) {
    struct popArgs a = {0};
    if (popParseArgs(c, t, 1, &a) && !popFirstKey(c, t, &a)) replyNullArray(c);
}

void popManyBlocking(struct client *c, const struct popType *t) {
    struct popArgs a = {0};
    int64_t deadline_ms;
    if (!popParseArgs(c, t, 2, &a) || !argTimeout(c, c->argv[1], false, &deadline_ms)) return;
    if (!popFirstKey(c, t, &a)) popWaitForKeys(c, t, a.keys, (int)a.numkeys, deadline_ms);
}
