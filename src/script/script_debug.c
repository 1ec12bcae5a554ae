/* script_debug.c - arming, the session, and where a script stops (see script_debug.h).
 *
 * Lua calls the hook at each line. While the script stands, requests are read and answered right here,
 * blocking, so nothing else in this process runs. A session in a child ends with the process. */
#define _GNU_SOURCE /* close_range */
#include "script/script_debug.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/assert.h"
#include "base/log.h"
#include "base/ticks.h"
#include "base/zmalloc.h"
#include "registry/cron.h"
#include "command/port.h"
#include "client/reply.h"
#include "net/connection.h"
#include "net/resp.h"

#define SESSIONS_MAX    16 /* child processes */
#define REAP_PERIOD_MS  100
#define ENDLESS_LOOP_US 5000000 /* a script that does not stop for so long is stopped */
#define READ_SIZE       4096
#define REQUEST_MAX     (RESP_BIG_ARG - 1) /* longest argument */

struct debugSession debug_session;
int debug_armed;

struct armed {
    struct client *client;
    bool sync;
};
static struct armed *armed;
static pid_t children[SESSIONS_MAX];
static int child_count;

/* ---- Armed clients ---- */

static struct armed *findArmed(const struct client *c) {
    for (int i = 0; i < debug_armed; i++) {
        if (armed[i].client == c) return &armed[i];
    }
    return NULL;
}

bool scriptDebugArmed(const struct client *c) {
    return findArmed(c) != NULL;
}

void scriptDebugDisarm(struct client *c) {
    struct armed *a = findArmed(c);
    if (a) *a = armed[--debug_armed];
}

void scriptDebugArm(struct client *c, bool sync) {
    scriptDebugDisarm(c);
    armed = zrealloc(armed, ((size_t)debug_armed + 1) * sizeof *armed);
    armed[debug_armed++] = (struct armed){.client = c, .sync = sync};
}

/* ---- The wire. Errors end the session. ---- */

static bool waitFor(struct connection *conn, short events) {
    struct pollfd p = {.fd = conn->fd, .events = events};
    return poll(&p, 1, -1) >= 0 || errno == EINTR;
}

static void writeAll(struct connection *conn, const char *p, size_t n) {
    while (n) {
        struct iovec v = {.iov_base = (char *)p, .iov_len = n};
        ssize_t written = connWritev(conn, &v, 1);
        if (written > 0) {
            p += written;
            n -= (size_t)written;
        } else if (errno != EAGAIN || !waitFor(conn, POLLOUT)) {
            return; /* the next read tells that the client has gone */
        }
    }
}

static void writeReplies(struct client *c) {
    sds replies = replyChainToSds(c);
    writeAll(c->conn, replies, sdslen(replies));
    sdsfree(replies);
}

void debugSend(void) {
    struct debugSession *d = &debug_session;
    char head[RESP_HDR_SIZE];
    writeAll(d->client->conn, head, respWriteHeader(head, '*', d->answer_lines));
    writeAll(d->client->conn, d->answer, sdslen(d->answer));
    sdsfree(d->answer);
    d->answer = sdsempty();
    d->answer_lines = 0;
}

static bool readMore(void) {
    struct debugSession *d = &debug_session;
    char buf[READ_SIZE];
    for (;;) {
        ssize_t n = connRead(d->client->conn, buf, sizeof buf);
        if (n > 0) {
            d->input = sdscatlen(d->input, buf, (size_t)n);
            return true;
        }
        if (n == 0 || errno != EAGAIN || !waitFor(d->client->conn, POLLIN)) return false;
    }
}

static sds *copyWords(const struct str *argv, int argc) {
    sds *words = zmalloc(((size_t)argc + 1) * sizeof *words);
    for (int i = 0; i < argc; i++) words[i] = sdsnewstr(argv[i]);
    return words;
}

sds *debugReadRequest(int *argc) {
    struct debugSession *d = &debug_session;
    struct respParser parser = {0};
    const struct respLimits limits = {.max_bulk = REQUEST_MAX, .max_args = 1024, .authenticated = true};
    struct str *argv = NULL;
    size_t cap = 0, consumed;
    sds *words = NULL;
    while (!words && !d->abort_reason) {
        size_t len = sdslen(d->input);
        struct respBigArg *big = NULL;
        const char *error;
        enum respStatus status =
            respParseRequest(&parser, d->input, &len, &limits, &argv, &cap, 0, argc, &consumed, &big, &error);
        if (status == RESP_OK) words = copyWords(argv, *argc);
        if (status == RESP_OK || status == RESP_EMPTY) sdsrange(d->input, (ptrdiff_t)consumed, -1);
        if (status == RESP_ERROR) d->abort_reason = "protocol error";
        if (status == RESP_MORE && !readMore()) d->abort_reason = "the client of the debugger has gone";
    }
    respParserReset(&parser);
    zfree(argv);
    return words;
}

/* ---- The answer ---- */

static void addLine(sds line) {
    struct debugSession *d = &debug_session;
    for (size_t i = 0; i < sdslen(line); i++) {
        if (line[i] == '\r' || line[i] == '\n') line[i] = ' ';
    }
    d->answer = sdscat(d->answer, "+");
    d->answer = sdscatstr(d->answer, sdsview(line));
    d->answer = sdscat(d->answer, "\r\n");
    d->answer_lines++;
    sdsfree(line);
}

void debugLine(const char *fmt, ...) {
    va_list ap;
    va_start(ap, fmt);
    addLine(sdscatvprintf(sdsempty(), fmt, ap));
    va_end(ap);
}

void debugLineTrimmed(sds line) {
    struct debugSession *d = &debug_session;
    bool trimmed = d->trim && sdslen(line) > d->trim;
    if (trimmed) {
        sdsrange(line, 0, (ptrdiff_t)d->trim - 1);
        line = sdscat(line, " ...");
    }
    addLine(line);
    if (!trimmed || d->trim_told) return;
    d->trim_told = true;
    debugLine("<hint> The above reply was trimmed. Use 'maxlen 0' to disable trimming.");
}

bool debugIsBreakpoint(int line) {
    for (int i = 0; i < debug_session.breakpoint_count; i++) {
        if (debug_session.breakpoints[i] == line) return true;
    }
    return false;
}

void debugSourceLine(int line) {
    if (line < 1 || line > debug_session.line_count) return;
    const char *arrow = line == debug_session.line ? "->" : "  ";
    debugLine("%s%c%-3d %s", arrow, debugIsBreakpoint(line) ? '#' : ' ', line, debug_session.lines[line - 1]);
}

/* ---- Where the script stops ---- */

static void raiseAbort(lua_State *L) {
    lua_pushstring(L, debug_session.abort_reason);
    lua_error(L);
}

static void debugHook(lua_State *L, lua_Debug *ar) {
    struct debugSession *d = &debug_session;
    lua_getinfo(L, "Sl", ar);
    if (!strstr(ar->short_src, "user_script")) return;
    if (d->abort_reason) raiseAbort(L);
    d->line = ar->currentline;
    const char *reason = "step over";
    if (ar->event == LUA_HOOKCOUNT) {
        if (ticksNow() - d->resumed < ENDLESS_LOOP_US * ticks_per_us) return;
        reason = "timeout reached, infinite loop?";
    } else if (d->stop_at_next) {
        reason = "redis.breakpoint() called";
    } else if (debugIsBreakpoint(d->line)) {
        reason = "break point";
    } else if (!d->step) {
        return;
    }
    d->step = d->stop_at_next = false;
    debugLine("* Stopped at %d, stop reason = %s", d->line, reason);
    debugSourceLine(d->line);
    debugSend();
    debugServe(L);
    d->resumed = ticksNow();
    if (d->abort_reason) raiseAbort(L);
}

/* ---- The session ---- */

/* The child keeps the client's connection and nothing else of its parent's. */
static void becomeChild(struct connection *conn) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    signal(SIGTERM, SIG_DFL);
    signal(SIGINT, SIG_DFL);
    if (conn->fd > 3) close_range(3, (unsigned)conn->fd - 1, 0);
    close_range((unsigned)conn->fd + 1, ~0u, 0);
}

/* True: we are the child. */
static bool forkSession(struct client *c) {
    pid_t pid = child_count < SESSIONS_MAX ? fork() : -1;
    if (pid == 0) {
        becomeChild(c->conn);
        return true;
    }
    if (pid < 0) {
        serverLog(LL_WARNING, "Can't fork for a debugging session: %s",
                  child_count < SESSIONS_MAX ? strerror(errno) : "there are too many");
        replyError(c, "ERR Can't fork for a debugging session");
    } else {
        children[child_count++] = pid;
        serverLog(LL_NOTICE, "Forked for a debugging session of scripts, pid %d", (int)pid);
        clientClose(c);
    }
    return false;
}

bool scriptDebugBegin(struct client *c, struct str text) {
    struct debugSession *d = &debug_session;
    bool sync = findArmed(c)->sync;
    scriptDebugDisarm(c);
    writeReplies(c); /* of commands before */
    if (!sync && !forkSession(c)) return false;
    if (sync) serverLog(LL_NOTICE, "A synchronous debugging session of scripts begins");
    *d = (struct debugSession){.on = true,
                               .forked = !sync,
                               .step = true,
                               .client = c,
                               .trim = DEBUG_TRIM_DEFAULT,
                               .answer = sdsempty(),
                               .input = sdsempty()};
    d->lines = sdssplitlen(text.ptr, text.len, "\n", 1, &d->line_count);
    if (d->line_count && !sdslen(d->lines[d->line_count - 1])) sdsfree(d->lines[--d->line_count]);
    lua_sethook(scriptVm(SCRIPT_EVAL), debugHook, LUA_MASKLINE | LUA_MASKCOUNT, SCRIPT_HOOK_PERIOD);
    return true;
}

void scriptDebugEnd(void) {
    struct debugSession *d = &debug_session;
    sds reply = replyChainToSds(d->client);
    debugLine("<endsession>");
    debugSend();
    writeAll(d->client->conn, reply, sdslen(reply));
    if (d->forked) _exit(0);
    sdsfree(reply);
    sdsfreesplitres(d->lines, d->line_count);
    sdsfree(d->answer);
    sdsfree(d->input);
    clientClose(d->client);
    *d = (struct debugSession){0};
    scriptArmHook(scriptVm(SCRIPT_EVAL));
    serverLog(LL_NOTICE, "The synchronous debugging session of scripts has ended");
}

static void reapChildren(void) {
    for (int i = child_count - 1; i >= 0; i--) {
        if (waitpid(children[i], NULL, WNOHANG) != 0) children[i] = children[--child_count];
    }
}

void scriptDebugInit(void) {
    clientOnFree(scriptDebugDisarm);
    portKeepHome(scriptDebugArmed); /* sessions use the connection themselves */
    cronRegister(reapChildren, REAP_PERIOD_MS);
}

/* ---- What the script calls ---- */

void scriptDebugCall(const struct str *argv, int argc) {
    if (!debug_session.step) return;
    sds line = sdsnew("<redis>");
    for (int i = 0; i < argc; i++) line = sdscatstr(sdscat(line, " "), argv[i]);
    debugLineTrimmed(line);
}

void scriptDebugReply(struct client *c, bool refused) {
    if (!debug_session.step) return;
    sds bytes = replyChainToSds(c);
    struct respReply reply = {0};
    int64_t n = respReadReply(bytes, sdslen(bytes), &reply);
    serverAssert(n == (int64_t)sdslen(bytes));
    if (reply.type == RESP_T_ERROR) {
        struct str text = reply.str;
        if (refused && text.len > 4 && !memcmp(text.ptr, "ERR ", 4)) text = strN(text.ptr + 4, text.len - 4);
        debugLineTrimmed(sdscatstr(sdsnew(refused ? "<error> " : "<error> -"), text));
    }
    if (!refused) debugLineTrimmed(debugReplyText(sdsnew("<reply> "), &reply));
    respReplyFree(&reply);
    replyRaw(c, bytes, sdslen(bytes));
    sdsfree(bytes);
}

void scriptDebugValues(lua_State *L) {
    if (!debug_session.on) return;
    sds line = sdscatprintf(sdsempty(), "<debug> line %d: ", debug_session.line);
    for (int i = 1, n = lua_gettop(L); i <= n; i++) {
        if (i > 1) line = sdscat(line, ", ");
        line = debugValue(line, L, i);
    }
    debugLineTrimmed(line);
}
