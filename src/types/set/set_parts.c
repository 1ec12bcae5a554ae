/* SPDX-License-Identifier: BSD-3-Clause */
/* set_parts.c - see set_private.h.
 *
 *     RDB        number of members at the start, then the members in the order in which they are saved
 *     commands   SADD key member ..., with as many members as are at hand */
#include "base/zmalloc.h"
#include "data/forkless/table_parts.h"
#include "data/rdb/rdb.h"
#include "data/rdb/rewrite.h"
#include "types/set/set.h"
#include "types/set/set_private.h"

struct setParts {
    struct tableParts table;
    struct largeValue *value;
    unsigned count; /* members that wait for their command */
    const void *members[REWRITE_ITEMS_PER_COMMAND];
};

static void setPartsWriteCommand(struct setParts *p) {
    struct rioWriter *w = largeValueWriter(p->value);
    if (!p->count) return;
    rewriteCommand(w, 2 + (int64_t)p->count);
    rewriteArgs(w, STR("SADD"), p->value->key);
    for (unsigned i = 0; i < p->count; i++) rewriteArg(w, setMemberText(p->members[i]));
    p->count = 0;
}

/* In either thread. */
static void setPartsWrite(struct rioWriter *w, const void *entry, const struct queueEntryForm *form) {
    (void)form;
    rdbWriteString(w, setMemberText(entry));
}

static void setPartsSave(void *priv, void *entry) {
    struct setParts *p = priv;
    if (!p->value->commands) {
        setPartsWrite(largeValueWriter(p->value), entry, NULL);
        return;
    }
    p->members[p->count++] = entry;
    if (p->count == REWRITE_ITEMS_PER_COMMAND) setPartsWriteCommand(p);
}

void setPartsBefore(struct largeValue *v, uint64_t hash) {
    struct setParts *p = v->state;
    tablePartsBefore(&p->table, hash, setPartsSave, p);
    setPartsWriteCommand(p);
}

/* ---- Hooks ---- */

static size_t setPartsMemberBytes(const void *entry) {
    return setMemberText(entry).len;
}

static bool setPartsIsLarge(const struct object *o) {
    return tablePartsIsLarge(objectPtr(o), setPartsMemberBytes);
}

static void setPartsBegin(struct largeValue *v, const struct object *o) {
    struct setParts *p = v->state = zmalloc(sizeof *p);
    p->value = v;
    p->count = 0;
    tablePartsBegin(&p->table, objectPtr(o), v, setPartsMemberBytes);
    if (!v->commands) rdbWriteLen(largeValueWriter(v), setSize(setOpen(o)));
}

static bool setPartsNext(struct largeValue *v) {
    struct setParts *p = v->state;
    bool more = tablePartsSlice(&p->table, largeValueWriter(v), setPartsSave, p);
    setPartsWriteCommand(p);
    return more;
}

static bool setPartsGive(struct largeValue *v, struct queueEntries *batch) {
    struct setParts *p = v->state;
    batch->write = setPartsWrite;
    return tablePartsGive(&p->table, batch, setPartsSave, p);
}

static void setPartsEnd(struct largeValue *v, bool complete) {
    struct setParts *p = v->state;
    (void)complete;
    tablePartsEnd(&p->table);
    zfreeSized(p, sizeof *p);
}

const struct valueParts *setParts(const struct object *o) {
    static const struct valueParts parts = {.isLarge = setPartsIsLarge,
                                            .begin = setPartsBegin,
                                            .next = setPartsNext,
                                            .give = setPartsGive,
                                            .end = setPartsEnd};
    return o->encoding == SET_HASHTABLE ? &parts : NULL;
}
