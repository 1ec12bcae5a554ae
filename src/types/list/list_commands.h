/* SPDX-License-Identifier: BSD-3-Clause */
/* list_commands.h - private to the files t_list*.c. */
#pragma once

#include "client/client.h"
#include "types/list/list.h"

/* The list o of this key has become `l`: commit it, or delete the key when it is empty; and tell everybody
 * about the event, and about the key's end. `changes` is added to dbstats.dirty. */
void listChanged(struct client *c, struct str key, struct object *o, struct listRef l, const char *event,
                 uint64_t changes);
/* Elements came to a list; `o` NULL: it is new, and gets the key. Returns its object. */
struct object *listPushed(struct client *c, struct str key, struct object *o, struct listRef l,
                          enum listEnd end, uint64_t changes);
