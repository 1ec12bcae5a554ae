/* script_private.h - what the files of this room share.
 *
 *     script.c         commands, the cache of scripts, running one, the time limit, INFO
 *     script_lua.c     making an interpreter: libraries, the sandbox
 *     script_api.c     redis.* and server.*: what scripts call
 *     script_reply.c   replies to Lua values and back
 *     lua_struct.c     the struct library
 *     lua_cmsgpack.c   the cmsgpack library */
#pragma once

#include <lua.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/sds.h"
#include "base/str.h"
#include "core/client.h"

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

/* The script that runs. There is at most one. */
struct scriptRun {
    const char *sha; /* NULL: none runs */
    struct client *caller;
    struct client *client; /* fake client for the script's commands */
    lua_State *main;
    uint64_t start; /* ticks */
    bool read_only, wrote, busy, killed;
    bool deny_oom; /* memory was short when it started: its first write may not enlarge the data */
    int repl;
    sds error_source; /* where the last error was raised; NULL: unknown */
    int error_line;
};
extern struct scriptRun script_run;

/* ---- script_lua.c ---- */
lua_State *scriptVmCreate(void);
/* Text only: bytecode is a syntax error. Pushes the function, or the message (then false). */
bool scriptCompile(lua_State *L, struct str text, const char *chunkname);
/* Replaces the table on top by a read-only view of it. */
void scriptFreeze(lua_State *L);

/* ---- script_api.c ---- */
void scriptOpenApi(lua_State *L); /* pushes the table */

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

/* ---- Libraries: push their table ---- */
int luaOpenStruct(lua_State *L);
int luaOpenCmsgpack(lua_State *L);
