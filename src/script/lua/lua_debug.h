/* SPDX-License-Identifier: BSD-3-Clause */
/* lua_debug.h - the debugger of Lua (script_debug.h): lua_debug.c decides where a script stops and shows what
 * it calls, lua_debug_commands.c serves requests, lua_debug_text.c shows values. */
#pragma once

#include "command/debug_session.h"
#include "script/lua/lua_private.h"

#define DEBUG_BREAKPOINTS_MAX 64

/* The state of a session (debug_session) that is Lua's. */
struct luaDebug {
    bool step;         /* stop at the next line, and show which commands are called */
    bool stop_at_next; /* redis.breakpoint() was called */
    sds *lines;        /* of the script */
    int line_count;
    int line;                               /* the current line, from 1 */
    int breakpoints[DEBUG_BREAKPOINTS_MAX]; /* lines */
    int breakpoint_count;
    uint64_t resumed; /* ticks when the script last went on */
};
extern struct luaDebug lua_debug;
extern const struct scriptDebugger lua_debugger;

/* ---- For redis.call, redis.breakpoint and redis.debug ---- */
void luaDebugCall(const struct str *argv, int argc);
void luaDebugReply(struct client *c,
                   bool refused);  /* shows the reply in the client's chain, which it keeps */
void luaDebugValues(lua_State *L); /* shows all values on the stack */

/* ---- Within the debugger ---- */
void luaDebugServe(lua_State *L); /* serves requests until the script is to go on */
bool luaDebugIsBreakpoint(int line);
void luaDebugSourceLine(int line);
sds luaDebugValue(sds s, lua_State *L, int index); /* appends the value */
