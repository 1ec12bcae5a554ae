/* SPDX-License-Identifier: BSD-3-Clause */
/* module_engine.c - scripting engines of modules, behind the interface of command/script_engine.h.
 *
 *     EVAL, FCALL ──▶ scriptExecute ──▶ moduleEngineRunCode ──▶ call_function(ctx of the caller, keys, args)
 *                                                               Call with S ──▶ moduleCall, as for a script
 *
 * A function's code is the address of the object that compile_code returned for it. All callbacks run under
 * the lock, except what reset_env leaves to the background.
 *
 * Versions of the interface differ: the length of the text came after version 1 (version 0 has it), the kind
 * of a reset with 3, debuggers with 4. */
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
#define TICK_US              1000 /* a function that polls its state more often gets the last result */

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

/* Compiles a text, which ends with NUL, because the first version had no length. */
static compiledFunction **moduleEngineCallCompile(struct moduleEngine *e, const struct scriptCompilation *job,
                                                  size_t *count, struct ValkeyModuleString **err) {
    typedef compiledFunction **withoutLength(ValkeyModuleCtx *, ValkeyModuleScriptingEngineCtx *,
                                             ValkeyModuleScriptingEngineSubsystemType, const char *, size_t,
                                             size_t *, ValkeyModuleString **);
    struct ValkeyModuleCtx ctx;
    sds text = sdsnewstr(job->text);
    size_t limit = (size_t)job->limit_ms;
    compiledFunction **compiled;
    moduleEngineOpenContext(&ctx, e);
    if (e->methods.version == ABI_WITHOUT_LENGTH)
        compiled = ((withoutLength *)(void *)e->methods.compile_code)(
            &ctx, e->ctx, moduleEngineTypeOf(job->kind), text, limit, count, err);
    else
        compiled = e->methods.compile_code(&ctx, e->ctx, moduleEngineTypeOf(job->kind), text, sdslen(text),
                                           limit, count, err);
    contextClose(&ctx);
    sdsfree(text);
    return compiled;
}

static unsigned moduleEngineFlagsOf(uint64_t f) {
    return (f & VMSE_SCRIPT_FLAG_NO_WRITES ? SCRIPT_NO_WRITES : 0u) |
           (f & VMSE_SCRIPT_FLAG_ALLOW_OOM ? SCRIPT_ALLOW_OOM : 0u) |
           (f & VMSE_SCRIPT_FLAG_ALLOW_STALE ? SCRIPT_ALLOW_STALE : 0u) |
           (f & VMSE_SCRIPT_FLAG_NO_CLUSTER ? SCRIPT_NO_CLUSTER : 0u) |
           (f & VMSE_SCRIPT_FLAG_ALLOW_CROSS_SLOT ? SCRIPT_ALLOW_CROSS_SLOT : 0u) |
           (f & VMSE_SCRIPT_FLAG_EVAL_COMPAT_MODE ? 0u : SCRIPT_SHEBANG);
}

static const char *moduleEngineAddFunction(struct scriptCompilation *job, const compiledFunction *f) {
    struct scriptFunction compiled = {.flags = moduleEngineFlagsOf(f->f_flags), .code = (uintptr_t)f};
    if (f->name) compiled.name = stringText(f->name);
    if (f->desc) compiled.description = stringText(f->desc);
    return job->add(job, &compiled);
}

/* Adds functions until one is refused; releases the functions that were not added. */
static const char *moduleEngineAddAll(struct scriptEngine *engine, struct scriptCompilation *job,
                                      compiledFunction **compiled, size_t count) {
    const char *error = NULL;
    for (size_t i = 0; i < count; i++) {
        if (!compiled[i]) continue;
        if (!error) error = moduleEngineAddFunction(job, compiled[i]);
        if (error) moduleEngineReleaseCode(engine, job->kind, (uintptr_t)compiled[i]);
    }
    return error;
}

static bool moduleEngineCompileText(struct scriptEngine *engine, struct scriptCompilation *job, sds *error) {
    struct ValkeyModuleString *err = NULL;
    size_t count = 0;
    compiledFunction **compiled = moduleEngineCallCompile(moduleEngineOf(engine), job, &count, &err);
    if (compiled) {
        const char *refused = moduleEngineAddAll(engine, job, compiled, count);
        if (refused) *error = sdsnew(refused);
        zfree(compiled);
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

/* Runs a function. The database that it selects stays selected for its later commands but not for its
 * caller. If it has not replied, it gets a null reply, so that its caller does not wait; this is unknown if
 * the function was busy, since the reply may have been sent. */
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
    static uint64_t checked_ticks; /* ticks of the last check */
    (void)server_ctx;
    if (!script_run.name) return VMSE_STATE_KILLED; /* the function has ended long ago */
    if (ticksNow() - checked_ticks >= TICK_US * ticks_per_us) {
        scriptTick();
        checked_ticks = ticksNow();
    }
    return script_run.killed ? VMSE_STATE_KILLED : VMSE_STATE_EXECUTING;
}

/* ---- Environments of an engine ---- */

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

/* Waits for resets in the background, without the lock, as they may need it. */
static void moduleEngineWaitForResets(struct moduleEngine *e) {
    if (!__atomic_load_n(&e->resets, __ATOMIC_ACQUIRE)) return;
    moduleLockRelease();
    bioDrain(BIO_LAZY_FREE);
    moduleLockTake();
}

/* ---- Registration ---- */

static const struct scriptEngineMethods script_methods = {.compile = moduleEngineCompileText,
                                                          .release = moduleEngineReleaseCode,
                                                          .run = moduleEngineRunCode,
                                                          .codeMemory = moduleEngineCodeMemory,
                                                          .memory = moduleEngineMemoryOf,
                                                          .reset = moduleEngineResetEnvironment,
                                                          .debugger = &module_debugger};

/* Copies the methods. The struct is shorter in versions without debuggers. */
static bool moduleEngineCopyMethods(ValkeyModuleScriptingEngineMethods *to,
                                    const ValkeyModuleScriptingEngineMethods *from) {
    *to = (ValkeyModuleScriptingEngineMethods){0};
    size_t of_old = offsetof(ValkeyModuleScriptingEngineMethods, debugger_enable);
    memcpy(to, from, from->version < ABI_WITH_DEBUGGER ? of_old : sizeof *to);
    return to->compile_code && to->free_function && to->call_function && to->get_function_memory_overhead &&
           to->reset_env && to->get_memory_info;
}

static bool moduleEngineCheckRegistration(const char *name,
                                          const ValkeyModuleScriptingEngineMethods *methods) {
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
    if (!moduleEngineCheckRegistration(engine_name, engine_methods)) return VALKEYMODULE_ERR;
    if (!moduleEngineCopyMethods(&methods, engine_methods)) {
        serverLog(LL_WARNING, "Scripting engine '%s' lacks methods", engine_name);
        return VALKEYMODULE_ERR;
    }
    struct moduleEngine *e = zcalloc(1, sizeof *e);
    *e = (struct moduleEngine){.module = ctx->module, .ctx = engine_ctx, .methods = methods};
    e->engine = (struct scriptEngine){.name = sdsnew(engine_name),
                                      .module = ctx->module->name,
                                      .abi_version = (int)methods.version,
                                      .methods = &script_methods};
    scriptEngineAdd(&e->engine);
    return VALKEYMODULE_OK;
}

bool moduleEngineIsFromModule(const struct scriptEngine *e) {
    return e->methods == &script_methods;
}

static void moduleEngineRemoveEngine(struct scriptEngine *e) {
    scriptEngineRemove(e);
    if (!moduleEngineIsFromModule(e)) return; /* a built-in engine */
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

/* ---- Unloading ---- */

static struct scriptEngine *moduleEngineFindByModule(const struct module *m) {
    struct scriptEngine *e = script_engines;
    while (e && !(moduleEngineIsFromModule(e) && moduleEngineOf(e)->module == m)) e = e->next;
    return e;
}

static void moduleEngineForgetModule(struct module *m) {
    for (struct scriptEngine *e; (e = moduleEngineFindByModule(m));) moduleEngineRemoveEngine(e);
}

static const char *moduleEngineObjection(struct module *m) {
    bool running = script_run.name && moduleEngineIsFromModule(script_run.engine) &&
                   moduleEngineOf(script_run.engine)->module == m;
    return running ? "operation not possible." : NULL;
}

void enginePartInit(void) {
    moduleAddObjection(moduleEngineObjection);
    moduleOnUnload(moduleEngineForgetModule);
}
