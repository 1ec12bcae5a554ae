/* SPDX-License-Identifier: BSD-3-Clause */
/* supervisor_links_test.c - channels of a supervisor with a recording environment: what is sent on them, in
 * which order and when; when they are closed; effects of replies. */
#include "tests/sim/sentinel_recorder.h"

static struct instance *supervisorLinksTestPrimary(void) {
    return recorded_supervisor.primaries.items[0];
}

static struct instance *supervisorLinksTestAddReplica(int port) {
    char line[64];
    snprintf(line, sizeof line, "known-replica m 127.0.0.1 %d", port);
    assert_null(recorderConfigLine(line));
    return supervisorLinksTestPrimary()->p.replicas.items[supervisorLinksTestPrimary()->p.replicas.count - 1];
}

static struct instance *supervisorLinksTestAddSentinel(const char *of, int port, char letter) {
    char line[128], id[RUN_ID_LEN + 1];
    memset(id, letter, RUN_ID_LEN);
    id[RUN_ID_LEN] = '\0';
    snprintf(line, sizeof line, "known-sentinel %s 127.0.0.1 %d %s", of, port, id);
    assert_null(recorderConfigLine(line));
    const struct instances *sentinels = &supervisorFindPrimary(&recorded_supervisor, of)->p.sentinels;
    return sentinels->items[sentinels->count - 1];
}

/* Answers all outstanding requests as a healthy server with an empty INFO. */
static void answerAll(struct instance *i) {
    while (i->link->pending_count) {
        switch (i->link->pending[0].what) {
        case REQ_PING: recorderAnswer(i, "+PONG\r\n"); break;
        case REQ_INFO: recorderAnswer(i, "$0\r\n\r\n"); break;
        case REQ_PUBLISH: recorderAnswer(i, ":1\r\n"); break;
        default: recorderAnswer(i, "+OK\r\n"); break;
        }
    }
}

/* ---- Connecting ---- */

static void first_words(void **state) {
    (void)state;
    recorderTickAt(100);
    expectRecord("connect 6379 cmd\n"
                 "6379 cmd> CLIENT SETNAME sentinel-mmmmmmmm-cmd\n"
                 "6379 cmd> PING\n"
                 "connect 6379 pubsub\n"
                 "6379 pubsub> CLIENT SETNAME sentinel-mmmmmmmm-pubsub\n"
                 "6379 pubsub> SUBSCRIBE __sentinel__:hello\n"
                 "6379 cmd> INFO\n");
    assert_int_equal(supervisorLinksTestPrimary()->link->pending_count, 3);
}

static void credentials_of_servers(void **state) {
    (void)state;
    assert_null(recorderConfigLine("auth-pass m secret"));
    recorderTickAt(100);
    expectRecord("connect 6379 cmd\n"
                 "6379 cmd> AUTH secret\n"
                 "6379 cmd> CLIENT SETNAME sentinel-mmmmmmmm-cmd\n"
                 "6379 cmd> PING\n"
                 "connect 6379 pubsub\n"
                 "6379 pubsub> AUTH secret\n"
                 "6379 pubsub> CLIENT SETNAME sentinel-mmmmmmmm-pubsub\n"
                 "6379 pubsub> SUBSCRIBE __sentinel__:hello\n"
                 "6379 cmd> INFO\n");
    assert_null(recorderConfigLine("auth-user m joe"));
    supervisorLinksTestAddReplica(6380);
    recorderTickAt(200);
    answerAll(supervisorLinksTestPrimary());
    assert_non_null(strstr(recorder.text, "6380 cmd> AUTH joe secret\n6380 cmd> CLIENT SETNAME"));
    assert_non_null(strstr(recorder.text, "6380 pubsub> AUTH joe secret\n6380 pubsub> CLIENT SETNAME"));
}

/* A user without a password is ignored. */
static void no_credentials(void **state) {
    (void)state;
    assert_null(recorderConfigLine("auth-user m joe"));
    recorderTickAt(100);
    assert_null(strstr(recorder.text, "AUTH"));
}

/* Returns what is sent when the link is opened anew. */
static const char *openingOf(struct instance *sentinel) {
    supervisorDropSentinelLinks(&recorded_supervisor);
    recorderForget();
    sentinel->link->reconnect_ms = 0;
    peerLinkTick(&recorded_supervisor, sentinel);
    return recorder.text;
}

static void credentials_of_sentinels(void **state) {
    (void)state;
    struct instance *peer = supervisorLinksTestAddSentinel("m", 26380, 'a');
    assert_null(recorderConfigLine("auth-pass m secret"));
    assert_string_equal(openingOf(peer), "connect 26380 cmd\n"
                                         "26380 cmd> CLIENT SETNAME sentinel-mmmmmmmm-cmd\n"
                                         "26380 cmd> PING\n");
    recorded_supervisor.settings.own_password = sdsnew("own");
    assert_string_equal(openingOf(peer), "connect 26380 cmd\n"
                                         "26380 cmd> AUTH own\n"
                                         "26380 cmd> CLIENT SETNAME sentinel-mmmmmmmm-cmd\n"
                                         "26380 cmd> PING\n");
    assert_null(recorderConfigLine("sentinel-user joe"));
    assert_non_null(strstr(openingOf(peer), "26380 cmd> AUTH own\n"));
    assert_null(recorderConfigLine("sentinel-pass theirs"));
    assert_non_null(strstr(openingOf(peer), "26380 cmd> AUTH joe theirs\n"));
}

static void renamed_commands(void **state) {
    (void)state;
    assert_null(recorderConfigLine("rename-command m ping tap"));
    assert_null(recorderConfigLine("rename-command m SubScribe listen"));
    assert_null(recorderConfigLine("rename-command m CLIENT guest"));
    recorderTickAt(100);
    expectRecord("connect 6379 cmd\n"
                 "6379 cmd> guest SETNAME sentinel-mmmmmmmm-cmd\n"
                 "6379 cmd> tap\n"
                 "connect 6379 pubsub\n"
                 "6379 pubsub> guest SETNAME sentinel-mmmmmmmm-pubsub\n"
                 "6379 pubsub> listen __sentinel__:hello\n"
                 "6379 cmd> INFO\n");
}

static void port_zero_is_nowhere(void **state) {
    (void)state;
    supervisorLinksTestPrimary()->address.port = 0;
    recorderTickAt(100);
    expectRecord("");
    assert_true(instanceIsDisconnected(supervisorLinksTestPrimary()));
}

static void refused_is_tried_once_a_second(void **state) {
    (void)state;
    recorder.refuse_connect = true;
    recorderTickAt(100);
    expectRecord("-cmd-link-reconnection master m 127.0.0.1 6379 #No way\n"
                 "-pubsub-link-reconnection master m 127.0.0.1 6379 #No way\n");
    recorderTickAt(1099);
    expectRecord("");
    recorderTickAt(1100);
    expectRecord("-cmd-link-reconnection master m 127.0.0.1 6379 #No way\n"
                 "-pubsub-link-reconnection master m 127.0.0.1 6379 #No way\n");
}

/* A name is resolved again at each attempt; if that fails, the last IP is used. */
static void names_are_resolved_again(void **state) {
    (void)state;
    assert_null(recorderConfigLine("resolve-hostnames yes"));
    assert_null(recorderConfigLine("monitor other host1 7000 1"));
    assert_null(recorderConfigLine("monitor nobody nowhere 7001 1"));
    struct instance *other = supervisorFindPrimary(&recorded_supervisor, "other"),
                    *nobody = supervisorFindPrimary(&recorded_supervisor, "nobody");
    assert_string_equal(other->address.ip, "10.1.1.1");
    snprintf(other->address.ip, HOST_IP_LEN, "10.9.9.9");
    recorderForget();
    recorderTickAt(100);
    assert_string_equal(other->address.ip, "10.1.1.1");
    assert_non_null(strstr(recorder.text, "connect 7000 cmd\n"));
    assert_string_equal(nobody->address.ip, "");
    assert_null(strstr(recorder.text, "connect 7001"));
}

/* ---- Periodic requests ---- */

static void supervisorLinksTestPeriods(void **state) {
    (void)state;
    recorderTickAt(0);
    answerAll(supervisorLinksTestPrimary());
    recorderForget();
    int pings = 0, infos = 0, hellos = 0;
    for (int ms = 100; ms <= 60000; ms += 100) {
        recorderTickAt(ms);
        if (recorder.text) {
            pings += strstr(recorder.text, "PING\n") != NULL;
            infos += strstr(recorder.text, "INFO\n") != NULL;
            hellos += strstr(recorder.text, "PUBLISH") != NULL;
        }
        answerAll(supervisorLinksTestPrimary());
        supervisorLinksTestPrimary()->link->pubsub_received_ms = recorded_supervisor.now_ms;
        recorderForget();
    }
    assert_in_range(pings, 53, 60);
    assert_in_range(infos, 5, 6);
    assert_in_range(hellos, 27, 30);
}

static void short_patience_pings_often(void **state) {
    (void)state;
    assert_null(recorderConfigLine("down-after-milliseconds m 300"));
    recorderTickAt(0);
    answerAll(supervisorLinksTestPrimary());
    recorderForget();
    int pings = 0;
    for (int ms = 100; ms <= 10000; ms += 100) {
        recorderTickAt(ms);
        pings += recorder.text && strstr(recorder.text, "PING\n");
        answerAll(supervisorLinksTestPrimary());
        recorderForget();
    }
    assert_in_range(pings, 24, 34);
}

/* While there are no replies, requests are repeated at each tick up to a limit;
 * PINGs at every half period. */
static void supervisorLinksTestUnanswered(void **state) {
    (void)state;
    recorderTickAt(0);
    for (int ms = 100; ms <= 14000; ms += 100) recorderTickAt(ms);
    assert_in_range(supervisorLinksTestPrimary()->link->pending_count, 100, 103);
    recorderForget();
    recorderTickAt(14100);
    expectRecord("");
}

/* On a shared link each owner may have as many outstanding requests as on its own. */
static void unanswered_on_a_shared_link(void **state) {
    (void)state;
    assert_null(recorderConfigLine("monitor n 127.0.0.1 6479 2"));
    struct instance *one = supervisorLinksTestAddSentinel("m", 26380, 'a'),
                    *two = supervisorLinksTestAddSentinel("n", 26380, 'a');
    recorderTickAt(0);
    for (int n = 0; n < 150; n++)
        instanceSend(&recorded_supervisor, one, REQ_OTHER, 1, (struct str[]){STR("PING")});
    assert_true(instanceMaySend(one) && instanceMaySend(two));
    for (int n = 0; n < 50; n++)
        instanceSend(&recorded_supervisor, two, REQ_OTHER, 1, (struct str[]){STR("PING")});
    assert_false(instanceMaySend(one) || instanceMaySend(two));
}

static void a_refused_hello_is_none(void **state) {
    (void)state;
    recorderTickAt(0);
    answerAll(supervisorLinksTestPrimary());
    supervisorLinksTestPrimary()->hello_sent_ms = 0;
    assert_true(helloSend(&recorded_supervisor, supervisorLinksTestPrimary()));
    recorderAnswer(supervisorLinksTestPrimary(), "-NOPERM no such channel for you\r\n");
    assert_int_equal(supervisorLinksTestPrimary()->hello_sent_ms, 0);
    assert_true(helloSend(&recorded_supervisor, supervisorLinksTestPrimary()));
    recorderAnswer(supervisorLinksTestPrimary(), ":0\r\n");
    assert_int_equal(supervisorLinksTestPrimary()->hello_sent_ms, recorded_supervisor.now_ms);
}

static bool supervisorLinksTestAsksForInfo(struct instance *i) {
    i->info_ms = recorded_supervisor.now_ms - 1001;
    i->link->pending_count = 0;
    recorderForget();
    periodicTick(&recorded_supervisor, i);
    return recorder.text && strstr(recorder.text, "cmd> INFO\n");
}

static void info_every_second_under_pressure(void **state) {
    (void)state;
    struct instance *replica = supervisorLinksTestAddReplica(6380);
    recorderTickAt(0);
    assert_false(supervisorLinksTestAsksForInfo(replica));
    replica->r.link_down_ms = 1000;
    assert_true(supervisorLinksTestAsksForInfo(replica));
    replica->r.link_down_ms = 0;
    supervisorLinksTestPrimary()->flags = FLAG_O_DOWN;
    assert_true(supervisorLinksTestAsksForInfo(replica));
    assert_false(supervisorLinksTestAsksForInfo(supervisorLinksTestPrimary()));
    supervisorLinksTestPrimary()->flags = FLAG_FAILOVER_IN_PROGRESS;
    assert_true(supervisorLinksTestAsksForInfo(replica));
    supervisorLinksTestPrimary()->flags = 0;
    assert_false(supervisorLinksTestAsksForInfo(replica));
}

static void hellos_held_back(void **state) {
    (void)state;
    recorderTickAt(0);
    answerAll(supervisorLinksTestPrimary());
    supervisorLinksTestPrimary()->hello_sent_ms = 0;
    supervisorLinksTestPrimary()->flags |= FLAG_FAILOVER_IN_PROGRESS | FLAG_COORDINATED;
    supervisorLinksTestPrimary()->p.handing_over = true;
    supervisorLinksTestPrimary()->p.failover_state = FAILOVER_WAIT_PROMOTION;
    recorderForget();
    periodicTick(&recorded_supervisor, supervisorLinksTestPrimary());
    expectRecord("");
    supervisorLinksTestPrimary()->p.failover_state = FAILOVER_RECONF_REPLICAS;
    supervisorLinksTestPrimary()->failing_over = true;
    periodicTick(&recorded_supervisor, supervisorLinksTestPrimary());
    expectRecord("");
    supervisorLinksTestPrimary()->failing_over = false;
    recorder.no_own_ip = true;
    periodicTick(&recorded_supervisor, supervisorLinksTestPrimary());
    expectRecord("");
    recorder.no_own_ip = false;
    periodicTick(&recorded_supervisor, supervisorLinksTestPrimary());
    expectRecord("6379 cmd> PUBLISH __sentinel__:hello 10.0.0.9,26379," TEST_MYID ",0,m,127.0.0.1,6379,0\n");
    supervisorLinksTestPrimary()->flags = 0;
    supervisorLinksTestPrimary()->p.failover_state = FAILOVER_NONE;
}

/* ---- Closing dead channels ---- */

static void silent_command_channel(void **state) {
    (void)state;
    assert_null(recorderConfigLine("down-after-milliseconds m 8000"));
    recorderTickAt(0);
    answerAll(supervisorLinksTestPrimary());
    supervisorLinksTestPrimary()->link->pubsub_received_ms = TEST_NOW + 60000;
    for (int ms = 500; ms <= 15000; ms += 500) {
        recorderTickAt(ms);
        if (ms < 11000) answerAll(supervisorLinksTestPrimary());
    }
    recorderForget();
    recorderTickAt(15001); /* old enough, but an answer came less than 4 s ago */
    assert_true(!recorder.text || !strstr(recorder.text, "close"));
    recorderForget();
    recorderTickAt(16100);
    assert_non_null(strstr(recorder.text, "close 6379 cmd\nconnect 6379 cmd\n"));
    assert_null(strstr(recorder.text, "pubsub"));
}

static void silent_pubsub_channel(void **state) {
    (void)state;
    recorderTickAt(0);
    answerAll(supervisorLinksTestPrimary());
    supervisorLinksTestPrimary()->link->pubsub_received_ms = TEST_NOW + 9000;
    for (int ms = 500; ms <= 15000; ms += 500) {
        recorderTickAt(ms);
        answerAll(supervisorLinksTestPrimary());
    }
    assert_null(strstr(recorder.text, "close"));
    recorderForget();
    recorderTickAt(15001);
    assert_non_null(strstr(recorder.text, "close 6379 pubsub\nconnect 6379 pubsub\n"));
    assert_null(strstr(recorder.text, "connect 6379 cmd"));
}

/* Input that arrived while this process stood still waits to be read. */
static void nothing_closed_in_tilt(void **state) {
    (void)state;
    recorderTickAt(0);
    recorderTickAt(60000);
    assert_true(recorded_supervisor.tilt);
    assert_null(strstr(recorder.text, "close"));
}

static void supervisorLinksTestBroken(void **state) {
    (void)state;
    recorderTickAt(0);
    recorderForget();
    supervisorOnChannelDown(&recorded_supervisor, supervisorLinksTestPrimary()->link, CHANNEL_COMMAND,
                            "Connection reset", TEST_NOW + 100);
    assert_true(instanceIsDisconnected(supervisorLinksTestPrimary()));
    assert_int_equal(supervisorLinksTestPrimary()->link->pending_count, 0);
    recorderTickAt(900);
    expectRecord("");
    recorderTickAt(1000);
    assert_non_null(strstr(recorder.text, "connect 6379 cmd\n"));
    assert_null(strstr(recorder.text, "connect 6379 pubsub\n"));
    assert_false(instanceIsDisconnected(supervisorLinksTestPrimary()));
}

static void supervisorLinksTestDropped(void **state) {
    (void)state;
    supervisorLinksTestAddReplica(6380);
    supervisorLinksTestAddSentinel("m", 26380, 'a');
    recorderTickAt(0);
    recorderForget();
    supervisorDropLinks(&recorded_supervisor, supervisorLinksTestPrimary());
    expectRecord("close 6379 cmd\nclose 6379 pubsub\nclose 6380 cmd\nclose 6380 pubsub\n");
    supervisorDropSentinelLinks(&recorded_supervisor);
    expectRecord("close 26380 cmd\n");
    assert_int_equal(supervisorLinksTestPrimary()->link->pending_count, 0); /* their replies will not come */
}

/* ---- Shared links ---- */

static void sentinels_share_a_link(void **state) {
    (void)state;
    assert_null(recorderConfigLine("monitor n 127.0.0.1 6479 2"));
    struct instance *one = supervisorLinksTestAddSentinel("m", 26380, 'a'),
                    *two = supervisorLinksTestAddSentinel("n", 26380, 'a'),
                    *three = supervisorLinksTestAddSentinel("n", 26381, 'b');
    assert_ptr_equal(one->link, two->link);
    assert_ptr_not_equal(one->link, three->link);
    assert_int_equal(one->link->owner_count, 2);
    recorderTickAt(0);
    assert_null(strstr(strstr(recorder.text, "connect 26380") + 1, "connect 26380"));
    answerAll(one);
    recorderForget();
    instanceRemove(&recorded_supervisor, one);
    expectRecord("");
    assert_int_equal(two->link->owner_count, 1);
    instanceRemove(&recorded_supervisor, two);
    expectRecord("close 26380 cmd\n");
}

/* A reply for a removed instance is ignored. */
static void replies_find_their_instance(void **state) {
    (void)state;
    assert_null(recorderConfigLine("monitor n 127.0.0.1 6479 2"));
    struct instance *one = supervisorLinksTestAddSentinel("m", 26380, 'a'),
                    *two = supervisorLinksTestAddSentinel("n", 26380, 'a');
    recorderTickAt(0);
    answerAll(one);
    one->hello_sent_ms = two->hello_sent_ms = 0;
    periodicTick(&recorded_supervisor, one);
    periodicTick(&recorded_supervisor, two);
    assert_int_equal(two->link->pending_count, 2);
    instanceRemove(&recorded_supervisor, one);
    recorderAnswer(two, ":1\r\n");
    assert_int_equal(two->hello_sent_ms, 0);
    recorderAnswer(two, ":1\r\n");
    assert_int_equal(two->hello_sent_ms, recorded_supervisor.now_ms);
    recorderAnswer(two, ":1\r\n"); /* no request is outstanding */
}

/* ---- Replies to PING ---- */

static void ping_answers(void **state) {
    (void)state;
    static const struct {
        const char *wire;
        bool alive;
    } answers[] = {{"+PONG\r\n", true},
                   {"-LOADING Valkey is loading\r\n", true},
                   {"-MASTERDOWN Link is down\r\n", true},
                   {"-BUSY running a script\r\n", false},
                   {"-NOAUTH Authentication required.\r\n", false},
                   {"+PON\r\n", false},
                   {"$4\r\nPONG\r\n", false},
                   {"*1\r\n+PONG\r\n", false},
                   {"$-1\r\n", false},
                   {":1\r\n", false}};
    recorderTickAt(0);
    recorderAnswer(supervisorLinksTestPrimary(), "+OK\r\n");
    for (size_t n = 0; n < sizeof answers / sizeof *answers; n++) {
        struct peerLink *link = supervisorLinksTestPrimary()->link;
        link->pending_count = 1;
        link->pending[0] = (struct pendingReply){REQ_PING, supervisorLinksTestPrimary()->id};
        link->ping_ms = link->good_pong_ms = link->pong_ms = TEST_NOW - 5000;
        recorderAnswer(supervisorLinksTestPrimary(), answers[n].wire);
        assert_int_equal(link->pong_ms, TEST_NOW);
        assert_int_equal(link->good_pong_ms, answers[n].alive ? TEST_NOW : TEST_NOW - 5000);
        assert_int_equal(link->ping_ms, answers[n].alive ? 0 : TEST_NOW - 5000);
    }
    recorderForget();
}

static void busy_and_down_gets_one_script_kill(void **state) {
    (void)state;
    recorderTickAt(0);
    recorderForget();
    struct peerLink *link = supervisorLinksTestPrimary()->link;
    for (int n = 0; n < 3; n++) {
        link->pending_count = 1;
        link->pending[0] = (struct pendingReply){REQ_PING, supervisorLinksTestPrimary()->id};
        recorderAnswer(supervisorLinksTestPrimary(), "-BUSY a script\r\n");
        if (n == 0) expectRecord("");
        if (n == 1) expectRecord("6379 cmd> SCRIPT KILL\n");
        if (n == 2) expectRecord("");
        supervisorLinksTestPrimary()->flags |= FLAG_S_DOWN;
    }
}

static void supervisorLinksTestMessages(void **state) {
    (void)state;
    static const char *const odd[] = {"*3\r\n$9\r\nsubscribe\r\n$18\r\n__sentinel__:hello\r\n:1\r\n",
                                      "+OK\r\n",
                                      "*0\r\n",
                                      "*-1\r\n",
                                      "$-1\r\n",
                                      "*3\r\n$7\r\nmessage\r\n$-1\r\n$-1\r\n",
                                      "*3\r\n*0\r\n*0\r\n*0\r\n",
                                      "*4\r\n$8\r\npmessage\r\n$1\r\n*\r\n$1\r\nx\r\n$1\r\ny\r\n"};
    recorderTickAt(0);
    recorderForget();
    for (size_t n = 0; n < sizeof odd / sizeof *odd; n++) {
        struct respReply message;
        assert_int_equal(respReadReply(odd[n], strlen(odd[n]), &message), strlen(odd[n]));
        supervisorProcessMessage(&recorded_supervisor, supervisorLinksTestPrimary()->link, &message,
                                 TEST_NOW + 100 + (int64_t)n);
        respReplyFree(&message);
        assert_int_equal(supervisorLinksTestPrimary()->link->pubsub_received_ms, TEST_NOW + 100 + (int64_t)n);
    }
    expectRecord("");
}

int main(void) {
#define TEST(f) cmocka_unit_test_setup_teardown(f, recorderSetup, recorderTeardown)
    const struct CMUnitTest tests[] = {
        TEST(first_words),
        TEST(credentials_of_servers),
        TEST(no_credentials),
        TEST(credentials_of_sentinels),
        TEST(renamed_commands),
        TEST(port_zero_is_nowhere),
        TEST(refused_is_tried_once_a_second),
        TEST(names_are_resolved_again),
        TEST(supervisorLinksTestPeriods),
        TEST(short_patience_pings_often),
        TEST(supervisorLinksTestUnanswered),
        TEST(unanswered_on_a_shared_link),
        TEST(a_refused_hello_is_none),
        TEST(info_every_second_under_pressure),
        TEST(hellos_held_back),
        TEST(silent_command_channel),
        TEST(silent_pubsub_channel),
        TEST(nothing_closed_in_tilt),
        TEST(supervisorLinksTestBroken),
        TEST(supervisorLinksTestDropped),
        TEST(sentinels_share_a_link),
        TEST(replies_find_their_instance),
        TEST(ping_answers),
        TEST(busy_and_down_gets_one_script_kill),
        TEST(supervisorLinksTestMessages),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
