/* SPDX-License-Identifier: BSD-3-Clause */
/* lua_json_none.c - stands for lua_json.c where the build had no lua-cjson: scripts have no cjson. */
#include "script/lua/lua_private.h"

int luaOpenJson(lua_State *L) {
    lua_pushnil(L);
    return 1;
}

bool luaJsonIsThere(void) {
    return false;
}
