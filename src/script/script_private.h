/* SPDX-License-Identifier: BSD-3-Clause */
/* script_private.h - what the files of this room share.
 *
 *     script.c            EVAL, SCRIPT, the cache of scripts, INFO
 *     functions.c         the libraries of functions in use, and their way into files
 *     function_set.c      libraries and functions by name
 *     function_library.c  one library: its first line, its functions
 *     function_commands.c FUNCTION, FCALL
 *     script_run.c        running either, by its engine (command/script_engine.h)
 *     script_flags.c      the first line of a script or library, and the flags
 *     script_debug*.c     the debugger (script_debug.h)
 *
 * and of Lua, which is one of the engines:
 *
 *     lua_engine.c        the engine: compiling, running, errors
 *     lua_library.c       loading a library
 *     lua_debug.c         its part of the debugger (script_debug.h)
 *     script_vm.c         the two interpreters
 *     script_lua.c        making an interpreter: libraries, the sandbox
 *     script_api.c        redis.* and server.*: what scripts call
 *     script_reply.c      replies to Lua values and back
 *     lua_guard.c         limits in front of the string library and cjson
 *     lua_json.c          the cjson library, where the build has it
 *     lua_bit.c           the bit library, likewise
 *     lua_struct.c        the struct library
 *     lua_cmsgpack.c      the cmsgpack library */
#pragma once

#include <lua.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/sds.h"
#include "base/str.h"
#include "client/client.h"
#include "command/script_running.h"

#define SCRIPT_HOOK_PERIOD 100000 /* Lua instructions between two looks at the clock */

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

/* What a run is to Lua, beside script_run. */
struct luaRun {
    lua_State *main;
    int repl;         /* REPL_... */
    sds error_source; /* where the last error was raised; NULL: unknown */
    int error_line;
};
extern struct luaRun lua_run;

/* ---- script_run.c ---- */
/* Runs it for c, whose arguments from the fourth on are `keys` keys, then the others; replies. */
void scriptExecute(struct client *c, const struct scriptCode *code, int keys, bool read_only);
/* The third argument of c: how many keys follow. False: an error has been replied. */
bool scriptKeyCount(struct client *c, int *keys, const char *not_a_number);

/* ---- lua_engine.c ---- */
/* The text of the error value on top; *counted when it is in the statistics already. Owned by the caller. */
sds scriptErrorText(lua_State *L, bool *counted);
void scriptForgetErrorPlace(void);
void scriptArmHook(lua_State *L);
void luaEngineInit(void);
void luaEngineStart(void);

/* ---- lua_library.c ---- */
/* Runs a library's text, which registers functions. */
bool luaLibraryRun(struct scriptCompilation *job, sds *error);
void luaLibraryVmReady(lua_State *L); /* after the interpreter of functions was made */

/* ---- script.c ---- */
/* SCRIPT FLUSH, FUNCTION FLUSH: what c asks for, or the directive. False: nothing of the kind. */
bool scriptFlushMode(const struct client *c, bool *async);

/* ---- script_flags.c ---- */
const char *scriptFlagName(int bit);
/* 0: there is none. */
unsigned scriptFlagByName(struct str name, bool any_case);
/* The flags of the command that runs such a script: what checks before it should know. */
uint64_t scriptCommandFlags(unsigned flags, uint64_t command_flags);
/* Takes the first line off *code, but for its newline, which keeps the line numbers right, and splits it into
 * words. NULL: no whole line, or unbalanced quotes. */
sds *scriptShebang(struct str *code, int *count);
/* The first line of a script, when it is one that begins with "#!", and its engine: Lua, if it does not say.
 * NULL, or the error. */
sds scriptReadShebang(struct str *code, unsigned *flags, struct scriptEngine **engine);

/* ---- script_vm.c ---- */
lua_State *scriptVm(enum scriptKind kind);
lua_State *scriptVmReplace(enum scriptKind kind); /* by a new one; returns the old one, NULL at first */
void scriptVmClose(enum scriptKind kind);
void scriptVmUsed(enum scriptKind kind); /* there may be garbage */
size_t scriptVmMemory(enum scriptKind kind);
void scriptVmInit(void);

/* ---- script_lua.c ---- */
lua_State *scriptVmCreate(enum scriptKind kind);
/* What scripts see as their globals becomes the table on top (popped). */
void scriptShowGlobals(lua_State *L);
/* A metatable: reading a field that is not there is an error. Pushed. */
void scriptPushStrict(lua_State *L);
/* Text only: bytecode is a syntax error. Pushes the function, or the message (then false). */
bool scriptCompile(lua_State *L, struct str text, const char *chunkname);
/* Replaces the table on top by a read-only view of it. */
void scriptFreeze(lua_State *L);

/* ---- script_api.c ---- */
int scriptApiPcall(lua_State *L);                       /* redis.pcall */
void scriptOpenApi(lua_State *L, enum scriptKind kind); /* pushes the table */
void scriptApiInit(void);                               /* rows of admission for what scripts call */
void scriptOpenLoadApi(lua_State *L); /* the same while a library is loaded: no commands. Pushes the table. */

/* ---- script_reply.c ---- */
/* Pushes the reply that waits in the client's chain, and empties the chain. True when it is an error. */
bool scriptPushReply(lua_State *L, struct client *c);
/* Replies the value on top of the main thread's stack to c, and pops it. */
void scriptReplyValue(struct client *c, lua_State *L);
/* Pushes {err = text}. `text` is "CODE words", or "-CODE words", or words without a code, which get ERR. */
void scriptPushError(lua_State *L, struct str text, bool counted);
/* An error reply that is in the statistics already (counted), or is counted now. */
void scriptReplyError(struct client *c, struct str text, bool counted);
void scriptReplyCleanup(void); /* after a run: drops what an error left behind */

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
