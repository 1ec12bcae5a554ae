/* SPDX-License-Identifier: BSD-3-Clause */
/* script_engine.h - the table of languages for scripts and functions. EVAL, FUNCTION and their families
 * (script/) know no language: they call the methods in this table.
 *
 *     script/   texts, names, flags, what is cached, who may run
 *        │ compile, run, release, reset, memory
 *        ▼
 *     struct scriptEngine ◀── LUA (script/lua/lua_engine.c)
 *                         ◀── what modules register (module/module_engine.c)
 *
 * What an engine has compiled is an opaque number to everybody else: `code`. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/sds.h"
#include "base/str.h"

struct client;
struct scriptEngine;

enum scriptKind { SCRIPT_EVAL, SCRIPT_FUNCTION, SCRIPT_KINDS };

/* Flags that a script or a function declares. Those with names come first, in the order of scriptFlagName. */
enum {
    SCRIPT_NO_WRITES = 1 << 0,
    SCRIPT_ALLOW_OOM = 1 << 1,
    SCRIPT_ALLOW_STALE = 1 << 2,
    SCRIPT_NO_CLUSTER = 1 << 3,
    SCRIPT_ALLOW_CROSS_SLOT = 1 << 4,
    SCRIPT_SHEBANG = 1 << 5, /* it declares flags at all: it may only do what they allow */
};
#define SCRIPT_FLAGS 5 /* flags that have a name */

/* A script or function that can be run. */
struct scriptCode {
    struct scriptEngine *engine;
    const char *name; /* SHA-1 of the script, or the function's name */
    enum scriptKind kind;
    unsigned flags;
    uintptr_t code; /* the engine's */
};

struct scriptFunction {
    struct str name, description; /* of a function in a library; description.ptr NULL: none */
    unsigned flags;
    uintptr_t code;
};

struct scriptCompilation {
    enum scriptKind kind;
    struct str text; /* without the first line's words */
    int limit_ms;    /* 0: no limit */
    /* The engine's code for a library as a whole, released with it; 0: none. `before` is the code of the same
     * text when the library exists already; 0: it does not. */
    uintptr_t whole, before;
    /* Called for each function, or once for a script. Returns NULL when the library has taken over the
     * function's code, otherwise an error reply, and the compilation fails. */
    const char *(*add)(struct scriptCompilation *job, const struct scriptFunction *f);
};

struct scriptMemory {
    size_t used, overhead;
};

/* The remains of an engine's memory after a reset: fn(arg) frees it, in any thread. fn may be NULL. */
struct scriptLeftover {
    void (*fn)(void *arg);
    void *arg;
};

enum scriptDebugging { DEBUGGING_ENABLED, DEBUGGING_NOT_SUPPORTED, DEBUGGING_FAILED };
/* SCRIPT DEBUG: an engine's part in a session (command/debug_session.h). */
struct scriptDebugger {
    enum scriptDebugging (*enable)(struct scriptEngine *e); /* for a client whose next EVAL is debugged */
    void (*disable)(struct scriptEngine *e);
    void (*start)(struct scriptEngine *e, struct str source); /* start and end enclose the EVAL */
    void (*end)(struct scriptEngine *e);
};

struct scriptEngineMethods {
    /* On errors it returns false with a whole error reply in *error, owned by the caller, and what has been
     * added is removed again. */
    bool (*compile)(struct scriptEngine *e, struct scriptCompilation *job, sds *error);
    void (*release)(struct scriptEngine *e, enum scriptKind kind, uintptr_t code);
    /* Replies to c, whose arguments from the fourth on are `keys` keys, then the others. */
    void (*run)(struct scriptEngine *e, struct client *c, const struct scriptCode *code, int keys);
    size_t (*codeMemory)(struct scriptEngine *e, uintptr_t code);                /* NULL: unknown */
    struct scriptMemory (*memory)(struct scriptEngine *e, enum scriptKind kind); /* SCRIPT_KINDS: all kinds */
    /* Drops all that the engine has compiled of the kind. */
    struct scriptLeftover (*reset)(struct scriptEngine *e, enum scriptKind kind, bool async);
    bool reset_releases;                   /* a reset releases all code at once */
    const struct scriptDebugger *debugger; /* NULL: it has none */
};

struct scriptEngine {
    struct scriptEngine *next;
    const char *name, *module; /* module: the one that registered it */
    int abi_version;
    const struct scriptEngineMethods *methods;
};
extern struct scriptEngine *script_engines;

struct scriptEngine *scriptEngineByName(struct str name); /* ignores case; NULL: none */
/* Adds an engine, whose name must be free. The caller keeps it until it is removed. */
void scriptEngineAdd(struct scriptEngine *e);
/* Removes an engine and all that it has compiled. No code of it may be running. */
void scriptEngineRemove(struct scriptEngine *e);
/* Adds a function that is called before an engine is removed, to drop code of that engine. */
void scriptEngineOnRemove(void (*fn)(struct scriptEngine *e));

/* Resets all engines for this kind; `async`: in the background. */
void scriptEnginesReset(enum scriptKind kind, bool async);
