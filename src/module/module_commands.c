/* module_commands.c - MODULE, and the directives about modules. */
#include <stdlib.h>

#include "base/log.h"
#include "base/zmalloc.h"
#include "client/reply.h"
#include "command/command.h"
#include "command/modules.h"
#include "command/permit.h"
#include "commands/module.h"
#include "module/api.h"
#include "module/module.h"
#include "module/module_load.h"
#include "registry/config.h"

static int enabled; /* enable-module-command */

/* ---- loadmodule path argument ... ---- */

static struct pendingLoad {
    struct pendingLoad *next;
    int argc;
    sds argv[]; /* the path first */
} * pending;

static bool addLoad(const struct configDirective *d, int argc, const struct str *argv, const char **err) {
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

static sds getLoads(const struct configDirective *d) {
    (void)d;
    sds text = sdsempty();
    for (const struct module *m = modules; m; m = m->next) {
        if (!m->handle) continue;
        text = sdscatprintf(text, "%s%s", sdslen(text) ? "\n" : "", m->path);
        for (int i = 0; i < m->arg_count; i++) text = sdscatstr(sdscat(text, " "), sdsview(m->args[i]));
    }
    return text;
}

static void loadPending(struct pendingLoad *load) {
    struct str *argv = zmalloc((size_t)load->argc * sizeof *argv);
    for (int i = 0; i < load->argc; i++) argv[i] = sdsview(load->argv[i]);
    if (!moduleLoad(load->argv[0], load->argc - 1, argv + 1)) {
        serverLog(LL_WARNING, "Can't load module from %s: server aborting", load->argv[0]);
        exit(1);
    }
    zfree(argv);
    for (int i = 0; i < load->argc; i++) sdsfree(load->argv[i]);
    zfree(load);
}

void moduleStart(void) {
    while (pending) {
        struct pendingLoad *load = pending;
        pending = load->next;
        loadPending(load);
    }
}

/* ---- MODULE ---- */

void moduleListCommand(struct client *c) {
    moduleReplyList(c);
}

static bool mayLoad(struct client *c) {
    if (permitted(enabled, c)) return true;
    replyError(c, "ERR MODULE command not allowed. If the enable-module-command option is set to \"local\", "
                  "you can run it from a local connection, otherwise you need to set this option in the "
                  "configuration file, and then restart the server.");
    return false;
}

void moduleLoadCommand(struct client *c) {
    if (!mayLoad(c)) return;
    sds path = sdsnewstr(c->argv[2]);
    if (moduleLoad(path, c->argc - 3, c->argv + 3))
        replyOk(c);
    else
        replyError(c, "ERR Error loading the extension. Please check the server logs.");
    sdsfree(path);
}

void moduleUnloadCommand(struct client *c) {
    const char *err;
    if (!mayLoad(c)) return;
    if (moduleUnload(c->argv[2], &err))
        replyOk(c);
    else
        replyErrorFmt(c, "ERR Error unloading module: %s", err);
}

void moduleHelpCommand(struct client *c) {
    static const char *lines[] = {
        "LIST",
        "    The modules that are there.",
        "LOAD <path> [<arg> ...]",
        "    Load a module from a file, and give it arguments.",
        "LOADEX <path> [[CONFIG NAME VALUE] [CONFIG NAME VALUE]] [ARGS ...]",
        "    Load a module from a file, and give it directives and arguments.",
        "UNLOAD <name>",
        "    Let a module go.",
        NULL,
    };
    replyHelp(c, lines);
}

void moduleCommandInit(void) {
    static struct configDirective directives[] = {
        CONFIG_ENUM("enable-module-command", NULL, 0, &enabled, PERMIT_NO, permit_names, NULL),
        CONFIG_SPECIAL("loadmodule", NULL, CONFIG_MULTI_ARG | CONFIG_LINES, addLoad, getLoads, NULL),
    };
    configRegister(directives, 2);
    commandRegister(commandsModule);
}
