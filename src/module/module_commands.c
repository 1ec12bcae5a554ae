/* module_commands.c - MODULE. */
#include "client/reply.h"
#include "command/command.h"
#include "command/modules.h"
#include "commands/module.h"
#include "module/module.h"

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

void moduleInit(void) {
    commandRegister(commandsModule);
}
