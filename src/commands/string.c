/* SPDX-License-Identifier: BSD-3-Clause */
/* string.c - the string commands: what clients, ACLs, clusters and COMMAND know about them.
 *
 * An entry names its handler, and the tables above the list hold what does not fit into a line: key specs,
 * arguments, tips. Equal tables are written once, under the name of the first command that uses them. */
#include "commands/string.h"

#include "commands/grammar.h"

static const struct keySpec appendKeys[] = {
    {.flags = KEY_RW | KEY_INSERT, KEYS_AT(1), KEYS_RANGE(0, 1)},
};

static const struct commandArg appendArgs[] = {
    {.name = "key", .type = ARG_KEY, .key_spec = 1},
    {.name = "value", .type = ARG_STRING},
    {0},
};

static const struct keySpec decrKeys[] = {
    {.flags = KEY_RW | KEY_ACCESS | KEY_UPDATE, KEYS_AT(1), KEYS_RANGE(0, 1)},
};

static const struct commandArg decrArgs[] = {
    {.name = "key", .type = ARG_KEY, .key_spec = 1},
    {0},
};

static const struct commandArg decrbyArgs[] = {
    {.name = "key", .type = ARG_KEY, .key_spec = 1},
    {.name = "decrement", .type = ARG_INTEGER},
    {0},
};

static const struct keySpec getKeys[] = {
    {.flags = KEY_RO | KEY_ACCESS, KEYS_AT(1), KEYS_RANGE(0, 1)},
};

static const struct keySpec getdelKeys[] = {
    {.flags = KEY_RW | KEY_ACCESS | KEY_DELETE, KEYS_AT(1), KEYS_RANGE(0, 1)},
};

static const struct commandArg getexArgs_expiration[] = {
    {.name = "seconds", .type = ARG_INTEGER, .token = "EX"},
    {.name = "milliseconds", .type = ARG_INTEGER, .token = "PX"},
    {.name = "unix-time-seconds", .type = ARG_UNIX_TIME, .token = "EXAT"},
    {.name = "unix-time-milliseconds", .type = ARG_UNIX_TIME, .token = "PXAT"},
    {.name = "persist", .type = ARG_PURE_TOKEN, .token = "PERSIST"},
    {0},
};

static const struct commandArg getexArgs[] = {
    {.name = "key", .type = ARG_KEY, .key_spec = 1},
    {.name = "expiration", .type = ARG_ONEOF, .flags = ARG_OPTIONAL, .args = getexArgs_expiration},
    {0},
};

static const struct commandArg getrangeArgs[] = {
    {.name = "key", .type = ARG_KEY, .key_spec = 1},
    {.name = "start", .type = ARG_INTEGER},
    {.name = "end", .type = ARG_INTEGER},
    {0},
};

static const struct commandArg incrbyArgs[] = {
    {.name = "key", .type = ARG_KEY, .key_spec = 1},
    {.name = "increment", .type = ARG_INTEGER},
    {0},
};

static const struct commandArg incrbyfloatArgs[] = {
    {.name = "key", .type = ARG_KEY, .key_spec = 1},
    {.name = "increment", .type = ARG_DOUBLE},
    {0},
};

static const char *const mgetTips[] = {"request_policy:multi_shard", NULL};

static const struct keySpec mgetKeys[] = {
    {.flags = KEY_RO | KEY_ACCESS, KEYS_AT(1), KEYS_RANGE(-1, 1)},
};

static const struct commandArg mgetArgs[] = {
    {.name = "key", .type = ARG_KEY, .key_spec = 1, .flags = ARG_MULTIPLE},
    {0},
};

static const char *const msetTips[] = {"request_policy:multi_shard", "response_policy:all_succeeded", NULL};

static const struct keySpec msetKeys[] = {
    {.flags = KEY_OW | KEY_UPDATE, KEYS_AT(1), KEYS_RANGE(-1, 2)},
};

static const struct commandArg msetArgs[] = {
    {.name = "data", .type = ARG_BLOCK, .flags = ARG_MULTIPLE, .args = appendArgs},
    {0},
};

static const struct keySpec msetnxKeys[] = {
    {.flags = KEY_OW | KEY_INSERT, KEYS_AT(1), KEYS_RANGE(-1, 2)},
};

static const struct keySpec delifeqKeys[] = {
    {.flags = KEY_RM | KEY_DELETE, KEYS_AT(1), KEYS_RANGE(0, 1)},
};

static const struct keySpec getexKeys[] = {
    {.notes = "Its expiry may change.",
     .flags = KEY_RW | KEY_ACCESS | KEY_UPDATE,
     KEYS_AT(1),
     KEYS_RANGE(0, 1)},
};

static const struct keySpec lcsKeys[] = {
    {.flags = KEY_RO | KEY_ACCESS, KEYS_AT(1), KEYS_RANGE(1, 1)},
};

static const struct commandArg lcsArgs[] = {
    {.name = "key1", .type = ARG_KEY, .key_spec = 1},
    {.name = "key2", .type = ARG_KEY, .key_spec = 1},
    {.name = "len", .type = ARG_PURE_TOKEN, .token = "LEN", .flags = ARG_OPTIONAL},
    {.name = "idx", .type = ARG_PURE_TOKEN, .token = "IDX", .flags = ARG_OPTIONAL},
    {.name = "min-match-len", .type = ARG_INTEGER, .token = "MINMATCHLEN", .flags = ARG_OPTIONAL},
    {.name = "withmatchlen", .type = ARG_PURE_TOKEN, .token = "WITHMATCHLEN", .flags = ARG_OPTIONAL},
    {0},
};

static const struct keySpec msetexKeys[] = {
    {.flags = KEY_OW | KEY_UPDATE,
     KEYS_AT(1),
     .find = KEYS_FIND_KEYNUM,
     .keynumidx = 0,
     .firstkey = 1,
     .keynum_step = 2},
};

static const struct commandArg msetexArgs_condition[] = {
    {.name = "nx", .type = ARG_PURE_TOKEN, .token = "NX"},
    {.name = "xx", .type = ARG_PURE_TOKEN, .token = "XX"},
    {0},
};

static const struct commandArg msetexArgs_expiration[] = {
    {.name = "seconds", .type = ARG_INTEGER, .token = "EX"},
    {.name = "milliseconds", .type = ARG_INTEGER, .token = "PX"},
    {.name = "unix-time-seconds", .type = ARG_UNIX_TIME, .token = "EXAT"},
    {.name = "unix-time-milliseconds", .type = ARG_UNIX_TIME, .token = "PXAT"},
    {.name = "keepttl", .type = ARG_PURE_TOKEN, .token = "KEEPTTL"},
    {0},
};

static const struct commandArg msetexArgs[] = {
    {.name = "numkeys", .type = ARG_INTEGER},
    {.name = "data", .type = ARG_BLOCK, .flags = ARG_MULTIPLE, .args = appendArgs},
    {.name = "condition", .type = ARG_ONEOF, .flags = ARG_OPTIONAL, .args = msetexArgs_condition},
    {.name = "expiration", .type = ARG_ONEOF, .flags = ARG_OPTIONAL, .args = msetexArgs_expiration},
    {0},
};

static const struct keySpec psetexKeys[] = {
    {.flags = KEY_OW | KEY_UPDATE, KEYS_AT(1), KEYS_RANGE(0, 1)},
};

static const struct commandArg psetexArgs[] = {
    {.name = "key", .type = ARG_KEY, .key_spec = 1},
    {.name = "milliseconds", .type = ARG_INTEGER},
    {.name = "value", .type = ARG_STRING},
    {0},
};

static const struct keySpec setKeys[] = {
    {.notes = "Read, too, where GET is given.",
     .flags = KEY_RW | KEY_ACCESS | KEY_UPDATE | KEY_VARIABLE_FLAGS,
     KEYS_AT(1),
     KEYS_RANGE(0, 1)},
};

static const struct commandArg setArgs_condition[] = {
    {.name = "nx", .type = ARG_PURE_TOKEN, .token = "NX", .since = "2.6.12"},
    {.name = "xx", .type = ARG_PURE_TOKEN, .token = "XX", .since = "2.6.12"},
    {.name = "comparison-value",
     .type = ARG_STRING,
     .token = "IFEQ",
     .since = "8.1.0",
     .summary = "Only when this is the present value."},
    {0},
};

static const struct commandArg setArgs_expiration[] = {
    {.name = "seconds", .type = ARG_INTEGER, .token = "EX", .since = "2.6.12"},
    {.name = "milliseconds", .type = ARG_INTEGER, .token = "PX", .since = "2.6.12"},
    {.name = "unix-time-seconds", .type = ARG_UNIX_TIME, .token = "EXAT", .since = "6.2.0"},
    {.name = "unix-time-milliseconds", .type = ARG_UNIX_TIME, .token = "PXAT", .since = "6.2.0"},
    {.name = "keepttl", .type = ARG_PURE_TOKEN, .token = "KEEPTTL", .since = "6.0.0"},
    {0},
};

static const struct commandArg setArgs[] = {
    {.name = "key", .type = ARG_KEY, .key_spec = 1},
    {.name = "value", .type = ARG_STRING},
    {.name = "condition", .type = ARG_ONEOF, .flags = ARG_OPTIONAL, .args = setArgs_condition},
    {.name = "get", .type = ARG_PURE_TOKEN, .token = "GET", .since = "6.2.0", .flags = ARG_OPTIONAL},
    {.name = "expiration", .type = ARG_ONEOF, .flags = ARG_OPTIONAL, .args = setArgs_expiration},
    {0},
};

static const struct commandArg setexArgs[] = {
    {.name = "key", .type = ARG_KEY, .key_spec = 1},
    {.name = "seconds", .type = ARG_INTEGER},
    {.name = "value", .type = ARG_STRING},
    {0},
};

static const struct keySpec setnxKeys[] = {
    {.flags = KEY_OW | KEY_INSERT, KEYS_AT(1), KEYS_RANGE(0, 1)},
};

static const struct keySpec setrangeKeys[] = {
    {.flags = KEY_RW | KEY_UPDATE, KEYS_AT(1), KEYS_RANGE(0, 1)},
};

static const struct commandArg setrangeArgs[] = {
    {.name = "key", .type = ARG_KEY, .key_spec = 1},
    {.name = "offset", .type = ARG_INTEGER},
    {.name = "value", .type = ARG_STRING},
    {0},
};

static const struct keySpec strlenKeys[] = {
    {.flags = KEY_RO, KEYS_AT(1), KEYS_RANGE(0, 1)},
};

const struct commandSpec commandsString[] = {
    {.name = "append",
     .summary = "Append to the string at a key.",
     .complexity = "O(1) amortized",
     .since = "2.0.0",
     .group = "string",
     .proc = appendCommand,
     .arity = 3,
     .flags = CMD_WRITE | CMD_DENYOOM | CMD_FAST,
     .acl = ACL_STRING,
     .key_specs = appendKeys,
     .key_spec_count = 1,
     .args = appendArgs},
    {.name = "decr",
     .summary = "Subtract one from the integer at a key.",
     .complexity = "O(1)",
     .since = "1.0.0",
     .group = "string",
     .proc = decrCommand,
     .arity = 2,
     .flags = CMD_WRITE | CMD_DENYOOM | CMD_FAST,
     .acl = ACL_STRING,
     .key_specs = decrKeys,
     .key_spec_count = 1,
     .args = decrArgs},
    {.name = "decrby",
     .summary = "Subtract from the integer at a key.",
     .complexity = "O(1)",
     .since = "1.0.0",
     .group = "string",
     .proc = decrbyCommand,
     .arity = 3,
     .flags = CMD_WRITE | CMD_DENYOOM | CMD_FAST,
     .acl = ACL_STRING,
     .key_specs = decrKeys,
     .key_spec_count = 1,
     .args = decrbyArgs},
    {.name = "delifeq",
     .summary = "Delete a string if it has the value given.",
     .complexity = "O(1)",
     .since = "9.0.0",
     .group = "string",
     .proc = delifeqCommand,
     .arity = 3,
     .flags = CMD_WRITE | CMD_FAST,
     .acl = ACL_STRING,
     .key_specs = delifeqKeys,
     .key_spec_count = 1,
     .args = appendArgs},
    {.name = "get",
     .summary = "The string at a key.",
     .complexity = "O(1)",
     .since = "1.0.0",
     .group = "string",
     .proc = getCommand,
     .arity = 2,
     .flags = CMD_READONLY | CMD_FAST,
     .acl = ACL_STRING,
     .key_specs = getKeys,
     .key_spec_count = 1,
     .args = decrArgs},
    {.name = "getdel",
     .summary = "The string at a key, which is then deleted.",
     .complexity = "O(1)",
     .since = "6.2.0",
     .group = "string",
     .proc = getdelCommand,
     .arity = 2,
     .flags = CMD_WRITE | CMD_FAST,
     .acl = ACL_STRING,
     .key_specs = getdelKeys,
     .key_spec_count = 1,
     .args = decrArgs},
    {.name = "getex",
     .summary = "The string at a key, whose expiry is then changed.",
     .complexity = "O(1)",
     .since = "6.2.0",
     .group = "string",
     .proc = getexCommand,
     .arity = -2,
     .flags = CMD_WRITE | CMD_FAST,
     .acl = ACL_STRING,
     .key_specs = getexKeys,
     .key_spec_count = 1,
     .args = getexArgs},
    {.name = "getrange",
     .summary = "A part of the string at a key.",
     .complexity = "O(n) in the length of the part",
     .since = "2.4.0",
     .group = "string",
     .proc = getrangeCommand,
     .arity = 4,
     .flags = CMD_READONLY,
     .acl = ACL_STRING,
     .key_specs = getKeys,
     .key_spec_count = 1,
     .args = getrangeArgs},
    {.name = "getset",
     .summary = "Store a string and answer the previous one.",
     .complexity = "O(1)",
     .since = "1.0.0",
     .group = "string",
     .proc = getsetCommand,
     .arity = 3,
     .flags = CMD_WRITE | CMD_DENYOOM | CMD_FAST,
     .acl = ACL_STRING,
     .key_specs = decrKeys,
     .key_spec_count = 1,
     .args = appendArgs},
    {.name = "incr",
     .summary = "Add one to the integer at a key.",
     .complexity = "O(1)",
     .since = "1.0.0",
     .group = "string",
     .proc = incrCommand,
     .arity = 2,
     .flags = CMD_WRITE | CMD_DENYOOM | CMD_FAST,
     .acl = ACL_STRING,
     .key_specs = decrKeys,
     .key_spec_count = 1,
     .args = decrArgs},
    {.name = "incrby",
     .summary = "Add to the integer at a key.",
     .complexity = "O(1)",
     .since = "1.0.0",
     .group = "string",
     .proc = incrbyCommand,
     .arity = 3,
     .flags = CMD_WRITE | CMD_DENYOOM | CMD_FAST,
     .acl = ACL_STRING,
     .key_specs = decrKeys,
     .key_spec_count = 1,
     .args = incrbyArgs},
    {.name = "incrbyfloat",
     .summary = "Add to the floating-point number at a key.",
     .complexity = "O(1)",
     .since = "2.6.0",
     .group = "string",
     .proc = incrbyfloatCommand,
     .arity = 3,
     .flags = CMD_WRITE | CMD_DENYOOM | CMD_FAST,
     .acl = ACL_STRING,
     .key_specs = decrKeys,
     .key_spec_count = 1,
     .args = incrbyfloatArgs},
    {.name = "lcs",
     .summary = "The longest text common to two strings, bytes left out of both.",
     .complexity = "O(n * m) in the lengths of the two",
     .since = "7.0.0",
     .group = "string",
     .proc = lcsCommand,
     .arity = -3,
     .flags = CMD_READONLY,
     .acl = ACL_STRING,
     .key_specs = lcsKeys,
     .key_spec_count = 1,
     .args = lcsArgs},
    {.name = "mget",
     .summary = "The strings at several keys.",
     .complexity = "O(n) in the number of keys",
     .since = "1.0.0",
     .group = "string",
     .proc = mgetCommand,
     .arity = -2,
     .flags = CMD_READONLY | CMD_FAST,
     .acl = ACL_STRING,
     .prefetch = PREFETCH_WHOLE,
     .tips = mgetTips,
     .key_specs = mgetKeys,
     .key_spec_count = 1,
     .args = mgetArgs},
    {.name = "mset",
     .summary = "Store several strings in one step.",
     .complexity = "O(n) in the number of keys",
     .since = "1.0.1",
     .group = "string",
     .proc = msetCommand,
     .arity = -3,
     .flags = CMD_WRITE | CMD_DENYOOM,
     .acl = ACL_STRING,
     .tips = msetTips,
     .key_specs = msetKeys,
     .key_spec_count = 1,
     .args = msetArgs},
    {.name = "msetex",
     .summary = "Store several strings with one expiry, when all or none of the keys exist.",
     .complexity = "O(n) in the number of keys",
     .since = "9.1.0",
     .group = "string",
     .proc = msetexCommand,
     .arity = -4,
     .flags = CMD_WRITE | CMD_DENYOOM,
     .acl = ACL_STRING,
     .tips = msetTips,
     .key_specs = msetexKeys,
     .key_spec_count = 1,
     .args = msetexArgs},
    {.name = "msetnx",
     .summary = "Store several strings, but only if none of the keys exists.",
     .complexity = "O(n) in the number of keys",
     .since = "1.0.1",
     .group = "string",
     .proc = msetnxCommand,
     .arity = -3,
     .flags = CMD_WRITE | CMD_DENYOOM,
     .acl = ACL_STRING,
     .key_specs = msetnxKeys,
     .key_spec_count = 1,
     .args = msetArgs},
    {.name = "psetex",
     .summary = "Store a string that expires after some milliseconds.",
     .complexity = "O(1)",
     .since = "2.6.0",
     .group = "string",
     .proc = psetexCommand,
     .arity = 4,
     .flags = CMD_WRITE | CMD_DENYOOM,
     .acl = ACL_STRING,
     .key_specs = psetexKeys,
     .key_spec_count = 1,
     .args = psetexArgs},
    {.name = "set",
     .summary = "Store a string, whatever was at the key before.",
     .complexity = "O(1)",
     .since = "1.0.0",
     .group = "string",
     .history = HISTORY({"2.6.12", "`EX`, `PX`, `NX` and `XX`."}, {"6.0.0", "`KEEPTTL`."},
                        {"6.2.0", "`GET`, `EXAT` and `PXAT`."}, {"7.0.0", "`NX` together with `GET`."},
                        {"8.1.0", "`IFEQ`."}),
     .proc = setCommand,
     .arity = -3,
     .flags = CMD_WRITE | CMD_DENYOOM,
     .acl = ACL_STRING,
     .key_specs = setKeys,
     .key_spec_count = 1,
     .getkeys = setGetKeys,
     .args = setArgs},
    {.name = "setex",
     .summary = "Store a string that expires after some seconds.",
     .complexity = "O(1)",
     .since = "2.0.0",
     .group = "string",
     .proc = setexCommand,
     .arity = 4,
     .flags = CMD_WRITE | CMD_DENYOOM,
     .acl = ACL_STRING,
     .key_specs = psetexKeys,
     .key_spec_count = 1,
     .args = setexArgs},
    {.name = "setnx",
     .summary = "Store a string unless the key exists.",
     .complexity = "O(1)",
     .since = "1.0.0",
     .group = "string",
     .proc = setnxCommand,
     .arity = 3,
     .flags = CMD_WRITE | CMD_DENYOOM | CMD_FAST,
     .acl = ACL_STRING,
     .key_specs = setnxKeys,
     .key_spec_count = 1,
     .args = appendArgs},
    {.name = "setrange",
     .summary = "Overwrite a part of the string at a key.",
     .complexity = "O(n) in the length written",
     .since = "2.2.0",
     .group = "string",
     .proc = setrangeCommand,
     .arity = 4,
     .flags = CMD_WRITE | CMD_DENYOOM,
     .acl = ACL_STRING,
     .key_specs = setrangeKeys,
     .key_spec_count = 1,
     .args = setrangeArgs},
    {.name = "strlen",
     .summary = "The length of the string at a key.",
     .complexity = "O(1)",
     .since = "2.2.0",
     .group = "string",
     .proc = strlenCommand,
     .arity = 2,
     .flags = CMD_READONLY | CMD_FAST,
     .acl = ACL_STRING,
     .key_specs = strlenKeys,
     .key_spec_count = 1,
     .args = decrArgs},
    {.name = "substr",
     .summary = "A part of the string at a key.",
     .complexity = "O(n) in the length of the part",
     .since = "1.0.0",
     .group = "string",
     .proc = substrCommand,
     .arity = 4,
     .flags = CMD_READONLY,
     .acl = ACL_STRING,
     .key_specs = getKeys,
     .key_spec_count = 1,
     .args = getrangeArgs},
    {0},
};
