/* SPDX-License-Identifier: BSD-3-Clause */
/* lua_bit_none.c - stands for lua_bit.c where the build had no lua-bitop: scripts have no bit. */
#include "script/lua/lua_private.h"

int luaOpenBit(lua_State *L) {
    lua_pushnil(L);
    return 1;
}

bool luaBitIsThere(void) {
    return false;
}
