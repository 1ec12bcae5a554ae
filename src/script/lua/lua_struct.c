/* SPDX-License-Identifier: BSD-3-Clause */
/* lua_struct.c - the struct library of scripts: packs numbers and strings into bytes and back.
 *
 *     struct.pack(format, values...)        the packed string
 *     struct.unpack(format, string [, at])  the values, then the position behind them
 *     struct.size(format)                   bytes, for formats of fixed size
 *
 * Letters: > < byte order (native at first), !n maximal alignment (1 at first, 8 without n), x a zero
 * byte, b B 1 byte, h H 2, i I n bytes (4), l L T 8, f 4, d 8, s zero-terminated, cn n bytes (1). c0 is
 * the whole string in pack; in unpack the value before it is the size. Capitals and T are unsigned.
 * Blanks are ignored. */
#include <lauxlib.h>
#include <limits.h>
#include <stddef.h>

#include "script/lua/lua_private.h"

#define INTEGER_MAX_SIZE  32
#define NATURAL_ALIGNMENT 8

/* State of parsing a format. */
struct structFormat {
    lua_State *L;
    const char *at;
    bool little;
    size_t alignment, total;
};

/* One letter of the format, its size, and the padding before it. */
struct structItem {
    char letter;
    size_t size, padding;
};

static struct structFormat luaStructFormatStart(lua_State *L) {
    const uint16_t probe = 1;
    return (struct structFormat){
        .L = L, .at = luaL_checkstring(L, 1), .little = *(const char *)&probe, .alignment = 1};
}

static bool luaStructIsDigit(char c) {
    return c >= '0' && c <= '9';
}

static size_t luaStructReadSize(struct structFormat *f, size_t missing) {
    if (!luaStructIsDigit(*f->at)) return missing;
    size_t n = 0;
    while (luaStructIsDigit(*f->at)) {
        n = n * 10 + (size_t)(*f->at++ - '0');
        if (n > INT_MAX) luaL_error(f->L, "integral size overflow");
    }
    return n;
}

static size_t luaStructLetterSize(struct structFormat *f, char letter) {
    switch (letter) {
    case 'b':
    case 'B':
    case 'x': return 1;
    case 'h':
    case 'H': return 2;
    case 'l':
    case 'L':
    case 'T':
    case 'd': return 8;
    case 'f': return 4;
    case 'c': return luaStructReadSize(f, 1);
    case 'i':
    case 'I': {
        size_t n = luaStructReadSize(f, 4);
        if (n > INTEGER_MAX_SIZE) {
            luaL_error(f->L, "integral size %d is larger than limit of %d", (int)n, INTEGER_MAX_SIZE);
        }
        return n;
    }
    default: return 0;
    }
}

static size_t luaStructPaddingBefore(const struct structFormat *f, char letter, size_t size) {
    if (!size || letter == 'c' || letter == 'x') return 0;
    size_t to = size < f->alignment ? size : f->alignment;
    return to > 1 ? (to - (f->total & (to - 1))) & (to - 1) : 0;
}

static void luaStructSetAlignment(struct structFormat *f) {
    size_t n = luaStructReadSize(f, NATURAL_ALIGNMENT);
    if (n == 0 || n & (n - 1)) luaL_error(f->L, "alignment %d is not a power of 2", (int)n);
    f->alignment = n;
}

/* Parses up to the next letter for data; returns false at the end. Adds its padding, but not its size,
 * to the total. */
static bool luaStructNextItem(struct structFormat *f, struct structItem *item) {
    while (*f->at) {
        char letter = *f->at++;
        switch (letter) {
        case ' ': continue;
        case '<': f->little = true; continue;
        case '>': f->little = false; continue;
        case '!': luaStructSetAlignment(f); continue;
        default:
            item->letter = letter;
            item->size = luaStructLetterSize(f, letter);
            item->padding = luaStructPaddingBefore(f, letter, item->size);
            f->total += item->padding;
            return true;
        }
    }
    return false;
}

static int luaStructInvalidOption(lua_State *L, char letter) {
    const char *message = lua_pushfstring(L, "invalid format option '%c'", letter);
    return luaL_argerror(L, 1, message);
}

/* ---- Packing ---- */

static void luaStructAddZeros(luaL_Buffer *b, size_t n) {
    while (n--) luaL_addchar(b, 0);
}

static void luaStructAddBytes(luaL_Buffer *b, uint64_t v, size_t size, bool little) {
    char bytes[INTEGER_MAX_SIZE] = {0};
    for (size_t i = 0; i < size && i < sizeof v; i++) {
        bytes[little ? i : size - 1 - i] = (char)(v >> (8 * i));
    }
    luaL_addlstring(b, bytes, size);
}

/* Converts modulo 2^64; numbers beyond that become 0. */
static uint64_t luaStructToInteger(double n) {
    if (n >= -0x1p63 && n < 0x1p63) return (uint64_t)(int64_t)n;
    if (n >= 0x1p63 && n < 0x1p64) return (uint64_t)n;
    return 0;
}

static void luaStructPackReal(luaL_Buffer *b, const struct structItem *item, bool little, double n) {
    uint64_t bits = 0;
    float narrow = (float)n;
    uint32_t narrow_bits;
    if (item->letter == 'f') {
        memcpy(&narrow_bits, &narrow, sizeof narrow);
        bits = narrow_bits;
    } else {
        memcpy(&bits, &n, sizeof n);
    }
    luaStructAddBytes(b, bits, item->size, little);
}

/* Packs argument `arg` as cn or s. Returns the number of bytes. */
static size_t luaStructPackString(lua_State *L, luaL_Buffer *b, const struct structItem *item, int arg) {
    size_t len, size = item->size;
    const char *s = luaL_checklstring(L, arg, &len);
    if (item->letter == 's' || size == 0) size = len;
    if (len < size) luaL_argerror(L, arg + 1, "string too short");
    luaL_addlstring(b, s, size);
    if (item->letter != 's') return size;
    luaL_addchar(b, 0);
    return size + 1;
}

static int luaStructPack(lua_State *L) {
    struct structFormat f = luaStructFormatStart(L);
    struct structItem item;
    luaL_Buffer b;
    int arg = 2;
    lua_pushnil(L); /* read for a missing argument, which would else be a piece of the buffer */
    luaL_buffinit(L, &b);
    while (luaStructNextItem(&f, &item)) {
        luaStructAddZeros(&b, item.padding);
        size_t size = item.size;
        switch (item.letter) {
        case 'x': luaL_addchar(&b, 0); break;
        case 'b':
        case 'B':
        case 'h':
        case 'H':
        case 'i':
        case 'I':
        case 'l':
        case 'L':
        case 'T':
            luaStructAddBytes(&b, luaStructToInteger(luaL_checknumber(L, arg++)), size, f.little);
            break;
        case 'f':
        case 'd': luaStructPackReal(&b, &item, f.little, luaL_checknumber(L, arg++)); break;
        case 'c':
        case 's': size = luaStructPackString(L, &b, &item, arg++); break;
        default: return luaStructInvalidOption(L, item.letter);
        }
        f.total += size;
    }
    luaL_pushresult(&b);
    return 1;
}

/* ---- Unpacking ---- */

static uint64_t luaStructReadBytes(const char *p, size_t size, bool little) {
    uint64_t v = 0;
    for (size_t i = 0; i < size; i++) v = v << 8 | (uint8_t)p[little ? size - 1 - i : i];
    return v;
}

static void luaStructPushInteger(lua_State *L, const struct structItem *item, const char *p, bool little) {
    uint64_t v = luaStructReadBytes(p, item->size, little);
    bool is_unsigned = item->letter == 'T' || (item->letter >= 'A' && item->letter <= 'L');
    if (is_unsigned) {
        lua_pushnumber(L, (lua_Number)v);
        return;
    }
    if (item->size > 0 && item->size < sizeof v) {
        uint64_t sign = 1ull << (item->size * 8 - 1);
        v = (v ^ sign) - sign;
    }
    lua_pushnumber(L, (lua_Number)(int64_t)v);
}

static void luaStructPushReal(lua_State *L, const struct structItem *item, const char *p, bool little) {
    uint64_t bits = luaStructReadBytes(p, item->size, little);
    uint32_t narrow_bits = (uint32_t)bits;
    float narrow;
    double n;
    memcpy(&narrow, &narrow_bits, sizeof narrow);
    memcpy(&n, &bits, sizeof n);
    lua_pushnumber(L, item->letter == 'f' ? (double)narrow : n);
}

static void luaStructNeedBytes(lua_State *L, size_t size, size_t left) {
    luaL_argcheck(L, size <= left, 2, "data string too short");
}

/* Takes the size of c0, which is the value before it, off the stack. */
static size_t luaStructTakePreviousSize(lua_State *L, int first) {
    if (lua_gettop(L) < first || lua_type(L, -1) != LUA_TNUMBER) {
        luaL_error(L, "format 'c0' needs a previous size");
    }
    double n = lua_tonumber(L, -1);
    lua_pop(L, 1);
    return n >= 0 && n < INT_MAX ? (size_t)n : SIZE_MAX;
}

/* Returns the number of bytes consumed. */
static size_t luaStructUnpackString(lua_State *L, const struct structItem *item, const char *p, size_t left,
                                    int first) {
    if (item->letter == 's') {
        const char *end = memchr(p, 0, left);
        if (!end) luaL_error(L, "unfinished string in data");
        lua_pushlstring(L, p, (size_t)(end - p));
        return (size_t)(end - p) + 1;
    }
    size_t size = item->size ? item->size : luaStructTakePreviousSize(L, first);
    luaStructNeedBytes(L, size, left);
    lua_pushlstring(L, p, size);
    return size;
}

static int luaStructUnpack(lua_State *L) {
    struct structFormat f = luaStructFormatStart(L);
    struct structItem item;
    size_t len;
    const char *data = luaL_checklstring(L, 2, &len);
    double at = luaL_optnumber(L, 3, 1);
    luaL_argcheck(L, at != 0, 3, "offset must be 1 or greater");
    luaL_argcheck(L, at > 0 && at - 1 <= (double)len, 2, "data string too short");
    f.total = (size_t)at - 1;
    lua_settop(L, 3);
    while (luaStructNextItem(&f, &item)) {
        luaL_checkstack(L, 3, "too many results");
        size_t size = item.letter == 'c' || item.letter == 's' ? 0 : item.size;
        luaStructNeedBytes(L, f.total, len);
        luaStructNeedBytes(L, size, len - f.total);
        const char *p = data + f.total;
        switch (item.letter) {
        case 'x': break;
        case 'b':
        case 'B':
        case 'h':
        case 'H':
        case 'i':
        case 'I':
        case 'l':
        case 'L':
        case 'T': luaStructPushInteger(L, &item, p, f.little); break;
        case 'f':
        case 'd': luaStructPushReal(L, &item, p, f.little); break;
        case 'c':
        case 's': size = luaStructUnpackString(L, &item, p, len - f.total, 4); break;
        default: return luaStructInvalidOption(L, item.letter);
        }
        f.total += size;
    }
    lua_pushinteger(L, (lua_Integer)f.total + 1);
    return lua_gettop(L) - 3;
}

static int luaStructSize(lua_State *L) {
    struct structFormat f = luaStructFormatStart(L);
    struct structItem item;
    while (luaStructNextItem(&f, &item)) {
        if (item.letter == 's') return luaL_argerror(L, 1, "option 's' has no fixed size");
        if (item.letter == 'c' && !item.size) return luaL_argerror(L, 1, "option 'c0' has no fixed size");
        f.total += item.size;
    }
    lua_pushinteger(L, (lua_Integer)f.total);
    return 1;
}

int luaOpenStruct(lua_State *L) {
    static const luaL_Reg functions[] = {
        {"pack", luaStructPack}, {"unpack", luaStructUnpack}, {"size", luaStructSize}, {NULL, NULL}};
    lua_newtable(L);
    luaL_register(L, NULL, functions);
    return 1;
}
