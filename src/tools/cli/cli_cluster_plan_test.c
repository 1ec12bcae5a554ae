/* SPDX-License-Identifier: BSD-3-Clause */
/* cli_cluster_plan_test.c - the decisions of --cluster, and the parser of CLUSTER NODES. */
#include "tools/cli/cli_cluster_plan.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "base/model_ops.h"
#include "base/random.h"

#define ID_A "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
#define ID_B "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb"

/* ---- The text ---- */

static void testNodes(void **state) {
    (void)state;
    struct toolNode *nodes;
    int count = toolNodesParse(
        STR(ID_B " 10.0.0.1:7000@17000,name.example,shard-id=x myself,master - 0 0 3 connected 0-5 9 "
                 "[5->-" ID_A "] [7-<-" ID_A "]\n" ID_A " ::1:7001@17001 slave,fail? " ID_B
                 " 1 2 4 disconnected\n" ID_A
                 " :0@0 master,noaddr,fail - 1 2 18446744073709551615 connected 100\n"),
        &nodes);
    assert_int_equal(3, count);
    assert_true(nodes[0].myself && !nodes[0].replica && nodes[0].connected);
    assert_string_equal("10.0.0.1", nodes[0].host);
    assert_string_equal("master", nodes[0].flags);
    assert_int_equal(7000, nodes[0].port);
    assert_int_equal(17000, nodes[0].bus_port);
    assert_int_equal(7, nodeSlotsCount(&nodes[0].slots));
    assert_int_equal(2, nodes[0].open_count);
    assert_true(nodes[0].open[0].slot == 5 && !nodes[0].open[0].importing);
    assert_true(nodes[0].open[1].slot == 7 && nodes[0].open[1].importing);
    assert_string_equal(ID_A, nodes[0].open[1].peer);
    assert_string_equal("::1", nodes[1].host);
    assert_string_equal(ID_B, nodes[1].primary);
    assert_true(nodes[1].replica && !nodes[1].failed && !nodes[1].connected);
    assert_true(nodes[2].failed && nodes[2].noaddr && nodes[2].epoch == UINT64_MAX);
    sds signature = toolNodesSignature(nodes, count);
    assert_string_equal(ID_A ":[100]|" ID_B ":[0-5],[9]|", signature);
    sdsfree(signature);
    toolNodesFree(nodes, count);
}

/* Lines that are cut off or out of range are rejected. */
static void testBadNodes(void **state) {
    (void)state;
    static const char *const bad[] = {
        "",
        "\n\n",
        "short 1.2.3.4:1@2 master - 0 0 1 connected\n",
        ID_A " 1.2.3.4 master - 0 0 1 connected\n",
        ID_A " 1.2.3.4:99999@1 master - 0 0 1 connected\n",
        ID_A " 1.2.3.4:1@2 master - 0 0 x connected\n",
        ID_A " 1.2.3.4:1@2 slave bbbb 0 0 1 connected\n",
        ID_A " 1.2.3.4:1@2 master - 0 0 1\n",
        ID_A " 1.2.3.4:1@2 master - 0 0 1 connected 16384\n",
        ID_A " 1.2.3.4:1@2 master - 0 0 1 connected 5-3\n",
        ID_A " 1.2.3.4:1@2 master - 0 0 1 connected -3\n",
        ID_A " 1.2.3.4:1@2 master - 0 0 1 connected [5->-" ID_B "\n",
        ID_A " 1.2.3.4:1@2 master - 0 0 1 connected [5]\n",
    };
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        struct toolNode *nodes;
        assert_int_equal(-1, toolNodesParse(strOf(bad[i]), &nodes));
        assert_null(nodes);
    }
}

static void testAddresses(void **state) {
    (void)state;
    sds host;
    int port, bus;
    assert_true(toolAddressParse(STR("localhost:1@2"), &host, &port, &bus));
    assert_true(strcmp(host, "localhost") == 0 && port == 1 && bus == 2);
    sdsfree(host);
    assert_true(toolAddressParse(STR("[fe80::1]:7"), &host, &port, &bus));
    assert_true(strcmp(host, "fe80::1") == 0 && port == 7 && bus == 0);
    sdsfree(host);
    assert_false(toolAddressParse(STR("localhost"), &host, &port, &bus));
    assert_false(toolAddressParse(STR("localhost:"), &host, &port, &bus));
}

static void testKeySlots(void **state) {
    (void)state;
    assert_int_equal(3300, toolKeySlot(STR("b")));
    assert_int_equal(12182, toolKeySlot(STR("foo")));
    assert_int_equal(12182, toolKeySlot(STR("x{foo}y{b}")));
    assert_int_equal(8363, toolKeySlot(STR("foo{}{bar}")));
    assert_int_equal(6680, toolKeySlot(STR("{}b")));
}

static void testSlotSets(void **state) {
    (void)state;
    struct nodeSlots set = {{0}};
    static const int some[] = {0, 1, 63, 64, 65, 16383};
    for (size_t i = 0; i < sizeof(some) / sizeof(some[0]); i++) nodeSlotsAdd(&set, some[i]);
    sds text = slotSetText(&set);
    assert_string_equal("[0-1],[63-65],[16383]", text);
    sdsfree(text);
    nodeSlotsRemove(&set, 64);
    assert_false(nodeSlotsHas(&set, 64));
    assert_int_equal(5, nodeSlotsCount(&set));
}

/* ---- create ---- */

static void testEvenSlots(void **state) {
    (void)state;
    struct planRange ranges[1000];
    planEvenSlots(3, ranges);
    assert_int_equal(5460, ranges[0].last);
    assert_int_equal(10922, ranges[1].last);
    for (int n = 1; n <= 1000; n++) {
        planEvenSlots(n, ranges);
        assert_int_equal(0, ranges[0].first);
        assert_int_equal(CLUSTER_SLOTS - 1, ranges[n - 1].last);
        for (int i = 0; i < n; i++) {
            int size = ranges[i].last - ranges[i].first + 1, each = CLUSTER_SLOTS / n;
            assert_true(size >= each && size <= each + 1);
            if (i) assert_int_equal(ranges[i - 1].last + 1, ranges[i].first);
        }
    }
}

static void testInterleave(void **state) {
    (void)state;
    static const char *const hosts[] = {"a", "a", "a", "b", "b", "c"};
    static const int wanted[] = {0, 3, 5, 1, 4, 2};
    int order[6];
    planInterleave(6, hosts, order);
    assert_memory_equal(wanted, order, sizeof(order));
    static const char *const uneven[] = {"a", "b", "b", "b", "b", "a"};
    static const int wanted_uneven[] = {0, 1, 5, 2, 3, 4};
    planInterleave(6, uneven, order);
    assert_memory_equal(wanted_uneven, order, sizeof(order));
}

static void testRolesOnOneHost(void **state) {
    (void)state;
    static const char *const hosts[] = {"a", "a", "a", "a", "a", "a", "a"};
    int order[7], follows[7], chosen[7];
    planInterleave(7, hosts, order);
    assert_int_equal(3, planRoles(6, hosts, 3, 1, order, follows, chosen));
    assert_int_equal(0, follows[4]);
    assert_int_equal(1, follows[5]);
    assert_int_equal(2, follows[3]);
    int before[6];
    memcpy(before, follows, sizeof(before));
    assert_int_equal(30000, planSpread(6, hosts, follows, 1));
    assert_memory_equal(before, follows, sizeof(before)); /* there is no better plan: nothing is changed */
    assert_int_equal(4, planRoles(7, hosts, 3, 1, order, follows, chosen)); /* one is left over */
    assert_int_equal(0, follows[chosen[3]]);
}

/* With three hosts of three nodes a primary and its replica can always be separated. */
static void testSpread(void **state) {
    (void)state;
    const char *hosts[9], *names[] = {"a", "b", "c"};
    randomSeed(7);
    for (int round = 0; round < 200; round++) {
        int order[9], follows[9], chosen[9], used[3] = {0};
        for (int i = 0; i < 9;) {
            int host = (int)randomBelow(3);
            if (used[host] == 3) continue;
            used[host]++;
            hosts[i++] = names[host];
        }
        planInterleave(9, hosts, order);
        assert_int_equal(6, planRoles(9, hosts, 3, 2, order, follows, chosen));
        int64_t score = planSpread(9, hosts, follows, (uint64_t)round);
        assert_int_equal(0, score);
        assert_int_equal(score, planAffinity(9, hosts, follows));
        int replicas[9] = {0};
        for (int i = 0; i < 9; i++) {
            if (follows[i] == -1) continue;
            assert_int_equal(-1, follows[follows[i]]);
            replicas[follows[i]]++;
        }
        for (int i = 0; i < 9; i++) assert_true(follows[i] != -1 || replicas[i] == 2);
    }
}

/* Every replica starts on the host of its primary; swaps improve that. */
static void testSpreadImproves(void **state) {
    (void)state;
    static const char *const hosts[] = {"a", "b", "c", "a", "b", "c", "a", "b", "c"};
    int follows[] = {-1, -1, -1, 0, 1, 2, 0, 1, 2};
    assert_int_equal(6 * PLAN_SAME_HOST + 3, planAffinity(9, hosts, follows));
    assert_int_equal(0, planSpread(9, hosts, follows, 3));
    assert_int_equal(0, planAffinity(9, hosts, follows));
}

/* ---- reshard and rebalance ---- */

static void clusterPlanTestAddRange(struct nodeSlots *set, int first, int last) {
    for (int slot = first; slot <= last; slot++) nodeSlotsAdd(set, slot);
}

static void testReshard(void **state) {
    (void)state;
    static struct nodeSlots owned[3];
    static struct planMove moves[CLUSTER_SLOTS];
    memset(owned, 0, sizeof(owned));
    clusterPlanTestAddRange(&owned[0], 6, 5460);
    clusterPlanTestAddRange(&owned[1], 10923, 16383);
    static const int sources[] = {0, 1};
    assert_int_equal(4, planReshard(owned, sources, 2, 2, 4, moves));
    for (int i = 0; i < 3; i++)
        assert_true(moves[i].from == 1 && moves[i].slot == 10923 + i && moves[i].to == 2);
    assert_true(moves[3].from == 0 && moves[3].slot == 6);
    assert_int_equal(5455 + 5461, planReshard(owned, sources, 2, 2, 40000, moves));
    assert_int_equal(0, planReshard(owned, &sources[0], 0, 2, 4, moves));
    static const int empty[] = {2};
    assert_int_equal(0, planReshard(owned, empty, 1, 0, 4, moves));
}

static void testBalance(void **state) {
    (void)state;
    struct planShare shares[] = {{1, 5078, 0}, {1, 5455, 0}, {1, 5851, 0}};
    struct planTransfer transfers[3];
    assert_true(planBalance(shares, 3, 2));
    assert_int_equal(2, planTransfers(shares, 3, transfers));
    assert_true(transfers[0].from == 2 && transfers[0].to == 0 && transfers[0].slots == 384);
    assert_true(transfers[1].from == 2 && transfers[1].to == 1 && transfers[1].slots == 6);
    struct planShare even[] = {{1, 5461, 0}, {1, 5462, 0}, {1, 5461, 0}};
    assert_false(planBalance(even, 3, 2));
    struct planShare fresh[] = {{1, CLUSTER_SLOTS, 0}, {1, 0, 0}};
    assert_true(planBalance(fresh, 2, 2));
    assert_int_equal(8192, fresh[0].surplus);
}

/* For any weights, the moves leave each node with its exact share, and nodes of weight 0 without slots. */
static void testAnyBalance(void **state) {
    (void)state;
    randomSeed(11);
    for (uint64_t round = 0; round < modelOps() / 1000; round++) {
        struct planShare shares[20], *s = shares;
        struct planTransfer transfers[20];
        int count = 1 + (int)randomBelow(20), left = CLUSTER_SLOTS;
        double weights = 0;
        for (int i = 0; i < count; i++) {
            int slots = i == count - 1 ? left : (int)randomBelow((uint64_t)left + 1);
            left -= slots;
            s[i] = (struct planShare){.weight = i == 0 ? 1 : (double)randomBelow(4), .slots = slots};
            weights += s[i].weight;
        }
        planBalance(shares, count, 2);
        int moves = planTransfers(shares, count, transfers);
        assert_true(moves < count);
        for (int i = 0; i < moves; i++) {
            assert_true(transfers[i].slots > 0);
            s[transfers[i].from].slots -= transfers[i].slots;
            s[transfers[i].to].slots += transfers[i].slots;
        }
        for (int i = 0; i < count; i++) {
            double exact = CLUSTER_SLOTS / weights * s[i].weight;
            assert_int_equal(0, s[i].surplus);
            assert_true(s[i].slots > exact - 1 && s[i].slots <= exact + count);
            if (s[i].weight == 0) assert_int_equal(0, s[i].slots);
        }
    }
}

/* ---- fix ---- */

#define OWNER     .owner = true
#define MIGRATING .migrating = true
#define IMPORTING .importing = true

static void expectFix(enum planFix wanted, int wanted_from, int wanted_to, int target,
                      const struct planOpenNode *nodes) {
    int from, to;
    assert_int_equal(wanted, planFixOpen(nodes, 3, target, &from, &to));
    if (wanted_from >= 0) assert_int_equal(wanted_from, from);
    if (wanted_to >= 0) assert_int_equal(wanted_to, to);
}

static void testFix(void **state) {
    (void)state;
    expectFix(PLAN_FINISH, 0, 1, 1, (struct planOpenNode[3]){{OWNER, MIGRATING}, {IMPORTING}, {0}});
    expectFix(PLAN_COLLECT, -1, 0, -1, (struct planOpenNode[3]){{OWNER}, {IMPORTING}, {IMPORTING}});
    expectFix(PLAN_FINISH_ONE, 0, 2, 2,
              (struct planOpenNode[3]){{OWNER, MIGRATING}, {IMPORTING}, {IMPORTING}});
    expectFix(PLAN_CLOSE_ALL, -1, -1, -1,
              (struct planOpenNode[3]){{OWNER, MIGRATING}, {IMPORTING}, {IMPORTING}});
    expectFix(PLAN_NONE, -1, -1, -1,
              (struct planOpenNode[3]){{OWNER, MIGRATING}, {IMPORTING, .keys = 1}, {IMPORTING}});
    expectFix(PLAN_CLOSE, 0, -1, 1, (struct planOpenNode[3]){{OWNER, MIGRATING, .keys = 5}, {0}, {0}});
    expectFix(PLAN_NONE, -1, -1, -1, (struct planOpenNode[3]){{OWNER}, {MIGRATING, .keys = 5}, {0}});
    expectFix(PLAN_OWNER, -1, -1, -1, (struct planOpenNode[3]){{MIGRATING}, {IMPORTING}, {0}});
    expectFix(PLAN_OWNER, -1, -1, -1, (struct planOpenNode[3]){{OWNER}, {OWNER, MIGRATING}, {IMPORTING}});
}

static void testOwner(void **state) {
    (void)state;
    assert_int_equal(2, planOwner((struct planOpenNode[3]){{.keys = 1}, {MIGRATING}, {.keys = 2}}, 3));
    assert_int_equal(1, planOwner((struct planOpenNode[3]){{0}, {MIGRATING}, {0}}, 3));
    assert_int_equal(0, planOwner((struct planOpenNode[3]){{0}, {0}, {0}}, 3));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(testNodes),      cmocka_unit_test(testBadNodes),
        cmocka_unit_test(testAddresses),  cmocka_unit_test(testKeySlots),
        cmocka_unit_test(testSlotSets),   cmocka_unit_test(testEvenSlots),
        cmocka_unit_test(testInterleave), cmocka_unit_test(testRolesOnOneHost),
        cmocka_unit_test(testSpread),     cmocka_unit_test(testSpreadImproves),
        cmocka_unit_test(testReshard),    cmocka_unit_test(testBalance),
        cmocka_unit_test(testAnyBalance), cmocka_unit_test(testFix),
        cmocka_unit_test(testOwner),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
