/* SPDX-License-Identifier: BSD-3-Clause */
/* string_commands.c - strings: their encodings, and the commands that read and write whole values and
 * parts of them.
 *
 *     int      8 bytes of an int64, embedded in the object; INCR changes them in place
 *     text     set as a whole
 *     raw      text that was changed in place
 *     linked   long text that replies refer to, or have referred to
 *
 * Text is embedded up to OBJ_EMBED_MAX bytes, else an sds behind the object. OBJECT ENCODING shows something
 * else: it says "embstr" while the text would fit into two cache lines with its key, as in Valkey, whose
 * layout tools and tests know.
 *
 * SET of a value that fits where the old one was touches no table and allocates nothing (objectRewrite).
 *
 *     raw, text   object -> sds
 *     linked      object -> replyShared -> sds        GET puts the replyShared in between
 *                   block of a reply -^
 *
 * A long text is not copied into replies: they and the key share it, and the last of them frees it. A change
 * in place takes the text out first (stringOwnText): the text itself when no reply refers to it any more,
 * else a copy, and the replies keep the old text. Short texts are never shared and have no cost. */
#include "types/string/string_commands.h"

#include <math.h>

#include "base/assert.h"
#include "base/sds.h"
#include "base/zmalloc.h"
#include "client/reply.h"
#include "client/reply_block.h"
#include "command/call.h"
#include "command/command.h"
#include "command/lookup.h"
#include "command/propagate.h"
#include "command/request.h"
#include "command/turn.h"
#include "commands/cmd_string.h"
#include "data/digest.h"
#include "data/keyspace/db.h"
#include "data/keyspace/key_use.h"
#include "data/keyspace/read_ahead.h"
#include "data/notify.h"
#include "data/type.h"
#include "registry/config.h"
#include "registry/cron.h"
#include "types/defrag_hooks.h"
#include "types/expiry_options.h"
#include "types/keys/generic.h"
#include "types/rdb_hooks.h"
#include "types/string/string_digest.h"
#include "types/types.h"

enum { STRING_RAW, STRING_INT, STRING_TEXT, STRING_LINKED };

/* min-string-size-avoid-copy-reply in bytes; 0: everything is copied. A text that may be called "embstr"
 * is always copied. */
static int64_t link_size;
#define LINK_SIZE_DEFAULT 16384
#define LINK_PART         2 /* a part is linked from one half of the text on, as it keeps all of it in memory */

#define INT_TEXT_MAX 20
/* Bytes of a string, read as a whole, to prefetch: after them the processor's own prefetching works. */
#define LINES_OF_WHOLE 4
#define CACHE_LINE     64
/* Most bytes of key and text together for "embstr", and how many of them an expiry takes. */
#define EMBSTR_ROOM          113
#define EMBSTR_ROOM_LONG_KEY 111 /* for keys from LONG_KEY bytes on */
#define LONG_KEY             32
#define EMBSTR_EXPIRE        8

/* ---- Value API ---- */

bool stringIsInt(const struct object *o, int64_t *v) {
    if (o->encoding == STRING_INT) {
        memcpy(v, objectEmbedded(o).ptr, 8);
        return true;
    }
    char unused[LONG_STR_SIZE];
    return string2ll(stringView(o, unused), v);
}

/* Returns the text of a string that is not embedded. */
sds stringSds(const struct object *o) {
    debugAssert(objectHasPtr(o));
    if (__builtin_expect(o->encoding != STRING_LINKED, 1)) return objectPtr(o);
    const struct replyShared *s = objectPtr(o);
    return s->bytes;
}

bool stringIsReferredTo(const struct object *o) {
    return o->encoding == STRING_LINKED && replySharedInUse(objectPtr(o));
}

/* Sets what is behind the object: the same text, at its end perhaps a longer or shorter one. */
static void stringSetPtr(struct object *o, int encoding, void *ptr) {
    void *was = __builtin_expect(large_value_count != 0, 0) ? objectPtr(o) : NULL;
    objectSetPtr(o, encoding, ptr);
    if (__builtin_expect(was != NULL, 0)) stringPartsMoved(was, o);
}

/* Returns that text for a change: nothing else refers to it. */
static sds stringOwnText(struct object *o) {
    if (o->encoding == STRING_LINKED) stringSetPtr(o, STRING_RAW, replySharedTakeText(objectPtr(o)));
    return objectPtr(o);
}

struct str stringView(const struct object *o, char buf[LONG_STR_SIZE]) {
    debugAssert(o->type == OBJ_STRING);
    if (objectHasPtr(o)) return sdsview(stringSds(o));
    struct str bytes = objectEmbedded(o);
    if (o->encoding != STRING_INT) return bytes;
    int64_t v;
    memcpy(&v, bytes.ptr, 8);
    return strN(buf, ll2string(buf, v));
}

static struct value stringIntValue(int64_t v, char scratch[8]) {
    memcpy(scratch, &v, 8);
    return valueEmbed(OBJ_STRING, STRING_INT, strN(scratch, 8));
}

/* Returns text that stays text, even if it looks like an integer. */
static struct value stringTextValue(struct str text) {
    if (text.len <= OBJ_EMBED_MAX) return valueEmbed(OBJ_STRING, STRING_TEXT, text);
    return valuePtr(OBJ_STRING, STRING_TEXT, sdsnewstr(text));
}

struct value stringValue(struct str text, char scratch[8]) {
    int64_t v;
    if (text.len <= INT_TEXT_MAX && string2ll(text, &v)) return stringIntValue(v, scratch);
    return stringTextValue(text);
}

struct value stringTakenValue(sds text) {
    return valuePtr(OBJ_STRING, STRING_RAW, text);
}

/* Returns text that must not become an integer: the result of APPEND and SETRANGE. */
struct value stringRawValue(struct str text) {
    if (text.len <= OBJ_EMBED_MAX) return valueEmbed(OBJ_STRING, STRING_RAW, text);
    return valuePtr(OBJ_STRING, STRING_RAW, sdsnewstr(text));
}

/* Returns the value of an argument; a large one is taken over without copying. */
static struct value stringArgValue(struct client *c, int i, char scratch[8]) {
    if (clientArgIsBig(c, i)) return valuePtr(OBJ_STRING, STRING_RAW, clientTakeArg(c, i));
    return stringValue(c->argv[i], scratch);
}

/* Replies an error unless size + add bytes are allowed. */
static bool stringCheckLength(struct client *c, int64_t size, int64_t add) {
    /* Loaded data were within the limit when they were written. */
    if (add <= turnMaxBulk() - size || c->flags & CLIENT_FAKE || callReplays()) return true;
    return replyError(c, "ERR string exceeds maximum allowed size (proto-max-bulk-len)");
}

static sds stringTextToChange(struct object *o) {
    if (!o) return sdsempty();
    if (objectHasPtr(o)) return stringOwnText(o);
    char buf[LONG_STR_SIZE];
    return sdsnewstr(stringView(o, buf));
}

sds stringEditBegin(struct object *o) {
    stringWillChange(o, 0, SIZE_MAX);
    return stringTextToChange(o);
}

void stringEditEnd(struct db *db, struct str key, struct object *o, sds text) {
    struct value v = valuePtr(OBJ_STRING, STRING_RAW, text);
    if (!o)
        dbAdd(db, key, v);
    else if (objectHasPtr(o))
        stringSetPtr(o, STRING_RAW, text);
    else
        dbReplaceValue(db, o, v);
}

char *stringForWrite(struct db *db, struct str key, struct object *o, size_t size, size_t *len) {
    sds text = sdsgrowzero(stringTextToChange(o), size);
    stringEditEnd(db, key, o, text);
    if (len) *len = sdslen(text);
    debugAssert(sdslen(text) >= size);
    return text;
}

/* ---- Type hooks ---- */

static bool stringFitsEmbstr(const struct object *o) {
    size_t key = objectKey(o).len, text = objectHasPtr(o) ? sdslen(stringSds(o)) : objectEmbedded(o).len;
    size_t room = key < LONG_KEY ? EMBSTR_ROOM : EMBSTR_ROOM_LONG_KEY;
    return key + text + (objectHasExpire(o) ? EMBSTR_EXPIRE : 0) <= room;
}

static const char *stringEncodingName(const struct object *o) {
    if (o->encoding == STRING_INT) return "int";
    return o->encoding == STRING_TEXT && stringFitsEmbstr(o) ? "embstr" : "raw";
}

static void stringFree(struct value v) {
    if (v.encoding == STRING_LINKED)
        replySharedRelease(v.ptr);
    else
        sdsfree(v.ptr);
}

static size_t stringFreeEffort(const struct object *o) {
    (void)o;
    return 1;
}

static size_t stringMemoryUsage(const struct object *o, size_t samples) {
    (void)samples;
    if (!objectHasPtr(o)) return 0;
    return sdsAllocSize(stringSds(o)) + (o->encoding == STRING_LINKED ? zmallocSize(objectPtr(o)) : 0);
}

static struct value stringCopy(const struct object *o) {
    struct value v = objectValue(o);
    if (v.encoding == STRING_LINKED) return stringTakenValue(sdsdup(stringSds(o)));
    if (!v.embedded) v.ptr = sdsdup(v.ptr);
    return v;
}

static void stringDigest(const struct object *o, uint8_t digest[20]) {
    char buf[LONG_STR_SIZE];
    digestMix(digest, stringView(o, buf));
}

static bool stringPrefetch(const struct object *o, const struct prefetchRequests *wants, int step,
                           struct prefetchState *state) {
    (void)step, (void)state;
    if (!objectHasPtr(o)) return false;
    bool linked = o->encoding == STRING_LINKED;
    const char *p = linked ? objectPtr(o) : sdsAllocPtr(objectPtr(o));
    __builtin_prefetch(p);
    for (int i = 1; !linked && wants->parts & PREFETCH_WHOLE && i < LINES_OF_WHOLE; i++)
        __builtin_prefetch(p + i * CACHE_LINE);
    return false;
}

static void stringDismiss(const struct object *o) {
    struct str s = sdsview(stringSds(o));
    zmallocDismiss(s.ptr, s.len);
}

/* A text that replies refer to is not moved, nor one that a snapshot is saving. */
static bool stringDefrag(struct db *db, struct object *o, struct defragCursor *at) {
    (void)db, (void)at;
    if (stringIsReferredTo(o) || largeValueFind(objectPtr(o))) return false;
    sds now = sdsMove(stringOwnText(o), defragMove, NULL);
    if (now) objectSetPtr(o, (int)o->encoding, now);
    return false;
}

static size_t stringLength(const struct object *o) {
    char buf[LONG_STR_SIZE];
    return stringView(o, buf).len;
}

static const struct objectType string_type = {
    .id = OBJ_STRING,
    .name = "string",
    .encodingName = stringEncodingName,
    .free = stringFree,
    .freeEffort = stringFreeEffort,
    .memoryUsage = stringMemoryUsage,
    .length = stringLength,
    .plural = "strings",
    .copy = stringCopy,
    .digest = stringDigest,
    .prefetch = stringPrefetch,
    .defrag = stringDefrag,
    RDB_HOOK_FIELDS(string, STRING_RDB_TYPES),
    .dismiss = stringDismiss,
    .parts = stringParts,
};

/* ---- SET and GET ---- */

/* From SET_IFEQ on the value is compared, from SET_IFDEQ on its digest. Servers before 9.2 know none from
 * SET_IFNE on. */
enum setCondition { SET_ALWAYS, SET_NX, SET_XX, SET_IFEQ, SET_IFNE, SET_IFDEQ, SET_IFDNE };

struct setOptions {
    enum setCondition condition;
    bool get;
    struct str compare;
    enum expiryKind ttl;
    struct str ttl_arg;
    int64_t when_ms; /* value of ttl_arg, if there is one */
};

static enum setCondition stringSetConditionOf(struct str word) {
    if (strIs(word, "nx")) return SET_NX;
    if (strIs(word, "xx")) return SET_XX;
    if (strIs(word, "ifeq")) return SET_IFEQ;
    if (strIs(word, "ifne")) return SET_IFNE;
    if (strIs(word, "ifdeq")) return SET_IFDEQ;
    return strIs(word, "ifdne") ? SET_IFDNE : SET_ALWAYS;
}

/* `many`: parses for MSETEX, which has fewer options. */
static bool stringParseSetOptions(struct client *c, int from, bool many, struct setOptions *opt) {
    for (int i = from; i < c->argc; i++) {
        struct str arg = c->argv[i];
        enum expiryKind ttl = expiryKindOf(arg);
        bool more = i + 1 < c->argc;
        enum setCondition condition = stringSetConditionOf(arg);
        if (condition) {
            bool compares = condition >= SET_IFEQ;
            bool again = opt->condition == condition && !compares;
            if ((opt->condition && !again) || (compares && (many || !more))) return replySyntaxError(c);
            opt->condition = condition;
            if (compares) opt->compare = c->argv[++i];
        } else if (strIs(arg, "get") && !many)
            opt->get = true;
        else if (strIs(arg, "keepttl") && (opt->ttl == EXPIRY_NONE || opt->ttl == EXPIRY_KEEP))
            opt->ttl = EXPIRY_KEEP;
        else if (ttl && more && (opt->ttl == EXPIRY_NONE || opt->ttl == ttl)) {
            opt->ttl = ttl;
            opt->ttl_arg = c->argv[++i];
        } else
            return replySyntaxError(c);
    }
    return true;
}

/* Whether len bytes of the text of o, `whole` bytes long, are enough to be linked. The first link changes the
 * object, which a snapshot may be reading. */
static bool stringMayLink(struct client *c, const struct object *o, size_t whole, size_t len) {
    return link_size && len > EMBSTR_ROOM && len >= whole / LINK_PART && objectHasPtr(o) && replyLinks(c) &&
           (o->encoding == STRING_LINKED || !keyspaceIsWalked(&c->db->keyspace));
}

/* The thread of a snapshot may be reading the object, which changes its form. */
static struct replyShared *stringShareText(struct client *c, struct object *o) {
    if (o->encoding != STRING_LINKED) {
        keyspaceObjectWillChange(&c->db->keyspace, o);
        stringSetPtr(o, STRING_LINKED, replySharedOfText(objectPtr(o)));
    }
    return objectPtr(o);
}

/* Replies a part of o's text. */
static inline void stringReplyText(struct client *c, struct object *o, struct str text, size_t from,
                                   size_t len) {
    if (__builtin_expect(len >= (size_t)link_size, 0) && stringMayLink(c, o, text.len, len))
        replyBulkShared(c, stringShareText(c, o), from, len);
    else
        replyBulk(c, strN(text.ptr + from, len));
}

static void stringReply(struct client *c, struct object *o) {
    if (!o) {
        replyNull(c);
        return;
    }
    char buf[LONG_STR_SIZE];
    struct str text = stringView(o, buf);
    stringReplyText(c, o, text, 0, text.len);
}

/* Returns whether a string (NULL: a missing key, which is equal to nothing) meets a condition from SET_IFEQ
 * on. */
static bool stringMeets(const struct object *o, enum setCondition condition, struct str compare) {
    if (!o) return condition == SET_IFNE || condition == SET_IFDNE;
    char buf[LONG_STR_SIZE];
    struct str text = stringView(o, buf);
    bool equal = condition >= SET_IFDEQ ? stringHasDigest(text, compare) : strEq(text, compare);
    return equal == (condition == SET_IFEQ || condition == SET_IFDEQ);
}

/* Replies an error if a digest for a value that exists has a wrong length. */
static bool stringCheckComparison(struct client *c, const struct object *o, enum setCondition condition,
                                  struct str compare) {
    if (!o || condition < SET_IFDEQ || compare.len == STRING_DIGEST_LEN) return true;
    return replyError(c, "ERR must be exactly 16 hexadecimal characters");
}

static bool stringSetAllowed(const struct setOptions *opt, const struct object *o) {
    if (opt->condition == SET_ALWAYS) return true;
    if (opt->condition == SET_NX) return !o;
    if (opt->condition == SET_XX) return o;
    return stringMeets(o, opt->condition, opt->compare);
}

/* Propagates without the words GET, as nobody reads the reply. */
static void stringPropagateWithoutGet(struct client *c) {
    struct str *argv = zmalloc((size_t)c->argc * sizeof *argv);
    int argc = 0;
    for (int i = 0; i < c->argc; i++) {
        bool option = i >= 3 && !strIs(c->argv[i - 1], "ifeq"); /* else a key or a value, whatever its text */
        if (!option || !strIs(c->argv[i], "get")) argv[argc++] = c->argv[i];
    }
    propagateRewrite(c, argc, argv);
    zfree(argv);
}

/* Called before the value is stored, which may take the argument over. A time as PXAT means the same
 * at any time. From IFNE on the condition has held, and servers before 9.2 do not know it. */
static void stringPropagateSet(struct client *c, const struct setOptions *opt, int vi) {
    bool newer = opt->condition >= SET_IFNE;
    if (!propagateWanted() || (opt->ttl == EXPIRY_PXAT && !newer)) return;
    if (opt->ttl >= EXPIRY_EX) {
        char ms[LONG_STR_SIZE];
        bool plain = c->argc == 5; /* no other options: only the time differs */
        propagateRewrite(c, 5,
                         (struct str[]){plain ? c->argv[0] : STR("SET"), c->argv[1], c->argv[vi], STR("PXAT"),
                                        strN(ms, ll2string(ms, opt->when_ms))});
    } else if (newer) {
        propagateRewrite(c, opt->ttl == EXPIRY_KEEP ? 4 : 3,
                         (struct str[]){STR("SET"), c->argv[1], c->argv[vi], STR("KEEPTTL")});
    } else if (opt->get) {
        stringPropagateWithoutGet(c);
    }
}

/* Reports that the value has been stored. */
static void stringReportSet(struct client *c, struct str key, int64_t expire_ms) {
    keyChanged(c, c->db, key, NOTIFY_STRING, "set", 1);
    if (expire_ms != OBJ_NO_EXPIRE) keyEvent(NOTIFY_GENERIC, "expire", key, c->db);
}

static inline void stringStoreSet(struct client *c, struct object *o, int vi, const struct setOptions *opt) {
    struct str key = c->argv[1];
    bool expires = opt->ttl >= EXPIRY_EX;
    if (__builtin_expect(expires, 0) && dbTimeHasExpired(opt->when_ms)) {
        if (o) genericExpireNow(c, o, key);
        return;
    }
    char scratch[8];
    int64_t when_ms = expires ? opt->when_ms : OBJ_NO_EXPIRE;
    if (expires || opt->get || opt->condition >= SET_IFNE) stringPropagateSet(c, opt, vi);
    int64_t new_expire = opt->ttl == EXPIRY_KEEP && o ? objectExpire(o) : when_ms;
    dbSetWithExpire(c->db, key, o, stringArgValue(c, vi, scratch), new_expire);
    stringReportSet(c, key, when_ms);
}

/* Does SET and its old variants; the value is argument `vi`. */
static inline __attribute__((always_inline)) void
stringGenericSet(struct client *c, int vi, struct setOptions *opt, bool reply_integer) {
    struct str key = c->argv[1];
    if (opt->ttl >= EXPIRY_EX && !expiryParseTime(c, opt->ttl_arg, opt->ttl, 1, &opt->when_ms)) return;
    struct object *o = opt->get ? lookupKeyRead(c, key) : lookupKeyWrite(c, key);
    if (o && o->type != OBJ_STRING && (opt->get || opt->condition >= SET_IFEQ)) {
        replyWrongType(c);
        return;
    }
    if (opt->condition >= SET_IFDEQ && !stringCheckComparison(c, o, opt->condition, opt->compare)) return;
    if (opt->get) stringReply(c, o);
    if (!stringSetAllowed(opt, o)) {
        if (!opt->get) {
            if (reply_integer)
                replyLongLong(c, 0);
            else
                replyNull(c);
        }
        return;
    }
    stringStoreSet(c, o, vi, opt);
    if (opt->get) return;
    if (reply_integer)
        replyLongLong(c, 1);
    else
        replyOk(c);
}

static __attribute__((noinline)) void stringSetWithOptions(struct client *c) {
    struct setOptions opt = {0};
    if (stringParseSetOptions(c, 3, false, &opt)) stringGenericSet(c, 2, &opt, false);
}

/* The compiler leaves out of the second call all that options need. */
void setCommand(struct client *c) {
    if (c->argc > 3)
        stringSetWithOptions(c);
    else
        stringGenericSet(c, 2, &(struct setOptions){0}, false);
}

void setnxCommand(struct client *c) {
    stringGenericSet(c, 2, &(struct setOptions){.condition = SET_NX}, true);
}

void setexCommand(struct client *c) {
    stringGenericSet(c, 3, &(struct setOptions){.ttl = EXPIRY_EX, .ttl_arg = c->argv[2]}, false);
}

void psetexCommand(struct client *c) {
    stringGenericSet(c, 3, &(struct setOptions){.ttl = EXPIRY_PX, .ttl_arg = c->argv[2]}, false);
}

void getCommand(struct client *c) {
    struct object *o;
    if (lookupKeyReadType(c, c->argv[1], OBJ_STRING, &o)) stringReply(c, o);
}

void getsetCommand(struct client *c) {
    struct str key = c->argv[1];
    struct object *o;
    if (!lookupKeyReadType(c, key, OBJ_STRING, &o)) return;
    stringReply(c, o);
    propagateRewrite(c, 3, (struct str[]){STR("SET"), key, c->argv[2]});
    char scratch[8];
    dbSetWithExpire(c->db, key, o, stringArgValue(c, 2, scratch), OBJ_NO_EXPIRE);
    stringReportSet(c, key, OBJ_NO_EXPIRE);
}

void stringDelete(struct client *c, struct str key) {
    propagateRewrite(c, 2, (struct str[]){STR("DEL"), key});
    dbDelete(c->db, key);
    keyChanged(c, c->db, key, NOTIFY_GENERIC, "del", 1);
}

void getdelCommand(struct client *c) {
    struct object *o;
    if (!lookupKeyReadType(c, c->argv[1], OBJ_STRING, &o)) return;
    stringReply(c, o);
    if (o) stringDelete(c, c->argv[1]);
}

void digestCommand(struct client *c) {
    struct object *o;
    if (!lookupKeyReadType(c, c->argv[1], OBJ_STRING, &o)) return;
    if (!o) {
        replyNull(c);
        return;
    }
    char buf[LONG_STR_SIZE], digits[STRING_DIGEST_LEN];
    replyBulk(c, stringWriteDigest(stringView(o, buf), digits));
}

/* Deletes the string argv[1] if it meets a condition from SET_IFEQ on. */
static void stringDeleteIf(struct client *c, enum setCondition condition, struct str compare) {
    struct object *o;
    if (!lookupKeyWriteType(c, c->argv[1], OBJ_STRING, &o)) return;
    if (!stringCheckComparison(c, o, condition, compare)) return;
    bool holds = o && stringMeets(o, condition, compare);
    if (holds) stringDelete(c, c->argv[1]);
    replyLongLong(c, holds);
}

void delifeqCommand(struct client *c) {
    stringDeleteIf(c, SET_IFEQ, c->argv[2]);
}

/* Deletes the key argv[1], whatever its type. */
static void stringDeleteAny(struct client *c) {
    bool exists = lookupKey(c->db, c->argv[1], LOOKUP_WRITE | LOOKUP_NOTOUCH);
    if (exists) stringDelete(c, c->argv[1]);
    replyLongLong(c, exists);
}

void delexCommand(struct client *c) {
    if (c->argc == 2) {
        stringDeleteAny(c);
    } else if (c->argc != 4) {
        replyErrorFmt(c, "ERR wrong number of arguments for '%s' command", c->cmd->fullname);
    } else {
        enum setCondition condition = stringSetConditionOf(c->argv[2]);
        if (condition >= SET_IFEQ)
            stringDeleteIf(c, condition, c->argv[3]);
        else
            replySyntaxError(c);
    }
}

void getexCommand(struct client *c) {
    struct str key = c->argv[1], arg = {0};
    enum expiryKind ttl;
    int64_t when_ms = OBJ_NO_EXPIRE;
    if (!expiryParseOptions(c, 2, c->argc, &ttl, &arg)) return;
    if (ttl >= EXPIRY_EX && !expiryParseTime(c, arg, ttl, 1, &when_ms)) return;
    struct object *o;
    if (!lookupKeyReadType(c, key, OBJ_STRING, &o)) return;
    stringReply(c, o);
    if (!o) return;
    if (when_ms != OBJ_NO_EXPIRE && dbTimeHasExpired(when_ms)) {
        genericExpireNow(c, o, key);
    } else if (when_ms != OBJ_NO_EXPIRE) {
        dbSetExpire(c->db, o, when_ms);
        char ms[LONG_STR_SIZE];
        propagateRewrite(c, 3, (struct str[]){STR("PEXPIREAT"), key, strN(ms, ll2string(ms, when_ms))});
        keyChanged(c, c->db, key, NOTIFY_GENERIC, "expire", 1);
    } else if (ttl == EXPIRY_PERSIST && objectHasExpire(o)) {
        dbRemoveExpire(c->db, o);
        propagateRewrite(c, 2, (struct str[]){STR("PERSIST"), key});
        keyChanged(c, c->db, key, NOTIFY_GENERIC, "persist", 1);
    }
}

void mgetCommand(struct client *c) {
    struct keysAhead ahead;
    keysAheadStart(&ahead, c->db, c->argv + 1, c->argc - 1);
    replyArrayLen(c, c->argc - 1);
    for (int i = 1; i < c->argc; i++) {
        keysAheadNext(&ahead);
        struct object *o = lookupKeyRead(c, c->argv[i]);
        stringReply(c, o && o->type == OBJ_STRING ? o : NULL);
    }
    keysAheadStop(&ahead);
}

/* Whether all keys of the pairs exist (all), or none. Stops at the first that decides it. */
static bool stringCheckPairs(struct client *c, int at, int end, bool all) {
    for (int i = at; i < end; i += 2) {
        if ((lookupKeyWrite(c, c->argv[i]) != NULL) != all) return false;
    }
    return true;
}

/* Sets the pairs from argument `at` to argument `end`. A key with an expiry in the past stays until a
 * later command finds it: if this command did, with a key given twice, the file would have the
 * deletion before it. */
static void stringSetPairs(struct client *c, int at, int end, bool keep_ttl, int64_t expire_ms) {
    bool over = expire_ms != OBJ_NO_EXPIRE && dbTimeHasExpired(expire_ms);
    for (int i = at; over && i < end; i += 2) lookupKeyWrite(c, c->argv[i]); /* removes expired keys */
    for (int i = at; i < end; i += 2) {
        char scratch[8];
        struct object *o = over ? dbFind(c->db, c->argv[i]) : lookupKeyWrite(c, c->argv[i]);
        dbSetWithExpire(c->db, c->argv[i], o, stringArgValue(c, i + 1, scratch),
                        keep_ttl && o ? objectExpire(o) : expire_ms);
        stringReportSet(c, c->argv[i], expire_ms);
    }
}

static bool stringPairsComplete(struct client *c) {
    if (c->argc % 2 == 1) return true;
    return replyErrorFmt(c, "ERR wrong number of arguments for '%s' command", c->cmd->fullname);
}

void msetCommand(struct client *c) {
    if (!stringPairsComplete(c)) return;
    stringSetPairs(c, 1, c->argc, false, OBJ_NO_EXPIRE);
    replyOk(c);
}

void msetnxCommand(struct client *c) {
    if (!stringPairsComplete(c)) return;
    bool none = stringCheckPairs(c, 1, c->argc, false);
    if (none) stringSetPairs(c, 1, c->argc, false, OBJ_NO_EXPIRE);
    replyLongLong(c, none);
}

/* Propagates with an absolute time, the rest as it came. The options begin at `end`. */
static void stringPropagateMsetex(struct client *c, int end, int64_t when_ms) {
    if (!propagateWanted()) return;
    char ms[LONG_STR_SIZE];
    struct str *argv = zmalloc((size_t)c->argc * sizeof *argv);
    memcpy(argv, c->argv, (size_t)c->argc * sizeof *argv);
    for (int i = end; i < c->argc; i++) {
        if (!expiryKindOf(argv[i])) continue;
        argv[i] = STR("PXAT");
        argv[++i] = strN(ms, ll2string(ms, when_ms));
    }
    propagateRewrite(c, c->argc, argv);
    zfree(argv);
}

void msetexCommand(struct client *c) {
    int64_t count, when_ms = OBJ_NO_EXPIRE;
    struct setOptions opt = {0};
    if (!argRange(c, c->argv[1], 1, INT32_MAX, &count, "ERR invalid numkeys value or out of range")) return;
    if (count > (c->argc - 2) / 2) {
        replySyntaxError(c);
        return;
    }
    int at = 2, end = at + 2 * (int)count;
    if (!stringParseSetOptions(c, end, true, &opt)) return;
    if (opt.ttl >= EXPIRY_EX && !expiryParseTime(c, opt.ttl_arg, opt.ttl, 1, &when_ms)) return;
    bool allowed = !opt.condition || stringCheckPairs(c, at, end, opt.condition == SET_XX);
    if (allowed) {
        if (when_ms != OBJ_NO_EXPIRE) stringPropagateMsetex(c, end, when_ms);
        stringSetPairs(c, at, end, opt.ttl == EXPIRY_KEEP, when_ms);
    }
    replyLongLong(c, allowed);
}

/* ---- Numbers ---- */

static void stringIncrement(struct client *c, int64_t by) {
    struct str key = c->argv[1];
    struct object *o;
    if (!lookupKeyWriteType(c, key, OBJ_STRING, &o)) return;
    int64_t v = 0;
    if (o && !stringIsInt(o, &v)) {
        replyError(c, err_notint);
        return;
    }
    if (__builtin_add_overflow(v, by, &v)) {
        replyError(c, "ERR increment or decrement would overflow");
        return;
    }
    if (o && o->encoding == STRING_INT) {
        keyUsed(c->db, key, KEY_USE_CHANGE);
        keyAssertSaved(c->db, key);
        memcpy(objectEmbeddedBytes(o), &v, sizeof v);
    } else {
        char scratch[8];
        dbUpdate(c->db, key, o, stringIntValue(v, scratch), o ? objectExpire(o) : OBJ_NO_EXPIRE);
    }
    keyChanged(c, c->db, key, NOTIFY_STRING, "incrby", 1);
    replyLongLong(c, v);
}

void incrCommand(struct client *c) {
    stringIncrement(c, 1);
}
void decrCommand(struct client *c) {
    stringIncrement(c, -1);
}

void incrbyCommand(struct client *c) {
    int64_t by;
    if (argLongLong(c, c->argv[2], &by, NULL)) stringIncrement(c, by);
}

void decrbyCommand(struct client *c) {
    int64_t by;
    if (!argLongLong(c, c->argv[2], &by, NULL)) return;
    if (by == INT64_MIN) {
        replyError(c, "ERR decrement would overflow");
        return;
    }
    stringIncrement(c, -by);
}

void incrbyfloatCommand(struct client *c) {
    struct str key = c->argv[1];
    struct object *o;
    if (!lookupKeyWriteType(c, key, OBJ_STRING, &o)) return;
    char buf[LONG_STR_SIZE];
    long double v = 0, by;
    if ((o && !string2ld(stringView(o, buf), &v)) || !string2ld(c->argv[2], &by)) {
        replyError(c, err_notfloat);
        return;
    }
    v += by;
    if (isnan(v) || isinf(v)) {
        replyError(c, "ERR increment would produce NaN or Infinity");
        return;
    }
    char text[LONG_DOUBLE_STR_SIZE];
    struct str s = strN(text, ld2string(text, sizeof text, v));
    dbUpdate(c->db, key, o, stringTextValue(s), o ? objectExpire(o) : OBJ_NO_EXPIRE);
    keyChanged(c, c->db, key, NOTIFY_STRING, "incrbyfloat", 1);
    propagateRewrite(c, 4, (struct str[]){STR("SET"), key, s, STR("KEEPTTL")});
    replyBulk(c, s);
}

/* ---- Parts of strings ---- */

void strlenCommand(struct client *c) {
    struct object *o;
    char buf[LONG_STR_SIZE];
    if (!lookupKeyReadType(c, c->argv[1], OBJ_STRING, &o)) return;
    replyLongLong(c, o ? (int64_t)stringView(o, buf).len : 0);
}

void appendCommand(struct client *c) {
    struct str key = c->argv[1], tail = c->argv[2];
    struct object *o;
    if (!lookupKeyWriteType(c, key, OBJ_STRING, &o)) return;
    size_t total = tail.len;
    if (!o) {
        char scratch[8];
        dbAdd(c->db, key, stringArgValue(c, 2, scratch));
    } else {
        char buf[LONG_STR_SIZE], joined[OBJ_EMBED_MAX];
        struct str head = stringView(o, buf);
        if (!stringCheckLength(c, (int64_t)head.len, (int64_t)tail.len)) return;
        total += head.len;
        if (objectHasPtr(o)) {
            stringSetPtr(o, STRING_RAW, sdscatstr(stringOwnText(o), tail));
        } else if (total <= OBJ_EMBED_MAX) {
            memcpy(joined, head.ptr, head.len);
            memcpy(joined + head.len, tail.ptr, tail.len);
            dbReplaceValue(c->db, o, stringRawValue(strN(joined, total)));
        } else {
            sds s = sdscatstr(sdsMakeRoomFor(sdsnewstr(head), tail.len), tail);
            dbReplaceValue(c->db, o, valuePtr(OBJ_STRING, STRING_RAW, s));
        }
    }
    keyChanged(c, c->db, key, NOTIFY_STRING, "append", 1);
    replyLongLong(c, (int64_t)total);
}

void setrangeCommand(struct client *c) {
    struct str key = c->argv[1], piece = c->argv[3];
    int64_t offset;
    if (!argLongLong(c, c->argv[2], &offset, NULL)) return;
    if (offset < 0) {
        replyError(c, "ERR offset is out of range");
        return;
    }
    struct object *o;
    if (!lookupKeyWriteType(c, key, OBJ_STRING, &o)) return;
    char buf[LONG_STR_SIZE];
    struct str old = o ? stringView(o, buf) : STR("");
    if (piece.len == 0) {
        replyLongLong(c, (int64_t)old.len);
        return;
    }
    if (!stringCheckLength(c, offset, (int64_t)piece.len)) return;
    size_t total;
    stringWillChange(o, (size_t)offset, piece.len);
    char *bytes = stringForWrite(c->db, key, o, (size_t)offset + piece.len, &total);
    memcpy(bytes + offset, piece.ptr, piece.len);
    keyChanged(c, c->db, key, NOTIFY_STRING, "setrange", 1);
    replyLongLong(c, (int64_t)total);
}

void getrangeCommand(struct client *c) {
    int64_t start, end;
    if (!argLongLong(c, c->argv[2], &start, NULL) || !argLongLong(c, c->argv[3], &end, NULL)) return;
    struct object *o;
    if (!lookupKeyReadType(c, c->argv[1], OBJ_STRING, &o)) return;
    char buf[LONG_STR_SIZE];
    struct str s = o ? stringView(o, buf) : STR("");
    int64_t len = (int64_t)s.len;
    bool backwards = start < 0 && end < 0 && start > end;
    if (start < 0) start = start < -len ? 0 : start + len;
    if (end < 0) end = end < -len ? 0 : end + len;
    if (end >= len) end = len - 1;
    if (backwards || start > end || len == 0)
        replyBulk(c, STR(""));
    else
        stringReplyText(c, o, s, (size_t)start, (size_t)(end - start + 1));
}

void substrCommand(struct client *c) {
    getrangeCommand(c);
}

void stringInit(void) {
    static struct configDirective directives[] = {
        CONFIG_INT("min-string-size-avoid-copy-reply", NULL, CONFIG_MODIFIABLE | CONFIG_HIDDEN, &link_size,
                   LINK_SIZE_DEFAULT, 0, INT32_MAX, NULL),
    };
    configRegister(directives, 1);
    objectTypeRegister(&string_type);
    commandRegister(commandsString);
}
