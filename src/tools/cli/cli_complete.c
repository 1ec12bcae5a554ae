/* SPDX-License-Identifier: BSD-3-Clause */
/* cli_complete.c - completion at the prompt. See cli_complete.h.
 *
 *     get user:1<TAB>     COMMAND GETKEYS get <mark>          is the word a key's name?
 *                         SCAN ... MATCH user:1* TYPE string  which keys match?
 *
 * The server decides whether a word is the name of a key, so commands of modules work, too. It is asked
 * through a second connection, so that transactions and subscriptions of the session are not disturbed.
 * That connection is opened for the first name to complete and closed when the server does not answer in
 * time; then there are no completions. Each step of SCAN looks at some keys; the search ends after a
 * time or a number of names, so that on a server with very many keys some names may not be found. */
#include "tools/cli/cli_complete.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/clock.h"
#include "base/zmalloc.h"
#include "tools/cli/cli.h"
#include "tools/cli/cli_docs.h"

#define MARK       STR("\001word\001") /* stands for the word that is typed */
#define PADS_MAX   4                   /* words after it that a command may need to be understood */
#define CALL_MS    250                 /* for one reply, unless -t sets the time */
#define SCAN_US    150000              /* time for all steps of SCAN */
#define SCAN_COUNT STR("1000")         /* keys per step, well below a millisecond for the server */
#define NAMES_MAX  200
#define WORDS_MAX  1000

static struct cli asking; /* the second connection: same server, same user */

struct names {
    sds *list;
    int count;
};

static void cliCompleteAddName(struct names *n, struct str name) {
    n->list = zrealloc(n->list, (size_t)(n->count + 1) * sizeof(n->list[0]));
    n->list[n->count++] = sdsnewstr(name);
}

/* ---- The connection ---- */

static bool cliCompleteSameText(const sds a, const sds b) {
    return a == b || (a && b && strcmp(a, b) == 0);
}

static sds cliCompleteCopyOf(const sds text) {
    return text ? sdsdup(text) : NULL;
}

void cliCompleteEnd(void) {
    cliDisconnect(&asking);
    cliSetText(&asking.host, NULL);
    cliSetText(&asking.socket, NULL);
    cliSetText(&asking.user, NULL);
    cliSetText(&asking.password, NULL);
}

static bool cliCompleteIsSameServer(const struct cli *c) {
    return asking.link.conn && asking.port == c->port && asking.db == c->db &&
           cliCompleteSameText(asking.host, c->host) && cliCompleteSameText(asking.socket, c->socket) &&
           cliCompleteSameText(asking.user, c->user) && cliCompleteSameText(asking.password, c->password);
}

static bool cliCompleteConnect(const struct cli *c) {
    if (c->link.fd == -1) return false;
    if (cliCompleteIsSameServer(c)) return true;
    cliCompleteEnd();
    int wait_ms = c->connect_timeout_ms ? c->connect_timeout_ms : CALL_MS;
    asking = (struct cli){.host = cliCompleteCopyOf(c->host),
                          .socket = cliCompleteCopyOf(c->socket),
                          .port = c->port,
                          .way = c->way,
                          .user = cliCompleteCopyOf(c->user),
                          .password = cliCompleteCopyOf(c->password),
                          .db = c->db,
                          .tls = c->tls,
                          .connect_timeout_ms = wait_ms,
                          .reply_timeout_ms = wait_ms,
                          .quiet = true,
                          .link.fd = -1};
    if (cliConnect(&asking) && asking.db == c->db) return true;
    cliCompleteEnd();
    return false;
}

/* Reads a reply; closes the connection and returns false when none comes in time. */
static bool cliCompleteReadReply(struct respReply *reply) {
    enum cliRead read;
    while ((read = cliRead(&asking, reply)) == CLI_READ_OK && reply->type == RESP_T_PUSH)
        respReplyFree(reply);
    if (read != CLI_READ_OK) cliCompleteEnd();
    return read == CLI_READ_OK;
}

static bool cliCompleteRequest(struct respReply *reply, int argc, const struct str *argv) {
    cliQueueWords(&asking, argc, argv);
    return cliCompleteReadReply(reply);
}

/* ---- Keys ---- */

static bool cliCompleteHasMark(const struct respReply *keys) {
    if (keys->type != RESP_T_ARRAY) return false;
    for (size_t i = 0; i < keys->elements; i++) {
        if (strEq(keys->element[i].str, MARK)) return true;
    }
    return false;
}

/* Returns whether a key's name follows the words. The server rejects commands that lack arguments, so
 * more and more words are appended, and its first answer counts. */
static bool cliCompleteIsKeyNext(const sds *words, int count) {
    if (count + PADS_MAX + 3 > WORDS_MAX) return false;
    struct str argv[WORDS_MAX] = {STR("COMMAND"), STR("GETKEYS")};
    for (int i = 0; i < count; i++) argv[2 + i] = sdsview(words[i]);
    argv[2 + count] = MARK;
    for (int pads = 0; pads <= PADS_MAX; pads++) {
        if (pads) argv[2 + count + pads] = STR("1");
        cliQueueWords(&asking, 3 + count + pads, argv);
    }
    bool answered = false, is_key = false;
    for (int pads = 0; pads <= PADS_MAX; pads++) {
        struct respReply reply;
        if (!cliCompleteReadReply(&reply)) return false;
        if (!answered) is_key = cliCompleteHasMark(&reply);
        answered |= reply.type == RESP_T_ARRAY;
        respReplyFree(&reply);
    }
    return is_key;
}

/* Returns the type of all keys of such a command; empty for any type. */
static struct str cliCompleteKeyType(const struct cliDocs *docs, const sds *words, int count) {
    static const char *const of_group[][2] = {
        {"string", "string"},    {"bitmap", "string"},   {"hyperloglog", "string"},
        {"list", "list"},        {"hash", "hash"},       {"stream", "stream"},
        {"set", "set"},          {"sorted-set", "zset"}, {"geo", "zset"},
        {"pathhash", "pathhash"}};
    static const char *const mixed[] = {
        "set",    "mset",  "zunion",
        "zinter", "zdiff", "bitop"}; /* these overwrite values of any type, or read several types */
    struct str group = cliDocsGroup(docs, words, count);
    for (size_t i = 0; i < sizeof(mixed) / sizeof(mixed[0]); i++) {
        bool whole = i < 2;
        if (whole ? strcasecmp(words[0], mixed[i]) == 0
                  : strncasecmp(words[0], mixed[i], strlen(mixed[i])) == 0)
            return STR("");
    }
    for (size_t i = 0; i < sizeof(of_group) / sizeof(of_group[0]); i++) {
        if (strIs(group, of_group[i][0])) return strOf(of_group[i][1]);
    }
    return STR("");
}

/* Returns a glob-style pattern for the prefix, whose special characters are escaped. */
static sds cliCompleteMakePattern(struct str prefix) {
    sds out = sdsempty();
    for (size_t i = 0; i < prefix.len; i++) {
        if (strchr("*?[]\\", prefix.ptr[i]) && prefix.ptr[i]) out = sdscat(out, "\\");
        out = sdscatlen(out, &prefix.ptr[i], 1);
    }
    return sdscat(out, "*");
}

static void cliCompleteFindKeys(struct names *n, struct str prefix, struct str type) {
    sds pattern = cliCompleteMakePattern(prefix), cursor = sdsnew("0");
    int64_t until_us = monotonicUs() + SCAN_US;
    bool more = true;
    while (more) {
        struct str words[] = {STR("SCAN"),  sdsview(cursor), STR("MATCH"), sdsview(pattern),
                              STR("COUNT"), SCAN_COUNT,      STR("TYPE"),  type};
        struct respReply reply;
        if (!cliCompleteRequest(&reply, type.len ? 8 : 6, words)) break;
        bool fine = reply.type == RESP_T_ARRAY && reply.elements == 2;
        for (size_t i = 0; fine && i < reply.element[1].elements && n->count < NAMES_MAX; i++)
            cliCompleteAddName(n, reply.element[1].element[i].str);
        if (fine) cliSetText(&cursor, sdsnewstr(reply.element[0].str));
        respReplyFree(&reply);
        more = fine && strcmp(cursor, "0") != 0 && n->count < NAMES_MAX && monotonicUs() < until_us;
    }
    sdsfree(pattern);
    sdsfree(cursor);
}

/* ---- Directives and users ---- */

static bool cliCompleteStartsWith(struct str text, struct str prefix) {
    return text.len >= prefix.len && strncasecmp(text.ptr, prefix.ptr, prefix.len) == 0;
}

static void cliCompleteFindDirectives(struct names *n, struct str prefix) {
    sds pattern = cliCompleteMakePattern(prefix);
    struct str words[] = {STR("CONFIG"), STR("GET"), sdsview(pattern)};
    struct respReply reply;
    if (cliCompleteRequest(&reply, 3, words)) {
        for (size_t i = 0; i + 1 < reply.elements; i += 2) cliCompleteAddName(n, reply.element[i].str);
        respReplyFree(&reply);
    }
    sdsfree(pattern);
}

static void cliCompleteFindUsers(struct names *n, struct str prefix) {
    static const struct str words[] = {{"ACL", 3}, {"USERS", 5}};
    struct respReply reply;
    if (!cliCompleteRequest(&reply, 2, words)) return;
    for (size_t i = 0; i < reply.elements; i++) {
        if (cliCompleteStartsWith(reply.element[i].str, prefix)) cliCompleteAddName(n, reply.element[i].str);
    }
    respReplyFree(&reply);
}

/* ---- Choosing the names ---- */

static bool cliCompleteWordIs(const sds word, const char *name) {
    return strcasecmp(word, name) == 0;
}

static bool cliCompleteIsUserNext(const sds *words, int count) {
    if (count < 2 || !cliCompleteWordIs(words[0], "acl")) return false;
    if (cliCompleteWordIs(words[1], "deluser")) return true;
    return count == 2 && (cliCompleteWordIs(words[1], "getuser") || cliCompleteWordIs(words[1], "setuser") ||
                          cliCompleteWordIs(words[1], "dryrun"));
}

/* Returns whether a directive's name follows; CONFIG SET has names and values in turn. */
static bool cliCompleteIsDirectiveNext(const sds *words, int count) {
    if (count < 2 || !cliCompleteWordIs(words[0], "config")) return false;
    return cliCompleteWordIs(words[1], "get") || (cliCompleteWordIs(words[1], "set") && count % 2 == 0);
}

static void cliCompleteFindNames(struct cli *c, struct names *n, const sds *words, int count,
                                 struct str prefix) {
    bool directive = cliCompleteIsDirectiveNext(words, count), user = cliCompleteIsUserNext(words, count);
    if (count == 0 || !cliCompleteConnect(c)) return;
    if (directive)
        cliCompleteFindDirectives(n, prefix);
    else if (user)
        cliCompleteFindUsers(n, prefix);
    else if (cliCompleteIsKeyNext(words, count))
        cliCompleteFindKeys(n, prefix, cliCompleteKeyType(cliLoadDocs(c), words, count));
}

/* ---- Lines ---- */

static int cliCompleteCompareNames(const void *a, const void *b) {
    return sdscmp(*(const sds *)a, *(const sds *)b);
}

/* Sorts the names and removes duplicates, which SCAN may return. */
static void cliCompleteSortNames(struct names *n) {
    int kept = 0;
    qsort(n->list, (size_t)n->count, sizeof(n->list[0]), cliCompleteCompareNames);
    for (int i = 0; i < n->count; i++) {
        if (kept && sdscmp(n->list[kept - 1], n->list[i]) == 0)
            sdsfree(n->list[i]);
        else
            n->list[kept++] = n->list[i];
    }
    n->count = kept;
}

/* Returns the length of the names' common prefix, in whole characters. */
static size_t cliCompleteCommonLength(const struct names *n) {
    const sds first = n->list[0], last = n->list[n->count - 1];
    size_t len = 0, max = sdslen(first) < sdslen(last) ? sdslen(first) : sdslen(last);
    while (len < max && first[len] == last[len]) len++;
    while (len && len < sdslen(first) && ((unsigned char)first[len] & 0xc0) == 0x80) len--;
    return len;
}

/* Returns `head` and the name as it is typed; a partial name gets no closing quote, so that typing goes
 * on. */
static sds cliCompleteMakeLine(struct str head, struct str name, bool whole) {
    sds out = cliCatWord(sdsnewstr(head), name);
    if (!whole && sdslen(out) > head.len && out[head.len] == '"') sdsrange(out, 0, -2);
    return out;
}

static struct cliFound cliCompleteMakeFound(struct names *n, struct str head, struct str prefix) {
    struct cliFound found = {.names = n->list, .count = n->count};
    found.lines = zmalloc((size_t)n->count * sizeof(found.lines[0]));
    for (int i = 0; i < n->count; i++) found.lines[i] = cliCompleteMakeLine(head, sdsview(n->list[i]), true);
    size_t common = cliCompleteCommonLength(n);
    if (n->count > 1 && common > prefix.len)
        found.common = cliCompleteMakeLine(head, strN(n->list[0], common), false);
    return found;
}

static struct cliFound cliCompletePreference(const char *line, size_t len) {
    struct cliFound found = {0};
    const char *prefix = line + len, *name;
    for (int i = 0; (name = cliPreferenceName(i)); i++) {
        if (strncasecmp(name, prefix, strlen(prefix)) != 0) continue;
        found.lines = zrealloc(found.lines, (size_t)(found.count + 1) * sizeof(found.lines[0]));
        found.lines[found.count++] = sdscat(sdsnewlen(line, len), name);
    }
    return found;
}

static struct cliFound cliCompleteName(struct cli *c, const char *line, size_t len) {
    struct cliFound found = {0};
    struct names n = {0};
    int count, typed_count;
    sds *words = sdssplitargs(line, len, &count),
        *typed = cliSplitTyped(line + len, strlen(line + len), &typed_count);
    if (words && typed && typed_count <= 1) {
        int skip = cliRepeatCount(words, count);
        struct str prefix = typed_count ? sdsview(typed[0]) : STR("");
        cliCompleteFindNames(c, &n, words + skip, count - skip, prefix);
        if (n.count) {
            cliCompleteSortNames(&n);
            found = cliCompleteMakeFound(&n, strN(line, len), prefix);
        }
    }
    if (words) sdsfreesplitres(words, count);
    if (typed) sdsfreesplitres(typed, typed_count);
    return found;
}

struct cliFound cliComplete(struct cli *c, const char *line) {
    size_t len = cliLastWordAt(line);
    if (strncasecmp(line, ":set ", 5) == 0) return cliCompletePreference(line, len);
    struct cliFound found = cliCompleteName(c, line, len);
    if (found.count == 0) found.lines = cliCompletions(cliLoadDocs(c), line, &found.count);
    return found;
}

void cliFoundFree(struct cliFound *f) {
    if (f->names) sdsfreesplitres(f->names, f->count);
    if (f->lines) sdsfreesplitres(f->lines, f->count);
    sdsfree(f->common);
    *f = (struct cliFound){0};
}
