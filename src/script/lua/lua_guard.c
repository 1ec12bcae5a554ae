/* SPDX-License-Identifier: BSD-3-Clause */
/* lua_guard.c - limits in front of libraries that trust their input too much (see lua_private.h).
 *
 *     string.find, match, gmatch, gsub  a call on the C stack per item of a pattern   PATTERN_ITEMS_MAX
 *     cjson.encode                      sizes are ints, which 2^30 bytes overflow     JSON_MAX
 *     cjson.decode                      the same                                      JSON_TEXT_MAX
 *
 * (What the compiler may be given is limited where it is called, in lua_sandbox.c.)
 *
 * A guard runs in the place of the function that it guards: it looks at the arguments, and then calls that
 * function in its own frame, with the same upvalue in the same place, so that results and positions in error
 * messages are what they would be without it. */
#include <lauxlib.h>
#include <math.h>

#include "base/assert.h"
#include "script/lua/lua_private.h"

#define PATTERN_ITEMS_MAX 5000
#define JSON_MAX          (((uint64_t)1 << 30) - 64)
#define JSON_TEXT_MAX     ((size_t)512 * 1024 * 1024)

/* Most bytes that cjson writes, or makes room for. */
#define JSON_NUMBER 34 /* as a key it is quoted */
#define JSON_WORD   5  /* false */
#define JSON_BYTE   6  /* \u0000 */

static lua_CFunction stock_find, stock_match, stock_gmatch, stock_gsub, stock_encode, stock_decode;

/* ---- Patterns ---- */

/* Only these make the matcher call itself. */
static void luaGuardCheckPattern(lua_State *L) {
    size_t len, items = 0;
    const char *pattern = luaL_checklstring(L, 2, &len);
    if (len <= PATTERN_ITEMS_MAX) return;
    for (size_t i = 0; i < len; i++) {
        char c = pattern[i];
        items += c == '*' || c == '+' || c == '-' || c == '?' || c == '(' || c == ')';
    }
    if (items > PATTERN_ITEMS_MAX) luaL_error(L, "pattern too complex");
}

static int luaGuardStringFind(lua_State *L) {
    if (!lua_toboolean(L, 4)) luaGuardCheckPattern(L);
    return stock_find(L);
}
static int luaGuardStringMatch(lua_State *L) {
    luaGuardCheckPattern(L);
    return stock_match(L);
}
static int luaGuardStringGmatch(lua_State *L) {
    luaGuardCheckPattern(L);
    return stock_gmatch(L);
}
static int luaGuardStringGsub(lua_State *L) {
    luaGuardCheckPattern(L);
    return stock_gsub(L);
}

/* Replaces the field of the table on top. */
static void luaGuardGuard(lua_State *L, const char *name, lua_CFunction *stock, lua_CFunction guarded) {
    lua_getfield(L, -1, name);
    *stock = lua_tocfunction(L, -1);
    serverAssert(*stock);
    lua_pop(L, 1);
    lua_pushcfunction(L, guarded);
    lua_setfield(L, -2, name);
}

void luaGuardStrings(lua_State *L) {
    luaGuardGuard(L, "find", &stock_find, luaGuardStringFind);
    luaGuardGuard(L, "match", &stock_match, luaGuardStringMatch);
    luaGuardGuard(L, "gsub", &stock_gsub, luaGuardStringGsub);
    luaGuardGuard(L, "gmatch", &stock_gmatch, luaGuardStringGmatch);
    lua_getfield(L, -1, "gmatch"); /* its old name */
    lua_setfield(L, -2, "gfind");
}

/* ---- JSON ---- */

/* A table's keys, as cjson decides whether it is an array. */
struct keys {
    bool array;
    double largest, count;
};

static void luaGuardNoteKey(lua_State *L, struct keys *keys) {
    double n = lua_type(L, -2) == LUA_TNUMBER ? lua_tonumber(L, -2) : 0;
    keys->count++;
    keys->array &= n >= 1 && n == floor(n);
    if (n > keys->largest) keys->largest = n;
}

/* Will cjson refuse to fill the gaps of this array, or write it as an object? Asked of the instance's
 * encode_sparse_array, the second upvalue. */
static bool luaGuardIsSparse(lua_State *L, const struct keys *keys) {
    lua_pushvalue(L, lua_upvalueindex(2));
    lua_call(L, 0, 3);
    double ratio = lua_tonumber(L, -2), safe = lua_tonumber(L, -1);
    lua_pop(L, 3);
    return ratio > 0 && keys->largest > keys->count * ratio && keys->largest > safe;
}

static uint64_t luaGuardJsonBytes(lua_State *L, uint64_t so_far);

/* The table on top. Stops counting past JSON_MAX. */
static uint64_t luaGuardTableBytes(lua_State *L, uint64_t bytes) {
    struct keys keys = {.array = true};
    bytes += 2;
    if (!lua_checkstack(L, 8)) return bytes; /* cjson will find that, too */
    for (lua_pushnil(L); bytes <= JSON_MAX && lua_next(L, -2); lua_pop(L, 1)) {
        luaGuardNoteKey(L, &keys);
        bytes = luaGuardJsonBytes(L, bytes + 2);
        if (lua_type(L, -2) == LUA_TSTRING)
            bytes += JSON_BYTE * (uint64_t)lua_objlen(L, -2) + 2;
        else
            bytes += JSON_NUMBER;
    }
    if (bytes > JSON_MAX || !keys.array) return bytes;
    double gaps = (keys.largest - keys.count) * JSON_WORD;
    if (gaps > (double)(JSON_MAX - bytes)) return luaGuardIsSparse(L, &keys) ? bytes : JSON_MAX + 1;
    return gaps > 0 ? bytes + (uint64_t)gaps : bytes;
}

/* Added to `bytes`: what encoding the value on top could take at most. */
static uint64_t luaGuardJsonBytes(lua_State *L, uint64_t bytes) {
    switch (lua_type(L, -1)) {
    case LUA_TSTRING: return bytes + JSON_BYTE * (uint64_t)lua_objlen(L, -1) + 2;
    case LUA_TTABLE: return luaGuardTableBytes(L, bytes);
    case LUA_TNUMBER: return bytes + JSON_NUMBER;
    default: return bytes + JSON_WORD;
    }
}

static int luaGuardJsonEncode(lua_State *L) {
    int top = lua_gettop(L);
    if (top == 1 && luaGuardJsonBytes(L, 0) > JSON_MAX) {
        return luaL_error(L, "Cannot serialise, the result may be larger than %d bytes", (int)JSON_MAX);
    }
    lua_settop(L, top);
    return stock_encode(L);
}

static int luaGuardJsonDecode(lua_State *L) {
    if (lua_isstring(L, 1)) {
        size_t len;
        lua_tolstring(L, 1, &len);
        if (len > JSON_TEXT_MAX) return luaL_error(L, "Cannot parse more than %d bytes", (int)JSON_TEXT_MAX);
    }
    return stock_decode(L);
}

/* Field `name` of the table on top, a function whose upvalue is the instance's settings, goes behind the
 * guard, with that upvalue, and encode_sparse_array as the second. */
static void scriptLuaGuardGuardJson(lua_State *L, const char *name, lua_CFunction *stock,
                                    lua_CFunction guarded) {
    lua_getfield(L, -1, name);
    *stock = lua_tocfunction(L, -1);
    const char *upvalue = lua_getupvalue(L, -1, 1);
    serverAssert(*stock && upvalue);
    lua_getfield(L, -3, "encode_sparse_array");
    lua_pushcclosure(L, guarded, 2);
    lua_setfield(L, -3, name);
    lua_pop(L, 1);
}

void luaGuardJson(lua_State *L) {
    scriptLuaGuardGuardJson(L, "encode", &stock_encode, luaGuardJsonEncode);
    scriptLuaGuardGuardJson(L, "decode", &stock_decode, luaGuardJsonDecode);
}
