/* SPDX-License-Identifier: BSD-3-Clause */
/* test_commands.h - a few commands without handlers, for tests of what happens to a request before it runs.
 */
#pragma once

#include "command/command.h"
#include "commands/cmd_grammar.h"

/* Registers the commands; the setup of a test group. */
static int registerCommandsOfTests(void **state) {
    (void)state;
    static const struct keySpec one_key[] = {{KEYS_AT(1), KEYS_RANGE(0, 1)}};
    static const struct keySpec all_keys[] = {{KEYS_AT(1), KEYS_RANGE(-1, 1)}};
    static const struct commandSpec specs[] = {
        {.name = "ping", .arity = -1},
        {.name = "set", .arity = -3, .key_specs = one_key, .key_spec_count = 1},
        {.name = "get", .arity = 2, .key_specs = one_key, .key_spec_count = 1},
        {.name = "zadd",
         .arity = -4,
         .key_specs = one_key,
         .key_spec_count = 1,
         .prefetch = PREFETCH_NEW_MEMBER | PREFETCH_SCORE},
        {.name = "phget", .arity = -4, .key_specs = one_key, .key_spec_count = 1, .prefetch = PREFETCH_PATH},
        {.name = "mget", .arity = -2, .key_specs = all_keys, .key_spec_count = 1},
        {0},
    };
    commandCoreInit();
    commandRegister(specs);
    return 0;
}
