/* SPDX-License-Identifier: BSD-3-Clause */
/* list_pop.c - list commands that take elements out: LPOP, LMPOP, LMOVE and their kin. What those that look
 * at several keys, or wait for some, have in common with sorted sets is in pop.h. */
#include "base/zmalloc.h"
#include "command/command.h"
#include "commands/cmd_list.h"
#include "command/blocking.h"
#include "data/notify.h"
#include "command/propagate.h"
#include "command/lookup.h"
#include "client/reply.h"
#include "types/pop.h"
#include "types/list/list_commands.h"
#include "types/types.h"

#define MOVED_ON_STACK 512

/* ---- Popping ---- */

static const char *popEvent(enum listEnd end) {
    return end == LIST_LEFT ? "lpop" : "rpop";
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
    bool counted = c->argc == 3;
    int64_t count = 1;
    if (c->argc > 3) {
        replyErrorFmt(c, "ERR wrong number of arguments for '%s' command", c->cmd->fullname);
        return;
    }
    if (counted && !argPositive(c, c->argv[2], &count, NULL)) return;
    struct object *o;
    if (!lookupKeyWriteType(c, c->argv[1], OBJ_LIST, &o)) return;
    if (!o) {
        if (counted)
            replyNullArray(c);
        else
            replyNull(c);
        return;
    }
    uint64_t here = popAtMost((uint64_t)count, listTypeLength(listTypeOpen(o)));
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

static uint64_t listLengthOf(const struct object *o) {
    return listTypeLength(listTypeOpen(o));
}

static void popFromEnd(struct client *c, struct str key, struct object *o, enum popEnd end, uint64_t count,
                       bool many) {
    (void)many;
    popElements(c, key, o, end == POP_FIRST ? LIST_LEFT : LIST_RIGHT, count);
}

static const struct popType list_pop = {.type = OBJ_LIST,
                                        .word = {"left", "right"},
                                        .command = {"LPOP", "RPOP"},
                                        .single = 2,
                                        .length = listLengthOf,
                                        .pop = popFromEnd};

void blpopCommand(struct client *c) {
    popOneBlocking(c, &list_pop, POP_FIRST);
}

void brpopCommand(struct client *c) {
    popOneBlocking(c, &list_pop, POP_LAST);
}

void lmpopCommand(struct client *c) {
    popMany(c, &list_pop);
}

void blmpopCommand(struct client *c) {
    popManyBlocking(c, &list_pop);
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
    o = listPushed(c, key, o, l, m->to, 0);
    listChanged(c, key, o, listTypeOpen(o), popEvent(m->from), 1);
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

/* False: an error was replied. *moved is false when there is no source. */
static bool moveIfThere(struct client *c, const struct move *m, bool *moved) {
    struct object *from, *to;
    *moved = false;
    if (!lookupKeyWriteType(c, c->argv[1], OBJ_LIST, &from)) return false;
    if (!from) return true;
    if (!lookupKeyWriteType(c, c->argv[2], OBJ_LIST, &to)) return false;
    moveElement(c, from, to, m);
    *moved = true;
    return true;
}

static void moveGeneric(struct client *c, const struct move *m) {
    bool moved;
    if (moveIfThere(c, m, &moved) && !moved) replyNull(c);
}

void rpoplpushCommand(struct client *c) {
    moveGeneric(c, &(struct move){LIST_RIGHT, LIST_LEFT});
}

static bool parseEnd(struct str s, enum listEnd *end) {
    *end = strIs(s, "right") ? LIST_RIGHT : LIST_LEFT;
    return *end == LIST_RIGHT || strIs(s, "left");
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
    bool moved;
    if (!argTimeout(c, c->argv[c->argc - 1], false, &deadline_ms) || !moveIfThere(c, m, &moved)) return;
    if (moved) {
        struct str argv[5] = {strOf(plain)};
        for (int i = 1; i < c->argc - 1; i++) argv[i] = c->argv[i];
        propagateRewrite(c, c->argc - 1, argv);
    } else if (c->flags & CLIENT_DENY_BLOCKING) {
        replyNull(c);
    } else {
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
