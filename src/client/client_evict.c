/* client_evict.c - see client_evict.h.
 *
 *     weights[i]: clients of 2^(i - 1) .. 2^i bytes more than the least, in no order
 *
 * The clients are sorted by the magnitude of what they take, so that a large one is found without looking at
 * all, and a change of size moves a client only when it doubles or halves. Within the topmost list that is
 * not empty anyone goes. */
#include "client/client_evict.h"

#include "base/log.h"
#include "command/command.h"
#include "commands/connection.h"
#include "client/client_log.h"
#include "registry/config.h"
#include "registry/cron.h"
#include "data/evict.h"
#include "registry/info.h"
#include "client/reply.h"

#define LEAST_BITS 15 /* clients below 32 KiB are all alike */
#define MOST_BITS  33
#define LIMIT_MIN  (128 * 1024)
#define MAGNITUDES (MOST_BITS - LEAST_BITS + 1)

bool client_weighing;

static int64_t limit; /* bytes; negative: percent of maxmemory; 0: none */
static struct list weights[MAGNITUDES];
static size_t total;
static uint64_t evicted_clients;

/* A limit that is too small to speak with anybody is not taken at its word. */
static size_t limitBytes(void) {
    size_t bytes = limit < 0 ? evictLimit() / 100 * (size_t)-limit : (size_t)limit;
    return bytes && bytes < LIMIT_MIN ? LIMIT_MIN : bytes;
}

static int magnitude(size_t bytes) {
    int bits = bytes ? 64 - __builtin_clzll(bytes) : 0;
    if (bits <= LEAST_BITS) return 0;
    return bits < MOST_BITS ? bits - LEAST_BITS : MAGNITUDES - 1;
}

static void takeOff(struct client *c) {
    if (!listLinked(&c->weight_node)) return;
    listRemove(&weights[magnitude(c->weight)], &c->weight_node);
    total -= c->weight;
    c->weight = 0;
}

sds clientWeightsText(sds s) {
    for (int i = 0; i < MAGNITUDES; i++) {
        size_t bytes = 0, least = i ? (size_t)1 << (LEAST_BITS + i - 1) : 0;
        listForEach(&weights[i], it) bytes += listEntry(it, struct client, weight_node)->weight;
        s = sdscatprintf(s, "bucket %10zu - %10zu: tot-mem: %10zu, clients: %zu\n", least,
                         ((size_t)1 << (LEAST_BITS + i)) - 1, bytes, weights[i].length);
    }
    return s;
}

static bool counts(const struct client *c) {
    if (!c->conn || c->flags & (CLIENT_NO_EVICT | CLIENT_CLOSE_ASAP)) return false;
    return clientClassOf(c) != CLIENT_CLASS_REPLICA;
}

void clientWeigh(struct client *c) {
    if (!counts(c)) {
        takeOff(c);
        return;
    }
    size_t bytes = clientMemory(c);
    if (!listLinked(&c->weight_node) || magnitude(bytes) != magnitude(c->weight)) {
        takeOff(c);
        listAddTail(&weights[magnitude(bytes)], &c->weight_node);
    }
    total += bytes - c->weight;
    c->weight = bytes;
}

/* What a client took counts as free when it is closed, though it is freed after the round; also when somebody
 * else has closed it. */
static void evictOne(struct client *c) {
    takeOff(c);
    if (c->flags & CLIENT_CLOSE_ASAP) return;
    sds info = clientLogLine(c, sdsempty());
    serverLog(LL_NOTICE, "Evicting client: %s", info);
    sdsfree(info);
    clientClose(c);
    evicted_clients++;
}

static void evictClients(void) {
    size_t most = limitBytes();
    if (!most) return; /* a percentage of no limit */
    for (int i = MAGNITUDES; i-- > 0 && total > most;) {
        while (weights[i].length && total > most) {
            evictOne(listEntry(listFirst(&weights[i]), struct client, weight_node));
        }
    }
}

bool clientEvict(const struct client *c) {
    evictClients();
    return c->flags & CLIENT_CLOSE_ASAP;
}

static void weighAll(void) {
    listForEach(&clients, it) {
        struct client *c = listEntry(it, struct client, node);
        if (client_weighing)
            clientWeigh(c);
        else
            takeOff(c);
    }
}

static void follow(void) {
    bool want = limit != 0;
    if (want == client_weighing) return;
    client_weighing = want;
    weighAll();
}

static void beforeSleep(void) {
    follow(); /* the configuration file does not call limitChanged */
    if (client_weighing) evictClients();
}

static bool limitChanged(const char **err) {
    (void)err;
    follow();
    return true;
}

void clientNoEvictCommand(struct client *c) {
    bool on = strIs(c->argv[2], "on");
    if (!on && !strIs(c->argv[2], "off")) {
        replySyntaxError(c);
        return;
    }
    c->flags = (c->flags & ~(uint32_t)CLIENT_NO_EVICT) | (on ? CLIENT_NO_EVICT : 0);
    if (client_weighing) clientWeigh(c);
    replyOk(c);
}

static sds statsInfo(sds s) {
    return infoField(s, "evicted_clients:%llu", (unsigned long long)evicted_clients);
}

static void resetStats(void) {
    evicted_clients = 0;
}

void clientEvictInit(void) {
    static struct configDirective directives[] = {
        CONFIG_INT("maxmemory-clients", NULL, CONFIG_MODIFIABLE | CONFIG_MEMORY | CONFIG_PERCENT, &limit, 0,
                   -100, INT64_MAX, limitChanged),
    };
    configRegister(directives, sizeof directives / sizeof *directives);
    for (int i = 0; i < MAGNITUDES; i++) listInit(&weights[i]);
    clientOnFree(takeOff);
    beforeSleepRegister(beforeSleep);
    infoRegister("stats", statsInfo);
    configOnResetStat(resetStats);
}
