/* SPDX-License-Identifier: BSD-3-Clause */
/* cluster_engine_members.c - the members of the cluster: links, handshakes, gossip, extensions, addresses. */
#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>

#include "base/assert.h"
#include "cluster/cluster_engine_private.h"
#include "cluster/topology_file.h"

#define CONNECT_RETRIES 20 /* within the node time-out */

/* ---- Links ---- */

void nodeDetach(struct clusterNode *n, struct busLink *link) {
    if (n->in == link) n->in = NULL;
    if (n->out == link) {
        n->out = NULL;
        n->connected = false;
    }
    link->node = NULL;
}

void nodeDropLink(struct engine *e, struct clusterNode *n, bool outbound) {
    struct busLink *link = outbound ? n->out : n->in;
    if (!link) return;
    nodeDetach(n, link);
    if (link == e->receiving)
        e->receiving = NULL;
    else
        e->env->close(e->ctx, link);
}

void engineLinkUp(struct engine *e, struct busLink *link, int64_t now_ms) {
    engineSetTime(e, now_ms);
    struct clusterNode *n = link->node;
    if (!n) return;
    n->connected = true;
    /* A PING without an answer counts on over the new link. */
    int64_t waiting_since = n->ping_sent_ms;
    messageSendPing(e, link, n->flags & NODE_MEET ? BUS_MEET : BUS_PING);
    if (waiting_since) n->ping_sent_ms = waiting_since;
}

void engineLinkDown(struct engine *e, struct busLink *link, int64_t now_ms) {
    engineSetTime(e, now_ms);
    if (!link->node) return;
    if (link->inbound) link->node->inbound_lost_ms = now_ms;
    nodeDetach(link->node, link);
}

static void membersConnect(struct engine *e, struct clusterNode *n) {
    if (e->now_ms - n->connect_ms < e->settings.node_timeout_ms / CONNECT_RETRIES || !*n->ip) return;
    n->connect_ms = e->now_ms;
    struct busLink *link = e->env->connect(e->ctx, n->ip, n->bus_port);
    /* A node to which no attempt is possible counts as one that does not answer. */
    if (n->ping_sent_ms == 0) n->ping_sent_ms = e->now_ms;
    if (!link) return;
    link->node = n;
    link->inbound = link->ponged = false;
    link->created_ms = e->now_ms;
    n->out = link;
    n->connected = false;
}

void linkTick(struct engine *e, struct clusterNode *n) {
    if (n->flags & (NODE_MYSELF | NODE_NOADDR)) return;
    if (n->flags & NODE_HANDSHAKE && e->now_ms - n->created_ms > engineHandshakeTimeout(e)) {
        engineLogLimited(e, LL_WARNING, "The handshake with the cluster bus of %s:%u has timed out", n->ip,
                         n->bus_port);
        nodeRemove(e, n);
        return;
    }
    if (!n->out) membersConnect(e, n);
    /* The node should have a link to this one and has none: it may have forgotten this
     * node, or never learnt of it. */
    bool accepts_meet =
        n->flags & NODE_LIGHT_MODULE && !(n->flags & (NODE_HANDSHAKE | NODE_FAIL | NODE_PFAIL));
    if (n->in || !n->connected || !accepts_meet) return;
    int64_t since = n->inbound_lost_ms ? n->inbound_lost_ms : n->created_ms;
    if (e->now_ms - since <= engineHandshakeTimeout(e)) return;
    engineLog(e, LL_NOTICE, "A MEET packet goes to node %s, which has not connected to this node",
              nodeLogName(n));
    n->inbound_lost_ms = e->now_ms;
    messageSendPing(e, n->out, BUS_MEET);
}

/* ---- Nodes ---- */

void nodeRemove(struct engine *e, struct clusterNode *n) {
    nodeDropLink(e, n, true);
    nodeDropLink(e, n, false);
    if (e->manual.replica == n) manualReset(e);
    topologyRemove(&e->t, n);
    engineAddTodo(e, TODO_SAVE | TODO_STATE | TODO_SLOTS);
}

void engineMakeNodeId(struct engine *e, char id[NODE_ID_LEN]) {
    static const char digits[] = "0123456789abcdef";
    uint64_t bits = 0;
    for (int i = 0; i < NODE_ID_LEN; i++) {
        if (i % 16 == 0) bits = e->env->random(e->ctx);
        id[i] = digits[bits & 15];
        bits >>= 4;
    }
}

/* Returns the text, or an empty one if it is not ASCII or nodes.conf could not hold it. */
static struct str membersValidText(struct str text) {
    bool ascii = true;
    for (size_t i = 0; i < text.len; i++) ascii &= (unsigned char)text.ptr[i] < 0x80;
    return ascii && topologyIsTextValid(text) ? text : strN("", 0);
}

/* Returns the text, or an empty one if it is no address of this family. In a cluster with nodes of Redis 8,
 * theirs is none: they send something else of 40 characters as EXT_CLIENT_IPV4. */
static struct str membersValidAddress(struct str text, int family) {
    char ip[NODE_IP_LEN];
    unsigned char bytes[16];
    if (text.len >= sizeof ip) return strN("", 0);
    memcpy(ip, text.ptr, text.len);
    ip[text.len] = '\0';
    return inet_pton(family, ip, bytes) == 1 ? text : strN("", 0);
}

/* Writes the address as inet_ntop does. Returns false if it is not valid. */
static bool membersNormalizeAddress(const char *ip, char out[NODE_IP_LEN]) {
    unsigned char bytes[16];
    int family = inet_pton(AF_INET, ip, bytes) == 1    ? AF_INET
                 : inet_pton(AF_INET6, ip, bytes) == 1 ? AF_INET6
                                                       : 0;
    return family && inet_ntop(family, bytes, out, NODE_IP_LEN);
}

static void membersSetPorts(struct engine *e, struct clusterNode *n, uint16_t port, uint16_t other,
                            uint16_t bus) {
    *(e->settings.tls ? &n->tls_port : &n->tcp_port) = port;
    *(e->settings.tls ? &n->tcp_port : &n->tls_port) = other;
    n->bus_port = bus;
}

enum meetVerdict nodeHandshake(struct engine *e, bool meet, const char *ip, uint16_t port,
                               uint16_t bus_port) {
    char address[NODE_IP_LEN] = "", id[NODE_ID_LEN];
    if (!membersNormalizeAddress(ip, address) || port == 0 || bus_port == 0) return MEET_NO_ADDRESS;
    topologyForEach(&e->t, known) {
        if (known->flags & NODE_HANDSHAKE && strcmp(known->ip, address) == 0 && known->bus_port == bus_port)
            return MEET_UNDER_WAY;
    }
    engineMakeNodeId(e, id);
    struct clusterNode *n =
        topologyAdd(&e->t, id, (uint16_t)(NODE_HANDSHAKE | (meet ? NODE_MEET : 0)), e->now_ms);
    memcpy(n->ip, address, NODE_IP_LEN);
    membersSetPorts(e, n, port, 0, bus_port);
    return MEET_BEGUN;
}

enum meetVerdict engineMeet(struct engine *e, const char *ip, uint16_t port, uint16_t bus_port,
                            int64_t now_ms) {
    engineSetTime(e, now_ms);
    return nodeHandshake(e, true, ip, port, bus_port);
}

void engineForget(struct engine *e, struct clusterNode *n, int64_t now_ms) {
    serverAssert(n != e->t.myself && n != e->t.myself->primary);
    engineSetTime(e, now_ms);
    topologyForget(&e->t, n->id, now_ms + e->settings.blacklist_ttl_s * 1000);
    nodeRemove(e, n);
}

bool nodeUpdateAddress(struct engine *e, struct clusterNode *n, const struct busLink *link,
                       const struct busHeader *h) {
    if (link == n->out) return false; /* its address has just been used to connect */
    const char *ip = *h->ip ? h->ip : link->peer_ip;
    if (!membersValidText(strOf(ip)).len) return false;
    uint16_t port = e->settings.tls ? n->tls_port : n->tcp_port;
    uint16_t other = e->settings.tls ? n->tcp_port : n->tls_port;
    if (strcmp(n->ip, ip) == 0 && port == h->port && other == h->other_port && n->bus_port == h->bus_port)
        return false;
    snprintf(n->ip, NODE_IP_LEN, "%s", ip);
    membersSetPorts(e, n, h->port, h->other_port, h->bus_port);
    n->flags &= (uint16_t)~NODE_NOADDR;
    nodeDropLink(e, n, true);
    engineLog(e, LL_NOTICE, "The address of node %s is now %s:%u", nodeLogName(n), n->ip, h->port);
    if (e->t.myself->primary == n) e->env->follow(e->ctx, n, false);
    return true;
}

/* ---- Gossip ---- */

static bool membersReportsReachable(const struct busGossip *g) {
    return !(g->flags & (NODE_FAIL | NODE_PFAIL));
}

/* Takes the report of a voter. */
static void membersTakeReport(struct engine *e, struct clusterNode *sender, struct clusterNode *n,
                              const struct busGossip *g) {
    if (!membersReportsReachable(g)) {
        if (failureReportAdd(n, sender, e->now_ms))
            engineLog(e, LL_VERBOSE, "Node %s cannot reach node %s", nodeLogName(sender), nodeLogName(n));
        failureMarkIfAgreed(e, n);
    } else if (failureReportDrop(n, sender)) {
        engineLog(e, LL_VERBOSE, "Node %s can reach node %s again", nodeLogName(sender), nodeLogName(n));
    }
}

static void membersTakeGossipOfKnown(struct engine *e, struct clusterNode *sender, struct clusterNode *n,
                                     const struct busGossip *g) {
    if (nodeIsVoter(sender)) membersTakeReport(e, sender, n, g);
    if (membersReportsReachable(g) && n->pong_received_ms && !n->ping_sent_ms &&
        !(n->flags & (NODE_FAIL | NODE_PFAIL)) &&
        failureReportCount(n, e->now_ms - 2 * e->settings.node_timeout_ms) == 0) {
        int64_t pong_ms = (int64_t)g->pong_received_s * 1000;
        if (pong_ms <= e->now_ms + CLOCK_TOLERANCE_MS && pong_ms > n->pong_received_ms)
            n->pong_received_ms = pong_ms;
    }
    bool lost = n->flags & (NODE_FAIL | NODE_PFAIL), announced = membersReportsReachable(g) &&
                                                                 !(g->flags & NODE_NOADDR) &&
                                                                 membersValidText(strOf(g->ip)).len;
    uint16_t port = e->settings.tls ? n->tls_port : n->tcp_port;
    if (!lost || !announced) return;
    if (strcmp(n->ip, g->ip) == 0 && port == g->port && n->bus_port == g->bus_port) return;
    nodeDropLink(e, n, true);
    memcpy(n->ip, g->ip, NODE_IP_LEN);
    membersSetPorts(e, n, g->port, g->other_port, g->bus_port);
    n->flags &= (uint16_t)~NODE_NOADDR;
    if (e->t.myself->primary == n) e->env->follow(e->ctx, n, false);
    engineAddTodo(e, TODO_SAVE);
}

static void membersTakeGossipOfUnknown(struct engine *e, const struct busGossip *g) {
    char address[NODE_IP_LEN] = "";
    if (g->flags & (NODE_NOADDR | NODE_HANDSHAKE) || topologyIsForgotten(&e->t, g->id, e->now_ms)) return;
    if (!membersNormalizeAddress(g->ip, address)) return;
    uint16_t role = g->flags & NODE_REPLICA ? NODE_REPLICA : NODE_PRIMARY;
    struct clusterNode *n = topologyAdd(&e->t, g->id, role, e->now_ms);
    memcpy(n->ip, address, NODE_IP_LEN);
    membersSetPorts(e, n, g->port, g->other_port, g->bus_port);
    engineAddTodo(e, TODO_SAVE);
}

void gossipProcess(struct engine *e, struct clusterNode *sender, const struct busMessage *m) {
    struct busGossip g;
    for (int i = 0; i < m->header.gossip_count; i++) {
        busGossipRead(m, i, &g);
        if (busIsIdValid(g.id)) continue;
        engineLogLimited(e, LL_WARNING, "%s sends gossip about a node whose ID is not valid",
                         nodeLogName(sender));
        return;
    }
    for (int i = 0; i < m->header.gossip_count; i++) {
        busGossipRead(m, i, &g);
        struct clusterNode *n = topologyFind(&e->t, g.id);
        if (!n)
            membersTakeGossipOfUnknown(e, &g);
        else if (n != e->t.myself && n != sender && !(n->flags & NODE_HANDSHAKE))
            membersTakeGossipOfKnown(e, sender, n, &g);
    }
}

/* ---- Extensions ---- */

static void membersSetText(struct engine *e, sds *field, struct str text) {
    if (strEq(sdsview(*field), text)) return;
    *field = sdscpylen(*field, text.ptr, text.len);
    engineAddTodo(e, TODO_SAVE);
}
static void membersSetPort(struct engine *e, uint16_t *field, uint64_t port) {
    if (*field == port) return;
    *field = (uint16_t)port;
    engineAddTodo(e, TODO_SAVE);
}

/* A number that no correct node sends counts as 0, as a missing one does. */
static void membersSetPriority(struct engine *e, struct clusterNode *n, uint64_t priority) {
    if (priority > INT32_MAX) priority = 0;
    if (n->replica_priority == priority) return;
    n->replica_priority = (uint32_t)priority;
    engineAddTodo(e, TODO_SAVE);
}

/* A replica is in the shard of its primary; both may learn its id late. The replicas of a
 * primary that becomes a replica in another shard change theirs when they follow it, because
 * their data is not of that shard. */
static void membersTakeShard(struct engine *e, struct clusterNode *n, const char *shard) {
    if (memcmp(n->shard_id, shard, NODE_ID_LEN) == 0) return;
    if (n->primary && memcmp(n->primary->shard_id, shard, NODE_ID_LEN) != 0) return;
    memcpy(n->shard_id, shard, NODE_ID_LEN);
    for (int i = 0; i < n->replica_count && nodeIsPrimary(n); i++)
        memcpy(n->replicas[i]->shard_id, shard, NODE_ID_LEN);
    engineAddTodo(e, TODO_SAVE);
}

static void membersTakeForgotten(struct engine *e, struct clusterNode *sender, const struct busExtension *x) {
    const char *id = busExtensionId(x);
    uint64_t ttl_s = busExtensionNumber(x);
    if (!id || ttl_s > INT32_MAX) return;
    struct clusterNode *n = topologyFind(&e->t, id);
    if (!n || n == e->t.myself || n == e->t.myself->primary || n == sender) return;
    topologyForget(&e->t, id, e->now_ms + (int64_t)ttl_s * 1000);
    nodeRemove(e, n);
}

void extensionsProcess(struct engine *e, struct clusterNode *sender, const struct busMessage *m) {
    struct str texts[EXT_TYPES] = {{0}};
    uint64_t numbers[EXT_TYPES] = {0};
    const char *shard = NULL;
    struct busExtension x;
    for (int i = 0; i < EXT_TYPES; i++) texts[i] = strN("", 0);
    for (size_t at = 0; busExtensionNext(m, &at, &x);) {
        if (x.type == EXT_SHARD_ID)
            shard = busExtensionId(&x);
        else if (x.type == EXT_FORGOTTEN)
            membersTakeForgotten(e, sender, &x);
        else if (x.type == EXT_CLIENT_PORT || x.type == EXT_CLIENT_TLS_PORT || x.type == EXT_REPLICA_PRIORITY)
            numbers[x.type] = busExtensionNumber(&x);
        else if (x.type < EXT_TYPES)
            texts[x.type] = membersValidText(x.data);
        else
            engineLogLimited(e, LL_WARNING, "A packet has an extension of the unknown type %d", x.type);
    }
    if (!shard && sender->primary) shard = sender->primary->shard_id;
    if (shard) membersTakeShard(e, sender, shard);
    if (!m->extensions_len)
        return; /* the sender has left them out, not knowing yet that this node accepts
                 * extensions */
    membersSetText(e, &sender->hostname, texts[EXT_HOSTNAME]);
    membersSetText(e, &sender->human_name, texts[EXT_HUMAN_NAME]);
    membersSetText(e, &sender->client_ipv4, membersValidAddress(texts[EXT_CLIENT_IPV4], AF_INET));
    membersSetText(e, &sender->client_ipv6, membersValidAddress(texts[EXT_CLIENT_IPV6], AF_INET6));
    membersSetText(e, &sender->availability_zone, texts[EXT_AVAILABILITY_ZONE]);
    membersSetPort(e, &sender->client_tcp_port, numbers[EXT_CLIENT_PORT]);
    membersSetPort(e, &sender->client_tls_port, numbers[EXT_CLIENT_TLS_PORT]);
    membersSetPriority(e, sender, numbers[EXT_REPLICA_PRIORITY]);
}
