/* SPDX-License-Identifier: BSD-3-Clause */
/* cli_view.c - shows replies that are tables by nature as tables, and INFO in colours; at a terminal
 * only. Part of cli.h.
 *
 * The command selects a view, which is used only if the reply has the expected shape; other replies are
 * shown as usual. RESP2 has lists of names and values where RESP3 has maps; both are read alike. */
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <time.h>

#include "base/num.h"
#include "tools/cli/cli.h"
#include "tools/cli/cli_table.h"

enum shape {
    MAPS,       /* a list of maps: a row each */
    ROWS,       /* a list of lists: a row each, columns as named */
    FIELDS,     /* a map: a row for each name */
    PAIR_LINES, /* lines of name=value: a row each */
    WORD_LINES, /* lines of words: a row each, columns as named; the last one has the rest */
    SLOTS,      /* CLUSTER SLOTS: a row for each node of each range */
    SHARDS,     /* CLUSTER SHARDS: a row for each node of each shard */
    SECTIONS    /* INFO: colours instead of a table */
};

struct view {
    const char *command, *subcommand;
    enum shape shape;
    const char *columns; /* the first columns, or all; names end with _at for points in time */
};

static const struct view views[] = {
    {"client", "list", PAIR_LINES,
     "id addr name user db age idle cmd flags lib-name lib-ver resp tot-mem sub psub ssub multi watch"},
    {"slowlog", "get", ROWS, "id time_at usec command client name"},
    {"commandlog", "get", ROWS, "id time_at amount command client name"},
    {"latency", "latest", ROWS, "event time_at latest max sum count"},
    {"latency", "history", ROWS, "time_at ms"},
    {"xpending", NULL, ROWS, "id consumer idle deliveries"},
    {"module", "list", MAPS, "name ver path args"},
    {"acl", "log", MAPS, "entry-id count reason context object username age-seconds client-info"},
    {"xinfo", "groups", MAPS, ""},
    {"xinfo", "consumers", MAPS, ""},
    {"xinfo", "stream", FIELDS, ""},
    {"config", "get", FIELDS, ""},
    {"memory", "stats", FIELDS, ""},
    {"client", "trackinginfo", FIELDS, ""},
    {"pubsub", "numsub", FIELDS, ""},
    {"pubsub", "shardnumsub", FIELDS, ""},
    {"hello", NULL, FIELDS, ""},
    {"cluster", "slots", SLOTS, ""},
    {"cluster", "shards", SHARDS, ""},
    {"cluster", "nodes", WORD_LINES, "id address flags primary ping pong epoch link slots"},
    {"cluster", "info", SECTIONS, ""},
    {"info", NULL, SECTIONS, ""},
};

static const struct view *cliViewFind(int argc, const sds *argv) {
    for (size_t i = 0; i < sizeof(views) / sizeof(views[0]); i++) {
        const struct view *v = &views[i];
        bool same = strcasecmp(argv[0], v->command) == 0;
        if (same && (!v->subcommand || (argc > 1 && strcasecmp(argv[1], v->subcommand) == 0))) return v;
    }
    return NULL;
}

static bool cliViewIsList(const struct respReply *r) {
    return r->type == RESP_T_ARRAY || r->type == RESP_T_SET;
}

static bool cliViewIsScalar(const struct respReply *r) {
    return !cliViewIsList(r) && r->type != RESP_T_MAP && r->type != RESP_T_PUSH;
}

/* Returns whether the reply is a list of pairs: names are texts, values anything. */
static bool cliViewIsPairs(const struct respReply *r) {
    if ((!cliViewIsList(r) && r->type != RESP_T_MAP) || r->elements % 2 || !r->elements) return false;
    for (size_t i = 0; i < r->elements; i += 2) {
        if (r->element[i].type != RESP_T_STRING && r->element[i].type != RESP_T_STATUS) return false;
    }
    return true;
}

static bool cliViewAllAre(const struct respReply *list, bool (*fits)(const struct respReply *)) {
    for (size_t i = 0; i < list->elements; i++) {
        if (!fits(&list->element[i])) return false;
    }
    return list->elements > 0;
}

/* ---- Cells ---- */

/* Appends the words of a list as they are typed, with lists within it in brackets. */
static sds cliViewCatCell(sds out, const struct respReply *r, bool within) {
    switch (r->type) {
    case RESP_T_NULL: return sdscat(out, "(nil)");
    case RESP_T_INTEGER: return sdscatprintf(out, "%lld", (long long)r->integer);
    case RESP_T_BOOL: return sdscat(out, r->integer ? "yes" : "no");
    default: break;
    }
    if (cliViewIsScalar(r)) return within ? cliCatWord(out, r->str) : cliCatReadable(out, r->str, false);
    if (within) out = sdscat(out, "[");
    for (size_t i = 0; i < r->elements; i++) {
        if (i) out = sdscat(out, " ");
        out = cliViewCatCell(out, &r->element[i], true);
    }
    return within ? sdscat(out, "]") : out;
}

static sds cliViewCellOf(const struct respReply *r) {
    return cliViewCatCell(sdsempty(), r, false);
}

static sds cliViewTimeCell(const struct respReply *r) {
    char text[64];
    time_t seconds = (time_t)r->integer;
    struct tm local;
    if (r->type != RESP_T_INTEGER || !localtime_r(&seconds, &local)) return cliViewCellOf(r);
    strftime(text, sizeof(text), "%Y-%m-%d %H:%M:%S", &local);
    return sdsnew(text);
}

static void cliViewPutWord(struct cliTable *t, struct str column, struct str value) {
    cliTablePut(t, column, cliCatReadable(sdsempty(), value, false));
}

/* ---- Shapes; each returns false when the reply has another one ---- */

static bool cliViewMaps(struct cliTable *t, const struct respReply *r) {
    if (!cliViewIsList(r) || !cliViewAllAre(r, cliViewIsPairs)) return false;
    for (size_t i = 0; i < r->elements; i++) {
        const struct respReply *map = &r->element[i];
        cliTableAddRow(t);
        for (size_t j = 0; j + 1 < map->elements; j += 2)
            cliTablePut(t, map->element[j].str, cliViewCellOf(&map->element[j + 1]));
    }
    return true;
}

/* Returns the next of the names separated by blanks. */
static struct str cliViewNextName(const char **names) {
    *names += strspn(*names, " ");
    struct str name = strN(*names, strcspn(*names, " "));
    *names += name.len;
    return name;
}

static bool cliViewIsTime(struct str *name) {
    if (name->len < 3 || memcmp(name->ptr + name->len - 3, "_at", 3) != 0) return false;
    name->len -= 3;
    return true;
}

static bool cliViewRows(struct cliTable *t, const struct respReply *r, const char *columns) {
    if (!cliViewIsList(r) || !cliViewAllAre(r, cliViewIsList)) return false;
    for (size_t i = 0; i < r->elements; i++) {
        const struct respReply *row = &r->element[i];
        const char *names = columns;
        cliTableAddRow(t);
        for (size_t j = 0; j < row->elements; j++) {
            struct str name = cliViewNextName(&names);
            if (!name.len) break; /* a column of a later server version */
            bool time = cliViewIsTime(&name);
            cliTablePut(t, name, time ? cliViewTimeCell(&row->element[j]) : cliViewCellOf(&row->element[j]));
        }
    }
    return true;
}

static bool cliViewFields(struct cliTable *t, const struct respReply *r) {
    if (!cliViewIsPairs(r) || r->elements < 4) return false; /* a single value needs no table */
    for (size_t i = 0; i + 1 < r->elements; i += 2) {
        cliTableAddRow(t);
        cliViewPutWord(t, STR("name"), r->element[i].str);
        cliTablePut(t, STR("value"), cliViewCellOf(&r->element[i + 1]));
    }
    t->open_end = true;
    return true;
}

/* Returns the next line, without its end; false at the end. */
static bool cliViewNextLine(struct str *text, struct str *line) {
    if (!text->len) return false;
    const char *newline = memchr(text->ptr, '\n', text->len);
    size_t len = newline ? (size_t)(newline - text->ptr) : text->len, taken = newline ? len + 1 : len;
    *line = strN(text->ptr, len && text->ptr[len - 1] == '\r' ? len - 1 : len);
    *text = strN(text->ptr + taken, text->len - taken);
    return true;
}

static struct str cliViewNextWord(struct str *line) {
    const char *blank = memchr(line->ptr, ' ', line->len);
    struct str word = strN(line->ptr, blank ? (size_t)(blank - line->ptr) : line->len);
    size_t taken = blank ? word.len + 1 : word.len;
    *line = strN(line->ptr + taken, line->len - taken);
    return word;
}

static bool cliViewPairLines(struct cliTable *t, struct str text) {
    for (struct str line; cliViewNextLine(&text, &line);) {
        if (!line.len) continue;
        cliTableAddRow(t);
        while (line.len) {
            struct str word = cliViewNextWord(&line);
            const char *equals = memchr(word.ptr, '=', word.len);
            if (!equals) return false;
            size_t len = (size_t)(equals - word.ptr);
            cliViewPutWord(t, strN(word.ptr, len), strN(equals + 1, word.len - len - 1));
        }
    }
    return t->rows_count > 0;
}

static bool cliViewWordLines(struct cliTable *t, struct str text, const char *columns) {
    cliTableOrder(t, "id address flags link slots primary epoch"); /* the other columns follow */
    for (struct str line; cliViewNextLine(&text, &line);) {
        const char *names = columns;
        cliTableAddRow(t);
        for (struct str name; line.len && (name = cliViewNextName(&names)).len;)
            cliViewPutWord(t, name, *names ? cliViewNextWord(&line) : strN(line.ptr, line.len));
    }
    return t->rows_count > 0;
}

/* Returns whether the reply is [from, to, [address, port, id ...], the replicas ...]. */
static bool cliViewIsSlotRange(const struct respReply *r) {
    if (!cliViewIsList(r) || r->elements < 3) return false;
    for (size_t i = 2; i < r->elements; i++) {
        if (!cliViewIsList(&r->element[i]) || r->element[i].elements < 3) return false;
    }
    return r->element[0].type == RESP_T_INTEGER && r->element[1].type == RESP_T_INTEGER;
}

static bool cliViewSlots(struct cliTable *t, const struct respReply *r) {
    if (!cliViewIsList(r) || !cliViewAllAre(r, cliViewIsSlotRange)) return false;
    for (size_t i = 0; i < r->elements; i++) {
        const struct respReply *range = &r->element[i];
        for (size_t j = 2; j < range->elements; j++) {
            const struct respReply *node = &range->element[j];
            cliTableAddRow(t);
            cliTablePut(t, STR("from"), cliViewCellOf(&range->element[0]));
            cliTablePut(t, STR("to"), cliViewCellOf(&range->element[1]));
            cliTablePut(t, STR("role"), sdsnew(j == 2 ? "primary" : "replica"));
            cliTablePut(t, STR("address"), cliViewCellOf(&node->element[0]));
            cliTablePut(t, STR("port"), cliViewCellOf(&node->element[1]));
            cliTablePut(t, STR("id"), cliViewCellOf(&node->element[2]));
        }
    }
    return true;
}

/* Returns "0-99 200-299". */
static sds cliViewSlotsCell(const struct respReply *slots) {
    sds out = sdsempty();
    for (size_t i = 0; i + 1 < slots->elements; i += 2) {
        out = sdscatprintf(out, "%s%lld-%lld", i ? " " : "", (long long)slots->element[i].integer,
                           (long long)slots->element[i + 1].integer);
    }
    return out;
}

static bool cliViewIsShard(const struct respReply *r) {
    const struct respReply *slots = cliViewIsPairs(r) ? respField(r, "slots") : NULL,
                           *nodes = slots ? respField(r, "nodes") : NULL;
    return nodes && cliViewIsList(slots) && cliViewIsList(nodes) && cliViewAllAre(nodes, cliViewIsPairs);
}

static bool cliViewShards(struct cliTable *t, const struct respReply *r) {
    if (!cliViewIsList(r) || !cliViewAllAre(r, cliViewIsShard)) return false;
    cliTableOrder(t, "slots role endpoint port tls-port health replication-offset id");
    for (size_t i = 0; i < r->elements; i++) {
        const struct respReply *nodes = respField(&r->element[i], "nodes");
        for (size_t j = 0; j < nodes->elements; j++) {
            const struct respReply *node = &nodes->element[j];
            cliTableAddRow(t);
            cliTablePut(t, STR("slots"), cliViewSlotsCell(respField(&r->element[i], "slots")));
            for (size_t k = 0; k + 1 < node->elements; k += 2)
                cliTablePut(t, node->element[k].str, cliViewCellOf(&node->element[k + 1]));
        }
    }
    return true;
}

/* Returns INFO with its "# Memory" and "used_memory:1000" in colours. */
static sds cliViewSections(struct str text) {
    const struct cliPalette *p = cliPalette(true);
    sds out = sdsempty();
    for (struct str line; cliViewNextLine(&text, &line);) {
        const char *colon = memchr(line.ptr, ':', line.len);
        if (line.len && line.ptr[0] == '#') {
            out = sdscatprintf(out, "%s%.*s%s", p->head, (int)line.len, line.ptr, p->end);
        } else if (colon) {
            struct str name = strN(line.ptr, (size_t)(colon + 1 - line.ptr));
            struct str value = strN(colon + 1, line.len - name.len);
            double number;
            out =
                sdscatprintf(sdscatstr(out, name), "%s%.*s%s", string2d(value, &number) ? p->number : p->text,
                             (int)value.len, value.ptr, p->end);
        } else {
            out = sdscatstr(out, line);
        }
        out = sdscat(out, "\n");
    }
    return out;
}

/* ---- Choosing the view ---- */

static bool cliViewFill(struct cliTable *t, const struct view *v, const struct respReply *r) {
    bool text = r->type == RESP_T_STRING || r->type == RESP_T_VERBATIM;
    if (v->shape == PAIR_LINES || v->shape == MAPS) cliTableOrder(t, v->columns);
    switch (v->shape) {
    case MAPS: return cliViewMaps(t, r);
    case ROWS: return cliViewRows(t, r, v->columns);
    case FIELDS: return cliViewFields(t, r);
    case PAIR_LINES: return text && cliViewPairLines(t, r->str);
    case WORD_LINES: return text && cliViewWordLines(t, r->str, v->columns);
    case SLOTS: return cliViewSlots(t, r);
    case SHARDS: return cliViewShards(t, r);
    default: return false;
    }
}

/* Appends the hint under the first table of a session: what is copied from a table is not what scripts get.
 */
static sds cliViewCatHint(struct cli *c, sds out) {
    if (!c->table_hint) return out;
    const struct cliPalette *p = cliPalette(c->colour);
    c->table_hint = false;
    return sdscatprintf(out, "%s(for scripts: --no-table, :set notable)%s\n", p->faint, p->end);
}

sds cliViewReply(struct cli *c, int argc, const sds *argv, const struct respReply *reply) {
    const struct view *v = c->terminal && reply->type != RESP_T_ERROR ? cliViewFind(argc, argv) : NULL;
    if (!v) return NULL;
    bool text = reply->type == RESP_T_STRING || reply->type == RESP_T_VERBATIM;
    if (v->shape == SECTIONS) return c->colour && text ? cliViewSections(reply->str) : NULL;
    struct cliTable table = {0};
    bool made = c->tables && cliViewFill(&table, v, reply);
    sds out = made ? cliTableText(&table, cliTerminalWidth(), c->colour) : NULL;
    cliTableFree(&table);
    return out ? cliViewCatHint(c, out) : NULL;
}
