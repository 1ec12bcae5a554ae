/* SPDX-License-Identifier: BSD-3-Clause */
/* notify_test.c - the order in which sinks are called, and what counts as a change. */
#include "data/notify.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

static struct db db0 = {.id = 0}, db1 = {.id = 1};
static char recorded[256];

static void notifyTestRecord(const char *what, struct str key, int dbid) {
    size_t n = strlen(recorded);
    snprintf(recorded + n, sizeof recorded - n, "%s(%.*s,%d) ", what, (int)key.len, key.ptr, dbid);
}
static void onModified(struct client *c, struct db *db, struct str key) {
    notifyTestRecord(c ? "modified" : "by-itself", key, db->id);
}
static void notifyTestOnEvent(int class, const char *event, struct str key, int dbid) {
    (void)class;
    notifyTestRecord(event, key, dbid);
}

/* Expects these calls of sinks, and this number of counted changes, since the last call. */
static void notifyTestExpect(const char *what, uint64_t changes) {
    static uint64_t before;
    assert_string_equal(recorded, what);
    assert_int_equal(dbstats.dirty - before, changes);
    before = dbstats.dirty;
    recorded[0] = '\0';
}

static struct client *notifyTestSomebody(void) {
    static char one; /* no sink here reads it */
    return (struct client *)(void *)&one;
}

static void aChange(void **state) {
    (void)state;
    keyChanged(notifyTestSomebody(), &db0, STR("a"), NOTIFY_STRING, "set", 3);
    notifyTestExpect("modified(a,0) set(a,0) ", 3);
    keyChanged(notifyTestSomebody(), &db1, STR("a"), NOTIFY_STRING, NULL, 1);
    notifyTestExpect("modified(a,1) ", 1);
    keyChanged(NULL, &db0, STR("a"), NOTIFY_HASH, "hexpired", 0);
    notifyTestExpect("by-itself(a,0) hexpired(a,0) ", 0);
}

static void twoKeys(void **state) {
    (void)state;
    keyMoved(notifyTestSomebody(), &db0, STR("a"), "from", &db1, STR("b"), "to");
    notifyTestExpect("modified(a,0) modified(b,1) from(a,0) to(b,1) ", 1);
}

static void whatIsNoChangeOfTheValue(void **state) {
    (void)state;
    keyStateChanged(&db0, STR("a"), NOTIFY_STREAM, "xgroup", 2);
    notifyTestExpect("xgroup(a,0) ", 2);
    keyStateChanged(&db0, STR("a"), NOTIFY_STREAM, NULL, 1);
    notifyTestExpect("", 1);
    keyEvent(NOTIFY_GENERIC, "del", STR("a"), &db1);
    notifyTestExpect("del(a,1) ", 0);
    changesCount(5);
    notifyTestExpect("", 5);
}

static void aKeyThatGoesByItself(void **state) {
    (void)state;
    keyDropped(&db0, STR("a"), NOTIFY_EXPIRED, "expired");
    notifyTestExpect("expired(a,0) by-itself(a,0) ", 0);
}

static void removedSinksAreNotCalled(void **state) {
    (void)state;
    notifyRemoveEventSink(notifyTestOnEvent);
    keyChanged(notifyTestSomebody(), &db0, STR("a"), NOTIFY_STRING, "set", 1);
    notifyTestExpect("modified(a,0) ", 1);
    notifyAddEventSink(notifyTestOnEvent);
}

static void notifyTestMark(struct client *c, struct db *db, struct str key) {
    (void)c;
    notifyTestRecord("marked", key, db->id);
}

static void theMarkerIsCalledForEachChangeWhileItIsSet(void **state) {
    (void)state;
    for (int round = 0; round < 3; round++) {
        notifySetMarker(notifyTestMark);
        notifySetMarker(notifyTestMark);
        keyChanged(notifyTestSomebody(), &db0, STR("a"), NOTIFY_STRING, "set", 1);
        notifyTestExpect("modified(a,0) marked(a,0) set(a,0) ", 1);
        keyStateChanged(&db0, STR("a"), NOTIFY_STREAM, "xgroup", 1);
        notifyTestExpect("marked(a,0) xgroup(a,0) ", 1);
        keyStateChanged(&db0, STR("a"), NOTIFY_STREAM, NULL, 0);
        notifyTestExpect("", 0);
        notifySetMarker(NULL);
        keyChanged(notifyTestSomebody(), &db0, STR("a"), NOTIFY_STRING, "set", 1);
        notifyTestExpect("modified(a,0) set(a,0) ", 1);
        keyStateChanged(&db0, STR("a"), NOTIFY_STREAM, NULL, 1);
        notifyTestExpect("", 1);
    }
}

static size_t interest = 1;

static void sinksWithoutInterestAreNotCalled(void **state) {
    (void)state;
    interest = 0;
    keyChanged(notifyTestSomebody(), &db0, STR("a"), NOTIFY_STRING, "set", 1);
    notifyTestExpect("set(a,0) ", 1);
    keyDropped(&db0, STR("a"), NOTIFY_EXPIRED, "expired");
    notifyTestExpect("expired(a,0) ", 0);
    interest = 1;
}

int main(void) {
    notifyAddModifiedSink(onModified, &interest);
    notifyAddEventSink(notifyTestOnEvent);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(aChange),
        cmocka_unit_test(twoKeys),
        cmocka_unit_test(whatIsNoChangeOfTheValue),
        cmocka_unit_test(aKeyThatGoesByItself),
        cmocka_unit_test(removedSinksAreNotCalled),
        cmocka_unit_test(sinksWithoutInterestAreNotCalled),
        cmocka_unit_test(theMarkerIsCalledForEachChangeWhileItIsSet),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
