/* SPDX-License-Identifier: BSD-3-Clause */
/* string_defrag.c - part of t_string.h: defragmentation of strings that have an allocation of their own.
 * Those that replies refer to stay where they are. */
#include "types/defrag_hooks.h"
#include "types/t_string.h"

bool stringDefrag(struct db *db, struct object *o, struct defragCursor *at) {
    (void)db, (void)at;
    if (stringIsReferredTo(o)) return false;
    sds now = sdsMove(stringEditBegin(o), defragMove, NULL);
    if (now) objectSetPtr(o, (int)o->encoding, now);
    return false;
}
