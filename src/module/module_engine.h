/* SPDX-License-Identifier: BSD-3-Clause */
/* module_engine.h - the scripting engines of modules, for their debuggers (module_engine_debugger.c). */
#pragma once

#include "command/script_engine.h"
#include "module/api.h"

struct moduleEngine {
    struct scriptEngine engine; /* first */
    struct module *module;
    ValkeyModuleScriptingEngineCtx *ctx;
    ValkeyModuleScriptingEngineMethods methods;
    int resets; /* that the background has still to do; atomic */
    const ValkeyModuleScriptingEngineDebuggerCommand *commands; /* of its debugger */
    size_t command_count;
};

static inline struct moduleEngine *moduleEngineOf(struct scriptEngine *e) {
    return (struct moduleEngine *)e;
}
extern const struct scriptDebugger module_debugger;
/* Are its methods a module's? */
bool moduleEngineIsOne(const struct scriptEngine *e);
