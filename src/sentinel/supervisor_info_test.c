/* SPDX-License-Identifier: BSD-3-Clause */
/* supervisor_info_test.c - INFO of primaries and replicas: what a supervisor learns from it, invalid
 * contents, and repairs. */
#include "tests/sim/sentinel_recorder.h"

#define ID_1 "1111111111111111111111111111111111111111"
#define ID_2 "2222222222222222222222222222222222222222"

static struct instance *supervisorInfoTestPrimary(void) {
    return recorded_supervisor.primaries.items[0];
}

/* A primary and a replica at 6380, both connected. */
static struct instance *replica;
static int supervisorInfoTestSetup(void **state) {
    recorderSetup(state);
    assert_null(recorderConfigLine("known-replica m 127.0.0.1 6380"));
    replica = supervisorInfoTestPrimary()->p.replicas.items[0];
    recorderTickAt(0);
    recorderForget();
    return 0;
}

static void supervisorInfoTestReceive(struct instance *i, const char *text) {
    infoProcess(&recorded_supervisor, i, strOf(text));
}

static void supervisorInfoTestReceiveAt(int64_t since_start_ms, struct instance *i, const char *text) {
    recorded_supervisor.now_ms = TEST_NOW + since_start_ms;
    supervisorInfoTestReceive(i, text);
}

#define FOLLOWS "role:slave\r\nmaster_host:127.0.0.1\r\nmaster_port:6379\r\nmaster_link_status:up\r\n"

/* ---- Fields ---- */

static void run_ids(void **state) {
    (void)state;
    supervisorInfoTestReceive(supervisorInfoTestPrimary(), "run_id:" ID_1 "\r\n");
    assert_string_equal(supervisorInfoTestPrimary()->run_id, ID_1);
    supervisorInfoTestReceive(supervisorInfoTestPrimary(), "run_id:short\r\n");
    supervisorInfoTestReceive(supervisorInfoTestPrimary(), "run_id:\r\n");
    infoProcess(&recorded_supervisor, supervisorInfoTestPrimary(),
                strN("run_id:" ID_2, strlen("run_id:") + RUN_ID_LEN - 1));
    supervisorInfoTestReceive(supervisorInfoTestPrimary(),
                              "run_id:!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!\r\n");
    assert_string_equal(supervisorInfoTestPrimary()->run_id, ID_1);
    expectRecord("");
    supervisorInfoTestReceive(supervisorInfoTestPrimary(), "run_id:" ID_2 "more\r\n");
    assert_string_equal(supervisorInfoTestPrimary()->run_id, ID_2);
    expectRecord("+reboot master m 127.0.0.1 6379\n");
    assert_int_equal(supervisorInfoTestPrimary()->flags, 0);
    supervisorInfoTestReceive(replica, "run_id:" ID_1);
    supervisorInfoTestReceive(replica, "run_id:" ID_2);
    expectRecord("+reboot slave 127.0.0.1:6380 127.0.0.1 6380 @ m 127.0.0.1 6379\n");
}

static void reboots_are_marked_where_wanted(void **state) {
    (void)state;
    assert_null(recorderConfigLine("primary-reboot-down-after-period m 5000"));
    supervisorInfoTestReceive(replica, "run_id:" ID_1 "\n");
    supervisorInfoTestReceive(replica, "run_id:" ID_2 "\n");
    assert_int_equal(replica->flags, 0);
    supervisorInfoTestReceive(supervisorInfoTestPrimary(), "run_id:" ID_1 "\n");
    assert_int_equal(supervisorInfoTestPrimary()->flags, 0);
    supervisorInfoTestReceiveAt(500, supervisorInfoTestPrimary(), "run_id:" ID_2 "\n");
    assert_int_equal(supervisorInfoTestPrimary()->flags, FLAG_REBOOT);
    assert_int_equal(supervisorInfoTestPrimary()->reboot_ms, TEST_NOW + 500);
    recorderAnswer(supervisorInfoTestPrimary(), "+OK\r\n");
    recorderAnswer(supervisorInfoTestPrimary(), "+PONG\r\n");
    assert_int_equal(supervisorInfoTestPrimary()->flags, 0);
}

static void replicas_of_a_primary(void **state) {
    (void)state;
    supervisorInfoTestReceive(supervisorInfoTestPrimary(),
                              "role:master\r\n"
                              "slave0:ip=127.0.0.1,port=6380,state=online,offset=1,lag=0\r\n"
                              "slave1:ip=127.0.0.1,port=6381,state=online,offset=1,lag=0\r\n"
                              "slave2:127.0.0.2,6382,online\r\n"
                              "slave3:port=6383,state=wait_bgsave,ip=::1\r\n"
                              "slave14:ip=127.0.0.1,port=0\r\n");
    expectRecord("+slave slave 127.0.0.1:6381 127.0.0.1 6381 @ m 127.0.0.1 6379\nsave\n"
                 "+slave slave 127.0.0.2:6382 127.0.0.2 6382 @ m 127.0.0.1 6379\nsave\n"
                 "+slave slave [::1]:6383 ::1 6383 @ m 127.0.0.1 6379\nsave\n"
                 "+slave slave 127.0.0.1:0 127.0.0.1 0 @ m 127.0.0.1 6379\nsave\n");
    assert_int_equal(supervisorInfoTestPrimary()->p.replicas.count, 5);
    supervisorInfoTestReceive(supervisorInfoTestPrimary(),
                              "slave0:ip=127.0.0.1,port=6379\r\n"); /* no server replicates itself */
    supervisorInfoTestReceive(supervisorInfoTestPrimary(),
                              "slave0:ip=127.0.0.1,port=6381\r\nslave0:127.0.0.2,6382,x\r\n");
    expectRecord("");
    /* A replica's are ignored. */
    supervisorInfoTestReceive(replica, "role:slave\r\nslave0:ip=127.0.0.1,port=6390\r\n");
    assert_int_equal(supervisorInfoTestPrimary()->p.replicas.count, 5);
}

static void replicas_that_make_no_sense(void **state) {
    (void)state;
    static const char *const lines[] = {"slave0:",
                                        "slave0",
                                        "slave",
                                        "slavex:ip=127.0.0.1,port=6390",
                                        "slave0:ip=127.0.0.1",
                                        "slave0:port=6390",
                                        "slave0:ip=,port=6390",
                                        "slave0:ip=127.0.0.1,port=",
                                        "slave0:ip=127.0.0.1,port=65536",
                                        "slave0:ip=127.0.0.1,port=-1",
                                        "slave0:ip=127.0.0.1,port=99999999999999999999",
                                        "slave0:ip=127.0.0.1,port=6390x",
                                        "slave0:,,,,",
                                        "slave0:127.0.0.1",
                                        "slave0:127.0.0.1,",
                                        "slave0:,6390,online",
                                        "slave0:ip=a b,port=6390",
                                        "slave0:ip=nowhere,port=6390",
                                        "slave0:ip=127.0.0.1\t,port=6390"};
    for (size_t n = 0; n < sizeof lines / sizeof *lines; n++) {
        supervisorInfoTestReceive(supervisorInfoTestPrimary(), lines[n]);
        if (recorder.text) assert_null(strstr(recorder.text, "+slave"));
        recorderForget();
    }
    assert_int_equal(supervisorInfoTestPrimary()->p.replicas.count, 1);
    char nul[] = "slave0:ip=127.0.0.1\0,port=6390";
    infoProcess(&recorded_supervisor, supervisorInfoTestPrimary(), strN(nul, sizeof nul - 1));
    assert_true(supervisorInfoTestPrimary()->p.replicas.count <= 2);
}

static void fields_of_a_replica(void **state) {
    (void)state;
    supervisorInfoTestReceive(
        replica, "role:slave\r\nmaster_host:10.0.0.7\r\nmaster_port:7000\r\nmaster_link_status:down\r\n"
                 "slave_priority:25\r\nslave_repl_offset:9007199254740993\r\nreplica_announced:0\r\n"
                 "master_link_down_since_seconds:12\r\nmaster_failover_state:no-failover\r\n");
    struct sentinelReplicaState *r = &replica->r;
    assert_string_equal(r->primary_host, "10.0.0.7");
    assert_int_equal(r->primary_port, 7000);
    assert_false(r->link_up);
    assert_int_equal(r->priority, 25);
    assert_int_equal(r->repl_offset, 9007199254740993ULL);
    assert_false(r->announced);
    assert_int_equal(r->link_down_ms, 12000);
    assert_false(replica->failing_over);
    assert_int_equal(replica->info_ms, TEST_NOW);
    supervisorInfoTestReceive(replica, FOLLOWS
                              "replica_announced:1\r\nmaster_failover_state:failover-in-progress\r\n");
    assert_true(r->link_up && r->announced && replica->failing_over);
    assert_int_equal(r->link_down_ms, 0);
    supervisorInfoTestReceive(replica, FOLLOWS);
    assert_false(replica->failing_over);
    assert_string_equal(replica->info, FOLLOWS);
    expectRecord("");
}

static void numbers_at_their_edges(void **state) {
    (void)state;
    struct sentinelReplicaState *r = &replica->r;
    supervisorInfoTestReceive(
        replica,
        "role:slave\nmaster_port:65536\nslave_priority:2147483648\n"
        "slave_repl_offset:9223372036854775807\nmaster_link_down_since_seconds:9223372036854775807\n");
    assert_int_equal(r->primary_port, 65535);
    assert_int_equal(r->priority, INT32_MAX);
    assert_int_equal(r->repl_offset, INT64_MAX);
    assert_int_equal(r->link_down_ms, 1000LL * INT32_MAX);
    supervisorInfoTestReceive(
        replica, "role:slave\nmaster_port:-1\nslave_priority:-5\nslave_repl_offset:18446744073709551616\n"
                 "master_link_down_since_seconds:-1\nreplica_announced:2\n");
    assert_int_equal(r->primary_port, 0);
    assert_int_equal(r->priority, 0);
    assert_int_equal(r->repl_offset, 0);
    assert_int_equal(r->link_down_ms, -1000);
    assert_true(r->announced);
    supervisorInfoTestReceive(
        replica, "role:slave\nmaster_port:\nslave_priority:x\nslave_repl_offset: 1\nreplica_announced:\n"
                 "master_link_down_since_seconds:1.5\n");
    assert_int_equal(r->priority, 0);
    assert_int_equal(r->repl_offset, 0);
    assert_int_equal(r->link_down_ms, 0);
    assert_false(r->announced);
}

/* Fields before the role are not a replica's; neither are those of a primary. */
static void fields_need_their_role(void **state) {
    (void)state;
    supervisorInfoTestReceive(replica, "slave_priority:7\r\nmaster_host:elsewhere\r\n");
    supervisorInfoTestReceive(replica, "role:master\r\nslave_priority:7\r\n");
    assert_int_equal(replica->r.priority, REPLICA_PRIORITY);
    assert_null(replica->r.primary_host);
    supervisorInfoTestReceive(supervisorInfoTestPrimary(),
                              "role:slave\r\nslave_priority:7\r\nmaster_host:elsewhere\r\nmaster_port:1\r\n");
    assert_int_equal(supervisorInfoTestPrimary()->p.quorum, 2);
}

static void knows_failover(void **state) {
    (void)state;
    supervisorInfoTestReceive(supervisorInfoTestPrimary(),
                              "role:master\r\nmaster_failover_state:no-failover\r\n");
    assert_true(supervisorInfoTestPrimary()->p.knows_failover);
    assert_false(supervisorInfoTestPrimary()->failing_over);
    supervisorInfoTestReceive(supervisorInfoTestPrimary(),
                              "role:master\r\nmaster_failover_state:waiting-for-sync\r\n");
    assert_true(supervisorInfoTestPrimary()->p.knows_failover && supervisorInfoTestPrimary()->failing_over);
    supervisorInfoTestReceive(supervisorInfoTestPrimary(), "role:master\r\n");
    assert_false(supervisorInfoTestPrimary()->p.knows_failover || supervisorInfoTestPrimary()->failing_over);
}

/* supervisor_pause.c goes by these. */
static void fields_of_acknowledgements(void **state) {
    (void)state;
    struct instance *primary = supervisorInfoTestPrimary();
    assert_int_equal(primary->p.sync_replicas, -1);
    supervisorInfoTestReceive(primary, "role:master\r\nmin_replicas_sync:2\r\nmaster_replid:" ID_1
                                       "\r\nmaster_replid2:" ID_2 "\r\nsecond_repl_offset:7\r\n");
    assert_int_equal(primary->p.sync_replicas, 2);
    assert_string_equal(primary->replid, ID_1);
    assert_string_equal(primary->replid2, ID_2);
    supervisorInfoTestReceive(primary, "role:master\r\nmaster_replid:short\r\nmaster_replid2:" ID_1 "1\r\n");
    assert_int_equal(primary->p.sync_replicas, 0); /* it is not shown while it is 0 */
    assert_string_equal(primary->replid, ID_1);
    assert_string_equal(primary->replid2, ID_2);
    supervisorInfoTestReceive(primary, "min_replicas_sync:-1\r\n");
    assert_int_equal(primary->p.sync_replicas, 0);

    supervisorInfoTestReceive(replica,
                              FOLLOWS "min_replicas_sync:1\r\nsecond_repl_offset:8\r\nmaster_replid:" ID_2
                                      "\r\nreplica_acks_paused:1\r\n");
    assert_int_equal(replica->r.sync_replicas, 1);
    assert_int_equal(replica->r.fork_offset, 8);
    assert_string_equal(replica->replid, ID_2);
    assert_int_equal(replica->r.paused_ms, TEST_NOW);
    supervisorInfoTestReceiveAt(500, replica, FOLLOWS "second_repl_offset:-1\r\nreplica_acks_paused:2\r\n");
    assert_int_equal(replica->r.sync_replicas, 0);
    assert_int_equal(replica->r.fork_offset, 0);
    assert_int_equal(replica->r.paused_ms, TEST_NOW); /* since when */
    supervisorInfoTestReceiveAt(600, replica, FOLLOWS);
    assert_int_equal(replica->r.paused_ms, 0);
}

static void supervisorInfoTestRoles(void **state) {
    (void)state;
    supervisorInfoTestReceiveAt(100, supervisorInfoTestPrimary(), "role:slave\r\n");
    expectRecord("-role-change master m 127.0.0.1 6379 new reported role is slave\n");
    assert_true(supervisorInfoTestPrimary()->reports_replica);
    assert_int_equal(supervisorInfoTestPrimary()->role_reported_ms, TEST_NOW + 100);
    supervisorInfoTestReceiveAt(200, supervisorInfoTestPrimary(), "role:slave\r\n");
    supervisorInfoTestReceiveAt(300, supervisorInfoTestPrimary(), "no role at all\r\n");
    expectRecord("");
    assert_int_equal(supervisorInfoTestPrimary()->role_reported_ms, TEST_NOW + 100);
    recorded_supervisor.tilt = true;
    supervisorInfoTestReceiveAt(400, supervisorInfoTestPrimary(), "role:master\r\n");
    expectRecord("+role-change master m 127.0.0.1 6379 new reported role is master\n");
}

static void primary_of_a_replica_and_since_when(void **state) {
    (void)state;
    supervisorInfoTestReceiveAt(100, replica, FOLLOWS);
    assert_int_equal(replica->r.conf_change_ms, TEST_NOW + 100);
    supervisorInfoTestReceiveAt(200, replica, FOLLOWS);
    assert_int_equal(replica->r.conf_change_ms, TEST_NOW + 100);
    supervisorInfoTestReceiveAt(300, replica, "role:slave\nmaster_host:127.0.0.1\nmaster_port:6378\n");
    assert_int_equal(replica->r.conf_change_ms, TEST_NOW + 300);
    supervisorInfoTestReceiveAt(400, replica, "role:slave\nmaster_host:other\nmaster_port:6378\n");
    assert_int_equal(replica->r.conf_change_ms, TEST_NOW + 400);
    supervisorInfoTestReceiveAt(500, replica, "role:slave\nmaster_host:OTHER\nmaster_port:6378\n");
    assert_int_equal(replica->r.conf_change_ms, TEST_NOW + 400);
    supervisorInfoTestReceiveAt(600, replica, "role:slave\nmaster_failover_state:x\n");
    assert_int_equal(replica->r.conf_change_ms, TEST_NOW + 600);
    supervisorInfoTestReceiveAt(700, replica, "role:master\nmaster_failover_state:x\n");
    assert_int_equal(replica->r.conf_change_ms, TEST_NOW + 600);
    supervisorInfoTestReceiveAt(800, replica, "role:slave\nmaster_failover_state:x\n");
    assert_int_equal(replica->r.conf_change_ms, TEST_NOW + 800);
}

/* ---- Replies that are no text ---- */

static void answers_that_are_no_info(void **state) {
    (void)state;
    static const char *const wires[] = {"-NOAUTH no\r\n",    "+OK\r\n", ":1\r\n",
                                        "$-1\r\n",           "*-1\r\n", "*1\r\n$3\r\nfoo\r\n",
                                        "%1\r\n+a\r\n+b\r\n"};
    for (size_t n = 0; n < sizeof wires / sizeof *wires; n++) {
        supervisorInfoTestPrimary()->link->pending_count = 1;
        supervisorInfoTestPrimary()->link->pending[0] =
            (struct pendingReply){REQ_INFO, supervisorInfoTestPrimary()->id};
        recorderAnswer(supervisorInfoTestPrimary(), wires[n]);
        assert_null(supervisorInfoTestPrimary()->info);
        assert_int_equal(supervisorInfoTestPrimary()->info_ms, 0);
    }
    supervisorInfoTestPrimary()->link->pending_count = 1;
    supervisorInfoTestPrimary()->link->pending[0] =
        (struct pendingReply){REQ_INFO, supervisorInfoTestPrimary()->id};
    recorderAnswer(supervisorInfoTestPrimary(), "=15\r\ntxt:role:master\r\n");
    assert_string_equal(supervisorInfoTestPrimary()->info, "role:master");
}

/* ---- Repairs ---- */

#define REPAIR(host, port)                                                                                   \
    "6380 cmd> MULTI\n6380 cmd> SLAVEOF " host " " port "\n6380 cmd> CONFIG REWRITE\n"                       \
    "6380 cmd> CLIENT KILL TYPE normal\n6380 cmd> CLIENT KILL TYPE pubsub\n6380 cmd> EXEC\n"

static void a_primary_that_should_be_a_replica(void **state) {
    (void)state;
    supervisorInfoTestReceiveAt(0, supervisorInfoTestPrimary(), "role:master\r\n");
    supervisorInfoTestReceiveAt(0, replica, "role:master\r\n");
    expectRecord("-role-change slave 127.0.0.1:6380 127.0.0.1 6380 @ m 127.0.0.1 6379 new reported role is "
                 "master\n");
    for (int ms = 1000; ms <= 8000; ms += 1000) supervisorInfoTestReceiveAt(ms, replica, "role:master\r\n");
    expectRecord("");
    supervisorInfoTestReceiveAt(8001, replica, "role:master\r\n");
    expectRecord(REPAIR("127.0.0.1",
                        "6379") "+convert-to-slave slave 127.0.0.1:6380 127.0.0.1 6380 @ m 127.0.0.1 6379\n");
}

/* In between it may have been a replica, which another Sentinel has just promoted. */
static void the_role_between_two_reports_is_unknown(void **state) {
    (void)state;
    supervisorInfoTestReceiveAt(0, supervisorInfoTestPrimary(), "role:master\r\n");
    recorder.quiet = true;
    supervisorInfoTestReceiveAt(0, replica, "role:master\r\n");
    supervisorInfoTestReceiveAt(1000, replica, "role:master\r\n");
    recorder.quiet = false;
    supervisorInfoTestReceiveAt(9000, replica, "role:master\r\n");
    expectRecord("");
}

/* Each of these is a reason not to trust the primary, or to give the replica more time. */
static void repairs_wait_for_a_sane_primary(void **state) {
    (void)state;
    for (int reason = 0; reason < 6; reason++) {
        recorder.quiet = true;
        supervisorInfoTestPrimary()->flags = 0;
        replica->s_down_ms = 0;
        recorded_supervisor.tilt = false;
        supervisorInfoTestReceiveAt(0, replica, FOLLOWS);
        supervisorInfoTestReceiveAt(0, replica, "role:master\r\n");
        supervisorInfoTestReceiveAt(4500, replica, "role:master\r\n");
        supervisorInfoTestReceiveAt(9000, supervisorInfoTestPrimary(), "role:master\r\n");
        if (reason == 0) supervisorInfoTestPrimary()->flags = FLAG_S_DOWN;
        if (reason == 1) supervisorInfoTestPrimary()->flags = FLAG_O_DOWN;
        if (reason == 2) supervisorInfoTestReceive(supervisorInfoTestPrimary(), "role:slave\r\n");
        if (reason == 3) supervisorInfoTestPrimary()->info_ms = recorded_supervisor.now_ms - 20000;
        if (reason == 4) replica->s_down_ms = recorded_supervisor.now_ms - 8000;
        if (reason == 5) recorded_supervisor.tilt = true;
        recorder.quiet = false;
        supervisorInfoTestReceive(replica, "role:master\r\n");
        expectRecord("");
    }
    recorded_supervisor.tilt = false; /* no reason holds, but each nearly */
    supervisorInfoTestPrimary()->info_ms = recorded_supervisor.now_ms - 19999;
    replica->s_down_ms = recorded_supervisor.now_ms - 8001;
    supervisorInfoTestReceive(replica, "role:master\r\n");
    assert_non_null(strstr(recorder.text, "+convert-to-slave"));
}

static void replicates_another_server(void **state) {
    (void)state;
    assert_null(recorderConfigLine("failover-timeout m 5000"));
    supervisorInfoTestReceiveAt(0, supervisorInfoTestPrimary(), "role:master\r\n");
    supervisorInfoTestReceiveAt(0, replica, FOLLOWS);
    supervisorInfoTestReceiveAt(1000, replica, "role:slave\r\nmaster_host:127.0.0.1\r\nmaster_port:6378\r\n");
    supervisorInfoTestReceiveAt(6000, replica, "role:slave\r\nmaster_host:127.0.0.1\r\nmaster_port:6378\r\n");
    expectRecord("");
    supervisorInfoTestReceiveAt(6001, replica, "role:slave\r\nmaster_host:127.0.0.1\r\nmaster_port:6378\r\n");
    expectRecord(REPAIR("127.0.0.1",
                        "6379") "+fix-slave-config slave 127.0.0.1:6380 127.0.0.1 6380 @ m 127.0.0.1 6379\n");
}

#define PAUSED FOLLOWS "replica_acks_paused:1\r\n"

/* Reports as they come during a pause that this Sentinel did not ask for, until `ms`. */
static void supervisorInfoTestPausedUntil(int64_t ms) {
    for (int64_t at = 0; at < ms; at += 1000) {
        supervisorInfoTestReceiveAt(at, supervisorInfoTestPrimary(), "role:master\r\n");
        supervisorInfoTestReceiveAt(at, replica, PAUSED);
    }
    supervisorInfoTestReceiveAt(ms, replica, PAUSED);
}

#define RELEASED                                                                                             \
    "6380 cmd> SLAVEOF ACK RELEASE\nlog: 127.0.0.1:6380 acknowledges to its primary again: its pause was "   \
    "forgotten\n"

static void a_forgotten_pause_is_ended(void **state) {
    (void)state;
    supervisorInfoTestPausedUntil(10000);
    expectRecord("");
    supervisorInfoTestReceiveAt(10001, replica, PAUSED);
    expectRecord(RELEASED);
}

/* Each of these may mean that a failover is under way which still relies on the pause. */
static void a_pause_that_may_be_needed_goes_on(void **state) {
    (void)state;
    struct instance *primary = supervisorInfoTestPrimary();
    assert_null(recorderConfigLine("known-replica m 127.0.0.1 6381"));
    struct instance *other = primary->p.replicas.items[1];
    for (int reason = 0; reason < 8; reason++) {
        recorder.quiet = true;
        primary->flags = other->flags = 0;
        primary->s_down_ms = replica->s_down_ms = 0;
        supervisorInfoTestReceiveAt(0, other, FOLLOWS);
        supervisorInfoTestReceiveAt(0, replica, FOLLOWS);
        supervisorInfoTestPausedUntil(20000);
        supervisorInfoTestReceive(other, FOLLOWS);
        if (reason == 0) primary->flags = FLAG_FAILOVER_IN_PROGRESS;
        if (reason == 1) primary->flags = FLAG_S_DOWN;
        if (reason == 2) primary->s_down_ms = recorded_supervisor.now_ms - 10000;
        if (reason == 3) replica->s_down_ms = recorded_supervisor.now_ms - 10000;
        if (reason == 4) other->flags = FLAG_S_DOWN;
        if (reason == 5) supervisorInfoTestReceive(other, "role:master\r\n");
        if (reason == 6)
            supervisorInfoTestReceive(other, "role:slave\r\nmaster_host:127.0.0.1\r\nmaster_port:6380\r\n");
        if (reason == 7) other->info_ms = TEST_NOW + 10000;
        recorder.quiet = false;
        supervisorInfoTestReceive(replica, PAUSED);
        if (recorder.text) fail_msg("reason %d: %s", reason, recorder.text);
    }
    other->info_ms = TEST_NOW + 10001; /* no reason holds, but each nearly */
    primary->s_down_ms = replica->s_down_ms = recorded_supervisor.now_ms - 10001;
    supervisorInfoTestReceive(replica, PAUSED);
    expectRecord(RELEASED);
}

/* The name, another spelling of it, and another name for the same IP are the same server. */
static void follows_by_name(void **state) {
    (void)state;
    assert_null(recorderConfigLine("resolve-hostnames yes"));
    assert_null(recorderConfigLine("monitor n host1 6479 1"));
    assert_null(recorderConfigLine("known-replica n host2 6480"));
    assert_null(recorderConfigLine("failover-timeout n 1000"));
    recorderTickAt(0);
    recorderForget();
    struct instance *n = supervisorFindPrimary(&recorded_supervisor, "n"), *other = n->p.replicas.items[0];
    static const char *const hosts[] = {"host1", "HOST1", "10.1.1.1", "host01"};
    for (size_t k = 0; k < sizeof hosts / sizeof *hosts; k++) {
        char text[128];
        snprintf(text, sizeof text, "role:slave\r\nmaster_host:%s\r\nmaster_port:6479\r\n", hosts[k]);
        supervisorInfoTestReceiveAt(0, n, "role:master\r\n");
        supervisorInfoTestReceiveAt(0, other, text);
        supervisorInfoTestReceiveAt(5000, other, text);
        expectRecord("");
    }
    supervisorInfoTestReceiveAt(5000, n, "role:master\r\n");
    supervisorInfoTestReceiveAt(5000, other, "role:slave\r\nmaster_host:host2\r\nmaster_port:6479\r\n");
    supervisorInfoTestReceiveAt(6001, other, "role:slave\r\nmaster_host:host2\r\nmaster_port:6479\r\n");
    assert_non_null(strstr(recorder.text, "+fix-slave-config"));
}

static void stuck_in_a_failover(void **state) {
    (void)state;
    assert_null(recorderConfigLine("failover-timeout m 5000"));
    supervisorInfoTestReceiveAt(0, supervisorInfoTestPrimary(), "role:master\r\n");
    supervisorInfoTestReceiveAt(0, replica, FOLLOWS);
    supervisorInfoTestReceiveAt(1000, replica, FOLLOWS "master_failover_state:failover-in-progress\r\n");
    supervisorInfoTestReceiveAt(6000, replica, FOLLOWS "master_failover_state:failover-in-progress\r\n");
    expectRecord("");
    supervisorInfoTestReceiveAt(6001, replica, FOLLOWS "master_failover_state:failover-in-progress\r\n");
    expectRecord("6380 cmd> MULTI\n6380 cmd> FAILOVER ABORT\n6380 cmd> SLAVEOF 127.0.0.1 6379\n"
                 "6380 cmd> CONFIG REWRITE\n6380 cmd> CLIENT KILL TYPE normal\n"
                 "6380 cmd> CLIENT KILL TYPE pubsub\n6380 cmd> EXEC\n"
                 "+fix-slave-config slave 127.0.0.1:6380 127.0.0.1 6380 @ m 127.0.0.1 6379\n");
}

static void nothing_is_repaired_without_a_channel(void **state) {
    (void)state;
    supervisorInfoTestReceiveAt(0, replica, "role:master\r\n");
    supervisorOnChannelDown(&recorded_supervisor, replica->link, CHANNEL_COMMAND, "gone", TEST_NOW + 9000);
    supervisorInfoTestReceiveAt(9000, supervisorInfoTestPrimary(), "role:master\r\n");
    recorderForget();
    supervisorInfoTestReceiveAt(9000, replica, "role:master\r\n");
    expectRecord("");
}

/* ---- In a failover ---- */

static void steps_of_reconfiguration(void **state) {
    (void)state;
    assert_null(recorderConfigLine("known-replica m 127.0.0.1 6381"));
    struct instance *promoted = supervisorInfoTestPrimary()->p.replicas.items[1];
    promoted->flags = FLAG_PROMOTED;
    supervisorInfoTestPrimary()->flags = FLAG_FAILOVER_IN_PROGRESS;
    supervisorInfoTestPrimary()->p.failover_state = FAILOVER_RECONF_REPLICAS;
    supervisorInfoTestPrimary()->p.promoted = promoted;
    replica->flags = FLAG_RECONF_SENT;
    supervisorInfoTestReceive(replica, FOLLOWS);
    expectRecord("");
    supervisorInfoTestReceive(
        replica, "role:slave\r\nmaster_host:127.0.0.1\r\nmaster_port:6381\r\nmaster_link_status:down\r\n");
    assert_int_equal(replica->flags, FLAG_RECONF_INPROG);
    expectRecord("+slave-reconf-inprog slave 127.0.0.1:6380 127.0.0.1 6380 @ m 127.0.0.1 6379\n");
    supervisorInfoTestReceive(
        replica, "role:slave\r\nmaster_host:127.0.0.1\r\nmaster_port:6381\r\nmaster_link_status:up\r\n");
    assert_int_equal(replica->flags, FLAG_RECONF_DONE);
    expectRecord("+slave-reconf-done slave 127.0.0.1:6380 127.0.0.1 6380 @ m 127.0.0.1 6379\n");
    replica->flags = FLAG_RECONF_SENT; /* both at once */
    supervisorInfoTestReceive(
        replica, "role:slave\r\nmaster_host:127.0.0.1\r\nmaster_port:6381\r\nmaster_link_status:up\r\n");
    expectRecord("+slave-reconf-inprog slave 127.0.0.1:6380 127.0.0.1 6380 @ m 127.0.0.1 6379\n"
                 "+slave-reconf-done slave 127.0.0.1:6380 127.0.0.1 6380 @ m 127.0.0.1 6379\n");
}

static void a_promotion_is_seen(void **state) {
    (void)state;
    replica->flags = FLAG_PROMOTED;
    supervisorInfoTestPrimary()->flags = FLAG_FAILOVER_IN_PROGRESS;
    supervisorInfoTestPrimary()->p.failover_state = FAILOVER_WAIT_PROMOTION;
    supervisorInfoTestPrimary()->p.promoted = replica;
    supervisorInfoTestPrimary()->p.failover_epoch = 7;
    recorded_supervisor.tilt = true;
    supervisorInfoTestReceive(replica, "role:master\r\n");
    assert_int_equal(supervisorInfoTestPrimary()->p.failover_state, FAILOVER_WAIT_PROMOTION);
    recorded_supervisor.tilt = false;
    supervisorInfoTestReceive(replica, "role:master\r\n");
    assert_int_equal(supervisorInfoTestPrimary()->p.failover_state, FAILOVER_RECONF_REPLICAS);
    assert_int_equal(supervisorInfoTestPrimary()->config_epoch, 7);
    recorderForget();
    supervisorInfoTestReceiveAt(20000, supervisorInfoTestPrimary(), "role:master\r\n");
    supervisorInfoTestReceiveAt(20000, replica, "role:master\r\n"); /* it is meant to be a primary */
    expectRecord("");
    instanceRemove(&recorded_supervisor, replica);
    assert_null(supervisorInfoTestPrimary()->p.promoted);
}

int main(void) {
#define TEST(f) cmocka_unit_test_setup_teardown(f, supervisorInfoTestSetup, recorderTeardown)
    const struct CMUnitTest tests[] = {
        TEST(run_ids),
        TEST(reboots_are_marked_where_wanted),
        TEST(replicas_of_a_primary),
        TEST(replicas_that_make_no_sense),
        TEST(fields_of_a_replica),
        TEST(numbers_at_their_edges),
        TEST(fields_need_their_role),
        TEST(knows_failover),
        TEST(fields_of_acknowledgements),
        TEST(supervisorInfoTestRoles),
        TEST(primary_of_a_replica_and_since_when),
        TEST(answers_that_are_no_info),
        TEST(a_primary_that_should_be_a_replica),
        TEST(the_role_between_two_reports_is_unknown),
        TEST(repairs_wait_for_a_sane_primary),
        TEST(replicates_another_server),
        TEST(a_forgotten_pause_is_ended),
        TEST(a_pause_that_may_be_needed_goes_on),
        TEST(follows_by_name),
        TEST(stuck_in_a_failover),
        TEST(nothing_is_repaired_without_a_channel),
        TEST(steps_of_reconfiguration),
        TEST(a_promotion_is_seen),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
