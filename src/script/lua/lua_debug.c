/* SPDX-License-Identifier: BSD-3-Clause */
/* lua_debug.c - the debugger of Lua: where a script stops, and which commands it calls (see lua_debug.h).
 *
 * Lua calls the hook at each line. While the script is stopped, the hook reads and serves requests. */
#include "script/lua/lua_debug.h"

#include "base/assert.h"
#include "base/ticks.h"
#include "client/reply.h"

#define ENDLESS_LOOP_US 5000000 /* a script is stopped after running so long */

struct luaDebug lua_debug;

/* ---- Lines ---- */

bool luaDebugIsBreakpoint(int line) {
    for (int i = 0; i < lua_debug.breakpoint_count; i++) {
        if (lua_debug.breakpoints[i] == line) return true;
    }
    return false;
}

void luaDebugPrintLine(int line) {
    if (line < 1 || line > lua_debug.line_count) return;
    const char *arrow = line == lua_debug.line ? "->" : "  ";
    debugLine("%s%c%-3d %s", arrow, luaDebugIsBreakpoint(line) ? '#' : ' ', line, lua_debug.lines[line - 1]);
}

/* ---- Stops ---- */

static void luaDebugRaiseAbort(lua_State *L) {
    lua_pushstring(L, debug_session.abort_reason);
    lua_error(L);
}

static void luaDebugHook(lua_State *L, lua_Debug *ar) {
    struct luaDebug *d = &lua_debug;
    lua_getinfo(L, "Sl", ar);
    if (!strstr(ar->short_src, "user_script")) return;
    if (debug_session.abort_reason) luaDebugRaiseAbort(L);
    d->line = ar->currentline;
    const char *reason = "step over";
    if (ar->event == LUA_HOOKCOUNT) {
        if (ticksNow() - d->resumed < ENDLESS_LOOP_US * ticks_per_us) return;
        reason = "timeout reached, infinite loop?";
    } else if (d->stop_at_next) {
        reason = "server.breakpoint() called";
    } else if (luaDebugIsBreakpoint(d->line)) {
        reason = "break point";
    } else if (!d->step) {
        return;
    }
    d->step = d->stop_at_next = false;
    debugLine("* Stopped at %d, stop reason = %s", d->line, reason);
    luaDebugPrintLine(d->line);
    debugSend();
    luaDebugServe(L);
    d->resumed = ticksNow();
    if (debug_session.abort_reason) luaDebugRaiseAbort(L);
}

/* ---- The session ---- */

static enum scriptDebugging luaDebugEnable(struct scriptEngine *e) {
    (void)e;
    return DEBUGGING_ENABLED;
}

static void luaDebugDisable(struct scriptEngine *e) {
    (void)e;
}

static void luaDebugStart(struct scriptEngine *e, struct str source) {
    (void)e;
    struct luaDebug *d = &lua_debug;
    *d = (struct luaDebug){.step = true};
    d->lines = sdssplitlen(source.ptr, source.len, "\n", 1, &d->line_count);
    if (d->line_count && !sdslen(d->lines[d->line_count - 1])) sdsfree(d->lines[--d->line_count]);
    lua_sethook(luaVm(SCRIPT_EVAL), luaDebugHook, LUA_MASKLINE | LUA_MASKCOUNT, LUA_HOOK_PERIOD);
}

static void luaDebugEnd(struct scriptEngine *e) {
    (void)e;
    sdsfreesplitres(lua_debug.lines, lua_debug.line_count);
    lua_debug = (struct luaDebug){0};
    luaArmHook(luaVm(SCRIPT_EVAL));
}

const struct scriptDebugger lua_debugger = {
    .enable = luaDebugEnable, .disable = luaDebugDisable, .start = luaDebugStart, .end = luaDebugEnd};

/* ---- Output of the script ---- */

void luaDebugPrintCall(const struct str *argv, int argc) {
    if (!lua_debug.step) return;
    sds line = sdsnew("<command>");
    for (int i = 0; i < argc; i++) line = sdscatstr(sdscat(line, " "), argv[i]);
    debugLineTrimmed(line);
}

void luaDebugPrintReply(struct client *c, bool refused) {
    if (!lua_debug.step) return;
    sds bytes = replyChainToSds(c);
    struct respReply reply = {0};
    int64_t n = respReadReply(bytes, sdslen(bytes), &reply);
    serverAssert(n == (int64_t)sdslen(bytes));
    if (!refused) debugLineTrimmed(debugReplyText(sdsnew("<reply> "), &reply));
    if (reply.type == RESP_T_ERROR) {
        struct str text = reply.str;
        if (refused && text.len > 4 && !memcmp(text.ptr, "ERR ", 4)) text = strN(text.ptr + 4, text.len - 4);
        debugLineTrimmed(sdscatstr(sdsnew(refused ? "<error> " : "<error> -"), text));
    }
    respReplyFree(&reply);
    replyRaw(c, bytes, sdslen(bytes));
    sdsfree(bytes);
}

void luaDebugPrintValues(lua_State *L) {
    if (!debug_session.on) return;
    sds line = sdscatprintf(sdsempty(), "<debug> line %d: ", lua_debug.line);
    for (int i = 1, n = lua_gettop(L); i <= n; i++) {
        if (i > 1) line = sdscat(line, ", ");
        line = luaDebugAppendValue(line, L, i);
    }
    debugLineTrimmed(line);
}
