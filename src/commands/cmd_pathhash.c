/* SPDX-License-Identifier: BSD-3-Clause */
/* cmd_pathhash.c - the path hash commands. In the complexities, l is the length of the path or the query,
 * n the number of fields given, and r what is replied. */
#include "commands/cmd_pathhash.h"

#include "commands/cmd_grammar.h"

static const struct commandArg pathFieldsArgs[] = {
    {.name = "numfields", .type = ARG_INTEGER},
    {.name = "field", .type = ARG_STRING, .flags = ARG_MULTIPLE},
    {0},
};

static const struct commandArg pathPairArgs[] = {
    {.name = "field", .type = ARG_STRING},
    {.name = "value", .type = ARG_STRING},
    {0},
};

static const struct commandArg pathPairsArgs[] = {
    {.name = "numfields", .type = ARG_INTEGER},
    {.name = "data", .type = ARG_BLOCK, .flags = ARG_MULTIPLE, .args = pathPairArgs},
    {0},
};

static const struct commandArg phdelArgs[] = {
    {.name = "key", .type = ARG_KEY, .key_spec = 1},
    {.name = "path", .type = ARG_STRING},
    {.name = "field", .type = ARG_STRING, .flags = ARG_OPTIONAL | ARG_MULTIPLE},
    {0},
};

static const struct commandArg phgetArgs[] = {
    {.name = "key", .type = ARG_KEY, .key_spec = 1},
    {.name = "path", .type = ARG_STRING},
    {.name = "field", .type = ARG_STRING, .flags = ARG_MULTIPLE},
    {0},
};

static const struct commandArg phlongestArgs_values[] = {
    {.name = "withvalues", .type = ARG_PURE_TOKEN, .token = "WITHVALUES"},
    {.name = "fields", .type = ARG_BLOCK, .token = "FIELDS", .args = pathFieldsArgs},
    {0},
};

static const struct commandArg phlongestArgs[] = {
    {.name = "key", .type = ARG_KEY, .key_spec = 1},
    {.name = "query", .type = ARG_STRING},
    {.name = "length", .type = ARG_PURE_TOKEN, .token = "LENGTH", .flags = ARG_OPTIONAL},
    {.name = "values", .type = ARG_ONEOF, .flags = ARG_OPTIONAL, .args = phlongestArgs_values},
    {0},
};

static const struct commandArg phmgetArgs_data[] = {
    {.name = "path", .type = ARG_STRING},
    {.name = "fields", .type = ARG_BLOCK, .token = "FIELDS", .args = pathFieldsArgs},
    {0},
};

static const struct commandArg phmgetArgs[] = {
    {.name = "key", .type = ARG_KEY, .key_spec = 1},
    {.name = "data", .type = ARG_BLOCK, .flags = ARG_MULTIPLE, .args = phmgetArgs_data},
    {0},
};

static const struct commandArg phmsetArgs_data[] = {
    {.name = "path", .type = ARG_STRING},
    {.name = "fields", .type = ARG_BLOCK, .token = "FIELDS", .args = pathPairsArgs},
    {0},
};

static const struct commandArg phmsetArgs[] = {
    {.name = "key", .type = ARG_KEY, .key_spec = 1},
    {.name = "data", .type = ARG_BLOCK, .flags = ARG_MULTIPLE, .args = phmsetArgs_data},
    {0},
};

static const struct commandArg phprefixesArgs[] = {
    {.name = "key", .type = ARG_KEY, .key_spec = 1},
    {.name = "query", .type = ARG_STRING},
    {.name = "lengths", .type = ARG_PURE_TOKEN, .token = "LENGTHS", .flags = ARG_OPTIONAL},
    {.name = "values", .type = ARG_ONEOF, .flags = ARG_OPTIONAL, .args = phlongestArgs_values},
    {.name = "count", .type = ARG_INTEGER, .token = "COUNT", .flags = ARG_OPTIONAL},
    {.name = "max-path-bytes", .type = ARG_INTEGER, .token = "MAXPATHLEN", .flags = ARG_OPTIONAL},
    {0},
};

static const struct commandArg phscanArgs[] = {
    {.name = "key", .type = ARG_KEY, .key_spec = 1},
    {.name = "cursor", .type = ARG_STRING},
    {.name = "prefix", .type = ARG_STRING, .token = "PREFIX", .flags = ARG_OPTIONAL},
    {.name = "count", .type = ARG_INTEGER, .token = "COUNT", .flags = ARG_OPTIONAL},
    {.name = "withvalues", .type = ARG_PURE_TOKEN, .token = "WITHVALUES", .flags = ARG_OPTIONAL},
    {0},
};

static const struct commandArg phsetArgs_condition[] = {
    {.name = "fnx", .type = ARG_PURE_TOKEN, .token = "FNX"},
    {.name = "fxx", .type = ARG_PURE_TOKEN, .token = "FXX"},
    {0},
};

static const struct commandArg phsetArgs[] = {
    {.name = "key", .type = ARG_KEY, .key_spec = 1},
    {.name = "path", .type = ARG_STRING},
    {.name = "condition", .type = ARG_ONEOF, .flags = ARG_OPTIONAL, .args = phsetArgs_condition},
    {.name = "fields", .type = ARG_BLOCK, .token = "FIELDS", .args = pathPairsArgs},
    {0},
};

const struct commandSpec commandsPathHash[] = {
    {.name = "phcard",
     .summary = "Counts the paths.",
     .complexity = "O(1)",
     .since = "9.2.0",
     .group = "pathhash",
     .proc = phcardCommand,
     .arity = 2,
     .flags = CMD_READONLY | CMD_FAST | CMD_PARALLEL_READ,
     .acl = ACL_PATHHASH,
     KEYS({.flags = KEY_RO | KEY_ACCESS, KEY_AT(1)}),
     .args = ARGS({.name = "key", .type = ARG_KEY, .key_spec = 1})},
    {.name = "phdel",
     .summary = "Removes a path, or some of its fields.",
     .complexity = "O(l + n)",
     .since = "9.2.0",
     .group = "pathhash",
     .proc = phdelCommand,
     .arity = -3,
     .flags = CMD_WRITE,
     .acl = ACL_PATHHASH,
     KEYS({.flags = KEY_RW | KEY_ACCESS | KEY_DELETE, KEY_AT(1)}),
     .args = phdelArgs,
     .prefetch = PREFETCH_PATH},
    {.name = "phdelprefix",
     .summary = "Removes all paths that begin with a prefix.",
     .complexity = "O(l + k) for k paths removed",
     .since = "9.2.0",
     .group = "pathhash",
     .proc = phdelprefixCommand,
     .arity = 3,
     .flags = CMD_WRITE,
     .acl = ACL_PATHHASH,
     KEYS({.flags = KEY_RW | KEY_ACCESS | KEY_DELETE, KEY_AT(1)}),
     .args = ARGS({.name = "key", .type = ARG_KEY, .key_spec = 1}, {.name = "prefix", .type = ARG_STRING}),
     .prefetch = PREFETCH_PATH},
    {.name = "phexists",
     .summary = "Checks whether a path is stored.",
     .complexity = "O(l)",
     .since = "9.2.0",
     .group = "pathhash",
     .proc = phexistsCommand,
     .arity = 3,
     .flags = CMD_READONLY | CMD_FAST | CMD_PARALLEL_READ,
     .acl = ACL_PATHHASH,
     KEYS({.flags = KEY_RO | KEY_ACCESS, KEY_AT(1)}),
     .args = ARGS({.name = "key", .type = ARG_KEY, .key_spec = 1}, {.name = "path", .type = ARG_STRING}),
     .prefetch = PREFETCH_PATH},
    {.name = "phget",
     .summary = "Returns the values of fields of a path.",
     .complexity = "O(l + n)",
     .since = "9.2.0",
     .group = "pathhash",
     .proc = phgetCommand,
     .arity = -4,
     .flags = CMD_READONLY | CMD_FAST | CMD_PARALLEL_READ,
     .acl = ACL_PATHHASH,
     KEYS({.flags = KEY_RO | KEY_ACCESS, KEY_AT(1)}),
     .args = phgetArgs,
     .prefetch = PREFETCH_PATH},
    {.name = "phgetall",
     .summary = "Returns all fields and values of a path.",
     .complexity = "O(l + r)",
     .since = "9.2.0",
     .group = "pathhash",
     .proc = phgetallCommand,
     .arity = 3,
     .flags = CMD_READONLY | CMD_PARALLEL_READ,
     .acl = ACL_PATHHASH,
     .tips = TIPS("nondeterministic_output_order"),
     KEYS({.flags = KEY_RO | KEY_ACCESS, KEY_AT(1)}),
     .args = ARGS({.name = "key", .type = ARG_KEY, .key_spec = 1}, {.name = "path", .type = ARG_STRING}),
     .prefetch = PREFETCH_PATH},
    {.name = "phlongest",
     .summary = "Finds the longest stored path with which a text begins.",
     .complexity = "O(l + r)",
     .since = "9.2.0",
     .group = "pathhash",
     .proc = phlongestCommand,
     .arity = -3,
     .flags = CMD_READONLY | CMD_PARALLEL_READ,
     .acl = ACL_PATHHASH,
     .tips = TIPS("nondeterministic_output_order"),
     KEYS({.flags = KEY_RO | KEY_ACCESS, KEY_AT(1)}),
     .args = phlongestArgs,
     .prefetch = PREFETCH_PATH},
    {.name = "phmget",
     .summary = "Returns the values of fields of several paths.",
     .complexity = "O(l + n) over all paths",
     .since = "9.2.0",
     .group = "pathhash",
     .proc = phmgetCommand,
     .arity = -6,
     .flags = CMD_READONLY | CMD_FAST | CMD_PARALLEL_READ,
     .acl = ACL_PATHHASH,
     KEYS({.flags = KEY_RO | KEY_ACCESS, KEY_AT(1)}),
     .args = phmgetArgs,
     .prefetch = PREFETCH_PATH},
    {.name = "phmset",
     .summary = "Sets fields of several paths.",
     .complexity = "O(l + n) over all paths",
     .since = "9.2.0",
     .group = "pathhash",
     .proc = phmsetCommand,
     .arity = -7,
     .flags = CMD_WRITE | CMD_DENYOOM | CMD_FAST,
     .acl = ACL_PATHHASH,
     KEYS({.flags = KEY_RW | KEY_UPDATE, KEY_AT(1)}),
     .args = phmsetArgs,
     .prefetch = PREFETCH_PATH},
    {.name = "phprefixes",
     .summary = "Finds all stored paths with which a text begins.",
     .complexity = "O(l + r)",
     .since = "9.2.0",
     .group = "pathhash",
     .proc = phprefixesCommand,
     .arity = -3,
     .flags = CMD_READONLY | CMD_PARALLEL_READ,
     .acl = ACL_PATHHASH,
     .tips = TIPS("nondeterministic_output_order"),
     KEYS({.flags = KEY_RO | KEY_ACCESS, KEY_AT(1)}),
     .args = phprefixesArgs,
     .prefetch = PREFETCH_PATH},
    {.name = "phscan",
     .summary = "Goes through the paths in their order, some with each call.",
     .complexity = "O(l + c + r) for c paths visited",
     .since = "9.2.0",
     .group = "pathhash",
     .proc = phscanCommand,
     .arity = -3,
     .flags = CMD_READONLY | CMD_PARALLEL_READ,
     .acl = ACL_PATHHASH,
     .tips = TIPS("nondeterministic_output_order"),
     KEYS({.flags = KEY_RO | KEY_ACCESS, KEY_AT(1)}),
     .args = phscanArgs},
    {.name = "phset",
     .summary = "Sets fields of a path.",
     .complexity = "O(l + n)",
     .since = "9.2.0",
     .group = "pathhash",
     .proc = phsetCommand,
     .arity = -7,
     .flags = CMD_WRITE | CMD_DENYOOM | CMD_FAST,
     .acl = ACL_PATHHASH,
     KEYS({.flags = KEY_RW | KEY_UPDATE, KEY_AT(1)}),
     .args = phsetArgs,
     .prefetch = PREFETCH_PATH},
    {0},
};
