/* SPDX-License-Identifier: BSD-3-Clause */
/* functions.h - libraries of functions, for other modules that store or copy them.
 *
 * A library is its text: loading the text again makes the same functions. Errors are complete error replies
 * ("ERR Library 'x' already exists"), which the caller frees. A function that fails changes nothing. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/sds.h"
#include "base/str.h"
#include "data/rdb/rdb.h"

void functionsFlush(bool async); /* drops all libraries */

/* In RDB files (as a section, see data/rdb/rdb.h) and in FUNCTION DUMP, a library is the opcode
 * RDB_OP_FUNCTION and its text as a string. */
void functionsSave(struct rioWriter *w); /* saves all libraries */

size_t functionsCount(void);
size_t functionsLibraryCount(void);
size_t functionsMemory(void); /* of texts, names and tables, without memory of the engines */

void functionsInit(void);
