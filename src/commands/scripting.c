/* scripting.c - the commands that run and manage scripts: what clients, ACLs, clusters and COMMAND know about
 * them.
 *
 * An entry names its handler, and the tables above the list hold what does not fit into a line: key specs,
 * arguments, tips. Equal tables are written once, under the name of the first command that uses them. */
#include "commands/commands.h"

#include "core/command.h"

static const struct keySpec evalKeys[] = {
    {.flags = KEY_RW | KEY_ACCESS | KEY_UPDATE, KEYS_AT(2), KEYS_COUNTED(0, 1)},
};

static const struct commandArg evalArgs[] = {
    {.name = "script", .type = ARG_STRING},
    {.name = "numkeys", .type = ARG_INTEGER},
    {.name = "key", .type = ARG_KEY, .key_spec = 1, .flags = ARG_OPTIONAL | ARG_MULTIPLE},
    {.name = "arg", .type = ARG_STRING, .flags = ARG_OPTIONAL | ARG_MULTIPLE},
    {0},
};

static const struct commandArg evalshaArgs[] = {
    {.name = "sha1", .type = ARG_STRING},
    {.name = "numkeys", .type = ARG_INTEGER},
    {.name = "key", .type = ARG_KEY, .key_spec = 1, .flags = ARG_OPTIONAL | ARG_MULTIPLE},
    {.name = "arg", .type = ARG_STRING, .flags = ARG_OPTIONAL | ARG_MULTIPLE},
    {0},
};

static const struct keySpec evalshaRoKeys[] = {
    {.flags = KEY_RO | KEY_ACCESS, KEYS_AT(2), KEYS_COUNTED(0, 1)},
};

static const char *const scriptLoadTips[] = {"request_policy:all_nodes", "response_policy:all_succeeded",
                                             NULL};

static const struct commandArg scriptLoadArgs[] = {
    {.name = "script", .type = ARG_STRING},
    {0},
};

static const char *const scriptExistsTips[] = {"request_policy:all_shards", "response_policy:agg_logical_and",
                                               NULL};

static const struct commandArg scriptExistsArgs[] = {
    {.name = "sha1", .type = ARG_STRING, .flags = ARG_MULTIPLE},
    {0},
};

static const struct commandArg scriptFlushArgs_flush_type[] = {
    {.name = "async", .type = ARG_PURE_TOKEN, .token = "ASYNC"},
    {.name = "sync", .type = ARG_PURE_TOKEN, .token = "SYNC"},
    {0},
};

static const struct commandArg scriptFlushArgs[] = {
    {.name = "flush-type",
     .type = ARG_ONEOF,
     .since = "6.2.0",
     .flags = ARG_OPTIONAL,
     .args = scriptFlushArgs_flush_type},
    {0},
};

static const char *const scriptKillTips[] = {"request_policy:all_shards", "response_policy:one_succeeded",
                                             NULL};

static const struct commandSpec scriptSubcommands[] = {
    {.name = "load",
     .summary = "Put a script into the cache without running it.",
     .complexity = "O(n) in the length of the script",
     .since = "2.6.0",
     .group = "scripting",
     .proc = scriptLoadCommand,
     .arity = 3,
     .flags = CMD_NOSCRIPT | CMD_STALE,
     .acl = ACL_SCRIPTING,
     .tips = scriptLoadTips,
     .args = scriptLoadArgs},
    {.name = "exists",
     .summary = "Which of the scripts are in the cache.",
     .complexity = "O(n) in the number of hashes",
     .since = "2.6.0",
     .group = "scripting",
     .proc = scriptExistsCommand,
     .arity = -3,
     .flags = CMD_NOSCRIPT,
     .acl = ACL_SCRIPTING,
     .tips = scriptExistsTips,
     .args = scriptExistsArgs},
    {.name = "flush",
     .summary = "Empty the cache of scripts.",
     .complexity = "O(n) in the number of scripts",
     .since = "2.6.0",
     .group = "scripting",
     .proc = scriptFlushCommand,
     .arity = -2,
     .flags = CMD_NOSCRIPT,
     .acl = ACL_SCRIPTING,
     .tips = scriptLoadTips,
     .args = scriptFlushArgs},
    {.name = "kill",
     .summary = "Stop the running script, if it has written nothing.",
     .complexity = "O(1)",
     .since = "2.6.0",
     .group = "scripting",
     .proc = scriptKillCommand,
     .arity = 2,
     .flags = CMD_NOSCRIPT | CMD_ALLOW_BUSY,
     .acl = ACL_SCRIPTING,
     .tips = scriptKillTips},
    {.name = "help",
     .summary = "Describe the subcommands.",
     .complexity = "O(1)",
     .since = "5.0.0",
     .group = "scripting",
     .proc = scriptHelpCommand,
     .arity = 2,
     .flags = CMD_LOADING | CMD_STALE,
     .acl = ACL_SCRIPTING},
    {0},
};

const struct commandSpec commandsScripting[] = {
    {.name = "eval",
     .summary = "Run a Lua script.",
     .complexity = "Depends on the script",
     .since = "2.6.0",
     .group = "scripting",
     .proc = evalCommand,
     .arity = -3,
     .flags = CMD_NOSCRIPT | CMD_SKIP_MONITOR | CMD_MAY_REPLICATE | CMD_NO_MANDATORY_KEYS | CMD_STALE,
     .acl = ACL_SCRIPTING,
     .key_specs = evalKeys,
     .key_spec_count = 1,
     .args = evalArgs},
    {.name = "evalsha",
     .summary = "Run a cached Lua script, named by its SHA-1.",
     .complexity = "Depends on the script",
     .since = "2.6.0",
     .group = "scripting",
     .proc = evalshaCommand,
     .arity = -3,
     .flags = CMD_NOSCRIPT | CMD_SKIP_MONITOR | CMD_MAY_REPLICATE | CMD_NO_MANDATORY_KEYS | CMD_STALE,
     .acl = ACL_SCRIPTING,
     .key_specs = evalKeys,
     .key_spec_count = 1,
     .args = evalshaArgs},
    {.name = "evalsha_ro",
     .summary = "Run a cached Lua script that only reads, named by its SHA-1.",
     .complexity = "Depends on the script",
     .since = "7.0.0",
     .group = "scripting",
     .proc = evalshaRoCommand,
     .arity = -3,
     .flags = CMD_NOSCRIPT | CMD_SKIP_MONITOR | CMD_NO_MANDATORY_KEYS | CMD_STALE | CMD_READONLY,
     .acl = ACL_SCRIPTING,
     .key_specs = evalshaRoKeys,
     .key_spec_count = 1,
     .args = evalshaArgs},
    {.name = "eval_ro",
     .summary = "Run a Lua script that only reads.",
     .complexity = "Depends on the script",
     .since = "7.0.0",
     .group = "scripting",
     .proc = evalRoCommand,
     .arity = -3,
     .flags = CMD_NOSCRIPT | CMD_SKIP_MONITOR | CMD_NO_MANDATORY_KEYS | CMD_STALE | CMD_READONLY,
     .acl = ACL_SCRIPTING,
     .key_specs = evalshaRoKeys,
     .key_spec_count = 1,
     .args = evalArgs},
    {.name = "script",
     .summary = "Commands about the cache of scripts.",
     .complexity = "Depends on the subcommand",
     .since = "2.6.0",
     .group = "scripting",
     .arity = -2,
     .subcommands = scriptSubcommands},
    {0},
};
