/* SPDX-License-Identifier: BSD-3-Clause */
/* link.c - see link.h.
 *
 *     link_wire          lines to and from the primary, over TCP or TLS
 *     link_handshake     who we are, and what we want
 *     link_stream        the client that applies what comes then
 *     receive            the snapshot, if there has to be one
 *     link_dual          both at once, over two connections
 *
 * The cached primary. When the link is lost, all that is needed to go on where it broke is known anyhow: the
 * history's id and offset, and the database that the stream had selected. So what is cached is whether they
 * may be used, and that database. A primary that becomes a replica may ask in the same way for what follows
 * its own history: it synthesizes a cached primary. */
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
#define ALIVE_MS 1000 /* between signs of life while a snapshot is linkLoaded */

struct primaryLink primary_link;
bool (*link_is_handed_over)(void);
void (*link_primary_changes)(void);
static int64_t priority;
static bool announced;

static struct {
    bool valid;
    int dbid;
} cached;                               /* the cached primary */
static void (*handover)(bool accepted); /* is told how it went; NULL: none is under way */
static bool old_protocol;               /* SYNC: the primary knows no offsets */
static bool started;                    /* the dataset has been loaded */
static bool reconnecting;               /* which has been logged */
static uint64_t seen_in;                /* bytes that had come from the primary at the last look */

static void linkConnectNow(void);

/* ---- The link is up, or lost ---- */

static void linkNoteIo(void) {
    primary_link.last_io_ms = mstime();
}

/* The stream has told all until now. */
static void linkNoteStream(void) {
    linkNoteIo();
    primary_link.data_ms = primary_link.last_io_ms;
}

static void linkLookForInput(void) {
    uint64_t in = primary_link.primary ? primary_link.primary->net_in : 0;
    if (in == seen_in) return;
    seen_in = in;
    linkNoteStream();
}

static bool linkSilent(int64_t since_ms) {
    return mstime() - since_ms > repl_timeout_s * 1000;
}

void linkSetDataWhole(bool whole) {
    primary_link.data_whole = whole;
    primary_link.data_ms = 0;
}

static void linkDiscardCached(void) {
    if (cached.valid) serverLog(LL_NOTICE, "The state kept of the former primary is discarded");
    cached.valid = false;
}

/* From now on the data are another snapshot's, or a part of it, until a synchronization has ended. */
static void linkDataReplaced(void) {
    linkDiscardCached();
    linkSetDataWhole(false);
}

static void linkConnected(struct connection *conn, int dbid, struct str input) {
    primary_link.primary = linkStreamOpen(conn, dbid, input, !old_protocol);
    primary_link.state = LINK_CONNECTED;
    primary_link.down_since_s = 0;
    cached.valid = false;
    seen_in = 0;
    primary_link.data_whole = true;
    linkNoteStream();
    serverEvent(SERVER_PRIMARY_LINK, EVENT_STARTED, NULL);
}

/* What has been applied is where another primary, or the same, may go on. The data were as new as the
 * primary's until now, unless nothing has come for so long that nobody knows. */
static void linkCache(struct client *primary) {
    int dbid = primary->db->id;
    if (!linkSilent(primary_link.last_io_ms)) primary_link.data_ms = mstime();
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

/* At the next tick, or when somebody calls linkConnectNow(). */
static void linkReconnect(const char *why) {
    serverLog(LL_NOTICE, "Connecting to the primary %s:%d again%s", primary_link.host, primary_link.port,
              why);
    primary_link.state = LINK_CONNECT;
    reconnecting = true;
}

static void linkReconnectAfterFailure(void) {
    linkReconnect(" after failure");
}

static void linkLost(struct client *c) {
    if (c != primary_link.primary) return;
    linkCache(c);
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

/* Whatever leads to the primary ends; what has been applied stays cached. */
static void linkDrop(void) {
    if (primary_link.primary) linkCache(primary_link.primary);
    handshakeCancel();
    linkStopTransfer();
    if (primary_link.state != LINK_NONE) primary_link.state = LINK_CONNECT;
}

/* ---- The answer to the handshake ---- */

static void linkReceived(bool ok, struct str rest, const struct rdbReplication *replication);
static struct receivePlan plan;

/* The primary does not wait for ever for who takes long to load. */
static void linkSendKeepAlive(void) {
    static int64_t told_ms;
    int64_t now_ms = mstime();
    if (now_ms - told_ms < ALIVE_MS) return;
    told_ms = now_ms;
    struct iovec iov = {"\n", 1};
    connWritev(plan.conn, &iov, 1); /* if it fails, the reader will find out why */
}

static void linkStartReceiving(const struct handshakeAnswer *answer) {
    plan = (struct receivePlan){
        .conn = answer->conn, .offset = answer->offset, .done = linkReceived, .alive = linkSendKeepAlive};
    if (answer->id[0])
        memcpy(plan.id, answer->id, sizeof plan.id);
    else
        memcpy(plan.id, history.id, sizeof plan.id);
    old_protocol = answer->end == HANDSHAKE_OLD_FULL;
    primary_link.state = LINK_TRANSFER;
    linkNoteIo();
    receiveStart(&plan);
}

static void linkReceived(bool ok, struct str rest, const struct rdbReplication *replication) {
    if (!ok) {
        connClose(plan.conn);
        linkReconnectAfterFailure();
        return;
    }
    linkConnected(plan.conn, replication->stream_db, rest);
    linkStreamAck();
}

static void linkDualEnded(const struct dualEnd *how) {
    if (!how->ok) {
        linkReconnectAfterFailure();
        return;
    }
    linkConnected(how->conn, how->dbid, sdsview(how->stream));
    turnRun(); /* the acknowledgement tells of what was kept, too */
    linkStreamAck();
}

static void linkStartDual(struct connection *conn) {
    old_protocol = false;
    plan = (struct receivePlan){.conn = conn}; /* whom to tell that we are alive */
    primary_link.state = LINK_TRANSFER;
    dualStart(conn, primary_link.host, primary_link.port, linkSendKeepAlive, linkDualEnded);
}

/* The primary may have taken another name since. */
static void linkResume(const struct handshakeAnswer *answer) {
    if (answer->id[0] && !historyIdIs(history.id, strOf(answer->id))) {
        historyRename(answer->id);
        serverLog(LL_NOTICE, "The primary's replication ID has changed to %s", history.id);
        replicasDisconnect();
    }
    if (!history.backlog) historyCreateBacklog(true);
    serverLog(LL_NOTICE, "The replication stream of the primary continues");
    linkConnected(answer->conn, cached.dbid, strN(NULL, 0));
}

static void linkTellHandover(bool accepted) {
    void (*tell)(bool) = handover;
    handover = NULL;
    if (tell) tell(accepted);
}

static void linkAnswered(const struct handshakeAnswer *answer) {
    linkNoteIo();
    switch (answer->end) {
    case HANDSHAKE_FAILED: primary_link.state = LINK_CONNECT; return;
    case HANDSHAKE_REJECTED:
        primary_link.state = LINK_CONNECT;
        linkTellHandover(false);
        return;
    case HANDSHAKE_CONTINUE:
        old_protocol = false;
        linkResume(answer);
        break;
    case HANDSHAKE_FULL:
    case HANDSHAKE_OLD_FULL: linkStartReceiving(answer); break;
    case HANDSHAKE_DUAL: linkStartDual(answer->conn); break;
    }
    linkTellHandover(true);
}

static void linkConnectNow(void) {
    if (!started) return;
    struct handshakeWish wish = {.offset = historyOffset(), .handover = handover != NULL};
    if (cached.valid) memcpy(wish.id, history.id, sizeof wish.id);
    if (!reconnecting)
        serverLog(LL_NOTICE, "Connecting to the primary %s:%d", primary_link.host, primary_link.port);
    reconnecting = false;
    linkNoteIo();
    if (!handshakeStart(primary_link.host, primary_link.port, &wish, linkAnswered)) return;
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

/* Our own history is as good a beginning as that of a primary. */
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
    linkSetDataWhole(false); /* they may hold what the primary has never had */
    roleSet(true);
    linkSynthesizeCached(dbid);
}

static void replLinkFollow(struct str host, int port) {
    linkSetPrimaryAddress(host, port);
    if (roleIsReplica()) {
        linkDrop();
        link_primary_changes();
    } else {
        linkBecomeReplica();
    }
    primary_link.down_since_s = 0;
    reconnecting = false;
    serverEvent(SERVER_ROLE, true, NULL);
    linkConnectNow();
}

void linkFollow(struct str host, int port) {
    handover = NULL;
    replLinkFollow(host, port);
}

void linkFollowForHandover(struct str host, int port, void (*result)(bool accepted)) {
    handover = result;
    replLinkFollow(host, port);
}

void linkBecomePrimary(void) {
    if (!roleIsReplica()) return;
    handover = NULL;
    logSetRole('M');
    linkDrop();
    linkDiscardCached();
    primary_link.state = LINK_NONE;
    sdsfree(primary_link.host);
    primary_link.host = NULL;
    historyBecomePrimary();
    replicasDisconnect();
    roleSet(false);
    serverEvent(SERVER_ROLE, false, NULL);
}

void linkFollowQuietly(struct str host, int port) {
    bool same = primary_link.host && strEq(host, sdsview(primary_link.host)) && port == primary_link.port;
    if (!same || !roleIsReplica()) linkFollow(host, port);
}

bool linkDataWhole(int64_t *fresh_ms) {
    linkLookForInput();
    *fresh_ms = primary_link.data_ms;
    return primary_link.data_whole;
}

bool linkIsUp(void) {
    return primary_link.state == LINK_CONNECTED;
}

bool linkIsDown(void) {
    return primary_link.state != LINK_NONE && primary_link.state != LINK_CONNECTED;
}

/* ---- Time ---- */

static void replLinkTick(void) {
    switch (primary_link.state) {
    case LINK_NONE: return;
    case LINK_CONNECT: linkConnectNow(); return;
    case LINK_CONNECTING:
    case LINK_HANDSHAKE:
        if (!linkSilent(handshakeLastIoMs())) return;
        serverLog(LL_WARNING, "Connecting to the primary took longer than repl-timeout");
        handshakeCancel();
        linkReconnectAfterFailure();
        return;
    case LINK_TRANSFER:
        if (!linkSilent(dualRunning() ? dualLastIoMs() : receiveLastIoMs())) return;
        serverLog(LL_WARNING,
                  "Nothing of the snapshot has come from the primary for repl-timeout. A larger repl-timeout "
                  "helps if the network or the primary is slow.");
        linkStopTransfer();
        linkReconnectAfterFailure();
        return;
    case LINK_CONNECTED:
        linkLookForInput();
        linkStreamAckNowAndThen();
        if (!linkSilent(primary_link.last_io_ms)) return;
        serverLog(LL_WARNING, "Neither data nor a PING has come from the primary for repl-timeout");
        clientClose(primary_link.primary);
    }
}

/* ---- Commands ---- */

/* The state as others are told. */
static enum linkState linkStateNow(void) {
    if (primary_link.state == LINK_CONNECTING && handshakePhase() == HANDSHAKE_TALKING) return LINK_HANDSHAKE;
    if (primary_link.state == LINK_TRANSFER && dualWaits()) return LINK_HANDSHAKE;
    return primary_link.state;
}

static void linkLogRoleAsked(struct client *c, const char *what) {
    sds who = clientLogName(c, sdsempty());
    serverLog(LL_NOTICE, "%s (requested by '%s')", what, who);
    sdsfree(who);
}

static void linkReplicaofNoOne(struct client *c) {
    if (roleIsReplica()) {
        linkBecomePrimary();
        linkLogRoleAsked(c, "This server is now a primary");
    }
    replyOk(c);
}

void replicaofCommand(struct client *c) {
    int64_t port;
    if (cluster_enabled) {
        replyError(c, "ERR REPLICAOF not allowed in cluster mode.");
        return;
    }
    if (link_is_handed_over && link_is_handed_over()) {
        replyError(c, "ERR REPLICAOF not allowed while failing over.");
        return;
    }
    if (strIs(c->argv[1], "no") && strIs(c->argv[2], "one")) {
        linkReplicaofNoOne(c);
        return;
    }
    if (c->flags & CLIENT_REPLICA) {
        replyError(c, "ERR Command is not valid when client is a replica.");
        return;
    }
    if (!argRange(c, c->argv[2], 0, PORT_MAX, &port, "ERR Invalid master port")) return;
    if (primary_link.host && strIs(c->argv[1], primary_link.host) && primary_link.port == (int)port) {
        serverLog(LL_NOTICE,
                  "REPLICAOF names the primary that this server replicates already, so nothing changes");
        replyStatus(c, "OK Already connected to specified master");
        return;
    }
    linkFollow(c->argv[1], (int)port);
    sds what = sdscatprintf(sdsempty(), "This server is now a replica of %s:%d", primary_link.host,
                            primary_link.port);
    linkLogRoleAsked(c, what);
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
    replyBulkCstr(c, names[linkStateNow()]);
    replyLongLong(c, primary_link.primary ? (int64_t)historyOffset() : -1);
}

/* ---- replicaof host port ---- */

static bool linkSetPrimary(const struct configDirective *d, int argc, const struct str *argv,
                           const char **err) {
    (void)d;
    int64_t port;
    bool empty = argc == 1 && argv[0].len == 0; /* as a rewrite writes that there is none */
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

static sds linkGetPrimary(const struct configDirective *d) {
    (void)d;
    if (!primary_link.host) return sdsempty();
    return sdscatprintf(sdsempty(), "%s %d", primary_link.host, primary_link.port);
}

/* Returns the line that CONFIG REWRITE writes. There is none when there is no primary: other servers read no
 * empty one. In a cluster nodes.conf says which primary this node follows, and a start with a line of its own
 * is refused. */
static sds linkConfigLine(const struct configDirective *d) {
    (void)d;
    if (!primary_link.host || cluster_enabled) return sdsempty();
    return sdscatprintf(sdscatword(sdsempty(), strOf(primary_link.host)), " %d", primary_link.port);
}

/* ---- A dataset has been read from a file at the start ---- */

static void linkLoaded(const struct rdbReplication *replication, bool from_aof) {
    if (!from_aof && historyRestore(replication) && roleIsReplica())
        linkSynthesizeCached(replication->stream_db);
}

/* ---- Registration ---- */

static sds linkReplicaInfo(sds s) {
    int64_t now_ms = mstime();
    bool up = primary_link.state == LINK_CONNECTED, transfer = linkStateNow() == LINK_TRANSFER;
    long long offset = up || cached.valid ? (long long)historyOffset() : 1;
    linkLookForInput();
    s = infoField(s, "master_host:%s", primary_link.host);
    s = infoField(s, "master_port:%d", primary_link.port);
    s = infoField(s, "master_link_status:%s", up ? "up" : "down");
    s = infoField(s, "master_last_io_seconds_ago:%lld",
                  up ? (long long)(now_ms - primary_link.last_io_ms) / 1000 : -1);
    s = infoField(s, "master_sync_in_progress:%d", transfer);
    s = infoField(s, "slave_read_repl_offset:%lld", offset);
    s = infoField(s, "slave_repl_offset:%lld", offset);
    s = infoField(s, "replicas_repl_buffer_size:%zu", dualKept());
    s = infoField(s, "replicas_repl_buffer_peak:%zu", dualKeptPeak());
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

static void linkNoteRole(bool replica) {
    logSetRole(replica ? 'S' : 'M');
}

void linkInit(void) {
    static struct configDirective directives[] = {
        CONFIG_SPECIAL("replicaof", "slaveof", CONFIG_MULTI_ARG, linkSetPrimary, linkGetPrimary, NULL),
        CONFIG_BOOL("replica-announced", NULL, SET, &announced, true, NULL),
        CONFIG_INT("replica-priority", "slave-priority", SET, &priority, 100, 0, INT32_MAX, NULL),
    };
    directives[0].lines = linkConfigLine;
    configRegister(directives, sizeof directives / sizeof *directives);
    handshakeInit();
    linkStreamInit();
    dualInit();
    infoRegister("replication", linkInfo);
    clientOnFree(linkLost);
    cronRegister(replLinkTick, TICK_MS);
    persistenceOnLoaded(linkLoaded);
    roleOnChange(linkNoteRole);
    debugReplicateInit();
    receive_replaces = linkDataReplaced;
}

void linkStart(void) {
    started = true;
    if (primary_link.state == LINK_CONNECT) linkConnectNow();
}
