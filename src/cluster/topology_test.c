/* SPDX-License-Identifier: BSD-3-Clause */
/* topology_test.c - the topology: each function, and random changes with a check of
 * the invariants after each. */
#include "cluster/topology.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <cmocka.h>

static struct topology t;

static int topologyTestSetUp(void **state) {
    (void)state;
    topologyInit(&t);
    return 0;
}
static int topologyTestTearDown(void **state) {
    (void)state;
    topologyVerify(&t);
    topologyClear(&t);
    assert_int_equal(t.count, 0);
    return 0;
}

/* Returns the id of a number: 40 times its digit. */
static const char *topologyTestIdOf(int number) {
    static char ids[4][NODE_ID_LEN + 1];
    static int turn;
    char *id = ids[turn++ % 4];
    snprintf(id, NODE_ID_LEN + 1, "%040d", number);
    return id;
}
static struct clusterNode *topologyTestAdd(int number, uint16_t flags) {
    return topologyAdd(&t, topologyTestIdOf(number), flags, 1000 + number);
}

static void nodesAreInOrderAndFound(void **state) {
    (void)state;
    static const int order[] = {5, 1, 9, 3, 7};
    for (int i = 0; i < 5; i++) topologyTestAdd(order[i], NODE_PRIMARY);
    assert_int_equal(t.count, 5);
    for (int i = 0; i < 5; i++) {
        assert_string_equal(t.nodes[i]->id, topologyTestIdOf(2 * i + 1));
        assert_ptr_equal(topologyFind(&t, topologyTestIdOf(2 * i + 1)), t.nodes[i]);
        assert_null(topologyFind(&t, topologyTestIdOf(2 * i)));
    }
    assert_null(topologyFind(&t, topologyTestIdOf(10)));
    assert_string_equal(t.nodes[0]->shard_id, topologyTestIdOf(1));
    assert_int_equal(t.nodes[0]->created_ms, 1001);
}

static void aRenamedNodeIsFoundByItsNewName(void **state) {
    (void)state;
    struct clusterNode *n = topologyTestAdd(1, NODE_PRIMARY);
    topologyTestAdd(2, NODE_PRIMARY);
    topologyTestAdd(3, NODE_PRIMARY);
    topologyRename(&t, n, topologyTestIdOf(9));
    assert_null(topologyFind(&t, topologyTestIdOf(1)));
    assert_ptr_equal(topologyFind(&t, topologyTestIdOf(9)), n);
    assert_ptr_equal(t.nodes[2], n);
}

static void slotsHaveOneOwner(void **state) {
    (void)state;
    struct clusterNode *a = topologyTestAdd(1, NODE_PRIMARY), *b = topologyTestAdd(2, NODE_PRIMARY);
    for (int slot = 0; slot < 100; slot++) slotAssign(&t, slot, a);
    assert_int_equal(a->slot_count, 100);
    slotAssign(&t, 5, a); /* again: no change */
    assert_int_equal(a->slot_count, 100);
    slotSetAdd(&t.unclaimed, 50);
    for (int slot = 50; slot < 60; slot++) slotAssign(&t, slot, b);
    assert_false(slotSetHas(&t.unclaimed, 50));
    assert_int_equal(a->slot_count, 90);
    assert_int_equal(b->slot_count, 10);
    assert_ptr_equal(t.owner[55], b);
    assert_int_equal(slotsCountOwned(&t), 100);
    slotAssign(&t, 55, NULL);
    assert_null(t.owner[55]);
    assert_int_equal(slotsCountOwned(&t), 99);
}

static void votersAreThosePrimariesThatHaveSlots(void **state) {
    (void)state;
    static const int quorum[] = {1, 1, 2, 2, 3, 3};
    for (int i = 0; i < 6; i++) {
        assert_int_equal(topologyCountVoters(&t), i);
        assert_int_equal(topologyQuorum(&t), quorum[i]);
        slotAssign(&t, i, topologyTestAdd(i, NODE_PRIMARY));
    }
    topologyTestAdd(10, NODE_PRIMARY);
    nodeBecomeReplica(&t, topologyTestAdd(11, NODE_REPLICA), t.nodes[0]);
    assert_int_equal(topologyCountVoters(&t), 6);
}

/* Unknown primaries count as voters as long as slots are left for them. */
static void unseenPrimariesMayBeVoters(void **state) {
    (void)state;
    for (int i = 0; i < 3; i++) slotAssign(&t, i, topologyTestAdd(i, NODE_PRIMARY));
    for (int i = 3; i < 7; i++) topologyTestAdd(i, NODE_PRIMARY);
    assert_int_equal(topologyQuorum(&t), 2);
    assert_int_equal(topologySureQuorum(&t), 4); /* of 7 */
    t.nodes[3]->pong_received_ms = 1;
    t.nodes[4]->data_received_ms = 1;
    assert_int_equal(topologySureQuorum(&t), 3); /* of 5 */
    t.nodes[5]->flags |= NODE_HANDSHAKE;
    t.nodes[6]->flags |= NODE_NOADDR;
    assert_int_equal(topologySureQuorum(&t), 2);
    t.nodes[5]->flags = t.nodes[6]->flags = NODE_PRIMARY;
    for (int slot = 3; slot < KEY_SLOTS; slot++) slotAssign(&t, slot, t.nodes[0]);
    assert_int_equal(topologySureQuorum(&t), 2);
}

static void aReplicaLosesItsSlotsAndTakesTheShardOfItsPrimary(void **state) {
    (void)state;
    struct clusterNode *a = topologyTestAdd(1, NODE_PRIMARY),
                       *b = topologyTestAdd(2, NODE_PRIMARY | NODE_MIGRATE_TO),
                       *c = topologyTestAdd(3, NODE_REPLICA);
    nodeBecomeReplica(&t, c, b);
    slotAssign(&t, 1, b);
    nodeBecomeReplica(&t, b, a);
    assert_null(t.owner[1]);
    assert_int_equal(b->flags & (NODE_PRIMARY | NODE_REPLICA | NODE_MIGRATE_TO), NODE_REPLICA);
    assert_ptr_equal(nodeShardPrimary(b), a);
    assert_string_equal(b->shard_id, a->shard_id);
    assert_string_equal(c->shard_id, a->shard_id); /* although it still replicates b */
    assert_ptr_equal(c->primary, b);
    nodeBecomeReplica(&t, c, a);
    assert_int_equal(a->replica_count, 2);
    assert_int_equal(b->replica_count, 0);
    nodeBecomePrimary(&t, b);
    assert_null(b->primary);
    assert_ptr_equal(nodeShardPrimary(b), b);
    assert_int_equal(a->replica_count, 1);
    nodeBecomeReplica(&t, c, NULL); /* of an unknown primary */
    assert_null(nodeShardPrimary(c));
    assert_int_equal(a->replica_count, 0);
}

static void openSlotsAreInOrderAndHaveTwoSides(void **state) {
    (void)state;
    struct clusterNode *a = topologyTestAdd(1, NODE_PRIMARY), *b = topologyTestAdd(2, NODE_PRIMARY);
    assert_null(slotFindOpen(&t, 7));
    slotSetMigrating(&t, 700, a);
    slotSetImporting(&t, 7, b);
    slotSetImporting(&t, 700, b);
    slotSetMigrating(&t, 70, a);
    assert_int_equal(t.open_count, 3);
    assert_ptr_equal(slotFindOpen(&t, 700)->to, a);
    assert_ptr_equal(slotFindOpen(&t, 700)->from, b);
    assert_null(slotFindOpen(&t, 7)->to);
    slotSetMigrating(&t, 700, NULL);
    assert_ptr_equal(slotFindOpen(&t, 700)->from, b);
    slotSetImporting(&t, 700, NULL);
    assert_null(slotFindOpen(&t, 700));
    slotSetImporting(&t, 700, NULL); /* closed already */
    assert_int_equal(t.open_count, 2);
}

static void aNodeThatIsRemovedLeavesNothing(void **state) {
    (void)state;
    struct clusterNode *a = topologyTestAdd(1, NODE_PRIMARY), *b = topologyTestAdd(2, NODE_PRIMARY),
                       *c = topologyTestAdd(3, NODE_REPLICA), *d = topologyTestAdd(4, NODE_REPLICA);
    t.myself = a;
    nodeBecomeReplica(&t, c, b);
    nodeBecomeReplica(&t, d, b);
    for (int slot = 0; slot < 10; slot++) slotAssign(&t, slot, b);
    slotSetMigrating(&t, 20, b);
    slotSetImporting(&t, 3, b);
    slotSetMigrating(&t, 30, b);
    slotSetImporting(&t, 30, a);
    failureReportAdd(a, b, 1);
    failureReportAdd(c, b, 1);
    topologyRemove(&t, b);
    assert_int_equal(t.count, 3);
    assert_int_equal(slotsCountOwned(&t), 0);
    assert_int_equal(t.open_count, 1);
    assert_ptr_equal(slotFindOpen(&t, 30)->from, a);
    assert_null(c->primary);
    assert_null(d->primary);
    assert_int_equal(a->report_count + c->report_count, 0);
    topologyRemove(&t, c);
    assert_int_equal(t.count, 2);
}

static void reportsCountOncePerNodeAndGrowOld(void **state) {
    (void)state;
    struct clusterNode *n = topologyTestAdd(1, NODE_PRIMARY), *a = topologyTestAdd(2, NODE_PRIMARY),
                       *b = topologyTestAdd(3, NODE_PRIMARY);
    assert_true(failureReportAdd(n, a, 100));
    assert_false(failureReportAdd(n, a, 200));
    assert_true(failureReportAdd(n, b, 150));
    assert_int_equal(failureReportCount(n, 150), 2);
    assert_int_equal(failureReportCount(n, 151), 1);
    assert_int_equal(failureReportCount(n, 0), 1); /* the old one has been dropped */
    assert_false(failureReportDrop(n, b));
    assert_true(failureReportDrop(n, a));
    assert_int_equal(failureReportCount(n, 0), 0);
}

static void forgottenNodesComeBackAfterTheirTime(void **state) {
    (void)state;
    topologyForget(&t, topologyTestIdOf(1), 100);
    topologyForget(&t, topologyTestIdOf(2), 200);
    topologyForget(&t, topologyTestIdOf(1), 150); /* longer */
    assert_int_equal(t.forgotten_count, 2);
    assert_true(topologyIsForgotten(&t, topologyTestIdOf(1), 149));
    assert_false(topologyIsForgotten(&t, topologyTestIdOf(1), 150));
    assert_false(topologyIsForgotten(&t, topologyTestIdOf(3), 0));
    topologyTrimForgotten(&t, 150);
    assert_int_equal(t.forgotten_count, 1);
    assert_true(topologyIsForgotten(&t, topologyTestIdOf(2), 150));
    topologyTrimForgotten(&t, INT64_MAX);
    assert_int_equal(t.forgotten_count, 0);
}

static void removingWhileGoingThroughAllIsFine(void **state) {
    (void)state;
    for (int i = 0; i < 20; i++) topologyTestAdd(i, NODE_PRIMARY);
    int seen = 0;
    topologyForEach(&t, n) {
        seen++;
        if (seen % 3) topologyRemove(&t, n);
    }
    assert_int_equal(seen, 20);
    assert_int_equal(t.count, 6);
}

/* ---- Random changes ---- */

static uint32_t seed;
static unsigned topologyTestBelow(unsigned n) {
    seed = seed * 1664525 + 1013904223;
    return (seed >> 8) % n;
}
static struct clusterNode *topologyTestSome(void) {
    return t.nodes[topologyTestBelow((unsigned)t.count)];
}

static void changeRoles(void) {
    struct clusterNode *n = topologyTestSome(), *other = topologyTestSome();
    if (n == other || nodeIsReplica(other) || topologyTestBelow(4) == 0)
        nodeBecomePrimary(&t, n);
    else
        nodeBecomeReplica(&t, n, other);
}

static void changeSlots(void) {
    struct clusterNode *n = topologyTestSome();
    int slot = (int)topologyTestBelow(KEY_SLOTS - 70), last = slot + (int)topologyTestBelow(70);
    for (; slot <= last; slot++) slotAssign(&t, slot, nodeIsReplica(n) ? NULL : n);
}

static void changeOpen(void) {
    int slot = (int)topologyTestBelow(50);
    struct clusterNode *n = topologyTestBelow(3) ? topologyTestSome() : NULL;
    if (topologyTestBelow(2))
        slotSetMigrating(&t, slot, n);
    else
        slotSetImporting(&t, slot, n);
}

static void changeNodes(void) {
    int number = (int)topologyTestBelow(60);
    struct clusterNode *known = topologyFind(&t, topologyTestIdOf(number));
    if (!known)
        topologyTestAdd(number, NODE_PRIMARY);
    else if (known != t.myself && topologyTestBelow(2))
        topologyRemove(&t, known);
    else if (!topologyFind(&t, topologyTestIdOf(number + 100)))
        topologyRename(&t, known, topologyTestIdOf(number + 100));
}

/* Checks what topologyVerify does not: that no removed node is referenced. */
static void verifyOpen(void) {
    for (int i = 0; i < t.open_count; i++) {
        const struct openSlot *open = &t.open[i];
        assert_true(open->to || open->from);
        assert_true(!open->to || topologyFind(&t, open->to->id) == open->to);
        assert_true(!open->from || topologyFind(&t, open->from->id) == open->from);
    }
}

static void randomChangesKeepTheInvariants(void **state) {
    (void)state;
    seed = 1;
    t.myself = topologyTestAdd(1000, NODE_PRIMARY | NODE_MYSELF);
    for (int i = 0; i < 3000; i++) {
        switch (topologyTestBelow(5)) {
        case 0: changeRoles(); break;
        case 1: changeSlots(); break;
        case 2: changeOpen(); break;
        case 3: changeNodes(); break;
        default: failureReportAdd(topologyTestSome(), topologyTestSome(), i); break;
        }
        topologyVerify(&t);
        verifyOpen();
    }
    assert_true(t.count > 10);
}

int main(void) {
    const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, topologyTestSetUp, topologyTestTearDown)
        TEST(nodesAreInOrderAndFound),
        TEST(aRenamedNodeIsFoundByItsNewName),
        TEST(slotsHaveOneOwner),
        TEST(votersAreThosePrimariesThatHaveSlots),
        TEST(unseenPrimariesMayBeVoters),
        TEST(aReplicaLosesItsSlotsAndTakesTheShardOfItsPrimary),
        TEST(openSlotsAreInOrderAndHaveTwoSides),
        TEST(aNodeThatIsRemovedLeavesNothing),
        TEST(reportsCountOncePerNodeAndGrowOld),
        TEST(forgottenNodesComeBackAfterTheirTime),
        TEST(removingWhileGoingThroughAllIsFine),
        TEST(randomChangesKeepTheInvariants),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
