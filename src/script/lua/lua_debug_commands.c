/* SPDX-License-Identifier: BSD-3-Clause */
/* lua_debug_commands.c - requests of the client in a debugging session. Part of lua_debug.h. */
#include <lauxlib.h>
#include <stdlib.h>

#include "base/num.h"
#include "script/lua/lua_debug.h"

#define LIST_CONTEXT 5

/* A request. Returns true if the script shall continue. */
typedef bool debugCommand(lua_State *L, sds *argv, int argc);

static bool luaDebugCommandsStep(lua_State *L, sds *argv, int argc) {
    (void)L, (void)argv, (void)argc;
    lua_debug.step = true;
    return true;
}

static bool luaDebugCommandsContinue(lua_State *L, sds *argv, int argc) {
    (void)L, (void)argv, (void)argc;
    return true;
}

static bool luaDebugCommandsAbort(lua_State *L, sds *argv, int argc) {
    (void)L, (void)argv, (void)argc;
    debug_session.abort_reason = "script aborted for user request";
    return true;
}

/* ---- Source ---- */

static void luaDebugCommandsListAround(int64_t line, int64_t context) {
    for (int i = 1; i <= lua_debug.line_count; i++) {
        if (i >= line - context && i <= line + context) luaDebugPrintLine(i);
    }
}

static bool luaDebugCommandsList(lua_State *L, sds *argv, int argc) {
    (void)L;
    int64_t line = argc > 1 ? atoi(argv[1]) : 0, context = argc > 2 ? atoi(argv[2]) : LIST_CONTEXT;
    luaDebugCommandsListAround(line ? line : lua_debug.line, context);
    return false;
}

static bool luaDebugCommandsWhole(lua_State *L, sds *argv, int argc) {
    (void)L, (void)argv, (void)argc;
    luaDebugCommandsListAround(1, lua_debug.line_count);
    return false;
}

/* ---- Breakpoints ---- */

static void luaDebugCommandsAddBreakpoint(int64_t line) {
    struct luaDebug *d = &lua_debug;
    if (d->breakpoint_count == DEBUG_BREAKPOINTS_MAX) {
        debugLine("Too many breakpoints set.");
    } else if (line > d->line_count || luaDebugIsBreakpoint((int)line)) {
        debugLine("Wrong line number.");
    } else {
        d->breakpoints[d->breakpoint_count++] = (int)line;
        luaDebugCommandsListAround(line, 1);
    }
}

static void luaDebugCommandsRemoveBreakpoint(int64_t line) {
    struct luaDebug *d = &lua_debug;
    for (int i = 0; i < d->breakpoint_count; i++) {
        if (d->breakpoints[i] != line) continue;
        d->breakpoints[i] = d->breakpoints[--d->breakpoint_count];
        debugLine("Breakpoint removed.");
        return;
    }
    debugLine("No breakpoint in the specified line.");
}

static void luaDebugCommandsListBreakpoints(void) {
    const struct luaDebug *d = &lua_debug;
    if (!d->breakpoint_count) {
        debugLine("No breakpoints set. Use 'b <line>' to add one.");
        return;
    }
    debugLine("%d breakpoints set:", d->breakpoint_count);
    for (int i = 0; i < d->breakpoint_count; i++) luaDebugPrintLine(d->breakpoints[i]);
}

static bool luaDebugCommandsBreak(lua_State *L, sds *argv, int argc) {
    (void)L;
    if (argc == 1) luaDebugCommandsListBreakpoints();
    for (int i = 1; i < argc; i++) {
        int64_t line;
        if (!string2ll(sdsview(argv[i]), &line)) {
            debugLine("Invalid argument:'%s'", argv[i]);
        } else if (line == 0) {
            lua_debug.breakpoint_count = 0;
            debugLine("All breakpoints removed.");
        } else if (line > 0) {
            luaDebugCommandsAddBreakpoint(line);
        } else {
            luaDebugCommandsRemoveBreakpoint(-line);
        }
    }
    return false;
}

/* ---- Values ---- */

/* Prints the value on top, after a name if there is one, and pops it. */
static void luaDebugCommandsShowValue(lua_State *L, const char *name) {
    sds line = sdsnew("<value> ");
    if (name) line = sdscatprintf(line, "%s = ", name);
    debugLineTrimmed(luaDebugAppendValue(line, L, -1));
    lua_pop(L, 1);
}

static bool luaDebugCommandsShowLocal(lua_State *L, const char *wanted) {
    lua_Debug ar;
    for (int level = 0; lua_getstack(L, level, &ar); level++) {
        const char *name;
        for (int i = 1; (name = lua_getlocal(L, &ar, i)); i++) {
            if (!strcmp(name, wanted)) {
                luaDebugCommandsShowValue(L, NULL);
                return true;
            }
            lua_pop(L, 1);
        }
    }
    return false;
}

static bool luaDebugCommandsShowGlobal(lua_State *L, const char *wanted) {
    if (strcmp(wanted, "KEYS") && strcmp(wanted, "ARGV")) return false;
    lua_getglobal(L, wanted);
    luaDebugCommandsShowValue(L, NULL);
    return true;
}

static void luaDebugCommandsShowAllLocals(lua_State *L) {
    lua_Debug ar;
    const char *name;
    bool any = false;
    if (!lua_getstack(L, 0, &ar)) return;
    for (int i = 1; (name = lua_getlocal(L, &ar, i)); i++) {
        if (!strcmp(name, "(*temporary)")) {
            lua_pop(L, 1);
            continue;
        }
        luaDebugCommandsShowValue(L, name);
        any = true;
    }
    if (!any) debugLine("No local variables in the current context.");
}

static bool luaDebugCommandsPrint(lua_State *L, sds *argv, int argc) {
    if (argc == 1)
        luaDebugCommandsShowAllLocals(L);
    else if (!luaDebugCommandsShowLocal(L, argv[1]) && !luaDebugCommandsShowGlobal(L, argv[1]))
        debugLine("No such variable.");
    return false;
}

static bool luaDebugCommandsTrace(lua_State *L, sds *argv, int argc) {
    (void)argv, (void)argc;
    lua_Debug ar;
    for (int level = 0; lua_getstack(L, level, &ar); level++) {
        lua_getinfo(L, "Snl", &ar);
        if (!strstr(ar.short_src, "user_script")) continue;
        debugLine("%s %s:", level ? "From" : "In", ar.name ? ar.name : "top level");
        luaDebugPrintLine(ar.currentline);
    }
    return false;
}

static void luaDebugCommandsShowError(lua_State *L) {
    bool counted;
    sds text = luaErrorText(L, &counted);
    const char *words = strncmp(text, "ERR ", 4) ? text : text + 4;
    debugLine("<error> %s", words);
    sdsfree(text);
}

static sds luaDebugCommandsJoin(sds *words, int count) {
    sds s = sdsempty();
    for (int i = 0; i < count; i++) s = sdscatstr(i ? sdscat(s, " ") : s, sdsview(words[i]));
    return s;
}

/* Evaluates an expression, or runs statements. */
static bool luaDebugCommandsEval(lua_State *L, sds *argv, int argc) {
    int top = lua_gettop(L);
    sds code = luaDebugCommandsJoin(argv + 1, argc - 1),
        expression = sdscatstr(sdsnew("return "), sdsview(code));
    bool ok = luaCompileText(L, sdsview(expression), "@ldb_eval");
    if (!ok) {
        lua_pop(L, 1);
        ok = luaCompileText(L, sdsview(code), "@ldb_eval");
    }
    sdsfree(code);
    sdsfree(expression);
    if (ok && lua_pcall(L, 0, 1, 0) == 0)
        debugLineTrimmed(luaDebugAppendValue(sdsnew("<retval> "), L, -1));
    else
        luaDebugCommandsShowError(L);
    lua_settop(L, top);
    return false;
}

/* Runs a command. It is printed like commands of the script. */
static bool luaDebugCommandsRedis(lua_State *L, sds *argv, int argc) {
    int top = lua_gettop(L);
    if (!lua_checkstack(L, argc + 2)) return false;
    lua_pushcfunction(L, luaApiPcall);
    for (int i = 1; i < argc; i++) lua_pushlstring(L, argv[i], sdslen(argv[i]));
    lua_debug.step = true;
    if (lua_pcall(L, argc - 1, 1, 0)) luaDebugCommandsShowError(L);
    lua_debug.step = false;
    lua_settop(L, top);
    return false;
}

static bool luaDebugCommandsMaxlen(lua_State *L, sds *argv, int argc) {
    (void)L;
    debugMaxlen(argv, argc);
    return false;
}

static bool luaDebugCommandsHelp(lua_State *L, sds *argv, int argc) {
    (void)L, (void)argv, (void)argc;
    static const char *const lines[] = {
        "The debugger of scripts. A command may be shortened to its first letter.",
        "help                this text",
        "step, next          run this line, and stop at the one that comes",
        "continue            run on to a breakpoint or the end",
        "abort               end the script with an error",
        "list [line [n]]     source around this or another line, n lines on both sides",
        "whole               all of the source",
        "print [name]        local variables, or one of them, or KEYS or ARGV",
        "trace               which function was called from where",
        "eval <code>         run Lua code, which sees globals only",
        "valkey <command>    run a command (or: redis, server)",
        "break               list breakpoints",
        "break <line>        set one; -<line> removes it, 0 removes all",
        "maxlen [n]          cut lines after n bytes, 0: never",
        "In a script, redis.breakpoint() stops at the next line, redis.debug(...) shows values."};
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) debugLine("%s", lines[i]);
    return false;
}

/* ---- The loop ---- */

static debugCommand *luaDebugCommandsFindCommand(const char *word, int argc) {
    static const struct {
        const char *name;
        int min_argc, max_argc; /* max 0: any number */
        debugCommand *run;
    } commands[] = {{"help", 1, 1, luaDebugCommandsHelp},     {"step", 1, 1, luaDebugCommandsStep},
                    {"next", 1, 1, luaDebugCommandsStep},     {"continue", 1, 1, luaDebugCommandsContinue},
                    {"abort", 1, 1, luaDebugCommandsAbort},   {"list", 1, 3, luaDebugCommandsList},
                    {"whole", 1, 1, luaDebugCommandsWhole},   {"print", 1, 2, luaDebugCommandsPrint},
                    {"trace", 1, 1, luaDebugCommandsTrace},   {"eval", 2, 0, luaDebugCommandsEval},
                    {"redis", 2, 0, luaDebugCommandsRedis},   {"break", 1, 0, luaDebugCommandsBreak},
                    {"maxlen", 1, 2, luaDebugCommandsMaxlen}, {"valkey", 2, 0, luaDebugCommandsRedis},
                    {"server", 2, 0, luaDebugCommandsRedis}};
    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++) {
        bool named = !strcasecmp(word, commands[i].name) ||
                     (word[0] && !word[1] && (word[0] | 32) == commands[i].name[0]);
        bool fits = argc >= commands[i].min_argc && (!commands[i].max_argc || argc <= commands[i].max_argc);
        if (named && fits) return commands[i].run;
    }
    return NULL;
}

static bool luaDebugCommandsServeOne(lua_State *L, sds *argv, int argc) {
    debugCommand *run = luaDebugCommandsFindCommand(argv[0], argc);
    if (!run) debugUnknown();
    if (run && run(L, argv, argc)) return true;
    debugSend();
    return false;
}

void luaDebugServe(lua_State *L) {
    bool go_on = false;
    while (!go_on) {
        int argc;
        sds *argv = debugReadRequest(&argc);
        if (!argv) return;
        go_on = argc > 0 && luaDebugCommandsServeOne(L, argv, argc);
        sdsfreesplitres(argv, argc);
    }
}
