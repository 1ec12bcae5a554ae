/* SPDX-License-Identifier: BSD-3-Clause */
/* check_rdb_stats.h - the statistics of valkey-check-rdb --stats: for each database and type, how many keys
 * there are, how long they and their values are, and how many elements of which sizes the values have.
 *
 * An element is a string, an element of a list, a member, a field with its value, or an entry of a stream
 * with its fields. Of a module's values only the keys are counted. Sizes are bytes of text. */
#pragma once

#include <stdbool.h>
#include <stdio.h>

#include "data/object.h"

#define RDB_STATS_DATABASES 100000 /* further ones are counted with the last */

struct rdbStats;
enum rdbStatsFormat { RDB_STATS_TABLE, RDB_STATS_INFO, RDB_STATS_CSV };

struct rdbStats *rdbStatsCreate(void);
void rdbStatsFree(struct rdbStats *s); /* NULL is fine */
/* Counts a key and its value, which is taken over and freed; NULL: a module's value, which was
 * not created. O(elements). */
void rdbStatsCount(struct rdbStats *s, uint64_t db, struct str key, struct value *v, bool expires,
                   bool expired);
void rdbStatsPrint(const struct rdbStats *s, FILE *out, enum rdbStatsFormat format);
