/* SPDX-License-Identifier: BSD-3-Clause */
/* scripting.c - the commands that run and manage scripts: what clients, ACLs, clusters and COMMAND know about
 * them.
 *
 * An entry names its handler, and the tables above the list hold what does not fit into a line: key specs,
 * arguments, tips. Equal tables are written once, under the name of the first command that uses them. */
#include "commands/scripting.h"

#include "commands/grammar.h"

static const struct keySpec evalKeys[] = {
    {.notes = "What a script does with its keys is not known beforehand: anything.",
     .flags = KEY_RW | KEY_ACCESS | KEY_UPDATE,
     KEYS_AT(2),
     KEYS_COUNTED(0, 1)},
};

static const struct keySpec evalshaKeys[] = {
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

static const struct keySpec evalRoKeys[] = {
    {.notes = "What a script does with its keys is not known beforehand: it may read them.",
     .flags = KEY_RO | KEY_ACCESS,
     KEYS_AT(2),
     KEYS_COUNTED(0, 1)},
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

static const struct commandArg scriptShowArgs[] = {
    {.name = "sha1", .type = ARG_STRING},
    {0},
};

static const struct commandArg scriptDebugArgs_mode[] = {
    {.name = "yes", .type = ARG_PURE_TOKEN, .token = "YES"},
    {.name = "sync", .type = ARG_PURE_TOKEN, .token = "SYNC"},
    {.name = "no", .type = ARG_PURE_TOKEN, .token = "NO"},
    {0},
};

static const struct commandArg scriptDebugArgs[] = {
    {.name = "mode", .type = ARG_ONEOF, .args = scriptDebugArgs_mode},
    {.name = "engine", .type = ARG_STRING, .since = "9.1.0", .flags = ARG_OPTIONAL},
    {0},
};

static const struct commandArg fcallArgs[] = {
    {.name = "function", .type = ARG_STRING},
    {.name = "numkeys", .type = ARG_INTEGER},
    {.name = "key", .type = ARG_KEY, .key_spec = 1, .flags = ARG_OPTIONAL | ARG_MULTIPLE},
    {.name = "arg", .type = ARG_STRING, .flags = ARG_OPTIONAL | ARG_MULTIPLE},
    {0},
};

static const char *const functionWriteTips[] = {"request_policy:all_shards", "response_policy:all_succeeded",
                                                NULL};

static const char *const functionListTips[] = {"nondeterministic_output_order", NULL};

static const char *const functionStatsTips[] = {"nondeterministic_output", "request_policy:all_shards",
                                                "response_policy:special", NULL};

static const struct commandArg functionDeleteArgs[] = {
    {.name = "library-name", .type = ARG_STRING},
    {0},
};

static const struct commandArg functionFlushArgs[] = {
    {.name = "flush-type", .type = ARG_ONEOF, .flags = ARG_OPTIONAL, .args = scriptFlushArgs_flush_type},
    {0},
};

static const struct commandArg functionListArgs[] = {
    {.name = "library-name-pattern", .type = ARG_STRING, .token = "LIBRARYNAME", .flags = ARG_OPTIONAL},
    {.name = "withcode", .type = ARG_PURE_TOKEN, .token = "WITHCODE", .flags = ARG_OPTIONAL},
    {0},
};

static const struct commandArg functionLoadArgs[] = {
    {.name = "replace", .type = ARG_PURE_TOKEN, .token = "REPLACE", .flags = ARG_OPTIONAL},
    {.name = "function-code", .type = ARG_STRING},
    {0},
};

static const struct commandArg functionRestoreArgs_policy[] = {
    {.name = "flush", .type = ARG_PURE_TOKEN, .token = "FLUSH"},
    {.name = "append", .type = ARG_PURE_TOKEN, .token = "APPEND"},
    {.name = "replace", .type = ARG_PURE_TOKEN, .token = "REPLACE"},
    {0},
};

static const struct commandArg functionRestoreArgs[] = {
    {.name = "serialized-value", .type = ARG_STRING},
    {.name = "policy", .type = ARG_ONEOF, .flags = ARG_OPTIONAL, .args = functionRestoreArgs_policy},
    {0},
};

static const struct commandSpec functionSubcommands[] = {
    {.name = "delete",
     .summary = "Drop a library and its functions.",
     .complexity = "O(n) in the number of its functions",
     .since = "7.0.0",
     .group = "scripting",
     .proc = functionDeleteCommand,
     .arity = 3,
     .flags = CMD_NOSCRIPT | CMD_WRITE,
     .acl = ACL_SCRIPTING,
     .tips = functionWriteTips,
     .args = functionDeleteArgs},
    {.name = "dump",
     .summary = "All libraries as a payload for FUNCTION RESTORE.",
     .complexity = "O(n) in the length of the libraries",
     .since = "7.0.0",
     .group = "scripting",
     .proc = functionDumpCommand,
     .arity = 2,
     .flags = CMD_NOSCRIPT,
     .acl = ACL_SCRIPTING},
    {.name = "flush",
     .summary = "Drop all libraries.",
     .complexity = "O(n) in the number of functions",
     .since = "7.0.0",
     .group = "scripting",
     .proc = functionFlushCommand,
     .arity = -2,
     .flags = CMD_NOSCRIPT | CMD_WRITE,
     .acl = ACL_SCRIPTING,
     .tips = functionWriteTips,
     .args = functionFlushArgs},
    {.name = "help",
     .summary = "Describe the subcommands.",
     .complexity = "O(1)",
     .since = "7.0.0",
     .group = "scripting",
     .proc = functionHelpCommand,
     .arity = 2,
     .flags = CMD_LOADING | CMD_STALE,
     .acl = ACL_SCRIPTING},
    {.name = "kill",
     .summary = "Stop the running function, if it has written nothing.",
     .complexity = "O(1)",
     .since = "7.0.0",
     .group = "scripting",
     .proc = functionKillCommand,
     .arity = 2,
     .flags = CMD_NOSCRIPT | CMD_ALLOW_BUSY,
     .acl = ACL_SCRIPTING,
     .tips = scriptKillTips},
    {.name = "list",
     .summary = "Describe libraries and their functions.",
     .complexity = "O(n) in the number of functions",
     .since = "7.0.0",
     .group = "scripting",
     .proc = functionListCommand,
     .arity = -2,
     .flags = CMD_NOSCRIPT,
     .acl = ACL_SCRIPTING,
     .tips = functionListTips,
     .args = functionListArgs},
    {.name = "load",
     .summary = "Load a library of functions.",
     .complexity = "Depends on the library",
     .since = "7.0.0",
     .group = "scripting",
     .proc = functionLoadCommand,
     .arity = -3,
     .flags = CMD_NOSCRIPT | CMD_WRITE | CMD_DENYOOM,
     .acl = ACL_SCRIPTING,
     .tips = functionWriteTips,
     .args = functionLoadArgs},
    {.name = "restore",
     .summary = "Load the libraries of a payload.",
     .complexity = "O(n) in the number of libraries",
     .since = "7.0.0",
     .group = "scripting",
     .proc = functionRestoreCommand,
     .arity = -3,
     .flags = CMD_NOSCRIPT | CMD_WRITE | CMD_DENYOOM,
     .acl = ACL_SCRIPTING,
     .tips = functionWriteTips,
     .args = functionRestoreArgs},
    {.name = "stats",
     .summary = "The running function, and how many there are.",
     .complexity = "O(1)",
     .since = "7.0.0",
     .group = "scripting",
     .proc = functionStatsCommand,
     .arity = 2,
     .flags = CMD_NOSCRIPT | CMD_ALLOW_BUSY,
     .acl = ACL_SCRIPTING,
     .tips = functionStatsTips},
    {0},
};

static const struct commandSpec scriptSubcommands[] = {
    {.name = "debug",
     .summary = "Switch the debugger of scripts.",
     .complexity = "O(1)",
     .since = "3.2.0",
     .group = "scripting",
     .proc = scriptDebugCommand,
     .arity = -3,
     .flags = CMD_NOSCRIPT | CMD_AT_HOME,
     .acl = ACL_SCRIPTING,
     .args = scriptDebugArgs},
    {.name = "show",
     .summary = "The text of a script in the cache.",
     .complexity = "O(n) in the length of the script",
     .since = "8.0.0",
     .group = "scripting",
     .proc = scriptShowCommand,
     .arity = 3,
     .flags = CMD_NOSCRIPT | CMD_STALE,
     .acl = ACL_SCRIPTING,
     .args = scriptShowArgs},
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
     .flags = CMD_NOSCRIPT | CMD_STALE,
     .acl = ACL_SCRIPTING,
     .tips = scriptExistsTips,
     .args = scriptExistsArgs},
    {.name = "flush",
     .summary = "Empty the cache of scripts.",
     .complexity = "O(n) in the number of scripts",
     .since = "2.6.0",
     .group = "scripting",
     .history = HISTORY({"6.2.0", "`ASYNC` and `SYNC`."}),
     .proc = scriptFlushCommand,
     .arity = -2,
     .flags = CMD_NOSCRIPT | CMD_STALE,
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
     .flags_of = evalFlags,
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
     .flags_of = evalshaFlags,
     .arity = -3,
     .flags = CMD_NOSCRIPT | CMD_SKIP_MONITOR | CMD_MAY_REPLICATE | CMD_NO_MANDATORY_KEYS | CMD_STALE,
     .acl = ACL_SCRIPTING,
     .key_specs = evalshaKeys,
     .key_spec_count = 1,
     .args = evalshaArgs},
    {.name = "evalsha_ro",
     .summary = "Run a cached Lua script that only reads, named by its SHA-1.",
     .complexity = "Depends on the script",
     .since = "7.0.0",
     .group = "scripting",
     .proc = evalshaRoCommand,
     .flags_of = evalshaFlags,
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
     .flags_of = evalFlags,
     .arity = -3,
     .flags = CMD_NOSCRIPT | CMD_SKIP_MONITOR | CMD_NO_MANDATORY_KEYS | CMD_STALE | CMD_READONLY,
     .acl = ACL_SCRIPTING,
     .key_specs = evalRoKeys,
     .key_spec_count = 1,
     .args = evalArgs},
    {.name = "fcall",
     .summary = "Call a function.",
     .complexity = "Depends on the function",
     .since = "7.0.0",
     .group = "scripting",
     .proc = fcallCommand,
     .flags_of = fcallFlags,
     .arity = -3,
     .flags = CMD_NOSCRIPT | CMD_SKIP_MONITOR | CMD_MAY_REPLICATE | CMD_NO_MANDATORY_KEYS | CMD_STALE,
     .acl = ACL_SCRIPTING,
     .key_specs = evalKeys,
     .key_spec_count = 1,
     .args = fcallArgs},
    {.name = "fcall_ro",
     .summary = "Call a function that only reads.",
     .complexity = "Depends on the function",
     .since = "7.0.0",
     .group = "scripting",
     .proc = fcallRoCommand,
     .flags_of = fcallFlags,
     .arity = -3,
     .flags = CMD_NOSCRIPT | CMD_SKIP_MONITOR | CMD_NO_MANDATORY_KEYS | CMD_STALE | CMD_READONLY,
     .acl = ACL_SCRIPTING,
     .key_specs = evalRoKeys,
     .key_spec_count = 1,
     .args = fcallArgs},
    {.name = "function",
     .summary = "Commands about libraries of functions.",
     .complexity = "Depends on the subcommand",
     .since = "7.0.0",
     .group = "scripting",
     .arity = -2,
     .subcommands = functionSubcommands},
    {.name = "script",
     .summary = "Commands about the cache of scripts.",
     .complexity = "Depends on the subcommand",
     .since = "2.6.0",
     .group = "scripting",
     .arity = -2,
     .subcommands = scriptSubcommands},
    {0},
};
