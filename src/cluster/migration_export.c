/* SPDX-License-Identifier: BSD-3-Clause */
/* migration_export.c - the source of a migration: its connection to the target, of which it is an ordinary
 * client.
 *
 *     child ─▶ socket                While the child lives it owns the socket, and the parent
 *     changes ─▶ held                writes nothing to it. Changes during that time are held back,
 *     changes ─▶ out ─▶ socket       and follow the snapshot.
 *
 *     child ─ pipe ─▶ out ─▶ socket  A TLS session has one writer, the parent, which also sends for a
 *                                    thread (data/forkless/). The pipe is read only while little waits
 *                                    to be sent, so that a slow target delays the child, and the output
 *                                    does not grow in memory. Through the pipe, a fork would cost the
 *                                    parent 1.3 to 1.8 times as much.
 *
 * Of the stream of changes, each command with keys in the slots is sent; a transaction is sent as one.
 *
 * Messages are sent at the end of a turn, after what was propagated in it. */
#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/assert.h"
#include "base/log.h"
#include "base/num.h"
#include "base/zmalloc.h"
#include "client/client_output.h"
#include "cluster/migration_jobs.h"
#include "cluster/migration_private.h"
#include "command/pause.h"
#include "command/propagate.h"
#include "data/child.h"
#include "data/child_pipe.h"
#include "data/forkless/forkless.h"
#include "data/keyspace/db.h"
#include "data/keyspace/read_ahead.h"
#include "data/rdb/rdb_dataset.h"
#include "data/rdb/rewrite.h"
#include "data/server_state/role.h"
#include "data/type.h"
#include "net/ae.h"
#include "net/dial.h"
#include "net/resp.h"
#include "net/tls.h"
#include "registry/config.h"

#define READ_BYTES        (16 * 1024)
#define PIPE_BYTES        (256 * 1024)
#define OUT_BYTES         (1024 * 1024) /* the pipe is not read while more than this waits to be sent */
#define PROGRESS_KEYS     1024
#define MIGRATION_VERSION RDB_VERSION_EXPIRING /* of values: the target may be of version 9.0 */

struct migrationExport {
    struct migrationJob *job;
    struct dial dial;        /* active while it connects */
    struct connection *conn; /* NULL: not connected yet */
    int pipe;                /* -1: none */
    bool watched, child_started, child_ended, child_good;
    sds in, out, held;    /* held: changes that follow the snapshot */
    size_t sent;          /* bytes of `out` that have been sent */
    uint64_t of_snapshot; /* bytes of the snapshot in `out` that have not been sent */
    int db;               /* the database selected in the stream of changes; -1: none */
    bool in_multi, multi_sent;
    int64_t soft_since_s; /* since when the output is above the soft limit; 0: it is not */
};
static int sinks;                        /* jobs that need changes */
static struct migrationExport *snapshot; /* the job whose child lives; NULL: none */

uint64_t exportQueued(const struct migrationJob *job) {
    const struct migrationExport *x = job->link;
    return x ? sdslen(x->out) - x->sent + sdslen(x->held) : 0;
}

size_t exportJobMemory(const struct migrationJob *job) {
    const struct migrationExport *x = job->link;
    return x ? sizeof *x + sdsAllocSize(x->in) + sdsAllocSize(x->out) + sdsAllocSize(x->held) : 0;
}

/* ---- The changes ---- */

static bool migrationExportNeedsChanges(const struct migrationJob *job) {
    return job->m.state >= EXPORT_SNAPSHOTTING && job->m.state <= EXPORT_WAITING_TO_PAUSE && job->link;
}

static void migrationExportAppend(struct migrationExport *x, struct str bytes) {
    sds *to = x->job->m.state == EXPORT_SNAPSHOTTING ? &x->held : &x->out;
    *to = sdscatlen(*to, bytes.ptr, bytes.len);
}

static void migrationExportAppendWords(struct migrationExport *x, int argc, const struct str *argv) {
    size_t room = respRequestRoom(argc, argv);
    sds s = sdsnewlen(NULL, room);
    char *end = respWriteRequest(s, argc, argv);
    migrationExportAppend(x, strN(s, (size_t)(end - s)));
    sdsfree(s);
}

static void migrationExportAppendPieces(struct migrationExport *x, const struct propagated *p) {
    for (int i = 0; i < p->count; i++) migrationExportAppend(x, p->pieces[i]);
}

static void migrationExportAppendChange(struct migrationExport *x, const struct propagated *p) {
    int db = p->dbid;
    char digits[LONG_STR_SIZE];
    if (x->in_multi && !x->multi_sent) {
        static const struct str multi = STR("MULTI");
        migrationExportAppendWords(x, 1, &multi);
        x->multi_sent = true;
    }
    if (db != x->db) {
        struct str select[] = {STR("SELECT"), strN(digits, ll2string(digits, db))};
        migrationExportAppendWords(x, 2, select);
        x->db = db;
    }
    migrationExportAppendPieces(x, p);
}

/* Handles the begin or end of a transaction. MULTI is sent with the first command
 * that has keys in the slots. */
static void migrationExportAppendBracket(struct migrationExport *x, const struct propagated *p) {
    if (p->last && x->multi_sent) migrationExportAppendPieces(x, p);
    x->in_multi = p->first;
    x->multi_sent = false;
}

/* SELECT is not passed on: each job selects the databases of the commands that it sends. */
static void migrationExportSink(const struct propagated *p) {
    if (p->for_replicas || p->exclude & PROPAGATED_NOT_TO_REPLICAS) return;
    serverAssert(p->commands == 1);
    forEachJob(job) {
        if (!migrationExportNeedsChanges(job)) continue;
        if (p->bracket)
            migrationExportAppendBracket(job->link, p);
        else if (p->about->slot >= 0 && slotSetHas(&job->slots, p->about->slot))
            migrationExportAppendChange(job->link, p);
    }
}

static void migrationExportSubscribe(bool on) {
    sinks += on ? 1 : -1;
    if (on && sinks == 1) propagateAddSink(migrationExportSink, SINK_DESCRIBED);
    if (!on && sinks == 0) propagateRemoveSink(migrationExportSink);
    propagate_old_readers += on ? 1 : -1; /* the target may be of version 9.0 */
}

static int64_t migrationExportTimeoutMs(void) {
    return configNumber("repl-timeout") * 1000;
}

/* ---- Closing ---- */

static void migrationExportStopWatching(struct migrationExport *x) {
    if (x->watched) aeDeleteFileEvent(server_el, x->pipe, AE_READABLE);
    x->watched = false;
}

static void migrationExportClosePipe(struct migrationExport *x) {
    migrationExportStopWatching(x);
    if (x->pipe >= 0) close(x->pipe);
    x->pipe = -1;
}

static bool migrationExportAnyPaused(void) {
    forEachJob(job) {
        if (job->m.state == EXPORT_PAUSED || job->m.state == EXPORT_GRANTED) return true;
    }
    return false;
}

/* shutdown() also ends the connection for the child. */
static void migrationExportDisconnect(struct migrationExport *x) {
    if (x->conn) {
        if (snapshot == x) shutdown(x->conn->fd, SHUT_RDWR);
        connClose(x->conn);
    }
    dialCancel(&x->dial);
    x->conn = NULL;
}

static void migrationExportFinish(struct migrationJob *job) {
    struct migrationExport *x = job->link;
    if (!x) return;
    job->link = NULL;
    migrationExportDisconnect(x);
    migrationExportClosePipe(x);
    if (snapshot == x) {
        snapshot = NULL;
        if (!x->child_ended) childStop();
    }
    if (x->child_started) migrationExportSubscribe(false);
    if (!migrationExportAnyPaused()) unpauseClients(PAUSE_SLOT_MIGRATION);
    sdsfree(x->in);
    sdsfree(x->out);
    sdsfree(x->held);
    zfree(x);
}

/* ---- The socket ---- */

static void migrationExportOnWritable(struct connection *conn);

static void migrationExportHandleLoss(struct migrationExport *x) {
    migrationExportDisconnect(x);
    jobStep(x->job, EV_LOST);
}

static void migrationExportFlush(struct migrationExport *x) {
    while (x->conn && x->sent < sdslen(x->out)) {
        struct iovec iov = {x->out + x->sent, sdslen(x->out) - x->sent};
        ssize_t n = connWritev(x->conn, &iov, 1);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0 && errno == EAGAIN) {
            connSetWriteHandler(x->conn, migrationExportOnWritable);
            if (x->sent > sdslen(x->out) / 2) {
                sdsrange(x->out, (ptrdiff_t)x->sent, -1);
                x->sent = 0;
            }
            return;
        }
        if (n <= 0) {
            migrationExportHandleLoss(x);
            return;
        }
        x->sent += (size_t)n;
        x->of_snapshot -= (uint64_t)n < x->of_snapshot ? (uint64_t)n : x->of_snapshot;
        migration_traffic.exported += (uint64_t)n;
    }
    if (!x->conn) return;
    connSetWriteHandler(x->conn, NULL);
    sdssetlen(x->out, 0);
    x->sent = 0;
}

static void migrationExportOnWritable(struct connection *conn) {
    migrationExportFlush(conn->data);
}

static void migrationExportProcessReply(struct migrationExport *x, struct str line) {
    if (line.len && line.ptr[0] == '+') {
        jobStep(x->job, EV_OK);
        return;
    }
    jobFailWith(x->job, "Received error during handshake to target", line);
}

static void migrationExportProcessMessage(struct migrationExport *x, const struct str *argv, int argc) {
    if (argc < 3 || !strIs(argv[0], "cluster") || !strIs(argv[1], "syncslots")) return;
    if (strIs(argv[2], "ack"))
        jobStep(x->job, MSG_ACK);
    else if (strIs(argv[2], "request-pause"))
        jobStep(x->job, MSG_REQUEST_PAUSE);
    else if (strIs(argv[2], "request-failover"))
        jobStep(x->job, MSG_REQUEST_FAILOVER);
    else if (!strIs(argv[2], "capa"))
        jobFail(x->job, "Unknown SYNCSLOTS subcommand used");
}

/* Processes one reply or one message. Returns false if none is whole. */
static bool migrationExportProcessInput(struct migrationExport *x) {
    size_t len = sdslen(x->in), used = 0;
    if (x->job->m.state == EXPORT_AUTH || x->job->m.state == EXPORT_ESTABLISH) {
        const char *eol = memchr(x->in, '\n', len);
        if (!eol) return false;
        used = (size_t)(eol + 1 - x->in);
        sds line = sdsnewlen(x->in, used);
        sdstrim(line, "\r\n");
        sdsrange(x->in, (ptrdiff_t)used, -1);
        migrationExportProcessReply(x, sdsview(line));
        sdsfree(line);
        return true;
    }
    const struct respLimits limits = {.max_bulk = READ_BYTES, .max_args = 64, .authenticated = true};
    struct respParser parser = {0};
    struct respBigArg *big = NULL;
    struct str *argv = NULL;
    size_t cap = 0;
    int argc = 0;
    const char *err = NULL;
    enum respStatus status =
        respParseRequest(&parser, x->in, &len, &limits, &argv, &cap, 0, &argc, &used, &big, &err);
    struct migrationJob *job = x->job;
    if (status == RESP_OK) migrationExportProcessMessage(x, argv, argc);
    if (status == RESP_ERROR) jobFail(job, "Unknown SYNCSLOTS subcommand used");
    respBigArgsFree(big);
    respParserReset(&parser);
    zfree(argv);
    if ((status != RESP_OK && status != RESP_EMPTY) || !job->link) return false;
    sdsrange(x->in, (ptrdiff_t)used, -1);
    return true;
}

static void migrationExportOnReadable(struct connection *conn) {
    struct migrationExport *x = conn->data;
    struct migrationJob *job = x->job;
    char buffer[READ_BYTES];
    ssize_t n = connRead(conn, buffer, sizeof buffer);
    if (n < 0 && (errno == EAGAIN || errno == EINTR)) return;
    if (n <= 0) {
        migrationExportHandleLoss(x);
        return;
    }
    x->in = sdscatlen(x->in, buffer, (size_t)n);
    while (job->link && sdslen(x->in) && migrationExportProcessInput(x)) {
    }
}

static void migrationExportFailToConnect(struct migrationJob *job, struct str why) {
    jobFailWith(job, "Unable to connect to target node", why);
}

static void migrationExportOnDialed(struct dial *d, struct connection *conn, const char *error) {
    struct migrationExport *x = listEntry(d, struct migrationExport, dial);
    if (error) {
        migrationExportFailToConnect(x->job, strOf(error));
        return;
    }
    x->conn = conn;
    conn->data = x;
    connSetReadHandler(conn, migrationExportOnReadable);
    jobStep(x->job, EV_CONNECTED);
}

void exportStart(struct migrationJob *job) {
    serverAssert(job->m.export && !job->link);
    struct clusterNode *n = topologyFind(clusterTopology(), job->target);
    struct migrationExport *x = job->link = zcalloc(1, sizeof *x);
    char err[256] = "";
    x->job = job;
    x->pipe = -1;
    x->db = -1;
    x->in = sdsempty();
    x->out = sdsempty();
    x->held = sdsempty();
    bool tls = dial_settings.replication_tls;
    struct dialTarget target = {.tls = tls};
    if (n) {
        target.host = n->ip;
        target.port = tls ? n->tls_port : n->tcp_port;
    }
    if (!n || !dialStart(&x->dial, target, migrationExportOnDialed, err, sizeof err))
        migrationExportFailToConnect(job, strOf(err));
}

/* ---- The snapshot ---- */

/* Writes the slots from `first` to `last`. Returns the number of keys, added to `keys`. */
static uint64_t migrationExportWriteSlots(struct rioWriter *w, struct db *db, int first, int last,
                                          uint64_t keys) {
    struct iteratorAhead ahead = {.in = 0};
    const struct object *o;
    keyspaceIteratorInitSlots(&ahead.it, &db->keyspace, first, last);
    while (!w->error && (o = iteratorAheadNext(&ahead))) {
        rewriteKey(w, o);
        if (++keys % PROGRESS_KEYS == 0) childProgress(keys);
        rdbDelay(rdb_key_save_delay_us, keys);
    }
    keyspaceIteratorStop(&ahead.it);
    return keys;
}

static uint64_t migrationExportWriteDb(struct rioWriter *w, struct db *db, const struct slotSet *slots,
                                       uint64_t keys) {
    rewriteSelectDb(w, db->id);
    slotSetForEachRun(slots, first, last) keys = migrationExportWriteSlots(w, db, first, last, keys);
    return keys;
}

static void migrationExportWriteDbs(struct rioWriter *w, const struct slotSet *slots) {
    uint64_t keys = 0;
    for (int i = 0; i < dbCount(); i++) {
        if (keyspaceShownSize(&dbGet(i)->keyspace)) keys = migrationExportWriteDb(w, dbGet(i), slots, keys);
    }
}

struct childTask {
    bool forkless;                  /* the child is a thread */
    const struct migrationJob *job; /* not for a thread, which may end after it */
    struct connection *conn;        /* to the target; NULL: through the pipe */
    int pipe;
    int64_t timeout_ms;
};

static int migrationExportChildSend(void *priv, const char *p, size_t n) {
    const struct childTask *task = priv;
    return childSendWhole(task->conn, p, n, task->timeout_ms) ? 0 : EPIPE;
}

static int migrationExportChildRun(void *priv) {
    struct childTask *task = priv;
    struct rioWriter w;
    if (task->conn) {
        task->conn->el = NULL; /* the event loop belongs to the parent */
        rioWriterInit(&w, migrationExportChildSend, task);
    } else {
        rioWriterInit(&w, childPipeSink, &task->pipe);
    }
    w.version = MIGRATION_VERSION;
    if (task->forkless)
        forklessWriteAll(&w, childProgress);
    else
        migrationExportWriteDbs(&w, &task->job->slots);
    bool good = rioFlush(&w);
    rioWriterFree(&w);
    if (task->pipe >= 0) close(task->pipe); /* the parent waits for the end of the pipe */
    return good ? 0 : 1;
}

/* Called at the end of the pipe and at the end of the child, which come in either order. */
static void migrationExportEndSnapshotIfDone(struct migrationExport *x) {
    if (x->pipe >= 0 || !x->child_ended) return;
    snapshot = NULL;
    if (x->child_good)
        jobStep(x->job, EV_SNAPSHOT_SENT);
    else
        jobFail(x->job, "Failed to perform snapshot");
}

static void migrationExportChildEnded(int exit_code, int sig, void *priv) {
    struct migrationExport *x = snapshot;
    struct childTask *task = priv;
    uint64_t cow_bytes = task->forkless ? 0 : childLastCow(CHILD_SLOTS);
    zfree(task);
    migration_traffic.exported += childSentBytes();
    if (!x) return; /* the job has ended */
    x->job->cow_bytes = cow_bytes;
    x->child_ended = true;
    x->child_good = exit_code == 0 && !sig;
    if (!x->child_good) migrationExportClosePipe(x);
    migrationExportEndSnapshotIfDone(x);
}

static void migrationExportOnPipe(struct aeEventLoop *el, int fd, void *data, int mask) {
    (void)el, (void)mask;
    struct migrationExport *x = data;
    if (sdslen(x->out) - x->sent > OUT_BYTES) {
        migrationExportStopWatching(x);
        return;
    }
    size_t len = sdslen(x->out);
    x->out = sdsMakeRoomFor(x->out, PIPE_BYTES);
    ssize_t n = read(fd, x->out + len, PIPE_BYTES);
    if (n < 0 && (errno == EAGAIN || errno == EINTR)) return;
    if (n > 0) {
        sdssetlen(x->out, len + (size_t)n);
        x->of_snapshot += (uint64_t)n;
        return;
    }
    migrationExportClosePipe(x);
    migrationExportEndSnapshotIfDone(x);
}

static bool migrationExportStartThread(const struct migrationJob *job, struct childTask *task,
                                       const char **err) {
    struct forklessPlan plan = {.kind = CHILD_SLOTS,
                                .version = MIGRATION_VERSION,
                                .slots = job->slots.bits,
                                .run = migrationExportChildRun,
                                .done = migrationExportChildEnded,
                                .priv = task};
    return forklessStart(&plan, err);
}

static bool migrationExportStartProcess(struct migrationExport *x, struct childTask *task, const char **err) {
    task->job = x->job;
    task->timeout_ms = migrationExportTimeoutMs();
    if (task->pipe < 0) task->conn = x->conn;
    int keep = task->conn ? task->conn->fd : task->pipe;
    return childStartWith(CHILD_SLOTS, migrationExportChildRun, migrationExportChildEnded, task, &keep, 1,
                          err);
}

/* The child has the writing end of the pipe for itself. */
static bool migrationExportStartChild(struct migrationExport *x) {
    int fds[2] = {-1, -1};
    const char *err = NULL;
    bool forkless = forklessWanted(CHILD_SLOTS);
    if ((forkless || tlsIs(x->conn)) && !childPipeOpen(fds)) err = strerror(errno);
    struct childTask *task = zcalloc(1, sizeof *task);
    *task = (struct childTask){.forkless = forkless, .pipe = fds[1]};
    bool started = !err && (forkless ? migrationExportStartThread(x->job, task, &err)
                                     : migrationExportStartProcess(x, task, &err));
    if (fds[1] >= 0 && !(started && forkless)) close(fds[1]);
    x->pipe = fds[0];
    if (started) return true;
    serverLog(LL_WARNING, "The snapshot of slot migration %s cannot be started: %s", x->job->name, err);
    zfree(task);
    return false;
}

/* Starts the child. If another one is alive, the next turn tries again. */
static void migrationExportBeginSnapshot(struct migrationExport *x) {
    if (childRunning() != CHILD_NONE || snapshot) return;
    bool good = migrationExportStartChild(x);
    if (!good) {
        jobFail(x->job, "Failed to start snapshot");
        return;
    }
    x->child_started = true;
    snapshot = x;
    migrationExportSubscribe(true);
    jobStep(x->job, EV_SNAPSHOT_BEGUN);
}

static void migrationExportWatch(struct migrationExport *x) {
    if (x->pipe < 0 || x->watched || sdslen(x->out) - x->sent > OUT_BYTES) return;
    x->watched = aeCreateFileEvent(server_el, x->pipe, AE_READABLE, migrationExportOnPipe, x) == 0;
}

/* ---- Messages and actions ---- */

static void migrationExportSendWords(struct migrationExport *x, int argc, const struct str *argv) {
    sds s = sdsnewlen(NULL, respRequestRoom(argc, argv));
    char *end = respWriteRequest(s, argc, argv);
    x->out = sdscatlen(x->out, s, (size_t)(end - s));
    sdsfree(s);
}

static void migrationExportSendWord(struct migrationExport *x, const char *word) {
    struct str argv[] = {STR("CLUSTER"), STR("SYNCSLOTS"), strOf(word)};
    migrationExportSendWords(x, 3, argv);
}

static void migrationExportSendAuth(struct migrationExport *x) {
    sds user = configGet("primaryuser"), password = configGet("primaryauth");
    bool named = user && sdslen(user);
    struct str argv[3] = {STR("AUTH"), named ? sdsview(user) : sdsview(password), sdsview(password)};
    migrationExportSendWords(x, named ? 3 : 2, argv);
    sdsfree(user);
    sdsfree(password);
}

static void migrationExportSendEstablish(struct migrationExport *x) {
    struct rioWriter w;
    rioWriterInit(&w, rioSinkSds, &x->out);
    jobWriteEstablish(&w, x->job);
    rioFlush(&w);
    rioWriterFree(&w);
}

static void migrationExportAppendHeld(struct migrationExport *x) {
    x->out = sdscatlen(x->out, x->held, sdslen(x->held));
    sdsfree(x->held);
    x->held = sdsempty();
}

static int64_t migrationExportPauseMs(void) {
    return 2 * cluster_engine.settings.manual_failover_timeout_ms;
}

void exportDo(struct migrationJob *job, unsigned actions) {
    struct migrationExport *x = job->link;
    serverAssert(job->m.export);
    if (!x) return;
    if (actions & DO_SEND_AUTH) migrationExportSendAuth(x);
    if (actions & DO_SEND_ESTABLISH) migrationExportSendEstablish(x);
    if (actions & DO_SEND_ACK) migrationExportSendWord(x, "ACK");
    if (actions & DO_SEND_SNAPSHOT_EOF) {
        migrationExportSendWord(x, "SNAPSHOT-EOF");
        migrationExportAppendHeld(x);
    }
    if (actions & DO_PAUSE) {
        serverLog(
            LL_NOTICE,
            "Pausing writes (remaining_repl_size is %llu) to allow slot migration {name: %s} to finalize "
            "failover.",
            (unsigned long long)exportQueued(job), job->name);
        pauseClients(PAUSE_SLOT_MIGRATION, PAUSE_WRITES, clusterNow() + migrationExportPauseMs());
        job->m.paused_until_ms = clusterNow() + migrationExportPauseMs();
    }
    if (actions & DO_SEND_PAUSED) migrationExportSendWord(x, "PAUSED");
    if (actions & DO_EXTEND_PAUSE) {
        int64_t until_ms = clusterNow() + MIGRATION_GRANTED_MS;
        if (until_ms > job->m.paused_until_ms) job->m.paused_until_ms = until_ms;
        pauseClients(PAUSE_SLOT_MIGRATION, PAUSE_WRITES, job->m.paused_until_ms);
    }
    if (actions & DO_SEND_GRANTED) migrationExportSendWord(x, "FAILOVER-GRANTED");
    if (actions & DO_END) migrationExportFinish(job);
}

static bool migrationExportIsDrained(const struct migrationExport *x) {
    int64_t limit = cluster_settings.migration_max_repl_bytes;
    return limit < 0 || exportQueued(x->job) <= (uint64_t)limit;
}

/* Applies the limits of replicas to a target that reads too slowly. What waits of a snapshot is limited by
 * OUT_BYTES. */
static bool migrationExportIsOverLimit(struct migrationExport *x) {
    uint64_t waiting = exportQueued(x->job) - x->of_snapshot;
    if (!clientOutputIsTooMuch(CLIENT_CLASS_REPLICA, waiting, &x->soft_since_s)) return false;
    serverLog(
        LL_WARNING,
        "Slot migration %s: its target takes too little, closing the connection for overcoming of output "
        "buffer limits.",
        x->job->name);
    clientstats.output_limit_disconnects++;
    return true;
}

/* Reclaims slots that the target was granted and has not claimed as far as this node knows. The target may
 * have claimed them where this node cannot see it, or have died: then no other node knows, and what is
 * written here from now on would be lost when it comes back. So this node takes an epoch above any that the
 * target can have. It must reach most voters first: those that know of the claim answer with it. Returns
 * false if the slots may belong to the target. */
static bool migrationExportReclaim(struct migrationJob *job) {
    if (!job->reclaims || !engineIsEpochReserved(&cluster_engine)) return false;
    engineBumpEpoch(&cluster_engine, clusterNow());
    jobFail(job, "The target has not claimed the slots in time, and does not get them any more");
    return true;
}

static void migrationExportPrepareReclaim(struct migrationJob *job) {
    if (job->m.state != EXPORT_GRANTED || job->reclaims) return;
    if (job->m.paused_until_ms - clusterNow() > MIGRATION_GRANTED_MS - MIGRATION_FRESH_MS) return;
    job->reclaims = true;
    engineReserveNewEpoch(&cluster_engine, clusterNow());
}

void exportEndOfTurn(struct migrationJob *job) {
    struct migrationExport *x = job->link;
    if (!x) return;
    if (x->conn && !x->conn->write_handler) migrationExportFlush(x);
    if (job->link && x->conn && migrationExportIsOverLimit(x)) migrationExportHandleLoss(x);
    if (!job->link) return;
    migrationExportWatch(x);
    if (job->m.state == EXPORT_WAITING_TO_SNAPSHOT && exportQueued(job) == 0) migrationExportBeginSnapshot(x);
    if (!job->link) return;
    migrationExportPrepareReclaim(job);
    bool paused = job->m.state == EXPORT_PAUSED || job->m.state == EXPORT_GRANTED;
    if (paused && clusterNow() >= job->m.paused_until_ms && !migrationExportReclaim(job))
        jobStep(job, EV_PAUSE_ENDED);
    if (!job->link || job->m.state != EXPORT_WAITING_TO_PAUSE || !migrationExportIsDrained(x) ||
        jobsAnyClaimsSlots() || migration_debug.prevent_pause)
        return;
    jobStep(job, EV_DRAINED);
    if (job->link && x->conn && !x->conn->write_handler) migrationExportFlush(x);
}
