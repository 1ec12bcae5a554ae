/* SPDX-License-Identifier: BSD-3-Clause */
/* list_commands.h - what the files of the list commands share. */
#pragma once

#include "client/client.h"
#include "types/list/list.h"

/* Commits the list o of this key as `l`, or deletes the key when it is empty; and reports the event, and the
 * deletion. `changes` is added to dbstats.dirty. */
void listChanged(struct client *c, struct str key, struct object *o, struct listRef l, const char *event,
                 uint64_t changes);
/* Commits a list that got elements; `o` NULL: it is new, and gets the key. Returns its object. */
struct object *listPushed(struct client *c, struct str key, struct object *o, struct listRef l,
                          enum listEnd end, uint64_t changes);

/* ---- Moving elements (list_pop.c) ---- */

struct listMove {
    enum listEnd from, to;
};
/* Parses "LEFT|RIGHT LEFT|RIGHT" from argument 3 on. Returns false when an error was replied. */
bool listParseMove(struct client *c, struct listMove *m);
const char *listPopEvent(enum listEnd end); /* the event of popping there */
