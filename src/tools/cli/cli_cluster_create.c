/* SPDX-License-Identifier: BSD-3-Clause */
/* cli_cluster_create.c - --cluster create: plans roles and slots, shows them and configures the nodes.
 * Part of cli_cluster.h. */
#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/num.h"
#include "base/zmalloc.h"
#include "tools/cli/cli_cluster.h"

#define SPREAD_SEED      20240416
#define NODES_FOR_QUORUM 3

struct layout { /* plan of the new cluster; indexes are those of the cluster's nodes */
    const char **hosts;
    int *order;               /* nodes in interleaved order: primaries first */
    int *follows;             /* primary of each node, or -1 */
    int *chosen;              /* replicas in the order in which they were assigned */
    struct planRange *ranges; /* slots of each primary, in their order */
    int primaries, replicas;
};

static bool cliCreateIsEmpty(struct cliNode *n) {
    struct respReply reply;
    if (!cliClusterRequest(n, &reply, "CLUSTER", "INFO", NULL)) return false;
    bool alone = reply.type != RESP_T_ERROR && cliInfoNumber(reply.str, "cluster_known_nodes") == 1;
    respReplyFree(&reply);
    return alone && clusterNodeKeys(n) == 0;
}

bool clusterNodeCheckJoins(struct cliNode *n) {
    if (!clusterNodeConnect(n) || !clusterNodeLoad(n, NULL, NULL)) return false;
    if (cliCreateIsEmpty(n)) return true;
    cliClusterPrint(
        TONE_ERROR,
        "[ERR] Node %s:%d is not empty. Either the node already knows other nodes (check with CLUSTER NODES) or "
        "contains some key in database 0.\n",
        AT(n));
    return false;
}

static bool cliCreateAddNamed(struct cluster *c, int argc, char **argv) {
    for (int i = 0; i < argc; i++) {
        sds host;
        int port;
        if (!toolAddressParse(strOf(argv[i]), &host, &port, NULL)) {
            fprintf(stderr, "Invalid address format: %s\n", argv[i]);
            return false;
        }
        struct cliNode *n = clusterNodeCreate(c, host, port);
        sdsfree(host);
        clusterAdd(c, n);
        if (!clusterNodeCheckJoins(n)) return false;
        n->planned = true;
    }
    return true;
}

/* ---- The plan ---- */

static void cliCreateMakeLayout(const struct cluster *c, struct layout *l) {
    size_t room = (size_t)c->count + 1;
    l->hosts = zmalloc(room * sizeof(l->hosts[0]));
    l->order = zmalloc(room * sizeof(int));
    l->follows = zmalloc(room * sizeof(int));
    l->chosen = zmalloc(room * sizeof(int));
    l->ranges = zmalloc(room * sizeof(l->ranges[0]));
    for (int i = 0; i < c->count; i++) l->hosts[i] = c->nodes[i]->link.host;
    planInterleave(c->count, l->hosts, l->order);
    planEvenSlots(l->primaries, l->ranges);
    l->replicas =
        planRoles(c->count, l->hosts, l->primaries, c->options->replicas, l->order, l->follows, l->chosen);
}

static void cliCreateFreeLayout(struct layout *l) {
    zfree(l->hosts);
    zfree(l->order);
    zfree(l->follows);
    zfree(l->chosen);
    zfree(l->ranges);
}

static void cliCreateShowReplicas(const struct cluster *c, struct layout *l) {
    int planned = l->primaries * c->options->replicas;
    for (int i = 0; i < l->replicas; i++) {
        if (i == planned) printf("Adding extra replicas...\n");
        printf("Adding replica %s:%d to %s:%d\n", AT(c->nodes[l->chosen[i]]),
               AT(c->nodes[l->follows[l->chosen[i]]]));
    }
    if (planAffinity(c->count, l->hosts, l->follows) == 0) return;
    cliClusterPrint(TONE_STEP, ">>> Trying to optimize replicas allocation for anti-affinity\n");
    int64_t score = planSpread(c->count, l->hosts, l->follows, SPREAD_SEED);
    if (score == 0)
        cliClusterPrint(TONE_OK, "[OK] Perfect anti-affinity obtained!\n");
    else if (score >= PLAN_SAME_HOST)
        cliClusterPrint(TONE_WARNING, "[WARNING] Some replicas are in the same host as their primary\n");
    else
        cliClusterPrint(TONE_WARNING, "[WARNING] Some replicas of the same primary are in the same host\n");
}

/* Sets the roles that the nodes will have. */
static void cliCreateAssumeRoles(struct cluster *c, const struct layout *l) {
    for (int i = 0; i < l->primaries; i++) {
        struct cliNode *n = c->nodes[l->order[i]];
        for (int slot = l->ranges[i].first; slot <= l->ranges[i].last; slot++)
            nodeSlotsAdd(&n->is.slots, slot);
    }
    for (int i = 0; i < c->count; i++) {
        if (l->follows[i] != -1) strcpy(c->nodes[i]->is.primary, c->nodes[l->follows[i]]->is.id);
    }
}

static bool cliCreateShowLayout(struct cluster *c, struct layout *l) {
    cliClusterPrint(TONE_STEP, ">>> Performing hash slots allocation on %d node(s)...\n", c->count);
    for (int i = 0; i < l->primaries; i++)
        printf("Primary[%d] -> Slots %d - %d\n", i, l->ranges[i].first, l->ranges[i].last);
    cliCreateShowReplicas(c, l);
    cliCreateAssumeRoles(c, l);
    for (int i = 0; i < c->count; i++) clusterNodePrint(c->nodes[i], "");
    return clusterConfirmUnless(c->options->yes, "Can I set the above configuration?");
}

/* ---- Applying the plan ---- */

static bool cliCreateAssignSlots(struct cliNode *n, const struct planRange *range) {
    char first[LONG_STR_SIZE], last[LONG_STR_SIZE];
    ll2string(first, range->first);
    ll2string(last, range->last);
    return clusterRun(n, "CLUSTER", "ADDSLOTSRANGE", first, last, NULL);
}

static bool cliCreateSetEpochs(struct cluster *c) {
    char epoch[LONG_STR_SIZE];
    cliClusterPrint(TONE_STEP, ">>> Assign a different config epoch to each node\n");
    for (int i = 0; i < c->count; i++) {
        struct respReply reply;
        ll2string(epoch, i + 1);
        if (!cliClusterRequest(c->nodes[i], &reply, "CLUSTER", "SET-CONFIG-EPOCH", epoch, NULL)) return false;
        respReplyFree(&reply); /* a node with an epoch keeps it; the nodes resolve equal epochs */
    }
    return true;
}

/* Returns the address for MEET, which takes no names: that of the connection in place of a name. */
static sds cliCreateMeetAddress(const struct cliNode *n) {
    unsigned char bytes[sizeof(struct in6_addr)];
    struct sockaddr_storage peer;
    socklen_t len = sizeof(peer);
    char text[INET6_ADDRSTRLEN];
    const char *host = n->link.host;
    if (inet_pton(AF_INET, host, bytes) == 1 || inet_pton(AF_INET6, host, bytes) == 1)
        return sdsdup(n->link.host);
    if (getpeername(n->link.link.fd, (struct sockaddr *)&peer, &len) != 0) return sdsdup(n->link.host);
    const void *from = peer.ss_family == AF_INET6 ? (void *)&((struct sockaddr_in6 *)&peer)->sin6_addr
                                                  : (void *)&((struct sockaddr_in *)&peer)->sin_addr;
    return sdsnew(inet_ntop(peer.ss_family, from, text, sizeof(text)) ? text : host);
}

bool clusterMeet(struct cliNode *n, const struct cliNode *known) {
    char port[LONG_STR_SIZE], bus[LONG_STR_SIZE];
    sds host = cliCreateMeetAddress(known);
    ll2string(port, known->link.port);
    ll2string(bus, known->is.bus_port);
    bool ok = clusterRun(n, "CLUSTER", "MEET", host, port, known->is.bus_port ? bus : NULL, NULL);
    sdsfree(host);
    return ok;
}

static bool cliCreateJoinAll(struct cluster *c) {
    cliClusterPrint(TONE_STEP, ">>> Sending CLUSTER MEET messages to join the cluster\n");
    for (int i = 1; i < c->count; i++) {
        if (!clusterMeet(c->nodes[i], c->nodes[0])) return false;
    }
    printf("Waiting for the cluster to join\n");
    fflush(stdout);
    sleep(1); /* their views mean nothing before that */
    bool joined = clusterWaitForAgreement(c);
    if (joined)
        printf("\n");
    else
        printf("Cluster bus ports must be reachable by every node.\n"
               "Remember that cluster bus ports are different from standard instance ports.\n");
    return joined;
}

bool clusterReplicate(struct cliNode *replica, const char *primary) {
    struct respReply reply;
    return cliClusterRequestRetrying(replica, &reply, "CLUSTER", "REPLICATE", primary, NULL) &&
           clusterFinishRequest(replica, &reply);
}

static bool cliCreateReplicateAll(struct cluster *c, const struct layout *l) {
    for (int i = 0; i < c->count; i++) {
        if (l->follows[i] != -1 && !clusterReplicate(c->nodes[i], c->nodes[l->follows[i]]->is.id))
            return false;
    }
    sleep(1); /* replicas are announced with the next pings */
    return clusterWaitForAgreement(c);
}

static int cliCreateApplyLayout(struct cluster *c, const struct layout *l) {
    for (int i = 0; i < l->primaries; i++) {
        if (!cliCreateAssignSlots(c->nodes[l->order[i]], &l->ranges[i])) return 1;
    }
    cliClusterPrint(TONE_STEP, ">>> Nodes configuration updated\n");
    if (!cliCreateSetEpochs(c) || !cliCreateJoinAll(c) || !cliCreateReplicateAll(c, l)) return 1;
    sds host = sdsdup(c->nodes[0]->link.host);
    int port = c->nodes[0]->link.port;
    clusterFree(c);
    bool fine = clusterLoad(c, host, port) && clusterCheck(c, false, false);
    sdsfree(host);
    return fine ? 0 : 1;
}

static bool cliCreateHasEnoughPrimaries(const struct cluster *c, int primaries) {
    if (primaries >= NODES_FOR_QUORUM) return true;
    cliClusterPrint(TONE_STEP,
                    "Requested to create a cluster with %d primaries and %d replicas per primary.\n",
                    primaries, c->options->replicas);
    return clusterConfirmUnless(
        c->options->yes,
        "Valkey cluster requires at least 3 primary nodes for automatic failover. Are you sure?");
}

int clusterCreate(struct cluster *c, int argc, char **argv) {
    struct layout l = {0};
    if (!cliCreateAddNamed(c, argc, argv)) return 1;
    l.primaries = c->count / (c->options->replicas + 1);
    if (l.primaries == 0) {
        cliClusterPrint(TONE_ERROR, "[ERR] Too few nodes for %d replicas per primary.\n",
                        c->options->replicas);
        return 1;
    }
    if (!cliCreateHasEnoughPrimaries(c, l.primaries)) return 1;
    cliCreateMakeLayout(c, &l);
    int status = cliCreateShowLayout(c, &l) ? cliCreateApplyLayout(c, &l) : 0;
    cliCreateFreeLayout(&l);
    return status;
}
