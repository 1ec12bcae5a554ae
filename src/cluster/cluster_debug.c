/* SPDX-License-Identifier: BSD-3-Clause */
/* cluster_debug.c - see cluster_debug.h. */
#include "cluster/cluster_debug.h"

#include <string.h>

#include "base/num.h"
#include "client/reply.h"
#include "cluster/bus_links.h"
#include "cluster/cluster_commands.h"
#include "registry/debug.h"

struct clusterDebug cluster_debug = {.drop = DROP_NONE};

/* Any word but a number counts as 0. */
static bool clusterDebugIsOn(struct str word) {
    int64_t on;
    return string2ll(word, &on) && on;
}

static void clusterDebugPacketFilter(struct client *c) {
    if (argLongLong(c, c->argv[2], &cluster_debug.drop, NULL)) replyOk(c);
}
static void clusterDebugCloseOnDrop(struct client *c) {
    cluster_debug.close_on_drop = clusterDebugIsOn(c->argv[2]);
    replyOk(c);
}
static void clusterDebugRandomPing(struct client *c) {
    cluster_engine.settings.no_random_pings = clusterDebugIsOn(c->argv[2]);
    replyOk(c);
}
static void clusterDebugReconnection(struct client *c) {
    cluster_debug.no_reconnection = clusterDebugIsOn(c->argv[2]);
    replyOk(c);
}

static void clusterDebugKillLink(struct busLink *link) {
    if (!link) return;
    engineLinkDown(&cluster_engine, link, clusterNow());
    busLinkClose(link);
}

static void clusterDebugLinks(struct client *c) {
    struct str which = c->argv[3];
    if (!cluster_enabled) {
        replyError(c, "ERR Debug option only available for cluster mode enabled setup!");
        return;
    }
    if (!strIs(c->argv[2], "kill")) {
        replySubcommandError(c);
        return;
    }
    struct clusterNode *n = clusterParseNodeArg(c, c->argv[4]);
    bool all = strIs(which, "all");
    if (!n) return;
    if (n == clusterMyself()) {
        replyError(c, "ERR Cannot free cluster link(s) to myself");
        return;
    }
    if (!all && !strIs(which, "to") && !strIs(which, "from")) {
        replySubcommandError(c);
        return;
    }
    if (all || strIs(which, "to")) clusterDebugKillLink(n->out);
    if (all || strIs(which, "from")) clusterDebugKillLink(n->in);
    replyOk(c);
}

static void clusterDebugReplicaPriority(struct client *c) {
    if (!cluster_enabled) {
        replyError(c, "ERR Debug option only available for cluster mode enabled setup!");
        return;
    }
    const struct clusterNode *n = clusterParseNodeArg(c, c->argv[2]);
    if (n) replyLongLong(c, n->replica_priority);
}

#define HELP(...) ((const char *const[]){__VA_ARGS__, NULL})

static const struct debugSubcommand subcommands[] = {
    {"clusterlink", 3, 3, clusterDebugLinks,
     HELP("CLUSTERLINK KILL <to|from|all> <node-id>", "    Close connections of the cluster bus.")},
    {"cluster-replica-priority", 1, 1, clusterDebugReplicaPriority,
     HELP("CLUSTER-REPLICA-PRIORITY <node-id>", "    Show the priority that this node has announced.")},
    {"drop-cluster-packet-filter", 1, 1, clusterDebugPacketFilter,
     HELP("DROP-CLUSTER-PACKET-FILTER <type>",
          "    Ignore messages of this type (-1: of none, -2: of all).")},
    {"close-cluster-link-on-packet-drop", 1, 1, clusterDebugCloseOnDrop,
     HELP("CLOSE-CLUSTER-LINK-ON-PACKET-DROP <0|1>", "    Close the link on which an ignored message came.")},
    {"disable-cluster-random-ping", 1, 1, clusterDebugRandomPing,
     HELP("DISABLE-CLUSTER-RANDOM-PING <0|1>", "    Ping only nodes that have been silent for long.")},
    {"disable-cluster-reconnection", 1, 1, clusterDebugReconnection,
     HELP("DISABLE-CLUSTER-RECONNECTION <0|1>", "    Open no new links to other nodes.")},
};

void clusterDebugInit(void) {
    for (size_t i = 0; i < sizeof subcommands / sizeof *subcommands; i++) debugRegister(&subcommands[i]);
}
