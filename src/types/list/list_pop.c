/* SPDX-License-Identifier: BSD-3-Clause */
/* list_pop.c - list commands that remove elements: LPOP, LMPOP, LMOVE and their kin. pop.h has what those
 * with several keys, or that wait, share with sorted sets. list_movem.c has LMOVEM. */
#include "base/zmalloc.h"
#include "client/reply.h"
#include "command/blocking.h"
#include "command/command.h"
#include "command/lookup.h"
#include "command/propagate.h"
#include "commands/cmd_list.h"
#include "data/notify.h"
#include "types/list/list_commands.h"
#include "types/pop.h"
#include "types/types.h"

#define MOVED_ON_STACK 512

/* ---- Popping ---- */

const char *listPopEvent(enum listEnd end) {
    return end == LIST_LEFT ? "lpop" : "rpop";
}

/* Replies `count` elements (at most as many as there are) in the order of popping, then deletes them. */
static void listPopElements(struct client *c, struct str key, struct object *o, enum listEnd end,
                            uint64_t count) {
    struct listRef l = listTypeOpen(o);
    uint64_t length = listTypeLength(l);
    if (end == LIST_LEFT)
        listTypeReply(l, c, 0, count);
    else
        listTypeReplyBack(l, c, length - 1, count);
    listTypeDelete(&l, end == LIST_LEFT ? 0 : length - count, count);
    listChanged(c, key, o, l, listPopEvent(end), count);
}

static void listPopGeneric(struct client *c, enum listEnd end) {
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
    uint64_t here = popMin((uint64_t)count, listTypeLength(listTypeOpen(o)));
    if (counted) replyArrayLen(c, (int64_t)here);
    if (here) listPopElements(c, c->argv[1], o, end, here);
}

void lpopCommand(struct client *c) {
    listPopGeneric(c, LIST_LEFT);
}

void rpopCommand(struct client *c) {
    listPopGeneric(c, LIST_RIGHT);
}

/* ---- Popping from the first of several keys ---- */

static uint64_t listLengthOf(const struct object *o) {
    return listTypeLength(listTypeOpen(o));
}

static void listPopFromEnd(struct client *c, struct str key, struct object *o, enum popEnd end,
                           uint64_t count, bool many) {
    (void)many;
    listPopElements(c, key, o, end == POP_FIRST ? LIST_LEFT : LIST_RIGHT, count);
}

static const struct popType list_pop = {.type = OBJ_LIST,
                                        .word = {"left", "right"},
                                        .command = {"LPOP", "RPOP"},
                                        .single = 2,
                                        .length = listLengthOf,
                                        .pop = listPopFromEnd};

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

/* Moves an element within one list: it is removed first, since it may be the only one. */
static void listPopRotate(struct client *c, struct object *o, struct str element, const struct listMove *m) {
    struct str key = c->argv[1];
    struct listRef l = listTypeOpen(o);
    listTypeDelete(&l, m->from == LIST_LEFT ? 0 : listTypeLength(l) - 1, 1);
    listTypePush(&l, element, m->to);
    o = listPushed(c, key, o, l, m->to, 0);
    listChanged(c, key, o, listTypeOpen(o), listPopEvent(m->from), 1);
}

static void listPopMoveBetween(struct client *c, struct object *from, struct object *to, struct str element,
                               const struct listMove *m) {
    struct listRef target = to ? listTypeOpen(to) : listTypeNew(qlEntryBound(element.len));
    listTypePush(&target, element, m->to);
    listPushed(c, c->argv[2], to, target, m->to, 0);
    struct listRef source = listTypeOpen(from);
    listTypeDelete(&source, m->from == LIST_LEFT ? 0 : listTypeLength(source) - 1, 1);
    listChanged(c, c->argv[1], from, source, listPopEvent(m->from), 1);
}

/* The element is copied, since both lists change. */
static void listPopMoveElement(struct client *c, struct object *from, struct object *to,
                               const struct listMove *m) {
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
        listPopRotate(c, from, element, m);
    else
        listPopMoveBetween(c, from, to, element, m);
    if (copy != small) zfree(copy);
}

/* Returns false when an error was replied. *moved is false when there is no source. */
static bool listPopMoveIfThere(struct client *c, const struct listMove *m, bool *moved) {
    struct object *from, *to;
    *moved = false;
    if (!lookupKeyWriteType(c, c->argv[1], OBJ_LIST, &from)) return false;
    if (!from) return true;
    if (!lookupKeyWriteType(c, c->argv[2], OBJ_LIST, &to)) return false;
    listPopMoveElement(c, from, to, m);
    *moved = true;
    return true;
}

static void listPopMoveGeneric(struct client *c, const struct listMove *m) {
    bool moved;
    if (listPopMoveIfThere(c, m, &moved) && !moved) replyNull(c);
}

void rpoplpushCommand(struct client *c) {
    listPopMoveGeneric(c, &(struct listMove){LIST_RIGHT, LIST_LEFT});
}

static bool listPopParseEnd(struct str s, enum listEnd *end) {
    *end = strIs(s, "right") ? LIST_RIGHT : LIST_LEFT;
    return *end == LIST_RIGHT || strIs(s, "left");
}

bool listParseMove(struct client *c, struct listMove *m) {
    if (listPopParseEnd(c->argv[3], &m->from) && listPopParseEnd(c->argv[4], &m->to)) return true;
    return replySyntaxError(c);
}

void lmoveCommand(struct client *c) {
    struct listMove m;
    if (listParseMove(c, &m)) listPopMoveGeneric(c, &m);
}

/* ---- BLMOVE, BRPOPLPUSH: the same command without its last argument, unless it has to wait ---- */

static void listPopBmoveGeneric(struct client *c, const struct listMove *m, const char *plain) {
    int64_t deadline_ms;
    bool moved;
    if (!argTimeout(c, c->argv[c->argc - 1], false, &deadline_ms) || !listPopMoveIfThere(c, m, &moved))
        return;
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
    struct listMove m;
    if (listParseMove(c, &m)) listPopBmoveGeneric(c, &m, "LMOVE");
}

void brpoplpushCommand(struct client *c) {
    listPopBmoveGeneric(c, &(struct listMove){LIST_RIGHT, LIST_LEFT}, "RPOPLPUSH");
}
