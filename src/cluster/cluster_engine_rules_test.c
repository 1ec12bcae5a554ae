/* SPDX-License-Identifier: BSD-3-Clause */
/* cluster_engine_rules_test.c - the rules that keep elections, failure detection and slots safe, one by one:
 * one engine, a clock set by the test, and messages made by hand. Hostile peers are in cluster_engine_test.c,
 * many engines together in simulation_test.c.
 *
 * The engine is one of five primaries with a slot each, or a replica of the first of the others. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "cluster/cluster_engine_private.h"
#include "tests/sim/engine_recorder.h"

#define NOW        1000000000LL
#define TIMEOUT    2000
#define FACTOR     10
#define PING_S     10
#define VOTERS     5
#define LINKS_MAX  64
#define REPLICA_ID "rrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrr"

static const char *const ids[VOTERS] = {
    "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb",
    "cccccccccccccccccccccccccccccccccccccccc", "dddddddddddddddddddddddddddddddddddddddd",
    "eeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeee"};
static struct clusterNode *voters[VOTERS];
static struct clusterNode *candidate; /* a replica of voters[0] */
static struct engine e;
static int64_t now;

/* ---- What the engine sends and saves ---- */

static int sent[BUS_TYPES];
static struct busHeader last_sent;
static struct {
    uint64_t current_epoch, last_vote_epoch, config_epoch;
} on_disk; /* what would remain after a power failure */

/* Checks that promises are on disk before they are sent, because they must outlive the node. */
static void rulesSend(void *ctx, struct busLink *link, const char *bytes, size_t len) {
    (void)ctx, (void)link;
    struct busMessage m;
    uint32_t expected;
    assert_int_equal(busRead((const uint8_t *)bytes, (uint32_t)len, &m, &expected), BUS_READ);
    last_sent = m.header;
    sent[m.header.type]++;
    if (m.header.type == BUS_AUTH_REQUEST) assert_int_equal(on_disk.current_epoch, e.election.epoch);
    if (m.header.type == BUS_AUTH_ACK && nodeIsPrimary(e.t.myself))
        assert_int_equal(on_disk.last_vote_epoch, m.header.current_epoch);
    if (recorded_env.follows_none) assert_int_equal(on_disk.config_epoch, m.header.config_epoch);
}
static void rulesSave(void *ctx, bool sync) {
    (void)ctx;
    if (!sync) return;
    on_disk.current_epoch = e.t.current_epoch;
    on_disk.last_vote_epoch = e.t.last_vote_epoch;
    on_disk.config_epoch = e.t.myself->config_epoch;
}

static struct clusterNode *rulesKnowNode(const char *id, uint16_t flags) {
    struct clusterNode *n = topologyAdd(&e.t, id, flags, NOW - 100 * TIMEOUT);
    memcpy(n->ip, "10.0.0.1", 9);
    n->tcp_port = 6379;
    n->bus_port = 16379;
    return n;
}

static void connectAll(void) {
    engineTick(&e, now);
    for (int i = 0; i < recorded_env.link_count; i++) {
        if (recorded_env.links[i].node && !recorded_env.links[i].node->connected)
            engineLinkUp(&e, &recorded_env.links[i], now);
    }
}

/* Voters have slots 0 to 4, and epochs 1 to 5. */
static void engineRulesTestRulesStart(bool as_replica) {
    static struct engineEnv env;
    env = engine_recorder;
    env.send = rulesSend;
    env.save = rulesSave;
    engineRecorderReset(NOW);
    memset(sent, 0, sizeof sent);
    memset(&on_disk, 0, sizeof on_disk);
    now = NOW;
    engineInit(&e, &env, NULL, NOW);
    e.settings = (struct engineSettings){.node_timeout_ms = TIMEOUT,
                                         .manual_failover_timeout_ms = 5000,
                                         .blacklist_ttl_s = 60,
                                         .replica_validity_factor = FACTOR,
                                         .gossip_percent = 10,
                                         .repl_ping_period_s = PING_S,
                                         .no_random_pings = true,
                                         .announced_ip = ""};
    engineCreateMyself(&e);
    for (int i = 0; i < VOTERS; i++) {
        bool is_me = !as_replica && i == VOTERS - 1;
        voters[i] = is_me ? e.t.myself : rulesKnowNode(ids[i], NODE_PRIMARY);
        voters[i]->config_epoch = (uint64_t)i + 1;
        slotAssign(&e.t, i, voters[i]);
    }
    e.t.current_epoch = VOTERS;
    candidate = rulesKnowNode(REPLICA_ID, NODE_REPLICA);
    nodeBecomeReplica(&e.t, candidate, voters[0]);
    if (as_replica) engineFollow(&e, voters[0], true);
    engineFlush(&e, now);
    connectAll();
}

static int asPrimary(void **state) {
    (void)state;
    engineRulesTestRulesStart(false);
    return 0;
}
static int asReplica(void **state) {
    (void)state;
    engineRulesTestRulesStart(true);
    return 0;
}
static int rulesTeardown(void **state) {
    (void)state;
    for (int i = 0; i < e.t.count; i++) e.t.nodes[i]->in = e.t.nodes[i]->out = NULL;
    engineDestroy(&e);
    return 0;
}

/* ---- Messages ---- */

static struct busHeader engineRulesTestHeaderOf(const struct clusterNode *n, enum busType type) {
    struct busHeader h = {.type = (uint16_t)type,
                          .port = 6379,
                          .bus_port = 16379,
                          .node_flags = n->flags,
                          .current_epoch = e.t.current_epoch};
    const struct clusterNode *primary = nodeIsPrimary(n) ? n : n->primary;
    memcpy(h.sender, n->id, NODE_ID_LEN);
    memcpy(h.ip, "10.0.0.1", 9);
    if (primary != n) memcpy(h.primary, primary->id, NODE_ID_LEN);
    h.config_epoch = primary->config_epoch;
    h.slots = primary->slots;
    return h;
}

static void rulesReceive(sds message) {
    static struct busLink inbound[LINKS_MAX];
    static int turn;
    struct busLink *link = &inbound[turn++ % LINKS_MAX];
    *link = (struct busLink){.inbound = true, .peer_ip = "10.0.0.1", .created_ms = now};
    busEnd(message, 0);
    assert_true(engineReceive(&e, link, (const uint8_t *)message, (uint32_t)sdslen(message), now));
    if (link->node) nodeDetach(link->node, link);
    sdsfree(message);
    engineFlush(&e, now);
    topologyVerify(&e.t);
}
static void engineRulesTestReceiveHeader(const struct busHeader *h) {
    rulesReceive(busBegin(sdsempty(), h));
}
static void rulesReceiveFrom(const struct clusterNode *from) {
    struct busHeader h = engineRulesTestHeaderOf(from, BUS_PING);
    engineRulesTestReceiveHeader(&h);
}
static void rulesReceivePong(struct clusterNode *from) {
    struct busHeader h = engineRulesTestHeaderOf(from, BUS_PONG);
    sds message = busBegin(sdsempty(), &h);
    busEnd(message, 0);
    assert_true(engineReceive(&e, from->out, (const uint8_t *)message, (uint32_t)sdslen(message), now));
    sdsfree(message);
    engineFlush(&e, now);
}
static void rulesReceiveGossip(const struct clusterNode *by, const struct clusterNode *about,
                               uint16_t flags) {
    struct busHeader h = engineRulesTestHeaderOf(by, BUS_PING);
    struct busGossip g = {.port = 6379, .bus_port = 16379, .flags = flags};
    memcpy(g.id, about->id, NODE_ID_LEN);
    memcpy(g.ip, "10.0.0.1", 9);
    rulesReceive(busAddGossip(busBegin(sdsempty(), &h), 0, &g));
}

/* Runs ticks for that time. */
static void rulesPassTime(int64_t ms) {
    for (int64_t end = now + ms; now < end;) {
        now += end - now < ENGINE_TICK_MS ? end - now : ENGINE_TICK_MS;
        engineTick(&e, now);
        engineFlush(&e, now);
    }
}

/* ---- Votes of this node ---- */

static bool votesFor(struct busHeader h) {
    int before = sent[BUS_AUTH_ACK];
    engineRulesTestReceiveHeader(&h);
    return sent[BUS_AUTH_ACK] > before;
}

/* The candidate requests a vote for the next epoch; its primary has failed. */
static struct busHeader rulesVoteRequest(void) {
    voters[0]->flags |= NODE_FAIL;
    struct busHeader h = engineRulesTestHeaderOf(candidate, BUS_AUTH_REQUEST);
    h.current_epoch = e.t.current_epoch + 1;
    return h;
}

static void aVoteIsGivenOnceInAnEpoch(void **state) {
    (void)state;
    now += START_DELAY_MS;
    struct busHeader h = rulesVoteRequest();
    assert_true(votesFor(h));
    assert_int_equal(last_sent.current_epoch, VOTERS + 1);
    assert_false(votesFor(h));
    struct clusterNode *other = rulesKnowNode("ssssssssssssssssssssssssssssssssssssssss", NODE_REPLICA);
    nodeBecomeReplica(&e.t, other, voters[0]);
    struct busHeader its = engineRulesTestHeaderOf(other, BUS_AUTH_REQUEST);
    assert_false(votesFor(its));
    its.current_epoch++;
    assert_true(votesFor(its));
}

static void nobodyVotesRightAfterItsStart(void **state) {
    (void)state;
    now += START_DELAY_MS - 1;
    struct busHeader h = rulesVoteRequest();
    assert_false(votesFor(h));
    now++;
    assert_true(votesFor(h));
}

static void noVoteInAnEpochThatIsOver(void **state) {
    (void)state;
    now += START_DELAY_MS;
    struct busHeader h = rulesVoteRequest();
    h.current_epoch = e.t.current_epoch - 1;
    assert_false(votesFor(h));
}

static void noVoteAgainstAPrimaryThatIsUp(void **state) {
    (void)state;
    now += START_DELAY_MS;
    struct busHeader h = rulesVoteRequest();
    voters[0]->flags &= (uint16_t)~NODE_FAIL;
    assert_false(votesFor(h));
    h.current_epoch = e.t.current_epoch + 1;
    h.flags = BUS_FORCE_ACK;
    assert_true(votesFor(h));
}

static void noVoteForAPrimary(void **state) {
    (void)state;
    now += START_DELAY_MS;
    struct busHeader h = engineRulesTestHeaderOf(voters[1], BUS_AUTH_REQUEST);
    h.current_epoch = e.t.current_epoch + 1;
    h.flags = BUS_FORCE_ACK;
    assert_false(votesFor(h));
}

/* A node that claims a slot which has another owner by now gets an UPDATE about that owner. */
static void noVoteForOldSlots(void **state) {
    (void)state;
    now += START_DELAY_MS;
    struct busHeader h = rulesVoteRequest();
    slotSetAdd(&h.slots, 1);
    assert_false(votesFor(h));
    assert_int_equal(sent[BUS_UPDATE], 1);
}

static void noVoteOfOneWithoutSlots(void **state) {
    (void)state;
    now += START_DELAY_MS;
    slotAssign(&e.t, VOTERS - 1, voters[1]);
    assert_false(votesFor(rulesVoteRequest()));
}

/* ---- An election of this node ---- */

/* Makes the node request votes. */
static void rulesElect(void) {
    voters[0]->flags |= NODE_FAIL;
    candidate->flags |= NODE_NOFAILOVER;
    for (int i = 0; i < 20 && !e.election.sent; i++) rulesPassTime(ENGINE_TICK_MS);
    assert_true(e.election.sent);
    assert_int_equal(sent[BUS_AUTH_REQUEST] > 0, true);
}
static void rulesReceiveVote(const struct clusterNode *by) {
    struct busHeader h = engineRulesTestHeaderOf(by, BUS_AUTH_ACK);
    engineRulesTestReceiveHeader(&h);
}

static void mostVotersElect(void **state) {
    (void)state;
    rulesElect();
    rulesReceiveVote(voters[1]);
    rulesReceiveVote(voters[2]);
    assert_true(nodeIsReplica(e.t.myself));
    rulesReceiveVote(voters[3]);
    assert_true(nodeIsPrimary(e.t.myself));
    assert_ptr_equal(e.t.owner[0], e.t.myself);
    assert_int_equal(e.t.myself->config_epoch, VOTERS + 1);
}

static void aVoteCountsOnce(void **state) {
    (void)state;
    rulesElect();
    for (int i = 0; i < VOTERS; i++) rulesReceiveVote(voters[1]);
    rulesReceiveVote(voters[2]);
    assert_int_equal(e.election.votes, 2);
    assert_true(nodeIsReplica(e.t.myself));
}

static void votesOfOthersAndOfOtherElectionsDoNotCount(void **state) {
    (void)state;
    rulesElect();
    rulesReceiveVote(candidate);
    struct busHeader h = engineRulesTestHeaderOf(voters[1], BUS_AUTH_ACK);
    h.current_epoch = e.election.epoch - 1;
    engineRulesTestReceiveHeader(&h);
    slotAssign(&e.t, 2, voters[1]);
    rulesReceiveVote(voters[2]);
    assert_int_equal(e.election.votes, 0);
}

/* The next election is for another epoch. */
static void anElectionEnds(void **state) {
    (void)state;
    rulesElect();
    uint64_t epoch = e.election.epoch;
    rulesReceiveVote(voters[1]);
    rulesReceiveVote(voters[2]);
    rulesPassTime(2 * TIMEOUT + 2 * ENGINE_TICK_MS); /* twice the time-out, from its beginning */
    rulesReceiveVote(voters[3]);
    assert_true(nodeIsReplica(e.t.myself));
    recorded_env.replication.data_ms = now;
    for (int i = 0; i < 100 && e.election.epoch == epoch; i++) rulesPassTime(ENGINE_TICK_MS);
    rulesPassTime(TIMEOUT);
    assert_true(e.election.sent);
    assert_int_equal(e.election.epoch, epoch + 1);
    assert_int_equal(e.election.votes, 0);
}

static void anElectionThatAnotherWonIsOver(void **state) {
    (void)state;
    rulesElect();
    rulesReceiveVote(voters[1]);
    rulesReceiveVote(voters[2]);
    voters[4]->config_epoch = 0;
    struct busHeader h = engineRulesTestHeaderOf(voters[4], BUS_PING);
    h.config_epoch = h.current_epoch = e.election.epoch;
    engineRulesTestReceiveHeader(&h);
    assert_int_equal(e.election.votes, 0);
    rulesReceiveVote(voters[3]);
    assert_true(nodeIsReplica(e.t.myself));
}

/* The limit is one ping period, the time-out, and a multiple of the time-out, however often it is tried. */
static void oldDataAreNotElected(void **state) {
    (void)state;
    const int64_t limit_ms = PING_S * 1000 + FACTOR * TIMEOUT + TIMEOUT;
    voters[0]->flags |= NODE_FAIL;
    candidate->flags |= NODE_NOFAILOVER;
    recorded_env.replication.link_up = false;
    now += limit_ms + 1;
    rulesPassTime(20 * ENGINE_TICK_MS);
    assert_int_equal(e.election.start_ms, 0);
    recorded_env.replication.data_ms = now - limit_ms + ENGINE_TICK_MS;
    rulesPassTime(ENGINE_TICK_MS);
    assert_int_not_equal(e.election.start_ms, 0);
}

static void oneThatShallNotIsNotElected(void **state) {
    (void)state;
    e.settings.replica_no_failover = NO_FAILOVER_YES;
    voters[0]->flags |= NODE_FAIL;
    rulesPassTime(20 * ENGINE_TICK_MS);
    assert_int_equal(sent[BUS_AUTH_REQUEST], 0);
}

/* With if-empty, a replica whose offset is 0 waits, and tries when it has an offset. A user may still promote
 * it. */
static void anEmptyReplicaIsNotElectedIfSoSet(void **state) {
    (void)state;
    e.settings.replica_no_failover = NO_FAILOVER_IF_EMPTY;
    voters[0]->flags |= NODE_FAIL;
    recorded_env.replication.offset = 0;
    rulesPassTime(8 * ENGINE_TICK_MS);
    assert_int_equal(sent[BUS_AUTH_REQUEST], 0);
    assert_int_equal(e.election.reason, CANNOT_EMPTY);
    assert_int_equal(last_sent.node_flags & NODE_NOFAILOVER, 0);
    engineFailover(&e, FAILOVER_FORCE, now);
    rulesPassTime(2 * ENGINE_TICK_MS);
    assert_int_equal(sent[BUS_AUTH_REQUEST] > 0, true);
}

static void aReplicaWithAnOffsetIsElectedDespiteIfEmpty(void **state) {
    (void)state;
    e.settings.replica_no_failover = NO_FAILOVER_IF_EMPTY;
    recorded_env.replication.offset = 1;
    rulesElect();
}

static int rulesRankBesides(uint64_t offset, uint32_t priority, const char *id) {
    voters[0]->flags |= NODE_FAIL;
    recorded_env.replication.offset = 100;
    candidate->offset = offset;
    candidate->replica_priority = priority;
    topologyRename(&e.t, candidate, id);
    e.election = (struct engineElection){0};
    rulesPassTime(ENGINE_TICK_MS);
    return e.election.rank;
}

/* More data comes before the priority, and the priority before the id. */
static void ranksFollowDataThenPriorityThenId(void **state) {
    (void)state;
    static const char first[] = "0000000000000000000000000000000000000000",
                      last[] = "zzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzz";
    e.t.myself->replica_priority = 10;
    assert_int_equal(rulesRankBesides(101, 20, last), 1);
    assert_int_equal(rulesRankBesides(99, 0, first), 0);
    assert_int_equal(rulesRankBesides(100, 9, last), 1);
    assert_int_equal(rulesRankBesides(100, 11, first), 0);
    assert_int_equal(rulesRankBesides(100, 10, first), 1);
    assert_int_equal(rulesRankBesides(100, 10, last), 0);
}

/* The extension follows what the sender says last: nothing, or a number that is too large, is 0. */
static void aPriorityIsLearntAndForgotten(void **state) {
    (void)state;
    static const struct {
        uint32_t announced, known;
    } steps[] = {{7, 7}, {INT32_MAX, INT32_MAX}, {(uint32_t)INT32_MAX + 1, 0}, {5, 5}, {0, 0}};
    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++) {
        struct busHeader h = engineRulesTestHeaderOf(candidate, BUS_PING);
        h.flags = BUS_HAS_EXTENSIONS;
        sds m = busAddText(busBegin(sdsempty(), &h), 0, EXT_HUMAN_NAME, STR("x"));
        if (steps[i].announced) m = busAddReplicaPriority(m, 0, steps[i].announced);
        rulesReceive(m);
        assert_int_equal(candidate->replica_priority, steps[i].known);
    }
}

/* A node of Redis 8 sends 40 characters as EXT_CLIENT_IPV4 that are no address. */
static void anAddressForClientsIsOne(void **state) {
    (void)state;
    static const struct {
        enum busExtensionType type;
        const char *announced, *known;
    } steps[] = {{EXT_CLIENT_IPV4, "10.1.2.3", "10.1.2.3"},
                 {EXT_CLIENT_IPV4, "b4eea48613ffa617bdc39843c82bbda2cab2f5f1", ""},
                 {EXT_CLIENT_IPV4, "fd00::1", ""},
                 {EXT_CLIENT_IPV6, "fd00::1", "fd00::1"},
                 {EXT_CLIENT_IPV6, "10.1.2.3", ""},
                 {EXT_CLIENT_IPV6, "fd00:0000:0000:0000:0000:0000:0000:0000:0000:0000:0000", ""}};
    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++) {
        struct busHeader h = engineRulesTestHeaderOf(candidate, BUS_PING);
        h.flags = BUS_HAS_EXTENSIONS;
        rulesReceive(busAddText(busBegin(sdsempty(), &h), 0, steps[i].type, strOf(steps[i].announced)));
        bool four = steps[i].type == EXT_CLIENT_IPV4;
        assert_string_equal(four ? candidate->client_ipv4 : candidate->client_ipv6, steps[i].known);
    }
}

static void nobodyIsElectedWhileItsPrimaryIsUp(void **state) {
    (void)state;
    voters[0]->flags |= NODE_PFAIL;
    rulesPassTime(5 * ENGINE_TICK_MS);
    assert_int_equal(sent[BUS_AUTH_REQUEST], 0);
}

/* ---- Failures ---- */

/* A primary fails by this node's own observation and by reports of others, as long as these are recent. */
static void reportsGrowOld(void **state) {
    (void)state;
    rulesReceiveGossip(voters[1], voters[0], NODE_PRIMARY | NODE_PFAIL);
    now += 2 * TIMEOUT + 1;
    for (int i = 1; i < VOTERS - 1; i++) rulesReceiveFrom(voters[i]);
    voters[0]->flags |= NODE_PFAIL;
    rulesReceiveGossip(voters[2], voters[0], NODE_PRIMARY | NODE_PFAIL);
    assert_false(nodeHasFailed(voters[0])); /* two of five */
    rulesReceiveGossip(voters[1], voters[0], NODE_PRIMARY | NODE_PFAIL);
    assert_true(nodeHasFailed(voters[0]));
    assert_true(sent[BUS_FAIL] > 0);
}

/* Longer messages end the link at the other side. */
static void aPayloadThatPeersRefuseIsNotSent(void **state) {
    (void)state;
    engineSendPublish(&e, false, STR("channel"), STR("message"), now);
    int count = sent[BUS_PUBLISH];
    assert_true(count > 0);
    for (size_t len = BUS_LENGTH_MAX - BUS_HEADER_LEN; len < (size_t)5 << 30; len *= 2) {
        engineSendPublish(&e, false, STR("channel"), strN("message", len), now);
        engineSendPublish(&e, false, strN("channel", len), STR("message"), now);
        engineModuleSend(&e, NULL, 1, 0, strN("message", len), now);
    }
    assert_int_equal(sent[BUS_PUBLISH], count);
    assert_int_equal(sent[BUS_MODULE], 0);
}

static void aReportIsTakenBack(void **state) {
    (void)state;
    rulesReceiveGossip(voters[1], voters[0], NODE_PRIMARY | NODE_PFAIL);
    rulesReceiveGossip(voters[1], voters[0], NODE_PRIMARY);
    voters[0]->flags |= NODE_PFAIL;
    rulesReceiveGossip(voters[2], voters[0], NODE_PRIMARY | NODE_PFAIL);
    assert_false(nodeHasFailed(voters[0]));
}

static void reportsOfReplicasDoNotCount(void **state) {
    (void)state;
    voters[0]->flags |= NODE_PFAIL;
    rulesReceiveGossip(candidate, voters[0], NODE_PRIMARY | NODE_PFAIL);
    rulesReceiveGossip(voters[1], voters[0], NODE_PRIMARY | NODE_PFAIL);
    assert_false(nodeHasFailed(voters[0]));
}

/* A node that answers here does not fail, whatever others report. */
static void aNodeThatAnswersDoesNotFail(void **state) {
    (void)state;
    for (int i = 1; i < VOTERS - 1; i++) rulesReceiveGossip(voters[i], voters[0], NODE_PRIMARY | NODE_PFAIL);
    assert_false(nodeHasFailed(voters[0]));
}

static void oneThatIsSilentIsSuspected(void **state) {
    (void)state;
    voters[1]->ping_sent_ms = voters[1]->data_received_ms = now;
    rulesPassTime(TIMEOUT);
    assert_false(voters[1]->flags & NODE_PFAIL);
    rulesPassTime(ENGINE_TICK_MS);
    assert_true(voters[1]->flags & NODE_PFAIL);
}

/* A primary that returns must first learn whether its replica has its slots now. */
static void failIsNotTakenBackAtOnce(void **state) {
    (void)state;
    voters[0]->flags |= NODE_FAIL;
    voters[0]->fail_ms = now;
    now += 2 * TIMEOUT;
    rulesReceivePong(voters[0]);
    assert_true(nodeHasFailed(voters[0]));
    now++;
    rulesReceivePong(voters[0]);
    assert_false(nodeHasFailed(voters[0]));
}

static void failOfOneWithoutSlotsIs(void **state) {
    (void)state;
    candidate->flags |= NODE_FAIL;
    candidate->fail_ms = now;
    rulesReceivePong(candidate);
    assert_false(nodeHasFailed(candidate));
}

/* Repeated messages to a dead voter do not make it look alive. */
static void repeatedPingsDoNotHideADeadVoter(void **state) {
    (void)state;
    struct clusterNode *mine = rulesKnowNode("ssssssssssssssssssssssssssssssssssssssss", NODE_REPLICA);
    nodeBecomeReplica(&e.t, mine, e.t.myself);
    voters[1]->ping_sent_ms = voters[1]->data_received_ms = now;
    for (int64_t end = now + TIMEOUT; now < end;) {
        rulesPassTime(ENGINE_TICK_MS);
        engineReserveEpoch(&e, now);
    }
    rulesPassTime(ENGINE_TICK_MS);
    assert_true(voters[1]->flags & NODE_PFAIL);
}

/* Repeated connections to a dead voter do not make it look alive either. */
static void newLinksDoNotHideADeadVoter(void **state) {
    (void)state;
    voters[1]->ping_sent_ms = voters[1]->data_received_ms = now;
    rulesPassTime(TIMEOUT / 2);
    voters[1]->connected = false;
    engineLinkUp(&e, voters[1]->out, now);
    rulesPassTime(TIMEOUT / 2 + ENGINE_TICK_MS);
    assert_true(voters[1]->flags & NODE_PFAIL);
}

/* ---- The state of the cluster ---- */

static void suspectMost(bool suspected) {
    for (int i = 0; i < 3; i++) {
        if (suspected)
            voters[i]->flags |= NODE_PFAIL;
        else
            voters[i]->flags &= (uint16_t)~NODE_PFAIL;
    }
    engineAddTodo(&e, TODO_STATE);
    engineFlush(&e, now);
}

static void aPrimaryServesSomeTimeAfterItsStart(void **state) {
    (void)state;
    now += START_DELAY_MS - 1;
    engineAddTodo(&e, TODO_STATE);
    engineFlush(&e, now);
    assert_false(engineIsClusterOk(&e));
    now++;
    engineAddTodo(&e, TODO_STATE);
    engineFlush(&e, now);
    assert_true(engineIsClusterOk(&e));
}

/* Others may have been elected meanwhile. */
static void aPrimaryServesSomeTimeAfterItWasCutOff(void **state) {
    (void)state;
    now += START_DELAY_MS;
    suspectMost(false);
    assert_true(engineIsClusterOk(&e));
    suspectMost(true);
    assert_false(engineIsClusterOk(&e));
    now += 10;
    suspectMost(false);
    assert_false(engineIsClusterOk(&e));
    now += TIMEOUT - 11;
    suspectMost(false);
    assert_false(engineIsClusterOk(&e));
    now++;
    suspectMost(false);
    assert_true(engineIsClusterOk(&e));
}

static void allSlotsMustBeServed(void **state) {
    (void)state;
    e.settings.require_full_coverage = true;
    now += START_DELAY_MS;
    suspectMost(false);
    assert_int_equal(e.down, DOWN_COVERAGE);
    for (int slot = VOTERS; slot < KEY_SLOTS; slot++) slotAssign(&e.t, slot, e.t.myself);
    suspectMost(false);
    assert_true(engineIsClusterOk(&e));
    voters[1]->flags |= NODE_FAIL;
    suspectMost(false);
    assert_int_equal(e.down, DOWN_COVERAGE);
}

/* ---- Slots ---- */

static void rulesReceiveClaim(struct clusterNode *by, int slot, uint64_t epoch) {
    struct busHeader h = engineRulesTestHeaderOf(by, BUS_PING);
    slotSetAdd(&h.slots, slot);
    h.config_epoch = epoch;
    if (epoch > h.current_epoch) h.current_epoch = epoch;
    engineRulesTestReceiveHeader(&h);
}

static void aSlotGoesToAGreaterEpochOnly(void **state) {
    (void)state;
    rulesReceiveClaim(voters[0], 1, voters[0]->config_epoch);
    assert_ptr_equal(e.t.owner[1], voters[1]);
    assert_int_equal(sent[BUS_UPDATE], 1); /* it gets an UPDATE about the owner */
    rulesReceiveClaim(voters[0], 1, VOTERS + 1);
    assert_ptr_equal(e.t.owner[1], voters[0]);
}

static void ourOwnSlotsToo(void **state) {
    (void)state;
    rulesReceiveClaim(voters[0], VOTERS - 1, VOTERS - 1);
    assert_ptr_equal(e.t.owner[VOTERS - 1], e.t.myself);
    rulesReceiveClaim(voters[0], VOTERS - 1, VOTERS + 1);
    assert_ptr_equal(e.t.owner[VOTERS - 1], voters[0]);
}

/* The replica of this node has been elected while this node was away, and has given a slot to another
 * shard since. Whichever of the two is received last, the node belongs to its replica's shard, even if
 * replicas must not migrate. */
static void aReturningPrimaryFollowsItsReplacement(void **state) {
    for (int last = 0; last < 2; last++) {
        if (last) {
            rulesTeardown(state);
            asPrimary(state);
        }
        slotAssign(&e.t, 5, e.t.myself);
        nodeBecomeReplica(&e.t, candidate, e.t.myself);
        nodeBecomePrimary(&e.t, candidate);
        for (int i = 0; i < 2; i++) {
            if (i == last)
                rulesReceiveClaim(candidate, VOTERS - 1, VOTERS + 1);
            else
                rulesReceiveClaim(voters[0], 5, VOTERS + 2);
        }
        assert_ptr_equal(e.t.myself->primary, candidate);
        assert_false(recorded_env.follows_full_sync);
    }
}

/* Another shard has all its slots now: the node goes there, or stays without slots. */
static void aPrimaryWithoutReplacementJoinsAnotherShard(void **state) {
    for (int may = 0; may < 2; may++) {
        if (may) {
            rulesTeardown(state);
            asPrimary(state);
        }
        e.settings.allow_replica_migration = may;
        rulesReceiveClaim(voters[0], VOTERS - 1, VOTERS + 1);
        assert_ptr_equal(e.t.myself->primary, may ? voters[0] : NULL);
        assert_int_equal(recorded_env.follows_full_sync, may);
    }
}

static void rulesReceiveUpdate(struct clusterNode *about, int slot, uint64_t epoch) {
    struct busHeader h = engineRulesTestHeaderOf(voters[3], BUS_UPDATE);
    struct slotSet slots = about->slots;
    slotSetAdd(&slots, slot);
    rulesReceive(busAddUpdate(busBegin(sdsempty(), &h), about->id, epoch, &slots));
}

static void updatesAreNewOrIgnored(void **state) {
    (void)state;
    rulesReceiveUpdate(voters[0], 1, voters[0]->config_epoch);
    assert_ptr_equal(e.t.owner[1], voters[1]);
    rulesReceiveUpdate(voters[2], 2, voters[2]->config_epoch - 1);
    assert_int_equal(voters[2]->config_epoch, 3);
    rulesReceiveUpdate(voters[0], 1, VOTERS + 1);
    assert_ptr_equal(e.t.owner[1], voters[0]);
}

/* The node with the smaller id takes a greater epoch, which is on disk when others receive it. */
static void oneOfTwoEqualEpochsGrows(void **state) {
    (void)state;
    struct clusterNode *greater = rulesKnowNode("zzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzz", NODE_PRIMARY);
    slotAssign(&e.t, 10, greater);
    uint64_t mine = e.t.myself->config_epoch;
    greater->config_epoch = mine;
    rulesReceiveFrom(greater);
    assert_true(e.t.myself->config_epoch > mine);
    assert_int_equal(on_disk.config_epoch, e.t.myself->config_epoch);
    struct clusterNode *smaller = rulesKnowNode("0000000000000000000000000000000000000000", NODE_PRIMARY);
    slotAssign(&e.t, 11, smaller);
    smaller->config_epoch = mine = e.t.myself->config_epoch;
    rulesReceiveFrom(smaller);
    assert_int_equal(e.t.myself->config_epoch, mine);
}

/* An epoch without votes is taken when most voters know a greater one, and have said
 * so since the announcement. */
static void anEpochIsReservedByMostVoters(void **state) {
    (void)state;
    now += START_DELAY_MS;
    engineReserveEpoch(&e, now);
    engineFlush(&e, now);
    for (int i = 0; i < 2; i++) {
        assert_false(engineIsEpochReserved(&e));
        rulesReceiveFrom(voters[i]);
    }
    assert_true(engineIsEpochReserved(&e)); /* with this node, three of five */
    struct busHeader h = rulesVoteRequest();
    h.current_epoch = e.reservation.epoch;
    assert_false(votesFor(h));
}

/* The answer of a voter is a promise. */
static void whatAVoterKnowsIsOnDisk(void **state) {
    (void)state;
    struct busHeader h = engineRulesTestHeaderOf(voters[0], BUS_PING);
    h.current_epoch = VOTERS + 2;
    engineRulesTestReceiveHeader(&h);
    assert_int_equal(on_disk.current_epoch, VOTERS + 2);
}

static void aVoterWithoutGreaterEpochReservesNothing(void **state) {
    (void)state;
    uint64_t before = e.t.current_epoch;
    engineReserveEpoch(&e, now);
    for (int i = 0; i < 3; i++) {
        struct busHeader h = engineRulesTestHeaderOf(voters[i], BUS_PING);
        h.current_epoch = before;
        engineRulesTestReceiveHeader(&h);
    }
    assert_false(engineIsEpochReserved(&e));
}

/* ---- Manual failovers ---- */

static void rulesRequestFailover(void) {
    engineFailover(&e, FAILOVER_ASK, now);
    engineFlush(&e, now);
    assert_int_equal(sent[BUS_MFSTART], 1);
}
static void rulesReceivePaused(uint64_t offset) {
    struct busHeader h = engineRulesTestHeaderOf(voters[0], BUS_PING);
    h.flags = BUS_PAUSED;
    h.offset = offset;
    engineRulesTestReceiveHeader(&h);
}

static void aManualFailoverLosesNothing(void **state) {
    (void)state;
    rulesRequestFailover();
    rulesPassTime(5 * ENGINE_TICK_MS);
    assert_int_equal(sent[BUS_AUTH_REQUEST], 0); /* its primary has not paused yet */
    rulesReceivePaused(101);
    rulesPassTime(5 * ENGINE_TICK_MS);
    assert_int_equal(sent[BUS_AUTH_REQUEST], 0);
    recorded_env.replication.link_up = false;
    recorded_env.replication.offset = 101;
    rulesPassTime(5 * ENGINE_TICK_MS);
    assert_int_equal(sent[BUS_AUTH_REQUEST], 0);
    recorded_env.replication.link_up = true;
    rulesPassTime(ENGINE_TICK_MS);
    assert_true(sent[BUS_AUTH_REQUEST] > 0);
}

static void aManualFailoverTimesOut(void **state) {
    (void)state;
    rulesRequestFailover();
    rulesPassTime(e.settings.manual_failover_timeout_ms + ENGINE_TICK_MS);
    rulesReceivePaused(100);
    rulesPassTime(5 * ENGINE_TICK_MS);
    assert_int_equal(sent[BUS_AUTH_REQUEST], 0);
    assert_int_equal(e.manual.end_ms, 0);
}

static void aPrimaryPausesForItsOwnReplicasOnly(void **state) {
    (void)state;
    struct busHeader h = engineRulesTestHeaderOf(candidate, BUS_MFSTART);
    engineRulesTestReceiveHeader(&h);
    assert_int_equal(e.manual.end_ms, 0);
    nodeBecomeReplica(&e.t, candidate, e.t.myself);
    h = engineRulesTestHeaderOf(candidate, BUS_MFSTART);
    engineRulesTestReceiveHeader(&h);
    assert_int_not_equal(e.manual.end_ms, 0);
}

/* ---- Acknowledgements that stop for an election ---- */

/* A message of a node that knows of them: what it has, and whether it may win an election. */
static struct busHeader rulesFenceHeader(const struct clusterNode *n, enum busType type, bool electing) {
    struct busHeader h = engineRulesTestHeaderOf(n, type);
    h.flags = (uint8_t)(BUS_FENCES | (electing ? BUS_ELECTING : 0));
    h.sync_replicas = n == voters[0] ? 1 : 0;
    h.history = 1;
    h.reign = voters[0]->config_epoch;
    h.offset = 100;
    return h;
}

/* The primary has announced that one of its two replicas is enough. */
static void rulesSyncWith(uint16_t replicas) {
    struct busHeader h = rulesFenceHeader(voters[0], BUS_PING, false);
    h.sync_replicas = replicas;
    engineRulesTestReceiveHeader(&h);
    h = rulesFenceHeader(candidate, BUS_PING, false);
    engineRulesTestReceiveHeader(&h);
    rulesPassTime(ENGINE_TICK_MS);
}

/* All have voted, and nobody else has answered. */
static void rulesElectSynced(uint16_t replicas) {
    rulesSyncWith(replicas);
    rulesElect();
    for (int i = 1; i < VOTERS; i++) rulesReceiveVote(voters[i]);
}

static void rulesAnswer(uint64_t history, uint64_t reign, uint64_t offset) {
    struct busHeader h = rulesFenceHeader(candidate, BUS_AUTH_ACK, false);
    h.history = history;
    h.reign = reign;
    h.offset = offset;
    engineRulesTestReceiveHeader(&h);
}

static void theOtherReplicaMustAnswer(void **state) {
    (void)state;
    rulesElectSynced(1);
    assert_true(nodeIsReplica(e.t.myself));
    assert_true(recorded_env.holds_acks);
    struct busHeader old = rulesFenceHeader(candidate, BUS_AUTH_ACK, false);
    old.current_epoch = e.election.epoch - 1;
    engineRulesTestReceiveHeader(&old);
    assert_true(nodeIsReplica(e.t.myself));
    rulesAnswer(1, 1, 100);
    assert_true(nodeIsPrimary(e.t.myself));
    assert_false(recorded_env.holds_acks);
}

static void nobodyMustAnswerIfAllHaveEverything(void **state) {
    (void)state;
    rulesElectSynced(2);
    assert_true(nodeIsPrimary(e.t.myself));
}

static void nobodyMustAnswerWithoutMinReplicasSync(void **state) {
    (void)state;
    rulesElectSynced(0);
    assert_true(nodeIsPrimary(e.t.myself));
    assert_false(recorded_env.holds_acks);
}

/* Until the primary is heard of, the nodes' own setting counts; the primary's 0 counts more than that. */
static void theOwnSettingCountsIfThePrimaryIsUnknown(void **state) {
    (void)state;
    for (int known = 0; known < 2; known++) {
        if (known) asReplica(NULL);
        e.settings.sync_replicas = 1;
        if (known) rulesSyncWith(0);
        rulesElect();
        assert_int_equal(e.election.fence, known ? FENCE_NONE : FENCE_ASKED);
        if (!known) rulesTeardown(NULL);
    }
}

/* It may have come back, and have acknowledged something, without this node having heard of that. */
static void aFormerPrimaryOfTheShardCounts(void **state) {
    (void)state;
    rulesSyncWith(2);
    struct clusterNode *former =
        rulesKnowNode("ssssssssssssssssssssssssssssssssssssssss", NODE_PRIMARY | NODE_FAIL);
    memcpy(former->shard_id, voters[0]->shard_id, NODE_ID_LEN);
    rulesElect();
    for (int i = 1; i < VOTERS; i++) rulesReceiveVote(voters[i]);
    assert_true(nodeIsReplica(e.t.myself));
    rulesAnswer(1, 1, 100);
    assert_true(nodeIsPrimary(e.t.myself));
}

static void oneThatCannotAnswerIsNotWaitedFor(void **state) {
    (void)state;
    rulesSyncWith(1);
    rulesReceiveFrom(candidate); /* without BUS_FENCES */
    rulesElect();
    for (int i = 1; i < VOTERS; i++) rulesReceiveVote(voters[i]);
    assert_true(nodeIsPrimary(e.t.myself));
}

static void oneThatHasMoreIsNotReplaced(void **state) {
    (void)state;
    static const struct {
        uint64_t history, reign, offset;
        bool more;
    } answers[] = {
        {1, 1, 101, true}, {1, 1, 99, false}, {2, 1, 1, true}, {2, 2, 1, true}, {2, 0, 1000, false}};
    for (size_t i = 0; i < sizeof answers / sizeof *answers; i++) {
        if (i) asReplica(NULL);
        rulesElectSynced(1);
        rulesAnswer(answers[i].history, answers[i].reign, answers[i].offset);
        assert_int_equal(nodeIsReplica(e.t.myself), answers[i].more);
        if (i + 1 < sizeof answers / sizeof *answers) rulesTeardown(NULL);
    }
}

static void anElectionThatIsGivenUpIsNotWonLater(void **state) {
    (void)state;
    for (int expires = 0; expires < 2; expires++) {
        if (expires) asReplica(NULL);
        rulesElectSynced(1);
        uint64_t epoch = e.election.epoch;
        int pongs = sent[BUS_PONG];
        if (!expires) voters[0]->flags &= (uint16_t)~NODE_FAIL;
        rulesPassTime(expires ? 2 * TIMEOUT + ENGINE_TICK_MS : ENGINE_TICK_MS);
        assert_false(recorded_env.holds_acks);
        assert_true(sent[BUS_PONG] > pongs);
        if (!expires) assert_int_equal(last_sent.flags & BUS_ELECTING, 0); /* later, links are tried anew */
        voters[0]->flags |= NODE_FAIL;
        rulesAnswer(1, 1, 100);
        assert_true(nodeIsReplica(e.t.myself));
        for (int i = 0; i < 100 && e.election.epoch <= epoch; i++) rulesPassTime(ENGINE_TICK_MS);
        assert_true(recorded_env.holds_acks && e.election.epoch > epoch);
        if (!expires) rulesTeardown(NULL);
    }
}

static void anUncleanFailoverWaitsForATimeOut(void **state) {
    (void)state;
    e.settings.unclean_failover = true;
    rulesElectSynced(1);
    rulesPassTime(TIMEOUT - 2 * ENGINE_TICK_MS);
    assert_true(nodeIsReplica(e.t.myself));
    rulesPassTime(3 * ENGINE_TICK_MS);
    assert_true(nodeIsPrimary(e.t.myself));
}

/* Returns whether this replica answers the candidate's request. */
static bool rulesIsAnswered(struct busHeader h) {
    int before = sent[BUS_AUTH_ACK];
    engineRulesTestReceiveHeader(&h);
    if (sent[BUS_AUTH_ACK] == before) return false;
    assert_true(recorded_env.holds_acks);
    assert_int_equal(last_sent.type, BUS_AUTH_ACK);
    assert_int_equal(last_sent.history, 1);
    assert_int_equal(last_sent.reign, voters[0]->config_epoch);
    return true;
}

static struct busHeader rulesFenceRequest(void) {
    struct busHeader h = rulesFenceHeader(candidate, BUS_AUTH_REQUEST, true);
    h.current_epoch = e.t.current_epoch + 1;
    return h;
}

static void anAnswerBindsUntilTheCandidateSaysSo(void **state) {
    (void)state;
    rulesSyncWith(1);
    assert_true(rulesIsAnswered(rulesFenceRequest()));
    struct busHeader h = rulesFenceHeader(candidate, BUS_PING, false);
    h.current_epoch--; /* older than the request */
    engineRulesTestReceiveHeader(&h);
    h = rulesFenceHeader(candidate, BUS_PING, true);
    engineRulesTestReceiveHeader(&h);
    h = rulesFenceHeader(voters[0], BUS_PING, false); /* the primary is back */
    engineRulesTestReceiveHeader(&h);
    h = rulesFenceHeader(candidate, BUS_MFSTART, false); /* has no claims */
    engineRulesTestReceiveHeader(&h);
    rulesPassTime(TIMEOUT);
    assert_true(recorded_env.holds_acks);
    h = rulesFenceHeader(candidate, BUS_PONG, false);
    engineRulesTestReceiveHeader(&h);
    assert_false(recorded_env.holds_acks);
}

static void eachAnswerBindsForItself(void **state) {
    (void)state;
    rulesSyncWith(1);
    assert_true(rulesIsAnswered(rulesFenceRequest()));
    struct clusterNode *first = candidate;
    candidate = rulesKnowNode("ssssssssssssssssssssssssssssssssssssssss", NODE_REPLICA);
    nodeBecomeReplica(&e.t, candidate, voters[0]);
    assert_true(rulesIsAnswered(rulesFenceRequest()));
    struct busHeader h = rulesFenceHeader(candidate, BUS_PONG, false);
    engineRulesTestReceiveHeader(&h);
    assert_true(recorded_env.holds_acks);
    h = rulesFenceHeader(first, BUS_PONG, false);
    engineRulesTestReceiveHeader(&h);
    assert_false(recorded_env.holds_acks);
}

static void aCandidateThatIsNotHeardOfBindsForTenTimeOuts(void **state) {
    (void)state;
    rulesSyncWith(1);
    assert_true(rulesIsAnswered(rulesFenceRequest()));
    rulesPassTime(10 * TIMEOUT - ENGINE_TICK_MS);
    assert_true(recorded_env.holds_acks);
    rulesPassTime(3 * ENGINE_TICK_MS);
    assert_false(recorded_env.holds_acks);
}

static void oneThatDoesNotKnowWhatItHasAnswersNothing(void **state) {
    (void)state;
    recorded_env.replication.link_up = false; /* as after a start */
    rulesSyncWith(1);
    assert_false(rulesIsAnswered(rulesFenceRequest()));
    recorded_env.replication.link_up = true;
    recorded_env.replication.whole = false;
    assert_false(rulesIsAnswered(rulesFenceRequest()));
    recorded_env.replication.whole = true;
    struct busHeader h = rulesFenceRequest();
    h.config_epoch = voters[0]->config_epoch - 1; /* of a primary that has been replaced */
    assert_false(rulesIsAnswered(h));
    assert_false(recorded_env.holds_acks);
    assert_true(rulesIsAnswered(rulesFenceRequest()));
    recorded_env.replication.link_up = false;
    assert_true(rulesIsAnswered(rulesFenceRequest()));
    recorded_env.replication.whole = false; /* another history is coming */
    assert_false(rulesIsAnswered(rulesFenceRequest()));
}

static void aCandidateYieldsToALaterElection(void **state) {
    (void)state;
    rulesElectSynced(1);
    struct busHeader h = rulesFenceRequest();
    h.current_epoch = e.election.epoch - 1;
    assert_false(rulesIsAnswered(h));
    h.current_epoch = e.election.epoch; /* of which only one can be won */
    assert_true(rulesIsAnswered(h));
    assert_int_equal(e.election.fence, FENCE_ASKED);
    assert_true(rulesIsAnswered(rulesFenceRequest()));
    assert_int_equal(e.election.fence, FENCE_WITHDRAWN);
    rulesAnswer(1, 1, 100);
    assert_true(nodeIsReplica(e.t.myself));
}

static void afterAStartAcknowledgementsWaitForTheOthers(void **state) {
    (void)state;
    engineStart(&e);
    assert_false(recorded_env.holds_acks); /* without min-replicas-sync */
    e.settings.sync_replicas = 1;
    engineStart(&e);
    assert_true(recorded_env.holds_acks);
    struct busHeader h = rulesFenceHeader(candidate, BUS_PING, true);
    engineRulesTestReceiveHeader(&h);
    assert_true(recorded_env.holds_acks);
    h = rulesFenceHeader(candidate, BUS_PING, false);
    engineRulesTestReceiveHeader(&h);
    assert_false(recorded_env.holds_acks);
}

#define AS_PRIMARY(test) cmocka_unit_test_setup_teardown(test, asPrimary, rulesTeardown)
#define AS_REPLICA(test) cmocka_unit_test_setup_teardown(test, asReplica, rulesTeardown)

int main(void) {
    const struct CMUnitTest tests[] = {
        AS_PRIMARY(aVoteIsGivenOnceInAnEpoch),
        AS_PRIMARY(nobodyVotesRightAfterItsStart),
        AS_PRIMARY(noVoteInAnEpochThatIsOver),
        AS_PRIMARY(noVoteAgainstAPrimaryThatIsUp),
        AS_PRIMARY(noVoteForAPrimary),
        AS_PRIMARY(noVoteForOldSlots),
        AS_PRIMARY(noVoteOfOneWithoutSlots),
        AS_REPLICA(mostVotersElect),
        AS_REPLICA(aVoteCountsOnce),
        AS_REPLICA(votesOfOthersAndOfOtherElectionsDoNotCount),
        AS_REPLICA(anElectionEnds),
        AS_REPLICA(anElectionThatAnotherWonIsOver),
        AS_REPLICA(oldDataAreNotElected),
        AS_REPLICA(oneThatShallNotIsNotElected),
        AS_REPLICA(anEmptyReplicaIsNotElectedIfSoSet),
        AS_REPLICA(aReplicaWithAnOffsetIsElectedDespiteIfEmpty),
        AS_REPLICA(ranksFollowDataThenPriorityThenId),
        AS_PRIMARY(aPriorityIsLearntAndForgotten),
        AS_PRIMARY(anAddressForClientsIsOne),
        AS_REPLICA(nobodyIsElectedWhileItsPrimaryIsUp),
        AS_PRIMARY(reportsGrowOld),
        AS_PRIMARY(aReportIsTakenBack),
        AS_PRIMARY(aPayloadThatPeersRefuseIsNotSent),
        AS_PRIMARY(reportsOfReplicasDoNotCount),
        AS_PRIMARY(aNodeThatAnswersDoesNotFail),
        AS_PRIMARY(oneThatIsSilentIsSuspected),
        AS_PRIMARY(failIsNotTakenBackAtOnce),
        AS_PRIMARY(failOfOneWithoutSlotsIs),
        AS_PRIMARY(repeatedPingsDoNotHideADeadVoter),
        AS_PRIMARY(newLinksDoNotHideADeadVoter),
        AS_PRIMARY(aPrimaryServesSomeTimeAfterItsStart),
        AS_PRIMARY(aPrimaryServesSomeTimeAfterItWasCutOff),
        AS_PRIMARY(allSlotsMustBeServed),
        AS_PRIMARY(aSlotGoesToAGreaterEpochOnly),
        AS_PRIMARY(ourOwnSlotsToo),
        AS_PRIMARY(aReturningPrimaryFollowsItsReplacement),
        AS_PRIMARY(aPrimaryWithoutReplacementJoinsAnotherShard),
        AS_PRIMARY(updatesAreNewOrIgnored),
        AS_PRIMARY(oneOfTwoEqualEpochsGrows),
        AS_PRIMARY(anEpochIsReservedByMostVoters),
        AS_PRIMARY(whatAVoterKnowsIsOnDisk),
        AS_PRIMARY(aVoterWithoutGreaterEpochReservesNothing),
        AS_REPLICA(aManualFailoverLosesNothing),
        AS_REPLICA(aManualFailoverTimesOut),
        AS_PRIMARY(aPrimaryPausesForItsOwnReplicasOnly),
        AS_REPLICA(theOtherReplicaMustAnswer),
        AS_REPLICA(nobodyMustAnswerIfAllHaveEverything),
        AS_REPLICA(nobodyMustAnswerWithoutMinReplicasSync),
        AS_REPLICA(theOwnSettingCountsIfThePrimaryIsUnknown),
        AS_REPLICA(aFormerPrimaryOfTheShardCounts),
        AS_REPLICA(oneThatCannotAnswerIsNotWaitedFor),
        AS_REPLICA(oneThatHasMoreIsNotReplaced),
        AS_REPLICA(anElectionThatIsGivenUpIsNotWonLater),
        AS_REPLICA(anUncleanFailoverWaitsForATimeOut),
        AS_REPLICA(anAnswerBindsUntilTheCandidateSaysSo),
        AS_REPLICA(eachAnswerBindsForItself),
        AS_REPLICA(aCandidateThatIsNotHeardOfBindsForTenTimeOuts),
        AS_REPLICA(oneThatDoesNotKnowWhatItHasAnswersNothing),
        AS_REPLICA(aCandidateYieldsToALaterElection),
        AS_REPLICA(afterAStartAcknowledgementsWaitForTheOthers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
