/* SPDX-License-Identifier: BSD-3-Clause */
/* acl_role_test.c - random changes of roles and of users, listed or not, beside a model: what a user may use
 * is the union of what its rules and its roles grant, at every moment. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "acl/acl_others.h"
#include "acl/acl_private.h"
#include "base/model_ops.h"
#include "base/random.h"
#include "commands/cmd_generic.h"
#include "commands/cmd_server.h"

#define ROLES 5
#define USERS 6
#define KEYS  8 /* k0 to k7 */

/* Handlers of the layer above, which acl_check.c compares with and nothing here calls. */
#define ROLE_TEST_HANDLER(name)                                                                              \
    void name(struct client *c) {                                                                            \
        (void)c;                                                                                             \
    }
ROLE_TEST_HANDLER(swapdbCommand)
ROLE_TEST_HANDLER(moveCommand)
ROLE_TEST_HANDLER(copyCommand)

/* Sets of keys are bits. */
static struct {
    struct aclRole *role;
    unsigned keys;
} roles[ROLES];
static struct {
    struct aclUser *user;
    unsigned keys;
    int roles[ROLES], count;
} users[USERS];

static unsigned roleTestRandomKeys(void) {
    return (unsigned)(randomBelow(1 << KEYS) & randomBelow(1 << KEYS));
}

static sds roleTestCatKeys(sds text, unsigned keys) {
    for (int i = 0; i < KEYS; i++) {
        if (keys >> i & 1) text = sdscatprintf(text, "~k%d ", i);
    }
    return text;
}

/* Returns rules that grant these keys and no others: some in the root selector, some in up to two more. */
static sds roleTestRulesFor(unsigned keys) {
    unsigned root = keys & roleTestRandomKeys();
    sds text = roleTestCatKeys(sdsnew("clearselectors resetkeys "), root);
    unsigned part = keys & roleTestRandomKeys(), rest = keys & ~root & ~part;
    text = sdscat(roleTestCatKeys(sdscat(text, "("), part), ") ");
    return rest ? sdscat(roleTestCatKeys(sdscat(text, "("), rest), ")") : text;
}

/* Merges the words of a text to rules, which sdsfreesplitres frees. */
static sds *roleTestMerge(sds text, int *count) {
    int n, bad;
    sds *words = sdssplitargs(text, sdslen(text), &n);
    struct str views[64];
    assert_in_range(n, 0, 64);
    for (int i = 0; i < n; i++) views[i] = sdsview(words[i]);
    sds *rules = aclRulesMerge(views, n, count, &bad);
    assert_non_null(rules);
    sdsfreesplitres(words, n);
    sdsfree(text);
    return rules;
}

static void roleTestCreateRole(int r) {
    char name[] = {'r', (char)('0' + r), 0};
    roles[r].role = aclRoleCreate(strOf(name));
    roles[r].keys = 0;
    raxInsert(&acl_roles, strOf(name), roles[r].role, NULL);
}

static void roleTestChangeRole(int r) {
    int count, failed;
    unsigned keys = roleTestRandomKeys();
    sds *rules = roleTestMerge(roleTestRulesFor(keys), &count);
    struct aclRules next = aclRulesCopy(&roles[r].role->rules);
    assert_int_equal(aclRulesApplyAll(&next, rules, count, &failed), ACL_OK);
    sdsfreesplitres(rules, count);
    aclRoleSetRules(roles[r].role, next);
    roles[r].keys = keys;
}

/* Deletes a role that nobody has, and creates it again. */
static void roleTestRenewRole(int r) {
    if (roles[r].role->user_count) return;
    raxRemove(&acl_roles, sdsview(roles[r].role->name), NULL);
    aclRoleFree(roles[r].role);
    roleTestCreateRole(r);
}

/* Users with odd numbers are in no table. */
static void roleTestCreateUser(int u) {
    char name[] = {'u', (char)('0' + u), 0};
    users[u].user = aclUserCreate(strOf(name));
    users[u].keys = 0;
    users[u].count = 0;
    if (u % 2)
        aclUnlistedAdd(users[u].user);
    else
        raxInsert(&acl_users, strOf(name), users[u].user, NULL);
}

static void roleTestRenewUser(int u) {
    if (u % 2)
        aclUnlistedRemove(users[u].user);
    else
        raxRemove(&acl_users, sdsview(users[u].user->name), NULL);
    aclUserFree(users[u].user);
    roleTestCreateUser(u);
}

/* Applies rules as ACL SETUSER does; the last of them may be wrong. Returns whether they were accepted. */
static bool roleTestSetUser(int u, sds text) {
    int count, failed;
    sds *rules = roleTestMerge(text, &count);
    struct aclUser *next = aclUserCopy(users[u].user);
    enum aclError error = aclUserApplyAll(next, rules, count, &failed);
    sdsfreesplitres(rules, count);
    if (error)
        aclUserFree(next);
    else
        aclUserReplace(users[u].user, next);
    return !error;
}

static void roleTestAssign(int u) {
    int wanted[ROLES], n = 1 + (int)randomBelow(ROLES), count = 0;
    sds text = sdsnew(randomBelow(4) ? "role=" : "resetroles role=");
    for (int i = 0; i < n; i++) {
        int r = (int)randomBelow(ROLES), k = 0;
        text = sdscatprintf(text, "%sr%d", i ? "," : "", r);
        while (k < count && wanted[k] != r) k++;
        if (k == count) wanted[count++] = r;
    }
    const char *const wrong[] = {" role=", " role=r0,nosuch", " role=nosuch", " nosuch"};
    bool right = randomBelow(3);
    if (!right) text = sdscat(text, wrong[randomBelow(4)]);
    assert_int_equal(roleTestSetUser(u, text), right);
    if (!right) return;
    memcpy(users[u].roles, wanted, sizeof wanted);
    users[u].count = count;
}

static void roleTestChangeUser(int u) {
    unsigned keys = roleTestRandomKeys();
    assert_true(roleTestSetUser(u, roleTestRulesFor(keys)));
    users[u].keys = keys;
}

static void roleTestResetUser(int u) {
    bool all = randomBelow(2);
    assert_true(roleTestSetUser(u, sdsnew(all ? "reset" : "resetroles")));
    users[u].count = 0;
    if (all) users[u].keys = 0;
}

/* ---- The check ---- */

static void roleTestCheckUser(int u) {
    unsigned keys = users[u].keys;
    assert_int_equal(users[u].user->role_count, users[u].count);
    for (int i = 0; i < users[u].count; i++) {
        assert_ptr_equal(users[u].user->roles[i], roles[users[u].roles[i]].role);
        keys |= roles[users[u].roles[i]].keys;
    }
    for (int i = 0; i < KEYS; i++) {
        char key[] = {'k', (char)('0' + i), 0};
        assert_int_equal(aclUserMayUseKey(users[u].user, strOf(key), 0), keys >> i & 1);
    }
    assert_false(users[u].user->head.unlimited);
}

static void roleTestCheckRole(int r) {
    int count = 0;
    for (int u = 0; u < USERS; u++) count += aclUserHasRole(users[u].user, roles[r].role);
    assert_int_equal(roles[r].role->user_count, count);
}

static void testAgainstModel(void **state) {
    (void)state;
    for (uint64_t n = modelShare(50000), i = 0; i < n; i++) {
        int r = (int)randomBelow(ROLES), u = (int)randomBelow(USERS);
        switch (randomBelow(8)) {
        case 0:
        case 1: roleTestChangeRole(r); break;
        case 2:
        case 3: roleTestAssign(u); break;
        case 4: roleTestChangeUser(u); break;
        case 5: roleTestResetUser(u); break;
        case 6: roleTestRenewRole(r); break;
        default: roleTestRenewUser(u);
        }
        for (int k = 0; k < USERS; k++) roleTestCheckUser(k);
        for (int k = 0; k < ROLES; k++) roleTestCheckRole(k);
    }
}

/* ---- Names ---- */

static void testNames(void **state) {
    (void)state;
    const char *const good[] = {"a", "!", "~", "@all", "a|b", "(x)", "role=x", "#x", "default"};
    const char *const bad[] = {"", " ", "a b", "a,b", "a\"", "'", "\\", "\x7f", "a\n", "\xc3\xa9", "\t"};
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) assert_true(aclRoleNameIsValid(strOf(good[i])));
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) assert_false(aclRoleNameIsValid(strOf(bad[i])));
    assert_false(aclRoleNameIsValid(strN("a\0b", 3)));
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(testNames), cmocka_unit_test(testAgainstModel)};
    randomSeed(4712);
    listInit(&clients);
    aclUsersInit();
    for (int r = 0; r < ROLES; r++) roleTestCreateRole(r);
    for (int u = 0; u < USERS; u++) roleTestCreateUser(u);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
