/* SPDX-License-Identifier: BSD-3-Clause */
/* lua_cmsgpack.c - the cmsgpack library of scripts: Lua values as MessagePack (msgpack.org) and back.
 *
 *     pack(values...)                    one string, the values in a row
 *     unpack(s)                          all values of s
 *     unpack_one(s [, offset])           next offset, one value
 *     unpack_limit(s, limit [, offset])  next offset, up to `limit` values
 *
 * The next offset is -1 at the end of s; offsets count from 0. A table with exactly the keys 1 .. n is an
 * array, any other a map. Tables nested deeper than PACK_DEPTH_MAX are packed as nil, as is what MessagePack
 * has no type for. Integers take the shortest form; other numbers are floats when that loses nothing, else
 * doubles. Binary and extension types are refused. */
#include <lauxlib.h>
#include <math.h>

#include "script/lua/lua_private.h"

#define PACK_DEPTH_MAX 16

/* ---- Packing ---- */

/* Static, so that an error raised half-way leaks nothing: the next pack() starts over. */
static sds packed;

static void addByte(uint8_t byte) {
    packed = sdscatlen(packed, &byte, 1);
}

static void addTagged(uint8_t tag, uint64_t v, int size) {
    uint8_t bytes[9] = {tag};
    for (int i = 0; i < size; i++) bytes[1 + i] = (uint8_t)(v >> (8 * (size - 1 - i)));
    packed = sdscatlen(packed, bytes, (size_t)size + 1);
}

static void packUnsigned(uint64_t v) {
    if (v <= 0x7f)
        addByte((uint8_t)v);
    else if (v <= UINT8_MAX)
        addTagged(0xcc, v, 1);
    else if (v <= UINT16_MAX)
        addTagged(0xcd, v, 2);
    else if (v <= UINT32_MAX)
        addTagged(0xce, v, 4);
    else
        addTagged(0xcf, v, 8);
}

static void packNegative(int64_t v) {
    if (v >= -32)
        addByte((uint8_t)v);
    else if (v >= INT8_MIN)
        addTagged(0xd0, (uint64_t)v, 1);
    else if (v >= INT16_MIN)
        addTagged(0xd1, (uint64_t)v, 2);
    else if (v >= INT32_MIN)
        addTagged(0xd2, (uint64_t)v, 4);
    else
        addTagged(0xd3, (uint64_t)v, 8);
}

static bool isFloat(double n) {
    return isinf(n) || (fabs(n) <= (double)__FLT_MAX__ && (double)(float)n == n);
}

static void packNumber(double n) {
    if (n >= -0x1p63 && n < 0x1p63 && n == floor(n)) {
        int64_t v = (int64_t)n;
        if (v >= 0)
            packUnsigned((uint64_t)v);
        else
            packNegative(v);
    } else if (isFloat(n)) {
        float narrow = (float)n;
        uint32_t bits;
        memcpy(&bits, &narrow, sizeof bits);
        addTagged(0xca, bits, 4);
    } else {
        uint64_t bits;
        memcpy(&bits, &n, sizeof bits);
        addTagged(0xcb, bits, 8);
    }
}

static void packString(const char *s, size_t len) {
    if (len <= 31)
        addByte((uint8_t)(0xa0 | len));
    else if (len <= UINT8_MAX)
        addTagged(0xd9, len, 1);
    else if (len <= UINT16_MAX)
        addTagged(0xda, len, 2);
    else
        addTagged(0xdb, len, 4);
    packed = sdscatlen(packed, s, len);
}

static void packCount(size_t n, uint8_t fix, uint8_t tag16) {
    if (n <= 15)
        addByte((uint8_t)(fix | n));
    else if (n <= UINT16_MAX)
        addTagged(tag16, n, 2);
    else
        addTagged((uint8_t)(tag16 + 1), n, 4);
}

/* Entries of the table on top; *array when their keys are 1 .. n. */
static size_t countEntries(lua_State *L, bool *array) {
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

static void packValue(lua_State *L, int depth);

static void packTable(lua_State *L, int depth) {
    bool array;
    luaL_checkstack(L, 4, "table nested too deeply to pack");
    size_t count = countEntries(L, &array);
    packCount(count, array ? 0x90 : 0x80, array ? 0xdc : 0xde);
    if (array) {
        for (size_t i = 1; i <= count; i++) {
            lua_rawgeti(L, -1, (int)i);
            packValue(L, depth + 1);
        }
        return;
    }
    for (lua_pushnil(L); lua_next(L, -2);) {
        lua_pushvalue(L, -2);
        packValue(L, depth + 1);
        packValue(L, depth + 1);
    }
}

/* The value on top; pops it. */
static void packValue(lua_State *L, int depth) {
    size_t len;
    const char *s;
    switch (lua_type(L, -1)) {
    case LUA_TSTRING:
        s = lua_tolstring(L, -1, &len);
        packString(s, len);
        break;
    case LUA_TNUMBER: packNumber(lua_tonumber(L, -1)); break;
    case LUA_TBOOLEAN: addByte(lua_toboolean(L, -1) ? 0xc3 : 0xc2); break;
    case LUA_TTABLE:
        if (depth < PACK_DEPTH_MAX) {
            packTable(L, depth);
            break;
        } /* fallthrough */
    default: addByte(0xc0);
    }
    lua_pop(L, 1);
}

static int msgpackPack(lua_State *L) {
    int argc = lua_gettop(L);
    if (argc == 0) return luaL_argerror(L, 0, "MessagePack pack needs input.");
    luaL_checkstack(L, 4, "too many arguments to pack");
    sdsfree(packed);
    packed = sdsempty();
    for (int i = 1; i <= argc; i++) {
        lua_pushvalue(L, i);
        packValue(L, 0);
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

static const uint8_t *msgpackTake(struct cmsgpackInput *in, size_t n) {
    if ((size_t)(in->end - in->at) < n) luaL_error(in->L, "Missing bytes in input.");
    const uint8_t *p = in->at;
    in->at += n;
    return p;
}

static uint64_t takeNumber(struct cmsgpackInput *in, size_t size) {
    const uint8_t *p = msgpackTake(in, size);
    uint64_t v = 0;
    for (size_t i = 0; i < size; i++) v = v << 8 | p[i];
    return v;
}

static void unpackValue(struct cmsgpackInput *in);

static void unpackString(struct cmsgpackInput *in, size_t len) {
    const uint8_t *p = msgpackTake(in, len);
    lua_pushlstring(in->L, (const char *)p, len);
}

static void unpackArray(struct cmsgpackInput *in, size_t n) {
    lua_newtable(in->L);
    for (size_t i = 1; i <= n; i++) {
        unpackValue(in);
        lua_rawseti(in->L, -2, (int)i);
    }
}

static void unpackMap(struct cmsgpackInput *in, size_t n) {
    lua_newtable(in->L);
    for (size_t i = 0; i < n; i++) {
        unpackValue(in);
        unpackValue(in);
        lua_settable(in->L, -3);
    }
}

static void pushFloat(lua_State *L, uint32_t bits) {
    float n;
    memcpy(&n, &bits, sizeof n);
    lua_pushnumber(L, (lua_Number)n);
}

static void pushDouble(lua_State *L, uint64_t bits) {
    double n;
    memcpy(&n, &bits, sizeof n);
    lua_pushnumber(L, n);
}

static void unpackByTag(struct cmsgpackInput *in, uint8_t tag) {
    lua_State *L = in->L;
    switch (tag) {
    case 0xc0: lua_pushnil(L); break;
    case 0xc2: lua_pushboolean(L, false); break;
    case 0xc3: lua_pushboolean(L, true); break;
    case 0xca: pushFloat(L, (uint32_t)takeNumber(in, 4)); break;
    case 0xcb: pushDouble(L, takeNumber(in, 8)); break;
    case 0xcc: lua_pushnumber(L, (lua_Number)takeNumber(in, 1)); break;
    case 0xcd: lua_pushnumber(L, (lua_Number)takeNumber(in, 2)); break;
    case 0xce: lua_pushnumber(L, (lua_Number)takeNumber(in, 4)); break;
    case 0xcf: /* as signed: what scripts have always seen */
    case 0xd3: lua_pushnumber(L, (lua_Number)(int64_t)takeNumber(in, 8)); break;
    case 0xd0: lua_pushnumber(L, (int8_t)takeNumber(in, 1)); break;
    case 0xd1: lua_pushnumber(L, (int16_t)takeNumber(in, 2)); break;
    case 0xd2: lua_pushnumber(L, (int32_t)takeNumber(in, 4)); break;
    case 0xd9: unpackString(in, takeNumber(in, 1)); break;
    case 0xda: unpackString(in, takeNumber(in, 2)); break;
    case 0xdb: unpackString(in, takeNumber(in, 4)); break;
    case 0xdc: unpackArray(in, takeNumber(in, 2)); break;
    case 0xdd: unpackArray(in, takeNumber(in, 4)); break;
    case 0xde: unpackMap(in, takeNumber(in, 2)); break;
    case 0xdf: unpackMap(in, takeNumber(in, 4)); break;
    default: luaL_error(L, "Bad data format in input.");
    }
}

static void unpackValue(struct cmsgpackInput *in) {
    luaL_checkstack(in->L, 4, "data nested too deeply to unpack");
    uint8_t tag = *msgpackTake(in, 1);
    if (tag <= 0x7f)
        lua_pushnumber(in->L, tag);
    else if (tag >= 0xe0)
        lua_pushnumber(in->L, (int8_t)tag);
    else if (tag <= 0x8f)
        unpackMap(in, tag & 0x0f);
    else if (tag <= 0x9f)
        unpackArray(in, tag & 0x0f);
    else if (tag <= 0xbf)
        unpackString(in, tag & 0x1f);
    else
        unpackByTag(in, tag);
}

/* Up to `limit` values (0: all) from `offset` on; with the next offset in front of them when there is a
 * limit. */
static int unpackFrom(lua_State *L, int limit, int offset) {
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
    for (; in.at < in.end && (!limit || count < limit); count++) unpackValue(&in);
    if (!limit) return count;
    lua_pushinteger(L, in.at < in.end ? (lua_Integer)(in.at - (const uint8_t *)data) : -1);
    lua_replace(L, 2);
    return count + 1;
}

static int msgpackUnpack(lua_State *L) {
    return unpackFrom(L, 0, 0);
}

static int msgpackUnpackOne(lua_State *L) {
    int offset = (int)luaL_optinteger(L, 2, 0);
    return unpackFrom(L, 1, offset);
}

static int msgpackUnpackLimit(lua_State *L) {
    int limit = (int)luaL_checkinteger(L, 2);
    int offset = (int)luaL_optinteger(L, 3, 0);
    return unpackFrom(L, limit, offset);
}

int luaOpenCmsgpack(lua_State *L) {
    static const luaL_Reg functions[] = {{"pack", msgpackPack},
                                         {"unpack", msgpackUnpack},
                                         {"unpack_one", msgpackUnpackOne},
                                         {"unpack_limit", msgpackUnpackLimit},
                                         {NULL, NULL}};
    lua_createtable(L, 0, 8);
    luaL_register(L, NULL, functions);
    lua_pushliteral(L, "cmsgpack");
    lua_setfield(L, -2, "_NAME");
    lua_pushliteral(L, "lua-cmsgpack 0.4.0");
    lua_setfield(L, -2, "_VERSION");
    return 1;
}
