/* SPDX-License-Identifier: BSD-3-Clause */
/* functions.h - libraries of functions, for the rooms that keep and copy them.
 *
 * A library is its text: loading the text again makes the same functions. Errors are whole error replies
 * ("ERR Library 'x' already exists"), owned by the caller; what fails changes nothing. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/sds.h"
#include "base/str.h"
#include "data/rdb/rdb.h"

void functionsFlush(bool async); /* drops all libraries */

/* In RDB files (where they are a section of data/rdb/rdb.h) and in FUNCTION DUMP a library is RDB_OP_FUNCTION
 * and its text as a string. */
void functionsSave(struct rioWriter *w); /* all of them */

size_t functionsCount(void);
size_t functionsLibraryCount(void);
size_t functionsMemory(void); /* of texts, names and tables, not what engines keep */

void functionsInit(void);
