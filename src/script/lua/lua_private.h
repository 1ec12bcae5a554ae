/* SPDX-License-Identifier: BSD-3-Clause */
/* lua_private.h - declarations that the files of the Lua engine share.
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

/* Slots at the bottom of the main thread's stack for values that every run needs, so that they are not made
 * or hashed again. */
enum {
    SLOT_HANDLER = 1, /* message handler: saves where an error was raised */
    SLOT_GLOBALS,     /* the table of globals itself, not the scripts' view */
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

/* State of a run beside script_run. */
struct luaRun {
    lua_State *main;
    int repl;         /* REPL_... */
    sds error_source; /* where the last error was raised; NULL: unknown */
    int error_line;
};
extern struct luaRun lua_run;

/* ---- lua_engine.c ---- */
/* Returns the text of the error value on top, which the caller frees. *counted tells whether the statistics
 * have it already. */
sds luaErrorText(lua_State *L, bool *counted);
void luaClearErrorPlace(void);
void luaArmHook(lua_State *L);

/* ---- lua_library.c ---- */
/* Runs a library's text, which registers functions. */
bool luaLibraryRun(struct scriptCompilation *job, sds *error);
void luaLibraryVmReady(lua_State *L); /* after the interpreter of functions was made */

/* ---- lua_vm.c ---- */
lua_State *luaVm(enum scriptKind kind);
lua_State *
luaVmReplace(enum scriptKind kind); /* installs a new interpreter; returns the old one, NULL at first */
void luaVmClose(enum scriptKind kind);
void luaVmMarkUsed(enum scriptKind kind); /* after a run: there may be garbage */
size_t luaVmMemory(enum scriptKind kind);
void luaVmInit(void);

/* ---- lua_sandbox.c ---- */
lua_State *luaVmCreate(enum scriptKind kind);
/* Makes the table on top the globals that scripts see, and pops it. */
void luaSetVisibleGlobals(lua_State *L);
/* Pushes a metatable that makes reading an absent field an error. */
void luaPushStrictMetatable(lua_State *L);
/* Compiles source text; bytecode is a syntax error. Pushes the function and returns true, or pushes the
 * message and returns false. */
bool luaCompileText(lua_State *L, struct str text, const char *chunkname);
/* Replaces the table on top by a read-only view of it. */
void luaFreezeTable(lua_State *L);

/* ---- lua_api.c ---- */
int luaApiPcall(lua_State *L);                       /* redis.pcall */
void luaOpenApi(lua_State *L, enum scriptKind kind); /* pushes the table */
void luaOpenLoadApi(lua_State *L); /* pushes the table for loading libraries, which cannot call commands */

/* ---- lua_reply.c ---- */
/* Pushes the reply that is in the client's chain and empties the chain. Returns true if it is an error. */
bool luaPushReply(lua_State *L, struct client *c);
/* Replies the value on top of the main thread's stack to c, and pops it. */
void luaReplyValue(struct client *c, lua_State *L);
/* Pushes {err = text}. `text` is "CODE words", "-CODE words", or words without a code, which get ERR. */
void luaPushError(lua_State *L, struct str text, bool counted);
/* Replies an error, which is counted in the statistics unless it has been already (counted). */
void luaReplyError(struct client *c, struct str text, bool counted);
void luaReplyCleanup(void); /* after a run: frees what an error left behind */

/* ---- lua_guard.c: functions for the library table on top of the stack ---- */
void luaGuardStrings(lua_State *L);
void luaGuardJson(lua_State *L); /* for an instance of cjson */

/* ---- Libraries: push their table, or nil if the build lacks them ---- */
int luaOpenJson(lua_State *L);
int luaOpenBit(lua_State *L);
bool luaHasJson(void);
bool luaHasBit(void);
int luaOpenStruct(lua_State *L);
int luaOpenCmsgpack(lua_State *L);
