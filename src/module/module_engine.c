/* SPDX-License-Identifier: BSD-3-Clause */
/* module_engine.c - scripting engines of modules, in the table of command/script_engine.h.
 *
 *     EVAL, FCALL ──▶ scriptExecute ──▶ moduleEngineRunCode ──▶ call_function(ctx of the caller, keys, arguments)
 *                                                      Call with S ──▶ moduleCall, as a script's command
 *
 * The code of an engine is the address of what its compile_code returned. All callbacks are called by who has
 * the lock, but for what reset_env leaves to the background.
 *
 * The interface has versions: the text's length came after 1 (0 has it), the kind of a reset with 3,
 * debuggers with 4. */
#include "module/module_engine.h"

#include <string.h>

#include "base/log.h"
#include "base/ticks.h"
#include "base/zmalloc.h"
#include "client/client.h"
#include "client/reply.h"
#include "command/script_running.h"
#include "module/lock.h"
#include "module/parts.h"
#include "registry/background.h"

#define ABI                  VALKEYMODULE_SCRIPTING_ENGINE_ABI_VERSION
#define ABI_WITHOUT_LENGTH   1
#define ABI_WITH_RESET_KINDS 3
#define ABI_WITH_DEBUGGER    4
#define TICK_US              1000 /* a function that asks for its state more often is answered as before */

typedef ValkeyModuleScriptingEngineCompiledFunction compiledFunction;

static ValkeyModuleScriptingEngineSubsystemType moduleEngineTypeOf(enum scriptKind kind) {
    return kind == SCRIPT_EVAL ? VMSE_EVAL : kind == SCRIPT_FUNCTION ? VMSE_FUNCTION : VMSE_ALL;
}

static void moduleEngineOpenContext(struct ValkeyModuleCtx *ctx, const struct moduleEngine *e) {
    contextOpen(ctx, e->module, NULL, 0);
}

/* ---- Compiling ---- */

static void moduleEngineReleaseCode(struct scriptEngine *engine, enum scriptKind kind, uintptr_t code) {
    struct moduleEngine *e = moduleEngineOf(engine);
    struct ValkeyModuleCtx ctx;
    moduleEngineOpenContext(&ctx, e);
    e->methods.free_function(&ctx, e->ctx, moduleEngineTypeOf(kind), (compiledFunction *)code);
    contextClose(&ctx);
}

/* The text has an end mark: the first version had no other way to tell its end. */
static compiledFunction **moduleEngineCallCompile(struct moduleEngine *e, const struct scriptCompilation *job,
                                                  size_t *count, struct ValkeyModuleString **err) {
    typedef compiledFunction **withoutLength(ValkeyModuleCtx *, ValkeyModuleScriptingEngineCtx *,
                                             ValkeyModuleScriptingEngineSubsystemType, const char *, size_t,
                                             size_t *, ValkeyModuleString **);
    struct ValkeyModuleCtx ctx;
    sds text = sdsnewstr(job->text);
    size_t limit = (size_t)job->limit_ms;
    compiledFunction **made;
    moduleEngineOpenContext(&ctx, e);
    if (e->methods.version == ABI_WITHOUT_LENGTH)
        made = ((withoutLength *)(void *)e->methods.compile_code)(&ctx, e->ctx, moduleEngineTypeOf(job->kind),
                                                                  text, limit, count, err);
    else
        made = e->methods.compile_code(&ctx, e->ctx, moduleEngineTypeOf(job->kind), text, sdslen(text), limit,
                                       count, err);
    contextClose(&ctx);
    sdsfree(text);
    return made;
}

static unsigned moduleEngineFlagsOf(uint64_t f) {
    return (f & VMSE_SCRIPT_FLAG_NO_WRITES ? SCRIPT_NO_WRITES : 0u) |
           (f & VMSE_SCRIPT_FLAG_ALLOW_OOM ? SCRIPT_ALLOW_OOM : 0u) |
           (f & VMSE_SCRIPT_FLAG_ALLOW_STALE ? SCRIPT_ALLOW_STALE : 0u) |
           (f & VMSE_SCRIPT_FLAG_NO_CLUSTER ? SCRIPT_NO_CLUSTER : 0u) |
           (f & VMSE_SCRIPT_FLAG_ALLOW_CROSS_SLOT ? SCRIPT_ALLOW_CROSS_SLOT : 0u) |
           (f & VMSE_SCRIPT_FLAG_EVAL_COMPAT_MODE ? 0u : SCRIPT_SHEBANG);
}

static const char *moduleEngineAddOne(struct scriptCompilation *job, const compiledFunction *f) {
    struct scriptFunction made = {.flags = moduleEngineFlagsOf(f->f_flags), .code = (uintptr_t)f};
    if (f->name) made.name = stringText(f->name);
    if (f->desc) made.description = stringText(f->desc);
    return job->add(job, &made);
}

/* What is not added is released. */
static const char *moduleEngineAddAll(struct scriptEngine *engine, struct scriptCompilation *job,
                                      compiledFunction **made, size_t count) {
    const char *error = NULL;
    for (size_t i = 0; i < count; i++) {
        if (!made[i]) continue;
        if (!error) error = moduleEngineAddOne(job, made[i]);
        if (error) moduleEngineReleaseCode(engine, job->kind, (uintptr_t)made[i]);
    }
    return error;
}

static bool moduleEngineCompileText(struct scriptEngine *engine, struct scriptCompilation *job, sds *error) {
    struct ValkeyModuleString *err = NULL;
    size_t count = 0;
    compiledFunction **made = moduleEngineCallCompile(moduleEngineOf(engine), job, &count, &err);
    if (made) {
        const char *refused = moduleEngineAddAll(engine, job, made, count);
        if (refused) *error = sdsnew(refused);
        zfree(made);
    } else {
        *error = sdscatstr(sdsnew("ERR "), err ? stringText(err) : STR("the engine cannot compile this"));
    }
    if (err) stringRelease(err);
    return !*error;
}

static size_t moduleEngineCodeMemory(struct scriptEngine *engine, uintptr_t code) {
    struct moduleEngine *e = moduleEngineOf(engine);
    struct ValkeyModuleCtx ctx;
    moduleEngineOpenContext(&ctx, e);
    size_t bytes = e->methods.get_function_memory_overhead(&ctx, (compiledFunction *)code);
    contextClose(&ctx);
    return bytes;
}

/* ---- Running ---- */

/* What it selects holds for what it does next, and not for its caller. A function that has not replied at all
 * (of one that was busy it is not known) would leave its caller waiting. */
static void moduleEngineRunCode(struct scriptEngine *engine, struct client *c, const struct scriptCode *code,
                                int keys) {
    struct moduleEngine *e = moduleEngineOf(engine);
    struct ValkeyModuleCtx ctx;
    struct stringArgs args;
    size_t count = (size_t)(c->argc - 3), key_count = (size_t)keys;
    struct db *db = c->db;
    size_t replied = c->out.bytes;
    contextOpen(&ctx, e->module, c, CTX_SCRIPT);
    stringArgsOpen(&args, c->argv + 3, (int)count);
    e->methods.call_function(&ctx, e->ctx, (ValkeyModuleScriptingEngineServerRuntimeCtx *)&script_run,
                             (compiledFunction *)code->code, moduleEngineTypeOf(code->kind), args.argv,
                             key_count, args.argv + key_count, count - key_count);
    stringArgsClose(&args);
    contextClose(&ctx);
    c->db = db;
    if (c->out.bytes == replied && !script_run.busy) replyNull(c);
}

ValkeyModuleScriptingEngineExecutionState
vmGetFunctionExecutionState(ValkeyModuleScriptingEngineServerRuntimeCtx *server_ctx) {
    static uint64_t looked; /* ticks */
    (void)server_ctx;
    if (!script_run.name) return VMSE_STATE_KILLED; /* it has ended long ago */
    if (ticksNow() - looked >= TICK_US * ticks_per_us) {
        scriptTick();
        looked = ticksNow();
    }
    return script_run.killed ? VMSE_STATE_KILLED : VMSE_STATE_EXECUTING;
}

/* ---- Its environments ---- */

static struct scriptMemory moduleEngineMemoryOf(struct scriptEngine *engine, enum scriptKind kind) {
    struct moduleEngine *e = moduleEngineOf(engine);
    struct ValkeyModuleCtx ctx;
    moduleEngineOpenContext(&ctx, e);
    ValkeyModuleScriptingEngineMemoryInfo info =
        e->methods.get_memory_info(&ctx, e->ctx, moduleEngineTypeOf(kind));
    contextClose(&ctx);
    return (struct scriptMemory){info.used_memory, info.engine_memory_overhead};
}

struct pendingReset {
    struct moduleEngine *engine;
    ValkeyModuleScriptingEngineCallableLazyEnvReset *how;
};

static void moduleEngineFinishReset(void *arg) {
    struct pendingReset *reset = arg;
    reset->how->engineLazyEnvResetCallback(reset->how->context);
    zfree(reset->how);
    __atomic_sub_fetch(&reset->engine->resets, 1, __ATOMIC_RELEASE);
    zfree(reset);
}

static ValkeyModuleScriptingEngineCallableLazyEnvReset *
moduleEngineCallReset(struct moduleEngine *e, enum scriptKind kind, bool async) {
    typedef ValkeyModuleScriptingEngineCallableLazyEnvReset *ofScripts(ValkeyModuleCtx *,
                                                                       ValkeyModuleScriptingEngineCtx *, int);
    ValkeyModuleScriptingEngineCallableLazyEnvReset *later = NULL;
    struct ValkeyModuleCtx ctx;
    moduleEngineOpenContext(&ctx, e);
    if (e->methods.version >= ABI_WITH_RESET_KINDS)
        later = e->methods.reset_env(&ctx, e->ctx, moduleEngineTypeOf(kind), async);
    else if (kind == SCRIPT_EVAL)
        later = ((ofScripts *)(void *)e->methods.reset_env)(&ctx, e->ctx, async);
    contextClose(&ctx);
    return later;
}

static struct scriptLeftover moduleEngineResetEnvironment(struct scriptEngine *engine, enum scriptKind kind,
                                                          bool async) {
    struct moduleEngine *e = moduleEngineOf(engine);
    ValkeyModuleScriptingEngineCallableLazyEnvReset *later = moduleEngineCallReset(e, kind, async);
    if (!later) return (struct scriptLeftover){NULL, NULL};
    struct pendingReset *reset = zmalloc(sizeof *reset);
    *reset = (struct pendingReset){e, later};
    __atomic_add_fetch(&e->resets, 1, __ATOMIC_RELAXED);
    return (struct scriptLeftover){moduleEngineFinishReset, reset};
}

/* Others may have the lock meanwhile: the background may want it. */
static void moduleEngineWaitForResets(struct moduleEngine *e) {
    if (!__atomic_load_n(&e->resets, __ATOMIC_ACQUIRE)) return;
    moduleLockGive();
    bioDrain(BIO_LAZY_FREE);
    moduleLockTake();
}

/* ---- Registration ---- */

static const struct scriptEngineMethods how = {.compile = moduleEngineCompileText,
                                               .release = moduleEngineReleaseCode,
                                               .run = moduleEngineRunCode,
                                               .codeMemory = moduleEngineCodeMemory,
                                               .memory = moduleEngineMemoryOf,
                                               .reset = moduleEngineResetEnvironment,
                                               .debugger = &module_debugger};

/* Without debuggers the structure is shorter. */
static bool moduleEngineCopyMethods(ValkeyModuleScriptingEngineMethods *to,
                                    const ValkeyModuleScriptingEngineMethods *from) {
    *to = (ValkeyModuleScriptingEngineMethods){0};
    size_t of_old = offsetof(ValkeyModuleScriptingEngineMethods, debugger_enable);
    memcpy(to, from, from->version < ABI_WITH_DEBUGGER ? of_old : sizeof *to);
    return to->compile_code && to->free_function && to->call_function && to->get_function_memory_overhead &&
           to->reset_env && to->get_memory_info;
}

static bool moduleEngineMayRegister(const char *name, const ValkeyModuleScriptingEngineMethods *methods) {
    if (methods->version > ABI) {
        serverLog(LL_WARNING,
                  "The scripting engine needs a newer server: the server has ABI version %d, the engine %llu",
                  ABI, (unsigned long long)methods->version);
        return false;
    }
    if (scriptEngineByName(strOf(name))) {
        serverLog(LL_WARNING, "A scripting engine '%s' is registered already", name);
        return false;
    }
    if (methods->version < ABI)
        serverLog(LL_WARNING, "The scripting engine '%s' uses the older ABI version %llu", name,
                  (unsigned long long)methods->version);
    return true;
}

int vmRegisterScriptingEngine(struct ValkeyModuleCtx *ctx, const char *engine_name,
                              ValkeyModuleScriptingEngineCtx *engine_ctx,
                              ValkeyModuleScriptingEngineMethods *engine_methods) {
    ValkeyModuleScriptingEngineMethods methods;
    if (!ctx || !ctx->module || !engine_name || !engine_methods) return VALKEYMODULE_ERR;
    if (!moduleEngineMayRegister(engine_name, engine_methods)) return VALKEYMODULE_ERR;
    if (!moduleEngineCopyMethods(&methods, engine_methods)) {
        serverLog(LL_WARNING, "Scripting engine '%s' lacks methods", engine_name);
        return VALKEYMODULE_ERR;
    }
    struct moduleEngine *e = zcalloc(1, sizeof *e);
    *e = (struct moduleEngine){.module = ctx->module, .ctx = engine_ctx, .methods = methods};
    e->engine = (struct scriptEngine){.name = sdsnew(engine_name),
                                      .module = ctx->module->name,
                                      .abi_version = (int)methods.version,
                                      .methods = &how};
    scriptEngineAdd(&e->engine);
    return VALKEYMODULE_OK;
}

bool moduleEngineIsOne(const struct scriptEngine *e) {
    return e->methods == &how;
}

static void moduleEngineRemoveEngine(struct scriptEngine *e) {
    scriptEngineRemove(e);
    if (!moduleEngineIsOne(e)) return; /* it is built in */
    moduleEngineWaitForResets(moduleEngineOf(e));
    sdsfree((sds)e->name);
    zfree(e);
}

static bool moduleEngineRuns(const struct scriptEngine *e) {
    return script_run.name && script_run.engine == e;
}

int vmUnregisterScriptingEngine(struct ValkeyModuleCtx *ctx, const char *engine_name) {
    (void)ctx;
    struct scriptEngine *e = engine_name ? scriptEngineByName(strOf(engine_name)) : NULL;
    if (!e) {
        serverLog(LL_WARNING, "No scripting engine '%s' is registered", engine_name ? engine_name : "");
        return VALKEYMODULE_ERR;
    }
    if (moduleEngineRuns(e)) {
        serverLog(LL_WARNING, "Scripting engine '%s' runs a script, and stays", e->name);
        return VALKEYMODULE_ERR;
    }
    moduleEngineRemoveEngine(e);
    return VALKEYMODULE_OK;
}

/* ---- The module's end ---- */

static struct scriptEngine *moduleEngineAnyOf(const struct module *m) {
    struct scriptEngine *e = script_engines;
    while (e && !(moduleEngineIsOne(e) && moduleEngineOf(e)->module == m)) e = e->next;
    return e;
}

static void moduleEngineTakeBack(struct module *m) {
    for (struct scriptEngine *e; (e = moduleEngineAnyOf(m));) moduleEngineRemoveEngine(e);
}

static const char *moduleEngineItRuns(struct module *m) {
    bool running = script_run.name && moduleEngineIsOne(script_run.engine) &&
                   moduleEngineOf(script_run.engine)->module == m;
    return running ? "operation not possible." : NULL;
}

void enginePartInit(void) {
    moduleAddObjection(moduleEngineItRuns);
    moduleOnUnload(moduleEngineTakeBack);
}
