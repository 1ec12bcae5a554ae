/* SPDX-License-Identifier: BSD-3-Clause */
/* cmd_bitmap.c - the bitmap commands. */
#include "commands/cmd_bitmap.h"

#include "commands/cmd_grammar.h"

static const struct commandArg bitcountArgs_range_end_unit_block_unit[] = {
    {.name = "byte", .type = ARG_PURE_TOKEN, .token = "BYTE"},
    {.name = "bit", .type = ARG_PURE_TOKEN, .token = "BIT"},
    {0},
};

static const struct commandArg bitcountArgs_range_end_unit_block[] = {
    {.name = "end", .type = ARG_INTEGER},
    {.name = "unit",
     .type = ARG_ONEOF,
     .since = "7.0.0",
     .flags = ARG_OPTIONAL,
     .args = bitcountArgs_range_end_unit_block_unit},
    {0},
};

static const struct commandArg bitcountArgs_range[] = {
    {.name = "start", .type = ARG_INTEGER},
    {.name = "end-unit-block",
     .type = ARG_BLOCK,
     .flags = ARG_OPTIONAL,
     .args = bitcountArgs_range_end_unit_block},
    {0},
};

static const struct commandArg bitfieldArgs_operation_get_block[] = {
    {.name = "encoding", .type = ARG_STRING},
    {.name = "offset", .type = ARG_INTEGER},
    {0},
};

static const struct commandArg bitfieldArgs_operation_write_overflow_block[] = {
    {.name = "wrap", .type = ARG_PURE_TOKEN, .token = "WRAP"},
    {.name = "sat", .type = ARG_PURE_TOKEN, .token = "SAT"},
    {.name = "fail", .type = ARG_PURE_TOKEN, .token = "FAIL"},
    {0},
};

static const struct commandArg bitfieldArgs_operation_write_write_operation_set_block[] = {
    {.name = "encoding", .type = ARG_STRING},
    {.name = "offset", .type = ARG_INTEGER},
    {.name = "value", .type = ARG_INTEGER},
    {0},
};

static const struct commandArg bitfieldArgs_operation_write_write_operation_incrby_block[] = {
    {.name = "encoding", .type = ARG_STRING},
    {.name = "offset", .type = ARG_INTEGER},
    {.name = "increment", .type = ARG_INTEGER},
    {0},
};

static const struct commandArg bitfieldArgs_operation_write_write_operation[] = {
    {.name = "set-block",
     .type = ARG_BLOCK,
     .token = "SET",
     .args = bitfieldArgs_operation_write_write_operation_set_block},
    {.name = "incrby-block",
     .type = ARG_BLOCK,
     .token = "INCRBY",
     .args = bitfieldArgs_operation_write_write_operation_incrby_block},
    {0},
};

static const struct commandArg bitfieldArgs_operation_write[] = {
    {.name = "overflow-block",
     .type = ARG_ONEOF,
     .token = "OVERFLOW",
     .flags = ARG_OPTIONAL,
     .args = bitfieldArgs_operation_write_overflow_block},
    {.name = "write-operation", .type = ARG_ONEOF, .args = bitfieldArgs_operation_write_write_operation},
    {0},
};

static const struct commandArg bitfieldArgs_operation[] = {
    {.name = "get-block", .type = ARG_BLOCK, .token = "GET", .args = bitfieldArgs_operation_get_block},
    {.name = "write", .type = ARG_BLOCK, .args = bitfieldArgs_operation_write},
    {0},
};

static const struct commandArg bitfieldRoArgs[] = {
    {.name = "key", .type = ARG_KEY, .key_spec = 1},
    {.name = "get-block",
     .type = ARG_BLOCK,
     .token = "GET",
     .flags = ARG_OPTIONAL | ARG_MULTIPLE | ARG_MULTIPLE_TOKEN,
     .args = bitfieldArgs_operation_get_block},
    {0},
};

static const struct commandArg bitopArgs_operation[] = {
    {.name = "and", .type = ARG_PURE_TOKEN, .token = "AND"},
    {.name = "or", .type = ARG_PURE_TOKEN, .token = "OR"},
    {.name = "xor", .type = ARG_PURE_TOKEN, .token = "XOR"},
    {.name = "not", .type = ARG_PURE_TOKEN, .token = "NOT"},
    {.name = "diff", .type = ARG_PURE_TOKEN, .token = "DIFF"},
    {.name = "diff1", .type = ARG_PURE_TOKEN, .token = "DIFF1"},
    {.name = "andor", .type = ARG_PURE_TOKEN, .token = "ANDOR"},
    {.name = "one", .type = ARG_PURE_TOKEN, .token = "ONE"},
    {0},
};

const struct commandSpec commandsBitmap[] = {
    {.name = "bitcount",
     .summary = "Count the bits that are set.",
     .complexity = "O(n) in the length of the range",
     .since = "2.6.0",
     .group = "bitmap",
     .history = HISTORY({"7.0.0", "`BYTE` and `BIT`: what the range counts."},
                        {"8.0.0", "The end of the range may be left out: the last byte."}),
     .proc = bitcountCommand,
     .arity = -2,
     .flags = CMD_READONLY | CMD_PARALLEL_READ,
     .acl = ACL_BITMAP,
     KEYS({.flags = KEY_RO | KEY_ACCESS, KEY_AT(1)}),
     .args = ARGS({.name = "key", .type = ARG_KEY, .key_spec = 1},
                  {.name = "range", .type = ARG_BLOCK, .flags = ARG_OPTIONAL, .args = bitcountArgs_range})},
    {.name = "bitfield",
     .summary = "Read, write and add integers of any width at bit offsets.",
     .complexity = "O(n) in the number of operations",
     .since = "3.2.0",
     .group = "bitmap",
     .proc = bitfieldCommand,
     .arity = -2,
     .flags = CMD_WRITE | CMD_DENYOOM,
     .acl = ACL_BITMAP,
     KEYS({.notes = "Some of its operations read, others write.",
           .flags = KEY_RW | KEY_UPDATE | KEY_ACCESS | KEY_VARIABLE_FLAGS,
           KEY_AT(1)}),
     .getkeys = bitfieldGetKeys,
     .args = ARGS({.name = "key", .type = ARG_KEY, .key_spec = 1}, {.name = "operation",
                                                                    .type = ARG_ONEOF,
                                                                    .flags = ARG_OPTIONAL | ARG_MULTIPLE,
                                                                    .args = bitfieldArgs_operation})},
    {.name = "bitfield_ro",
     .summary = "Read integers of any width at bit offsets.",
     .complexity = "O(n) in the number of operations",
     .since = "6.0.0",
     .group = "bitmap",
     .proc = bitfieldRoCommand,
     .arity = -2,
     .flags = CMD_READONLY | CMD_FAST | CMD_PARALLEL_READ,
     .acl = ACL_BITMAP,
     KEYS({.flags = KEY_RO | KEY_ACCESS, KEY_AT(1)}),
     .args = bitfieldRoArgs},
    {.name = "bitop",
     .summary = "Combine strings bit by bit and store the result.",
     .complexity = "O(n) in the length of the longest string",
     .since = "2.6.0",
     .group = "bitmap",
     .proc = bitopCommand,
     .arity = -4,
     .flags = CMD_WRITE | CMD_DENYOOM,
     .acl = ACL_BITMAP,
     KEYS({.flags = KEY_OW | KEY_UPDATE, KEY_AT(2)},
          {.flags = KEY_RO | KEY_ACCESS, KEYS_AT(3), KEYS_RANGE(-1, 1)}),
     .args = ARGS({.name = "operation", .type = ARG_ONEOF, .args = bitopArgs_operation},
                  {.name = "destkey", .type = ARG_KEY, .key_spec = 1},
                  {.name = "key", .type = ARG_KEY, .key_spec = 2, .flags = ARG_MULTIPLE})},
    {.name = "bitpos",
     .summary = "The first bit that is set, or clear.",
     .complexity = "O(n) in the length of the range",
     .since = "2.8.7",
     .group = "bitmap",
     .history = HISTORY({"7.0.0", "`BYTE` and `BIT`: what the range counts."}),
     .proc = bitposCommand,
     .arity = -3,
     .flags = CMD_READONLY | CMD_PARALLEL_READ,
     .acl = ACL_BITMAP,
     KEYS({.flags = KEY_RO | KEY_ACCESS, KEY_AT(1)}),
     .args = ARGS({.name = "key", .type = ARG_KEY, .key_spec = 1}, {.name = "bit", .type = ARG_INTEGER},
                  {.name = "range", .type = ARG_BLOCK, .flags = ARG_OPTIONAL, .args = bitcountArgs_range})},
    {.name = "getbit",
     .summary = "The bit at an offset.",
     .complexity = "O(1)",
     .since = "2.2.0",
     .group = "bitmap",
     .proc = getbitCommand,
     .arity = 3,
     .flags = CMD_READONLY | CMD_FAST | CMD_PARALLEL_READ,
     .acl = ACL_BITMAP,
     KEYS({.flags = KEY_RO | KEY_ACCESS, KEY_AT(1)}),
     .args = ARGS({.name = "key", .type = ARG_KEY, .key_spec = 1}, {.name = "offset", .type = ARG_INTEGER})},
    {.name = "setbit",
     .summary = "Set or clear the bit at an offset.",
     .complexity = "O(1)",
     .since = "2.2.0",
     .group = "bitmap",
     .proc = setbitCommand,
     .arity = 4,
     .flags = CMD_WRITE | CMD_DENYOOM,
     .acl = ACL_BITMAP,
     KEYS({.flags = KEY_RW | KEY_ACCESS | KEY_UPDATE, KEY_AT(1)}),
     .args = ARGS({.name = "key", .type = ARG_KEY, .key_spec = 1}, {.name = "offset", .type = ARG_INTEGER},
                  {.name = "value", .type = ARG_INTEGER})},
    {0},
};
