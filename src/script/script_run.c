/* script_run.c - running a script or a function, its time limit, and stopping it (see script_private.h).
 *
 * Time limit. Lua calls the hook every SCRIPT_HOOK_PERIOD instructions. Past busy-reply-threshold the script
 * is `busy`: from then on each hook runs a nested round (command/round.h), in which RULE_BUSY answers BUSY to
 * all commands but a few. SCRIPT KILL and FUNCTION KILL only set a flag; the hook raises the error, and from
 * then on at every instruction, so that no pcall() can hold it up. */
#include "base/assert.h"
#include "base/log.h"
#include "base/ticks.h"
#include "data/evict.h"
#include "data/role.h"
#include "command/busy.h"
#include "command/call.h"
#include "command/propagate.h"
#include "client/reply.h"
#include "registry/product.h"
#include "command/round.h"
#include "script/script_private.h"

struct scriptRun script_run;

static const char *killCommand(void) {
    return script_run.kind == SCRIPT_FUNCTION ? "FUNCTION KILL" : "SCRIPT KILL";
}

/* ---- Time limit ---- */

uint64_t scriptRunUs(void) {
    return (ticksNow() - script_run.start) / ticks_per_us;
}

static void raiseKilled(lua_State *L, lua_Hook hook) {
    bool first = lua_gethookcount(script_run.main) != 1;
    if (first) serverLog(LL_NOTICE, "Script killed by user with %s.", killCommand());
    lua_sethook(L, hook, LUA_MASKCOUNT, 1);
    lua_sethook(script_run.main, hook, LUA_MASKCOUNT, 1);
    lua_pushfstring(L, "Script killed by user with %s.", killCommand());
    lua_error(L);
}

void scriptReplyBusy(struct client *c) {
    replyErrorFmt(c, "BUSY %s is busy running a script. You can only call %s or SHUTDOWN NOSAVE.",
                  productTitle(), killCommand());
}

static void setBusy(bool busy) {
    script_run.busy = busy;
    if (busy)
        busyBegin(scriptReplyBusy);
    else
        busyEnd();
}

static void timeHook(lua_State *L, lua_Debug *ar) {
    (void)ar;
    if (script_run.killed) raiseKilled(L, timeHook);
    if (!script_run.busy) {
        if (busyNow()) return; /* of a module, on whose behalf it runs */
        if (busy_threshold_ms == 0 || scriptRunUs() / 1000 < (uint64_t)busy_threshold_ms) return;
        setBusy(true);
        serverLog(LL_WARNING,
                  "Slow script detected: still in execution after %llu milliseconds. You can try killing "
                  "the script using the %s command. Script name is: %s.",
                  (unsigned long long)(scriptRunUs() / 1000), killCommand(), script_run.name);
    }
    roundNested();
    if (script_run.killed) raiseKilled(L, timeHook);
}

void scriptArmHook(lua_State *L) {
    lua_sethook(L, timeHook, LUA_MASKCOUNT, SCRIPT_HOOK_PERIOD);
}

void scriptKill(struct client *c, enum scriptKind kind) {
    if (!script_run.name) {
        replyError(c, "NOTBUSY No scripts in execution right now.");
    } else if (script_run.wrote) {
        replyError(c,
                   "UNKILLABLE Sorry the script already executed write commands against the dataset. You can "
                   "either wait the script termination or kill the server in a hard way using the SHUTDOWN "
                   "NOSAVE command.");
    } else if (script_run.kind != kind) {
        scriptReplyBusy(c);
    } else {
        script_run.killed = true;
        replyOk(c);
    }
}

/* ---- Errors ---- */

sds scriptErrorText(lua_State *L, bool *counted) {
    *counted = false;
    if (lua_istable(L, -1)) {
        lua_pushvalue(L, SLOT_COUNTED);
        lua_rawget(L, -2);
        *counted = lua_toboolean(L, -1);
        lua_pop(L, 1);
        lua_pushvalue(L, SLOT_ERR);
        lua_rawget(L, -2);
        struct str err;
        if (lua_type(L, -1) != LUA_TSTRING) return sdsnew("ERR unknown error");
        err.ptr = lua_tolstring(L, -1, &err.len);
        return sdsnewstr(err);
    }
    if (lua_isboolean(L, -1)) return sdsnew(lua_toboolean(L, -1) ? "ERR true" : "ERR false");
    struct str text = STR("nil");
    if (lua_isstring(L, -1)) text.ptr = lua_tolstring(L, -1, &text.len);
    return sdscatstr(sdsnew("ERR "), text);
}

static void replyRunError(struct client *c, lua_State *L) {
    bool counted;
    sds text = scriptErrorText(L, &counted);
    if (script_run.error_source) {
        text = sdscatprintf(text, " script: on %s:%d.", script_run.error_source, script_run.error_line);
    }
    scriptReplyError(c, sdsview(text), counted);
    sdsfree(text);
}

/* ---- Running ---- */

static void pushStrings(lua_State *L, const struct str *values, int count) {
    lua_createtable(L, count, 0);
    for (int i = 0; i < count; i++) {
        lua_pushlstring(L, values[i].ptr, values[i].len);
        lua_rawseti(L, -2, i + 1);
    }
}

/* Scripts find their keys and arguments in globals. */
static int passAsGlobals(lua_State *L, const struct scriptCode *code, const struct client *c, int keys) {
    lua_pushvalue(L, SLOT_KEYS);
    pushStrings(L, c->argv + 3, keys);
    lua_rawset(L, SLOT_GLOBALS);
    lua_pushvalue(L, SLOT_ARGV);
    pushStrings(L, c->argv + 3 + keys, c->argc - 3 - keys);
    lua_rawset(L, SLOT_GLOBALS);
    lua_rawgeti(L, LUA_REGISTRYINDEX, code->function);
    return 0;
}

/* Functions are called with them. */
static int passAsArguments(lua_State *L, const struct scriptCode *code, const struct client *c, int keys) {
    lua_rawgeti(L, LUA_REGISTRYINDEX, code->function);
    pushStrings(L, c->argv + 3, keys);
    pushStrings(L, c->argv + 3 + keys, c->argc - 3 - keys);
    return 2;
}

static void beginRun(struct client *c, const struct scriptCode *code, bool read_only) {
    struct client *fake = script_run.client;
    fake->db = c->db;
    fake->resp = 2;
    fake->user = c->user;
    fake->flags = CLIENT_SCRIPT | CLIENT_DENY_BLOCKING | (c->flags & CLIENT_NO_TOUCH);
    script_run.name = code->name;
    script_run.kind = code->kind;
    script_run.flags = code->flags;
    script_run.main = scriptVm(code->kind);
    script_run.caller = c;
    script_run.start = ticksNow();
    script_run.read_only = read_only;
    script_run.deny_oom = !(code->flags & SCRIPT_ALLOW_OOM) && evictOutOfMemory();
    script_run.wrote = script_run.busy = script_run.killed = false;
    script_run.repl = REPL_ALL;
    if (code->flags & SCRIPT_ALLOW_CROSS_SLOT || !(code->flags & SCRIPT_SHEBANG))
        call_running->slot = CALL_SLOT_ANY;
}

static void endRun(struct client *c) {
    lua_State *L = script_run.main;
    lua_settop(L, SLOT_LAST);
    if (script_run.killed) scriptArmHook(L);
    scriptForgetErrorPlace();
    scriptReplyCleanup();
    script_run.client->user = NULL; /* was borrowed */
    script_run.name = NULL;
    script_run.caller = NULL;
    if (script_run.busy) setBusy(false);
    scriptVmUsed(script_run.kind);
    propagateSuppress(c); /* its effects have been propagated */
}

void scriptForgetErrorPlace(void) {
    sdsfree(script_run.error_source);
    script_run.error_source = NULL;
}

void scriptExecute(struct client *c, const struct scriptCode *code, int keys, bool read_only) {
    serverAssert(!script_run.name);
    if (code->flags & SCRIPT_NO_CLUSTER && cluster_enabled) {
        replyError(c, "ERR Can not run script on cluster, 'no-cluster' flag is set.");
        return;
    }
    if (read_only && code->flags & SCRIPT_SHEBANG && !(code->flags & SCRIPT_NO_WRITES)) {
        replyError(c, "ERR Can not execute a script with write flag using *_ro command.");
        return;
    }
    if (code->kind == SCRIPT_EVAL && !(code->flags & SCRIPT_SHEBANG) && roleDataIsStale()) {
        replyError(c, err_masterdown); /* it has not said that it can do with stale data */
        return;
    }
    beginRun(c, code, read_only || code->flags & SCRIPT_NO_WRITES);
    lua_State *L = script_run.main;
    int argc =
        code->kind == SCRIPT_EVAL ? passAsGlobals(L, code, c, keys) : passAsArguments(L, code, c, keys);
    if (lua_pcall(L, argc, 1, SLOT_HANDLER) == 0)
        scriptReplyValue(c, L);
    else
        replyRunError(c, L);
    endRun(c);
}

bool scriptKeyCount(struct client *c, int *keys, const char *not_a_number) {
    int64_t n;
    if (!argLongLong(c, c->argv[2], &n, not_a_number)) return false;
    if (n > c->argc - 3) {
        replyError(c, "ERR Number of keys can't be greater than number of args");
        return false;
    }
    if (n < 0) {
        replyError(c, "ERR Number of keys can't be negative");
        return false;
    }
    *keys = (int)n;
    return true;
}

void scriptRunInit(void) {
    scriptApiInit();
}
