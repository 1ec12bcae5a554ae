/* SPDX-License-Identifier: BSD-3-Clause */
/* cli_docs.c - reading COMMAND DOCS: fields, synopses, completions and hints. */
#include "tools/cli/cli_docs.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/zmalloc.h"

static int cliDocsComparePairs(const void *a, const void *b) {
    return strCmp(((const struct respReply *)a)->str, ((const struct respReply *)b)->str);
}

/* Sorts the entries, which a server sends in no order, by name. */
static void cliDocsSortByName(struct respReply *map) {
    qsort(map->element, map->elements / 2, 2 * sizeof(map->element[0]), cliDocsComparePairs);
    for (size_t i = 0; i + 1 < map->elements; i += 2) {
        const struct respReply *subs = respField(&map->element[i + 1], "subcommands");
        if (subs) cliDocsSortByName((struct respReply *)subs);
    }
}

bool cliDocsSet(struct cliDocs *d, sds bytes) {
    struct respReply tree;
    if (respReadReply(bytes, sdslen(bytes), &tree) <= 0) {
        sdsfree(bytes);
        return false;
    }
    if (tree.type != RESP_T_ARRAY && tree.type != RESP_T_MAP) {
        respReplyFree(&tree);
        sdsfree(bytes);
        return false;
    }
    cliDocsFree(d);
    if (tree.elements) cliDocsSortByName(&tree);
    d->bytes = bytes;
    d->tree = tree;
    return true;
}

void cliDocsFree(struct cliDocs *d) {
    if (!d->bytes) return;
    respReplyFree(&d->tree);
    sdsfree(d->bytes);
    d->bytes = NULL;
}

sds cliDocsTitle(struct str name) {
    sds out = sdsnewstr(name);
    sdstoupper(out);
    for (char *bar = out; (bar = strchr(bar, '|'));) *bar = ' ';
    return out;
}

/* ---- Groups ---- */

struct cliDocsGroupCount *cliDocsGroups(const struct cliDocs *d, int *count) {
    struct cliDocsGroupCount *groups = zmalloc((d->tree.elements / 2 + 1) * sizeof(groups[0]));
    *count = 0;
    for (size_t i = 0; d->bytes && i + 1 < d->tree.elements; i += 2) {
        struct str name = respFieldText(&d->tree.element[i + 1], "group");
        int at = 0;
        while (at < *count && strCmp(groups[at].name, name) < 0) at++;
        bool known = at < *count && strEq(groups[at].name, name);
        if (!known) {
            memmove(&groups[at + 1], &groups[at], (size_t)((*count)++ - at) * sizeof(groups[0]));
            groups[at] = (struct cliDocsGroupCount){.name = name};
        }
        groups[at].commands++;
    }
    return groups;
}

/* Returns the name's lower-case letters and digits without a plural s. */
static sds cliDocsBareName(struct str name) {
    sds out = sdsempty();
    for (size_t i = 0; i < name.len; i++) {
        char c = (char)tolower((unsigned char)name.ptr[i]);
        if (isalnum((unsigned char)c)) out = sdscatlen(out, &c, 1);
    }
    size_t len = sdslen(out);
    if (len > 3 && out[len - 1] == 's')
        sdsrange(out, 0, len > 4 && strcmp(out + len - 3, "hes") == 0 ? -3 : -2);
    return out;
}

struct str cliDocsFindGroup(const struct cliDocs *d, const char *word) {
    static const char *const others[][2] = {
        {"zset", "sortedset"},    {"hll", "hyperloglog"},  {"geospatial", "geo"},     {"key", "generic"},
        {"lua", "scripting"},     {"script", "scripting"}, {"function", "scripting"}, {"tx", "transaction"},
        {"multi", "transaction"}, {"bit", "bitmap"},       {"publish", "pubsub"},     {"subscribe", "pubsub"},
    };
    sds bare = cliDocsBareName(strOf(word));
    for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
        if (strcmp(bare, others[i][0]) == 0) bare = sdscpylen(bare, others[i][1], strlen(others[i][1]));
    }
    struct str found = STR("");
    int count;
    struct cliDocsGroupCount *groups = cliDocsGroups(d, &count);
    for (int i = 0; i < count && !found.len; i++) {
        sds name = cliDocsBareName(groups[i].name);
        if (strcmp(name, bare) == 0) found = groups[i].name;
        sdsfree(name);
    }
    zfree(groups);
    sdsfree(bare);
    return found;
}

/* ---- Synopses ---- */

static bool cliDocsHasFlag(const struct respReply *arg, const char *flag) {
    const struct respReply *flags = respField(arg, "flags");
    for (size_t i = 0; flags && i < flags->elements; i++) {
        if (strIs(flags->element[i].str, flag)) return true;
    }
    return false;
}

static sds cliDocsAppendList(sds out, const struct respReply *args, const char *between);

/* Returns an argument without its token, brackets and repetition. */
static sds cliDocsBareArg(const struct respReply *arg) {
    const struct respReply *inner = respField(arg, "arguments");
    struct str type = respFieldText(arg, "type");
    struct str shown = respFieldText(arg, "display_text");
    if (strIs(type, "oneof") && inner) return cliDocsAppendList(sdsempty(), inner, "|");
    if (strIs(type, "block") && inner) return cliDocsAppendList(sdsempty(), inner, " ");
    if (strIs(type, "pure-token")) return sdsempty();
    return sdsnewstr(shown.len ? shown : respFieldText(arg, "name"));
}

static sds cliDocsAppendArg(sds out, const struct respReply *arg) {
    sds core = cliDocsBareArg(arg);
    bool optional = cliDocsHasFlag(arg, "optional");
    sds one = sdsnewstr(respFieldText(arg, "token"));
    if (sdslen(one) && sdslen(core)) one = sdscat(one, " ");
    one = sdscatlen(one, core, sdslen(core));
    if (optional) out = sdscat(out, "[");
    out = sdscatlen(out, one, sdslen(one));
    if (cliDocsHasFlag(arg, "multiple"))
        out = sdscatprintf(out, " [%s ...]", cliDocsHasFlag(arg, "multiple_token") ? one : core);
    if (optional) out = sdscat(out, "]");
    sdsfree(core);
    sdsfree(one);
    return out;
}

static sds cliDocsAppendList(sds out, const struct respReply *args, const char *between) {
    for (size_t i = 0; i < args->elements; i++) {
        if (i) out = sdscat(out, between);
        out = cliDocsAppendArg(out, &args->element[i]);
    }
    return out;
}

sds cliDocsSynopsis(sds out, const struct respReply *args) {
    return cliDocsAppendList(out, args, " ");
}

/* ---- Lines that are being typed ---- */

size_t cliLastWordAt(const char *line) {
    size_t start = 0, i = 0;
    char quote = '\0';
    for (; line[i]; i++) {
        if (quote == '"' && line[i] == '\\' && line[i + 1])
            i++;
        else if (quote)
            quote = line[i] == quote ? '\0' : quote;
        else if (line[i] == '"' || line[i] == '\'')
            quote = line[i];
        else if (isspace((unsigned char)line[i]))
            start = i + 1;
    }
    return start;
}

sds *cliSplitTyped(const char *line, size_t len, int *count) {
    sds *words = sdssplitargs(line, len, count);
    for (const char *end = "\"'"; !words && *end; end++) {
        sds closed = sdscatlen(sdsnewlen(line, len), end, 1);
        words = sdssplitargs(closed, sdslen(closed), count);
        sdsfree(closed);
    }
    return words;
}

int cliRepeatCount(const sds *words, int count) {
    return count > 0 && sdslen(words[0]) && strspn(words[0], "0123456789") == sdslen(words[0]);
}

/* ---- Completions ---- */

struct lines {
    sds *list;
    int count;
};

static bool cliDocsStartsWith(const char *text, const char *prefix) {
    return strncasecmp(text, prefix, strlen(prefix)) == 0;
}

/* Adds a completion: `head` (len bytes of the typed line) stays, and `word` replaces `prefix`. */
static void cliDocsAddLine(struct lines *l, const char *head, size_t len, const char *word,
                           const char *prefix) {
    if (!cliDocsStartsWith(word, prefix)) return;
    l->list = zrealloc(l->list, (size_t)(l->count + 1) * sizeof(l->list[0]));
    l->list[l->count++] = sdscat(sdsnewlen(head, len), word);
}

static void cliDocsAddNames(struct lines *l, const struct respReply *docs, const char *head, size_t len,
                            const char *prefix) {
    for (size_t i = 0; i + 1 < docs->elements; i += 2) {
        sds name = cliDocsTitle(docs->element[i].str);
        cliDocsAddLine(l, head, len, name, prefix);
        sdsfree(name);
    }
}

static void cliDocsAddGroups(struct lines *l, const struct respReply *docs, const char *head, size_t len,
                             const char *prefix) {
    for (size_t i = 0; i + 1 < docs->elements; i += 2) {
        sds group = sdscatstr(sdsnew("@"), respFieldText(&docs->element[i + 1], "group"));
        sds line = sdscat(sdsnewlen(head, len), group);
        bool known = false;
        for (int j = 0; j < l->count; j++) known |= strcmp(l->list[j], line) == 0;
        if (!known) cliDocsAddLine(l, head, len, group, prefix);
        sdsfree(line);
        sdsfree(group);
    }
}

static bool cliDocsIsGiven(const sds *words, int count, const char *token) {
    for (int i = 1; i < count; i++) {
        if (strcasecmp(words[i], token) == 0) return true;
    }
    return false;
}

/* Adds tokens of the arguments, nested ones too, that are not on the line yet. */
static void cliDocsAddTokens(struct lines *l, const struct respReply *args, const char *head, size_t len,
                             const char *prefix, const sds *words, int count) {
    for (size_t i = 0; i < args->elements; i++) {
        const struct respReply *inner = respField(&args->element[i], "arguments");
        sds token = sdsnewstr(respFieldText(&args->element[i], "token"));
        if (sdslen(token) && !cliDocsIsGiven(words, count, token))
            cliDocsAddLine(l, head, len, token, prefix);
        sdsfree(token);
        if (inner) cliDocsAddTokens(l, inner, head, len, prefix, words, count);
    }
}

/* Returns the documentation of the command with which the words begin; *taken of them are its name. */
static const struct respReply *cliDocsFindCommand(const struct respReply *docs, const sds *words, int count,
                                                  int *taken) {
    for (size_t i = 0; count && i + 1 < docs->elements; i += 2) {
        struct str name = docs->element[i].str;
        if (name.len != sdslen(words[0]) || strncasecmp(name.ptr, words[0], name.len) != 0) continue;
        const struct respReply *doc = &docs->element[i + 1], *subs = respField(doc, "subcommands");
        *taken = 1;
        for (size_t j = 0; subs && count > 1 && j + 1 < subs->elements; j += 2) {
            sds full = cliDocsTitle(subs->element[j].str);
            bool same = strcasecmp(strchr(full, ' ') ? strchr(full, ' ') + 1 : full, words[1]) == 0;
            sdsfree(full);
            if (!same) continue;
            *taken = 2;
            return &subs->element[j + 1];
        }
        return doc;
    }
    return NULL;
}

struct str cliDocsGroup(const struct cliDocs *d, const sds *words, int count) {
    int taken = 0;
    const struct respReply *doc = d->bytes ? cliDocsFindCommand(&d->tree, words, count, &taken) : NULL;
    return doc ? respFieldText(doc, "group") : STR("");
}

/* Adds what can follow the words before the one being typed. */
static void cliDocsAddFollowing(struct lines *l, const struct respReply *docs, const char *line, size_t len,
                                const char *prefix, const sds *words, int count) {
    int taken = 0;
    const struct respReply *doc = cliDocsFindCommand(docs, words, count, &taken);
    const struct respReply *subs = doc ? respField(doc, "subcommands") : NULL;
    const struct respReply *args = doc ? respField(doc, "arguments") : NULL;
    for (size_t j = 0; subs && count == 1 && j + 1 < subs->elements; j += 2) {
        sds full = cliDocsTitle(subs->element[j].str), head = sdsnewlen(line, len);
        const char *word = strchr(full, ' ');
        sdstoupper(head); /* completes the command's name, too */
        if (word) cliDocsAddLine(l, head, len, word + 1, prefix);
        sdsfree(full);
        sdsfree(head);
    }
    if (args) cliDocsAddTokens(l, args, line, len, prefix, words, count);
}

static int cliDocsCompareLines(const void *a, const void *b) {
    return strcmp(*(const sds *)a, *(const sds *)b);
}

sds *cliCompletions(const struct cliDocs *d, const char *line, int *count) {
    struct lines l = {0};
    *count = 0;
    if (!d->bytes) return NULL;
    size_t len = cliLastWordAt(line);
    const char *prefix = line + len;
    int words_count;
    sds *words = sdssplitargs(line, len, &words_count);
    if (!words) return NULL;
    int skip = cliRepeatCount(words, words_count);
    bool help = words_count == 1 && (strcasecmp(words[0], "help") == 0 || strcmp(words[0], "?") == 0);
    if (words_count == skip || help) cliDocsAddNames(&l, &d->tree, line, len, prefix);
    if (help) cliDocsAddGroups(&l, &d->tree, line, len, prefix);
    if (words_count > skip && !help)
        cliDocsAddFollowing(&l, &d->tree, line, len, prefix, words + skip, words_count - skip);
    sdsfreesplitres(words, words_count);
    if (l.count) qsort(l.list, (size_t)l.count, sizeof(l.list[0]), cliDocsCompareLines);
    *count = l.count;
    return l.list;
}

/* ---- Hints: matching the words of a line with arguments ---- */

/* A match of words with arguments; `rest` is what is missing to complete the arguments begun. */
struct matched {
    int used; /* words matched; 0: none fits */
    sds rest; /* NULL if nothing is missing */
};

static struct matched cliDocsMatchList(const struct respReply *args, const sds *words, int count);

static bool cliDocsWordIs(const sds word, struct str text) {
    return sdslen(word) == text.len && strncasecmp(word, text.ptr, text.len) == 0;
}

static struct matched cliDocsMatchOneOf(const struct respReply *inner, const sds *words, int count) {
    struct matched m = {0};
    for (size_t i = 0; i < inner->elements && !m.used; i++) {
        /* A value without a token matches any word, so it comes after those with a token. */
        const struct respReply *one = &inner->element[i], *block = respField(one, "arguments");
        struct str token = respFieldText(one, "token");
        if (!token.len && block && block->elements) token = respFieldText(&block->element[0], "token");
        if (!token.len || !count || !cliDocsWordIs(words[0], token)) continue;
        struct respReply only = {.type = RESP_T_ARRAY, .elements = 1, .element = (struct respReply *)one};
        m = cliDocsMatchList(&only, words, count);
    }
    for (size_t i = 0; i < inner->elements && !m.used && count; i++) {
        if (respFieldText(&inner->element[i], "token").len || respField(&inner->element[i], "arguments"))
            continue;
        m.used = 1;
    }
    return m;
}

/* Matches one occurrence of an argument. */
static struct matched cliDocsMatchOnce(const struct respReply *arg, const sds *words, int count,
                                       bool with_token) {
    struct str token = with_token ? respFieldText(arg, "token") : STR(""), type = respFieldText(arg, "type");
    const struct respReply *inner = respField(arg, "arguments");
    int skip = token.len > 0;
    if (count == 0 || (skip && !cliDocsWordIs(words[0], token))) return (struct matched){0};
    if (strIs(type, "pure-token")) return (struct matched){skip, NULL};
    struct matched m = {0};
    if (inner && strIs(type, "oneof"))
        m = cliDocsMatchOneOf(inner, words + skip, count - skip);
    else if (inner)
        m = cliDocsMatchList(inner, words + skip, count - skip);
    else
        m.used = count > skip;
    if (!skip || m.used) return (struct matched){m.used ? m.used + skip : 0, m.rest};
    sdsfree(m.rest);
    return (struct matched){skip, cliDocsBareArg(arg)}; /* the token without its value */
}

static bool cliDocsBeginsLater(const struct respReply *args, size_t from, const sds word) {
    for (size_t i = from; i < args->elements; i++) {
        const struct respReply *inner = respField(&args->element[i], "arguments");
        struct str token = respFieldText(&args->element[i], "token");
        if (token.len ? cliDocsWordIs(word, token) : inner && cliDocsBeginsLater(inner, 0, word)) return true;
    }
    return false;
}

/* Matches all occurrences of args[at]; a repeated one ends where a later argument's token begins. */
static struct matched cliDocsMatchArg(const struct respReply *args, size_t at, const sds *words, int count) {
    const struct respReply *arg = &args->element[at];
    struct matched m = cliDocsMatchOnce(arg, words, count, true);
    if (!m.used || m.rest || !cliDocsHasFlag(arg, "multiple")) return m;
    bool again = cliDocsHasFlag(arg, "multiple_token");
    while (m.used < count && !m.rest && !cliDocsBeginsLater(args, at + 1, words[m.used])) {
        struct matched more = cliDocsMatchOnce(arg, words + m.used, count - m.used, again);
        if (!more.used) break;
        m.used += more.used;
        m.rest = more.rest;
    }
    if (m.rest) return m;
    sds core = cliDocsBareArg(arg), one = again ? sdsnewstr(respFieldText(arg, "token")) : sdsempty();
    m.rest = sdscatprintf(sdsempty(), "[%s%s%s ...]", one, sdslen(one) && sdslen(core) ? " " : "", core);
    sdsfree(core);
    sdsfree(one);
    return m;
}

static sds cliDocsJoinRest(sds rest, const struct respReply *args, size_t from, const bool *done) {
    for (size_t i = from; i < args->elements; i++) {
        if (done[i]) continue;
        rest = rest ? sdscat(rest, " ") : sdsempty();
        rest = cliDocsAppendArg(rest, &args->element[i]);
    }
    return rest;
}

/* Matches the words in order. Options can come in any order before the next required argument; once that
 * is given, the options before it are past. */
static struct matched cliDocsMatchList(const struct respReply *args, const sds *words, int count) {
    bool *done = zcalloc(args->elements + 1, sizeof(*done));
    sds rest = NULL;
    size_t from = 0;
    int used = 0;
    while (used < count) {
        struct matched m = {0};
        size_t at = from;
        for (; at < args->elements; at++) {
            if (done[at]) continue;
            m = cliDocsMatchArg(args, at, words + used, count - used);
            if (m.used || !cliDocsHasFlag(&args->element[at], "optional")) break;
        }
        if (!m.used) break;
        sdsfree(rest);
        rest = m.rest;
        used += m.used;
        done[at] = true;
        bool option = cliDocsHasFlag(&args->element[at], "optional") &&
                      cliDocsBeginsLater(args, at, words[used - m.used]);
        if (!option) from = at + 1;
    }
    rest = cliDocsJoinRest(rest, args, from, done);
    zfree(done);
    return (struct matched){used, rest};
}

sds cliHint(const struct cliDocs *d, const char *line) {
    int count;
    sds *words = d->bytes ? cliSplitTyped(line, strlen(line), &count) : NULL;
    if (!words) return NULL;
    int first = cliRepeatCount(words, count), taken = 0;
    sds hint = NULL;
    const struct respReply *doc = cliDocsFindCommand(&d->tree, words + first, count - first, &taken);
    const struct respReply *args = doc ? respField(doc, "arguments") : NULL;
    if (args) {
        int given = count - first - taken;
        struct matched m = cliDocsMatchList(args, words + first + taken, given);
        if (m.used == given)
            hint = m.rest; /* otherwise there are too many words already */
        else
            sdsfree(m.rest);
    }
    sdsfreesplitres(words, count);
    if (hint && sdslen(hint) == 0) {
        sdsfree(hint);
        return NULL;
    }
    return hint;
}
