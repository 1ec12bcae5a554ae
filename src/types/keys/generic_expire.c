/* SPDX-License-Identifier: BSD-3-Clause */
/* generic_expire.c - setting, reading and removing the expiry of keys. Part of generic.h. */
#include "base/assert.h"
#include "base/num.h"
#include "base/zmalloc.h"
#include "client/reply.h"
#include "command/command.h"
#include "command/lookup.h"
#include "command/propagate.h"
#include "commands/cmd_generic.h"
#include "data/keyspace/db.h"
#include "data/lifetime/lazyfree.h"
#include "data/notify.h"
#include "registry/cron.h"
#include "types/expiry_options.h"
#include "types/keys/generic.h"

void genericExpireNow(struct client *c, struct object *o, struct str key) {
    bool lazy = lazyfree_lazy_expire;
    dbDeleteOverdue(c->db, o, lazy);
    propagateRewrite(c, 2, (struct str[]){lazy ? STR("UNLINK") : STR("DEL"), key});
    keyChanged(c, c->db, key, NOTIFY_EXPIRED, "expired", 1);
    dbstats.expired++;
}

/* Conditions stay in the command: they held here, and hold wherever it is run again. */
static void genericExpirePropagateExpiry(struct client *c, int64_t when_ms) {
    if (!propagateWanted()) return;
    char ms[LONG_STR_SIZE];
    struct str *argv = zmalloc((size_t)c->argc * sizeof *argv);
    memcpy(argv, c->argv, (size_t)c->argc * sizeof *argv);
    argv[0] = STR("PEXPIREAT");
    argv[2] = strN(ms, ll2string(ms, when_ms));
    propagateRewrite(c, c->argc, argv);
    zfree(argv);
}

static void genericExpireSetExpiry(struct client *c, struct object *o, struct str key, int64_t when_ms) {
    debugAssert(!dbTimeHasExpired(when_ms));
    dbSetExpire(c->db, o, when_ms);
    genericExpirePropagateExpiry(c, when_ms);
    keyChanged(c, c->db, key, NOTIFY_GENERIC, "expire", 1);
}

static void genericExpire(struct client *c, enum expiryKind kind) {
    struct str key = c->argv[1];
    struct expiryCondition cond = {0};
    int64_t when_ms;
    if ((c->argc > 3 && !expiryParseCondition(c, 3, c->argc, &cond)) ||
        !expiryParseTime(c, c->argv[2], kind, INT64_MIN, &when_ms))
        return;
    struct object *o = lookupKeyWrite(c, key);
    if (!o || (c->argc > 3 && !expiryConditionHolds(&cond, objectExpire(o), when_ms))) {
        replyLongLong(c, 0);
        return;
    }
    if (dbTimeHasExpired(when_ms))
        genericExpireNow(c, o, key);
    else
        genericExpireSetExpiry(c, o, key, when_ms);
    replyLongLong(c, 1);
}

void expireCommand(struct client *c) {
    genericExpire(c, EXPIRY_EX);
}
void pexpireCommand(struct client *c) {
    genericExpire(c, EXPIRY_PX);
}
void expireatCommand(struct client *c) {
    genericExpire(c, EXPIRY_EXAT);
}
void pexpireatCommand(struct client *c) {
    genericExpire(c, EXPIRY_PXAT);
}

/* Replies -2 for no such key, -1 for no expiry. */
static void genericExpireReplyKeyExpiry(struct client *c, bool absolute, bool seconds) {
    struct object *o = lookupKey(c->db, c->argv[1], LOOKUP_NOTOUCH);
    if (!o || !objectHasExpire(o)) {
        replyLongLong(c, o ? -1 : -2);
        return;
    }
    expiryReply(c, objectExpire(o), absolute, seconds);
}

void ttlCommand(struct client *c) {
    genericExpireReplyKeyExpiry(c, false, true);
}
void pttlCommand(struct client *c) {
    genericExpireReplyKeyExpiry(c, false, false);
}
void expiretimeCommand(struct client *c) {
    genericExpireReplyKeyExpiry(c, true, true);
}
void pexpiretimeCommand(struct client *c) {
    genericExpireReplyKeyExpiry(c, true, false);
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
