/* SPDX-License-Identifier: BSD-3-Clause */
/* string_rdb.c - strings in files (part of rdb_hooks.h). */
#include "data/rdb/rewrite.h"
#include "types/rdb_hooks.h"
#include "types/string/string_commands.h"
#include "types/types.h"

uint8_t stringRdbType(const struct object *o, int version) {
    (void)o, (void)version;
    return RDB_TYPE_STRING;
}

void stringRdbSave(struct rioWriter *w, const struct object *o) {
    char text[LONG_STR_SIZE];
    rdbWriteString(w, stringView(o, text));
}

enum rdbLoaded stringRdbLoad(struct rdbReader *r, uint8_t rdb_type, struct value *v) {
    struct str s;
    (void)rdb_type;
    if (!rdbReadString(r, &s)) return RDB_FAILED;
    *v = s.len > RIO_BUFFER ? stringTakenValue(rdbTakeString(r, s)) : stringValue(s, r->small);
    return RDB_LOADED;
}

void stringRdbRewrite(struct rioWriter *w, struct str key, const struct object *o) {
    char text[LONG_STR_SIZE];
    rewriteCommand(w, 3);
    rewriteArgs(w, STR("SET"), key, stringView(o, text));
}
