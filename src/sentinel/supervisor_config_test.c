/* SPDX-License-Identifier: BSD-3-Clause */
/* supervisor_config_test.c - the lines of sentinel.conf: their effects, their errors, and that what is
 * written is read as the same. */
#include "tests/sim/sentinel_recorder.h"

#define ID_A "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
#define ID_B "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb"

static struct instance *supervisorConfigTestPrimary(void) {
    return recorded_supervisor.primaries.items[0];
}

static bool nothingPresent(void *priv, struct str word) {
    (void)priv, (void)word;
    return false;
}
static bool allPresent(void *priv, struct str word) {
    (void)priv, (void)word;
    return true;
}

#define expectLines(expected, present)                                                                       \
    do {                                                                                                     \
        sds lines = supervisorConfigLines(&recorded_supervisor, present, NULL);                              \
        assert_string_equal(lines, expected);                                                                \
        sdsfree(lines);                                                                                      \
    } while (0)

/* ---- Reading ---- */

static void supervisorConfigTestPasses(void **state) {
    (void)state;
    static const char *const first[] = {"announce-ip",       "announce-port",      "deny-scripts-reconfig",
                                        "sentinel-user",     "sentinel-pass",      "current-epoch",
                                        "resolve-hostnames", "announce-hostnames", "MyID"};
    for (size_t n = 0; n < sizeof first / sizeof *first; n++)
        assert_int_equal(supervisorConfigPass(strOf(first[n])), PASS_SELF);
    assert_int_equal(supervisorConfigPass(STR("monitor")), PASS_MONITOR);
    assert_int_equal(supervisorConfigPass(STR("known-sentinel")), PASS_REST);
    assert_int_equal(supervisorConfigPass(STR("what")), PASS_REST);
    assert_int_equal(supervisorConfigPass(STR("")), PASS_REST);
}

static void supervisorConfigTestRefused(void **state) {
    (void)state;
    static const struct {
        const char *line, *err;
    } cases[] = {
        {"what", "Unrecognized sentinel configuration statement."},
        {"\"\"", "Unrecognized sentinel configuration statement."},
        {"monitor", "Unrecognized sentinel configuration statement."},
        {"monitor x 127.0.0.1 1", "Unrecognized sentinel configuration statement."},
        {"monitor x 127.0.0.1 1 1 1", "Unrecognized sentinel configuration statement."},
        {"monitor \"a\\x00b\" 127.0.0.1 1 1", "Unrecognized sentinel configuration statement."},
        {"monitor x nowhere 99 0", "Quorum must be 1 or greater."},
        {"monitor x 127.0.0.1 99 -1", "Quorum must be 1 or greater."},
        {"monitor x 127.0.0.1 99 99999999999", "Quorum must be 1 or greater."},
        {"monitor m nowhere 65536 1", "Invalid port number."},
        {"monitor m 127.0.0.1 -1 1", "Invalid port number."},
        {"monitor m nowhere 1 1", "Can't resolve instance hostname."},
        {"monitor m \"\" 1 1", "Can't resolve instance hostname."},
        {"MONITOR m 127.0.0.1 1 1", "Duplicate master name."},
        {"down-after-milliseconds x 0", "No such master with specified name."},
        {"down-after-milliseconds m 0", "negative or zero time parameter."},
        {"down-after-milliseconds m -1", "negative or zero time parameter."},
        {"down-after-milliseconds m abc", "negative or zero time parameter."},
        {"down-after-milliseconds m 2147483648", "negative or zero time parameter."},
        {"failover-timeout m 99999999999999999999", "negative or zero time parameter."},
        {"failover-timeout m 0", "negative or zero time parameter."},
        {"failover-timeout m", "Unrecognized sentinel configuration statement."},
        {"notification-script m /nowhere", "Notification script seems non existing or non executable."},
        {"client-reconfig-script m /dev/null",
         "Client reconfiguration script seems non existing or non executable."},
        {"primary-reboot-down-after-period m -1", "negative time parameter."},
        {"master-reboot-down-after-period m -1", "negative time parameter."},
        {"known-replica m nowhere 1", "Can't resolve instance hostname."},
        {"known-replica m 127.0.0.1 65536", "Invalid port number."},
        {"known-replica m 127.0.0.1 6380", "Duplicate hostname and port for replica."},
        {"known-slave m 127.0.0.1 6380", "Duplicate hostname and port for replica."},
        {"known-sentinel m 127.0.0.1 65536 " ID_B, "Invalid port number."},
        {"known-sentinel m nowhere 1 " ID_B, "Can't resolve instance hostname."},
        {"known-sentinel m 127.0.0.1 2 " ID_A, "Duplicate runid for sentinel."},
        {"known-sentinel m 127.0.0.1 2 \"a b\"", "Malformed run id of a Sentinel."},
        {"rename-command m ping x", "Same command renamed multiple times with rename-command."},
        {"myid abc", "Malformed Sentinel id in myid option."},
        {"myid \"aaaaaaaaaaaaaaaaaaaa aaaaaaaaaaaaaaaaaaa\"", "Malformed Sentinel id in myid option."},
        {"deny-scripts-reconfig maybe", "Please specify yes or no for the deny-scripts-reconfig options."},
        {"resolve-hostnames 1", "Please specify yes or no for the resolve-hostnames option."},
        {"announce-hostnames 1", "Please specify yes or no for the announce-hostnames option."},
        {"unclean-failover m", "Unrecognized sentinel configuration statement."},
        {"unclean-failover x yes", "No such master with specified name."},
        {"unclean-failover m 1", "Please specify yes or no for the unclean-failover option."},
        {"unclean-failover m \"\"", "Please specify yes or no for the unclean-failover option."},
    };
    assert_null(recorderConfigLine("known-replica m 127.0.0.1 6380"));
    assert_null(recorderConfigLine("known-sentinel m 127.0.0.1 26380 " ID_A));
    assert_null(recorderConfigLine("rename-command m PING pang"));
    sds before = supervisorConfigLines(&recorded_supervisor, nothingPresent, NULL);
    for (size_t n = 0; n < sizeof cases / sizeof *cases; n++) {
        const char *err = recorderConfigLine(cases[n].line);
        assert_string_equal(err ? err : cases[n].line, cases[n].err);
    }
    expectLines(before, nothingPresent);
    sdsfree(before);
    assert_int_equal(supervisorConfigLine(&recorded_supervisor, 0, NULL) != NULL, 1);
}

static void supervisorConfigTestValues(void **state) {
    (void)state;
    assert_null(recorderConfigLine("known-replica m 127.0.0.1 6380"));
    assert_null(recorderConfigLine("down-after-milliseconds m 500ms")); /* the number at the beginning */
    assert_int_equal(supervisorConfigTestPrimary()->down_after_ms, 500);
    assert_int_equal(supervisorConfigTestPrimary()->p.replicas.items[0]->down_after_ms, 500);
    assert_null(recorderConfigLine("known-sentinel m 127.0.0.1 26380 " ID_A));
    assert_int_equal(supervisorConfigTestPrimary()->p.sentinels.items[0]->down_after_ms, 500);
    assert_null(recorderConfigLine("failover-timeout m 2147483647"));
    assert_int_equal(supervisorConfigTestPrimary()->p.failover_timeout_ms, INT32_MAX);
    assert_null(recorderConfigLine("parallel-syncs m abc"));
    assert_int_equal(supervisorConfigTestPrimary()->p.parallel_syncs, 0);
    assert_null(recorderConfigLine("parallel-syncs m 99999999999"));
    assert_int_equal(supervisorConfigTestPrimary()->p.parallel_syncs, INT32_MAX);
    assert_null(recorderConfigLine("primary-reboot-down-after-period m 10"));
    assert_null(recorderConfigLine("master-reboot-down-after-period m 20"));
    assert_int_equal(supervisorConfigTestPrimary()->p.reboot_down_after_ms, 20);
    assert_false(supervisorConfigTestPrimary()->p.unclean_failover);
    assert_null(recorderConfigLine("Unclean-Failover m YES"));
    assert_true(supervisorConfigTestPrimary()->p.unclean_failover);
    assert_null(recorderConfigLine("unclean-failover m no"));
    assert_false(supervisorConfigTestPrimary()->p.unclean_failover);
    assert_null(recorderConfigLine("announce-port 65536"));
    assert_int_equal(recorded_supervisor.settings.announce_port, 0);
    assert_null(recorderConfigLine("announce-ip \"\""));
    assert_null(recorded_supervisor.settings.announce_ip);
    assert_null(recorderConfigLine("known-replica m 127.0.0.1 6379")); /* no server replicates itself */
    assert_int_equal(supervisorConfigTestPrimary()->p.replicas.count, 1);
    assert_null(recorderConfigLine("known-sentinel m 127.0.0.1 26381")); /* from before run ids existed */
    assert_int_equal(supervisorConfigTestPrimary()->p.sentinels.count, 1);
}

static void supervisorConfigTestEpochs(void **state) {
    (void)state;
    assert_null(recorderConfigLine("current-epoch 5"));
    assert_null(recorderConfigLine("current-epoch 3"));
    assert_int_equal(recorded_supervisor.current_epoch, 5);
    assert_null(recorderConfigLine("config-epoch m 4"));
    assert_int_equal(recorded_supervisor.current_epoch, 5);
    assert_null(recorderConfigLine("config-epoch m 7"));
    assert_int_equal(recorded_supervisor.current_epoch, 7);
    assert_int_equal(supervisorConfigTestPrimary()->config_epoch, 7);
    assert_null(recorderConfigLine("leader-epoch m 6"));
    assert_int_equal(supervisorConfigTestPrimary()->p.leader_epoch, 6);
    assert_null(recorderConfigLine("leader-epoch m -3"));
    assert_int_equal(supervisorConfigTestPrimary()->p.leader_epoch, 0);
    assert_null(recorderConfigLine("current-epoch 18446744073709551615"));
    assert_int_equal(recorded_supervisor.current_epoch, EPOCH_MAX);
}

static void names_in_the_file(void **state) {
    (void)state;
    assert_string_equal(recorderConfigLine("monitor a host1 1 1"), "Can't resolve instance hostname.");
    assert_null(recorderConfigLine("resolve-hostnames yes"));
    assert_null(recorderConfigLine("monitor a host1 1 1"));
    assert_null(recorderConfigLine("monitor b nowhere 2 1"));
    assert_string_equal(supervisorFindPrimary(&recorded_supervisor, "a")->address.ip, "10.1.1.1");
    assert_string_equal(supervisorFindPrimary(&recorded_supervisor, "b")->address.ip, "");
    assert_string_equal(recorderConfigLine("monitor c \"no where\" 2 1"), "Can't resolve instance hostname.");
    assert_null(recorderConfigLine("known-replica a host2 3"));
    assert_string_equal(recorderConfigLine("known-replica a 10.2.2.2 3"),
                        "Duplicate hostname and port for replica.");
    assert_string_equal(recorderConfigLine("known-replica a HOST2 3"),
                        "Duplicate hostname and port for replica.");
}

static void primaries_of_the_file_are_told_later(void **state) {
    (void)state;
    expectRecord("");
    supervisorStart(&recorded_supervisor, TEST_NOW);
    expectRecord("log: The ID of this Sentinel is " TEST_MYID
                 "\n+monitor master m 127.0.0.1 6379 quorum 2\n");
}

/* ---- Writing ---- */

static void supervisorConfigTestShortest(void **state) {
    (void)state;
    expectLines("myid " TEST_MYID "\nmonitor m 127.0.0.1 6379 2\nconfig-epoch m 0\nleader-epoch m 0\n"
                "current-epoch 0\n",
                nothingPresent);
    expectLines("myid " TEST_MYID "\ndeny-scripts-reconfig yes\nresolve-hostnames no\nannounce-hostnames no\n"
                "monitor m 127.0.0.1 6379 2\nconfig-epoch m 0\nleader-epoch m 0\ncurrent-epoch 0\n",
                allPresent);
}

#define LONGEST                                                                                              \
    "myid " TEST_MYID "\n"                                                                                   \
    "deny-scripts-reconfig no\n"                                                                             \
    "resolve-hostnames yes\n"                                                                                \
    "announce-hostnames yes\n"                                                                               \
    "monitor m 127.0.0.1 6379 2\n"                                                                           \
    "down-after-milliseconds m 1000\n"                                                                       \
    "failover-timeout m 2000\n"                                                                              \
    "parallel-syncs m 3\n"                                                                                   \
    "notification-script m \"/bin/sh\"\n"                                                                    \
    "client-reconfig-script m \"/bin/sh\"\n"                                                                 \
    "auth-pass m \"two words \\\"\\\\\\x01\"\n"                                                              \
    "auth-user m \"joe\"\n"                                                                                  \
    "primary-reboot-down-after-period m 4000\n"                                                              \
    "unclean-failover m yes\n"                                                                               \
    "config-epoch m 5\n"                                                                                     \
    "leader-epoch m 6\n"                                                                                     \
    "known-replica m 127.0.0.1 6380\n"                                                                       \
    "known-replica m host1 6381\n"                                                                           \
    "known-sentinel m 127.0.0.1 26380 \"" ID_A "\"\n"                                                        \
    "known-sentinel m ::1 26381 \"" ID_B "\"\n"                                                              \
    "rename-command m \"ping\" \"pang\"\n"                                                                   \
    "rename-command m \"info\" \"\"\n"                                                                       \
    "monitor \"a b\" nowhere 0 1\n"                                                                          \
    "config-epoch \"a b\" 0\n"                                                                               \
    "leader-epoch \"a b\" 0\n"                                                                               \
    "current-epoch 7\n"                                                                                      \
    "announce-ip \"here\"\n"                                                                                 \
    "announce-port 1234\n"                                                                                   \
    "sentinel-user \"jane\"\n"                                                                               \
    "sentinel-pass \"x y\"\n"

/* Applies the lines as the file's reader does: pass by pass, each in the order of the file. */
static void readBack(const char *text) {
    int count;
    sds *all = sdssplitlen(text, strlen(text), "\n", 1, &count);
    for (int pass = PASS_SELF; pass <= PASS_REST; pass++) {
        for (int n = 0; n < count; n++) {
            size_t word = strcspn(all[n], " ");
            if (!word || supervisorConfigPass(strN(all[n], word)) != (enum configPass)pass) continue;
            const char *err = recorderConfigLine(all[n]);
            if (err) fail_msg("%s: %s", all[n], err);
        }
    }
    sdsfreesplitres(all, count);
}

static void written_is_read_as_the_same(void **state) {
    (void)state;
    supervisorRemove(&recorded_supervisor, supervisorConfigTestPrimary());
    readBack(LONGEST);
    expectLines(LONGEST, nothingPresent);
}

#define HOSTILE                                                                                              \
    "monitor \"a\\\"b\" 127.0.0.1 1 1\n"                                                                     \
    "auth-pass \"a\\\"b\" \"\\nsentinel\"\n"                                                                 \
    "config-epoch \"a\\\"b\" 0\n"                                                                            \
    "leader-epoch \"a\\\"b\" 0\n"                                                                            \
    "known-replica \"a\\\"b\" 127.0.0.1 2\n"                                                                 \
    "known-sentinel \"a\\\"b\" 127.0.0.1 3 \"" ID_A "\"\n"                                                   \
    "rename-command \"a\\\"b\" \"x\\n\" \"y'\"\n"                                                            \
    "monitor \"c\\nd e\" 127.0.0.1 1 1\n"                                                                    \
    "config-epoch \"c\\nd e\" 0\n"                                                                           \
    "leader-epoch \"c\\nd e\" 0\n"                                                                           \
    "monitor \"'f\" 127.0.0.1 4 1\n"                                                                         \
    "config-epoch \"'f\" 0\n"                                                                                \
    "leader-epoch \"'f\" 0\n"                                                                                \
    "current-epoch 0\n"

/* Any name that a client chooses stays one word of its line. */
static void hostile_names_are_quoted(void **state) {
    (void)state;
    supervisorRemove(&recorded_supervisor, supervisorConfigTestPrimary());
    *recorded_supervisor.my_id = '\0';
    readBack(HOSTILE);
    expectLines(HOSTILE, nothingPresent);
}

/* Hosts are written as IPs if names are not announced; a name without an IP is written nevertheless. */
static void hosts_as_they_are_announced(void **state) {
    (void)state;
    assert_null(recorderConfigLine("resolve-hostnames yes"));
    assert_null(recorderConfigLine("monitor a host1 1 1"));
    assert_null(recorderConfigLine("monitor b nowhere 2 1"));
    sds text = supervisorConfigLines(&recorded_supervisor, nothingPresent, NULL);
    assert_non_null(strstr(text, "monitor a 10.1.1.1 1 1\n"));
    assert_non_null(strstr(text, "monitor b nowhere 2 1\n"));
    sdsfree(text);
}

/* Names with one port that do not resolve are different; when they resolve to one IP, it is written once. */
static void names_that_become_one(void **state) {
    (void)state;
    assert_null(recorderConfigLine("resolve-hostnames yes"));
    assert_null(recorderConfigLine("known-replica m nowhere 6380"));
    assert_null(recorderConfigLine("known-replica m nobody 6380"));
    const struct instances *replicas = &supervisorConfigTestPrimary()->p.replicas;
    assert_int_equal(replicas->count, 2);
    for (int n = 0; n < 2; n++) snprintf(replicas->items[n]->address.ip, HOST_IP_LEN, "10.0.0.1");
    sds text = supervisorConfigLines(&recorded_supervisor, nothingPresent, NULL);
    const char *first = strstr(text, "known-replica m 10.0.0.1 6380\n");
    assert_non_null(first);
    assert_null(strstr(first + 1, "known-replica"));
    sdsfree(text);
}

/* From the promotion on the file has the coming state. */
static void in_a_failover(void **state) {
    (void)state;
    assert_null(recorderConfigLine("known-replica m 127.0.0.1 6380"));
    assert_null(recorderConfigLine("known-replica m 127.0.0.1 6381"));
    supervisorConfigTestPrimary()->p.promoted = supervisorConfigTestPrimary()->p.replicas.items[1];
    supervisorConfigTestPrimary()->p.failover_state = FAILOVER_WAIT_PROMOTION;
    sds text = supervisorConfigLines(&recorded_supervisor, nothingPresent, NULL);
    assert_non_null(strstr(text, "monitor m 127.0.0.1 6379 2\n"));
    sdsfree(text);
    supervisorConfigTestPrimary()->p.failover_state = FAILOVER_RECONF_REPLICAS;
    text = supervisorConfigLines(&recorded_supervisor, nothingPresent, NULL);
    assert_non_null(strstr(text, "monitor m 127.0.0.1 6381 2\n"));
    assert_non_null(strstr(text, "known-replica m 127.0.0.1 6380\nknown-replica m 127.0.0.1 6379\n"));
    sdsfree(text);
}

int main(void) {
#define TEST(f) cmocka_unit_test_setup_teardown(f, recorderSetup, recorderTeardown)
    const struct CMUnitTest tests[] = {
        TEST(supervisorConfigTestPasses),
        TEST(supervisorConfigTestRefused),
        TEST(supervisorConfigTestValues),
        TEST(supervisorConfigTestEpochs),
        TEST(names_in_the_file),
        TEST(primaries_of_the_file_are_told_later),
        TEST(supervisorConfigTestShortest),
        TEST(written_is_read_as_the_same),
        TEST(hostile_names_are_quoted),
        TEST(hosts_as_they_are_announced),
        TEST(names_that_become_one),
        TEST(in_a_failover),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
