/* SPDX-License-Identifier: BSD-3-Clause */
/* lua_bit_none.c - replaces lua_bit.c in builds without lua-bitop: scripts have no library bit. */
#include "script/lua/lua_private.h"

int luaOpenBit(lua_State *L) {
    lua_pushnil(L);
    return 1;
}

bool luaHasBit(void) {
    return false;
}
