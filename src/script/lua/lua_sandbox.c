/* SPDX-License-Identifier: BSD-3-Clause */
/* lua_sandbox.c - making an interpreter, and its sandbox.
 *
 * Lua 5.1 has no read-only tables, so scripts get views of tables:
 *
 *     view {}  --metatable-->  { __index = real table, __newindex = refuse, [frozen_key] = real table }
 *
 * A view is empty: reads fall through to the real table, writes are refused. The base functions that bypass
 * metatables (rawget, next, pairs, ...) are replaced by functions that handle views; those that would write
 * refuse. No script can reach a real table: getmetatable hides the metatable of a view, and pairs returns
 * the view. The globals are a view, too, which is the environment of every chunk.
 *
 * Globals are listed by name. What is not listed here does not exist. */
#include <lauxlib.h>
#include <limits.h>
#include <lualib.h>
#include <math.h>
#include <stdlib.h>

#include "base/assert.h"
#include "base/random.h"
#include "base/zmalloc.h"
#include "script/lua/lua_private.h"

static const char readonly_message[] = "Attempt to modify a readonly table";
/* Elements that one call of a library function may visit, during which SCRIPT KILL has no effect: about a
 * second. A table with elements at powers of two only counts as one of a billion. */
#define ELEMENTS_MAX (1 << 26)
/* Maximal bytes of a chunk, since the compiler counts some things in an int. */
#define CHUNK_MAX ((size_t)512 * 1024 * 1024)

static const char chunk_too_long[] = "chunk has too many bytes";

static char frozen_key, shown_key; /* their addresses are keys in the metatables of views */

/* The original functions, called with the caller's arguments unchanged. */
static lua_CFunction stock_rawget, stock_rawset, stock_setmetatable, stock_getmetatable, stock_insert,
    stock_remove, stock_foreach, stock_foreachi, stock_xpcall;

/* ---- Views ---- */

/* Pushes the value of `key`, one of the addresses above, in a table's metatable. Returns false if
 * there is none. */
static bool luaSandboxPushHidden(lua_State *L, int index, void *key) {
    if (!lua_istable(L, index) || !lua_getmetatable(L, index)) return false;
    lua_pushlightuserdata(L, key);
    lua_rawget(L, -2);
    lua_remove(L, -2);
    if (!lua_isnil(L, -1)) return true;
    lua_pop(L, 1);
    return false;
}

static bool luaSandboxIsFrozen(lua_State *L, int index) {
    if (!luaSandboxPushHidden(L, index, &frozen_key)) return false;
    lua_pop(L, 1);
    return true;
}

/* Replaces argument `index`, if it is a view, by the real table. */
static void luaSandboxUnfreeze(lua_State *L, int index) {
    if (luaSandboxPushHidden(L, index, &frozen_key)) lua_replace(L, index);
}

static int luaSandboxRefuseWrite(lua_State *L) {
    return luaL_error(L, readonly_message);
}

void luaFreezeTable(lua_State *L) {
    lua_newtable(L);
    lua_createtable(L, 0, 4);
    lua_pushvalue(L, -3);
    lua_setfield(L, -2, "__index");
    lua_pushcfunction(L, luaSandboxRefuseWrite);
    lua_setfield(L, -2, "__newindex");
    lua_pushlightuserdata(L, &frozen_key);
    lua_pushvalue(L, -4);
    lua_rawset(L, -3);
    lua_setmetatable(L, -2);
    lua_remove(L, -2);
}

/* Sets what getmetatable() returns for the view below the top to the value on top, and pops that. */
static void luaSandboxSetShownMetatable(lua_State *L) {
    lua_getmetatable(L, -2);
    lua_pushlightuserdata(L, &shown_key);
    lua_pushvalue(L, -3);
    lua_rawset(L, -3);
    lua_pop(L, 2);
}

/* ---- Base functions that handle views ---- */

/* Raises the error as Lua itself would, without the position that luaL_error adds. */
static int luaSandboxRefuseFrozen(lua_State *L) {
    lua_pushstring(L, readonly_message);
    return lua_error(L);
}

static int luaSandboxBaseRawget(lua_State *L) {
    luaSandboxUnfreeze(L, 1);
    return stock_rawget(L);
}

static int luaSandboxBaseRawset(lua_State *L) {
    return luaSandboxIsFrozen(L, 1) ? luaSandboxRefuseFrozen(L) : stock_rawset(L);
}

static int luaSandboxBaseSetmetatable(lua_State *L) {
    return luaSandboxIsFrozen(L, 1) ? luaSandboxRefuseFrozen(L) : stock_setmetatable(L);
}

static int luaSandboxBaseGetmetatable(lua_State *L) {
    if (!luaSandboxIsFrozen(L, 1)) return stock_getmetatable(L);
    if (!luaSandboxPushHidden(L, 1, &shown_key)) lua_pushnil(L);
    return 1;
}

static int luaSandboxBaseNext(lua_State *L) {
    luaL_checktype(L, 1, LUA_TTABLE);
    luaSandboxUnfreeze(L, 1);
    lua_settop(L, 2);
    if (lua_next(L, 1)) return 2;
    lua_pushnil(L);
    return 1;
}

static int luaSandboxBasePairs(lua_State *L) {
    luaL_checktype(L, 1, LUA_TTABLE);
    lua_pushcfunction(L, luaSandboxBaseNext);
    lua_pushvalue(L, 1);
    lua_pushnil(L);
    return 3;
}

/* ---- Library functions with limits ---- */

/* Computes the number of results without overflow. */
static int luaSandboxBaseUnpack(lua_State *L) {
    luaL_checktype(L, 1, LUA_TTABLE);
    int first = luaL_optint(L, 2, 1), last = luaL_opt(L, luaL_checkint, 3, luaL_getn(L, 1));
    int64_t n = (int64_t)last - first + 1;
    if (n <= 0) return 0;
    if (n >= INT_MAX || !lua_checkstack(L, (int)n)) return luaL_error(L, "too many results to unpack");
    for (int64_t i = first; i <= last; i++) lua_rawgeti(L, 1, (int)i);
    return (int)n;
}

/* The elements from the position in argument 2 on are moved one by one. A position beyond an int would be
 * read as a negative one. */
static int luaSandboxTableInsert(lua_State *L) {
    if (luaSandboxIsFrozen(L, 1)) return luaSandboxRefuseFrozen(L);
    bool far = false;
    if (lua_gettop(L) == 3 && lua_istable(L, 1) && lua_isnumber(L, 2)) {
        double position = lua_tonumber(L, 2);
        far = !(position <= INT_MAX && luaL_getn(L, 1) - position <= ELEMENTS_MAX);
    }
    return far ? luaL_argerror(L, 2, "position out of bounds") : stock_insert(L);
}

static int luaSandboxTableRemove(lua_State *L) {
    bool far =
        lua_istable(L, 1) && lua_tonumber(L, 2) >= 1 && luaL_getn(L, 1) - lua_tonumber(L, 2) > ELEMENTS_MAX;
    return far ? luaL_argerror(L, 2, "position out of bounds") : stock_remove(L);
}

static int luaSandboxTableForeachi(lua_State *L) {
    bool far = lua_istable(L, 1) && luaL_getn(L, 1) > ELEMENTS_MAX;
    return far ? luaL_argerror(L, 1, "table is too large") : stock_foreachi(L);
}

static int luaSandboxTableForeach(lua_State *L) {
    luaSandboxUnfreeze(L, 1);
    return stock_foreach(L);
}

/* If the error is a table of the server, pcall returns its text, as scripts expect. */
static int luaSandboxBasePcall(lua_State *L) {
    int argc = lua_gettop(L);
    lua_pushboolean(L, true);
    lua_insert(L, 1);
    if (lua_pcall(L, argc - 1, LUA_MULTRET, 0) == 0) return lua_gettop(L);
    if (lua_istable(L, -1)) {
        lua_pushliteral(L, "err");
        lua_rawget(L, -2);
        if (!lua_isstring(L, -1)) lua_pop(L, 1);
    }
    lua_pushboolean(L, false);
    lua_insert(L, -2);
    return 2;
}

/* Calls the handler of xpcall, but not for a script that is being killed: handlers run while hooks are off,
 * so this one could run forever. */
static int luaSandboxCallHandler(lua_State *L) {
    if (script_run.killed) return 1;
    lua_pushvalue(L, lua_upvalueindex(1));
    lua_insert(L, 1);
    lua_call(L, 1, 1);
    return 1;
}

#define HANDLER_DEPTH 3 /* levels: luaSandboxCallHandler, what raised the error, its caller */

/* The error handler for xpcall: returns the error as a table with the position in the script. The field
 * `err` of a table is kept; other values are converted to text. */
static int luaSandboxErrorHandler(lua_State *L) {
    lua_Debug ar;
    lua_settop(L, 1);
    if (!lua_istable(L, 1)) {
        lua_newtable(L);
        const char *text =
            lua_isboolean(L, 1) ? (lua_toboolean(L, 1) ? "true" : "false") : lua_tostring(L, 1);
        lua_pushfstring(L, "ERR %s", text ? text : "nil");
        lua_setfield(L, 2, "err");
    }
    for (int level = 1; level <= HANDLER_DEPTH && lua_getstack(L, level, &ar) && lua_getinfo(L, "Sl", &ar);
         level++) {
        if (*ar.what == 'C') continue;
        lua_pushstring(L, ar.source);
        lua_setfield(L, -2, "source");
        lua_pushinteger(L, ar.currentline);
        lua_setfield(L, -2, "line");
        break;
    }
    return 1;
}

static int luaSandboxBaseXpcall(lua_State *L) {
    if (lua_isfunction(L, 2)) {
        lua_pushvalue(L, 2);
        lua_pushcclosure(L, luaSandboxCallHandler, 1);
        lua_replace(L, 2);
    }
    return stock_xpcall(L);
}

/* ---- math.random: the generator of POSIX's lrand48, so a seed gives the same numbers everywhere ---- */

static unsigned short random_state[3];

static void luaSandboxSeedRandom(uint32_t seed) {
    random_state[0] = 0x330e;
    random_state[1] = (unsigned short)seed;
    random_state[2] = (unsigned short)(seed >> 16);
}

static int luaSandboxMathRandom(lua_State *L) {
    double r = (double)(nrand48(random_state) % INT32_MAX) / INT32_MAX;
    int argc = lua_gettop(L);
    if (argc == 0) {
        lua_pushnumber(L, r);
        return 1;
    }
    if (argc > 2) return luaL_error(L, "wrong number of arguments");
    int low = argc == 2 ? luaL_checkint(L, 1) : 1, high = luaL_checkint(L, argc);
    luaL_argcheck(L, low <= high, argc, "interval is empty");
    lua_pushnumber(L, floor(r * ((double)high - low + 1)) + low);
    return 1;
}

static int luaSandboxMathRandomseed(lua_State *L) {
    luaSandboxSeedRandom((uint32_t)luaL_checkint(L, 1));
    return 0;
}

/* ---- Compiling ---- */

/* Reader that passes text to the compiler in pieces. Bytecode is recognized by its first byte. With a blank
 * before it, the compiler takes it for text and finds a syntax error. */
struct textReader {
    struct str piece;
    size_t total;
    bool started, pending;
};

static const char *luaSandboxFirstBlank(struct textReader *r, size_t *size) {
    r->started = true;
    if (!r->piece.len || r->piece.ptr[0] != LUA_SIGNATURE[0]) return NULL;
    r->pending = true;
    *size = 1;
    return " ";
}

static const char *luaSandboxTakePiece(struct textReader *r, size_t *size) {
    *size = r->piece.len;
    r->piece.len = 0;
    r->pending = false;
    return *size ? r->piece.ptr : NULL;
}

static const char *luaSandboxReadString(lua_State *L, void *data, size_t *size) {
    (void)L;
    struct textReader *r = data;
    const char *blank = r->started ? NULL : luaSandboxFirstBlank(r, size);
    return blank ? blank : luaSandboxTakePiece(r, size);
}

/* Compiles text. The name of the chunk stays on the stack meanwhile, since the compiler holds no reference
 * to it at first. */
bool luaCompileText(lua_State *L, struct str text, const char *chunkname) {
    if (text.len > CHUNK_MAX) {
        lua_pushstring(L, chunk_too_long);
        return false;
    }
    struct textReader reader = {.piece = text};
    lua_pushstring(L, chunkname);
    bool ok = lua_load(L, luaSandboxReadString, &reader, chunkname) == 0;
    lua_remove(L, -2);
    return ok;
}

static int luaSandboxReturnCompiled(lua_State *L, bool ok) {
    if (ok) return 1;
    lua_pushnil(L);
    lua_insert(L, -2);
    return 2;
}

static int luaSandboxBaseLoadstring(lua_State *L) {
    struct str text;
    text.ptr = luaL_checklstring(L, 1, &text.len);
    return luaSandboxReturnCompiled(L, luaCompileText(L, text, luaL_optstring(L, 2, text.ptr)));
}

/* Reads pieces from the function at 1. Slot 3 keeps the current piece alive, slot 4 the name of the chunk,
 * which is a copy if the script's name has a NUL byte. */
static const char *luaSandboxReadFunction(lua_State *L, void *data, size_t *size) {
    struct textReader *r = data;
    if (r->pending) return luaSandboxTakePiece(r, size);
    luaL_checkstack(L, 2, "too many nested functions");
    lua_pushvalue(L, 1);
    lua_call(L, 0, 1);
    *size = 0;
    if (lua_isnil(L, -1)) return NULL;
    if (!lua_isstring(L, -1)) luaL_error(L, "reader function must return a string");
    r->piece.ptr = lua_tolstring(L, -1, &r->piece.len);
    r->total += r->piece.len;
    if (r->total > CHUNK_MAX) luaL_error(L, chunk_too_long);
    lua_replace(L, 3);
    const char *blank = r->started ? NULL : luaSandboxFirstBlank(r, size);
    return blank ? blank : luaSandboxTakePiece(r, size);
}

static int luaSandboxBaseLoad(lua_State *L) {
    luaL_checktype(L, 1, LUA_TFUNCTION);
    lua_settop(L, 3);
    if (lua_isnil(L, 2)) {
        lua_pushliteral(L, "=(load)");
        lua_replace(L, 2);
    }
    const char *name = luaL_checkstring(L, 2);
    lua_pushstring(L, name);
    struct textReader reader = {0};
    return luaSandboxReturnCompiled(L, lua_load(L, luaSandboxReadFunction, &reader, name) == 0);
}

/* ---- Globals ---- */

static int luaSandboxRefuseUnknownGlobal(lua_State *L) {
    if (lua_type(L, 2) != LUA_TSTRING) {
        lua_pushnil(L);
        return 1;
    }
    return luaL_error(L, "Script attempted to access nonexistent global variable '%s'", lua_tostring(L, 2));
}

static lua_CFunction luaSandboxStockFunction(lua_State *L, const char *library, const char *name) {
    lua_getglobal(L, library);
    lua_getfield(L, -1, name);
    lua_CFunction fn = lua_tocfunction(L, -1);
    serverAssert(fn);
    lua_pop(L, 2);
    return fn;
}

static void luaSandboxSaveStock(lua_State *L) {
    stock_rawget = luaSandboxStockFunction(L, "_G", "rawget");
    stock_rawset = luaSandboxStockFunction(L, "_G", "rawset");
    stock_setmetatable = luaSandboxStockFunction(L, "_G", "setmetatable");
    stock_getmetatable = luaSandboxStockFunction(L, "_G", "getmetatable");
    stock_xpcall = luaSandboxStockFunction(L, "_G", "xpcall");
    stock_insert = luaSandboxStockFunction(L, "table", "insert");
    stock_remove = luaSandboxStockFunction(L, "table", "remove");
    stock_foreach = luaSandboxStockFunction(L, "table", "foreach");
    stock_foreachi = luaSandboxStockFunction(L, "table", "foreachi");
}

static void luaSandboxOpenLibraries(lua_State *L) {
    static const lua_CFunction openers[] = {luaopen_base, luaopen_table, luaopen_string, luaopen_math,
                                            luaopen_os};
    for (size_t i = 0; i < sizeof openers / sizeof *openers; i++) {
        lua_pushcfunction(L, openers[i]);
        lua_call(L, 0, 0);
    }
}

/* Copies fields from the table on top to the table below it, and pops the former. */
static void luaSandboxMoveFields(lua_State *L, const char *const *names) {
    for (; *names; names++) {
        lua_getfield(L, -1, *names);
        lua_setfield(L, -3, *names);
    }
    lua_pop(L, 1);
}

/* Adds standard libraries, frozen, to the new globals on top. */
static void luaSandboxAddStockLibraries(lua_State *L) {
    static const char *const names[] = {"table", "string", "math", "coroutine", NULL};
    for (const char *const *name = names; *name; name++) {
        lua_getglobal(L, *name);
        luaFreezeTable(L);
        lua_setfield(L, -2, *name);
    }
}

static void luaSandboxAddOwnLibraries(lua_State *L, enum scriptKind kind) {
    static const luaL_Reg openers[] = {{"cjson", luaOpenJson},
                                       {"bit", luaOpenBit},
                                       {"struct", luaOpenStruct},
                                       {"cmsgpack", luaOpenCmsgpack},
                                       {NULL, NULL}};
    for (const luaL_Reg *o = openers; o->name; o++) {
        lua_pushcfunction(L, o->func);
        lua_call(L, 0, 1);
        if (lua_istable(L, -1)) luaFreezeTable(L);
        lua_setfield(L, -2, o->name);
    }
    static const char *const os_names[] = {"clock", NULL};
    lua_newtable(L);
    lua_getglobal(L, "os");
    luaSandboxMoveFields(L, os_names);
    luaFreezeTable(L);
    lua_setfield(L, -2, "os");
    luaOpenApi(L, kind);
    luaFreezeTable(L);
    lua_pushvalue(L, -1);
    lua_setfield(L, -3, "redis");
    lua_setfield(L, -2, "server");
}

static void luaSandboxAddBaseFunctions(lua_State *L) {
    static const char *const names[] = {"assert", "collectgarbage", "error",    "gcinfo",
                                        "ipairs", "rawequal",       "select",   "tonumber",
                                        "type",   "tostring",       "_VERSION", NULL};
    static const luaL_Reg replaced[] = {{"getmetatable", luaSandboxBaseGetmetatable},
                                        {"setmetatable", luaSandboxBaseSetmetatable},
                                        {"rawget", luaSandboxBaseRawget},
                                        {"rawset", luaSandboxBaseRawset},
                                        {"next", luaSandboxBaseNext},
                                        {"pairs", luaSandboxBasePairs},
                                        {"pcall", luaSandboxBasePcall},
                                        {"unpack", luaSandboxBaseUnpack},
                                        {"xpcall", luaSandboxBaseXpcall},
                                        {"load", luaSandboxBaseLoad},
                                        {"loadstring", luaSandboxBaseLoadstring},
                                        {NULL, NULL}};
    lua_pushvalue(L, LUA_GLOBALSINDEX);
    luaSandboxMoveFields(L, names);
    luaL_register(L, NULL, replaced);
}

/* Defines the error handler under both names. */
static void luaSandboxAddErrorHandler(lua_State *L) {
    lua_pushcfunction(L, luaSandboxErrorHandler);
    lua_pushvalue(L, -1);
    lua_setfield(L, -3, "__redis__err__handler");
    lua_setfield(L, -2, "__server__err__handler");
}

static void luaSandboxPatchLibrary(lua_State *L, const char *name, const luaL_Reg *replaced) {
    lua_getglobal(L, name);
    luaL_register(L, NULL, replaced);
    lua_pop(L, 1);
}

static void luaSandboxPatchLibraries(lua_State *L) {
    static const luaL_Reg table[] = {{"insert", luaSandboxTableInsert},
                                     {"remove", luaSandboxTableRemove},
                                     {"foreach", luaSandboxTableForeach},
                                     {"foreachi", luaSandboxTableForeachi},
                                     {NULL, NULL}};
    static const luaL_Reg math[] = {
        {"random", luaSandboxMathRandom}, {"randomseed", luaSandboxMathRandomseed}, {NULL, NULL}};
    luaSandboxPatchLibrary(L, "table", table);
    lua_getglobal(L, "string");
    luaGuardStrings(L);
    lua_pop(L, 1);
    luaSandboxPatchLibrary(L, "math", math);
    luaSandboxSeedRandom((uint32_t)randomU64());
}

/* Makes getmetatable("") return a view whose __index is the string library's. The new globals are on top. */
static void luaSandboxHideStringMetatable(lua_State *L) {
    lua_pushliteral(L, "");
    lua_getmetatable(L, -1);
    lua_createtable(L, 0, 1);
    lua_getfield(L, -4, "string");
    lua_setfield(L, -2, "__index");
    luaFreezeTable(L);
    lua_setfield(L, -2, "__metatable");
    lua_pop(L, 2);
}

void luaPushStrictMetatable(lua_State *L) {
    lua_createtable(L, 0, 1);
    lua_pushcfunction(L, luaSandboxRefuseUnknownGlobal);
    lua_setfield(L, -2, "__index");
}

/* Makes a view of the new globals, which are on top, the environment of all chunks. The real table stays
 * on the stack. */
static void luaSandboxInstallGlobals(lua_State *L) {
    luaPushStrictMetatable(L);
    lua_pushvalue(L, -1);
    lua_setmetatable(L, -3);
    luaFreezeTable(L);
    lua_pushvalue(L, -2);
    luaFreezeTable(L); /* stack: globals, view of their metatable, view of the globals */
    lua_insert(L, -2);
    luaSandboxSetShownMetatable(L);
    lua_pushvalue(L, -1);
    lua_setfield(L, -3, "_G");
    lua_replace(L, LUA_GLOBALSINDEX);
}

void luaSetVisibleGlobals(lua_State *L) {
    lua_getmetatable(L, LUA_GLOBALSINDEX);
    lua_pushvalue(L, -2);
    lua_setfield(L, -2, "__index");
    lua_pushlightuserdata(L, &frozen_key);
    lua_pushvalue(L, -3);
    lua_rawset(L, -3);
    lua_pop(L, 2);
}

/* ---- The interpreter ---- */

static void *luaSandboxAllocate(void *data, void *p, size_t old_size, size_t size) {
    (void)data;
    if (size) return p ? ztryrealloc(p, size) : ztrymalloc(size);
    if (p) zfreeSized(p, old_size);
    return NULL;
}

static int luaSandboxPanic(lua_State *L) {
    serverPanic("Lua failed outside of a script: %s", lua_tostring(L, -1));
}

/* The message handler: keeps the error and saves its position, which is that of the function that raised it,
 * or of its Lua caller if it is a C function. */
static int luaSandboxSaveErrorPlace(lua_State *L) {
    lua_Debug ar;
    luaClearErrorPlace();
    for (int level = 1; level <= 2; level++) {
        if (!lua_getstack(L, level, &ar) || !lua_getinfo(L, "Sl", &ar)) break;
        if (*ar.what == 'C') continue;
        lua_run.error_source = sdsnew(ar.source);
        lua_run.error_line = ar.currentline;
        break;
    }
    return 1;
}

static void luaSandboxFillSlots(lua_State *L) {
    static const char *const names[] = {
        "KEYS",   "ARGV",   "err",        "ok", "double", "map", "set", "big_number", "verbatim_string",
        "format", "string", FIELD_COUNTED};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) lua_pushstring(L, names[i]);
    serverAssert(lua_gettop(L) == SLOT_LAST);
}

lua_State *luaVmCreate(enum scriptKind kind) {
    lua_State *L = lua_newstate(luaSandboxAllocate, NULL);
    serverAssert(L);
    lua_atpanic(L, luaSandboxPanic);
    luaSandboxOpenLibraries(L);
    luaSandboxSaveStock(L);
    luaSandboxPatchLibraries(L);
    lua_settop(L, 0);
    lua_pushcfunction(L, luaSandboxSaveErrorPlace);
    lua_createtable(L, 0, 64);
    luaSandboxAddBaseFunctions(L);
    if (kind == SCRIPT_EVAL) luaSandboxAddErrorHandler(L);
    luaSandboxAddStockLibraries(L);
    luaSandboxAddOwnLibraries(L, kind);
    luaSandboxHideStringMetatable(L);
    luaSandboxInstallGlobals(L);
    luaSandboxFillSlots(L);
    return L;
}
