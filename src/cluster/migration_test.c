/* SPDX-License-Identifier: BSD-3-Clause */
/* migration_test.c - both ends of a migration, message by message, and the results when one end is lost. */
#include "cluster/migration.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <cmocka.h>

struct migrationPair {
    struct migration source, target;
};

/* Does at the target what the actions of the source cause. */
static unsigned toTarget(struct migrationPair *p, unsigned did, int64_t now_ms) {
    unsigned actions = 0;
    if (did & DO_SEND_ACK) actions |= migrationStep(&p->target, MSG_ACK, now_ms);
    if (did & DO_SEND_SNAPSHOT_EOF) actions |= migrationStep(&p->target, MSG_SNAPSHOT_EOF, now_ms);
    if (did & DO_SEND_PAUSED) {
        assert_int_equal(migrationStep(&p->target, MSG_PAUSED, now_ms), DO_ASK_REPLICAS);
        assert_int_equal(p->target.state, IMPORT_PAUSED); /* waits for its replica */
        actions |= migrationStep(&p->target, EV_REPLICATED, now_ms);
    }
    if (did & DO_SEND_GRANTED) actions |= migrationStep(&p->target, MSG_GRANTED, now_ms);
    return actions;
}
/* Does at the source what the actions of the target cause. */
static unsigned toSource(struct migrationPair *p, unsigned did, int64_t now_ms) {
    unsigned actions = 0;
    if (did & DO_SEND_REQUEST_PAUSE) actions |= migrationStep(&p->source, MSG_REQUEST_PAUSE, now_ms);
    if (did & DO_SEND_REQUEST_FAILOVER) actions |= migrationStep(&p->source, MSG_REQUEST_FAILOVER, now_ms);
    return actions;
}

/* Runs the migration up to a state of the source. */
static void migrationTestRunUntil(struct migrationPair *p, bool auth, enum migrationState until) {
    migrationBegin(&p->source, true, auth, 0);
    migrationBegin(&p->target, false, false, 0);
    unsigned did = migrationStep(&p->source, EV_CONNECTED, 1);
    assert_int_equal(did, auth ? DO_SEND_AUTH : DO_SEND_ESTABLISH);
    if (auth) assert_int_equal(migrationStep(&p->source, EV_OK, 1), DO_SEND_ESTABLISH);
    did = migrationStep(&p->source, EV_OK, 2);
    assert_int_equal(did, DO_SEND_ACK);
    assert_int_equal(toTarget(p, did, 3), 0);
    if (p->source.state == until) return;
    migrationStep(&p->source, EV_SNAPSHOT_BEGUN, 4);
    if (p->source.state == until) return;
    did = toTarget(p, migrationStep(&p->source, EV_SNAPSHOT_SENT, 5), 5);
    if (p->source.state == until) return;
    assert_int_equal(toSource(p, did, 6), 0);
    if (p->source.state == until) return;
    did = migrationStep(&p->source, EV_DRAINED, 7);
    assert_true(did & DO_PAUSE);
    did = toTarget(p, did, 7);
    if (p->source.state == until) return;
    did = toSource(p, did, 8);
    assert_int_equal(did, DO_EXTEND_PAUSE | DO_SEND_GRANTED);
    if (p->source.state == until) return;
    assert_int_equal(toTarget(p, did, 9), 0);
    assert_int_equal(p->target.state, IMPORT_GRANTED);
    assert_int_equal(migrationStep(&p->target, EV_MAY_CLAIM, 9), DO_TAKE_SLOTS | DO_END);
    assert_int_equal(migrationStep(&p->source, EV_TARGET_OWNS, 10), DO_END);
}

static void testWay(void **state) {
    (void)state;
    struct migrationPair p;
    for (int auth = 0; auth < 2; auth++) {
        migrationTestRunUntil(&p, auth, MIGRATION_SUCCESS);
        assert_int_equal(p.source.state, MIGRATION_SUCCESS);
        assert_int_equal(p.target.state, MIGRATION_SUCCESS);
        assert_string_equal(p.source.message, "");
    }
}

static const enum migrationState leading[] = {
    EXPORT_WAITING_TO_SNAPSHOT, EXPORT_SNAPSHOTTING, EXPORT_REPLICATING,
    EXPORT_WAITING_TO_PAUSE,    EXPORT_PAUSED,       EXPORT_GRANTED};
#define LEADING (sizeof leading / sizeof *leading)

/* The target never takes what was not granted, and deletes what it has; the source keeps it. */
static void testLost(void **state) {
    (void)state;
    for (size_t i = 0; i < LEADING; i++) {
        struct migrationPair p;
        migrationTestRunUntil(&p, false, leading[i]);
        assert_int_equal(p.source.state, leading[i]);
        assert_int_equal(migrationStep(&p.target, EV_LOST, 20), DO_END | DO_DELETE_KEYS);
        assert_int_equal(p.target.state, MIGRATION_FAILED);
        unsigned did = migrationStep(&p.source, EV_LOST, 20);
        if (leading[i] == EXPORT_GRANTED) { /* the grant may have been received */
            assert_int_equal(did, 0);
            assert_int_equal(p.source.state, EXPORT_GRANTED);
            did = migrationStep(&p.source, EV_PAUSE_ENDED, 3000);
        }
        assert_int_equal(did, DO_END);
        assert_int_equal(p.source.state, MIGRATION_FAILED);
    }
}

/* Both ends send something once a second, except a source whose child sends, and each must receive something
 * within the time-out. */
static void testSilence(void **state) {
    (void)state;
    struct migrationPair p;
    migrationTestRunUntil(&p, false, EXPORT_WAITING_TO_SNAPSHOT);
    assert_int_equal(migrationTick(&p.source, 60000, 1003), DO_SEND_ACK);
    assert_int_equal(migrationTick(&p.target, 60000, 1003), DO_SEND_ACK);
    migrationTestRunUntil(&p, false, EXPORT_SNAPSHOTTING);
    assert_int_equal(migrationTick(&p.source, 60000, 1003), 0);
    assert_int_equal(migrationTick(&p.target, 60000, 1003), DO_SEND_ACK);
    assert_int_equal(migrationStep(&p.source, MSG_ACK, 1010), 0);
    assert_int_equal(migrationTick(&p.source, 60000, 61000), 0);
    assert_int_equal(migrationTick(&p.source, 60000, 61011), DO_END);
    assert_string_equal(p.source.message, "Timed out after too long with no interaction");
    assert_int_equal(migrationTick(&p.target, 100, 100000), DO_END | DO_DELETE_KEYS);
    migrationTestRunUntil(&p, false, EXPORT_REPLICATING);
    assert_int_equal(migrationTick(&p.source, 60000, 900), 0);
    assert_int_equal(migrationTick(&p.source, 60000, 1000), DO_SEND_ACK);
    assert_int_equal(migrationTick(&p.source, 60000, 1500), 0);
    assert_int_equal(migrationTick(&p.target, 60000, 1000), DO_SEND_ACK);
    assert_int_equal(migrationTick(&p.source, 60000, 60100), DO_END);
    assert_string_equal(p.source.message, "Timed out after too long with no interaction");
}

static void testOutOfTurn(void **state) {
    (void)state;
    struct migrationPair p;
    migrationTestRunUntil(&p, false, EXPORT_REPLICATING);
    assert_int_equal(migrationStep(&p.source, MSG_REQUEST_FAILOVER, 20), DO_END);
    assert_string_equal(p.source.message, "Unexpected state machine transition");
    assert_int_equal(migrationStep(&p.target, MSG_GRANTED, 20), DO_END | DO_DELETE_KEYS);
    migrationTestRunUntil(&p, false, EXPORT_PAUSED);
    assert_int_equal(migrationStep(&p.source, EV_TARGET_OWNS, 20), DO_END); /* it was not granted */
    assert_int_equal(p.source.state, MIGRATION_FAILED);
}

/* A target that stood still since its request does not know what the source has written meanwhile. */
static void testLateGrant(void **state) {
    (void)state;
    struct migrationPair p;
    migrationTestRunUntil(&p, false, EXPORT_GRANTED);
    int64_t asked_ms = p.target.updated_ms;
    assert_int_equal(migrationStep(&p.target, MSG_GRANTED, asked_ms + MIGRATION_FRESH_MS + 1),
                     DO_END | DO_DELETE_KEYS);
    assert_int_equal(p.target.state, MIGRATION_FAILED);
    migrationTestRunUntil(&p, false, EXPORT_GRANTED);
    assert_int_equal(migrationStep(&p.target, MSG_GRANTED, asked_ms + MIGRATION_FRESH_MS), 0);
    assert_int_equal(p.target.state, IMPORT_GRANTED);
}

static void testCancel(void **state) {
    (void)state;
    struct migrationPair p;
    migrationTestRunUntil(&p, false, EXPORT_REPLICATING);
    assert_int_equal(migrationCancel(&p.source, 20), DO_END);
    assert_int_equal(p.source.state, MIGRATION_CANCELLED);
    assert_int_equal(migrationCancel(&p.source, 21), 0);
    assert_int_equal(migrationStep(&p.source, MSG_REQUEST_PAUSE, 22), 0);
}

/* A migration of another node only takes its end; it may fail here when this node takes over. */
static void testTracked(void **state) {
    (void)state;
    struct migration m;
    migrationTrackBegin(&m, 1);
    assert_string_equal(migrationStateName(m.state), "occurring-on-primary");
    assert_false(migrationHasEnded(&m) || migrationIsActive(&m));
    for (enum migrationEvent event = EV_CONNECTED; event <= MSG_GRANTED; event++)
        assert_int_equal(migrationStep(&m, event, 2), 0);
    assert_int_equal(migrationTick(&m, 10, 100000), 0);
    assert_int_equal(m.state, IMPORT_TRACKED);
    migrationTrackEnd(&m, MIGRATION_SUCCESS, "", 3);
    assert_int_equal(m.state, MIGRATION_SUCCESS);
    migrationTrackEnd(&m, MIGRATION_FAILED, "too late", 4);
    assert_int_equal(m.state, MIGRATION_SUCCESS);
    assert_int_equal(m.updated_ms, 3);
    migrationTrackBegin(&m, 5);
    assert_int_equal(migrationFail(&m, "taken over", 6), DO_END | DO_DELETE_KEYS);
    assert_string_equal(m.message, "taken over");
}

/* A participant ignores announced ends. */
static void testAnnouncedEndIsIgnored(void **state) {
    (void)state;
    struct migrationPair p;
    migrationTestRunUntil(&p, false, EXPORT_REPLICATING);
    enum migrationState before = p.target.state;
    migrationTrackEnd(&p.target, MIGRATION_SUCCESS, "", 9);
    assert_int_equal(p.target.state, before);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(testTracked), cmocka_unit_test(testAnnouncedEndIsIgnored),
        cmocka_unit_test(testWay),     cmocka_unit_test(testLost),
        cmocka_unit_test(testSilence), cmocka_unit_test(testOutOfTurn),
        cmocka_unit_test(testCancel),  cmocka_unit_test(testLateGrant),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
