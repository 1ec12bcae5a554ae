/* SPDX-License-Identifier: BSD-3-Clause */
/* cluster_engine.c - libFuzzer target for a cluster node that receives messages in any order, between ticks,
 * links that open and close, and commands of users.
 *
 *     make fuzz-cluster_engine FUZZ_SECONDS=600
 *
 * An input is a list of steps: a byte that selects the step, and bytes for it. Messages are made from a few
 * nodes, epochs and slots, because random bytes would hardly ever name them; then some bytes may be
 * overwritten. After each step the invariants hold; everything that is sent can be parsed; what would be
 * saved can be loaded at the end. Epochs near their end are left out: with such an epoch any node can stop a
 * cluster of this protocol. FUZZ_VERBOSE=1 shows the node's log. */
#include "cluster/cluster_engine.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/assert.h"
#include "base/zmalloc.h"
#include "cluster/topology_file.h"

#define LINKS_MAX   24
#define STEPS_MAX   200
#define CHECK_STEPS 8  /* steps between two checks of everything, which take time */
#define NODES_MAX   16 /* no more are learnt: gossip names only a few */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct engine engine;
static struct busLink *links[LINKS_MAX];
static int link_count;
static int64_t now_ms;
static uint64_t chance, my_offset;
static bool verbose;

/* ---- The input ---- */

static struct str input;

static unsigned takeByte(void) {
    if (!input.len) return 0;
    unsigned byte = (unsigned char)input.ptr[0];
    input = strN(input.ptr + 1, input.len - 1);
    return byte;
}

/* Takes an id: `a...`, `b...`, or the id of a known node. */
static const char *takeId(char id[NODE_ID_LEN]) {
    unsigned which = takeByte();
    if (which & 0x80)
        memcpy(id, engine.t.nodes[which % (unsigned)engine.t.count]->id, NODE_ID_LEN);
    else
        memset(id, which & 0x40 ? 'A' : 'a' + (int)(which % 10), NODE_ID_LEN);
    return id;
}

static void takeSlots(struct slotSet *slots) {
    int runs = (int)(takeByte() % 4);
    for (; runs > 0; runs--) {
        unsigned first = takeByte() << 6, len = (takeByte() + 1) << 5;
        for (unsigned slot = first; slot < first + len && slot < KEY_SLOTS; slot++)
            slotSetAdd(slots, (int)slot);
    }
}

/* ---- The environment ---- */

static void dropLink(struct busLink *link) {
    for (int i = 0; i < link_count; i++) {
        if (links[i] != link) continue;
        links[i] = links[--link_count];
        free(link);
        return;
    }
    serverPanic("a link that is none");
}

static struct busLink *newLink(const char *ip, bool inbound) {
    if (link_count == LINKS_MAX) return NULL;
    struct busLink *link = links[link_count++] = calloc(1, sizeof *link);
    link->inbound = inbound;
    link->created_ms = now_ms;
    snprintf(link->peer_ip, NODE_IP_LEN, "%s", ip);
    snprintf(link->own_ip, NODE_IP_LEN, "10.0.0.1");
    return link;
}

static struct busLink *envConnect(void *ctx, const char *ip, uint16_t bus_port) {
    (void)ctx;
    return bus_port % 5 == 4 ? NULL : newLink(ip, false);
}
static void envClose(void *ctx, struct busLink *link) {
    (void)ctx;
    serverAssert(link != engine.receiving && !link->node);
    dropLink(link);
}
static void envSend(void *ctx, struct busLink *link, const char *bytes, size_t len) {
    (void)ctx, (void)link;
    struct busMessage m;
    uint32_t expected;
    serverAssert(busLength((const uint8_t *)bytes) == len);
    enum busVerdict verdict = busRead((const uint8_t *)bytes, (uint32_t)len, &m, &expected);
    serverAssert(verdict == BUS_READ);
}
static void envSave(void *ctx, bool sync) {
    (void)ctx, (void)sync;
}
static uint64_t envRandom(void *ctx) {
    (void)ctx;
    chance = chance * 6364136223846793005 + 1442695040888963407;
    return chance >> 16;
}
static struct engineReplication envReplication(void *ctx) {
    (void)ctx;
    return (struct engineReplication){.offset = my_offset, .link_up = true, .data_ms = now_ms};
}
static void envFollow(void *ctx, struct clusterNode *primary, bool full_sync) {
    (void)ctx, (void)full_sync;
    serverAssert(!primary || (primary != engine.t.myself && topologyFind(&engine.t, primary->id) == primary));
}
static void envPause(void *ctx, int64_t until_ms) {
    (void)ctx, (void)until_ms;
}
static uint64_t envKeysInSlot(void *ctx, int slot) {
    (void)ctx;
    return slot % 1024 == 7;
}
static void envDeleteSlot(void *ctx, int slot) {
    (void)ctx;
    serverAssert(engine.t.owner[slot] != engine.t.myself);
}
static void envSlotsChanged(void *ctx) {
    (void)ctx;
}
static void envStateChanged(void *ctx, bool ok) {
    (void)ctx;
    serverAssert(ok == engineIsClusterOk(&engine));
}
static bool envSlotGranted(void *ctx, int slot, const struct clusterNode *to) {
    (void)ctx, (void)to;
    return slot % 64 == 11;
}
static uint64_t read_bytes;
static void readAll(struct str text) {
    for (size_t i = 0; i < text.len; i++) read_bytes += (unsigned char)text.ptr[i];
}
static void envPublished(void *ctx, struct clusterNode *by, bool shard, struct str channel,
                         struct str message) {
    (void)ctx, (void)shard;
    serverAssert(by && by != engine.t.myself);
    readAll(channel);
    readAll(message);
}
static void envModuleMessage(void *ctx, struct clusterNode *by, uint64_t id, uint8_t type,
                             struct str payload) {
    (void)ctx, (void)by, (void)id, (void)type;
    readAll(payload);
}
static void envLog(void *ctx, int level, const char *line) {
    (void)ctx, (void)level;
    read_bytes += strlen(line);
    if (verbose) fprintf(stderr, "    %s\n", line);
}

static const struct engineEnv env = {
    .connect = envConnect,
    .close = envClose,
    .send = envSend,
    .save = envSave,
    .random = envRandom,
    .replication = envReplication,
    .follow = envFollow,
    .pause = envPause,
    .keysInSlot = envKeysInSlot,
    .deleteSlot = envDeleteSlot,
    .slotsChanged = envSlotsChanged,
    .stateChanged = envStateChanged,
    .slotGranted = envSlotGranted,
    .published = envPublished,
    .moduleMessage = envModuleMessage,
    .log = envLog,
};

/* ---- Messages ---- */

static void takeHeader(struct busHeader *h) {
    static const char *const ips[] = {"", "10.0.0.2", "fd00::2", "10.0.0.3"};
    unsigned type = takeByte();
    memset(h, 0, sizeof *h);
    h->type = (uint16_t)(type % BUS_TYPES);
    takeId(h->sender);
    if (type & 0x80) takeId(h->primary);
    unsigned epochs = takeByte(), address = takeByte();
    h->config_epoch = epochs & 15;
    h->current_epoch = epochs >> 4;
    h->offset = takeByte();
    h->flags = (uint8_t)(takeByte() | (type & 0x40 ? BUS_HAS_EXTENSIONS : 0));
    h->node_flags = (uint16_t)(takeByte() << 8 | takeByte());
    h->port = (uint16_t)(6000 + address % 4);
    h->other_port = address & 4 ? 7000 : 0;
    h->bus_port = (uint16_t)(16000 + address % 4);
    snprintf(h->ip, NODE_IP_LEN, "%s", ips[address >> 6]);
    takeSlots(&h->slots);
}

static sds addTakenGossip(sds s) {
    int count = engine.t.count < NODES_MAX ? (int)(takeByte() % 4) : 0;
    for (; count > 0; count--) {
        struct busGossip g = {
            .ping_sent_s = 0, .pong_received_s = (uint32_t)(now_ms / 1000), .other_port = 0};
        takeId(g.id);
        unsigned address = takeByte();
        g.flags = (uint16_t)(takeByte() << 8 | takeByte());
        g.port = (uint16_t)(6000 + address % 4);
        g.bus_port = (uint16_t)(16000 + address % 4);
        snprintf(g.ip, NODE_IP_LEN, "%s", address & 0x80 ? "x y" : "10.0.0.4");
        s = busAddGossip(s, 0, &g);
    }
    return s;
}

static sds addTakenExtensions(sds s) {
    int count = (int)(takeByte() % 4);
    for (; count > 0; count--) {
        unsigned type = takeByte() % (EXT_TYPES + 1);
        char id[NODE_ID_LEN];
        if (type == EXT_FORGOTTEN) {
            takeId(id);
            s = busAddForgotten(s, 0, id, takeByte());
        } else if (type == EXT_SHARD_ID) {
            s = busAddShardId(s, 0, takeId(id));
        } else {
            char text[3] = {(char)takeByte(), (char)takeByte(), (char)takeByte()};
            s = busAddText(s, 0, (enum busExtensionType)type, strN(text, sizeof text));
        }
    }
    return s;
}

static sds addTakenPayload(sds s, int type) {
    char id[NODE_ID_LEN];
    struct slotSet slots = {{0}};
    switch (type) {
    case BUS_PING:
    case BUS_PONG:
    case BUS_MEET: return addTakenExtensions(addTakenGossip(s));
    case BUS_FAIL: return busAddFail(s, takeId(id));
    case BUS_UPDATE:
        takeId(id);
        takeSlots(&slots);
        return busAddUpdate(s, id, takeByte() & 15, &slots);
    case BUS_PUBLISH:
    case BUS_PUBLISHSHARD: return busAddPublish(s, STR("channel"), STR("message"));
    case BUS_MODULE: return busAddModule(s, 1, 2, STR("payload"));
    default: return s;
    }
}

/* Overwrites some bytes, except for the length and the epochs. */
static void overwriteBytes(sds s) {
    int count = (int)(takeByte() % 8);
    for (; count > 0; count--) {
        size_t at = (takeByte() << 8 | takeByte()) % sdslen(s);
        unsigned byte = takeByte();
        if (at >= 8 && (at < 16 || at >= 32)) s[at] = (char)byte;
    }
}

static sds takeMessage(void) {
    struct busHeader h;
    takeHeader(&h);
    bool light =
        takeByte() & 1 && (h.type == BUS_PUBLISH || h.type == BUS_PUBLISHSHARD || h.type == BUS_MODULE);
    sds s = light ? busBeginLight(sdsempty(), (enum busType)h.type) : busBegin(sdsempty(), &h);
    s = addTakenPayload(s, h.type);
    busEnd(s, 0);
    overwriteBytes(s);
    return s;
}

/* ---- Steps ---- */

static struct busLink *takeLink(void) {
    return link_count ? links[takeByte() % (unsigned)link_count] : NULL;
}

static void receiveMessage(void) {
    struct busLink *link = takeLink();
    sds s = takeMessage();
    if (link && busLength((uint8_t *)s) == sdslen(s)) {
        uint8_t *packet = malloc(sdslen(s)); /* exactly as long as the message, for sanitizers */
        memcpy(packet, s, sdslen(s));
        bool good = engineReceive(&engine, link, packet, (uint32_t)sdslen(s), now_ms);
        if (!good) {
            serverAssert(!link->node);
            dropLink(link);
        }
        free(packet);
    }
    sdsfree(s);
}

static void changeLink(bool up) {
    struct busLink *link = takeLink();
    if (!link) return;
    if (up) {
        if (!link->inbound && link->node && !link->node->connected) engineLinkUp(&engine, link, now_ms);
        return;
    }
    engineLinkDown(&engine, link, now_ms);
    dropLink(link);
}

static struct clusterNode *takeNode(void) {
    return engine.t.nodes[takeByte() % (unsigned)engine.t.count];
}

static void openSlotByHand(void) {
    struct clusterNode *n = takeNode(), *me = engine.t.myself;
    int slot = (int)(takeByte() << 6);
    if (n == me || n->flags & NODE_HANDSHAKE || !nodeIsPrimary(n) || !nodeIsPrimary(me)) return;
    if (engine.t.owner[slot] == me)
        slotSetMigrating(&engine.t, slot, n);
    else
        slotSetImporting(&engine.t, slot, n);
}

/* Runs a command of a user, under the conditions that the real commands check. */
static void runCommand(void) {
    struct clusterNode *n, *me = engine.t.myself;
    bool replica = nodeIsReplica(me);
    switch (takeByte() % 9) {
    case 0:
        if (engine.t.count < NODES_MAX) engineMeet(&engine, "10.0.0.9", 6009, 16009, now_ms);
        break;
    case 1:
        n = takeNode();
        if (n != me && n != me->primary) engineForget(&engine, n, now_ms);
        break;
    case 2:
        n = takeNode();
        if (n != me && nodeIsPrimary(n) && !me->slot_count && !(n->flags & NODE_HANDSHAKE))
            engineFollow(&engine, n, true);
        break;
    case 3:
        if (replica) engineLeaveShard(&engine);
        break;
    case 4:
        n = me->primary;
        unsigned kind = takeByte() % 3;
        if (!replica || !n || (kind == FAILOVER_ASK && (nodeHasFailed(n) || !n->out))) break;
        engineFailover(&engine, (enum failoverKind)kind, now_ms);
        break;
    case 5: engineReset(&engine, takeByte() & 1, now_ms); break;
    case 6: engineBumpEpoch(&engine, now_ms); break;
    case 7: engineSendPublish(&engine, takeByte() & 1, STR("channel"), STR("message"), now_ms); break;
    default: openSlotByHand(); break;
    }
}

static void runStep(void) {
    switch (takeByte() % 8) {
    case 0:
    case 1:
    case 2: receiveMessage(); break;
    case 3: changeLink(true); break;
    case 4: changeLink(false); break;
    case 5: newLink("10.0.0.8", true); break;
    case 6:
        now_ms += 100 * (1 + takeByte());
        engineTick(&engine, now_ms);
        break;
    default: runCommand(); break;
    }
    if (takeByte() & 1) engineFlush(&engine, now_ms);
    my_offset++;
}

/* ---- Invariants ---- */

static void checkLinks(void) {
    for (int i = 0; i < link_count; i++) {
        struct clusterNode *n = links[i]->node;
        if (!n) continue;
        serverAssert(topologyFind(&engine.t, n->id) == n);
        serverAssert((links[i]->inbound ? n->in : n->out) == links[i]);
    }
    for (int i = 0; i < engine.t.count; i++) {
        struct clusterNode *n = engine.t.nodes[i];
        serverAssert((!n->in || n->in->node == n) && (!n->out || n->out->node == n));
        serverAssert(!n->connected || n->out);
    }
}

static void checkEngine(void) {
    topologyVerify(&engine.t);
    serverAssert(engine.t.myself->config_epoch <= engine.t.current_epoch);
    serverAssert(engine.t.last_vote_epoch <= engine.t.current_epoch);
    for (int i = 0; i < engine.t.open_count; i++) {
        const struct openSlot *open = &engine.t.open[i];
        serverAssert(open->to != engine.t.myself && open->from != engine.t.myself);
    }
}

static void checkSaved(void) {
    struct topology t;
    sds err = NULL, text = topologyFormat(sdsempty(), &engine.t, false);
    topologyInit(&t);
    bool good = topologyParse(&t, sdsview(text), false, now_ms, &err);
    if (!good) fprintf(stderr, "%s:\n%s", err, text);
    serverAssert(good);
    topologyVerify(&t);
    topologyClear(&t);
    sdsfree(text);
}

/* ---- One input ---- */

static struct clusterNode *addNode(char name, uint16_t flags, int from, int to) {
    char id[NODE_ID_LEN];
    memset(id, name, NODE_ID_LEN);
    struct clusterNode *n = topologyAdd(&engine.t, id, flags, now_ms);
    snprintf(n->ip, NODE_IP_LEN, "10.0.0.%d", name - 'a');
    n->tcp_port = (uint16_t)(6000 + name - 'a');
    n->bus_port = (uint16_t)(16000 + name - 'a');
    for (int slot = from; slot < to; slot++) slotAssign(&engine.t, slot, n);
    return n;
}

/* Makes three primaries with slots, and a replica of the first one; this node is one of the four. */
static void beginInput(unsigned flags) {
    now_ms = 1000000;
    my_offset = 1;
    chance = flags;
    engineInit(&engine, &env, NULL, now_ms);
    engine.settings = (struct engineSettings){.node_timeout_ms = 2000,
                                              .manual_failover_timeout_ms = 5000,
                                              .blacklist_ttl_s = 60,
                                              .replica_validity_factor = 10,
                                              .migration_barrier = flags & 4 ? 0 : 1,
                                              .gossip_percent = 10,
                                              .repl_ping_period_s = 10,
                                              .require_full_coverage = flags & 8,
                                              .allow_replica_migration = flags & 16,
                                              .announced_ip = ""};
    struct clusterNode *first = addNode('a', NODE_PRIMARY, 0, 5000);
    addNode('b', NODE_PRIMARY, 5000, 10000)->config_epoch = 1;
    addNode('c', NODE_PRIMARY, 10000, KEY_SLOTS)->config_epoch = 2;
    nodeBecomeReplica(&engine.t, addNode('d', NODE_REPLICA, 0, 0), first);
    engine.t.current_epoch = 2;
    engine.t.myself = engine.t.nodes[flags & 3];
    engine.t.myself->flags |= NODE_MYSELF;
    for (int i = 0; i < 2; i++) newLink("10.0.0.7", true);
    now_ms += 3000;
    engineTick(&engine, now_ms);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    verbose = getenv("FUZZ_VERBOSE") != NULL;
    input = strN((const char *)data, size);
    beginInput(takeByte());
    for (int i = 0; i < STEPS_MAX && input.len; i++) {
        runStep();
        checkLinks();
        if (i % CHECK_STEPS == 0) checkEngine();
    }
    engineFlush(&engine, now_ms);
    checkEngine();
    checkSaved();
    while (link_count) {
        engineLinkDown(&engine, links[0], now_ms);
        dropLink(links[0]);
    }
    engineDestroy(&engine);
    return 0;
}
