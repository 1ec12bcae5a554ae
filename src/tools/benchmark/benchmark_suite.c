/* SPDX-License-Identifier: BSD-3-Clause */
/* benchmark_suite.c - the tests that -t selects, and the command given on the command line.
 *
 * A test is a title and a command. `names` are the names by which -t selects it: its own name and the
 * name of its family ("ping", "lrange"). The lists that LRANGE reads are filled by a test just before
 * it. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/zmalloc.h"
#include "tools/benchmark/benchmark.h"

#define TAG     ":{tag}" /* only in a cluster */
#define KEY     "key" TAG ":__rand_int__"
#define ELEMENT "element:__rand_int__"
#define PAIR    KEY, "__data__"
#define MAXARGS 21

/* ---- Functions: foo1, foo2 ..., which return their first key ---- */

static sds benchSuiteLibraryOf(int functions) {
    sds code = sdsnew("#!lua name=benchlib\n");
    for (int i = functions; i >= 1; i--)
        code = sdscatprintf(code,
                            "redis.register_function('foo%d', function(keys, args) return keys[1] end)\n", i);
    return code;
}

static struct benchTest benchSuiteLoadTestCreate(const struct benchOptions *o, const char *title) {
    sds code = benchSuiteLibraryOf(o->functions);
    const char *argv[] = {"FUNCTION", "LOAD", "REPLACE", code};
    struct benchTest test = {sdsnew(title), benchRequestCreate(o, 4, argv), NULL};
    sdsfree(code);
    return test;
}

static struct benchTest benchSuiteCallTestCreate(const struct benchOptions *o, const char *title) {
    int argc = 3 + o->function_keys;
    sds *argv = zmalloc((size_t)argc * sizeof(argv[0]));
    argv[0] = sdsnew("FCALL");
    argv[1] = sdsnew("foo1");
    argv[2] = sdsfromll(o->function_keys);
    for (int i = 3; i < argc; i++)
        argv[i] = sdscatprintf(sdsempty(), o->cluster ? "key%d" TAG : "key%d", i - 2);
    struct benchTest test = {sdsnew(title), benchRequestCreate(o, argc, (const char *const *)argv),
                             benchSuiteLibraryOf(1)};
    sdsfreesplitres(argv, argc);
    return test;
}

/* ---- The suite ---- */

static const struct suiteTest {
    const char *names[2];
    const char *title;
    const char *argv[MAXARGS + 1]; /* NULL-terminated; empty: an inline PING */
    struct benchTest (*create)(const struct benchOptions *o, const char *title); /* NULL: made of argv */
} suite[] = {
    {{"ping_inline", "ping"}, "PING_INLINE", {NULL}, NULL},
    {{"ping_mbulk", "ping"}, "PING_MBULK", {"PING"}, NULL},
    {{"set"}, "SET", {"SET", PAIR}, NULL},
    {{"get"}, "GET", {"GET", KEY}, NULL},
    {{"incr"}, "INCR", {"INCR", "counter" TAG ":__rand_int__"}, NULL},
    {{"lpush"}, "LPUSH", {"LPUSH", "mylist" TAG, "__data__"}, NULL},
    {{"rpush"}, "RPUSH", {"RPUSH", "mylist" TAG, "__data__"}, NULL},
    {{"lpop"}, "LPOP", {"LPOP", "mylist" TAG}, NULL},
    {{"rpop"}, "RPOP", {"RPOP", "mylist" TAG}, NULL},
    {{"sadd"}, "SADD", {"SADD", "myset" TAG, ELEMENT}, NULL},
    {{"hset"}, "HSET", {"HSET", "myhash" TAG, ELEMENT, "__data__"}, NULL},
    {{"spop"}, "SPOP", {"SPOP", "myset" TAG}, NULL},
    {{"zadd"}, "ZADD", {"ZADD", "myzset" TAG, "0", ELEMENT}, NULL},
    {{"zpopmin"}, "ZPOPMIN", {"ZPOPMIN", "myzset" TAG}, NULL},
    {{"lrange*"}, "LPUSH (needed to benchmark LRANGE)", {"LPUSH", "mylist" TAG, "__data__"}, NULL},
    {{"lrange_100", "lrange"}, "LRANGE_100 (first 100 elements)", {"LRANGE", "mylist" TAG, "0", "99"}, NULL},
    {{"lrange_300", "lrange"}, "LRANGE_300 (first 300 elements)", {"LRANGE", "mylist" TAG, "0", "299"}, NULL},
    {{"lrange_500", "lrange"}, "LRANGE_500 (first 500 elements)", {"LRANGE", "mylist" TAG, "0", "499"}, NULL},
    {{"lrange_600", "lrange"}, "LRANGE_600 (first 600 elements)", {"LRANGE", "mylist" TAG, "0", "599"}, NULL},
    {{"mset"}, "MSET (10 keys)", {"MSET", PAIR, PAIR, PAIR, PAIR, PAIR, PAIR, PAIR, PAIR, PAIR, PAIR}, NULL},
    {{"mget"}, "MGET (10 keys)", {"MGET", KEY, KEY, KEY, KEY, KEY, KEY, KEY, KEY, KEY, KEY}, NULL},
    {{"xadd"}, "XADD", {"XADD", "mystream" TAG, "*", "myfield", "__data__"}, NULL},
    {{"function_load"}, "FUNCTION LOAD", {NULL}, benchSuiteLoadTestCreate},
    {{"fcall"}, "FCALL", {NULL}, benchSuiteCallTestCreate},
};
#define SUITE_COUNT (sizeof(suite) / sizeof(suite[0]))

/* Returns whether a name selects a test; every name with the prefix selects "lrange*". */
static bool benchSuiteNameMatches(const char *pattern, const char *name) {
    size_t len = strlen(pattern);
    if (pattern[len - 1] == '*') return strncasecmp(pattern, name, len - 1) == 0;
    return strcasecmp(pattern, name) == 0;
}

static bool benchSuiteTestMatches(const struct suiteTest *t, const char *name) {
    return benchSuiteNameMatches(t->names[0], name) ||
           (t->names[1] && benchSuiteNameMatches(t->names[1], name));
}

static bool benchSuiteTestIsSelected(const struct suiteTest *t, sds *names, int count) {
    bool wanted = count == 0;
    for (int i = 0; i < count; i++) wanted |= benchSuiteTestMatches(t, names[i]);
    return wanted;
}

/* Warns about unknown tests and goes on, for scripts that name tests of other versions. */
static void benchSuiteWarnUnknown(sds *names, int count) {
    for (int i = 0; i < count; i++) {
        bool known = false;
        for (size_t t = 0; t < SUITE_COUNT; t++) known |= benchSuiteTestMatches(&suite[t], names[i]);
        if (known) continue;
        fprintf(stderr, "There is no test '%s'. The tests are:", names[i]);
        for (size_t t = 0; t < SUITE_COUNT; t++) {
            if (!strchr(suite[t].names[0], '*')) fprintf(stderr, " %s", suite[t].names[0]);
        }
        fprintf(stderr, "\n");
    }
}

bool benchPrepare(const struct benchOptions *o, const struct benchServer *server,
                  const struct benchTest *test, sds *err) {
    const char *argv[] = {"FUNCTION", "LOAD", "REPLACE", test->library};
    if (!test->library || !o->cluster) return !test->library || benchServerRun(o, server, 4, argv, err);
    const struct benchTopology *t = benchClusterNow(o->nodes);
    for (int i = 0; i < t->count; i++) {
        if (!t->nodes[i].server.replica && !benchServerRun(o, &t->nodes[i].server, 4, argv, err))
            return false;
    }
    return true;
}

static sds benchSuiteWithoutTag(const char *word) {
    const char *tag = strstr(word, TAG);
    if (!tag) return sdsnew(word);
    return sdscat(sdsnewlen(word, (size_t)(tag - word)), tag + strlen(TAG));
}

static struct benchTest benchSuiteTestCreate(const struct benchOptions *o, const struct suiteTest *t) {
    if (t->create) return t->create(o, t->title);
    sds argv[MAXARGS];
    int argc = 0;
    for (; t->argv[argc]; argc++)
        argv[argc] = o->cluster ? sdsnew(t->argv[argc]) : benchSuiteWithoutTag(t->argv[argc]);
    struct benchRequest *request =
        argc ? benchRequestCreate(o, argc, (const char *const *)argv) : benchRequestInline("PING");
    for (int i = 0; i < argc; i++) sdsfree(argv[i]);
    return (struct benchTest){sdsnew(t->title), request, NULL};
}

static struct benchTest benchSuiteCommandTestCreate(const struct benchOptions *o) {
    sds title = sdsnew(o->argv[0]);
    int shown = o->last_from_stdin ? o->argc - 1 : o->argc;
    for (int i = 1; i < shown; i++) title = sdscatprintf(title, " %s", o->argv[i]);
    const char *why;
    struct benchRequest *request = benchRequestCreateSequence(o, o->argc, (const char *const *)o->argv, &why);
    if (request) return (struct benchTest){title, request, NULL};
    fprintf(stderr, "%s\n", why);
    exit(1);
}

bool benchSuiteTest(const struct benchOptions *o, const char *name, struct benchTest *test) {
    const struct suiteTest *found = NULL;
    for (size_t t = 0; t < SUITE_COUNT; t++) {
        if (strcasecmp(suite[t].names[0], name) == 0) found = &suite[t];
    }
    if (found) *test = benchSuiteTestCreate(o, found);
    return found != NULL;
}

struct benchTest *benchTestsCreate(const struct benchOptions *o, int *count) {
    struct benchTest *tests = zcalloc(SUITE_COUNT, sizeof(tests[0]));
    *count = 0;
    if (o->mix) {
        tests[(*count)++] = benchMixCreate(o);
        return tests;
    }
    if (o->argc) {
        tests[(*count)++] = benchSuiteCommandTestCreate(o);
        return tests;
    }
    int names_count = 0;
    sds *names = o->tests ? sdssplitlen(o->tests, strlen(o->tests), ",", 1, &names_count) : NULL;
    benchSuiteWarnUnknown(names, names_count);
    for (size_t t = 0; t < SUITE_COUNT; t++) {
        if (benchSuiteTestIsSelected(&suite[t], names, names_count))
            tests[(*count)++] = benchSuiteTestCreate(o, &suite[t]);
    }
    if (names) sdsfreesplitres(names, names_count);
    return tests;
}

void benchTestsFree(struct benchTest *tests, int count) {
    for (int i = 0; i < count; i++) {
        sdsfree(tests[i].title);
        benchRequestFree(tests[i].request);
        sdsfree(tests[i].library);
    }
    zfree(tests);
}
