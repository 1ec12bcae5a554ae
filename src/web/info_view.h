/* SPDX-License-Identifier: BSD-3-Clause */
/* info_view.h - a report of INFO, taken apart into its fields. */
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
    int next; /* behind the last one found: fields are mostly asked for in their order */
};

/* Takes the text over. */
void infoViewOpen(struct infoView *v, sds text);
void infoViewClose(struct infoView *v);
/* ptr NULL: there is no such field. */
struct str infoViewGet(struct infoView *v, const char *name);
/* As a number; 0 when it is none. */
double infoViewNumber(struct infoView *v, const char *name);

/* The value of a part of "keys=4,expires=1"; ptr NULL: there is none. */
struct str infoPart(struct str value, const char *name);
/* "42", "0.5", "12.5%" as a number; false: it is none. */
bool infoNumber(struct str text, double *number);
