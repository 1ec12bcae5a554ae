/* SPDX-License-Identifier: BSD-3-Clause */
/* lua_guard.c - limits before library functions that do not check the size of their
 * input (see lua_private.h).
 *
 *     string.find, match, gmatch, gsub  one call on the C stack per item of a pattern   PATTERN_ITEMS_MAX
 *     cjson.encode                      sizes are ints, which 2^30 bytes overflow       JSON_MAX
 *     cjson.decode                      sizes are ints, which 2^30 bytes overflow       JSON_TEXT_MAX
 *
 * Texts for the compiler are limited in lua_sandbox.c, where it is called.
 *
 * A guard replaces the function that it guards: it checks the arguments and then calls that function in its
 * own frame, with the same upvalue in the same place, so that results and positions in error messages are
 * the same as without it. */
#include <lauxlib.h>
#include <math.h>

#include "base/assert.h"
#include "script/lua/lua_private.h"

#define PATTERN_ITEMS_MAX 5000
#define JSON_MAX          (((uint64_t)1 << 30) - 64)
#define JSON_TEXT_MAX     ((size_t)512 * 1024 * 1024)

/* Upper limits of the bytes that cjson writes or reserves for a value. */
#define JSON_NUMBER 34 /* quoted if it is a key */
#define JSON_WORD   5  /* false */
#define JSON_BYTE   6  /* \u0000 */

static lua_CFunction stock_find, stock_match, stock_gmatch, stock_gsub, stock_encode, stock_decode;

/* ---- Patterns ---- */

/* Counts the characters that make the matcher recurse. */
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

/* Replaces a field of the table on top. */
static void luaGuardReplaceField(lua_State *L, const char *name, lua_CFunction *stock,
                                 lua_CFunction guarded) {
    lua_getfield(L, -1, name);
    *stock = lua_tocfunction(L, -1);
    serverAssert(*stock);
    lua_pop(L, 1);
    lua_pushcfunction(L, guarded);
    lua_setfield(L, -2, name);
}

void luaGuardStrings(lua_State *L) {
    luaGuardReplaceField(L, "find", &stock_find, luaGuardStringFind);
    luaGuardReplaceField(L, "match", &stock_match, luaGuardStringMatch);
    luaGuardReplaceField(L, "gsub", &stock_gsub, luaGuardStringGsub);
    luaGuardReplaceField(L, "gmatch", &stock_gmatch, luaGuardStringGmatch);
    lua_getfield(L, -1, "gmatch"); /* an older name of it */
    lua_setfield(L, -2, "gfind");
}

/* ---- JSON ---- */

/* The keys of a table, counted as cjson does to decide whether it is an array. */
struct jsonKeys {
    bool array;
    double largest, count;
};

static void luaGuardCountKey(lua_State *L, struct jsonKeys *keys) {
    double n = lua_type(L, -2) == LUA_TNUMBER ? lua_tonumber(L, -2) : 0;
    keys->count++;
    keys->array &= n >= 1 && n == floor(n);
    if (n > keys->largest) keys->largest = n;
}

/* Tells whether cjson will refuse this array because of its gaps, or write it as an object. The limits come
 * from the instance's encode_sparse_array, which is the second upvalue. */
static bool luaGuardIsSparse(lua_State *L, const struct jsonKeys *keys) {
    lua_pushvalue(L, lua_upvalueindex(2));
    lua_call(L, 0, 3);
    double ratio = lua_tonumber(L, -2), safe = lua_tonumber(L, -1);
    lua_pop(L, 3);
    return ratio > 0 && keys->largest > keys->count * ratio && keys->largest > safe;
}

static uint64_t luaGuardJsonBytes(lua_State *L, uint64_t so_far);

/* Counts the bytes of the table on top. Stops counting beyond JSON_MAX. */
static uint64_t luaGuardTableBytes(lua_State *L, uint64_t bytes) {
    struct jsonKeys keys = {.array = true};
    bytes += 2;
    if (!lua_checkstack(L, 8)) return bytes; /* cjson will fail there, too */
    for (lua_pushnil(L); bytes <= JSON_MAX && lua_next(L, -2); lua_pop(L, 1)) {
        luaGuardCountKey(L, &keys);
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

/* Adds to `bytes` what encoding the value on top takes at most. */
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

/* Puts the guard in the place of field `name` of the table on top. The function's upvalue, the settings of
 * the instance, becomes the guard's first upvalue, encode_sparse_array its second. */
static void luaGuardReplaceJsonField(lua_State *L, const char *name, lua_CFunction *stock,
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
    luaGuardReplaceJsonField(L, "encode", &stock_encode, luaGuardJsonEncode);
    luaGuardReplaceJsonField(L, "decode", &stock_decode, luaGuardJsonDecode);
}
