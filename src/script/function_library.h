/* SPDX-License-Identifier: BSD-3-Clause */
/* function_library.h - one library: its text, and the functions that its engine compiles from it. */
#pragma once

#include "script/script_private.h"

struct functionLibrary;

struct function {
    struct functionLibrary *library;
    struct function *next; /* next function of the library */
    sds name, description; /* description: NULL when there is none */
    unsigned flags;        /* SCRIPT_* */
    uintptr_t code;        /* code of its engine */
};

struct functionLibrary {
    struct scriptEngine *engine;
    sds name, text;
    size_t body;     /* offset in the text, behind the words of the first line */
    uintptr_t whole; /* code of the engine for the library as a whole; 0: none (struct scriptCompilation) */
    struct function *functions, **last;
    size_t count;
    size_t memory; /* functionLibraryMemory when it was added to a set */
};

#define LIBRARY_LOAD_LIMIT_MS 500 /* time limit of FUNCTION LOAD */

/* Parses the first line. Returns NULL and sets *error if it is not "#!engine name=...". */
struct functionLibrary *functionLibraryCreate(struct str text, sds *error);
/* Has the engine compile the text. `old` is the library of the same name, or NULL. limit_ms 0 means no
 * limit. Returns false and sets *error on failure. */
bool functionLibraryLoad(struct functionLibrary *lib, const struct functionLibrary *old, int limit_ms,
                         sds *error);
/* Releases what the engine has compiled. It has to precede functionLibraryFree, unless a reset of the engine
 * has released it. */
void functionLibraryRelease(struct functionLibrary *lib);
void functionLibraryFree(struct functionLibrary *lib);
size_t functionLibraryMemory(const struct functionLibrary *lib);
