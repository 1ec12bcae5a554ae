/* SPDX-License-Identifier: BSD-3-Clause */
/* hash_expire_test.c - field expiry: propagation, events, and a random model test.
 *
 *     commands ──▶ master (database 0) ──propagate──▶ replica (database 1)
 *        └───────▶ model (an array)
 *
 * The test sets the clock. The replica's clock stands still at time 0, so that nothing ever expires there: it
 * equals the master only if everything is propagated. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "base/model_ops.h"
#include "base/num.h"
#include "base/random.h"
#include "base/zmalloc.h"
#include "client/reply.h"
#include "command/command.h"
#include "command/propagate.h"
#include "commands/cmd_generic.h"
#include "commands/cmd_hash.h"
#include "data/keyspace/db.h"
#include "data/notify.h"
#include "data/type.h"
#include "registry/config.h"
#include "registry/cron.h"
#include "types/hash/hash_private.h"
#include "types/types.h"

/* The modules register tables that are above this layer. */
const struct commandSpec commandsHash[] = {{0}};
const struct commandSpec commandsGeneric[] = {{0}};

#define START_MS 1000000
#define ARGS_MAX 32

static struct client *master, *replica;
static sds events, propagated; /* since the last command of the test */
static sds backlog[64][ARGS_MAX];
static int backlog_argc[64], backlog_count;
static bool applying;

static const struct {
    const char *name;
    commandProc *proc;
} procs[] = {
    {"HSET", hsetCommand},           {"HSETNX", hsetnxCommand},     {"HDEL", hdelCommand},
    {"HINCRBY", hincrbyCommand},     {"HSETEX", hsetexCommand},     {"HINCRBYFLOAT", hincrbyfloatCommand},
    {"HEXPIRE", hexpireCommand},     {"HPEXPIRE", hpexpireCommand}, {"HPEXPIREAT", hpexpireatCommand},
    {"HEXPIREAT", hexpireatCommand}, {"HPERSIST", hpersistCommand}, {"HGETEX", hgetexCommand},
    {"HGETDEL", hgetdelCommand},     {"RENAME", renameCommand},     {"COPY", copyCommand},
    {"HMSET", hmsetCommand},         {"DEL", delCommand},
};

static sds hashExpireTestAddWord(sds s, struct str word) {
    if (sdslen(s)) s = sdscat(s, " ");
    return sdscatlen(s, word.ptr, word.len);
}

static void hashExpireTestOnEvent(int class, const char *event, struct str key, int dbid) {
    (void)class, (void)key;
    if (dbid == 0 && strcmp(event, "new") != 0) events = hashExpireTestAddWord(events, strOf(event));
}

static void notePropagated(int argc, const struct str *argv) {
    /* A unit of several commands comes between MULTI and EXEC; this test does not check that. */
    if (strEq(argv[0], STR("MULTI")) || strEq(argv[0], STR("EXEC")) || strEq(argv[0], STR("SELECT"))) return;
    assert_true(argc <= ARGS_MAX && backlog_count < 64);
    if (sdslen(propagated)) propagated = sdscat(propagated, ";");
    for (int i = 0; i < argc; i++) {
        propagated =
            i ? hashExpireTestAddWord(propagated, argv[i]) : sdscatlen(propagated, argv[i].ptr, argv[i].len);
        backlog[backlog_count][i] = sdsnewstr(argv[i]);
    }
    backlog_argc[backlog_count++] = argc;
}

static void onPropagate(const struct propagated *p) {
    static struct str *argv;
    static size_t cap;
    if (applying) return;
    assert_int_equal(p->count, 1);
    sds text = sdsnewstr(p->pieces[0]);
    for (size_t at = 0, taken; at < p->len; at += taken) {
        struct respLimits limits = {INT64_MAX, RESP_MAX_MULTIBULK, true};
        struct respParser parser = {0};
        struct respBigArg *big;
        const char *error;
        size_t len = p->len - at;
        int argc;
        assert_int_equal(RESP_OK, respParseRequest(&parser, text + at, &len, &limits, &argv, &cap, 0, &argc,
                                                   &taken, &big, &error));
        notePropagated(argc, argv);
    }
    sdsfree(text);
}

static commandProc *procOf(const char *name) {
    for (size_t i = 0; i < sizeof procs / sizeof *procs; i++) {
        if (strcasecmp(procs[i].name, name) == 0) return procs[i].proc;
    }
    fail_msg("no such command: %s", name);
    return NULL;
}

static sds hashExpireTestRun(struct client *c, int argc, struct str *argv) {
    static const struct commandSpec spec;
    static struct serverCommand cmd = {.spec = &spec};
    char name[32];
    snprintf(name, sizeof name, "%.*s", (int)argv[0].len, argv[0].ptr);
    uint64_t dirty = dbstats.dirty;
    cmd.fullname = name;
    c->argc = argc;
    c->argv = argv;
    c->cmd = &cmd;
    propagateBegin();
    procOf(name)(c);
    propagateAfterCommand(c, dbstats.dirty != dirty);
    propagateEnd();
    return replyChainToSds(c);
}

static void feedReplica(void) {
    int64_t now = cmd_time_ms;
    cmd_time_ms = 1;
    applying = true;
    for (int b = 0; b < backlog_count; b++) {
        struct str argv[ARGS_MAX];
        for (int i = 0; i < backlog_argc[b]; i++) argv[i] = sdsview(backlog[b][i]);
        sds reply = hashExpireTestRun(replica, backlog_argc[b], argv);
        assert_int_not_equal('-', reply[0]);
        sdsfree(reply);
        for (int i = 0; i < backlog_argc[b]; i++) sdsfree(backlog[b][i]);
    }
    backlog_count = 0;
    applying = false;
    cmd_time_ms = now;
}

/* Runs words separated by blanks. The reply is valid until the next call. */
static const char *hashExpireTestCall(const char *line) {
    static sds reply;
    int argc;
    struct str argv[ARGS_MAX];
    sds *words = sdssplitlen(line, strlen(line), " ", 1, &argc);
    for (int i = 0; i < argc; i++) argv[i] = sdsview(words[i]);
    sdsfree(reply);
    sdssetlen(events, 0);
    sdssetlen(propagated, 0);
    reply = hashExpireTestRun(master, argc, argv);
    feedReplica();
    sdsfreesplitres(words, argc);
    return reply;
}

static void hashExpireTestReclaim(void) {
    sdssetlen(events, 0);
    sdssetlen(propagated, 0);
    /* Nothing expires on the replica, whatever this clock says. */
    void *hidden = dbGet(1)->keyspace.kept[OBJ_HASH];
    dbGet(1)->keyspace.kept[OBJ_HASH] = NULL;
    while (hashReclaimSlice()) {
    }
    dbGet(1)->keyspace.kept[OBJ_HASH] = hidden;
    feedReplica();
}

static struct object *hashExpireTestOf(int db, const char *key) {
    return dbFind(dbGet(db), strOf(key));
}

static uint32_t hashExpireTestTracked(int db) {
    struct hashHeap *h = dbGet(db)->keyspace.kept[OBJ_HASH];
    return h ? h->used : 0;
}

static void assertSameOnReplica(const char *key) {
    uint8_t a[20] = {0}, b[20] = {0};
    int64_t now = cmd_time_ms;
    struct object *x = hashExpireTestOf(0, key), *y = hashExpireTestOf(1, key);
    assert_true(!x == !y);
    if (!x) return;
    cmd_time_ms = 1;
    objectTypeOf(x)->digest(x, a);
    objectTypeOf(y)->digest(y, b);
    cmd_time_ms = now;
    assert_memory_equal(a, b, 20);
}

/* ---- Events and propagation ---- */

/* Each case, at START_MS after the commands `before` and `wait_ms`: the command, its reply, the events, and
 * what was propagated. */
static const struct {
    const char *before;
    int wait_ms;
    const char *command, *reply, *events, *propagated;
} cases[] = {
    {"", 0, "HSET k a 1 b 2", ":2\r\n", "hset", "HSET k a 1 b 2"},
    {"HSET k a 1", 0, "HSET k a 2", ":0\r\n", "hset", "HSET k a 2"},
    {"HSET k a 1", 0, "HSETNX k a 2", ":0\r\n", "", ""},
    {"HSET k a 1", 0, "HSETNX k b 2", ":1\r\n", "hset", "HSETNX k b 2"},
    {"HSET k a 1", 0, "HDEL k b", ":0\r\n", "", ""},
    {"HSET k a 1", 0, "HDEL k b a c", ":1\r\n", "hdel del", "HDEL k b a c"},
    {"HSET k a 1", 0, "HINCRBY k a 2", ":3\r\n", "hincrby", "HINCRBY k a 2"},
    {"HSET k a 1", 0, "HINCRBYFLOAT k a 0.5", "$3\r\n1.5\r\n", "hincrbyfloat", "HSET k a 1.5"},
    {"HSETEX k PX 9 FIELDS 1 a 1", 0, "HINCRBYFLOAT k a 0.5", "$3\r\n1.5\r\n", "hincrbyfloat",
     "HSETEX k PXAT 1000009 FIELDS 1 a 1.5"},
    {"HSETEX k PX 9 FIELDS 1 a 1", 5, "HINCRBY k a 1", ":2\r\n", "hincrby",
     "HSETEX k PXAT 1000009 FIELDS 1 a 2"},
    {"HSETEX k PX 9 FIELDS 1 a 1", 5, "HINCRBY k b 1", ":1\r\n", "hincrby", "HSET k b 1"},
    {"HSETEX k PX 9 FIELDS 1 a 1", 20, "HINCRBY k a 1", ":1\r\n", "hexpired hincrby", "HSET k a 1"},
    {"HSETEX k PX 9 FIELDS 1 a 1", 20, "HSETNX k a 5", ":1\r\n", "hexpired hset", "HSET k a 5"},
    {"HSETEX k PX 9 FIELDS 1 a 1", 20, "HDEL k a", ":0\r\n", "", ""},
    {"HSET k a 1 b 2", 0, "HPEXPIRE k 7 FIELDS 2 a x", "*2\r\n:1\r\n:-2\r\n", "hexpire",
     "HPEXPIREAT k 1000007 FIELDS 2 a x"},
    {"HSETEX k PX 9 FIELDS 2 a 1 b 2", 0, "HPEXPIRE k 7 LT FIELDS 2 a x", "*2\r\n:1\r\n:-2\r\n", "hexpire",
     "HPEXPIREAT k 1000007 LT FIELDS 2 a x"},
    {"HSET k b 1;HSETEX k PX 9 FIELDS 1 a 1", 20, "HPEXPIRE k 7 NX FIELDS 2 a b", "*2\r\n:-2\r\n:1\r\n",
     "hexpire", "HPEXPIREAT k 1000027 FIELDS 1 b"},
    {"HSET k a 1 b 2", 0, "HEXPIRE k 7 FIELDS 2 a b", "*2\r\n:1\r\n:1\r\n", "hexpire",
     "HPEXPIREAT k 1007000 FIELDS 2 a b"},
    {"HSET k a 1 b 2", 0, "HEXPIREAT k 1007 FIELDS 1 b", "*1\r\n:1\r\n", "hexpire",
     "HPEXPIREAT k 1007000 FIELDS 1 b"},
    {"HSET k a 1 b 2", 0, "HEXPIRE k 0 FIELDS 2 a x", "*2\r\n:2\r\n:-2\r\n", "hexpired", "HDEL k a"},
    {"HSET k a 1 b 2", 0, "HPEXPIREAT k 999999 FIELDS 2 a b", "*2\r\n:2\r\n:2\r\n", "hexpired del",
     "HDEL k a b"},
    {"HSET k a 1 b 2", 0, "HPEXPIRE k 7 XX FIELDS 1 a", "*1\r\n:0\r\n", "", ""},
    {"HSETEX k PX 9 FIELDS 2 a 1 b 2", 0, "HPERSIST k FIELDS 3 a x b", "*3\r\n:1\r\n:-2\r\n:1\r\n",
     "hpersist", "HPERSIST k FIELDS 3 a x b"},
    {"HSETEX k PX 99 FIELDS 1 b 2;HSETEX k PX 9 FIELDS 1 a 1", 20, "HPERSIST k FIELDS 2 a b",
     "*2\r\n:-2\r\n:1\r\n", "hpersist", "HPERSIST k FIELDS 1 b"},
    {"HSET k a 1", 0, "HPERSIST k FIELDS 1 a", "*1\r\n:-1\r\n", "", ""},
    {"", 0, "HSETEX k PX 9 FIELDS 1 a 1", ":1\r\n", "hset hexpire", "HSETEX k PXAT 1000009 FIELDS 1 a 1"},
    {"", 0, "HSETEX k FNX FIELDS 1 a 1", ":1\r\n", "hset", "HSETEX k FIELDS 1 a 1"},
    {"HSET k a 1", 0, "HSETEX k FNX FIELDS 2 b 1 a 1", ":0\r\n", "", ""},
    {"HSET k a 1", 0, "HSETEX k EX 0 FIELDS 2 a 1 b 2", ":1\r\n", "hset hexpire hexpired del", "HDEL k a"},
    {"", 0, "HSETEX k EX 0 FIELDS 1 a 1", ":1\r\n", "hset hexpire hexpired del", ""},
    {"HSETEX k PX 9 FIELDS 1 a 1", 5, "HSETEX k KEEPTTL FIELDS 2 a 2 b 3", ":1\r\n", "hset",
     "HSETEX k KEEPTTL FIELDS 2 a 2 b 3"},
    {"HSETEX k PX 9 FIELDS 1 a 1", 20, "HSETEX k KEEPTTL FIELDS 2 a 2 b 3", ":1\r\n", "hexpired hset",
     "HDEL k a;HSETEX k KEEPTTL FIELDS 2 a 2 b 3"},
    {"HSET k a 1", 0, "HGETEX k FIELDS 2 a b", "*2\r\n$1\r\n1\r\n$-1\r\n", "", ""},
    {"HSET k a 1", 0, "HGETEX k EX 5 FIELDS 2 a b", "*2\r\n$1\r\n1\r\n$-1\r\n", "hexpire",
     "HPEXPIREAT k 1005000 FIELDS 1 a"},
    {"HSET k a 1 b 2", 0, "HGETEX k PXAT 5 FIELDS 1 a", "*1\r\n$1\r\n1\r\n", "hexpired", "HDEL k a"},
    {"HSETEX k PX 9 FIELDS 1 a 1", 0, "HGETEX k PERSIST FIELDS 1 a", "*1\r\n$1\r\n1\r\n", "hpersist",
     "HPERSIST k FIELDS 1 a"},
    {"HSET k a 1", 0, "HGETDEL k FIELDS 3 a a x", "*3\r\n$1\r\n1\r\n$-1\r\n$-1\r\n", "hdel del",
     "HGETDEL k FIELDS 3 a a x"},
};

/* Runs commands with semicolons between them. */
static void callEach(const char *commands) {
    int n;
    sds *each = sdssplitlen(commands, strlen(commands), ";", 1, &n);
    for (int i = 0; i < n; i++) hashExpireTestCall(each[i]);
    sdsfreesplitres(each, n);
}

static void commandsReportTheirChanges(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        cmd_time_ms = START_MS;
        hashExpireTestCall("DEL k");
        callEach(cases[i].before);
        cmd_time_ms += cases[i].wait_ms;
        assert_string_equal(cases[i].reply, hashExpireTestCall(cases[i].command));
        assert_string_equal(cases[i].events, events);
        assert_string_equal(cases[i].propagated, propagated);
        cmd_time_ms += 100000;
        hashExpireTestReclaim();
        assertSameOnReplica("k");
        assert_int_equal(0, hashExpireTestTracked(0));
    }
}

static void jobReportsRemovedFields(void **state) {
    (void)state;
    cmd_time_ms = START_MS;
    hashExpireTestCall("DEL k");
    hashExpireTestCall("HSETEX k PX 10 FIELDS 2 a 1 b 2");
    hashExpireTestCall("HSETEX k PX 30 FIELDS 1 c 3");
    cmd_time_ms += 10;
    hashExpireTestReclaim(); /* at that very moment they are still alive */
    assert_string_equal("", propagated);
    cmd_time_ms++;
    hashExpireTestReclaim();
    assert_string_equal("hexpired", events);
    assert_true(!strcmp(propagated, "HDEL k a b") || !strcmp(propagated, "HDEL k b a"));
    cmd_time_ms += 20;
    hashExpireTestReclaim();
    assert_string_equal("hexpired del", events);
    assert_string_equal("HDEL k c", propagated);
    assert_null(hashExpireTestOf(0, "k"));
    assertSameOnReplica("k");
}

/* ---- Tracked hashes ---- */

static void trackingFollowsTheKey(void **state) {
    (void)state;
    cmd_time_ms = START_MS;
    hashExpireTestCall("DEL k k2 k3");
    hashExpireTestCall("HSETEX k PX 10 FIELDS 1 a 1");
    assert_int_equal(1, hashExpireTestTracked(0));
    hashExpireTestCall("COPY k k2");
    hashExpireTestCall("COPY k k3 DB 2");
    assert_int_equal(2, hashExpireTestTracked(0));
    assert_int_equal(1, hashExpireTestTracked(2));
    hashExpireTestCall("RENAME k k2");
    assert_int_equal(1, hashExpireTestTracked(0));
    hashExpireTestCall("HSET k3 x y");
    hashExpireTestCall("RENAME k3 k2"); /* a plain hash over one with an expiry */
    assert_int_equal(0, hashExpireTestTracked(0));
    hashExpireTestCall("HSETEX k2 PX 10 FIELDS 1 a 1");
    assert_int_equal(1, hashExpireTestTracked(0));
    dbSet(dbGet(0), STR("k2"), valueEmbed(OBJ_HASH, HASH_PACKED, STR("\1a\1b")), false);
    assert_int_equal(0, hashExpireTestTracked(0));
    hashExpireTestCall("HSETEX k2 PX 10 FIELDS 1 a 1");
    hashExpireTestCall("HSET k2 a 2"); /* removes the last expiry */
    assert_int_equal(0, hashExpireTestTracked(0));
    assert_int_equal(hash_max_listpack_entries ? HASH_LISTPACK : HASH_TABLE,
                     hashExpireTestOf(0, "k2")->encoding);
    hashExpireTestCall("HSETEX k2 PX 10 FIELDS 1 a 1");
    dbEmpty(NULL, false);
    assert_int_equal(0, hashExpireTestTracked(0));
    assert_int_equal(0, hashExpireTestTracked(2));
    cmd_time_ms += 100;
    hashExpireTestReclaim();
}

/* An expiry on the key moves the object; the hash is still found. */
static void theKeyMayMove(void **state) {
    (void)state;
    cmd_time_ms = START_MS;
    hashExpireTestCall("HSETEX k PX 10 FIELDS 2 a 1 b 2");
    dbSetExpire(dbGet(0), hashExpireTestOf(0, "k"), START_MS * 2);
    hashExpireTestCall("HPERSIST k FIELDS 1 b");
    dbRemoveExpire(dbGet(0), hashExpireTestOf(0, "k"));
    cmd_time_ms += 11;
    hashExpireTestReclaim();
    struct hash h;
    hashOpen(&h, hashExpireTestOf(0, "k"));
    assert_int_equal(1, hashSize(&h));
    hashExpireTestCall("DEL k");
}

/* ---- The model ---- */

#define FIELDS 12
static size_t longest_value; /* short ones leave small hashes small */
static struct {
    sds value; /* NULL: does not exist */
    int64_t expire_ms;
} model[FIELDS];

static void modelSet(int f, const char *value, int64_t expire_ms) {
    sdsfree(model[f].value);
    model[f].value = value ? sdsnew(value) : NULL;
    model[f].expire_ms = expire_ms;
}

static bool modelAlive(int f) {
    if (model[f].value && hashTimeHasExpired(model[f].expire_ms, cmd_time_ms))
        modelSet(f, NULL, HASH_NO_EXPIRE);
    return model[f].value;
}

static const char *hashExpireTestRandomValue(void) {
    static char text[400];
    size_t len = randomBelow(3) ? randomBelow(4) + 1 : randomBelow(longest_value) + 1;
    if (randomBelow(2))
        snprintf(text, sizeof text, "%d", (int)randomBelow(1000));
    else
        memset(text, 'a' + (int)randomBelow(26), len), text[len] = '\0';
    return text;
}

static void stepSet(int f) {
    char line[1000];
    const char *value = hashExpireTestRandomValue();
    int64_t ttl = (int64_t)randomBelow(30);
    bool alive = modelAlive(f);
    switch (randomBelow(5)) {
    case 0:
        snprintf(line, sizeof line, "HSETNX h f%d %s", f, value);
        assert_string_equal(alive ? ":0\r\n" : ":1\r\n", hashExpireTestCall(line));
        if (!alive) modelSet(f, value, HASH_NO_EXPIRE);
        break;
    case 1:
        snprintf(line, sizeof line, "HSETEX h PX %d FIELDS 1 f%d %s", (int)ttl, f, value);
        assert_string_equal(":1\r\n", hashExpireTestCall(line));
        modelSet(f, ttl ? value : NULL, ttl ? cmd_time_ms + ttl : HASH_NO_EXPIRE);
        break;
    case 2:
        snprintf(line, sizeof line, "HSETEX h KEEPTTL FIELDS 1 f%d %s", f, value);
        assert_string_equal(":1\r\n", hashExpireTestCall(line));
        modelSet(f, value, alive ? model[f].expire_ms : HASH_NO_EXPIRE);
        break;
    case 3: {
        bool fxx = randomBelow(2);
        snprintf(line, sizeof line, "HSETEX h %s PX 20 FIELDS 1 f%d %s", fxx ? "FXX" : "FNX", f, value);
        assert_string_equal(alive == fxx ? ":1\r\n" : ":0\r\n", hashExpireTestCall(line));
        if (alive == fxx) modelSet(f, value, cmd_time_ms + 20);
        break;
    }
    default:
        snprintf(line, sizeof line, "HSET h f%d %s", f, value);
        assert_string_equal(alive ? ":0\r\n" : ":1\r\n", hashExpireTestCall(line));
        modelSet(f, value, HASH_NO_EXPIRE);
    }
}

static void stepIncrement(int f) {
    char line[100], text[LONG_STR_SIZE];
    int64_t v = 0;
    bool alive = modelAlive(f), number = !alive || string2ll(sdsview(model[f].value), &v);
    bool is_float = number && randomBelow(2);
    snprintf(line, sizeof line, "%s h f%d 3", is_float ? "HINCRBYFLOAT" : "HINCRBY", f);
    const char *reply = hashExpireTestCall(line);
    assert_true(number == (reply[0] != '-'));
    ll2string(text, v + 3);
    if (number) modelSet(f, text, alive ? model[f].expire_ms : HASH_NO_EXPIRE);
}

static void stepExpire(int f) {
    static const char *conditions[] = {"", "NX ", "XX ", "GT ", "LT "};
    char line[100], want[20];
    size_t cond = randomBelow(5);
    int64_t ttl = (int64_t)randomBelow(30), when = cmd_time_ms + ttl, now = model[f].expire_ms;
    bool alive = modelAlive(f), has = now != HASH_NO_EXPIRE;
    bool holds[] = {true, !has, has, has && when > now, !has || when < now};
    int result = !alive ? -2 : !holds[cond] ? 0 : ttl ? 1 : 2;
    snprintf(line, sizeof line, "HPEXPIRE h %d %sFIELDS 1 f%d", (int)ttl, conditions[cond], f);
    snprintf(want, sizeof want, "*1\r\n:%d\r\n", result);
    assert_string_equal(want, hashExpireTestCall(line));
    if (result == 1) model[f].expire_ms = when;
    if (result == 2) modelSet(f, NULL, HASH_NO_EXPIRE);
}

static void stepPersist(int f) {
    char line[100], want[20];
    bool alive = modelAlive(f), has = alive && model[f].expire_ms != HASH_NO_EXPIRE;
    if (randomBelow(2)) {
        snprintf(line, sizeof line, "HPERSIST h FIELDS 1 f%d", f);
        snprintf(want, sizeof want, "*1\r\n:%d\r\n", !alive ? -2 : has ? 1 : -1);
        assert_string_equal(want, hashExpireTestCall(line));
    } else {
        snprintf(line, sizeof line, "HGETEX h PERSIST FIELDS 1 f%d", f);
        assert_int_equal(alive ? '$' : '-', hashExpireTestCall(line)[alive ? 4 : 5]);
    }
    if (has) model[f].expire_ms = HASH_NO_EXPIRE;
}

static void stepDelete(int f) {
    char line[100];
    bool alive = modelAlive(f);
    if (randomBelow(2)) {
        snprintf(line, sizeof line, "HDEL h f%d", f);
        assert_string_equal(alive ? ":1\r\n" : ":0\r\n", hashExpireTestCall(line));
    } else {
        snprintf(line, sizeof line, "HGETDEL h FIELDS 1 f%d", f);
        assert_int_equal(alive ? '$' : '-', hashExpireTestCall(line)[alive ? 4 : 5]);
    }
    modelSet(f, NULL, HASH_NO_EXPIRE);
}

/* Moves a hash to another key and back, or to a copy that takes its place. */
static void stepMove(void) {
    if (!hashExpireTestOf(0, "h")) return;
    if (randomBelow(2)) {
        hashExpireTestCall("RENAME h h2");
        hashExpireTestCall("RENAME h2 h");
    } else {
        hashExpireTestCall("COPY h h2 REPLACE");
        hashExpireTestCall("RENAME h2 h");
    }
}

static void hashExpireTestVerifyTimed(const struct timedHash *t) {
    int64_t first_ms = HASH_NEVER;
    assert_true(lpValidate(t->lp, lpBytes(t->lp), true, NULL, NULL));
    assert_int_equal(0, lpLength(t->lp) % 3);
    for (unsigned char *p = NULL; (p = hashTimedNext(t, p));) {
        int64_t ms = hashTimedExpire(p);
        if (ms != HASH_NO_EXPIRE && ms < first_ms) first_ms = ms;
    }
    assert_int_equal(first_ms, t->first_ms);
    assert_int_equal(first_ms, t->tracked.due_ms);
}

static void hashExpireTestCompare(void) {
    struct object *o = hashExpireTestOf(0, "h");
    size_t alive = 0;
    struct hash h;
    if (o) hashOpen(&h, o);
    for (int f = 0; f < FIELDS; f++) {
        char name[16];
        struct hashText value;
        snprintf(name, sizeof name, "f%d", f);
        bool want = modelAlive(f);
        assert_int_equal(want, o && hashGet(&h, strOf(name), &value));
        if (!want) continue;
        alive++;
        assert_true(strEq(sdsview(model[f].value), value.s));
        assert_int_equal(model[f].expire_ms, hashExpire(&h, strOf(name)));
    }
    if (alive) assert_non_null(o);
    if (!o) return;
    assert_int_equal(alive, hashLive(&h));
    if (o->encoding >= HASH_TABLE) hashtableVerify(h.ptr);
    if (o->encoding == HASH_TIMED) hashExpireTestVerifyTimed(h.ptr);
    const void *place = hashRandomPlace(&h);
    assert_true(!place == !alive);
}

static void everythingAgreesWithTheModel(void **state) {
    (void)state;
    cmd_time_ms = START_MS;
    hashExpireTestCall("DEL h h2");
    for (int i = 0; i < 60000; i++) {
        int f = (int)randomBelow(FIELDS);
        cmd_time_ms += (int64_t)randomBelow(4);
        switch (randomBelow(12)) {
        case 0:
        case 1:
        case 2: stepSet(f); break;
        case 3: stepIncrement(f); break;
        case 4:
        case 5:
        case 6: stepExpire(f); break;
        case 7: stepPersist(f); break;
        case 8:
        case 9: stepDelete(f); break;
        case 10: stepMove(); break;
        default:
            hashExpireTestReclaim();
            assertSameOnReplica("h");
            struct object *o = hashExpireTestOf(0, "h");
            struct hash h;
            if (o) hashOpen(&h, o);
            if (o) assert_int_equal(hashLive(&h), hashSize(&h));
            assert_int_equal(o && hashEncodingExpires(o->encoding), hashExpireTestTracked(0));
            static const int64_t limits[] = {0, FIELDS / 2, 512, 512};
            if (!randomBelow(20)) hash_max_listpack_entries = limits[randomBelow(4)];
        }
        hashExpireTestCompare();
        if (i % 1000 == 0) { /* and starts again with small encodings */
            hashExpireTestCall("DEL h");
            for (f = 0; f < FIELDS; f++) modelSet(f, NULL, HASH_NO_EXPIRE);
            hash_max_listpack_entries = 512;
            longest_value = randomBelow(2) ? 390 : 40;
        }
    }
    hash_max_listpack_entries = 512;
}

static int hashExpireTestSetup(void **state) {
    (void)state;
    modelSeed();
    commandCoreInit();
    dbRegister();
    hashTypeInit();
    dbInit();
    master = clientCreate(NULL);
    replica = clientCreate(NULL);
    replica->db = dbGet(1);
    events = sdsempty();
    propagated = sdsempty();
    notifyAddEventSink(hashExpireTestOnEvent);
    propagateAddSink(onPropagate, SINK_FOR_REPLICAS);
    return 0;
}

static int hashExpireTestAsTables(void **state) {
    (void)state;
    hash_max_listpack_entries = 0;
    return 0;
}
static int hashExpireTestAsListpacks(void **state) {
    (void)state;
    hash_max_listpack_entries = 512;
    return 0;
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(commandsReportTheirChanges),
        cmocka_unit_test(jobReportsRemovedFields),
        cmocka_unit_test(trackingFollowsTheKey),
        cmocka_unit_test(theKeyMayMove),
        cmocka_unit_test_setup_teardown(commandsReportTheirChanges, hashExpireTestAsTables,
                                        hashExpireTestAsListpacks),
        cmocka_unit_test_setup_teardown(jobReportsRemovedFields, hashExpireTestAsTables,
                                        hashExpireTestAsListpacks),
        cmocka_unit_test_setup_teardown(trackingFollowsTheKey, hashExpireTestAsTables,
                                        hashExpireTestAsListpacks),
        cmocka_unit_test_setup_teardown(theKeyMayMove, hashExpireTestAsTables, hashExpireTestAsListpacks),
        cmocka_unit_test(everythingAgreesWithTheModel),
    };
    return cmocka_run_group_tests(tests, hashExpireTestSetup, NULL);
}
