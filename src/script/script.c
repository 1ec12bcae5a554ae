/* script.c - EVAL and its family: the cache of scripts, running one, and the time limit.
 *
 *     by_text  text -> script     EVAL finds a script without hashing its name anew
 *     by_sha   sha1 -> script     EVALSHA, SCRIPT EXISTS
 *     recent   scripts that came by EVAL only, the one used last at the end; the first is dropped at the
 * bound
 *
 * A script is compiled once, to a function that the interpreter's registry holds.
 *
 * Time limit. Lua calls the hook every SCRIPT_HOOK_PERIOD instructions. Past busy-reply-threshold the script
 * is `busy`: from then on each hook runs a nested round (core/round.h), in which a filter answers BUSY to all
 * commands but a few. SCRIPT KILL only sets a flag; the hook raises the error, and from then on at every
 * instruction, so that no pcall() can hold it up. */
#include "script/script.h"

#include <lauxlib.h>

#include "base/assert.h"
#include "base/list.h"
#include "base/log.h"
#include "base/num.h"
#include "base/sha1.h"
#include "base/ticks.h"
#include "base/zmalloc.h"
#include "commands/commands.h"
#include "core/command.h"
#include "core/config.h"
#include "core/cron.h"
#include "core/evict.h"
#include "core/info.h"
#include "core/lazyfree.h"
#include "core/memory.h"
#include "core/propagate.h"
#include "core/reply.h"
#include "core/round.h"
#include "ds/hashtable.h"
#include "script/script_private.h"

#define SHA_LEN          40
#define RECENT_MAX       500 /* scripts kept that nobody has asked to keep */
#define GC_PERIOD_MS     100
#define GC_STEP_KB       64
#define GC_BUDGET_US     1000
#define SCRIPT_CHUNKNAME "@user_script"

enum { SCRIPT_SHEBANG = 1, SCRIPT_NO_WRITES = 2, SCRIPT_ALLOW_OOM = 4, SCRIPT_ALLOW_OTHER = 8 };

struct script {
    char sha[SHA_LEN + 1];
    unsigned flags;
    int function; /* reference in the interpreter's registry */
    sds text;
    struct listNode recent_node;
};

struct scriptRun script_run;

static struct hashtable by_sha, by_text;
static struct list recent;
static size_t scripts_memory;
static uint64_t evicted;
static int gc_cycles; /* of collection still to do: the one going on may have passed by what died since */

static int64_t busy_threshold_ms;

/* ---- Cache ---- */

static struct str shaKey(const void *entry) {
    return strN(((const struct script *)entry)->sha, SHA_LEN);
}
static struct str textKey(const void *entry) {
    return sdsview(((const struct script *)entry)->text);
}
static const struct hashtableType by_sha_type = {.entryKey = shaKey};
static const struct hashtableType by_text_type = {.entryKey = textKey};

static size_t scriptMemory(const struct script *s) {
    return zmallocSize(s) + sdsAllocSize(s->text);
}

static void scriptFree(struct script *s) {
    sdsfree(s->text);
    zfree(s);
}

static void addScript(struct script *s, bool keep) {
    hashtableAdd(&by_sha, s);
    hashtableAdd(&by_text, s);
    scripts_memory += scriptMemory(s);
    if (!keep) listAddTail(&recent, &s->recent_node);
}

static void dropScript(struct script *s) {
    hashtablePop(&by_sha, shaKey(s));
    hashtablePop(&by_text, textKey(s));
    if (listLinked(&s->recent_node)) listRemove(&recent, &s->recent_node);
    scripts_memory -= scriptMemory(s);
    luaL_unref(script_run.main, LUA_REGISTRYINDEX, s->function);
    scriptFree(s);
}

static void makeRoomForOne(void) {
    if (recent.length < RECENT_MAX) return;
    dropScript(listEntry(listFirst(&recent), struct script, recent_node));
    evicted++;
}

/* `keep`: by SCRIPT LOAD, never dropped from now on. */
static void touchScript(struct script *s, bool keep) {
    if (!listLinked(&s->recent_node)) return;
    listRemove(&recent, &s->recent_node);
    if (!keep) listAddTail(&recent, &s->recent_node);
}

/* ---- Shebang: "#!lua flags=no-writes,allow-oom" on the first line ---- */

static bool readFlag(struct str name, unsigned *flags) {
    static const char *const others[] = {"allow-stale", "no-cluster", "allow-cross-slot-keys"};
    if (strEq(name, STR("no-writes"))) {
        *flags |= SCRIPT_NO_WRITES;
        return true;
    }
    if (strEq(name, STR("allow-oom"))) {
        *flags |= SCRIPT_ALLOW_OOM;
        return true;
    }
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        if (!strEq(name, strOf(others[i]))) continue;
        *flags |= SCRIPT_ALLOW_OTHER;
        return true;
    }
    return false;
}

static sds readFlags(struct str list, unsigned *flags) {
    int count;
    sds error = NULL;
    sds *names = sdssplitlen(list.ptr, list.len, ",", 1, &count);
    for (int i = 0; i < count && !error; i++) {
        if (!readFlag(sdsview(names[i]), flags)) {
            error = sdscatprintf(sdsempty(), "ERR Unexpected flag in script shebang: %s", names[i]);
        }
    }
    sdsfreesplitres(names, count);
    return error;
}

static sds readShebangWords(sds *words, int count, unsigned *flags) {
    if (!count || strcmp(words[0], "#!lua")) {
        return sdscatprintf(sdsempty(), "ERR Unexpected engine in script shebang: %s", count ? words[0] : "");
    }
    for (int i = 1; i < count; i++) {
        if (strncmp(words[i], "flags=", 6)) {
            return sdscatprintf(sdsempty(), "ERR Unknown lua shebang option: %s", words[i]);
        }
        sds error = readFlags(strN(words[i] + 6, sdslen(words[i]) - 6), flags);
        if (error) return error;
    }
    return NULL;
}

/* Takes the first line off *code, but for its newline, which keeps the line numbers right. NULL, or the
 * error. */
static sds readShebang(struct str *code, unsigned *flags) {
    if (code->len < 2 || memcmp(code->ptr, "#!", 2)) return NULL;
    const char *end = memchr(code->ptr, '\n', code->len);
    if (!end) return sdsnew("ERR Invalid script shebang");
    int count = 0;
    size_t len = (size_t)(end - code->ptr);
    sds *words = sdssplitargs(code->ptr, len, &count);
    if (!words) return sdsnew("ERR Invalid script shebang");
    *flags |= SCRIPT_SHEBANG;
    sds error = readShebangWords(words, count, flags);
    sdsfreesplitres(words, count);
    *code = strN(end, code->len - len);
    return error;
}

/* ---- Loading ---- */

static void replyAndFree(struct client *c, sds error) {
    replyErrorStr(c, sdsview(error));
    sdsfree(error);
}

/* Compiles `text` and adds it to the cache. NULL: the error has been replied. */
static struct script *loadScript(struct client *c, struct str text, bool keep) {
    lua_State *L = script_run.main;
    unsigned flags = 0;
    struct str code = text;
    sds error = readShebang(&code, &flags);
    if (!error && !scriptCompile(L, code, SCRIPT_CHUNKNAME)) {
        error =
            sdscatprintf(sdsempty(), "ERR Error compiling script (new function): %s", lua_tostring(L, -1));
        lua_pop(L, 1);
    }
    if (error) {
        replyAndFree(c, error);
        return NULL;
    }
    if (!keep) makeRoomForOne();
    struct script *s = zcalloc(1, sizeof *s);
    sha1Hex(s->sha, text.ptr, text.len);
    s->flags = flags;
    s->function = luaL_ref(L, LUA_REGISTRYINDEX);
    s->text = sdsnewstr(text);
    addScript(s, keep);
    return s;
}

static struct script *findBySha(struct str sha) {
    if (sha.len != SHA_LEN) return NULL;
    char lower[SHA_LEN];
    for (int i = 0; i < SHA_LEN; i++)
        lower[i] = sha.ptr[i] | (sha.ptr[i] >= 'A' && sha.ptr[i] <= 'Z' ? 32 : 0);
    return hashtableFind(&by_sha, strN(lower, SHA_LEN));
}

/* ---- Time limit ---- */

static uint64_t runUs(void) {
    return (ticksNow() - script_run.start) / ticks_per_us;
}

static void raiseKilled(lua_State *L, lua_Hook hook) {
    bool first = lua_gethookcount(script_run.main) != 1;
    if (first) serverLog(LL_NOTICE, "Lua script killed by user with SCRIPT KILL.");
    lua_sethook(L, hook, LUA_MASKCOUNT, 1);
    lua_sethook(script_run.main, hook, LUA_MASKCOUNT, 1);
    lua_pushliteral(L, "Script killed by user with SCRIPT KILL...");
    lua_error(L);
}

static void timeHook(lua_State *L, lua_Debug *ar) {
    (void)ar;
    if (script_run.killed) raiseKilled(L, timeHook);
    if (!script_run.busy) {
        if (busy_threshold_ms == 0 || runUs() < (uint64_t)busy_threshold_ms * 1000) return;
        script_run.busy = true;
        serverLog(LL_WARNING,
                  "Slow script detected: still in execution after %llu milliseconds. You can try killing "
                  "the script using the SCRIPT KILL command. Script name is: %s.",
                  (unsigned long long)(runUs() / 1000), script_run.sha);
    }
    roundNested();
    if (script_run.killed) raiseKilled(L, timeHook);
}

static void armHook(void) {
    lua_sethook(script_run.main, timeHook, LUA_MASKCOUNT, SCRIPT_HOOK_PERIOD);
}

/* What a busy server still does: SHUTDOWN only when it need not save what a script has half done. */
static bool allowedWhileBusy(const struct client *c, const struct serverCommand *cmd) {
    if (!(cmd->flags & CMD_ALLOW_BUSY)) return false;
    if (strcmp(cmd->spec->name, "shutdown")) return true;
    for (int i = 1; i < c->argc; i++) {
        if (strIs(c->argv[i], "nosave") || strIs(c->argv[i], "abort")) return true;
    }
    return false;
}

static bool busyFilter(struct client *c, struct serverCommand *cmd) {
    if (__builtin_expect(!script_run.busy, 1) || allowedWhileBusy(c, cmd)) return true;
    replyError(c, "BUSY Valkey is busy running a script. You can only call SCRIPT KILL or SHUTDOWN NOSAVE.");
    return false;
}

/* ---- Running ---- */

/* A global table of arguments. */
static void setGlobal(lua_State *L, int name_slot, const struct str *values, int count) {
    lua_pushvalue(L, name_slot);
    lua_createtable(L, count, 0);
    for (int i = 0; i < count; i++) {
        lua_pushlstring(L, values[i].ptr, values[i].len);
        lua_rawseti(L, -2, i + 1);
    }
    lua_rawset(L, SLOT_GLOBALS);
}

/* The text of the error on top; *counted when it is in the statistics already. */
static sds errorText(lua_State *L, bool *counted) {
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
    sds text = errorText(L, &counted);
    text = sdscatprintf(text, " script: %s", script_run.sha);
    if (script_run.error_source) {
        text = sdscatprintf(text, ", on %s:%d.", script_run.error_source, script_run.error_line);
    }
    scriptReplyError(c, sdsview(text), counted);
    sdsfree(text);
}

static void beginRun(struct client *c, const struct script *s, bool read_only) {
    struct client *fake = script_run.client;
    fake->db = c->db;
    fake->resp = 2;
    fake->user = c->user;
    fake->flags = CLIENT_SCRIPT | CLIENT_DENY_BLOCKING | (c->flags & CLIENT_NO_TOUCH);
    script_run.sha = s->sha;
    script_run.caller = c;
    script_run.start = ticksNow();
    script_run.read_only = read_only;
    script_run.deny_oom = !(s->flags & SCRIPT_ALLOW_OOM) && evictOutOfMemory();
    script_run.wrote = script_run.busy = script_run.killed = false;
    script_run.repl = REPL_ALL;
}

static void endRun(struct client *c) {
    lua_State *L = script_run.main;
    lua_settop(L, SLOT_LAST);
    if (script_run.killed) armHook();
    scriptReplyCleanup();
    sdsfree(script_run.error_source);
    script_run.error_source = NULL;
    script_run.client->user = NULL; /* was borrowed */
    script_run.sha = NULL;
    script_run.caller = NULL;
    script_run.busy = false;
    gc_cycles = 2;
    propagateSuppress(c); /* its effects have been propagated */
}

static void runScript(struct client *c, struct script *s, int keys, bool read_only) {
    lua_State *L = script_run.main;
    serverAssert(!script_run.sha);
    beginRun(c, s, read_only);
    setGlobal(L, SLOT_KEYS, c->argv + 3, keys);
    setGlobal(L, SLOT_ARGV, c->argv + 3 + keys, c->argc - 3 - keys);
    lua_rawgeti(L, LUA_REGISTRYINDEX, s->function);
    if (lua_pcall(L, 0, 1, SLOT_HANDLER) == 0)
        scriptReplyValue(c, L);
    else
        replyRunError(c, L);
    endRun(c);
}

/* ---- EVAL and its family ---- */

static bool parseKeyCount(struct client *c, int *keys) {
    int64_t n;
    if (!argLongLong(c, c->argv[2], &n, NULL)) return false;
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

/* A script that has told what it does is refused as a whole; another at its first command that may enlarge
 * the data, unless it has written before (script_api.c). */
static bool refusedOutOfMemory(const struct script *s) {
    return s->flags & SCRIPT_SHEBANG && !(s->flags & (SCRIPT_NO_WRITES | SCRIPT_ALLOW_OOM)) &&
           evictOutOfMemory();
}

static void eval(struct client *c, struct script *s, int keys, bool read_only) {
    if (refusedOutOfMemory(s)) {
        replyError(c, err_oom);
        return;
    }
    if (read_only && s->flags & SCRIPT_SHEBANG && !(s->flags & SCRIPT_NO_WRITES)) {
        replyError(c, "ERR Can not execute a script with write flag using *_ro command.");
        return;
    }
    touchScript(s, false);
    runScript(c, s, keys, read_only || s->flags & SCRIPT_NO_WRITES);
}

static void evalText(struct client *c, bool read_only) {
    int keys;
    if (!parseKeyCount(c, &keys)) return;
    struct script *s = hashtableFind(&by_text, c->argv[1]);
    if (!s) s = loadScript(c, c->argv[1], false);
    if (s) eval(c, s, keys, read_only);
}

/* What cannot be a name is not found, whatever follows it. */
static void evalSha(struct client *c, bool read_only) {
    int keys;
    bool is_name = c->argv[1].len == SHA_LEN;
    if (is_name && !parseKeyCount(c, &keys)) return;
    struct script *s = is_name ? findBySha(c->argv[1]) : NULL;
    if (s)
        eval(c, s, keys, read_only);
    else
        replyError(c, "NOSCRIPT No matching script. Please use EVAL.");
}

void evalCommand(struct client *c) {
    evalText(c, false);
}
void evalRoCommand(struct client *c) {
    evalText(c, true);
}
void evalshaCommand(struct client *c) {
    evalSha(c, false);
}
void evalshaRoCommand(struct client *c) {
    evalSha(c, true);
}

/* ---- SCRIPT ---- */

void scriptLoadCommand(struct client *c) {
    struct script *s = hashtableFind(&by_text, c->argv[2]);
    if (s)
        touchScript(s, true);
    else
        s = loadScript(c, c->argv[2], true);
    if (s) replyBulk(c, shaKey(s));
}

void scriptExistsCommand(struct client *c) {
    replyArrayLen(c, c->argc - 2);
    for (int i = 2; i < c->argc; i++) replyLongLong(c, findBySha(c->argv[i]) != NULL);
}

/* What a flush leaves behind, to be freed by whom it may concern. */
struct oldCache {
    lua_State *vm;
    struct hashtable scripts;
};

static void freeOldCache(void *arg) {
    struct oldCache *old = arg;
    struct hashtableIterator it;
    void *entry;
    lua_close(old->vm);
    hashtableInitIterator(&it, &old->scripts, false);
    while (hashtableNext(&it, &entry)) scriptFree(entry);
    hashtableStopIterator(&it);
    hashtableDestroy(&old->scripts);
    zfree(old);
}

static void createVm(void) {
    script_run.main = scriptVmCreate();
    armHook();
    hashtableInit(&by_sha, &by_sha_type);
    hashtableInit(&by_text, &by_text_type);
    listInit(&recent);
    scripts_memory = 0;
    gc_cycles = 2;
}

void scriptFlushCommand(struct client *c) {
    bool async = lazyfree_lazy_user_flush;
    bool is_async = c->argc == 3 && strIs(c->argv[2], "async"),
         is_sync = c->argc == 3 && strIs(c->argv[2], "sync");
    if (c->argc > 2 && !is_async && !is_sync) {
        replyError(c, "ERR SCRIPT FLUSH only support SYNC|ASYNC option");
        return;
    }
    if (c->argc == 3) async = is_async;
    struct oldCache *old = zmalloc(sizeof *old);
    old->vm = script_run.main;
    old->scripts = by_sha;
    hashtableDestroy(&by_text);
    createVm();
    if (async)
        bioSubmit(BIO_LAZY_FREE, freeOldCache, old);
    else
        freeOldCache(old);
    replyOk(c);
}

void scriptKillCommand(struct client *c) {
    if (!script_run.sha) {
        replyError(c, "NOTBUSY No scripts in execution right now.");
    } else if (script_run.wrote) {
        replyError(c,
                   "UNKILLABLE Sorry the script already executed write commands against the dataset. You can "
                   "either wait the script termination or kill the server in a hard way using the SHUTDOWN "
                   "NOSAVE command.");
    } else {
        script_run.killed = true;
        replyOk(c);
    }
}

void scriptHelpCommand(struct client *c) {
    static const char *lines[] = {"EXISTS <sha1> [<sha1> ...]",
                                  "    Tell for each script whether it is in the cache.",
                                  "FLUSH [ASYNC|SYNC]",
                                  "    Empty the cache of scripts. Without a mode, lazyfree-lazy-user-flush",
                                  "    decides whether memory is freed in the background.",
                                  "KILL",
                                  "    Stop the script that runs now, unless it has written.",
                                  "LOAD <script>",
                                  "    Put a script into the cache, and return its SHA-1.",
                                  NULL};
    replyHelp(c, lines);
}

/* ---- Registration ---- */

/* Lua collects as it allocates, so what the last script left would stay until the next: go on while idle. */
static void collectGarbage(void) {
    if (!gc_cycles || script_run.sha) return;
    int64_t end = monotonicUs() + GC_BUDGET_US;
    while (gc_cycles && monotonicUs() < end) gc_cycles -= lua_gc(script_run.main, LUA_GCSTEP, GC_STEP_KB);
}

static size_t vmMemory(void) {
    if (!script_run.main) return 0;
    return (size_t)lua_gc(script_run.main, LUA_GCCOUNT, 0) * 1024 +
           (size_t)lua_gc(script_run.main, LUA_GCCOUNTB, 0);
}

static size_t cacheMemory(void) {
    return scripts_memory + hashtableMemory(&by_sha) + hashtableMemory(&by_text);
}

/* Functions (FUNCTION LOAD) are not there yet, so the totals are those of EVAL. */
static sds memoryInfo(sds s) {
    char vm_human[64], scripts_human[64];
    size_t vm = vmMemory(), cache = cacheMemory();
    bytesToHuman(vm_human, sizeof vm_human, vm);
    bytesToHuman(scripts_human, sizeof scripts_human, cache);
    s = infoField(s, "used_memory_vm_eval:%zu", vm);
    s = infoField(s, "used_memory_lua:%zu", vm);
    s = infoField(s, "used_memory_lua_human:%s", vm_human);
    s = infoField(s, "used_memory_scripts_eval:%zu", cache);
    s = infoField(s, "number_of_cached_scripts:%zu", hashtableSize(&by_sha));
    s = infoField(s, "number_of_functions:0");
    s = infoField(s, "number_of_libraries:0");
    s = infoField(s, "used_memory_vm_functions:0");
    s = infoField(s, "used_memory_vm_total:%zu", vm);
    s = infoField(s, "used_memory_vm_total_human:%s", vm_human);
    s = infoField(s, "used_memory_functions:0");
    s = infoField(s, "used_memory_scripts:%zu", cache);
    return infoField(s, "used_memory_scripts_human:%s", scripts_human);
}

static sds statsInfo(sds s) {
    return infoField(s, "evicted_scripts:%llu", (unsigned long long)evicted);
}

static void resetStats(void) {
    evicted = 0;
}

void scriptInit(void) {
    static struct configDirective directives[] = {
        CONFIG_INT("busy-reply-threshold", "lua-time-limit", CONFIG_MODIFIABLE, &busy_threshold_ms, 5000, 0,
                   INT64_MAX / 1000, NULL),
    };
    configRegister(directives, sizeof directives / sizeof *directives);
    commandRegister(commandsScripting);
    commandAddFilter(busyFilter);
    infoRegister("memory", memoryInfo);
    memoryAddPart(MEMORY_LUA_CACHES, cacheMemory);
    infoRegister("stats", statsInfo);
    configOnResetStat(resetStats);
    cronRegister(collectGarbage, GC_PERIOD_MS);
}

void scriptStart(void) {
    script_run.client = clientCreate(NULL);
    script_run.client->script = &script_run;
    createVm();
}
