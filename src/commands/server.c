/* server.c - commands about the server as a whole: what clients, ACLs, clusters and COMMAND know about them.
 *
 * An entry names its handler, and the tables above the list hold what does not fit into a line: key specs,
 * arguments, tips. Equal tables are written once, under the name of the first command that uses them. */
#include "commands/commands.h"

#include "core/command.h"

static const char *const commandTips[] = {"nondeterministic_output_order", NULL};

static const struct commandArg commandDocsArgs[] = {
    {.name = "command-name", .type = ARG_STRING, .flags = ARG_OPTIONAL | ARG_MULTIPLE},
    {0},
};

static const struct commandArg commandListArgs_filterby[] = {
    {.name = "module-name", .type = ARG_STRING, .token = "MODULE"},
    {.name = "category", .type = ARG_STRING, .token = "ACLCAT"},
    {.name = "pattern", .type = ARG_PATTERN, .token = "PATTERN"},
    {0},
};

static const struct commandArg commandListArgs[] = {
    {.name = "filterby",
     .type = ARG_ONEOF,
     .token = "FILTERBY",
     .flags = ARG_OPTIONAL,
     .args = commandListArgs_filterby},
    {0},
};

static const struct commandArg commandGetkeysArgs[] = {
    {.name = "command", .type = ARG_STRING},
    {.name = "arg", .type = ARG_STRING, .flags = ARG_OPTIONAL | ARG_MULTIPLE},
    {0},
};

static const struct commandSpec commandSubcommands[] = {
    {.name = "count",
     .summary = "The number of commands.",
     .complexity = "O(1)",
     .since = "2.8.13",
     .group = "server",
     .proc = commandCountCommand,
     .arity = 2,
     .flags = CMD_LOADING | CMD_STALE | CMD_SENTINEL,
     .acl = ACL_CONNECTION},
    {.name = "docs",
     .summary = "Documentation of some or all commands.",
     .complexity = "O(n) in the number of commands asked for",
     .since = "7.0.0",
     .group = "server",
     .proc = commandDocsCommand,
     .arity = -2,
     .flags = CMD_LOADING | CMD_STALE | CMD_SENTINEL,
     .acl = ACL_CONNECTION,
     .tips = commandTips,
     .args = commandDocsArgs},
    {.name = "info",
     .summary = "Facts about some or all commands.",
     .complexity = "O(n) in the number of commands asked for",
     .since = "2.8.13",
     .group = "server",
     .proc = commandInfoCommand,
     .arity = -2,
     .flags = CMD_LOADING | CMD_STALE | CMD_SENTINEL,
     .acl = ACL_CONNECTION,
     .tips = commandTips,
     .args = commandDocsArgs},
    {.name = "list",
     .summary = "Names of the commands, all or filtered.",
     .complexity = "O(n) in the number of commands",
     .since = "7.0.0",
     .group = "server",
     .proc = commandListCommand,
     .arity = -2,
     .flags = CMD_LOADING | CMD_STALE | CMD_SENTINEL,
     .acl = ACL_CONNECTION,
     .tips = commandTips,
     .args = commandListArgs},
    {.name = "getkeys",
     .summary = "The keys in a full command line.",
     .complexity = "O(n) in the number of arguments",
     .since = "2.8.13",
     .group = "server",
     .proc = commandGetkeysCommand,
     .arity = -3,
     .flags = CMD_LOADING | CMD_STALE | CMD_SENTINEL,
     .acl = ACL_CONNECTION,
     .args = commandGetkeysArgs},
    {.name = "getkeysandflags",
     .summary = "The keys in a full command line, and how each is used.",
     .complexity = "O(n) in the number of arguments",
     .since = "7.0.0",
     .group = "server",
     .proc = commandGetkeysandflagsCommand,
     .arity = -3,
     .flags = CMD_LOADING | CMD_STALE | CMD_SENTINEL,
     .acl = ACL_CONNECTION,
     .args = commandGetkeysArgs},
    {.name = "help",
     .summary = "Describe the subcommands.",
     .complexity = "O(1)",
     .since = "5.0.0",
     .group = "server",
     .proc = commandHelpCommand,
     .arity = 2,
     .flags = CMD_LOADING | CMD_STALE | CMD_SENTINEL,
     .acl = ACL_CONNECTION},
    {0},
};

static const struct commandArg configGetArgs[] = {
    {.name = "parameter", .type = ARG_STRING, .flags = ARG_MULTIPLE},
    {0},
};

static const char *const configSetTips[] = {"request_policy:all_nodes", "response_policy:all_succeeded",
                                            NULL};

static const struct commandArg configSetArgs_data[] = {
    {.name = "parameter", .type = ARG_STRING},
    {.name = "value", .type = ARG_STRING},
    {0},
};

static const struct commandArg configSetArgs[] = {
    {.name = "data", .type = ARG_BLOCK, .flags = ARG_MULTIPLE, .args = configSetArgs_data},
    {0},
};

static const struct commandSpec configSubcommands[] = {
    {.name = "get",
     .summary = "Current values of the directives that match the patterns.",
     .complexity = "O(n) in the number of directives times patterns",
     .since = "2.0.0",
     .group = "server",
     .proc = configGetCommand,
     .arity = -3,
     .flags = CMD_ADMIN | CMD_NOSCRIPT | CMD_LOADING | CMD_STALE,
     .args = configGetArgs},
    {.name = "set",
     .summary = "Change directives while the server runs.",
     .complexity = "O(n) in the number of directives given",
     .since = "2.0.0",
     .group = "server",
     .proc = configSetCommand,
     .arity = -4,
     .flags = CMD_ADMIN | CMD_NOSCRIPT | CMD_LOADING | CMD_STALE,
     .tips = configSetTips,
     .args = configSetArgs},
    {.name = "resetstat",
     .summary = "Set the counters of INFO back to zero.",
     .complexity = "O(1)",
     .since = "2.0.0",
     .group = "server",
     .proc = configResetstatCommand,
     .arity = 2,
     .flags = CMD_ADMIN | CMD_NOSCRIPT | CMD_LOADING | CMD_STALE,
     .tips = configSetTips},
    {.name = "rewrite",
     .summary = "Write the configuration in use back to its file.",
     .complexity = "O(n) in the length of the file",
     .since = "2.8.0",
     .group = "server",
     .proc = configRewriteCommand,
     .arity = 2,
     .flags = CMD_ADMIN | CMD_NOSCRIPT | CMD_LOADING | CMD_STALE,
     .tips = configSetTips},
    {.name = "help",
     .summary = "Describe the subcommands.",
     .complexity = "O(1)",
     .since = "5.0.0",
     .group = "server",
     .proc = configHelpCommand,
     .arity = 2,
     .flags = CMD_LOADING | CMD_STALE},
    {0},
};

static const char *const dbsizeTips[] = {"request_policy:all_shards", "response_policy:agg_sum", NULL};

static const char *const flushallTips[] = {"request_policy:all_shards", "response_policy:all_succeeded",
                                           NULL};

static const struct commandArg flushallArgs_flush_type[] = {
    {.name = "async", .type = ARG_PURE_TOKEN, .token = "ASYNC", .since = "4.0.0"},
    {.name = "sync", .type = ARG_PURE_TOKEN, .token = "SYNC", .since = "6.2.0"},
    {0},
};

static const struct commandArg flushallArgs[] = {
    {.name = "flush-type", .type = ARG_ONEOF, .flags = ARG_OPTIONAL, .args = flushallArgs_flush_type},
    {0},
};

static const char *const infoTips[] = {"nondeterministic_output", "request_policy:all_shards",
                                       "response_policy:special", NULL};

static const struct commandArg infoArgs[] = {
    {.name = "section", .type = ARG_STRING, .flags = ARG_OPTIONAL | ARG_MULTIPLE},
    {0},
};

static const struct commandArg shutdownArgs_abort_selector_save_selector_block_save_selector[] = {
    {.name = "nosave", .type = ARG_PURE_TOKEN, .token = "NOSAVE"},
    {.name = "save", .type = ARG_PURE_TOKEN, .token = "SAVE"},
    {0},
};

static const struct commandArg shutdownArgs_abort_selector_save_selector_block[] = {
    {.name = "save-selector",
     .type = ARG_ONEOF,
     .flags = ARG_OPTIONAL,
     .args = shutdownArgs_abort_selector_save_selector_block_save_selector},
    {.name = "now", .type = ARG_PURE_TOKEN, .token = "NOW", .since = "7.0.0", .flags = ARG_OPTIONAL},
    {.name = "force", .type = ARG_PURE_TOKEN, .token = "FORCE", .since = "7.0.0", .flags = ARG_OPTIONAL},
    {0},
};

static const struct commandArg shutdownArgs_abort_selector[] = {
    {.name = "save-selector-block",
     .type = ARG_BLOCK,
     .args = shutdownArgs_abort_selector_save_selector_block},
    {.name = "abort", .type = ARG_PURE_TOKEN, .token = "ABORT", .since = "7.0.0"},
    {0},
};

static const struct commandArg shutdownArgs[] = {
    {.name = "abort-selector", .type = ARG_ONEOF, .flags = ARG_OPTIONAL, .args = shutdownArgs_abort_selector},
    {0},
};

static const char *const memoryTips[] = {"nondeterministic_output", "request_policy:all_shards",
                                         "response_policy:special", NULL};

static const struct keySpec memoryUsageKeys[] = {
    {.flags = KEY_RO, KEYS_AT(2), KEYS_RANGE(0, 1)},
};

static const struct commandArg memoryUsageArgs[] = {
    {.name = "key", .type = ARG_KEY, .key_spec = 1},
    {.name = "count", .type = ARG_INTEGER, .token = "SAMPLES", .flags = ARG_OPTIONAL},
    {0},
};

static const struct commandSpec memorySubcommands[] = {
    {.name = "doctor",
     .summary = "What is unusual about the server's memory, in words.",
     .complexity = "O(1)",
     .since = "4.0.0",
     .group = "server",
     .proc = memoryDoctorCommand,
     .arity = 2,
     .tips = memoryTips},
    {.name = "help",
     .summary = "Show the subcommands.",
     .complexity = "O(1)",
     .since = "4.0.0",
     .group = "server",
     .proc = memoryHelpCommand,
     .arity = 2,
     .flags = CMD_LOADING | CMD_STALE},
    {.name = "malloc-stats",
     .summary = "The allocator's own report.",
     .complexity = "Depends on how much memory is in use",
     .since = "4.0.0",
     .group = "server",
     .proc = memoryMallocStatsCommand,
     .arity = 2,
     .flags = CMD_LOADING,
     .tips = memoryTips},
    {.name = "purge",
     .summary = "Give free memory back to the system.",
     .complexity = "Depends on how much memory is in use",
     .since = "4.0.0",
     .group = "server",
     .proc = memoryPurgeCommand,
     .arity = 2,
     .flags = CMD_LOADING,
     .tips = flushallTips},
    {.name = "stats",
     .summary = "Where the memory is, in figures.",
     .complexity = "O(1)",
     .since = "4.0.0",
     .group = "server",
     .proc = memoryStatsCommand,
     .arity = 2,
     .tips = memoryTips},
    {.name = "usage",
     .summary = "Bytes that a key and its value take.",
     .complexity = "O(n) in the number of samples",
     .since = "4.0.0",
     .group = "server",
     .proc = memoryUsageCommand,
     .arity = -3,
     .flags = CMD_READONLY,
     .key_specs = memoryUsageKeys,
     .key_spec_count = 1,
     .args = memoryUsageArgs},
    {0},
};

static const struct commandArg swapdbArgs[] = {
    {.name = "index1", .type = ARG_INTEGER},
    {.name = "index2", .type = ARG_INTEGER},
    {0},
};

static const char *const timeTips[] = {"nondeterministic_output", NULL};

const struct commandSpec commandsServer[] = {
    {.name = "command",
     .summary = "Facts about every command.",
     .complexity = "O(n) in the number of commands",
     .since = "2.8.13",
     .group = "server",
     .proc = commandCommand,
     .arity = -1,
     .flags = CMD_LOADING | CMD_STALE | CMD_SENTINEL,
     .acl = ACL_CONNECTION,
     .tips = commandTips,
     .subcommands = commandSubcommands},
    {.name = "config",
     .summary = "Commands about the configuration.",
     .complexity = "Depends on the subcommand",
     .since = "2.0.0",
     .group = "server",
     .arity = -2,
     .subcommands = configSubcommands},
    {.name = "dbsize",
     .summary = "The number of keys in the chosen database.",
     .complexity = "O(1)",
     .since = "1.0.0",
     .group = "server",
     .proc = dbsizeCommand,
     .arity = 1,
     .flags = CMD_READONLY | CMD_FAST,
     .acl = ACL_KEYSPACE,
     .tips = dbsizeTips},
    {.name = "debug",
     .summary = "Tools for those who work on the server.",
     .complexity = "Depends on the subcommand",
     .since = "1.0.0",
     .group = "server",
     .doc_flags = CMD_DOC_SYSCMD,
     .proc = debugCommand,
     .arity = -2,
     .flags = CMD_ADMIN | CMD_NOSCRIPT | CMD_LOADING | CMD_STALE | CMD_PROTECTED},
    {.name = "flushall",
     .summary = "Delete every key of every database.",
     .complexity = "O(n) in the number of keys",
     .since = "1.0.0",
     .group = "server",
     .proc = flushallCommand,
     .arity = -1,
     .flags = CMD_WRITE,
     .acl = ACL_KEYSPACE | ACL_DANGEROUS,
     .tips = flushallTips,
     .args = flushallArgs},
    {.name = "flushdb",
     .summary = "Delete every key of the chosen database.",
     .complexity = "O(n) in the number of keys",
     .since = "1.0.0",
     .group = "server",
     .proc = flushdbCommand,
     .arity = -1,
     .flags = CMD_WRITE,
     .acl = ACL_KEYSPACE | ACL_DANGEROUS,
     .tips = flushallTips,
     .args = flushallArgs},
    {.name = "info",
     .summary = "Figures about the server, in sections.",
     .complexity = "O(1)",
     .since = "1.0.0",
     .group = "server",
     .proc = infoCommand,
     .arity = -1,
     .flags = CMD_LOADING | CMD_STALE | CMD_SENTINEL,
     .acl = ACL_DANGEROUS,
     .tips = infoTips,
     .args = infoArgs},
    {.name = "memory",
     .summary = "Commands about the server's memory.",
     .complexity = "Depends on the subcommand",
     .since = "4.0.0",
     .group = "server",
     .arity = -2,
     .subcommands = memorySubcommands},
    {.name = "shutdown",
     .summary = "Stop the server, saving first when so configured.",
     .complexity = "O(n) in the number of keys when saving, else O(1)",
     .since = "1.0.0",
     .group = "server",
     .proc = shutdownCommand,
     .arity = -1,
     .flags =
         CMD_ADMIN | CMD_NOSCRIPT | CMD_LOADING | CMD_STALE | CMD_NO_MULTI | CMD_SENTINEL | CMD_ALLOW_BUSY,
     .args = shutdownArgs},
    {.name = "swapdb",
     .summary = "Exchange the contents of two databases.",
     .complexity = "O(n) in the number of clients that wait for keys",
     .since = "4.0.0",
     .group = "server",
     .proc = swapdbCommand,
     .arity = 3,
     .flags = CMD_WRITE | CMD_FAST,
     .acl = ACL_KEYSPACE | ACL_DANGEROUS,
     .args = swapdbArgs},
    {.name = "time",
     .summary = "The server's clock: seconds and microseconds.",
     .complexity = "O(1)",
     .since = "2.6.0",
     .group = "server",
     .proc = timeCommand,
     .arity = 1,
     .flags = CMD_LOADING | CMD_STALE | CMD_FAST,
     .tips = timeTips},
    {0},
};
