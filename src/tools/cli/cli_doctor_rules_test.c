/* SPDX-License-Identifier: BSD-3-Clause */
/* cli_doctor_rules_test.c - each rule: facts with which it applies, and facts just short of that. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "base/assert.h"
#include "tools/cli/cli_doctor.h"

/* The facts of the first column make the rule apply, with a text that contains the words; those of the
 * last column do not. */
static const struct {
    const char *rule;
    bool is_problem;
    const char *facts, *words, *fine;
} cases[] = {
    {"loading", true, "loading:1\nloading_eta_seconds:120\n",
     "until it has finished, which takes about 2 minutes.", "loading:0\n"},
    {"open-to-all", true,
     "config.protected-mode:no\nconfig.bind:* -::*\nconfig.port:6379\nacl.default:on nopass allkeys\n",
     "Set a password.",
     "config.protected-mode:no\nconfig.bind:127.0.0.1 -::1\nconfig.port:6379\nacl.default:on nopass\n"},
    {"open-to-all", true,
     "config.protected-mode:no\nconfig.bind:\nconfig.port:0\nconfig.tls-port:6380\nacl.default:on nopass\n",
     "Set a password.",
     "config.protected-mode:no\nconfig.bind:\nconfig.port:6379\nacl.default:on sanitize-payload\n"},
    {"open-to-all", true,
     "config.protected-mode:no\nconfig.bind:127.0.0.1 10.0.0.1\nconfig.port:6379\nacl.default:on nopass\n",
     "Set a password.",
     "config.protected-mode:yes\nconfig.bind:*\nconfig.port:6379\nacl.default:on nopass\n"},
    {"open-to-all", true,
     "config.protected-mode:no\nconfig.bind:*\nconfig.port:6379\nacl.default:on nopass\n", "Set a password.",
     "config.protected-mode:no\nconfig.bind:*\nconfig.port:6379\nacl.default:off nopass\n"},
    {"clients-full", true, "connected_clients:95\nmaxclients:100\n",
     "95 clients are connected and maxclients is 100", "connected_clients:94\nmaxclients:100\n"},
    {"certificate", true, "tls_server_cert_serial:1A\ntls_server_cert_expires_in_seconds:1209599\n",
     "tls_server_cert with the serial number 1A expires in 14 days.",
     "tls_server_cert_serial:1A\ntls_server_cert_expires_in_seconds:1209600\n"},
    {"certificate", true, "tls_ca_cert_serial:2\ntls_ca_cert_expires_in_seconds:0\n", "has expired",
     "tls_ca_cert_serial:none\ntls_ca_cert_expires_in_seconds:0\n"},
    {"memory-full", true, "used_memory:96000000\nmaxmemory:100000000\nmaxmemory_policy:noeviction\n",
     "91.55M of maxmemory 95.37M",
     "used_memory:96000000\nmaxmemory:100000000\nmaxmemory_policy:allkeys-lru\n"},
    {"memory-full", true, "used_memory:95\nmaxmemory:100\nmaxmemory_policy:noeviction\n", "refuses writes",
     "used_memory:94\nmaxmemory:100\nmaxmemory_policy:noeviction\n"},
    {"machine-full", true, "used_memory_rss:850\ntotal_system_memory:1000\n", "the kernel may end it",
     "used_memory_rss:849\ntotal_system_memory:1000\n"},
    {"swapped", true, "used_memory:1000000000\nused_memory_rss:800000000\n", "in swap",
     "used_memory:1000000000\nused_memory_rss:910000000\n"},
    {"snapshot-failed", true,
     "rdb_last_bgsave_status:err\nconfig.stop-writes-on-bgsave-error:yes\nconfig.save:60 1\n",
     "refuses writes until", "rdb_last_bgsave_status:ok\n"},
    {"aof-write-failed", true, "aof_last_write_status:err\n", "refuses writes", "aof_last_write_status:ok\n"},
    {"aof-rewrite-failed", true, "aof_last_bgrewrite_status:err\n", "the file grows",
     "aof_last_bgrewrite_status:ok\n"},
    {"link-down", true,
     "role:slave\nmaster_host:db1\nmaster_port:6379\nmaster_link_status:down\nmaster_link_down_since_seconds:90\n",
     "db1:6379 is down for a minute, so the data here grows old", "role:slave\nmaster_link_status:up\n"},
    {"link-down", true, "role:slave\nmaster_link_status:down\nmaster_sync_in_progress:1\n",
     "receives a full copy", "role:master\nmaster_link_status:down\n"},
    {"replica-lags", true,
     "slave0:ip=10.0.0.1,port=6379,state=online,offset=1,lag=1\n"
     "slave1:ip=10.0.0.2,port=6380,state=online,offset=1,lag=11\n",
     "10.0.0.2:6380 has confirmed nothing for 11 seconds",
     "slave0:ip=10.0.0.1,port=6379,state=online,offset=1,lag=10\n"},
    {"too-few-replicas", true, "min_slaves_good_slaves:1\nconfig.min-replicas-to-write:2\n",
     "Writes are refused", "min_slaves_good_slaves:2\nconfig.min-replicas-to-write:2\n"},
    {"cluster-down", true, "cluster_state:fail\ncluster_slots_assigned:16380\n", "4 slots have no owner",
     "cluster_state:ok\ncluster_slots_assigned:16380\n"},
    {"cluster-down", true, "cluster_state:fail\ncluster_slots_assigned:16384\ncluster_slots_fail:5461\n",
     "the owner of 5461 slots has failed", "cluster_enabled:0\n"},
    {"cluster-down", true, "cluster_state:fail\ncluster_slots_assigned:16384\ncluster_slots_fail:0\n",
     "cannot reach the majority", "cluster_state:ok\n"},
    {"cluster-failing", true, "cluster_state:ok\ncluster_slots_pfail:100\n", "100 slots",
     "cluster_state:ok\ncluster_slots_pfail:0\ncluster_slots_fail:0\n"},
    {"sentinel-primary", true,
     "master0:name=one,status=ok,address=a:1\nmaster1:name=two,status=odown,address=b:1\n",
     "two, which this Sentinel watches, is down for the quorum", "master0:name=one,status=ok,address=a:1\n"},
    {"no-maxmemory", false, "maxmemory:0\n", "maxmemory is not set", "maxmemory:1\n"},
    {"maxmemory-too-high", false, "maxmemory:900\ntotal_system_memory:1000\n", "maxmemory is 900B",
     "maxmemory:850\ntotal_system_memory:1000\n"},
    {"not-saved", false, "role:master\nconfig.appendonly:no\nconfig.save:\ndb0:keys=1,expires=0\n",
     "Nothing is written", "role:master\nconfig.appendonly:no\nconfig.save:60 1\ndb0:keys=1,expires=0\n"},
    {"not-saved", false, "role:master\nconfig.appendonly:no\ndb0:keys=1,expires=0\n", "Nothing is written",
     "role:slave\nconfig.appendonly:no\nconfig.save:\ndb0:keys=1,expires=0\n"},
    {"evictions", false, "evicted_keys:12\n", "12 keys were evicted", "evicted_keys:0\n"},
    {"fragmented", false, "mem_fragmentation_ratio:1.60\nused_memory:300000000\nused_memory_rss:480000000\n",
     "a ratio of 1.60", "mem_fragmentation_ratio:4.80\nused_memory:1000000\nused_memory_rss:4800000\n"},
    {"overhead", false,
     "used_memory:200000000\nmemory.dataset.percentage:40.5\nmemory.clients.normal:104857600\n",
     "Only 40% of the memory is data. Clients have 100.00M",
     "used_memory:200000000\nmemory.dataset.percentage:50.1\n"},
    {"scripts", false, "number_of_cached_scripts:10000\n", "10000 scripts",
     "number_of_cached_scripts:9999\n"},
    {"pending-frees", false, "lazyfree_pending_objects:1000000\n", "wait to be freed",
     "lazyfree_pending_objects:5\n"},
    {"stale-keys", false, "expired_stale_perc:25.10\n", "About 25% of the keys",
     "expired_stale_perc:24.90\n"},
    {"slow-disk", false, "aof_delayed_fsync:3\n", "3 times", "aof_delayed_fsync:0\n"},
    {"slow-fork", false, "latest_fork_usec:500000\n", "for 500 ms", "latest_fork_usec:499999\n"},
    {"slow-commands", false, "slowlog.entries:2\nslowlog.usec:120000\nslowlog.command:KEYS *\n",
     "took 120 ms, in which", "slowlog.entries:2\nslowlog.usec:9999\nslowlog.command:KEYS *\n"},
    {"slow-events", false,
     "server_time_usec:1000000000\nlatency.fork:time=880,latest=5,max=100\nlatency.command:time=1,latest=5,max=99\n",
     "\"fork\" has blocked the server for up to 100 ms, the last time 2 minutes ago",
     "latency.fork:time=880,latest=5,max=99\n"},
    {"refusals", false, "errorstat_OOM:count=7\nerrorstat_MISCONF:count=2\n",
     "7 with the error OOM, 2 with the error MISCONF.", "errorstat_ERR:count=7\nerrorstat_OOM:count=0\n"},
    {"clients-rejected", false, "rejected_connections:4\n", "4 connections", "rejected_connections:0\n"},
    {"clients-cut", false, "client_output_buffer_limit_disconnections:1\n", "0 clients were disconnected",
     "client_output_buffer_limit_disconnections:0\n"},
    {"failed-logins", false, "acl_access_denied_auth:9\n", "9 attempts", "acl_access_denied_auth:0\n"},
    {"replica-behind", false,
     "master_repl_offset:1000\nrepl_backlog_size:1000\nslave0:ip=a,port=1,state=online,offset=500,lag=0\n",
     "is 500B behind",
     "master_repl_offset:1000\nrepl_backlog_size:1000\nslave0:ip=a,port=1,state=online,offset=501,lag=0\n"},
    {"partial-syncs-failed", false, "sync_full:2\nsync_partial_err:1\n", "1 times",
     "sync_full:1\nsync_partial_err:1\n"},
    {"writable-replica", false, "role:slave\nslave_read_only:0\n", "accepts writes",
     "role:slave\nslave_read_only:1\n"},
};

#define CASES (sizeof(cases) / sizeof(cases[0]))

static const struct cliDoctorFinding *doctorTestFind(const struct cliDoctorReport *report, const char *rule) {
    for (int i = 0; i < report->count; i++) {
        if (strcmp(report->findings[i].rule, rule) == 0) return &report->findings[i];
    }
    return NULL;
}

static void testEachRuleApplies(void **state) {
    (void)state;
    for (size_t i = 0; i < CASES; i++) {
        struct cliDoctorReport report = cliDoctorExamine(strOf(cases[i].facts));
        const struct cliDoctorFinding *f = doctorTestFind(&report, cases[i].rule);
        if (!f) print_error("case %zu: the rule %s does not apply\n", i, cases[i].rule);
        assert_non_null(f);
        if (!strstr(f->text, cases[i].words)) print_error("case %zu: %s\n", i, f->text);
        assert_non_null(strstr(f->text, cases[i].words));
        assert_int_equal(f->is_problem, cases[i].is_problem);
        assert_int_equal(report.problems > 0, cases[i].is_problem);
        cliDoctorFree(&report);
    }
}

static void testRulesAreSilentBelowTheirLimits(void **state) {
    (void)state;
    for (size_t i = 0; i < CASES; i++) {
        struct cliDoctorReport report = cliDoctorExamine(strOf(cases[i].fine));
        const struct cliDoctorFinding *f = doctorTestFind(&report, cases[i].rule);
        if (f) print_error("case %zu: %s\n", i, f->text);
        assert_null(f);
        cliDoctorFree(&report);
    }
}

static void testMissingFactsAreNoFindings(void **state) {
    (void)state;
    static const char *const texts[] = {"",
                                        "\n\n",
                                        "used_memory",
                                        "role:slave\n",
                                        "maxmemory:\nslave0:\nmaster0:,,\n",
                                        "slave_repl_offset:5\nslave0:ip=a,lag=99\n",
                                        "latency.:\nlatency.fork:max\n"};
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        struct cliDoctorReport report = cliDoctorExamine(strOf(texts[i]));
        assert_int_equal(report.count, 0);
        cliDoctorFree(&report);
    }
}

/* Lines end with CR LF in INFO. Problems come before advice. */
static void testOrderAndLineEnds(void **state) {
    (void)state;
    struct cliDoctorReport report =
        cliDoctorExamine(STR("# Memory\r\nmaxmemory:0\r\n# Persistence\r\naof_last_write_status:err\r\n"));
    assert_int_equal(report.count, 2);
    assert_int_equal(report.problems, 1);
    assert_string_equal(report.findings[0].rule, "aof-write-failed");
    assert_string_equal(report.findings[1].rule, "no-maxmemory");
    cliDoctorFree(&report);
}

static void testFacts(void **state) {
    (void)state;
    struct str facts = STR("used_memory_rss:5\r\nused_memory:7\r\nconfig.bind:a:b\n");
    assert_true(strIs(cliDoctorFact(facts, "used_memory"), "7"));
    assert_true(strIs(cliDoctorFact(facts, "config.bind"), "a:b"));
    assert_int_equal(cliDoctorFact(facts, "used").len, 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(testEachRuleApplies),
        cmocka_unit_test(testRulesAreSilentBelowTheirLimits),
        cmocka_unit_test(testMissingFactsAreNoFindings),
        cmocka_unit_test(testOrderAndLineEnds),
        cmocka_unit_test(testFacts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
