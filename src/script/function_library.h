/* SPDX-License-Identifier: BSD-3-Clause */
/* function_library.h - one library: its text, and the functions that its engine makes of that. */
#pragma once

#include "script/script_private.h"

struct functionLibrary;

struct function {
    struct functionLibrary *library;
    struct function *next; /* of the library */
    sds name, description; /* description: NULL when there is none */
    unsigned flags;        /* SCRIPT_* */
    uintptr_t code;        /* its engine's */
};

struct functionLibrary {
    struct scriptEngine *engine;
    sds name, text;
    size_t body;     /* offset in the text of what follows the first line's words */
    uintptr_t whole; /* the engine's for all of it; 0: none (struct scriptCompilation) */
    struct function *functions, **last;
    size_t count;
    size_t memory; /* functionLibraryMemory, when it came into use */
};

#define LIBRARY_LOAD_LIMIT_MS 500 /* for FUNCTION LOAD */

/* Reads the first line. NULL and *error when it is not "#!engine name=...". */
struct functionLibrary *functionLibraryCreate(struct str text, sds *error);
/* Its engine makes functions of the text. `old`: of the same name; NULL: none. limit_ms 0: as long as it
 * takes. False and *error. */
bool functionLibraryLoad(struct functionLibrary *lib, const struct functionLibrary *old, int limit_ms,
                         sds *error);
/* Before it is freed, what its engine has made of it is: unless that is gone already. */
void functionLibraryRelease(struct functionLibrary *lib);
void functionLibraryFree(struct functionLibrary *lib);
size_t functionLibraryMemory(const struct functionLibrary *lib);
