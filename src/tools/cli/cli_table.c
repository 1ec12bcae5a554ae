/* SPDX-License-Identifier: BSD-3-Clause */
/* cli_table.c - see cli_table.h. */
#include "tools/cli/cli_table.h"

#include <string.h>

#include "base/assert.h"
#include "base/num.h"
#include "base/zmalloc.h"

#define GAP       2  /* blanks between columns */
#define MIN_WIDTH 16 /* a column is not cut below this */
#define MAX_WORD  40 /* nor below its longest word, unless that is longer than this (ids of nodes) */

static int cliTableColumnOf(struct cliTable *t, struct str name) {
    for (int i = 0; i < t->columns_count; i++) {
        if (strEq(sdsview(t->columns[i].name), name)) return i;
    }
    t->columns = zrealloc(t->columns, (size_t)(t->columns_count + 1) * sizeof(t->columns[0]));
    t->columns[t->columns_count] =
        (struct cliTableColumn){.name = sdsnewstr(name), .number = true, .wanted = cliColumns(name)};
    return t->columns_count++;
}

void cliTableOrder(struct cliTable *t, const char *names) {
    while (*names) {
        size_t len = strcspn(names, " ");
        cliTableColumnOf(t, strN(names, len));
        names += len + strspn(names + len, " ");
    }
}

void cliTableAddRow(struct cliTable *t) {
    t->rows = zrealloc(t->rows, (size_t)(t->rows_count + 1) * sizeof(t->rows[0]));
    t->rows[t->rows_count++] = (struct cliTableRow){0};
}

static size_t cliTableLongestWord(struct str cell) {
    size_t longest = 0, at = 0;
    for (size_t i = 0; i <= cell.len; i++) {
        if (i < cell.len && cell.ptr[i] != ' ') continue;
        size_t columns = cliColumns(strN(cell.ptr + at, i - at));
        if (columns > longest) longest = columns;
        at = i + 1;
    }
    return longest;
}

void cliTablePut(struct cliTable *t, struct str name, sds cell) {
    serverAssert(t->rows_count > 0);
    int at = cliTableColumnOf(t, name);
    struct cliTableColumn *column = &t->columns[at];
    struct cliTableRow *row = &t->rows[t->rows_count - 1];
    if (at >= row->count) {
        row->cells = zrealloc(row->cells, (size_t)(at + 1) * sizeof(row->cells[0]));
        while (row->count <= at) row->cells[row->count++] = NULL;
    }
    double number;
    size_t columns = cliColumns(sdsview(cell)), word = cliTableLongestWord(sdsview(cell));
    if (columns > column->wanted) column->wanted = columns;
    if (word > column->longest) column->longest = word;
    if (sdslen(cell)) {
        column->used = true;
        column->number &= string2d(sdsview(cell), &number);
    }
    sdsfree(row->cells[at]);
    row->cells[at] = cell;
}

void cliTableFree(struct cliTable *t) {
    for (int i = 0; i < t->rows_count; i++) {
        for (int j = 0; j < t->rows[i].count; j++) sdsfree(t->rows[i].cells[j]);
        zfree(t->rows[i].cells);
    }
    for (int i = 0; i < t->columns_count; i++) sdsfree(t->columns[i].name);
    zfree(t->rows);
    zfree(t->columns);
    *t = (struct cliTable){0};
}

/* ---- Layout: the width of each column, 0 for hidden ones ---- */

static size_t cliTableTotalWidth(const size_t *widths, int count) {
    size_t total = 0;
    for (int i = 0; i < count; i++) {
        if (widths[i]) total += widths[i] + (total ? GAP : 0);
    }
    return total;
}

static bool cliTableIsOpen(const struct cliTable *t, int i) {
    return t->open_end && i == t->columns_count - 1;
}

static size_t cliTableLeastWidth(const struct cliTable *t, int i) {
    size_t wanted = t->columns[i].wanted, word = t->columns[i].longest;
    size_t least = word > MAX_WORD || cliTableIsOpen(t, i) ? MIN_WIDTH : word;
    if (least < MIN_WIDTH) least = MIN_WIDTH;
    return wanted < least ? wanted : least;
}

/* Returns the width of column i; an open last column needs only to begin in the line. */
static size_t cliTableFullWidth(const struct cliTable *t, int i) {
    return cliTableIsOpen(t, i) ? cliTableLeastWidth(t, i) : t->columns[i].wanted;
}

/* Returns the widest column that can be cut; the first column if none can. */
static size_t *cliTableWidest(const struct cliTable *t, size_t *widths) {
    size_t *most = NULL;
    for (int i = 0; i < t->columns_count; i++) {
        if (widths[i] > cliTableLeastWidth(t, i) && (!most || widths[i] > *most)) most = &widths[i];
    }
    return most ? most : widths;
}

static void cliTableLayOut(const struct cliTable *t, size_t *widths, size_t width) {
    int count = t->columns_count;
    for (int i = 0; i < count; i++) widths[i] = cliTableFullWidth(t, i);
    if (cliTableTotalWidth(widths, count) <= width) return;
    for (int i = 0; i < count; i++) widths[i] = t->columns[i].used ? cliTableLeastWidth(t, i) : 0;
    for (int i = count - 1; i > 0 && cliTableTotalWidth(widths, count) > width; i--) widths[i] = 0;
    for (int i = 0; i < count; i++) {
        if (widths[i]) widths[i] = cliTableFullWidth(t, i);
    }
    while (cliTableTotalWidth(widths, count) > width && *cliTableWidest(t, widths) > 1)
        --*cliTableWidest(t, widths);
}

/* ---- Text ---- */

static sds cliTableCatBlanks(sds out, size_t count) {
    return sdscatprintf(out, "%*s", (int)count, "");
}

/* Appends the cell, cut to the width if necessary; blanks up to the next column follow, unless it is the
 * last. */
static sds cliTableCatCell(sds out, struct str cell, size_t width, const char *colour, bool right,
                           bool last) {
    size_t columns = cliColumns(cell), fill = columns < width ? width - columns : 0;
    bool cut = columns > width;
    if (right) out = cliTableCatBlanks(out, fill);
    out = sdscat(out, colour);
    out = sdscatlen(out, cell.ptr, cut ? cliFit(cell, width - 1) : cell.len);
    if (cut) out = sdscat(out, cliColumns(STR("\u2026")) == 1 ? "\u2026" : "~");
    if (*colour) out = sdscat(out, "\033[0m");
    if (last) return out;
    return cliTableCatBlanks(out, (right ? 0 : fill) + GAP);
}

static sds cliTableCatHead(sds out, const struct cliTable *t, const size_t *widths, int last, bool colour) {
    for (int i = 0; i <= last; i++) {
        if (widths[i])
            out = cliTableCatCell(out, sdsview(t->columns[i].name), widths[i], cliPalette(colour)->head,
                                  t->columns[i].number && t->columns[i].used && !cliTableIsOpen(t, i),
                                  i == last);
    }
    out = sdscat(out, "\n");
    if (colour) return out;
    for (int i = 0; i <= last; i++) { /* without colours a rule marks the header */
        for (size_t n = 0; n < widths[i]; n++) out = sdscat(out, "-");
        if (widths[i] && i < last) out = cliTableCatBlanks(out, GAP);
    }
    return sdscat(out, "\n");
}

static sds cliTableCatRow(sds out, const struct cliTable *t, int at, const size_t *widths, int last,
                          bool colour) {
    const struct cliPalette *p = cliPalette(colour);
    const struct cliTableRow *row = &t->rows[at];
    for (int i = 0; i <= last; i++) {
        if (!widths[i]) continue;
        struct str cell = i < row->count && row->cells[i] ? sdsview(row->cells[i]) : STR("");
        const char *shade = strIs(cell, "(nil)") ? p->null : t->columns[i].number ? p->number : "";
        bool open = cliTableIsOpen(t, i);
        size_t width = open && cliColumns(cell) > widths[i] ? cliColumns(cell) : widths[i];
        out = cliTableCatCell(out, cell, width, cell.len ? shade : "", t->columns[i].number && !open,
                              i == last);
    }
    size_t len = sdslen(out);
    while (len && out[len - 1] == ' ') len--;
    sdssetlen(out, len);
    return sdscat(out, "\n");
}

/* Appends a word to a list that is broken into lines of `width` columns; *used is the width of the last one.
 */
static sds cliTableCatWord(sds list, const char *word, size_t width, size_t *used) {
    size_t columns = cliColumns(strOf(word));
    bool breaks = *used && *used + 1 + columns > width;
    if (*used) list = sdscat(list, breaks ? "\n " : " ");
    *used = (breaks ? 1 : *used ? *used + 1 : 0) + columns;
    return sdscat(list, word);
}

/* Appends the names of the columns that are hidden, those with values or the empty ones; nothing if there
 * are none. */
static sds cliTableCatHidden(sds out, const struct cliTable *t, const size_t *widths, size_t width, bool used,
                             bool colour) {
    const struct cliPalette *p = cliPalette(colour);
    size_t at = 0;
    int hidden = 0;
    for (int i = 0; i < t->columns_count; i++) hidden += !widths[i] && t->columns[i].used == used;
    if (!hidden) return out;
    sds title = sdscatprintf(sdsempty(), used ? "(%d more:" : "(%d empty:", hidden), list = sdsempty();
    list = cliTableCatWord(list, title, width, &at);
    for (int i = 0; i < t->columns_count; i++) {
        if (!widths[i] && t->columns[i].used == used)
            list = cliTableCatWord(list, t->columns[i].name, width - 1, &at); /* -1: the bracket fits, too */
    }
    out = sdscatprintf(out, "%s%s)%s\n", p->faint, list, p->end);
    sdsfree(title);
    sdsfree(list);
    return out;
}

sds cliTableText(const struct cliTable *t, size_t width, bool colour) {
    size_t *widths = zmalloc((size_t)(t->columns_count + 1) * sizeof(widths[0]));
    cliTableLayOut(t, widths, width);
    int last = t->columns_count - 1;
    while (last > 0 && !widths[last]) last--;
    sds out = cliTableCatHead(sdsempty(), t, widths, last, colour);
    for (int i = 0; i < t->rows_count; i++) {
        sds row = cliTableCatRow(sdsempty(), t, i, widths, last, colour);
        out = sdscatlen(out, row, sdslen(row));
        sdsfree(row);
    }
    out = cliTableCatHidden(out, t, widths, width, true, colour);
    out = cliTableCatHidden(out, t, widths, width, false, colour);
    zfree(widths);
    return out;
}
