/* SPDX-License-Identifier: BSD-3-Clause */
/* benchmark_fuzz_grammar.c - see benchmark_fuzz.h.
 *
 * An argument of COMMAND DOCS is a map: its type, perhaps a token, flags (optional, multiple ...), and
 * for oneof and block the arguments in it. A command is made by one walk over these, with a random
 * choice wherever there is a choice. Keys are few and named after the group of the command, so that most
 * commands find values of the right type. */
#define _GNU_SOURCE /* memmem */
#include <string.h>
#include <time.h>

#include "base/num.h"
#include "base/random.h"
#include "base/zmalloc.h"
#include "tools/benchmark/benchmark_fuzz.h"

#define KEYS          100 /* keys of each group */
#define REPEAT_MAX    3
#define DEPTH_MAX     8
#define MALFORMED_ONE 4  /* in so many */
#define CONFIG_ONE    50 /* in so many */

/* ---- The server's replies ---- */

static bool fuzzGrammarHasWord(const struct respReply *list, const char *word) {
    for (size_t i = 0; list && i < list->elements; i++)
        if (strIs(list->element[i].str, word)) return true;
    return false;
}

/* Finds the flags of a command. An entry of COMMAND is name, arity, flags, ... and, in the tenth place,
 * the entries of the subcommands. */
static const struct respReply *fuzzGrammarFindFlags(const struct respReply *entries, struct str name) {
    for (size_t i = 0; i < entries->elements; i++) {
        const struct respReply *e = &entries->element[i];
        if (e->elements < 10) continue;
        if (strEq(e->element[0].str, name)) return &e->element[2];
        struct str own = e->element[0].str;
        if (name.len > own.len && name.ptr[own.len] == '|' && !memcmp(name.ptr, own.ptr, own.len))
            return fuzzGrammarFindFlags(&e->element[9], name);
    }
    return NULL;
}

static bool fuzzGrammarIsAllowed(const struct fuzzGrammar *g, struct str name) {
    static const char *const flags[] = {"admin", "blocking", "noscript", "pubsub"};
    static const char *const names[] = {"migrate",        "asking",   "readonly", "readwrite",
                                        "restore-asking", "flushall", "flushdb",  "swapdb"};
    const struct respReply *has = fuzzGrammarFindFlags(&g->flags, name);
    if (!has) return false;
    for (size_t i = 0; i < sizeof flags / sizeof *flags; i++)
        if (fuzzGrammarHasWord(has, flags[i])) return false;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strIs(name, names[i])) return false;
    return name.len < 8 || memcmp(name.ptr, "cluster|", 8);
}

static void fuzzGrammarAddCommand(struct fuzzGrammar *g, struct str name, struct str group,
                                  const struct respReply *docs) {
    const char *bar = memchr(name.ptr, '|', name.len);
    size_t len = bar ? (size_t)(bar - name.ptr) : name.len;
    if (!fuzzGrammarIsAllowed(g, name)) return;
    g->commands = zrealloc(g->commands, (size_t)(g->count + 1) * sizeof *g->commands);
    g->commands[g->count++] = (struct fuzzCommand){
        .name = strN(name.ptr, len),
        .subcommand = bar ? strN(bar + 1, name.len - len - 1) : STR(""),
        .group = group,
        .args = respField(docs, "arguments"),
    };
}

static bool fuzzGrammarReadReply(sds bytes, struct respReply *tree) {
    return bytes && respReadReply(bytes, sdslen(bytes), tree) > 0;
}

bool fuzzGrammarInit(struct fuzzGrammar *g, sds docs, sds flags, sds config) {
    g->docs_bytes = docs;
    g->flags_bytes = flags;
    g->config_bytes = config;
    if (!fuzzGrammarReadReply(docs, &g->docs) || !fuzzGrammarReadReply(flags, &g->flags) ||
        !fuzzGrammarReadReply(config, &g->config))
        return false;
    for (size_t i = 0; i + 1 < g->docs.elements; i += 2) {
        const struct respReply *entry = &g->docs.element[i + 1], *subs = respField(entry, "subcommands");
        struct str group = respFieldText(entry, "group");
        if (!subs) fuzzGrammarAddCommand(g, g->docs.element[i].str, group, entry);
        for (size_t k = 0; subs && k + 1 < subs->elements; k += 2)
            fuzzGrammarAddCommand(g, subs->element[k].str, group, &subs->element[k + 1]);
    }
    return g->count > 0;
}

void fuzzGrammarFree(struct fuzzGrammar *g) {
    respReplyFree(&g->docs);
    respReplyFree(&g->flags);
    respReplyFree(&g->config);
    sdsfree(g->docs_bytes);
    sdsfree(g->flags_bytes);
    sdsfree(g->config_bytes);
    zfree(g->commands);
    *g = (struct fuzzGrammar){0};
}

/* ---- Words ---- */

struct words {
    sds *word;
    int count;
    struct str group;
    int promised; /* elements announced by numkeys or numfields; 0: none */
};

static void fuzzGrammarPut(struct words *w, sds word) {
    w->word = zrealloc(w->word, (size_t)(w->count + 1) * sizeof *w->word);
    w->word[w->count++] = word;
}

static bool fuzzGrammarTossCoin(void) {
    return randomBelow(2);
}

#define ONE_OF(list) ((list)[randomBelow(sizeof(list) / sizeof *(list))])

static sds fuzzGrammarAnyText(void) {
    static const char *const texts[] = {"a", "b", "c", "value", "0", "1", "-1", "3.5", "", "member", "field"};
    if (randomBelow(4)) return sdsnew(ONE_OF(texts));
    char bytes[64];
    size_t len = randomBelow(sizeof bytes);
    for (size_t i = 0; i < len; i++) bytes[i] = (char)randomBelow(256);
    return sdsnewlen(bytes, len);
}

/* Makes a number, but no count that a server would answer in full, however long that takes (SRANDMEMBER
 * key -2147483648). */
static sds fuzzGrammarAnyInteger(void) {
    static const int64_t edges[] = {0, -1, 1, -1000, INT32_MAX, INT64_MAX, INT64_MIN};
    bool edge = !randomBelow(20);
    return sdsfromll(edge ? ONE_OF(edges) : (int64_t)randomBelow(20));
}

static sds fuzzGrammarAnyKey(struct str group) {
    static const char *const groups[] = {"string", "list", "set", "sorted-set", "hash", "stream", "pathhash"};
    if (strIs(group, "geo")) group = STR("sorted-set");
    if (strIs(group, "generic") || strIs(group, "server")) group = strOf(ONE_OF(groups));
    return sdscatprintf(sdsempty(), "fuzz:%.*s:%d", (int)group.len, group.ptr, (int)randomBelow(KEYS));
}

static void fuzzGrammarPutValue(struct words *w, struct str type, struct str name) {
    static const char *const patterns[] = {"*", "fuzz:*", "[a-c]?", "a*b", "\\*"};
    static const char *const doubles[] = {"0", "1.5", "-2.25", "1e3", "inf", "-inf", "0.1"};
    if (strIs(type, "key")) {
        fuzzGrammarPut(w, fuzzGrammarAnyKey(w->group));
    } else if (strIs(type, "integer") && name.len > 3 && !memcmp(name.ptr, "num", 3)) {
        w->promised = 1 + (int)randomBelow(REPEAT_MAX);
        fuzzGrammarPut(w, sdsfromll(w->promised));
    } else if (strIs(type, "integer")) {
        fuzzGrammarPut(w, fuzzGrammarAnyInteger());
    } else if (strIs(type, "double")) {
        fuzzGrammarPut(w, sdsnew(ONE_OF(doubles)));
    } else if (strIs(type, "unix-time")) {
        fuzzGrammarPut(w, sdsfromll((int64_t)time(NULL) + (int64_t)randomBelow(1000)));
    } else if (strIs(type, "pattern")) {
        fuzzGrammarPut(w, sdsnew(ONE_OF(patterns)));
    } else {
        fuzzGrammarPut(w, fuzzGrammarAnyText());
    }
}

static void fuzzGrammarPutArgs(struct words *w, const struct respReply *args, int depth);

static void fuzzGrammarPutOnce(struct words *w, const struct respReply *arg, int depth) {
    const struct respReply *inner = respField(arg, "arguments");
    struct str type = respFieldText(arg, "type");
    if (inner && strIs(type, "oneof") && inner->elements) {
        struct respReply one = {.elements = 1, .element = &inner->element[randomBelow(inner->elements)]};
        fuzzGrammarPutArgs(w, &one, depth + 1);
    } else if (inner) {
        fuzzGrammarPutArgs(w, inner, depth + 1);
    } else if (!strIs(type, "pure-token")) {
        fuzzGrammarPutValue(w, type, respFieldText(arg, "name"));
    }
}

static void fuzzGrammarPutArg(struct words *w, const struct respReply *arg, int depth) {
    const struct respReply *flags = respField(arg, "flags");
    struct str token = respFieldText(arg, "token");
    if (fuzzGrammarHasWord(flags, "optional") && fuzzGrammarTossCoin()) return;
    bool multiple = fuzzGrammarHasWord(flags, "multiple");
    int times = !multiple ? 1 : w->promised ? w->promised : 1 + (int)randomBelow(REPEAT_MAX);
    for (int i = 0; i < times; i++) {
        if (token.len && (i == 0 || fuzzGrammarHasWord(flags, "multiple_token")))
            fuzzGrammarPut(w, sdsnewstr(token));
        fuzzGrammarPutOnce(w, arg, depth);
    }
}

static void fuzzGrammarPutArgs(struct words *w, const struct respReply *args, int depth) {
    for (size_t i = 0; args && depth < DEPTH_MAX && i < args->elements; i++)
        fuzzGrammarPutArg(w, &args->element[i], depth);
}

/* ---- Commands ---- */

/* Returns false for directives that would make the server close our connections, accept no new ones, or
 * refuse all writes. */
static bool fuzzGrammarIsSettable(struct str name) {
    static const char *const parts[] = {"bind",        "port", "client", "timeout",  "maxmemory",
                                        "requirepass", "dir",  "min-",   "proto-max"};
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        if (memmem(name.ptr, name.len, parts[i], strlen(parts[i]))) return false;
    return true;
}

static void fuzzGrammarPutConfigSet(struct words *w, const struct respReply *config) {
    size_t pairs = config->elements / 2, at = pairs ? 2 * randomBelow(pairs) : 0;
    fuzzGrammarPut(w, sdsnew("CONFIG"));
    fuzzGrammarPut(w, sdsnew("SET"));
    if (!pairs || !fuzzGrammarIsSettable(config->element[at].str)) at = SIZE_MAX;
    fuzzGrammarPut(w, at == SIZE_MAX ? sdsnew("hz") : sdsnewstr(config->element[at].str));
    fuzzGrammarPut(w, at == SIZE_MAX          ? sdsnew("10")
                      : fuzzGrammarTossCoin() ? sdsnewstr(config->element[at + 1].str)
                                              : fuzzGrammarAnyInteger());
}

/* Adds, removes or replaces a word. */
static void fuzzGrammarCorrupt(struct words *w) {
    int at = (int)randomBelow((uint64_t)w->count);
    switch (randomBelow(3)) {
    case 0: fuzzGrammarPut(w, fuzzGrammarAnyText()); break;
    case 1:
        sdsfree(w->word[--w->count]);
        if (w->count == 0) fuzzGrammarPut(w, fuzzGrammarAnyText());
        break;
    default: sdsfree(w->word[at]); w->word[at] = fuzzGrammarAnyText();
    }
}

static sds fuzzGrammarEncode(const struct words *w, sds *shown) {
    struct str *argv = zmalloc((size_t)w->count * sizeof *argv);
    *shown = sdsempty();
    for (int i = 0; i < w->count; i++) {
        argv[i] = sdsview(w->word[i]);
        *shown = sdscatrepr(i ? sdscat(*shown, " ") : *shown, argv[i].ptr, argv[i].len);
    }
    sds out = sdsMakeRoomFor(sdsempty(), respRequestRoom(w->count, argv));
    sdssetlen(out, (size_t)(respWriteRequest(out, w->count, argv) - out));
    zfree(argv);
    return out;
}

sds fuzzCommandMake(const struct fuzzGrammar *g, sds *shown) {
    const struct fuzzCommand *command = &g->commands[randomBelow((uint64_t)g->count)];
    struct words w = {.group = command->group};
    if (g->set_config && !randomBelow(CONFIG_ONE)) {
        fuzzGrammarPutConfigSet(&w, &g->config);
    } else {
        fuzzGrammarPut(&w, sdsnewstr(command->name));
        if (command->subcommand.len) fuzzGrammarPut(&w, sdsnewstr(command->subcommand));
        fuzzGrammarPutArgs(&w, command->args, 0);
    }
    if (g->malformed && !randomBelow(MALFORMED_ONE)) fuzzGrammarCorrupt(&w);
    sds out = fuzzGrammarEncode(&w, shown);
    sdsfreesplitres(w.word, w.count);
    return out;
}
