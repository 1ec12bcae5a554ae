/* SPDX-License-Identifier: BSD-3-Clause */
/* declared_keys_test.c - every kind of undeclared use is found, and allowed uses are not reported. */
#include "command/declared_keys.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/sds.h"
#include "client/client.h"
#include "command/command.h"
#include "commands/cmd_grammar.h"
#include "data/keyspace/db.h"

static struct db db0 = {.id = 0}, db1 = {.id = 1};

/* Returns whether that use of the key is reported while "test a b c" runs in database 0. */
static bool isFault(const struct keySpec *specs, int count, uint64_t flags, const struct db *db,
                    const char *key, enum keyUse use) {
    static struct str argv[] = {{"test", 4}, {"a", 1}, {"b", 1}, {"c", 1}};
    struct commandSpec spec = {.name = "test", .key_specs = specs, .key_spec_count = count};
    struct serverCommand cmd = {.spec = &spec, .flags = flags, .fullname = sdsnew("test")};
    struct client c = {.cmd = &cmd, .argv = argv, .argc = 4, .db = &db0};
    struct declaredKeys d;
    declaredKeysPush(&d, &c);
    bool fault = !declaredKeysCover(db, strOf(key), use);
    declaredKeysPop(&d);
    sdsfree(cmd.fullname);
    return fault;
}

static void testUses(void **state) {
    (void)state;
    static const struct keySpec specs[] = {{.flags = KEY_RO | KEY_ACCESS, KEYS_AT(1), KEYS_RANGE(0, 1)},
                                           {.flags = KEY_OW | KEY_UPDATE, KEYS_AT(2), KEYS_RANGE(0, 1)}};
    assert_false(isFault(specs, 2, 0, &db0, "a", KEY_USE_READ));
    assert_false(isFault(specs, 2, 0, &db0, "a", KEY_USE_LOOKUP));
    assert_true(isFault(specs, 2, 0, &db0, "a", KEY_USE_CHANGE));
    assert_false(isFault(specs, 2, 0, &db0, "b", KEY_USE_CHANGE));
    assert_false(isFault(specs, 2, 0, &db0, "b", KEY_USE_LOOKUP));
    assert_true(isFault(specs, 2, 0, &db0, "b", KEY_USE_READ));
    assert_true(isFault(specs, 2, 0, &db0, "c", KEY_USE_LOOKUP));
    assert_true(isFault(specs, 2, 0, &db1, "a", KEY_USE_READ));
}

static void testExceptions(void **state) {
    (void)state;
    static const struct keySpec specs[] = {{.flags = KEY_RO, .begin = KEYS_BEGIN_UNKNOWN}};
    assert_true(isFault(NULL, 0, 0, &db0, "a", KEY_USE_READ));
    assert_false(isFault(NULL, 0, CMD_TOUCHES_ARBITRARY_KEYS, &db0, "a", KEY_USE_READ));
    assert_false(isFault(NULL, 0, CMD_ADMIN, &db0, "a", KEY_USE_CHANGE));
    assert_false(isFault(specs, 1, 0, &db0, "x", KEY_USE_READ));
    assert_true(isFault(specs, 1, 0, &db0, "x", KEY_USE_CHANGE));
    assert_true(declaredKeysCover(&db0, STR("a"), KEY_USE_CHANGE)); /* no command runs */
}

/* A key may be notified as often as the command names it: MSET a 1 a 2 may do so twice. */
static void testNotifying(void **state) {
    (void)state;
    static const struct keySpec specs[] = {{.flags = KEY_OW | KEY_UPDATE, KEYS_AT(1), KEYS_RANGE(-1, 1)}};
    static struct str argv[] = {{"test", 4}, {"b", 1}, {"a", 1}, {"b", 1}};
    struct commandSpec spec = {.name = "test", .key_specs = specs, .key_spec_count = 1};
    struct serverCommand cmd = {.spec = &spec, .fullname = sdsnew("test")};
    struct client c = {.cmd = &cmd, .argv = argv, .argc = 4, .db = &db0};
    struct declaredKeys d;
    declaredKeysPush(&d, &c);
    assert_true(declaredKeysNotify(&db0, STR("a")));
    assert_false(declaredKeysNotify(&db0, STR("a")));
    assert_true(declaredKeysNotify(&db0, STR("b")));
    assert_true(declaredKeysNotify(&db0, STR("b")));
    assert_false(declaredKeysNotify(&db0, STR("b")));
    assert_true(declaredKeysNotify(&db1, STR("a")));
    declaredKeysPop(&d);
    assert_true(declaredKeysNotify(&db0, STR("a"))); /* no command runs */
    sdsfree(cmd.fullname);
}

static void declaredKeysTestNesting(void **state) {
    (void)state;
    struct declaredKeys outer;
    declaredKeysPush(&outer, NULL);
    assert_true(isFault(NULL, 0, 0, &db0, "a", KEY_USE_LOOKUP));
    assert_true(declaredKeysCover(&db0, STR("a"), KEY_USE_CHANGE));
    declaredKeysPop(&outer);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(testUses), cmocka_unit_test(testExceptions),
                                       cmocka_unit_test(testNotifying),
                                       cmocka_unit_test(declaredKeysTestNesting)};
    return cmocka_run_group_tests_name("declared_keys", tests, NULL, NULL);
}
