/* SPDX-License-Identifier: BSD-3-Clause */
/* cluster_engine_send.c - outgoing messages: header, gossip, extensions, receivers. */
#include <string.h>

#include "base/assert.h"
#include "cluster/cluster_engine_private.h"

#define GOSSIP_LEAST 3
#define GOSSIP_TRIES 3 /* random nodes that are tried for each one wanted */

/* ---- The header ---- */

static uint16_t engineSendFlags(struct engine *e) {
    struct clusterNode *me = e->t.myself;
    uint16_t flags = me->flags | NODE_EXTENSIONS | NODE_LIGHT_PUBSUB | NODE_LIGHT_MODULE;
    flags &= (uint16_t) ~(NODE_PRIMARY_FAIL | NODE_NOFAILOVER);
    if (e->settings.replica_no_failover == NO_FAILOVER_YES) flags |= NODE_NOFAILOVER;
    if (me->primary && nodeHasFailed(me->primary)) flags |= NODE_PRIMARY_FAIL;
    return flags;
}

static void engineSendFillHeader(struct engine *e, struct busHeader *h) {
    struct clusterNode *me = e->t.myself, *primary = nodeShardPrimary(me);
    me->flags = engineSendFlags(e);
    memset(h, 0, sizeof *h);
    h->port = e->settings.tls ? me->tls_port : me->tcp_port;
    h->other_port = e->settings.tls ? me->tcp_port : me->tls_port;
    h->bus_port = me->bus_port;
    h->node_flags = me->flags;
    h->state = !engineIsClusterOk(e);
    h->current_epoch = e->t.current_epoch;
    h->config_epoch = primary ? primary->config_epoch : 0;
    h->offset = engineAnnouncedOffset(e);
    h->sync_replicas =
        (uint16_t)(e->settings.sync_replicas > UINT16_MAX ? UINT16_MAX : e->settings.sync_replicas);
    h->history = e->fence.history;
    h->reign = e->fence.reign;
    h->flags = BUS_FENCES;
    if (e->election.fence == FENCE_ASKED) h->flags |= BUS_ELECTING;
    memcpy(h->sender, me->id, NODE_ID_LEN);
    if (me->primary) memcpy(h->primary, me->primary->id, NODE_ID_LEN);
    if (primary) h->slots = primary->slots;
    strncpy(h->ip, e->settings.announced_ip, NODE_IP_LEN - 1);
    if (nodeIsPrimary(me) && e->manual.end_ms) h->flags |= BUS_PAUSED;
}

sds messageBegin(struct engine *e, enum busType type, uint8_t flags) {
    struct busHeader h;
    engineSendFillHeader(e, &h);
    h.type = (uint16_t)type;
    h.flags |= flags;
    return busBegin(sdsempty(), &h);
}

/* ---- Sending ---- */

static void engineSendBytes(struct engine *e, struct busLink *link, sds message, enum busType type) {
    e->stats.sent[type]++;
    e->stats.bytes_sent += sdslen(message);
    if (type == BUS_PUBLISH || type == BUS_PUBLISHSHARD) e->stats.pubsub_bytes_sent += sdslen(message);
    if (type == BUS_MODULE) e->stats.module_bytes_sent += sdslen(message);
    e->env->send(e->ctx, link, message, sdslen(message));
}

static enum busType engineSendTypeOf(const char *message) {
    return (enum busType)(((unsigned char)message[12] & 0x7f) << 8 | (unsigned char)message[13]);
}

void messageSend(struct engine *e, struct busLink *link, sds message) {
    serverAssert(link && message);
    busEnd(message, 0);
    engineSendBytes(e, link, message, engineSendTypeOf(message));
    sdsfree(message);
}

void messageBroadcast(struct engine *e, sds message) {
    busEnd(message, 0);
    topologyForEach(&e->t, n) {
        if (nodeIsUsable(n) && n->connected) engineSendBytes(e, n->out, message, engineSendTypeOf(message));
    }
    sdsfree(message);
}

/* ---- PING, PONG, MEET ---- */

static sds engineSendAddGossip(struct engine *e, sds s, const struct clusterNode *n) {
    struct busGossip g = {.ping_sent_s = (uint32_t)(n->ping_sent_ms / 1000),
                          .pong_received_s = (uint32_t)(n->pong_received_ms / 1000),
                          .port = e->settings.tls ? n->tls_port : n->tcp_port,
                          .other_port = e->settings.tls ? n->tcp_port : n->tls_port,
                          .bus_port = n->bus_port,
                          .flags = n->flags};
    memcpy(g.id, n->id, NODE_ID_LEN);
    memcpy(g.ip, n->ip, NODE_IP_LEN);
    return busAddGossip(s, 0, &g);
}

/* Returns whether the node is worth random gossip. Unreachable nodes are sent in any case, and nodes without
 * links and slots are no news. */
static bool engineSendIsGossipWorthy(const struct clusterNode *n) {
    return nodeIsUsable(n) && !(n->flags & NODE_PFAIL) && (n->out || n->slot_count);
}

/* Adds some random nodes, none twice, and then all unreachable ones. */
static sds engineSendAddAllGossip(struct engine *e, sds s, const struct clusterNode *to) {
    int others = e->t.count - 2; /* without this node and the receiver */
    int wanted = (int)(e->t.count * e->settings.gossip_percent / 100);
    if (wanted < GOSSIP_LEAST) wanted = GOSSIP_LEAST;
    if (wanted > others) wanted = others;
    struct clusterNode *chosen[wanted > 0 ? wanted : 1];
    int count = 0;
    for (int tries = wanted * GOSSIP_TRIES; tries > 0 && count < wanted; tries--) {
        struct clusterNode *n = e->t.nodes[e->env->random(e->ctx) % (uint64_t)e->t.count];
        bool skip = n == to || !engineSendIsGossipWorthy(n);
        for (int i = 0; i < count && !skip; i++) skip = chosen[i] == n;
        if (skip) continue;
        chosen[count++] = n;
        s = engineSendAddGossip(e, s, n);
    }
    topologyForEach(&e->t, n) {
        if (n->flags & NODE_PFAIL && nodeIsUsable(n)) s = engineSendAddGossip(e, s, n);
    }
    return s;
}

static sds engineSendAddTextIfAny(sds s, enum busExtensionType type, const char *text) {
    return *text ? busAddText(s, 0, type, strOf(text)) : s;
}

static sds engineSendAddExtensions(struct engine *e, sds s) {
    const struct clusterNode *me = e->t.myself;
    s = engineSendAddTextIfAny(s, EXT_HOSTNAME, me->hostname);
    s = engineSendAddTextIfAny(s, EXT_HUMAN_NAME, me->human_name);
    s = engineSendAddTextIfAny(s, EXT_CLIENT_IPV4, me->client_ipv4);
    s = engineSendAddTextIfAny(s, EXT_CLIENT_IPV6, me->client_ipv6);
    if (me->client_tcp_port) s = busAddPort(s, 0, EXT_CLIENT_PORT, me->client_tcp_port);
    if (me->client_tls_port) s = busAddPort(s, 0, EXT_CLIENT_TLS_PORT, me->client_tls_port);
    s = engineSendAddTextIfAny(s, EXT_AVAILABILITY_ZONE, me->availability_zone);
    if (me->replica_priority) s = busAddReplicaPriority(s, 0, me->replica_priority);
    topologyTrimForgotten(&e->t, e->now_ms);
    for (int i = 0; i < e->t.forgotten_count; i++) {
        const struct forgottenNode *f = &e->t.forgotten[i];
        s = busAddForgotten(s, 0, f->id, (uint64_t)(f->until_ms - e->now_ms) / 1000);
    }
    return busAddShardId(s, 0, me->shard_id);
}

void messageSendPing(struct engine *e, struct busLink *link, enum busType type) {
    struct clusterNode *to = link->node;
    if (!link->inbound && type == BUS_PING && to) to->ping_sent_ms = e->now_ms;
    sds s = messageBegin(e, type, BUS_HAS_EXTENSIONS);
    s = engineSendAddAllGossip(e, s, to);
    if (to && to->flags & NODE_EXTENSIONS) s = engineSendAddExtensions(e, s);
    messageSend(e, link, s);
}

void messageBroadcastPong(struct engine *e, enum receivers to) {
    topologyForEach(&e->t, n) {
        if (!nodeIsUsable(n) || !n->connected) continue;
        if (to == TO_ALL || nodesShareShard(n, e->t.myself)) messageSendPing(e, n->out, BUS_PONG);
    }
}

void messageSendUpdate(struct engine *e, struct busLink *link, const struct clusterNode *about) {
    serverAssert(link && about && nodeIsPrimary(about));
    struct slotSet claimed = about->slots;
    slotSetSubtract(&claimed, &e->t.unclaimed);
    sds s = messageBegin(e, BUS_UPDATE, 0);
    messageSend(e, link, busAddUpdate(s, about->id, about->config_epoch, &claimed));
}

/* ---- Messages that are not about the cluster itself ---- */

/* A payload with a light header for nodes that accept it and know this node, and with a
 * full one for the others. */
struct payload {
    enum busType type;
    struct str channel, message; /* PUBLISH uses both; MODULE uses `message` and the fields below */
    uint64_t module;
    uint8_t module_type;
};

/* The longest payload: the message has a header and 13 bytes of its own. */
#define ENGINE_PAYLOAD_MAX (BUS_LENGTH_MAX - BUS_HEADER_LEN - 13)

static sds engineSendAddPayload(sds s, const struct payload *p) {
    s = p->type == BUS_MODULE ? busAddModule(s, p->module, p->module_type, p->message)
                              : busAddPublish(s, p->channel, p->message);
    busEnd(s, 0);
    return s;
}

/* Sends to the nodes for which `to` is true (NULL: all), or to `only`. Each form is built at most once. */
static void engineSendPayload(struct engine *e, const struct payload *p,
                              bool (*to)(struct engine *e, struct clusterNode *n), struct clusterNode *only) {
    if (p->channel.len > ENGINE_PAYLOAD_MAX || p->message.len > ENGINE_PAYLOAD_MAX - p->channel.len) {
        engineLogLimited(e, LL_WARNING, "A message of %zu bytes is not sent to other nodes: at most %u",
                         p->channel.len + p->message.len, ENGINE_PAYLOAD_MAX);
        return;
    }
    uint16_t light_flag = p->type == BUS_MODULE ? NODE_LIGHT_MODULE : NODE_LIGHT_PUBSUB;
    sds full = NULL, light = NULL;
    topologyForEach(&e->t, n) {
        if (!nodeIsUsable(n) || !n->connected || (only && n != only) || (to && !to(e, n))) continue;
        bool as_light = n->flags & light_flag && n->out->ponged;
        sds *form = as_light ? &light : &full;
        if (!*form) {
            *form = as_light ? busBeginLight(sdsempty(), p->type) : messageBegin(e, p->type, 0);
            *form = engineSendAddPayload(*form, p);
        }
        engineSendBytes(e, n->out, *form, p->type);
    }
    sdsfree(full);
    sdsfree(light);
}

static bool engineSendIsInMyShard(struct engine *e, struct clusterNode *n) {
    return nodesShareShard(n, e->t.myself);
}

void engineSendPublish(struct engine *e, bool shard, struct str channel, struct str message, int64_t now_ms) {
    engineSetTime(e, now_ms);
    struct payload p = {
        .type = shard ? BUS_PUBLISHSHARD : BUS_PUBLISH, .channel = channel, .message = message};
    engineSendPayload(e, &p, shard ? engineSendIsInMyShard : NULL, NULL);
}

void engineModuleSend(struct engine *e, struct clusterNode *to, uint64_t id, uint8_t type, struct str payload,
                      int64_t now_ms) {
    engineSetTime(e, now_ms);
    struct payload p = {.type = BUS_MODULE, .message = payload, .module = id, .module_type = type};
    engineSendPayload(e, &p, NULL, to);
}
