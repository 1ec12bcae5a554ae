/* SPDX-License-Identifier: BSD-3-Clause */
/* check_rdb_stats.h - what valkey-check-rdb --stats tells of a file: per database and type how many keys
 * there are, how long they and their values are, and how many elements, of which sizes, the values have.
 *
 * An element is a string, an element of a list, a member, a field with its value, an entry of a stream with
 * its fields. Of a module's values only the keys are known. Sizes are bytes of text. */
#pragma once

#include <stdbool.h>
#include <stdio.h>

#include "data/object.h"

#define RDB_STATS_DATABASES 100000 /* further ones are not told apart: they count as the last */

struct rdbStats;
enum rdbStatsFormat { RDB_STATS_TABLE, RDB_STATS_INFO, RDB_STATS_CSV };

struct rdbStats *rdbStatsCreate(void);
void rdbStatsFree(struct rdbStats *s); /* NULL is fine */
/* Takes the value over: it is freed. NULL: one that was not made, of a module. O(elements). */
void rdbStatsCount(struct rdbStats *s, uint64_t db, struct str key, struct value *v, bool expires,
                   bool expired);
void rdbStatsPrint(const struct rdbStats *s, FILE *out, enum rdbStatsFormat format);
