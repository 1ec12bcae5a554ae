/* t_list_pop.c - list commands that take elements out (LPOP, LMPOP, LMOVE), and those that wait for some.
 *
 * A blocking command looks at its keys like the others. When it finds nothing it waits, and is run again from
 * the start when one of the keys gets a list: it does not know that it waited. */
#include "base/num.h"
#include "base/zmalloc.h"
#include "command/command.h"
#include "commands/list.h"
#include "command/blocking.h"
#include "data/notify.h"
#include "command/propagate.h"
#include "client/reply.h"
#include "types/t_list.h"
#include "types/types.h"

#define MOVED_ON_STACK 512

/* ---- Popping ---- */

static const char *popEvent(enum listEnd end) {
    return end == LIST_LEFT ? "lpop" : "rpop";
}

static uint64_t atMost(uint64_t count, uint64_t length) {
    return count < length ? count : length;
}

/* Reply `count` elements, of at least as many, in the order of popping, then delete them. */
static void popElements(struct client *c, struct str key, struct object *o, enum listEnd end,
                        uint64_t count) {
    struct listRef l = listTypeOpen(o);
    uint64_t length = listTypeLength(l);
    if (end == LIST_LEFT)
        listTypeReply(l, c, 0, count);
    else
        listTypeReplyBack(l, c, length - 1, count);
    listTypeDelete(&l, end == LIST_LEFT ? 0 : length - count, count);
    listChanged(c, key, o, l, popEvent(end), count);
}

static void popGeneric(struct client *c, enum listEnd end) {
    bool wrong, counted = c->argc == 3;
    int64_t count = 1;
    if (c->argc > 3) {
        replyErrorFmt(c, "ERR wrong number of arguments for '%s' command", c->cmd->fullname);
        return;
    }
    if (counted && !argPositive(c, c->argv[2], &count, NULL)) return;
    struct object *o = lookupKeyWriteType(c, c->argv[1], OBJ_LIST, &wrong);
    if (wrong) return;
    if (!o) {
        if (counted)
            replyNullArray(c);
        else
            replyNull(c);
        return;
    }
    uint64_t here = atMost((uint64_t)count, listTypeLength(listTypeOpen(o)));
    if (counted) replyArrayLen(c, (int64_t)here);
    if (here) popElements(c, c->argv[1], o, end, here);
}

void lpopCommand(struct client *c) {
    popGeneric(c, LIST_LEFT);
}

void rpopCommand(struct client *c) {
    popGeneric(c, LIST_RIGHT);
}

/* ---- Popping from the first of several keys ---- */

/* Run again as LPOP key [count], which needs no luck and does not wait. */
static void propagatePop(struct client *c, struct str key, enum listEnd end, uint64_t count) {
    char text[LONG_STR_SIZE];
    struct str argv[3] = {end == LIST_LEFT ? STR("LPOP") : STR("RPOP"), key, {0}};
    if (!propagateWanted()) return;
    if (count) argv[2] = strN(text, ull2string(text, count));
    propagateRewrite(c, count ? 3 : 2, argv);
}

static void waitForLists(struct client *c, const struct str *keys, int count, int64_t deadline_ms) {
    if (c->flags & CLIENT_DENY_BLOCKING)
        replyNullArray(c);
    else
        blockForKeys(c, keys, count, OBJ_LIST, deadline_ms, NULL, false);
}

static void bpopGeneric(struct client *c, enum listEnd end) {
    int64_t deadline_ms;
    struct str key;
    bool wrong;
    if (!argTimeout(c, c->argv[c->argc - 1], false, &deadline_ms)) return;
    struct object *o = lookupFirstKeyWriteType(c, c->argv + 1, c->argc - 2, OBJ_LIST, &key, &wrong);
    if (wrong) return;
    if (!o) {
        waitForLists(c, c->argv + 1, c->argc - 2, deadline_ms);
        return;
    }
    replyArrayLen(c, 2);
    replyBulk(c, key);
    propagatePop(c, key, end, 0);
    popElements(c, key, o, end, 1);
}

void blpopCommand(struct client *c) {
    bpopGeneric(c, LIST_LEFT);
}

void brpopCommand(struct client *c) {
    bpopGeneric(c, LIST_RIGHT);
}

/* ---- LMPOP, BLMPOP ---- */

static bool parseEnd(struct str s, enum listEnd *end) {
    *end = strIs(s, "right") ? LIST_RIGHT : LIST_LEFT;
    return *end == LIST_RIGHT || strIs(s, "left");
}

struct lmpopArgs {
    const struct str *keys;
    int64_t numkeys, count;
    enum listEnd end;
};

/* numkeys key [key ...] LEFT|RIGHT [COUNT count], from position `at` on. */
static bool parseLmpop(struct client *c, int at, struct lmpopArgs *a) {
    if (!argRange(c, c->argv[at], 1, INT64_MAX, &a->numkeys, "ERR numkeys should be greater than 0"))
        return false;
    a->keys = c->argv + at + 1;
    a->count = 1;
    int64_t next = a->numkeys < c->argc ? at + 1 + a->numkeys : c->argc;
    bool ok = next < c->argc && parseEnd(c->argv[next++], &a->end);
    if (ok && next + 1 < c->argc && strIs(c->argv[next], "count")) {
        if (!argRange(c, c->argv[next + 1], 1, INT64_MAX, &a->count, "ERR count should be greater than 0"))
            return false;
        next += 2;
    }
    if (ok && next == c->argc) return true;
    replySyntaxError(c);
    return false;
}

/* False when there was nothing to pop. */
static bool popFirstList(struct client *c, const struct lmpopArgs *a) {
    struct str key;
    bool wrong;
    struct object *o = lookupFirstKeyWriteType(c, a->keys, (int)a->numkeys, OBJ_LIST, &key, &wrong);
    if (!o) return wrong;
    uint64_t count = atMost((uint64_t)a->count, listTypeLength(listTypeOpen(o)));
    replyArrayLen(c, 2);
    replyBulk(c, key);
    replyArrayLen(c, (int64_t)count);
    propagatePop(c, key, a->end, count);
    popElements(c, key, o, a->end, count);
    return true;
}

void lmpopCommand(struct client *c) {
    struct lmpopArgs a = {0};
    if (parseLmpop(c, 1, &a) && !popFirstList(c, &a)) replyNullArray(c);
}

void blmpopCommand(struct client *c) {
    struct lmpopArgs a = {0};
    int64_t deadline_ms;
    if (!parseLmpop(c, 2, &a) || !argTimeout(c, c->argv[1], false, &deadline_ms)) return;
    if (!popFirstList(c, &a)) waitForLists(c, a.keys, (int)a.numkeys, deadline_ms);
}

/* ---- LMOVE, RPOPLPUSH ---- */

struct move {
    enum listEnd from, to;
};

/* A list turns around in itself: taken out first, since it may be the only element. */
static void rotate(struct client *c, struct object *o, struct str element, const struct move *m) {
    struct str key = c->argv[1];
    struct listRef l = listTypeOpen(o);
    listTypeDelete(&l, m->from == LIST_LEFT ? 0 : listTypeLength(l) - 1, 1);
    listTypePush(&l, element, m->to);
    listPushed(c, key, o, l, m->to, 0);
    listChanged(c, key, o, l, popEvent(m->from), 1);
}

static void moveBetween(struct client *c, struct object *from, struct object *to, struct str element,
                        const struct move *m) {
    struct listRef target = to ? listTypeOpen(to) : listTypeNew(qlEntryBound(element.len));
    listTypePush(&target, element, m->to);
    listPushed(c, c->argv[2], to, target, m->to, 0);
    struct listRef source = listTypeOpen(from);
    listTypeDelete(&source, m->from == LIST_LEFT ? 0 : listTypeLength(source) - 1, 1);
    listChanged(c, c->argv[1], from, source, popEvent(m->from), 1);
}

/* The element is copied, since both lists change. */
static void moveElement(struct client *c, struct object *from, struct object *to, const struct move *m) {
    char number[LP_INTBUF_SIZE], small[MOVED_ON_STACK], *copy = small;
    struct listIterator it;
    listTypeSeek(&it, listTypeOpen(from), m->from == LIST_LEFT ? 0 : -1);
    struct str element = listTypeText(&it, number);
    if (element.len > sizeof small) copy = zmalloc(element.len);
    if (element.len) memcpy(copy, element.ptr, element.len);
    element.ptr = copy;
    listTypeStop(&it);
    replyBulk(c, element);
    if (strEq(c->argv[1], c->argv[2]))
        rotate(c, from, element, m);
    else
        moveBetween(c, from, to, element, m);
    if (copy != small) zfree(copy);
}

/* The source's object; NULL when there is none, or an error was replied. */
static struct object *moveIfThere(struct client *c, const struct move *m, bool *wrong) {
    struct object *from = lookupKeyWriteType(c, c->argv[1], OBJ_LIST, wrong);
    if (!from) return NULL;
    struct object *to = lookupKeyWriteType(c, c->argv[2], OBJ_LIST, wrong);
    if (*wrong) return NULL;
    moveElement(c, from, to, m);
    return from;
}

static void moveGeneric(struct client *c, const struct move *m) {
    bool wrong;
    if (!moveIfThere(c, m, &wrong) && !wrong) replyNull(c);
}

void rpoplpushCommand(struct client *c) {
    moveGeneric(c, &(struct move){LIST_RIGHT, LIST_LEFT});
}

static bool parseEnds(struct client *c, struct move *m) {
    if (parseEnd(c->argv[3], &m->from) && parseEnd(c->argv[4], &m->to)) return true;
    replySyntaxError(c);
    return false;
}

void lmoveCommand(struct client *c) {
    struct move m;
    if (parseEnds(c, &m)) moveGeneric(c, &m);
}

/* ---- BLMOVE, BRPOPLPUSH: the same command without its last argument, unless it has to wait ---- */

static void bmoveGeneric(struct client *c, const struct move *m, const char *plain) {
    int64_t deadline_ms;
    bool wrong;
    if (!argTimeout(c, c->argv[c->argc - 1], false, &deadline_ms)) return;
    if (moveIfThere(c, m, &wrong)) {
        struct str argv[5] = {strOf(plain)};
        for (int i = 1; i < c->argc - 1; i++) argv[i] = c->argv[i];
        propagateRewrite(c, c->argc - 1, argv);
    } else if (!wrong) {
        if (c->flags & CLIENT_DENY_BLOCKING)
            replyNull(c);
        else
            blockForKeys(c, c->argv + 1, 1, OBJ_LIST, deadline_ms, NULL, false);
    }
}

void blmoveCommand(struct client *c) {
    struct move m;
    if (parseEnds(c, &m)) bmoveGeneric(c, &m, "LMOVE");
}

void brpoplpushCommand(struct client *c) {
    bmoveGeneric(c, &(struct move){LIST_RIGHT, LIST_LEFT}, "RPOPLPUSH");
}
