/* SPDX-License-Identifier: BSD-3-Clause */
/* warnings_test.c - each rule on both sides of its limit, the order of what is found, and strange facts. */
#include "web/warnings.h"

#include <math.h>
#include <string.h>

/* cmocka needs these before its own header. */
#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

#define MB  (1024.0 * 1024)
#define GB  (1024.0 * MB)
#define DAY 86400.0
#define FACTS(...)                                                                                           \
    { .seconds = 300, .policy = {"noeviction", 10}, __VA_ARGS__ }
#define POLICY(p, ...)                                                                                       \
    { .seconds = 300, .policy = {p, sizeof p - 1}, __VA_ARGS__ }
#define SOON(s, ...)                                                                                         \
    { .seconds = s, .policy = {"noeviction", 10}, __VA_ARGS__ }
#define SETTINGS(...) FACTS(.settings_known = true, __VA_ARGS__)
#define CLUSTER(...)  FACTS(.in_cluster = true, .cluster_nodes = 6, .replicas = 1, __VA_ARGS__)

/* Facts with which a rule says `text`; text NULL: it says nothing. */
static const struct warningsTestCase {
    const char *id, *text;
    enum warningSeverity severity;
    struct warningFacts facts;
} cases[] = {
    {"no-password", "other machines: everybody", WARNING_ERROR,
     SETTINGS(.no_password = true, .open_to_others = true)},
    {"no-password", "Other machines cannot connect", WARNING_NOTE, SETTINGS(.no_password = true)},
    {"no-password", NULL, 0, SETTINGS(.open_to_others = true)},
    {"no-password", NULL, 0, FACTS(.no_password = true, .open_to_others = true)},

    {"failed-logins", "10 logins have failed in the last 5 minutes", WARNING_WARNING,
     FACTS(.failed_logins_lately = 10)},
    {"failed-logins", NULL, 0, FACTS(.failed_logins_lately = 9)},

    {"certificate", "expires in 14 days", WARNING_WARNING,
     FACTS(.has_certificate = true, .certificate_ends_s = 14 * DAY)},
    {"certificate", "has expired", WARNING_ERROR, FACTS(.has_certificate = true, .certificate_ends_s = -1)},
    {"certificate", NULL, 0, FACTS(.has_certificate = true, .certificate_ends_s = 14 * DAY + 1)},
    {"certificate", NULL, 0, FACTS(.certificate_ends_s = -1)},

    {"no-maxmemory", "this machine's 8.0 GiB, the kernel ends the server. They take 4.0 GiB", WARNING_WARNING,
     FACTS(.used_memory = 4 * GB, .total_memory = 8 * GB)},
    {"no-maxmemory", "They take 3.0 GiB", WARNING_NOTE, FACTS(.used_memory = 3 * GB, .total_memory = 8 * GB)},
    {"no-maxmemory", NULL, 0, FACTS(.used_memory = 4 * GB, .total_memory = 8 * GB, .maxmemory = 1)},
    {"no-maxmemory", NULL, 0, FACTS(.used_memory = 4 * GB)},

    {"memory-full", "90% of maxmemory", WARNING_WARNING, FACTS(.used_memory = 90, .maxmemory = 100)},
    {"memory-full", "are refused.", WARNING_ERROR, FACTS(.used_memory = 100, .maxmemory = 100)},
    {"memory-full", NULL, 0, FACTS(.used_memory = 89, .maxmemory = 100)},
    {"memory-full", NULL, 0, POLICY("allkeys-lru", .used_memory = 100, .maxmemory = 100)},
    {"memory-full", NULL, 0, FACTS(.used_memory = 100)},

    {"nothing-to-evict", "volatile-lru evicts only", WARNING_WARNING,
     POLICY("volatile-lru", .maxmemory = 100, .keys = 1)},
    {"nothing-to-evict", NULL, 0, POLICY("volatile-lru", .maxmemory = 100, .keys = 1, .expiring = 1)},
    {"nothing-to-evict", NULL, 0, POLICY("volatile-lru", .maxmemory = 100)},
    {"nothing-to-evict", NULL, 0, POLICY("volatile-lru", .keys = 1)},
    {"nothing-to-evict", NULL, 0, POLICY("allkeys-lru", .maxmemory = 100, .keys = 1)},
    {"nothing-to-evict", NULL, 0, POLICY("volatile-lru", .maxmemory = 100, .keys = 1, .is_replica = true)},

    {"eviction", "1 key was evicted in the last 5 minutes", WARNING_NOTE, FACTS(.evicted_lately = 1)},
    {"eviction", "1,234,567 keys were", WARNING_NOTE, FACTS(.evicted_lately = 1234567)},
    {"eviction", NULL, 0, FACTS(.evicted_lately = 0)},

    {"memory-full-soon", "in 60 minutes; then the policy is noeviction", WARNING_WARNING,
     FACTS(.maxmemory = 25 * MB, .used_memory = MB, .memory_growth_lately = 2 * MB)},
    {"memory-full-soon", NULL, 0,
     FACTS(.maxmemory = 26 * MB, .used_memory = MB, .memory_growth_lately = 2 * MB)},
    {"memory-full-soon", NULL, 0,
     FACTS(.maxmemory = 2 * MB, .used_memory = MB, .memory_growth_lately = MB - 1)},
    {"memory-full-soon", NULL, 0, FACTS(.maxmemory = MB, .used_memory = MB, .memory_growth_lately = 2 * MB)},
    {"memory-full-soon", NULL, 0,
     SOON(59, .maxmemory = 3 * MB, .used_memory = MB, .memory_growth_lately = 2 * MB)},
    {"memory-full-soon", NULL, 0,
     FACTS(.maxmemory = 3 * MB, .used_memory = MB, .memory_growth_lately = 2 * MB, .is_replica = true)},

    {"lasting-keys-grow", "by 1,000 keys in the last 60 seconds, to 100,000 keys", WARNING_WARNING,
     SOON(60, .keys = 100500, .expiring = 500, .lasting_growth_lately = 1000)},
    {"lasting-keys-grow", NULL, 0, FACTS(.keys = 1000, .lasting_growth_lately = 999)},
    {"lasting-keys-grow", NULL, 0, FACTS(.keys = 100001, .lasting_growth_lately = 1000)},
    {"lasting-keys-grow", NULL, 0, SOON(59, .keys = 1000, .lasting_growth_lately = 1000)},
    {"lasting-keys-grow", NULL, 0, FACTS(.keys = 1000, .lasting_growth_lately = 1000, .is_replica = true)},
    {"lasting-keys-grow", NULL, 0,
     POLICY("allkeys-lfu", .keys = 1000, .lasting_growth_lately = 1000, .maxmemory = 100)},
    {"lasting-keys-grow", "Nothing deletes", WARNING_WARNING,
     POLICY("allkeys-lfu", .keys = 1000, .lasting_growth_lately = 1000)},

    {"stale-keys", "About 25%", WARNING_NOTE, FACTS(.stale_percent = 25)},
    {"stale-keys", NULL, 0, FACTS(.stale_percent = 24.9)},

    {"fragmentation", "256 MiB more", WARNING_NOTE,
     FACTS(.used_memory = 512 * MB, .resident_memory = 768 * MB)},
    {"fragmentation", NULL, 0, FACTS(.used_memory = 513 * MB, .resident_memory = 769 * MB)},
    {"fragmentation", NULL, 0, FACTS(.used_memory = 100 * MB, .resident_memory = 355 * MB)},

    {"swapped", "64.0 MiB of the data", WARNING_WARNING,
     FACTS(.used_memory = 640 * MB, .resident_memory = 576 * MB)},
    {"swapped", NULL, 0, FACTS(.used_memory = 641 * MB, .resident_memory = 577 * MB)},
    {"swapped", NULL, 0, FACTS(.used_memory = 100 * MB, .resident_memory = 37 * MB)},
    {"swapped", NULL, 0, FACTS(.used_memory = 640 * MB)},

    {"save-failed", "2 changes exist only in memory.", WARNING_ERROR,
     FACTS(.save_failed = true, .unsaved_changes = 2)},
    {"save-failed", "1 change exists only in memory and in the append-only file.", WARNING_ERROR,
     FACTS(.save_failed = true, .unsaved_changes = 1, .aof_on = true)},
    {"save-failed", "writes are refused", WARNING_ERROR,
     SETTINGS(.save_failed = true, .saves = true, .stops_writes = true)},
    {"save-failed", NULL, 0, FACTS(.unsaved_changes = 2)},

    {"aof-write-failed", "writes are refused", WARNING_ERROR,
     FACTS(.aof_on = true, .aof_write_failed = true)},
    {"aof-write-failed", NULL, 0, FACTS(.aof_write_failed = true)},
    {"aof-write-failed", NULL, 0, FACTS(.aof_on = true)},

    {"aof-rewrite-failed", "keeps growing", WARNING_WARNING,
     FACTS(.aof_on = true, .aof_rewrite_failed = true)},
    {"aof-rewrite-failed", NULL, 0, FACTS(.aof_rewrite_failed = true)},
    {"aof-rewrite-failed", NULL, 0, FACTS(.aof_on = true)},

    {"slow-disk", "1 write to the append-only file", WARNING_WARNING,
     FACTS(.aof_on = true, .delayed_fsyncs_lately = 1)},
    {"slow-disk", NULL, 0, FACTS(.delayed_fsyncs_lately = 1)},
    {"slow-disk", NULL, 0, FACTS(.aof_on = true)},

    {"nothing-saved", "are lost", WARNING_NOTE, SETTINGS(.keys = 1)},
    {"nothing-saved", NULL, 0, SETTINGS(.keys = 1, .saves = true)},
    {"nothing-saved", NULL, 0, SETTINGS(.keys = 1, .aof_on = true)},
    {"nothing-saved", NULL, 0, SETTINGS(.keys = 1, .is_replica = true)},
    {"nothing-saved", NULL, 0, SETTINGS(.keys = 0)},
    {"nothing-saved", NULL, 0, FACTS(.keys = 1)},

    {"long-fork", "for 100 ms", WARNING_NOTE, FACTS(.last_fork_us = 100000)},
    {"long-fork", NULL, 0, FACTS(.last_fork_us = 99999)},

    {"link-down", "for 2 hours", WARNING_ERROR,
     FACTS(.is_replica = true, .link_down = true, .link_down_s = 7201)},
    {"link-down", "may be out of date", WARNING_ERROR,
     FACTS(.is_replica = true, .link_down = true, .link_down_s = -1)},
    {"link-down", "copying", WARNING_NOTE, FACTS(.is_replica = true, .link_down = true, .syncing = true)},
    {"link-down", NULL, 0, FACTS(.is_replica = true)},
    {"link-down", NULL, 0, FACTS(.link_down = true)},

    {"replica-writable", "replica-read-only no", WARNING_WARNING,
     FACTS(.is_replica = true, .replica_writable = true)},
    {"replica-writable", NULL, 0, FACTS(.replica_writable = true)},
    {"replica-writable", NULL, 0, FACTS(.is_replica = true)},

    {"replay-errors", "1 command has failed", WARNING_WARNING, FACTS(.is_replica = true, .replay_errors = 1)},
    {"replay-errors", NULL, 0, FACTS(.replay_errors = 1)},
    {"replay-errors", NULL, 0, FACTS(.is_replica = true)},

    {"replica-lag", "not reported for 10 seconds", WARNING_WARNING, FACTS(.replicas = 1, .worst_lag_s = 10)},
    {"replica-lag", "2.0 MiB behind", WARNING_ERROR,
     FACTS(.replicas = 1, .worst_behind_bytes = 2 * MB, .backlog_bytes = MB)},
    {"replica-lag", NULL, 0, FACTS(.replicas = 1, .worst_lag_s = 9)},
    {"replica-lag", NULL, 0, FACTS(.worst_lag_s = 10, .worst_behind_bytes = 2 * MB, .backlog_bytes = MB)},
    {"replica-lag", NULL, 0, FACTS(.replicas = 1, .worst_behind_bytes = MB, .backlog_bytes = MB)},

    {"too-few-replicas", "is 2, and 1 replica is well", WARNING_ERROR,
     SETTINGS(.min_replicas = 2, .replicas_good = 1)},
    {"too-few-replicas", NULL, 0, SETTINGS(.min_replicas = 2, .replicas_good = 2)},
    {"too-few-replicas", NULL, 0, SETTINGS(.min_replicas = 2, .is_replica = true)},
    {"too-few-replicas", NULL, 0, FACTS(.min_replicas = 2)},

    {"replica-syncing", "1 replica is still copying", WARNING_NOTE, FACTS(.replicas_not_online = 1)},
    {"replica-syncing", NULL, 0, FACTS(.replicas = 1)},

    {"backlog-small", "holds the writes of 59 seconds", WARNING_WARNING,
     FACTS(.replicas = 1, .backlog_bytes = 5999, .written_lately = 30000)},
    {"backlog-small", NULL, 0, FACTS(.replicas = 1, .backlog_bytes = 6000, .written_lately = 30000)},
    {"backlog-small", NULL, 0, FACTS(.backlog_bytes = 1, .written_lately = 30000)},
    {"backlog-small", NULL, 0, FACTS(.replicas = 1, .written_lately = 30000)},
    {"backlog-small", NULL, 0, SOON(59, .replicas = 1, .backlog_bytes = 1, .written_lately = 30000)},

    {"partial-sync-refused", "1 replica has copied all data", WARNING_NOTE,
     FACTS(.refused_partial_lately = 1)},
    {"partial-sync-refused", NULL, 0, FACTS(.refused_partial_lately = 0)},

    {"cluster-down", "1 slot has no owner, so commands on their keys are refused.", WARNING_ERROR,
     CLUSTER(.cluster_slots_assigned = 16383)},
    {"cluster-down", "16,384 slots have no owner, so commands on their keys are refused, as are",
     WARNING_ERROR, CLUSTER(.cluster_down = true)},
    {"cluster-down", "minority", WARNING_ERROR,
     CLUSTER(.cluster_down = true, .cluster_slots_assigned = 16384)},
    {"cluster-down", "of 5 slots does not answer", WARNING_WARNING,
     CLUSTER(.cluster_slots_assigned = 16384, .cluster_slots_failing = 5)},
    {"cluster-down", NULL, 0, CLUSTER(.cluster_slots_assigned = 16384)},
    {"cluster-down", NULL, 0, FACTS(.cluster_down = true, .cluster_slots_failing = 5)},

    {"no-replica", "No replica follows", WARNING_NOTE, FACTS(.in_cluster = true, .cluster_nodes = 2)},
    {"no-replica", NULL, 0, FACTS(.in_cluster = true, .cluster_nodes = 1)},
    {"no-replica", NULL, 0, FACTS(.in_cluster = true, .cluster_nodes = 2, .replicas = 1)},
    {"no-replica", NULL, 0, FACTS(.in_cluster = true, .cluster_nodes = 2, .is_replica = true)},
    {"no-replica", NULL, 0, FACTS(.cluster_nodes = 2)},

    {"rejected-connections", "3 connections were rejected in the last 5 minutes; the limit is maxclients 10",
     WARNING_ERROR, FACTS(.rejected_lately = 3, .max_clients = 10)},
    {"rejected-connections", NULL, 0, FACTS(.max_clients = 10)},

    {"many-clients", "9 clients are connected; at maxclients 10", WARNING_WARNING,
     FACTS(.clients = 9, .max_clients = 10)},
    {"many-clients", NULL, 0, FACTS(.clients = 8, .max_clients = 10)},
    {"many-clients", NULL, 0, FACTS(.clients = 9)},

    {"clients-closed", "1 client was closed", WARNING_WARNING, FACTS(.dropped_lately = 1)},
    {"clients-closed", NULL, 0, FACTS(.dropped_lately = 0)},

    {"busy", "busy for 90%", WARNING_WARNING, FACTS(.busy_share_lately = 0.9)},
    {"busy", NULL, 0, FACTS(.busy_share_lately = 0.89)},
    {"busy", NULL, 0, SOON(59, .busy_share_lately = 1)},
};
#define CASES ((int)(sizeof cases / sizeof *cases))

static void warningsTestFree(struct warning *found, int count) {
    for (int i = 0; i < count; i++) sdsfree(found[i].text);
}

static const struct warning *warningsTestFind(const struct warning *found, int count, const char *id) {
    for (int i = 0; i < count; i++) {
        if (strcmp(found[i].id, id) == 0) return &found[i];
    }
    return NULL;
}

static void warningsTestOne(const struct warningsTestCase *c) {
    struct warning found[WARNINGS_MAX];
    int count = warningsFind(&c->facts, found);
    const struct warning *w = warningsTestFind(found, count, c->id);
    if (!w != !c->text)
        fail_msg("%s: '%s', but '%s' was wanted", c->id, w ? w->text : "", c->text ? c->text : "");
    if (w && !strstr(w->text, c->text)) fail_msg("%s: '%s' lacks '%s'", c->id, w->text, c->text);
    if (w) assert_int_equal(w->severity, c->severity);
    warningsTestFree(found, count);
}

static void warningsTestRules(void **state) {
    (void)state;
    for (int i = 0; i < CASES; i++) warningsTestOne(&cases[i]);
}

static void warningsTestNothingKnown(void **state) {
    (void)state;
    struct warning found[WARNINGS_MAX];
    assert_int_equal(warningsFind(&(struct warningFacts){0}, found), 0);
}

/* Among the cases, each rule speaks and is silent, and its text is one or more whole sentences. */
static void warningsTestSentences(void **state) {
    (void)state;
    for (int i = 0; i < CASES; i++) {
        struct warning found[WARNINGS_MAX];
        int count = warningsFind(&cases[i].facts, found);
        for (int k = 0; k < count; k++) {
            bool speaks = false, is_silent = false;
            for (int j = 0; j < CASES; j++) {
                bool same = strcmp(cases[j].id, found[k].id) == 0;
                speaks |= same && cases[j].text;
                is_silent |= same && !cases[j].text;
            }
            if (!speaks || !is_silent) fail_msg("%s is not tested on both sides", found[k].id);
            assert_int_equal(found[k].text[sdslen(found[k].text) - 1], '.');
            assert_non_null(strstr(found[k].docs, ".md#"));
        }
        warningsTestFree(found, count);
    }
}

static void warningsTestOrder(void **state) {
    (void)state;
    const struct warningFacts facts =
        FACTS(.evicted_lately = 1, .aof_on = true, .delayed_fsyncs_lately = 1, .save_failed = true,
              .aof_write_failed = true, .last_fork_us = 1e6, .dropped_lately = 1);
    const char *const wanted[] = {"aof-write-failed", "save-failed", "slow-disk",
                                  "clients-closed",   "eviction",    "long-fork"};
    struct warning found[WARNINGS_MAX];
    int count = warningsFind(&facts, found);
    assert_int_equal(count, 6);
    for (int i = 0; i < count; i++) assert_string_equal(found[i].id, wanted[i]);
    assert_string_equal(warningsSeverityName(found[0].severity), "error");
    assert_string_equal(warningsSeverityName(found[2].severity), "warning");
    assert_string_equal(warningsSeverityName(found[5].severity), "note");
    warningsTestFree(found, count);
}

static void warningsTestSystem(void **state) {
    (void)state;
    struct warningFacts facts = {.settings_known = true, .total_memory = 0, .system_count = 3};
    facts.system[0] = (struct warningSystem){"swap", sdsnew("Turn it on."), true};
    facts.system[1] = (struct warningSystem){"THP", sdsnew("Turn them off."), false};
    facts.system[2] = (struct warningSystem){"container-memory", sdsnew("Set maxmemory."), true};
    struct warning found[WARNINGS_MAX];
    int count = warningsFind(&facts, found);
    assert_int_equal(count, 3);
    assert_string_equal(found[0].id, "THP");
    assert_int_equal(found[0].severity, WARNING_WARNING);
    assert_string_equal(found[1].text, "Turn it on.");
    assert_int_equal(found[1].severity, WARNING_NOTE);
    warningsTestFree(found, count);
    facts.huge_pages_disabled = true; /* THP is of no interest */
    facts.maxmemory = 1;              /* nor is the limit of the container */
    count = warningsFind(&facts, found);
    assert_int_equal(count, 1);
    assert_string_equal(found[0].id, "swap");
    warningsTestFree(found, count);
    facts.settings_known = false; /* this user sees none of them */
    assert_int_equal(warningsFind(&facts, found), 0);
    for (int i = 0; i < 3; i++) sdsfree(facts.system[i].advice);
}

/* A name of a policy is only data, and no number breaks a sentence. */
static void warningsTestStrangeFacts(void **state) {
    (void)state;
    struct warning found[WARNINGS_MAX];
    struct warningFacts facts = POLICY("volatile-%s%n</script>\"", .maxmemory = 100, .keys = 1);
    int count = warningsFind(&facts, found);
    const struct warning *w = warningsTestFind(found, count, "nothing-to-evict");
    assert_non_null(w);
    assert_non_null(strstr(w->text, "policy volatile-%s%n</script>\" evicts"));
    warningsTestFree(found, count);

    const double numbers[] = {INFINITY, -INFINITY, NAN, 1e300, -1e300, 1e18};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        double n = numbers[i];
        struct warningFacts strange =
            SOON(n, .evicted_lately = n, .used_memory = n, .resident_memory = n, .maxmemory = n,
                 .total_memory = n, .keys = n, .lasting_growth_lately = n, .last_fork_us = n,
                 .rejected_lately = n, .max_clients = n, .clients = n, .replicas = n, .worst_lag_s = n,
                 .save_failed = true, .unsaved_changes = n, .in_cluster = true, .cluster_slots_failing = n,
                 .cluster_slots_assigned = n, .has_certificate = true, .certificate_ends_s = n);
        count = warningsFind(&strange, found);
        assert_true(count >= 1);
        for (int k = 0; k < count; k++) assert_true(sdslen(found[k].text) < 1000);
        warningsTestFree(found, count);
    }
    const struct warningFacts many = FACTS(.evicted_lately = 1e300);
    count = warningsFind(&many, found);
    assert_non_null(strstr(found[0].text, "1,000,000,000,000,000,000 keys were"));
    warningsTestFree(found, count);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(warningsTestRules),     cmocka_unit_test(warningsTestNothingKnown),
        cmocka_unit_test(warningsTestSentences), cmocka_unit_test(warningsTestOrder),
        cmocka_unit_test(warningsTestSystem),    cmocka_unit_test(warningsTestStrangeFacts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
