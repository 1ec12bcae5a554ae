/* SPDX-License-Identifier: BSD-3-Clause */
/* hash_commands.c - the hash commands: setting, reading, counting, incrementing. hash_scan.c has random
 * fields and HSCAN, hash_expire_commands.c field expiry. */
#include "types/hash/hash_commands.h"

#include <math.h>

#include "base/num.h"
#include "base/zmalloc.h"
#include "client/reply.h"
#include "command/command.h"
#include "command/lookup.h"
#include "command/propagate.h"
#include "command/request.h"
#include "commands/cmd_hash.h"
#include "data/keyspace/db.h"
#include "data/keyspace/read_ahead.h"
#include "data/notify.h"
#include "types/bulk_writer.h"
#include "types/types.h"

/* ---- Shared (hash_commands.h) ---- */

static bool hashOpenKey(struct client *c, struct hashKey *k) {
    k->c = c;
    k->key = c->argv[1];
    if (k->o)
        hashOpen(&k->h, k->o);
    else
        hashNew(&k->h);
    return true;
}

bool hashKeyRead(struct client *c, struct hashKey *k) {
    return lookupKeyReadType(c, c->argv[1], OBJ_HASH, &k->o) && hashOpenKey(c, k);
}

bool hashKeyWrite(struct client *c, struct hashKey *k) {
    return lookupKeyWriteType(c, c->argv[1], OBJ_HASH, &k->o) && hashOpenKey(c, k);
}

bool hashKeyCommit(struct hashKey *k, const char *event, size_t changes) {
    struct db *db = k->c->db;
    bool left = hashCommit(&k->h, db, k->key, k->o);
    if (__builtin_expect(!k->h.expired_removed, 1)) {
        keyChanged(k->c, db, k->key, NOTIFY_HASH, event, changes);
    } else { /* expired fields were overwritten: this is reported first */
        dbstats.expired_fields += k->h.expired_removed;
        /* The names are reported first: modules that are told of the change may run commands on hashes. */
        hashReportFields(k, "hexpired", hashDeadFields(), k->h.expired_removed, 1);
        keyChanged(k->c, db, k->key, NOTIFY_HASH, "hexpired", changes);
        if (event) keyEvent(NOTIFY_HASH, event, k->key, db);
    }
    return left || !k->o;
}

void hashKeyChanged(struct hashKey *k, const char *event, const char *then, size_t changes) {
    bool left = hashKeyCommit(k, event, changes);
    if (then) keyEvent(NOTIFY_HASH, then, k->key, k->c->db);
    if (!left) keyEvent(NOTIFY_GENERIC, "del", k->key, k->c->db);
}

void hashReplyField(struct client *c, const struct hash *h, struct str field) {
    struct hashText value;
    if (hashGet(h, field, &value))
        replyBulk(c, value.s);
    else
        replyNull(c);
}

void hashPropagate(struct hashKey *k, struct str name, const struct str *middle, size_t middle_count,
                   const struct str *fields, size_t count) {
    if (!count || !propagateWanted()) return;
    struct str *argv = zmalloc((2 + middle_count + count) * sizeof *argv);
    argv[0] = name;
    argv[1] = k->key;
    if (middle_count) memcpy(argv + 2, middle, middle_count * sizeof *argv);
    memcpy(argv + 2 + middle_count, fields, count * sizeof *argv);
    propagateRewrite(k->c, (int)(2 + middle_count + count), argv);
    zfree(argv);
}

void hashReportRemoved(struct hashKey *k, struct str *gone, size_t removed) {
    if (removed) hashKeyChanged(k, "hdel", NULL, removed);
    if (!gone) return;
    hashReportFields(k, "hdel", gone, removed, 1);
    zfree(gone);
}

/* ---- Setting ---- */

/* Returns the only value that a command sets; a large one is taken over without copying. (Of several, a later
 * one could free an earlier one, which is still to be propagated.) */
static struct hashInput hashOnlyInput(struct hashKey *k, int i) {
    struct client *c = k->c;
    if (clientArgIsBig(c, i) && hashKeepsSds(&k->h, c->argv[i].len))
        return (struct hashInput){.owned = clientTakeArg(c, i)};
    return (struct hashInput){.text = c->argv[i]};
}

/* Sets pairs from argument 2 on. Returns the number of new fields, or -1 after an error reply. */
static int64_t hashSetPairs(struct client *c) {
    struct hashKey k;
    if (c->argc % 2) {
        replyErrorFmt(c, "ERR wrong number of arguments for '%s' command", c->cmd->fullname);
        return -1;
    }
    if (!hashKeyWrite(c, &k)) return -1;
    size_t pairs = (size_t)(c->argc - 2) / 2;
    int64_t added = 0;
    if (pairs == 1) {
        added = hashSet(&k.h, c->argv[2], hashOnlyInput(&k, 3), false);
    } else if (!k.o && hashSetAll(&k.h, c->argv + 2, pairs)) {
        added = (int64_t)pairs;
    } else {
        hashExpect(&k.h, pairs);
        struct argsAhead ahead = membersAhead(c->argv + 2, 2, (int)pairs);
        for (int i = 2; i < c->argc; i += 2) {
            membersAheadNext(&ahead, hashTable(&k.h));
            added += hashSet(&k.h, c->argv[i], (struct hashInput){.text = c->argv[i + 1]}, false);
        }
    }
    hashKeyChanged(&k, "hset", NULL, pairs);
    hashReportFields(&k, "hset", c->argv + 2, pairs, 2);
    return added;
}

void hsetCommand(struct client *c) {
    int64_t added = hashSetPairs(c);
    if (added >= 0) replyLongLong(c, added);
}

void hmsetCommand(struct client *c) {
    if (hashSetPairs(c) >= 0) replyOk(c);
}

/* Propagates a field whose value does not depend on its former value, with the expiry that it has. */
static void hashPropagateSet(struct hashKey *k, struct str field, struct str value) {
    char ms[LONG_STR_SIZE];
    int64_t when_ms = hashExpire(&k->h, field);
    struct str middle[] = {STR("PXAT"), strN(ms, ll2string(ms, when_ms)), STR("FIELDS"), STR("1")};
    bool expires = when_ms >= 0;
    hashPropagate(k, expires ? STR("HSETEX") : STR("HSET"), middle, expires ? 4 : 0,
                  (struct str[]){field, value}, 2);
}

void hsetnxCommand(struct client *c) {
    struct hashKey k;
    struct str field = c->argv[2];
    if (!hashKeyWrite(c, &k)) return;
    if (hashGet(&k.h, field, NULL)) {
        replyLongLong(c, 0);
        return;
    }
    /* Replicas may still have a field that has expired here, and HSETNX would do nothing there. */
    if (hashHasExpiring(&k.h)) hashPropagate(&k, STR("HSET"), NULL, 0, c->argv + 2, 2);
    hashSet(&k.h, field, hashOnlyInput(&k, 3), false);
    hashKeyChanged(&k, "hset", NULL, 1);
    hashReportFields(&k, "hset", c->argv + 2, 1, 1);
    replyLongLong(c, 1);
}

void hdelCommand(struct client *c) {
    struct hashKey k;
    if (!hashKeyWrite(c, &k)) return;
    struct str *gone = hashRemovedFields((size_t)c->argc - 2);
    size_t removed = 0;
    struct argsAhead ahead = membersAhead(c->argv + 2, 1, c->argc - 2);
    for (int i = 2; k.o && i < c->argc; i++) {
        membersAheadNext(&ahead, hashTable(&k.h));
        removed = hashRemoveNamed(&k, c->argv[i], gone, removed);
    }
    hashReportRemoved(&k, gone, removed);
    replyLongLong(c, (int64_t)removed);
}

/* ---- Numbers ---- */

void hincrbyCommand(struct client *c) {
    struct hashKey k;
    struct hashText old;
    int64_t by, v = 0;
    if (!argLongLong(c, c->argv[3], &by, NULL) || !hashKeyWrite(c, &k)) return;
    bool found = hashGet(&k.h, c->argv[2], &old);
    if (found && !string2ll(old.s, &v)) {
        replyError(c, "ERR hash value is not an integer");
        return;
    }
    if (__builtin_add_overflow(v, by, &v)) {
        replyError(c, "ERR increment or decrement would overflow");
        return;
    }
    char buf[LONG_STR_SIZE];
    struct str text = strN(buf, ll2string(buf, v));
    /* As with HSETNX, replicas may still have a value of an expired field to add to. */
    bool expiring = hashHasExpiring(&k.h);
    hashSet(&k.h, c->argv[2], (struct hashInput){.text = text}, true);
    if (expiring) hashPropagateSet(&k, c->argv[2], text);
    hashKeyChanged(&k, "hincrby", NULL, 1);
    hashReportFields(&k, "hincrby", c->argv + 2, 1, 1);
    replyLongLong(c, v);
}

void hincrbyfloatCommand(struct client *c) {
    struct hashKey k;
    struct hashText old;
    long double by, v = 0;
    if (!string2ld(c->argv[3], &by)) {
        replyError(c, err_notfloat);
        return;
    }
    if (isinf(by)) {
        replyError(c, "ERR value is NaN or Infinity");
        return;
    }
    if (!hashKeyWrite(c, &k)) return;
    if (hashGet(&k.h, c->argv[2], &old) && !string2ld(old.s, &v)) {
        replyError(c, "ERR hash value is not a float");
        return;
    }
    v += by;
    if (isnan(v) || isinf(v)) {
        replyError(c, "ERR increment would produce NaN or Infinity");
        return;
    }
    char buf[LONG_DOUBLE_STR_SIZE];
    struct str text = strN(buf, ld2string(buf, sizeof buf, v));
    hashSet(&k.h, c->argv[2], (struct hashInput){.text = text}, true);
    hashPropagateSet(&k, c->argv[2], text);
    hashKeyChanged(&k, "hincrbyfloat", NULL, 1);
    hashReportFields(&k, "hincrbyfloat", c->argv + 2, 1, 1);
    replyBulk(c, text);
}

/* ---- Reading ---- */

void hgetCommand(struct client *c) {
    struct hashKey k;
    if (hashKeyRead(c, &k)) hashReplyField(c, &k.h, c->argv[2]);
}

void hmgetCommand(struct client *c) {
    struct hashKey k;
    if (!hashKeyRead(c, &k)) return;
    replyArrayLen(c, c->argc - 2);
    struct argsAhead ahead = membersAhead(c->argv + 2, 1, c->argc - 2);
    for (int i = 2; i < c->argc; i++) {
        membersAheadNext(&ahead, hashTable(&k.h));
        hashReplyField(c, &k.h, c->argv[i]);
    }
}

void hstrlenCommand(struct client *c) {
    struct hashKey k;
    struct hashText value;
    if (hashKeyRead(c, &k)) replyLongLong(c, hashGet(&k.h, c->argv[2], &value) ? (int64_t)value.s.len : 0);
}

void hexistsCommand(struct client *c) {
    struct hashKey k;
    if (hashKeyRead(c, &k)) replyLongLong(c, hashGet(&k.h, c->argv[2], NULL));
}

void hlenCommand(struct client *c) {
    struct hashKey k;
    if (hashKeyRead(c, &k)) replyLongLong(c, (int64_t)hashSize(&k.h));
}

enum { FIELDS = 1, VALUES = 2 };

static void hashReplyAll(struct client *c, int what) {
    struct hashKey k;
    if (!hashKeyRead(c, &k)) return;
    struct hashIterator it;
    struct hashItem item;
    int64_t n = (int64_t)hashLive(&k.h);
    if (what == (FIELDS | VALUES))
        replyMapLen(c, n);
    else
        replyArrayLen(c, n);
    struct bulkWriter w = {.c = c};
    hashIterate(&it, &k.h);
    while (hashNext(&it, &item)) {
        if (what & FIELDS) bulkWriterAdd(&w, item.field.s);
        if (what & VALUES) bulkWriterAdd(&w, item.value.s);
    }
    hashStop(&it);
    bulkWriterFlush(&w);
}

void hgetallCommand(struct client *c) {
    hashReplyAll(c, FIELDS | VALUES);
}
void hkeysCommand(struct client *c) {
    hashReplyAll(c, FIELDS);
}
void hvalsCommand(struct client *c) {
    hashReplyAll(c, VALUES);
}
