/* SPDX-License-Identifier: BSD-3-Clause */
/* stream.c - the stream commands: what clients, ACLs, clusters and COMMAND know about them.
 *
 * An entry names its handler, and the tables above the list hold what does not fit into a line: key specs,
 * arguments, tips. Equal tables are written once, under the name of the first command that uses them. */
#include "commands/stream.h"

#include "commands/grammar.h"

static const struct keySpec xackKeys[] = {
    {.flags = KEY_RW | KEY_UPDATE, KEYS_AT(1), KEYS_RANGE(0, 1)},
};

static const struct commandArg xackArgs[] = {
    {.name = "key", .type = ARG_KEY, .key_spec = 1},
    {.name = "group", .type = ARG_STRING},
    {.name = "id", .type = ARG_STRING, .flags = ARG_MULTIPLE},
    {0},
};

static const char *const xaddTips[] = {"nondeterministic_output", NULL};

static const struct commandArg xaddArgs_trim_strategy[] = {
    {.name = "maxlen", .type = ARG_PURE_TOKEN, .token = "MAXLEN"},
    {.name = "minid", .type = ARG_PURE_TOKEN, .token = "MINID", .since = "6.2.0"},
    {0},
};

static const struct commandArg xaddArgs_trim_operator[] = {
    {.name = "equal", .type = ARG_PURE_TOKEN, .token = "="},
    {.name = "approximately", .type = ARG_PURE_TOKEN, .token = "~"},
    {0},
};

static const struct commandArg xaddArgs_trim[] = {
    {.name = "strategy", .type = ARG_ONEOF, .args = xaddArgs_trim_strategy},
    {.name = "operator", .type = ARG_ONEOF, .flags = ARG_OPTIONAL, .args = xaddArgs_trim_operator},
    {.name = "threshold", .type = ARG_STRING},
    {.name = "count", .type = ARG_INTEGER, .token = "LIMIT", .since = "6.2.0", .flags = ARG_OPTIONAL},
    {0},
};

static const struct commandArg xaddArgs_id_selector[] = {
    {.name = "auto-id", .type = ARG_PURE_TOKEN, .token = "*"},
    {.name = "id", .type = ARG_STRING},
    {0},
};

static const struct commandArg xaddArgs_data[] = {
    {.name = "field", .type = ARG_STRING},
    {.name = "value", .type = ARG_STRING},
    {0},
};

static const struct commandArg xaddArgs[] = {
    {.name = "key", .type = ARG_KEY, .key_spec = 1},
    {.name = "nomkstream",
     .type = ARG_PURE_TOKEN,
     .token = "NOMKSTREAM",
     .since = "6.2.0",
     .flags = ARG_OPTIONAL},
    {.name = "trim", .type = ARG_BLOCK, .flags = ARG_OPTIONAL, .args = xaddArgs_trim},
    {.name = "id-selector", .type = ARG_ONEOF, .args = xaddArgs_id_selector},
    {.name = "data", .type = ARG_BLOCK, .flags = ARG_MULTIPLE, .args = xaddArgs_data},
    {0},
};

static const struct keySpec xautoclaimKeys[] = {
    {.flags = KEY_RW | KEY_DELETE, KEYS_AT(1), KEYS_RANGE(0, 1)},
};

static const struct commandArg xautoclaimArgs[] = {
    {.name = "key", .type = ARG_KEY, .key_spec = 1},
    {.name = "group", .type = ARG_STRING},
    {.name = "consumer", .type = ARG_STRING},
    {.name = "min-idle-time", .type = ARG_STRING},
    {.name = "start", .type = ARG_STRING},
    {.name = "count", .type = ARG_INTEGER, .token = "COUNT", .flags = ARG_OPTIONAL},
    {.name = "justid", .type = ARG_PURE_TOKEN, .token = "JUSTID", .flags = ARG_OPTIONAL},
    {0},
};

static const struct commandArg xclaimArgs[] = {
    {.name = "key", .type = ARG_KEY, .key_spec = 1},
    {.name = "group", .type = ARG_STRING},
    {.name = "consumer", .type = ARG_STRING},
    {.name = "min-idle-time", .type = ARG_STRING},
    {.name = "id", .type = ARG_STRING, .flags = ARG_MULTIPLE},
    {.name = "ms", .type = ARG_INTEGER, .token = "IDLE", .flags = ARG_OPTIONAL},
    {.name = "unix-time-milliseconds", .type = ARG_UNIX_TIME, .token = "TIME", .flags = ARG_OPTIONAL},
    {.name = "count", .type = ARG_INTEGER, .token = "RETRYCOUNT", .flags = ARG_OPTIONAL},
    {.name = "force", .type = ARG_PURE_TOKEN, .token = "FORCE", .flags = ARG_OPTIONAL},
    {.name = "justid", .type = ARG_PURE_TOKEN, .token = "JUSTID", .flags = ARG_OPTIONAL},
    {.name = "lastid", .type = ARG_STRING, .token = "LASTID", .flags = ARG_OPTIONAL},
    {0},
};

static const struct commandArg xdelArgs[] = {
    {.name = "key", .type = ARG_KEY, .key_spec = 1},
    {.name = "id", .type = ARG_STRING, .flags = ARG_MULTIPLE},
    {0},
};

static const struct keySpec xaddKeys[] = {
    {.notes = "Trimming deletes entries while one is added.",
     .flags = KEY_RW | KEY_UPDATE,
     KEYS_AT(1),
     KEYS_RANGE(0, 1)},
};

static const struct keySpec xgroupCreateKeys[] = {
    {.flags = KEY_RW | KEY_INSERT, KEYS_AT(2), KEYS_RANGE(0, 1)},
};

static const struct commandArg xgroupCreateArgs_id_selector[] = {
    {.name = "id", .type = ARG_STRING},
    {.name = "new-id", .type = ARG_PURE_TOKEN, .token = "$"},
    {0},
};

static const struct commandArg xgroupCreateArgs[] = {
    {.name = "key", .type = ARG_KEY, .key_spec = 1},
    {.name = "group", .type = ARG_STRING},
    {.name = "id-selector", .type = ARG_ONEOF, .args = xgroupCreateArgs_id_selector},
    {.name = "mkstream", .type = ARG_PURE_TOKEN, .token = "MKSTREAM", .flags = ARG_OPTIONAL},
    {.name = "entriesread",
     .display = "entries-read",
     .type = ARG_INTEGER,
     .token = "ENTRIESREAD",
     .flags = ARG_OPTIONAL},
    {0},
};

static const struct commandArg xgroupCreateconsumerArgs[] = {
    {.name = "key", .type = ARG_KEY, .key_spec = 1},
    {.name = "group", .type = ARG_STRING},
    {.name = "consumer", .type = ARG_STRING},
    {0},
};

static const struct keySpec xgroupDelconsumerKeys[] = {
    {.flags = KEY_RW | KEY_DELETE, KEYS_AT(2), KEYS_RANGE(0, 1)},
};

static const struct commandArg xgroupDestroyArgs[] = {
    {.name = "key", .type = ARG_KEY, .key_spec = 1},
    {.name = "group", .type = ARG_STRING},
    {0},
};

static const struct keySpec xgroupSetidKeys[] = {
    {.flags = KEY_RW | KEY_UPDATE, KEYS_AT(2), KEYS_RANGE(0, 1)},
};

static const struct commandArg xgroupSetidArgs[] = {
    {.name = "key", .type = ARG_KEY, .key_spec = 1},
    {.name = "group", .type = ARG_STRING},
    {.name = "id-selector", .type = ARG_ONEOF, .args = xgroupCreateArgs_id_selector},
    {.name = "entriesread",
     .display = "entries-read",
     .type = ARG_INTEGER,
     .token = "ENTRIESREAD",
     .flags = ARG_OPTIONAL},
    {0},
};

static const struct commandSpec xgroupSubcommands[] = {
    {.name = "create",
     .summary = "Create a consumer group.",
     .complexity = "O(1)",
     .since = "5.0.0",
     .group = "stream",
     .history = HISTORY({"7.0.0", "`ENTRIESREAD`."}),
     .proc = xgroupCreateCommand,
     .arity = -5,
     .flags = CMD_WRITE | CMD_DENYOOM,
     .acl = ACL_STREAM,
     .key_specs = xgroupCreateKeys,
     .key_spec_count = 1,
     .args = xgroupCreateArgs},
    {.name = "createconsumer",
     .summary = "Create a consumer in a group.",
     .complexity = "O(1)",
     .since = "6.2.0",
     .group = "stream",
     .proc = xgroupCreateconsumerCommand,
     .arity = 5,
     .flags = CMD_WRITE | CMD_DENYOOM,
     .acl = ACL_STREAM,
     .key_specs = xgroupCreateKeys,
     .key_spec_count = 1,
     .args = xgroupCreateconsumerArgs},
    {.name = "delconsumer",
     .summary = "Delete a consumer from a group.",
     .complexity = "O(n) in the number of its pending entries",
     .since = "5.0.0",
     .group = "stream",
     .proc = xgroupDelconsumerCommand,
     .arity = 5,
     .flags = CMD_WRITE,
     .acl = ACL_STREAM,
     .key_specs = xgroupDelconsumerKeys,
     .key_spec_count = 1,
     .args = xgroupCreateconsumerArgs},
    {.name = "destroy",
     .summary = "Delete a consumer group.",
     .complexity = "O(n) in the number of its pending entries",
     .since = "5.0.0",
     .group = "stream",
     .proc = xgroupDestroyCommand,
     .arity = 4,
     .flags = CMD_WRITE,
     .acl = ACL_STREAM,
     .key_specs = xgroupDelconsumerKeys,
     .key_spec_count = 1,
     .args = xgroupDestroyArgs},
    {.name = "help",
     .summary = "Describe the subcommands.",
     .complexity = "O(1)",
     .since = "5.0.0",
     .group = "stream",
     .proc = xgroupHelpCommand,
     .arity = 2,
     .flags = CMD_LOADING | CMD_STALE,
     .acl = ACL_STREAM},
    {.name = "setid",
     .summary = "Set the last delivered ID of a group.",
     .complexity = "O(1)",
     .since = "5.0.0",
     .group = "stream",
     .history = HISTORY({"7.0.0", "`ENTRIESREAD`."}),
     .proc = xgroupSetidCommand,
     .arity = -5,
     .flags = CMD_WRITE,
     .acl = ACL_STREAM,
     .key_specs = xgroupSetidKeys,
     .key_spec_count = 1,
     .args = xgroupSetidArgs},
    {0},
};

static const struct keySpec xinfoConsumersKeys[] = {
    {.flags = KEY_RO | KEY_ACCESS, KEYS_AT(2), KEYS_RANGE(0, 1)},
};

static const struct commandArg xinfoGroupsArgs[] = {
    {.name = "key", .type = ARG_KEY, .key_spec = 1},
    {0},
};

static const struct commandArg xinfoStreamArgs_full_block[] = {
    {.name = "full", .type = ARG_PURE_TOKEN, .token = "FULL"},
    {.name = "count", .type = ARG_INTEGER, .token = "COUNT", .flags = ARG_OPTIONAL},
    {0},
};

static const struct commandArg xinfoStreamArgs[] = {
    {.name = "key", .type = ARG_KEY, .key_spec = 1},
    {.name = "full-block", .type = ARG_BLOCK, .flags = ARG_OPTIONAL, .args = xinfoStreamArgs_full_block},
    {0},
};

static const struct commandSpec xinfoSubcommands[] = {
    {.name = "consumers",
     .summary = "The consumers of a group.",
     .complexity = "O(n) in the number of consumers",
     .since = "5.0.0",
     .group = "stream",
     .history = HISTORY({"7.2.0", "`inactive`; and `idle` is the time since the consumer last tried."}),
     .proc = xinfoConsumersCommand,
     .arity = 4,
     .flags = CMD_READONLY,
     .acl = ACL_STREAM,
     .tips = xaddTips,
     .key_specs = xinfoConsumersKeys,
     .key_spec_count = 1,
     .args = xgroupDestroyArgs},
    {.name = "groups",
     .summary = "The groups of a stream.",
     .complexity = "O(n) in the number of groups",
     .since = "5.0.0",
     .group = "stream",
     .history = HISTORY({"7.0.0", "`entries-read` and `lag`."}),
     .proc = xinfoGroupsCommand,
     .arity = 3,
     .flags = CMD_READONLY,
     .acl = ACL_STREAM,
     .key_specs = xinfoConsumersKeys,
     .key_spec_count = 1,
     .args = xinfoGroupsArgs},
    {.name = "help",
     .summary = "Describe the subcommands.",
     .complexity = "O(1)",
     .since = "5.0.0",
     .group = "stream",
     .proc = xinfoHelpCommand,
     .arity = 2,
     .flags = CMD_LOADING | CMD_STALE,
     .acl = ACL_STREAM},
    {.name = "stream",
     .summary = "Facts about a stream.",
     .complexity = "O(1), with FULL O(n) in what is shown",
     .since = "5.0.0",
     .group = "stream",
     .history = HISTORY(
         {"6.0.0", "`FULL`."},
         {"7.0.0",
          "`max-deleted-entry-id`, `entries-added`, `recorded-first-entry-id`, `entries-read` and `lag`."},
         {"7.2.0", "`active-time`; and `seen-time` is the time of the last try."}),
     .proc = xinfoStreamCommand,
     .arity = -3,
     .flags = CMD_READONLY,
     .acl = ACL_STREAM,
     .key_specs = xinfoConsumersKeys,
     .key_spec_count = 1,
     .args = xinfoStreamArgs},
    {0},
};

static const struct keySpec xlenKeys[] = {
    {.flags = KEY_RO, KEYS_AT(1), KEYS_RANGE(0, 1)},
};

static const struct keySpec xpendingKeys[] = {
    {.flags = KEY_RO | KEY_ACCESS, KEYS_AT(1), KEYS_RANGE(0, 1)},
};

static const struct commandArg xpendingArgs_filters[] = {
    {.name = "min-idle-time", .type = ARG_INTEGER, .token = "IDLE", .since = "6.2.0", .flags = ARG_OPTIONAL},
    {.name = "start", .type = ARG_STRING},
    {.name = "end", .type = ARG_STRING},
    {.name = "count", .type = ARG_INTEGER},
    {.name = "consumer", .type = ARG_STRING, .flags = ARG_OPTIONAL},
    {0},
};

static const struct commandArg xpendingArgs[] = {
    {.name = "key", .type = ARG_KEY, .key_spec = 1},
    {.name = "group", .type = ARG_STRING},
    {.name = "filters", .type = ARG_BLOCK, .flags = ARG_OPTIONAL, .args = xpendingArgs_filters},
    {0},
};

static const struct commandArg xrangeArgs[] = {
    {.name = "key", .type = ARG_KEY, .key_spec = 1},
    {.name = "start", .type = ARG_STRING},
    {.name = "end", .type = ARG_STRING},
    {.name = "count", .type = ARG_INTEGER, .token = "COUNT", .flags = ARG_OPTIONAL},
    {0},
};

static const struct keySpec xreadKeys[] = {
    {.flags = KEY_RO | KEY_ACCESS,
     .begin = KEYS_BEGIN_KEYWORD,
     .keyword = "STREAMS",
     .pos = 1,
     KEYS_RANGE(-1, 1),
     .limit = 2},
};

static const struct commandArg xreadArgs_streams[] = {
    {.name = "key", .type = ARG_KEY, .key_spec = 1, .flags = ARG_MULTIPLE},
    {.name = "id", .type = ARG_STRING, .flags = ARG_MULTIPLE},
    {0},
};

static const struct commandArg xreadArgs[] = {
    {.name = "count", .type = ARG_INTEGER, .token = "COUNT", .flags = ARG_OPTIONAL},
    {.name = "milliseconds", .type = ARG_INTEGER, .token = "BLOCK", .flags = ARG_OPTIONAL},
    {.name = "streams", .type = ARG_BLOCK, .token = "STREAMS", .args = xreadArgs_streams},
    {0},
};

static const struct keySpec xreadgroupKeys[] = {
    {.flags = KEY_RO | KEY_ACCESS,
     .begin = KEYS_BEGIN_KEYWORD,
     .keyword = "STREAMS",
     .pos = 4,
     KEYS_RANGE(-1, 1),
     .limit = 2},
};

static const struct commandArg xreadgroupArgs_group_block[] = {
    {.name = "group", .type = ARG_STRING},
    {.name = "consumer", .type = ARG_STRING},
    {0},
};

static const struct commandArg xreadgroupArgs[] = {
    {.name = "group-block", .type = ARG_BLOCK, .token = "GROUP", .args = xreadgroupArgs_group_block},
    {.name = "count", .type = ARG_INTEGER, .token = "COUNT", .flags = ARG_OPTIONAL},
    {.name = "milliseconds", .type = ARG_INTEGER, .token = "BLOCK", .flags = ARG_OPTIONAL},
    {.name = "noack", .type = ARG_PURE_TOKEN, .token = "NOACK", .flags = ARG_OPTIONAL},
    {.name = "streams", .type = ARG_BLOCK, .token = "STREAMS", .args = xreadArgs_streams},
    {0},
};

static const struct commandArg xrevrangeArgs[] = {
    {.name = "key", .type = ARG_KEY, .key_spec = 1},
    {.name = "end", .type = ARG_STRING},
    {.name = "start", .type = ARG_STRING},
    {.name = "count", .type = ARG_INTEGER, .token = "COUNT", .flags = ARG_OPTIONAL},
    {0},
};

static const struct commandArg xsetidArgs[] = {
    {.name = "key", .type = ARG_KEY, .key_spec = 1},
    {.name = "last-id", .type = ARG_STRING},
    {.name = "entries-added",
     .type = ARG_INTEGER,
     .token = "ENTRIESADDED",
     .since = "7.0.0",
     .flags = ARG_OPTIONAL},
    {.name = "max-deleted-id",
     .type = ARG_STRING,
     .token = "MAXDELETEDID",
     .since = "7.0.0",
     .flags = ARG_OPTIONAL},
    {0},
};

static const struct commandArg xtrimArgs[] = {
    {.name = "key", .type = ARG_KEY, .key_spec = 1},
    {.name = "trim", .type = ARG_BLOCK, .args = xaddArgs_trim},
    {0},
};

const struct commandSpec commandsStream[] = {
    {.name = "xack",
     .summary = "Mark entries as processed by a group.",
     .complexity = "O(n) in the number of IDs given",
     .since = "5.0.0",
     .group = "stream",
     .proc = xackCommand,
     .arity = -4,
     .flags = CMD_WRITE | CMD_FAST,
     .acl = ACL_STREAM,
     .key_specs = xackKeys,
     .key_spec_count = 1,
     .args = xackArgs},
    {.name = "xadd",
     .summary = "Append an entry; optionally trim the stream.",
     .complexity = "O(1), plus the entries trimmed",
     .since = "5.0.0",
     .group = "stream",
     .history = HISTORY({"6.2.0", "`NOMKSTREAM`, `MINID` and `LIMIT`."},
                        {"7.0.0", "An ID of which only the time is given, `<ms>-*`."}),
     .proc = xaddCommand,
     .arity = -5,
     .flags = CMD_WRITE | CMD_DENYOOM | CMD_FAST,
     .acl = ACL_STREAM,
     .tips = xaddTips,
     .key_specs = xaddKeys,
     .key_spec_count = 1,
     .args = xaddArgs},
    {.name = "xautoclaim",
     .summary = "Take over entries that were pending for long.",
     .complexity = "O(1) when COUNT is small",
     .since = "6.2.0",
     .group = "stream",
     .history = HISTORY({"7.0.0", "The answer ends with the IDs of entries that are in the stream no more."}),
     .proc = xautoclaimCommand,
     .arity = -6,
     .flags = CMD_WRITE | CMD_FAST,
     .acl = ACL_STREAM,
     .tips = xaddTips,
     .key_specs = xautoclaimKeys,
     .key_spec_count = 1,
     .args = xautoclaimArgs},
    {.name = "xclaim",
     .summary = "Take over certain pending entries.",
     .complexity = "O(n) in the number of IDs given",
     .since = "5.0.0",
     .group = "stream",
     .proc = xclaimCommand,
     .arity = -6,
     .flags = CMD_WRITE | CMD_FAST,
     .acl = ACL_STREAM,
     .tips = xaddTips,
     .key_specs = xackKeys,
     .key_spec_count = 1,
     .args = xclaimArgs},
    {.name = "xdel",
     .summary = "Delete entries.",
     .complexity = "O(n) in the number of IDs given",
     .since = "5.0.0",
     .group = "stream",
     .proc = xdelCommand,
     .arity = -3,
     .flags = CMD_WRITE | CMD_FAST,
     .acl = ACL_STREAM,
     .key_specs = xautoclaimKeys,
     .key_spec_count = 1,
     .args = xdelArgs},
    {.name = "xgroup",
     .summary = "Commands about consumer groups.",
     .complexity = "Depends on the subcommand",
     .since = "5.0.0",
     .group = "stream",
     .arity = -2,
     .subcommands = xgroupSubcommands},
    {.name = "xinfo",
     .summary = "Commands that tell about streams.",
     .complexity = "Depends on the subcommand",
     .since = "5.0.0",
     .group = "stream",
     .arity = -2,
     .subcommands = xinfoSubcommands},
    {.name = "xlen",
     .summary = "The number of entries.",
     .complexity = "O(1)",
     .since = "5.0.0",
     .group = "stream",
     .proc = xlenCommand,
     .arity = 2,
     .flags = CMD_READONLY | CMD_FAST,
     .acl = ACL_STREAM,
     .key_specs = xlenKeys,
     .key_spec_count = 1,
     .args = xinfoGroupsArgs},
    {.name = "xpending",
     .summary = "Pending entries of a group, summed up or listed.",
     .complexity = "O(n) in the number of entries listed",
     .since = "5.0.0",
     .group = "stream",
     .history = HISTORY({"6.2.0", "`IDLE`, and ranges without their ends."}),
     .proc = xpendingCommand,
     .arity = -3,
     .flags = CMD_READONLY,
     .acl = ACL_STREAM,
     .tips = xaddTips,
     .key_specs = xpendingKeys,
     .key_spec_count = 1,
     .args = xpendingArgs},
    {.name = "xrange",
     .summary = "The entries in a range of IDs.",
     .complexity = "O(n) in the number of entries answered",
     .since = "5.0.0",
     .group = "stream",
     .history = HISTORY({"6.2.0", "Ranges without their ends."}),
     .proc = xrangeCommand,
     .arity = -4,
     .flags = CMD_READONLY,
     .acl = ACL_STREAM,
     .key_specs = xpendingKeys,
     .key_spec_count = 1,
     .args = xrangeArgs},
    {.name = "xread",
     .summary = "Entries after given IDs, of several streams; may wait.",
     .since = "5.0.0",
     .group = "stream",
     .proc = xreadCommand,
     .arity = -4,
     .flags = CMD_BLOCKING | CMD_READONLY,
     .acl = ACL_STREAM,
     .key_specs = xreadKeys,
     .key_spec_count = 1,
     .getkeys = xreadGetKeys,
     .args = xreadArgs},
    {.name = "xreadgroup",
     .summary = "Entries for a consumer of a group; may wait.",
     .complexity = "O(n) in the number of entries answered",
     .since = "5.0.0",
     .group = "stream",
     .proc = xreadgroupCommand,
     .arity = -7,
     .flags = CMD_BLOCKING | CMD_WRITE,
     .acl = ACL_STREAM,
     .key_specs = xreadgroupKeys,
     .key_spec_count = 1,
     .getkeys = xreadGetKeys,
     .args = xreadgroupArgs},
    {.name = "xrevrange",
     .summary = "The entries in a range of IDs, from the highest.",
     .complexity = "O(n) in the number of entries answered",
     .since = "5.0.0",
     .group = "stream",
     .history = HISTORY({"6.2.0", "Ranges without their ends."}),
     .proc = xrevrangeCommand,
     .arity = -4,
     .flags = CMD_READONLY,
     .acl = ACL_STREAM,
     .key_specs = xpendingKeys,
     .key_spec_count = 1,
     .args = xrevrangeArgs},
    {.name = "xsetid",
     .summary = "Set the last ID of a stream.",
     .complexity = "O(1)",
     .since = "5.0.0",
     .group = "stream",
     .history = HISTORY({"7.0.0", "`ENTRIESADDED` and `MAXDELETEDID`."}),
     .proc = xsetidCommand,
     .arity = -3,
     .flags = CMD_WRITE | CMD_DENYOOM | CMD_FAST,
     .acl = ACL_STREAM,
     .key_specs = xackKeys,
     .key_spec_count = 1,
     .args = xsetidArgs},
    {.name = "xtrim",
     .summary = "Remove the oldest entries.",
     .complexity = "O(n) in the number of entries removed",
     .since = "5.0.0",
     .group = "stream",
     .history = HISTORY({"6.2.0", "`MINID` and `LIMIT`."}),
     .proc = xtrimCommand,
     .arity = -4,
     .flags = CMD_WRITE,
     .acl = ACL_STREAM,
     .tips = xaddTips,
     .key_specs = xautoclaimKeys,
     .key_spec_count = 1,
     .args = xtrimArgs},
    {0},
};
