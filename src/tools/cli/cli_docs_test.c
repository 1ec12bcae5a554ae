/* SPDX-License-Identifier: BSD-3-Clause */
/* cli_docs_test.c - synopses, hints and completions from a small COMMAND DOCS reply. */
#include "tools/cli/cli_docs.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

/* ---- A reply as nested lists: names are bare, ( ) is an array ---- */

static sds cliDocsTestEncode(sds out, const char **p);

static sds encodeList(sds out, const char **p) {
    sds items = sdsempty();
    int count = 0;
    for (;; count++) {
        while (**p == ' ') (*p)++;
        if (**p == ')' || **p == '\0') break;
        items = cliDocsTestEncode(items, p);
    }
    if (**p == ')') (*p)++;
    out = sdscatprintf(out, "*%d\r\n%s", count, items);
    sdsfree(items);
    return out;
}

static sds cliDocsTestEncode(sds out, const char **p) {
    if (**p == '(') {
        (*p)++;
        return encodeList(out, p);
    }
    size_t len = strcspn(*p, " ()");
    out = sdscatprintf(out, "$%zu\r\n%.*s\r\n", len, (int)len, *p);
    *p += len;
    return out;
}

static const char description[] =
    "get (group string arguments ((name key type key)))"
    "set (group string arguments ((name key type key) (name value type string)"
    "  (name condition type oneof flags (optional) arguments"
    "    ((name nx type pure-token token NX) (name xx type pure-token token XX)))"
    "  (name get type pure-token token GET flags (optional))"
    "  (name expiration type oneof flags (optional) arguments"
    "    ((name seconds type integer token EX) (name ms type integer token PX)))))"
    "del (group generic arguments ((name key type key flags (multiple))))"
    "ping (group connection arguments ((name message type string flags (optional))))"
    "zadd (group sorted-set arguments ((name key type key)"
    "  (name condition type oneof flags (optional) arguments"
    "    ((name nx type pure-token token NX) (name xx type pure-token token XX)))"
    "  (name data type block flags (multiple) arguments ((name score type double) (name member type string)))))"
    "lmpop (group list arguments ((name numkeys type integer) (name key type key flags (multiple))"
    "  (name where type oneof arguments"
    "    ((name left type pure-token token LEFT) (name right type pure-token token RIGHT)))"
    "  (name count type integer token COUNT flags (optional))))"
    "sort (group generic arguments ((name key type key)"
    "  (name pattern type pattern token BY display_text by-pattern flags (optional))"
    "  (name limit type block token LIMIT flags (optional) arguments"
    "    ((name offset type integer) (name count type integer)))"
    "  (name get type pattern token GET flags (optional multiple multiple_token))))"
    "config (group server subcommands ("
    "  config|get (group server arguments ((name parameter type string flags (multiple))))"
    "  config|resetstat (group server)))"
    "quit (group connection)";

static struct cliDocs docs;

static int cliDocsTestSetUp(void **state) {
    (void)state;
    const char *p = description;
    return cliDocsSet(&docs, encodeList(sdsempty(), &p)) ? 0 : -1;
}

static int cliDocsTestTearDown(void **state) {
    (void)state;
    cliDocsFree(&docs);
    return 0;
}

/* ---- Hints ---- */

static void expectHint(const char *line, const char *want) {
    sds hint = cliHint(&docs, line);
    if (want == NULL) {
        if (hint) fail_msg("a hint for '%s': %s", line, hint);
        return;
    }
    if (hint == NULL) fail_msg("no hint for '%s'", line);
    assert_string_equal(hint, want);
    sdsfree(hint);
}

static void testHintsOfPlainArguments(void **state) {
    (void)state;
    expectHint("get", "key");
    expectHint("GET ", "key");
    expectHint("get a", NULL);
    expectHint("get a b", NULL);
    expectHint("ge", NULL);
    expectHint("", NULL);
    expectHint("quit", NULL);
    expectHint("ping", "[message]");
    expectHint("nosuch a", NULL);
    expectHint("get \"a b", NULL); /* within quotes */
    expectHint("set \"a b", "value [NX|XX] [GET] [EX seconds|PX ms]");
    expectHint("set 'a b", "value [NX|XX] [GET] [EX seconds|PX ms]");
    expectHint("3 get", "key");
    expectHint("config get", "parameter [parameter ...]");
    expectHint("config get a", "[parameter ...]");
    expectHint("config", NULL);
}

static void testHintsOfOptions(void **state) {
    (void)state;
    expectHint("set a", "value [NX|XX] [GET] [EX seconds|PX ms]");
    expectHint("set a b", "[NX|XX] [GET] [EX seconds|PX ms]");
    expectHint("set a b ex", "seconds [NX|XX] [GET]");
    expectHint("set a b EX 10", "[NX|XX] [GET]");
    expectHint("set a b GET xx", "[EX seconds|PX ms]");
    expectHint("set a b GET xx px 5", NULL);
    expectHint("set a b bad", NULL);
}

static void testHintsOfRepeatedArguments(void **state) {
    (void)state;
    expectHint("del", "key [key ...]");
    expectHint("del a b", "[key ...]");
    expectHint("zadd k", "[NX|XX] score member [score member ...]");
    expectHint("zadd k NX", "score member [score member ...]");
    expectHint("zadd k 1", "member");
    expectHint("zadd k 1 a", "[score member ...]");
    expectHint("zadd k 1 a 2", "member");
    expectHint("lmpop 2 a b", "[key ...] LEFT|RIGHT [COUNT count]");
    expectHint("lmpop 2 a b left", "[COUNT count]");
    expectHint("lmpop 2 a b left count", "count");
    expectHint("sort k", "[BY by-pattern] [LIMIT offset count] [GET get [GET get ...]]");
    expectHint("sort k LIMIT 0", "count [BY by-pattern] [GET get [GET get ...]]");
    expectHint("sort k GET a", "[GET get ...] [BY by-pattern] [LIMIT offset count]");
}

/* ---- Completions ---- */

static void expectCompletions(const char *line, const char *want) {
    int count;
    sds *lines = cliCompletions(&docs, line, &count), joined = sdsempty();
    for (int i = 0; i < count; i++) joined = sdscatprintf(joined, "%s%s", i ? "," : "", lines[i]);
    assert_string_equal(joined, want);
    sdsfree(joined);
    sdsfreesplitres(lines, count);
}

static void testCompletions(void **state) {
    (void)state;
    expectCompletions("s", "SET,SORT");
    expectCompletions("Ge", "GET");
    expectCompletions("x", "");
    expectCompletions("config ", "CONFIG GET,CONFIG RESETSTAT");
    expectCompletions("config r", "CONFIG RESETSTAT");
    expectCompletions("set a b ", "set a b EX,set a b GET,set a b NX,set a b PX,set a b XX");
    expectCompletions("set a b n", "set a b NX");
    expectCompletions("set a b nx ge", "set a b nx GET");
    expectCompletions("set a b GET g", "");
    expectCompletions("help s", "help SET,help SORT");
    expectCompletions("help @",
                      "help @connection,help @generic,help @list,help @server,help @sorted-set,help @string");
    expectCompletions("set \"a", "");
    expectCompletions("set \"a b\" c n", "set \"a b\" c NX");
    expectCompletions("3 s", "3 SET,3 SORT");
    expectCompletions("3 config r", "3 CONFIG RESETSTAT");
}

/* ---- Lines and groups ---- */

static void testWhereTheLastWordIs(void **state) {
    (void)state;
    assert_int_equal(cliLastWordAt(""), 0);
    assert_int_equal(cliLastWordAt("get"), 0);
    assert_int_equal(cliLastWordAt("get "), 4);
    assert_int_equal(cliLastWordAt("get key"), 4);
    assert_int_equal(cliLastWordAt("get \"a b"), 4);
    assert_int_equal(cliLastWordAt("get \"a \\\" b"), 4);
    assert_int_equal(cliLastWordAt("get 'a b' c"), 10);
    assert_int_equal(cliLastWordAt("get \"a b\" "), 10);
}

static void expectGroup(const char *word, const char *want) {
    sds found = sdsnewstr(cliDocsFindGroup(&docs, word));
    assert_string_equal(found, want);
    sdsfree(found);
}

static void cliDocsTestGroups(void **state) {
    (void)state;
    static const char *const same[] = {"sorted-set", "@sorted-set", "Sorted Sets",
                                       "sorted_set", "ZSET",        "zsets"};
    for (size_t i = 0; i < sizeof(same) / sizeof(same[0]); i++) expectGroup(same[i], "sorted-set");
    expectGroup("strings", "string");
    expectGroup("keys", "generic");
    expectGroup("sorted", "");
    expectGroup("@", "");
    int count;
    struct cliDocsGroupCount *groups = cliDocsGroups(&docs, &count);
    assert_int_equal(count, 6);
    assert_true(strIs(groups[0].name, "connection"));
    assert_int_equal(groups[0].commands, 2);
    assert_true(strIs(groups[5].name, "string"));
    zfree(groups);
    sds words[] = {sdsnew("CONFIG"), sdsnew("get")};
    assert_true(strIs(cliDocsGroup(&docs, words, 2), "server"));
    for (int i = 0; i < 2; i++) sdsfree(words[i]);
}

static void testWithoutDocs(void **state) {
    (void)state;
    struct cliDocs none = {0};
    int count = 7;
    assert_false(cliDocsSet(&none, sdsnew("-ERR unknown command\r\n")));
    assert_false(cliDocsSet(&none, sdsnew("*2\r\n$3\r\nget\r\n")));
    assert_null(cliHint(&none, "get"));
    assert_null(cliCompletions(&none, "g", &count));
    assert_int_equal(count, 0);
    assert_int_equal(cliDocsFindGroup(&none, "string").len, 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(testHintsOfPlainArguments),
        cmocka_unit_test(testHintsOfOptions),
        cmocka_unit_test(testHintsOfRepeatedArguments),
        cmocka_unit_test(testCompletions),
        cmocka_unit_test(testWhereTheLastWordIs),
        cmocka_unit_test(cliDocsTestGroups),
        cmocka_unit_test(testWithoutDocs),
    };
    return cmocka_run_group_tests(tests, cliDocsTestSetUp, cliDocsTestTearDown);
}
