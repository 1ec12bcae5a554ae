/* SPDX-License-Identifier: BSD-3-Clause */
/* cli_cluster.h - what the parts of valkey-cli --cluster share.
 *
 *     options -> cliCluster -> a subcommand: load all nodes -> check -> plan (cli_cluster_plan) -> show -> do
 *
 * Lines for scripts go to standard output; progress, for people, goes to standard error if that is a
 * terminal. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "tools/cli/cli.h"
#include "tools/cli/cli_cluster_plan.h"
#include "tools/tool_nodes.h"

struct cliNode {
    struct cli link;    /* its own connection */
    struct toolNode is; /* the node's view of itself */
    sds signature;      /* the node's view of all slots */
    int replicas;       /* number of its replicas among the nodes loaded */
    bool planned;       /* create: its role is not configured yet */
};

struct cluster {
    struct cli *cli;
    const struct cliCluster *options;
    struct cliNode **nodes; /* the first is the one that the user named */
    int count;
    int unreachable; /* primaries that did not answer */
    int problems;    /* problems that the check has found */
};

/* The arguments for "%s:%d" of a node. */
#define AT(node) (node)->link.host, (node)->link.port

/* ---- Output and questions ---- */

enum clusterTone { TONE_STEP, TONE_OK, TONE_WARNING, TONE_ERROR };
/* Prints in the tone's colour if the terminal has colours. */
void cliClusterPrint(enum clusterTone tone, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Returns a line of standard input without its end; NULL at the end of input. */
sds clusterReadLine(void);
/* Asks the user; returns whether the answer is yes. */
bool clusterConfirm(const char *question);
bool clusterConfirmUnless(bool sure, const char *question);
/* A progress bar, if there is a terminal for it. It disappears when all is done, before lines of
 * cliClusterPrint, and by clusterProgressHide, which must precede other output. */
bool cliClusterHasProgressBar(void);
void clusterProgress(const char *what, int64_t done, int64_t all);
void clusterProgressHide(void);

/* ---- Nodes ---- */

/* Makes a node without a connection. */
struct cliNode *clusterNodeCreate(const struct cluster *c, const char *host, int port);
void clusterNodeFree(struct cliNode *n);
/* Connects if necessary and makes sure that the node is in cluster mode. Prints failures. */
bool clusterNodeConnect(struct cliNode *n);
/* Loads the node's view into n->is and n->signature, and all of it into *view unless that is NULL: free
 * it with toolNodesFree. */
bool clusterNodeLoad(struct cliNode *n, struct toolNode **view, int *view_count);
/* Sends a request of words up to NULL. Returns false after it has printed why there is no reply. Free
 * the reply with respReplyFree. */
bool cliClusterRequest(struct cliNode *n, struct respReply *reply, ...);
bool cliClusterRequestWords(struct cliNode *n, struct respReply *reply, int argc, const struct str *argv);
/* Like cliClusterRequest, but repeats the request while the node does not know a node that is named, or
 * its replicas do not acknowledge the change in time. */
bool cliClusterRequestRetrying(struct cliNode *n, struct respReply *reply, ...);
/* Like cliClusterRequest without the reply; an error is printed and makes it return false. */
bool clusterRun(struct cliNode *n, ...);
bool clusterRunWords(struct cliNode *n, int argc, const struct str *argv);
/* Frees the reply, after printing it if it is an error. Returns whether it was no error. */
bool clusterFinishRequest(const struct cliNode *n, struct respReply *reply);
/* Returns the number of keys in all databases. */
int64_t clusterNodeKeys(struct cliNode *n);
/* Returns the number of keys in a slot, in all databases; -1 if it cannot be found out. */
int64_t clusterKeysInSlot(struct cliNode *n, int slot);
/* Adds the numbers of keys of all slots to keys[CLUSTER_SLOTS]. Returns false if they cannot be found
 * out. */
bool clusterKeysBySlot(struct cliNode *n, int64_t *keys);
/* Fills databases[] with the databases that have keys; returns how many. The caller selects the last one
 * again. */
int clusterDatabases(struct cliNode *n, int *databases, int max);
bool clusterSelect(struct cliNode *n, int database);
/* Prints three lines about the node, each after `indent`. */
void clusterNodePrint(const struct cliNode *n, const char *indent);

/* Loads all nodes that the node at host:port knows, each with its own view. */
bool clusterLoad(struct cluster *c, const char *host, int port);
/* Adds a node and counts it as a replica of its primary. */
void clusterAdd(struct cluster *c, struct cliNode *n);
void clusterFree(struct cluster *c);
struct cliNode *clusterFind(const struct cluster *c, const char *id);
/* Finds a node by the beginning of its id; NULL if there is none, or more than one. */
struct cliNode *clusterFindByStart(const struct cluster *c, const char *start);
static inline bool clusterIsPrimary(const struct cliNode *n) {
    return !n->is.replica;
}
/* Returns whether all nodes have the same view; `fresh`: loads their views again. */
bool clusterViewsAgree(struct cluster *c, bool fresh);
/* Waits until all nodes have the same view and prints a dot every second. Returns false, with a message,
 * after two minutes. */
bool clusterWaitForAgreement(struct cluster *c);

/* ---- Parts of subcommands ---- */

void clusterPrintInfo(struct cluster *c);
/* Runs the checks, and with `fix` repairs what can be repaired. Returns true when all is well (again). */
bool clusterCheck(struct cluster *c, bool fix, bool quiet);
bool clusterFixOpenSlots(struct cluster *c, const struct nodeSlots *open);
bool clusterFixCoverage(struct cluster *c, const struct nodeSlots *uncovered);
bool clusterFixOwners(struct cluster *c, int slot, struct cliNode **owners, int count);

enum clusterMove {
    MOVE_QUIET = 1, /* prints no line for the slot */
    MOVE_COLD = 2,  /* the caller sets the slot's states; only keys are moved */
    MOVE_FIX = 4,   /* continues when a node does not know the slot's owner */
};
bool clusterMoveSlot(struct cluster *c, struct cliNode *from, struct cliNode *to, int slot, int flags);
/* Moves adjacent slots by the method that the options choose, and prints a '#' for each. */
bool clusterMoveRange(struct cluster *c, struct cliNode *from, struct cliNode *to, int first, int last,
                      int flags);

/* Connects to a node that is to join and checks that it is empty. Prints failures. */
bool clusterNodeCheckJoins(struct cliNode *n);
bool clusterMeet(struct cliNode *n, const struct cliNode *known);
/* Waits until the node knows its primary. */
bool clusterReplicate(struct cliNode *replica, const char *primary);

int clusterCreate(struct cluster *c, int argc, char **argv);
int clusterReshard(struct cluster *c);
int clusterRebalance(struct cluster *c);
int clusterAddNode(struct cluster *c, const char *host, int port);
int clusterDelNode(struct cluster *c, const char *id);
int clusterCallAll(struct cluster *c, int argc, char **argv);
int clusterSetTimeout(struct cluster *c, const char *ms);
int clusterImport(struct cluster *c);
int clusterBackup(struct cluster *c, const char *folder);
