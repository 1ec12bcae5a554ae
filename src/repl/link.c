/* SPDX-License-Identifier: BSD-3-Clause */
/* link.c - see link.h.
 *
 *     link_wire          lines to and from the primary, over TCP or TLS
 *     link_handshake     what this replica says about itself, and what it requests
 *     link_stream        the client that applies the stream
 *     receive            the snapshot, if there has to be one
 *     link_dual          stream and snapshot at the same time, over two connections
 *
 * Cached primary: when the link is lost, all that is needed to go on from there is known already, namely the
 * history's ID and offset and the database that the stream had selected. So the cache holds only that
 * database and whether going on is allowed. A primary that becomes a replica may request what follows its own
 * history in the same way: it synthesizes a cached primary. */
#include "repl/link.h"

#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/num.h"
#include "client/client_log.h"
#include "client/reply.h"
#include "command/propagate.h"
#include "command/turn.h"
#include "commands/cmd_replication.h"
#include "data/keyspace/db.h"
#include "data/server_state/persistence.h"
#include "data/server_state/role.h"
#include "registry/config.h"
#include "registry/cron.h"
#include "registry/info.h"
#include "registry/server_events.h"
#include "repl/ack_pause.h"
#include "repl/debug_replicate.h"
#include "repl/history.h"
#include "repl/link_dual.h"
#include "repl/link_handshake.h"
#include "repl/link_stream.h"
#include "repl/receive.h"
#include "repl/repl_settings.h"
#include "repl/replicas.h"

#define SET      CONFIG_MODIFIABLE
#define PORT_MAX 65535
#define TICK_MS  1000
#define ALIVE_MS 1000 /* between signs of life while a snapshot is loaded */

struct primaryLink primary_link;
bool (*link_failover_running)(void);
void (*link_on_primary_changed)(void);
static int64_t priority;
static bool announced;

static struct {
    bool valid;
    int dbid;
} cached;                                      /* the cached primary */
static void (*handover_result)(bool accepted); /* called with the result; NULL: no handover is under way */
static bool old_protocol;                      /* it used SYNC: the primary knows no offsets */
static int64_t sync_began_ms;                  /* when the connection was begun */
static bool started;                           /* the dataset has been loaded */
static bool reconnecting;                      /* the reconnection has been logged */
static uint64_t net_in_seen;                   /* bytes that had come from the primary at the last check */

static void linkConnectNow(void);

/* ---- The link is up, or lost ---- */

static void linkNoteIo(void) {
    primary_link.last_io_ms = mstime();
}

/* The data are as new as the primary's now. */
static void linkNoteStream(void) {
    linkNoteIo();
    primary_link.data_fresh_ms = primary_link.last_io_ms;
}

static void linkCheckInput(void) {
    uint64_t in = primary_link.primary ? primary_link.primary->net_in : 0;
    if (in == net_in_seen) return;
    net_in_seen = in;
    linkNoteStream();
}

static bool linkIsSilent(int64_t since_ms) {
    return mstime() - since_ms > repl_timeout_s * 1000;
}

void linkSetDataWhole(bool whole) {
    primary_link.data_whole = whole;
    primary_link.data_fresh_ms = 0;
}

static void linkDiscardCached(void) {
    if (cached.valid) serverLog(LL_NOTICE, "The state kept of the former primary is discarded");
    cached.valid = false;
}

/* From now on until a synchronization has ended, the data are a part of another snapshot. */
static void linkOnReplace(void) {
    linkDiscardCached();
    linkSetDataWhole(false);
}

static void linkMarkConnected(struct connection *conn, int dbid, struct str input) {
    primary_link.primary = linkStreamOpen(conn, dbid, input, !old_protocol);
    primary_link.state = LINK_CONNECTED;
    primary_link.down_since_s = 0;
    cached.valid = false;
    net_in_seen = 0;
    primary_link.data_whole = true;
    primary_link.sync_took_ms = mstime() - sync_began_ms;
    linkNoteStream();
    serverEvent(SERVER_PRIMARY_LINK, EVENT_STARTED, NULL);
}

/* Another primary, or the same one, may continue after what has been applied. The data were as new as the
 * primary's until now, unless nothing has come for so long that this is not known. */
static void linkCloseAndCache(struct client *primary) {
    int dbid = primary->db->id;
    if (!linkIsSilent(primary_link.last_io_ms)) primary_link.data_fresh_ms = mstime();
    serverLog(LL_NOTICE, "The connection to the primary is lost");
    cached.valid = linkStreamClose(primary) && !old_protocol;
    cached.dbid = dbid;
    primary_link.primary = NULL;
    serverEvent(SERVER_PRIMARY_LINK, EVENT_ENDED, NULL);
    if (cached.valid)
        serverLog(LL_NOTICE, "The state of the lost primary is kept for a partial resynchronization");
    else
        serverLog(LL_NOTICE, "The state kept of the former primary is discarded");
}

/* Connects again at the next tick or at the next linkConnectNow(). */
static void linkReconnect(const char *why) {
    serverLog(LL_NOTICE, "Connecting to the primary %s:%d again%s", primary_link.host, primary_link.port,
              why);
    primary_link.state = LINK_CONNECT;
    reconnecting = true;
}

static void linkReconnectAfterFailure(void) {
    linkReconnect(" after failure");
}

static void linkOnClientFreed(struct client *c) {
    if (c != primary_link.primary) return;
    linkCloseAndCache(c);
    primary_link.down_since_s = mstime() / 1000;
    linkReconnect("");
    linkConnectNow();
}

static void linkStopTransfer(void) {
    if (dualRunning())
        dualCancel();
    else if (receiveRunning())
        receiveCancel();
}

/* Closes all connections to the primary. What has been applied stays cached. */
static void linkDisconnect(void) {
    if (primary_link.primary) linkCloseAndCache(primary_link.primary);
    handshakeCancel();
    linkStopTransfer();
    if (primary_link.state != LINK_NONE) primary_link.state = LINK_CONNECT;
}

/* ---- The answer to the handshake ---- */

static void linkOnReceived(bool ok, struct str rest, const struct rdbReplication *replication);
static struct receivePlan plan;

/* The primary does not wait forever for a replica that takes long to load. */
static void linkSendKeepAlive(void) {
    static int64_t sent_ms;
    int64_t now_ms = mstime();
    if (now_ms - sent_ms < ALIVE_MS) return;
    sent_ms = now_ms;
    struct iovec iov = {"\n", 1};
    connWritev(plan.conn, &iov, 1); /* if it fails, the reader will notice */
}

static void linkStartReceiving(const struct handshakeResult *answer) {
    plan = (struct receivePlan){.conn = answer->conn,
                                .offset = answer->offset,
                                .done = linkOnReceived,
                                .keepAlive = linkSendKeepAlive};
    if (answer->id[0])
        memcpy(plan.id, answer->id, sizeof plan.id);
    else
        memcpy(plan.id, history.id, sizeof plan.id);
    old_protocol = answer->outcome == HANDSHAKE_OLD_FULL;
    primary_link.state = LINK_TRANSFER;
    linkNoteIo();
    receiveStart(&plan);
}

static void linkOnReceived(bool ok, struct str rest, const struct rdbReplication *replication) {
    if (!ok) {
        connClose(plan.conn);
        linkReconnectAfterFailure();
        return;
    }
    linkMarkConnected(plan.conn, replication->stream_db, rest);
    linkStreamAck();
}

static void linkOnDualEnded(const struct dualResult *how) {
    if (!how->ok) {
        linkReconnectAfterFailure();
        return;
    }
    linkMarkConnected(how->conn, how->dbid, sdsview(how->stream));
    turnRun(); /* so that the acknowledgement includes the kept bytes */
    linkStreamAck();
}

static void linkStartDual(struct connection *conn) {
    old_protocol = false;
    plan = (struct receivePlan){.conn = conn}; /* for linkSendKeepAlive */
    primary_link.state = LINK_TRANSFER;
    dualStart(conn, primary_link.host, primary_link.port, linkSendKeepAlive, linkOnDualEnded);
}

/* The primary may have taken another ID meanwhile. */
static void linkResume(const struct handshakeResult *answer) {
    if (answer->id[0] && !historyIdEquals(history.id, strOf(answer->id))) {
        historyRename(answer->id);
        serverLog(LL_NOTICE, "The primary's replication ID has changed to %s", history.id);
        replicasDisconnect();
    }
    if (!history.backlog) historyCreateBacklog(true);
    serverLog(LL_NOTICE, "The replication stream of the primary continues");
    linkMarkConnected(answer->conn, cached.dbid, strN(NULL, 0));
}

static void linkReportHandover(bool accepted) {
    void (*report)(bool) = handover_result;
    handover_result = NULL;
    if (report) report(accepted);
}

static void linkOnHandshakeEnded(const struct handshakeResult *answer) {
    linkNoteIo();
    switch (answer->outcome) {
    case HANDSHAKE_FAILED: primary_link.state = LINK_CONNECT; return;
    case HANDSHAKE_REJECTED:
        primary_link.state = LINK_CONNECT;
        linkReportHandover(false);
        return;
    case HANDSHAKE_CONTINUE:
        old_protocol = false;
        linkResume(answer);
        break;
    case HANDSHAKE_FULL:
    case HANDSHAKE_OLD_FULL: linkStartReceiving(answer); break;
    case HANDSHAKE_DUAL: linkStartDual(answer->conn); break;
    }
    linkReportHandover(true);
}

static void linkConnectNow(void) {
    if (!started) return;
    struct handshakeRequest request = {.offset = historyOffset(), .handover = handover_result != NULL};
    if (cached.valid) memcpy(request.id, history.id, sizeof request.id);
    if (!reconnecting)
        serverLog(LL_NOTICE, "Connecting to the primary %s:%d", primary_link.host, primary_link.port);
    reconnecting = false;
    linkNoteIo();
    sync_began_ms = mstime();
    if (!handshakeStart(primary_link.host, primary_link.port, &request, linkOnHandshakeEnded)) return;
    serverLog(LL_NOTICE, "The synchronization with the primary begins");
    primary_link.state = LINK_CONNECTING;
}

/* ---- The role ---- */

static void linkSetPrimaryAddress(struct str host, int port) {
    sds old = primary_link.host;
    primary_link.host = sdsnewstr(host);
    primary_link.port = port;
    sdsfree(old);
}

/* A primary's own history serves as a cached primary. */
static void linkSynthesizeCached(int dbid) {
    serverLog(LL_NOTICE,
              "This primary becomes a replica and keeps its own replication history, so that a partial "
              "resynchronization with the new primary may suffice");
    cached.valid = true;
    cached.dbid = dbid < 0 ? 0 : dbid;
}

static void linkBecomeReplica(void) {
    int dbid = propagateSelected();
    if (!history.backlog) historyCreateBacklog(true);
    primary_link.state = LINK_CONNECT;
    linkSetDataWhole(false); /* they may have writes that the primary never had */
    roleSet(true);
    linkSynthesizeCached(dbid);
}

static void linkStartFollowing(struct str host, int port) {
    linkSetPrimaryAddress(host, port);
    if (roleIsReplica()) {
        linkDisconnect();
        link_on_primary_changed();
    } else {
        linkBecomeReplica();
    }
    primary_link.down_since_s = 0;
    reconnecting = false;
    serverEvent(SERVER_ROLE, true, NULL);
    linkConnectNow();
}

static void linkFollow(struct str host, int port) {
    handover_result = NULL;
    linkStartFollowing(host, port);
}

void linkFollowForHandover(struct str host, int port, void (*result)(bool accepted)) {
    handover_result = result;
    linkStartFollowing(host, port);
}

void linkBecomePrimary(void) {
    if (!roleIsReplica()) return;
    handover_result = NULL;
    logSetRole('M');
    linkDisconnect();
    linkDiscardCached();
    primary_link.state = LINK_NONE;
    sdsfree(primary_link.host);
    primary_link.host = NULL;
    historyBecomePrimary();
    replicasDisconnect();
    roleSet(false);
    serverEvent(SERVER_ROLE, false, NULL);
}

void linkFollowUnlessSame(struct str host, int port) {
    bool same = primary_link.host && strEq(host, sdsview(primary_link.host)) && port == primary_link.port;
    if (!same || !roleIsReplica()) linkFollow(host, port);
}

bool linkDataIsWhole(int64_t *fresh_ms) {
    linkCheckInput();
    *fresh_ms = primary_link.data_fresh_ms;
    return primary_link.data_whole;
}

bool linkIsUp(void) {
    return primary_link.state == LINK_CONNECTED;
}

bool linkIsDown(void) {
    return primary_link.state != LINK_NONE && primary_link.state != LINK_CONNECTED;
}

/* ---- Time ---- */

static void linkOnTimer(void) {
    switch (primary_link.state) {
    case LINK_NONE: return;
    case LINK_CONNECT: linkConnectNow(); return;
    case LINK_CONNECTING:
    case LINK_HANDSHAKE:
        if (!linkIsSilent(handshakeLastIoMs())) return;
        serverLog(LL_WARNING, "Connecting to the primary took longer than repl-timeout");
        handshakeCancel();
        linkReconnectAfterFailure();
        return;
    case LINK_TRANSFER:
        if (!linkIsSilent(dualRunning() ? dualLastIoMs() : receiveLastIoMs())) return;
        serverLog(LL_WARNING,
                  "Nothing of the snapshot has come from the primary for repl-timeout. A larger repl-timeout "
                  "helps if the network or the primary is slow.");
        linkStopTransfer();
        linkReconnectAfterFailure();
        return;
    case LINK_CONNECTED:
        if (handshakeAnnouncedCodec() != replCompression()) {
            serverLog(LL_NOTICE,
                      "repl-compression has changed, so the link to the primary is established again");
            clientClose(primary_link.primary);
            return;
        }
        linkCheckInput();
        linkStreamAckUnlessPending();
        if (!linkIsSilent(primary_link.last_io_ms)) return;
        serverLog(LL_WARNING, "Neither data nor a PING has come from the primary for repl-timeout");
        clientClose(primary_link.primary);
    }
}

/* ---- Commands ---- */

/* Returns the state as ROLE and INFO show it. */
static enum linkState linkVisibleState(void) {
    if (primary_link.state == LINK_CONNECTING && handshakePhase() == HANDSHAKE_TALKING) return LINK_HANDSHAKE;
    if (primary_link.state == LINK_TRANSFER && dualAwaitsSnapshot()) return LINK_HANDSHAKE;
    return primary_link.state;
}

static void linkLogRoleRequest(struct client *c, const char *what) {
    sds who = clientLogName(c, sdsempty());
    serverLog(LL_NOTICE, "%s (requested by '%s')", what, who);
    sdsfree(who);
}

static void linkReplicaofNoOne(struct client *c) {
    if (roleIsReplica()) {
        linkBecomePrimary();
        linkLogRoleRequest(c, "This server is now a primary");
    }
    replyOk(c);
}

void replicaofCommand(struct client *c) {
    int64_t port;
    if (cluster_enabled) {
        replyError(c, "ERR REPLICAOF not allowed in cluster mode.");
        return;
    }
    if (link_failover_running && link_failover_running()) {
        replyError(c, "ERR REPLICAOF not allowed while failing over.");
        return;
    }
    if (strIs(c->argv[1], "no") && strIs(c->argv[2], "one")) {
        ackPauseEnd(c);
        linkReplicaofNoOne(c);
        return;
    }
    if (c->flags & CLIENT_REPLICA) {
        replyError(c, "ERR Command is not valid when client is a replica.");
        return;
    }
    if (ackPauseCommand(c)) return;
    if (!argRange(c, c->argv[2], 0, PORT_MAX, &port, "ERR Invalid master port")) return;
    ackPauseEnd(c);
    if (primary_link.host && strIs(c->argv[1], primary_link.host) && primary_link.port == (int)port) {
        serverLog(LL_NOTICE,
                  "REPLICAOF names the primary that this server replicates already, so nothing changes");
        replyStatus(c, "OK Already connected to specified master");
        return;
    }
    linkFollow(c->argv[1], (int)port);
    sds what = sdscatprintf(sdsempty(), "This server is now a replica of %s:%d", primary_link.host,
                            primary_link.port);
    linkLogRoleRequest(c, what);
    sdsfree(what);
    replyOk(c);
}

void roleCommand(struct client *c) {
    static const char *const names[] = {
        [LINK_NONE] = "none",           [LINK_CONNECT] = "connect", [LINK_CONNECTING] = "connecting",
        [LINK_HANDSHAKE] = "handshake", [LINK_TRANSFER] = "sync",   [LINK_CONNECTED] = "connected"};
    if (!roleIsReplica()) {
        replicasReplyRole(c);
        return;
    }
    replyArrayLen(c, 5);
    replyBulkCstr(c, "slave");
    replyBulkCstr(c, primary_link.host);
    replyLongLong(c, primary_link.port);
    replyBulkCstr(c, names[linkVisibleState()]);
    replyLongLong(c, primary_link.primary ? (int64_t)historyOffset() : -1);
}

/* ---- replicaof host port ---- */

static bool linkParseDirective(const struct configDirective *d, int argc, const struct str *argv,
                               const char **err) {
    (void)d;
    int64_t port;
    bool empty = argc == 1 && argv[0].len == 0; /* CONFIG REWRITE writes this when there is none */
    if (argc != 2 && !empty) {
        *err = "wrong number of arguments";
        return false;
    }
    bool none = empty || (strIs(argv[0], "no") && strIs(argv[1], "one"));
    if (!none && (!string2ll(argv[1], &port) || port < 0 || port > PORT_MAX)) {
        *err = "Invalid primary port";
        return false;
    }
    if (none) {
        sdsfree(primary_link.host);
        primary_link.host = NULL;
    } else {
        linkSetPrimaryAddress(argv[0], (int)port);
    }
    primary_link.state = none ? LINK_NONE : LINK_CONNECT;
    roleSet(!none);
    return true;
}

static sds linkGetDirective(const struct configDirective *d) {
    (void)d;
    if (!primary_link.host) return sdsempty();
    return sdscatprintf(sdsempty(), "%s %d", primary_link.host, primary_link.port);
}

/* Returns the line that CONFIG REWRITE writes. There is none without a primary, as other servers do
 * not accept an empty one, and none in a cluster, where nodes.conf names the primary and a start
 * with this line is refused. */
static sds linkRewriteDirective(const struct configDirective *d) {
    (void)d;
    if (!primary_link.host || cluster_enabled) return sdsempty();
    return sdscatprintf(sdscatword(sdsempty(), strOf(primary_link.host)), " %d", primary_link.port);
}

/* ---- A dataset has been read from a file at the start ---- */

static void linkOnLoaded(const struct rdbReplication *replication, bool from_aof) {
    if (!from_aof && historyRestore(replication) && roleIsReplica())
        linkSynthesizeCached(replication->stream_db);
}

/* ---- Registration ---- */

static sds linkReplicaInfo(sds s) {
    int64_t now_ms = mstime();
    bool up = primary_link.state == LINK_CONNECTED, transfer = linkVisibleState() == LINK_TRANSFER;
    long long offset = up || cached.valid ? (long long)historyOffset() : 1;
    linkCheckInput();
    s = infoField(s, "master_host:%s", primary_link.host);
    s = infoField(s, "master_port:%d", primary_link.port);
    s = infoField(s, "master_link_status:%s", up ? "up" : "down");
    s = infoField(s, "master_last_io_seconds_ago:%lld",
                  up ? (long long)(now_ms - primary_link.last_io_ms) / 1000 : -1);
    s = infoField(s, "last_successful_sync_duration_ms:%lld", (long long)primary_link.sync_took_ms);
    s = infoField(s, "master_sync_in_progress:%d", transfer);
    s = infoField(s, "slave_read_repl_offset:%lld", offset);
    s = infoField(s, "slave_repl_offset:%lld", offset);
    s = infoField(s, "replicas_repl_buffer_size:%zu", dualStreamBytes());
    s = infoField(s, "replicas_repl_buffer_peak:%zu", dualStreamPeakBytes());
    if (!up)
        s = infoField(s, "master_link_down_since_seconds:%lld",
                      primary_link.down_since_s ? (long long)(now_ms / 1000 - primary_link.down_since_s)
                                                : -1);
    s = infoField(s, "slave_priority:%lld", (long long)priority);
    s = infoField(s, "slave_read_only:%d", replica_read_only);
    return infoField(s, "replica_announced:%d", announced);
}

static sds linkInfo(sds s) {
    s = infoField(s, "role:%s", roleIsReplica() ? "slave" : "master");
    return roleIsReplica() ? linkReplicaInfo(s) : s;
}

static void linkOnRole(bool replica) {
    logSetRole(replica ? 'S' : 'M');
}

void linkInit(void) {
    static struct configDirective directives[] = {
        CONFIG_SPECIAL("replicaof", "slaveof", CONFIG_MULTI_ARG, linkParseDirective, linkGetDirective, NULL),
        CONFIG_BOOL("replica-announced", NULL, SET, &announced, true, NULL),
        CONFIG_INT("replica-priority", "slave-priority", SET, &priority, 100, 0, INT32_MAX, NULL),
    };
    directives[0].lines = linkRewriteDirective;
    configRegister(directives, sizeof directives / sizeof *directives);
    handshakeInit();
    linkStreamInit();
    dualInit();
    ackPauseInit();
    infoRegister("replication", linkInfo);
    clientOnFree(linkOnClientFreed);
    cronRegister(linkOnTimer, TICK_MS);
    persistenceOnLoaded(linkOnLoaded);
    roleOnChange(linkOnRole);
    debugReplicateInit();
    receive_on_replace = linkOnReplace;
}

void linkStart(void) {
    started = true;
    if (primary_link.state == LINK_CONNECT) linkConnectNow();
}
