/* api_command.c - commands of modules: their specs, and the way from commandRun to their functions. */
#include <stddef.h>
#include <string.h>

#include "base/assert.h"
#include "base/zmalloc.h"
#include "client/client.h"
#include "client/reply.h"
#include "command/command.h"
#include "command/propagate.h"
#include "command/request.h"
#include "module/api.h"
#include "module/parts.h"

struct ValkeyModuleCommand {
    struct commandSpec spec[2]; /* the second one ends the array */
    struct serverCommand *command;
    struct module *module;
    ValkeyModuleCmdFunc function;
    struct ValkeyModuleCommand *next;
};
static struct ValkeyModuleCommand *all;

/* ---- Arguments ---- */

void stringArgsOpen(struct stringArgs *a, const struct str *argv, int argc) {
    size_t room = sizeof a->some / sizeof *a->some;
    a->argc = argc;
    a->argv = (size_t)argc <= room ? a->some : zmalloc((size_t)argc * sizeof *a->argv);
    for (int i = 0; i < argc; i++) a->argv[i] = stringNew(argv[i]);
}

void stringArgsClose(struct stringArgs *a) {
    for (int i = 0; i < a->argc; i++) stringRelease(a->argv[i]);
    if (a->argv != a->some) zfree(a->argv);
}

/* ---- Running ---- */

static void moduleCommandRun(struct client *c) {
    struct ValkeyModuleCommand *command =
        (struct ValkeyModuleCommand *)((char *)c->cmd->spec - offsetof(struct ValkeyModuleCommand, spec));
    struct ValkeyModuleCtx ctx;
    struct stringArgs args;
    contextOpen(&ctx, command->module, c, CTX_COMMAND);
    stringArgsOpen(&args, c->argv, c->argc);
    command->function(&ctx, args.argv, args.argc);
    stringArgsClose(&args);
    contextClose(&ctx);
}

int vmWrongArity(struct ValkeyModuleCtx *ctx) {
    replyErrorFmt(contextClient(ctx), "ERR wrong number of arguments for '%s' command",
                  ctx->client->cmd ? ctx->client->cmd->fullname : "");
    return VALKEYMODULE_OK;
}

/* ---- Making ---- */

int vmCreateCommand(struct ValkeyModuleCtx *ctx, const char *name, ValkeyModuleCmdFunc cmdfunc,
                    const char *strflags, int firstkey, int lastkey, int keystep) {
    (void)strflags, (void)firstkey, (void)lastkey, (void)keystep;
    if (!ctx->module || !ctx->module->loading || commandLookupName(strOf(name))) return VALKEYMODULE_ERR;
    struct ValkeyModuleCommand *command = zcalloc(1, sizeof *command);
    command->spec[0] = (struct commandSpec){
        .name = sdsnew(name), .group = "module", .proc = moduleCommandRun, .arity = -1, .summary = ""};
    command->module = ctx->module;
    command->function = cmdfunc;
    commandRegister(command->spec);
    command->command = commandLookupName(strOf(name));
    command->next = all;
    all = command;
    return VALKEYMODULE_OK;
}

void moduleCommandsInit(void) {}
