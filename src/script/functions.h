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
#include "data/rdb.h"

/* Without a time limit: for libraries that have been loaded before (files, replication). */
bool functionsLoadLibrary(struct str code, bool replace, sds *error);
void functionsFlush(bool async); /* drops all libraries */
/* Calls fn with the text of each library until it returns false. */
void functionsForEachCode(bool (*fn)(void *priv, struct str code), void *priv);

/* In RDB files (where they are a section of data/rdb.h) and in FUNCTION DUMP a library is RDB_OP_FUNCTION and
 * its text as a string. */
void functionsSave(struct rioWriter *w); /* all of them */
bool functionsLoad(struct rdbReader *r); /* one, after the opcode; false: rioFail has been told */

size_t functionsCount(void);
size_t functionsLibraryCount(void);
size_t functionsMemory(void); /* of texts, names and tables, not what engines keep */

void functionsInit(void);
