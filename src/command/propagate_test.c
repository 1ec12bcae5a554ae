/* propagate_test.c - what sinks see of units: one command as it is, more in MULTI and EXEC. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/sds.h"
#include "data/db.h"
#include "command/propagate.h"

static sds seen; /* "0 SET a|0 DEL b|" */

static void sink(int dbid, int argc, const struct str *argv) {
    seen = sdscatprintf(seen, "%d", dbid);
    for (int i = 0; i < argc; i++) seen = sdscatstr(sdscatlen(seen, " ", 1), argv[i]);
    seen = sdscatlen(seen, "|", 1);
}

static void expectSeen(const char *expected) {
    assert_string_equal(seen, expected);
    sdsfree(seen);
    seen = sdsempty();
}

static struct db test_db;
static struct client test_client = {.db = &test_db};

/* As commandCall does it; inner: what it runs itself. */
static void run(int dbid, const char *name, bool dirty, void (*inner)(void)) {
    struct str argv[] = {strOf(name)};
    propagateBegin();
    if (inner) inner();
    test_db.id = dbid;
    test_client.argv = argv;
    test_client.argc = 1;
    propagateAfterCommand(&test_client, dirty);
    propagateEnd();
}

static void nothing(void) {
    run(0, "GET", false, NULL);
}
static void one(void) {
    run(0, "GET", false, NULL);
    run(1, "SET", true, NULL);
    propagateSuppress(&test_client);
}
static void three(void) {
    run(1, "SET", true, NULL);
    nothing();
    run(2, "INCR", true, NULL);
    run(2, "DEL", true, one);
    propagateSuppress(&test_client);
}
static void expires(void) {
    propagateNow(3, 1, &STR("UNLINK"));
}
static void rewritesTwice(void) {
    propagateRewrite(&test_client, 1, &STR("SREM"));
    propagateRewrite(&test_client, 1, &STR("SADD"));
}

static void testSingle(void **state) {
    (void)state;
    run(4, "SET", true, NULL);
    expectSeen("4 SET|");
    run(4, "GET", false, NULL);
    expectSeen("");
    expires();
    expectSeen("3 UNLINK|");
}

static void testUnits(void **state) {
    (void)state;
    run(0, "EXEC", false, nothing);
    expectSeen("");
    run(0, "EXEC", true, one);
    expectSeen("1 SET|");
    run(0, "EXEC", true, three);
    expectSeen("1 MULTI|1 SET|2 INCR|1 SET|1 EXEC|");
    run(0, "SET", true, NULL);
    expectSeen("0 SET|");
}

static void testExpiry(void **state) {
    (void)state;
    run(0, "SET", true, expires);
    expectSeen("3 MULTI|3 UNLINK|0 SET|0 EXEC|");
    run(0, "GET", false, expires);
    expectSeen("3 UNLINK|");
}

static void testRewrites(void **state) {
    (void)state;
    test_db.id = 0;
    run(0, "SPOP", true, rewritesTwice);
    expectSeen("0 MULTI|0 SREM|0 SADD|0 EXEC|");
}

int main(void) {
    seen = sdsempty();
    propagateAddSink(sink);
    const struct CMUnitTest tests[] = {cmocka_unit_test(testSingle), cmocka_unit_test(testUnits),
                                       cmocka_unit_test(testExpiry), cmocka_unit_test(testRewrites)};
    int failed = cmocka_run_group_tests_name("propagate", tests, NULL, NULL);
    sdsfree(seen);
    return failed;
}
