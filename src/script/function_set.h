/* SPDX-License-Identifier: BSD-3-Clause */
/* function_set.h - a set of libraries with their functions, by name. One set is in use. FUNCTION RESTORE
 * makes another one first, and joins both if everything fits. */
#pragma once

#include "ds/hashtable.h"
#include "script/function_library.h"

struct functionSet {
    struct hashtable libraries; /* of struct functionLibrary */
    struct hashtable functions; /* of struct function, by name, ignoring case */
    size_t function_count; /* counts functions of a library whose names differ in case only, although one of
                              them is found */
    size_t memory;         /* of the libraries */
};
extern struct functionSet functions; /* in use */

/* Whether libraries may replace others of the same name. */
enum functionPolicy { FUNCTIONS_APPEND, FUNCTIONS_REPLACE };

void functionSetInit(struct functionSet *set);
/* Releases the compiled code of all libraries; before a reset of the engines only code that the reset
 * does not release. */
void functionSetRelease(struct functionSet *set, bool before_reset);
void functionSetFree(struct functionSet *set); /* frees the libraries, too, which have been released */
/* Drops all libraries of an engine. */
void functionSetDropEngine(struct functionSet *set, const struct scriptEngine *e);
struct functionLibrary *functionSetLibrary(struct functionSet *set, struct str name);
struct function *functionSetFind(struct functionSet *set, struct str name);
/* Removes a library from the set, releases and frees it. */
void functionSetDrop(struct functionSet *set, struct functionLibrary *lib);
/* Compiles the text and adds the library to the set. On failure it returns NULL, sets *error, and leaves
 * the set unchanged. */
struct functionLibrary *functionSetLoad(struct functionSet *set, struct str text, enum functionPolicy policy,
                                        int limit_ms, sds *error);
/* Moves all libraries of `from` into `to`. On failure it returns false, sets *error, and
 * leaves both unchanged. */
bool functionSetJoin(struct functionSet *to, struct functionSet *from, enum functionPolicy policy,
                     sds *error);
