/* SPDX-License-Identifier: BSD-3-Clause */
/* lua_private.h - what the files of the Lua engine share.
 *
 *     lua_engine.c          the engine: compiling, running, errors
 *     lua_library.c         loading a library of functions
 *     lua_debug.c           where a debugged script stops (lua_debug.h)
 *     lua_debug_commands.c  what the client of a debugging session may ask
 *     lua_debug_text.c      values of Lua as text
 *     lua_vm.c              the two interpreters
 *     lua_sandbox.c         making an interpreter: libraries, the sandbox
 *     lua_api.c             redis.* and server.*: what scripts call
 *     lua_reply.c           replies to Lua values and back
 *     lua_guard.c           limits in front of the string library and cjson
 *     lua_json.c            the cjson library, if the build has it
 *     lua_bit.c             the bit library, if the build has it
 *     lua_struct.c          the struct library
 *     lua_cmsgpack.c        the cmsgpack library */
#pragma once

#include <lua.h>

#include "script/script_private.h"

#define LUA_HOOK_PERIOD 100000 /* Lua instructions between two looks at the clock */

/* The main thread's stack starts with values that every run needs, so that none is made or hashed anew. */
enum {
    SLOT_HANDLER = 1, /* message handler: notes where an error was raised */
    SLOT_GLOBALS,     /* the real table of globals */
    SLOT_KEYS,        /* strings from here on */
    SLOT_ARGV,
    SLOT_ERR,
    SLOT_OK,
    SLOT_DOUBLE,
    SLOT_MAP,
    SLOT_SET,
    SLOT_BIG_NUMBER,
    SLOT_VERBATIM,
    SLOT_FORMAT,
    SLOT_STRING,
    SLOT_COUNTED,
    SLOT_LAST = SLOT_COUNTED
};

/* An error table with this field is in the error statistics already. */
#define FIELD_COUNTED "ignore_error_stats_update"

enum { REPL_NONE = 0, REPL_AOF = 1, REPL_REPLICA = 2, REPL_ALL = 3 };

/* The part of a run that is Lua's; script_run has the rest. */
struct luaRun {
    lua_State *main;
    int repl;         /* REPL_... */
    sds error_source; /* where the last error was raised; NULL: unknown */
    int error_line;
};
extern struct luaRun lua_run;

/* ---- lua_engine.c ---- */
/* The text of the error value on top; *counted when it is in the statistics already. Owned by the caller. */
sds luaErrorText(lua_State *L, bool *counted);
void luaForgetErrorPlace(void);
void luaArmHook(lua_State *L);

/* ---- lua_library.c ---- */
/* Runs a library's text, which registers functions. */
bool luaLibraryRun(struct scriptCompilation *job, sds *error);
void luaLibraryVmReady(lua_State *L); /* after the interpreter of functions was made */

/* ---- lua_vm.c ---- */
lua_State *luaVm(enum scriptKind kind);
lua_State *luaVmReplace(enum scriptKind kind); /* by a new one; returns the old one, NULL at first */
void luaVmClose(enum scriptKind kind);
void luaVmMarkUsed(enum scriptKind kind); /* there may be garbage */
size_t luaVmMemory(enum scriptKind kind);
void luaVmInit(void);

/* ---- lua_sandbox.c ---- */
lua_State *luaVmCreate(enum scriptKind kind);
/* What scripts see as their globals becomes the table on top (popped). */
void luaShowGlobals(lua_State *L);
/* A metatable: reading a field that is not there is an error. Pushed. */
void luaPushStrict(lua_State *L);
/* Text only: bytecode is a syntax error. Pushes the function, or the message (then false). */
bool luaCompileText(lua_State *L, struct str text, const char *chunkname);
/* Replaces the table on top by a read-only view of it. */
void luaFreezeTable(lua_State *L);

/* ---- lua_api.c ---- */
int luaApiPcall(lua_State *L);                       /* redis.pcall */
void luaOpenApi(lua_State *L, enum scriptKind kind); /* pushes the table */
void luaOpenLoadApi(lua_State *L); /* the same while a library is loaded: no commands. Pushes the table. */

/* ---- lua_reply.c ---- */
/* Pushes the reply that waits in the client's chain, and empties the chain. True when it is an error. */
bool luaPushReply(lua_State *L, struct client *c);
/* Replies the value on top of the main thread's stack to c, and pops it. */
void luaReplyValue(struct client *c, lua_State *L);
/* Pushes {err = text}. `text` is "CODE words", or "-CODE words", or words without a code, which get ERR. */
void luaPushError(lua_State *L, struct str text, bool counted);
/* An error reply that is in the statistics already (counted), or is counted now. */
void luaReplyError(struct client *c, struct str text, bool counted);
void luaReplyCleanup(void); /* after a run: drops what an error left behind */

/* ---- lua_guard.c: on the library's table on top ---- */
void luaGuardStrings(lua_State *L);
void luaGuardJson(lua_State *L); /* an instance of cjson's */

/* ---- Libraries: push their table, or nil where they are not there ---- */
int luaOpenJson(lua_State *L);
int luaOpenBit(lua_State *L);
bool luaJsonIsThere(void);
bool luaBitIsThere(void);
int luaOpenStruct(lua_State *L);
int luaOpenCmsgpack(lua_State *L);
