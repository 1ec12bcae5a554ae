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
 *     script_debug.c           arming, the session, where the script stops
 *     script_debug_commands.c  what the client may ask
 *     script_debug_text.c      values and replies as text */
#pragma once

#include "net/resp.h"
#include "script/script_private.h"

#define DEBUG_BREAKPOINTS_MAX 64
#define DEBUG_TRIM_DEFAULT    256 /* bytes of a line */
#define DEBUG_TRIM_MIN        60

struct debugSession {
    bool on, forked;
    bool step;         /* stop at the next line, and tell which commands are called */
    bool stop_at_next; /* redis.breakpoint() was called */
    struct client *client;
    sds *lines; /* of the script */
    int line_count;
    int line;                               /* that runs, from 1 */
    int breakpoints[DEBUG_BREAKPOINTS_MAX]; /* lines */
    int breakpoint_count;
    size_t trim; /* longest line of an answer, 0: any */
    bool trim_told;
    sds answer; /* its lines, each with its CRLF */
    int answer_lines;
    sds input;                /* what has been read and not taken yet */
    const char *abort_reason; /* NULL: goes on. Raised again at each line, so that no pcall holds it up */
    uint64_t resumed;         /* ticks: when the script last went on */
};
extern struct debugSession debug_session;
extern int debug_armed; /* clients: EVAL looks no further while it is 0 */

/* ---- For EVAL and SCRIPT DEBUG ---- */
void scriptDebugArm(struct client *c, bool sync);
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
/* Adds a line to the answer. */
void debugLine(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
void debugLineTrimmed(sds line); /* frees it */
void debugSend(void);
/* Serves requests until the script is to go on. */
void debugServe(lua_State *L);
/* The next request: words (sdsfreesplitres), or NULL when there is none: abort_reason says why. */
sds *debugReadRequest(int *argc);
bool debugIsBreakpoint(int line);
void debugSourceLine(int line);
/* Appended. */
sds debugValue(sds s, lua_State *L, int index);
sds debugReplyText(sds s, const struct respReply *r);
