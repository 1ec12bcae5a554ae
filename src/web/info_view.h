/* SPDX-License-Identifier: BSD-3-Clause */
/* info_view.h - the text of INFO, split into its fields. */
#pragma once

#include <stdbool.h>

#include "base/sds.h"
#include "base/str.h"

struct infoEntry {
    struct str section, name, value; /* views of the text */
};

struct infoView {
    sds text;
    struct infoEntry *lines;
    int count;
    int next; /* behind the last match: fields are mostly requested in their order */
};

/* Takes text over. */
void infoViewOpen(struct infoView *v, sds text);
void infoViewClose(struct infoView *v);
/* Returns ptr NULL if there is no such field. */
struct str infoViewGet(struct infoView *v, const char *name);
/* Returns the field as a number, or 0. */
double infoViewNumber(struct infoView *v, const char *name);

/* Returns the value of a part of "keys=4,expires=1"; ptr NULL: there is none. */
struct str infoViewPart(struct str value, const char *name);
/* Parses "42", "0.5" or "12.5%". Returns false for other texts. */
bool infoViewParseNumber(struct str text, double *number);
