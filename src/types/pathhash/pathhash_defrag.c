/* SPDX-License-Identifier: BSD-3-Clause */
/* pathhash_defrag.c - defragmentation of path hashes, some nodes or fields at a time.
 *
 *     at[0]        what                                              last_path
 *     FROM_START   the struct, and the map from its start            NULL
 *     IN_MAP       the map with its payloads; of large tables all    the last node
 *                  but the fields
 *     IN_FIELDS    the fields of large tables; of the present one    that of the present table, or the last
 *                  from at[1] on; 0: the next one is to be found     one that was looked at
 *
 * There is one `last_path`, since one large value is in progress at a time. If another one has been visited
 * meanwhile, some nodes are visited twice or not at all. */
#include "types/defrag_hooks.h"
#include "types/pathhash/pathhash_private.h"

#define NODES_PER_CALL 64
#define MANY_FIELDS    256 /* a table of more fields is done in pieces */

enum { FROM_START, IN_MAP, IN_FIELDS };

static sds last_path;

static void pathHashDefragRemember(sds path) {
    sdsfree(last_path);
    last_path = path;
}

static void pathHashDefragPayload(void *priv, void **place) {
    (void)priv;
    struct hash h;
    if (payloadEncoding(*place) == HASH_PACKED) {
        defragPointer(place);
        return;
    }
    payloadOpen(&h, *place);
    hashDefragContainer(&h);
    *place = payloadTag(h.ptr, h.encoding);
    if (h.encoding != HASH_TABLE || hashSize(&h) > MANY_FIELDS) return;
    uint64_t cursor = 0;
    do cursor = hashDefragFields(&h, cursor);
    while (cursor);
}

/* Finds the next payload that is a large table. Returns false at the end of the map. */
static bool pathHashDefragNextTable(const struct pathHash *ph, struct defragCursor *at) {
    struct pathmapIterator it;
    struct hash h;
    struct str after = last_path ? sdsview(last_path) : STR("");
    void **place = NULL;
    pathmapIterate(&it, ph->paths, STR(""), last_path ? &after : NULL);
    for (int left = NODES_PER_CALL; left && !at->at[1] && (place = pathmapNext(&it)); left--) {
        payloadOpen(&h, *place);
        if (h.encoding == HASH_TABLE && hashSize(&h) > MANY_FIELDS) at->at[1] = hashDefragFields(&h, 0);
    }
    if (place) pathHashDefragRemember(sdsdup(it.path));
    pathmapStop(&it);
    return place;
}

static bool pathHashDefragTables(const struct pathHash *ph, struct defragCursor *at) {
    struct hash h;
    if (!at->at[1]) return pathHashDefragNextTable(ph, at);
    bool found = last_path && pathHashGet(ph, sdsview(last_path), &h) && h.encoding == HASH_TABLE;
    at->at[1] = found ? hashDefragFields(&h, at->at[1]) : 0;
    return true;
}

bool pathHashDefrag(struct db *db, struct object *o, struct defragCursor *at) {
    (void)db;
    struct pathHash *ph = pathHashOpen(o);
    bool more;
    if (at->at[0] == FROM_START) {
        defragContainer(o);
        ph = pathHashOpen(o);
        pathHashDefragRemember(NULL);
    }
    if (at->at[0] == IN_FIELDS) {
        more = pathHashDefragTables(ph, at);
    } else {
        bool tables = ph->table_fields > MANY_FIELDS;
        bool nodes =
            pathmapDefrag(&ph->paths, &last_path, NODES_PER_CALL, defragMove, pathHashDefragPayload, NULL);
        at->at[0] = nodes ? IN_MAP : IN_FIELDS;
        more = nodes || tables;
    }
    if (!more) pathHashDefragRemember(NULL);
    return more;
}
