/* SPDX-License-Identifier: BSD-3-Clause */
/* cli_table.h - a table as text that fits a terminal.
 *
 * It is filled row by row; a column is there as soon as a cell is put into it. Where not all of it fits,
 * columns that are empty go first, then the last ones, and the widest of the others are cut; the last line
 * says so. */
#pragma once

#include <stdbool.h>

#include "base/sds.h"
#include "tools/cli_style.h"

struct cliTableColumn {
    sds name;
    bool used, number; /* something was put into it; nothing but numbers */
    size_t wanted;     /* columns of the terminal, */
    size_t longest;    /* and of the longest word in its cells */
};

struct cliTableRow {
    sds *cells; /* NULL: none */
    int count;
};

struct cliTable { /* zero-initialized: empty */
    struct cliTableColumn *columns;
    struct cliTableRow *rows;
    int columns_count, rows_count;
    bool open_end; /* the last column is not cut: the terminal wraps it */
};

/* Names between blanks, in the order of their columns: those that matter most first. */
void cliTableOrder(struct cliTable *t, const char *names);
void cliTableAddRow(struct cliTable *t);
/* Into the last row; takes over the cell. */
void cliTablePut(struct cliTable *t, struct str column, sds cell);
sds cliTableText(const struct cliTable *t, size_t width, bool colour);
void cliTableFree(struct cliTable *t);
