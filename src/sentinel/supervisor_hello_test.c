/* SPDX-License-Identifier: BSD-3-Clause */
/* supervisor_hello_test.c - hellos: their contents, the Sentinels and configurations that a supervisor learns
 * from them, and invalid ones. */
#include "tests/sim/sentinel_recorder.h"

#define ID_A "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
#define ID_B "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb"

static struct instance *supervisorHelloTestPrimary(void) {
    return recorded_supervisor.primaries.items[0];
}
static struct instance *sentinelOf(struct instance *p, int n) {
    assert_in_range(n, 0, p->p.sentinels.count - 1);
    return p->p.sentinels.items[n];
}

static void supervisorHelloTestReceive(const char *hello) {
    supervisorProcessHello(&recorded_supervisor, strOf(hello), recorded_supervisor.now_ms);
}

/* ---- Sending ---- */

static void supervisorHelloTestContents(void **state) {
    (void)state;
    recorderTickAt(0);
    recorderForget();
    recorded_supervisor.current_epoch = 18;
    supervisorHelloTestPrimary()->config_epoch = 17;
    assert_true(helloSend(&recorded_supervisor, supervisorHelloTestPrimary()));
    expectRecord("6379 cmd> PUBLISH __sentinel__:hello 10.0.0.9,26379," TEST_MYID
                 ",18,m,127.0.0.1,6379,17\n");
    assert_null(recorderConfigLine("announce-ip 8.8.8.8"));
    assert_null(recorderConfigLine("announce-port 1234"));
    assert_true(helloSend(&recorded_supervisor, supervisorHelloTestPrimary()));
    expectRecord("6379 cmd> PUBLISH __sentinel__:hello 8.8.8.8,1234," TEST_MYID ",18,m,127.0.0.1,6379,17\n");
    supervisorDropLinks(&recorded_supervisor, supervisorHelloTestPrimary());
    recorderForget();
    assert_false(helloSend(&recorded_supervisor, supervisorHelloTestPrimary()));
    expectRecord("");
}

static void contents_with_names(void **state) {
    (void)state;
    assert_null(recorderConfigLine("resolve-hostnames yes"));
    assert_null(recorderConfigLine("announce-hostnames yes"));
    assert_null(recorderConfigLine("monitor n host1 6479 1"));
    recorderTickAt(0);
    recorderForget();
    assert_true(helloSend(&recorded_supervisor, supervisorFindPrimary(&recorded_supervisor, "n")));
    expectRecord("6479 cmd> PUBLISH __sentinel__:hello 10.0.0.9,26379," TEST_MYID ",0,n,host1,6479,0\n");
}

/* After the promotion the promoted replica is announced. */
static void contents_in_a_failover(void **state) {
    (void)state;
    assert_null(recorderConfigLine("known-replica m 127.0.0.1 6380"));
    struct instance *replica = supervisorHelloTestPrimary()->p.replicas.items[0];
    recorderTickAt(0);
    replica->flags = FLAG_PROMOTED;
    supervisorHelloTestPrimary()->p.promoted = replica;
    supervisorHelloTestPrimary()->p.failover_state = FAILOVER_WAIT_PROMOTION;
    recorderForget();
    assert_true(helloSend(&recorded_supervisor, replica));
    assert_non_null(strstr(recorder.text, ",m,127.0.0.1,6379,0\n"));
    supervisorHelloTestPrimary()->p.failover_state = FAILOVER_RECONF_REPLICAS;
    recorderForget();
    assert_true(helloSend(&recorded_supervisor, replica));
    assert_non_null(strstr(recorder.text, ",m,127.0.0.1,6380,0\n"));
}

static void supervisorHelloTestForced(void **state) {
    (void)state;
    assert_null(recorderConfigLine("known-replica m 127.0.0.1 6380"));
    assert_null(recorderConfigLine("known-sentinel m 127.0.0.1 26380 " ID_A));
    recorderTickAt(0);
    recorderForget();
    helloForceUpdate(&recorded_supervisor, supervisorHelloTestPrimary());
    recorderTickAt(100);
    assert_non_null(strstr(recorder.text, "6379 cmd> PUBLISH"));
    assert_non_null(strstr(recorder.text, "\n6380 cmd> PUBLISH"));
    assert_non_null(strstr(recorder.text, "\n26380 cmd> PUBLISH"));
}

/* ---- The sender ---- */

static void a_new_sentinel(void **state) {
    (void)state;
    supervisorHelloTestReceive("127.0.0.1,26380," ID_A ",0,m,127.0.0.1,6379,0");
    expectRecord("+sentinel sentinel " ID_A " 127.0.0.1 26380 @ m 127.0.0.1 6379\nsave\n");
    assert_int_equal(supervisorHelloTestPrimary()->p.sentinels.count, 1);
    assert_string_equal(sentinelOf(supervisorHelloTestPrimary(), 0)->run_id, ID_A);
    recorded_supervisor.now_ms += 500;
    supervisorHelloTestReceive("127.0.0.1,26380," ID_A ",0,m,127.0.0.1,6379,0");
    expectRecord("");
    assert_int_equal(sentinelOf(supervisorHelloTestPrimary(), 0)->s.hello_ms, recorded_supervisor.now_ms);
}

static void one_link_for_two_primaries(void **state) {
    (void)state;
    assert_null(recorderConfigLine("monitor n 127.0.0.1 6479 2"));
    supervisorHelloTestReceive("127.0.0.1,26380," ID_A ",0,m,127.0.0.1,6379,0");
    supervisorHelloTestReceive("127.0.0.1,26380," ID_A ",0,n,127.0.0.1,6479,0");
    struct instance *n = supervisorFindPrimary(&recorded_supervisor, "n");
    assert_ptr_equal(sentinelOf(supervisorHelloTestPrimary(), 0)->link, sentinelOf(n, 0)->link);
}

static void supervisorHelloTestOurselves(void **state) {
    (void)state;
    supervisorHelloTestReceive("127.0.0.1,26380," TEST_MYID ",9,m,127.0.0.1,6380,9");
    expectRecord("");
    assert_int_equal(recorded_supervisor.current_epoch, 0);
}

static void supervisorHelloTestMoved(void **state) {
    (void)state;
    assert_null(recorderConfigLine("monitor n 127.0.0.1 6479 2"));
    struct instance *n = supervisorFindPrimary(&recorded_supervisor, "n");
    supervisorHelloTestReceive("127.0.0.1,26380," ID_A ",0,m,127.0.0.1,6379,0");
    supervisorHelloTestReceive("127.0.0.1,26380," ID_A ",0,n,127.0.0.1,6479,0");
    recorderTickAt(0);
    recorderForget();
    supervisorHelloTestReceive("127.0.0.1,26381," ID_A ",0,m,127.0.0.1,6379,0");
    expectRecord("+sentinel-address-switch master m 127.0.0.1 6379 ip 127.0.0.1 port 26381 for " ID_A "\n"
                 "close 26380 cmd\n"
                 "+sentinel-address-update sentinel " ID_A
                 " 127.0.0.1 26381 @ m 127.0.0.1 6379 1 additional matching instances\n"
                 "save\n");
    assert_int_equal(sentinelOf(n, 0)->address.port, 26381);
    assert_int_equal(sentinelOf(supervisorHelloTestPrimary(), 0)->address.port, 26381);
    assert_int_equal(n->p.sentinels.count, 1);
    assert_int_equal(supervisorHelloTestPrimary()->p.sentinels.count, 1);
    assert_ptr_equal(sentinelOf(supervisorHelloTestPrimary(), 0)->link, sentinelOf(n, 0)->link);
}

static void moved_and_known_once(void **state) {
    (void)state;
    supervisorHelloTestReceive("127.0.0.1,26380," ID_A ",0,m,127.0.0.1,6379,0");
    recorderForget();
    supervisorHelloTestReceive("127.0.0.2,26380," ID_A ",0,m,127.0.0.1,6379,0");
    expectRecord("+sentinel-address-switch master m 127.0.0.1 6379 ip 127.0.0.2 port 26380 for " ID_A
                 "\nsave\n");
}

/* An address belongs to one Sentinel: the former one is removed, for all primaries. */
static void supervisorHelloTestReplaced(void **state) {
    (void)state;
    assert_null(recorderConfigLine("monitor n 127.0.0.1 6479 2"));
    supervisorHelloTestReceive("127.0.0.1,26380," ID_A ",0,m,127.0.0.1,6379,0");
    supervisorHelloTestReceive("127.0.0.1,26380," ID_A ",0,n,127.0.0.1,6479,0");
    recorderForget();
    supervisorHelloTestReceive("127.0.0.1,26380," ID_B ",0,m,127.0.0.1,6379,0");
    expectRecord("+sentinel-invalid-addr sentinel " ID_A " 127.0.0.1 26380 @ m 127.0.0.1 6379\n"
                 "+sentinel sentinel " ID_B " 127.0.0.1 26380 @ m 127.0.0.1 6379\nsave\n");
    assert_int_equal(supervisorFindPrimary(&recorded_supervisor, "n")->p.sentinels.count, 0);
    assert_int_equal(supervisorHelloTestPrimary()->p.sentinels.count, 1);
}

/* A known Sentinel stays known if its new address does not resolve, and its hello counts. */
static void address_that_does_not_resolve(void **state) {
    (void)state;
    supervisorHelloTestReceive("127.0.0.1,26380," ID_A ",0,m,127.0.0.1,6379,0");
    recorderForget();
    supervisorHelloTestReceive("nowhere,26381," ID_A ",5,m,127.0.0.1,6390,5");
    assert_non_null(
        strstr(recorder.text, "log: The host name 'nowhere' could not be resolved\nsave\n+new-epoch 5\n"));
    assert_int_equal(sentinelOf(supervisorHelloTestPrimary(), 0)->address.port, 26380);
    assert_int_equal(supervisorHelloTestPrimary()->address.port, 6390);
    recorderForget();
    supervisorHelloTestReceive("nowhere,26381," ID_B ",6,m,127.0.0.1,6391,6"); /* it is unknown */
    assert_int_equal(supervisorHelloTestPrimary()->p.sentinels.count, 1);
    assert_int_equal(supervisorHelloTestPrimary()->address.port, 6390);
    assert_int_equal(recorded_supervisor.current_epoch, 6);
}

/* ---- Its view of the primary ---- */

static void supervisorHelloTestEpochs(void **state) {
    (void)state;
    recorded_supervisor.current_epoch = 4;
    supervisorHelloTestReceive("127.0.0.1,26380," ID_A ",4,m,127.0.0.1,6379,0");
    recorderForget();
    supervisorHelloTestReceive("127.0.0.1,26380," ID_A ",5,m,127.0.0.1,6379,0");
    expectRecord("save\n+new-epoch 5\n");
    supervisorHelloTestReceive("127.0.0.1,26380," ID_A ",3,m,127.0.0.1,6379,0");
    expectRecord("");
    assert_int_equal(recorded_supervisor.current_epoch, 5);
}

static void newer_configuration(void **state) {
    (void)state;
    assert_null(recorderConfigLine("known-replica m 127.0.0.1 6380"));
    assert_null(recorderConfigLine("known-replica m 127.0.0.1 6381"));
    supervisorHelloTestPrimary()->p.notification_script = sdsnew("/notify");
    supervisorHelloTestPrimary()->p.reconfig_script = sdsnew("/reconf");
    supervisorHelloTestPrimary()->config_epoch = 2;
    supervisorHelloTestReceive("127.0.0.1,26380," ID_A ",0,m,127.0.0.1,6379,0");
    recorderForget();
    supervisorHelloTestReceive("127.0.0.1,26380," ID_A ",0,m,127.0.0.1,6380,2"); /* of the same epoch */
    expectRecord("");
    supervisorHelloTestReceive("127.0.0.1,26380," ID_A ",0,m,127.0.0.1,6380,3");
    const char *from = "sentinel " ID_A " 127.0.0.1 26380 @ m 127.0.0.1 6379";
    char expected[1024];
    snprintf(expected, sizeof expected,
             "+config-update-from %s\n"
             "script /notify +config-update-from %s\n"
             "+switch-master m 127.0.0.1 6379 127.0.0.1 6380\n"
             "script /notify +switch-master m 127.0.0.1 6379 127.0.0.1 6380\n"
             "script /reconf m observer start 127.0.0.1 6379 127.0.0.1 6380\n"
             "+slave slave 127.0.0.1:6381 127.0.0.1 6381 @ m 127.0.0.1 6380\n"
             "+slave slave 127.0.0.1:6379 127.0.0.1 6379 @ m 127.0.0.1 6380\n"
             "save\n",
             from, from);
    expectRecord(expected);
    assert_int_equal(supervisorHelloTestPrimary()->config_epoch, 3);
    assert_int_equal(supervisorHelloTestPrimary()->p.sentinels.count, 1);
}

static void newer_configuration_that_changes_nothing(void **state) {
    (void)state;
    supervisorHelloTestReceive("127.0.0.1,26380," ID_A ",0,m,127.0.0.1,6379,0");
    recorderForget();
    supervisorHelloTestReceive("127.0.0.1,26380," ID_A ",0,m,127.0.0.1,6379,8");
    expectRecord("save\n");
    assert_int_equal(supervisorHelloTestPrimary()->config_epoch, 8);
}

/* A newer configuration with an address that does not resolve is not taken: it will be sent again. */
static void newer_configuration_of_nowhere(void **state) {
    (void)state;
    supervisorHelloTestReceive("127.0.0.1,26380," ID_A ",0,m,127.0.0.1,6379,0");
    recorderForget();
    supervisorHelloTestReceive("127.0.0.1,26380," ID_A ",0,m,nowhere,6380,8");
    expectRecord("log: The host name 'nowhere' could not be resolved\n");
    assert_null(recorderConfigLine("resolve-hostnames yes"));
    supervisorHelloTestReceive("127.0.0.1,26380," ID_A ",0,m,nowhere,6380,8");
    supervisorHelloTestReceive("nowhere,26381," ID_B ",0,m,127.0.0.1,6379,0");
    assert_int_equal(supervisorHelloTestPrimary()->config_epoch, 0);
    assert_int_equal(supervisorHelloTestPrimary()->p.sentinels.count, 1);
    recorderForget();
}

/* The name of a server that is down may not resolve any more: the Sentinels must agree that it is down, too.
 */
static void questionAboutNameThatDoesNotResolve(void **state) {
    (void)state;
    assert_null(recorderConfigLine("resolve-hostnames yes"));
    assert_null(recorderConfigLine("monitor n nowhere 6479 1"));
    supervisorFindPrimary(&recorded_supervisor, "n")->flags |= FLAG_S_DOWN;
    recorderForget();
    assert_true(supervisorAnswerDown(&recorded_supervisor, "nowhere", 6479, 0, NULL, 0).down);
    assert_true(supervisorAnswerDown(&recorded_supervisor, "NOWHERE", 6479, 0, NULL, 0).down);
    expectRecord(""); /* it was not resolved */
    assert_false(supervisorAnswerDown(&recorded_supervisor, "nowhere", 6480, 0, NULL, 0).down);
    recorderForget();
}

/* The promoted replica's address has been announced already, so a newer configuration with the
 * old address is a change. */
static void newer_configuration_in_a_failover(void **state) {
    (void)state;
    assert_null(recorderConfigLine("known-replica m 127.0.0.1 6380"));
    struct instance *replica = supervisorHelloTestPrimary()->p.replicas.items[0];
    supervisorHelloTestReceive("127.0.0.1,26380," ID_A ",0,m,127.0.0.1,6379,0");
    replica->flags = FLAG_PROMOTED;
    supervisorHelloTestPrimary()->p.promoted = replica;
    supervisorHelloTestPrimary()->p.failover_state = FAILOVER_RECONF_REPLICAS;
    supervisorHelloTestPrimary()->flags = FLAG_FAILOVER_IN_PROGRESS;
    supervisorHelloTestPrimary()->config_epoch = 3;
    recorderForget();
    supervisorHelloTestReceive("127.0.0.1,26380," ID_A ",0,m,127.0.0.1,6379,4");
    expectRecord("+config-update-from sentinel " ID_A " 127.0.0.1 26380 @ m 127.0.0.1 6379\n"
                 "+switch-master m 127.0.0.1 6380 127.0.0.1 6379\n"
                 "+slave slave 127.0.0.1:6380 127.0.0.1 6380 @ m 127.0.0.1 6379\n"
                 "save\n");
    assert_int_equal(supervisorHelloTestPrimary()->p.failover_state, FAILOVER_NONE);
}

/* By pub/sub, on the channel of a replica that the switch removes. */
static void hello_from_a_removed_replica(void **state) {
    (void)state;
    assert_null(recorderConfigLine("known-replica m 127.0.0.1 6380"));
    recorderTickAt(0);
    static const char wire[] = "*3\r\n$7\r\nmessage\r\n$18\r\n__sentinel__:hello\r\n"
                               "$77\r\n127.0.0.1,26380," ID_A ",0,m,127.0.0.1,6380,3\r\n";
    struct respReply message;
    assert_int_equal(respReadReply(wire, sizeof wire - 1, &message), sizeof wire - 1);
    supervisorProcessMessage(&recorded_supervisor, supervisorHelloTestPrimary()->p.replicas.items[0]->link,
                             &message, recorded_supervisor.now_ms + 10);
    respReplyFree(&message);
    assert_int_equal(supervisorHelloTestPrimary()->address.port, 6380);
    assert_non_null(strstr(recorder.text, "close 6380 cmd\nclose 6380 pubsub\n"));
}

/* ---- Invalid hellos ---- */

static void supervisorHelloTestInvalid(void **state) {
    (void)state;
    static const char *const hellos[] = {
        "",
        ",",
        ",,,,,,,",
        "junk",
        ",,,,,,,,",
        "127.0.0.1,26380," ID_A ",0,m,127.0.0.1,6379",
        "127.0.0.1,26380," ID_A ",0,m,127.0.0.1,6379,0,0",
        "127.0.0.1,26380," ID_A ",0,unknown,127.0.0.1,6379,0",
        "127.0.0.1,26380," ID_A ",0,,127.0.0.1,6379,0",
        "127.0.0.1,26380,,0,m,127.0.0.1,6379,0",
        "127.0.0.1,26380," ID_A "a,0,m,127.0.0.1,6379,0",
        "127.0.0.1,26380,a b,0,m,127.0.0.1,6379,0",
        "127.0.0.1,26380,a\nb,0,m,127.0.0.1,6379,0",
        "127.0.0.1,26380,*,0,m,127.0.0.1,6379,0",
        "127.0.0.1,0," ID_A ",0,m,127.0.0.1,6379,0",
        "127.0.0.1,65536," ID_A ",0,m,127.0.0.1,6379,0",
        "127.0.0.1,-1," ID_A ",0,m,127.0.0.1,6379,0",
        "127.0.0.1,x," ID_A ",0,m,127.0.0.1,6379,0",
        "127.0.0.1,26380," ID_A ",-1,m,127.0.0.1,6379,0",
        "127.0.0.1,26380," ID_A ",1x,m,127.0.0.1,6379,0",
        "127.0.0.1,26380," ID_A ",18446744073709551615,m,127.0.0.1,6379,0",
        "127.0.0.1,26380," ID_A ",18446744073709551616,m,127.0.0.1,6379,0",
        "127.0.0.1,26380," ID_A ",0,m,127.0.0.1,6379,18446744073709551615",
        "127.0.0.1,26380," ID_A ",0,m,127.0.0.1,6379,",
        "127.0.0.1,26380," ID_A ",0,m,127.0.0.1,0,1",
        "127.0.0.1,26380," ID_A ",0,m,127.0.0.1,65536,1",
    };
    for (size_t n = 0; n < sizeof hellos / sizeof *hellos; n++) {
        supervisorHelloTestReceive(hellos[n]);
        expectRecord("");
    }
    static const char nul[] = "127.0.0.1,26380," ID_A ",0,m\0,127.0.0.1,6379,0";
    supervisorProcessHello(&recorded_supervisor, strN(nul, sizeof nul - 1), recorded_supervisor.now_ms);
    supervisorProcessHello(&recorded_supervisor, strN(NULL, 0), recorded_supervisor.now_ms);
    expectRecord("");
    assert_int_equal(supervisorHelloTestPrimary()->p.sentinels.count, 0);
}

int main(void) {
#define TEST(f) cmocka_unit_test_setup_teardown(f, recorderSetup, recorderTeardown)
    const struct CMUnitTest tests[] = {
        TEST(supervisorHelloTestContents),
        TEST(contents_with_names),
        TEST(contents_in_a_failover),
        TEST(supervisorHelloTestForced),
        TEST(a_new_sentinel),
        TEST(one_link_for_two_primaries),
        TEST(supervisorHelloTestOurselves),
        TEST(supervisorHelloTestMoved),
        TEST(moved_and_known_once),
        TEST(supervisorHelloTestReplaced),
        TEST(address_that_does_not_resolve),
        TEST(supervisorHelloTestEpochs),
        TEST(newer_configuration),
        TEST(newer_configuration_that_changes_nothing),
        TEST(newer_configuration_of_nowhere),
        TEST(questionAboutNameThatDoesNotResolve),
        TEST(newer_configuration_in_a_failover),
        TEST(hello_from_a_removed_replica),
        TEST(supervisorHelloTestInvalid),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
