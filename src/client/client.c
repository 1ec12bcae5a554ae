/* client.c - life of clients, and sending what they are owed.
 *
 * A client is freed in clientFreeClosed(), before the loop sleeps:
 * nobody else has to fear that one vanishes. */
#include "client/client.h"

#include <errno.h>
#include <limits.h>

#include "base/assert.h"
#include "base/log.h"
#include "base/num.h"
#include "base/zmalloc.h"
#include "command/blocking.h"
#include "acl/client_auth.h"
#include "client/client_evict.h"
#include "client/client_log.h"
#include "registry/config.h"
#include "registry/cron.h"
#include "data/db.h"
#include "registry/info.h"
#include "command/multi.h"
#include "command/pause.h"
#include "command/pubsub.h"
#include "client/reply.h"
#include "client/reply_block.h"
#include "command/round.h"
#include "command/tracking.h"
#include "net/connection.h"

#define WRITE_IOV_MAX  64
#define FREE_HOOKS_MAX 16
#define OUTPUT_FREE    (16 * 1024) /* bytes */
#define RECENT_SECONDS 8
#define CLASS_WORDS    4 /* of a class in client-output-buffer-limit: name hard soft seconds */

struct list clients;
static struct hashtable by_id;
struct client *current_client;
struct clientStats clientstats;

static uint64_t next_id = 1;
static struct list closing, writing;
/* `writing` holds some who did not ask, as subscribers: who publishes to thousands need not wait for them
 * all. */
static bool unasked_waiting;
static void (*free_hooks[FREE_HOOKS_MAX])(struct client *c);
static int free_hook_count;

/* client-output-buffer-limit; 0: none. */
struct outputLimit {
    uint64_t hard, soft;
    int64_t soft_s;
};
#define DEFAULT_LIMITS                                                                                       \
    { [CLIENT_CLASS_REPLICA] = {256 << 20, 64 << 20, 60}, [CLIENT_CLASS_PUBSUB] = {32 << 20, 8 << 20, 60}, }
static struct outputLimit limits[CLIENT_CLASSES] = DEFAULT_LIMITS;
static const struct outputLimit default_limits[CLIENT_CLASSES] = DEFAULT_LIMITS;
static const char *const class_names[CLIENT_CLASSES] = {"normal", "slave", "pubsub"};
static int64_t idle_timeout_s; /* 0: clients may be silent for ever */
/* The largest buffers of each of the last seconds, in a ring. */
static struct { size_t input, output; } recent_max[RECENT_SECONDS];

static size_t over_soft; /* clients whose output is above the soft limit */

void clientOnFree(void (*fn)(struct client *c)) {
    serverAssert(free_hook_count < FREE_HOOKS_MAX);
    free_hooks[free_hook_count++] = fn;
}

/* ---- Life ---- */

static struct str idKey(const void *entry) {
    const struct client *c = entry;
    return strN((const char *)&c->id, sizeof c->id);
}
static const struct hashtableType by_id_type = {.entryKey = idKey};

struct client *clientCreate(struct connection *conn) {
    struct client *c = zcalloc(1, sizeof *c);
    c->id = next_id++;
    c->resp = 2;
    c->conn = conn;
    c->db = dbGet(0);
    c->created_ms = c->last_active_ms = cmd_time_ms;
    if (conn) {
        conn->data = c;
        listAddTail(&clients, &c->node);
        hashtableAdd(&by_id, c);
        connSetReadHandler(conn, roundReadHandler);
    }
    return c;
}

void clientClose(struct client *c) {
    if (c->flags & CLIENT_CLOSE_ASAP) return;
    c->flags |= CLIENT_CLOSE_ASAP;
    listAddTail(&closing, &c->close_node);
}

void clientCloseAfterReply(struct client *c) {
    c->flags |= CLIENT_CLOSE_AFTER_REPLY;
    if (!c->conn) return;
    connSetReadHandler(c->conn, NULL); /* nobody takes its input: it must not wake the loop */
    if (!c->out_head) clientClose(c);
}

static void noteSoft(struct client *c, int64_t since_s) {
    over_soft += (since_s != 0) - (size_t)(c->out_soft_since_s != 0);
    c->out_soft_since_s = since_s;
}

void clientFreeNow(struct client *c) {
    noteSoft(c, 0);
    for (int i = 0; i < free_hook_count; i++) free_hooks[i](c);
    blockingForgetClient(c);
    roundForgetClient(c);
    if (c->flags & CLIENT_CLOSE_ASAP) listRemove(&closing, &c->close_node);
    if (listLinked(&c->write_node)) listRemove(&writing, &c->write_node);
    if (c->conn) {
        listRemove(&clients, &c->node);
        hashtablePop(&by_id, idKey(c));
        connClose(c->conn);
    }
    replyFreeChain(c);
    respParserReset(&c->parser);
    respBigArgsFree(c->big_args);
    sdsfree(c->querybuf);
    sdsfree(c->input_error);
    sdsfree(c->name);
    sdsfree(c->lib_name);
    sdsfree(c->lib_ver);
    sdsfree(c->peer);
    sdsfree(c->sock);
    zfree(c);
}

void clientFreeClosed(void) {
    listForEach(&closing, it) clientFreeNow(listEntry(it, struct client, close_node));
}

void clientForEach(void (*fn)(void *priv, struct client *c), void *priv) {
    listForEach(&clients, it) fn(priv, listEntry(it, struct client, node));
}

struct client *clientById(uint64_t id) {
    return hashtableFind(&by_id, strN((const char *)&id, sizeof id));
}

void clientSetName(struct client *c, struct str name) {
    sdsfree(c->name);
    c->name = name.len ? sdsnewstr(name) : NULL;
}

sds clientPeerName(struct client *c) {
    if (!c->peer) c->peer = c->conn ? connPeerName(c->conn) : sdsempty();
    return c->peer;
}

sds clientSockName(struct client *c) {
    if (!c->sock) c->sock = c->conn ? connSockName(c->conn) : sdsempty();
    return c->sock;
}

size_t clientMemory(const struct client *c) {
    size_t n = zmallocSize(c) + (c->querybuf ? sdsAllocSize(c->querybuf) : 0) + c->parser.big_bytes;
    if (c->name) n += sdsAllocSize(c->name);
    return n + c->out_mem + pubsubMemory(c) + multiMemory(c) + trackingMemory(c);
}

/* ---- Arguments ---- */

bool clientArgIsBig(const struct client *c, int i) {
    for (struct respBigArg *b = c->big_args; b; b = b->next) {
        if (b->index == i && b->buf) return true;
    }
    return false;
}

sds clientTakeArg(struct client *c, int i) {
    for (struct respBigArg *b = c->big_args; b; b = b->next) {
        if (b->index != i || !b->buf) continue;
        sds taken = b->buf;
        b->buf = NULL;
        return taken;
    }
    return sdsnewstr(c->argv[i]);
}

/* ---- Limits of output ---- */

enum clientClass clientClassOf(const struct client *c) {
    return c->flags & CLIENT_PUBSUB ? CLIENT_CLASS_PUBSUB : CLIENT_CLASS_NORMAL;
}

/* As in Redis, what fits into a reply buffer does not count: with any limit a client gets short replies.
 * Who has not given the password that is asked for gets no more than that. */
static bool overLimit(struct client *c, size_t pending) {
    const struct outputLimit *l = &limits[clientClassOf(c)];
    size_t bytes = pending > OUTPUT_FREE ? pending - OUTPUT_FREE : 0;
    if (__builtin_expect(!(c->flags & CLIENT_AUTHENTICATED), 0) && bytes && authRequired()) return true;
    if (l->hard && bytes >= l->hard) return true;
    bool soft = l->soft && bytes >= l->soft;
    if (!soft) {
        if (c->out_soft_since_s) noteSoft(c, 0);
        return false;
    }
    int64_t now_s = cmd_time_ms / 1000;
    if (!c->out_soft_since_s) noteSoft(c, now_s);
    return now_s - c->out_soft_since_s > l->soft_s;
}

void clientCheckOutput(struct client *c, size_t more) {
    if (__builtin_expect(client_weighing, 0)) clientWeigh(c);
    if (!c->conn || c->flags & CLIENT_CLOSE_ASAP || !overLimit(c, replyPending(c) + more)) return;
    sds info = clientLogLine(c, sdsempty());
    serverLog(LL_WARNING, "Client %s scheduled to be closed ASAP for overcoming of output buffer limits.",
              info);
    sdsfree(info);
    clientstats.output_limit_disconnects++;
    clientClose(c);
}

/* Those above the soft limit whose time has passed without a further byte. */
static void checkSoftLimits(void) {
    if (!over_soft) return;
    listForEach(&clients, it) {
        struct client *c = listEntry(it, struct client, node);
        if (c->out_soft_since_s) clientCheckOutput(c, 0);
    }
}

/* Those who have neither asked nor been told anything for too long. Who waits for something may be silent. */
static void closeIdle(void) {
    if (!idle_timeout_s) return;
    listForEach(&clients, it) {
        struct client *c = listEntry(it, struct client, node);
        if (c->flags & (CLIENT_BLOCKED | CLIENT_PAUSED | CLIENT_CLOSE_ASAP)) continue;
        if (clientClassOf(c) != CLIENT_CLASS_NORMAL) continue;
        if ((cmd_time_ms - c->last_active_ms) / 1000 <= idle_timeout_s) continue;
        serverLog(LL_VERBOSE, "Closing idle client");
        clientClose(c);
    }
}

static int classByName(struct str name) {
    if (strIs(name, "replica")) return CLIENT_CLASS_REPLICA;
    for (int i = 0; i < CLIENT_CLASSES; i++) {
        if (strIs(name, class_names[i])) return i;
    }
    return -1;
}

static bool setLimits(const struct configDirective *d, int argc, const struct str *argv, const char **err) {
    (void)d;
    if (argc == 1 && argv[0].len == 0) return true;
    struct outputLimit now[CLIENT_CLASSES];
    memcpy(now, limits, sizeof now);
    if (argc % CLASS_WORDS) {
        *err = "Wrong number of arguments in buffer limit configuration.";
        return false;
    }
    for (int i = 0; i < argc; i += CLASS_WORDS) {
        int class = classByName(argv[i]);
        if (class < 0) {
            *err = "Invalid client class specified in buffer limit configuration.";
            return false;
        }
        struct outputLimit *l = &now[class];
        if (!memtoull(argv[i + 1], &l->hard) || !memtoull(argv[i + 2], &l->soft) ||
            !string2ll(argv[i + 3], &l->soft_s) || l->soft_s < 0) {
            *err = "Error in hard, soft or soft_seconds setting in buffer limit configuration.";
            return false;
        }
    }
    memcpy(limits, now, sizeof limits);
    return true;
}

static sds getLimits(const struct configDirective *d) {
    (void)d;
    sds s = sdsempty();
    for (int i = 0; i < CLIENT_CLASSES; i++) {
        s = sdscatprintf(s, "%s%s %llu %llu %lld", i ? " " : "", class_names[i],
                         (unsigned long long)limits[i].hard, (unsigned long long)limits[i].soft,
                         (long long)limits[i].soft_s);
    }
    return s;
}

/* For a file: the classes that were changed, or all of them when none was. */
static sds limitLines(const struct configDirective *d) {
    (void)d;
    bool changed = memcmp(limits, default_limits, sizeof limits) != 0;
    sds s = sdsempty();
    for (int i = 0; i < CLIENT_CLASSES; i++) {
        if (changed && memcmp(&limits[i], &default_limits[i], sizeof limits[i]) == 0) continue;
        s = sdscatprintf(s, "%s%s ", sdslen(s) ? "\n" : "",
                         i == CLIENT_CLASS_REPLICA ? "replica" : class_names[i]);
        s = sdscat(configAppendMemory(s, (int64_t)limits[i].hard), " ");
        s = sdscatprintf(configAppendMemory(s, (int64_t)limits[i].soft), " %lld",
                         (long long)limits[i].soft_s);
    }
    return s;
}

/* ---- Output ---- */

void clientWriteLater(struct client *c) {
    if (!c->conn || listLinked(&c->write_node)) return;
    bool asked = c->flags & CLIENT_EXECUTING;
    if (asked && unasked_waiting)
        listAddHead(&writing, &c->write_node);
    else
        listAddTail(&writing, &c->write_node);
    unasked_waiting |= !asked;
}

static void dropSent(struct client *c, size_t n) {
    n += c->out_sent;
    while (c->out_head && n >= c->out_head->used) {
        struct replyBlock *b = c->out_head;
        n -= b->used;
        c->out_bytes -= b->used;
        c->out_mem -= sizeof *b + b->cap;
        c->out_head = b->next;
        replyBlockFree(b);
    }
    if (!c->out_head) c->out_tail = NULL;
    c->out_sent = n;
}

/* Sends until the chain is empty or the socket is full. False when the connection is broken. */
static bool writeChain(struct client *c) {
    while (c->out_head) {
        struct iovec iov[WRITE_IOV_MAX];
        int count = 0;
        size_t skip = c->out_sent, want = 0;
        for (struct replyBlock *b = c->out_head; b && count < WRITE_IOV_MAX; b = b->next) {
            iov[count].iov_base = b->buf + skip;
            iov[count].iov_len = b->used - skip;
            want += iov[count++].iov_len;
            skip = 0;
        }
        ssize_t n = connWritev(c->conn, iov, count);
        if (n < 0) return errno == EAGAIN || errno == EINTR;
        clientstats.writes++;
        clientstats.net_out += (uint64_t)n;
        c->net_out += (uint64_t)n;
        c->last_active_ms = cmd_time_ms;
        dropSent(c, (size_t)n);
        if ((size_t)n < want) return true;
    }
    return true;
}

static bool sendChain(struct client *c) {
    bool whole = writeChain(c);
    if (__builtin_expect(client_weighing, 0)) clientWeigh(c);
    return whole;
}

static void writeHandler(struct connection *conn) {
    struct client *c = conn->data;
    if (c->flags & CLIENT_CLOSE_ASAP) return;
    if (!sendChain(c)) {
        clientClose(c);
    } else if (!c->out_head) {
        connSetWriteHandler(conn, NULL);
        if (c->flags & CLIENT_CLOSE_AFTER_REPLY) clientClose(c);
    }
}

void clientsWritePending(void) {
    unasked_waiting = false;
    listForEach(&writing, it) {
        struct client *c = listEntry(it, struct client, write_node);
        listRemove(&writing, it);
        if (c->flags & CLIENT_CLOSE_ASAP) continue;
        if (c->out_bytes > clientstats.max_output_buffer) clientstats.max_output_buffer = c->out_bytes;
        clientCheckOutput(c, 0);
        if (c->flags & CLIENT_CLOSE_ASAP) continue;
        if (!sendChain(c))
            clientClose(c);
        else if (c->out_head)
            connSetWriteHandler(c->conn, writeHandler);
        else if (c->flags & CLIENT_CLOSE_AFTER_REPLY)
            clientClose(c);
    }
}

/* ---- INFO ---- */

static void nextSecond(void) {
    static unsigned second;
    recent_max[second % RECENT_SECONDS].input = clientstats.max_input_buffer;
    recent_max[second % RECENT_SECONDS].output = clientstats.max_output_buffer;
    clientstats.max_input_buffer = clientstats.max_output_buffer = 0;
    second++;
}

static void clientResetStats(void) {
    clientstats = (struct clientStats){0};
}

static sds clientsInfo(sds s) {
    size_t input = clientstats.max_input_buffer, output = clientstats.max_output_buffer;
    for (int i = 0; i < RECENT_SECONDS; i++) {
        if (recent_max[i].input > input) input = recent_max[i].input;
        if (recent_max[i].output > output) output = recent_max[i].output;
    }
    s = infoField(s, "connected_clients:%zu", clients.length);
    s = infoField(s, "client_recent_max_input_buffer:%zu", input);
    s = infoField(s, "client_recent_max_output_buffer:%zu", output);
    s = infoField(s, "blocked_clients:%llu", (unsigned long long)(blockedClients() + pausedClients()));
    s = infoField(s, "clients_in_timeout_table:%llu", (unsigned long long)blockedTimeouts());
    s = infoField(s, "watching_clients:%zu", multiWatchingClients());
    s = infoField(s, "total_watched_keys:%zu", multiWatchedKeys());
    s = infoField(s, "total_blocking_keys:%llu", (unsigned long long)blockedKeys());
    return infoField(s, "total_blocking_keys_on_nokey:%llu", (unsigned long long)blockedKeysOnDelete());
}

static sds statsInfo(sds s) {
    s = infoField(s, "total_connections_received:%llu", (unsigned long long)clientstats.connections);
    s = infoField(s, "total_net_input_bytes:%llu", (unsigned long long)clientstats.net_in);
    s = infoField(s, "total_net_output_bytes:%llu", (unsigned long long)clientstats.net_out);
    s = infoField(s, "rejected_connections:%llu", (unsigned long long)clientstats.rejected);
    s = infoField(s, "total_reads_processed:%llu", (unsigned long long)clientstats.reads);
    s = infoField(s, "total_writes_processed:%llu", (unsigned long long)clientstats.writes);
    return infoField(s, "client_output_buffer_limit_disconnections:%llu",
                     (unsigned long long)clientstats.output_limit_disconnects);
}

void clientCoreInit(void) {
    listInit(&clients);
    listInit(&closing);
    listInit(&writing);
    hashtableInit(&by_id, &by_id_type);
    infoRegister("clients", clientsInfo);
    infoRegister("stats", statsInfo);
    configOnResetStat(clientResetStats);
    cronRegister(checkSoftLimits, 1000);
    cronRegister(closeIdle, 1000);
    cronRegister(nextSecond, 1000);
    static struct configDirective directives[] = {
        {.name = "client-output-buffer-limit",
         .type = CONFIG_TYPE_SPECIAL,
         .flags = CONFIG_MODIFIABLE | CONFIG_MULTI_ARG,
         .set = setLimits,
         .get = getLimits,
         .lines = limitLines},
        CONFIG_INT("timeout", NULL, CONFIG_MODIFIABLE, &idle_timeout_s, 0, 0, INT32_MAX, NULL),
    };
    configRegister(directives, sizeof directives / sizeof *directives);
}
