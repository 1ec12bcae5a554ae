/* SPDX-License-Identifier: BSD-3-Clause */
/* replicas.c - the places of replicas in the stream, and how the stream is sent.
 *
 *     a command ends ─▶ history: one memcpy into the chain
 *     before sleep   ─▶ each replica that has bytes to read joins the clients that are written to
 *     end of turn    ─▶ one writev for each, straight from the chain
 *
 * Bytes for one replica (+FULLRESYNC, +CONTINUE, a snapshot from a file) go through its client's output
 * chain, as replies do. The stream comes after them (client/client_stream.h).
 *
 * The other parts of replicas.h: replicas_commands.c has the commands of replicas,
 * replicas_info.c the reports about them. */
#include "repl/replicas.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/assert.h"
#include "base/log.h"
#include "base/zmalloc.h"
#include "client/client_evict.h"
#include "client/client_log.h"
#include "client/client_output.h"
#include "client/client_session.h"
#include "client/client_stream.h"
#include "client/reply.h"
#include "client/reply_gate.h"
#include "command/call.h"
#include "command/command.h"
#include "command/monitor.h"
#include "command/pause.h"
#include "command/propagate.h"
#include "command/wait.h"
#include "data/server_state/persistence.h"
#include "data/server_state/role.h"
#include "net/connection.h"
#include "registry/config.h"
#include "registry/cron.h"
#include "registry/server_events.h"
#include "repl/history.h"
#include "repl/packed_stream.h"
#include "repl/repl_settings.h"

#define SET             CONFIG_MODIFIABLE
#define SETSLOT_SINCE   0x070300 /* replicas of this version and later accept CLUSTER SETSLOT in the stream */
#define PIECES_MAX      64       /* pieces of the chain in one writev */
#define PACK_PIECES     4
#define PACK_BYTES      (256 * 1024)      /* of a piece, compressed at once */
#define PACK_TURN_BYTES (4 * 1024 * 1024) /* compressed for one replica in one call */
#define TIMER_MS        1000
#define NAME_ROOM       320

struct list replicas;
struct replicaHooks replica_hooks;
static int64_t backlog_ttl_s, ping_period_s;
static bool request_ack, ping_first;

/* ---- Names ---- */

const char *replicaAddress(const struct replicaClient *r) {
    static char text[NAME_ROOM];
    if (r->address && sdslen(r->address)) return r->address;
    struct str name = sdsview(clientPeerName(r->client));
    while (name.len && name.ptr[name.len - 1] != ':') name.len--;
    if (name.len) name.len--;
    if (name.len >= 2 && name.ptr[0] == '[') name = strN(name.ptr + 1, name.len - 2);
    snprintf(text, sizeof text, "%.*s", (int)name.len, name.ptr);
    return text;
}

const char *replicaName(const struct replicaClient *r) {
    static char text[NAME_ROOM];
    const char *address = replicaAddress(r);
    if (r->listening_port)
        snprintf(text, sizeof text, strchr(address, ':') ? "[%s]:%d" : "%s:%d", address, r->listening_port);
    else
        snprintf(text, sizeof text, "%s:<unknown-replica-port>", address);
    return text;
}

/* ---- Joining and leaving ---- */

struct replicaClient *replicaGetOrCreate(struct client *c) {
    if (!c->replica) {
        c->replica = zmalloc(sizeof *c->replica);
        *c->replica = (struct replicaClient){.client = c};
    }
    return c->replica;
}

void replicaJoin(struct replicaClient *r, enum replicaState state) {
    struct client *c = r->client;
    serverAssert(r->state == REPLICA_NONE && state != REPLICA_NONE);
    r->state = state;
    r->requested_ms = r->acked_ms = cmd_time_ms;
    c->flags |= CLIENT_REPLICA;
    listAddTail(&replicas, &r->node);
    if (repl_disable_tcp_nodelay) connSetNoDelay(c->conn, false);
    if (client_accounting) clientAccountMemory(c);
    monitorSetHasReplicas(true);
}

static void replicaLeavePlace(struct replicaClient *r) {
    if (r->has_place) chainReaderStop(&r->reader);
    r->has_place = r->streaming = false;
    packedStreamFree(r->packed);
    r->packed = NULL;
}

/* The places in the stream are given up at once, as it may begin anew before the clients are freed. */
void replicasDisconnect(void) {
    listForEach(&replicas, it) {
        struct replicaClient *r = listEntry(it, struct replicaClient, node);
        replicaLeavePlace(r);
        clientClose(r->client);
    }
    replica_hooks.dropKeptStream();
}

void replicasDropHistory(void) {
    replicasDisconnect();
    if (history.backlog) historyFreeBacklog();
}

/* A client that has sent only REPLCONF is no replica yet. */
static void replicaFree(struct client *c) {
    struct replicaClient *r = c->replica;
    if (!r) return;
    if (r->state != REPLICA_NONE) {
        if (r->rdb_channel)
            serverLog(LL_NOTICE, "Dual channel replication: the RDB channel of replica %s is closed",
                      replicaName(r));
        else
            serverLog(LL_NOTICE, "Connection with replica %s lost.", replicaName(r));
        replica_hooks.forgetSnapshot(r);
        if (r->state == REPLICA_ONLINE) serverEvent(SERVER_REPLICA, EVENT_ENDED, NULL);
        listRemove(&replicas, &r->node);
        monitorSetHasReplicas(replicas.length > 0);
    }
    replicaLeavePlace(r);
    sdsfree(r->address);
    zfree(r);
    c->replica = NULL;
    c->flags &= ~(uint32_t)CLIENT_REPLICA;
}

/* Disconnects a replica whose command has made a reply, which the replica would not expect. */
static void replicasOnReply(struct client *c, struct str error) {
    const char *name = c->cmd ? c->cmd->fullname : "<unknown>";
    if (!(c->flags & CLIENT_CLOSE_ASAP)) {
        sds line = clientLogLine(c, sdsempty());
        serverLog(LL_WARNING, "Replica generated a reply to command '%s', disconnecting it: %s", name, line);
        sdsfree(line);
        clientClose(c);
    }
    if (!error.ptr) return;
    callstats.unexpected_errors++;
    sds text = clientLogError(error, sdsempty());
    serverLog(LL_WARNING,
              "== CRITICAL == This primary is sending an error to its replica: '%s' after processing the "
              "command '%s'",
              text, name);
    sdsfree(text);
}

/* ---- Its place in the stream ---- */

static void replicaTakePlace(struct replicaClient *r, uint64_t at) {
    bool kept = chainReaderStart(&r->reader, &history.chain, at);
    serverAssert(kept && !r->has_place);
    r->has_place = true;
    r->start_offset = at;
}

enum streamCodec replicaCodec(const struct replicaClient *r) {
    enum streamCodec most = replCompression();
    if (most == STREAM_ZSTD && r->capa & CAPA_ZSTD) return STREAM_ZSTD;
    return most != STREAM_PLAIN && r->capa & CAPA_LZ4 ? STREAM_LZ4 : STREAM_PLAIN;
}

/* A stream never starts at offset 0, as the ACK of a replica that has applied nothing would be 0, too. */
static void replicaStartStream(struct replicaClient *r) {
    enum streamCodec codec = replicaCodec(r);
    serverAssert(!r->streaming && !r->packed);
    if (codec != STREAM_PLAIN) r->packed = packedStreamNew(codec);
    r->streaming = true;
    r->wait_for_ack = false;
    if (historyOffset() == 0) ping_first = true;
    history.grown = true;
}

void replicaSend(struct replicaClient *r, const char *fmt, ...) {
    struct client *c = r->client;
    uint32_t pushing = c->flags & CLIENT_PUSHING;
    va_list ap;
    va_start(ap, fmt);
    sds text = sdscatvprintf(sdsempty(), fmt, ap);
    va_end(ap);
    c->flags |= CLIENT_PUSHING;
    replyRaw(c, text, sdslen(text));
    c->flags = (c->flags & ~(uint32_t)CLIENT_PUSHING) | pushing;
    sdsfree(text);
}

bool replicaBeginSnapshot(struct replicaClient *r, uint64_t offset) {
    serverAssert((r->state == REPLICA_WAIT_START || r->state == REPLICA_WAIT_END) &&
                 offset <= historyOffset());
    if (r->client->flags & CLIENT_CLOSE_ASAP) return false;
    r->start_offset = offset;
    if (!r->rdb_only && !(r->capa & CAPA_IDMP)) historyNoteOldReader();
    if (!r->rdb_only && !r->rdb_channel) replicaTakePlace(r, offset);
    r->state = REPLICA_WAIT_END;
    propagateSelectAnew(); /* the stream of this replica has to begin with a SELECT */
    if (!r->old_protocol) replicaSend(r, "+FULLRESYNC %s %llu\r\n", history.id, (unsigned long long)offset);
    return true;
}

void replicaContinue(struct replicaClient *r, uint64_t at) {
    serverAssert(history.backlog && at <= historyOffset());
    if (!(r->capa & CAPA_IDMP)) historyNoteOldReader();
    replicaJoin(r, r->rdb_client_id ? REPLICA_BG_TRANSFER : REPLICA_ONLINE);
    replicaTakePlace(r, at);
    if (r->rdb_client_id) replica_hooks.mainReadsStream(r->rdb_client_id);
    if (r->capa & CAPA_PSYNC2)
        replicaSend(r, "+CONTINUE %s\r\n", history.id);
    else
        replicaSend(r, "+CONTINUE\r\n");
    replicaStartStream(r);
    if (r->state == REPLICA_ONLINE) serverEvent(SERVER_REPLICA, EVENT_STARTED, NULL);
}

void replicaMarkOnline(struct replicaClient *r, bool at_once) {
    serverAssert(r->state == REPLICA_WAIT_END || r->state == REPLICA_SEND || r->state == REPLICA_BG_TRANSFER);
    r->acked_ms = cmd_time_ms;
    if (r->rdb_only || r->rdb_channel) {
        r->state = REPLICA_RDB_TRANSMITTED;
        serverLog(LL_NOTICE,
                  "%s has received the snapshot, which is all it asked for, and should disconnect now",
                  replicaName(r));
        /* else it is closed when the main one has come */
        if (!r->rdb_channel) clientCloseAfterReply(r->client);
        return;
    }
    r->state = REPLICA_ONLINE;
    if ((at_once || r->acked_snapshot) && !r->streaming)
        replicaStartStream(r);
    else
        r->wait_for_ack = !r->streaming;
    serverLog(LL_NOTICE, "Replica %s is synchronized", replicaName(r));
    serverEvent(SERVER_REPLICA, EVENT_STARTED, NULL);
}

void replicaNoteAck(struct replicaClient *r, int64_t offset, int64_t synced) {
    bool more = false;
    r->acked_ms = cmd_time_ms;
    if (offset > 0 && (uint64_t)offset > r->acked) {
        r->acked = (uint64_t)offset;
        more = true;
    }
    if (synced > 0 && (uint64_t)synced > r->fsynced) {
        r->fsynced = (uint64_t)synced;
        more = true;
    }
    if (r->state == REPLICA_WAIT_END || r->state == REPLICA_SEND) r->acked_snapshot = true;
    if (r->state == REPLICA_BG_TRANSFER) replicaMarkOnline(r, true);
    if (r->wait_for_ack && r->state == REPLICA_ONLINE) replicaStartStream(r);
    if (more) waitRecheck();
}

/* ---- Sending ---- */

static void replicasNoteSent(struct client *c, size_t n) {
    clientNoteSent(c, n);
    replstats.net_out += (uint64_t)n;
}

/* Sends what is compressed. Returns false when the connection is broken, and *more when the socket took it
 * all. */
static bool replicasSendPacked(struct replicaClient *r, bool *more) {
    struct str unsent = packedStreamUnsent(r->packed);
    struct iovec iov = {(void *)unsent.ptr, unsent.len};
    *more = true;
    if (!unsent.len) return true;
    ssize_t n = connWritev(r->client->conn, &iov, 1);
    *more = n == (ssize_t)unsent.len;
    if (n < 0) return errno == EAGAIN || errno == EINTR;
    packedStreamNoteSent(r->packed, (size_t)n);
    replicasNoteSent(r->client, (size_t)n);
    return true;
}

/* The end of what may be sent: with `appendfsync always` replicas get what our disk has, as clients do. A
 * replica that passes its primary's stream on does not wait. */
static uint64_t replicasStreamEnd(void) {
    bool all = !replyGateIsActive() || roleIsReplica() || replyGateSourceIsOpen(GATE_DISK);
    if (__builtin_expect(all, 1)) return historyOffset();
    return historyOffsetOf(persistence.aofSyncedOffset());
}

/* Returns how much of the chain may be sent to r now. */
static uint64_t replicaStreamReady(const struct replicaClient *r) {
    uint64_t end = replicasStreamEnd();
    return end > r->reader.at ? end - r->reader.at : 0;
}

/* Compresses the next bytes of the chain, and with its last one all that the codec still holds back. */
static bool replicasPackNext(struct replicaClient *r) {
    struct iovec iov[PACK_PIECES];
    int count = chainReaderView(&r->reader, &history.chain, iov, PACK_PIECES);
    for (int i = 0; i < count; i++) {
        size_t n = iov[i].iov_len < PACK_BYTES ? iov[i].iov_len : PACK_BYTES;
        uint64_t ready = replicaStreamReady(r);
        if (!ready) break;
        if (n > ready) n = ready;
        if (!packedStreamAdd(r->packed, strN(iov[i].iov_base, n))) return false;
        chainReaderAdvance(&r->reader, &history.chain, n);
        if (n < iov[i].iov_len) break;
    }
    return replicaStreamReady(r) || packedStreamFlush(r->packed);
}

/* Compresses as much as the socket takes, and not more in one call than other clients can wait for. */
static bool replicasStreamWritePacked(struct replicaClient *r) {
    uint64_t until = packedStreamIn(r->packed) + PACK_TURN_BYTES;
    bool more;
    for (;;) {
        if (!replicasSendPacked(r, &more)) return false;
        if (!more || !replicaStreamReady(r)) return true;
        if (packedStreamIn(r->packed) >= until) return true;
        if (!replicasPackNext(r)) return false;
    }
}

static bool replicasStreamWrite(struct client *c) {
    struct replicaClient *r = c->replica;
    if (!r->streaming) return replica_hooks.writeSnapshot(r);
    if (r->packed) return replicasStreamWritePacked(r);
    for (uint64_t ready; (ready = replicaStreamReady(r)) > 0;) {
        struct iovec iov[PIECES_MAX];
        size_t want = 0;
        int count = chainReaderView(&r->reader, &history.chain, iov, PIECES_MAX), pieces = 0;
        for (; pieces < count && want < ready; want += iov[pieces++].iov_len)
            if (iov[pieces].iov_len > ready - want) iov[pieces].iov_len = ready - want;
        ssize_t n = connWritev(c->conn, iov, pieces);
        if (n < 0) return errno == EAGAIN || errno == EINTR;
        chainReaderAdvance(&r->reader, &history.chain, (size_t)n);
        replicasNoteSent(c, (size_t)n);
        if ((size_t)n < want) return true;
    }
    return true;
}

static bool replicasStreamWaits(const struct client *c) {
    const struct replicaClient *r = c->replica;
    if (r->packed && packedStreamUnsent(r->packed).len) return true;
    if (r->streaming) return replicaStreamReady(r) > 0;
    return replica_hooks.hasSnapshotOutput(r);
}

static size_t replicasStreamPending(const struct client *c) {
    const struct replicaClient *r = c->replica;
    size_t packed = r->packed ? packedStreamUnsent(r->packed).len : 0;
    return r->has_place ? chainReaderMemory(&r->reader, &history.chain) + packed : 0;
}

static size_t replicasStreamBlocks(const struct client *c) {
    return c->replica->has_place ? chainReaderBlocks(&c->replica->reader) : 0;
}

/* The bytes that the backlog keeps anyway count for no replica. */
static uint64_t replicasStreamLeastLimit(void) {
    return history.chain.keep;
}

static size_t replicasStreamFollowers(void) {
    return replicas.length;
}

static const struct clientStream stream = {.followers = replicasStreamFollowers,
                                           .write = replicasStreamWrite,
                                           .waits = replicasStreamWaits,
                                           .pending = replicasStreamPending,
                                           .blocks = replicasStreamBlocks,
                                           .least_limit = replicasStreamLeastLimit,
                                           .replied = replicasOnReply};

/* A block has been added: disconnects replicas that keep too many. */
static void replicasCheckLimits(void) {
    listForEach(&replicas, it) clientCheckOutput(listEntry(it, struct replicaClient, node)->client, 0);
    replica_hooks.limitKeptStream();
}

/* Replicas that have a write handler wait for their sockets: the loop calls them. */
__attribute__((noinline)) void replicasWriteLater(void) {
    history.grown = false;
    listForEach(&replicas, it) {
        struct replicaClient *r = listEntry(it, struct replicaClient, node);
        if (r->streaming && !r->client->conn->write_handler) clientWriteLater(r->client);
    }
}

/* ---- Commands of our own in the stream; a replica adds none to its primary's ---- */

static bool replicasMayAddToStream(void) {
    return history.backlog && !roleIsReplica();
}

/* The commands of our own at the end of the stream, if it ends with some. */
static uint64_t own_from, own_end;

uint64_t replicasChangesEnd(void) {
    return historyOffset() == own_end ? own_from : historyOffset();
}

static bool replicasPropagateOwn(int argc, const struct str *words) {
    uint64_t from = replicasChangesEnd();
    if (!propagateToReplicas(argc, words)) return false;
    own_from = from;
    own_end = historyOffset();
    return true;
}

static bool replicasPing(void) {
    static const struct str words[] = {STR("ping")};
    return replicasPropagateOwn(1, words);
}

void replicasRequestAck(void) {
    request_ack = true;
}

static void replicasPropagateGetAck(void) {
    static const struct str words[] = {STR("REPLCONF"), STR("GETACK"), STR("*")};
    if (replicasPropagateOwn(3, words)) request_ack = false;
}

static __attribute__((unused)) size_t replicasCountReaders(void) {
    size_t count = 0;
    listForEach(&replicas, it) {
        const struct replicaClient *r = listEntry(it, struct replicaClient, node);
        serverAssert(r->client->flags & CLIENT_REPLICA && r->client->replica == r);
        serverAssert(!r->streaming || r->has_place);
        count += r->has_place;
    }
    return count + replica_hooks.countKeptReaders();
}

static __attribute__((noinline)) void replicasAddOwnCommands(void) {
    if (ping_first) ping_first = replicasMayAddToStream() && historyOffset() == 0 && !replicasPing();
    if (!request_ack) return;
    if (replicasMayAddToStream() && replicas.length)
        replicasPropagateGetAck();
    else
        request_ack = false;
}

static void replicasBeforeSleep(void) {
    debugAssert(chainCheck(&history.chain, replicasCountReaders()));
    if (__builtin_expect(ping_first || request_ack, 0)) replicasAddOwnCommands();
    if (history.grown || replyGateIsActive()) replicasWriteLater();
}

/* ---- Jobs ---- */

static void replicasPingPeriodically(void) {
    static int64_t seconds;
    if (seconds++ % ping_period_s || !replicas.length || !replicasMayAddToStream()) return;
    /* the replica that takes over has all data, and nothing may be added */
    if (isPausedFor(PAUSE_FAILOVER)) return;
    replicasPing();
}

/* Disconnects replicas (except old ones) that sent no acknowledgement, due each second, for repl-timeout. */
static void replicasDisconnectSilent(void) {
    listForEach(&replicas, it) {
        struct replicaClient *r = listEntry(it, struct replicaClient, node);
        if ((r->state != REPLICA_ONLINE && r->state != REPLICA_BG_TRANSFER) || r->old_protocol) continue;
        if (r->client->flags & CLIENT_CLOSE_ASAP || cmd_time_ms - r->acked_ms <= repl_timeout_s * 1000)
            continue;
        serverLog(LL_WARNING, "Replica %s has acknowledged nothing for repl-timeout and is disconnected",
                  replicaName(r));
        clientClose(r->client);
    }
}

static void replicasFreeUnneededBacklog(void) {
    static int64_t needed_ms; /* when it was last needed */
    bool read = replicas.length || replica_hooks.countKeptReaders();
    bool needed = !history.backlog || roleIsReplica() || read || !backlog_ttl_s;
    if (needed || !needed_ms) needed_ms = cmd_time_ms;
    if (cmd_time_ms - needed_ms <= backlog_ttl_s * 1000) return;
    historyFreeBacklog();
    serverLog(LL_NOTICE, "The replication backlog is freed, as no replica has been connected for %d seconds",
              (int)backlog_ttl_s);
}

/* An empty line is a sign of life as well: a replica that is loading a snapshot sends nothing else. */
static void replicasCheckSignsOfLife(void) {
    listForEach(&replicas, it) {
        struct replicaClient *r = listEntry(it, struct replicaClient, node);
        bool net_in_seen = r->client->net_in != r->net_in_seen;
        if (net_in_seen && cmd_time_ms - r->acked_ms >= TIMER_MS) r->acked_ms = cmd_time_ms;
        r->net_in_seen = r->client->net_in;
    }
}

/* Disconnects replicas whose codec repl-compression no longer allows. They continue where they are. */
static void replicasFollowCompression(void) {
    listForEach(&replicas, it) {
        struct replicaClient *r = listEntry(it, struct replicaClient, node);
        enum streamCodec codec = r->packed ? packedStreamCodec(r->packed) : STREAM_PLAIN;
        if (!r->streaming || r->client->flags & CLIENT_CLOSE_ASAP || codec == replicaCodec(r)) continue;
        serverLog(LL_NOTICE, "Replica %s is disconnected, to connect again as repl-compression says now",
                  replicaName(r));
        clientClose(r->client);
    }
}

static void replicasTimer(void) {
    replicasFollowCompression();
    replicasCheckSignsOfLife();
    replicasPingPeriodically();
    replicasDisconnectSilent();
    replicasFreeUnneededBacklog();
}

/* ---- Acknowledgements ---- */

/* Writes from before there was a stream have offset 0. A replica gets them with the snapshot, which it may be
 * loading while it counts as online: it has them when it has acknowledged anything. */
int replicasCountAcked(uint64_t offset, bool synced) {
    int count = 0;
    if (!offset) offset = 1;
    listForEach(&replicas, it) {
        const struct replicaClient *r = listEntry(it, struct replicaClient, node);
        if (r->state == REPLICA_ONLINE && (synced ? r->fsynced : r->acked) >= offset) count++;
    }
    return count;
}

#define TAKES_OVER_SINCE 0x090000 /* from this version on, a replica takes over when its primary says so */

const char *replicasSuccessor(uint64_t offset, bool *legacy) {
    const char *id = NULL;
    *legacy = false;
    listForEach(&replicas, it) {
        const struct replicaClient *r = listEntry(it, struct replicaClient, node);
        *legacy |= r->version < TAKES_OVER_SINCE;
        if (r->state == REPLICA_ONLINE && r->acked >= offset && *r->node_id) id = r->node_id;
    }
    return *legacy ? NULL : id;
}

/* Does this for WAIT, which counts propagated bytes; 0: the client has written nothing. What was written
 * before there was a stream has offset 0. A replica has it with the snapshot, so when it has acknowledged
 * anything: it is online before it has loaded that. */
static int replicasCountPropagated(uint64_t propagated, bool synced) {
    uint64_t offset = historyOffsetOf(propagated);
    return replicasCountAcked(propagated && !offset ? 1 : offset, synced);
}

static int replicasCountForSetslot(void) {
    int count = 0;
    listForEach(&replicas, it) {
        const struct replicaClient *r = listEntry(it, struct replicaClient, node);
        count += r->state == REPLICA_ONLINE && r->version >= SETSLOT_SINCE;
    }
    return count;
}

static size_t replicaMemory(const struct client *c) {
    const struct replicaClient *r = c->replica;
    if (!r) return 0;
    size_t packed = r->packed ? packedStreamMemory(r->packed) - packedStreamUnsent(r->packed).len : 0;
    return zmallocSize(r) + (r->address ? sdsAllocSize(r->address) : 0) + replicasStreamPending(c) + packed;
}

void replicasInit(void) {
    static struct configDirective directives[] = {
        CONFIG_INT("repl-backlog-ttl", NULL, SET, &backlog_ttl_s, 3600, 0, INT64_MAX, NULL),
        CONFIG_INT("repl-ping-replica-period", "repl-ping-slave-period", SET, &ping_period_s, 10, 1,
                   INT32_MAX, NULL),
    };
    configRegister(directives, sizeof directives / sizeof *directives);
    listInit(&replicas);
    clientOnFree(replicaFree);
    clientOnMemory(replicaMemory);
    client_stream = &stream;
    history_new_block = replicasCheckLimits;
    wait_sources.replicas = replicasCountPropagated;
    wait_sources.online = replicasCountForSetslot;
    wait_sources.askReplicas = replicasRequestAck;
    beforeSleepRegister(replicasBeforeSleep);
    cronRegister(replicasTimer, TIMER_MS);
    replicasInfoInit();
}
