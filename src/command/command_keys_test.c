/* SPDX-License-Identifier: BSD-3-Clause */
/* command_keys_test.c - finding keys by key specs, including forms that no command uses yet. */
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/sds.h"
#include "base/zmalloc.h"
#include "command/command.h"
#include "commands/cmd_grammar.h"

typedef int findKeys(const struct serverCommand *cmd, const struct str *argv, int argc, struct keyRef **keys);

/* Expects the keys that are found in a line, each followed by a blank; "-" when the line does not fit. */
static void expectFound(findKeys *find, const struct keySpec *specs, int count, uint64_t flags,
                        const char *line, const char *expected) {
    struct commandSpec spec = {.name = "test", .key_specs = specs, .key_spec_count = count};
    struct serverCommand cmd = {.spec = &spec, .flags = flags};
    int argc;
    sds *words = sdssplitargs(line, strlen(line), &argc);
    struct str *argv = zmalloc((size_t)argc * sizeof *argv);
    for (int i = 0; i < argc; i++) argv[i] = sdsview(words[i]);

    struct keyRef *keys;
    int n = find(&cmd, argv, argc, &keys);
    sds found = sdsnew(n < 0 ? "-" : "");
    for (int i = 0; i < n; i++) {
        assert_in_range(keys[i].pos, 1, argc - 1);
        found = sdscat(sdscatstr(found, argv[keys[i].pos]), " ");
    }
    assert_string_equal(found, expected);
    assert_true((n > 0) == (keys != NULL));
    zfree(keys);
    zfree(argv);
    sdsfree(found);
    sdsfreesplitres(words, argc);
}

static void expectKeys(const struct keySpec *specs, int count, uint64_t flags, const char *line,
                       const char *expected) {
    expectFound(commandGetKeyRefs, specs, count, flags, line, expected);
}

static void testRange(void **state) {
    (void)state;
    static const struct keySpec one[] = {{KEYS_AT(1), KEYS_RANGE(0, 1)}};
    expectKeys(one, 1, 0, "get a b", "a ");
    expectKeys(one, 1, 0, "get", "-");
    static const struct keySpec pairs[] = {{KEYS_AT(1), KEYS_RANGE(-1, 2)}};
    expectKeys(pairs, 1, 0, "mset a 1 b 2", "a b ");
    expectKeys(pairs, 1, 0, "mset a 1 b", "a b ");
    static const struct keySpec but_last[] = {{KEYS_AT(1), KEYS_RANGE(-2, 1)}};
    expectKeys(but_last, 1, 0, "blpop a b 0", "a b ");
    expectKeys(but_last, 1, 0, "blpop a", "-");
    static const struct keySpec more[] = {{KEYS_AT(1), KEYS_RANGE(0, 1)}, {KEYS_AT(2), KEYS_RANGE(-1, 1)}};
    expectKeys(more, 2, 0, "pfmerge a", "a ");
    expectKeys(more, 2, 0, "pfmerge a b c", "a b c ");
}

static void testCounted(void **state) {
    (void)state;
    static const struct keySpec specs[] = {{KEYS_AT(1), KEYS_RANGE(0, 1)}, {KEYS_AT(2), KEYS_COUNTED(0, 1)}};
    expectKeys(specs, 2, 0, "zunionstore d 2 a b weights", "d a b ");
    expectKeys(specs, 2, 0, "zunionstore d 3 a b", "-");
    expectKeys(specs, 2, 0, "zunionstore d 0 a b", "-");
    expectKeys(specs, 2, 0, "zunionstore d -1 a b", "-");
    expectKeys(specs, 2, 0, "zunionstore d x a b", "-");
    expectKeys(specs, 2, 0, "zunionstore d 9223372036854775807 a b", "-");
    expectKeys(specs, 2, 0, "zunionstore d", "-");
    static const struct keySpec script[] = {{KEYS_AT(2), KEYS_COUNTED(0, 1)}};
    expectKeys(script, 1, CMD_NO_MANDATORY_KEYS, "eval s 0 a", "");
    expectKeys(script, 1, CMD_NO_MANDATORY_KEYS, "eval s 1 a", "a ");
    expectKeys(script, 1, CMD_NO_MANDATORY_KEYS, "eval s 1", "-");
}

static void testKeyword(void **state) {
    (void)state;
    /* Half of the arguments behind the keyword are keys, the other half ids. */
    static const struct keySpec streams[] = {{.begin = KEYS_BEGIN_KEYWORD,
                                              .keyword = "STREAMS",
                                              .pos = 1,
                                              .find = KEYS_FIND_RANGE,
                                              .lastkey = -1,
                                              .step = 1,
                                              .limit = 2}};
    expectKeys(streams, 1, 0, "xread count 1 streams a b 0 0", "a b ");
    expectKeys(streams, 1, 0, "xread STREAMS a 0", "a ");
    expectKeys(streams, 1, 0, "xread count 1", "");
    expectKeys(streams, 1, 0, "xread streams", "");
    /* The keyword is searched from the end, so that a key of the same name is not taken for it. */
    static const struct keySpec keys[] = {{.begin = KEYS_BEGIN_KEYWORD,
                                           .keyword = "KEYS",
                                           .pos = -2,
                                           .find = KEYS_FIND_RANGE,
                                           .lastkey = -1,
                                           .step = 1}};
    expectKeys(keys, 1, 0, "migrate host KEYS x keys a b", "a b ");
    expectKeys(keys, 1, 0, "migrate keys", "");
    expectKeys(keys, 1, 0, "keys", "");
}

static void testNotKeys(void **state) {
    (void)state;
    static const struct keySpec specs[] = {{.flags = KEY_NOT_KEY, KEYS_AT(1), KEYS_RANGE(0, 1)},
                                           {.begin = KEYS_BEGIN_UNKNOWN, .find = KEYS_FIND_UNKNOWN},
                                           {KEYS_AT(2), KEYS_RANGE(0, 1)}};
    expectKeys(specs, 3, 0, "x channel a b", "a ");
    expectFound(commandGetRoutes, specs, 3, 0, "x channel a b", "channel a ");
}

/* Specs of modules may contain any numbers. */
static void testArbitraryNumbers(void **state) {
    (void)state;
    static const struct keySpec negative[] = {{KEYS_AT(-1), KEYS_RANGE(-1, 1)}};
    expectKeys(negative, 1, 0, "x a b", "-");
    static const struct keySpec no_step[] = {{KEYS_AT(1), KEYS_RANGE(-1, 0)}};
    expectKeys(no_step, 1, 0, "x a b", "a b ");
    static const struct keySpec back[] = {{KEYS_AT(1), KEYS_RANGE(0, -1)}};
    expectKeys(back, 1, 0, "x a b", "a ");
    static const struct keySpec huge_step[] = {{KEYS_AT(1), KEYS_RANGE(0, INT_MAX)}};
    expectKeys(huge_step, 1, 0, "x a b", "a ");
    static const struct keySpec huge[] = {{KEYS_AT(1), KEYS_RANGE(INT_MAX, 1)}};
    expectKeys(huge, 1, 0, "x a b", "-");
    static const struct keySpec count_before[] = {
        {KEYS_AT(1), .find = KEYS_FIND_KEYNUM, .keynumidx = -2, .firstkey = 1, .keynum_step = 1}};
    expectKeys(count_before, 1, 0, "x 1 b", "-");
    static const struct keySpec keys_before[] = {
        {KEYS_AT(1), .find = KEYS_FIND_KEYNUM, .firstkey = -3, .keynum_step = 1}};
    expectKeys(keys_before, 1, 0, "x 1 b", "-");
    static const struct keySpec no_keynum_step[] = {{KEYS_AT(1), .find = KEYS_FIND_KEYNUM, .firstkey = 1}};
    expectKeys(no_keynum_step, 1, 0, "x 2 a b", "a b ");
}

static void testKeywordAtTheEnd(void **state) {
    (void)state;
    static const struct keySpec from[] = {
        {KEYS_AT(1), KEYS_RANGE(0, 1)},
        {.begin = KEYS_BEGIN_KEYWORD, .keyword = "from", .pos = 2, KEYS_RANGE(0, 1)}};
    expectKeys(from, 2, 0, "x a from b", "a b ");
    expectKeys(from, 2, 0, "x a from", "a ");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(testRange),           cmocka_unit_test(testArbitraryNumbers),
        cmocka_unit_test(testKeywordAtTheEnd), cmocka_unit_test(testCounted),
        cmocka_unit_test(testKeyword),         cmocka_unit_test(testNotKeys)};
    return cmocka_run_group_tests_name("command_keys", tests, NULL, NULL);
}
