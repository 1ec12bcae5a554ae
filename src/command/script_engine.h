/* SPDX-License-Identifier: BSD-3-Clause */
/* script_engine.h - the languages of scripts and functions. EVAL, FUNCTION and their families (script/) know
 * none of them: they ask this table.
 *
 *     script/   texts, names, flags, what is cached, who may run
 *        │ compile, run, release, reset, memory
 *        ▼
 *     struct scriptEngine ◀── LUA (script/lua/lua_engine.c)
 *                         ◀── what modules register (module/module_engine.c)
 *
 * What an engine makes of a text is a number to all others, its `code`. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/sds.h"
#include "base/str.h"

struct client;
struct scriptEngine;

enum scriptKind { SCRIPT_EVAL, SCRIPT_FUNCTION, SCRIPT_KINDS };

/* What a script or a function says of itself. The first ones are in the order of scriptFlagName. */
enum {
    SCRIPT_NO_WRITES = 1 << 0,
    SCRIPT_ALLOW_OOM = 1 << 1,
    SCRIPT_ALLOW_STALE = 1 << 2,
    SCRIPT_NO_CLUSTER = 1 << 3,
    SCRIPT_ALLOW_CROSS_SLOT = 1 << 4,
    SCRIPT_SHEBANG = 1 << 5, /* it says something at all: what it does not claim, it may not do */
};
#define SCRIPT_FLAGS 5 /* that have a name */

/* What is run. */
struct scriptCode {
    struct scriptEngine *engine;
    const char *name; /* SHA-1 of the script, or the function's name */
    enum scriptKind kind;
    unsigned flags;
    uintptr_t code; /* the engine's */
};

struct scriptFunction {
    struct str name, description; /* of a library's; description.ptr NULL: none */
    unsigned flags;
    uintptr_t code;
};

struct scriptCompilation {
    enum scriptKind kind;
    struct str text; /* behind the words of the first line */
    int limit_ms;    /* 0: it may take as long as it does */
    /* The engine's for the text of a library as a whole, released with it; 0: none. `before` is that of the
     * same text, when the library is there already; 0: it is not. */
    uintptr_t whole, before;
    /* For each function, of a script once. NULL: the function's code is the library's from now on; else an
     * error reply, and the compilation fails. */
    const char *(*add)(struct scriptCompilation *job, const struct scriptFunction *f);
};

/* Bytes. */
struct scriptMemory {
    size_t used, overhead;
};

/* What is left of an engine's memory after a reset: fn(arg) frees it, in any thread. fn NULL: nothing. */
struct scriptLeftover {
    void (*fn)(void *arg);
    void *arg;
};

enum scriptDebugging { DEBUGGING_ENABLED, DEBUGGING_NOT_SUPPORTED, DEBUGGING_FAILED };
/* SCRIPT DEBUG: an engine's part in a session (command/debug_session.h). */
struct scriptDebugger {
    enum scriptDebugging (*enable)(struct scriptEngine *e); /* for a client, whose next EVAL is debugged */
    void (*disable)(struct scriptEngine *e);
    void (*start)(struct scriptEngine *e, struct str source); /* around the EVAL */
    void (*end)(struct scriptEngine *e);
};

struct scriptEngineMethods {
    /* False, and *error is a whole error reply, the caller's: what has been added goes, too. */
    bool (*compile)(struct scriptEngine *e, struct scriptCompilation *job, sds *error);
    void (*release)(struct scriptEngine *e, enum scriptKind kind, uintptr_t code);
    /* Replies to c, whose arguments from the fourth on are `keys` keys, then the others. */
    void (*run)(struct scriptEngine *e, struct client *c, const struct scriptCode *code, int keys);
    size_t (*codeMemory)(struct scriptEngine *e, uintptr_t code);                /* NULL: none is known of */
    struct scriptMemory (*memory)(struct scriptEngine *e, enum scriptKind kind); /* SCRIPT_KINDS: all */
    /* Nothing is left that it has compiled of the kind. */
    struct scriptLeftover (*reset)(struct scriptEngine *e, enum scriptKind kind, bool async);
    bool reset_releases;                   /* all code, at once */
    const struct scriptDebugger *debugger; /* NULL: there is none */
};

struct scriptEngine {
    struct scriptEngine *next;
    const char *name, *module; /* whose it is */
    int abi_version;
    const struct scriptEngineMethods *how;
};
extern struct scriptEngine *script_engines;

struct scriptEngine *scriptEngineByName(struct str name); /* case does not count; NULL */
/* Its name must be free. It stays the caller's, until it is removed. */
void scriptEngineAdd(struct scriptEngine *e);
/* With all that it has compiled. Not while something of it runs. */
void scriptEngineRemove(struct scriptEngine *e);
/* Who keeps what engines have compiled drops that of this one. */
void scriptEngineOnRemove(void (*fn)(struct scriptEngine *e));

/* All engines have nothing of this kind any more: each is reset, in the background where that is wanted. */
void scriptEnginesReset(enum scriptKind kind, bool async);
