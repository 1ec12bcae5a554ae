/* SPDX-License-Identifier: BSD-3-Clause */
/* cli_cluster_reshard.c - --cluster reshard and rebalance: plan, show, move. Part of cli_cluster.h. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/num.h"
#include "base/zmalloc.h"
#include "tools/cli/cli_cluster.h"

struct plan {
    struct planMove *moves;
    int count;
};

/* Returns the slots of the nodes for the planner, owned by the caller. */
static struct nodeSlots *cliReshardOwnedSlots(const struct cluster *c) {
    struct nodeSlots *owned = zmalloc((size_t)c->count * sizeof(owned[0]));
    for (int i = 0; i < c->count; i++) owned[i] = c->nodes[i]->is.slots;
    return owned;
}

static struct plan cliReshardPlanOf(const struct cluster *c, const int *sources, int source_count, int to,
                                    int slots) {
    struct nodeSlots *owned = cliReshardOwnedSlots(c);
    struct plan plan = {.moves = zmalloc(CLUSTER_SLOTS * sizeof(struct planMove))};
    plan.count = planReshard(owned, sources, source_count, to, slots, plan.moves);
    zfree(owned);
    return plan;
}

/* Returns the last of the adjacent moves that begin at `at`. */
static int cliReshardEndOfRange(const struct plan *plan, int at) {
    while (at + 1 < plan->count && plan->moves[at + 1].from == plan->moves[at].from &&
           plan->moves[at + 1].slot == plan->moves[at].slot + 1)
        at++;
    return at;
}

static void cliReshardShowPlan(const struct cluster *c, const struct plan *plan) {
    for (int i = 0, end; i < plan->count; i = end + 1) {
        end = cliReshardEndOfRange(plan, i);
        printf("    Moving slot range %d-%d from %s\n", plan->moves[i].slot, plan->moves[end].slot,
               c->nodes[plan->moves[i].from]->is.id);
    }
}

static bool cliReshardApplyPlan(struct cluster *c, const struct plan *plan, int flags) {
    for (int i = 0, end; i < plan->count; i = end + 1) {
        end = c->options->atomic ? cliReshardEndOfRange(plan, i) : i;
        const struct planMove *first = &plan->moves[i];
        if (!clusterMoveRange(c, c->nodes[first->from], c->nodes[first->to], first->slot,
                              plan->moves[end].slot, flags))
            return false;
        clusterProgress("slots moved", end + 1, plan->count);
    }
    return true;
}

/* Waits until the other nodes have heard of an atomic move, which the target tells them. The next command
 * would find nodes that do not agree otherwise. */
static bool cliReshardWaitForAgreement(struct cluster *c) {
    return !c->options->atomic || clusterWaitForAgreement(c);
}

/* ---- reshard ---- */

/* Returns the index of a primary; prints a message and returns -1 when the word names none. */
static int cliReshardFindPrimary(const struct cluster *c, const char *id) {
    for (int i = 0; i < c->count; i++) {
        if (strcmp(c->nodes[i]->is.id, id) == 0 && clusterIsPrimary(c->nodes[i])) return i;
    }
    printf("*** The specified node (%s) is not known or not a primary, please retry.\n", id);
    return -1;
}

static bool cliReshardAskSlots(int *slots) {
    for (;;) {
        printf("How many slots do you want to move (from 1 to %d)? ", CLUSTER_SLOTS);
        sds line = clusterReadLine();
        if (!line) return false;
        int64_t n = 0;
        bool fine = string2ll(sdsview(line), &n) && n >= 1 && n <= CLUSTER_SLOTS;
        sdsfree(line);
        *slots = (int)n;
        if (fine) return true;
    }
}

static bool cliReshardAskTarget(const struct cluster *c, int *to) {
    sds line = NULL;
    do {
        sdsfree(line);
        printf("What is the receiving node ID? ");
        line = clusterReadLine();
    } while (line && sdslen(line) == 0);
    *to = line ? cliReshardFindPrimary(c, line) : -1;
    sdsfree(line);
    return *to >= 0;
}

static void cliReshardAddSource(int *sources, int *count, int node) {
    for (int i = 0; i < *count; i++) {
        if (sources[i] == node) return;
    }
    sources[(*count)++] = node;
}

static void cliReshardAddAllSources(const struct cluster *c, int to, int *sources, int *count) {
    *count = 0;
    for (int i = 0; i < c->count; i++) {
        if (i != to && clusterIsPrimary(c->nodes[i])) cliReshardAddSource(sources, count, i);
    }
}

/* Adds a source; returns false when slots cannot come from that node. */
static bool cliReshardAddNamedSource(const struct cluster *c, const char *id, int to, int *sources,
                                     int *count) {
    int node = cliReshardFindPrimary(c, id);
    if (node == to) printf("*** It is not possible to use the target node as source node.\n");
    if (node < 0 || node == to) return false;
    cliReshardAddSource(sources, count, node);
    return true;
}

static void cliReshardAskSources(const struct cluster *c, int to, int *sources, int *count) {
    printf("Please enter all the source node IDs.\n"
           "  Type 'all' to use all the nodes as source nodes for the hash slots.\n"
           "  Type 'done' once you entered all the source nodes IDs.\n");
    for (bool more = true; more;) {
        printf("Source node #%d: ", *count + 1);
        sds line = clusterReadLine();
        more = line && strcmp(line, "done") != 0 && strcmp(line, "all") != 0;
        if (line && strcmp(line, "all") == 0) cliReshardAddAllSources(c, to, sources, count);
        if (more && sdslen(line)) cliReshardAddNamedSource(c, line, to, sources, count);
        sdsfree(line);
    }
}

static bool cliReshardSourcesFromOption(const struct cluster *c, int to, int *sources, int *count) {
    const char *from = c->options->from;
    int words;
    bool ok = true;
    sds *ids = sdssplitlen(from, strlen(from), ",", 1, &words);
    for (int i = 0; i < words && ok; i++) {
        if (strcmp(ids[i], "all") == 0)
            cliReshardAddAllSources(c, to, sources, count);
        else
            ok = cliReshardAddNamedSource(c, ids[i], to, sources, count);
    }
    sdsfreesplitres(ids, words);
    return ok;
}

static void cliReshardShowReshard(const struct cluster *c, const struct plan *plan, int slots,
                                  const int *sources, int count, int to) {
    printf("\nReady to move %d slots.\n  Source nodes:\n", slots);
    for (int i = 0; i < count; i++) clusterNodePrint(c->nodes[sources[i]], "    ");
    printf("  Destination node:\n");
    clusterNodePrint(c->nodes[to], "    ");
    printf("  Resharding plan:\n");
    cliReshardShowPlan(c, plan);
}

static bool cliReshardConfirmPlan(const struct cluster *c) {
    if (c->options->yes) return true;
    printf("Do you want to proceed with the proposed reshard plan (yes/no)? ");
    sds line = clusterReadLine();
    bool yes = line && strcasecmp(line, "yes") == 0;
    sdsfree(line);
    return yes;
}

/* Determines the moves from options and questions. */
static bool cliReshardChooseMoves(const struct cluster *c, int *slots, int *to, int *sources, int *count) {
    const struct cliCluster *o = c->options;
    *slots = o->slots;
    if (o->slots == 0 && !cliReshardAskSlots(slots)) return false;
    if (o->to)
        *to = cliReshardFindPrimary(c, o->to);
    else if (!cliReshardAskTarget(c, to))
        return false;
    if (*to < 0) return false;
    if (o->from) return cliReshardSourcesFromOption(c, *to, sources, count);
    cliReshardAskSources(c, *to, sources, count);
    return true;
}

int clusterReshard(struct cluster *c) {
    if (!clusterCheck(c, false, false)) {
        fflush(stdout);
        fprintf(stderr, "*** Please fix your cluster problems before resharding\n");
        return 1;
    }
    int slots, to, count = 0, status = 1;
    int *sources = zmalloc((size_t)c->count * sizeof(sources[0]));
    bool chosen = cliReshardChooseMoves(c, &slots, &to, sources, &count);
    if (chosen && count == 0) {
        fflush(stdout);
        fprintf(stderr, "*** No source nodes given, operation aborted.\n");
    } else if (chosen) {
        struct plan plan = cliReshardPlanOf(c, sources, count, to, slots);
        cliReshardShowReshard(c, &plan, slots, sources, count, to);
        bool moved = cliReshardConfirmPlan(c) && cliReshardApplyPlan(c, &plan, 0);
        status = moved && cliReshardWaitForAgreement(c) ? 0 : 1;
        zfree(plan.moves);
    }
    zfree(sources);
    return status;
}

/* ---- rebalance ---- */

struct shares {
    struct planShare *share;
    int *node;      /* node of each share */
    double *weight; /* weight of each node; negative if not given */
    int count;
};

static bool cliReshardReadWeights(const struct cluster *c, double *weights) {
    const struct cliWords *given = &c->options->weights;
    for (int i = 0; i < c->count; i++) weights[i] = -1;
    for (int i = 0; i < given->argc; i++) {
        const char *equals = strchr(given->argv[i], '=');
        double weight;
        if (!equals || !string2d(strOf(equals + 1), &weight) || weight < 0) {
            printf("*** invalid input %s\n", given->argv[i]);
            return false;
        }
        sds name = sdsnewlen(given->argv[i], (size_t)(equals - given->argv[i]));
        struct cliNode *n = clusterFindByStart(c, name);
        if (!n) printf("*** No such primary node %s\n", name);
        sdsfree(name);
        if (!n) return false;
        for (int j = 0; j < c->count; j++) {
            if (c->nodes[j] == n) weights[j] = weight;
        }
    }
    return true;
}

/* Collects the shares. Primaries without slots are left out unless the options include them. */
static double cliReshardCollectShares(const struct cluster *c, struct shares *s) {
    double sum = 0;
    for (int i = 0; i < c->count; i++) {
        int slots = nodeSlotsCount(&c->nodes[i]->is.slots);
        if (!clusterIsPrimary(c->nodes[i]) || (slots == 0 && !c->options->use_empty)) continue;
        double weight = s->weight[i] < 0 ? 1 : s->weight[i];
        s->node[s->count] = i;
        s->share[s->count++] = (struct planShare){.weight = weight, .slots = slots};
        sum += weight;
    }
    return sum;
}

static bool cliReshardTransfer(struct cluster *c, const struct shares *s, const struct planTransfer *t) {
    int from = s->node[t->from], to = s->node[t->to];
    bool ok = true;
    printf("Moving %d slots from %s:%d to %s:%d\n", t->slots, AT(c->nodes[from]), AT(c->nodes[to]));
    if (c->options->simulate) {
        for (int i = 0; i < t->slots; i++) putchar('#');
    } else {
        struct plan plan = cliReshardPlanOf(c, &from, 1, to, t->slots);
        ok = cliReshardApplyPlan(c, &plan, MOVE_QUIET);
        zfree(plan.moves);
    }
    printf("\n");
    fflush(stdout);
    return ok;
}

static int cliReshardRebalance(struct cluster *c, struct shares *s, double weights) {
    double threshold = c->options->threshold;
    if (weights == 0 || !planBalance(s->share, s->count, threshold)) {
        cliClusterPrint(TONE_WARNING,
                        "*** No rebalancing needed! All nodes are within the %.2f%% threshold.\n", threshold);
        return 0;
    }
    cliClusterPrint(TONE_STEP, ">>> Rebalancing across %d nodes. Total weight = %.2f\n", s->count, weights);
    struct planTransfer *transfers = zmalloc((size_t)s->count * sizeof(transfers[0]));
    int count = planTransfers(s->share, s->count, transfers);
    bool ok = true;
    for (int i = 0; i < count && !c->options->simulate; i++) {
        if (i == 0) printf("  Rebalancing plan:\n");
        printf("    %d slots from %s to %s\n", transfers[i].slots,
               c->nodes[s->node[transfers[i].from]]->is.id, c->nodes[s->node[transfers[i].to]]->is.id);
    }
    for (int i = 0; i < count && ok; i++) ok = cliReshardTransfer(c, s, &transfers[i]);
    zfree(transfers);
    bool moved = ok && !c->options->simulate;
    return ok && (!moved || cliReshardWaitForAgreement(c)) ? 0 : 1;
}

int clusterRebalance(struct cluster *c) {
    struct shares s = {.share = zmalloc((size_t)c->count * sizeof(struct planShare)),
                       .node = zmalloc((size_t)c->count * sizeof(int)),
                       .weight = zmalloc((size_t)c->count * sizeof(double))};
    int status = 1;
    if (cliReshardReadWeights(c, s.weight)) {
        double weights = cliReshardCollectShares(c, &s);
        if (clusterCheck(c, false, true))
            status = cliReshardRebalance(c, &s, weights);
        else
            printf("*** Please fix your cluster problems before rebalancing\n");
    }
    zfree(s.share);
    zfree(s.node);
    zfree(s.weight);
    return status;
}
