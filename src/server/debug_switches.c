/* SPDX-License-Identifier: BSD-3-Clause */
/* debug_switches.c - DEBUG subcommands with which tests of servers set switches and read sizes.
 * Part of debug_command.h.
 *
 * Test suites that were written for other servers set switches of parts that do not exist here, such as
 * a reply buffer that changes its size (our output is a chain of blocks). Such a switch is accepted and
 * has no effect. */
#include <errno.h>
#include <string.h>

#include "base/glob.h"
#include "base/num.h"
#include "base/random.h"
#include "base/zmalloc.h"
#include "client/client.h"
#include "client/client_evict.h"
#include "client/reply.h"
#include "data/keyspace/db.h"
#include "data/lifetime/defrag.h"
#include "data/object.h"
#include "data/type.h"
#include "registry/config.h"
#include "registry/debug.h"
#include "server/debug_command.h"
#include "types/string/string_commands.h"

#define MATCH_ROUNDS     1000000
#define MATCH_MAX_LENGTH 32

/* Returns 0 for a word that is no number. */
static int64_t debugParseNumber(struct str word) {
    int64_t v;
    return string2ll(word, &v) ? v : 0;
}

/* ---- Switches ---- */

static const struct {
    const char *name;
    int64_t *value;
} switches[] = {
    {"aof-flush-sleep", &debug_switches.aof_flush_sleep_us},
    {"pause-after-fork", &debug_switches.pause_after_fork},
    {"set-disable-deny-scripts", &debug_switches.scripts_run_all},
    {"set-skip-checksum-validation", &debug_switches.skip_checksum},
};

static void debugSwitchesSet(struct client *c) {
    for (size_t i = 0; i < sizeof switches / sizeof *switches; i++) {
        if (strIs(c->argv[1], switches[i].name)) *switches[i].value = debugParseNumber(c->argv[2]);
    }
    replyOk(c);
}

static void debugSwitchesAccept(struct client *c) {
    replyOk(c);
}

static void debugSwitchesReplyBuffer(struct client *c) {
    struct str what = c->argv[2], value = c->argv[3];
    int64_t ms;
    if (strIs(what, "peak-reset-time") && !strIs(value, "never") && !strIs(value, "reset")) {
        if (argLongLong(c, value, &ms, NULL)) replyOk(c);
    } else if (strIs(what, "peak-reset-time") || strIs(what, "resizing")) {
        replyOk(c);
    } else {
        replySubcommandError(c);
    }
}

static void debugSwitchesProtectClient(struct client *c) {
    int64_t id;
    if (!string2ll(c->argv[2], &id))
        replyError(c, "ERR Invalid client id");
    else if (!clientById((uint64_t)id))
        replyError(c, "ERR No such client");
    else
        replyOk(c);
}

/* ---- Sizes ---- */

static void debugSwitchesSdsLengths(struct client *c) {
    struct object *o = lookupKey(c->db, c->argv[2], LOOKUP_NOTOUCH | LOOKUP_NOSTATS | LOOKUP_NOEXPIRE);
    if (!o) {
        replyError(c, err_nosuchkey);
        return;
    }
    const char *encoding = objectTypeOf(o)->encodingName(o);
    bool raw = !strcmp(encoding, "raw");
    if (!raw && strcmp(encoding, "embstr")) {
        replyError(c, "ERR Not an sds encoded string.");
        return;
    }
    bool apart = objectHasPtr(o);
    sds value = apart ? stringSds(o) : NULL;
    sds s = sdscatprintf(sdsempty(),
                         "key_sds_len:%zu key_sds_avail:0 obj_alloc:%zu val_sds_len:%zu val_sds_avail:%zu "
                         "val_alloc:%zu",
                         objectKey(o).len, objectAllocSize(o), apart ? sdslen(value) : objectEmbedded(o).len,
                         apart ? sdsavail(value) : 0, apart ? sdsAllocSize(value) : 0);
    replyStatus(c, s);
    sdsfree(s);
}

static void debugSwitchesStructSizes(struct client *c) {
    sds s = sdscatprintf(sdsempty(), "bits:%d robj:%zu client:%zu hashtable:%zu ", (int)sizeof(long) * 8,
                         sizeof(struct object), sizeof(struct client), sizeof(struct hashtable));
    replyStatus(c, s);
    sdsfree(s);
}

/* ---- The allocator ---- */

static void debugSwitchesControlNumber(struct client *c) {
    sds name = sdsnewstr(c->argv[2]);
    int64_t fresh = c->argc > 3 ? debugParseNumber(c->argv[3]) : 0;
    uint64_t value;
    int code = zmallocControl(name, &value, c->argc > 3 ? &fresh : NULL);
    sdsfree(name);
    if (code)
        replyErrorFmt(c, "ERR %s", strerror(code));
    else
        replyLongLong(c, (int64_t)value);
}

/* Tells by the last part of its name whether a setting is a text. jemalloc returns a number as readily if it
 * has the size of an address, which must not be read as one. */
static bool debugSwitchesNamesText(const char *name) {
    static const char texts[][20] = {"version",
                                     "malloc_conf",
                                     "metadata_thp",
                                     "thp",
                                     "dss",
                                     "percpu_arena",
                                     "junk",
                                     "zero_realloc",
                                     "prof_prefix",
                                     "stats_print_opts",
                                     "stats_interval_opts"};
    const char *dot = strrchr(name, '.');
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        if (!strcmp(dot ? dot + 1 : name, texts[i])) return true;
    }
    return false;
}

static void debugSwitchesControlText(struct client *c) {
    sds name = sdsnewstr(c->argv[2]);
    const char *text;
    int code = zmallocControlText(name, &text);
    if (!code && !debugSwitchesNamesText(name)) code = EINVAL;
    sdsfree(name);
    if (code)
        replyErrorFmt(c, "ERR %s", strerror(code));
    else
        replyBulkCstr(c, text);
}

/* ---- Patterns ---- */

/* Matches random patterns with random texts of the letters with a meaning. Each match has to end and may
 * only touch its own memory. */
static void debugSwitchesMatchAtRandom(struct client *c) {
    static const char letters[] = "ab*?[]^-\\";
    char bytes[2][MATCH_MAX_LENGTH];
    for (int i = 0; i < MATCH_ROUNDS; i++) {
        struct str s[2];
        for (int k = 0; k < 2; k++) {
            size_t n = randomBelow(MATCH_MAX_LENGTH);
            for (size_t j = 0; j < n; j++) bytes[k][j] = letters[randomBelow(sizeof letters - 1)];
            s[k] = strN(bytes[k], n);
        }
        globMatch(s[0], s[1], i & 1);
    }
    replyStatus(c, "The pattern matcher has passed.");
}

static void debugRewriteAll(struct client *c) {
    int code = configRewrite(true) ? 0 : errno;
    if (code)
        replyErrorFmt(c, "ERR CONFIG-REWRITE-FORCE-ALL failed: %s", strerror(code));
    else
        replyOk(c);
}

static void debugSwitchesWeights(struct client *c) {
    if (!client_accounting) {
        replyError(c, "ERR maxmemory-clients is disabled.");
        return;
    }
    sds s = clientMemoryBucketsText(sdsempty());
    replyVerbatim(c, sdsview(s), "txt");
    sdsfree(s);
}

static void debugDefragAll(struct client *c) {
    defragAll();
    replyOk(c);
}

static void debugDefragStress(struct client *c) {
    defragStress(strIs(c->argv[2], "1"));
    replyOk(c);
}

/* ---- The table ---- */

#define HELP(...) ((const char *const[]){__VA_ARGS__, NULL})

static const char *const no_help[] = {NULL};
static const struct debugSubcommand subcommands[] = {
    {"aof-flush-sleep", 1, 1, debugSwitchesSet,
     HELP("AOF-FLUSH-SLEEP <microseconds>", "    Wait this long before each write to the append-only file.")},
    {"client-eviction", 0, 0, debugSwitchesWeights,
     HELP("CLIENT-EVICTION", "    Show the distribution of clients' memory by size.")},
    {"config-rewrite-force-all", 0, 0, debugRewriteAll,
     HELP("CONFIG-REWRITE-FORCE-ALL", "    Run CONFIG REWRITE, and include directives with default values.")},
    {"defrag-all", 0, 0, debugDefragAll,
     HELP("DEFRAG-ALL", "    Move every allocation of the data in memory, once.")},
    {"defrag-stress", 1, 1, debugDefragStress,
     HELP("DEFRAG-STRESS <0|1>", "    Go on moving everything, half of the time.")},
    {"mallctl", 1, 2, debugSwitchesControlNumber,
     HELP("MALLCTL <key> [<value>]", "    Return a number of the allocator, or set it.")},
    {"mallctl-str", 1, 2, debugSwitchesControlText,
     HELP("MALLCTL-STR <key>", "    Return a text of the allocator.")},
    {"pause-after-fork", 1, 1, debugSwitchesSet,
     HELP("PAUSE-AFTER-FORK <0|1>", "    Stop (SIGSTOP) after each fork, until SIGCONT arrives.")},
    {"protect-client", 1, 1, debugSwitchesProtectClient,
     HELP("PROTECT-CLIENT <id>", "    Check whether this client exists.")},
    {"replybuffer", 2, 2, debugSwitchesReplyBuffer,
     HELP("REPLYBUFFER PEAK-RESET-TIME <ms|NEVER|RESET>, RESIZING <0|1>",
          "    Accepted without effect: replies are chains of blocks.")},
    {"sdslen", 1, 1, debugSwitchesSdsLengths,
     HELP("SDSLEN <key>", "    Show used and unused bytes of key and string.")},
    {"set-disable-deny-scripts", 1, 1, debugSwitchesSet,
     HELP("SET-DISABLE-DENY-SCRIPTS <0|1>", "    Allow scripts to run commands that scripts may not run.")},
    {"set-skip-checksum-validation", 1, 1, debugSwitchesSet,
     HELP("SET-SKIP-CHECKSUM-VALIDATION <0|1>", "    Accept RDB files and payloads with a wrong checksum.")},
    {"stringmatch-test", 0, 0, debugSwitchesMatchAtRandom,
     HELP("STRINGMATCH-TEST", "    Match random patterns with random texts.")},
    {"structsize", 0, 0, debugSwitchesStructSizes,
     HELP("STRUCTSIZE", "    Show the sizes of some structures, in bytes.")},
    {"client-enforce-reply-list", 1, 1, debugSwitchesAccept, no_help},
    {"force-free-primary-async", 1, 1, debugSwitchesAccept, no_help},
    {"force-tls-write-error", 1, 1, debugSwitchesAccept, no_help},
    {"hashtable-can-abort-shrink", 1, 1, debugSwitchesAccept, no_help},
};

void debugSwitchesInit(void) {
    for (size_t i = 0; i < sizeof subcommands / sizeof *subcommands; i++) debugRegister(&subcommands[i]);
}
