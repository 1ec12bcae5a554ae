/* SPDX-License-Identifier: BSD-3-Clause */
/* client.c - the lifetime of clients.
 *
 *     clients    all that have a connection, in order of connection; by_id finds them by their number
 *     closing    clients that are to be freed, the first to be freed first
 *
 * A client is freed in clientFreeClosed(), before the loop sleeps, so pointers stay valid until then. */
#include "client/client.h"

#include <stddef.h>

#include "base/assert.h"
#include "base/log.h"
#include "base/read_phase.h"
#include "base/zmalloc.h"
#include "client/client_offload.h"
#include "client/client_stream.h"
#include "data/keyspace/db.h"
#include "ds/hashtable.h"
#include "net/connection.h"
#include "registry/config.h"
#include "registry/cron.h"
#include "registry/info.h"
#include "registry/server_events.h"

#define HOOKS_MAX      24
#define RECENT_SECONDS 8
#define CACHE_LINE     64
/* A size class of the allocator; the next one costs an idle client 64 bytes more. */
#define MEMORY_MAX 448

/* Fields that every command uses share a cache line; output has a line of its own. */
_Static_assert(offsetof(struct client, resp) < CACHE_LINE, "the running command is on the first line");
_Static_assert(offsetof(struct client, out) == CACHE_LINE && sizeof(struct clientOutput) == CACHE_LINE,
               "output is a line");
_Static_assert(offsetof(struct client, in) == 2 * CACHE_LINE, "input stands behind output");
_Static_assert(sizeof(struct client) <= MEMORY_MAX, "an idle client is small");

struct list clients;
static struct hashtable by_id;
struct clientStats clientstats;

static uint64_t next_id = 1;
static struct client *closing, **closing_end = &closing;
static void (*read_handler)(struct connection *conn);
static void (*free_hooks[HOOKS_MAX])(struct client *c);
static size_t (*memory_hooks[HOOKS_MAX])(const struct client *c);
static int free_hook_count, memory_hook_count;

static int64_t idle_timeout_s; /* 0: idle clients are not closed */
/* The largest buffers in each of the last seconds, a ring. */
static struct { size_t input, output; } recent_max[RECENT_SECONDS];

/* ---- Parts of other modules ---- */

void clientSetReadHandler(void (*fn)(struct connection *conn)) {
    read_handler = fn;
}

void clientResumeReading(struct client *c) {
    connSetReadHandler(c->conn, read_handler);
}

void clientOnFree(void (*fn)(struct client *c)) {
    serverAssert(free_hook_count < HOOKS_MAX);
    free_hooks[free_hook_count++] = fn;
}

void clientOnMemory(size_t (*fn)(const struct client *c)) {
    serverAssert(memory_hook_count < HOOKS_MAX);
    memory_hooks[memory_hook_count++] = fn;
}

size_t clientMemory(const struct client *c) {
    size_t n = zmallocSize(c) + (c->querybuf ? sdsAllocSize(c->querybuf) : 0) + c->parser.big_bytes;
    n += c->out.mem;
    if (__builtin_expect(c->flags & CLIENT_OFFLOADED, 0))
        n += client_offload->pending(c) + client_offload->kept(c);
    for (int i = 0; i < memory_hook_count; i++) n += memory_hooks[i](c);
    return n;
}

/* ---- Lifetime ---- */

static struct str clientIdKey(const void *entry) {
    const struct client *c = entry;
    return strN((const char *)&c->id, sizeof c->id);
}
static const struct hashtableType by_id_type = {.entryKey = clientIdKey};

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
    }
    return c;
}

void clientClose(struct client *c) {
    serverAssert(!read_context.reads);
    if (c->flags & CLIENT_CLOSE_ASAP) return;
    c->flags |= CLIENT_CLOSE_ASAP;
    *closing_end = c;
    closing_end = &c->next_to_close;
}

static void clientRemoveFromClosing(struct client *c) {
    struct client **at = &closing;
    while (*at != c) at = &(*at)->next_to_close;
    *at = c->next_to_close;
    if (closing_end == &c->next_to_close) closing_end = at;
}

void clientCloseAfterReply(struct client *c) {
    c->flags |= CLIENT_CLOSE_AFTER_REPLY;
    if (!c->conn) return;
    connSetReadHandler(c->conn, NULL); /* its input is not read any more: it must not wake the loop */
    bool thread_has_output = c->flags & CLIENT_OFFLOADED && client_offload->pending(c);
    if (!c->out.head && !thread_has_output) clientClose(c);
}

/* Every part has been freed, and no list holds the client. */
static bool clientIsDetached(const struct client *c) {
    bool parts = c->session || c->limits || c->blocked || c->multi || c->pubsub || c->tracking || c->replica;
    bool listed = listLinked(&c->turn_node) || listLinked(&c->out.write_node) || listLinked(&c->paused_node);
    return !parts && !listed && !c->turn && !c->out.head;
}

void clientFreeNow(struct client *c) {
    if (c->conn && !(c->flags & CLIENT_PRIMARY)) serverEvent(SERVER_CLIENT, EVENT_ENDED, c);
    for (int i = free_hook_count; i-- > 0;) free_hooks[i](c);
    serverAssert(clientIsDetached(c));
    if (c->flags & CLIENT_CLOSE_ASAP) clientRemoveFromClosing(c);
    if (c->conn) {
        listRemove(&clients, &c->node);
        hashtablePop(&by_id, clientIdKey(c));
        connClose(c->conn);
    }
    respParserReset(&c->parser);
    sdsfree(c->querybuf);
    sdsfree(c->input_error);
    zfreeSized(c, sizeof *c);
}

void clientFreeClosed(void) {
    while (closing) clientFreeNow(closing);
}

void clientForEach(void (*fn)(void *priv, struct client *c), void *priv) {
    listForEach(&clients, it) fn(priv, listEntry(it, struct client, node));
}

struct client *clientById(uint64_t id) {
    return hashtableFind(&by_id, strN((const char *)&id, sizeof id));
}

/* ---- Jobs ---- */

/* Closes clients that have neither sent nor received anything for too long, except blocked ones. */
static void clientCloseIdle(void) {
    if (!idle_timeout_s) return;
    listForEach(&clients, it) {
        struct client *c = listEntry(it, struct client, node);
        if (c->flags & (CLIENT_BLOCKED | CLIENT_PAUSED | CLIENT_CLOSE_ASAP)) continue;
        if (clientClassOf(c) != CLIENT_CLASS_NORMAL || c->flags & CLIENT_PRIMARY) continue;
        if (c->flags & CLIENT_OFFLOADED && client_offload->progress(c)) c->last_active_ms = cmd_time_ms;
        if ((cmd_time_ms - c->last_active_ms) / 1000 <= idle_timeout_s) continue;
        serverLog(LL_VERBOSE, "A client was idle for longer than timeout and is disconnected");
        clientClose(c);
    }
}

static void clientNextSecond(void) {
    static unsigned second;
    recent_max[second % RECENT_SECONDS].input = clientstats.max_input_buffer;
    recent_max[second % RECENT_SECONDS].output = clientstats.max_output_buffer;
    clientstats.max_input_buffer = clientstats.max_output_buffer = 0;
    second++;
}

/* ---- INFO ---- */

static void clientResetStats(void) {
    clientstats = (struct clientStats){0};
}

static sds clientClientsInfo(sds s) {
    size_t input = clientstats.max_input_buffer, output = clientstats.max_output_buffer;
    for (int i = 0; i < RECENT_SECONDS; i++) {
        if (recent_max[i].input > input) input = recent_max[i].input;
        if (recent_max[i].output > output) output = recent_max[i].output;
    }
    s = infoField(s, "connected_clients:%zu", clients.length - client_stream->followers());
    s = infoField(s, "client_recent_max_input_buffer:%zu", input);
    return infoField(s, "client_recent_max_output_buffer:%zu", output);
}

static sds clientStatsInfo(sds s) {
    s = infoField(s, "total_connections_received:%llu", (unsigned long long)clientstats.connections);
    s = infoField(s, "total_net_input_bytes:%llu", (unsigned long long)clientstats.net_in);
    s = infoField(s, "total_net_output_bytes:%llu", (unsigned long long)clientstats.net_out);
    s = infoField(s, "rejected_connections:%llu", (unsigned long long)clientstats.rejected);
    s = infoField(s, "total_reads_processed:%llu", (unsigned long long)clientstats.reads);
    return infoField(s, "total_writes_processed:%llu", (unsigned long long)clientstats.writes);
}

void clientCoreInit(void) {
    listInit(&clients);
    hashtableInit(&by_id, &by_id_type);
    infoRegister("clients", clientClientsInfo);
    infoRegister("stats", clientStatsInfo);
    configOnResetStat(clientResetStats);
    cronRegister(clientCloseIdle, 1000);
    cronRegister(clientNextSecond, 1000);
    static struct configDirective directives[] = {
        CONFIG_INT("timeout", NULL, CONFIG_MODIFIABLE, &idle_timeout_s, 0, 0, INT32_MAX, NULL),
    };
    configRegister(directives, sizeof directives / sizeof *directives);
}
