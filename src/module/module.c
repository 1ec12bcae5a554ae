/* SPDX-License-Identifier: BSD-3-Clause */
/* module.c - loading and unloading modules; api.h says what a module is made of. */
#include "module/module.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/assert.h"
#include "base/log.h"
#include "base/zmalloc.h"
#include "client/client.h"
#include "module/api.h"
#include "module/module_load.h"
#include "module/module_open.h"
#include "module/parts.h"
#include "registry/server_events.h"

typedef int moduleEntry(struct ValkeyModuleCtx *ctx, struct ValkeyModuleString **argv, int argc);

struct module *modules;
static int modules_loaded;

#define HOOKS_MAX 32
static void (*on_unload[HOOKS_MAX])(struct module *m);
static const char *(*objections[HOOKS_MAX])(struct module *m);
static bool (*on_loaded[HOOKS_MAX])(struct module *m);
static int unload_hooks, objection_count, loaded_hooks;

void moduleOnUnload(void (*fn)(struct module *m)) {
    serverAssert(unload_hooks < HOOKS_MAX);
    on_unload[unload_hooks++] = fn;
}

void moduleAddObjection(const char *(*fn)(struct module *m)) {
    serverAssert(objection_count < HOOKS_MAX);
    objections[objection_count++] = fn;
}

void moduleOnLoaded(bool (*fn)(struct module *m)) {
    serverAssert(loaded_hooks < HOOKS_MAX);
    on_loaded[loaded_hooks++] = fn;
}

/* Finds a module by name, ignoring case. */
static struct module *moduleByName(struct str name) {
    for (struct module *m = modules; m; m = m->next) {
        if (strIs(name, m->name)) return m;
    }
    return NULL;
}

/* ---- Attributes that a module sets ---- */

void vmSetModuleAttribs(struct ValkeyModuleCtx *ctx, const char *name, int ver, int apiver) {
    if (ctx->module) return;
    struct module *m = zcalloc(1, sizeof *m);
    m->name = sdsnew(name);
    m->ver = ver;
    m->apiver = apiver;
    m->loading = true;
    ctx->module = m;
}

int vmIsModuleNameBusy(const char *name) {
    return modulesListFind(strOf(name)) != NULL;
}

void vmSetModuleOptions(struct ValkeyModuleCtx *ctx, int options) {
    ctx->module->options = (unsigned)options;
}

/* ---- Unloading ---- */

static void moduleFreeArguments(struct module *m) {
    for (int i = 0; i < m->arg_count; i++) sdsfree(m->args[i]);
    zfree(m->args);
}

static void moduleFree(struct module *m) {
    if (m->file && moduleFileClose(m->file) != 0)
        serverLog(LL_WARNING, "Closing the library of module %s failed: %s", m->name, dlerror());
    if (!m->loading) serverEvent(SERVER_MODULE, EVENT_ENDED, m);
    sdsfree(m->name);
    sdsfree(m->path);
    moduleFreeArguments(m);
    zfree(m);
}

static void moduleDestroy(struct module *m) {
    for (int i = 0; i < unload_hooks; i++) on_unload[i](m);
    moduleFree(m);
}

static void moduleUnlink(struct module *m) {
    modulesListRemove(&m->listed);
    struct module **at = &modules;
    while (*at != m) at = &(*at)->next;
    *at = m->next;
    modules_loaded--;
}

/* Calls OnUnload and returns whether the module has refused, which it does by returning an error. */
static bool moduleCallOnUnload(struct module *m) {
    if (!m->file) return false;
    int (*entry)(struct ValkeyModuleCtx *) = NULL;
    *(void **)&entry = moduleFileEntry(m->file, "OnUnload", NULL);
    if (!entry) return false;
    struct ValkeyModuleCtx ctx;
    contextOpen(&ctx, m, NULL, 0);
    bool refused = entry(&ctx) == VALKEYMODULE_ERR;
    contextClose(&ctx);
    if (refused) serverLog(LL_WARNING, "Module %s refuses to be unloaded", m->name);
    return refused;
}

/* Unloads a module. Returns NULL, or why it is not unloaded. */
static const char *moduleUnloadOne(struct module *m) {
    const char *err = NULL;
    for (int i = 0; !err && i < objection_count; i++) err = objections[i](m);
    if (!err && moduleCallOnUnload(m)) err = "operation not possible.";
    if (err) return err;
    serverLog(LL_NOTICE, "Module '%s' is unloaded", m->name);
    moduleUnlink(m);
    moduleDestroy(m);
    return NULL;
}

static const char *moduleUnloadBuiltIn(struct str name) {
    struct listedModule *m = modulesListFind(name);
    if (!m || !m->end) return "no such module with that name";
    if (m->end()) {
        serverLog(LL_NOTICE, "Module '%s' is unloaded", m->name);
        return NULL;
    }
    serverLog(LL_WARNING, "Module %s refuses to be unloaded", m->name);
    return "operation not possible.";
}

bool moduleUnload(struct str name, const char **err) {
    struct module *m = moduleByName(name);
    *err = m ? moduleUnloadOne(m) : moduleUnloadBuiltIn(name);
    if (!*err) return true;
    serverLog(LL_WARNING, "Module %.*s could not be unloaded: %s", (int)name.len, name.ptr, *err);
    return false;
}

/* Unloads the newest modules first, because they may use functions of older ones. A module that is waiting
 * for a command stays: the exit may have been its own request. */
void moduleStop(void) {
    int count = 0;
    struct module **list = zmalloc((size_t)(modules_loaded + 1) * sizeof *list);
    for (struct module *m = modules; m; m = m->next) list[count++] = m;
    while (count--) {
        const char *err = list[count]->in_call ? "it is running" : moduleUnloadOne(list[count]);
        if (err)
            serverLog(LL_WARNING, "Module %s is not unloaded before the exit: %s", list[count]->name, err);
    }
    zfree(list);
}

/* ---- Loading ---- */

static bool moduleIsExecutable(const char *path) {
    struct stat st;
    return stat(path, &st) != 0 || st.st_mode & (S_IXUSR | S_IXGRP | S_IXOTH);
}

static struct moduleFile *moduleOpenFile(const char *path) {
    if (!moduleIsExecutable(path)) {
        serverLog(LL_WARNING, "The module %s is not loaded because its file is not executable", path);
        return NULL;
    }
    struct moduleFile *file = moduleFileOpen(path);
    if (!file) serverLog(LL_WARNING, "The module %s could not be loaded: %s", path, dlerror());
    return file;
}

static moduleEntry *moduleFindEntry(struct moduleFile *file, const char *path) {
    bool redis;
    moduleEntry *entry;
    *(void **)&entry = moduleFileEntry(file, "OnLoad", &redis);
    if (entry && redis)
        serverLog(LL_NOTICE, "The module %s was built for Redis", path);
    else if (!entry)
        serverLog(LL_WARNING,
                  "The module %s is not loaded because it exports neither ValkeyModule_OnLoad nor "
                  "RedisModule_OnLoad",
                  path);
    return entry;
}

static void moduleSetArguments(struct module *m, const char *path, int argc, const struct str *argv) {
    m->path = sdsnew(path);
    m->args = zcalloc((size_t)argc + 1, sizeof *m->args);
    m->arg_count = argc;
    for (int i = 0; i < argc; i++) m->args[i] = sdsnewstr(argv[i]);
}

int vmUpdateRuntimeArgs(struct ValkeyModuleCtx *ctx, struct ValkeyModuleString **argv, int argc) {
    struct module *m = ctx->module;
    int count = argc > 1 ? argc - 1 : 0;
    sds *args = zcalloc((size_t)count + 1, sizeof *args);
    for (int i = 0; i < count; i++) args[i] = sdsnewstr(stringText(argv[i + 1]));
    moduleFreeArguments(m);
    m->args = args;
    m->arg_count = count;
    m->listed.args = args;
    m->listed.arg_count = count;
    return VALKEYMODULE_OK;
}

/* Calls OnLoad. If that fails, it returns NULL and has closed the file. */
static struct module *moduleCallEntry(moduleEntry *entry, struct moduleFile *file, const char *path, int argc,
                                      const struct str *argv) {
    struct ValkeyModuleCtx ctx;
    contextOpen(&ctx, NULL, NULL, 0);
    contextClient(&ctx);
    struct stringArgs args;
    stringArgsOpen(&args, argv, argc);
    bool ok = entry(&ctx, args.argv, args.argc) != VALKEYMODULE_ERR && ctx.module;
    stringArgsClose(&args);
    struct module *m = ctx.module;
    contextClose(&ctx);
    if (!m) {
        serverLog(LL_WARNING, "Module %s initialization failed. Module name is busy.", path);
        moduleFileClose(file);
        return NULL;
    }
    m->file = file;
    moduleSetArguments(m, path, argc, argv);
    m->loading = !ok; /* lets hooks undo what OnLoad has created */
    if (ok) return m;
    serverLog(LL_WARNING, "The module %s is not loaded because its initialization failed", path);
    moduleDestroy(m);
    return NULL;
}

static bool moduleRunLoadedHooks(struct module *m) {
    bool ok = true;
    for (int i = 0; i < loaded_hooks; i++) ok &= on_loaded[i](m);
    return ok;
}

bool moduleLoad(const char *path, int argc, const struct str *argv) {
    struct moduleFile *file = moduleOpenFile(path);
    if (!file) return false;
    moduleEntry *entry = moduleFindEntry(file, path);
    if (!entry) {
        moduleFileClose(file);
        return false;
    }
    struct module *m = moduleCallEntry(entry, file, path, argc, argv);
    if (!m) return false;
    struct module **end = &modules;
    while (*end) end = &(*end)->next;
    *end = m;
    modules_loaded++;
    m->listed = (struct listedModule){
        .name = m->name, .path = m->path, .version = m->ver, .args = m->args, .arg_count = m->arg_count};
    modulesListAdd(&m->listed);
    serverLog(LL_NOTICE, "Module '%s' is loaded from %s", m->name, path);
    if (!moduleRunLoadedHooks(m)) {
        serverLog(LL_NOTICE, "Module '%s' is unloaded", m->name);
        (void)moduleCallOnUnload(m); /* it may clean up; its result does not matter */
        moduleUnlink(m);
        moduleDestroy(m);
        return false;
    }
    serverEvent(SERVER_MODULE, EVENT_STARTED, m);
    return true;
}

void moduleInit(void) {
    apiTableInit();
    memoryPartInit();
    stringPartInit();
    dictPartInit();
    miscPartInit();
    keyPartInit();
    callReplyPartInit();
    typePartInit();
    sharedApiPartInit();
    lockPartInit();
    blockPartInit();
    blockEventPartInit();
    timerPartInit();
    jobPartInit();
    callPartInit();
    commandPartInit();
    configPartInit();
    infoPartInit();
    filterPartInit();
    serverEventPartInit();
    commandEventPartInit();
    notifyPartInit();
    forkPartInit();
    clusterPartInit();
    authPartInit();
    enginePartInit();
    moduleAdminInit();
}
