/* SPDX-License-Identifier: BSD-3-Clause */
/* replicas_commands.c - the commands of replicas: REPLCONF, SYNC, PSYNC. Part of replicas.h.
 *
 *     REPLCONF option value ...   is stored with the connection, in order, up to the first error
 *     PSYNC id offset             sends the stream from there on when this history has that place
 *                                 (+CONTINUE), otherwise a snapshot first, on this connection
 *                                 (+FULLRESYNC) or on another one (+DUALCHANNELSYNC)
 *     SYNC                        sends a snapshot: to old replicas, tools and that other connection */
#include "base/log.h"
#include "base/num.h"
#include "client/client_log.h"
#include "client/reply.h"
#include "commands/cmd_replication.h"
#include "data/rdb/rdb_dataset.h"
#include "data/server_state/role.h"
#include "repl/history.h"
#include "repl/repl_settings.h"
#include "repl/replicas.h"

#define ADDRESS_MAX_BYTES 255
#define VERSION_PARTS     3
#define VERSION_BITS      8 /* of each part */

static bool replicasReplyUnknown(struct client *c, const char *what, struct str word) {
    sds s = sdscatstr(sdscat(sdsnew("ERR "), what), word);
    replyErrorStr(c, sdsview(s));
    sdsfree(s);
    return false;
}

/* ---- REPLCONF, option by option: false means that an error has been replied ---- */

static bool replicasSetPort(struct client *c, struct str value) {
    int64_t port;
    if (!argLongLong(c, value, &port, NULL)) return false;
    replicaGetOrCreate(c)->listening_port = (int)port;
    return true;
}

static bool replicasSetAddress(struct client *c, struct str value) {
    if (value.len > ADDRESS_MAX_BYTES)
        return replyErrorFmt(c, "ERR REPLCONF ip-address provided by replica instance is too long: %zu bytes",
                             value.len);
    struct replicaClient *r = replicaGetOrCreate(c);
    sdsfree(r->address);
    r->address = sdsnewstr(value);
    return true;
}

static bool replicasSetCapability(struct client *c, struct str value) {
    struct replicaClient *r = replicaGetOrCreate(c);
    if (strIs(value, "eof"))
        r->capa |= CAPA_EOF;
    else if (strIs(value, "psync2"))
        r->capa |= CAPA_PSYNC2;
    else if (strIs(value, "skip-rdb-checksum"))
        r->capa |= CAPA_SKIP_RDB_CHECKSUM;
    else if (strIs(value, "lz4"))
        r->capa |= CAPA_LZ4;
    else if (strIs(value, "zstd"))
        r->capa |= CAPA_ZSTD | CAPA_LZ4;
    else if (strIs(value, "stream-idmp"))
        r->capa |= CAPA_IDMP;
    else if (strIs(value, "dual-channel") && repl_dual_channel && repl_diskless_sync)
        r->capa |= CAPA_DUAL_CHANNEL;
    else if (strIs(value, "dual-channel") && repl_dual_channel)
        serverLog(
            LL_NOTICE,
            "The replica supports dual channel replication, which needs repl-diskless-sync yes and is not "
            "used");
    return true;
}

/* Parses a.b.c, each up to 255; a part may be empty. */
static bool replicasParseVersion(struct str text, uint32_t *version) {
    int dots = 0;
    unsigned part = 0;
    *version = 0;
    for (size_t i = 0; i < text.len; i++) {
        char ch = text.ptr[i];
        if (ch == '.' && ++dots < VERSION_PARTS) {
            *version = (*version | part) << VERSION_BITS;
            part = 0;
        } else if (ch >= '0' && ch <= '9') {
            part = part * 10 + (unsigned)(ch - '0');
        } else {
            return false;
        }
        if (part >= 1u << VERSION_BITS) return false;
    }
    *version |= part;
    return dots == VERSION_PARTS - 1;
}

static bool replicasSetVersion(struct client *c, struct str value) {
    uint32_t version;
    if (!replicasParseVersion(value, &version))
        return replicasReplyUnknown(c, "Unrecognized version format: ", value);
    replicaGetOrCreate(c)->version = version;
    return true;
}

static bool replicasSetRdbOnly(struct client *c, struct str value) {
    int64_t on;
    if (!argRange(c, value, 0, 1, &on, NULL)) return false;
    replicaGetOrCreate(c)->rdb_only = on;
    return true;
}

static bool replicasSetRdbChannel(struct client *c, struct str value) {
    int64_t on;
    if (!argRange(c, value, 0, 1, &on, NULL)) return false;
    replicaGetOrCreate(c)->rdb_channel = on;
    return true;
}

/* The value lists the parts of a snapshot that the replica wants; all others are left out. */
static bool replicasSetFilter(struct client *c, struct str value) {
    struct replicaClient *r = replicaGetOrCreate(c);
    int count;
    sds *words = sdssplitargs(value.ptr, value.len, &count);
    if (!words) return replyError(c, "ERR Missing rdb-filter-only values");
    r->without_functions = r->without_keys = true;
    bool ok = true;
    for (int i = 0; i < count && ok; i++) {
        ok = strIs(sdsview(words[i]), "functions");
        if (ok)
            r->without_functions = false;
        else
            replicasReplyUnknown(c, "Unsupported rdb-filter-only option: ", sdsview(words[i]));
    }
    sdsfreesplitres(words, count);
    return ok;
}

static bool replicasSetRdbClient(struct client *c, struct str value) {
    int64_t id;
    if (!argLongLong(c, value, &id, NULL)) return false;
    if (!replica_hooks.snapshotAwaitsMain((uint64_t)id))
        return replyErrorFmt(c, "ERR Unrecognized RDB client id %lld", (long long)id);
    replicaGetOrCreate(c)->rdb_client_id = (uint64_t)id;
    return true;
}

static bool replicasSetNode(struct client *c, struct str value) {
    if (!cluster_membership) return replyError(c, "ERR This instance has cluster support disabled");
    if (value.len != CLUSTER_ID_LEN || !cluster_membership->knows(value))
        return replyErrorFmt(c, "ERR Unknown node %.*s", (int)value.len, value.ptr);
    memcpy(replicaGetOrCreate(c)->node_id, value.ptr, value.len);
    return true;
}

/* ACK offset [FACK offset]. What does not parse is ignored, as an ACK has no reply. */
static void replicasOnAck(struct client *c) {
    int64_t offset, synced = -1;
    if (!(c->flags & CLIENT_REPLICA) || !string2ll(c->argv[2], &offset)) return;
    if (c->argc > 4 && strIs(c->argv[3], "fack") && !string2ll(c->argv[4], &synced)) return;
    replicaNoteAck(c->replica, offset, synced);
}

static void replicasOnGetAck(struct client *c) {
    if (c->flags & CLIENT_PRIMARY) replica_hooks.acknowledge();
}

static const struct {
    const char *name;
    bool (*set)(struct client *c, struct str value);
    void (*handle)(struct client *c); /* in place of `set`: sends no reply and ends the command */
} options[] = {
    {"ack", NULL, replicasOnAck},
    {"getack", NULL, replicasOnGetAck},
    {"listening-port", replicasSetPort, NULL},
    {"ip-address", replicasSetAddress, NULL},
    {"capa", replicasSetCapability, NULL},
    {"version", replicasSetVersion, NULL},
    {"rdb-only", replicasSetRdbOnly, NULL},
    {"rdb-filter-only", replicasSetFilter, NULL},
    {"rdb-channel", replicasSetRdbChannel, NULL},
    {"set-rdb-client-id", replicasSetRdbClient, NULL},
    {"set-cluster-node-id", replicasSetNode, NULL},
};
#define OPTIONS (sizeof options / sizeof *options)

void replconfCommand(struct client *c) {
    if (c->argc % 2 == 0) {
        replySyntaxError(c);
        return;
    }
    for (int i = 1; i < c->argc; i += 2) {
        size_t k = 0;
        while (k < OPTIONS && !strIs(c->argv[i], options[k].name)) k++;
        if (k == OPTIONS) {
            replicasReplyUnknown(c, "Unrecognized REPLCONF option: ", c->argv[i]);
            return;
        }
        if (options[k].handle) {
            options[k].handle(c);
            return;
        }
        if (!options[k].set(c, c->argv[i + 1])) return;
    }
    replyOk(c);
}

/* ---- SYNC, PSYNC ---- */

static void replicasLogRequest(const struct replicaClient *r) {
    serverLog(LL_NOTICE, "Replica %s requests a synchronization", replicaName(r));
}

/* The primary of this replica hands its role over (PSYNC ... FAILOVER). */
static bool replicasTakeOver(struct client *c) {
    if (!roleIsReplica()) return replyError(c, "ERR PSYNC FAILOVER can't be sent to a master.");
    if (!historyIdEquals(history.id, c->argv[1]))
        return replyError(c, "ERR PSYNC FAILOVER replid must match my replid.");
    serverLog(LL_NOTICE, "The primary hands its role to this replica (replication ID %.*s)",
              (int)c->argv[1].len, c->argv[1].ptr);
    replica_hooks.becomePrimary();
    sds line = clientLogName(c, sdsempty());
    serverLog(LL_NOTICE, "This replica is now a primary (failover requested by '%s')", line);
    sdsfree(line);
    return true;
}

/* Returns whether a replica that gets the file as it is on the disk can read it. */
static bool replicasCanReadFile(const struct replicaClient *r) {
    unsigned capa = r ? r->capa : 0, needed = 0;
    if (rdbFileCodec() == STREAM_LZ4) needed = CAPA_LZ4;
    if (rdbFileCodec() == STREAM_ZSTD) needed = CAPA_ZSTD;
    return capa & CAPA_EOF || (capa & needed) == needed;
}

/* The order of the checks decides which error is replied. */
static bool replicasCheckMayFollow(struct client *c) {
    const struct replicaClient *r = c->replica;
    if (replica_hooks.isFailingOver())
        replyError(c, "NOMASTERLINK Can't SYNC while failing over");
    else if (roleIsReplica() && replica_hooks.primaryIsDown())
        replyError(c, "NOMASTERLINK Can't SYNC while not connected with my master");
    else if (c->out.head)
        replyError(c, "ERR SYNC and PSYNC are invalid with pending output");
    else if (r && (r->without_keys || r->without_functions) && !(r->capa & CAPA_EOF))
        replyError(c, "ERR Filtered replica requires EOF capability");
    else if (!replicasCanReadFile(r))
        replyError(c, "ERR The RDB file is compressed, which this replica does not announce to understand");
    else
        return true;
    return false;
}

/* The replica has our history, but asks for a place that the backlog does not have. */
static void replicasLogLackOfBacklog(const struct replicaClient *r, struct str id, int64_t offset) {
    uint64_t end = historyOffset();
    serverLog(
        LL_NOTICE,
        "Unable to partial resync with replica %s for lack of backlog (Replica request was %.*s:%lld, and I "
        "can only reply with the range [%llu, %llu]).",
        replicaName(r), (int)id.len, id.ptr, (long long)offset,
        history.backlog ? (unsigned long long)history.chain.start + 1 : 0,
        history.backlog ? (unsigned long long)end + 1 : 0);
    if (offset > 0 && (uint64_t)offset > end)
        serverLog(LL_WARNING, "Replica %s asks for offset %lld, which is beyond this primary's offset %llu",
                  replicaName(r), (long long)offset, (unsigned long long)end);
}

static void replicasLogRefusal(const struct replicaClient *r, struct str id, int64_t offset, sds why) {
    if (why)
        serverLog(LL_NOTICE, "%s", why);
    else if (id.len && id.ptr[0] == '?')
        serverLog(LL_NOTICE, "Replica %s requests a full synchronization", replicaName(r));
    else
        replicasLogLackOfBacklog(r, id, offset);
}

static bool replicasContinueFrom(struct replicaClient *r, struct str id, int64_t offset) {
    sds why;
    if (!historyCanContinue(id, offset, &why)) {
        replicasLogRefusal(r, id, offset, why);
        sdsfree(why);
        if (!id.len || id.ptr[0] != '?') replstats.partial_err++;
        return false;
    }
    replicaContinue(r, (uint64_t)offset - 1);
    replstats.partial_ok++;
    serverLog(LL_NOTICE,
              "Replica %s resynchronizes partially: it gets %llu bytes of the backlog from offset %lld on",
              replicaName(r), (unsigned long long)(historyOffset() - (uint64_t)offset + 1),
              (long long)offset);
    return true;
}

static void replicasCreateBacklog(void) {
    historyCreateBacklog(roleIsReplica());
    serverLog(LL_NOTICE, "The replication backlog is created; the replication IDs are '%s' and '%s'",
              history.id, history.id2);
}

static void replicasRequestSnapshot(struct replicaClient *r) {
    replstats.full++;
    replicaJoin(r, REPLICA_WAIT_START);
    if (!history.backlog) replicasCreateBacklog();
    replica_hooks.requestSnapshot(r);
}

void syncCommand(struct client *c) {
    if (c->flags & CLIENT_REPLICA || !replicasCheckMayFollow(c)) return;
    struct replicaClient *r = replicaGetOrCreate(c);
    replicasLogRequest(r);
    r->old_protocol = true;
    replicasRequestSnapshot(r);
}

void psyncCommand(struct client *c) {
    int64_t offset;
    if (c->flags & CLIENT_REPLICA) return;
    if (c->argc > 3 && strIs(c->argv[3], "failover") && !replicasTakeOver(c)) return;
    if (!replicasCheckMayFollow(c)) return;
    struct replicaClient *r = replicaGetOrCreate(c);
    replicasLogRequest(r);
    if (!argLongLong(c, c->argv[2], &offset, NULL) || replicasContinueFrom(r, c->argv[1], offset)) return;
    if (r->capa & CAPA_DUAL_CHANNEL) {
        serverLog(LL_NOTICE,
                  "Dual channel replication: replica %s needs a full synchronization and is to open an RDB "
                  "channel for it",
                  replicaName(r));
        replyStatus(c, "DUALCHANNELSYNC");
        return;
    }
    replicasRequestSnapshot(r);
}
