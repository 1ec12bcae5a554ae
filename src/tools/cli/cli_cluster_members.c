/* SPDX-License-Identifier: BSD-3-Clause */
/* cli_cluster_members.c - --cluster add-node, del-node, call and set-timeout. Part of cli_cluster.h. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/zmalloc.h"
#include "tools/cli/cli_cluster.h"

#define JOIN_SECONDS 120

/* ---- add-node ---- */

static struct cliNode *cliMembersFindLeastReplicated(const struct cluster *c, const struct cliNode *except) {
    struct cliNode *best = NULL;
    for (int i = 0; i < c->count; i++) {
        struct cliNode *n = c->nodes[i];
        if (n == except || !clusterIsPrimary(n) || nodeSlotsCount(&n->is.slots) == 0) continue;
        if (!best || n->replicas < best->replicas) best = n;
    }
    return best;
}

/* Chooses a primary for a new replica; prints a message and returns false if there is none. */
static bool cliMembersChoosePrimary(const struct cluster *c, struct cliNode **primary) {
    const char *id = c->options->primary_id;
    if (!id) {
        *primary = cliMembersFindLeastReplicated(c, NULL);
        if (*primary)
            printf("Automatically selected primary %s:%d\n", AT(*primary));
        else
            cliClusterPrint(TONE_ERROR, "[ERR] Could not find a reachable primary node.\n");
        return *primary != NULL;
    }
    *primary = clusterFind(c, id);
    if (*primary && clusterIsPrimary(*primary)) return true;
    cliClusterPrint(TONE_ERROR, "[ERR] No such primary ID %s\n", id);
    return false;
}

/* Copies the functions, which are the same on all primaries, to a new one. */
static bool cliMembersCopyFunctions(struct cliNode *from, struct cliNode *to) {
    struct respReply dump, reply;
    cliClusterPrint(TONE_STEP, ">>> Getting functions from cluster\n");
    if (!cliClusterRequest(from, &dump, "FUNCTION", "DUMP", NULL)) return false;
    if (dump.type == RESP_T_ERROR) {
        cliClusterPrint(
            TONE_WARNING,
            ">>> Failed retrieving Functions from the cluster, skip this step as Valkey version do not support "
            "function command (error = '%.*s')\n",
            (int)dump.str.len, dump.str.ptr);
        respReplyFree(&dump);
        return true;
    }
    cliClusterPrint(TONE_STEP, ">>> Send FUNCTION LIST to %s:%d to verify there is no functions in it\n",
                    AT(to));
    bool ok = cliClusterRequest(to, &reply, "FUNCTION", "LIST", NULL);
    bool has_some = ok && reply.elements > 0;
    ok = ok && clusterFinishRequest(to, &reply) && !has_some;
    if (has_some) {
        cliClusterPrint(
            TONE_ERROR,
            ">>> New node already contains functions and can not be added to the cluster. Use FUNCTION "
            "FLUSH and try again.\n");
    }
    if (ok) {
        const struct str words[] = {STR("FUNCTION"), STR("RESTORE"), dump.str};
        cliClusterPrint(TONE_STEP, ">>> Send FUNCTION RESTORE to %s:%d\n", AT(to));
        ok = clusterRunWords(to, 3, words);
    }
    respReplyFree(&dump);
    return ok;
}

/* Waits until `n` knows the node with this id. */
static bool cliMembersWaitUntilKnown(struct cliNode *n, const char *id) {
    for (int seconds = 0; seconds < JOIN_SECONDS; seconds++) {
        struct toolNode *view;
        int count;
        bool known = false;
        if (!clusterNodeLoad(n, &view, &count)) return false;
        for (int i = 0; i < count; i++) known |= strcmp(view[i].id, id) == 0 && !view[i].handshake;
        toolNodesFree(view, count);
        if (known) return true;
        printf(".");
        fflush(stdout);
        sleep(1);
    }
    return false;
}

static bool cliMembersBecomeReplica(struct cliNode *n, const struct cliNode *primary) {
    printf("Waiting for the cluster to join\n");
    fflush(stdout);
    sleep(1);
    bool known = cliMembersWaitUntilKnown(n, primary->is.id);
    printf("\n");
    cliClusterPrint(TONE_STEP, ">>> Configure node as replica of %s:%d.\n", AT(primary));
    return known && clusterReplicate(n, primary->is.id);
}

static bool cliMembersAddNode(struct cluster *c, struct cliNode *n, const struct cliNode *primary) {
    if (!primary && !cliMembersCopyFunctions(c->nodes[0], n)) return false;
    cliClusterPrint(TONE_STEP, ">>> Send CLUSTER MEET to node %s:%d to make it join the cluster.\n", AT(n));
    return clusterMeet(n, c->nodes[0]) && (!primary || cliMembersBecomeReplica(n, primary));
}

int clusterAddNode(struct cluster *c, const char *host, int port) {
    struct cliNode *primary = NULL;
    if (!clusterCheck(c, false, false)) return 1;
    if (c->options->replica && !cliMembersChoosePrimary(c, &primary)) return 1;
    struct cliNode *n = clusterNodeCreate(c, host, port);
    bool ok = clusterNodeCheckJoins(n) && cliMembersAddNode(c, n, primary);
    clusterNodeFree(n);
    if (ok) cliClusterPrint(TONE_OK, "[OK] New node added correctly.\n");
    return ok ? 0 : 1;
}

/* ---- del-node ---- */

/* Assigns the replicas of a leaving node to the primary with the fewest. */
static bool cliMembersReassignReplicas(struct cluster *c, const struct cliNode *leaving) {
    for (int i = 0; i < c->count; i++) {
        struct cliNode *n = c->nodes[i];
        if (strcmp(n->is.primary, leaving->is.id) != 0) continue;
        struct cliNode *primary = cliMembersFindLeastReplicated(c, leaving);
        if (!primary) {
            cliClusterPrint(TONE_ERROR,
                            "[ERR] Could not find a reachable primary node to reassign replica %s:%d.\n",
                            AT(n));
            return false;
        }
        cliClusterPrint(TONE_STEP, ">>> %s:%d as replica of %s:%d\n", AT(n), AT(primary));
        if (!clusterReplicate(n, primary->is.id)) return false;
        primary->replicas++;
    }
    return true;
}

/* Sends FORGET. A node that does not know the id has nothing to forget. */
static bool cliMembersForgetNode(struct cliNode *n, const char *id) {
    struct respReply reply;
    if (!cliClusterRequest(n, &reply, "CLUSTER", "FORGET", id, NULL)) return false;
    if (!strStarts(reply.str, STR("ERR Unknown node"))) return clusterFinishRequest(n, &reply);
    respReplyFree(&reply);
    return true;
}

int clusterDelNode(struct cluster *c, const char *id) {
    struct cliNode *leaving = clusterFind(c, id);
    if (!leaving) {
        cliClusterPrint(TONE_ERROR, "[ERR] No such node ID %s\n", id);
        return 1;
    }
    if (nodeSlotsCount(&leaving->is.slots)) {
        cliClusterPrint(TONE_ERROR, "[ERR] Node %s:%d is not empty! Reshard data away and try again.\n",
                        AT(leaving));
        return 1;
    }
    cliClusterPrint(TONE_STEP, ">>> Sending CLUSTER FORGET messages to the cluster...\n");
    if (!cliMembersReassignReplicas(c, leaving)) return 1;
    for (int i = 0; i < c->count; i++) {
        if (c->nodes[i] != leaving && !cliMembersForgetNode(c->nodes[i], id)) return 1;
    }
    cliClusterPrint(TONE_STEP, ">>> Sending CLUSTER RESET SOFT to the deleted node.\n");
    if (!clusterRun(leaving, "CLUSTER", "RESET", "SOFT", NULL)) return 1;
    cliClusterPrint(TONE_OK, "[OK] Node %s removed from the cluster.\n", id);
    return 0;
}

/* ---- call and set-timeout ---- */

int clusterCallAll(struct cluster *c, int argc, char **argv) {
    struct str *words = zmalloc((size_t)argc * sizeof(words[0]));
    cliClusterPrint(TONE_STEP, ">>> Calling");
    for (int i = 0; i < argc; i++) {
        words[i] = strOf(argv[i]);
        printf(" %s", argv[i]);
    }
    printf("\n");
    for (int i = 0; i < c->count; i++) {
        struct cliNode *n = c->nodes[i];
        struct respReply reply;
        if (clusterIsPrimary(n) ? c->options->only_replicas : c->options->only_primaries) continue;
        if (!cliClusterRequestWords(n, &reply, argc, words)) {
            printf("%s:%d: Failed!\n", AT(n));
            continue;
        }
        sds text = cliFormatReply(&n->link, &reply, false);
        printf("%s:%d: ", AT(n));
        fwrite(text, 1, sdslen(text), stdout);
        sdsfree(text);
        respReplyFree(&reply);
    }
    zfree(words);
    return 0;
}

static bool cliMembersSetTimeout(struct cliNode *n, const char *ms, struct respReply *reply) {
    if (!cliClusterRequest(n, reply, "CONFIG", "SET", "cluster-node-timeout", ms, NULL)) return false;
    if (reply->type == RESP_T_ERROR) return true;
    respReplyFree(reply);
    return cliClusterRequest(n, reply, "CONFIG", "REWRITE", NULL);
}

int clusterSetTimeout(struct cluster *c, const char *ms) {
    int ok = 0, failed = 0;
    cliClusterPrint(TONE_STEP, ">>> Reconfiguring node timeout in every cluster node...\n");
    for (int i = 0; i < c->count; i++) {
        struct cliNode *n = c->nodes[i];
        struct respReply reply = {.type = RESP_T_ERROR, .str = STR("no reply")};
        bool replied = cliMembersSetTimeout(n, ms, &reply);
        if (reply.type == RESP_T_ERROR) {
            cliClusterPrint(TONE_ERROR, "ERR setting node-timeout for %s:%d: %.*s\n", AT(n),
                            (int)reply.str.len, reply.str.ptr);
            failed++;
        } else {
            cliClusterPrint(TONE_WARNING, "*** New timeout set for %s:%d\n", AT(n));
            ok++;
        }
        if (replied) respReplyFree(&reply);
    }
    cliClusterPrint(TONE_STEP, ">>> New node timeout set. %d OK, %d ERR.\n", ok, failed);
    return 0;
}
