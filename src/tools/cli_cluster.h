/* SPDX-License-Identifier: BSD-3-Clause */
/* cli_cluster.h - what the parts of valkey-cli --cluster share.
 *
 *     options -> cliCluster -> a subcommand: load all nodes -> check -> plan (cli_cluster_plan) -> show -> do
 *
 * Lines that scripts look for go to standard output; progress, which people look at, to standard error when
 * that is a terminal. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "tools/cli.h"
#include "tools/cli_cluster_plan.h"
#include "tools/tool_nodes.h"

struct cliNode {
    struct cli link;    /* a conversation of its own */
    struct toolNode is; /* what it says of itself */
    sds signature;      /* what it believes of all slots */
    int replicas;       /* of it, among the nodes that were loaded */
    bool planned;       /* create: its role is not told to it yet */
};

struct cluster {
    struct cli *cli;
    const struct cliCluster *options;
    struct cliNode **nodes; /* the first is the one that was named */
    int count;
    int unreachable; /* primaries that could not be asked */
    int problems;    /* that the check has found */
};

/* "%s:%d" of a node. */
#define AT(node) (node)->link.host, (node)->link.port

/* ---- Words to the user ---- */

enum clusterTone { TONE_STEP, TONE_OK, TONE_WARNING, TONE_ERROR };
/* In the tone's colour where the terminal has colours. */
void cliClusterPrint(enum clusterTone tone, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* A line of standard input without its end; NULL when there is none. */
sds clusterReadLine(void);
/* True when the answer is yes. */
bool clusterConfirm(const char *question);
bool clusterConfirmUnless(bool sure, const char *question);
/* So much of it is done: a bar, where there is a terminal for it. It goes away when all is done, and before
 * other lines, when these are cliClusterPrint's or after clusterProgressHide. */
bool cliClusterHasProgressBar(void);
void clusterProgress(const char *what, int64_t done, int64_t all);
void clusterProgressHide(void);

/* ---- Nodes ---- */

/* Not connected yet. */
struct cliNode *clusterNodeCreate(const struct cluster *c, const char *host, int port);
void clusterNodeFree(struct cliNode *n);
/* Connect, where it is not, and make sure that it is a node of a cluster. What is wrong is printed. */
bool clusterNodeConnect(struct cliNode *n);
/* Ask for its view: n->is and n->signature. The view itself goes to *view when that is not NULL: free it with
 * toolNodesFree. */
bool clusterNodeLoad(struct cliNode *n, struct toolNode **view, int *view_count);
/* A request of words up to NULL. False: there was no reply, which has been said. Free the reply with
 * respReplyFree. */
bool cliClusterRequest(struct cliNode *n, struct respReply *reply, ...);
bool cliClusterRequestWords(struct cliNode *n, struct respReply *reply, int argc, const struct str *argv);
/* The same, again and again while the node does not know a node that is named, or its replicas do not
 * acknowledge the change in time. */
bool cliClusterRequestPatiently(struct cliNode *n, struct respReply *reply, ...);
/* The same for a reply that does not matter; an error is printed, and false. */
bool clusterDo(struct cliNode *n, ...);
bool clusterDoWords(struct cliNode *n, int argc, const struct str *argv);
/* Prints it if it is an error, frees it, and tells whether it was none. */
bool clusterSettled(const struct cliNode *n, struct respReply *reply);
/* Keys of all databases. */
int64_t clusterNodeKeys(struct cliNode *n);
/* Keys in a slot, in all databases; -1 when it cannot be told. */
int64_t clusterKeysInSlot(struct cliNode *n, int slot);
/* The same for all slots at once, added to keys[CLUSTER_SLOTS]. False: it cannot be told. */
bool clusterKeysBySlot(struct cliNode *n, int64_t *keys);
/* Databases that have keys, in databases[]; returns how many. The last is selected again by the caller. */
int clusterDatabases(struct cliNode *n, int *databases, int max);
bool clusterSelect(struct cliNode *n, int database);
/* Three lines about it, each after `indent`. */
void clusterNodePrint(const struct cliNode *n, const char *indent);

/* All nodes that the node at host:port knows, each with its own view. */
bool clusterLoad(struct cluster *c, const char *host, int port);
/* Add a node and count it as the others' replica. */
void clusterAdd(struct cluster *c, struct cliNode *n);
void clusterFree(struct cluster *c);
struct cliNode *clusterFind(const struct cluster *c, const char *id);
/* By the beginning of its id; NULL when there is none, or more than one. */
struct cliNode *clusterFindByStart(const struct cluster *c, const char *start);
static inline bool clusterIsPrimary(const struct cliNode *n) {
    return !n->is.replica;
}
/* Do all nodes believe the same? Asks them again when `fresh`. */
bool clusterAgrees(struct cluster *c, bool fresh);
/* Until they do, with a dot a second. False: not within the time. */
bool clusterWaitForAgreement(struct cluster *c, int seconds);

/* ---- Subcommands' parts ---- */

void clusterPrintInfo(struct cluster *c);
/* The checks, and with `fix` what can be done about what they find. True when all is well (again). */
bool clusterCheck(struct cluster *c, bool fix, bool quiet);
bool clusterFixOpenSlots(struct cluster *c, const struct nodeSlots *open);
bool clusterFixCoverage(struct cluster *c, const struct nodeSlots *uncovered);
bool clusterFixOwners(struct cluster *c, int slot, struct cliNode **owners, int count);

enum clusterMove {
    MOVE_QUIET = 1, /* no line for the slot */
    MOVE_COLD = 2,  /* its states are the caller's: move the keys only */
    MOVE_FIX = 4,   /* go on where a node does not know the slot's owner */
};
bool clusterMoveSlot(struct cluster *c, struct cliNode *from, struct cliNode *to, int slot, int flags);
/* Slots that follow each other, the way that the options say; a '#' for each. */
bool clusterMoveRange(struct cluster *c, struct cliNode *from, struct cliNode *to, int first, int last,
                      int flags);

/* Connect to a node that is to join, and see that it is an empty one. What is wrong is printed. */
bool clusterNodeJoins(struct cliNode *n);
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
