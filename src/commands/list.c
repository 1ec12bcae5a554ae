/* SPDX-License-Identifier: BSD-3-Clause */
/* list.c - the list commands: what clients, ACLs, clusters and COMMAND know about them.
 *
 * An entry names its handler, and the tables above the list hold what does not fit into a line: key specs,
 * arguments. Equal tables are written once, under the name of the first command that uses them. */
#include "commands/list.h"

#include "commands/grammar.h"

static const struct keySpec blmoveKeys[] = {
    {.flags = KEY_RW | KEY_ACCESS | KEY_DELETE, KEYS_AT(1), KEYS_RANGE(0, 1)},
    {.flags = KEY_RW | KEY_INSERT, KEYS_AT(2), KEYS_RANGE(0, 1)},
};

static const struct commandArg endArgs[] = {
    {.name = "left", .type = ARG_PURE_TOKEN, .token = "LEFT"},
    {.name = "right", .type = ARG_PURE_TOKEN, .token = "RIGHT"},
    {0},
};

static const struct commandArg blmoveArgs[] = {
    {.name = "source", .type = ARG_KEY, .key_spec = 1},
    {.name = "destination", .type = ARG_KEY, .key_spec = 2},
    {.name = "wherefrom", .type = ARG_ONEOF, .args = endArgs},
    {.name = "whereto", .type = ARG_ONEOF, .args = endArgs},
    {.name = "timeout", .type = ARG_DOUBLE},
    {0},
};

static const struct keySpec blmpopKeys[] = {
    {.flags = KEY_RW | KEY_ACCESS | KEY_DELETE, KEYS_AT(2), KEYS_COUNTED(0, 1)},
};

static const struct commandArg blmpopArgs[] = {
    {.name = "timeout", .type = ARG_DOUBLE},
    {.name = "numkeys", .type = ARG_INTEGER},
    {.name = "key", .type = ARG_KEY, .key_spec = 1, .flags = ARG_MULTIPLE},
    {.name = "where", .type = ARG_ONEOF, .args = endArgs},
    {.name = "count", .type = ARG_INTEGER, .token = "COUNT", .flags = ARG_OPTIONAL},
    {0},
};

static const struct keySpec blpopKeys[] = {
    {.flags = KEY_RW | KEY_ACCESS | KEY_DELETE, KEYS_AT(1), KEYS_RANGE(-2, 1)},
};

static const struct commandArg blpopArgs[] = {
    {.name = "key", .type = ARG_KEY, .key_spec = 1, .flags = ARG_MULTIPLE},
    {.name = "timeout", .type = ARG_DOUBLE},
    {0},
};

static const struct commandArg brpoplpushArgs[] = {
    {.name = "source", .type = ARG_KEY, .key_spec = 1},
    {.name = "destination", .type = ARG_KEY, .key_spec = 2},
    {.name = "timeout", .type = ARG_DOUBLE},
    {0},
};

static const struct keySpec lindexKeys[] = {
    {.flags = KEY_RO | KEY_ACCESS, KEYS_AT(1), KEYS_RANGE(0, 1)},
};

static const struct commandArg lindexArgs[] = {
    {.name = "key", .type = ARG_KEY, .key_spec = 1},
    {.name = "index", .type = ARG_INTEGER},
    {0},
};

static const struct keySpec linsertKeys[] = {
    {.flags = KEY_RW | KEY_INSERT, KEYS_AT(1), KEYS_RANGE(0, 1)},
};

static const struct commandArg linsertArgs_where[] = {
    {.name = "before", .type = ARG_PURE_TOKEN, .token = "BEFORE"},
    {.name = "after", .type = ARG_PURE_TOKEN, .token = "AFTER"},
    {0},
};

static const struct commandArg linsertArgs[] = {
    {.name = "key", .type = ARG_KEY, .key_spec = 1},
    {.name = "where", .type = ARG_ONEOF, .args = linsertArgs_where},
    {.name = "pivot", .type = ARG_STRING},
    {.name = "element", .type = ARG_STRING},
    {0},
};

static const struct keySpec llenKeys[] = {
    {.flags = KEY_RO, KEYS_AT(1), KEYS_RANGE(0, 1)},
};

static const struct commandArg llenArgs[] = {
    {.name = "key", .type = ARG_KEY, .key_spec = 1},
    {0},
};

static const struct commandArg lmoveArgs[] = {
    {.name = "source", .type = ARG_KEY, .key_spec = 1},
    {.name = "destination", .type = ARG_KEY, .key_spec = 2},
    {.name = "wherefrom", .type = ARG_ONEOF, .args = endArgs},
    {.name = "whereto", .type = ARG_ONEOF, .args = endArgs},
    {0},
};

static const struct keySpec lmpopKeys[] = {
    {.flags = KEY_RW | KEY_ACCESS | KEY_DELETE, KEYS_AT(1), KEYS_COUNTED(0, 1)},
};

static const struct commandArg lmpopArgs[] = {
    {.name = "numkeys", .type = ARG_INTEGER},
    {.name = "key", .type = ARG_KEY, .key_spec = 1, .flags = ARG_MULTIPLE},
    {.name = "where", .type = ARG_ONEOF, .args = endArgs},
    {.name = "count", .type = ARG_INTEGER, .token = "COUNT", .flags = ARG_OPTIONAL},
    {0},
};

static const struct keySpec lpopKeys[] = {
    {.flags = KEY_RW | KEY_ACCESS | KEY_DELETE, KEYS_AT(1), KEYS_RANGE(0, 1)},
};

static const struct commandArg lpopArgs[] = {
    {.name = "key", .type = ARG_KEY, .key_spec = 1},
    {.name = "count", .type = ARG_INTEGER, .since = "6.2.0", .flags = ARG_OPTIONAL},
    {0},
};

static const struct commandArg lposArgs[] = {
    {.name = "key", .type = ARG_KEY, .key_spec = 1},
    {.name = "element", .type = ARG_STRING},
    {.name = "rank", .type = ARG_INTEGER, .token = "RANK", .flags = ARG_OPTIONAL},
    {.name = "num-matches", .type = ARG_INTEGER, .token = "COUNT", .flags = ARG_OPTIONAL},
    {.name = "len", .type = ARG_INTEGER, .token = "MAXLEN", .flags = ARG_OPTIONAL},
    {0},
};

static const struct commandArg lpushArgs[] = {
    {.name = "key", .type = ARG_KEY, .key_spec = 1},
    {.name = "element", .type = ARG_STRING, .flags = ARG_MULTIPLE},
    {0},
};

static const struct commandArg lrangeArgs[] = {
    {.name = "key", .type = ARG_KEY, .key_spec = 1},
    {.name = "start", .type = ARG_INTEGER},
    {.name = "stop", .type = ARG_INTEGER},
    {0},
};

static const struct keySpec lremKeys[] = {
    {.flags = KEY_RW | KEY_DELETE, KEYS_AT(1), KEYS_RANGE(0, 1)},
};

static const struct commandArg lremArgs[] = {
    {.name = "key", .type = ARG_KEY, .key_spec = 1},
    {.name = "count", .type = ARG_INTEGER},
    {.name = "element", .type = ARG_STRING},
    {0},
};

static const struct keySpec lsetKeys[] = {
    {.flags = KEY_RW | KEY_UPDATE, KEYS_AT(1), KEYS_RANGE(0, 1)},
};

static const struct commandArg lsetArgs[] = {
    {.name = "key", .type = ARG_KEY, .key_spec = 1},
    {.name = "index", .type = ARG_INTEGER},
    {.name = "element", .type = ARG_STRING},
    {0},
};

static const struct commandArg rpoplpushArgs[] = {
    {.name = "source", .type = ARG_KEY, .key_spec = 1},
    {.name = "destination", .type = ARG_KEY, .key_spec = 2},
    {0},
};

const struct commandSpec commandsList[] = {
    {.name = "blmove",
     .summary = "As LMOVE; waits for an element.",
     .complexity = "O(1)",
     .since = "6.2.0",
     .group = "list",
     .proc = blmoveCommand,
     .arity = 6,
     .flags = CMD_WRITE | CMD_DENYOOM | CMD_BLOCKING,
     .acl = ACL_LIST,
     .key_specs = blmoveKeys,
     .key_spec_count = 2,
     .args = blmoveArgs,
     .prefetch = PREFETCH_HEAD | PREFETCH_TAIL},
    {.name = "blmpop",
     .summary = "As LMPOP; waits for an element.",
     .complexity = "O(k + m) for k keys and m elements taken",
     .since = "7.0.0",
     .group = "list",
     .proc = blmpopCommand,
     .arity = -5,
     .flags = CMD_WRITE | CMD_BLOCKING,
     .acl = ACL_LIST,
     .key_specs = blmpopKeys,
     .key_spec_count = 1,
     .args = blmpopArgs},
    {.name = "blpop",
     .summary = "As LPOP on the first key that holds a list; waits for one.",
     .complexity = "O(k) for k keys",
     .since = "2.0.0",
     .group = "list",
     .history = HISTORY({"6.0.0", "The time to wait may have a fraction."}),
     .proc = blpopCommand,
     .arity = -3,
     .flags = CMD_WRITE | CMD_BLOCKING,
     .acl = ACL_LIST,
     .key_specs = blpopKeys,
     .key_spec_count = 1,
     .args = blpopArgs,
     .prefetch = PREFETCH_HEAD},
    {.name = "brpop",
     .summary = "As RPOP on the first key that holds a list; waits for one.",
     .complexity = "O(k) for k keys",
     .since = "2.0.0",
     .group = "list",
     .history = HISTORY({"6.0.0", "The time to wait may have a fraction."}),
     .proc = brpopCommand,
     .arity = -3,
     .flags = CMD_WRITE | CMD_BLOCKING,
     .acl = ACL_LIST,
     .key_specs = blpopKeys,
     .key_spec_count = 1,
     .args = blpopArgs,
     .prefetch = PREFETCH_TAIL},
    {.name = "brpoplpush",
     .summary = "As RPOPLPUSH; waits for an element.",
     .complexity = "O(1)",
     .since = "2.2.0",
     .group = "list",
     .history = HISTORY({"6.0.0", "The time to wait may have a fraction."}),
     .proc = brpoplpushCommand,
     .arity = 4,
     .flags = CMD_WRITE | CMD_DENYOOM | CMD_BLOCKING,
     .acl = ACL_LIST,
     .key_specs = blmoveKeys,
     .key_spec_count = 2,
     .args = brpoplpushArgs,
     .prefetch = PREFETCH_HEAD | PREFETCH_TAIL},
    {.name = "lindex",
     .summary = "The element at an index.",
     .complexity = "O(n) elements between the index and the nearer end",
     .since = "1.0.0",
     .group = "list",
     .proc = lindexCommand,
     .arity = 3,
     .flags = CMD_READONLY,
     .acl = ACL_LIST,
     .key_specs = lindexKeys,
     .key_spec_count = 1,
     .args = lindexArgs,
     .prefetch = PREFETCH_HEAD},
    {.name = "linsert",
     .summary = "Insert an element beside the first one that equals a pivot.",
     .complexity = "O(n) elements before the pivot",
     .since = "2.2.0",
     .group = "list",
     .proc = linsertCommand,
     .arity = 5,
     .flags = CMD_WRITE | CMD_DENYOOM,
     .acl = ACL_LIST,
     .key_specs = linsertKeys,
     .key_spec_count = 1,
     .args = linsertArgs,
     .prefetch = PREFETCH_HEAD},
    {.name = "llen",
     .summary = "The number of elements.",
     .complexity = "O(1)",
     .since = "1.0.0",
     .group = "list",
     .proc = llenCommand,
     .arity = 2,
     .flags = CMD_READONLY | CMD_FAST,
     .acl = ACL_LIST,
     .key_specs = llenKeys,
     .key_spec_count = 1,
     .args = llenArgs},
    {.name = "lmove",
     .summary = "Take an element from an end of one list and add it to an end of another, or of the same.",
     .complexity = "O(1)",
     .since = "6.2.0",
     .group = "list",
     .proc = lmoveCommand,
     .arity = 5,
     .flags = CMD_WRITE | CMD_DENYOOM,
     .acl = ACL_LIST,
     .key_specs = blmoveKeys,
     .key_spec_count = 2,
     .args = lmoveArgs,
     .prefetch = PREFETCH_HEAD | PREFETCH_TAIL},
    {.name = "lmpop",
     .summary = "Pop elements from the first key that holds a list.",
     .complexity = "O(k + m) for k keys and m elements taken",
     .since = "7.0.0",
     .group = "list",
     .proc = lmpopCommand,
     .arity = -4,
     .flags = CMD_WRITE,
     .acl = ACL_LIST,
     .key_specs = lmpopKeys,
     .key_spec_count = 1,
     .args = lmpopArgs,
     .prefetch = PREFETCH_HEAD},
    {.name = "lpop",
     .summary = "Pop elements from the left end.",
     .complexity = "O(m) for m elements taken",
     .since = "1.0.0",
     .group = "list",
     .history = HISTORY({"6.2.0", "The number of elements."}),
     .proc = lpopCommand,
     .arity = -2,
     .flags = CMD_WRITE | CMD_FAST,
     .acl = ACL_LIST,
     .key_specs = lpopKeys,
     .key_spec_count = 1,
     .args = lpopArgs,
     .prefetch = PREFETCH_HEAD},
    {.name = "lpos",
     .summary = "The indexes of elements that equal a value.",
     .complexity = "O(n) elements looked at",
     .since = "6.0.6",
     .group = "list",
     .proc = lposCommand,
     .arity = -3,
     .flags = CMD_READONLY,
     .acl = ACL_LIST,
     .key_specs = lindexKeys,
     .key_spec_count = 1,
     .args = lposArgs,
     .prefetch = PREFETCH_HEAD},
    {.name = "lpush",
     .summary = "Add elements at the left end, one after the other.",
     .complexity = "O(1) for each element",
     .since = "1.0.0",
     .group = "list",
     .history = HISTORY({"2.4.0", "Several elements."}),
     .proc = lpushCommand,
     .arity = -3,
     .flags = CMD_WRITE | CMD_DENYOOM | CMD_FAST,
     .acl = ACL_LIST,
     .key_specs = linsertKeys,
     .key_spec_count = 1,
     .args = lpushArgs,
     .prefetch = PREFETCH_HEAD},
    {.name = "lpushx",
     .summary = "As LPUSH, if there is a list.",
     .complexity = "O(1) for each element",
     .since = "2.2.0",
     .group = "list",
     .history = HISTORY({"4.0.0", "Several elements."}),
     .proc = lpushxCommand,
     .arity = -3,
     .flags = CMD_WRITE | CMD_DENYOOM | CMD_FAST,
     .acl = ACL_LIST,
     .key_specs = linsertKeys,
     .key_spec_count = 1,
     .args = lpushArgs,
     .prefetch = PREFETCH_HEAD},
    {.name = "lrange",
     .summary = "The elements from one index to another.",
     .complexity = "O(s + m) for m elements behind s others, from the nearer end",
     .since = "1.0.0",
     .group = "list",
     .proc = lrangeCommand,
     .arity = 4,
     .flags = CMD_READONLY,
     .acl = ACL_LIST,
     .key_specs = lindexKeys,
     .key_spec_count = 1,
     .args = lrangeArgs,
     .prefetch = PREFETCH_HEAD},
    {.name = "lrem",
     .summary = "Delete elements that equal a value, from either end.",
     .complexity = "O(n) elements looked at",
     .since = "1.0.0",
     .group = "list",
     .proc = lremCommand,
     .arity = 4,
     .flags = CMD_WRITE,
     .acl = ACL_LIST,
     .key_specs = lremKeys,
     .key_spec_count = 1,
     .args = lremArgs,
     .prefetch = PREFETCH_HEAD},
    {.name = "lset",
     .summary = "Replace the element at an index.",
     .complexity = "O(n) elements between the index and the nearer end",
     .since = "1.0.0",
     .group = "list",
     .proc = lsetCommand,
     .arity = 4,
     .flags = CMD_WRITE | CMD_DENYOOM,
     .acl = ACL_LIST,
     .key_specs = lsetKeys,
     .key_spec_count = 1,
     .args = lsetArgs,
     .prefetch = PREFETCH_HEAD},
    {.name = "ltrim",
     .summary = "Delete everything outside a range.",
     .complexity = "O(m) for m elements deleted",
     .since = "1.0.0",
     .group = "list",
     .proc = ltrimCommand,
     .arity = 4,
     .flags = CMD_WRITE,
     .acl = ACL_LIST,
     .key_specs = lremKeys,
     .key_spec_count = 1,
     .args = lrangeArgs,
     .prefetch = PREFETCH_HEAD | PREFETCH_TAIL},
    {.name = "rpop",
     .summary = "Pop elements from the right end.",
     .complexity = "O(m) for m elements taken",
     .since = "1.0.0",
     .group = "list",
     .history = HISTORY({"6.2.0", "The number of elements."}),
     .proc = rpopCommand,
     .arity = -2,
     .flags = CMD_WRITE | CMD_FAST,
     .acl = ACL_LIST,
     .key_specs = lpopKeys,
     .key_spec_count = 1,
     .args = lpopArgs,
     .prefetch = PREFETCH_TAIL},
    {.name = "rpoplpush",
     .summary = "Pop from the right end of one list, and add at the left end of another.",
     .complexity = "O(1)",
     .since = "1.2.0",
     .group = "list",
     .proc = rpoplpushCommand,
     .arity = 3,
     .flags = CMD_WRITE | CMD_DENYOOM,
     .acl = ACL_LIST,
     .key_specs = blmoveKeys,
     .key_spec_count = 2,
     .args = rpoplpushArgs,
     .prefetch = PREFETCH_HEAD | PREFETCH_TAIL},
    {.name = "rpush",
     .summary = "Add elements at the right end, one after the other.",
     .complexity = "O(1) for each element",
     .since = "1.0.0",
     .group = "list",
     .history = HISTORY({"2.4.0", "Several elements."}),
     .proc = rpushCommand,
     .arity = -3,
     .flags = CMD_WRITE | CMD_DENYOOM | CMD_FAST,
     .acl = ACL_LIST,
     .key_specs = linsertKeys,
     .key_spec_count = 1,
     .args = lpushArgs,
     .prefetch = PREFETCH_TAIL},
    {.name = "rpushx",
     .summary = "As RPUSH, if there is a list.",
     .complexity = "O(1) for each element",
     .since = "2.2.0",
     .group = "list",
     .history = HISTORY({"4.0.0", "Several elements."}),
     .proc = rpushxCommand,
     .arity = -3,
     .flags = CMD_WRITE | CMD_DENYOOM | CMD_FAST,
     .acl = ACL_LIST,
     .key_specs = linsertKeys,
     .key_spec_count = 1,
     .args = lpushArgs,
     .prefetch = PREFETCH_TAIL},
    {0},
};
