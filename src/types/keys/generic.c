/* SPDX-License-Identifier: BSD-3-Clause */
/* generic.c - commands on keys of any type. See generic.h; generic_expire.c has the expiry commands. */
#include "types/keys/generic.h"

#include <ctype.h>

#include "base/assert.h"
#include "base/glob.h"
#include "base/key_slot.h"
#include "base/num.h"
#include "base/zmalloc.h"
#include "client/reply.h"
#include "command/command.h"
#include "command/lookup.h"
#include "command/propagate.h"
#include "commands/cmd_generic.h"
#include "commands/cmd_server.h"
#include "data/keyspace/db.h"
#include "data/lifetime/evict.h"
#include "data/lifetime/lazyfree.h"
#include "data/notify.h"
#include "data/server_state/role.h"
#include "data/type.h"
#include "registry/cron.h"
#include "registry/server_events.h"

#define SCAN_DEFAULT_COUNT 10
#define FLUSHALL_HOOKS_MAX 4
#define SCAN_MAX_STEPS     10 /* per COUNT: bounds the walk over an empty stretch */

/* ---- DEL, EXISTS, TYPE ... ---- */

static void genericDeleteKeys(struct client *c, bool async) {
    int64_t deleted = 0;
    for (int i = 1; i < c->argc; i++) {
        struct str key = c->argv[i];
        struct object *o = lookupKey(c->db, key, LOOKUP_WRITE | LOOKUP_NOTOUCH);
        if (!o) continue;
        if (async)
            dbDeleteAsync(c->db, key);
        else
            dbDeleteSync(c->db, key);
        keyChanged(c, c->db, key, NOTIFY_GENERIC, "del", 1);
        deleted++;
    }
    replyLongLong(c, deleted);
}

void delCommand(struct client *c) {
    genericDeleteKeys(c, lazyfree_lazy_user_del);
}
void unlinkCommand(struct client *c) {
    genericDeleteKeys(c, true);
}

void existsCommand(struct client *c) {
    int64_t n = 0;
    for (int i = 1; i < c->argc; i++) n += lookupKey(c->db, c->argv[i], LOOKUP_NOTOUCH) != NULL;
    replyLongLong(c, n);
}

void touchCommand(struct client *c) {
    int64_t n = 0;
    for (int i = 1; i < c->argc; i++) n += lookupKey(c->db, c->argv[i], 0) != NULL;
    replyLongLong(c, n);
}

void typeCommand(struct client *c) {
    struct object *o = lookupKey(c->db, c->argv[1], LOOKUP_NOTOUCH);
    replyStatus(c, o ? objectTypeName(o) : "none");
}

void randomkeyCommand(struct client *c) {
    propagateSeparately();
    struct object *o = dbRandomKey(c->db);
    if (o)
        replyBulk(c, objectKey(o));
    else
        replyNull(c);
}

static bool genericIsHidden(const struct client *c, int slot) {
    return keyspaceHides(&c->db->keyspace, slot);
}

void keysCommand(struct client *c) {
    struct str pattern = c->argv[1];
    bool all = strEq(pattern, STR("*"));
    int slot = keys_by_slot && !all ? patternSlot(pattern) : -1;
    int64_t n = 0;
    struct replyMark mark = replyDeferLen(c);
    struct keyspaceIterator it;
    struct object *o;
    if (slot >= 0)
        keyspaceIteratorInitSlots(&it, &c->db->keyspace, slot, slot);
    else
        keyspaceIteratorInit(&it, &c->db->keyspace, SLOTS_SHOWN);
    bool nothing = slot >= 0 && genericIsHidden(c, slot);
    while (!nothing && (o = keyspaceIteratorNext(&it))) {
        struct str key = objectKey(o);
        if (objectIsExpired(o) || (!all && !globMatch(pattern, key, false))) continue;
        replyBulk(c, key);
        n++;
    }
    keyspaceIteratorStop(&it);
    replySetArrayLen(c, mark, n);
}

/* ---- SCAN ---- */

bool scanReadCursor(struct str arg, uint64_t *cursor) {
    while (arg.len && isspace((unsigned char)*arg.ptr)) arg = strN(arg.ptr + 1, arg.len - 1);
    if (arg.len && *arg.ptr == '+') arg = strN(arg.ptr + 1, arg.len - 1);
    while (arg.len > 1 && *arg.ptr == '0') arg = strN(arg.ptr + 1, arg.len - 1);
    return arg.len && string2ull(arg, cursor);
}

bool scanParseCursor(struct client *c, struct str arg, uint64_t *cursor) {
    if (scanReadCursor(arg, cursor)) return true;
    return replyError(c, "ERR invalid cursor");
}

static bool genericSlotOption(struct client *c, struct str value, struct scanOptions *out) {
    int64_t slot;
    if (out->slot >= 0) return replyError(c, "ERR SLOT option can only be specified once");
    if (!string2ll(value, &slot) || slot < 0 || slot >= KEY_SLOTS)
        return replyError(c, "ERR Invalid or out of range slot");
    out->slot = (int)slot;
    return true;
}

static bool genericScanOption(struct client *c, struct str name, struct str value, bool allow_type,
                              struct scanOptions *out) {
    if (strIs(name, "count")) {
        if (!argLongLong(c, value, &out->count, NULL)) return false;
        if (out->count >= 1) return true;
    } else if (strIs(name, "match")) {
        out->pattern = value;
        out->use_pattern = !strEq(value, STR("*"));
        return true;
    } else if (strIs(name, "type") && allow_type) {
        out->type = objectTypeByName(value);
        out->type_name = value;
        if (!out->type) replyErrorFmt(c, "ERR unknown type name '%.*s'", (int)value.len, value.ptr);
        return out->type;
    } else if (out->slot_allowed && strIs(name, "slot")) {
        return genericSlotOption(c, value, out);
    }
    return replySyntaxError(c);
}

/* Whether this is an option without a value that another command of the family has. */
static bool genericForeignOption(struct client *c, struct str name) {
    if (strIs(name, "novalues"))
        replyError(c, "ERR NOVALUES option can only be used in HSCAN");
    else if (strIs(name, "noscores"))
        replyError(c, "ERR NOSCORES option can only be used in ZSCAN");
    else
        return false;
    return true;
}

static bool genericParseOptions(struct client *c, int from, const char *novalues, bool allow_type,
                                struct scanOptions *out) {
    for (int i = from; i < c->argc; i++) {
        if (novalues && strIs(c->argv[i], novalues)) {
            out->values_off = true;
        } else if (genericForeignOption(c, c->argv[i])) {
            return false;
        } else if (i + 1 == c->argc) {
            return replySyntaxError(c);
        } else {
            if (!genericScanOption(c, c->argv[i], c->argv[i + 1], allow_type, out)) return false;
            i++;
        }
    }
    return true;
}

bool scanParseOptions(struct client *c, int from, const char *novalues, bool allow_type,
                      struct scanOptions *out) {
    *out = (struct scanOptions){.count = SCAN_DEFAULT_COUNT, .slot = -1};
    return genericParseOptions(c, from, novalues, allow_type, out);
}

bool scanParseClusterOptions(struct client *c, int from, struct scanOptions *out) {
    *out = (struct scanOptions){.count = SCAN_DEFAULT_COUNT, .slot = -1, .slot_allowed = true};
    return genericParseOptions(c, from, NULL, true, out);
}

int64_t scanMaxSteps(const struct scanOptions *opt) {
    return opt->count > INT64_MAX / SCAN_MAX_STEPS ? INT64_MAX : opt->count * SCAN_MAX_STEPS;
}

void scanCollect(void *priv, void *entry) {
    struct scannedKeys *s = priv;
    if (s->count == s->cap) {
        s->cap = s->cap ? s->cap * 2 : 64;
        s->objects = zrealloc(s->objects, s->cap * sizeof *s->objects);
    }
    s->objects[s->count++] = entry;
}

static bool genericScanMatches(const struct scanOptions *opt, const struct object *o) {
    if (opt->type && (objectTypeOf(o) != opt->type || !strIs(opt->type_name, objectTypeName(o))))
        return false;
    return !opt->use_pattern || globMatch(opt->pattern, objectKey(o), false);
}

void scanReply(struct client *c, struct str cursor, const struct scanOptions *opt,
               struct scannedKeys *found) {
    replyArrayLen(c, 2);
    replyBulk(c, cursor);
    int64_t n = 0;
    struct replyMark mark = replyDeferLen(c);
    propagateSeparately();
    for (size_t i = 0; i < found->count; i++) {
        struct object *o = found->objects[i];
        if (!genericScanMatches(opt, o)) continue;
        if (objectIsExpired(o)) {
            dbExpireKey(c->db, o);
            continue;
        }
        replyBulk(c, objectKey(o));
        n++;
    }
    replySetArrayLen(c, mark, n);
    zfree(found->objects);
}

void scanCommand(struct client *c) {
    uint64_t cursor;
    struct scanOptions opt;
    if (!scanParseCursor(c, c->argv[1], &cursor) || !scanParseOptions(c, 2, NULL, true, &opt)) return;
    struct scannedKeys found = {0};
    int64_t steps = scanMaxSteps(&opt);
    int slot = keys_by_slot && opt.use_pattern ? patternSlot(opt.pattern) : -1;
    do {
        cursor = slot < 0 ? keyspaceScan(&c->db->keyspace, cursor, SLOTS_SHOWN, scanCollect, &found)
                 : genericIsHidden(c, slot)
                     ? 0
                     : keyspaceScanSlot(&c->db->keyspace, slot, cursor, scanCollect, &found);
    } while (cursor && --steps && found.count < (size_t)opt.count);
    char text[LONG_STR_SIZE];
    scanReply(c, strN(text, ull2string(text, cursor)), &opt, &found);
}

/* ---- RENAME, MOVE, COPY ---- */

/* Says whether a command replaces a key, and of which type that was. */
struct genericReplaced {
    bool any;
    unsigned type;
};

static struct genericReplaced genericNoteReplaced(const struct object *o) {
    return (struct genericReplaced){o != NULL, o ? o->type : 0};
}

static void genericReportReplaced(const struct db *db, struct str key, struct genericReplaced was,
                                  unsigned new_type) {
    if (was.any) keyReplaced(db, key, was.type, new_type);
}

/* Moves value and expiry of a key to another, which must be absent; the container gets a new owner. Returns
 * its type. */
static unsigned genericMoveValue(struct db *from, struct str src, struct db *to, struct str dst) {
    struct object *o = dbUnlink(from, src);
    serverAssert(o);
    unsigned type = o->type;
    struct object *moved = dbSetWithExpire(to, dst, NULL, objectValue(o), objectExpire(o));
    moved->lru = o->lru & 0xffffff;
    objectFreeHeader(o);
    return type;
}

static void genericRename(struct client *c, bool only_new) {
    struct str src = c->argv[1], dst = c->argv[2];
    if (!lookupKeyWrite(c, src)) {
        replyError(c, err_nosuchkey);
        return;
    }
    bool same = strEq(src, dst);
    struct object *old = same ? NULL : lookupKeyWrite(c, dst);
    bool exists = same || old;
    if (only_new && exists) {
        replyLongLong(c, 0);
        return;
    }
    if (!same) {
        struct genericReplaced replaced = genericNoteReplaced(old);
        if (exists) dbDelete(c->db, dst);
        unsigned type = genericMoveValue(c->db, src, c->db, dst);
        keyMoved(c, c->db, src, "rename_from", c->db, dst, "rename_to");
        genericReportReplaced(c->db, dst, replaced, type);
    }
    if (only_new)
        replyLongLong(c, 1);
    else
        replyOk(c);
}

void renameCommand(struct client *c) {
    genericRename(c, false);
}
void renamenxCommand(struct client *c) {
    genericRename(c, true);
}

/* Returns NULL, after an error reply, when this is not the number of a database. */
static struct db *genericArgDb(struct client *c, struct str arg) {
    int64_t id;
    if (!argRange(c, arg, INT32_MIN, INT32_MAX, &id, NULL)) return NULL;
    struct db *db = dbGet(id);
    if (!db) replyError(c, "ERR DB index is out of range");
    return db;
}

/* Propagates MOVE ... REPLACE as commands that older servers know, too. */
static void genericPropagateMove(struct client *c, int dbid, bool replaces) {
    if (replaces) propagateNow(dbid, 2, (struct str[]){STR("DEL"), c->argv[1]});
    propagateRewrite(c, 3, c->argv);
}

void moveCommand(struct client *c) {
    struct str key = c->argv[1];
    bool replace = c->argc > 3;
    if (replace && (c->argc > 4 || !strIs(c->argv[3], "replace"))) {
        replySyntaxError(c);
        return;
    }
    struct db *to = genericArgDb(c, c->argv[2]);
    if (!to) return;
    if (to == c->db) {
        replyError(c, "ERR source and destination objects are the same");
        return;
    }
    bool exists = lookupKeyWrite(c, key);
    struct genericReplaced replaced =
        genericNoteReplaced(exists ? lookupKey(to, key, LOOKUP_WRITE | LOOKUP_NOTOUCH) : NULL);
    if (!exists || (replaced.any && !replace)) {
        replyLongLong(c, 0);
        return;
    }
    if (replaced.any) dbDelete(to, key);
    if (replace) genericPropagateMove(c, to->id, replaced.any);
    unsigned type = genericMoveValue(c->db, key, to, key);
    keyMoved(c, c->db, key, "move_from", to, key, "move_to");
    genericReportReplaced(to, key, replaced, type);
    replyLongLong(c, 1);
}

static bool genericParseCopyOptions(struct client *c, struct db **db, bool *replace) {
    *db = c->db;
    *replace = false;
    for (int i = 3; i < c->argc; i++) {
        if (strIs(c->argv[i], "replace")) {
            *replace = true;
        } else if (strIs(c->argv[i], "db") && i + 1 < c->argc) {
            *db = genericArgDb(c, c->argv[++i]);
            if (!*db) return false;
        } else
            return replySyntaxError(c);
    }
    return true;
}

/* Returns NULL or the error. */
static const char *genericCopyValue(const struct object *o, const struct keyPlace *to, struct value *copy) {
    const struct objectType *type = objectTypeOf(o);
    if (type->copyTo) return type->copyTo(o, to, copy);
    *copy = type->copy(o);
    return NULL;
}

void copyCommand(struct client *c) {
    struct str src = c->argv[1], dst = c->argv[2];
    struct db *db;
    bool replace;
    if (!genericParseCopyOptions(c, &db, &replace)) return;
    if (db == c->db && strEq(src, dst)) {
        replyError(c, "ERR source and destination objects are the same");
        return;
    }
    struct object *o = lookupKeyRead(c, src);
    struct genericReplaced replaced = genericNoteReplaced(o ? lookupKey(db, dst, LOOKUP_WRITE) : NULL);
    if (!o || (replaced.any && !replace)) {
        replyLongLong(c, 0);
        return;
    }
    /* Looking the destination up may have expired it but nothing else, so o is still valid. */
    struct value copy;
    const struct keyPlace to = {dst, db->id};
    const char *err = genericCopyValue(o, &to, &copy);
    if (err) {
        replyError(c, err);
        return;
    }
    dbDelete(db, dst);
    dbSetWithExpire(db, dst, NULL, copy, objectExpire(o));
    keyChanged(c, db, dst, NOTIFY_GENERIC, "copy_to", 1);
    genericReportReplaced(db, dst, replaced, copy.type);
    replyLongLong(c, 1);
}

/* ---- OBJECT ---- */

static struct object *genericObjectToInspect(struct client *c) {
    struct object *o = lookupKey(c->db, c->argv[2], LOOKUP_NOTOUCH | LOOKUP_NONOTIFY);
    if (!o) replyNull(c);
    return o;
}

void objectEncodingCommand(struct client *c) {
    struct object *o = genericObjectToInspect(c);
    if (o) replyBulkCstr(c, objectTypeOf(o)->encodingName(o));
}

void objectRefcountCommand(struct client *c) {
    if (genericObjectToInspect(c)) replyLongLong(c, 1);
}

void objectIdletimeCommand(struct client *c) {
    struct object *o = genericObjectToInspect(c);
    if (!o) return;
    if (evict_policy & BY_LHD)
        replyError(c, "ERR An LHD maxmemory policy is selected, idle time not tracked.");
    else if (evict_policy & BY_LFU)
        replyError(c,
                   "ERR An LFU maxmemory policy is selected, idle time not tracked. Please note that when "
                   "switching between policies at runtime LRU and LFU data will take some time to adjust.");
    else
        replyLongLong(c, objectIdleSeconds(o));
}

void objectFreqCommand(struct client *c) {
    struct object *o = genericObjectToInspect(c);
    if (!o) return;
    if (evictCountsUses())
        replyLongLong(c, objectFrequency(o));
    else
        replyError(c, "ERR An LFU maxmemory policy is not selected, access frequency not tracked. Please "
                      "note that when switching between policies at runtime LRU and LFU data will take some "
                      "time to adjust.");
}

void objectHelpCommand(struct client *c) {
    replyHelp(c, (const char *[]){
                     "ENCODING <key>",
                     "    How the value of <key> is stored.",
                     "FREQ <key>",
                     "    The access frequency counter of <key>, under an LFU policy.",
                     "IDLETIME <key>",
                     "    Seconds since <key> was last read or written.",
                     "REFCOUNT <key>",
                     "    The number of references to the value of <key>.",
                     NULL,
                 });
}

/* ---- Whole databases ---- */

void dbsizeCommand(struct client *c) {
    replyLongLong(c, (int64_t)keyspaceShownSize(&c->db->keyspace));
}

static bool genericFlushMode(struct client *c, bool *async) {
    *async = lazyfree_lazy_user_flush;
    if (c->argc == 1) return true;
    bool is_async = strIs(c->argv[1], "async");
    if (c->argc > 2 || (!is_async && !strIs(c->argv[1], "sync"))) return replySyntaxError(c);
    *async = is_async;
    return true;
}

static struct {
    void (*before)(void);
    void (*after)(void);
} flushall_hooks[FLUSHALL_HOOKS_MAX];
static int flushall_hook_count;

void onFlushall(void (*before)(void), void (*after)(void)) {
    serverAssert(before && after && flushall_hook_count < FLUSHALL_HOOKS_MAX);
    flushall_hooks[flushall_hook_count].before = before;
    flushall_hooks[flushall_hook_count++].after = after;
}

/* The changes are counted first: a hook that saves has saved them. */
void flushAll(bool async) {
    for (int i = 0; i < flushall_hook_count; i++) flushall_hooks[i].before();
    changesCount(dbEmpty(NULL, async));
    for (int i = 0; i < flushall_hook_count; i++) flushall_hooks[i].after();
}

/* db NULL: all databases. */
static void genericFlush(struct client *c, struct db *db) {
    bool async;
    if (!genericFlushMode(c, &async)) return;
    if (db)
        changesCount(dbEmpty(db, async));
    else
        flushAll(async);
    propagateRewrite(c, c->argc, c->argv); /* also for an empty database: a replica's may not be empty */
    replyOk(c);
}

void flushdbCommand(struct client *c) {
    genericFlush(c, c->db);
}
void flushallCommand(struct client *c) {
    genericFlush(c, NULL);
}

void swapdbCommand(struct client *c) {
    int64_t first, second;
    if (cluster_enabled) {
        replyError(c, "ERR SWAPDB is not allowed in cluster mode");
        return;
    }
    if (!argRange(c, c->argv[1], INT32_MIN, INT32_MAX, &first, "ERR invalid first DB index") ||
        !argRange(c, c->argv[2], INT32_MIN, INT32_MAX, &second, "ERR invalid second DB index"))
        return;
    struct db *a = dbGet(first), *b = dbGet(second);
    if (!a || !b) {
        replyError(c, "ERR DB index is out of range");
        return;
    }
    dbSwap(a, b);
    serverEvent(SERVER_SWAPDB, 0, (int[]){a->id, b->id});
    changesCount(1);
    replyOk(c);
}
