/* function_library.h - one library: its text, and the functions that it registers when the text runs. */
#pragma once

#include "script/script_private.h"

struct functionLibrary;

struct function {
    struct functionLibrary *library;
    struct function *next; /* of the library */
    sds name, description; /* description: NULL when there is none */
    unsigned flags;        /* SCRIPT_* */
    int callback;          /* reference in the interpreter's registry */
};

struct functionLibrary {
    sds name, text;
    size_t body; /* offset in the text of what follows the first line's words */
    int chunk;   /* reference in the interpreter's registry: that, compiled; LUA_NOREF: not yet */
    struct function *functions, **last;
    size_t count;
};

#define LIBRARY_LOAD_LIMIT_MS 500 /* for FUNCTION LOAD */

/* Reads the first line. NULL and *error when it is not "#!lua name=...". */
struct functionLibrary *functionLibraryCreate(struct str text, sds *error);
/* Runs the text, which registers the functions. `old`: in the same interpreter, whose compiled text serves
 * when it is the same; NULL: none. limit_ms 0: as long as it takes. False and *error. */
bool functionLibraryRun(struct functionLibrary *lib, const struct functionLibrary *old, int limit_ms,
                        sds *error);
/* L: the interpreter whose references to its functions are dropped; NULL when that is gone. */
void functionLibraryFree(struct functionLibrary *lib, lua_State *L);
size_t functionLibraryMemory(const struct functionLibrary *lib);

/* After the interpreter of functions was made. */
void functionLibraryVmReady(lua_State *L);
