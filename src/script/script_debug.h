/* SPDX-License-Identifier: BSD-3-Clause */
/* script_debug.h - the debugger of scripts, for any language: arming clients, and the session
 * around a script.
 *
 * SCRIPT DEBUG YES|SYNC arms a client: its next EVAL is a session. The script stops before its first line,
 * and from then on the client talks to the debugger, one request at a time, until the script ends. Each
 * answer is an array of status lines. The last one of the session ends with "<endsession>"; then come the
 * reply of EVAL and the end of the connection.
 *
 *     YES   the session is a child process with a copy of the data, and the server goes on
 *     SYNC  the session is the server, which serves nothing else meanwhile; what the script writes stays
 *
 * All output goes through command/debug_session.h. An engine implements struct scriptDebugger; Lua's
 * is in lua_debug.h. */
#pragma once

#include "command/debug_session.h"
#include "script/script_private.h"

extern int debug_armed; /* number of armed clients: while it is 0, EVAL does not look for one */

enum scriptDebugging scriptDebugArm(struct client *c, struct scriptEngine *e, bool sync);
void scriptDebugDisarm(struct client *c);
bool scriptDebugIsArmed(const struct client *c);
/* Begins a session. Returns false if it goes on in another process, or could not begin and an
 * error was replied. */
bool scriptDebugBegin(struct client *c, struct str text);
void scriptDebugEnd(void); /* after the script's reply; does not return in a child */
void scriptDebugInit(void);
