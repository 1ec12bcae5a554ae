/* SPDX-License-Identifier: BSD-3-Clause */
/* lua_bit.c - the library bit of scripts, which is lua-bitop. Part of lua_private.h. */
#include <lauxlib.h>
#include <lua-bitop.h>
#include <math.h>

#include "script/lua/lua_private.h"

/* Returns the lowest hex digits, as many as requested, at most 8; in upper case if the number is negative. */
static int luaBitTohex(lua_State *L) {
    static const char lower[] = "0123456789abcdef", upper[] = "0123456789ABCDEF";
    luaL_checknumber(L, 1);
    lua_settop(L, 2);
    lua_pushvalue(L, lua_upvalueindex(1)); /* the function tobit */
    lua_pushvalue(L, 1);
    lua_call(L, 1, 1);
    uint32_t bits = (uint32_t)(int64_t)lua_tonumber(L, -1);
    double digits = lua_isnil(L, 2) ? 8 : luaL_checknumber(L, 2);
    const char *alphabet = digits < 0 ? upper : lower;
    char hex[8];
    int n = fabs(digits) < 8 ? (int)lrint(fabs(digits)) : 8;
    for (int i = n - 1; i >= 0; i--, bits >>= 4) hex[i] = alphabet[bits & 15];
    lua_pushlstring(L, hex, (size_t)n);
    return 1;
}

int luaOpenBit(lua_State *L) {
    lua_pushcfunction(L, luaopen_bit);
    lua_call(L, 0, 1);
    lua_getfield(L, -1, "tobit");
    lua_pushcclosure(L, luaBitTohex, 1);
    lua_setfield(L, -2, "tohex");
    return 1;
}

bool luaHasBit(void) {
    return true;
}
