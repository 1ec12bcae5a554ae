/* SPDX-License-Identifier: BSD-3-Clause */
/* module_commands.c - the command MODULE and the directives about modules. */
#include <stdlib.h>

#include "base/log.h"
#include "base/zmalloc.h"
#include "client/reply.h"
#include "command/command.h"
#include "command/modules.h"
#include "command/permit.h"
#include "commands/cmd_module.h"
#include "module/api.h"
#include "module/module.h"
#include "module/module_config.h"
#include "module/module_load.h"
#include "registry/config.h"

static int enabled; /* enable-module-command */
static bool started;

/* ---- loadmodule path argument ... ---- */

static struct pendingLoad {
    struct pendingLoad *next;
    int argc;
    sds argv[]; /* the path and its arguments */
} * pending;

static bool moduleAddLoad(const struct configDirective *d, int argc, const struct str *argv,
                          const char **err) {
    (void)d, (void)err;
    struct pendingLoad **end = &pending;
    while (*end) end = &(*end)->next;
    struct pendingLoad *load = zmalloc(sizeof *load + (size_t)argc * sizeof *load->argv);
    load->next = NULL;
    load->argc = argc;
    for (int i = 0; i < argc; i++) load->argv[i] = sdsnewstr(argv[i]);
    *end = load;
    return true;
}

static sds moduleGetLoads(const struct configDirective *d) {
    (void)d;
    sds text = sdsempty();
    for (const struct module *m = modules; m; m = m->next) {
        if (!m->file) continue;
        text = sdscatword(sdslen(text) ? sdscat(text, "\n") : text, strOf(m->path));
        for (int i = 0; i < m->arg_count; i++) text = sdscatword(sdscat(text, " "), sdsview(m->args[i]));
    }
    return text;
}

static void moduleLoadPending(struct pendingLoad *load) {
    struct str *argv = zmalloc((size_t)load->argc * sizeof *argv);
    for (int i = 0; i < load->argc; i++) argv[i] = sdsview(load->argv[i]);
    if (!moduleLoad(load->argv[0], load->argc - 1, argv + 1)) {
        serverLog(LL_WARNING, "The module %s could not be loaded, so the server exits", load->argv[0]);
        exit(1);
    }
    zfree(argv);
    for (int i = 0; i < load->argc; i++) sdsfree(load->argv[i]);
    zfree(load);
}

bool modules_starting;

/* Keeps a line for a directive of a module. All words after its name are one value. */
static bool moduleStoreDirective(int argc, const struct str *argv, const char **err) {
    if (argc < 2) {
        *err = "Module config specified without value";
        return false;
    }
    sds value = sdsnewstr(argv[1]);
    for (int i = 2; i < argc; i++) value = sdscatstr(sdscat(value, " "), argv[i]);
    pendingConfigSet(argv[0], sdsview(value));
    sdsfree(value);
    return true;
}

void moduleStart(void) {
    modules_starting = pending != NULL;
    while (pending) {
        struct pendingLoad *load = pending;
        pending = load->next;
        moduleLoadPending(load);
    }
    modules_starting = false;
    started = true;
    if (!pendingConfigCount()) return;
    pendingConfigsLog();
    serverLog(
        LL_WARNING,
        "The configuration has directives of modules that were not loaded or did not call LoadConfigs, so "
        "the server exits");
    exit(1);
}

/* ---- MODULE ---- */

void moduleListCommand(struct client *c) {
    moduleReplyList(c);
}

static const char refused_load[] = "ERR Error loading the extension. Please check the server logs.";

static bool moduleCheckPermission(struct client *c) {
    if (permitAllows(enabled, c)) return true;
    return replyError(
        c, "ERR MODULE command not allowed. If the enable-module-command option is set to \"local\", "
           "you can run it from a local connection, otherwise you need to set this option in the "
           "configuration file, and then restart the server.");
}

static void moduleCommandsLoad(struct client *c, int argc, const struct str *argv) {
    sds path = sdsnewstr(c->argv[2]);
    if (moduleLoad(path, argc, argv))
        replyOk(c);
    else
        replyError(c, refused_load);
    sdsfree(path);
    pendingConfigsDrop();
}

void moduleLoadCommand(struct client *c) {
    if (moduleCheckPermission(c)) moduleCommandsLoad(c, c->argc - 3, c->argv + 3);
}

/* Parses [CONFIG name value] ... [ARGS argument ...] and keeps the values for the module. Returns the index
 * of its first argument, or 0, having logged why, if something else is there. */
static int moduleParseLoadex(const struct client *c) {
    int i = 3;
    while (i < c->argc && !strIs(c->argv[i], "args")) {
        bool named = strIs(c->argv[i], "config");
        if (named && i + 2 < c->argc) {
            pendingConfigSet(c->argv[i + 1], c->argv[i + 2]);
            i += 3;
            continue;
        }
        if (named)
            serverLog(LL_NOTICE, "MODULE LOADEX: CONFIG is not followed by a name and a value");
        else
            serverLog(LL_NOTICE, "MODULE LOADEX: %.*s is not understood", (int)c->argv[i].len,
                      c->argv[i].ptr);
        return 0;
    }
    return i < c->argc ? i + 1 : i;
}

void moduleLoadexCommand(struct client *c) {
    if (!moduleCheckPermission(c)) return;
    int first = moduleParseLoadex(c);
    if (first) {
        moduleCommandsLoad(c, c->argc - first, c->argv + first);
        return;
    }
    replyError(c, refused_load);
    pendingConfigsDrop();
}

/* Checks that the module has taken all values that LOADEX gave. Values from the file may belong
 * to other modules. */
static bool moduleCheckDirectivesTaken(struct module *m) {
    (void)m;
    if (!started || !pendingConfigCount()) return true;
    serverLog(LL_WARNING, "MODULE LOADEX: the module has not taken all of its directives, so it is unloaded");
    return false;
}

void moduleUnloadCommand(struct client *c) {
    const char *err;
    if (!moduleCheckPermission(c)) return;
    if (moduleUnload(c->argv[2], &err))
        replyOk(c);
    else
        replyErrorFmt(c, "ERR Error unloading module: %s", err);
}

void moduleHelpCommand(struct client *c) {
    static const char *lines[] = {
        "LIST",
        "    The loaded modules.",
        "LOAD <path> [<arg> ...]",
        "    Load a module from a file, with arguments.",
        "LOADEX <path> [[CONFIG NAME VALUE] [CONFIG NAME VALUE]] [ARGS ...]",
        "    Load a module from a file, with directives and arguments.",
        "UNLOAD <name>",
        "    Unload a module.",
        NULL,
    };
    replyHelp(c, lines);
}

void moduleAdminInit(void) {
    static struct configDirective directives[] = {
        CONFIG_ENUM("enable-module-command", NULL, 0, &enabled, PERMIT_NO, permit_names, NULL),
        CONFIG_SPECIAL("loadmodule", NULL, CONFIG_MULTI_ARG | CONFIG_LINES, moduleAddLoad, moduleGetLoads,
                       NULL),
    };
    configRegister(directives, 2);
    configOnDotted(moduleStoreDirective);
    moduleOnLoaded(moduleCheckDirectivesTaken);
    commandRegister(commandsModule);
}
