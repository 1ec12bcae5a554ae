/* SPDX-License-Identifier: BSD-3-Clause */
/* cluster_simulation.c - see cluster_simulation.h. Each node is an engine whose environment is this file. Its
 * connections are entries of one table per node, and everything that takes time is an event. */
#include "tests/sim/cluster_simulation.h"

#include <stdio.h>
#include <string.h>

#include "base/assert.h"
#include "base/linked_list.h"
#include "base/log.h"
#include "base/zmalloc.h"
#include "cluster/topology_file.h"
#include "tests/sim/sim_queue.h"

#define CONNECT_FAILS_MS 50
#define BUS_PORT         16379
#define WRITES_PER_TICK  7
#define STREAM_MS        10   /* how often data is replicated, if acknowledgements matter */
#define WRITE_BACK_MS    5000 /* after that time the kernel has written what was not synced */

enum clusterSimEventKind {
    EVENT_TICK,
    EVENT_STREAM,
    EVENT_ARRIVES,
    EVENT_CONNECTED,
    EVENT_REFUSED,
    EVENT_CLOSED
};

struct clusterSimLink { /* one end of a connection */
    struct busLink bus;
    uint64_t number, peer_number; /* peer_number 0: the other end does not exist (yet) */
    int peer;
    int64_t arrives_ms; /* when the last message from here arrives */
};

struct clusterSimHistory { /* all writes of `parent` up to `fork`, and then its own */
    int parent;            /* -1: none */
    uint64_t fork, acked;  /* acked: clients know that writes up to here are kept */
    int shard;
};

struct clusterSimAck {
    int history;
    uint64_t offset;
};

struct clusterSimNode {
    struct clusterSim *sim;
    char id[NODE_ID_LEN];
    int index, side;
    bool alive, hung, cut;
    bool forces; /* the last manual failover was forced, so the data may be incomplete */
    uint64_t life;
    struct engine engine;
    struct clusterSimLink **links;
    int link_count;
    sds disk, cached; /* disk: what a power failure leaves; cached: saved since, without syncing */
    int64_t cached_ms;
    struct simEvent *held; /* events that came while it hung */
    int held_count;
    int shard; /* of a primary: the number of its shard's first primary, under whatever id
                * other nodes know the shard */
    /* The data: a number of writes, in a shard, and whether none is missing. */
    uint64_t offset;
    int data_shard;
    bool data_complete;
    int history;                /* index of the history that the offset is of */
    bool holds;                 /* it acknowledges nothing */
    struct clusterSimAck *acks; /* by node: what it has acknowledged to this one */
    /* The replication, as repl/link.c keeps it. */
    int following; /* -1: a primary */
    bool link_up, whole;
    int64_t sync_began_ms; /* start of a full synchronization; 0: none runs */
    int64_t data_ms, paused_until_ms;
    /* Slots that migrate to this node from migrates_from, and slots that it has granted to
     * granted_to, until then; -1: none. */
    int migrates_from, granted_to;
    struct slotSet migrates, granted;
    int64_t migrates_ms, granted_until_ms, keeps_epoch_until_ms;
    bool reclaims;
    uint64_t highest_epoch, highest_vote;
    uint64_t checked_epoch; /* epoch and slots at the last clusterSimCheckOwners */
    struct slotSet checked;
};

struct clusterSim {
    struct clusterSimOptions o;
    int64_t now_ms, clock_off_ms, met_ms;
    uint64_t random, links, messages, bytes;
    struct simQueue queue;
    struct clusterSimNode *nodes;
    int count;
    struct clusterSimHistory *histories;
    int history_count;
    int *winner; /* by epoch; -1: none yet */
    uint64_t winners;
};

static int64_t clusterSimNextLatency(struct clusterSim *s) {
    return 1 + (int64_t)(simRandom(&s->random) % (uint64_t)(2 * s->o.latency_ms));
}

/* Returns the time on the clocks of the nodes. */
static int64_t clusterSimWallClock(const struct clusterSim *s) {
    return s->now_ms + s->clock_off_ms;
}

/* ---- Links ---- */

/* Returns the index at which the link is, or would be; links are in order of their numbers. */
static int clusterSimLinkPosition(const struct clusterSimNode *n, uint64_t number) {
    int low = 0, high = n->link_count;
    while (low < high) {
        int middle = (low + high) / 2;
        if (n->links[middle]->number < number)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static struct clusterSimLink *clusterSimFindLink(struct clusterSimNode *n, uint64_t number) {
    int i = clusterSimLinkPosition(n, number);
    return i < n->link_count && n->links[i]->number == number ? n->links[i] : NULL;
}

static struct clusterSimLink *clusterSimAddLink(struct clusterSimNode *n, int peer) {
    struct clusterSimLink *link = zcalloc(1, sizeof *link);
    link->number = ++n->sim->links;
    link->peer = peer;
    snprintf(link->bus.peer_ip, NODE_IP_LEN, "10.0.%d.%d", peer / 200, peer % 200 + 1);
    snprintf(link->bus.own_ip, NODE_IP_LEN, "10.0.%d.%d", n->index / 200, n->index % 200 + 1);
    n->links = zrealloc(n->links, (size_t)(n->link_count + 1) * sizeof *n->links);
    n->links[n->link_count++] = link;
    return link;
}

static void clusterSimFreeLink(struct clusterSimNode *n, struct clusterSimLink *link) {
    int i = clusterSimLinkPosition(n, link->number);
    serverAssert(n->links[i] == link);
    memmove(n->links + i, n->links + i + 1, (size_t)(--n->link_count - i) * sizeof *n->links);
    zfree(link);
}

static bool clusterSimNodesReach(const struct clusterSimNode *a, const struct clusterSimNode *b) {
    return a->side == b->side;
}

/* Notifies the other end that this one is closed. */
static void clusterSimSendClosed(struct clusterSimNode *n, const struct clusterSimLink *link) {
    struct clusterSimNode *peer = &n->sim->nodes[link->peer];
    if (!link->peer_number || !peer->alive || !clusterSimNodesReach(n, peer)) return;
    simQueueAdd(&n->sim->queue,
                (struct simEvent){.at_ms = link->arrives_ms > n->sim->now_ms ? link->arrives_ms + 1
                                                                             : n->sim->now_ms + 1,
                                  .kind = EVENT_CLOSED,
                                  .process = peer->index,
                                  .life = peer->life,
                                  .connection = link->peer_number});
}

static void clusterSimRecordWinner(struct clusterSimNode *n, int shard);

/* ---- Environment of an engine ---- */

static struct busLink *clusterSimEnvConnect(void *ctx, const char *ip, uint16_t bus_port) {
    struct clusterSimNode *n = ctx;
    int a, b;
    if (bus_port != BUS_PORT || sscanf(ip, "10.0.%d.%d", &a, &b) != 2) return NULL;
    struct clusterSimLink *link = clusterSimAddLink(n, a * 200 + b - 1);
    struct clusterSimNode *peer = &n->sim->nodes[link->peer];
    bool ok = peer->alive && clusterSimNodesReach(n, peer);
    bool lost = !clusterSimNodesReach(n, peer); /* no answer at all: the engine waits until it gives up */
    if (!lost)
        simQueueAdd(&n->sim->queue,
                    (struct simEvent){.at_ms = n->sim->now_ms +
                                               (ok ? 2 * clusterSimNextLatency(n->sim) : CONNECT_FAILS_MS),
                                      .kind = ok ? EVENT_CONNECTED : EVENT_REFUSED,
                                      .process = n->index,
                                      .life = n->life,
                                      .connection = link->number});
    return &link->bus;
}

static void clusterSimEnvClose(void *ctx, struct busLink *bus) {
    struct clusterSimLink *link = listEntry(bus, struct clusterSimLink, bus);
    clusterSimSendClosed(ctx, link);
    clusterSimFreeLink(ctx, link);
}

static void clusterSimEnvSend(void *ctx, struct busLink *bus, const char *bytes, size_t len) {
    struct clusterSimNode *n = ctx;
    struct clusterSim *s = n->sim;
    struct clusterSimLink *link = listEntry(bus, struct clusterSimLink, bus);
    struct clusterSimNode *peer = &s->nodes[link->peer];
    s->messages++;
    s->bytes += len;
    if (!link->peer_number || !peer->alive || !clusterSimNodesReach(n, peer)) return;
    if (s->o.loss > 0 && (double)(simRandom(&s->random) >> 11) / (1ULL << 53) < s->o.loss) return;
    int64_t at = s->now_ms + clusterSimNextLatency(s);
    if (at < link->arrives_ms) at = link->arrives_ms;
    link->arrives_ms = at;
    simQueueAdd(&s->queue, (struct simEvent){.at_ms = at,
                                             .kind = EVENT_ARRIVES,
                                             .process = peer->index,
                                             .life = peer->life,
                                             .connection = link->peer_number,
                                             .bytes = sdsnewlen(bytes, len)});
}

static void clusterSimWriteBack(struct clusterSimNode *n) {
    if (!n->cached) return;
    sdsfree(n->disk);
    n->disk = n->cached;
    n->cached = NULL;
}

static void clusterSimEnvSave(void *ctx, bool sync) {
    struct clusterSimNode *n = ctx;
    if (n->sim->o.no_disk) return;
    if (n->sim->now_ms - n->cached_ms >= WRITE_BACK_MS) clusterSimWriteBack(n);
    sdsfree(n->cached);
    n->cached = topologyFormat(sdsempty(), &n->engine.t, false);
    n->cached_ms = n->sim->now_ms;
    if (sync) clusterSimWriteBack(n);
}

static uint64_t clusterSimEnvRandom(void *ctx) {
    return simRandom(&((struct clusterSimNode *)ctx)->sim->random);
}

static struct engineReplication clusterSimEnvReplication(void *ctx) {
    struct clusterSimNode *n = ctx;
    return (struct engineReplication){n->offset, n->link_up, n->whole, n->data_ms};
}

static int clusterSimIndexOfNode(struct clusterSim *s, const char *id) {
    for (int i = 0; i < s->count; i++) {
        if (memcmp(s->nodes[i].id, id, NODE_ID_LEN) == 0) return i;
    }
    return -1;
}

static void clusterSimSetWhole(struct clusterSimNode *n, bool whole) {
    n->whole = whole;
    n->data_ms = 0;
}

/* The data of the node becomes a history of its own. */
static void clusterSimBranch(struct clusterSimNode *n, int parent) {
    struct clusterSim *s = n->sim;
    s->histories = zrealloc(s->histories, (size_t)(s->history_count + 1) * sizeof *s->histories);
    s->histories[s->history_count] =
        (struct clusterSimHistory){.parent = parent, .fork = n->offset, .shard = n->shard};
    n->history = s->history_count++;
}

/* Returns how much of the history the node has. */
static uint64_t clusterSimHas(const struct clusterSimNode *n, int history) {
    uint64_t has = n->offset;
    int at = n->history;
    for (; at >= 0 && at != history; at = n->sim->histories[at].parent) {
        if (n->sim->histories[at].fork < has) has = n->sim->histories[at].fork;
    }
    return at < 0 ? 0 : has;
}

static void clusterSimEnvFollow(void *ctx, struct clusterNode *primary, bool full_sync) {
    struct clusterSimNode *n = ctx;
    struct clusterSim *s = n->sim;
    int before = n->following;
    if (!primary && n->engine.election.sent) clusterSimRecordWinner(n, s->nodes[before].shard);
    if (!primary && before >= 0) n->shard = s->nodes[before].shard;
    n->following = primary ? clusterSimIndexOfNode(s, primary->id) : -1;
    if (n->following == before) return;
    if (!primary) clusterSimBranch(n, n->history);
    n->link_up = false;
    n->sync_began_ms = 0;
    if (full_sync || before < 0) clusterSimSetWhole(n, false);
}

static void clusterSimEnvPause(void *ctx, int64_t until_ms) {
    ((struct clusterSimNode *)ctx)->paused_until_ms = until_ms;
}
static void clusterSimEnvHoldAcks(void *ctx, bool hold) {
    ((struct clusterSimNode *)ctx)->holds = hold;
}
static uint64_t clusterSimEnvHistory(void *ctx) {
    return (uint64_t)((struct clusterSimNode *)ctx)->history + 1;
}
static uint64_t clusterSimEnvKeysInSlot(void *ctx, int slot) {
    return (void)ctx, (uint64_t)(slot % 2);
}
static void clusterSimEnvDeleteSlot(void *ctx, int slot) {
    (void)ctx, (void)slot;
}
static void clusterSimEnvSlotsChanged(void *ctx) {
    (void)ctx;
}
static void clusterSimEnvStateChanged(void *ctx, bool ok) {
    (void)ctx, (void)ok;
}
static bool clusterSimEnvSlotGranted(void *ctx, int slot, const struct clusterNode *to) {
    struct clusterSimNode *n = ctx;
    return n->sim->now_ms < n->granted_until_ms && clusterSimIndexOfNode(n->sim, to->id) == n->granted_to &&
           slotSetHas(&n->granted, slot);
}
static void clusterSimEnvPublished(void *ctx, struct clusterNode *by, bool shard, struct str channel,
                                   struct str message) {
    (void)ctx, (void)by, (void)shard, (void)channel, (void)message;
}
static void clusterSimEnvModule(void *ctx, struct clusterNode *by, uint64_t id, uint8_t type,
                                struct str payload) {
    (void)ctx, (void)by, (void)id, (void)type, (void)payload;
}
static void clusterSimEnvLog(void *ctx, int level, const char *line) {
    struct clusterSimNode *n = ctx;
    if (n->sim->o.verbose && level > LL_DEBUG)
        printf("%8lld %3d %s\n", (long long)n->sim->now_ms, n->index, line);
}

static const struct engineEnv env = {
    .connect = clusterSimEnvConnect,
    .close = clusterSimEnvClose,
    .send = clusterSimEnvSend,
    .save = clusterSimEnvSave,
    .random = clusterSimEnvRandom,
    .replication = clusterSimEnvReplication,
    .follow = clusterSimEnvFollow,
    .pause = clusterSimEnvPause,
    .holdAcks = clusterSimEnvHoldAcks,
    .history = clusterSimEnvHistory,
    .keysInSlot = clusterSimEnvKeysInSlot,
    .deleteSlot = clusterSimEnvDeleteSlot,
    .slotsChanged = clusterSimEnvSlotsChanged,
    .stateChanged = clusterSimEnvStateChanged,
    .slotGranted = clusterSimEnvSlotGranted,
    .published = clusterSimEnvPublished,
    .moduleMessage = clusterSimEnvModule,
    .log = clusterSimEnvLog,
};

/* ---- Nodes ---- */

static void clusterSimScheduleStream(struct clusterSimNode *n) {
    struct clusterSim *s = n->sim;
    int64_t after_ms = STREAM_MS / 2 + (int64_t)(simRandom(&s->random) % STREAM_MS);
    simQueueAdd(&s->queue, (struct simEvent){.at_ms = s->now_ms + after_ms,
                                             .kind = EVENT_STREAM,
                                             .process = n->index,
                                             .life = n->life});
}

static void clusterSimStartNode(struct clusterSimNode *n) {
    struct clusterSim *s = n->sim;
    struct engine *e = &n->engine;
    engineInit(e, &env, n, clusterSimWallClock(s));
    e->settings = (struct engineSettings){.node_timeout_ms = s->o.node_timeout_ms,
                                          .manual_failover_timeout_ms = 5000,
                                          .blacklist_ttl_s = 60,
                                          .replica_validity_factor = 10,
                                          .migration_barrier = 1,
                                          .gossip_percent = 10,
                                          .repl_ping_period_s = 10,
                                          .require_full_coverage = true,
                                          .sync_replicas = s->o.without_fence ? 0 : s->o.sync_replicas,
                                          .unclean_failover = s->o.unclean,
                                          .allow_replica_migration = true,
                                          .announced_ip = ""};
    n->alive = true;
    n->hung = n->holds = false;
    n->migrates_from = n->granted_to = -1;
    n->granted_until_ms = n->keeps_epoch_until_ms = 0;
    n->life++;
    clusterSimWriteBack(n);
    if (n->disk) {
        sds err = NULL;
        bool ok = topologyParse(&e->t, sdsview(n->disk), false, clusterSimWallClock(s), &err);
        if (!ok) serverPanic("%s in\n%s", err, n->disk);
    } else {
        engineCreateMyself(e);
        struct clusterNode *me = e->t.myself;
        snprintf(me->ip, NODE_IP_LEN, "10.0.%d.%d", n->index / 200, n->index % 200 + 1);
        me->tcp_port = 6379;
        me->bus_port = BUS_PORT;
    }
    memcpy(n->id, e->t.myself->id, NODE_ID_LEN);
    struct clusterNode *primary = e->t.myself->primary;
    n->following = primary ? clusterSimIndexOfNode(s, primary->id) : -1;
    n->link_up = false;
    n->sync_began_ms = 0;
    clusterSimSetWhole(n, n->data_complete);
    engineStart(e);
    if (s->o.sync_replicas) clusterSimScheduleStream(n);
    simQueueAdd(&s->queue,
                (struct simEvent){.at_ms = s->now_ms + 1 + (int64_t)(simRandom(&s->random) % ENGINE_TICK_MS),
                                  .kind = EVENT_TICK,
                                  .process = n->index,
                                  .life = n->life});
}

static void clusterSimStopNode(struct clusterSimNode *n) {
    for (int i = 0; i < n->held_count; i++) sdsfree(n->held[i].bytes);
    n->held_count = 0;
    while (n->link_count) {
        struct clusterSimLink *link = n->links[0];
        clusterSimSendClosed(n, link);
        clusterSimFreeLink(n, link);
    }
    topologyForEach(&n->engine.t, node) node->out = node->in = NULL;
    engineDestroy(&n->engine);
    n->alive = false;
}

/* ---- Checks ---- */

static void clusterSimCheckEpochs(struct clusterSimNode *n) {
    const struct topology *t = &n->engine.t;
    uint64_t mine = t->myself->config_epoch;
    serverAssert(mine <= t->current_epoch || t->myself->primary);
    serverAssert(t->last_vote_epoch >= n->highest_vote);
    if (nodeIsPrimary(t->myself)) serverAssert(mine >= n->highest_epoch);
    n->highest_vote = t->last_vote_epoch;
    if (nodeIsPrimary(t->myself)) n->highest_epoch = mine;
}

/* Checks that an epoch is won by one node, and a shard by a node that has its data. */
static void clusterSimRecordWinner(struct clusterSimNode *n, int shard) {
    struct clusterSim *s = n->sim;
    uint64_t epoch = n->engine.election.epoch;
    if (epoch >= s->winners) {
        uint64_t room = 2 * epoch + 64;
        s->winner = zrealloc(s->winner, room * sizeof *s->winner);
        for (uint64_t i = s->winners; i < room; i++) s->winner[i] = -1;
        s->winners = room;
    }
    if (s->winner[epoch] >= 0)
        serverPanic("epoch %llu was won by nodes %d and %d (seed %llu)", (unsigned long long)epoch,
                    s->winner[epoch], n->index, (unsigned long long)s->o.seed);
    s->winner[epoch] = n->index;
    bool forced = n->engine.manual.can_start && n->forces;
    if (!forced && !(n->data_complete && n->data_shard == shard))
        serverPanic("node %d won shard %d with %s data of shard %d (seed %llu)", n->index, shard,
                    n->data_complete ? "all" : "some", n->data_shard, (unsigned long long)s->o.seed);
}

/* Checks that no two nodes own one slot in one epoch. Two primaries may have the same epoch for a moment, by
 * chance, until they resolve it, but then they own different slots. */
static void clusterSimCheckOwners(struct clusterSimNode *n) {
    const struct topology *t = &n->engine.t;
    if (!nodeIsVoter(t->myself)) return;
    if (n->checked_epoch == t->myself->config_epoch && slotSetIsEqual(&n->checked, &t->myself->slots)) return;
    n->checked_epoch = t->myself->config_epoch;
    n->checked = t->myself->slots;
    for (int i = 0; i < n->sim->count; i++) {
        const struct clusterSimNode *o = &n->sim->nodes[i];
        if (o == n || !o->alive || !nodeIsVoter(o->engine.t.myself)) continue;
        const struct clusterNode *other = o->engine.t.myself;
        if (other->config_epoch != t->myself->config_epoch) continue;
        for (size_t k = 0; k < sizeof other->slots.bits; k++) {
            if (other->slots.bits[k] & t->myself->slots.bits[k])
                serverPanic("a slot is of nodes %d and %d in epoch %llu (seed %llu)", n->index, i,
                            (unsigned long long)other->config_epoch, (unsigned long long)n->sim->o.seed);
        }
    }
}

static void clusterSimCheckNode(struct clusterSimNode *n) {
    if (!n->alive) return;
    clusterSimCheckEpochs(n);
    clusterSimCheckOwners(n);
}

/* ---- Running ---- */

/* The data of a primary is the data of its shard. */
static void clusterSimAddWrites(struct clusterSimNode *n) {
    const struct clusterNode *me = n->engine.t.myself;
    bool writes =
        engineIsClusterOk(&n->engine) && nodeIsVoter(me) && clusterSimWallClock(n->sim) >= n->paused_until_ms;
    if (writes) n->offset += WRITES_PER_TICK;
    n->data_shard = n->shard;
    n->data_complete = true;
}

/* Synchronizes from the beginning. The old data is kept until half of the time is over. */
static void clusterSimFullSync(struct clusterSimNode *n, const struct clusterSimNode *primary) {
    struct clusterSim *s = n->sim;
    if (!n->sync_began_ms) n->sync_began_ms = s->now_ms;
    int64_t took_ms = s->now_ms - n->sync_began_ms;
    if (took_ms >= s->o.sync_ms / 2) {
        clusterSimSetWhole(n, false);
        n->data_complete = false;
    }
    if (took_ms < s->o.sync_ms) return;
    n->data_shard = primary->data_shard;
    n->data_complete = n->link_up = true;
}

static void clusterSimSyncReplica(struct clusterSimNode *n) {
    struct clusterSimNode *primary = &n->sim->nodes[n->following];
    bool available = primary->alive && !primary->hung && !n->cut && clusterSimNodesReach(n, primary) &&
                     (primary->following < 0 || primary->link_up);
    if (!available) {
        n->link_up = false;
        n->sync_began_ms = 0;
        return;
    }
    bool continues = n->data_complete && n->offset <= primary->offset && n->data_shard == primary->data_shard;
    if (n->sim->o.sync_replicas) continues = continues && clusterSimHas(primary, n->history) >= n->offset;
    if (continues)
        n->link_up = true;
    else if (!n->link_up)
        clusterSimFullSync(n, primary);
    if (!n->link_up) return;
    n->offset = primary->offset;
    n->history = primary->history;
    n->whole = true;
    n->data_ms = clusterSimWallClock(n->sim);
    if (!n->holds) primary->acks[n->index] = (struct clusterSimAck){n->history, n->offset};
}

/* Tells clients what enough replicas have acknowledged. */
static void clusterSimAcknowledge(struct clusterSimNode *n) {
    struct clusterSimHistory *h = &n->sim->histories[n->history];
    for (int i = 0; i < n->sim->count; i++) {
        uint64_t offset = n->acks[i].offset;
        int having = 0;
        for (int k = 0; k < n->sim->count && n->acks[i].history == n->history; k++)
            having += n->acks[k].history == n->history && n->acks[k].offset >= offset;
        if (having >= n->sim->o.sync_replicas && offset > h->acked) h->acked = offset;
    }
}

static void clusterSimMoveData(struct clusterSimNode *n) {
    if (n->following < 0)
        clusterSimAddWrites(n);
    else
        clusterSimSyncReplica(n);
}

static void clusterSimStream(struct clusterSimNode *n) {
    clusterSimMoveData(n);
    if (n->following < 0) clusterSimAcknowledge(n);
    clusterSimScheduleStream(n);
}

/* Its source has paused writes and the claim is due: does what migration_import.c does. */
static void clusterSimTickMigration(struct clusterSimNode *n) {
    struct clusterSim *s = n->sim;
    struct clusterSimNode *source = &s->nodes[n->migrates_from];
    bool fails = !source->alive || source->hung || !nodeIsPrimary(n->engine.t.myself) ||
                 s->now_ms - n->migrates_ms >= CLUSTER_SIM_MIGRATION_MS;
    for (int slot = 0; slot < KEY_SLOTS && !fails; slot++)
        fails = slotSetHas(&n->migrates, slot) && source->engine.t.owner[slot] != source->engine.t.myself;
    fails = fails || s->now_ms >= source->keeps_epoch_until_ms;
    if (fails) {
        n->migrates_from = -1;
        return;
    }
    const struct clusterNode *known = topologyFind(&n->engine.t, source->engine.t.myself->id);
    bool known_reserved =
        engineIsEpochReserved(&n->engine) && known && engineIsReservationKnownBy(&n->engine, known);
    if (!known_reserved) engineReserveEpoch(&n->engine, clusterSimWallClock(s));
    if (!known_reserved || n->engine.settings.keeps_epoch) return;
    n->migrates_from = -1;
    source->granted_to = n->index;
    source->granted = n->migrates;
    source->reclaims = false;
    source->granted_until_ms = source->keeps_epoch_until_ms = s->now_ms + CLUSTER_SIM_GRANTED_MS;
    source->paused_until_ms = clusterSimWallClock(s) + CLUSTER_SIM_GRANTED_MS;
    for (int slot = 0; slot < KEY_SLOTS; slot++) {
        if (slotSetHas(&n->migrates, slot)) slotAssign(&n->engine.t, slot, n->engine.t.myself);
    }
    engineBumpEpoch(&n->engine, clusterSimWallClock(s));
    engineAddTodo(&n->engine, TODO_SAVE | TODO_SYNC | TODO_STATE | TODO_SLOTS | TODO_BROADCAST);
}

static bool clusterSimStillOwnsGranted(const struct clusterSimNode *n) {
    const struct topology *t = &n->engine.t;
    for (int slot = 0; slot < KEY_SLOTS; slot++) {
        if (slotSetHas(&n->granted, slot) && t->owner[slot] != t->myself) return false;
    }
    return true;
}

/* The node has granted slots: does what migration_export.c does. */
static void clusterSimTickGranted(struct clusterSimNode *n) {
    struct clusterSim *s = n->sim;
    int64_t left_ms = n->granted_until_ms - s->now_ms;
    bool waits = nodeIsPrimary(n->engine.t.myself) && clusterSimStillOwnsGranted(n);
    if (waits && left_ms > 0 && left_ms <= CLUSTER_SIM_GRANTED_MS / 2 && !n->reclaims) {
        n->reclaims = true;
        engineReserveNewEpoch(&n->engine, clusterSimWallClock(s));
    }
    if (waits && left_ms > 0) return;
    n->granted_to = -1;
    n->granted_until_ms = n->keeps_epoch_until_ms = 0;
    if (waits && n->reclaims && engineIsEpochReserved(&n->engine))
        engineBumpEpoch(&n->engine, clusterSimWallClock(s));
}

static void clusterSimTickNode(struct clusterSimNode *n) {
    struct clusterSim *s = n->sim;
    if (!s->o.sync_replicas) clusterSimMoveData(n);
    if (n->migrates_from >= 0) clusterSimTickMigration(n);
    if (n->granted_to >= 0) clusterSimTickGranted(n);
    n->engine.settings.keeps_epoch = s->now_ms < n->keeps_epoch_until_ms;
    engineTick(&n->engine, clusterSimWallClock(s));
    engineFlush(&n->engine, clusterSimWallClock(s));
    simQueueAdd(&s->queue, (struct simEvent){.at_ms = s->now_ms + ENGINE_TICK_MS,
                                             .kind = EVENT_TICK,
                                             .process = n->index,
                                             .life = n->life});
}

static void clusterSimReceiveMessage(struct clusterSimNode *n, struct clusterSimLink *link, sds bytes) {
    if (!engineReceive(&n->engine, &link->bus, (uint8_t *)bytes, (uint32_t)sdslen(bytes),
                       clusterSimWallClock(n->sim))) {
        clusterSimSendClosed(n, link);
        clusterSimFreeLink(n, link);
    }
    engineFlush(&n->engine, clusterSimWallClock(n->sim));
}

/* The other end of the connection is created together with this one. */
static void clusterSimFinishConnect(struct clusterSimNode *n, struct clusterSimLink *link) {
    struct clusterSimNode *peer = &n->sim->nodes[link->peer];
    if (!peer->alive || !clusterSimNodesReach(n, peer)) return;
    struct clusterSimLink *other = clusterSimAddLink(peer, n->index);
    other->bus.inbound = true;
    other->bus.created_ms = clusterSimWallClock(n->sim);
    other->peer_number = link->number;
    link->peer_number = other->number;
    engineLinkUp(&n->engine, &link->bus, clusterSimWallClock(n->sim));
}

static void clusterSimCloseLink(struct clusterSimNode *n, struct clusterSimLink *link) {
    engineLinkDown(&n->engine, &link->bus, clusterSimWallClock(n->sim));
    clusterSimFreeLink(n, link);
}

static void clusterSimHoldEvent(struct clusterSimNode *n, struct simEvent ev) {
    n->held = zrealloc(n->held, (size_t)(n->held_count + 1) * sizeof *n->held);
    n->held[n->held_count++] = ev;
}

static void clusterSimRunEvent(struct clusterSim *s, struct simEvent ev) {
    struct clusterSimNode *n = &s->nodes[ev.process];
    if (!n->alive || n->life != ev.life) {
        sdsfree(ev.bytes);
        return;
    }
    if (n->hung) {
        clusterSimHoldEvent(n, ev);
        return;
    }
    struct clusterSimLink *link = ev.connection ? clusterSimFindLink(n, ev.connection) : NULL;
    if (ev.kind == EVENT_TICK)
        clusterSimTickNode(n);
    else if (ev.kind == EVENT_STREAM)
        clusterSimStream(n);
    else if (!link)
        ; /* closed meanwhile */
    else if (ev.kind == EVENT_ARRIVES)
        clusterSimReceiveMessage(n, link, ev.bytes);
    else if (ev.kind == EVENT_CONNECTED)
        clusterSimFinishConnect(n, link);
    else
        clusterSimCloseLink(n, link);
    sdsfree(ev.bytes);
    clusterSimCheckNode(n);
}

void clusterSimRun(struct clusterSim *s, int64_t ms) {
    int64_t end = s->now_ms + ms;
    while (s->queue.count && s->queue.heap[0].at_ms <= end) {
        struct simEvent ev = simQueueTake(&s->queue);
        s->now_ms = ev.at_ms;
        clusterSimRunEvent(s, ev);
    }
    s->now_ms = end;
}

/* ---- Creation ---- */

static void clusterSimIntroduceNode(struct clusterSim *s, int i, int j) {
    struct engine *e = &s->nodes[i].engine;
    const struct clusterNode *other = s->nodes[j].engine.t.myself;
    struct clusterNode *n = topologyAdd(&e->t, other->id, NODE_PRIMARY, clusterSimWallClock(s));
    memcpy(n->ip, other->ip, NODE_IP_LEN);
    n->tcp_port = other->tcp_port;
    n->bus_port = other->bus_port;
    memcpy(n->shard_id, other->shard_id, NODE_ID_LEN);
}

/* Does what valkey-cli --cluster create does: each node has an epoch of its own from the start. */
static void clusterSimAssignSlots(struct clusterSim *s) {
    int primaries = s->o.primaries;
    for (int i = 0; i < s->count; i++) {
        struct engine *e = &s->nodes[i].engine;
        e->t.myself->config_epoch = e->t.current_epoch = (uint64_t)i + 1;
        for (int slot = 0; slot < KEY_SLOTS && i < primaries; slot++) {
            if (slot * primaries / KEY_SLOTS == i) slotAssign(&e->t, slot, e->t.myself);
        }
        engineAddTodo(e, TODO_SAVE | TODO_STATE);
    }
}

static void clusterSimJoinShards(struct clusterSim *s) {
    for (int i = s->o.primaries; i < s->count; i++) {
        struct engine *e = &s->nodes[i].engine;
        const char *id = s->nodes[(i - s->o.primaries) % s->o.primaries].engine.t.myself->id;
        struct clusterNode *primary = topologyFind(&e->t, id);
        serverAssert(primary);
        e->now_ms = clusterSimWallClock(s);
        engineFollow(e, primary, true);
        engineFlush(e, clusterSimWallClock(s));
    }
}

static bool clusterSimAllNodesAreKnown(struct clusterSim *s) {
    for (int i = 0; i < s->count; i++) {
        if (s->nodes[i].engine.t.count < s->count) return false;
        topologyForEach(&s->nodes[i].engine.t, n) {
            if (n->flags & NODE_HANDSHAKE) return false;
        }
    }
    return true;
}

struct clusterSim *clusterSimCreate(const struct clusterSimOptions *o) {
    struct clusterSim *s = zcalloc(1, sizeof *s);
    s->o = *o;
    s->o.loss = 0; /* loss begins when all nodes know each other: a user would have to repeat CLUSTER MEET */
    s->random = o->seed;
    s->now_ms = 1000000000;
    s->count = o->primaries * (1 + o->replicas);
    serverAssert(s->count <= CLUSTER_SIM_NODES_MAX);
    s->nodes = zcalloc((size_t)s->count, sizeof *s->nodes);
    for (int i = 0; i < s->count; i++) {
        s->nodes[i] = (struct clusterSimNode){.sim = s, .index = i, .shard = i, .following = -1};
        s->nodes[i].acks = zcalloc((size_t)s->count, sizeof *s->nodes[i].acks);
        clusterSimBranch(&s->nodes[i], -1);
        clusterSimStartNode(&s->nodes[i]);
    }
    clusterSimAssignSlots(s);
    for (int i = 0; i < s->count; i++) {
        for (int j = 0; j < s->count && !o->meet_one; j++) {
            if (i != j) clusterSimIntroduceNode(s, i, j);
        }
    }
    if (o->meet_one) {
        for (int i = 1; i < s->count; i++) {
            const struct clusterNode *other = s->nodes[i].engine.t.myself;
            engineMeet(&s->nodes[0].engine, other->ip, other->tcp_port, other->bus_port,
                       clusterSimWallClock(s));
        }
        int64_t begun_ms = s->now_ms;
        for (int tries = 0; !clusterSimAllNodesAreKnown(s) && tries < 600; tries++) clusterSimRun(s, 100);
        serverAssert(clusterSimAllNodesAreKnown(s));
        s->met_ms = s->now_ms - begun_ms;
    }
    clusterSimJoinShards(s);
    for (int i = 0; i < s->count; i++) clusterSimEnvSave(&s->nodes[i], true);
    s->o.loss = o->loss;
    return s;
}

void clusterSimDestroy(struct clusterSim *s) {
    for (int i = 0; i < s->count; i++) {
        struct clusterSimNode *n = &s->nodes[i];
        if (n->alive) clusterSimStopNode(n);
        zfree(n->links);
        zfree(n->held);
        zfree(n->acks);
        sdsfree(n->disk);
        sdsfree(n->cached);
    }
    simQueueFree(&s->queue);
    zfree(s->nodes);
    zfree(s->histories);
    zfree(s->winner);
    zfree(s);
}

/* ---- Actions and queries ---- */

int64_t clusterSimNow(const struct clusterSim *s) {
    return s->now_ms;
}
int clusterSimCount(const struct clusterSim *s) {
    return s->count;
}
uint64_t clusterSimMessages(const struct clusterSim *s) {
    return s->messages;
}
uint64_t clusterSimBytes(const struct clusterSim *s) {
    return s->bytes;
}
int64_t clusterSimMetMs(const struct clusterSim *s) {
    return s->met_ms;
}
struct engine *clusterSimEngine(struct clusterSim *s, int i) {
    return s->nodes[i].alive ? &s->nodes[i].engine : NULL;
}

void clusterSimKill(struct clusterSim *s, int i) {
    if (s->nodes[i].alive) clusterSimStopNode(&s->nodes[i]);
}
void clusterSimPowerOff(struct clusterSim *s, int i) {
    struct clusterSimNode *n = &s->nodes[i];
    if (!n->alive) return;
    clusterSimStopNode(n);
    if (s->now_ms - n->cached_ms >= WRITE_BACK_MS) return;
    sdsfree(n->cached);
    n->cached = NULL;
}
void clusterSimRestart(struct clusterSim *s, int i) {
    if (!s->nodes[i].alive) clusterSimStartNode(&s->nodes[i]);
}
void clusterSimSide(struct clusterSim *s, int i, int side) {
    s->nodes[i].side = side;
}

/* When it ends, the held events are processed at once. */
void clusterSimHang(struct clusterSim *s, int i, bool hang) {
    struct clusterSimNode *n = &s->nodes[i];
    if (!n->alive || n->hung == hang) return;
    n->hung = hang;
    if (hang) return;
    for (int k = 0; k < n->held_count; k++) {
        bool later =
            s->o.sync_replicas && n->held[k].kind == EVENT_TICK; /* what came may be processed first */
        n->held[k].at_ms = s->now_ms + (later ? (int64_t)(simRandom(&s->random) % ENGINE_TICK_MS) : 0);
        simQueueAdd(&s->queue, n->held[k]);
    }
    n->held_count = 0;
}

void clusterSimFailover(struct clusterSim *s, int i, enum failoverKind kind) {
    struct clusterSimNode *n = &s->nodes[i];
    if (!n->alive || n->hung || !nodeIsReplica(n->engine.t.myself) || !n->engine.t.myself->primary) return;
    n->forces = kind != FAILOVER_ASK;
    engineFailover(&n->engine, kind, clusterSimWallClock(s));
    engineFlush(&n->engine, clusterSimWallClock(s));
    clusterSimCheckNode(n);
}

void clusterSimCutReplication(struct clusterSim *s, int i, bool cut) {
    s->nodes[i].cut = cut;
}

void clusterSimReplicate(struct clusterSim *s, int i, int primary) {
    struct clusterSimNode *n = &s->nodes[i], *p = &s->nodes[primary];
    if (i == primary || !n->alive || n->hung || !p->alive || !nodeIsReplica(n->engine.t.myself)) return;
    struct clusterNode *to = topologyFind(&n->engine.t, p->engine.t.myself->id);
    if (!to || nodeIsReplica(to) || n->engine.t.myself->primary == to) return;
    engineFollow(&n->engine, to, true);
    engineFlush(&n->engine, clusterSimWallClock(s));
}

void clusterSimMigrate(struct clusterSim *s, int from, int to) {
    struct clusterSimNode *source = &s->nodes[from], *n = &s->nodes[to];
    if (from == to || !source->alive || !n->alive || source->hung || n->hung || n->migrates_from >= 0) return;
    const struct topology *t = &n->engine.t, *theirs = &source->engine.t;
    const struct clusterNode *owner = topologyFind(t, theirs->myself->id);
    if (!nodeIsPrimary(t->myself) || !owner) return;
    if (source->migrates_from >= 0 || s->now_ms < source->keeps_epoch_until_ms) return;
    memset(&n->migrates, 0, sizeof n->migrates);
    int count = 0;
    for (int slot = 0; slot < KEY_SLOTS && count < CLUSTER_SIM_MIGRATION_SLOTS; slot++) {
        if (theirs->owner[slot] != theirs->myself || t->owner[slot] != owner) continue;
        slotSetAdd(&n->migrates, slot);
        count++;
    }
    if (!count) return;
    n->migrates_from = from;
    n->migrates_ms = s->now_ms;
    source->keeps_epoch_until_ms = s->now_ms + CLUSTER_SIM_MIGRATION_MS;
    source->engine.settings.keeps_epoch = true;
    engineReserveEpoch(&n->engine, clusterSimWallClock(s));
    engineFlush(&n->engine, clusterSimWallClock(s));
}
bool clusterSimMigrates(const struct clusterSim *s, int to) {
    return s->nodes[to].migrates_from >= 0;
}

int clusterSimPrimaryOf(struct clusterSim *s, int slot) {
    int found = -1;
    uint64_t epoch = 0;
    for (int i = 0; i < s->count; i++) {
        struct clusterSimNode *n = &s->nodes[i];
        const struct topology *t = &n->engine.t;
        if (!n->alive || t->owner[slot] != t->myself || t->myself->config_epoch < epoch) continue;
        found = i;
        epoch = t->myself->config_epoch;
    }
    return found;
}

static bool clusterSimViewsAreEqual(const struct topology *a, const struct topology *b) {
    if (a->count != b->count) return false;
    for (int i = 0; i < a->count; i++) {
        if (memcmp(a->nodes[i]->id, b->nodes[i]->id, NODE_ID_LEN) != 0) return false;
        if (!slotSetIsEqual(&a->nodes[i]->slots, &b->nodes[i]->slots)) return false;
        const struct clusterNode *p = a->nodes[i]->primary, *q = b->nodes[i]->primary;
        if (!p != !q || (p && memcmp(p->id, q->id, NODE_ID_LEN) != 0)) return false;
    }
    return true;
}

bool clusterSimAgrees(struct clusterSim *s) {
    const struct topology *first = NULL;
    for (int i = 0; i < s->count; i++) {
        struct clusterSimNode *n = &s->nodes[i];
        if (!n->alive) continue;
        const struct topology *t = &n->engine.t;
        if (!first) first = t;
        if (!engineIsClusterOk(&n->engine) || slotsCountOwned(t) != KEY_SLOTS ||
            !clusterSimViewsAreEqual(first, t))
            return false;
        if (n->following >= 0 && !n->link_up) return false;
        for (int k = 0; k < t->count; k++) {
            if (t->nodes[k]->flags & (NODE_FAIL | NODE_PFAIL | NODE_HANDSHAKE | NODE_NOADDR)) return false;
        }
    }
    for (int i = 0; i < s->count; i++) {
        if (s->nodes[i].alive) topologyVerify(&s->nodes[i].engine.t);
    }
    return true;
}

bool clusterSimPaused(const struct clusterSim *s, int i) {
    return s->nodes[i].paused_until_ms > clusterSimWallClock(s);
}
void clusterSimSetClocks(struct clusterSim *s, int64_t off_ms) {
    s->clock_off_ms = off_ms;
}

uint64_t clusterSimCountLost(const struct clusterSim *s) {
    uint64_t lost = 0;
    for (int h = 0; h < s->history_count; h++) {
        if (!s->histories[h].acked) continue;
        for (int i = 0; i < s->count; i++) {
            const struct clusterSimNode *n = &s->nodes[i];
            if (!n->alive || n->following >= 0 || !nodeIsVoter(n->engine.t.myself) ||
                n->shard != s->histories[h].shard)
                continue;
            uint64_t has = clusterSimHas(n, h);
            if (has < s->histories[h].acked) lost += s->histories[h].acked - has;
        }
    }
    return lost;
}

void clusterSimSetLoss(struct clusterSim *s, double loss) {
    s->o.loss = loss;
}

int clusterSimHealthyReplicasOf(struct clusterSim *s, int i) {
    const struct clusterNode *me = s->nodes[i].engine.t.myself;
    int count = 0;
    for (int k = 0; k < me->replica_count; k++) count += !(me->replicas[k]->flags & (NODE_FAIL | NODE_PFAIL));
    return count;
}

void clusterSimPrint(struct clusterSim *s) {
    for (int i = 0; i < s->count; i++) {
        struct clusterSimNode *n = &s->nodes[i];
        if (!n->alive) continue;
        sds text = topologyFormat(sdsempty(), &n->engine.t, false);
        printf("---- %d (%s) follows %d, link %s\n%s", i, engineIsClusterOk(&n->engine) ? "ok" : "down",
               n->following, n->link_up ? "up" : "down", text);
        sdsfree(text);
    }
}
