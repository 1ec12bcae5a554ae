/* SPDX-License-Identifier: BSD-3-Clause */
/* cmd_sort.c - SORT and SORT_RO, of the generic group. */
#include "commands/cmd_sort.h"

#include "commands/cmd_grammar.h"

static const struct commandArg sortArgs_limit[] = {
    {.name = "offset", .type = ARG_INTEGER},
    {.name = "count", .type = ARG_INTEGER},
    {0},
};

static const struct commandArg sortArgs_order[] = {
    {.name = "asc", .type = ARG_PURE_TOKEN, .token = "ASC"},
    {.name = "desc", .type = ARG_PURE_TOKEN, .token = "DESC"},
    {0},
};

static const struct commandArg sortArgs[] = {
    {.name = "key", .type = ARG_KEY, .key_spec = 1},
    {.name = "by-pattern",
     .type = ARG_PATTERN,
     .display = "pattern",
     .key_spec = 2,
     .token = "BY",
     .flags = ARG_OPTIONAL},
    {.name = "limit", .type = ARG_BLOCK, .token = "LIMIT", .flags = ARG_OPTIONAL, .args = sortArgs_limit},
    {.name = "get-pattern",
     .display = "pattern",
     .type = ARG_PATTERN,
     .key_spec = 2,
     .token = "GET",
     .flags = ARG_OPTIONAL | ARG_MULTIPLE | ARG_MULTIPLE_TOKEN},
    {.name = "order", .type = ARG_ONEOF, .flags = ARG_OPTIONAL, .args = sortArgs_order},
    {.name = "sorting", .type = ARG_PURE_TOKEN, .token = "ALPHA", .flags = ARG_OPTIONAL},
    {.name = "destination", .type = ARG_KEY, .key_spec = 3, .token = "STORE", .flags = ARG_OPTIONAL},
    {0},
};

static const struct commandArg sortRoArgs[] = {
    {.name = "key", .type = ARG_KEY, .key_spec = 1},
    {.name = "by-pattern",
     .type = ARG_PATTERN,
     .display = "pattern",
     .key_spec = 2,
     .token = "BY",
     .flags = ARG_OPTIONAL},
    {.name = "limit", .type = ARG_BLOCK, .token = "LIMIT", .flags = ARG_OPTIONAL, .args = sortArgs_limit},
    {.name = "get-pattern",
     .display = "pattern",
     .type = ARG_PATTERN,
     .key_spec = 2,
     .token = "GET",
     .flags = ARG_OPTIONAL | ARG_MULTIPLE | ARG_MULTIPLE_TOKEN},
    {.name = "order", .type = ARG_ONEOF, .flags = ARG_OPTIONAL, .args = sortArgs_order},
    {.name = "sorting", .type = ARG_PURE_TOKEN, .token = "ALPHA", .flags = ARG_OPTIONAL},
    {0},
};

const struct commandSpec commandsSort[] = {
    {.name = "sort",
     .summary = "Sort the elements of a list, set or sorted set; optionally store them.",
     .complexity = "O(n+m*log m), n elements, m answered",
     .since = "1.0.0",
     .group = "generic",
     .proc = sortCommand,
     .arity = -2,
     .flags = CMD_WRITE | CMD_DENYOOM,
     .acl = ACL_SET | ACL_SORTEDSET | ACL_LIST | ACL_DANGEROUS,
     KEYS({.flags = KEY_RO | KEY_ACCESS, KEY_AT(1)},
          {.flags = KEY_RO | KEY_ACCESS,
           .notes = "What BY and GET read: the names are made of elements of the key.",
           .begin = KEYS_BEGIN_UNKNOWN,
           .find = KEYS_FIND_UNKNOWN},
          {.flags = KEY_OW | KEY_UPDATE,
           .notes = "What STORE writes: it may stand anywhere behind the key.",
           .begin = KEYS_BEGIN_UNKNOWN,
           .find = KEYS_FIND_UNKNOWN}),
     .getkeys = sortGetKeys,
     .args = sortArgs},
    {.name = "sort_ro",
     .summary = "Sort the elements of a list, set or sorted set.",
     .complexity = "O(n+m*log m), n elements, m answered",
     .since = "7.0.0",
     .group = "generic",
     .proc = sortRoCommand,
     .arity = -2,
     .flags = CMD_READONLY | CMD_PARALLEL_READ,
     .acl = ACL_SET | ACL_SORTEDSET | ACL_LIST | ACL_DANGEROUS,
     KEYS({.flags = KEY_RO | KEY_ACCESS, KEY_AT(1)},
          {.flags = KEY_RO | KEY_ACCESS,
           .notes = "What BY and GET read: the names are made of elements of the key.",
           .begin = KEYS_BEGIN_UNKNOWN,
           .find = KEYS_FIND_UNKNOWN}),
     .args = sortRoArgs},
    {0},
};
