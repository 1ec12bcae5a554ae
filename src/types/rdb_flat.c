/* SPDX-License-Identifier: BSD-3-Clause */
/* rdb_flat.c - flat containers in RDB data: listpacks, and their predecessors (part of rdb_hooks.h). */
#include "base/hash_function.h"
#include "base/zmalloc.h"
#include "ds/listpack.h"
#include "ds/ziplist.h"
#include "ds/zipmap.h"
#include "types/rdb_hooks.h"

#define SMALL_TABLE 512 /* slots on the stack */

unsigned char *rdbReadFlat(struct rdbReader *r, enum rdbFlatForm form) {
    size_t size;
    unsigned char *blob = rdbReadBlob(r, &size), *lp = NULL;
    if (!blob) return NULL;
    struct str bytes = strN((const char *)blob, size);
    switch (form) {
    case RDB_FLAT_LISTPACK:
        if (lpValidate(blob, size, true, NULL, NULL)) return blob;
        break;
    case RDB_FLAT_ZIPLIST: lp = ziplistToListpack(bytes); break;
    case RDB_FLAT_ZIPMAP: lp = zipmapToListpack(bytes); break;
    }
    zfree(blob);
    if (!lp)
        rioFail(&r->io, "a %s that is not sound",
                form == RDB_FLAT_LISTPACK  ? "listpack"
                : form == RDB_FLAT_ZIPLIST ? "ziplist"
                                           : "zipmap");
    return lp;
}

/* Returns whether the table has an element equal to this one. If not, adds this one's offset; 0 is a free
 * slot. */
static bool rdbFlatAddUnlessEqual(uint32_t *table, size_t mask, unsigned char *lp, unsigned char *p) {
    char text[LP_INTBUF_SIZE];
    struct str s = lpView(p, text);
    size_t i = hashBytes(s.ptr, s.len) & mask;
    for (; table[i]; i = (i + 1) & mask)
        if (lpEqual(lp + table[i], s)) return true;
    table[i] = (uint32_t)(p - lp);
    return false;
}

bool rdbFlatEachOnce(unsigned char *lp, unsigned step) {
    uint32_t small[SMALL_TABLE];
    size_t n = lpLength(lp) / step, slots = 4;
    if (n < 2) return true;
    while (slots < 2 * n) slots *= 2;
    uint32_t *table = slots <= SMALL_TABLE ? small : zmalloc(slots * sizeof *table);
    memset(table, 0, slots * sizeof *table);
    bool once = true;
    for (unsigned char *p = lpFirst(lp); once && p;) {
        once = !rdbFlatAddUnlessEqual(table, slots - 1, lp, p);
        for (unsigned i = 0; i < step && p; i++) p = lpNext(lp, p);
    }
    if (table != small) zfree(table);
    return once;
}
