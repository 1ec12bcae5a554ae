/* SPDX-License-Identifier: BSD-3-Clause */
/* debug_command.c - DEBUG: inspecting the server, and making it fail in controlled ways.
 *
 * Each subcommand is a row in the table at the end: its name, the number of its arguments, its function.
 * Other modules register theirs (registry/debug.h). `enable-debug-command` decides who may use DEBUG. */
#include "server/debug_command.h"

#include <stdio.h>
#include <sys/mman.h>
#include <time.h>

#include "base/assert.h"
#include "base/glob.h"
#include "base/log.h"
#include "base/num.h"
#include "base/zmalloc.h"
#include "client/reply.h"
#include "command/admission.h"
#include "command/call.h"
#include "command/command.h"
#include "command/permit.h"
#include "commands/cmd_server.h"
#include "data/digest.h"
#include "data/keyspace/db.h"
#include "data/type.h"
#include "registry/config.h"
#include "registry/cron.h"
#include "registry/debug.h"

#define DIGEST_SIZE      20
#define POPULATE_MAX_LEN (512ll * 1024 * 1024)

static int enabled;

/* ---- Failures ---- */

static void debugSegfault(struct client *c) {
    (void)c;
    volatile char *page = mmap(NULL, 1, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    *page = 'x';
}

static void debugPanic(struct client *c) {
    (void)c;
    serverPanic("DEBUG PANIC was called");
}

static void debugOom(struct client *c) {
    (void)c;
    void *volatile too_much = zmalloc(SIZE_MAX / 2 - 128);
    zfree(too_much);
}

static void debugAssertion(struct client *c) {
    serverAssert(c->argc < 0);
}

/* Replies the text as an error that is not counted in the statistics. */
static void debugError(struct client *c) {
    sds line = sdscatstr(sdsnew("-"), c->argv[2]);
    for (size_t i = 0; i < sdslen(line); i++)
        if (line[i] == '\r' || line[i] == '\n') line[i] = ' ';
    line = sdscat(line, "\r\n");
    replyRaw(c, line, sdslen(line));
    sdsfree(line);
}

static void debugSleep(struct client *c) {
    double seconds;
    if (!string2d(c->argv[2], &seconds) || seconds < 0) seconds = 0;
    struct timespec left = {.tv_sec = (time_t)seconds};
    left.tv_nsec = (long)((seconds - (double)left.tv_sec) * 1e9);
    while (nanosleep(&left, &left) < 0) {
    }
    replyOk(c);
}

static void debugLog(struct client *c) {
    serverLog(LL_WARNING, "DEBUG LOG: %.*s", (int)c->argv[2].len, c->argv[2].ptr);
    replyOk(c);
}

static void debugSetActiveExpire(struct client *c) {
    int64_t on;
    active_expire_enabled = string2ll(c->argv[2], &on) && on;
    replyOk(c);
}

static bool debugParseFlag(struct client *c, bool *on) {
    int64_t v;
    if (!argRange(c, c->argv[2], INT32_MIN, INT32_MAX, &v, NULL)) return false;
    *on = v != 0;
    return true;
}

static void debugPauseCron(struct client *c) {
    if (debugParseFlag(c, &cron_paused)) replyOk(c);
}

static void debugDictResizing(struct client *c) {
    bool on;
    if (!debugParseFlag(c, &on)) return;
    hashtableSetResizePolicy(on ? HASHTABLE_RESIZE_ALLOW : HASHTABLE_RESIZE_AVOID);
    replyOk(c);
}

static void debugLeak(struct client *c) {
    (void)!sdsnewstr(c->argv[2]);
    replyOk(c);
}

/* ---- Digests ---- */

/* Digests the value, and whether it has an expiry time, but not the time, which changes when
 * data is reloaded. */
static void debugDigestObject(uint8_t digest[DIGEST_SIZE], const struct object *o) {
    objectTypeOf(o)->digest(o, digest);
    if (objectHasExpire(o)) digestXor(digest, STR("expires"));
}

void debugDigestKey(uint8_t *digest, int dbid, const struct object *o) {
    char id[LONG_STR_SIZE];
    digestMix(digest, strN(id, ll2string(id, dbid)));
    digestMix(digest, objectKey(o));
    digestMix(digest, strOf(objectTypeOf(o)->name));
    debugDigestObject(digest, o);
}

static void debugDigestDb(uint8_t digest[DIGEST_SIZE], struct db *db) {
    struct keyspaceIterator it;
    struct object *o;
    keyspaceIteratorInit(&it, &db->keyspace, SLOTS_SHOWN);
    while ((o = keyspaceIteratorNext(&it))) {
        uint8_t one[DIGEST_SIZE] = {0};
        debugDigestKey(one, db->id, o);
        digestXorDigest(digest, one);
    }
    keyspaceIteratorStop(&it);
}

static void debugReplyDigest(struct client *c, const uint8_t digest[DIGEST_SIZE]) {
    char hex[2 * DIGEST_SIZE + 1];
    for (int i = 0; i < DIGEST_SIZE; i++) snprintf(hex + 2 * i, 3, "%02x", digest[i]);
    replyStatus(c, hex);
}

static void debugDigest(struct client *c) {
    uint8_t digest[DIGEST_SIZE] = {0};
    for (int i = 0; i < dbCount(); i++) debugDigestDb(digest, dbGet(i));
    debugReplyDigest(c, digest);
}

static void debugDigestValue(struct client *c) {
    replyArrayLen(c, c->argc - 2);
    for (int i = 2; i < c->argc; i++) {
        uint8_t digest[DIGEST_SIZE] = {0};
        struct object *o = dbFind(c->db, c->argv[i]);
        if (o) debugDigestObject(digest, o);
        debugReplyDigest(c, digest);
    }
}

/* ---- Keys ---- */

static void debugHtstats(struct client *c) {
    int64_t id;
    if (!argLongLong(c, c->argv[2], &id, NULL)) return;
    struct db *db = dbGet(id);
    if (!db) {
        replyError(c, "ERR Out of range database");
        return;
    }
    sds s = keyspaceStats(&db->keyspace, sdsempty());
    replyVerbatim(c, sdsview(s), "txt");
    sdsfree(s);
}

/* Returns "value:<i>", cut or padded with zero bytes if size is not 0. */
static sds debugPopulateValue(sds s, int64_t i, int64_t size) {
    sdssetlen(s, 0);
    s = sdscatprintf(s, "value:%lld", (long long)i);
    if (size == 0) return s;
    if (sdslen(s) > (size_t)size) sdssetlen(s, (size_t)size);
    return sdsgrowzero(s, (size_t)size);
}

/* Makes keys by running SET as a client of our own, since this layer knows no strings. Nothing is propagated
 * or counted as a change. */
static void debugCommandPopulate(struct db *db, int64_t count, struct str prefix, int64_t size) {
    uint64_t dirty = dbstats.dirty;
    struct str argv[3] = {STR("SET")};
    struct client *setter = clientCreate(NULL);
    setter->flags |= CLIENT_FAKE;
    setter->db = db;
    struct request set = {.argv = argv, .argc = 3, .cmd = commandLookupName(STR("set"))};
    sds key = sdsempty(), value = sdsempty();
    keyspaceExpand(&db->keyspace, keyspaceShownSize(&db->keyspace) + (size_t)count);
    for (int64_t i = 0; i < count; i++) {
        sdssetlen(key, 0);
        key = sdscatprintf(sdscatstr(key, prefix), ":%lld", (long long)i);
        if (lookupKey(db, sdsview(key), LOOKUP_NOTOUCH | LOOKUP_NOSTATS)) continue;
        value = debugPopulateValue(value, i, size);
        argv[1] = sdsview(key);
        argv[2] = sdsview(value);
        commandRun(setter, &set, ORIGIN_DEBUG);
    }
    dbstats.dirty = dirty;
    sdsfree(key);
    sdsfree(value);
    clientFreeNow(setter);
}

static void debugPopulate(struct client *c) {
    int64_t count, size = 0;
    if (!argPositive(c, c->argv[2], &count, NULL)) return;
    if (c->argc > 4) {
        if (!argPositive(c, c->argv[4], &size, NULL)) return;
        if (size > POPULATE_MAX_LEN) {
            replyError(c, "ERR value is out of range");
            return;
        }
    }
    debugCommandPopulate(c->db, count, c->argc > 3 ? c->argv[3] : STR("key"), size);
    replyOk(c);
}

/* Measures how a pattern performs on a text of the given size; only the duration is of interest. */
static void debugStringmatchLen(struct client *c) {
    int64_t len;
    if (!argRange(c, c->argv[3], 0, POPULATE_MAX_LEN, &len, NULL)) return;
    char *text = zmalloc((size_t)len);
    memset(text, 'a', (size_t)len);
    bool matches = globMatch(c->argv[2], strN(text, (size_t)len), false);
    zfree(text);
    replyLongLong(c, matches);
}

/* ---- A sample reply of each type, for authors of clients ---- */

static void debugSampleNumbers(struct client *c) {
    for (int i = 0; i < 3; i++) replyLongLong(c, i);
}

static void debugSampleMap(struct client *c) {
    replyMapLen(c, 3);
    for (int i = 0; i < 3; i++) {
        replyLongLong(c, i);
        replyBool(c, i == 1);
    }
}

static void debugSampleAttribute(struct client *c) {
    if (c->resp >= 3) {
        replyAttributeLen(c, 1);
        replyBulkCstr(c, "key-popularity");
        replyArrayLen(c, 2);
        replyBulkCstr(c, "key:123");
        replyLongLong(c, 90);
    }
    replyBulkCstr(c, "Some real reply following the attribute");
}

static void debugSamplePush(struct client *c) {
    if (c->resp < 3) {
        replyError(c, "ERR RESP2 is not supported by this command");
        return;
    }
    c->flags |= CLIENT_PUSHING;
    replyPushLen(c, 2);
    replyBulkCstr(c, "server-cpu-usage");
    replyLongLong(c, 42);
    c->flags &= ~(uint32_t)CLIENT_PUSHING;
    replyBulkCstr(c, "Some real reply following the push reply");
}

static void debugProtocol(struct client *c) {
    struct str type = c->argv[2];
    if (strIs(type, "string")) {
        replyBulkCstr(c, "Hello World");
    } else if (strIs(type, "integer")) {
        replyLongLong(c, 12345);
    } else if (strIs(type, "double")) {
        replyDouble(c, 3.141);
    } else if (strIs(type, "bignum")) {
        replyBigNum(c, STR("1234567999999999999999999999999999999"));
    } else if (strIs(type, "null")) {
        replyNull(c);
    } else if (strIs(type, "array")) {
        replyArrayLen(c, 3);
        debugSampleNumbers(c);
    } else if (strIs(type, "set")) {
        replySetLen(c, 3);
        debugSampleNumbers(c);
    } else if (strIs(type, "map")) {
        debugSampleMap(c);
    } else if (strIs(type, "attrib")) {
        debugSampleAttribute(c);
    } else if (strIs(type, "push")) {
        debugSamplePush(c);
    } else if (strIs(type, "verbatim")) {
        replyVerbatim(c, STR("This is a verbatim\nstring"), "txt");
    } else if (strIs(type, "true") || strIs(type, "false")) {
        replyBool(c, strIs(type, "true"));
    } else {
        replyError(c, "ERR Wrong protocol type name. Please use one of the following: "
                      "string|integer|double|bignum|null|array|set|map|attrib|push|verbatim|true|false");
    }
}

/* ---- The table ---- */

static const char *const help[] = {
    "ASSERT",
    "    Fail an assertion: the server crashes with a report.",
    "DICT-RESIZING <0|1>",
    "    Allow or forbid that hash tables change their size.",
    "DIGEST",
    "    Return a digest of all data; equal data has equal digests.",
    "DIGEST-VALUE <key> [<key> ...]",
    "    Return a digest of each value.",
    "ERROR <message>",
    "    Reply with this error.",
    "HTSTATS <dbid>",
    "    Show how full the tables of a database are.",
    "LEAK <text>",
    "    Leak a copy of the text, to test leak checkers.",
    "LOG <message>",
    "    Write a line to the server log.",
    "OOM",
    "    Allocate more memory than is possible: the server crashes as if it had run out of memory.",
    "PANIC",
    "    Crash the server with a report.",
    "PAUSE-CRON <0|1>",
    "    Stop all periodic jobs, or resume them.",
    "POPULATE <count> [<prefix> [<size>]]",
    "    Create string keys <prefix>:0, <prefix>:1 ... that do not exist yet.",
    "PROTOCOL <type>",
    "    Return a sample reply: string, integer, double, bignum, null, array, set, map,",
    "    attrib, push, verbatim, true or false.",
    "SEGFAULT",
    "    Access invalid memory: the server crashes with a report.",
    "SET-ACTIVE-EXPIRE <0|1>",
    "    Delete expired keys in the background, or only when they are accessed.",
    "SLEEP <seconds>",
    "    Block the server for this long; fractions are allowed.",
    "STRINGMATCH-LEN <pattern> <length>",
    "    Match the pattern with a text of this many letters a.",
};

static void debugSubcommandsHelp(struct client *c) {
    size_t n = sizeof help / sizeof *help, most = n + (size_t)debugRegisteredCount() * DEBUG_HELP_LINES;
    const char **all = zmalloc((most + 1) * sizeof *all);
    memcpy(all, help, sizeof help);
    for (int i = 0; i < debugRegisteredCount(); i++) {
        for (const char *const *line = debugRegistered(i)->help; *line; line++) all[n++] = *line;
    }
    all[n] = NULL;
    replyHelp(c, all);
    zfree(all);
}

static const struct debugSubcommand subcommands[] = {
    {"assert", 0, 0, debugAssertion, NULL},  {"dict-resizing", 1, 1, debugDictResizing, NULL},
    {"digest", 0, 0, debugDigest, NULL},     {"digest-value", 0, -1, debugDigestValue, NULL},
    {"error", 1, 1, debugError, NULL},       {"help", 0, 0, debugSubcommandsHelp, NULL},
    {"htstats", 1, 2, debugHtstats, NULL},   {"leak", 1, 1, debugLeak, NULL},
    {"log", 1, 1, debugLog, NULL},           {"oom", 0, 0, debugOom, NULL},
    {"panic", 0, 0, debugPanic, NULL},       {"pause-cron", 1, 1, debugPauseCron, NULL},
    {"populate", 1, 3, debugPopulate, NULL}, {"protocol", 1, 1, debugProtocol, NULL},
    {"segfault", 0, 0, debugSegfault, NULL}, {"set-active-expire", 1, 1, debugSetActiveExpire, NULL},
    {"sleep", 1, 1, debugSleep, NULL},       {"stringmatch-len", 2, 2, debugStringmatchLen, NULL},
};
#define SUBCOMMAND_COUNT ((int)(sizeof subcommands / sizeof *subcommands))

void debugCommand(struct client *c) {
    int args = c->argc - 2;
    for (int i = 0; i < SUBCOMMAND_COUNT + debugRegisteredCount(); i++) {
        const struct debugSubcommand *sub =
            i < SUBCOMMAND_COUNT ? &subcommands[i] : debugRegistered(i - SUBCOMMAND_COUNT);
        if (!strIs(c->argv[1], sub->name) || args < sub->min_args) continue;
        if (sub->max_args >= 0 && args > sub->max_args) continue;
        sub->proc(c);
        return;
    }
    replySubcommandError(c);
}

static enum admission debugCheck(struct client *c, struct request *r, enum requestOrigin origin) {
    (void)origin;
    if (r->cmd->spec->proc != debugCommand || permitAllows(enabled, c)) return ADMITTED;
    replyError(c, "ERR DEBUG command not allowed. If the enable-debug-command option is set to \"local\", "
                  "you can run it from a local connection, otherwise you need to set this option in the "
                  "configuration file, and then restart the server.");
    return REFUSED;
}

void debugInit(void) {
    static struct configDirective directives[] = {
        CONFIG_ENUM("enable-debug-command", NULL, 0, &enabled, PERMIT_NO, permit_names, NULL),
    };
    configRegister(directives, sizeof directives / sizeof *directives);
    admissionFill(RULE_PROTECTED, debugCheck);
    debugValuesInit();
    debugSwitchesInit();
    forklessProbeInit();
}
