/* SPDX-License-Identifier: BSD-3-Clause */
/* lua_cmsgpack.c - the cmsgpack library of scripts: Lua values as MessagePack (msgpack.org) and back.
 *
 *     pack(values...)                    one string, the values in a row
 *     unpack(s)                          all values of s
 *     unpack_one(s [, offset])           next offset, one value
 *     unpack_limit(s, limit [, offset])  next offset, up to `limit` values
 *
 * The next offset is -1 at the end of s; offsets count from 0. A table whose keys are exactly 1 .. n is an
 * array, any other table a map. Tables nested deeper than PACK_DEPTH_MAX and values without a type in
 * MessagePack are packed as nil. Integers take the shortest form; other numbers are floats if that loses
 * nothing, else doubles. Binary and extension types are refused. */
#include <lauxlib.h>
#include <math.h>

#include "script/lua/lua_private.h"

#define PACK_DEPTH_MAX 16

/* ---- Packing ---- */

/* Static, so that an error that Lua raises does not leak it: the next pack() starts over. */
static sds packed;

static void luaCmsgpackAddByte(uint8_t byte) {
    packed = sdscatlen(packed, &byte, 1);
}

static void luaCmsgpackAddTagged(uint8_t tag, uint64_t v, int size) {
    uint8_t bytes[9] = {tag};
    for (int i = 0; i < size; i++) bytes[1 + i] = (uint8_t)(v >> (8 * (size - 1 - i)));
    packed = sdscatlen(packed, bytes, (size_t)size + 1);
}

static void luaCmsgpackPackUnsigned(uint64_t v) {
    if (v <= 0x7f)
        luaCmsgpackAddByte((uint8_t)v);
    else if (v <= UINT8_MAX)
        luaCmsgpackAddTagged(0xcc, v, 1);
    else if (v <= UINT16_MAX)
        luaCmsgpackAddTagged(0xcd, v, 2);
    else if (v <= UINT32_MAX)
        luaCmsgpackAddTagged(0xce, v, 4);
    else
        luaCmsgpackAddTagged(0xcf, v, 8);
}

static void luaCmsgpackPackNegative(int64_t v) {
    if (v >= -32)
        luaCmsgpackAddByte((uint8_t)v);
    else if (v >= INT8_MIN)
        luaCmsgpackAddTagged(0xd0, (uint64_t)v, 1);
    else if (v >= INT16_MIN)
        luaCmsgpackAddTagged(0xd1, (uint64_t)v, 2);
    else if (v >= INT32_MIN)
        luaCmsgpackAddTagged(0xd2, (uint64_t)v, 4);
    else
        luaCmsgpackAddTagged(0xd3, (uint64_t)v, 8);
}

static bool luaCmsgpackIsFloat(double n) {
    return isinf(n) || (fabs(n) <= (double)__FLT_MAX__ && (double)(float)n == n);
}

static void luaCmsgpackPackNumber(double n) {
    if (n >= -0x1p63 && n < 0x1p63 && n == floor(n)) {
        int64_t v = (int64_t)n;
        if (v >= 0)
            luaCmsgpackPackUnsigned((uint64_t)v);
        else
            luaCmsgpackPackNegative(v);
    } else if (luaCmsgpackIsFloat(n)) {
        float narrow = (float)n;
        uint32_t bits;
        memcpy(&bits, &narrow, sizeof bits);
        luaCmsgpackAddTagged(0xca, bits, 4);
    } else {
        uint64_t bits;
        memcpy(&bits, &n, sizeof bits);
        luaCmsgpackAddTagged(0xcb, bits, 8);
    }
}

static void luaCmsgpackPackString(const char *s, size_t len) {
    if (len <= 31)
        luaCmsgpackAddByte((uint8_t)(0xa0 | len));
    else if (len <= UINT8_MAX)
        luaCmsgpackAddTagged(0xd9, len, 1);
    else if (len <= UINT16_MAX)
        luaCmsgpackAddTagged(0xda, len, 2);
    else
        luaCmsgpackAddTagged(0xdb, len, 4);
    packed = sdscatlen(packed, s, len);
}

static void luaCmsgpackPackCount(size_t n, uint8_t fix, uint8_t tag16) {
    if (n <= 15)
        luaCmsgpackAddByte((uint8_t)(fix | n));
    else if (n <= UINT16_MAX)
        luaCmsgpackAddTagged(tag16, n, 2);
    else
        luaCmsgpackAddTagged((uint8_t)(tag16 + 1), n, 4);
}

/* Counts the entries of the table on top; *array tells whether their keys are 1 .. n. */
static size_t luaCmsgpackCountEntries(lua_State *L, bool *array) {
    size_t count = 0;
    double max = 0;
    *array = true;
    for (lua_pushnil(L); lua_next(L, -2); lua_pop(L, 1)) {
        count++;
        double key = lua_type(L, -2) == LUA_TNUMBER ? lua_tonumber(L, -2) : 0;
        if (key < 1 || key != floor(key)) *array = false;
        if (key > max) max = key;
    }
    if (max != (double)count) *array = false;
    return count;
}

static void luaCmsgpackPackValue(lua_State *L, int depth);

static void luaCmsgpackPackTable(lua_State *L, int depth) {
    bool array;
    luaL_checkstack(L, 4, "table nested too deeply to pack");
    size_t count = luaCmsgpackCountEntries(L, &array);
    luaCmsgpackPackCount(count, array ? 0x90 : 0x80, array ? 0xdc : 0xde);
    if (array) {
        for (size_t i = 1; i <= count; i++) {
            lua_rawgeti(L, -1, (int)i);
            luaCmsgpackPackValue(L, depth + 1);
        }
        return;
    }
    for (lua_pushnil(L); lua_next(L, -2);) {
        lua_pushvalue(L, -2);
        luaCmsgpackPackValue(L, depth + 1);
        luaCmsgpackPackValue(L, depth + 1);
    }
}

/* Packs the value on top and pops it. */
static void luaCmsgpackPackValue(lua_State *L, int depth) {
    size_t len;
    const char *s;
    switch (lua_type(L, -1)) {
    case LUA_TSTRING:
        s = lua_tolstring(L, -1, &len);
        luaCmsgpackPackString(s, len);
        break;
    case LUA_TNUMBER: luaCmsgpackPackNumber(lua_tonumber(L, -1)); break;
    case LUA_TBOOLEAN: luaCmsgpackAddByte(lua_toboolean(L, -1) ? 0xc3 : 0xc2); break;
    case LUA_TTABLE:
        if (depth < PACK_DEPTH_MAX) {
            luaCmsgpackPackTable(L, depth);
            break;
        } /* fallthrough */
    default: luaCmsgpackAddByte(0xc0);
    }
    lua_pop(L, 1);
}

static int luaCmsgpackPack(lua_State *L) {
    int argc = lua_gettop(L);
    if (argc == 0) return luaL_argerror(L, 0, "MessagePack pack needs input.");
    luaL_checkstack(L, 4, "too many arguments to pack");
    sdsfree(packed);
    packed = sdsempty();
    for (int i = 1; i <= argc; i++) {
        lua_pushvalue(L, i);
        luaCmsgpackPackValue(L, 0);
    }
    lua_pushlstring(L, packed, sdslen(packed));
    sdsfree(packed);
    packed = NULL;
    return 1;
}

/* ---- Unpacking ---- */

struct cmsgpackInput {
    lua_State *L;
    const uint8_t *at, *end;
};

static const uint8_t *luaCmsgpackTakeBytes(struct cmsgpackInput *in, size_t n) {
    if ((size_t)(in->end - in->at) < n) luaL_error(in->L, "Missing bytes in input.");
    const uint8_t *p = in->at;
    in->at += n;
    return p;
}

static uint64_t luaCmsgpackTakeNumber(struct cmsgpackInput *in, size_t size) {
    const uint8_t *p = luaCmsgpackTakeBytes(in, size);
    uint64_t v = 0;
    for (size_t i = 0; i < size; i++) v = v << 8 | p[i];
    return v;
}

static void luaCmsgpackUnpackValue(struct cmsgpackInput *in);

static void luaCmsgpackUnpackString(struct cmsgpackInput *in, size_t len) {
    const uint8_t *p = luaCmsgpackTakeBytes(in, len);
    lua_pushlstring(in->L, (const char *)p, len);
}

static void luaCmsgpackUnpackArray(struct cmsgpackInput *in, size_t n) {
    lua_newtable(in->L);
    for (size_t i = 1; i <= n; i++) {
        luaCmsgpackUnpackValue(in);
        lua_rawseti(in->L, -2, (int)i);
    }
}

static void luaCmsgpackUnpackMap(struct cmsgpackInput *in, size_t n) {
    lua_newtable(in->L);
    for (size_t i = 0; i < n; i++) {
        luaCmsgpackUnpackValue(in);
        luaCmsgpackUnpackValue(in);
        lua_settable(in->L, -3);
    }
}

static void luaCmsgpackPushFloat(lua_State *L, uint32_t bits) {
    float n;
    memcpy(&n, &bits, sizeof n);
    lua_pushnumber(L, (lua_Number)n);
}

static void luaCmsgpackPushDouble(lua_State *L, uint64_t bits) {
    double n;
    memcpy(&n, &bits, sizeof n);
    lua_pushnumber(L, n);
}

static void luaCmsgpackUnpackByTag(struct cmsgpackInput *in, uint8_t tag) {
    lua_State *L = in->L;
    switch (tag) {
    case 0xc0: lua_pushnil(L); break;
    case 0xc2: lua_pushboolean(L, false); break;
    case 0xc3: lua_pushboolean(L, true); break;
    case 0xca: luaCmsgpackPushFloat(L, (uint32_t)luaCmsgpackTakeNumber(in, 4)); break;
    case 0xcb: luaCmsgpackPushDouble(L, luaCmsgpackTakeNumber(in, 8)); break;
    case 0xcc: lua_pushnumber(L, (lua_Number)luaCmsgpackTakeNumber(in, 1)); break;
    case 0xcd: lua_pushnumber(L, (lua_Number)luaCmsgpackTakeNumber(in, 2)); break;
    case 0xce: lua_pushnumber(L, (lua_Number)luaCmsgpackTakeNumber(in, 4)); break;
    case 0xcf: /* as signed, for compatibility */
    case 0xd3: lua_pushnumber(L, (lua_Number)(int64_t)luaCmsgpackTakeNumber(in, 8)); break;
    case 0xd0: lua_pushnumber(L, (int8_t)luaCmsgpackTakeNumber(in, 1)); break;
    case 0xd1: lua_pushnumber(L, (int16_t)luaCmsgpackTakeNumber(in, 2)); break;
    case 0xd2: lua_pushnumber(L, (int32_t)luaCmsgpackTakeNumber(in, 4)); break;
    case 0xd9: luaCmsgpackUnpackString(in, luaCmsgpackTakeNumber(in, 1)); break;
    case 0xda: luaCmsgpackUnpackString(in, luaCmsgpackTakeNumber(in, 2)); break;
    case 0xdb: luaCmsgpackUnpackString(in, luaCmsgpackTakeNumber(in, 4)); break;
    case 0xdc: luaCmsgpackUnpackArray(in, luaCmsgpackTakeNumber(in, 2)); break;
    case 0xdd: luaCmsgpackUnpackArray(in, luaCmsgpackTakeNumber(in, 4)); break;
    case 0xde: luaCmsgpackUnpackMap(in, luaCmsgpackTakeNumber(in, 2)); break;
    case 0xdf: luaCmsgpackUnpackMap(in, luaCmsgpackTakeNumber(in, 4)); break;
    default: luaL_error(L, "Bad data format in input.");
    }
}

static void luaCmsgpackUnpackValue(struct cmsgpackInput *in) {
    luaL_checkstack(in->L, 4, "data nested too deeply to unpack");
    uint8_t tag = *luaCmsgpackTakeBytes(in, 1);
    if (tag <= 0x7f)
        lua_pushnumber(in->L, tag);
    else if (tag >= 0xe0)
        lua_pushnumber(in->L, (int8_t)tag);
    else if (tag <= 0x8f)
        luaCmsgpackUnpackMap(in, tag & 0x0f);
    else if (tag <= 0x9f)
        luaCmsgpackUnpackArray(in, tag & 0x0f);
    else if (tag <= 0xbf)
        luaCmsgpackUnpackString(in, tag & 0x1f);
    else
        luaCmsgpackUnpackByTag(in, tag);
}

/* Unpacks up to `limit` values (0: all) from `offset` on. With a limit, the next offset is
 * returned before them. */
static int luaCmsgpackUnpackFrom(lua_State *L, int limit, int offset) {
    size_t len;
    const char *data = luaL_checklstring(L, 1, &len);
    if (offset < 0 || limit < 0) {
        return luaL_error(L, "Invalid request to unpack with offset of %d and limit of %d.", offset,
                          (int)len);
    }
    if ((size_t)offset > len) {
        return luaL_error(L, "Start offset %d greater than input length %d.", offset, (int)len);
    }
    struct cmsgpackInput in = {
        .L = L, .at = (const uint8_t *)data + offset, .end = (const uint8_t *)data + len};
    lua_settop(L, 1);
    if (limit) lua_pushnil(L);
    int count = 0;
    for (; in.at < in.end && (!limit || count < limit); count++) luaCmsgpackUnpackValue(&in);
    if (!limit) return count;
    lua_pushinteger(L, in.at < in.end ? (lua_Integer)(in.at - (const uint8_t *)data) : -1);
    lua_replace(L, 2);
    return count + 1;
}

static int luaCmsgpackUnpack(lua_State *L) {
    return luaCmsgpackUnpackFrom(L, 0, 0);
}

static int luaCmsgpackUnpackOne(lua_State *L) {
    int offset = (int)luaL_optinteger(L, 2, 0);
    return luaCmsgpackUnpackFrom(L, 1, offset);
}

static int luaCmsgpackUnpackLimit(lua_State *L) {
    int limit = (int)luaL_checkinteger(L, 2);
    int offset = (int)luaL_optinteger(L, 3, 0);
    return luaCmsgpackUnpackFrom(L, limit, offset);
}

int luaOpenCmsgpack(lua_State *L) {
    static const luaL_Reg functions[] = {{"pack", luaCmsgpackPack},
                                         {"unpack", luaCmsgpackUnpack},
                                         {"unpack_one", luaCmsgpackUnpackOne},
                                         {"unpack_limit", luaCmsgpackUnpackLimit},
                                         {NULL, NULL}};
    lua_createtable(L, 0, 8);
    luaL_register(L, NULL, functions);
    lua_pushliteral(L, "cmsgpack");
    lua_setfield(L, -2, "_NAME");
    lua_pushliteral(L, "lua-cmsgpack 0.4.0");
    lua_setfield(L, -2, "_VERSION");
    return 1;
}
