/* SPDX-License-Identifier: BSD-3-Clause */
/* lua_library.c - loading a library of functions in Lua (see lua_private.h).
 *
 * All libraries share an interpreter and its globals, which are read-only: a library keeps state in local
 * variables. While its text runs, the globals are others (luaSetVisibleGlobals): they have nothing but
 * `redis` and `server` with register_function and the log, so that loading depends on nothing and has no
 * effects. Functions get the usual globals when they are called.
 *
 * A library keeps its compiled text (its `whole`), because applications load their library each time they
 * start, mostly an unchanged one, and compiling takes most of that time. Running the compiled text again
 * makes the functions and local variables anew, like the text itself. */
#include <lauxlib.h>

#include "base/ticks.h"
#include "script/lua/lua_private.h"

#define CHUNKNAME        "@user_function"
#define LOAD_HOOK_PERIOD 10000 /* Lua instructions between two looks at the clock */

static struct scriptCompilation *loading; /* the library whose text runs, or NULL */
static const char *load_error;            /* the exact error for FUNCTION LOAD, or NULL */
static uint64_t load_end;                 /* ticks; 0: no limit */
static int load_globals;                  /* reference to the globals during loading */

/* ---- server.register_function, whose arguments are at these positions of the stack ---- */

enum { ARG_TABLE = 1, ARG_NAME, ARG_DESCRIPTION, ARG_CALLBACK, ARG_FLAGS, ARG_LAST = ARG_FLAGS };

static int luaLibraryRaise(lua_State *L, const char *message) {
    luaPushError(L, strOf(message), false);
    return lua_error(L);
}

static int luaLibraryRequireString(lua_State *L, int index, const char *message) {
    return lua_isstring(L, index) ? 0 : luaLibraryRaise(L, message);
}

/* Moves the value on top to the position of the argument that the name below it denotes. */
static void luaLibraryTakeNamed(lua_State *L, struct str key) {
    static const char *const names[] = {"function_name", "description", "callback", "flags"};
    for (int i = 0; i < 4; i++) {
        if (!strIs(key, names[i])) continue;
        lua_replace(L, ARG_NAME + i);
        return;
    }
    luaLibraryRaise(L, "ERR unknown argument given to server.register_function");
}

static void luaLibraryTakeTable(lua_State *L) {
    lua_settop(L, ARG_LAST);
    for (lua_pushnil(L); lua_next(L, ARG_TABLE);) {
        if (!lua_isstring(L, -2)) {
            luaLibraryRaise(L, "ERR named argument key given to server.register_function is not a string");
        }
        struct str key = {"", 0};
        if (lua_type(L, -2) == LUA_TSTRING) key.ptr = lua_tolstring(L, -2, &key.len);
        luaLibraryTakeNamed(L, key);
    }
}

static void luaLibraryCheckTable(lua_State *L) {
    if (!lua_isnil(L, ARG_NAME)) {
        luaLibraryRequireString(
            L, ARG_NAME, "ERR function_name argument given to server.register_function must be a string");
    }
    if (!lua_isnil(L, ARG_DESCRIPTION)) {
        luaLibraryRequireString(
            L, ARG_DESCRIPTION,
            "ERR description argument given to server.register_function must be a string");
    }
    if (!lua_isnil(L, ARG_CALLBACK) && !lua_isfunction(L, ARG_CALLBACK)) {
        luaLibraryRaise(L, "ERR callback argument given to server.register_function must be a function");
    }
    if (!lua_isnil(L, ARG_FLAGS) && !lua_istable(L, ARG_FLAGS)) {
        luaLibraryRaise(
            L, "ERR flags argument to server.register_function must be a table representing function flags");
    }
    if (lua_isnil(L, ARG_NAME)) {
        luaLibraryRaise(L, "ERR server.register_function must get a function name argument");
    }
    if (lua_isnil(L, ARG_CALLBACK))
        luaLibraryRaise(L, "ERR server.register_function must get a callback argument");
}

static void luaLibraryTakePositional(lua_State *L) {
    luaLibraryRequireString(L, 1, "ERR first argument to server.register_function must be a string");
    if (!lua_isfunction(L, 2)) {
        luaLibraryRaise(L, "ERR second argument to server.register_function must be a function");
    }
    lua_settop(L, ARG_LAST);
    lua_pushvalue(L, 2);
    lua_replace(L, ARG_CALLBACK);
    lua_pushvalue(L, 1);
    lua_replace(L, ARG_NAME);
    lua_pushnil(L);
    lua_replace(L, ARG_DESCRIPTION);
}

static void luaLibraryTakeArguments(lua_State *L) {
    int argc = lua_gettop(L);
    if (argc < 1 || argc > 2) luaLibraryRaise(L, "ERR wrong number of arguments to server.register_function");
    if (argc == 2) {
        luaLibraryTakePositional(L);
        return;
    }
    if (!lua_istable(L, 1)) {
        luaLibraryRaise(
            L, "ERR calling server.register_function with a single argument is only applicable to Lua table "
               "(representing named arguments).");
    }
    luaLibraryTakeTable(L);
    luaLibraryCheckTable(L);
}

static unsigned luaLibraryReadFlags(lua_State *L) {
    unsigned flags = SCRIPT_SHEBANG;
    if (lua_isnil(L, ARG_FLAGS)) return flags;
    for (int i = 1;; i++, lua_pop(L, 1)) {
        lua_rawgeti(L, ARG_FLAGS, i);
        if (lua_isnil(L, -1)) break;
        struct str name = {"", 0};
        if (lua_type(L, -1) == LUA_TSTRING) name.ptr = lua_tolstring(L, -1, &name.len);
        unsigned flag = scriptFlagByName(name, true);
        if (!flag) luaLibraryRaise(L, "ERR unknown flag given");
        flags |= flag;
    }
    lua_pop(L, 1);
    return flags;
}

static int luaLibraryRegisterFunction(lua_State *L) {
    if (!loading) {
        return luaLibraryRaise(L, "ERR server.register_function can only be called on FUNCTION LOAD command");
    }
    luaLibraryTakeArguments(L);
    struct scriptFunction f = {.flags = luaLibraryReadFlags(L)};
    f.name.ptr = lua_tolstring(L, ARG_NAME, &f.name.len);
    if (!lua_isnil(L, ARG_DESCRIPTION)) {
        f.description.ptr = lua_tolstring(L, ARG_DESCRIPTION, &f.description.len);
    }
    lua_pushvalue(L, ARG_CALLBACK);
    int callback = luaL_ref(L, LUA_REGISTRYINDEX);
    f.code = (uintptr_t)callback;
    const char *error = loading->add(loading, &f);
    if (!error) return 0;
    load_error = error;
    luaL_unref(L, LUA_REGISTRYINDEX, callback);
    return luaLibraryRaise(L, error);
}

/* ---- Running the text ---- */

void luaLibraryVmReady(lua_State *L) {
    lua_createtable(L, 0, 2);
    luaOpenLoadApi(L);
    lua_pushcfunction(L, luaLibraryRegisterFunction);
    lua_setfield(L, -2, "register_function");
    luaPushStrictMetatable(L);
    lua_setmetatable(L, -2);
    luaFreezeTable(L);
    lua_pushvalue(L, -1);
    lua_setfield(L, -3, "redis");
    lua_setfield(L, -2, "server");
    luaPushStrictMetatable(L);
    lua_setmetatable(L, -2);
    load_globals = luaL_ref(L, LUA_REGISTRYINDEX);
}

static void luaLibraryLimitHook(lua_State *L, lua_Debug *ar) {
    (void)ar;
    if (!load_end || ticksNow() < load_end) return;
    lua_sethook(L, luaLibraryLimitHook, LUA_MASKCOUNT, 1);
    lua_pushliteral(L, "FUNCTION LOAD timeout");
    lua_error(L);
}

static bool luaLibraryCallText(lua_State *L, sds *error) {
    bool ok = lua_pcall(L, 0, 0, SLOT_HANDLER) == 0;
    if (ok) return true;
    if (load_error) {
        *error = sdsnew(load_error);
        return false;
    }
    bool counted;
    sds text = luaErrorText(L, &counted);
    *error = sdscatprintf(sdsempty(), "ERR Error registering functions: %s", text);
    sdsfree(text);
    return false;
}

/* Pushes the compiled text. */
static bool luaLibraryPushChunk(lua_State *L, struct scriptCompilation *job) {
    if (job->before)
        lua_rawgeti(L, LUA_REGISTRYINDEX, (int)job->before);
    else if (!luaCompileText(L, job->text, CHUNKNAME))
        return false;
    lua_pushvalue(L, -1);
    job->whole = (uintptr_t)luaL_ref(L, LUA_REGISTRYINDEX);
    return true;
}

bool luaLibraryRun(struct scriptCompilation *job, sds *error) {
    lua_State *L = luaVm(SCRIPT_FUNCTION);
    luaVmMarkUsed(SCRIPT_FUNCTION);
    if (!luaLibraryPushChunk(L, job)) {
        *error = sdscatprintf(sdsempty(), "ERR Error compiling function: %s", lua_tostring(L, -1));
        lua_settop(L, SLOT_LAST);
        return false;
    }
    loading = job;
    load_error = NULL;
    load_end = job->limit_ms ? ticksNow() + (uint64_t)job->limit_ms * 1000 * ticks_per_us : 0;
    lua_sethook(L, luaLibraryLimitHook, LUA_MASKCOUNT, LOAD_HOOK_PERIOD);
    lua_rawgeti(L, LUA_REGISTRYINDEX, load_globals);
    luaSetVisibleGlobals(L);
    bool ok = luaLibraryCallText(L, error);
    loading = NULL;
    lua_settop(L, SLOT_LAST);
    lua_pushvalue(L, SLOT_GLOBALS);
    luaSetVisibleGlobals(L);
    luaArmHook(L);
    luaClearErrorPlace();
    return ok;
}
