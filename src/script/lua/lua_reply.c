/* SPDX-License-Identifier: BSD-3-Clause */
/* lua_reply.c - conversion of replies to Lua values and back.
 *
 *     reply               Lua                          Lua                      reply
 *     integer             number                       number                   integer (truncated)
 *     bulk string         string                       string                   bulk string
 *     status              {ok=}                        {ok=}                    status
 *     error               {err=}                       {err=}                   error
 *     array               table                        table 1.. to the nil     array
 *     null                false; RESP3: nil            nil; false               null
 *     RESP3 boolean       boolean                      true; false              1, null; setresp(3): boolean
 *     RESP3 map, set      {map={}} {set={x=true}}      {map={}} {set={x=true}}  map, set
 *     RESP3 double        {double=}                    {double=}                double
 *     big number          {big_number=}                {big_number=}            big number
 *     verbatim            {verbatim_string={format=, string=}} in both directions
 *
 * A reply is read in its block, without a copy. Lua may raise an error (no memory) whenever it makes a
 * value, so memory that is held meanwhile is kept in static variables and freed before the next use. */
#include "base/assert.h"
#include "client/reply.h"
#include "client/reply_block.h"
#include "net/resp.h"
#include "script/lua/lua_private.h"

/* ---- Errors ---- */

/* "-CODE words" and "CODE words" are taken as they are; one word alone gets the code ERR. */
void luaPushError(lua_State *L, struct str text, bool counted) {
    if (text.len && text.ptr[0] == '-') text = strN(text.ptr + 1, text.len - 1);
    while (text.len && (text.ptr[text.len - 1] == '\n' || text.ptr[text.len - 1] == '\r')) text.len--;
    lua_createtable(L, 0, counted ? 2 : 1);
    if (!memchr(text.ptr, ' ', text.len)) {
        lua_pushliteral(L, "ERR ");
        lua_pushlstring(L, text.ptr, text.len);
        lua_concat(L, 2);
    } else {
        lua_pushlstring(L, text.ptr, text.len);
    }
    lua_setfield(L, -2, "err");
    if (!counted) return;
    lua_pushboolean(L, true);
    lua_setfield(L, -2, FIELD_COUNTED);
}

/* Makes text one line for the protocol. */
static sds luaReplyOneLine(struct str text) {
    sds line = sdsnewstr(text);
    for (size_t i = 0; i < text.len; i++) {
        if (line[i] == '\r' || line[i] == '\n') line[i] = ' ';
    }
    return line;
}

void luaReplyError(struct client *c, struct str text, bool counted) {
    while (text.len && (text.ptr[text.len - 1] == '\n' || text.ptr[text.len - 1] == '\r')) text.len--;
    sds line = luaReplyOneLine(text);
    if (counted) {
        replyErrorCounted(c, sdsview(line));
    } else {
        sds error = *line == '-' ? sdsnew("-") : sdsempty(); /* replyErrorStr drops the first of two dashes */
        error = sdscatstr(error, sdsview(line));
        replyErrorStr(c, sdsview(error));
        sdsfree(error);
    }
    sdsfree(line);
}

/* ---- Reply to Lua ---- */

static sds held_bytes;
static struct respReply held_reply;

void luaReplyCleanup(void) {
    if (held_reply.element) respReplyFree(&held_reply);
    if (!held_bytes) return;
    sdsfree(held_bytes);
    held_bytes = NULL;
}

static void luaReplyPushReply(lua_State *L, const struct respReply *r);

static void luaReplyPushStr(lua_State *L, struct str s) {
    lua_pushlstring(L, s.ptr, s.len);
}

/* Wraps the value on top: {name = value}. */
static void luaReplyWrap(lua_State *L, const char *name) {
    lua_createtable(L, 0, 1);
    lua_insert(L, -2);
    lua_setfield(L, -2, name);
}

static void luaReplyPushArray(lua_State *L, const struct respReply *r) {
    lua_createtable(L, (int)r->elements, 0);
    for (size_t i = 0; i < r->elements; i++) {
        luaReplyPushReply(L, &r->element[i]);
        lua_rawseti(L, -2, (int)i + 1);
    }
}

static void luaReplyPushMap(lua_State *L, const struct respReply *r) {
    lua_createtable(L, 0, (int)r->elements / 2);
    for (size_t i = 0; i + 1 < r->elements; i += 2) {
        luaReplyPushReply(L, &r->element[i]);
        if (lua_isnil(L, -1)) {
            lua_pop(L, 1);
            continue;
        }
        luaReplyPushReply(L, &r->element[i + 1]);
        lua_rawset(L, -3);
    }
    luaReplyWrap(L, "map");
}

static void luaReplyPushSet(lua_State *L, const struct respReply *r) {
    lua_createtable(L, 0, (int)r->elements);
    for (size_t i = 0; i < r->elements; i++) {
        luaReplyPushReply(L, &r->element[i]);
        if (lua_isnil(L, -1)) {
            lua_pop(L, 1);
            continue;
        }
        lua_pushboolean(L, true);
        lua_rawset(L, -3);
    }
    luaReplyWrap(L, "set");
}

static void luaReplyPushVerbatim(lua_State *L, const struct respReply *r) {
    lua_createtable(L, 0, 2);
    luaReplyPushStr(L, strOf(r->vtype));
    lua_setfield(L, -2, "format");
    luaReplyPushStr(L, r->str);
    lua_setfield(L, -2, "string");
    luaReplyWrap(L, "verbatim_string");
}

static void luaReplyPushNull(lua_State *L) {
    if (script_run.client->resp < 3)
        lua_pushboolean(L, false);
    else
        lua_pushnil(L);
}

static void luaReplyPushReply(lua_State *L, const struct respReply *r) {
    if (!lua_checkstack(L, 8)) {
        lua_pushliteral(L, "reached lua stack limit");
        lua_error(L);
    }
    switch (r->type) {
    case RESP_T_STRING: luaReplyPushStr(L, r->str); break;
    case RESP_T_STATUS:
        luaReplyPushStr(L, r->str);
        luaReplyWrap(L, "ok");
        break;
    case RESP_T_ERROR: luaPushError(L, r->str, true); break;
    case RESP_T_INTEGER: lua_pushnumber(L, (lua_Number)r->integer); break;
    case RESP_T_NULL: luaReplyPushNull(L); break;
    case RESP_T_DOUBLE:
        lua_pushnumber(L, r->dval);
        luaReplyWrap(L, "double");
        break;
    case RESP_T_BOOL: lua_pushboolean(L, r->integer != 0); break;
    case RESP_T_BIGNUM:
        luaReplyPushStr(L, r->str);
        luaReplyWrap(L, "big_number");
        break;
    case RESP_T_VERBATIM: luaReplyPushVerbatim(L, r); break;
    case RESP_T_ARRAY:
    case RESP_T_PUSH: luaReplyPushArray(L, r); break;
    case RESP_T_MAP: luaReplyPushMap(L, r); break;
    case RESP_T_SET: luaReplyPushSet(L, r); break;
    }
}

bool luaPushReply(lua_State *L, struct client *c) {
    struct replyBlock *b = c->out.head;
    struct str bytes;
    luaReplyCleanup();
    serverAssert(b);
    if (b->next) {
        held_bytes = replyChainToSds(c);
        bytes = sdsview(held_bytes);
    } else {
        bytes = strN(b->buf, b->used);
    }
    held_reply = (struct respReply){0};
    int64_t n = respReadReply(bytes.ptr, bytes.len, &held_reply);
    serverAssert(n == (int64_t)bytes.len);
    bool error = held_reply.type == RESP_T_ERROR;
    luaReplyPushReply(L, &held_reply);
    replyFreeChain(c);
    luaReplyCleanup();
    return error;
}

/* ---- Lua to reply: the value is on top of the main thread's stack ---- */

static void luaReplyNumber(struct client *c, double n) {
    bool fits = n >= -0x1p63 && n < 0x1p63;
    replyLongLong(c, fits ? (int64_t)n : INT64_MIN);
}

static void luaReplyBoolean(struct client *c, bool v) {
    if (script_run.client->resp >= 3)
        replyBool(c, v);
    else if (v)
        replyLongLong(c, 1);
    else
        replyNull(c);
}

/* Pushes the field whose name is in `slot` if it has this type. */
static bool luaReplyPushField(lua_State *L, int slot, int type) {
    lua_pushvalue(L, slot);
    lua_rawget(L, -2);
    if (lua_type(L, -1) == type) return true;
    lua_pop(L, 1);
    return false;
}

static struct str luaReplyTopStr(lua_State *L) {
    struct str s;
    s.ptr = lua_tolstring(L, -1, &s.len);
    return s;
}

static void luaReplyErrorField(struct client *c, lua_State *L) {
    lua_pushvalue(L, SLOT_COUNTED);
    lua_rawget(L, -3);
    bool counted = lua_toboolean(L, -1);
    lua_pop(L, 1);
    luaReplyError(c, luaReplyTopStr(L), counted);
}

static void luaReplyStatusField(struct client *c, lua_State *L) {
    sds line = luaReplyOneLine(luaReplyTopStr(L));
    replyLiteral(c, "+");
    replyRaw(c, line, sdslen(line));
    replyLiteral(c, "\r\n");
    sdsfree(line);
}

static void luaReplyBigNumField(struct client *c, lua_State *L) {
    sds digits = luaReplyOneLine(luaReplyTopStr(L));
    replyBigNum(c, sdsview(digits));
    sdsfree(digits);
}

static void luaReplyMapField(struct client *c, lua_State *L) {
    struct replyMark mark = replyDeferLen(c);
    int64_t pairs = 0;
    for (lua_pushnil(L); lua_next(L, -2); pairs++) {
        lua_pushvalue(L, -2);
        luaReplyValue(c, L);
        luaReplyValue(c, L);
    }
    replySetMapLen(c, mark, pairs);
}

static void luaReplySetField(struct client *c, lua_State *L) {
    struct replyMark mark = replyDeferLen(c);
    int64_t n = 0;
    for (lua_pushnil(L); lua_next(L, -2); n++) {
        lua_pop(L, 1);
        lua_pushvalue(L, -1);
        luaReplyValue(c, L);
    }
    replySetSetLen(c, mark, n);
}

/* Returns false if the table is not {format=, string=}. */
static bool luaReplyVerbatimField(struct client *c, lua_State *L) {
    if (!luaReplyPushField(L, SLOT_FORMAT, LUA_TSTRING)) return false;
    struct str format = luaReplyTopStr(L);
    char ext[3] = {' ', ' ', ' '};
    memcpy(ext, format.ptr, format.len < 3 ? format.len : 3);
    lua_pop(L, 1);
    if (!luaReplyPushField(L, SLOT_STRING, LUA_TSTRING)) return false;
    replyVerbatim(c, luaReplyTopStr(L), ext);
    lua_pop(L, 1);
    return true;
}

/* Replies a table that stands for another type. Returns false if it is an array. */
static bool luaReplyTagged(struct client *c, lua_State *L) {
    if (luaReplyPushField(L, SLOT_ERR, LUA_TSTRING)) {
        luaReplyErrorField(c, L);
    } else if (luaReplyPushField(L, SLOT_OK, LUA_TSTRING)) {
        luaReplyStatusField(c, L);
    } else if (luaReplyPushField(L, SLOT_DOUBLE, LUA_TNUMBER)) {
        replyDouble(c, lua_tonumber(L, -1));
    } else if (luaReplyPushField(L, SLOT_MAP, LUA_TTABLE)) {
        luaReplyMapField(c, L);
    } else if (luaReplyPushField(L, SLOT_SET, LUA_TTABLE)) {
        luaReplySetField(c, L);
    } else if (luaReplyPushField(L, SLOT_BIG_NUMBER, LUA_TSTRING)) {
        luaReplyBigNumField(c, L);
    } else if (luaReplyPushField(L, SLOT_VERBATIM, LUA_TTABLE)) {
        if (!luaReplyVerbatimField(c, L)) {
            lua_pop(L, 1);
            return false;
        }
    } else {
        return false;
    }
    lua_pop(L, 1);
    return true;
}

static void luaReplyTable(struct client *c, lua_State *L) {
    if (luaReplyTagged(c, L)) return;
    struct replyMark mark = replyDeferLen(c);
    int64_t n = 0;
    for (;; n++) {
        lua_rawgeti(L, -1, (int)n + 1);
        if (lua_isnil(L, -1)) break;
        luaReplyValue(c, L);
    }
    lua_pop(L, 1);
    replySetArrayLen(c, mark, n);
}

void luaReplyValue(struct client *c, lua_State *L) {
    if (!lua_checkstack(L, 4)) {
        replyError(c, "ERR reached lua stack limit");
        lua_pop(L, 1);
        return;
    }
    switch (lua_type(L, -1)) {
    case LUA_TSTRING: replyBulk(c, luaReplyTopStr(L)); break;
    case LUA_TNUMBER: luaReplyNumber(c, lua_tonumber(L, -1)); break;
    case LUA_TBOOLEAN: luaReplyBoolean(c, lua_toboolean(L, -1)); break;
    case LUA_TTABLE: luaReplyTable(c, L); break;
    default: replyNull(c);
    }
    lua_pop(L, 1);
}
