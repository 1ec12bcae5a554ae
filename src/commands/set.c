/* SPDX-License-Identifier: BSD-3-Clause */
/* set.c - the set commands: what clients, ACLs, clusters and COMMAND know about them.
 *
 * An entry names its handler, and the tables above the list hold what does not fit into a line: key specs,
 * arguments, tips. Equal tables are written once, under the name of the first command that uses them. */
#include "commands/set.h"

#include "commands/grammar.h"

static const struct keySpec saddKeys[] = {
    {.flags = KEY_RW | KEY_INSERT, KEYS_AT(1), KEYS_RANGE(0, 1)},
};

static const struct commandArg saddArgs[] = {
    {.name = "key", .type = ARG_KEY, .key_spec = 1},
    {.name = "member", .type = ARG_STRING, .flags = ARG_MULTIPLE},
    {0},
};

static const struct keySpec scardKeys[] = {
    {.flags = KEY_RO, KEYS_AT(1), KEYS_RANGE(0, 1)},
};

static const struct commandArg scardArgs[] = {
    {.name = "key", .type = ARG_KEY, .key_spec = 1},
    {0},
};

static const char *const sdiffTips[] = {"nondeterministic_output_order", NULL};

static const struct keySpec sdiffKeys[] = {
    {.flags = KEY_RO | KEY_ACCESS, KEYS_AT(1), KEYS_RANGE(-1, 1)},
};

static const struct commandArg sdiffArgs[] = {
    {.name = "key", .type = ARG_KEY, .key_spec = 1, .flags = ARG_MULTIPLE},
    {0},
};

static const struct keySpec sdiffstoreKeys[] = {
    {.flags = KEY_OW | KEY_UPDATE, KEYS_AT(1), KEYS_RANGE(0, 1)},
    {.flags = KEY_RO | KEY_ACCESS, KEYS_AT(2), KEYS_RANGE(-1, 1)},
};

static const struct commandArg sdiffstoreArgs[] = {
    {.name = "destination", .type = ARG_KEY, .key_spec = 1},
    {.name = "key", .type = ARG_KEY, .key_spec = 2, .flags = ARG_MULTIPLE},
    {0},
};

static const struct keySpec sintercardKeys[] = {
    {.flags = KEY_RO | KEY_ACCESS, KEYS_AT(1), KEYS_COUNTED(0, 1)},
};

static const struct commandArg sintercardArgs[] = {
    {.name = "numkeys", .type = ARG_INTEGER},
    {.name = "key", .type = ARG_KEY, .key_spec = 1, .flags = ARG_MULTIPLE},
    {.name = "limit", .type = ARG_INTEGER, .token = "LIMIT", .flags = ARG_OPTIONAL},
    {0},
};

static const struct commandArg sismemberArgs[] = {
    {.name = "key", .type = ARG_KEY, .key_spec = 1},
    {.name = "member", .type = ARG_STRING},
    {0},
};

static const struct keySpec smembersKeys[] = {
    {.flags = KEY_RO | KEY_ACCESS, KEYS_AT(1), KEYS_RANGE(0, 1)},
};

static const struct keySpec smoveKeys[] = {
    {.flags = KEY_RW | KEY_ACCESS | KEY_DELETE, KEYS_AT(1), KEYS_RANGE(0, 1)},
    {.flags = KEY_RW | KEY_INSERT, KEYS_AT(2), KEYS_RANGE(0, 1)},
};

static const struct commandArg smoveArgs[] = {
    {.name = "source", .type = ARG_KEY, .key_spec = 1},
    {.name = "destination", .type = ARG_KEY, .key_spec = 2},
    {.name = "member", .type = ARG_STRING},
    {0},
};

static const char *const spopTips[] = {"nondeterministic_output", NULL};

static const struct keySpec spopKeys[] = {
    {.flags = KEY_RW | KEY_ACCESS | KEY_DELETE, KEYS_AT(1), KEYS_RANGE(0, 1)},
};

static const struct commandArg spopArgs[] = {
    {.name = "key", .type = ARG_KEY, .key_spec = 1},
    {.name = "count", .type = ARG_INTEGER, .since = "3.2.0", .flags = ARG_OPTIONAL},
    {0},
};

static const struct commandArg srandmemberArgs[] = {
    {.name = "key", .type = ARG_KEY, .key_spec = 1},
    {.name = "count", .type = ARG_INTEGER, .since = "2.6.0", .flags = ARG_OPTIONAL},
    {0},
};

static const struct keySpec sremKeys[] = {
    {.flags = KEY_RW | KEY_DELETE, KEYS_AT(1), KEYS_RANGE(0, 1)},
};

static const struct commandArg sscanArgs[] = {
    {.name = "key", .type = ARG_KEY, .key_spec = 1},
    {.name = "cursor", .type = ARG_INTEGER},
    {.name = "pattern", .type = ARG_PATTERN, .token = "MATCH", .flags = ARG_OPTIONAL},
    {.name = "count", .type = ARG_INTEGER, .token = "COUNT", .flags = ARG_OPTIONAL},
    {0},
};

const struct commandSpec commandsSet[] = {
    {.name = "sadd",
     .summary = "Add members.",
     .complexity = "O(n) in the number of members given",
     .since = "1.0.0",
     .group = "set",
     .history = HISTORY({"2.4.0", "Several members."}),
     .proc = saddCommand,
     .arity = -3,
     .flags = CMD_WRITE | CMD_DENYOOM | CMD_FAST,
     .acl = ACL_SET,
     .key_specs = saddKeys,
     .key_spec_count = 1,
     .args = saddArgs,
     .prefetch = PREFETCH_MEMBER},
    {.name = "scard",
     .summary = "The number of members.",
     .complexity = "O(1)",
     .since = "1.0.0",
     .group = "set",
     .proc = scardCommand,
     .arity = 2,
     .flags = CMD_READONLY | CMD_FAST,
     .acl = ACL_SET,
     .key_specs = scardKeys,
     .key_spec_count = 1,
     .args = scardArgs},
    {.name = "sdiff",
     .summary = "The members of the first set that no other set has.",
     .complexity = "O(n) in the sizes of all sets together",
     .since = "1.0.0",
     .group = "set",
     .proc = sdiffCommand,
     .arity = -2,
     .flags = CMD_READONLY,
     .acl = ACL_SET,
     .tips = sdiffTips,
     .key_specs = sdiffKeys,
     .key_spec_count = 1,
     .args = sdiffArgs},
    {.name = "sdiffstore",
     .summary = "Store the difference of sets in a key.",
     .complexity = "O(n) in the sizes of all sets together",
     .since = "1.0.0",
     .group = "set",
     .proc = sdiffstoreCommand,
     .arity = -3,
     .flags = CMD_WRITE | CMD_DENYOOM,
     .acl = ACL_SET,
     .key_specs = sdiffstoreKeys,
     .key_spec_count = 2,
     .args = sdiffstoreArgs},
    {.name = "sinter",
     .summary = "The members that all sets have.",
     .complexity = "O(n*m), n the size of the smallest set, m the number of sets",
     .since = "1.0.0",
     .group = "set",
     .proc = sinterCommand,
     .arity = -2,
     .flags = CMD_READONLY,
     .acl = ACL_SET,
     .tips = sdiffTips,
     .key_specs = sdiffKeys,
     .key_spec_count = 1,
     .args = sdiffArgs},
    {.name = "sintercard",
     .summary = "How many members all sets have.",
     .complexity = "O(n*m), n the size of the smallest set, m the number of sets",
     .since = "7.0.0",
     .group = "set",
     .proc = sintercardCommand,
     .arity = -3,
     .flags = CMD_READONLY,
     .acl = ACL_SET,
     .key_specs = sintercardKeys,
     .key_spec_count = 1,
     .args = sintercardArgs},
    {.name = "sinterstore",
     .summary = "Store the intersection of sets in a key.",
     .complexity = "O(n*m), n the size of the smallest set, m the number of sets",
     .since = "1.0.0",
     .group = "set",
     .proc = sinterstoreCommand,
     .arity = -3,
     .flags = CMD_WRITE | CMD_DENYOOM,
     .acl = ACL_SET,
     .key_specs = sdiffstoreKeys,
     .key_spec_count = 2,
     .args = sdiffstoreArgs},
    {.name = "sismember",
     .summary = "Is this a member?",
     .complexity = "O(1)",
     .since = "1.0.0",
     .group = "set",
     .proc = sismemberCommand,
     .arity = 3,
     .flags = CMD_READONLY | CMD_FAST,
     .acl = ACL_SET,
     .key_specs = scardKeys,
     .key_spec_count = 1,
     .args = sismemberArgs,
     .prefetch = PREFETCH_MEMBER},
    {.name = "smembers",
     .summary = "All members.",
     .complexity = "O(n) in the size of the set",
     .since = "1.0.0",
     .group = "set",
     .proc = smembersCommand,
     .arity = 2,
     .flags = CMD_READONLY,
     .acl = ACL_SET,
     .tips = sdiffTips,
     .key_specs = smembersKeys,
     .key_spec_count = 1,
     .args = scardArgs},
    {.name = "smismember",
     .summary = "For each: is it a member?",
     .complexity = "O(n) in the number of members asked for",
     .since = "6.2.0",
     .group = "set",
     .proc = smismemberCommand,
     .arity = -3,
     .flags = CMD_READONLY | CMD_FAST,
     .acl = ACL_SET,
     .key_specs = smembersKeys,
     .key_spec_count = 1,
     .args = saddArgs},
    {.name = "smove",
     .summary = "Move a member from one set to another.",
     .complexity = "O(1)",
     .since = "1.0.0",
     .group = "set",
     .proc = smoveCommand,
     .arity = 4,
     .flags = CMD_WRITE | CMD_FAST,
     .acl = ACL_SET,
     .key_specs = smoveKeys,
     .key_spec_count = 2,
     .args = smoveArgs},
    {.name = "spop",
     .summary = "Remove random members and answer them.",
     .complexity = "O(n) in the number of members popped",
     .since = "1.0.0",
     .group = "set",
     .history = HISTORY({"3.2.0", "The number of members."}),
     .proc = spopCommand,
     .arity = -2,
     .flags = CMD_WRITE | CMD_FAST,
     .acl = ACL_SET,
     .tips = spopTips,
     .key_specs = spopKeys,
     .key_spec_count = 1,
     .args = spopArgs},
    {.name = "srandmember",
     .summary = "Random members.",
     .complexity = "O(n) in the number of members asked for",
     .since = "1.0.0",
     .group = "set",
     .history = HISTORY({"2.6.0", "The number of members."}),
     .proc = srandmemberCommand,
     .arity = -2,
     .flags = CMD_READONLY,
     .acl = ACL_SET,
     .tips = spopTips,
     .key_specs = smembersKeys,
     .key_spec_count = 1,
     .args = srandmemberArgs},
    {.name = "srem",
     .summary = "Remove members.",
     .complexity = "O(n) in the number of members given",
     .since = "1.0.0",
     .group = "set",
     .history = HISTORY({"2.4.0", "Several members."}),
     .proc = sremCommand,
     .arity = -3,
     .flags = CMD_WRITE | CMD_FAST,
     .acl = ACL_SET,
     .key_specs = sremKeys,
     .key_spec_count = 1,
     .args = saddArgs,
     .prefetch = PREFETCH_MEMBER},
    {.name = "sscan",
     .summary = "Walk over the members, some per call.",
     .complexity = "O(1) per call, O(n) for the whole walk",
     .since = "2.8.0",
     .group = "set",
     .proc = sscanCommand,
     .arity = -3,
     .flags = CMD_READONLY,
     .acl = ACL_SET,
     .tips = spopTips,
     .key_specs = smembersKeys,
     .key_spec_count = 1,
     .args = sscanArgs},
    {.name = "sunion",
     .summary = "The members that any of the sets has.",
     .complexity = "O(n) in the sizes of all sets together",
     .since = "1.0.0",
     .group = "set",
     .proc = sunionCommand,
     .arity = -2,
     .flags = CMD_READONLY,
     .acl = ACL_SET,
     .tips = sdiffTips,
     .key_specs = sdiffKeys,
     .key_spec_count = 1,
     .args = sdiffArgs},
    {.name = "sunionstore",
     .summary = "Store the union of sets in a key.",
     .complexity = "O(n) in the sizes of all sets together",
     .since = "1.0.0",
     .group = "set",
     .proc = sunionstoreCommand,
     .arity = -3,
     .flags = CMD_WRITE | CMD_DENYOOM,
     .acl = ACL_SET,
     .key_specs = sdiffstoreKeys,
     .key_spec_count = 2,
     .args = sdiffstoreArgs},
    {0},
};
