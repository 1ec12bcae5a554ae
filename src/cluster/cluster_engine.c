/* SPDX-License-Identifier: BSD-3-Clause */
/* cluster_engine.c - the state machine of a cluster node: creation, time, and the order of
 * steps when a message arrives. */
#include "cluster/cluster_engine.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/assert.h"
#include "cluster/cluster_engine_private.h"

#define LEARNT_FLAGS                                                                                         \
    (NODE_EXTENSIONS | NODE_LIGHT_PUBSUB | NODE_LIGHT_MODULE | NODE_PRIMARY_FAIL | NODE_NOFAILOVER)

/* ---- The log ---- */

static void engineLogArguments(struct engine *e, int level, const char *fmt, va_list ap) {
    char line[1024];
    vsnprintf(line, sizeof line, fmt, ap);
    e->env->log(e->ctx, level, line);
}

void engineLog(struct engine *e, int level, const char *fmt, ...) {
    va_list ap;
    va_start(ap, fmt);
    engineLogArguments(e, level, fmt, ap);
    va_end(ap);
}

void engineLogLimited(struct engine *e, int level, const char *fmt, ...) {
    unsigned held;
    if (!logLimitAllows(&e->hostile_log, e->now_ms, &held)) return;
    if (held) engineLog(e, level, "%u more bad messages on the cluster bus were not logged", held);
    va_list ap;
    va_start(ap, fmt);
    engineLogArguments(e, level, fmt, ap);
    va_end(ap);
}

const char *nodeLogName(const struct clusterNode *n) {
    static char names[3][NODE_ID_LEN + 320];
    static int turn;
    char *name = names[turn++ % 3];
    if (sdslen(n->human_name))
        snprintf(name, sizeof names[0], "%s (%s)", n->id, n->human_name);
    else
        snprintf(name, sizeof names[0], "%s (%s:%u)", n->id, n->ip, n->tcp_port ? n->tcp_port : n->tls_port);
    return name;
}

/* ---- Creation ---- */

void engineInit(struct engine *e, const struct engineEnv *env, void *ctx, int64_t now_ms) {
    serverAssert(env && now_ms > 0);
    memset(e, 0, sizeof *e);
    topologyInit(&e->t);
    e->env = env;
    e->ctx = ctx;
    e->now_ms = e->started_ms = now_ms;
    e->down = DOWN_STARTING;
    e->settings.announced_ip = "";
}

void engineCreateMyself(struct engine *e) {
    char id[NODE_ID_LEN];
    engineMakeNodeId(e, id);
    e->t.myself = topologyAdd(&e->t, id, NODE_MYSELF | NODE_PRIMARY, e->now_ms);
    engineMakeNodeId(e, e->t.myself->shard_id);
    engineAddTodo(e, TODO_SAVE);
}

void engineDestroy(struct engine *e) {
    topologyClear(&e->t);
}

/* ---- Time ---- */

static void engineShift(int64_t *time_ms, int64_t by_ms) {
    if (*time_ms) *time_ms += by_ms;
}

static void engineShiftNode(struct clusterNode *n, int64_t by_ms) {
    int64_t *const times[] = {&n->created_ms,       &n->ping_sent_ms,    &n->pong_received_ms,
                              &n->data_received_ms, &n->connect_ms,      &n->fail_ms,
                              &n->orphaned_ms,      &n->inbound_lost_ms, &n->offset_ms};
    for (size_t i = 0; i < sizeof times / sizeof *times; i++) engineShift(times[i], by_ms);
    for (int i = 0; i < n->report_count; i++) n->reports[i].at_ms += by_ms;
    if (n->out) engineShift(&n->out->created_ms, by_ms);
    if (n->in) engineShift(&n->in->created_ms, by_ms);
}

/* When the clock is set back, measured times would lie in the future, and no node would be missed until then.
 * So all of them are set back, too. (A clock that is set forward is like a server that stood still.) */
void engineSetTime(struct engine *e, int64_t now_ms) {
    int64_t by_ms = now_ms - e->now_ms;
    e->now_ms = now_ms;
    if (by_ms >= 0) return;
    int64_t *const times[] = {&e->started_ms,
                              &e->minority_ms,
                              &e->logged_down_ms,
                              &e->election.start_ms,
                              &e->election.reason_ms,
                              &e->manual.end_ms,
                              &e->announce_ms,
                              &e->reservation.announced_ms,
                              &e->election.fence_asked_ms};
    if (by_ms <= -ENGINE_TICK_MS)
        engineLog(e, LL_WARNING, "The clock went back by %lld ms", (long long)-by_ms);
    for (size_t i = 0; i < sizeof times / sizeof *times; i++) engineShift(times[i], by_ms);
    for (int i = 0; i < e->t.forgotten_count; i++) e->t.forgotten[i].until_ms += by_ms;
    topologyForEach(&e->t, n) engineShiftNode(n, by_ms);
}

void engineTick(struct engine *e, int64_t now_ms) {
    engineSetTime(e, now_ms);
    e->ticks++;
    manualTick(e);
    topologyForEach(&e->t, n) linkTick(e, n);
    heartbeatTick(e);
    if (e->announce_ms && e->now_ms >= e->announce_ms) {
        e->announce_ms = 0;
        engineAddTodo(e, TODO_BROADCAST);
    }
    fenceTick(e);
    if (nodeIsReplica(e->t.myself)) {
        electionTick(e);
        orphansTick(e);
    }
    if (!engineIsClusterOk(e) || e->ticks % 10 == 0) engineAddTodo(e, TODO_STATE);
}

void engineFlush(struct engine *e, int64_t now_ms) {
    if (!e->todo) return;
    engineSetTime(e, now_ms);
    unsigned todo = e->todo;
    e->todo = 0;
    /* An election that is planned for now begins now. */
    for (int i = 0; i < 2 && todo & TODO_ELECTION && nodeIsReplica(e->t.myself); i++) {
        electionTick(e);
        if (!(e->todo & TODO_ELECTION)) break;
    }
    if (todo & (TODO_STATE | TODO_SLOTS)) engineUpdateState(e);
    todo |= e->todo;
    e->todo = 0;
    if (todo & (TODO_SAVE | TODO_SYNC)) e->env->save(e->ctx, todo & TODO_SYNC);
    if (todo & TODO_BROADCAST) messageBroadcastPong(e, TO_ALL);
    if (todo & TODO_SLOTS) e->env->slotsChanged(e->ctx);
}

/* ---- The header of a message ---- */

/* Rejects a header that no correct node sends: an invalid id, which would get into logs and files, or an
 * epoch so high that counting up would overflow. */
static bool engineIsHeaderValid(const struct busHeader *h) {
    return busIsIdValid(h->sender) && h->current_epoch <= EPOCH_MAX && h->config_epoch <= EPOCH_MAX;
}

/* Returns the sender, or NULL if it is not known by its own id. */
static struct clusterNode *engineFindSender(struct engine *e, struct busLink *link,
                                            const struct busHeader *h) {
    struct clusterNode *n = link->node;
    if (!n || n->flags & NODE_HANDSHAKE) n = topologyFind(&e->t, h->sender);
    return n && !(n->flags & NODE_HANDSHAKE) ? n : NULL;
}

static bool engineIsHeartbeat(const struct busHeader *h) {
    return h->type == BUS_PING || h->type == BUS_PONG || h->type == BUS_MEET;
}

static bool engineClaimsPrimary(const struct busHeader *h) {
    return h->primary[0] == '\0';
}

static void engineTakeEpochs(struct engine *e, struct clusterNode *sender, const struct busHeader *h) {
    sender->current_epoch = h->current_epoch;
    if (h->current_epoch > e->t.current_epoch) {
        e->t.current_epoch = h->current_epoch;
        /* A voter that answers with this epoch votes in no lower one, not even after a power failure. */
        engineAddTodo(e, nodeIsVoter(e->t.myself) ? TODO_SAVE | TODO_SYNC : TODO_SAVE);
    }
    /* The epoch is taken only together with its slots, that is from heartbeats. A new epoch with older slots
     * would be passed on in an UPDATE, and take slots from nodes to which the sender has given them. */
    if (h->config_epoch > sender->config_epoch && engineClaimsPrimary(h) && engineIsHeartbeat(h)) {
        sender->config_epoch = h->config_epoch;
        engineAddTodo(e, TODO_SAVE);
        electionAbandon(e, sender, h->config_epoch);
    }
    sender->offset = h->offset;
    sender->offset_ms = e->now_ms;
    manualProcessOffset(e, sender, h);
}

/* Connects an inbound link with its sender when that becomes known. A second link replaces the first. */
static void engineBindInbound(struct engine *e, struct busLink *link, struct clusterNode *sender) {
    if (!link->inbound || link->node == sender || sender == e->t.myself) return;
    if (link->node) link->node->in = NULL;
    nodeDropLink(e, sender, false);
    link->node = sender;
    sender->in = link;
    sender->inbound_lost_ms = 0;
}

/* ---- Roles ---- */

static void engineMarkPrimary(struct engine *e, struct clusterNode *n) {
    if (nodeIsPrimary(n)) return;
    engineLog(e, LL_NOTICE, "Node %s is now the primary of shard %s", nodeLogName(n), n->shard_id);
    nodeBecomePrimary(&e->t, n);
    n->flags |= NODE_MIGRATE_TO; /* it may have lost its own replica */
    engineAddTodo(e, TODO_SAVE | TODO_STATE);
}

/* Processes the message of a primary that is a replica of `primary` now (NULL: of an unknown node). Returns
 * false if the message is outdated. The message of a node that owns nothing is never outdated: the two links
 * of a pair keep no order between them, so the other message may have been the older one, and no later
 * message would have a greater epoch. */
static bool engineProcessStepDown(struct engine *e, struct clusterNode *n, struct clusterNode *primary,
                                  const struct busHeader *h) {
    if (primary && nodesShareShard(n, primary)) {
        if (h->config_epoch < n->config_epoch && n->slot_count) return false;
        if (nodeIsReplica(primary) && primary != e->t.myself) {
            engineLog(e, LL_NOTICE,
                      "In shard %s, node %s has lost %d slot(s) by a failover to node %s with configuration "
                      "epoch %llu",
                      n->shard_id, nodeLogName(n), n->slot_count, nodeLogName(primary),
                      (unsigned long long)h->config_epoch);
            engineMarkPrimary(e, primary);
            slotsInherit(e, n, primary);
            primary->config_epoch = h->config_epoch;
        }
    }
    slotsInherit(e, n, NULL);
    n->flags &= (uint16_t)~NODE_MIGRATE_TO;
    return true;
}

/* My primary has become a replica of `primary`, so this node follows that one, too. same_shard: the two were
 * in one shard before that. */
static void engineFollowNewPrimary(struct engine *e, struct clusterNode *primary, bool same_shard) {
    if (!primary || primary == e->t.myself || nodeIsReplica(primary)) return;
    engineLog(e, LL_NOTICE, "I'm a sub-replica! Reconfiguring myself from %s to %s",
              e->t.myself->primary ? nodeLogName(e->t.myself->primary) : "nobody", nodeLogName(primary));
    engineFollow(e, primary, !same_shard);
}

/* Returns false if the message is out of date. */
static bool engineTakeRole(struct engine *e, struct clusterNode *sender, const struct busHeader *h) {
    if (engineClaimsPrimary(h)) {
        engineMarkPrimary(e, sender);
        return true;
    }
    struct clusterNode *primary = topologyFind(&e->t, h->primary);
    if (primary && primary->flags & NODE_HANDSHAKE) primary = NULL; /* a temporary id */
    if (primary == sender) return false;
    if (nodeIsPrimary(sender) && !engineProcessStepDown(e, sender, primary, h)) return false;
    bool same_shard = primary && nodesShareShard(primary, e->t.myself);
    if (nodeIsPrimary(sender) || sender->primary != primary) {
        if (primary)
            engineLog(e, LL_NOTICE, "Node %s now replicates node %s in shard %s", nodeLogName(sender),
                      nodeLogName(primary), primary->shard_id);
        nodeBecomeReplica(&e->t, sender, primary);
        engineAddTodo(e, TODO_SAVE | TODO_STATE);
    }
    if (e->t.myself->primary == sender) engineFollowNewPrimary(e, primary, same_shard);
    return true;
}

/* ---- PING, PONG, MEET ---- */

/* Learns this node's own address from the socket: it is the one that other nodes connect to. */
static void engineLearnOwnAddress(struct engine *e, const struct busLink *link, enum busType type) {
    struct clusterNode *me = e->t.myself;
    if (*e->settings.announced_ip || !*link->own_ip || (type != BUS_MEET && *me->ip)) return;
    if (strcmp(me->ip, link->own_ip) == 0) return;
    memcpy(me->ip, link->own_ip, NODE_IP_LEN);
    engineLog(e, LL_NOTICE, "The IP address of this node is now %s", me->ip);
    engineAddTodo(e, TODO_SAVE);
}

static void engineProcessMeet(struct engine *e, struct busLink *link, struct clusterNode *sender,
                              const struct busHeader *h) {
    if (!sender) {
        const char *ip = *h->ip ? h->ip : link->peer_ip;
        uint16_t port = e->settings.tls ? h->other_port : h->port;
        nodeHandshake(e, false, ip, port ? port : h->port, h->bus_port);
    } else if (sender->created_ms < e->now_ms - engineHandshakeTimeout(e)) {
        nodeDropLink(e, sender, true); /* the sender has forgotten this node: a new link */
    }
}

/* Processes the first answer over a link to a node of which only the address is known. Returns
 * false if the link is useless. */
static bool engineCompleteHandshake(struct engine *e, struct busLink *link, struct clusterNode *sender,
                                    const struct busHeader *h) {
    struct clusterNode *n = link->node;
    if (sender) { /* it was known already */
        if (sender != e->t.myself && nodeUpdateAddress(e, sender, link, h))
            engineAddTodo(e, TODO_SAVE | TODO_STATE);
        nodeDetach(n, link);
        nodeRemove(e, n);
        return false;
    }
    if (!busIsIdValid(h->sender) || topologyFind(&e->t, h->sender)) return true;
    topologyRename(&e->t, n, h->sender);
    memcpy(n->shard_id, n->id, NODE_ID_LEN);
    n->flags &= (uint16_t) ~(NODE_HANDSHAKE | NODE_MEET | NODE_PRIMARY | NODE_REPLICA);
    n->flags |= engineClaimsPrimary(h) ? NODE_PRIMARY : NODE_REPLICA;
    engineLog(e, LL_NOTICE, "The handshake with %s is complete", nodeLogName(n));
    engineAddTodo(e, TODO_SAVE | TODO_STATE);
    return true;
}

/* Another node has the address now. */
static void engineProcessMismatch(struct engine *e, struct busLink *link, const struct busHeader *h) {
    struct clusterNode *n = link->node;
    engineLog(
        e, LL_NOTICE,
        "PONG contains mismatching sender ID. About node %s in shard %s added %lld ms ago, having flags %d: %.40s",
        nodeLogName(n), n->shard_id, (long long)(e->now_ms - n->created_ms), n->flags, h->sender);
    n->flags |= NODE_NOADDR;
    n->flags &= (uint16_t)~NODE_PFAIL;
    n->ip[0] = '\0';
    n->tcp_port = n->tls_port = n->bus_port = 0;
    if (!nodeHasFailed(n)) failureMark(e, n);
    nodeDetach(n, link);
    engineAddTodo(e, TODO_SAVE);
}

static void engineProcessPong(struct engine *e, struct busLink *link, struct clusterNode *n) {
    link->ponged = true;
    n->flags &= (uint16_t)~NODE_MEET;
    n->pong_received_ms = e->now_ms;
    n->ping_sent_ms = 0;
    if (n->flags & NODE_PFAIL) {
        n->flags &= (uint16_t)~NODE_PFAIL;
        engineAddTodo(e, TODO_SAVE | TODO_STATE);
    } else if (nodeHasFailed(n)) {
        failureClearIfSafe(e, n);
    }
}

/* Returns false if the link is useless. */
static bool engineProcessHeartbeat(struct engine *e, struct busLink *link, struct clusterNode *sender,
                                   const struct busMessage *m) {
    const struct busHeader *h = &m->header;
    if (h->type != BUS_PONG) {
        engineLearnOwnAddress(e, link, (enum busType)h->type);
        if (h->type == BUS_MEET) engineProcessMeet(e, link, sender, h);
        if (!e->receiving) return false; /* the call above has dropped this link */
        messageSendPing(e, link, BUS_PONG);
    }
    if (!link->inbound) {
        if (link->node->flags & NODE_HANDSHAKE) {
            if (!engineCompleteHandshake(e, link, sender, h)) return false;
            if (link->node->flags & NODE_HANDSHAKE) return true;
            sender = link->node;
            sender->data_received_ms = e->now_ms;
        } else if (memcmp(link->node->id, h->sender, NODE_ID_LEN) != 0) {
            engineProcessMismatch(e, link, h);
            return false;
        }
        if (h->type == BUS_PONG) engineProcessPong(e, link, link->node);
    }
    if (!sender || sender == e->t.myself) return true;
    if (h->type == BUS_PING && link->inbound && nodeUpdateAddress(e, sender, link, h))
        engineAddTodo(e, TODO_SAVE | TODO_STATE);
    if (!engineTakeRole(e, sender, h)) return true;
    struct clusterNode *primary = nodeShardPrimary(sender);
    if (primary && !slotSetIsEqual(&primary->slots, &h->slots)) {
        if (sender == primary) slotsProcessClaim(e, sender, h->config_epoch, &h->slots);
        slotsCorrectClaims(e, sender, link, h);
    }
    if (nodeIsPrimary(sender) && nodeIsPrimary(e->t.myself) && h->config_epoch == e->t.myself->config_epoch)
        epochResolveCollision(e, sender, &h->slots);
    gossipProcess(e, sender, m);
    extensionsProcess(e, sender, m); /* last of these: the code above relies on the shard known before */
    fenceProcessHeartbeat(e, sender, h);
    return true;
}

static void engineProcessFail(struct engine *e, struct clusterNode *sender, const struct busMessage *m) {
    struct clusterNode *n = topologyFind(&e->t, m->about.id);
    if (!n || n->flags & (NODE_FAIL | NODE_MYSELF)) return;
    engineLog(e, LL_NOTICE, "Node %s reports that node %s has failed", nodeLogName(sender), nodeLogName(n));
    n->flags = (uint16_t)((n->flags & ~NODE_PFAIL) | NODE_FAIL);
    n->fail_ms = e->now_ms;
    engineAddTodo(e, TODO_SAVE | TODO_STATE | TODO_ELECTION);
}

/* ---- Messages ---- */

static bool engineCheckVerdict(struct engine *e, enum busVerdict verdict, const struct busMessage *m,
                               uint32_t len, uint32_t expected) {
    switch (verdict) {
    case BUS_READ: return true;
    case BUS_WRONG_LENGTH:
    case BUS_BROKEN:
        engineLogLimited(e, LL_WARNING, "A %s packet with %u bytes was received, but it should have %u",
                         bus_type_names[m->header.type], len, expected);
        return false;
    case BUS_UNKNOWN_TYPE:
        engineLogLimited(e, LL_WARNING, "A packet of the unknown type %d was received", m->header.type);
        return false;
    default: return false;
    }
}

static void engineCountReceived(struct engine *e, const struct busMessage *m, uint32_t len) {
    e->stats.received[m->header.type]++;
    if (m->header.type == BUS_PUBLISH || m->header.type == BUS_PUBLISHSHARD)
        e->stats.pubsub_bytes_received += len;
    if (m->header.type == BUS_MODULE) e->stats.module_bytes_received += len;
}

/* Passes on a message that is not about the cluster itself. */
static void engineDeliver(struct engine *e, struct clusterNode *sender, const struct busMessage *m) {
    if (m->header.type == BUS_MODULE)
        e->env->moduleMessage(e->ctx, sender, m->module.id, m->module.type, m->module.payload);
    else
        e->env->published(e->ctx, sender, m->header.type == BUS_PUBLISHSHARD, m->channel, m->message);
}

static bool engineProcessMessage(struct engine *e, struct busLink *link, const uint8_t *packet,
                                 uint32_t len) {
    e->stats.bytes_received += len;
    struct busMessage m;
    uint32_t expected;
    enum busVerdict verdict = busRead(packet, len, &m, &expected);
    if (!engineCheckVerdict(e, verdict, &m, len, expected)) return true;
    if (m.light) {
        struct clusterNode *n = link->node;
        if (!n || n->flags & NODE_HANDSHAKE) {
            if (n) nodeDetach(n, link);
            return false;
        }
        engineCountReceived(e, &m, len);
        n->data_received_ms = e->now_ms;
        engineDeliver(e, n, &m);
        return true;
    }
    engineCountReceived(e, &m, len);
    const struct busHeader *h = &m.header;
    if (!engineIsHeaderValid(h)) return true;
    struct clusterNode *sender = engineFindSender(e, link, h);
    /* The link belongs to another node. */
    bool mismatched = sender && memcmp(sender->id, h->sender, NODE_ID_LEN) != 0;
    if (mismatched && (link->inbound || !engineIsHeartbeat(h))) return true;
    if (sender && sender != e->t.myself && !mismatched) {
        engineBindInbound(e, link, sender);
        sender->flags = (uint16_t)((sender->flags & ~LEARNT_FLAGS) | (h->node_flags & LEARNT_FLAGS));
        sender->data_received_ms = e->now_ms;
        sender->fence.knows = h->flags & BUS_FENCES ? FENCES_YES : FENCES_NO;
        sender->fence.sync_replicas = h->sync_replicas;
        engineTakeEpochs(e, sender, h);
    }
    if (engineIsHeartbeat(h)) return engineProcessHeartbeat(e, link, sender, &m);
    if (!sender || sender == e->t.myself) {
        if (h->type == BUS_FAIL)
            engineLogLimited(e, LL_NOTICE,
                             "The FAIL message of the unknown node %.40s about %.40s is ignored", h->sender,
                             m.about.id);
        return true;
    }
    switch (h->type) {
    case BUS_FAIL: engineProcessFail(e, sender, &m); break;
    case BUS_AUTH_REQUEST:
        voteProcessRequest(e, sender, link, h);
        fenceProcessRequest(e, sender, link, h);
        break;
    case BUS_AUTH_ACK:
        voteProcessAck(e, sender, h);
        fenceProcessAnswer(e, sender, h);
        break;
    case BUS_UPDATE: updateProcess(e, &m); break;
    case BUS_MFSTART: manualProcessRequest(e, sender); break;
    default: engineDeliver(e, sender, &m); break;
    }
    return true;
}

bool engineReceive(struct engine *e, struct busLink *link, const uint8_t *packet, uint32_t len,
                   int64_t now_ms) {
    serverAssert(link && packet);
    engineSetTime(e, now_ms);
    e->receiving = link;
    bool good = engineProcessMessage(e, link, packet, len) && e->receiving == link;
    e->receiving = NULL;
    return good;
}

/* ---- This node's own role ---- */

void engineFollow(struct engine *e, struct clusterNode *primary, bool full_sync) {
    struct clusterNode *me = e->t.myself;
    serverAssert(primary && primary != me);
    fenceNoteHistory(e);
    if (nodeIsPrimary(me)) slotsInherit(e, me, NULL);
    if (full_sync) topologyCloseSlots(&e->t); /* they belong to the shard that this node leaves */
    nodeBecomeReplica(&e->t, me, primary);
    manualReset(e);
    e->election = (struct engineElection){0};
    e->env->follow(e->ctx, primary, full_sync);
    /* The two links of a pair keep no order: an older message, in which this node is a primary, may arrive
     * last. In a big cluster the next one would come much later. */
    e->announce_ms = e->now_ms + ANNOUNCE_AGAIN_MS;
    engineAddTodo(e, TODO_SAVE | TODO_STATE | TODO_BROADCAST | TODO_SLOTS);
}

static void engineBecomeOwnPrimary(struct engine *e) {
    struct clusterNode *me = e->t.myself;
    if (nodeIsReplica(me)) {
        nodeBecomePrimary(&e->t, me);
        e->env->follow(e->ctx, NULL, false);
    }
    engineMakeNodeId(e, me->shard_id);
    manualReset(e);
    e->election = (struct engineElection){0};
}

void engineLeaveShard(struct engine *e) {
    engineBecomeOwnPrimary(e);
    e->t.myself->config_epoch = 0;
    engineAddTodo(e, TODO_SAVE | TODO_STATE | TODO_BROADCAST | TODO_SLOTS);
}

void engineReset(struct engine *e, bool hard, int64_t now_ms) {
    engineSetTime(e, now_ms);
    struct clusterNode *me = e->t.myself;
    engineBecomeOwnPrimary(e);
    for (int slot = 0; slot < KEY_SLOTS; slot++) slotAssign(&e->t, slot, NULL);
    topologyCloseSlots(&e->t);
    topologyForEach(&e->t, n) {
        if (n != me) nodeRemove(e, n);
    }
    topologyTrimForgotten(&e->t, INT64_MAX);
    e->reservation = (struct engineReservation){0};
    if (hard) {
        char id[NODE_ID_LEN];
        e->t.current_epoch = e->t.last_vote_epoch = 0;
        me->config_epoch = 0;
        engineMakeNodeId(e, id);
        topologyRename(&e->t, me, id);
        engineLog(e, LL_NOTICE, "After the hard reset the ID of this node is %s", me->id);
    }
    engineAddTodo(e, TODO_SAVE | TODO_SYNC | TODO_STATE | TODO_SLOTS);
}
