/* SPDX-License-Identifier: BSD-3-Clause */
/* module_engine.h - scripting engines of modules, as their debuggers (module_engine_debugger.c) see them. */
#pragma once

#include "command/script_engine.h"
#include "module/api.h"

struct moduleEngine {
    struct scriptEngine engine; /* first member */
    struct module *module;
    ValkeyModuleScriptingEngineCtx *ctx;
    ValkeyModuleScriptingEngineMethods methods;
    int resets; /* resets that the background thread has still to do; atomic */
    const ValkeyModuleScriptingEngineDebuggerCommand *commands; /* commands of its debugger */
    size_t command_count;
};

static inline struct moduleEngine *moduleEngineOf(struct scriptEngine *e) {
    return (struct moduleEngine *)e;
}
extern const struct scriptDebugger module_debugger;
/* Tells whether an engine belongs to a module. */
bool moduleEngineIsFromModule(const struct scriptEngine *e);
