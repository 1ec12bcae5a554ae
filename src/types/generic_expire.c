/* SPDX-License-Identifier: BSD-3-Clause */
/* generic_expire.c - setting, reading and removing the expiry of keys. Part of generic.h. */
#include "base/assert.h"
#include "base/num.h"
#include "base/zmalloc.h"
#include "command/command.h"
#include "commands/generic.h"
#include "registry/cron.h"
#include "command/lookup.h"
#include "data/db.h"
#include "types/generic.h"
#include "data/lazyfree.h"
#include "data/notify.h"
#include "command/propagate.h"
#include "client/reply.h"

struct expireCondition {
    bool nx, xx, gt, lt;
};

static bool parseCondition(struct client *c, struct expireCondition *cond) {
    for (int i = 3; i < c->argc; i++) {
        struct str arg = c->argv[i];
        if (strIs(arg, "nx"))
            cond->nx = true;
        else if (strIs(arg, "xx"))
            cond->xx = true;
        else if (strIs(arg, "gt"))
            cond->gt = true;
        else if (strIs(arg, "lt"))
            cond->lt = true;
        else {
            replyErrorFmt(c, "ERR Unsupported option %.*s", (int)arg.len, arg.ptr);
            return false;
        }
    }
    if (cond->nx && (cond->xx || cond->gt || cond->lt)) {
        replyError(c, "ERR NX and XX, GT or LT options at the same time are not compatible");
        return false;
    }
    if (cond->gt && cond->lt) {
        replyError(c, "ERR GT and LT options at the same time are not compatible");
        return false;
    }
    return true;
}

/* No expiry counts as an infinite one. */
static bool conditionHolds(const struct expireCondition *cond, int64_t now_ms, int64_t new_ms) {
    bool has = now_ms != OBJ_NO_EXPIRE;
    if (cond->nx && has) return false;
    if (cond->xx && !has) return false;
    if (cond->gt && (!has || new_ms <= now_ms)) return false;
    if (cond->lt && has && new_ms >= now_ms) return false;
    return true;
}

/* The argument as an absolute time in ms. */
static bool expiryArgument(struct client *c, int64_t base_ms, bool seconds, int64_t *when_ms) {
    int64_t v;
    if (!argLongLong(c, c->argv[2], &v, NULL)) return false;
    bool ok = !seconds || (v <= INT64_MAX / 1000 && v >= INT64_MIN / 1000);
    if (ok && seconds) v *= 1000;
    if (ok) ok = !__builtin_add_overflow(v, base_ms, &v);
    if (!ok) replyErrorFmt(c, "ERR invalid expire time in '%s' command", c->cmd->fullname);
    *when_ms = v;
    return ok;
}

void expireAtOnce(struct client *c, struct object *o, struct str key) {
    bool lazy = lazyfree_lazy_expire;
    dbDeleteOverdue(c->db, o, lazy);
    propagateRewrite(c, 2, (struct str[]){lazy ? STR("UNLINK") : STR("DEL"), key});
    keyChanged(c, c->db, key, NOTIFY_EXPIRED, "expired", 1);
    dbstats.expired++;
}

/* Conditions are kept: they held here, and hold where the command is run again. */
static void propagateExpiry(struct client *c, int64_t when_ms) {
    if (!propagateWanted()) return;
    char ms[LONG_STR_SIZE];
    struct str *argv = zmalloc((size_t)c->argc * sizeof *argv);
    memcpy(argv, c->argv, (size_t)c->argc * sizeof *argv);
    argv[0] = STR("PEXPIREAT");
    argv[2] = strN(ms, ll2string(ms, when_ms));
    propagateRewrite(c, c->argc, argv);
    zfree(argv);
}

static void setExpiry(struct client *c, struct object *o, struct str key, int64_t when_ms) {
    debugAssert(!dbTimeHasExpired(when_ms));
    dbSetExpire(c->db, o, when_ms);
    propagateExpiry(c, when_ms);
    keyChanged(c, c->db, key, NOTIFY_GENERIC, "expire", 1);
}

static void expire(struct client *c, int64_t base_ms, bool seconds) {
    struct str key = c->argv[1];
    struct expireCondition cond = {0};
    int64_t when_ms;
    if (!parseCondition(c, &cond) || !expiryArgument(c, base_ms, seconds, &when_ms)) return;
    struct object *o = lookupKeyWrite(c, key);
    if (!o || !conditionHolds(&cond, objectExpire(o), when_ms)) {
        replyLongLong(c, 0);
        return;
    }
    if (dbTimeHasExpired(when_ms))
        expireAtOnce(c, o, key);
    else
        setExpiry(c, o, key, when_ms);
    replyLongLong(c, 1);
}

void expireCommand(struct client *c) {
    expire(c, cmd_time_ms, true);
}
void pexpireCommand(struct client *c) {
    expire(c, cmd_time_ms, false);
}
void expireatCommand(struct client *c) {
    expire(c, 0, true);
}
void pexpireatCommand(struct client *c) {
    expire(c, 0, false);
}

/* -2 no such key, -1 no expiry. */
static void replyExpiry(struct client *c, bool absolute, bool seconds) {
    struct object *o = lookupKey(c->db, c->argv[1], LOOKUP_NOTOUCH);
    if (!o || !objectHasExpire(o)) {
        replyLongLong(c, o ? -1 : -2);
        return;
    }
    int64_t ms = objectExpire(o) - (absolute ? 0 : cmd_time_ms);
    if (ms < 0) ms = 0;
    replyLongLong(c, seconds ? ms / 1000 + (ms % 1000 >= 500) : ms);
}

void ttlCommand(struct client *c) {
    replyExpiry(c, false, true);
}
void pttlCommand(struct client *c) {
    replyExpiry(c, false, false);
}
void expiretimeCommand(struct client *c) {
    replyExpiry(c, true, true);
}
void pexpiretimeCommand(struct client *c) {
    replyExpiry(c, true, false);
}

void persistCommand(struct client *c) {
    struct str key = c->argv[1];
    struct object *o = lookupKeyWrite(c, key);
    if (!o || !objectHasExpire(o)) {
        replyLongLong(c, 0);
        return;
    }
    dbRemoveExpire(c->db, o);
    keyChanged(c, c->db, key, NOTIFY_GENERIC, "persist", 1);
    replyLongLong(c, 1);
}
