/* benchmark_suite.c - the tests that users select with -t, and the command given on the command line.
 *
 * A test is a title and a command. `names` are what -t accepts for it: the test's own name, and the name of
 * the family it belongs to ("ping", "lrange"). The lists that LRANGE reads are filled by a test of their own,
 * just before. */
#include "tools/benchmark.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/zmalloc.h"

#define KEY     "key:__rand_int__"
#define ELEMENT "element:__rand_int__"
#define PAIR    KEY, "__data__"
#define MAXARGS 21

static const struct suiteTest {
    const char *names[2];
    const char *title;
    const char *argv[MAXARGS + 1]; /* NULL terminated; empty: an inline PING */
} suite[] = {
    {{"ping_inline", "ping"}, "PING_INLINE", {NULL}},
    {{"ping_mbulk", "ping"}, "PING_MBULK", {"PING"}},
    {{"set"}, "SET", {"SET", PAIR}},
    {{"get"}, "GET", {"GET", KEY}},
    {{"incr"}, "INCR", {"INCR", "counter:__rand_int__"}},
    {{"lpush"}, "LPUSH", {"LPUSH", "mylist", "__data__"}},
    {{"rpush"}, "RPUSH", {"RPUSH", "mylist", "__data__"}},
    {{"lpop"}, "LPOP", {"LPOP", "mylist"}},
    {{"rpop"}, "RPOP", {"RPOP", "mylist"}},
    {{"sadd"}, "SADD", {"SADD", "myset", ELEMENT}},
    {{"hset"}, "HSET", {"HSET", "myhash", ELEMENT, "__data__"}},
    {{"spop"}, "SPOP", {"SPOP", "myset"}},
    {{"zadd"}, "ZADD", {"ZADD", "myzset", "0", ELEMENT}},
    {{"zpopmin"}, "ZPOPMIN", {"ZPOPMIN", "myzset"}},
    {{"lrange*"}, "LPUSH (needed to benchmark LRANGE)", {"LPUSH", "mylist", "__data__"}},
    {{"lrange_100", "lrange"}, "LRANGE_100 (first 100 elements)", {"LRANGE", "mylist", "0", "99"}},
    {{"lrange_300", "lrange"}, "LRANGE_300 (first 300 elements)", {"LRANGE", "mylist", "0", "299"}},
    {{"lrange_500", "lrange"}, "LRANGE_500 (first 500 elements)", {"LRANGE", "mylist", "0", "499"}},
    {{"lrange_600", "lrange"}, "LRANGE_600 (first 600 elements)", {"LRANGE", "mylist", "0", "599"}},
    {{"mset"}, "MSET (10 keys)", {"MSET", PAIR, PAIR, PAIR, PAIR, PAIR, PAIR, PAIR, PAIR, PAIR, PAIR}},
    {{"mget"}, "MGET (10 keys)", {"MGET", KEY, KEY, KEY, KEY, KEY, KEY, KEY, KEY, KEY, KEY}},
    {{"xadd"}, "XADD", {"XADD", "mystream", "*", "myfield", "__data__"}},
};
#define SUITE_COUNT (sizeof(suite) / sizeof(suite[0]))

/* "lrange*" is wanted by every name that starts so. */
static bool nameMatches(const char *pattern, const char *name) {
    size_t len = strlen(pattern);
    if (pattern[len - 1] == '*') return strncasecmp(pattern, name, len - 1) == 0;
    return strcasecmp(pattern, name) == 0;
}

static bool testMatches(const struct suiteTest *t, const char *name) {
    return nameMatches(t->names[0], name) || (t->names[1] && nameMatches(t->names[1], name));
}

static bool testWanted(const struct suiteTest *t, sds *names, int count) {
    bool wanted = count == 0;
    for (int i = 0; i < count; i++) wanted |= testMatches(t, names[i]);
    return wanted;
}

/* Scripts that name a test of another version go on without it. */
static void warnUnknown(sds *names, int count) {
    for (int i = 0; i < count; i++) {
        bool known = false;
        for (size_t t = 0; t < SUITE_COUNT; t++) known |= testMatches(&suite[t], names[i]);
        if (known) continue;
        fprintf(stderr, "There is no test '%s'. The tests are:", names[i]);
        for (size_t t = 0; t < SUITE_COUNT; t++) {
            if (!strchr(suite[t].names[0], '*')) fprintf(stderr, " %s", suite[t].names[0]);
        }
        fprintf(stderr, "\n");
    }
}

static struct benchTest suiteTestCreate(const struct benchOptions *o, const struct suiteTest *t) {
    int argc = 0;
    while (t->argv[argc]) argc++;
    struct benchRequest *request = argc ? benchRequestCreate(o, argc, t->argv) : benchRequestInline("PING");
    return (struct benchTest){sdsnew(t->title), request};
}

static struct benchTest commandTestCreate(const struct benchOptions *o) {
    sds title = sdsnew(o->argv[0]);
    for (int i = 1; i < o->argc; i++) title = sdscatprintf(title, " %s", o->argv[i]);
    return (struct benchTest){title, benchRequestCreate(o, o->argc, (const char *const *)o->argv)};
}

struct benchTest *benchTestsCreate(const struct benchOptions *o, int *count) {
    struct benchTest *tests = zcalloc(SUITE_COUNT, sizeof(tests[0]));
    *count = 0;
    if (o->argc) {
        tests[(*count)++] = commandTestCreate(o);
        return tests;
    }
    int names_count = 0;
    sds *names = o->tests ? sdssplitlen(o->tests, strlen(o->tests), ",", 1, &names_count) : NULL;
    warnUnknown(names, names_count);
    for (size_t t = 0; t < SUITE_COUNT; t++) {
        if (testWanted(&suite[t], names, names_count)) tests[(*count)++] = suiteTestCreate(o, &suite[t]);
    }
    if (names) sdsfreesplitres(names, names_count);
    return tests;
}

void benchTestsFree(struct benchTest *tests, int count) {
    for (int i = 0; i < count; i++) {
        sdsfree(tests[i].title);
        benchRequestFree(tests[i].request);
    }
    zfree(tests);
}
