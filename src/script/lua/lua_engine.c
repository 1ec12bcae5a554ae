/* SPDX-License-Identifier: BSD-3-Clause */
/* lua_engine.c - Lua as a scripting engine (command/script_engine.h; see lua_private.h).
 *
 * A script is compiled once to a function in the interpreter's registry; the reference to it is the script's
 * code. Lua calls the hook every LUA_HOOK_PERIOD instructions, which checks the time. To stop a script, the
 * hook raises an error, and from then on raises it at every instruction, so that no pcall() can continue. */
#include "script/lua/lua_engine.h"

#include <lauxlib.h>

#include "base/assert.h"
#include "base/log.h"
#include "base/zmalloc.h"
#include "command/command.h"
#include "command/modules.h"
#include "registry/info.h"
#include "script/lua/lua_debug.h"
#include "script/lua/lua_private.h"

#define SCRIPT_CHUNKNAME "@user_script"

#define LUA_ENGINE_ABI 4 /* the version that a module with this engine would register */

struct luaRun lua_run;

/* ---- Time limit ---- */

static void luaEngineRaiseKilled(lua_State *L, lua_Hook hook) {
    bool first = lua_gethookcount(lua_run.main) != 1;
    if (first) serverLog(LL_NOTICE, "The running script is ended by %s", scriptKillerName());
    lua_sethook(L, hook, LUA_MASKCOUNT, 1);
    lua_sethook(lua_run.main, hook, LUA_MASKCOUNT, 1);
    lua_pushfstring(L, "Script killed by user with %s.", scriptKillerName());
    lua_error(L);
}

static void luaEngineTimeHook(lua_State *L, lua_Debug *ar) {
    (void)ar;
    if (scriptTick()) luaEngineRaiseKilled(L, luaEngineTimeHook);
}

void luaArmHook(lua_State *L) {
    lua_sethook(L, luaEngineTimeHook, LUA_MASKCOUNT, LUA_HOOK_PERIOD);
}

/* ---- Errors ---- */

void luaClearErrorPlace(void) {
    sdsfree(lua_run.error_source);
    lua_run.error_source = NULL;
}

sds luaErrorText(lua_State *L, bool *counted) {
    *counted = false;
    if (lua_istable(L, -1)) {
        lua_pushvalue(L, SLOT_COUNTED);
        lua_rawget(L, -2);
        *counted = lua_toboolean(L, -1);
        lua_pop(L, 1);
        lua_pushvalue(L, SLOT_ERR);
        lua_rawget(L, -2);
        struct str err;
        if (lua_type(L, -1) != LUA_TSTRING) return sdsnew("ERR unknown error");
        err.ptr = lua_tolstring(L, -1, &err.len);
        return sdsnewstr(err);
    }
    if (lua_isboolean(L, -1)) return sdsnew(lua_toboolean(L, -1) ? "ERR true" : "ERR false");
    struct str text = STR("nil");
    if (lua_isstring(L, -1)) text.ptr = lua_tolstring(L, -1, &text.len);
    return sdscatstr(sdsnew("ERR "), text);
}

static void luaEngineReplyRunError(struct client *c, lua_State *L) {
    bool counted;
    sds text = luaErrorText(L, &counted);
    if (lua_run.error_source) {
        text = sdscatprintf(text, " script: on %s:%d.", lua_run.error_source, lua_run.error_line);
    }
    luaReplyError(c, sdsview(text), counted);
    sdsfree(text);
}

/* ---- Running ---- */

static void luaEnginePushStrings(lua_State *L, const struct str *values, int count) {
    lua_createtable(L, count, 0);
    for (int i = 0; i < count; i++) {
        lua_pushlstring(L, values[i].ptr, values[i].len);
        lua_rawseti(L, -2, i + 1);
    }
}

/* Passes keys and arguments to a script, in global variables. */
static int luaEnginePassAsGlobals(lua_State *L, const struct scriptCode *code, const struct client *c,
                                  int keys) {
    lua_pushvalue(L, SLOT_KEYS);
    luaEnginePushStrings(L, c->argv + 3, keys);
    lua_rawset(L, SLOT_GLOBALS);
    lua_pushvalue(L, SLOT_ARGV);
    luaEnginePushStrings(L, c->argv + 3 + keys, c->argc - 3 - keys);
    lua_rawset(L, SLOT_GLOBALS);
    lua_rawgeti(L, LUA_REGISTRYINDEX, (int)code->code);
    return 0;
}

/* Passes keys and arguments to a function, as its arguments. */
static int luaEnginePassAsArguments(lua_State *L, const struct scriptCode *code, const struct client *c,
                                    int keys) {
    lua_rawgeti(L, LUA_REGISTRYINDEX, (int)code->code);
    luaEnginePushStrings(L, c->argv + 3, keys);
    luaEnginePushStrings(L, c->argv + 3 + keys, c->argc - 3 - keys);
    return 2;
}

static void luaEngineRun(struct scriptEngine *e, struct client *c, const struct scriptCode *code, int keys) {
    (void)e;
    lua_State *L = lua_run.main = luaVm(code->kind);
    lua_run.repl = REPL_ALL;
    int argc = code->kind == SCRIPT_EVAL ? luaEnginePassAsGlobals(L, code, c, keys)
                                         : luaEnginePassAsArguments(L, code, c, keys);
    if (lua_pcall(L, argc, 1, SLOT_HANDLER) == 0)
        luaReplyValue(c, L);
    else
        luaEngineReplyRunError(c, L);
    lua_settop(L, SLOT_LAST);
    if (script_run.killed) luaArmHook(L);
    if (lua_run.error_source) luaClearErrorPlace();
    luaReplyCleanup();
    luaVmMarkUsed(code->kind);
}

/* ---- Compiling ---- */

static bool luaEngineCompileScript(struct scriptCompilation *job, sds *error) {
    lua_State *L = luaVm(SCRIPT_EVAL);
    if (!luaCompileText(L, job->text, SCRIPT_CHUNKNAME)) {
        *error =
            sdscatprintf(sdsempty(), "ERR Error compiling script (new function): %s", lua_tostring(L, -1));
        lua_pop(L, 1);
        return false;
    }
    struct scriptFunction f = {.code = (uintptr_t)luaL_ref(L, LUA_REGISTRYINDEX)};
    job->add(job, &f);
    return true;
}

static bool luaEngineCompile(struct scriptEngine *e, struct scriptCompilation *job, sds *error) {
    (void)e;
    return job->kind == SCRIPT_EVAL ? luaEngineCompileScript(job, error) : luaLibraryRun(job, error);
}

static void luaEngineRelease(struct scriptEngine *e, enum scriptKind kind, uintptr_t code) {
    (void)e;
    luaL_unref(luaVm(kind), LUA_REGISTRYINDEX, (int)code);
    luaVmMarkUsed(kind);
}

/* ---- The interpreters ---- */

static struct scriptMemory luaEngineMemory(struct scriptEngine *e, enum scriptKind kind) {
    (void)e;
    if (kind != SCRIPT_KINDS) return (struct scriptMemory){.used = luaVmMemory(kind)};
    return (struct scriptMemory){.used = luaVmMemory(SCRIPT_EVAL) + luaVmMemory(SCRIPT_FUNCTION)};
}

static void luaEngineCloseVm(void *vm) {
    lua_close(vm);
}

static struct scriptLeftover luaEngineReset(struct scriptEngine *e, enum scriptKind kind, bool async) {
    (void)e, (void)async;
    lua_State *old = luaVmReplace(kind);
    if (kind == SCRIPT_FUNCTION) luaLibraryVmReady(luaVm(kind));
    return (struct scriptLeftover){luaEngineCloseVm, old};
}

static const struct scriptEngineMethods methods = {.compile = luaEngineCompile,
                                                   .release = luaEngineRelease,
                                                   .run = luaEngineRun,
                                                   .memory = luaEngineMemory,
                                                   .reset = luaEngineReset,
                                                   .reset_releases = true,
                                                   .debugger = &lua_debugger};

static struct scriptEngine lua = {
    .name = "LUA", .module = "lua", .abi_version = LUA_ENGINE_ABI, .methods = &methods};

/* ---- The engine as a built-in module that can be unloaded ---- */

static bool luaEngineUnload(void);
static struct listedModule listed = {.name = "lua", .path = "lua", .version = 1, .end = luaEngineUnload};

/* Unloads the engine. It fails while a script runs, and if the engine was removed earlier by other means; it
 * stays in the list of modules then. */
static bool luaEngineUnload(void) {
    bool runs = script_run.name && script_run.engine == &lua;
    if (runs || scriptEngineByName(strOf(lua.name)) != &lua) return false;
    scriptEngineRemove(&lua);
    for (int kind = 0; kind < SCRIPT_KINDS; kind++) luaVmClose((enum scriptKind)kind);
    modulesListRemove(&listed);
    return true;
}

static sds luaEngineModulesInfo(sds s) {
    if (modulesListFind(strOf(listed.name)) != &listed) return s;
    return infoField(s, "module:name=lua,ver=1,api=1,filters=0,usedby=[],using=[],"
                        "options=[handle-repl-async-load|handle-atomic-slot-migration]");
}

void luaEngineInit(void) {
    luaVmInit();
    infoRegister("modules", luaEngineModulesInfo);
}

void luaEngineStart(void) {
    if (scriptEngineByName(strOf(lua.name))) return;
    for (int kind = 0; kind < SCRIPT_KINDS; kind++) luaEngineReset(&lua, (enum scriptKind)kind, false);
    scriptEngineAdd(&lua);
    modulesListAdd(&listed);
    serverLog(LL_NOTICE, "The built-in module '%s' is loaded", listed.name);
    if (!luaHasJson() || !luaHasBit())
        serverLog(LL_WARNING, "WARNING This build had no %s: scripts that use %s will fail.",
                  luaHasJson()  ? "lua-bitop"
                  : luaHasBit() ? "lua-cjson"
                                : "lua-cjson and no lua-bitop",
                  luaHasJson()  ? "bit"
                  : luaHasBit() ? "cjson"
                                : "cjson or bit");
}
