/* SPDX-License-Identifier: BSD-3-Clause */
/* module_engine_debugger.c - debuggers of modules' engines: their methods for a session
 * (command/debug_session.h), and the functions by which they talk to its client, which do nothing outside
 * of a session. */
#include <string.h>

#include "base/zmalloc.h"
#include "command/debug_session.h"
#include "module/module_call_reply.h"
#include "module/module_engine.h"

#define NAME_WIDTH 22 /* width of the column of names in moduleEngineDebuggerHelp */

typedef ValkeyModuleScriptingEngineDebuggerCommand debuggerCommand;

/* ---- A session ---- */

static bool moduleEngineDebuggerHasDebugger(const struct moduleEngine *e) {
    const ValkeyModuleScriptingEngineMethods *m = &e->methods;
    return m->debugger_enable && m->debugger_disable && m->debugger_start && m->debugger_end;
}

static enum scriptDebugging moduleEngineDebuggerEnable(struct scriptEngine *engine) {
    struct moduleEngine *e = moduleEngineOf(engine);
    struct ValkeyModuleCtx ctx;
    if (!moduleEngineDebuggerHasDebugger(e)) return DEBUGGING_NOT_SUPPORTED;
    e->commands = NULL;
    e->command_count = 0;
    contextOpen(&ctx, e->module, NULL, 0);
    ValkeyModuleScriptingEngineDebuggerEnableRet enabled =
        e->methods.debugger_enable(&ctx, e->ctx, VMSE_EVAL, &e->commands, &e->command_count);
    contextClose(&ctx);
    return enabled == VMSE_DEBUG_ENABLED         ? DEBUGGING_ENABLED
           : enabled == VMSE_DEBUG_NOT_SUPPORTED ? DEBUGGING_NOT_SUPPORTED
                                                 : DEBUGGING_FAILED;
}

static void moduleEngineDebuggerCallMethod(struct moduleEngine *e,
                                           ValkeyModuleScriptingEngineDebuggerDisableFunc fn) {
    struct ValkeyModuleCtx ctx;
    contextOpen(&ctx, e->module, NULL, 0);
    fn(&ctx, e->ctx, VMSE_EVAL);
    contextClose(&ctx);
}

static void moduleEngineDebuggerDisable(struct scriptEngine *engine) {
    struct moduleEngine *e = moduleEngineOf(engine);
    moduleEngineDebuggerCallMethod(e, e->methods.debugger_disable);
}

static void moduleEngineDebuggerEnd(struct scriptEngine *engine) {
    struct moduleEngine *e = moduleEngineOf(engine);
    moduleEngineDebuggerCallMethod(e, e->methods.debugger_end);
}

static void moduleEngineDebuggerStart(struct scriptEngine *engine, struct str source) {
    struct moduleEngine *e = moduleEngineOf(engine);
    struct ValkeyModuleCtx ctx;
    struct ValkeyModuleString *text = stringNew(source);
    contextOpen(&ctx, e->module, NULL, 0);
    e->methods.debugger_start(&ctx, e->ctx, VMSE_EVAL, text);
    contextClose(&ctx);
    stringRelease(text);
}

const struct scriptDebugger module_debugger = {.enable = moduleEngineDebuggerEnable,
                                               .disable = moduleEngineDebuggerDisable,
                                               .start = moduleEngineDebuggerStart,
                                               .end = moduleEngineDebuggerEnd};

/* ---- Output ---- */

static sds moduleEngineDebuggerCopyText(struct ValkeyModuleString *s) {
    return sdsnewstr(stringText(s));
}

void vmScriptingEngineDebuggerLog(struct ValkeyModuleString *msg, int truncate) {
    if (!msg) return;
    if (debug_session.on) {
        size_t trim = debug_session.trim;
        if (!truncate) debug_session.trim = 0;
        debugLineTrimmed(moduleEngineDebuggerCopyText(msg));
        debug_session.trim = trim;
    }
    stringRelease(msg);
}

static void moduleEngineDebuggerLogReply(const char *bytes, size_t len) {
    struct respReply reply = {0};
    if (!debug_session.on || respReadReply(bytes, len, &reply) <= 0) return;
    debugLineTrimmed(debugReplyText(sdsnew("<reply> "), &reply));
    respReplyFree(&reply);
}

void vmScriptingEngineDebuggerLogRespReplyStr(const char *reply) {
    if (reply) moduleEngineDebuggerLogReply(reply, strlen(reply));
}

void vmScriptingEngineDebuggerLogRespReply(struct ValkeyModuleCallReply *reply) {
    size_t len;
    const char *bytes = reply ? vmCallReplyProto(reply, &len) : NULL;
    if (bytes) moduleEngineDebuggerLogReply(bytes, len);
}

void vmScriptingEngineDebuggerFlushLogs(void) {
    if (debug_session.on) debugSend();
}

/* ---- Requests of the client ---- */

static bool moduleEngineDebuggerMatchesName(const char *name, size_t prefix_len, const sds word) {
    return !strcasecmp(word, name) ||
           (prefix_len && sdslen(word) == prefix_len && !strncasecmp(word, name, prefix_len));
}

static bool moduleEngineDebuggerMatchesCount(const debuggerCommand *command, size_t words) {
    size_t needed = 0;
    bool any = false;
    for (size_t i = 0; i < command->params_len; i++) {
        needed += !command->params[i].optional;
        any |= command->params[i].variadic != 0;
    }
    return words >= needed && (any || words <= command->params_len);
}

static const debuggerCommand *moduleEngineDebuggerFind(const struct moduleEngine *e, sds *argv, int argc) {
    for (size_t i = 0; i < e->command_count; i++) {
        const debuggerCommand *command = &e->commands[i];
        if (moduleEngineDebuggerMatchesName(command->name, command->prefix_len, argv[0]) &&
            moduleEngineDebuggerMatchesCount(command, (size_t)argc - 1))
            return command;
    }
    return NULL;
}

static void moduleEngineDebuggerHelpLine(const char *name, size_t prefix_len, const debuggerCommand *command,
                                         const char *what) {
    size_t len = strlen(name), prefix = prefix_len < len ? prefix_len : len;
    sds words = sdscatprintf(sdsempty(), prefix ? "[%.*s]%s" : "%.*s%s", (int)prefix, name, name + prefix);
    for (size_t i = 0; command && i < command->params_len; i++) {
        const ValkeyModuleScriptingEngineDebuggerCommandParam *p = &command->params[i];
        words = sdscatprintf(words, p->optional ? " [%s%s]" : " <%s%s>", p->name, p->variadic ? " ..." : "");
    }
    debugLine("%-*s%s", NAME_WIDTH, words, what ? what : "");
    sdsfree(words);
}

static void moduleEngineDebuggerHelp(const struct moduleEngine *e) {
    debugLine("Requests to the debugger of %s; what stands in brackets is enough of a name.", e->engine.name);
    moduleEngineDebuggerHelpLine("help", 1, NULL, "this text");
    moduleEngineDebuggerHelpLine("maxlen", 3, NULL,
                                 "cut lines after so many bytes, 0: never; without a number: how many");
    for (size_t i = 0; i < e->command_count; i++) {
        const debuggerCommand *command = &e->commands[i];
        if (!command->invisible)
            moduleEngineDebuggerHelpLine(command->name, command->prefix_len, command, command->desc);
    }
}

static bool moduleEngineDebuggerCallHandler(struct moduleEngine *e, const debuggerCommand *command, sds *argv,
                                            int argc) {
    struct str *words = zmalloc((size_t)argc * sizeof *words);
    struct stringArgs args;
    for (int i = 0; i < argc; i++) words[i] = sdsview(argv[i]);
    stringArgsOpen(&args, words, argc);
    zfree(words);
    int more = command->handler(args.argv, (size_t)argc, command->context ? command->context : e->ctx);
    stringArgsClose(&args);
    return more != 0;
}

/* Serves a request. Returns false if the script shall go on. */
static bool moduleEngineDebuggerServe(struct moduleEngine *e, sds *argv, int argc) {
    const debuggerCommand *command = moduleEngineDebuggerFind(e, argv, argc);
    if (command && command->handler) return moduleEngineDebuggerCallHandler(e, command, argv, argc);
    if (argc == 1 && moduleEngineDebuggerMatchesName("help", 1, argv[0]))
        moduleEngineDebuggerHelp(e);
    else if (argc <= 2 && moduleEngineDebuggerMatchesName("maxlen", 3, argv[0]))
        debugMaxlen(argv, argc);
    else
        debugUnknown();
    debugSend();
    return true;
}

/* Returns the session's engine if it is a module's, else NULL. */
static struct moduleEngine *moduleEngineDebuggerOfSession(void) {
    struct scriptEngine *e = debug_session.on ? debug_session.engine : NULL;
    return e && moduleEngineIsFromModule(e) ? moduleEngineOf(e) : NULL;
}

void vmScriptingEngineDebuggerProcessCommands(int *client_disconnected, struct ValkeyModuleString **err) {
    struct moduleEngine *e = moduleEngineDebuggerOfSession();
    bool more = e != NULL;
    while (more) {
        int argc;
        sds *argv = debugReadRequest(&argc);
        if (!argv) break;
        more = argc == 0 || moduleEngineDebuggerServe(e, argv, argc);
        sdsfreesplitres(argv, argc);
        e = moduleEngineDebuggerOfSession(); /* the request may have ended the session */
        more &= e != NULL;
    }
    const char *reason = debug_session.on ? debug_session.abort_reason : NULL;
    if (client_disconnected) *client_disconnected = reason && debug_session.client_gone;
    if (err) *err = reason && !debug_session.client_gone ? stringNew(strOf(reason)) : NULL;
}
