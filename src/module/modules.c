/* modules.c - MODULE, and the list of modules; see modules.h. */
#include "module/modules.h"

#include "base/assert.h"
#include "command/command.h"
#include "commands/module.h"
#include "client/reply.h"

#define MODULES_MAX 4

static struct module {
    const char *name, *path;
    int version;
} modules[MODULES_MAX];
static int module_count;

void moduleRegister(const char *name, int version, const char *path) {
    serverAssert(module_count < MODULES_MAX);
    modules[module_count++] = (struct module){.name = name, .version = version, .path = path};
}

void moduleReplyList(struct client *c) {
    replyArrayLen(c, module_count);
    for (const struct module *m = modules; m < modules + module_count; m++) {
        replyMapLen(c, 4);
        replyBulkCstr(c, "name");
        replyBulkCstr(c, m->name);
        replyBulkCstr(c, "ver");
        replyLongLong(c, m->version);
        replyBulkCstr(c, "path");
        replyBulkCstr(c, m->path);
        replyBulkCstr(c, "args");
        replyArrayLen(c, 0);
    }
}

void moduleListCommand(struct client *c) {
    moduleReplyList(c);
}

/* LOAD, LOADEX and UNLOAD: the only answer of enable-module-command that there is, no. */
void moduleLoadCommand(struct client *c) {
    replyError(c, "ERR MODULE command not allowed. If the enable-module-command option is set to \"local\", "
                  "you can run it from a local connection, otherwise you need to set this option in the "
                  "configuration file, and then restart the server.");
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
