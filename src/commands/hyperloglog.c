/* SPDX-License-Identifier: BSD-3-Clause */
/* hyperloglog.c - the HyperLogLog commands: what clients, ACLs, clusters and COMMAND know about them.
 *
 * An entry names its handler, and the tables above the list hold what does not fit into a line: key specs,
 * arguments, tips. Equal tables are written once, under the name of the first command that uses them. */
#include "commands/hyperloglog.h"

#include "commands/grammar.h"

static const struct keySpec pfaddKeys[] = {
    {.flags = KEY_RW | KEY_INSERT, KEYS_AT(1), KEYS_RANGE(0, 1)},
};

static const struct commandArg pfaddArgs[] = {
    {.name = "key", .type = ARG_KEY, .key_spec = 1},
    {.name = "element", .type = ARG_STRING, .flags = ARG_OPTIONAL | ARG_MULTIPLE},
    {0},
};

static const struct keySpec pfcountKeys[] = {
    {.notes = "The count is kept in the key, so reading may write.",
     .flags = KEY_RW | KEY_ACCESS,
     KEYS_AT(1),
     KEYS_RANGE(-1, 1)},
};

static const struct commandArg pfcountArgs[] = {
    {.name = "key", .type = ARG_KEY, .key_spec = 1, .flags = ARG_MULTIPLE},
    {0},
};

static const struct keySpec pfdebugKeys[] = {
    {.flags = KEY_RW | KEY_ACCESS, KEYS_AT(2), KEYS_RANGE(0, 1)},
};

static const struct commandArg pfdebugArgs[] = {
    {.name = "subcommand", .type = ARG_STRING},
    {.name = "key", .type = ARG_KEY, .key_spec = 1},
    {0},
};

static const struct keySpec pfmergeKeys[] = {
    {.flags = KEY_RW | KEY_ACCESS | KEY_INSERT, KEYS_AT(1), KEYS_RANGE(0, 1)},
    {.flags = KEY_RO | KEY_ACCESS, KEYS_AT(2), KEYS_RANGE(-1, 1)},
};

static const struct commandArg pfmergeArgs[] = {
    {.name = "destkey", .type = ARG_KEY, .key_spec = 1},
    {.name = "sourcekey", .type = ARG_KEY, .key_spec = 2, .flags = ARG_OPTIONAL | ARG_MULTIPLE},
    {0},
};

const struct commandSpec commandsHyperloglog[] = {
    {.name = "pfadd",
     .summary = "Add elements to a HyperLogLog.",
     .complexity = "O(n) in the number of elements",
     .since = "2.8.9",
     .group = "hyperloglog",
     .proc = pfaddCommand,
     .arity = -2,
     .flags = CMD_WRITE | CMD_DENYOOM | CMD_FAST,
     .acl = ACL_HYPERLOGLOG,
     .key_specs = pfaddKeys,
     .key_spec_count = 1,
     .args = pfaddArgs},
    {.name = "pfcount",
     .summary = "The estimated number of distinct elements, of one or several.",
     .complexity = "O(n) in the number of keys",
     .since = "2.8.9",
     .group = "hyperloglog",
     .proc = pfcountCommand,
     .arity = -2,
     .flags = CMD_READONLY | CMD_MAY_REPLICATE,
     .acl = ACL_HYPERLOGLOG,
     .key_specs = pfcountKeys,
     .key_spec_count = 1,
     .args = pfcountArgs},
    {.name = "pfdebug",
     .summary = "Look into a HyperLogLog.",
     .complexity = "Depends on the subcommand",
     .since = "2.8.9",
     .group = "hyperloglog",
     .doc_flags = CMD_DOC_SYSCMD,
     .proc = pfdebugCommand,
     .arity = 3,
     .flags = CMD_WRITE | CMD_DENYOOM | CMD_ADMIN,
     .acl = ACL_HYPERLOGLOG,
     .key_specs = pfdebugKeys,
     .key_spec_count = 1,
     .args = pfdebugArgs},
    {.name = "pfmerge",
     .summary = "Merge HyperLogLogs into one.",
     .complexity = "O(n) in the number of keys",
     .since = "2.8.9",
     .group = "hyperloglog",
     .proc = pfmergeCommand,
     .arity = -2,
     .flags = CMD_WRITE | CMD_DENYOOM,
     .acl = ACL_HYPERLOGLOG,
     .key_specs = pfmergeKeys,
     .key_spec_count = 2,
     .args = pfmergeArgs},
    {.name = "pfselftest",
     .summary = "Test the HyperLogLog code.",
     .complexity = "Some seconds",
     .since = "2.8.9",
     .group = "hyperloglog",
     .doc_flags = CMD_DOC_SYSCMD,
     .proc = pfselftestCommand,
     .arity = 1,
     .flags = CMD_ADMIN,
     .acl = ACL_HYPERLOGLOG},
    {0},
};
