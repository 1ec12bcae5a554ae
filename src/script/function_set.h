/* SPDX-License-Identifier: BSD-3-Clause */
/* function_set.h - libraries and their functions, by name. One set is in use; FUNCTION RESTORE makes another
 * one first, and joins it when everything in it fits. */
#pragma once

#include "ds/hashtable.h"
#include "script/function_library.h"

struct functionSet {
    struct hashtable libraries; /* of struct functionLibrary */
    struct hashtable functions; /* of struct function, by name without regard to case */
    size_t function_count;      /* of a library's functions whose names differ in case only, one is found */
    size_t memory;              /* of the libraries */
};
extern struct functionSet functions; /* in use */

/* May libraries replace others of the same name? */
enum functionPolicy { FUNCTIONS_APPEND, FUNCTIONS_REPLACE };

void functionSetInit(struct functionSet *set);
/* Its libraries (functionLibraryRelease); before a reset of the engines only those that a reset leaves. */
void functionSetRelease(struct functionSet *set, bool before_reset);
void functionSetFree(struct functionSet *set); /* with its libraries, which have been released */
/* Drops what this engine has made. */
void functionSetDropOf(struct functionSet *set, const struct scriptEngine *e);
struct functionLibrary *functionSetLibrary(struct functionSet *set, struct str name);
struct function *functionSetFind(struct functionSet *set, struct str name);
/* Takes the library out of the set, releases and frees it. */
void functionSetDrop(struct functionSet *set, struct functionLibrary *lib);
/* Loads the text into the set. NULL and *error, and the set is unchanged. */
struct functionLibrary *functionSetLoad(struct functionSet *set, struct str text, enum functionPolicy policy,
                                        int limit_ms, sds *error);
/* Moves all libraries of `from` into `to`; from is empty then. False and *error: both are unchanged. */
bool functionSetJoin(struct functionSet *to, struct functionSet *from, enum functionPolicy policy,
                     sds *error);
