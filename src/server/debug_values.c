/* SPDX-License-Identifier: BSD-3-Clause */
/* debug_values.c - DEBUG subcommands that show how single values are stored. Part of debug_command.h. */
#include <stdio.h>

#include "client/client.h"
#include "client/reply.h"
#include "data/keyspace/db.h"
#include "data/rdb/rio.h"
#include "data/type.h"
#include "registry/cron.h"
#include "registry/debug.h"
#include "server/debug_command.h"

/* Finds a key even if it has expired. */
static struct object *debugValuesKeyToInspect(struct client *c) {
    struct object *o = dbFind(c->db, c->argv[2]);
    if (!o) replyError(c, err_nosuchkey);
    return o;
}

static int debugValuesCountOnly(void *priv, const char *p, size_t n) {
    (void)priv, (void)p, (void)n;
    return 0;
}

/* Returns the bytes that the value takes in a snapshot. */
static uint64_t debugValuesSerializedLength(const struct object *o) {
    struct rioWriter w;
    rioWriterInit(&w, debugValuesCountOnly, NULL);
    objectTypeOf(o)->save(&w, o);
    uint64_t n = rioWritten(&w);
    rioWriterFree(&w);
    return n;
}

/* Replies the fields that clients parse. FAST omits what takes time to compute. */
static void debugObject(struct client *c) {
    struct object *o = debugValuesKeyToInspect(c);
    if (!o) return;
    const struct objectType *type = objectTypeOf(o);
    sds s = sdscatprintf(sdsempty(), "Value at:%p refcount:1 encoding:%s", (void *)o, type->encodingName(o));
    if (c->argc == 3 || !strIs(c->argv[3], "fast"))
        s = sdscatprintf(s, " serializedlength:%llu", (unsigned long long)debugValuesSerializedLength(o));
    s = sdscatprintf(s, " lru:%u lru_seconds_idle:%u", (unsigned)o->lru, (lruClock() - o->lru) & 0xffffff);
    if (type->debugInfo) {
        s = type->debugInfo(o, sdscat(s, " "));
        s = sdstrim(s, " ");
    }
    replyStatus(c, s);
    sdsfree(s);
}

/* Replies the shape of a sorted set, as its type describes it. */
static void debugZset(struct client *c) {
    struct object *o = debugValuesKeyToInspect(c);
    if (!o) return;
    const struct objectType *type = objectTypeOf(o);
    if (type != objectTypeByName(STR("zset"))) {
        replyWrongType(c);
        return;
    }
    sds s = sdscatprintf(sdsempty(), "encoding:%s ", type->encodingName(o));
    s = sdstrim(type->debugInfo(o, s), " ");
    replyStatus(c, s);
    sdsfree(s);
}

static void debugHtstatsKey(struct client *c) {
    struct object *o = debugValuesKeyToInspect(c);
    if (!o) return;
    const struct objectType *type = objectTypeOf(o);
    struct hashtable *table = type->table ? type->table(o) : NULL;
    if (!table) {
        replyError(c, "ERR The value stored at the specified key is not represented using an hash table");
        return;
    }
    sds s = hashtableStats(table, sdsempty(), "main hash table");
    replyVerbatim(c, sdsview(s), "txt");
    sdsfree(s);
}

/* ---- Printing structures on standard output ---- */

static bool debugValuesPrintElement(void *priv, struct str element) {
    int *n = priv;
    printf("{%d} %zu bytes: ", (*n)++, element.len);
    fwrite(element.ptr, 1, element.len, stdout);
    putchar('\n');
    return true;
}

static void debugValuesPrintStructure(struct client *c, const char *encoding, const char *title) {
    struct object *o = debugValuesKeyToInspect(c);
    if (!o) return;
    const struct objectType *type = objectTypeOf(o);
    if (strcmp(type->encodingName(o), encoding) || !type->iterate) {
        replyErrorFmt(c, "ERR Not a %s encoded object.", encoding);
        return;
    }
    sds shape = type->debugInfo ? type->debugInfo(o, sdsempty()) : sdsempty();
    printf("%s: %zu bytes %s\n", title, type->memoryUsage(o, 0), shape);
    sdsfree(shape);
    int n = 0;
    type->iterate(o, debugValuesPrintElement, &n);
    fflush(stdout);
    sds answer = sdscatprintf(sdsempty(), "%s structure printed on stdout", title);
    replyStatus(c, answer);
    sdsfree(answer);
}

static void debugListpack(struct client *c) {
    debugValuesPrintStructure(c, "listpack", "Listpack");
}

static void debugQuicklist(struct client *c) {
    debugValuesPrintStructure(c, "quicklist", "Quicklist");
}

/* ---- The table ---- */

void debugValuesInit(void) {
    static const char *const object_help[] = {"OBJECT <key> [FAST]",
                                              "    Show how the value of <key> is stored.", NULL};
    static const char *const zset_help[] = {"ZSET <key>",
                                            "    Show encoding, shape and size of a sorted set.", NULL};
    static const char *const htstats_help[] = {"HTSTATS-KEY <key>",
                                               "    Show how full the hash table in a value is.", NULL};
    static const char *const listpack_help[] = {
        "LISTPACK <key>", "    Print the elements of a small value on the server's standard output.", NULL};
    static const char *const quicklist_help[] = {
        "QUICKLIST <key>", "    Print the elements of a long list on the server's standard output.", NULL};
    static const struct debugSubcommand subcommands[] = {
        {"object", 1, 2, debugObject, object_help},
        {"zset", 1, 1, debugZset, zset_help},
        {"htstats-key", 1, 2, debugHtstatsKey, htstats_help},
        {"listpack", 1, 1, debugListpack, listpack_help},
        {"quicklist", 1, 2, debugQuicklist, quicklist_help},
    };
    for (size_t i = 0; i < sizeof subcommands / sizeof *subcommands; i++) debugRegister(&subcommands[i]);
}
