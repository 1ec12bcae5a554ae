/* SPDX-License-Identifier: BSD-3-Clause */
/* full_sync_direct.c - see full_sync_direct.h. */
#include "repl/full_sync_direct.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include "base/assert.h"
#include "base/linked_list.h"
#include "base/log.h"
#include "base/zmalloc.h"
#include "client/client_output.h"
#include "client/reply.h"
#include "command/command.h"
#include "data/child.h"
#include "net/connection.h"
#include "registry/cron.h"
#include "registry/debug.h"
#include "registry/server_events.h"
#include "repl/history.h"
#include "repl/repl_settings.h"

#define GRACE_S 5

/* ---- Main connections that are waited for ---- */

struct awaited {
    struct listNode node;
    uint64_t client_id;
    struct chainReader reader; /* keeps the stream until the main connection reads it */
    bool main_reads;           /* the main connection reads the stream itself */
    int64_t soft_since_s;      /* since when more is kept than the soft limit of replicas; 0: less is kept */
    int64_t sent_ms;           /* when the snapshot had been sent; 0: it is being sent */
};
static struct list awaited;
static int64_t grace_s = GRACE_S;

static struct awaited *fullSyncDirectFindAwaited(uint64_t client_id) {
    listForEach(&awaited, it) {
        struct awaited *a = listEntry(it, struct awaited, node);
        if (a->client_id == client_id) return a;
    }
    return NULL;
}

static void fullSyncDirectAwait(const struct replicaClient *r, uint64_t offset) {
    serverLog(LL_NOTICE,
              "Dual channel replication: for replica %s the snapshot ends at offset %llu; the RDB channel is "
              "client %llu",
              replicaName(r), (unsigned long long)offset, (unsigned long long)r->client->id);
    struct awaited *a = zcalloc(1, sizeof *a);
    a->client_id = r->client->id;
    bool kept = chainReaderStart(&a->reader, &history.chain, offset);
    serverAssert(kept);
    listAddTail(&awaited, &a->node);
}

static void fullSyncDirectDrop(struct awaited *a) {
    chainReaderStop(&a->reader);
    listRemove(&awaited, &a->node);
    zfree(a);
}

/* Drops the entry and closes the connection for the snapshot, on which nothing more is sent. */
static void fullSyncDirectRelease(struct awaited *a) {
    struct client *c = clientById(a->client_id);
    if (c) clientClose(c);
    fullSyncDirectDrop(a);
}

void syncDirectNoteSent(const struct replicaClient *r) {
    struct awaited *a = fullSyncDirectFindAwaited(r->client->id);
    if (a) a->sent_ms = cmd_time_ms;
}

void syncDirectForget(const struct replicaClient *r) {
    struct awaited *a = fullSyncDirectFindAwaited(r->client->id);
    if (a && !a->sent_ms) fullSyncDirectDrop(a);
}

void syncDirectMainReads(uint64_t rdb_client_id) {
    struct awaited *a = fullSyncDirectFindAwaited(rdb_client_id);
    if (!a) return;
    chainReaderStop(&a->reader);
    a->main_reads = true;
}

void syncDirectLimit(void) {
    listForEach(&awaited, it) {
        struct awaited *a = listEntry(it, struct awaited, node);
        size_t bytes = a->main_reads ? 0 : chainReaderMemory(&a->reader, &history.chain);
        if (!clientOutputIsTooMuch(CLIENT_CLASS_REPLICA, bytes, &a->soft_since_s)) continue;
        serverLog(
            LL_WARNING,
            "Dual channel replication: the stream that is kept for RDB client %llu takes %zu bytes, more "
            "than the output buffer limit of replicas. Its synchronization ends.",
            (unsigned long long)a->client_id, bytes);
        clientstats.output_limit_disconnects++;
        fullSyncDirectRelease(a);
    }
}

void syncDirectDropAll(void) {
    listForEach(&awaited, it) fullSyncDirectRelease(listEntry(it, struct awaited, node));
}

bool syncDirectIsWaiting(uint64_t rdb_client_id) {
    return fullSyncDirectFindAwaited(rdb_client_id) != NULL;
}

static bool fullSyncDirectHasMain(uint64_t client_id) {
    listForEach(&replicas, it) {
        if (listEntry(it, struct replicaClient, node)->rdb_client_id == client_id) return true;
    }
    return false;
}

void syncDirectExpire(void) {
    syncDirectLimit();
    listForEach(&awaited, it) {
        struct awaited *a = listEntry(it, struct awaited, node);
        int64_t waited_ms = a->sent_ms ? cmd_time_ms - a->sent_ms : 0;
        bool has_main = fullSyncDirectHasMain(a->client_id);
        if (has_main ? a->sent_ms > 0 : a->main_reads) {
            fullSyncDirectRelease(a); /* all has been sent, or the main connection is closed again */
        } else if (waited_ms > grace_s * 1000) {
            serverLog(LL_NOTICE,
                      "Dual channel replication: Replica main channel failed to establish PSYNC within the "
                      "grace period (%lld seconds). Freeing RDB client %llu.",
                      (long long)waited_ms / 1000, (unsigned long long)a->client_id);
            fullSyncDirectRelease(a);
        }
    }
}

size_t syncDirectCountReaders(void) {
    size_t count = 0;
    listForEach(&awaited, it) count += !listEntry(it, struct awaited, node)->main_reads;
    return count;
}

size_t syncDirectCountAwaited(void) {
    size_t count = 0;
    listForEach(&awaited, it) count += !fullSyncDirectHasMain(listEntry(it, struct awaited, node)->client_id);
    return count;
}

/* ---- The line before the snapshot ---- */

#define LINE_ROOM 128

static int fullSyncDirectFormatOffset(char line[LINE_ROOM], const struct rdbReplication *at,
                                      uint64_t client_id) {
    return snprintf(line, LINE_ROOM, "$ENDOFF:%lld %s %d %llu\r\n", (long long)at->offset, at->id,
                    at->stream_db, (unsigned long long)client_id);
}

void syncDirectAnnounce(struct replicaClient *r, const struct rdbReplication *at) {
    char line[LINE_ROOM];
    fullSyncDirectFormatOffset(line, at, r->client->id);
    replicaSend(r, "%s", line);
    fullSyncDirectAwait(r, (uint64_t)at->offset);
}

/* ---- The child ---- */

struct directTarget {
    struct connection *conn;
    uint64_t client_id;
    bool broken;
};
static struct {
    bool running;
    int members;
    const struct syncPlan *plan;
    struct directTarget *targets; /* the child's */
    int count;
} direct;

/* Sends n bytes. A connection that fails is shut down, which ends it for the parent as well. */
static void fullSyncDirectSendTo(struct directTarget *t, const char *p, size_t n) {
    if (t->broken || childSendWhole(t->conn, p, n, repl_timeout_s * 1000)) return;
    t->broken = true;
    shutdown(t->conn->fd, SHUT_RDWR);
}

static int fullSyncDirectSendToAll(void *priv, const char *p, size_t n) {
    (void)priv;
    int alive = 0;
    for (int i = 0; i < direct.count; i++) {
        fullSyncDirectSendTo(&direct.targets[i], p, n);
        alive += !direct.targets[i].broken;
    }
    return alive ? 0 : EPIPE;
}

static void fullSyncDirectSendOffset(struct directTarget *t, const struct rdbReplication *at) {
    char line[LINE_ROOM];
    int n = fullSyncDirectFormatOffset(line, at, t->client_id);
    t->conn->el = NULL; /* the loop is the parent's */
    fullSyncDirectSendTo(t, line, (size_t)n);
}

static int fullSyncDirectRunChild(void *priv) {
    (void)priv;
    struct rioWriter w;
    for (int i = 0; i < direct.count; i++)
        fullSyncDirectSendOffset(&direct.targets[i], &direct.plan->replication);
    rioWriterInit(&w, fullSyncDirectSendToAll, NULL);
    serverEvent(SERVER_PERSISTENCE, EVENT_RDB, NULL);
    bool ok = transferWriteMarked(&w, direct.plan);
    serverEvent(SERVER_PERSISTENCE, ok ? EVENT_SAVED : EVENT_NOT_SAVED, NULL);
    rioWriterFree(&w);
    return ok ? 0 : 1;
}

/* ---- The parent ---- */

static const struct transferMethods direct_methods;

static void fullSyncDirectOnChildEnd(int exit_code, int sig, void *priv) {
    (void)priv;
    direct.running = false;
    clientstats.net_out += childSentBytes();
    replstats.net_out += childSentBytes();
    bool ok = transferChildSucceeded(exit_code, sig);
    listForEach(&replicas, it) {
        struct replicaClient *r = listEntry(it, struct replicaClient, node);
        if (!r->transfer || transferOf(r)->methods != &direct_methods) continue;
        if (ok) syncDirectNoteSent(r);
        transferEnded(r, ok);
    }
    syncDirectExpire();
}

/* The socket is shut down, as the child holds it, too. A child that is almost done is not stopped: it has yet
 * to report how many bytes it sent. */
static void fullSyncDirectLeave(struct replicaClient *r) {
    zfree(r->transfer);
    r->transfer = NULL;
    if (!direct.running) return;
    shutdown(r->client->conn->fd, SHUT_RDWR);
    if (--direct.members || childIsAlmostDone()) return;
    serverLog(LL_NOTICE, "Diskless rdb transfer, last replica dropped, killing fork child.");
    childStop();
}

static const struct transferMethods direct_methods = {.leave = fullSyncDirectLeave};

static void fullSyncDirectJoin(struct replicaClient *r, uint64_t offset) {
    struct syncTransfer *t = zcalloc(1, sizeof *t);
    t->methods = &direct_methods;
    r->transfer = t;
    fullSyncDirectAwait(r, offset);
    direct.members++;
}

bool syncDirectRunning(void) {
    return direct.running;
}

bool syncDirectStart(const struct syncPlan *plan, struct syncMembers members, const char **err) {
    struct directTarget *targets = zcalloc((size_t)members.count, sizeof *targets);
    int *fds = zmalloc((size_t)members.count * sizeof *fds);
    for (int i = 0; i < members.count; i++) {
        struct client *c = members.at[i]->client;
        targets[i] = (struct directTarget){c->conn, c->id, false};
        fds[i] = c->conn->fd;
    }
    direct.plan = plan;
    direct.targets = targets;
    direct.count = members.count;
    direct.running = childStartWith(CHILD_RDB, fullSyncDirectRunChild, fullSyncDirectOnChildEnd, NULL, fds,
                                    members.count, err);
    direct.members = 0;
    for (int i = 0; direct.running && i < members.count; i++)
        fullSyncDirectJoin(members.at[i], (uint64_t)plan->replication.offset);
    zfree(targets);
    zfree(fds);
    return direct.running;
}

static void fullSyncDirectDebugGrace(struct client *c) {
    int64_t seconds;
    if (!argRange(c, c->argv[2], 0, INT32_MAX, &seconds, NULL)) return;
    grace_s = seconds;
    replyOk(c);
}

void syncDirectInit(void) {
    static const char *const help[] = {
        "DELAY-RDB-CLIENT-FREE-SECONDS <seconds>",
        "    Time after its snapshot in which a replica's main connection must request the stream.",
        NULL,
    };
    static const struct debugSubcommand grace = {"delay-rdb-client-free-seconds", 1, 1,
                                                 fullSyncDirectDebugGrace, help};
    debugRegister(&grace);
    listInit(&awaited);
}
