/* rdb_flat.c - flat containers in RDB data: listpacks, and their predecessors (part of rdb_hooks.h). */
#include "base/zmalloc.h"
#include "ds/listpack.h"
#include "ds/ziplist.h"
#include "ds/zipmap.h"
#include "types/rdb_hooks.h"

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
