/* SPDX-License-Identifier: BSD-3-Clause */
/* supervisor_hello_test.c - hellos: what a supervisor says in them, whom it meets by them, whom it believes,
 * and what it does about those that make no sense. */
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

static void supervisorHelloTestHear(const char *hello) {
    supervisorProcessHello(&recorded_supervisor, strOf(hello), recorded_supervisor.now_ms);
}

/* ---- What is said ---- */

static void supervisorHelloTestSaid(void **state) {
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

static void said_with_names(void **state) {
    (void)state;
    assert_null(recorderConfigLine("resolve-hostnames yes"));
    assert_null(recorderConfigLine("announce-hostnames yes"));
    assert_null(recorderConfigLine("monitor n host1 6479 1"));
    recorderTickAt(0);
    recorderForget();
    assert_true(helloSend(&recorded_supervisor, supervisorFindPrimary(&recorded_supervisor, "n")));
    expectRecord("6479 cmd> PUBLISH __sentinel__:hello 10.0.0.9,26379," TEST_MYID ",0,n,host1,6479,0\n");
}

/* Once the promoted replica is one, it is what is told. */
static void said_in_a_failover(void **state) {
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

/* ---- Who says it ---- */

static void a_new_sentinel(void **state) {
    (void)state;
    supervisorHelloTestHear("127.0.0.1,26380," ID_A ",0,m,127.0.0.1,6379,0");
    expectRecord("+sentinel sentinel " ID_A " 127.0.0.1 26380 @ m 127.0.0.1 6379\nsave\n");
    assert_int_equal(supervisorHelloTestPrimary()->p.sentinels.count, 1);
    assert_string_equal(sentinelOf(supervisorHelloTestPrimary(), 0)->run_id, ID_A);
    recorded_supervisor.now_ms += 500;
    supervisorHelloTestHear("127.0.0.1,26380," ID_A ",0,m,127.0.0.1,6379,0");
    expectRecord("");
    assert_int_equal(sentinelOf(supervisorHelloTestPrimary(), 0)->s.hello_ms, recorded_supervisor.now_ms);
}

static void who_watches_two_has_one_link(void **state) {
    (void)state;
    assert_null(recorderConfigLine("monitor n 127.0.0.1 6479 2"));
    supervisorHelloTestHear("127.0.0.1,26380," ID_A ",0,m,127.0.0.1,6379,0");
    supervisorHelloTestHear("127.0.0.1,26380," ID_A ",0,n,127.0.0.1,6479,0");
    struct instance *n = supervisorFindPrimary(&recorded_supervisor, "n");
    assert_ptr_equal(sentinelOf(supervisorHelloTestPrimary(), 0)->link, sentinelOf(n, 0)->link);
}

static void supervisorHelloTestOurselves(void **state) {
    (void)state;
    supervisorHelloTestHear("127.0.0.1,26380," TEST_MYID ",9,m,127.0.0.1,6380,9");
    expectRecord("");
    assert_int_equal(recorded_supervisor.current_epoch, 0);
}

static void supervisorHelloTestMoved(void **state) {
    (void)state;
    assert_null(recorderConfigLine("monitor n 127.0.0.1 6479 2"));
    struct instance *n = supervisorFindPrimary(&recorded_supervisor, "n");
    supervisorHelloTestHear("127.0.0.1,26380," ID_A ",0,m,127.0.0.1,6379,0");
    supervisorHelloTestHear("127.0.0.1,26380," ID_A ",0,n,127.0.0.1,6479,0");
    recorderTickAt(0);
    recorderForget();
    supervisorHelloTestHear("127.0.0.1,26381," ID_A ",0,m,127.0.0.1,6379,0");
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
    supervisorHelloTestHear("127.0.0.1,26380," ID_A ",0,m,127.0.0.1,6379,0");
    recorderForget();
    supervisorHelloTestHear("127.0.0.2,26380," ID_A ",0,m,127.0.0.1,6379,0");
    expectRecord("+sentinel-address-switch master m 127.0.0.1 6379 ip 127.0.0.2 port 26380 for " ID_A
                 "\nsave\n");
}

/* Two cannot live at one address: who has been there is gone, for all primaries. */
static void supervisorHelloTestReplaced(void **state) {
    (void)state;
    assert_null(recorderConfigLine("monitor n 127.0.0.1 6479 2"));
    supervisorHelloTestHear("127.0.0.1,26380," ID_A ",0,m,127.0.0.1,6379,0");
    supervisorHelloTestHear("127.0.0.1,26380," ID_A ",0,n,127.0.0.1,6479,0");
    recorderForget();
    supervisorHelloTestHear("127.0.0.1,26380," ID_B ",0,m,127.0.0.1,6379,0");
    expectRecord("+sentinel-invalid-addr sentinel " ID_A " 127.0.0.1 26380 @ m 127.0.0.1 6379\n"
                 "+sentinel sentinel " ID_B " 127.0.0.1 26380 @ m 127.0.0.1 6379\nsave\n");
    assert_int_equal(supervisorFindPrimary(&recorded_supervisor, "n")->p.sentinels.count, 0);
    assert_int_equal(supervisorHelloTestPrimary()->p.sentinels.count, 1);
}

/* Who is known stays so, even if his new address cannot be found; and what he says counts. */
static void address_that_is_none(void **state) {
    (void)state;
    supervisorHelloTestHear("127.0.0.1,26380," ID_A ",0,m,127.0.0.1,6379,0");
    recorderForget();
    supervisorHelloTestHear("nowhere,26381," ID_A ",5,m,127.0.0.1,6390,5");
    assert_non_null(
        strstr(recorder.text, "log: The host name 'nowhere' could not be resolved\nsave\n+new-epoch 5\n"));
    assert_int_equal(sentinelOf(supervisorHelloTestPrimary(), 0)->address.port, 26380);
    assert_int_equal(supervisorHelloTestPrimary()->address.port, 6390);
    recorderForget();
    supervisorHelloTestHear("nowhere,26381," ID_B ",6,m,127.0.0.1,6391,6"); /* he is nobody */
    assert_int_equal(supervisorHelloTestPrimary()->p.sentinels.count, 1);
    assert_int_equal(supervisorHelloTestPrimary()->address.port, 6390);
    assert_int_equal(recorded_supervisor.current_epoch, 6);
}

/* ---- What he thinks ---- */

static void supervisorHelloTestEpochs(void **state) {
    (void)state;
    recorded_supervisor.current_epoch = 4;
    supervisorHelloTestHear("127.0.0.1,26380," ID_A ",4,m,127.0.0.1,6379,0");
    recorderForget();
    supervisorHelloTestHear("127.0.0.1,26380," ID_A ",5,m,127.0.0.1,6379,0");
    expectRecord("save\n+new-epoch 5\n");
    supervisorHelloTestHear("127.0.0.1,26380," ID_A ",3,m,127.0.0.1,6379,0");
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
    supervisorHelloTestHear("127.0.0.1,26380," ID_A ",0,m,127.0.0.1,6379,0");
    recorderForget();
    supervisorHelloTestHear("127.0.0.1,26380," ID_A ",0,m,127.0.0.1,6380,2"); /* of the same age */
    expectRecord("");
    supervisorHelloTestHear("127.0.0.1,26380," ID_A ",0,m,127.0.0.1,6380,3");
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
    supervisorHelloTestHear("127.0.0.1,26380," ID_A ",0,m,127.0.0.1,6379,0");
    recorderForget();
    supervisorHelloTestHear("127.0.0.1,26380," ID_A ",0,m,127.0.0.1,6379,8");
    expectRecord("save\n");
    assert_int_equal(supervisorHelloTestPrimary()->config_epoch, 8);
}

/* A newer configuration at an address that cannot be found is not taken: it will be said again. */
static void newer_configuration_of_nowhere(void **state) {
    (void)state;
    supervisorHelloTestHear("127.0.0.1,26380," ID_A ",0,m,127.0.0.1,6379,0");
    recorderForget();
    supervisorHelloTestHear("127.0.0.1,26380," ID_A ",0,m,nowhere,6380,8");
    expectRecord("log: The host name 'nowhere' could not be resolved\n");
    assert_null(recorderConfigLine("resolve-hostnames yes"));
    supervisorHelloTestHear("127.0.0.1,26380," ID_A ",0,m,nowhere,6380,8");
    supervisorHelloTestHear("nowhere,26381," ID_B ",0,m,127.0.0.1,6379,0");
    assert_int_equal(supervisorHelloTestPrimary()->config_epoch, 0);
    assert_int_equal(supervisorHelloTestPrimary()->p.sentinels.count, 1);
    recorderForget();
}

/* We have told the promoted replica's address already: a newer one, even the old, is another. */
static void newer_configuration_in_a_failover(void **state) {
    (void)state;
    assert_null(recorderConfigLine("known-replica m 127.0.0.1 6380"));
    struct instance *replica = supervisorHelloTestPrimary()->p.replicas.items[0];
    supervisorHelloTestHear("127.0.0.1,26380," ID_A ",0,m,127.0.0.1,6379,0");
    replica->flags = FLAG_PROMOTED;
    supervisorHelloTestPrimary()->p.promoted = replica;
    supervisorHelloTestPrimary()->p.failover_state = FAILOVER_RECONF_REPLICAS;
    supervisorHelloTestPrimary()->flags = FLAG_FAILOVER_IN_PROGRESS;
    supervisorHelloTestPrimary()->config_epoch = 3;
    recorderForget();
    supervisorHelloTestHear("127.0.0.1,26380," ID_A ",0,m,127.0.0.1,6379,4");
    expectRecord("+config-update-from sentinel " ID_A " 127.0.0.1 26380 @ m 127.0.0.1 6379\n"
                 "+switch-master m 127.0.0.1 6380 127.0.0.1 6379\n"
                 "+slave slave 127.0.0.1:6380 127.0.0.1 6380 @ m 127.0.0.1 6379\n"
                 "save\n");
    assert_int_equal(supervisorHelloTestPrimary()->p.failover_state, FAILOVER_NONE);
}

/* By pub/sub, on the channel of a replica that the switch takes away. */
static void heard_from_who_goes(void **state) {
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

/* ---- Nonsense ---- */

static void supervisorHelloTestNonsense(void **state) {
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
        supervisorHelloTestHear(hellos[n]);
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
        TEST(supervisorHelloTestSaid),
        TEST(said_with_names),
        TEST(said_in_a_failover),
        TEST(supervisorHelloTestForced),
        TEST(a_new_sentinel),
        TEST(who_watches_two_has_one_link),
        TEST(supervisorHelloTestOurselves),
        TEST(supervisorHelloTestMoved),
        TEST(moved_and_known_once),
        TEST(supervisorHelloTestReplaced),
        TEST(address_that_is_none),
        TEST(supervisorHelloTestEpochs),
        TEST(newer_configuration),
        TEST(newer_configuration_that_changes_nothing),
        TEST(newer_configuration_of_nowhere),
        TEST(newer_configuration_in_a_failover),
        TEST(heard_from_who_goes),
        TEST(supervisorHelloTestNonsense),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
