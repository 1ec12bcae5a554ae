/* SPDX-License-Identifier: BSD-3-Clause */
/* acl_patterns_test.c - many patterns together match exactly what each of them matches alone. */
#include "acl/acl_patterns.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/glob.h"
#include "base/random.h"

static void aclPatternsTestAllows(struct aclPatterns *p, const char *name, unsigned access) {
    if (!aclPatternsMatch(p, strOf(name), access)) fail_msg("'%s' is not allowed", name);
}

static void aclPatternsTestRefuses(struct aclPatterns *p, const char *name, unsigned access) {
    if (aclPatternsMatch(p, strOf(name), access)) fail_msg("'%s' is allowed", name);
}

static void testForms(void **state) {
    (void)state;
    struct aclPatterns p = {0};
    aclPatternsTestRefuses(&p, "", 0);
    aclPatternsAdd(&p, STR("app:*"), ACL_PATTERN_ALL);
    aclPatternsAdd(&p, STR("app:x:*"), ACL_PATTERN_ALL);
    aclPatternsAdd(&p, STR("queue"), ACL_PATTERN_ALL);
    aclPatternsAdd(&p, STR("[ab]?*"), ACL_PATTERN_ALL);
    aclPatternsAdd(&p, STR("es\\*"), ACL_PATTERN_ALL);
    const char *yes[] = {"app:", "app:1", "app:x:1", "app:z", "queue", "a1", "bxyz", "es*"};
    const char *no[] = {"", "cpp:", "b", "queue1", "queu", "c1", "esx", "es\\*"};
    for (size_t i = 0; i < sizeof yes / sizeof *yes; i++) aclPatternsTestAllows(&p, yes[i], ACL_PATTERN_ALL);
    for (size_t i = 0; i < sizeof no / sizeof *no; i++) aclPatternsTestRefuses(&p, no[i], ACL_PATTERN_ALL);
    aclPatternsClear(&p);
    aclPatternsTestRefuses(&p, "queue", ACL_PATTERN_ALL);
}

/* Names are views: bytes behind them in memory do not count. */
static void testShorterNames(void **state) {
    (void)state;
    static const char text[] = "account:12345:x";
    struct aclPatterns p = {0};
    aclPatternsAdd(&p, STR("account:12345:*"), 0);
    for (size_t len = 0; len <= strlen(text); len++)
        assert_int_equal(aclPatternsMatch(&p, strN(text, len), 0), len >= strlen("account:12345:"));
    aclPatternsClear(&p);
}

static void testAccess(void **state) {
    (void)state;
    struct aclPatterns p = {0};
    aclPatternsAdd(&p, STR("r*"), ACL_PATTERN_READ);
    aclPatternsAdd(&p, STR("*w"), ACL_PATTERN_WRITE);
    aclPatternsTestAllows(&p, "r", ACL_PATTERN_READ);
    aclPatternsTestAllows(&p, "r", 0);
    aclPatternsTestRefuses(&p, "r", ACL_PATTERN_WRITE);
    aclPatternsTestAllows(&p, "w", ACL_PATTERN_WRITE);
    /* Two patterns together do not grant what neither of them grants. */
    aclPatternsTestRefuses(&p, "rw", ACL_PATTERN_ALL);
    aclPatternsAdd(&p, STR("r*"), ACL_PATTERN_WRITE);
    aclPatternsTestAllows(&p, "rw", ACL_PATTERN_ALL);
    assert_int_equal(p.count, 2);
    assert_true(aclPatternsHave(&p, STR("r*"), ACL_PATTERN_ALL));
    assert_false(aclPatternsHave(&p, STR("*w"), ACL_PATTERN_READ));
    struct aclPatterns copy;
    aclPatternsCopy(&copy, &p);
    aclPatternsClear(&p);
    aclPatternsTestAllows(&copy, "rw", ACL_PATTERN_ALL);
    aclPatternsClear(&copy);
}

/* Strings of few letters, so that many are prefixes of each other. */
static struct str aclPatternsTestRandomText(char *buf, const char *alphabet, size_t letters) {
    size_t len = randomBelow(6);
    for (size_t i = 0; i < len; i++) buf[i] = alphabet[randomBelow(letters)];
    return strN(buf, len);
}

static void testAgainstGlob(void **state) {
    (void)state;
    char buf[8];
    for (int round = 0; round < 300; round++) {
        struct aclPatterns p = {0};
        for (uint64_t n = randomBelow(30); n; n--) {
            struct str text = aclPatternsTestRandomText(buf, "abaab*?", 7);
            if (randomBelow(2)) {
                buf[text.len] = '*';
                text = strN(buf, text.len + 1);
            }
            aclPatternsAdd(&p, text, (unsigned)randomBelow(3) + 1);
        }
        for (int i = 0; i < 200; i++) {
            struct str name = aclPatternsTestRandomText(buf, "ab", 2);
            unsigned access = (unsigned)randomBelow(4);
            bool expected = false;
            for (int j = 0; j < p.count; j++) {
                bool grants = (p.items[j].access & access) == access;
                expected |= grants && globMatch(sdsview(p.items[j].text), name, false);
            }
            assert_int_equal(aclPatternsMatch(&p, name, access), expected);
        }
        aclPatternsClear(&p);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(testForms),
        cmocka_unit_test(testShorterNames),
        cmocka_unit_test(testAccess),
        cmocka_unit_test(testAgainstGlob),
    };
    randomSeed(4711);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
