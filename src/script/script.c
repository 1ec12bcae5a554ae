/* SPDX-License-Identifier: BSD-3-Clause */
/* script.c - EVAL and its family, and the cache of scripts.
 *
 *     by_text  text -> script     EVAL finds a script without computing its SHA-1
 *     by_sha   sha1 -> script     EVALSHA, SCRIPT EXISTS, SCRIPT SHOW
 *     recent   scripts that only EVAL has brought, the least recently used first; that one is evicted when
 *              there are RECENT_MAX, or when all of them need more than maxmemory-scripts
 *
 * A script is compiled once, by the engine that its first line names. */
#include "script/script.h"

#include "base/linked_list.h"
#include "base/num.h"
#include "base/sha1.h"
#include "base/zmalloc.h"
#include "client/client_output.h"
#include "client/reply.h"
#include "command/command.h"
#include "commands/cmd_scripting.h"
#include "data/lifetime/defrag.h"
#include "data/lifetime/evict.h"
#include "data/lifetime/lazyfree.h"
#include "ds/hashtable.h"
#include "registry/background.h"
#include "registry/config.h"
#include "registry/cron.h"
#include "registry/info.h"
#include "registry/memory_report.h"
#include "script/functions.h"
#include "script/lua/lua_engine.h"
#include "script/script_debug.h"
#include "script/script_private.h"

#define SHA_LEN    40
#define RECENT_MAX 500 /* scripts that are kept without SCRIPT LOAD */

struct cachedScript {
    char sha[SHA_LEN + 1];
    unsigned flags;
    struct scriptEngine *engine;
    uintptr_t code; /* code of its engine */
    size_t memory;  /* scriptComputeMemory when it was added */
    sds text;
    struct listNode recent_node;
};

static const char no_such_script[] = "NOSCRIPT No matching script.";

static struct hashtable by_sha, by_text;
static struct list recent;
static size_t scripts_memory, recent_memory; /* of all scripts, and of those in `recent` */
static uint64_t evicted;
static int64_t memory_limit; /* bytes; negative: percent of maxmemory; 0: no limit */
static int scripts_running;

/* ---- Cache ---- */

static struct str scriptShaKey(const void *entry) {
    return strN(((const struct cachedScript *)entry)->sha, SHA_LEN);
}
static struct str scriptTextKey(const void *entry) {
    return sdsview(((const struct cachedScript *)entry)->text);
}
static const struct hashtableType by_sha_type = {.entryKey = scriptShaKey};
static const struct hashtableType by_text_type = {.entryKey = scriptTextKey};

static size_t scriptComputeMemory(const struct cachedScript *s) {
    const struct scriptEngineMethods *methods = s->engine->methods;
    size_t engines = methods->codeMemory ? methods->codeMemory(s->engine, s->code) : 0;
    return zmallocSize(s) + sdsAllocSize(s->text) + engines;
}

static void scriptFree(struct cachedScript *s) {
    sdsfree(s->text);
    zfree(s);
}

static void scriptAddRecent(struct cachedScript *s) {
    listAddTail(&recent, &s->recent_node);
    recent_memory += s->memory;
}

static void scriptRemoveRecent(struct cachedScript *s) {
    listRemove(&recent, &s->recent_node);
    recent_memory -= s->memory;
}

static void scriptAdd(struct cachedScript *s, bool keep) {
    hashtableAdd(&by_sha, s);
    hashtableAdd(&by_text, s);
    s->memory = scriptComputeMemory(s);
    scripts_memory += s->memory;
    if (!keep) scriptAddRecent(s);
}

static void scriptDrop(struct cachedScript *s) {
    hashtablePop(&by_sha, scriptShaKey(s));
    hashtablePop(&by_text, scriptTextKey(s));
    if (listLinked(&s->recent_node)) scriptRemoveRecent(s);
    scripts_memory -= s->memory;
    s->engine->methods->release(s->engine, SCRIPT_EVAL, s->code);
    scriptFree(s);
}

static void scriptEvictOldest(void) {
    scriptDrop(listEntry(listFirst(&recent), struct cachedScript, recent_node));
    evicted++;
}

/* Evicts scripts until those that may be evicted, and another one of `bytes`, keep maxmemory-scripts. While a
 * script runs, it may be the only one left, so nothing is evicted. */
static void scriptKeepMemoryLimit(size_t bytes) {
    size_t most = memory_limit < 0 ? evictLimit() / 100 * (size_t)-memory_limit : (size_t)memory_limit;
    if (!most || scripts_running) return; /* no limit, or a percentage without maxmemory */
    while (recent.length && recent_memory + bytes > most) scriptEvictOldest();
}

/* A script that is larger than the limit by itself runs, and is then evicted. */
static void scriptBeforeSleep(void) {
    if (__builtin_expect(memory_limit && recent.length, 0)) scriptKeepMemoryLimit(0);
}

/* Marks a script as used. `keep`: by SCRIPT LOAD, so it is never evicted from now on. */
static void scriptTouch(struct cachedScript *s, bool keep) {
    if (!listLinked(&s->recent_node)) return;
    scriptRemoveRecent(s);
    if (!keep) scriptAddRecent(s);
}

static void scriptDefragScript(void *priv, void *entry) {
    struct cachedScript *s = entry;
    (void)priv;
    size_t before = s->memory;
    sds text = sdsMove(s->text, defragMove, NULL);
    if (text) s->text = text;
    struct cachedScript *now = defragMove(NULL, s);
    if (now) {
        hashtableReplaceEntry(&by_sha, s, now, hashtableHash(&by_sha, scriptShaKey(now)));
        hashtableReplaceEntry(&by_text, s, now, hashtableHash(&by_text, scriptTextKey(now)));
        if (listLinked(&now->recent_node)) listNodeMoved(&now->recent_node);
        s = now;
    }
    s->memory = scriptComputeMemory(s);
    scripts_memory += s->memory - before;
    if (listLinked(&s->recent_node)) recent_memory += s->memory - before;
}

static uint64_t scriptDefragScripts(uint64_t cursor) {
    return hashtableScan(&by_sha, cursor, scriptDefragScript, NULL);
}

/* ---- Loading ---- */

struct loadingScript {
    struct scriptCompilation job; /* first member */
    struct cachedScript *script;
};

static const char *scriptSetCode(struct scriptCompilation *job, const struct scriptFunction *made) {
    struct cachedScript *s = ((struct loadingScript *)job)->script;
    if (s->code) return "ERR a script is one function";
    s->code = made->code;
    return NULL;
}

static bool scriptCompile(struct cachedScript *s, struct str code, sds *error) {
    struct loadingScript load = {.job = {.kind = SCRIPT_EVAL, .text = code, .add = scriptSetCode},
                                 .script = s};
    const struct scriptEngineMethods *methods = s->engine->methods;
    if (methods->compile(s->engine, &load.job, error) && s->code) return true;
    if (s->code) methods->release(s->engine, SCRIPT_EVAL, s->code);
    if (!*error) *error = sdsnew("ERR No functions registered");
    return false;
}

/* Compiles `text` and adds it to the cache. Returns NULL after replying an error. */
static struct cachedScript *scriptLoad(struct client *c, struct str text, bool keep) {
    struct cachedScript *s = zcalloc(1, sizeof *s);
    struct str code = text;
    sds error = scriptParseShebang(&code, &s->flags, &s->engine);
    if (error || !scriptCompile(s, code, &error)) {
        zfree(s);
        replyErrorSds(c, error);
        return NULL;
    }
    sha1Hex(s->sha, text.ptr, text.len);
    s->text = sdsnewstr(text);
    if (!keep && recent.length >= RECENT_MAX) scriptEvictOldest();
    if (!keep && memory_limit) scriptKeepMemoryLimit(scriptComputeMemory(s));
    scriptAdd(s, keep);
    return s;
}

static struct cachedScript *scriptFindBySha(struct str sha) {
    if (sha.len != SHA_LEN) return NULL;
    char lower[SHA_LEN];
    for (int i = 0; i < SHA_LEN; i++)
        lower[i] = sha.ptr[i] | (sha.ptr[i] >= 'A' && sha.ptr[i] <= 'Z' ? 32 : 0);
    return hashtableFind(&by_sha, strN(lower, SHA_LEN));
}

/* ---- EVAL and its family ---- */

static void scriptEval(struct client *c, struct cachedScript *s, int keys, bool read_only) {
    scriptTouch(s, false);
    struct scriptCode code = {
        .engine = s->engine, .name = s->sha, .kind = SCRIPT_EVAL, .flags = s->flags, .code = s->code};
    scripts_running++;
    scriptExecute(c, &code, keys, read_only);
    scripts_running--;
}

static void scriptEvalUndebugged(struct client *c, bool read_only) {
    int keys;
    if (!scriptParseKeyCount(c, &keys, NULL)) return;
    struct cachedScript *s = hashtableFind(&by_text, c->argv[1]);
    if (!s) s = scriptLoad(c, c->argv[1], false);
    if (s) scriptEval(c, s, keys, read_only);
}

static void scriptEvalText(struct client *c, bool read_only) {
    bool debugged =
        __builtin_expect(debug_armed, 0) && scriptDebugIsArmed(c) && c->conn && !(c->flags & CLIENT_IN_EXEC);
    if (debugged && !scriptDebugBegin(c, c->argv[1])) return;
    scriptEvalUndebugged(c, read_only);
    if (debugged) scriptDebugEnd();
}

/* An argument that cannot be a SHA-1 is not found, before the number of keys is checked. */
static void scriptEvalSha(struct client *c, bool read_only) {
    int keys;
    if (__builtin_expect(debug_armed, 0) && scriptDebugIsArmed(c)) {
        replyError(c, "ERR Please use EVAL instead of EVALSHA for debugging");
        return;
    }
    bool is_name = c->argv[1].len == SHA_LEN;
    if (is_name && !scriptParseKeyCount(c, &keys, NULL)) return;
    struct cachedScript *s = is_name ? scriptFindBySha(c->argv[1]) : NULL;
    if (s)
        scriptEval(c, s, keys, read_only);
    else
        replyError(c, no_such_script);
}

/* Flags for the checks before EVAL runs. A script without a first line "#!" is checked command
 * by command instead. */
uint64_t evalFlags(const struct client *c, uint64_t command_flags) {
    struct str code = c->argv[1];
    const struct cachedScript *s = hashtableFind(&by_text, code);
    unsigned flags = s ? s->flags : 0;
    struct scriptEngine *engine;
    sds error = s ? NULL : scriptParseShebang(&code, &flags, &engine);
    if (error) flags = 0; /* EVAL will reply it */
    sdsfree(error);
    return flags & SCRIPT_SHEBANG ? scriptCommandFlags(flags, command_flags) : command_flags;
}

uint64_t evalshaFlags(const struct client *c, uint64_t command_flags) {
    const struct cachedScript *s = scriptFindBySha(c->argv[1]);
    return s && s->flags & SCRIPT_SHEBANG ? scriptCommandFlags(s->flags, command_flags) : command_flags;
}

void evalCommand(struct client *c) {
    scriptEvalText(c, false);
}
void evalRoCommand(struct client *c) {
    scriptEvalText(c, true);
}
void evalshaCommand(struct client *c) {
    scriptEvalSha(c, false);
}
void evalshaRoCommand(struct client *c) {
    scriptEvalSha(c, true);
}

/* ---- SCRIPT ---- */

void scriptLoadCommand(struct client *c) {
    struct cachedScript *s = hashtableFind(&by_text, c->argv[2]);
    if (s)
        scriptTouch(s, true);
    else
        s = scriptLoad(c, c->argv[2], true);
    if (s) replyBulk(c, scriptShaKey(s));
}

void scriptExistsCommand(struct client *c) {
    replyArrayLen(c, c->argc - 2);
    for (int i = 2; i < c->argc; i++) replyLongLong(c, scriptFindBySha(c->argv[i]) != NULL);
}

void scriptShowCommand(struct client *c) {
    const struct cachedScript *s = scriptFindBySha(c->argv[2]);
    if (s)
        replyBulk(c, scriptTextKey(s));
    else
        replyError(c, no_such_script);
}

static void scriptDebug(struct client *c, struct scriptEngine *e, bool sync) {
    switch (scriptDebugArm(c, e, sync)) {
    case DEBUGGING_ENABLED: replyOk(c); break;
    case DEBUGGING_NOT_SUPPORTED:
        replyErrorFmt(c, "ERR The scripting engine '%s' does not support interactive script debugging",
                      e->name);
        break;
    case DEBUGGING_FAILED:
        replyErrorFmt(c, "ERR The scripting engine '%s' failed to initialize interactive script debugging",
                      e->name);
        break;
    }
}

void scriptDebugCommand(struct client *c) {
    bool sync = strIs(c->argv[2], "sync");
    struct str name = c->argc == 4 ? c->argv[3] : STR("lua");
    struct scriptEngine *e = scriptEngineByName(name);
    if (c->argc > 4) {
        replySubcommandError(c);
    } else if (!e) {
        sds error = sdscatstr(sdsnew("ERR No scripting engine found with name '"), name);
        replyErrorSds(c, sdscat(error, "' to enable debug"));
    } else if (clientOutputPending(c)) {
        replyError(c, "ERR SCRIPT DEBUG must be called outside a pipeline");
    } else if (sync || strIs(c->argv[2], "yes")) {
        scriptDebug(c, e, sync);
    } else if (strIs(c->argv[2], "no")) {
        scriptDebugDisarm(c);
        replyOk(c);
    } else {
        replyError(c, "ERR Use SCRIPT DEBUG YES/SYNC/NO");
    }
}

void scriptKillCommand(struct client *c) {
    scriptKill(c, SCRIPT_EVAL);
}

static void scriptFreeScripts(void *arg) {
    struct hashtable *scripts = arg;
    struct hashtableIterator it;
    void *entry;
    hashtableInitIterator(&it, scripts, false);
    while (hashtableNext(&it, &entry)) scriptFree(entry);
    hashtableStopIterator(&it);
    hashtableDestroy(scripts);
    zfree(scripts);
}

/* Releases the code that a reset of the engines leaves. */
static void scriptReleaseScripts(void) {
    struct hashtableIterator it;
    void *entry;
    hashtableInitIterator(&it, &by_sha, false);
    while (hashtableNext(&it, &entry)) {
        struct cachedScript *s = entry;
        if (!s->engine->methods->reset_releases) s->engine->methods->release(s->engine, SCRIPT_EVAL, s->code);
    }
    hashtableStopIterator(&it);
}

static void scriptEmptyCache(void) {
    hashtableInit(&by_sha, &by_sha_type);
    hashtableInit(&by_text, &by_text_type);
    listInit(&recent);
    scripts_memory = recent_memory = 0;
}

bool scriptParseFlushMode(const struct client *c, bool *async) {
    *async = c->argc == 3 ? strIs(c->argv[2], "async") : lazyfree_lazy_user_flush;
    return c->argc == 2 || (c->argc == 3 && (*async || strIs(c->argv[2], "sync")));
}

void scriptFlushCommand(struct client *c) {
    bool async;
    if (!scriptParseFlushMode(c, &async)) {
        replyError(c, "ERR SCRIPT FLUSH only support SYNC|ASYNC option");
        return;
    }
    scriptReleaseScripts();
    struct hashtable *old = zmalloc(sizeof *old);
    *old = by_sha;
    hashtableDestroy(&by_text);
    scriptEmptyCache();
    scriptEnginesReset(SCRIPT_EVAL, async);
    if (async)
        bioSubmit(BIO_LAZY_FREE, scriptFreeScripts, old);
    else
        scriptFreeScripts(old);
    replyOk(c);
}

static void scriptDropOfEngine(struct scriptEngine *e) {
    struct hashtableIterator it;
    void *entry;
    hashtableInitIterator(&it, &by_sha, true);
    while (hashtableNext(&it, &entry)) {
        struct cachedScript *s = entry;
        if (s->engine == e) scriptDrop(s);
    }
    hashtableStopIterator(&it);
}

void scriptHelpCommand(struct client *c) {
    static const char *lines[] = {
        "DEBUG (YES|SYNC|NO) [<engine>]",
        "    Debug the next EVAL of this client: on a copy of the data (YES), or on",
        "    the data, while nothing else is served (SYNC).",
        "EXISTS <sha1> [<sha1> ...]",
        "    Check for each script whether it is in the cache.",
        "FLUSH [ASYNC|SYNC]",
        "    Clear the script cache. Without a mode, lazyfree-lazy-user-flush",
        "    decides whether memory is freed in the background.",
        "KILL",
        "    Stop the script that runs now, unless it has written.",
        "LOAD <script>",
        "    Put a script into the cache, and return its SHA-1.",
        "SHOW <sha1>",
        "    Return the text of a script in the cache.",
        NULL};
    replyHelp(c, lines);
}

/* ---- Registration ---- */

static size_t scriptCacheMemory(void) {
    return scripts_memory + hashtableMemory(&by_sha) + hashtableMemory(&by_text);
}

static size_t scriptEnginesMemory(enum scriptKind kind) {
    size_t bytes = 0;
    for (struct scriptEngine *e = script_engines; e; e = e->next) bytes += e->methods->memory(e, kind).used;
    return bytes;
}

static sds scriptMemoryInfo(sds s) {
    char vm_human[64], vms_human[64], scripts_human[64];
    size_t vm = scriptEnginesMemory(SCRIPT_EVAL), functions_vm = scriptEnginesMemory(SCRIPT_FUNCTION);
    size_t cache = scriptCacheMemory(), functions = functionsMemory();
    bytesToHuman(vm_human, sizeof vm_human, vm);
    bytesToHuman(vms_human, sizeof vms_human, vm + functions_vm);
    bytesToHuman(scripts_human, sizeof scripts_human, cache + functions);
    s = infoField(s, "used_memory_vm_eval:%zu", vm);
    s = infoField(s, "used_memory_lua:%zu", vm);
    s = infoField(s, "used_memory_lua_human:%s", vm_human);
    s = infoField(s, "used_memory_scripts_eval:%zu", cache);
    s = infoField(s, "number_of_cached_scripts:%zu", hashtableSize(&by_sha));
    s = infoField(s, "number_of_functions:%zu", functionsCount());
    s = infoField(s, "number_of_libraries:%zu", functionsLibraryCount());
    s = infoField(s, "used_memory_vm_functions:%zu", functions_vm);
    s = infoField(s, "used_memory_vm_total:%zu", vm + functions_vm);
    s = infoField(s, "used_memory_vm_total_human:%s", vms_human);
    s = infoField(s, "used_memory_functions:%zu", functions);
    s = infoField(s, "used_memory_scripts:%zu", cache + functions);
    return infoField(s, "used_memory_scripts_human:%s", scripts_human);
}

static sds scriptEnginesInfo(sds s) {
    struct scriptMemory total = {0};
    int count = 0;
    for (struct scriptEngine *e = script_engines; e; e = e->next, count++) {
        struct scriptMemory m = e->methods->memory(e, SCRIPT_KINDS);
        total.used += m.used;
        total.overhead += m.overhead;
    }
    s = infoField(s, "engines_count:%d", count);
    s = infoField(s, "engines_total_used_memory:%zu", total.used);
    s = infoField(s, "engines_total_memory_overhead:%zu", total.overhead);
    count = 0;
    for (struct scriptEngine *e = script_engines; e; e = e->next) {
        struct scriptMemory m = e->methods->memory(e, SCRIPT_KINDS);
        s = infoField(s, "engine_%d:name=%s,module=%s,abi_version=%d,used_memory=%zu,memory_overhead=%zu",
                      count++, e->name, e->module, e->abi_version, m.used, m.overhead);
    }
    return s;
}

static sds scriptStatsInfo(sds s) {
    return infoField(s, "evicted_scripts:%llu", (unsigned long long)evicted);
}

static bool scriptApplyMemoryLimit(const char **err) {
    (void)err;
    scriptKeepMemoryLimit(0);
    return true;
}

static void scriptResetStats(void) {
    evicted = 0;
}

void scriptInit(void) {
    static struct configDirective directives[] = {
        CONFIG_INT("maxmemory-scripts", NULL, CONFIG_MODIFIABLE | CONFIG_MEMORY | CONFIG_PERCENT,
                   &memory_limit, 0, -100, INT64_MAX, scriptApplyMemoryLimit),
    };
    configRegister(directives, sizeof directives / sizeof *directives);
    beforeSleepRegister(scriptBeforeSleep);
    scriptRunInit();
    luaEngineInit();
    functionsInit();
    scriptDebugInit();
    commandRegister(commandsScripting);
    infoRegister("memory", scriptMemoryInfo);
    infoRegister("scriptingengines", scriptEnginesInfo);
    memoryAddPart(MEMORY_LUA_CACHES, scriptCacheMemory);
    infoRegister("stats", scriptStatsInfo);
    configOnResetStat(scriptResetStats);
    defragRegister(scriptDefragScripts);
    scriptEngineOnRemove(scriptDropOfEngine);
}

void scriptStart(void) {
    scriptRunStart();
    scriptEmptyCache();
}
