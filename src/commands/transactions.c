/* SPDX-License-Identifier: BSD-3-Clause */
/* transactions.c - the facts about MULTI and what belongs to it. */
#include "commands/transactions.h"

#include "commands/grammar.h"

static const struct keySpec watchKeys[] = {
    {.flags = KEY_RO, KEYS_AT(1), KEYS_RANGE(-1, 1)},
};

static const struct commandArg watchArgs[] = {
    {.name = "key", .type = ARG_KEY, .key_spec = 1, .flags = ARG_MULTIPLE},
    {0},
};

const struct commandSpec commandsTransactions[] = {
    {.name = "discard",
     .summary = "Drop the queued commands and leave the transaction.",
     .complexity = "O(n) in the number of queued commands",
     .since = "2.0.0",
     .group = "transactions",
     .proc = discardCommand,
     .arity = 1,
     .flags = CMD_NOSCRIPT | CMD_LOADING | CMD_STALE | CMD_FAST | CMD_ALLOW_BUSY,
     .acl = ACL_TRANSACTION},
    {.name = "exec",
     .summary = "Run the queued commands, with nothing in between.",
     .complexity = "That of the queued commands",
     .since = "1.2.0",
     .group = "transactions",
     .proc = execCommand,
     .flags_of = execFlags,
     .arity = 1,
     .flags = CMD_NOSCRIPT | CMD_LOADING | CMD_STALE | CMD_SKIP_COMMANDLOG,
     .acl = ACL_TRANSACTION},
    {.name = "multi",
     .summary = "Begin a transaction: commands are queued until EXEC.",
     .complexity = "O(1)",
     .since = "1.2.0",
     .group = "transactions",
     .proc = multiCommand,
     .arity = 1,
     .flags = CMD_NOSCRIPT | CMD_LOADING | CMD_STALE | CMD_FAST | CMD_NO_MULTI | CMD_ALLOW_BUSY,
     .acl = ACL_TRANSACTION},
    {.name = "unwatch",
     .summary = "Stop watching keys.",
     .complexity = "O(n) in the number of watched keys",
     .since = "2.2.0",
     .group = "transactions",
     .proc = unwatchCommand,
     .arity = 1,
     .flags = CMD_NOSCRIPT | CMD_LOADING | CMD_STALE | CMD_FAST | CMD_ALLOW_BUSY,
     .acl = ACL_TRANSACTION},
    {.name = "watch",
     .summary = "Let the next EXEC do nothing if one of these keys changes before it.",
     .complexity = "O(1) for each key",
     .since = "2.2.0",
     .group = "transactions",
     .proc = watchCommand,
     .arity = -2,
     .flags = CMD_NOSCRIPT | CMD_LOADING | CMD_STALE | CMD_FAST | CMD_NO_MULTI | CMD_ALLOW_BUSY,
     .acl = ACL_TRANSACTION,
     .key_specs = watchKeys,
     .key_spec_count = 1,
     .args = watchArgs},
    {0},
};
