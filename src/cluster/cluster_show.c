/* SPDX-License-Identifier: BSD-3-Clause */
/* cluster_show.c - CLUSTER's subcommands that show something; see cluster_commands.h. */
#include <string.h>

#include "base/key_slot.h"
#include "base/zmalloc.h"
#include "client/client_session.h"
#include "client/reply.h"
#include "cluster/bus_links.h"
#include "cluster/cluster_commands.h"
#include "cluster/node.h"
#include "cluster/slot_keys.h"
#include "cluster/topology_file.h"
#include "command/call.h"
#include "net/tls.h"

/* ---- Arguments and audiences ---- */

int clusterAudienceOf(struct client *c) {
    if (c && !c->conn && callOwner()) c = callOwner(); /* a script sees what its caller sees */
    bool tls = c && c->conn && tlsIs(c->conn), ip6 = false;
    if (c && c->conn) {
        const char *own = clientSockName(c);
        ip6 = *own == '[' && strncmp(own, "[::ffff:", 8) != 0;
    }
    if (ip6) return tls ? LINE_TLS_CLIENT6 : LINE_CLIENT6;
    return tls ? LINE_TLS_CLIENT : LINE_CLIENT;
}

struct clusterNode *clusterParseNodeArg(struct client *c, struct str id) {
    struct clusterNode *n = id.len == NODE_ID_LEN ? topologyFind(clusterTopology(), id.ptr) : NULL;
    if (!n || n->flags & NODE_HANDSHAKE) {
        replyErrorFmt(c, "ERR Unknown node %.*s", (int)id.len, id.ptr);
        return NULL;
    }
    return n;
}

/* ---- Single values ---- */

void clusterMyidCommand(struct client *c) {
    replyBulk(c, strN(clusterMyself()->id, NODE_ID_LEN));
}
void clusterMyshardidCommand(struct client *c) {
    replyBulk(c, strN(clusterMyself()->shard_id, NODE_ID_LEN));
}
void clusterKeyslotCommand(struct client *c) {
    replyLongLong(c, keySlot(c->argv[2]));
}

void clusterCountFailureReportsCommand(struct client *c) {
    struct clusterNode *n = clusterParseNodeArg(c, c->argv[2]);
    int64_t since_ms = clusterNow() - 2 * cluster_engine.settings.node_timeout_ms;
    if (n) replyLongLong(c, failureReportCount(n, since_ms));
}

/* ---- Lines of nodes ---- */

void clusterNodesCommand(struct client *c) {
    struct topology *t = clusterTopology();
    int audience = clusterAudienceOf(c);
    sds s = sdsempty();
    for (int i = 0; i < t->count; i++) {
        struct clusterNode *n = t->nodes[i];
        if (n->flags & NODE_HANDSHAKE && !c->conn) continue;
        s = sdscat(nodeFormatLine(s, t, n, (enum nodeLineAudience)audience), "\n");
    }
    replyVerbatim(c, sdsview(s), "txt");
    sdsfree(s);
}

void clusterReplicasCommand(struct client *c) {
    struct clusterNode *n = clusterParseNodeArg(c, c->argv[2]);
    if (!n) return;
    if (nodeIsReplica(n)) {
        replyError(c, "ERR The specified node is not a master");
        return;
    }
    replyArrayLen(c, n->replica_count);
    for (int i = 0; i < n->replica_count; i++) {
        sds line = nodeFormatLine(sdsempty(), clusterTopology(), n->replicas[i],
                                  (enum nodeLineAudience)clusterAudienceOf(c));
        replyBulk(c, sdsview(line));
        sdsfree(line);
    }
}

/* ---- Slots ---- */

const char *clusterEndpoint(const struct clusterNode *n, int audience) {
    switch (cluster_settings.endpoint_type) {
    case ENDPOINT_HOSTNAME: return sdslen(n->hostname) ? n->hostname : "?";
    case ENDPOINT_UNKNOWN: return NULL;
    default: return nodeClientIp(n, (enum nodeLineAudience)audience);
    }
}

static void clusterShowReplyPair(struct client *c, const char *name, const char *value) {
    replyBulkCstr(c, name);
    replyBulkCstr(c, value);
}

static void clusterShowReplySlotsNode(struct client *c, const struct clusterNode *n,
                                      enum nodeLineAudience audience) {
    bool ip = cluster_settings.endpoint_type != ENDPOINT_IP;
    bool hostname = cluster_settings.endpoint_type != ENDPOINT_HOSTNAME && sdslen(n->hostname);
    bool zone = sdslen(n->availability_zone);
    const char *endpoint = clusterEndpoint(n, (int)audience);
    replyArrayLen(c, 4);
    if (endpoint)
        replyBulkCstr(c, endpoint);
    else
        replyNull(c);
    replyLongLong(c, nodeClientPort(n, audience));
    replyBulk(c, strN(n->id, NODE_ID_LEN));
    replyMapLen(c, ip + hostname + zone);
    if (ip) clusterShowReplyPair(c, "ip", nodeClientIp(n, audience));
    if (hostname) clusterShowReplyPair(c, "hostname", n->hostname);
    if (zone) clusterShowReplyPair(c, "availability-zone", n->availability_zone);
}

static bool clusterShowIsShown(const struct clusterNode *replica) {
    return !nodeHasFailed(replica) && (replica->flags & NODE_MYSELF || replica->offset);
}

static void clusterShowReplySlotsRange(struct client *c, int first, int last, const struct clusterNode *n,
                                       enum nodeLineAudience audience) {
    int nodes = 1;
    for (int i = 0; i < n->replica_count; i++) nodes += clusterShowIsShown(n->replicas[i]);
    replyArrayLen(c, 2 + nodes);
    replyLongLong(c, first);
    replyLongLong(c, last);
    clusterShowReplySlotsNode(c, n, audience);
    for (int i = 0; i < n->replica_count; i++) {
        if (clusterShowIsShown(n->replicas[i])) clusterShowReplySlotsNode(c, n->replicas[i], audience);
    }
}

void clusterSlotsCommand(struct client *c) {
    const struct topology *t = clusterTopology();
    enum nodeLineAudience audience = (enum nodeLineAudience)clusterAudienceOf(c);
    struct replyMark mark = replyDeferLen(c);
    int ranges = 0;
    for (int first = 0, last; first < KEY_SLOTS; first = last + 1) {
        for (last = first; last + 1 < KEY_SLOTS && t->owner[last + 1] == t->owner[first];) last++;
        if (!t->owner[first]) continue;
        clusterShowReplySlotsRange(c, first, last, t->owner[first], audience);
        ranges++;
    }
    replySetArrayLen(c, mark, ranges);
}

/* ---- Shards ---- */

static const char *clusterShowHealth(const struct clusterNode *n) {
    if (nodeHasFailed(n)) return "fail";
    uint64_t offset = n->flags & NODE_MYSELF ? engineAnnouncedOffset(&cluster_engine) : n->offset;
    return nodeIsReplica(n) && offset == 0 ? "loading" : "online";
}

static void clusterShowReplyShardNode(struct client *c, const struct clusterNode *n,
                                      enum nodeLineAudience audience) {
    struct replyMark mark = replyDeferLen(c);
    const char *endpoint = clusterEndpoint(n, (int)audience);
    uint16_t tcp = nodeClientPort(n, LINE_CLIENT), tls = nodeClientPort(n, LINE_TLS_CLIENT);
    uint64_t offset = n->flags & NODE_MYSELF ? engineAnnouncedOffset(&cluster_engine) : n->offset;
    int pairs = 6;
    replyBulkCstr(c, "id");
    replyBulk(c, strN(n->id, NODE_ID_LEN));
    if (tcp) pairs++, replyBulkCstr(c, "port"), replyLongLong(c, tcp);
    if (tls) pairs++, replyBulkCstr(c, "tls-port"), replyLongLong(c, tls);
    clusterShowReplyPair(c, "ip", nodeClientIp(n, audience));
    clusterShowReplyPair(c, "endpoint", endpoint ? endpoint : "");
    if (sdslen(n->hostname)) pairs++, clusterShowReplyPair(c, "hostname", n->hostname);
    clusterShowReplyPair(c, "role", nodeIsReplica(n) ? "replica" : "master");
    replyBulkCstr(c, "replication-offset");
    replyLongLong(c, (int64_t)offset);
    clusterShowReplyPair(c, "health", clusterShowHealth(n));
    if (sdslen(n->availability_zone))
        pairs++, clusterShowReplyPair(c, "availability-zone", n->availability_zone);
    replySetMapLen(c, mark, pairs);
}

static void clusterShowReplyShard(struct client *c, struct clusterNode *const *members, int count,
                                  enum nodeLineAudience audience) {
    const struct slotSet *slots = &members[0]->slots;
    int ranges = 0;
    replyMapLen(c, 3);
    replyBulkCstr(c, "slots");
    struct replyMark mark = replyDeferLen(c);
    slotSetForEachRun(slots, first, last) {
        replyLongLong(c, first);
        replyLongLong(c, last);
        ranges++;
    }
    replySetArrayLen(c, mark, 2 * ranges);
    replyBulkCstr(c, "nodes");
    replyArrayLen(c, count);
    for (int i = 0; i < count; i++) clusterShowReplyShardNode(c, members[i], audience);
    replyBulkCstr(c, "id");
    replyBulk(c, strN(members[0]->shard_id, NODE_ID_LEN));
}

static bool clusterShowInSameShard(const struct clusterNode *a, const struct clusterNode *b) {
    bool handshake = (a->flags | b->flags) & NODE_HANDSHAKE;
    return !handshake && memcmp(a->shard_id, b->shard_id, NODE_ID_LEN) == 0;
}

/* Returns whether n is listed before `other`. A primary that has failed stays one until it comes back, beside
 * the replica that took its slots. */
static bool clusterShowGoesFirst(const struct clusterNode *n, const struct clusterNode *other) {
    if (nodeIsPrimary(n) != nodeIsPrimary(other)) return nodeIsPrimary(n);
    return n->slot_count && !other->slot_count;
}

/* Collects the nodes of the shard whose first one is t->nodes[first]: its primary, then
 * the others in order of ids. */
static int clusterShowCollectShard(const struct topology *t, int first, struct clusterNode **members) {
    int count = 0;
    for (int i = first; i < t->count; i++) {
        struct clusterNode *n = t->nodes[i];
        if (!clusterShowInSameShard(n, t->nodes[first])) continue;
        bool goes_first = count && clusterShowGoesFirst(n, members[0]);
        if (goes_first) memmove(members + 1, members, (size_t)count * sizeof *members);
        members[goes_first ? 0 : count] = n;
        count++;
    }
    return count;
}

/* Shards are listed in the order of their first members. */
void clusterShardsCommand(struct client *c) {
    const struct topology *t = clusterTopology();
    enum nodeLineAudience audience = (enum nodeLineAudience)clusterAudienceOf(c);
    struct clusterNode **members = zmalloc((size_t)t->count * sizeof *members);
    struct replyMark mark = replyDeferLen(c);
    int shards = 0;
    for (int i = 0; i < t->count; i++) {
        bool seen = t->nodes[i]->flags & NODE_HANDSHAKE;
        for (int k = 0; k < i && !seen; k++) seen = clusterShowInSameShard(t->nodes[k], t->nodes[i]);
        if (seen) continue;
        clusterShowReplyShard(c, members, clusterShowCollectShard(t, i, members), audience);
        shards++;
    }
    replySetArrayLen(c, mark, shards);
    zfree(members);
}

/* ---- Links ---- */

static void clusterShowReplyLink(struct client *c, const struct busLink *link) {
    replyMapLen(c, 6);
    clusterShowReplyPair(c, "direction", link->inbound ? "from" : "to");
    replyBulkCstr(c, "node");
    replyBulk(c, strN(link->node->id, NODE_ID_LEN));
    replyBulkCstr(c, "create-time");
    replyLongLong(c, link->created_ms);
    clusterShowReplyPair(c, "events", busLinkAwaitsWritable(link) ? "rw" : "r");
    replyBulkCstr(c, "send-buffer-allocated");
    replyLongLong(c, (int64_t)busLinkAllocatedBytes(link));
    replyBulkCstr(c, "send-buffer-used");
    replyLongLong(c, (int64_t)busLinkQueuedBytes(link));
}

void clusterLinksCommand(struct client *c) {
    const struct topology *t = clusterTopology();
    struct replyMark mark = replyDeferLen(c);
    int count = 0;
    for (int i = 0; i < t->count; i++) {
        if (t->nodes[i]->out) count++, clusterShowReplyLink(c, t->nodes[i]->out);
        if (t->nodes[i]->in) count++, clusterShowReplyLink(c, t->nodes[i]->in);
    }
    replySetArrayLen(c, mark, count);
}

/* ---- INFO ---- */

struct clusterCounts {
    int ok, pfail, fail, nodes_pfail, nodes_fail, voters_pfail, voters_fail;
};

static struct clusterCounts clusterShowCountAll(const struct topology *t) {
    struct clusterCounts n = {0};
    for (int i = 0; i < t->count; i++) {
        const struct clusterNode *node = t->nodes[i];
        bool fail = nodeHasFailed(node), pfail = !fail && node->flags & NODE_PFAIL, votes = nodeIsVoter(node);
        *(fail ? &n.fail : pfail ? &n.pfail : &n.ok) += node->slot_count;
        n.nodes_fail += fail;
        n.nodes_pfail += pfail;
        n.voters_fail += fail && votes;
        n.voters_pfail += pfail && votes;
    }
    return n;
}

static sds clusterShowMessageCounts(sds s, const uint64_t *clusterCounts, const char *direction) {
    uint64_t sum = 0;
    for (int type = 0; type < BUS_TYPES; type++) {
        sum += clusterCounts[type];
        if (clusterCounts[type])
            s = sdscatprintf(s, "cluster_stats_messages_%s_%s:%llu\r\n", bus_type_names[type], direction,
                             (unsigned long long)clusterCounts[type]);
    }
    return sdscatprintf(s, "cluster_stats_messages_%s:%llu\r\n", direction, (unsigned long long)sum);
}

sds clusterInfoText(sds s) {
    const struct engine *e = &cluster_engine;
    const struct topology *t = &e->t;
    struct clusterCounts n = clusterShowCountAll(t);
    struct clusterNode *primary = nodeShardPrimary(t->myself);
    s = sdscatprintf(s,
                     "cluster_state:%s\r\ncluster_slots_assigned:%d\r\ncluster_slots_ok:%d\r\n"
                     "cluster_slots_pfail:%d\r\ncluster_slots_fail:%d\r\n",
                     engineIsClusterOk(e) ? "ok" : "fail", n.ok + n.pfail + n.fail, n.ok, n.pfail, n.fail);
    s = sdscatprintf(s,
                     "cluster_nodes_pfail:%d\r\ncluster_nodes_fail:%d\r\ncluster_voting_nodes_pfail:%d\r\n"
                     "cluster_voting_nodes_fail:%d\r\ncluster_known_nodes:%d\r\ncluster_size:%d\r\n",
                     n.nodes_pfail, n.nodes_fail, n.voters_pfail, n.voters_fail, t->count,
                     topologyCountVoters(t));
    s = sdscatprintf(s, "cluster_current_epoch:%llu\r\ncluster_my_epoch:%llu\r\n",
                     (unsigned long long)t->current_epoch,
                     (unsigned long long)(primary ? primary->config_epoch : 0));
    s = clusterShowMessageCounts(s, e->stats.sent, "sent");
    s = clusterShowMessageCounts(s, e->stats.received, "received");
    const struct {
        const char *name;
        uint64_t value;
    } bytes[] = {
        {"cluster_stats_bytes_sent", e->stats.bytes_sent},
        {"cluster_stats_bytes_received", e->stats.bytes_received},
        {"cluster_stats_pubsub_bytes_sent", e->stats.pubsub_bytes_sent},
        {"cluster_stats_pubsub_bytes_received", e->stats.pubsub_bytes_received},
        {"cluster_stats_module_bytes_sent", e->stats.module_bytes_sent},
        {"cluster_stats_module_bytes_received", e->stats.module_bytes_received},
        {"total_cluster_links_buffer_limit_exceeded", clusterLinksOverLimit()},
    };
    for (size_t i = 0; i < sizeof bytes / sizeof *bytes; i++)
        s = sdscatprintf(s, "%s:%llu\r\n", bytes[i].name, (unsigned long long)bytes[i].value);
    return s;
}

void clusterInfoCommand(struct client *c) {
    sds s = clusterInfoText(sdsempty());
    replyVerbatim(c, sdsview(s), "txt");
    sdsfree(s);
}

/* ---- HELP ---- */

void clusterHelpCommand(struct client *c) {
    replyHelp(c, (const char *[]){
                     "ADDSLOTS <slot> [<slot> ...]",
                     "    Make this node the owner of slots without one.",
                     "ADDSLOTSRANGE <first> <last> [<first> <last> ...]",
                     "    Do the same with ranges of slots.",
                     "BUMPEPOCH",
                     "    Take a configuration epoch that is greater than all others.",
                     "CANCELSLOTMIGRATIONS ALL",
                     "    Stop all migrations from this node.",
                     "COUNT-FAILURE-REPORTS <node-id>",
                     "    The number of nodes that report that this one does not answer.",
                     "COUNTKEYSINSLOT <slot>",
                     "    The number of keys of the slot in the selected database.",
                     "DELSLOTS <slot> [<slot> ...]",
                     "    Remove the owners of these slots.",
                     "DELSLOTSRANGE <first> <last> [<first> <last> ...]",
                     "    Do the same with ranges of slots.",
                     "FAILOVER [FORCE|TAKEOVER]",
                     "    Make this replica the primary: together with its primary, without it, or",
                     "    without votes.",
                     "FLUSHSLOT <slot> [ASYNC|SYNC]",
                     "    Delete the keys of the slot.",
                     "FLUSHSLOTS",
                     "    Remove all slots from this node, which must be empty.",
                     "FORGET <node-id>",
                     "    Remove a node, and ignore what others say of it for a while.",
                     "GETKEYSINSLOT <slot> <count>",
                     "    Up to <count> keys of the slot in the selected database.",
                     "GETSLOTMIGRATIONS",
                     "    Slot migrations to and from this node: current and recent ones.",
                     "INFO",
                     "    State and statistics of the cluster.",
                     "KEYSLOT <key>",
                     "    The slot of a key.",
                     "LINKS",
                     "    The connections to and from other nodes.",
                     "MEET <ip> <port> [<bus-port>]",
                     "    Connect this node's cluster with the one of that node.",
                     "MIGRATESLOTS SLOTSRANGE <first> <last> [<first> <last> ...] NODE <node-id> [...]",
                     "    Move slots of this node, with their keys, to others.",
                     "MYID",
                     "    The id of this node.",
                     "MYSHARDID",
                     "    The id of this node's shard.",
                     "NODES",
                     "    A line for each node: <id> <ip:port@bus-port[,hostname]> <flags> <primary or ->",
                     "    <ping sent> <pong received> <epoch> <link> <slots> ...",
                     "REPLICAS <node-id>",
                     "    The lines of the replicas of a node.",
                     "REPLICATE <node-id> | NO ONE",
                     "    Become a replica of a primary, or an empty primary.",
                     "RESET [HARD|SOFT]",
                     "    Leave the cluster, with a new id (HARD) or the same.",
                     "SAVECONFIG",
                     "    Write the cluster's configuration file now.",
                     "SET-CONFIG-EPOCH <epoch>",
                     "    Set the epoch of a node that knows no other node.",
                     "SETSLOT <slot> (IMPORTING <node-id>|MIGRATING <node-id>|STABLE|NODE <node-id>)",
                     "    Open the slot for a migration key by key, close it, or set its owner.",
                     "SHARDS",
                     "    The shards: their slots and their nodes.",
                     "SLOT-STATS SLOTSRANGE <first> <last> | ORDERBY <metric> [LIMIT <n>] [ASC|DESC]",
                     "    Statistics of single slots of this node.",
                     "SLOTS",
                     "    Ranges of slots, each with its nodes.",
                     NULL,
                 });
}
