/* SPDX-License-Identifier: BSD-3-Clause */
/* cluster_engine_test.c - one engine and messages made by hand, from peers that are wrong, hostile, or late.
 * Many engines together are in simulation_test.c. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "cluster/topology_file.h"
#include "tests/sim/engine_recorder.h"

#define NOW     1000000000LL
#define TIMEOUT 2000

static struct engine e;

/* ---- A node that knows two others, both primaries, with links to them ---- */

static const char *const ids[] = {"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
                                  "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb",
                                  "cccccccccccccccccccccccccccccccccccccccc"};
static struct clusterNode *others[2];

static int clusterEngineTestSetup(void **state) {
    (void)state;
    engineRecorderReset(NOW);
    engineInit(&e, &engine_recorder, NULL, NOW);
    e.settings = (struct engineSettings){.node_timeout_ms = TIMEOUT,
                                         .manual_failover_timeout_ms = 5000,
                                         .blacklist_ttl_s = 60,
                                         .replica_validity_factor = 10,
                                         .gossip_percent = 10,
                                         .repl_ping_period_s = 10,
                                         .announced_ip = ""};
    engineCreateMyself(&e);
    for (int i = 0; i < 2; i++) {
        struct clusterNode *n = topologyAdd(&e.t, ids[i], NODE_PRIMARY, NOW - 100 * TIMEOUT);
        memcpy(n->ip, "10.0.0.1", 9);
        n->tcp_port = 6379;
        n->bus_port = 16379;
        others[i] = n;
    }
    slotAssign(&e.t, 0, e.t.myself);
    slotAssign(&e.t, 1, others[0]);
    slotAssign(&e.t, 2, others[1]);
    engineTick(&e, NOW);
    for (int i = 0; i < recorded_env.link_count; i++) engineLinkUp(&e, &recorded_env.links[i], NOW);
    return 0;
}

static int clusterEngineTestTeardown(void **state) {
    (void)state;
    for (int i = 0; i < e.t.count; i++) e.t.nodes[i]->in = e.t.nodes[i]->out = NULL;
    engineDestroy(&e);
    return 0;
}

static struct busHeader clusterEngineTestHeaderOf(const char *id, enum busType type) {
    struct busHeader h = {
        .type = (uint16_t)type, .port = 6379, .bus_port = 16379, .node_flags = NODE_PRIMARY};
    memcpy(h.sender, id, NODE_ID_LEN);
    memcpy(h.ip, "10.0.0.1", 9);
    const struct clusterNode *n = topologyFind(&e.t, id);
    if (n) h.slots = n->slots;
    return h;
}

/* Passes the message to the engine. */
static bool clusterEngineTestReceive(struct busLink *link, sds message) {
    busEnd(message, 0);
    bool good = engineReceive(&e, link, (const uint8_t *)message, (uint32_t)sdslen(message), e.now_ms);
    sdsfree(message);
    topologyVerify(&e.t);
    return good;
}
static bool clusterEngineTestReceiveHeader(struct busLink *link, const struct busHeader *h) {
    return clusterEngineTestReceive(link, busBegin(sdsempty(), h));
}

static sds gossipOf(const char *by, const char *about, const char *ip, uint16_t flags) {
    struct busHeader h = clusterEngineTestHeaderOf(by, BUS_PING);
    struct busGossip g = {.port = 7000, .bus_port = 17000, .flags = flags};
    memcpy(g.id, about, NODE_ID_LEN);
    strncpy(g.ip, ip, NODE_IP_LEN - 1);
    return busAddGossip(busBegin(sdsempty(), &h), 0, &g);
}

/* ---- Wrong peers ---- */

static void aMeetOnOurOwnLinkDropsIt(void **state) {
    (void)state;
    struct busHeader h = clusterEngineTestHeaderOf(ids[0], BUS_MEET);
    struct busLink *link = others[0]->out;
    assert_false(clusterEngineTestReceiveHeader(link, &h));
    assert_null(link->node);
    assert_null(others[0]->out);
}

/* A sender of MEET knows this node. It must not get a MEET back, from which it would take
 * another address for its own. */
static void aSenderOfMeetIsPinged(void **state) {
    (void)state;
    struct busHeader h = clusterEngineTestHeaderOf(ids[2], BUS_MEET);
    struct busLink inbound = {.inbound = true, .peer_ip = "10.0.0.1"};
    assert_true(clusterEngineTestReceiveHeader(&inbound, &h));
    assert_int_equal(e.t.count, 4);
    engineTick(&e, NOW + 100);
    engineLinkUp(&e, &recorded_env.links[recorded_env.link_count - 1], NOW + 100);
    assert_true(recorded_env.links[recorded_env.link_count - 1].node->flags & NODE_HANDSHAKE);
    assert_int_equal(e.stats.sent[BUS_MEET], 0);
    assert_int_equal(engineMeet(&e, "10.0.0.7", 6379, 16379, NOW + 100), MEET_BEGUN);
    engineTick(&e, NOW + 200);
    engineLinkUp(&e, &recorded_env.links[recorded_env.link_count - 1], NOW + 200);
    assert_int_equal(e.stats.sent[BUS_MEET], 1);
}

/* The node had taken that epoch just before it was cut off. An id that belongs to no node is
 * greater than the node's. */
static void aNodeReplacedInItsOwnEpochYields(void **state) {
    (void)state;
    static const char new_owner[] = "zzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzz";
    struct clusterNode *me = e.t.myself, *n = topologyAdd(&e.t, new_owner, NODE_REPLICA, NOW - 100 * TIMEOUT);
    nodeBecomeReplica(&e.t, n, me);
    assert_true(engineBumpEpoch(&e, NOW));
    struct busHeader h = clusterEngineTestHeaderOf(new_owner, BUS_PING);
    h.current_epoch = h.config_epoch = me->config_epoch;
    h.slots = me->slots;
    slotAssign(&e.t, 3, me); /* a slot that it had just got, and of which no other node knows */
    struct busLink inbound = {.inbound = true, .peer_ip = "10.0.0.1"};
    assert_true(clusterEngineTestReceiveHeader(&inbound, &h));
    assert_ptr_equal(e.t.owner[0], n);
    assert_ptr_equal(e.t.owner[3], me);
    assert_true(nodeIsPrimary(me) && me->config_epoch > n->config_epoch);
}

/* Messages other than heartbeats have slots only in their header, which are not looked at, so
 * their epoch is not taken. */
static void anEpochIsTakenWithItsSlots(void **state) {
    (void)state;
    static const char other[] = "hhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhh";
    topologyAdd(&e.t, other, NODE_PRIMARY, NOW - 100 * TIMEOUT);
    slotAssign(&e.t, 5, others[0]);
    struct busLink inbound = {.inbound = true, .peer_ip = "10.0.0.1"};
    struct busHeader h = clusterEngineTestHeaderOf(ids[0], BUS_FAIL);
    slotSetRemove(&h.slots, 5); /* it has given this slot away */
    h.current_epoch = h.config_epoch = 11;
    clusterEngineTestReceive(&inbound, busAddFail(busBegin(sdsempty(), &h), ids[2]));
    assert_int_equal(others[0]->config_epoch, 0);
    assert_int_equal(e.t.current_epoch, 11);
    h.type = BUS_PING;
    assert_true(clusterEngineTestReceiveHeader(&inbound, &h));
    assert_int_equal(others[0]->config_epoch, 11);
    assert_true(slotSetHas(&e.t.unclaimed, 5));
}

/* A slot migrates key by key to a node that is replaced: the keys that were moved are on its replacement. */
static void aSlotMigratesToTheReplacementOfItsTarget(void **state) {
    (void)state;
    static const char new_owner[] = "hhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhh";
    struct clusterNode *target = others[0],
                       *n = topologyAdd(&e.t, new_owner, NODE_REPLICA, NOW - 100 * TIMEOUT);
    nodeBecomeReplica(&e.t, n, target);
    slotAssign(&e.t, 3, e.t.myself);
    slotAssign(&e.t, 4, target);
    slotSetMigrating(&e.t, 3, target);
    struct busHeader h = clusterEngineTestHeaderOf(new_owner, BUS_PING);
    h.current_epoch = h.config_epoch = 7;
    slotSetAdd(&h.slots, 4);
    struct busLink inbound = {.inbound = true, .peer_ip = "10.0.0.1"};
    assert_true(clusterEngineTestReceiveHeader(&inbound, &h));
    assert_ptr_equal(slotFindOpen(&e.t, 3)->to, n);
    h = clusterEngineTestHeaderOf(ids[0], BUS_PING); /* the replaced node comes back, and learns of it */
    h.node_flags = NODE_PRIMARY;
    h.config_epoch = 1;
    slotSetAdd(&h.slots, 4);
    struct busLink back = {.inbound = true, .peer_ip = "10.0.0.2"};
    assert_true(clusterEngineTestReceiveHeader(&back, &h));
    assert_ptr_equal(slotFindOpen(&e.t, 3)->to, n);
    h.node_flags = NODE_REPLICA;
    h.config_epoch = 7;
    memcpy(h.primary, new_owner, NODE_ID_LEN);
    assert_true(clusterEngineTestReceiveHeader(&back, &h));
    assert_true(nodeIsReplica(target));
    assert_ptr_equal(slotFindOpen(&e.t, 3)->to, n);
}

static void lightMessagesOfOddTypesAreDropped(void **state) {
    (void)state;
    for (int type = 0; type < 0x8000; type += type < 20 ? 1 : 997) {
        sds message = busBeginLight(sdsempty(), (enum busType)type);
        struct busLink inbound = {.inbound = true};
        if (type == BUS_PUBLISH || type == BUS_PUBLISHSHARD || type == BUS_MODULE)
            sdsfree(message);
        else
            assert_true(clusterEngineTestReceive(&inbound, message));
    }
}

static void nobodyElseIsMyself(void **state) {
    (void)state;
    struct clusterNode *me = e.t.myself;
    memcpy(me->ip, "10.0.0.9", 9);
    me->tcp_port = 1;
    assert_int_equal(engineMeet(&e, "10.0.0.7", 6379, 16379, NOW), MEET_BEGUN);
    engineTick(&e, NOW + 100);
    struct busLink *link = &recorded_env.links[recorded_env.link_count - 1];
    engineLinkUp(&e, link, NOW + 100);
    struct busHeader h = clusterEngineTestHeaderOf(me->id, BUS_PONG);
    assert_false(clusterEngineTestReceiveHeader(link, &h)); /* the handshake is over */
    assert_int_equal(e.t.count, 3);
    assert_string_equal(me->ip, "10.0.0.9");
    assert_int_equal(me->tcp_port, 1);
}

static void epochsAndIdsThatCannotBeAreIgnored(void **state) {
    (void)state;
    struct busLink inbound = {.inbound = true};
    struct busHeader h = clusterEngineTestHeaderOf(ids[0], BUS_PING);
    h.current_epoch = h.config_epoch = UINT64_MAX;
    clusterEngineTestReceiveHeader(&inbound, &h);
    h.config_epoch = 0;
    clusterEngineTestReceiveHeader(&inbound, &h);
    h = clusterEngineTestHeaderOf(ids[0], BUS_UPDATE);
    struct slotSet none = {0};
    clusterEngineTestReceive(&inbound, busAddUpdate(busBegin(sdsempty(), &h), ids[1], UINT64_MAX, &none));
    assert_int_equal(e.t.current_epoch, 0);
    assert_int_equal(others[0]->config_epoch, 0);
    assert_int_equal(others[1]->config_epoch, 0);
    h = clusterEngineTestHeaderOf("a\nb\nc\nd\ne\nf\ng\nh\ni\nj\nk\nl\nm\nn\no\np\nq\nr\ns\nt\n", BUS_MEET);
    clusterEngineTestReceiveHeader(&inbound, &h);
    assert_int_equal(e.t.count, 3);
}

/* Another node that answers at a node's address must not speak in its name. */
static void anUnknownNodeDoesNotSpeakForTheNodeItReplaced(void **state) {
    (void)state;
    struct busHeader h = clusterEngineTestHeaderOf(ids[2], BUS_PONG);
    h.config_epoch = h.current_epoch = 77;
    h.offset = 5;
    assert_false(clusterEngineTestReceiveHeader(others[0]->out, &h));
    assert_true(others[0]->flags & NODE_NOADDR);
    assert_int_equal(others[0]->config_epoch, 0);
    assert_int_equal(e.t.current_epoch, 0);
    assert_int_equal(others[0]->offset, 0);
}

/* nodes.conf stays readable, whatever others send. */
static void addressesDoNotBreakTheFile(void **state) {
    (void)state;
    struct busLink inbound = {.inbound = true, .peer_ip = "10.0.0.1"};
    struct busHeader h = clusterEngineTestHeaderOf(ids[0], BUS_PING);
    strncpy(h.ip, "10.0.0.2 fail\nvars", NODE_IP_LEN - 1);
    clusterEngineTestReceiveHeader(&inbound, &h);
    assert_string_equal(others[0]->ip, "10.0.0.1");
    others[1]->flags |= NODE_PFAIL;
    clusterEngineTestReceive(&inbound, gossipOf(ids[0], ids[1], "10.0.0.3\nx", NODE_PRIMARY));
    assert_string_equal(others[1]->ip, "10.0.0.1");
    clusterEngineTestReceive(&inbound, gossipOf(ids[0], ids[1], "10.0.0.3", NODE_PRIMARY));
    assert_string_equal(others[1]->ip, "10.0.0.3");
    sds text = topologyFormat(sdsempty(), &e.t, false), err = NULL;
    struct topology copy;
    topologyInit(&copy);
    assert_true(topologyParse(&copy, sdsview(text), false, NOW, &err));
    topologyClear(&copy);
    sdsfree(text);
}

static void aReplicaFollowsItsPrimaryByReports(void **state) {
    (void)state;
    engineFollow(&e, others[1], true);
    others[1]->flags |= NODE_PFAIL;
    recorded_env.follow_count = 0;
    struct busLink inbound = {.inbound = true, .peer_ip = "10.0.0.1"};
    clusterEngineTestReceive(&inbound, gossipOf(ids[0], ids[1], "10.0.0.3", NODE_PRIMARY));
    assert_int_equal(recorded_env.follow_count, 1);
    assert_string_equal(recorded_env.followed_ip, "10.0.0.3");
}

/* ---- The data of a replica ---- */

static void followWithSlots(struct clusterNode *primary) {
    slotAssign(&e.t, 0, primary); /* a replica owns none */
    engineFollow(&e, primary, true);
    engineFlush(&e, e.now_ms);
}

/* A replica follows its primary to another shard. Its data is not of that shard, although the shard ids of
 * both have been updated by then. */
static void dataOfAnotherShardIsNotKept(void **state) {
    (void)state;
    followWithSlots(others[1]);
    struct busLink inbound = {.inbound = true, .peer_ip = "10.0.0.1"};
    struct busHeader h = clusterEngineTestHeaderOf(ids[1], BUS_PING);
    h.node_flags = NODE_REPLICA;
    memcpy(h.primary, ids[0], NODE_ID_LEN);
    memset(&h.slots, 0, sizeof h.slots);
    recorded_env.follow_count = 0;
    clusterEngineTestReceiveHeader(&inbound, &h);
    assert_int_equal(recorded_env.follow_count, 1);
    assert_ptr_equal(e.t.myself->primary, others[0]);
    assert_true(recorded_env.follows_full_sync);
}

/* The new shard's id is known before its primary is. */
static void dataOfAnotherShardIsNotKeptWhenItsPrimaryIsLearntLater(void **state) {
    (void)state;
    static const char unknown[] = "hhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhh";
    followWithSlots(others[1]);
    struct busLink inbound = {.inbound = true, .peer_ip = "10.0.0.1"};
    struct busHeader h = clusterEngineTestHeaderOf(ids[1], BUS_PING);
    h.node_flags = NODE_REPLICA;
    memcpy(h.primary, unknown, NODE_ID_LEN);
    memset(&h.slots, 0, sizeof h.slots);
    h.flags = BUS_HAS_EXTENSIONS;
    clusterEngineTestReceive(&inbound, busAddShardId(busBegin(sdsempty(), &h), 0, unknown));
    topologyAdd(&e.t, unknown, NODE_PRIMARY, NOW - 100 * TIMEOUT);
    recorded_env.follow_count = 0;
    clusterEngineTestReceive(&inbound, busAddShardId(busBegin(sdsempty(), &h), 0, unknown));
    assert_int_equal(recorded_env.follow_count, 1);
    assert_true(recorded_env.follows_full_sync);
}

/* A failover within the shard needs no full synchronization. */
static void aReplicaContinuesWithTheReplacementOfItsPrimary(void **state) {
    (void)state;
    static const char new_owner[] = "hhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhh";
    followWithSlots(others[1]);
    struct clusterNode *n = topologyAdd(&e.t, new_owner, NODE_REPLICA, NOW - 100 * TIMEOUT);
    nodeBecomeReplica(&e.t, n, others[1]);
    struct busHeader h = clusterEngineTestHeaderOf(new_owner, BUS_PING);
    h.slots = others[1]->slots;
    h.config_epoch = h.current_epoch = 9;
    struct busLink inbound = {.inbound = true, .peer_ip = "10.0.0.2"};
    recorded_env.follow_count = 0;
    clusterEngineTestReceiveHeader(&inbound, &h);
    assert_ptr_equal(e.t.myself->primary, n);
    assert_int_equal(recorded_env.follow_count, 1);
    assert_false(recorded_env.follows_full_sync);
}

/* Incomplete data, and data of another shard, have no offset, so that a replica with less need not wait. */
static void incompleteDataDoesNotCount(void **state) {
    (void)state;
    followWithSlots(others[1]);
    assert_int_equal(engineAnnouncedOffset(&e), 100);
    recorded_env.replication.whole = false;
    assert_int_equal(engineAnnouncedOffset(&e), 0);
    nodeBecomePrimary(&e.t, e.t.myself);
    assert_int_equal(engineAnnouncedOffset(&e), 100); /* a primary's own */
}

/* Neither at once nor later, and whatever the validity factor is, unless a user forces it. */
static void incompleteDataIsNotElected(void **state) {
    (void)state;
    followWithSlots(others[1]);
    others[1]->flags |= NODE_FAIL;
    recorded_env.replication.whole = false;
    e.settings.replica_validity_factor = 0;
    int64_t now = NOW;
    for (int i = 0; i < 10; i++) engineTick(&e, now += ENGINE_TICK_MS);
    assert_int_equal(e.election.start_ms, 0);
    engineFailover(&e, FAILOVER_FORCE, now);
    engineFlush(&e, now);
    assert_true(e.election.sent);
}

/* ---- Manual failovers ---- */

/* The primary sends to its replicas while it is paused. */
static void moreThanThePausedOffsetIsEnough(void **state) {
    (void)state;
    slotAssign(&e.t, 0, others[1]);
    engineFollow(&e, others[1], true);
    engineFlush(&e, NOW);
    engineFailover(&e, FAILOVER_ASK, NOW);
    struct busHeader h = clusterEngineTestHeaderOf(ids[1], BUS_PING);
    struct busLink inbound = {.inbound = true, .peer_ip = "10.0.0.1"};
    h.flags = BUS_PAUSED;
    h.offset = 86; /* a PING in the stream after that: 14 bytes */
    clusterEngineTestReceiveHeader(&inbound, &h);
    engineTick(&e, NOW + 100);
    assert_true(e.manual.can_start);
}

/* ---- The clock ---- */

static void aClockThatGoesBackHidesNoFailure(void **state) {
    (void)state;
    struct busLink inbound = {.inbound = true, .peer_ip = "10.0.0.1"};
    int64_t now = NOW - 3600 * 1000;
    struct busHeader h = clusterEngineTestHeaderOf(ids[0], BUS_PING);
    engineTick(&e, now);
    for (int i = 0; i < 3 * TIMEOUT / ENGINE_TICK_MS; i++) engineTick(&e, now += ENGINE_TICK_MS);
    assert_true(others[0]->flags & NODE_PFAIL);
    clusterEngineTestReceiveHeader(&inbound, &h);
    assert_in_range(others[0]->data_received_ms, now - 1000, now);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(aMeetOnOurOwnLinkDropsIt, clusterEngineTestSetup,
                                        clusterEngineTestTeardown),
        cmocka_unit_test_setup_teardown(aSenderOfMeetIsPinged, clusterEngineTestSetup,
                                        clusterEngineTestTeardown),
        cmocka_unit_test_setup_teardown(aNodeReplacedInItsOwnEpochYields, clusterEngineTestSetup,
                                        clusterEngineTestTeardown),
        cmocka_unit_test_setup_teardown(anEpochIsTakenWithItsSlots, clusterEngineTestSetup,
                                        clusterEngineTestTeardown),
        cmocka_unit_test_setup_teardown(aSlotMigratesToTheReplacementOfItsTarget, clusterEngineTestSetup,
                                        clusterEngineTestTeardown),
        cmocka_unit_test_setup_teardown(lightMessagesOfOddTypesAreDropped, clusterEngineTestSetup,
                                        clusterEngineTestTeardown),
        cmocka_unit_test_setup_teardown(nobodyElseIsMyself, clusterEngineTestSetup,
                                        clusterEngineTestTeardown),
        cmocka_unit_test_setup_teardown(epochsAndIdsThatCannotBeAreIgnored, clusterEngineTestSetup,
                                        clusterEngineTestTeardown),
        cmocka_unit_test_setup_teardown(anUnknownNodeDoesNotSpeakForTheNodeItReplaced, clusterEngineTestSetup,
                                        clusterEngineTestTeardown),
        cmocka_unit_test_setup_teardown(addressesDoNotBreakTheFile, clusterEngineTestSetup,
                                        clusterEngineTestTeardown),
        cmocka_unit_test_setup_teardown(aReplicaFollowsItsPrimaryByReports, clusterEngineTestSetup,
                                        clusterEngineTestTeardown),
        cmocka_unit_test_setup_teardown(dataOfAnotherShardIsNotKept, clusterEngineTestSetup,
                                        clusterEngineTestTeardown),
        cmocka_unit_test_setup_teardown(dataOfAnotherShardIsNotKeptWhenItsPrimaryIsLearntLater,
                                        clusterEngineTestSetup, clusterEngineTestTeardown),
        cmocka_unit_test_setup_teardown(aReplicaContinuesWithTheReplacementOfItsPrimary,
                                        clusterEngineTestSetup, clusterEngineTestTeardown),
        cmocka_unit_test_setup_teardown(incompleteDataDoesNotCount, clusterEngineTestSetup,
                                        clusterEngineTestTeardown),
        cmocka_unit_test_setup_teardown(incompleteDataIsNotElected, clusterEngineTestSetup,
                                        clusterEngineTestTeardown),
        cmocka_unit_test_setup_teardown(moreThanThePausedOffsetIsEnough, clusterEngineTestSetup,
                                        clusterEngineTestTeardown),
        cmocka_unit_test_setup_teardown(aClockThatGoesBackHidesNoFailure, clusterEngineTestSetup,
                                        clusterEngineTestTeardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
