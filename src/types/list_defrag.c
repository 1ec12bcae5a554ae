/* SPDX-License-Identifier: BSD-3-Clause */
/* list_defrag.c - part of list.h: defragmentation of lists, a long one some nodes at a time. */
#include "ds/quicklist.h"
#include "types/defrag_hooks.h"
#include "types/list.h"

#define NODES_PER_CALL 128

bool listDefrag(struct db *db, struct object *o, struct defragCursor *at) {
    (void)db;
    if (o->encoding == LIST_LISTPACK) {
        defragContainer(o);
        return false;
    }
    objectSetPtr(o, LIST_QUICKLIST, qlMove(objectPtr(o), &at->at[0], NODES_PER_CALL, defragMove, NULL));
    return at->at[0] != 0;
}
