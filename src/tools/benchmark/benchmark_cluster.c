/* SPDX-License-Identifier: BSD-3-Clause */
/* benchmark_cluster.c - --cluster: the nodes, their slots, and tags whose keys are in these slots.
 *
 * Threads read the current topology through one atomic pointer. When a node has redirected a client, a
 * new topology is built and published as a whole. Old ones are kept until the end, so no references are
 * counted. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/num.h"
#include "base/zmalloc.h"
#include "net/resp.h"
#include "tools/benchmark/benchmark.h"
#include "tools/tool_nodes.h"

#define FETCH_GAP_US 200000

struct benchCluster {
    pthread_mutex_t lock; /* held while a topology is fetched */
    struct benchTopology *_Atomic now;
    int64_t fetched_us;
    char tags[CLUSTER_SLOTS][BENCH_TAG_SIZE];
};

/* Finds a tag for each slot. Tags are of letters and digits only, so that they need no quoting in any
 * command. */
static void benchClusterMakeTags(struct benchCluster *c) {
    static const char letters[] = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
    for (const char *a = letters; *a; a++) {
        for (const char *b = letters; *b; b++) {
            for (const char *d = letters; *d; d++) {
                char tag[BENCH_TAG_SIZE] = {*a, *b, *d};
                char *place = c->tags[toolKeySlot(strN(tag, sizeof(tag)))];
                if (!place[0]) memcpy(place, tag, sizeof(tag));
            }
        }
    }
}

const char *benchClusterTag(const struct benchCluster *c, int slot) {
    return c->tags[slot];
}

/* ---- The topology ---- */

static int benchClusterFirstSlot(const struct toolNode *n) {
    int first, last;
    return nodeSlotsRun(&n->slots, 0, &first, &last) ? first : CLUSTER_SLOTS;
}

static int benchClusterComparePrimaries(const void *a, const void *b) {
    return benchClusterFirstSlot(*(const struct toolNode *const *)a) -
           benchClusterFirstSlot(*(const struct toolNode *const *)b);
}

static int benchClusterCompareIds(const void *a, const void *b) {
    return strcmp((*(const struct toolNode *const *)a)->id, (*(const struct toolNode *const *)b)->id);
}

static void benchClusterAddNode(struct benchTopology *t, const struct toolNode *n,
                                const struct toolNode *owner, const struct benchServer *server) {
    struct benchNode *node = &t->nodes[t->count++];
    memcpy(node->id, n->id, sizeof(node->id));
    node->server = (struct benchServer){.port = n->port, .replica = n->replica};
    node->server.host = sdsnew(sdslen(n->host) ? n->host : server->host);
    node->slots = zmalloc(CLUSTER_SLOTS * sizeof(node->slots[0]));
    for (int slot = 0; slot < CLUSTER_SLOTS; slot++) {
        if (nodeSlotsHas(&owner->slots, slot)) node->slots[node->slot_count++] = (uint16_t)slot;
    }
}

static bool benchClusterIsUsable(const struct toolNode *n) {
    return !n->failed && !n->noaddr && !n->handshake && n->port;
}

/* Makes a topology of primaries in the order of their slots, each followed by its replicas if they are
 * read from. */
static struct benchTopology *benchClusterTopologyOf(const struct benchOptions *o, const struct toolNode *all,
                                                    int count, const struct benchServer *server) {
    const struct toolNode **sorted = zmalloc((size_t)count * sizeof(sorted[0]));
    const struct toolNode **replicas = zmalloc((size_t)count * sizeof(replicas[0]));
    struct benchTopology *t = zcalloc(1, sizeof(*t));
    int primaries = 0, replica_count = 0;
    t->nodes = zcalloc((size_t)count, sizeof(t->nodes[0]));
    for (int i = 0; i < count; i++) {
        if (benchClusterIsUsable(&all[i]) && all[i].replica) replicas[replica_count++] = &all[i];
        if (benchClusterIsUsable(&all[i]) && nodeSlotsCount(&all[i].slots)) sorted[primaries++] = &all[i];
    }
    qsort(sorted, (size_t)primaries, sizeof(sorted[0]), benchClusterComparePrimaries);
    qsort(replicas, (size_t)replica_count, sizeof(replicas[0]), benchClusterCompareIds);
    for (int i = 0; i < primaries; i++) {
        if (o->read_from != BENCH_FROM_REPLICAS) benchClusterAddNode(t, sorted[i], sorted[i], server);
        for (int j = 0; j < replica_count && o->read_from != BENCH_FROM_PRIMARIES; j++) {
            if (strcmp(replicas[j]->primary, sorted[i]->id) == 0)
                benchClusterAddNode(t, replicas[j], sorted[i], server);
        }
    }
    zfree(sorted);
    zfree(replicas);
    return t;
}

static void benchClusterTopologyFree(struct benchTopology *t) {
    for (int i = 0; i < t->count; i++) {
        sdsfree((sds)t->nodes[i].server.host);
        zfree(t->nodes[i].slots);
    }
    zfree(t->nodes);
    zfree(t);
}

/* Fetches the topology from one server. Returns NULL and *err when it does not answer or knows no slots. */
static struct benchTopology *benchClusterFetchTopology(const struct benchOptions *o,
                                                       const struct benchServer *server, sds *err) {
    static const char *const command[] = {"CLUSTER", "NODES"};
    struct toolNode *nodes;
    sds text = benchServerRequest(o, server, 2, command, err);
    if (!text) return NULL;
    int count = toolNodesParse(sdsview(text), &nodes);
    sdsfree(text);
    struct benchTopology *t = count > 0 ? benchClusterTopologyOf(o, nodes, count, server) : NULL;
    if (count > 0) toolNodesFree(nodes, count);
    if (t && t->count) return t;
    if (t) benchClusterTopologyFree(t);
    *err = sdsnew(count < 0 ? "The reply to CLUSTER NODES is invalid" : "No node has any slots");
    return NULL;
}

/* ---- Public functions ---- */

const char *benchClusterKind(const struct benchOptions *o) {
    return o->read_from == BENCH_FROM_PRIMARIES  ? "primary"
           : o->read_from == BENCH_FROM_REPLICAS ? "replica"
                                                 : "cluster";
}

static void benchClusterPrintNodes(const struct benchOptions *o, const struct benchTopology *t) {
    printf("Cluster has %d %s nodes:\n\n", t->count, benchClusterKind(o));
    for (int i = 0; i < t->count; i++) {
        const struct benchNode *n = &t->nodes[i];
        printf("Node %d(%s): %s %s:%d\n", i, n->server.replica ? "Replica" : "Primary", n->id, n->server.host,
               n->server.port);
    }
    printf("\n");
}

bool benchClusterStart(struct benchOptions *o) {
    const struct benchServer *s = &o->servers[0];
    sds err = NULL;
    struct benchTopology *t = benchClusterFetchTopology(o, s, &err);
    if (!t) {
        fprintf(stderr, "CLUSTER SLOTS failed: %s\n", err);
        if (s->host)
            fprintf(stderr, "The configuration of the cluster could not be read from %s:%d\n", s->host,
                    s->port);
        else
            fprintf(stderr, "The configuration of the cluster could not be read from %s\n", s->socket);
        sdsfree(err);
        return false;
    }
    o->nodes = zcalloc(1, sizeof(*o->nodes));
    pthread_mutex_init(&o->nodes->lock, NULL);
    atomic_store(&o->nodes->now, t);
    benchClusterMakeTags(o->nodes);
    if (o->threads == 0) o->threads = t->count < o->clients ? t->count : o->clients;
    benchClusterPrintNodes(o, t);
    return true;
}

const struct benchTopology *benchClusterNow(const struct benchCluster *c) {
    return atomic_load_explicit(&c->now, memory_order_acquire);
}

void benchClusterChanged(const struct benchOptions *o, const struct benchTopology *seen) {
    struct benchCluster *c = o->nodes;
    pthread_mutex_lock(&c->lock);
    struct benchTopology *now = atomic_load(&c->now), *fresh = NULL;
    if (now == seen && monotonicUs() - c->fetched_us >= FETCH_GAP_US) {
        fprintf(stderr, "Slots of the cluster have moved, so its configuration is read again\n");
        for (int i = 0; i < now->count && !fresh; i++) {
            sds err = NULL;
            fresh = benchClusterFetchTopology(o, &now->nodes[i].server, &err);
            sdsfree(err);
        }
        c->fetched_us = monotonicUs();
    }
    if (fresh) {
        fresh->before = now;
        atomic_store_explicit(&c->now, fresh, memory_order_release);
    }
    pthread_mutex_unlock(&c->lock);
}

void benchClusterEnd(struct benchOptions *o) {
    if (!o->nodes) return;
    for (struct benchTopology *t = atomic_load(&o->nodes->now), *before; t; t = before) {
        before = t->before;
        benchClusterTopologyFree(t);
    }
    pthread_mutex_destroy(&o->nodes->lock);
    zfree(o->nodes);
    o->nodes = NULL;
}
