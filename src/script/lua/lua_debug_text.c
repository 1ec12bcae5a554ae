/* SPDX-License-Identifier: BSD-3-Clause */
/* lua_debug_text.c - values of Lua as the debugger prints them. Tools parse these lines, so their form is
 * Valkey's. Part of lua_debug.h. */
#include <lauxlib.h>

#include "client/reply.h"
#include "net/resp.h"
#include "script/lua/lua_debug.h"

#define DEPTH_MAX 10
static const char too_deep[] = "<max recursion level reached! Nested table?>";

static sds luaDebugTextValue(sds s, lua_State *L, int depth);

/* Tells whether the keys of the table on top are 1, 2, 3 ... in this order. */
static bool luaDebugTextIsList(lua_State *L) {
    int expected = 1;
    for (lua_pushnil(L); lua_next(L, -2); expected++) {
        lua_pop(L, 1);
        if (lua_type(L, -1) == LUA_TNUMBER && lua_tonumber(L, -1) == expected) continue;
        lua_pop(L, 1);
        return false;
    }
    return true;
}

static sds luaDebugTextTable(sds s, lua_State *L, int depth) {
    bool list = luaDebugTextIsList(L);
    s = sdscat(s, "{");
    for (lua_pushnil(L); lua_next(L, -2);) {
        if (!list) {
            s = sdscat(s, "[");
            lua_pushvalue(L, -2);
            s = luaDebugTextValue(s, L, depth);
            lua_pop(L, 1);
            s = sdscat(s, "]=");
        }
        s = sdscat(luaDebugTextValue(s, L, depth), "; ");
        lua_pop(L, 1);
    }
    return sdscat(s, "}");
}

/* Appends a string; blanks replace bytes that would end its line. */
static sds luaDebugTextAppendString(sds s, struct str text) {
    size_t at = sdslen(s);
    s = sdscatstr(s, text);
    for (; at < sdslen(s); at++)
        if (s[at] == '\r' || s[at] == '\n' || !s[at]) s[at] = ' ';
    return s;
}

/* Appends the value on top. */
static sds luaDebugTextValue(sds s, lua_State *L, int depth) {
    if (depth == DEPTH_MAX || !lua_checkstack(L, 4)) return sdscat(s, too_deep);
    switch (lua_type(L, -1)) {
    case LUA_TSTRING: return luaDebugTextAppendString(s, strN(lua_tostring(L, -1), lua_objlen(L, -1)));
    case LUA_TBOOLEAN: return sdscat(s, lua_toboolean(L, -1) ? "true" : "false");
    case LUA_TNUMBER: return sdscatprintf(s, "%g", lua_tonumber(L, -1));
    case LUA_TNIL: return sdscat(s, "nil");
    case LUA_TTABLE: return luaDebugTextTable(s, L, depth + 1);
    default: return sdscatprintf(s, " \"%s@%p\"", luaL_typename(L, -1), lua_topointer(L, -1));
    }
}

sds luaDebugAppendValue(sds s, lua_State *L, int index) {
    lua_pushvalue(L, index);
    s = luaDebugTextValue(s, L, 0);
    lua_pop(L, 1);
    return s;
}
