/* SPDX-License-Identifier: BSD-3-Clause */
/* cmd_module.c - commands about modules. */
#include "commands/cmd_module.h"

#include "commands/cmd_grammar.h"

static const struct commandArg moduleLoadexArgs_configs[] = {
    {.name = "name", .type = ARG_STRING},
    {.name = "value", .type = ARG_STRING},
    {0},
};

static const struct commandArg moduleLoadexArgs[] = {
    {.name = "path", .type = ARG_STRING},
    {.name = "configs",
     .type = ARG_BLOCK,
     .token = "CONFIG",
     .flags = ARG_OPTIONAL | ARG_MULTIPLE | ARG_MULTIPLE_TOKEN,
     .args = moduleLoadexArgs_configs},
    {.name = "args", .type = ARG_STRING, .token = "ARGS", .flags = ARG_OPTIONAL | ARG_MULTIPLE},
    {0},
};

static const struct commandSpec moduleSubcommands[] = {
    {.name = "help",
     .summary = "Describe the subcommands.",
     .complexity = "O(1)",
     .since = "5.0.0",
     .group = "server",
     .proc = moduleHelpCommand,
     .arity = 2,
     .flags = CMD_LOADING | CMD_STALE},
    {.name = "list",
     .summary = "The loaded modules.",
     .complexity = "O(n) in the number of modules",
     .since = "4.0.0",
     .group = "server",
     .proc = moduleListCommand,
     .arity = 2,
     .flags = CMD_ADMIN | CMD_NOSCRIPT,
     .tips = TIPS("nondeterministic_output_order")},
    {.name = "load",
     .summary = "Load a module.",
     .complexity = "O(1)",
     .since = "4.0.0",
     .group = "server",
     .proc = moduleLoadCommand,
     .arity = -3,
     .flags = CMD_NO_ASYNC_LOADING | CMD_ADMIN | CMD_NOSCRIPT | CMD_PROTECTED,
     .args = ARGS({.name = "path", .type = ARG_STRING},
                  {.name = "arg", .type = ARG_STRING, .flags = ARG_OPTIONAL | ARG_MULTIPLE})},
    {.name = "loadex",
     .summary = "Load a module, and set its directives.",
     .complexity = "O(1)",
     .since = "7.0.0",
     .group = "server",
     .proc = moduleLoadexCommand,
     .arity = -3,
     .flags = CMD_NO_ASYNC_LOADING | CMD_ADMIN | CMD_NOSCRIPT | CMD_PROTECTED,
     .args = moduleLoadexArgs},
    {.name = "unload",
     .summary = "Unload a module.",
     .complexity = "O(1)",
     .since = "4.0.0",
     .group = "server",
     .proc = moduleUnloadCommand,
     .arity = 3,
     .flags = CMD_NO_ASYNC_LOADING | CMD_ADMIN | CMD_NOSCRIPT | CMD_PROTECTED,
     .args = ARGS({.name = "name", .type = ARG_STRING})},
    {0},
};

const struct commandSpec commandsModule[] = {
    {.name = "module",
     .summary = "Commands about loaded modules.",
     .complexity = "Depends on the subcommand",
     .since = "4.0.0",
     .group = "server",
     .arity = -2,
     .subcommands = moduleSubcommands},
    {0},
};
