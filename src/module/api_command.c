/* SPDX-License-Identifier: BSD-3-Clause */
/* api_command.c - commands of modules: their specs, made while OnLoad runs, and the call of their functions.
 * api_command_info.c has what COMMAND shows of them. */
#include "module/api_command.h"

#include <ctype.h>
#include <errno.h>
#include <string.h>

#include "acl/acl.h"
#include "base/assert.h"
#include "base/log.h"
#include "base/zmalloc.h"
#include "client/client.h"
#include "client/reply.h"
#include "command/propagate.h"
#include "command/request.h"
#include "data/server_state/role.h"
#include "module/block.h"
#include "module/parts.h"

static struct ValkeyModuleCommand *module_commands;
static struct {
    const struct module *module;
    int count;
} new_categories; /* created by the module that is being loaded */

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
    struct ValkeyModuleCommand *command = moduleCommandOf(c->cmd);
    struct ValkeyModuleCtx ctx;
    struct stringArgs args;
    contextOpen(&ctx, command->module, c, CTX_COMMAND);
    stringArgsOpen(&args, c->argv, c->argc);
    if (__builtin_expect(c->flags & CLIENT_REEXECUTING, 0))
        moduleBlockRunCallback(&ctx, args.argv, args.argc);
    else
        command->function(&ctx, args.argv, args.argc);
    stringArgsClose(&args);
    contextClose(&ctx);
    propagateSuppress(c); /* the module has requested what is propagated */
}

int vmWrongArity(struct ValkeyModuleCtx *ctx) {
    const struct client *c = ctx->client;
    return vmReplyWithErrorFormat(ctx, "ERR wrong number of arguments for '%s' command",
                                  c && c->cmd ? c->cmd->fullname : "");
}

const char *vmGetCurrentCommandName(struct ValkeyModuleCtx *ctx) {
    const struct client *c = ctx ? ctx->client : NULL;
    return c && c->cmd ? c->cmd->fullname : NULL;
}

int vmRedactClientCommandArgument(struct ValkeyModuleCtx *ctx, int pos) {
    const struct client *c = ctx->client;
    if (!c || !(ctx->flags & CTX_COMMAND) || !c->request || pos <= 0 || pos >= c->argc)
        return VALKEYMODULE_ERR;
    c->request->redacted |= pos < 32 ? 1u << pos : UINT32_MAX;
    return VALKEYMODULE_OK;
}

/* ---- Positions of keys and channels, from the command itself ---- */

static int apiCommandGetPositions(const struct serverCommand *cmd, const struct str *argv, int argc,
                                  unsigned what, struct keyRef **keys) {
    struct ValkeyModuleCommand *command = moduleCommandOf(cmd);
    struct ValkeyModuleCtx ctx;
    struct stringArgs args;
    contextOpen(&ctx, command->module, NULL, what);
    stringArgsOpen(&args, argv, argc);
    command->function(&ctx, args.argv, args.argc);
    stringArgsClose(&args);
    int count = 0;
    for (int i = 0; i < ctx.position_count; i++) { /* positions beyond the arguments do not count */
        if (ctx.positions[i].pos < argc) ctx.positions[count++] = ctx.positions[i];
    }
    *keys = count ? ctx.positions : NULL;
    if (count) ctx.positions = NULL;
    contextClose(&ctx);
    return count;
}

static int apiCommandGetKeys(const struct serverCommand *cmd, const struct str *argv, int argc,
                             struct keyRef **keys) {
    return apiCommandGetPositions(cmd, argv, argc, CTX_KEY_POSITIONS, keys);
}

static int apiCommandGetChannels(const struct serverCommand *cmd, const struct str *argv, int argc,
                                 struct keyRef **channels) {
    return apiCommandGetPositions(cmd, argv, argc, CTX_CHANNEL_POSITIONS, channels);
}

int vmIsKeysPositionRequest(struct ValkeyModuleCtx *ctx) {
    return (ctx->flags & CTX_KEY_POSITIONS) != 0;
}

int vmIsChannelsPositionRequest(struct ValkeyModuleCtx *ctx) {
    return (ctx->flags & CTX_CHANNEL_POSITIONS) != 0;
}

void vmChannelAtPosWithFlags(struct ValkeyModuleCtx *ctx, int pos, int flags) {
    if (!(ctx->flags & CTX_CHANNEL_POSITIONS) || pos <= 0) return;
    ctx->position_count = keyRefsAdd(&ctx->positions, ctx->position_count, pos, pos, 1, (unsigned)flags);
}

void vmKeyAtPosWithFlags(struct ValkeyModuleCtx *ctx, int pos, int flags) {
    if (!(ctx->flags & CTX_KEY_POSITIONS) || pos <= 0) return;
    ctx->position_count = keyRefsAdd(&ctx->positions, ctx->position_count, pos, pos, 1, (unsigned)flags);
}

void vmKeyAtPos(struct ValkeyModuleCtx *ctx, int pos) {
    vmKeyAtPosWithFlags(ctx, pos, KEY_RW | KEY_ACCESS | KEY_UPDATE);
}

void moduleCommandChooseKeys(struct ValkeyModuleCommand *command) {
    struct commandSpec *spec = &command->spec;
    bool complete = spec->key_spec_count > 0;
    for (int i = 0; i < spec->key_spec_count; i++) {
        const struct keySpec *k = &spec->key_specs[i];
        bool known = k->begin != KEYS_BEGIN_UNKNOWN && k->find != KEYS_FIND_UNKNOWN;
        complete &= known && !(k->flags & (KEY_INCOMPLETE | KEY_VARIABLE_FLAGS));
    }
    spec->getkeys = command->module_flags & MODULE_GETKEYS && !complete ? apiCommandGetKeys : NULL;
}

/* ---- Flags, names ---- */

static const struct flagName flag_words[] = {
    {CMD_WRITE, "write"},
    {CMD_READONLY, "readonly"},
    {CMD_ADMIN, "admin"},
    {CMD_DENYOOM, "deny-oom"},
    {CMD_NOSCRIPT, "deny-script"},
    {CMD_LOADING, "allow-loading"},
    {CMD_PUBSUB, "pubsub"},
    {0, "random"}, /* obsolete, without effect */
    {CMD_BLOCKING, "blocking"},
    {CMD_STALE, "allow-stale"},
    {CMD_SKIP_MONITOR, "no-monitor"},
    {CMD_SKIP_COMMANDLOG, "no-slowlog"},
    {CMD_SKIP_COMMANDLOG, "no-commandlog"},
    {CMD_FAST, "fast"},
    {CMD_NO_AUTH, "no-auth"},
    {CMD_MAY_REPLICATE, "may-replicate"},
    {MODULE_GETKEYS, "getkeys-api"},
    {CMD_HAS_CHANNELS, "getchannels-api"},
    {MODULE_NO_CLUSTER, "no-cluster"},
    {CMD_NO_MANDATORY_KEYS, "no-mandatory-keys"},
    {CMD_ALLOW_BUSY, "allow-busy"},
    {CMD_ALL_DBS, "all-dbs"},
    {0, NULL},
};

/* Parses flags. Returns false if a word is unknown. */
static bool apiCommandReadFlags(const char *text, uint64_t *flags) {
    int n;
    bool known = true;
    *flags = CMD_MODULE;
    sds *words = sdssplitlen(text, strlen(text), " ", 1, &n);
    for (int i = 0; i < n; i++) {
        const struct flagName *f = flag_words;
        while (f->name && strcasecmp(f->name, words[i]) != 0) f++;
        known &= f->name != NULL || !sdslen(words[i]);
        *flags |= f->flag;
    }
    sdsfreesplitres(words, n);
    return known;
}

static bool apiCommandNameIsValid(const char *name) {
    return *name && !strpbrk(name, " \r\n|@=,");
}

/* ---- Creation ---- */

/* Turns the triple into one key spec, with flags for unknown effects. */
static void apiCommandSpecFromTriple(struct ValkeyModuleCommand *command, int first, int last, int step) {
    if (!first) return;
    struct keySpec *spec = zcalloc(1, sizeof *spec);
    *spec = (struct keySpec){.begin = KEYS_BEGIN_INDEX,
                             .find = KEYS_FIND_RANGE,
                             .pos = first,
                             .lastkey = last >= 0 ? (int)((int64_t)last - first) : last,
                             .step = step,
                             .flags = KEY_RW | KEY_ACCESS | KEY_UPDATE};
    if (command->module_flags & MODULE_GETKEYS) spec->flags |= KEY_VARIABLE_FLAGS;
    command->spec.key_specs = spec;
    command->spec.key_spec_count = 1;
}

static void moduleCommandFree(struct ValkeyModuleCommand *command) {
    sdsfree((sds)command->spec.name);
    moduleCommandInfoFree(command);
    zfree(command);
}

static struct ValkeyModuleCommand *apiCommandMake(struct module *m, struct ValkeyModuleCommand *parent,
                                                  const char *name, ValkeyModuleCmdFunc function,
                                                  const char *words, int first, int last, int step) {
    uint64_t flags = 0;
    if (!apiCommandNameIsValid(name) || (words && !apiCommandReadFlags(words, &flags))) return NULL;
    if (flags & MODULE_NO_CLUSTER && cluster_enabled) return NULL;
    struct ValkeyModuleCommand *command = zcalloc(1, sizeof *command);
    command->module = m;
    command->function = function;
    command->module_flags = flags & MODULE_FLAGS;
    command->spec = (struct commandSpec){
        .name = sdsnew(name),
        .group = "module",
        .module = m->name,
        .proc = function ? moduleCommandRun : NULL,
        .arity = function && !parent ? -1 : -2,
        .flags = CMD_MODULE | (flags & ~MODULE_FLAGS) | (flags & MODULE_GETKEYS ? CMD_MOVABLE_KEYS : 0),
        .getchannels = flags & CMD_HAS_CHANNELS ? apiCommandGetChannels : NULL,
    };
    apiCommandSpecFromTriple(command, first, last, step);
    moduleCommandChooseKeys(command);
    command->command = commandAdd(&command->spec, parent ? parent->command : NULL);
    if (!command->command) {
        moduleCommandFree(command);
        return NULL;
    }
    command->next = module_commands;
    module_commands = command;
    return command;
}

int vmCreateCommand(struct ValkeyModuleCtx *ctx, const char *name, ValkeyModuleCmdFunc cmdfunc,
                    const char *strflags, int firstkey, int lastkey, int keystep) {
    if (!ctx->module || !ctx->module->loading) return VALKEYMODULE_ERR;
    return apiCommandMake(ctx->module, NULL, name, cmdfunc, strflags, firstkey, lastkey, keystep)
               ? VALKEYMODULE_OK
               : VALKEYMODULE_ERR;
}

int vmCreateSubcommand(struct ValkeyModuleCommand *parent, const char *name, ValkeyModuleCmdFunc cmdfunc,
                       const char *strflags, int firstkey, int lastkey, int keystep) {
    bool may_have = parent && parent->module->loading && !parent->command->parent && !parent->function;
    return may_have &&
                   apiCommandMake(parent->module, parent, name, cmdfunc, strflags, firstkey, lastkey, keystep)
               ? VALKEYMODULE_OK
               : VALKEYMODULE_ERR;
}

struct ValkeyModuleCommand *vmGetCommand(struct ValkeyModuleCtx *ctx, const char *name) {
    struct serverCommand *cmd = commandLookupName(strOf(name));
    if (!cmd || !(cmd->flags & CMD_MODULE)) return NULL;
    struct ValkeyModuleCommand *command = moduleCommandOf(cmd);
    return command->module == ctx->module ? command : NULL;
}

/* ---- Categories ---- */

int vmAddACLCategory(struct ValkeyModuleCtx *ctx, const char *name) {
    bool exists, good = *name;
    for (const char *p = name; *p; p++) good &= isalnum((unsigned char)*p) || *p == '_' || *p == '-';
    if (!good || !ctx->module || !ctx->module->loading) {
        errno = EINVAL;
        return VALKEYMODULE_ERR;
    }
    if (!aclCategoryAdd(strOf(name), &exists)) {
        errno = exists ? EBUSY : ENOMEM;
        return VALKEYMODULE_ERR;
    }
    if (new_categories.module != ctx->module) new_categories.count = 0;
    new_categories.module = ctx->module;
    new_categories.count++;
    return VALKEYMODULE_OK;
}

int vmSetCommandACLCategories(struct ValkeyModuleCommand *command, const char *ctgrsflags) {
    if (!command || !command->module->loading) return VALKEYMODULE_ERR;
    int n;
    uint64_t categories = 0;
    bool known = true;
    sds *words = sdssplitlen(ctgrsflags, strlen(ctgrsflags), " ", 1, &n);
    for (int i = 0; i < n; i++) {
        const struct flagName *f = acl_categories;
        if (!sdslen(words[i])) continue;
        while (f->name && strcasecmp(f->name + 1, words[i]) != 0) f++;
        if (!f->name)
            serverLog(LL_WARNING, "A module names the command category %s, which does not exist", words[i]);
        known &= f->name != NULL;
        categories |= f->flag;
    }
    sdsfreesplitres(words, n);
    if (!known) return VALKEYMODULE_ERR;
    command->spec.acl = categories;
    commandRefresh(command->command);
    return VALKEYMODULE_OK;
}

/* ---- Unloading ---- */

/* Removes subcommands before their containers: they were created later, so they come first in the list. */
static void apiCommandRemoveCommands(struct module *m) {
    moduleListRemoveIf(struct ValkeyModuleCommand, command, module_commands, command->module == m) {
        commandRemove(command->command);
        moduleCommandFree(command);
    }
    if (m->loading && new_categories.module == m) aclCategoriesDrop(new_categories.count);
    new_categories.module = NULL;
}

static const char *apiCommandAclObjection(struct module *m) {
    for (struct ValkeyModuleCommand *command = module_commands; command; command = command->next) {
        if (command->module != m || command->command->parent) continue;
        sds rule = aclRuleAbout(strOf(command->spec.name));
        if (!rule) continue;
        serverLog(
            LL_WARNING,
            "Module %s is not unloaded because the ACL rule '%s' of a user or role names one of its commands",
            m->name, rule);
        sdsfree(rule);
        return "one or more ACL users reference commands from this module. Remove those ACL rules before "
               "unloading";
    }
    return NULL;
}

void commandPartInit(void) {
    moduleOnUnload(apiCommandRemoveCommands);
    moduleAddObjection(apiCommandAclObjection);
}
