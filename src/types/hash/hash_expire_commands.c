/* SPDX-License-Identifier: BSD-3-Clause */
/* hash_expire_commands.c - the commands on the expiry of fields: HEXPIRE and HTTL with their families,
 * HPERSIST, HGETEX, HSETEX, HGETDEL.
 *
 * All of them name their fields in a block "FIELDS n field ...", with options before or behind it. Their
 * effects are propagated in terms that mean the same at any time: HPEXPIREAT, HSETEX PXAT, HPERSIST, HDEL.
 *
 * A field that is dead here may still be alive on a replica or in a file that is read again, where a command
 * that names it would give it a new time. So a command that finds dead fields is propagated with only those
 * that it has changed. */
#include "base/num.h"
#include "base/zmalloc.h"
#include "client/reply.h"
#include "command/command.h"
#include "command/propagate.h"
#include "commands/cmd_hash.h"
#include "data/keyspace/db.h"
#include "data/notify.h"
#include "registry/cron.h"
#include "types/expiry_options.h"
#include "types/hash/hash_commands.h"

enum { FIELD_MISSING = -2, NOT_CHANGED = 0, CHANGED = 1, DELETED = 2 };

static const char err_numfields[] =
    "ERR numfields should be greater than 0 and match the provided number of fields";

/* ---- Arguments ---- */

/* The fields that a command names: argv[first] and every step-th after it, before argv[end]. */
struct fieldArgs {
    int first, step, end;
    size_t count;
};

/* Returns the position of FIELDS, from argument `from` on, with something after it. Replies an error and
 * returns 0 when there is none. */
static int hashExpireFindFields(struct client *c, int from) {
    for (int i = from; i + 1 < c->argc; i++) {
        if (strIs(c->argv[i], "fields")) return i;
    }
    replyError(c, err_numfields);
    return 0;
}

/* The options of a command: words by themselves, and perhaps EX, PX, EXAT and PXAT with a time. */
struct fieldOptions {
    const char *words[6]; /* ends with NULL */
    bool times;
};

static bool hashExpireAreOptions(const struct client *c, int from, const struct fieldOptions *options) {
    for (int i = from; i < c->argc; i++) {
        const char *const *word = options->words;
        while (*word && !strIs(c->argv[i], *word)) word++;
        if (*word) continue;
        if (!options->times || !expiryKindOf(c->argv[i]) || ++i == c->argc) return false;
    }
    return true;
}

/* Handles another number of arguments than that of the fields. */
static __attribute__((noinline)) bool hashExpireFindEnd(struct client *c, const struct fieldOptions *options,
                                                        const char *error, struct fieldArgs *f) {
    int64_t given = (c->argc - f->first) / f->step, n = (int64_t)f->count;
    if (n >= 1 && n <= given && options) {
        f->end = f->first + (int)n * f->step;
        if (hashExpireAreOptions(c, f->end, options)) return true;
    }
    return replyError(c, error);
}

/* `at` is the position of FIELDS. As in Redis 8, options may follow the fields (f->end); when anything else
 * does, the number of fields is wrong. `options` NULL: none may follow. */
static inline bool hashExpireParseFields(struct client *c, int at, int step,
                                         const struct fieldOptions *options, const char *error,
                                         struct fieldArgs *f) {
    int64_t n = 0;
    if (!argLongLong(c, c->argv[at + 1], &n, NULL)) return false;
    int given = c->argc - at - 2;
    *f = (struct fieldArgs){.first = at + 2, .step = step, .end = c->argc, .count = (size_t)n};
    if (n >= 1 && given % step == 0 && n == given / step) return true;
    return hashExpireFindEnd(c, options, error, f);
}

static struct str hashExpireFieldAt(const struct client *c, const struct fieldArgs *f, size_t i) {
    return c->argv[f->first + (int)i * f->step];
}

/* The fields that a command has changed, for propagation. */
struct fieldList {
    struct str *fields;
    size_t count;
};

static void hashExpireFieldListInit(struct fieldList *l, const struct fieldArgs *f) {
    l->fields = zmalloc(f->count * sizeof *l->fields);
    l->count = 0;
}

static void hashExpireFieldListAdd(struct fieldList *l, struct str field) {
    l->fields[l->count++] = field;
}

/* ---- Propagation ---- */

static void hashExpirePropagateDeleted(struct hashKey *k, const struct fieldList *l) {
    hashPropagate(k, STR("HDEL"), NULL, 0, l->fields, l->count);
}

static void hashExpirePropagateExpire(struct hashKey *k, int64_t when_ms, const struct fieldList *l) {
    char ms[LONG_STR_SIZE], n[LONG_STR_SIZE];
    struct str middle[] = {strN(ms, ll2string(ms, when_ms)), STR("FIELDS"), strN(n, ull2string(n, l->count))};
    hashPropagate(k, STR("HPEXPIREAT"), middle, 3, l->fields, l->count);
}

static void hashExpirePropagatePersist(struct hashKey *k, const struct fieldList *l) {
    char n[LONG_STR_SIZE];
    struct str middle[] = {STR("FIELDS"), strN(n, ull2string(n, l->count))};
    hashPropagate(k, STR("HPERSIST"), middle, 2, l->fields, l->count);
}

/* ---- HEXPIRE ... ---- */

static int hashExpireField(struct hashKey *k, struct str field, const struct expiryCondition *cond,
                           int64_t when_ms) {
    int64_t now_ms = hashExpire(&k->h, field);
    if (now_ms == HASH_NO_FIELD) return FIELD_MISSING;
    if (!expiryConditionHolds(cond, now_ms, when_ms)) return NOT_CHANGED;
    if (dbTimeHasExpired(when_ms)) {
        hashRemove(&k->h, field);
        return DELETED;
    }
    hashSetExpire(&k->h, field, when_ms);
    return CHANGED;
}

/* The fields in the list got this time, or were deleted when it is past. `whole`: the command may be
 * propagated as it came, except for the time in argv[2]. */
static void hashExpireReportExpire(struct hashKey *k, int64_t when_ms, const struct fieldList *l,
                                   bool whole) {
    if (!l->count) return;
    bool past = dbTimeHasExpired(when_ms);
    char ms[LONG_STR_SIZE];
    struct str time = strN(ms, ll2string(ms, when_ms));
    if (past)
        hashExpirePropagateDeleted(k, l);
    else if (whole)
        hashPropagate(k, STR("HPEXPIREAT"), &time, 1, k->c->argv + 3, (size_t)k->c->argc - 3);
    else
        hashExpirePropagateExpire(k, when_ms, l);
    if (past) dbstats.expired_fields += l->count;
    const char *event = past ? "hexpired" : "hexpire";
    hashKeyChanged(k, event, NULL, l->count);
    hashReportFields(k, event, l->fields, l->count, 1);
}

static void hashExpireFields(struct client *c, enum expiryKind kind) {
    static const struct fieldOptions options = {{"nx", "xx", "gt", "lt"}, false};
    struct hashKey k;
    struct expiryCondition cond = {0};
    struct fieldArgs f;
    struct fieldList changed;
    int64_t when_ms;
    int at = hashExpireFindFields(c, 3);
    if (!at || !expiryParseCondition(c, 3, at, &cond) ||
        !hashExpireParseFields(c, at, 1, &options, err_numfields, &f) ||
        (f.end < c->argc && !expiryParseCondition(c, f.end, c->argc, &cond)) ||
        !expiryParseTime(c, c->argv[2], kind, 0, &when_ms) || !hashKeyWrite(c, &k))
        return;
    bool whole = f.end == c->argc && !hashHasDead(&k.h);
    hashExpireFieldListInit(&changed, &f);
    replyArrayLen(c, (int64_t)f.count);
    for (size_t i = 0; i < f.count; i++) {
        int result = hashExpireField(&k, hashExpireFieldAt(c, &f, i), &cond, when_ms);
        if (result > NOT_CHANGED) hashExpireFieldListAdd(&changed, hashExpireFieldAt(c, &f, i));
        replyLongLong(c, result);
    }
    hashExpireReportExpire(&k, when_ms, &changed, whole);
    zfree(changed.fields);
}

void hexpireCommand(struct client *c) {
    hashExpireFields(c, EXPIRY_EX);
}
void hpexpireCommand(struct client *c) {
    hashExpireFields(c, EXPIRY_PX);
}
void hexpireatCommand(struct client *c) {
    hashExpireFields(c, EXPIRY_EXAT);
}
void hpexpireatCommand(struct client *c) {
    hashExpireFields(c, EXPIRY_PXAT);
}

/* ---- HTTL ..., HPERSIST ---- */

/* argv[at] must be FIELDS. */
static bool hashExpireParseOnlyFields(struct client *c, int at, int step, const char *error,
                                      struct fieldArgs *f) {
    if (strIs(c->argv[at], "fields")) return hashExpireParseFields(c, at, step, NULL, error, f);
    return replySyntaxError(c);
}

static void hashExpireReplyExpiries(struct client *c, bool absolute, bool seconds) {
    struct hashKey k;
    struct fieldArgs f;
    if (!hashExpireParseOnlyFields(c, 2, 1, err_syntax, &f) || !hashKeyRead(c, &k)) return;
    replyArrayLen(c, (int64_t)f.count);
    for (size_t i = 0; i < f.count; i++) {
        int64_t ms = hashExpire(&k.h, hashExpireFieldAt(c, &f, i));
        if (ms < 0)
            replyLongLong(c, ms); /* HASH_NO_EXPIRE or HASH_NO_FIELD */
        else
            expiryReply(c, ms, absolute, seconds);
    }
}

void httlCommand(struct client *c) {
    hashExpireReplyExpiries(c, false, true);
}
void hpttlCommand(struct client *c) {
    hashExpireReplyExpiries(c, false, false);
}
void hexpiretimeCommand(struct client *c) {
    hashExpireReplyExpiries(c, true, true);
}
void hpexpiretimeCommand(struct client *c) {
    hashExpireReplyExpiries(c, true, false);
}

/* Removes a field's expiry. Returns false when it has none, or does not exist. */
static bool hashExpirePersistField(struct hashKey *k, struct str field, struct fieldList *l) {
    if (hashExpire(&k->h, field) < 0) return false;
    hashSetExpire(&k->h, field, HASH_NO_EXPIRE);
    hashExpireFieldListAdd(l, field);
    return true;
}

/* `whole`: the command may be propagated as it came. */
static void hashExpireReportPersist(struct hashKey *k, const struct fieldList *l, bool whole) {
    if (!l->count) return;
    if (!whole) hashExpirePropagatePersist(k, l);
    hashKeyChanged(k, "hpersist", NULL, l->count);
    hashReportFields(k, "hpersist", l->fields, l->count, 1);
}

void hpersistCommand(struct client *c) {
    struct hashKey k;
    struct fieldArgs f;
    struct fieldList changed;
    if (!hashExpireParseOnlyFields(c, 2, 1, err_numfields, &f) || !hashKeyWrite(c, &k)) return;
    bool whole = !hashHasDead(&k.h);
    hashExpireFieldListInit(&changed, &f);
    replyArrayLen(c, (int64_t)f.count);
    for (size_t i = 0; i < f.count; i++) {
        struct str field = hashExpireFieldAt(c, &f, i);
        int64_t now_ms = hashExpire(&k.h, field);
        replyLongLong(c, now_ms < 0 ? now_ms : hashExpirePersistField(&k, field, &changed));
    }
    hashExpireReportPersist(&k, &changed, whole);
    zfree(changed.fields);
}

/* ---- HGETEX, HGETDEL ---- */

/* Called after the field's reply: a field named twice may be gone the second time. */
static void hashExpireGetexField(struct hashKey *k, struct str field, enum expiryKind kind, int64_t when_ms,
                                 struct fieldList *changed) {
    static const struct expiryCondition always = {0};
    if (kind == EXPIRY_PERSIST)
        hashExpirePersistField(k, field, changed);
    else if (kind != EXPIRY_NONE && hashExpireField(k, field, &always, when_ms) > NOT_CHANGED)
        hashExpireFieldListAdd(changed, field);
}

void hgetexCommand(struct client *c) {
    static const struct fieldOptions options = {{"persist"}, true};
    struct hashKey k;
    enum expiryKind kind;
    struct str time;
    struct fieldArgs f;
    struct fieldList changed;
    int64_t when_ms = HASH_NO_EXPIRE;
    int at = hashExpireFindFields(c, 2);
    if (!at || !expiryParseOptions(c, 2, at, &kind, &time) ||
        !hashExpireParseFields(c, at, 1, kind ? NULL : &options, err_numfields, &f) ||
        (f.end < c->argc && !expiryParseOptions(c, f.end, c->argc, &kind, &time)) || !hashKeyRead(c, &k) ||
        (kind >= EXPIRY_EX && !expiryParseTime(c, time, kind, 0, &when_ms)))
        return;
    if (kind && k.o) keyspaceObjectWillChange(&c->db->keyspace, k.o); /* it was looked up for reading */
    hashExpireFieldListInit(&changed, &f);
    replyArrayLen(c, (int64_t)f.count);
    for (size_t i = 0; i < f.count; i++) {
        struct str field = hashExpireFieldAt(c, &f, i);
        hashReplyField(c, &k.h, field);
        hashExpireGetexField(&k, field, kind, when_ms, &changed);
    }
    if (kind == EXPIRY_PERSIST)
        hashExpireReportPersist(&k, &changed, false);
    else
        hashExpireReportExpire(&k, when_ms, &changed, false);
    zfree(changed.fields);
}

/* Removes the fields; those that existed are in the list. */
static void hashExpireRemoveFields(struct hashKey *k, const struct fieldArgs *f, struct fieldList *removed) {
    hashExpireFieldListInit(removed, f);
    for (size_t i = 0; i < f->count; i++) {
        struct str field = hashExpireFieldAt(k->c, f, i);
        if (hashRemove(&k->h, field)) hashExpireFieldListAdd(removed, field);
    }
    hashExpirePropagateDeleted(k, removed);
}

void hgetdelCommand(struct client *c) {
    struct hashKey k;
    struct fieldArgs f;
    if (!hashExpireParseOnlyFields(c, 2, 1, err_numfields, &f) || !hashKeyWrite(c, &k)) return;
    struct str *gone = hashRemovedFields(f.count);
    size_t removed = 0;
    replyArrayLen(c, (int64_t)f.count);
    for (size_t i = 0; i < f.count; i++) {
        struct str field = hashExpireFieldAt(c, &f, i);
        hashReplyField(c, &k.h, field);
        removed = hashRemoveNamed(&k, field, gone, removed);
    }
    hashReportRemoved(&k, gone, removed);
}

/* ---- HSETEX ---- */

struct setexOptions {
    bool nx, xx, fnx, fxx;
    enum expiryKind kind;
    struct str time;
    int64_t when_ms;
};

static bool hashExpireSetexOption(struct client *c, int end, struct setexOptions *opt, int *i) {
    struct str arg = c->argv[*i];
    enum expiryKind kind = strIs(arg, "keepttl") ? EXPIRY_KEEP : expiryKindOf(arg);
    if (kind) {
        if ((opt->kind != EXPIRY_NONE && opt->kind != kind) || (kind != EXPIRY_KEEP && *i + 1 >= end))
            return false;
        opt->kind = kind;
        if (kind != EXPIRY_KEEP) opt->time = c->argv[++*i];
        return true;
    }
    if (strIs(arg, "nx")) return !opt->xx && (opt->nx = true);
    if (strIs(arg, "xx")) return !opt->nx && (opt->xx = true);
    if (strIs(arg, "fnx")) return !opt->fxx && (opt->fnx = true);
    if (strIs(arg, "fxx")) return !opt->fnx && (opt->fxx = true);
    return false;
}

/* Parses argv[from] to argv[end - 1], and adds to what *opt has. */
static bool hashExpireParseSetexOptions(struct client *c, int from, int end, struct setexOptions *opt) {
    for (int i = from; i < end; i++) {
        if (hashExpireSetexOption(c, end, opt, &i)) continue;
        return replySyntaxError(c);
    }
    return true;
}

static bool hashExpireFieldsAllowed(const struct hashKey *k, const struct setexOptions *opt,
                                    const struct fieldArgs *f) {
    for (size_t i = 0; (opt->fnx || opt->fxx) && i < f->count; i++) {
        if (hashGet(&k->h, hashExpireFieldAt(k->c, f, i), NULL) != opt->fxx) return false;
    }
    return true;
}

/* A field that is dead here may be alive on a replica: KEEPTTL would keep an expiry there that is gone
 * here. */
static void hashExpireRemoveDead(struct hashKey *k, const struct fieldArgs *f) {
    struct fieldList dead;
    hashExpireFieldListInit(&dead, f);
    for (size_t i = 0; i < f->count; i++) {
        struct str field = hashExpireFieldAt(k->c, f, i);
        if (hashRemoveDead(&k->h, field)) hashExpireFieldListAdd(&dead, field);
    }
    hashExpirePropagateDeleted(k, &dead);
    zfree(dead.fields);
}

static void hashExpirePropagateSetex(struct hashKey *k, const struct setexOptions *opt,
                                     const struct fieldArgs *f) {
    char ms[LONG_STR_SIZE], n[LONG_STR_SIZE];
    struct str middle[4];
    size_t count = 0;
    if (opt->kind == EXPIRY_KEEP) {
        middle[count++] = STR("KEEPTTL");
    } else if (opt->kind) {
        middle[count++] = STR("PXAT");
        middle[count++] = strN(ms, ll2string(ms, opt->when_ms));
    }
    middle[count++] = STR("FIELDS");
    middle[count++] = strN(n, ull2string(n, f->count));
    hashPropagate(k, STR("HSETEX"), middle, count, k->c->argv + f->first, 2 * f->count);
}

static void hashExpireReportNamed(struct hashKey *k, const char *event, const struct fieldArgs *f) {
    hashReportFields(k, event, k->c->argv + f->first, f->count, (size_t)f->step);
}

static void hashExpireSetexFields(struct hashKey *k, const struct setexOptions *opt,
                                  const struct fieldArgs *f) {
    if (opt->kind == EXPIRY_KEEP) hashExpireRemoveDead(k, f);
    hashExpirePropagateSetex(k, opt, f);
    for (size_t i = 0; i < f->count; i++) {
        struct str field = hashExpireFieldAt(k->c, f, i), value = k->c->argv[f->first + 2 * (int)i + 1];
        hashSet(&k->h, field, (struct hashInput){.text = value}, opt->kind == EXPIRY_KEEP);
        if (opt->kind >= EXPIRY_EX) hashSetExpire(&k->h, field, opt->when_ms);
    }
    bool expires = opt->kind >= EXPIRY_EX;
    hashKeyChanged(k, "hset", expires ? "hexpire" : NULL, f->count);
    hashExpireReportNamed(k, "hset", f);
    if (expires) hashExpireReportNamed(k, "hexpire", f);
}

/* Handles a time in the past: events say that the fields are set and expire, but all that happens is that
 * existing ones are deleted. */
static void hashExpireSetexPast(struct hashKey *k, const struct fieldArgs *f) {
    struct fieldList removed;
    struct db *db = k->c->db;
    bool left = k->o;
    hashExpireRemoveFields(k, f, &removed);
    if (!k->o) keyEvent(NOTIFY_NEW, "new", k->key, db);
    if (removed.count)
        left = hashKeyCommit(k, "hset", removed.count);
    else
        keyEvent(NOTIFY_HASH, "hset", k->key, db);
    keyEvent(NOTIFY_HASH, "hexpire", k->key, db);
    keyEvent(NOTIFY_HASH, "hexpired", k->key, db);
    if (!left) keyEvent(NOTIFY_GENERIC, "del", k->key, db);
    hashExpireReportNamed(k, "hset", f);
    hashExpireReportNamed(k, "hexpire", f);
    hashExpireReportNamed(k, "hexpired", f);
    dbstats.expired_fields += f->count;
    zfree(removed.fields);
}

void hsetexCommand(struct client *c) {
    static const struct fieldOptions options = {{"keepttl", "nx", "xx", "fnx", "fxx"}, true};
    struct hashKey k;
    struct setexOptions opt = {.when_ms = HASH_NO_EXPIRE};
    struct fieldArgs f;
    int at = hashExpireFindFields(c, 2);
    if (!at || !hashExpireParseSetexOptions(c, 2, at, &opt) ||
        !hashExpireParseFields(c, at, 2, &options, err_numfields, &f) ||
        (f.end < c->argc && !hashExpireParseSetexOptions(c, f.end, c->argc, &opt)) || !hashKeyWrite(c, &k))
        return;
    bool allowed = !(opt.nx && k.o) && !(opt.xx && !k.o);
    if (allowed && opt.kind >= EXPIRY_EX && !expiryParseTime(c, opt.time, opt.kind, 0, &opt.when_ms)) return;
    if (!allowed || !hashExpireFieldsAllowed(&k, &opt, &f)) {
        replyLongLong(c, 0);
        return;
    }
    if (opt.kind >= EXPIRY_EX && dbTimeHasExpired(opt.when_ms))
        hashExpireSetexPast(&k, &f);
    else
        hashExpireSetexFields(&k, &opt, &f);
    replyLongLong(c, 1);
}
