/* SPDX-License-Identifier: BSD-3-Clause */
/* engine.c - scripting engines of a toy language, one for each name of the load arguments (NAME or NAME:ABI;
 * without any: TOY; `leave`: they are not taken back). A text is lines; a library has a line before each
 * function:
 *
 *     def NAME [FLAG,FLAG ...] [: description]
 *
 * and what follows are steps, whose words may be $k1 (a key) or $a1 (an argument). The last result is the
 * answer.
 *
 *     say WORDS               the result is this text
 *     keys | args             are these
 *     call HOW COMMAND ARGS   is the command's reply; HOW: letters of Call, or - for none
 *     argv FLAGS COMMAND ARGS is the command's reply, by CallArgv
 *     spin MS                 takes so long, unless it is killed
 *     flags                   is the script's part of GetContextFlags
 *     fail WORDS              is this error, and the end
 *     nothing                 is none at all
 *     trace WORDS | traced REPLY   send to a debugger
 *     stop                    in a debugger: asks what to do */
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "valkeymodule.h"

#define ENGINES_MAX 64
#define WORDS_MAX   64

typedef ValkeyModuleScriptingEngineCtx Engine;
typedef ValkeyModuleScriptingEngineSubsystemType Kind;
typedef ValkeyModuleScriptingEngineCompiledFunction Function;

struct ValkeyModuleScriptingEngineCtx {
    char name[64];
    long compiled, freed, called, reset, reset_later, asked;
    long enabled, disabled, started, ended;
    int debugged, no_debugger;
    ValkeyModuleScriptingEngineDebuggerCommand commands[2];
    ValkeyModuleScriptingEngineDebuggerCommandParam params[1];
};
static Engine engines[ENGINES_MAX];
static int engine_count;
static int leave; /* them behind when the module goes */

/* ---- Words ---- */

struct engineLine {
    ValkeyModuleString *word[WORDS_MAX];
    int count;
};
struct run {
    ValkeyModuleCtx *ctx;
    Engine *engine;
    ValkeyModuleScriptingEngineServerRuntimeCtx *server;
    ValkeyModuleString **keys, **args;
    size_t key_count, arg_count;
    ValkeyModuleCallReply *reply;
    ValkeyModuleString *text;
    int list; /* 'k' or 'a': the answer is the keys, or the arguments */
    int over;
};

static ValkeyModuleString *engineExpandWord(struct run *r, const char *p, size_t len) {
    size_t n = len > 2 && p[0] == '$' ? (size_t)atoi(p + 2) : 0;
    if (n && p[1] == 'k' && n <= r->key_count)
        return ValkeyModule_CreateStringFromString(NULL, r->keys[n - 1]);
    if (n && p[1] == 'a' && n <= r->arg_count)
        return ValkeyModule_CreateStringFromString(NULL, r->args[n - 1]);
    return ValkeyModule_CreateString(NULL, p, len);
}

static void splitLine(struct run *r, const char *line, size_t len, struct engineLine *w) {
    const char *p = line, *end = line + len;
    w->count = 0;
    while (p < end && w->count < WORDS_MAX) {
        while (p < end && *p == ' ') p++;
        const char *word = p;
        while (p < end && *p != ' ') p++;
        if (p > word) w->word[w->count++] = engineExpandWord(r, word, (size_t)(p - word));
    }
}

static void freeWords(struct engineLine *w) {
    for (int i = 0; i < w->count; i++) ValkeyModule_FreeString(NULL, w->word[i]);
}

static ValkeyModuleString *engineJoinWords(const struct engineLine *w, int from) {
    ValkeyModuleString *s = ValkeyModule_CreateString(NULL, "", 0);
    for (int i = from; i < w->count; i++) {
        size_t len;
        const char *p = ValkeyModule_StringPtrLen(w->word[i], &len);
        if (i > from) ValkeyModule_StringAppendBuffer(NULL, s, " ", 1);
        ValkeyModule_StringAppendBuffer(NULL, s, p, len);
    }
    return s;
}

static const char *engineWordAt(const struct engineLine *w, int i) {
    return i < w->count ? ValkeyModule_StringPtrLen(w->word[i], NULL) : "";
}

/* ---- Steps ---- */

static void engineForgetReply(struct run *r) {
    if (r->reply) ValkeyModule_FreeCallReply(r->reply);
    if (r->text) ValkeyModule_FreeString(NULL, r->text);
    r->reply = NULL;
    r->text = NULL;
    r->list = 0;
}

static void stepCall(struct run *r, const struct engineLine *w) {
    char how[WORDS_MAX];
    snprintf(how, sizeof how, "%sv", strcmp(engineWordAt(w, 1), "-") ? engineWordAt(w, 1) : "");
    r->reply = ValkeyModule_Call(r->ctx, engineWordAt(w, 2), how, w->word + 3, (size_t)(w->count - 3));
    if (!r->reply) r->text = ValkeyModule_CreateStringPrintf(NULL, "errno %d", errno);
}

static int keepRaw(void *priv, ValkeyModuleCtx *ctx, const char *bytes, size_t len) {
    struct run *r = priv;
    (void)ctx;
    r->text = ValkeyModule_CreateString(NULL, bytes, len);
    return 0;
}

int VM_CallArgv(ValkeyModuleCtx *ctx, ValkeyModuleString **argv, int argc, int flags,
                const ValkeyModuleReplyHandlers *handlers, void *hctx) __attribute__((weak));

static void stepArgv(struct run *r, const struct engineLine *w) {
    ValkeyModuleReplyHandlers h = {.version = VALKEYMODULE_REPLY_HANDLERS_VERSION,
                                   .onRespAvailable = keepRaw};
    if (VM_CallArgv(r->ctx, (ValkeyModuleString **)w->word + 2, w->count - 2, atoi(engineWordAt(w, 1)), &h,
                    r) &&
        !r->text)
        r->text = ValkeyModule_CreateStringPrintf(NULL, "errno %d", errno);
}

static void stepSpin(struct run *r, const struct engineLine *w) {
    long long end = ValkeyModule_Milliseconds() + atoll(engineWordAt(w, 1));
    while (ValkeyModule_Milliseconds() < end) {
        if (ValkeyModule_GetFunctionExecutionState(r->server) != VMSE_STATE_KILLED) continue;
        ValkeyModule_ReplyWithError(r->ctx, "ERR toy: killed");
        r->over = 1;
        return;
    }
    r->text = ValkeyModule_CreateString(NULL, "spun", 4);
}

static void stepFail(struct run *r, const struct engineLine *w) {
    ValkeyModuleString *s = engineJoinWords(w, 1);
    ValkeyModule_ReplyWithError(r->ctx, ValkeyModule_StringPtrLen(s, NULL));
    ValkeyModule_FreeString(NULL, s);
    r->over = 1;
}

static void stepStop(struct run *r) {
    int gone = 0;
    ValkeyModuleString *err = NULL;
    if (!r->engine->debugged) return;
    ValkeyModule_ScriptingEngineDebuggerFlushLogs();
    ValkeyModule_ScriptingEngineDebuggerProcessCommands(&gone, &err);
    r->text = ValkeyModule_CreateStringPrintf(NULL, "gone %d err %s", gone,
                                              err ? ValkeyModule_StringPtrLen(err, NULL) : "none");
    if (err) ValkeyModule_FreeString(NULL, err);
}

static void stepTrace(struct run *r, const struct engineLine *w) {
    if (!r->engine->debugged) return;
    if (!strcmp(engineWordAt(w, 0), "trace")) {
        ValkeyModule_ScriptingEngineDebuggerLog(engineJoinWords(w, 1), 1);
        return;
    }
    ValkeyModuleString *s = engineJoinWords(w, 1);
    ValkeyModuleCallReply *reply = ValkeyModule_Call(r->ctx, "ECHO", "s", s);
    ValkeyModule_ScriptingEngineDebuggerLogRespReply(reply);
    ValkeyModule_ScriptingEngineDebuggerLogRespReplyStr("*2\r\n:1\r\n$1\r\nx\r\n");
    ValkeyModule_FreeCallReply(reply);
    ValkeyModule_FreeString(NULL, s);
}

static void engineRunStep(struct run *r, const struct engineLine *w) {
    const char *verb = engineWordAt(w, 0);
    if (!strcmp(verb, "trace") || !strcmp(verb, "traced")) {
        stepTrace(r, w);
        return;
    }
    engineForgetReply(r);
    if (!strcmp(verb, "say")) r->text = engineJoinWords(w, 1);
    if (!strcmp(verb, "keys") || !strcmp(verb, "args")) r->list = verb[0];
    if (!strcmp(verb, "call")) stepCall(r, w);
    if (!strcmp(verb, "argv")) stepArgv(r, w);
    if (!strcmp(verb, "spin")) stepSpin(r, w);
    if (!strcmp(verb, "fail")) stepFail(r, w);
    if (!strcmp(verb, "stop")) stepStop(r);
    if (!strcmp(verb, "nothing")) r->over = 1;
    if (!strcmp(verb, "flags")) {
        int flags = ValkeyModule_GetContextFlags(r->ctx);
        r->text = ValkeyModule_CreateStringPrintf(
            NULL, "lua %d multi %d deny-blocking %d", !!(flags & VALKEYMODULE_CTX_FLAGS_LUA),
            !!(flags & VALKEYMODULE_CTX_FLAGS_MULTI), !!(flags & VALKEYMODULE_CTX_FLAGS_DENY_BLOCKING));
    }
}

static int engineKnowsVerb(const char *line, size_t len) {
    static const char *const verbs[] = {"say",   "keys", "args",    "call",  "argv",   "spin",
                                        "flags", "fail", "nothing", "trace", "traced", "stop"};
    size_t n = 0;
    while (n < len && line[n] != ' ') n++;
    for (size_t i = 0; i < sizeof verbs / sizeof *verbs; i++)
        if (strlen(verbs[i]) == n && !memcmp(verbs[i], line, n)) return 1;
    return !n;
}

static void engineReply(struct run *r) {
    ValkeyModuleString **list = r->list == 'k' ? r->keys : r->args;
    size_t count = r->list == 'k' ? r->key_count : r->arg_count;
    if (r->over) return;
    if (r->list) {
        ValkeyModule_ReplyWithArray(r->ctx, (long)count);
        for (size_t i = 0; i < count; i++) ValkeyModule_ReplyWithString(r->ctx, list[i]);
    } else if (r->reply) {
        ValkeyModule_ReplyWithCallReply(r->ctx, r->reply);
    } else if (r->text) {
        ValkeyModule_ReplyWithString(r->ctx, r->text);
    } else {
        ValkeyModule_ReplyWithNull(r->ctx);
    }
}

/* ---- The engine ---- */

static Function *newFunction(const char *name, size_t name_len, const char *desc, uint64_t flags) {
    Function *f = ValkeyModule_Alloc(sizeof *f);
    f->version = VALKEYMODULE_SCRIPTING_ENGINE_ABI_COMPILED_FUNCTION_VERSION;
    f->name = name ? ValkeyModule_CreateString(NULL, name, name_len) : NULL;
    f->desc = desc ? ValkeyModule_CreateString(NULL, desc, strlen(desc)) : NULL;
    f->f_flags = flags;
    f->function = ValkeyModule_CreateString(NULL, "", 0);
    return f;
}

static void freeFunction(ValkeyModuleCtx *ctx, Engine *e, Kind kind, Function *f) {
    (void)ctx, (void)kind;
    e->freed++;
    if (f->name) ValkeyModule_FreeString(NULL, f->name);
    if (f->desc) ValkeyModule_FreeString(NULL, f->desc);
    ValkeyModule_FreeString(NULL, f->function);
    ValkeyModule_Free(f);
}

static uint64_t readFlags(const char *words) {
    static const struct {
        const char *name;
        uint64_t flag;
    } flags[] = {
        {"no-writes", VMSE_SCRIPT_FLAG_NO_WRITES},     {"allow-oom", VMSE_SCRIPT_FLAG_ALLOW_OOM},
        {"allow-stale", VMSE_SCRIPT_FLAG_ALLOW_STALE}, {"no-cluster", VMSE_SCRIPT_FLAG_NO_CLUSTER},
        {"compat", VMSE_SCRIPT_FLAG_EVAL_COMPAT_MODE}, {"cross-slot", VMSE_SCRIPT_FLAG_ALLOW_CROSS_SLOT}};
    uint64_t set = 0;
    for (size_t i = 0; i < sizeof flags / sizeof *flags; i++)
        if (strstr(words, flags[i].name)) set |= flags[i].flag;
    return set;
}

/* def NAME FLAGS : description */
static Function *readHead(const char *line, size_t len) {
    char head[256], name[128] = "", flags[128] = "";
    if (len >= sizeof head) len = sizeof head - 1;
    memcpy(head, line, len);
    head[len] = 0;
    char *desc = strstr(head, " : ");
    if (desc) *desc = 0;
    sscanf(head, "def %127s %127s", name, flags);
    return newFunction(name, strlen(name), desc ? desc + 3 : NULL, readFlags(flags));
}

static int engineLineBegins(const char *line, size_t len, const char *word) {
    return len >= strlen(word) && !memcmp(line, word, strlen(word));
}

/* NULL and *err; *count 0 when there is nothing. */
static Function **engineCompile(Kind kind, const char *code, size_t code_len, size_t *count,
                                ValkeyModuleString **err) {
    Function **list = ValkeyModule_Calloc(64, sizeof *list);
    const char *end = code + code_len;
    *count = 0;
    if (kind == VMSE_EVAL) list[(*count)++] = newFunction(NULL, 0, NULL, 0);
    for (const char *line = code; line < end && *count < 63;) {
        const char *eol = memchr(line, '\n', (size_t)(end - line));
        if (!eol) eol = end;
        size_t len = (size_t)(eol - line);
        if (engineLineBegins(line, len, "#!")) {
        } else if (kind == VMSE_FUNCTION && engineLineBegins(line, len, "def ")) {
            list[(*count)++] = readHead(line, len);
        } else if (!engineKnowsVerb(line, len)) {
            *err = ValkeyModule_CreateStringPrintf(NULL, "toy: what is '%.*s' at %d of %d?", (int)len, line,
                                                   (int)(line - code), (int)code_len);
            return list;
        } else if (*count) {
            ValkeyModuleString *steps = list[*count - 1]->function;
            ValkeyModule_StringAppendBuffer(NULL, steps, line, len);
            ValkeyModule_StringAppendBuffer(NULL, steps, "\n", 1);
        }
        line = eol + 1;
    }
    return list;
}

static Function **compileText(ValkeyModuleCtx *ctx, Engine *e, Kind kind, const char *code, size_t code_len,
                              size_t timeout, size_t *count, ValkeyModuleString **err) {
    (void)timeout;
    *err = NULL;
    Function **list = engineCompile(kind, code, code_len, count, err);
    if (!*err) {
        e->compiled++;
        return list;
    }
    for (size_t i = 0; i < *count; i++) freeFunction(ctx, e, kind, list[i]);
    e->freed -= (long)*count;
    ValkeyModule_Free(list);
    *count = 0;
    return NULL;
}

static Function **compileText1(ValkeyModuleCtx *ctx, Engine *e, Kind kind, const char *code, size_t timeout,
                               size_t *count, ValkeyModuleString **err) {
    return compileText(ctx, e, kind, code, strlen(code), timeout, count, err);
}

static void callFunction(ValkeyModuleCtx *ctx, Engine *e, ValkeyModuleScriptingEngineServerRuntimeCtx *server,
                         Function *f, Kind kind, ValkeyModuleString **keys, size_t key_count,
                         ValkeyModuleString **args, size_t arg_count) {
    (void)kind;
    struct run r = {.ctx = ctx,
                    .engine = e,
                    .server = server,
                    .keys = keys,
                    .args = args,
                    .key_count = key_count,
                    .arg_count = arg_count};
    size_t len;
    e->called++;
    const char *line = ValkeyModule_StringPtrLen(f->function, &len), *end = line + len;
    while (line < end && !r.over) {
        const char *eol = memchr(line, '\n', (size_t)(end - line));
        struct engineLine w;
        splitLine(&r, line, (size_t)(eol - line), &w);
        if (w.count) engineRunStep(&r, &w);
        freeWords(&w);
        line = eol + 1;
    }
    engineReply(&r);
    engineForgetReply(&r);
}

static size_t engineFunctionOverhead(ValkeyModuleCtx *ctx, Function *f) {
    (void)ctx;
    return ValkeyModule_MallocSize(f);
}

static void resetLater(void *context) {
    Engine *e = context;
    e->reset_later++;
}

static ValkeyModuleScriptingEngineCallableLazyEnvReset *resetEnv(ValkeyModuleCtx *ctx, Engine *e, Kind kind,
                                                                 int async) {
    (void)ctx, (void)kind;
    e->reset++;
    if (!async) return NULL;
    ValkeyModuleScriptingEngineCallableLazyEnvReset *later = ValkeyModule_Alloc(sizeof *later);
    later->context = e;
    later->engineLazyEnvResetCallback = resetLater;
    return later;
}

static ValkeyModuleScriptingEngineCallableLazyEnvReset *resetEnv2(ValkeyModuleCtx *ctx, Engine *e,
                                                                  int async) {
    return resetEnv(ctx, e, VMSE_EVAL, async);
}

static ValkeyModuleScriptingEngineMemoryInfo memoryInfo(ValkeyModuleCtx *ctx, Engine *e, Kind kind) {
    (void)ctx;
    e->asked++;
    ValkeyModuleScriptingEngineMemoryInfo info = {.version =
                                                      VALKEYMODULE_SCRIPTING_ENGINE_ABI_MEMORY_INFO_VERSION,
                                                  .used_memory = kind == VMSE_EVAL       ? 1000
                                                                 : kind == VMSE_FUNCTION ? 200
                                                                                         : 1200,
                                                  .engine_memory_overhead = 17};
    return info;
}

/* ---- Its debugger ---- */

static int commandGo(ValkeyModuleString **argv, size_t argc, void *context) {
    (void)argv, (void)argc, (void)context;
    return 0;
}

static int commandTell(ValkeyModuleString **argv, size_t argc, void *context) {
    Engine *e = context;
    ValkeyModule_ScriptingEngineDebuggerLog(
        ValkeyModule_CreateStringPrintf(NULL, "%s hears %d words, the last is %s", e->name, (int)argc,
                                        ValkeyModule_StringPtrLen(argv[argc - 1], NULL)),
        1);
    ValkeyModule_ScriptingEngineDebuggerFlushLogs();
    return 1;
}

static ValkeyModuleScriptingEngineDebuggerEnableRet
debuggerEnable(ValkeyModuleCtx *ctx, Engine *e, Kind kind,
               const ValkeyModuleScriptingEngineDebuggerCommand **commands, size_t *count) {
    (void)ctx, (void)kind;
    if (e->no_debugger) return e->no_debugger == 1 ? VMSE_DEBUG_NOT_SUPPORTED : VMSE_DEBUG_ENABLE_FAIL;
    e->enabled++;
    e->debugged = 1;
    e->params[0] =
        (ValkeyModuleScriptingEngineDebuggerCommandParam){.name = "word", .optional = 1, .variadic = 1};
    e->commands[0] = (ValkeyModuleScriptingEngineDebuggerCommand){
        .version = VALKEYMODULE_SCRIPTING_ENGINE_ABI_DEBUGGER_COMMAND_VERSION,
        .name = "go",
        .prefix_len = 1,
        .desc = "Goes on.",
        .handler = commandGo};
    e->commands[1] = (ValkeyModuleScriptingEngineDebuggerCommand){
        .version = VALKEYMODULE_SCRIPTING_ENGINE_ABI_DEBUGGER_COMMAND_VERSION,
        .name = "tell",
        .prefix_len = 2,
        .params = e->params,
        .params_len = 1,
        .desc = "Tells the engine something.",
        .handler = commandTell};
    *commands = e->commands;
    *count = 2;
    return VMSE_DEBUG_ENABLED;
}

static void debuggerDisable(ValkeyModuleCtx *ctx, Engine *e, Kind kind) {
    (void)ctx, (void)kind;
    e->disabled++;
    e->debugged = 0;
}

static void debuggerStart(ValkeyModuleCtx *ctx, Engine *e, Kind kind, ValkeyModuleString *source) {
    (void)ctx, (void)kind, (void)source;
    e->started++;
}

static void debuggerEnd(ValkeyModuleCtx *ctx, Engine *e, Kind kind) {
    (void)ctx, (void)kind;
    e->ended++;
}

/* ---- Registration ---- */

static int registerEngine(ValkeyModuleCtx *ctx, const char *name, int version) {
    if (engine_count == ENGINES_MAX) return -1;
    Engine *e = &engines[engine_count];
    memset(e, 0, sizeof *e);
    snprintf(e->name, sizeof e->name, "%s", name);
    ValkeyModuleScriptingEngineMethods m = {.version = (uint64_t)version,
                                            .compile_code = compileText,
                                            .free_function = freeFunction,
                                            .call_function = callFunction,
                                            .get_function_memory_overhead = engineFunctionOverhead,
                                            .reset_env = resetEnv,
                                            .get_memory_info = memoryInfo,
                                            .debugger_enable = debuggerEnable,
                                            .debugger_disable = debuggerDisable,
                                            .debugger_start = debuggerStart,
                                            .debugger_end = debuggerEnd};
    if (version == 1) *(void **)&m.compile_code = (void *)compileText1;
    if (version < 3) *(void **)&m.reset_env = (void *)resetEnv2;
    int result = ValkeyModule_RegisterScriptingEngine(ctx, e->name, e, &m);
    engine_count += result == VALKEYMODULE_OK;
    return result;
}

static Engine *engineOf(ValkeyModuleString *name) {
    for (int i = engine_count - 1; i >= 0; i--)
        if (!strcasecmp(engines[i].name, ValkeyModule_StringPtrLen(name, NULL))) return &engines[i];
    return NULL;
}

/* ENGINE.REGISTER name [version] */
static int engineCommandRegister(ValkeyModuleCtx *ctx, ValkeyModuleString **argv, int argc) {
    long long version = VALKEYMODULE_SCRIPTING_ENGINE_ABI_VERSION;
    if (argc > 2) ValkeyModule_StringToLongLong(argv[2], &version);
    return ValkeyModule_ReplyWithLongLong(
        ctx, registerEngine(ctx, ValkeyModule_StringPtrLen(argv[1], NULL), (int)version));
}

/* ENGINE.REGISTER-HALF name WHICH: without this one of the methods */
static int engineCommandRegisterHalf(ValkeyModuleCtx *ctx, ValkeyModuleString **argv, int argc) {
    long long which = 0;
    if (argc != 3) return ValkeyModule_WrongArity(ctx);
    ValkeyModule_StringToLongLong(argv[2], &which);
    ValkeyModuleScriptingEngineMethods m = {.version = VALKEYMODULE_SCRIPTING_ENGINE_ABI_VERSION,
                                            .compile_code = which == 1 ? NULL : compileText,
                                            .free_function = which == 2 ? NULL : freeFunction,
                                            .call_function = which == 3 ? NULL : callFunction,
                                            .get_function_memory_overhead =
                                                which == 4 ? NULL : engineFunctionOverhead,
                                            .reset_env = which == 5 ? NULL : resetEnv,
                                            .get_memory_info = which == 6 ? NULL : memoryInfo};
    const char *name = ValkeyModule_StringPtrLen(argv[1], NULL);
    ValkeyModuleScriptingEngineMethods *methods = which == 7 ? NULL : &m;
    if (which == 8) name = NULL;
    return ValkeyModule_ReplyWithLongLong(
        ctx, ValkeyModule_RegisterScriptingEngine(ctx, name, &engines[ENGINES_MAX - 1], methods));
}

/* ENGINE.UNREGISTER name */
static int commandUnregister(ValkeyModuleCtx *ctx, ValkeyModuleString **argv, int argc) {
    if (argc != 2) return ValkeyModule_WrongArity(ctx);
    return ValkeyModule_ReplyWithLongLong(
        ctx, ValkeyModule_UnregisterScriptingEngine(ctx, ValkeyModule_StringPtrLen(argv[1], NULL)));
}

/* ENGINE.COUNTS name: how often it has been called for what */
static int commandCounts(ValkeyModuleCtx *ctx, ValkeyModuleString **argv, int argc) {
    Engine *e = argc == 2 ? engineOf(argv[1]) : NULL;
    if (!e) return ValkeyModule_ReplyWithError(ctx, "ERR no such engine");
    const struct {
        const char *name;
        long count;
    } counts[] = {{"compiled", e->compiled}, {"freed", e->freed},       {"called", e->called},
                  {"reset", e->reset},       {"later", e->reset_later}, {"enabled", e->enabled},
                  {"disabled", e->disabled}, {"started", e->started},   {"ended", e->ended}};
    int n = sizeof counts / sizeof *counts;
    ValkeyModule_ReplyWithArray(ctx, 2 * n);
    for (int i = 0; i < n; i++) {
        ValkeyModule_ReplyWithCString(ctx, counts[i].name);
        ValkeyModule_ReplyWithLongLong(ctx, counts[i].count);
    }
    return VALKEYMODULE_OK;
}

/* ENGINE.DEBUGGER name HOW: 0 yes, 1 not supported, 2 fails */
static int commandDebugger(ValkeyModuleCtx *ctx, ValkeyModuleString **argv, int argc) {
    Engine *e = argc == 3 ? engineOf(argv[1]) : NULL;
    if (!e) return ValkeyModule_ReplyWithError(ctx, "ERR no such engine");
    e->no_debugger = atoi(ValkeyModule_StringPtrLen(argv[2], NULL));
    return ValkeyModule_ReplyWithSimpleString(ctx, "OK");
}

/* ENGINE.CALL HOW command args: from a command of a module, which is no script */
static int commandCall(ValkeyModuleCtx *ctx, ValkeyModuleString **argv, int argc) {
    char how[WORDS_MAX];
    if (argc < 3) return ValkeyModule_WrongArity(ctx);
    snprintf(how, sizeof how, "%sv", ValkeyModule_StringPtrLen(argv[1], NULL));
    ValkeyModuleCallReply *reply =
        ValkeyModule_Call(ctx, ValkeyModule_StringPtrLen(argv[2], NULL), how, argv + 3, (size_t)(argc - 3));
    if (!reply) return ValkeyModule_ReplyWithError(ctx, "ERR no reply");
    ValkeyModule_ReplyWithCallReply(ctx, reply);
    ValkeyModule_FreeCallReply(reply);
    return VALKEYMODULE_OK;
}

struct threadCall {
    ValkeyModuleBlockedClient *client;
    ValkeyModuleString *argv[WORDS_MAX];
    int argc;
};

/* The thread of ENGINE.THREAD. It still runs code of this module for a moment after its client was unblocked,
 * so the next thread, and the end of the module, wait for its end. */
static pthread_t call_thread;
static int call_thread_started;

static void engineJoinCallThread(void) {
    if (call_thread_started) pthread_join(call_thread, NULL);
    call_thread_started = 0;
}

static void *callInThread(void *arg) {
    struct threadCall *call = arg;
    ValkeyModuleCtx *ctx = ValkeyModule_GetThreadSafeContext(call->client);
    ValkeyModule_ThreadSafeContextLock(ctx);
    ValkeyModuleCallReply *reply = ValkeyModule_Call(ctx, ValkeyModule_StringPtrLen(call->argv[0], NULL),
                                                     "!Ev", call->argv + 1, (size_t)(call->argc - 1));
    ValkeyModule_ReplyWithCallReply(ctx, reply);
    ValkeyModule_FreeCallReply(reply);
    for (int i = 0; i < call->argc; i++) ValkeyModule_FreeString(NULL, call->argv[i]);
    ValkeyModule_ThreadSafeContextUnlock(ctx);
    ValkeyModule_FreeThreadSafeContext(ctx);
    ValkeyModule_UnblockClient(call->client, NULL);
    ValkeyModule_Free(call);
    return NULL;
}

/* ENGINE.THREAD command args: by a thread that has the lock */
static int commandThread(ValkeyModuleCtx *ctx, ValkeyModuleString **argv, int argc) {
    if (argc < 2 || argc > WORDS_MAX) return ValkeyModule_WrongArity(ctx);
    struct threadCall *call = ValkeyModule_Calloc(1, sizeof *call);
    for (int i = 1; i < argc; i++)
        call->argv[call->argc++] = ValkeyModule_CreateStringFromString(NULL, argv[i]);
    call->client = ValkeyModule_BlockClient(ctx, NULL, NULL, NULL, 0);
    engineJoinCallThread();
    call_thread_started = pthread_create(&call_thread, NULL, callInThread, call) == 0;
    return VALKEYMODULE_OK;
}

int ValkeyModule_OnLoad(ValkeyModuleCtx *ctx, ValkeyModuleString **argv, int argc) {
    if (ValkeyModule_Init(ctx, "engine", 1, VALKEYMODULE_APIVER_1)) return VALKEYMODULE_ERR;
    for (int i = 0; i < argc || i == 0; i++) {
        char name[64];
        int version = VALKEYMODULE_SCRIPTING_ENGINE_ABI_VERSION;
        snprintf(name, sizeof name, "%s", argc ? ValkeyModule_StringPtrLen(argv[i], NULL) : "TOY");
        char *colon = strchr(name, ':');
        if (colon) {
            *colon = 0;
            version = atoi(colon + 1);
        }
        if (!strcmp(name, "leave"))
            leave = 1;
        else if (registerEngine(ctx, name, version))
            return VALKEYMODULE_ERR;
    }
    if (ValkeyModule_CreateCommand(ctx, "engine.register", engineCommandRegister, "admin", 0, 0, 0) ||
        ValkeyModule_CreateCommand(ctx, "engine.register-half", engineCommandRegisterHalf, "admin", 0, 0,
                                   0) ||
        ValkeyModule_CreateCommand(ctx, "engine.unregister", commandUnregister, "admin", 0, 0, 0) ||
        ValkeyModule_CreateCommand(ctx, "engine.counts", commandCounts, "readonly", 0, 0, 0) ||
        ValkeyModule_CreateCommand(ctx, "engine.debugger", commandDebugger, "admin", 0, 0, 0) ||
        ValkeyModule_CreateCommand(ctx, "engine.thread", commandThread, "write", 0, 0, 0) ||
        ValkeyModule_CreateCommand(ctx, "engine.call", commandCall, "write", 0, 0, 0))
        return VALKEYMODULE_ERR;
    return VALKEYMODULE_OK;
}

/* 9.1.2 does not take them back by itself. */
int ValkeyModule_OnUnload(ValkeyModuleCtx *ctx) {
    engineJoinCallThread();
    if (leave) return VALKEYMODULE_OK;
    for (int i = 0; i < engine_count; i++) ValkeyModule_UnregisterScriptingEngine(ctx, engines[i].name);
    engine_count = 0;
    return VALKEYMODULE_OK;
}
