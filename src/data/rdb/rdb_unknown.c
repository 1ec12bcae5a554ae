/* SPDX-License-Identifier: BSD-3-Clause */
/* rdb_unknown.c - data that nothing here can use: values of module types, and what modules keep beside
 * values. Part of rdb.h.
 *
 * The data of a module are a sequence of items, each with its kind, so that their end can be found without
 * the module:
 *
 *     item       | kind | number or string |           kinds: 1, 2 number; 3 float; 4 double; 5 string
 *     items      | item ... | 0 |
 *     metadata   | 243 | number of classes | class: 4 bytes | items | class ... |     before a key of Redis
 *
 * A class has 24 bits of name and, below these, 8 bits of flags. The lowest flag says that the metadata may
 * be ignored where the class does not exist. */
#include <stdio.h>
#include <string.h>

#include "base/assert.h"
#include "base/log.h"
#include "data/rdb/rdb.h"

#define CLASSES_MAX   7 /* of metadata of one key, as in Redis 8.6 */
#define CLASS_NAME    4
#define CLASS_MAY_GO  1
#define LISTED_MAX    100
#define KEY_SHOWN_MAX 256

bool rdb_skip_unknown_types;

/* ---- Names ---- */

static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

void rdbModuleName(uint64_t id, char name[RDB_MODULE_NAME]) {
    for (int i = 8; i >= 0; i--) name[8 - i] = letters[id >> (10 + 6 * i) & 63];
    name[9] = '\0';
}

/* ---- Finding the end ---- */

bool rdbSkipModuleItems(struct rdbReader *r) {
    enum { END, SIGNED, UNSIGNED, FLOAT, DOUBLE, STRING };
    uint64_t item, n;
    for (;;) {
        if (!rdbReadLen(r, &item)) return false;
        bool ok;
        switch (item) {
        case END: return true;
        case SIGNED:
        case UNSIGNED: ok = rdbReadLen(r, &n); break;
        case FLOAT: ok = rioView(&r->io, 4) != NULL; break;
        case DOUBLE: ok = rioView(&r->io, 8) != NULL; break;
        case STRING: ok = rdbSkipString(r); break;
        default: return rioFail(&r->io, "unknown item in the data of a module");
        }
        if (!ok) return false;
    }
}

enum rdbLoaded rdbReadUnknownModule(struct rdbReader *r, uint64_t id) {
    rdbModuleName(id, r->unknown_type);
    if (r->skip_unknown) return rdbSkipModuleItems(r) ? RDB_SKIPPED : RDB_FAILED;
    r->unknown = true;
    rioFail(&r->io, "there is a value of the module type '%s', but no loaded module provides that type",
            r->unknown_type);
    return RDB_FAILED;
}

enum rdbLoaded rdbFailType(struct rdbReader *r, uint8_t type) {
    r->unknown = true;
    if (rdbVersionIsRedis(r->version) && (type == RDB_TYPE_HASH_EXPIRING || type == RDB_TYPE_PATH_HASH))
        rioFail(&r->io, "type of value %d was written by a pre-release version of Redis 7.4 only", type);
    else if (type == RDB_TYPE_MODULE)
        rioFail(&r->io, "values of modules in the format of a pre-release version cannot be read");
    else
        rioFail(&r->io, "unknown type of value: %d", type);
    return RDB_FAILED;
}

bool rdbSkipAside(struct rdbReader *r, uint64_t id) {
    rdbModuleName(id, r->unknown_type);
    if (r->skip_unknown) return rdbSkipModuleItems(r);
    r->unknown = true;
    return rioFail(&r->io, "The RDB file holds auxiliary data of the module '%s', which is not loaded",
                   r->unknown_type);
}

/* ---- Metadata of keys ---- */

static bool rdbReadMetadataClass(struct rdbReader *r, struct rdbMetadata *m) {
    int32_t class;
    char name[CLASS_NAME + 1] = {0};
    if (!rdbReadInt32(r, &class)) return false;
    for (int i = 0; i < CLASS_NAME; i++) name[i] = letters[(uint32_t) class >> (26 - 6 * i) & 63];
    m->classes = sdscatprintf(m->classes ? sdscat(m->classes, ", ") : sdsempty(), "'%s'", name);
    m->needed |= !(class & CLASS_MAY_GO);
    return rdbSkipModuleItems(r);
}

bool rdbReadMetadata(struct rdbReader *r, struct rdbMetadata *m) {
    uint64_t n;
    if (m->classes) return rioFail(&r->io, "metadata of one key twice");
    if (!rdbReadLen(r, &n)) return false;
    if (n > CLASSES_MAX) return rioFail(&r->io, "metadata of %llu classes", (unsigned long long)n);
    for (; n; n--) {
        if (!rdbReadMetadataClass(r, m)) return false;
    }
    return true;
}

bool rdbAllowMetadata(struct rdbReader *r, const struct rdbMetadata *m) {
    if (!m->needed || r->skip_unknown) return true;
    r->unknown = true;
    return rioFail(&r->io, "the key has metadata of the class %s, which no module provides", m->classes);
}

/* ---- What was skipped ---- */

/* Logs what was skipped as long as the list is not too long. */
static void rdbSkippedLog(struct rdbSkipped *s, const char *what, const char *name, struct str key,
                          int dbid) {
    if (++s->listed > LISTED_MAX) return;
    sds shown = sdscatrepr(sdsempty(), key.ptr, key.len < KEY_SHOWN_MAX ? key.len : KEY_SHOWN_MAX);
    serverLog(LL_WARNING, "Skipped: %s %s of key %s in database %d", what, name, shown, dbid);
    sdsfree(shown);
    if (s->listed == LISTED_MAX) serverLog(LL_WARNING, "Skipped: further keys are only counted");
}

void rdbSkippedCount(struct rdbSkipped *s, const char *type) {
    int i = 0;
    s->keys++;
    while (i < s->types && strcmp(s->type[i].name, type) != 0) i++;
    if (i == RDB_SKIPPED_TYPES) return;
    if (i == s->types) snprintf(s->type[s->types++].name, RDB_MODULE_NAME, "%s", type);
    s->type[i].keys++;
}

void rdbSkippedKey(struct rdbSkipped *s, const char *type, struct str key, int dbid) {
    rdbSkippedCount(s, type);
    rdbSkippedLog(s, "the value with the module type", type, key, dbid);
}

void rdbSkippedMetadata(struct rdbSkipped *s, const char *classes, struct str key, int dbid) {
    s->metadata++;
    rdbSkippedLog(s, "metadata of the class", classes, key, dbid);
}

sds rdbSkippedText(const struct rdbSkipped *s, sds text) {
    uint64_t others = s->keys;
    for (int i = 0; i < s->types; i++) {
        text = sdscatprintf(text, "%s%s %llu", i ? ", " : "", s->type[i].name,
                            (unsigned long long)s->type[i].keys);
        others -= s->type[i].keys;
    }
    return others ? sdscatprintf(text, ", others %llu", (unsigned long long)others) : text;
}

void rdbSkippedLogSum(const struct rdbSkipped *s) {
    if (s->metadata)
        serverLog(LL_WARNING, "Metadata of %llu keys were skipped", (unsigned long long)s->metadata);
    if (!s->keys) return;
    sds text = rdbSkippedText(s, sdsempty());
    serverLog(
        LL_WARNING,
        "%llu keys of unknown types were skipped (%s), as rdb-skip-unknown-types allows: a file that is "
        "saved from now on is without them",
        (unsigned long long)s->keys, text);
    sdsfree(text);
}
