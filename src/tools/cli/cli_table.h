/* SPDX-License-Identifier: BSD-3-Clause */
/* cli_table.h - a table as text that fits a terminal. It is filled row by row; putting a cell into a new
 * column creates the column. If the table is too wide, empty columns are left out first, then the last
 * ones, and the widest of the others are cut. The last lines name the columns that are left out. */
#pragma once

#include <stdbool.h>

#include "base/sds.h"
#include "tools/cli/cli_style.h"

struct cliTableColumn {
    sds name;
    bool used, number; /* it has cells; all of them are numbers */
    size_t wanted;     /* width in columns of the terminal */
    size_t longest;    /* width of the longest word in its cells */
};

struct cliTableRow {
    sds *cells; /* NULL: none */
    int count;
};

struct cliTable { /* empty when zero-initialized */
    struct cliTableColumn *columns;
    struct cliTableRow *rows;
    int columns_count, rows_count;
    bool open_end; /* the last column is not cut: the terminal wraps it */
};

/* Sets the order of the columns: names separated by blanks, the most important first. */
void cliTableOrder(struct cliTable *t, const char *names);
void cliTableAddRow(struct cliTable *t);
/* Puts a cell into the last row, which takes it over. */
void cliTablePut(struct cliTable *t, struct str column, sds cell);
sds cliTableText(const struct cliTable *t, size_t width, bool colour);
void cliTableFree(struct cliTable *t);
