/* SPDX-License-Identifier: BSD-3-Clause */
/* lua_json.c - the cjson library of scripts: lua-cjson, without the tables through which scripts could pass
 * data to each other, and behind the limits of lua_guard.c. Part of lua_private.h. */
#include <lauxlib.h>
#include <lua-cjson.h>

#include "script/lua/lua_private.h"

/* Makes an instance. cjson.new() calls it, too. */
int luaOpenJson(lua_State *L) {
    static const char *const names[] = {"encode",
                                        "decode",
                                        "encode_sparse_array",
                                        "encode_max_depth",
                                        "decode_max_depth",
                                        "encode_number_precision",
                                        "encode_keep_buffer",
                                        "encode_invalid_numbers",
                                        "decode_invalid_numbers",
                                        "null",
                                        "_NAME",
                                        "_VERSION",
                                        NULL};
    lua_createtable(L, 0, 16);
    lua_pushcfunction(L, luaopen_cjson);
    lua_call(L, 0, 1);
    for (const char *const *name = names; *name; name++) {
        lua_getfield(L, -1, *name);
        lua_setfield(L, -3, *name);
    }
    lua_pop(L, 1);
    luaGuardJson(L);
    lua_pushliteral(L, "2.1.0");
    lua_setfield(L, -2, "_VERSION");
    lua_pushcfunction(L, luaOpenJson);
    lua_setfield(L, -2, "new");
    return 1;
}

bool luaHasJson(void) {
    return true;
}
