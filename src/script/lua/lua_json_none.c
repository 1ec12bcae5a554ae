/* SPDX-License-Identifier: BSD-3-Clause */
/* lua_json_none.c - replaces lua_json.c in builds without lua-cjson: scripts have no cjson. */
#include "script/lua/lua_private.h"

int luaOpenJson(lua_State *L) {
    lua_pushnil(L);
    return 1;
}

bool luaHasJson(void) {
    return false;
}
