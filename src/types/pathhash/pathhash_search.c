/* SPDX-License-Identifier: BSD-3-Clause */
/* pathhash_search.c - PHLONGEST, PHPREFIXES and PHSCAN: paths that the client does not know.
 *
 * The cursor of a scan is the last path that it has returned, in hexadecimal: `1:` and the digits. So a scan
 * has no state in the server, and returns every path that is present from its begin to its end once. */
#include "base/num.h"
#include "base/zmalloc.h"
#include "client/reply.h"
#include "command/command.h"
#include "commands/cmd_pathhash.h"
#include "types/pathhash/pathhash_commands.h"

#define FOUND_INLINE 32
#define SCAN_COUNT   10

/* ---- How a path is replied ---- */

struct pathReply {
    bool length;              /* the length in place of the path */
    bool values;              /* with the whole payload */
    struct pathFields fields; /* with these fields */
};

static void pathReplyItem(struct client *c, const struct pathReply *how, struct str path,
                          const void *payload) {
    struct hash h;
    bool pair = how->values || how->fields.count;
    if (pair) replyArrayLen(c, 2);
    if (how->length)
        replyLongLong(c, (int64_t)path.len);
    else
        replyBulk(c, path);
    if (!pair) return;
    payloadOpen(&h, payload);
    if (how->values) {
        payloadReply(c, &h);
    } else {
        replyArrayLen(c, how->fields.count);
        pathFieldsReply(c, &h, &how->fields);
    }
}

/* ---- PHLONGEST, PHPREFIXES ---- */

struct pathSearch {
    struct pathReply how;
    int64_t count, max_path; /* of PHPREFIXES; 0 and -1: not given */
};

/* Parses the option at argv[i]. Returns the position behind it, or 0 after an error reply. */
static int pathSearchParseOption(struct client *c, int i, bool several, struct pathSearch *q) {
    struct str word = c->argv[i], *value = i + 1 < c->argc ? &c->argv[i + 1] : NULL;
    bool pair = q->how.values || q->how.fields.count;
    if (!q->how.length && strIs(word, several ? "lengths" : "length")) {
        q->how.length = true;
        return i + 1;
    }
    if (!pair && strIs(word, "withvalues")) {
        q->how.values = true;
        return i + 1;
    }
    if (!pair && strIs(word, "fields"))
        return pathFieldsParse(c, i, 1, &q->how.fields) ? pathFieldsEnd(&q->how.fields) : 0;
    if (several && value && !q->count && strIs(word, "count"))
        return argRange(c, *value, 1, INT64_MAX, &q->count, NULL) ? i + 2 : 0;
    if (several && value && q->max_path < 0 && strIs(word, "maxpathlen"))
        return argRange(c, *value, 0, INT64_MAX, &q->max_path, NULL) ? i + 2 : 0;
    replySyntaxError(c);
    return 0;
}

static bool pathSearchParse(struct client *c, bool several, struct pathSearch *q) {
    *q = (struct pathSearch){.max_path = -1};
    for (int i = 3; i < c->argc;) {
        i = pathSearchParseOption(c, i, several, q);
        if (!i) return false;
    }
    return true;
}

void phlongestCommand(struct client *c) {
    const struct pathHash *ph;
    struct pathSearch q;
    size_t length;
    if (!pathSearchParse(c, false, &q) || !pathHashLookup(c, &ph)) return;
    struct str query = c->argv[2];
    void **place = ph ? pathmapLongest(ph->paths, query, &length) : NULL;
    if (place)
        pathReplyItem(c, &q.how, strN(query.ptr, length), *place);
    else
        replyNull(c);
}

/* The stored prefixes of a query, the shortest first. */
struct pathPrefixes {
    struct pathPrefix {
        size_t length;
        const void *payload;
    } room[FOUND_INLINE], *at;
    size_t count, size;
};

static bool pathPrefixesAdd(void *priv, size_t length, void **value) {
    struct pathPrefixes *p = priv;
    if (p->count == p->size) {
        size_t bytes = p->count * sizeof *p->at;
        p->at = p->at == p->room ? memcpy(zmalloc(2 * bytes), p->room, bytes) : zrealloc(p->at, 2 * bytes);
        p->size *= 2;
    }
    p->at[p->count++] = (struct pathPrefix){length, *value};
    return true;
}

void phprefixesCommand(struct client *c) {
    const struct pathHash *ph;
    struct pathSearch q;
    if (!pathSearchParse(c, true, &q) || !pathHashLookup(c, &ph)) return;
    struct str query = c->argv[2];
    struct pathPrefixes found;
    found.at = found.room;
    found.count = 0;
    found.size = FOUND_INLINE;
    if (q.max_path >= 0 && (uint64_t)q.max_path < query.len) query.len = (size_t)q.max_path;
    if (ph) pathmapPrefixes(ph->paths, query, pathPrefixesAdd, &found);
    size_t first = q.count && (uint64_t)q.count < found.count ? found.count - (size_t)q.count : 0;
    replyArrayLen(c, (int64_t)(found.count - first));
    for (size_t i = first; i < found.count; i++)
        pathReplyItem(c, &q.how, strN(query.ptr, found.at[i].length), found.at[i].payload);
    if (found.at != found.room) zfree(found.at);
}

/* ---- PHSCAN ---- */

struct pathScan {
    struct pathReply how;
    struct str prefix;
    int64_t count;
    sds after; /* the path in the cursor; NULL: from the start */
};

/* Decodes `1:` and hexadecimal digits. Returns NULL when the cursor is not of this form. */
static sds pathScanDecode(struct str cursor) {
    if (cursor.len % 2 || !strStarts(cursor, STR("1:"))) return NULL;
    size_t len = cursor.len / 2 - 1;
    sds path = sdsnewlen(NULL, len);
    for (size_t i = 0; i < len; i++) {
        int high = charHexDigit(cursor.ptr[2 + 2 * i]), low = charHexDigit(cursor.ptr[3 + 2 * i]);
        if (high < 0 || low < 0) {
            sdsfree(path);
            return NULL;
        }
        path[i] = (char)(high << 4 | low);
    }
    return path;
}

static void pathScanReplyCursor(struct client *c, struct str last) {
    sds text = sdsnewlen(NULL, 2 + 2 * last.len);
    memcpy(text, "1:", 2);
    for (size_t i = 0; i < last.len; i++) {
        text[2 + 2 * i] = "0123456789abcdef"[(unsigned char)last.ptr[i] >> 4];
        text[3 + 2 * i] = "0123456789abcdef"[last.ptr[i] & 15];
    }
    replyBulk(c, sdsview(text));
    sdsfree(text);
}

static bool pathScanParseOptions(struct client *c, struct pathScan *s) {
    bool has_prefix = false;
    s->count = 0;
    for (int i = 3; i < c->argc; i++) {
        struct str word = c->argv[i];
        bool has_value = i + 1 < c->argc;
        if (has_value && !has_prefix && strIs(word, "prefix")) {
            s->prefix = c->argv[++i];
            has_prefix = true;
        } else if (has_value && !s->count && strIs(word, "count")) {
            if (!argRange(c, c->argv[++i], 1, INT64_MAX, &s->count, NULL)) return false;
        } else if (!s->how.values && strIs(word, "withvalues")) {
            s->how.values = true;
        } else {
            return replySyntaxError(c);
        }
    }
    if (!s->count) s->count = SCAN_COUNT;
    return true;
}

static bool pathScanParse(struct client *c, struct pathScan *s) {
    *s = (struct pathScan){.prefix = STR("")};
    if (!pathScanParseOptions(c, s)) return false;
    if (strEq(c->argv[2], STR("0"))) return true;
    s->after = pathScanDecode(c->argv[2]);
    if (!s->after) return replyError(c, "ERR invalid cursor");
    if (strStarts(sdsview(s->after), s->prefix)) return true;
    sdsfree(s->after);
    return replyError(c, "ERR cursor does not belong to the requested prefix");
}

/* The paths of one reply, whose cursor comes before them: their bytes, one after the other. */
struct pathPage {
    sds bytes;
    struct pathPageItem {
        size_t end;
        const void *payload;
    } * at;
    size_t count, size, last; /* last: the start of the last path */
};

static void pathPageAdd(struct pathPage *p, struct str path, const void *payload) {
    if (p->count == p->size) {
        p->size = p->size ? 2 * p->size : 16;
        p->at = zrealloc(p->at, p->size * sizeof *p->at);
    }
    p->last = sdslen(p->bytes);
    p->bytes = sdscatstr(p->bytes, path);
    p->at[p->count++] = (struct pathPageItem){sdslen(p->bytes), payload};
}

/* Collects up to `count` paths. Returns whether there are more. */
static bool pathPageFill(struct pathPage *p, const struct pathHash *ph, const struct pathScan *s) {
    struct pathmapIterator it;
    struct str after = s->after ? sdsview(s->after) : STR("");
    void **place;
    pathmapIterate(&it, ph->paths, s->prefix, s->after ? &after : NULL);
    while ((place = pathmapNext(&it)) && p->count < (uint64_t)s->count)
        pathPageAdd(p, sdsview(it.path), *place);
    pathmapStop(&it);
    return place;
}

void phscanCommand(struct client *c) {
    const struct pathHash *ph;
    struct pathScan s;
    if (!pathScanParse(c, &s)) return;
    if (pathHashLookup(c, &ph)) {
        struct pathPage page = {.bytes = sdsempty()};
        bool more = ph && pathPageFill(&page, ph, &s);
        replyArrayLen(c, 2);
        if (more)
            pathScanReplyCursor(c, strN(page.bytes + page.last, sdslen(page.bytes) - page.last));
        else
            replyBulk(c, STR("0"));
        replyArrayLen(c, (int64_t)page.count);
        size_t start = 0;
        for (size_t i = 0; i < page.count; start = page.at[i++].end)
            pathReplyItem(c, &s.how, strN(page.bytes + start, page.at[i].end - start), page.at[i].payload);
        sdsfree(page.bytes);
        zfree(page.at);
    }
    sdsfree(s.after);
}
