/* SPDX-License-Identifier: BSD-3-Clause */
/* script_debug.h - the debugger of scripts.
 *
 * SCRIPT DEBUG YES|SYNC arms a client: its next EVAL is a session. The script stops before its first line,
 * and from then on the client speaks to the debugger, one request at a time, until the script ends. Each
 * answer is an array of status lines; the last one of the session ends with "<endsession>", then come the
 * reply of EVAL and the end of the connection.
 *
 *     YES   the session is a child process with a copy of the data, and the server goes on
 *     SYNC  the session is the server, which does nothing else meanwhile; what the script writes stays
 *
 * Whatever is said goes through command/debug_session.h; an engine has its part (struct scriptDebugger).
 *
 *     script_debug.c           arming, the session around the script: of any language
 *
 * and of Lua's part
 *
 *     lua_debug.c              where a script in Lua stops, what it calls
 *     script_debug_commands.c  what the client may ask there
 *     script_debug_text.c      values of Lua as text */
#pragma once

#include "command/debug_session.h"
#include "script/script_private.h"

#define DEBUG_BREAKPOINTS_MAX 64

/* Of Lua's part in a session (debug_session). */
struct luaDebug {
    bool step;         /* stop at the next line, and tell which commands are called */
    bool stop_at_next; /* redis.breakpoint() was called */
    sds *lines;        /* of the script */
    int line_count;
    int line;                               /* that runs, from 1 */
    int breakpoints[DEBUG_BREAKPOINTS_MAX]; /* lines */
    int breakpoint_count;
    uint64_t resumed; /* ticks: when the script last went on */
};
extern struct luaDebug lua_debug;
extern const struct scriptDebugger lua_debugger;
extern int debug_armed; /* clients: EVAL looks no further while it is 0 */

/* ---- For EVAL and SCRIPT DEBUG ---- */
enum scriptDebugging scriptDebugArm(struct client *c, struct scriptEngine *e, bool sync);
void scriptDebugDisarm(struct client *c);
bool scriptDebugArmed(const struct client *c);
/* False: the session goes on in another process (or could not begin: an error was replied). */
bool scriptDebugBegin(struct client *c, struct str text);
void scriptDebugEnd(void); /* after the script's reply; does not return in a child */
void scriptDebugInit(void);

/* ---- For redis.call, redis.breakpoint and redis.debug ---- */
void scriptDebugCall(const struct str *argv, int argc);
void scriptDebugReply(struct client *c, bool refused); /* it waits in the client's chain, and stays there */
void scriptDebugValues(lua_State *L);                  /* all values on the stack */

/* ---- Within the debugger ---- */
/* Serves requests until the script is to go on. */
void debugServe(lua_State *L);
bool debugIsBreakpoint(int line);
void debugSourceLine(int line);
/* Appended. */
sds debugValue(sds s, lua_State *L, int index);
