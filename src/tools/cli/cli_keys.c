/* SPDX-License-Identifier: BSD-3-Clause */
/* cli_keys.c - --bigkeys, --memkeys and --hotkeys: a walk over all keys that requests the type and size
 * of each, or how often it is used. Part of cli.h.
 *
 * Three steps of SCAN are in progress at once: the next one is requested together with the types of the
 * current step's keys and the sizes of the last step's, so server and client work in parallel.
 *
 *     out:  sizes of step 1 | types of step 2 | SCAN for step 3         and so on
 *
 * The biggest keys are printed as they are found, with the share of the keys seen; Ctrl-C ends the walk
 * and prints the summary so far. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/num.h"
#include "base/zmalloc.h"
#include "tools/cli/cli.h"
#include "tools/cli/cli_progress.h"

#define MAX_TYPES   32
#define PAUSE_EVERY 100 /* keys */
#define STEP_KEYS   500 /* keys per step of SCAN, unless --count is given */

struct typeSample {
    sds name;
    const char *size_command, *unit;
    sds biggest_key;
    int64_t biggest, total, count;
};

struct hotKey {
    sds key;
    int64_t counter;
};

struct keyStep {
    sds *keys;
    struct typeSample **types; /* NULL for a key that has been deleted */
    int count;
};

struct walk {
    struct cli *cli;
    struct cliProgress progress;
    int64_t all, sampled, key_bytes;
    struct typeSample types[MAX_TYPES];
    int types_count;
    struct hotKey *hot; /* the most used first; space for one more than are shown */
    int hot_count;
};

static volatile sig_atomic_t stop_walk; /* cli_interrupted would interrupt replies */

static const struct {
    const char *name, *size_command, *unit;
} known_types[] = {
    {"list", "LLEN", "items"},       {"hash", "HLEN", "fields"},  {"string", "STRLEN", "bytes"},
    {"stream", "XLEN", "entries"},   {"set", "SCARD", "members"}, {"zset", "ZCARD", "members"},
    {"pathhash", "PHCARD", "paths"},
};

static struct typeSample *cliKeysAddType(struct walk *w, struct str name) {
    if (w->types_count == MAX_TYPES) return NULL;
    struct typeSample *t = &w->types[w->types_count++];
    *t = (struct typeSample){.name = sdsnewstr(name), .unit = "?"};
    for (size_t i = 0; i < sizeof(known_types) / sizeof(known_types[0]); i++) {
        if (!strIs(name, known_types[i].name)) continue;
        t->size_command = known_types[i].size_command;
        t->unit = known_types[i].unit;
    }
    if (w->cli->mode == CLI_MEMKEYS) t->unit = "bytes";
    return t;
}

static struct typeSample *cliKeysTypeOf(struct walk *w, struct str name) {
    for (int i = 0; i < w->types_count; i++) {
        if (strEq(sdsview(w->types[i].name), name)) return &w->types[i];
    }
    return cliKeysAddType(w, name);
}

static double cliKeysPercentSeen(const struct walk *w) {
    double percent = w->all ? (double)w->sampled * 100 / (double)w->all : 100;
    return percent < 100 ? percent : 100;
}

static sds cliKeysQuoted(const sds key) {
    return sdscatrepr(sdsempty(), key, sdslen(key));
}

/* Prepares for other output. */
static void cliKeysClearLine(struct walk *w) {
    cliProgressClear(&w->progress);
}

/* ---- Types and sizes ---- */

static void cliKeysRequestTypes(struct walk *w, const struct keyStep *s) {
    for (int i = 0; i < s->count; i++) {
        struct str words[] = {STR("TYPE"), sdsview(s->keys[i])};
        cliQueueWords(w->cli, 2, words);
    }
}

static void cliKeysReadTypes(struct walk *w, struct keyStep *s) {
    s->types = zmalloc((size_t)(s->count + 1) * sizeof(s->types[0]));
    for (int i = 0; i < s->count; i++) {
        struct respReply reply;
        cliExpect(w->cli, &reply);
        s->types[i] = strIs(reply.str, "none") ? NULL : cliKeysTypeOf(w, reply.str);
        respReplyFree(&reply);
    }
}

static bool cliKeysHasSize(const struct walk *w, const struct typeSample *type) {
    return type && (w->cli->mode == CLI_MEMKEYS || type->size_command);
}

static void cliKeysRequestSize(struct walk *w, const sds key, const struct typeSample *type) {
    char number[LONG_STR_SIZE];
    if (w->cli->mode == CLI_BIGKEYS) {
        struct str words[] = {strOf(type->size_command), sdsview(key)};
        cliQueueWords(w->cli, 2, words);
        return;
    }
    struct str words[] = {STR("MEMORY"), STR("USAGE"), sdsview(key), STR("SAMPLES"), STR("0")};
    bool samples = w->cli->memory_samples >= 0;
    if (samples) words[4] = strN(number, ll2string(number, w->cli->memory_samples));
    cliQueueWords(w->cli, samples ? 5 : 3, words);
}

static void cliKeysRequestSizes(struct walk *w, const struct keyStep *s) {
    for (int i = 0; i < s->count; i++) {
        if (cliKeysHasSize(w, s->types[i])) cliKeysRequestSize(w, s->keys[i], s->types[i]);
    }
}

static void cliKeysAddSize(struct walk *w, const sds key, struct typeSample *t, int64_t size) {
    t->total += size;
    t->count++;
    if (size <= t->biggest && t->biggest_key) return;
    t->biggest = size;
    cliSetText(&t->biggest_key, sdsdup(key));
    sds name = cliKeysQuoted(key);
    cliKeysClearLine(w);
    printf("[%05.2f%%] Biggest %-6s found so far '%s' with %lld %s\n", cliKeysPercentSeen(w), t->name, name,
           (long long)size, t->unit);
    fflush(stdout);
    sdsfree(name);
}

static void cliKeysPrintRefusal(struct walk *w, const sds key, struct str why) {
    cliKeysClearLine(w);
    fprintf(stderr, "Warning: the size of '%s' is unknown: %.*s\n", key, (int)why.len, why.ptr);
}

/* Reads a size. It may be missing: another client deleted the key or changed its type. */
static void cliKeysReadSize(struct walk *w, const sds key, struct typeSample *type) {
    struct respReply reply;
    cliExpectAny(w->cli, &reply);
    if (reply.type == RESP_T_INTEGER) {
        cliKeysAddSize(w, key, type, reply.integer);
    } else {
        type->count++;
        if (reply.type != RESP_T_NULL) cliKeysPrintRefusal(w, key, reply.str);
    }
    respReplyFree(&reply);
}

static void cliKeysReadSizes(struct walk *w, const struct keyStep *s) {
    for (int i = 0; i < s->count; i++) {
        if (cliKeysHasSize(w, s->types[i]))
            cliKeysReadSize(w, s->keys[i], s->types[i]);
        else if (s->types[i])
            s->types[i]->count++;
    }
}

/* ---- Usage counters ---- */

static void cliKeysAddUse(struct walk *w, const sds key, int64_t counter) {
    if (counter <= 0) return; /* never used */
    int at = w->hot_count;
    while (at > 0 && w->hot[at - 1].counter < counter) at--;
    if (at == w->cli->hot_keys) return;
    memmove(&w->hot[at + 1], &w->hot[at], (size_t)(w->hot_count - at) * sizeof(w->hot[0]));
    w->hot[at] = (struct hotKey){sdsdup(key), counter};
    if (w->hot_count == w->cli->hot_keys)
        sdsfree(w->hot[w->hot_count].key);
    else
        w->hot_count++;
    sds name = cliKeysQuoted(key);
    cliKeysClearLine(w);
    printf("[%05.2f%%] Hot key '%s' found so far with counter %lld\n", cliKeysPercentSeen(w), name,
           (long long)counter);
    fflush(stdout);
    sdsfree(name);
}

static void cliKeysRequestUse(struct walk *w, const struct keyStep *s) {
    for (int i = 0; i < s->count; i++) {
        struct str words[] = {STR("OBJECT"), STR("FREQ"), sdsview(s->keys[i])};
        cliQueueWords(w->cli, 3, words);
    }
}

static void cliKeysReadUse(struct walk *w, const struct keyStep *s) {
    for (int i = 0; i < s->count; i++) {
        struct respReply reply;
        cliExpect(w->cli, &reply); /* an error: the policy has no counters */
        if (reply.type == RESP_T_INTEGER) cliKeysAddUse(w, s->keys[i], reply.integer);
        respReplyFree(&reply);
    }
}

/* ---- Summaries ---- */

static void cliKeysPrintBiggest(const struct walk *w) {
    for (int i = 0; i < w->types_count; i++) {
        const struct typeSample *t = &w->types[i];
        if (!t->biggest_key) continue;
        sds name = cliKeysQuoted(t->biggest_key);
        printf("Biggest %6s found '%s' has %lld %s\n", t->name, name, (long long)t->biggest, t->unit);
        sdsfree(name);
    }
    printf("\n");
}

static void cliKeysPrintTotals(const struct walk *w) {
    for (int i = 0; i < w->types_count; i++) {
        const struct typeSample *t = &w->types[i];
        double keys = (double)(w->sampled ? w->sampled : 1), count = (double)(t->count ? t->count : 1);
        printf("%lld %ss with %lld %s (%05.2f%% of keys, avg size %.2f)\n", (long long)t->count, t->name,
               (long long)t->total, t->unit, (double)t->count * 100 / keys, (double)t->total / count);
    }
}

static void cliKeysPrintSummary(const struct walk *w) {
    bool hot = w->cli->mode == CLI_HOTKEYS;
    printf("\n-------- Summary --------\n\n");
    if (stop_walk) printf("Interrupted, with %.2f%% of the keys seen.\n", cliKeysPercentSeen(w));
    printf("Sampled %lld keys in the keyspace!\n", (long long)w->sampled);
    if (!hot)
        printf("Total key length in bytes is %lld (avg len %.2f)\n\n", (long long)w->key_bytes,
               w->sampled ? (double)w->key_bytes / (double)w->sampled : 0);
    for (int i = 0; i < w->hot_count; i++) {
        sds name = cliKeysQuoted(w->hot[i].key);
        printf("hot key found with counter: %lld\tkeyname: %s\n", (long long)w->hot[i].counter, name);
        sdsfree(name);
    }
    if (hot) return;
    cliKeysPrintBiggest(w);
    cliKeysPrintTotals(w);
}

/* ---- The walk ---- */

static void cliKeysOnInterrupt(int sig) {
    (void)sig;
    stop_walk = 1;
}

static int64_t cliKeysCountAll(struct cli *c) {
    static const struct str dbsize[] = {{"DBSIZE", 6}};
    struct respReply reply;
    cliSendWords(c, 1, dbsize);
    cliExpect(c, &reply);
    return reply.integer;
}

static void cliKeysEndStep(struct walk *w, struct keyStep *s) {
    int64_t before = w->sampled;
    w->sampled += s->count;
    for (int i = 0; i < s->count; i++) w->key_bytes += (int64_t)sdslen(s->keys[i]);
    if (w->sampled / PAUSE_EVERY != before / PAUSE_EVERY) cliPause(w->cli);
    cliProgressShow(&w->progress, w->sampled, "");
    sdsfreesplitres(s->keys, s->count);
    zfree(s->types);
    *s = (struct keyStep){0};
}

/* Walks over the keys. `last` is a step whose types are known; --hotkeys has none. */
static void cliKeysWalkKeys(struct walk *w) {
    struct cli *c = w->cli;
    bool use = c->mode == CLI_HOTKEYS;
    struct keyStep last = {0}, now = {0}, next;
    sds cursor = sdsnew("0");
    for (bool more = true; more || now.keys || last.keys;) {
        if (last.keys) cliKeysRequestSizes(w, &last);
        if (now.keys) use ? cliKeysRequestUse(w, &now) : cliKeysRequestTypes(w, &now);
        next = (struct keyStep){0};
        if (more) cliScanRequest(c, cursor);
        if (last.keys) cliKeysReadSizes(w, &last);
        if (now.keys) use ? cliKeysReadUse(w, &now) : cliKeysReadTypes(w, &now);
        if (more) next.keys = cliScanReadStep(c, &cursor, &next.count);
        if (use ? now.keys : last.keys) cliKeysEndStep(w, use ? &now : &last);
        last = now;
        now = next;
        more = more && strcmp(cursor, "0") != 0 && !stop_walk;
    }
    sdsfree(cursor);
}

static void cliKeysFreeWalk(struct walk *w) {
    for (int i = 0; i < w->types_count; i++) {
        sdsfree(w->types[i].name);
        sdsfree(w->types[i].biggest_key);
    }
    for (int i = 0; i < w->hot_count; i++) sdsfree(w->hot[i].key);
    zfree(w->hot);
}

int cliSampleKeys(struct cli *c) {
    struct walk w = {.cli = c, .all = cliKeysCountAll(c)};
    w.hot = zmalloc((size_t)(c->hot_keys + 1) * sizeof(w.hot[0]));
    for (size_t i = 0; i < sizeof(known_types) / sizeof(known_types[0]); i++)
        cliKeysAddType(&w, strOf(known_types[i].name));
    signal(SIGINT, cliKeysOnInterrupt);
    if (!c->scan_count) c->scan_count = c->interval_us ? PAUSE_EVERY : STEP_KEYS;
    printf("\n# Scanning all keys for the %s ones. With -i 0.1 there is a pause\n"
           "# of 0.1 seconds after each %d keys, which is seldom needed.\n\n",
           c->mode == CLI_HOTKEYS ? "most used" : "biggest", PAUSE_EVERY);
    w.progress = cliProgressStart("keys", w.all);
    cliKeysWalkKeys(&w);
    cliKeysClearLine(&w);
    cliKeysPrintSummary(&w);
    cliKeysFreeWalk(&w);
    return 0;
}
