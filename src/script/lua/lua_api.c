/* SPDX-License-Identifier: BSD-3-Clause */
/* lua_api.c - functions that scripts call: redis.*, and server.* as the same table.
 *
 * A command's arguments are views of the Lua strings on the caller's stack; numbers are printed into a
 * buffer. The command runs as the fake client, whose reply becomes a Lua value. A refusal is replied by the
 * fake client like the error of a failing command, so all errors take the same way. */
#include <lauxlib.h>
#include <math.h>
#include <stdio.h>

#include "acl/acl.h"
#include "base/assert.h"
#include "base/log.h"
#include "base/num.h"
#include "base/sha1.h"
#include "base/version.h"
#include "base/zmalloc.h"
#include "client/reply.h"
#include "command/call.h"
#include "command/command.h"
#include "command/propagate.h"
#include "script/lua/lua_debug.h"
#include "script/lua/lua_private.h"

#define NUMBER_TEXT_SIZE 40
#define EXACT_INTEGERS   1e17 /* below this %.17g prints integers with all their digits */

/* ---- Errors ---- */

/* Raises {err = ...}. The error is counted when it reaches the client. */
static int luaApiRaise(lua_State *L, const char *message) {
    luaPushError(L, strOf(message), false);
    return lua_error(L);
}

/* ---- Arguments ---- */

struct luaArguments {
    struct str *argv;
    char (*numbers)[NUMBER_TEXT_SIZE];
    int cap;
};
static struct luaArguments arguments;

static void luaApiReserveArguments(int argc) {
    if (argc <= arguments.cap) return;
    arguments.cap = argc + 16;
    arguments.argv = zrealloc(arguments.argv, (size_t)arguments.cap * sizeof *arguments.argv);
    arguments.numbers = zrealloc(arguments.numbers, (size_t)arguments.cap * sizeof *arguments.numbers);
}

/* Prints like %.17g, but fast for integers. */
static unsigned luaApiPrintNumber(char *dst, double n) {
    if (n == floor(n) && fabs(n) < EXACT_INTEGERS && !(n == 0 && signbit(n))) {
        return ll2string(dst, (int64_t)n);
    }
    return (unsigned)snprintf(dst, NUMBER_TEXT_SIZE, "%.17g", n);
}

/* Takes the Lua arguments as a command. Returns NULL, or an error. */
static const char *luaApiTakeArguments(lua_State *L, int argc) {
    if (argc == 0) return "ERR Please specify at least one argument for this call";
    luaApiReserveArguments(argc);
    for (int i = 0; i < argc; i++) {
        struct str *arg = &arguments.argv[i];
        int type = lua_type(L, i + 1);
        if (type == LUA_TSTRING) {
            arg->ptr = lua_tolstring(L, i + 1, &arg->len);
        } else if (type == LUA_TNUMBER) {
            arg->ptr = arguments.numbers[i];
            arg->len = luaApiPrintNumber(arguments.numbers[i], lua_tonumber(L, i + 1));
        } else {
            return "ERR Command arguments must be strings or integers";
        }
    }
    return NULL;
}

/* ---- Running commands ---- */

/* Returns PROPAGATED_NOT_TO_... */
static uint8_t luaApiExcludedSinks(int repl) {
    return (repl & REPL_AOF ? 0 : PROPAGATED_NOT_TO_FILES) |
           (repl & REPL_REPLICA ? 0 : PROPAGATED_NOT_TO_REPLICAS);
}

/* Runs the command and leaves its reply or an error in the client's chain. Returns false if
 * it was refused. */
static bool luaApiRunCommand(struct client *c, int argc) {
    struct request r = {.argv = arguments.argv, .argc = argc, .cmd = commandLookup(arguments.argv, argc)};
    bool writes = r.cmd && r.cmd->flags & CMD_WRITE;
    r.unpropagated = writes && lua_run.repl == REPL_NONE;
    if (writes && !r.unpropagated) r.exclude = luaApiExcludedSinks(lua_run.repl);
    bool ran = commandRun(c, &r, ORIGIN_SCRIPT);
    if (ran && writes) script_run.wrote = true;
    return ran;
}

/* Runs the command and prints it and its reply in a debugging session. */
static void luaApiRunDebugged(struct client *c, int argc) {
    luaDebugPrintCall(arguments.argv, argc);
    bool ran = luaApiRunCommand(c, argc);
    luaDebugPrintReply(c, !ran);
}

/* Pushes the reply; returns true if it is an error. */
static bool luaApiCallCommand(lua_State *L) {
    serverAssert(script_run.name);
    struct client *c = script_run.client;
    int argc = lua_gettop(L);
    if (c->out.head) replyFreeChain(c); /* Lua ran out of memory with the last reply */
    const char *error = luaApiTakeArguments(L, argc);
    if (error)
        replyError(c, error);
    else if (__builtin_expect(debug_session.on, 0))
        luaApiRunDebugged(c, argc);
    else
        luaApiRunCommand(c, argc);
    lua_settop(L, 0); /* many arguments (unpack) would leave no stack for the reply */
    return luaPushReply(L, c);
}

static int luaApiCall(lua_State *L) {
    return luaApiCallCommand(L) ? lua_error(L) : 1;
}

int luaApiPcall(lua_State *L) {
    luaApiCallCommand(L);
    return 1;
}

static int luaApiAclCheckCmd(lua_State *L) {
    const char *error = luaApiTakeArguments(L, lua_gettop(L));
    if (error) return luaApiRaise(L, error);
    int argc = lua_gettop(L);
    struct request r = {.argv = arguments.argv, .argc = argc, .cmd = commandLookup(arguments.argv, argc)};
    if (!r.cmd) return luaApiRaise(L, "ERR Invalid command passed to server.acl_check_cmd()");
    lua_pushboolean(L, aclMayRun(script_run.client, &r));
    return 1;
}

/* ---- Making replies ---- */

static bool luaApiOneString(lua_State *L, struct str *s) {
    if (lua_gettop(L) != 1 || lua_type(L, 1) != LUA_TSTRING) {
        luaPushError(L, STR("ERR wrong number or type of arguments"), false);
        return false;
    }
    s->ptr = lua_tolstring(L, 1, &s->len);
    return true;
}

static int luaApiErrorReply(lua_State *L) {
    struct str text;
    if (luaApiOneString(L, &text)) luaPushError(L, text, false);
    return 1;
}

static int luaApiStatusReply(lua_State *L) {
    struct str text;
    if (!luaApiOneString(L, &text)) return 1;
    lua_createtable(L, 0, 1);
    lua_pushvalue(L, 1);
    lua_setfield(L, -2, "ok");
    return 1;
}

/* ---- Other functions ---- */

static int luaApiSha1hex(lua_State *L) {
    if (lua_gettop(L) != 1) return luaApiRaise(L, "ERR wrong number of arguments");
    size_t len;
    const char *s = lua_tolstring(L, 1, &len);
    char hex[41];
    sha1Hex(hex, s ? s : "", s ? len : 0);
    lua_pushlstring(L, hex, 40);
    return 1;
}

static int luaApiLog(lua_State *L) {
    int argc = lua_gettop(L);
    if (argc < 2) return luaApiRaise(L, "ERR server.log() requires two arguments or more.");
    if (!lua_isnumber(L, 1)) return luaApiRaise(L, "ERR First argument must be a number (log level).");
    double level = lua_tonumber(L, 1);
    if (!(level >= LL_DEBUG && level <= LL_WARNING)) return luaApiRaise(L, "ERR Invalid log level.");
    sds line = sdsempty();
    for (int i = 2; i <= argc; i++) {
        size_t len;
        const char *s = lua_tolstring(L, i, &len);
        if (!s) continue;
        if (i > 2) line = sdscatlen(line, " ", 1);
        line = sdscatlen(line, s, len);
    }
    serverLog((int)level, "%s", line);
    sdsfree(line);
    return 0;
}

static int luaApiSetresp(lua_State *L) {
    if (lua_gettop(L) != 1) return luaApiRaise(L, "ERR server.setresp() requires one argument.");
    double version = lua_tonumber(L, 1);
    if (version != 2 && version != 3) return luaApiRaise(L, "ERR RESP version must be 2 or 3.");
    script_run.client->resp = (uint8_t)version;
    return 0;
}

static int luaApiSetRepl(lua_State *L) {
    if (lua_gettop(L) != 1) return luaApiRaise(L, "ERR server.set_repl() requires one argument.");
    double flags = lua_tonumber(L, 1);
    if (!(flags >= REPL_NONE && flags <= REPL_ALL)) {
        return luaApiRaise(
            L, "ERR Invalid replication flags. Use REPL_AOF, REPL_REPLICA, REPL_ALL or REPL_NONE.");
    }
    lua_run.repl = (int)flags;
    return 0;
}

/* Always true: scripts are always replicated by their effects. */
static int luaApiReplicateCommands(lua_State *L) {
    lua_pushboolean(L, true);
    return 1;
}

/* Returns true to the script if a debugger stops at the next line. */
static int luaApiBreakpoint(lua_State *L) {
    lua_debug.stop_at_next = debug_session.on;
    lua_pushboolean(L, debug_session.on);
    return 1;
}

static int luaApiDebug(lua_State *L) {
    luaDebugPrintValues(L);
    return 0;
}

/* ---- The table ---- */

static int luaApiVersionNumber(const char *version) {
    int major = 0, minor = 0, patch = 0;
    int fields = sscanf(version, "%d.%d.%d", &major, &minor, &patch);
    serverAssert(fields == 3);
    return major << 16 | minor << 8 | patch;
}

/* Adds what every table has: the log and the versions. */
static void luaApiAddLogAndVersions(lua_State *L) {
    static const struct {
        const char *name;
        int value;
    } numbers[] = {{"LOG_DEBUG", LL_DEBUG},
                   {"LOG_VERBOSE", LL_VERBOSE},
                   {"LOG_NOTICE", LL_NOTICE},
                   {"LOG_WARNING", LL_WARNING},
                   {"VALKEY_VERSION_NUM", VALKEY_VERSION_NUM}};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        lua_pushinteger(L, numbers[i].value);
        lua_setfield(L, -2, numbers[i].name);
    }
    lua_pushinteger(L, luaApiVersionNumber(REDIS_VERSION));
    lua_setfield(L, -2, "REDIS_VERSION_NUM");
    lua_pushliteral(L, REDIS_VERSION);
    lua_setfield(L, -2, "REDIS_VERSION");
    lua_pushliteral(L, VALKEY_VERSION);
    lua_setfield(L, -2, "VALKEY_VERSION");
    lua_pushliteral(L, SERVER_NAME);
    lua_setfield(L, -2, "SERVER_NAME");
    lua_pushcfunction(L, luaApiLog);
    lua_setfield(L, -2, "log");
}

static void luaApiAddReplicationFlags(lua_State *L) {
    static const struct {
        const char *name;
        int value;
    } flags[] = {{"REPL_NONE", REPL_NONE},
                 {"REPL_AOF", REPL_AOF},
                 {"REPL_SLAVE", REPL_REPLICA},
                 {"REPL_REPLICA", REPL_REPLICA},
                 {"REPL_ALL", REPL_ALL}};
    for (size_t i = 0; i < sizeof flags / sizeof *flags; i++) {
        lua_pushinteger(L, flags[i].value);
        lua_setfield(L, -2, flags[i].name);
    }
}

void luaOpenLoadApi(lua_State *L) {
    lua_createtable(L, 0, 16);
    luaApiAddLogAndVersions(L);
}

void luaOpenApi(lua_State *L, enum scriptKind kind) {
    static const luaL_Reg functions[] = {{"call", luaApiCall},
                                         {"pcall", luaApiPcall},
                                         {"acl_check_cmd", luaApiAclCheckCmd},
                                         {"error_reply", luaApiErrorReply},
                                         {"status_reply", luaApiStatusReply},
                                         {"sha1hex", luaApiSha1hex},
                                         {"setresp", luaApiSetresp},
                                         {"set_repl", luaApiSetRepl},
                                         {NULL, NULL}};
    static const luaL_Reg of_scripts[] = {{"replicate_commands", luaApiReplicateCommands},
                                          {"breakpoint", luaApiBreakpoint},
                                          {"debug", luaApiDebug},
                                          {NULL, NULL}};
    lua_createtable(L, 0, 32);
    luaL_register(L, NULL, functions);
    if (kind == SCRIPT_EVAL) luaL_register(L, NULL, of_scripts);
    luaApiAddLogAndVersions(L);
    luaApiAddReplicationFlags(L);
}
