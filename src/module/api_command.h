/* SPDX-License-Identifier: BSD-3-Clause */
/* api_command.h - a command of a module, as api_command.c and api_command_info.c share it. */
#pragma once

#include <stddef.h>

#include "command/command.h"
#include "commands/cmd_grammar.h"
#include "module/api.h"

/* Flags that only commands of modules have, in bits that commands/cmd_spec.h does not use. */
#define MODULE_GETKEYS    (1ull << 60)
#define MODULE_NO_CLUSTER (1ull << 61)
#define MODULE_FLAGS      (3ull << 60)

struct ValkeyModuleCommand {
    struct commandSpec spec;
    uint64_t module_flags;
    struct serverCommand *command;
    struct module *module;
    ValkeyModuleCmdFunc function; /* NULL: a container of subcommands */
    bool has_info;                /* SetCommandInfo has been called */
    struct ValkeyModuleCommand *next;
};

static inline struct ValkeyModuleCommand *moduleCommandOf(const struct serverCommand *cmd) {
    return (struct ValkeyModuleCommand *)((char *)cmd->spec - offsetof(struct ValkeyModuleCommand, spec));
}
/* Chooses how keys are found: by the command's key specs if they are complete, else by its own function if
 * it has the flag getkeys-api. */
void moduleCommandChooseKeys(struct ValkeyModuleCommand *command);
void moduleCommandInfoFree(struct ValkeyModuleCommand *command); /* frees what its spec points to */
