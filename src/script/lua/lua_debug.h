/* SPDX-License-Identifier: BSD-3-Clause */
/* lua_debug.h - the debugger of Lua (script_debug.h): lua_debug.c decides where a script stops and prints
 * the commands that it calls, lua_debug_commands.c serves requests, lua_debug_text.c prints values. */
#pragma once

#include "command/debug_session.h"
#include "script/lua/lua_private.h"

#define DEBUG_BREAKPOINTS_MAX 64

/* State of a session beside debug_session. */
struct luaDebug {
    bool step;         /* stop at the next line, and print commands that are called */
    bool stop_at_next; /* redis.breakpoint() has been called */
    sds *lines;        /* of the script's text */
    int line_count;
    int line;                               /* current line, from 1 */
    int breakpoints[DEBUG_BREAKPOINTS_MAX]; /* lines */
    int breakpoint_count;
    uint64_t resumed; /* ticks when the script last continued */
};
extern struct luaDebug lua_debug;
extern const struct scriptDebugger lua_debugger;

/* ---- For redis.call, redis.breakpoint and redis.debug ---- */
void luaDebugPrintCall(const struct str *argv, int argc);
void luaDebugPrintReply(struct client *c,
                        bool refused);  /* prints the reply in the client's chain, which stays there */
void luaDebugPrintValues(lua_State *L); /* prints all values on the stack */

/* ---- Within the debugger ---- */
void luaDebugServe(lua_State *L); /* serves requests until the script continues */
bool luaDebugIsBreakpoint(int line);
void luaDebugPrintLine(int line);
sds luaDebugAppendValue(sds s, lua_State *L, int index); /* appends the value */
