/* SPDX-License-Identifier: BSD-3-Clause */
/* dump.c - DUMP and RESTORE: a value to bytes and back (part of dump.h; rdb.h has the format). */
#include "base/num.h"
#include "base/zmalloc.h"
#include "client/reply.h"
#include "command/command.h"
#include "command/lookup.h"
#include "command/propagate.h"
#include "commands/cmd_generic.h"
#include "data/keyspace/db.h"
#include "data/lifetime/evict.h"
#include "data/lifetime/lazyfree.h"
#include "data/notify.h"
#include "data/rdb/rdb.h"
#include "data/type.h"
#include "registry/cron.h"

void dumpCommand(struct client *c) {
    struct object *o = lookupKeyRead(c, c->argv[1]);
    if (!o) {
        replyNull(c);
        return;
    }
    sds payload = rdbDump(o, rdb_compatible_version);
    replyBulk(c, sdsview(payload));
    sdsfree(payload);
}

struct restoreOptions {
    bool replace, absolute;
    int64_t idle_s, freq; /* -1: not given */
};

static bool dumpParseIdle(struct client *c, struct str arg, int64_t *idle_s) {
    if (!argLongLong(c, arg, idle_s, NULL)) return false;
    if (*idle_s >= 0) return true;
    return replyError(c, "ERR Invalid IDLETIME value, must be >= 0");
}

static bool dumpParseFreq(struct client *c, struct str arg, int64_t *freq) {
    if (!argLongLong(c, arg, freq, NULL)) return false;
    if (*freq >= 0 && *freq <= LFU_MAX) return true;
    return replyError(c, "ERR Invalid FREQ value, must be >= 0 and <= 255");
}

static bool dumpParseOptions(struct client *c, struct restoreOptions *opt) {
    *opt = (struct restoreOptions){.idle_s = -1, .freq = -1};
    for (int i = 4; i < c->argc; i++) {
        struct str word = c->argv[i];
        bool more = i + 1 < c->argc;
        if (strIs(word, "replace")) {
            opt->replace = true;
        } else if (strIs(word, "absttl")) {
            opt->absolute = true;
        } else if (strIs(word, "idletime") && more && opt->freq == -1) {
            if (!dumpParseIdle(c, c->argv[++i], &opt->idle_s)) return false;
        } else if (strIs(word, "freq") && more && opt->idle_s == -1) {
            if (!dumpParseFreq(c, c->argv[++i], &opt->freq)) return false;
        } else
            return replySyntaxError(c);
    }
    return true;
}

static bool dumpIsDeep(const struct client *c) {
    if (rdb_sanitize == RDB_SANITIZE_CLIENTS) return c->user;
    return rdb_sanitize == RDB_SANITIZE_YES;
}

/* Reads the type, behind metadata that Redis's modules may have attached to the key. */
static bool dumpReadType(struct rdbReader *r, uint8_t *type) {
    struct rdbMetadata m = {0};
    if (!rioReadByte(&r->io, type)) return false;
    if (*type != RDB_OP_METADATA || !rdbVersionIsRedis(r->version)) return true;
    bool ok = rdbReadMetadata(r, &m) && rdbAllowMetadata(r, &m) && rioReadByte(&r->io, type);
    sdsfree(m.classes);
    return ok;
}

/* Says why, when nothing is wrong with the data but that this server cannot use them. */
static bool dumpFailPayload(struct client *c, const struct rdbReader *r) {
    if (!r->unknown) return replyError(c, "ERR Bad data format");
    return replyErrorFmt(c, "ERR Bad data format: %s", r->io.error);
}

/* Reads the value, or replies the error. *r must stay valid until the value is in the keyspace. */
static bool dumpReadPayload(struct client *c, struct str key, struct str payload, struct rdbReader *r,
                            struct value *v) {
    struct str body;
    int version;
    if (!rdbDumpValid(payload, &body, &version))
        return replyError(c, "ERR DUMP payload version or checksum are wrong");
    uint8_t type;
    *r = (struct rdbReader){.version = version,
                            .deep = dumpIsDeep(c),
                            .from_client = true,
                            .keep_expired = true, /* they are deleted when their source deletes them */
                            .key = key,
                            .dbid = c->db->id};
    rioReaderInitMemory(&r->io, body);
    if (dumpReadType(r, &type) && rdbReadValue(r, type, v) == RDB_LOADED) return true;
    dumpFailPayload(c, r);
    rdbReaderFree(r);
    return false;
}

/* The expiry is past already: reports a key that was restored and has expired. */
static void dumpExpireOnArrival(struct client *c, struct str key, struct object *old) {
    if (old) {
        bool lazy = lazyfree_lazy_server_del;
        dbDeleteObject(c->db, old, lazy);
        propagateRewrite(c, 2, (struct str[]){lazy ? STR("UNLINK") : STR("DEL"), key});
        keyChanged(c, c->db, key, NOTIFY_GENERIC, "del", 1);
    }
    replyOk(c);
}

/* Propagates a payload that Valkey reads (`of_redis`: the given one is not), and a time that means the same
 * whenever it is read (`relative`: the given one does not; it is expire_ms). */
static void dumpPropagate(struct client *c, bool of_redis, bool relative, int64_t expire_ms) {
    if (!propagateWanted() || !(of_redis || relative)) return;
    char text[LONG_STR_SIZE];
    int argc = c->argc;
    struct str *argv = zmalloc(((size_t)argc + 1) * sizeof *argv);
    memcpy(argv, c->argv, (size_t)argc * sizeof *argv);
    const struct object *o = of_redis ? dbFind(c->db, c->argv[1]) : NULL; /* a module may have deleted it */
    sds payload = o ? rdbDump(o, 0) : NULL;
    if (payload) argv[3] = sdsview(payload);
    if (relative) {
        argv[2] = strN(text, ll2string(text, expire_ms));
        argv[argc++] = STR("ABSTTL");
    }
    propagateRewrite(c, argc, argv);
    sdsfree(payload);
    zfree(argv);
}

void restoreCommand(struct client *c) {
    struct str key = c->argv[1];
    struct restoreOptions opt;
    struct rdbReader r;
    struct value v;
    int64_t ttl;
    if (!dumpParseOptions(c, &opt)) return;
    struct object *old = lookupKeyWrite(c, key);
    if (old && !opt.replace) {
        replyError(c, "BUSYKEY Target key name already exists.");
        return;
    }
    if (!argLongLong(c, c->argv[2], &ttl, NULL)) return;
    if (ttl < 0) {
        replyError(c, "ERR Invalid TTL value, must be >= 0");
        return;
    }
    if (!dumpReadPayload(c, key, c->argv[3], &r, &v)) return;
    bool relative = ttl && !opt.absolute;
    if (relative) ttl = (int64_t)((uint64_t)ttl + (uint64_t)cmd_time_ms);
    if (ttl && dbTimeHasExpired(ttl)) {
        if (!v.embedded) objectTypes[v.type]->free(v);
        rdbReaderFree(&r);
        dumpExpireOnArrival(c, key, old);
        return;
    }
    bool replaced = old;
    unsigned old_type = old ? old->type : v.type;
    dbUpdate(c->db, key, old, v, ttl ? ttl : OBJ_NO_EXPIRE);
    rdbReaderFree(&r);
    dumpPropagate(c, rdbVersionIsRedis(r.version), relative, ttl);
    if (replaced) {
        keyChanged(c, c->db, key, NOTIFY_NEW, "new", 1); /* else dbUpdate has reported it */
        keyEvent(NOTIFY_GENERIC, "restore", key, c->db);
        keyReplaced(c->db, key, old_type, v.type);
    } else {
        keyChanged(c, c->db, key, NOTIFY_GENERIC, "restore", 1);
    }
    struct object *o = dbFind(c->db, key); /* what was told of the change may have touched it */
    if (o) objectSetUse(o, opt.idle_s, opt.freq);
    replyOk(c);
}
