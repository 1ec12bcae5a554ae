/* SPDX-License-Identifier: BSD-3-Clause */
/* api_command.h - a command of a module; api_command.c and api_command_info.c share it. */
#pragma once

#include <stddef.h>

#include "command/command.h"
#include "commands/cmd_grammar.h"
#include "module/api.h"

/* What only modules say of their commands; bits beside those of commands/cmd_spec.h. */
#define MODULE_GETKEYS    (1ull << 60)
#define MODULE_NO_CLUSTER (1ull << 61)
#define MODULE_FLAGS      (3ull << 60)

struct ValkeyModuleCommand {
    struct commandSpec spec;
    uint64_t module_flags;
    struct serverCommand *command;
    struct module *module;
    ValkeyModuleCmdFunc function; /* NULL: it is a container */
    bool has_info;                /* SetCommandInfo has been called */
    struct ValkeyModuleCommand *next;
};

static inline struct ValkeyModuleCommand *moduleCommandOf(const struct serverCommand *cmd) {
    return (struct ValkeyModuleCommand *)((char *)cmd->spec - offsetof(struct ValkeyModuleCommand, spec));
}
/* Which of the two says where its keys are: its key specs if they tell all, else its own function
 * (getkeys-api) if it has one. */
void moduleCommandChooseKeys(struct ValkeyModuleCommand *command);
void moduleCommandInfoFree(struct ValkeyModuleCommand *command); /* what its spec points to */
