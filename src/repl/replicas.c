/* SPDX-License-Identifier: BSD-3-Clause */
/* replicas.c - the replicas that there are: their places in the stream, and how they are sent it.
 *
 *     a command ends ─▶ history: one memcpy into the chain
 *     before sleep   ─▶ each replica that has bytes to read is put among those who are sent something
 *     the turn's end ─▶ one writev for each, straight from the chain
 *
 * Bytes of its own (+FULLRESYNC, +CONTINUE, a snapshot from a file) a replica gets through its client's
 * output chain, like anybody else; the stream comes behind them (client/client_stream.h).
 *
 * The other parts of replicas.h: what they say is in replicas_commands.c, what is said of them in
 * replicas_info.c. */
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
#include "command/call.h"
#include "command/command.h"
#include "command/monitor.h"
#include "command/pause.h"
#include "command/propagate.h"
#include "command/wait.h"
#include "data/server_state/role.h"
#include "net/connection.h"
#include "registry/config.h"
#include "registry/cron.h"
#include "registry/server_events.h"
#include "repl/history.h"
#include "repl/repl_settings.h"

#define SET                 CONFIG_MODIFIABLE
#define UNDERSTANDS_SETSLOT 0x070300 /* in the stream, as versions are told */
#define PIECES_MAX          64       /* of the chain in one writev */
#define TIMER_MS            1000
#define NAME_ROOM           320

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

/* ---- A replica comes and goes ---- */

struct replicaClient *replicaPart(struct client *c) {
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
    r->asked_ms = r->acked_ms = cmd_time_ms;
    c->flags |= CLIENT_REPLICA;
    listAddTail(&replicas, &r->node);
    if (repl_disable_tcp_nodelay) connSetNoDelay(c->conn, false);
    if (client_weighing) clientAccountMemory(c);
    monitorReplicas(true);
}

static void replicasLeavePlace(struct replicaClient *r) {
    if (r->has_place) chainReaderStop(&r->reader);
    r->has_place = r->streaming = false;
}

/* They stand in the stream no more: it may begin anew before they are freed. */
void replicasDisconnect(void) {
    listForEach(&replicas, it) {
        struct replicaClient *r = listEntry(it, struct replicaClient, node);
        replicasLeavePlace(r);
        clientClose(r->client);
    }
}

void replicasForget(void) {
    replicasDisconnect();
    if (history.backlog) historyFreeBacklog();
}

/* Who only told something, and never asked, was none. */
static void replicaFree(struct client *c) {
    struct replicaClient *r = c->replica;
    if (!r) return;
    if (r->state != REPLICA_NONE) {
        if (r->rdb_channel)
            serverLog(LL_NOTICE, "Dual channel replication: the RDB channel of replica %s is closed",
                      replicaName(r));
        else
            serverLog(LL_NOTICE, "Connection with replica %s lost.", replicaName(r));
        if (replica_hooks.forgetSnapshot) replica_hooks.forgetSnapshot(r);
        if (r->state == REPLICA_ONLINE) serverEvent(SERVER_REPLICA, EVENT_ENDED, NULL);
        listRemove(&replicas, &r->node);
        monitorReplicas(replicas.length > 0);
    }
    replicasLeavePlace(r);
    sdsfree(r->address);
    zfree(r);
    c->replica = NULL;
    c->flags &= ~(uint32_t)CLIENT_REPLICA;
}

/* A replica's command has made a reply, which nobody there would understand. */
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

static void replicasTakePlace(struct replicaClient *r, uint64_t at) {
    bool kept = chainReaderStart(&r->reader, &history.chain, at);
    serverAssert(kept && !r->has_place);
    r->has_place = true;
    r->start_offset = at;
}

/* A stream never starts at zero: a replica that has not applied a byte could not say that it has begun. */
static void replicasStartStream(struct replicaClient *r) {
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

bool replicaSetup(struct replicaClient *r, uint64_t offset) {
    serverAssert((r->state == REPLICA_WAIT_START || r->state == REPLICA_WAIT_END) &&
                 offset <= historyOffset());
    if (r->client->flags & CLIENT_CLOSE_ASAP) return false;
    r->start_offset = offset;
    if (!r->rdb_only && !r->rdb_channel) replicasTakePlace(r, offset);
    r->state = REPLICA_WAIT_END;
    historySelectAnew();
    if (!r->old_protocol) replicaSend(r, "+FULLRESYNC %s %llu\r\n", history.id, (unsigned long long)offset);
    return true;
}

void replicaContinue(struct replicaClient *r, uint64_t at) {
    serverAssert(history.backlog && at <= historyOffset());
    replicaJoin(r, r->rdb_client_id ? REPLICA_BG_TRANSFER : REPLICA_ONLINE);
    replicasTakePlace(r, at);
    if (r->rdb_client_id && replica_hooks.streamTaken) replica_hooks.streamTaken(r);
    if (r->capa & CAPA_PSYNC2)
        replicaSend(r, "+CONTINUE %s\r\n", history.id);
    else
        replicaSend(r, "+CONTINUE\r\n");
    replicasStartStream(r);
    if (r->state == REPLICA_ONLINE) serverEvent(SERVER_REPLICA, EVENT_STARTED, NULL);
}

void replicaOnline(struct replicaClient *r, bool at_once) {
    serverAssert(r->state == REPLICA_WAIT_END || r->state == REPLICA_SEND || r->state == REPLICA_BG_TRANSFER);
    r->acked_ms = cmd_time_ms;
    if (r->rdb_only || r->rdb_channel) {
        r->state = REPLICA_RDB_TRANSMITTED;
        serverLog(LL_NOTICE,
                  "%s has received the snapshot, which is all it asked for, and should disconnect now",
                  replicaName(r));
        if (!r->rdb_channel) clientCloseAfterReply(r->client); /* else it ends when the main one has come */
        return;
    }
    r->state = REPLICA_ONLINE;
    if ((at_once || r->acked_snapshot) && !r->streaming)
        replicasStartStream(r);
    else
        r->wait_for_ack = !r->streaming;
    serverLog(LL_NOTICE, "Replica %s is synchronized", replicaName(r));
    serverEvent(SERVER_REPLICA, EVENT_STARTED, NULL);
}

void replicaAcked(struct replicaClient *r, int64_t offset, int64_t synced) {
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
    if (r->state == REPLICA_BG_TRANSFER) replicaOnline(r, true);
    if (r->wait_for_ack && r->state == REPLICA_ONLINE) replicasStartStream(r);
    if (more) waitRecheck();
}

/* ---- Sending ---- */

static bool replicasStreamWrite(struct client *c) {
    struct replicaClient *r = c->replica;
    if (!r->streaming) return !replica_hooks.writeSnapshot || replica_hooks.writeSnapshot(r);
    while (chainReaderPending(&r->reader, &history.chain)) {
        struct iovec iov[PIECES_MAX];
        size_t want = 0;
        int count = chainReaderView(&r->reader, &history.chain, iov, PIECES_MAX);
        for (int i = 0; i < count; i++) want += iov[i].iov_len;
        ssize_t n = connWritev(c->conn, iov, count);
        if (n < 0) return errno == EAGAIN || errno == EINTR;
        chainReaderAdvance(&r->reader, &history.chain, (size_t)n);
        clientNoteSent(c, (size_t)n);
        replstats.net_out += (uint64_t)n;
        if ((size_t)n < want) return true;
    }
    return true;
}

static bool replicasStreamWaits(const struct client *c) {
    const struct replicaClient *r = c->replica;
    if (r->streaming) return chainReaderPending(&r->reader, &history.chain) > 0;
    return replica_hooks.hasSnapshotOutput && replica_hooks.hasSnapshotOutput(r);
}

static size_t replicasStreamPending(const struct client *c) {
    const struct replicaClient *r = c->replica;
    return r->has_place ? chainReaderMemory(&r->reader, &history.chain) : 0;
}

static size_t replicasStreamBlocks(const struct client *c) {
    return c->replica->has_place ? chainReaderBlocks(&c->replica->reader) : 0;
}

/* What the backlog keeps anyway is nobody's to pay for. */
static uint64_t replicasStreamFree(void) {
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
                                           .least_limit = replicasStreamFree,
                                           .replied = replicasOnReply};

/* A block has been added: who keeps too many? */
static void replicasCheckLimits(void) {
    listForEach(&replicas, it) clientCheckOutput(listEntry(it, struct replicaClient, node)->client, 0);
    if (replica_hooks.limitPlaces) replica_hooks.limitPlaces();
}

/* Who waits for its socket is called by the loop. */
__attribute__((noinline)) void replicasWriteLater(void) {
    history.grown = false;
    listForEach(&replicas, it) {
        struct replicaClient *r = listEntry(it, struct replicaClient, node);
        if (r->streaming && !r->client->conn->write_handler) clientWriteLater(r->client);
    }
}

/* ---- Words of our own in the stream; a replica adds none to that of its primary ---- */

static bool replicasIsAsked(void) {
    return history.backlog && !roleIsReplica();
}

static bool replicasPing(void) {
    static const struct str words[] = {STR("ping")};
    return propagateToReplicas(1, words);
}

void replicasRequestAck(void) {
    request_ack = true;
}

static void replicasAskForAck(void) {
    static const struct str words[] = {STR("REPLCONF"), STR("GETACK"), STR("*")};
    if (propagateToReplicas(3, words)) request_ack = false;
}

static __attribute__((unused)) size_t replicasStandingReaders(void) {
    size_t count = 0;
    listForEach(&replicas, it) {
        const struct replicaClient *r = listEntry(it, struct replicaClient, node);
        serverAssert(r->client->flags & CLIENT_REPLICA && r->client->replica == r);
        serverAssert(!r->streaming || r->has_place);
        count += r->has_place;
    }
    return count + (replica_hooks.heldPlaces ? replica_hooks.heldPlaces() : 0);
}

static __attribute__((noinline)) void replicasSayOwnWords(void) {
    if (ping_first) ping_first = replicasIsAsked() && historyOffset() == 0 && !replicasPing();
    if (!request_ack) return;
    if (replicasIsAsked() && replicas.length)
        replicasAskForAck();
    else
        request_ack = false;
}

static void replicasBeforeSleep(void) {
    debugAssert(chainCheck(&history.chain, replicasStandingReaders()));
    if (__builtin_expect(ping_first || request_ack, 0)) replicasSayOwnWords();
    if (history.grown) replicasWriteLater();
}

/* ---- Jobs ---- */

static void replicasPingNowAndThen(void) {
    static int64_t seconds;
    if (seconds++ % ping_period_s || !replicas.length || !replicasIsAsked()) return;
    if (isPausedFor(PAUSE_FAILOVER)) return; /* who takes over has all, and nothing is added to it */
    replicasPing();
}

/* Those who follow the stream say what they have once a second; old ones never do. */
static void replicasCutSilent(void) {
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

static void replicasFreeBacklog(void) {
    static int64_t needed_ms; /* when somebody last needed it */
    bool needed = !history.backlog || roleIsReplica() || replicas.length || !backlog_ttl_s;
    if (needed || !needed_ms) needed_ms = cmd_time_ms;
    if (cmd_time_ms - needed_ms <= backlog_ttl_s * 1000) return;
    historyFreeBacklog();
    serverLog(LL_NOTICE, "The replication backlog is freed, as no replica has been connected for %d seconds",
              (int)backlog_ttl_s);
}

/* An empty line says no more than that it is alive: while it loads a snapshot it has nothing else to say. */
static void replicasNoteSignsOfLife(void) {
    listForEach(&replicas, it) {
        struct replicaClient *r = listEntry(it, struct replicaClient, node);
        bool heard = r->client->net_in != r->heard;
        if (heard && cmd_time_ms - r->acked_ms >= TIMER_MS) r->acked_ms = cmd_time_ms;
        r->heard = r->client->net_in;
    }
}

static void replicasTimer(void) {
    replicasNoteSignsOfLife();
    replicasPingNowAndThen();
    replicasCutSilent();
    replicasFreeBacklog();
}

/* ---- Who has what ---- */

int replicasWith(uint64_t offset, bool synced) {
    int count = 0;
    listForEach(&replicas, it) {
        const struct replicaClient *r = listEntry(it, struct replicaClient, node);
        if (r->state == REPLICA_ONLINE && (synced ? r->fsynced : r->acked) >= offset) count++;
    }
    return count;
}

#define FIRST_NEW_OWNER 0x090000 /* the version whose replicas take over when their primary says so */

const char *replicasSuccessor(uint64_t offset, bool *legacy) {
    const char *id = NULL;
    *legacy = false;
    listForEach(&replicas, it) {
        const struct replicaClient *r = listEntry(it, struct replicaClient, node);
        *legacy |= r->version < FIRST_NEW_OWNER;
        if (r->state == REPLICA_ONLINE && r->acked >= offset && *r->node_id) id = r->node_id;
    }
    return *legacy ? NULL : id;
}

/* What WAIT asks in its own words. */
static int replicasWithPropagated(uint64_t propagated, bool synced) {
    return replicasWith(historyOffsetOf(propagated), synced);
}

static int replReplicasReplicasOnline(void) {
    int count = 0;
    listForEach(&replicas, it) {
        const struct replicaClient *r = listEntry(it, struct replicaClient, node);
        count += r->state == REPLICA_ONLINE && r->version >= UNDERSTANDS_SETSLOT;
    }
    return count;
}

static size_t replicaMemory(const struct client *c) {
    const struct replicaClient *r = c->replica;
    if (!r) return 0;
    return zmallocSize(r) + (r->address ? sdsAllocSize(r->address) : 0) + replicasStreamPending(c);
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
    wait_sources.replicas = replicasWithPropagated;
    wait_sources.online = replReplicasReplicasOnline;
    wait_sources.askReplicas = replicasRequestAck;
    beforeSleepRegister(replicasBeforeSleep);
    cronRegister(replicasTimer, TIMER_MS);
    replicasInfoInit();
}
