/* SPDX-License-Identifier: BSD-3-Clause */
/* client_evict.c - see client_evict.h.
 *
 *     buckets[i]: clients of 2^(i - 1) .. 2^i bytes more than the least, in no order
 *
 * Clients are grouped by the magnitude of their memory, so that a large one is found without a scan, and a
 * change of size moves a client only when it doubles or halves. Any client of the topmost bucket that is not
 * empty may be evicted. */
#include "client/client_evict.h"

#include "base/assert.h"
#include "base/log.h"
#include "base/zmalloc.h"
#include "client/client_log.h"
#include "client/client_offload.h"
#include "data/lifetime/evict.h"
#include "registry/config.h"
#include "registry/cron.h"
#include "registry/info.h"

#define LEAST_BITS 15 /* all clients below 32 KiB share a bucket */
#define MOST_BITS  33
#define LIMIT_MIN  (128 * 1024)
#define BUCKETS    (MOST_BITS - LEAST_BITS + 1)

bool client_accounting;
static void (*accounting_changed)(bool on);

static int64_t limit; /* bytes; negative: percent of maxmemory; 0: no limit */
static struct list buckets[BUCKETS];
static size_t total;
static uint64_t evicted_clients;

/* The limit in bytes. One that is too small to serve any client is raised. */
static size_t clientEvictLimitBytes(void) {
    size_t bytes = limit < 0 ? evictLimit() / 100 * (size_t)-limit : (size_t)limit;
    return bytes && bytes < LIMIT_MIN ? LIMIT_MIN : bytes;
}

static int clientEvictBucketIndex(size_t bytes) {
    int bits = bytes ? 64 - __builtin_clzll(bytes) : 0;
    if (bits <= LEAST_BITS) return 0;
    return bits < MOST_BITS ? bits - LEAST_BITS : BUCKETS - 1;
}

struct clientLimits *clientLimits(struct client *c) {
    if (!c->limits) {
        c->limits = zmalloc(sizeof *c->limits);
        *c->limits = (struct clientLimits){.client = c};
    }
    return c->limits;
}

static bool clientEvictIsInBucket(const struct client *c) {
    return c->limits && listLinked(&c->limits->bucket_node);
}

static void clientEvictRemoveFromBucket(struct client *c) {
    if (!clientEvictIsInBucket(c)) return;
    struct clientLimits *l = c->limits;
    listRemove(&buckets[clientEvictBucketIndex(l->counted)], &l->bucket_node);
    total -= l->counted;
    l->counted = 0;
}

static void clientEvictFree(struct client *c) {
    if (!c->limits) return;
    clientEvictRemoveFromBucket(c);
    serverAssert(!c->limits->over_soft_since_s);
    zfreeSized(c->limits, sizeof *c->limits);
    c->limits = NULL;
}

static size_t clientEvictMemory(const struct client *c) {
    return c->limits ? sizeof *c->limits : 0;
}

sds clientMemoryBucketsText(sds s) {
    for (int i = 0; i < BUCKETS; i++) {
        size_t bytes = 0, least = i ? (size_t)1 << (LEAST_BITS + i - 1) : 0;
        listForEach(&buckets[i], it) bytes += listEntry(it, struct clientLimits, bucket_node)->counted;
        s = sdscatprintf(s, "bucket %10zu - %10zu: tot-mem: %10zu, clients: %zu\n", least,
                         ((size_t)1 << (LEAST_BITS + i)) - 1, bytes, buckets[i].length);
    }
    return s;
}

static bool clientEvictIsCounted(const struct client *c) {
    if (!c->conn || c->flags & (CLIENT_NO_EVICT | CLIENT_PRIMARY | CLIENT_CLOSE_ASAP)) return false;
    return clientClassOf(c) != CLIENT_CLASS_REPLICA;
}

void clientAccountMemory(struct client *c) {
    if (!clientEvictIsCounted(c)) {
        clientEvictRemoveFromBucket(c);
        return;
    }
    struct clientLimits *l = clientLimits(c);
    size_t bytes = clientMemory(c);
    if (!clientEvictIsInBucket(c) || clientEvictBucketIndex(bytes) != clientEvictBucketIndex(l->counted)) {
        clientEvictRemoveFromBucket(c);
        listAddTail(&buckets[clientEvictBucketIndex(bytes)], &l->bucket_node);
    }
    total += bytes - l->counted;
    l->counted = bytes;
}

/* Evicts a client. Its memory counts as free when it is closed, though it is freed after the turn; the same
 * holds when other code closes a client. */
static void clientEvictOne(struct client *c) {
    clientEvictRemoveFromBucket(c);
    if (c->flags & CLIENT_CLOSE_ASAP) return;
    sds info = clientLogLine(c, sdsempty());
    serverLog(LL_NOTICE, "The clients exceed maxmemory-clients, so this one is disconnected: %s", info);
    sdsfree(info);
    clientClose(c);
    evicted_clients++;
}

/* Threads do not report what they send, so offloaded clients may use less memory than is accounted. */
static void clientEvictAccountOffloaded(void) {
    listForEach(&clients, it) {
        struct client *c = listEntry(it, struct client, node);
        if (c->flags & CLIENT_OFFLOADED) clientAccountMemory(c);
    }
}

static void clientEvictClients(void) {
    size_t most = clientEvictLimitBytes();
    if (!most) return; /* a percentage without maxmemory */
    if (total > most && client_offload) clientEvictAccountOffloaded();
    for (int i = BUCKETS; i-- > 0 && total > most;) {
        while (buckets[i].length && total > most) {
            clientEvictOne(listEntry(listFirst(&buckets[i]), struct clientLimits, bucket_node)->client);
        }
    }
}

bool clientEvict(const struct client *c) {
    clientEvictClients();
    return c->flags & CLIENT_CLOSE_ASAP;
}

static void clientEvictAccountAll(void) {
    listForEach(&clients, it) {
        struct client *c = listEntry(it, struct client, node);
        if (client_accounting)
            clientAccountMemory(c);
        else
            clientEvictRemoveFromBucket(c);
    }
}

static void clientEvictApplyLimit(void) {
    bool accounting = limit != 0;
    if (accounting == client_accounting) return;
    client_accounting = accounting;
    if (accounting_changed) accounting_changed(accounting);
    clientEvictAccountAll();
}

void clientOnAccounting(void (*fn)(bool on)) {
    accounting_changed = fn;
}

static void clientEvictBeforeSleep(void) {
    clientEvictApplyLimit(); /* no apply function is called for the configuration file */
    if (client_accounting) clientEvictClients();
}

static bool clientEvictLimitChanged(const char **err) {
    (void)err;
    clientEvictApplyLimit();
    return true;
}

static sds clientEvictStatsInfo(sds s) {
    return infoField(s, "evicted_clients:%llu", (unsigned long long)evicted_clients);
}

static void clientEvictResetStats(void) {
    evicted_clients = 0;
}

void clientEvictInit(void) {
    static struct configDirective directives[] = {
        CONFIG_INT("maxmemory-clients", NULL, CONFIG_MODIFIABLE | CONFIG_MEMORY | CONFIG_PERCENT, &limit, 0,
                   -100, INT64_MAX, clientEvictLimitChanged),
    };
    configRegister(directives, sizeof directives / sizeof *directives);
    for (int i = 0; i < BUCKETS; i++) listInit(&buckets[i]);
    clientOnFree(clientEvictFree);
    clientOnMemory(clientEvictMemory);
    beforeSleepRegister(clientEvictBeforeSleep);
    infoRegister("stats", clientEvictStatsInfo);
    configOnResetStat(clientEvictResetStats);
}
