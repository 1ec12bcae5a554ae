/* SPDX-License-Identifier: BSD-3-Clause */
/* cmd_replication.c - commands by which one server follows another, and by which clients wait for that. */
#include "commands/cmd_replication.h"

#include "commands/cmd_grammar.h"

static const struct commandArg failoverArgs_target[] = {
    {.name = "host", .type = ARG_STRING},
    {.name = "port", .type = ARG_INTEGER},
    {.name = "force", .type = ARG_PURE_TOKEN, .token = "FORCE", .flags = ARG_OPTIONAL},
    {0},
};

static const struct commandArg failoverArgs[] = {
    {.name = "target", .type = ARG_BLOCK, .token = "TO", .flags = ARG_OPTIONAL, .args = failoverArgs_target},
    {.name = "abort", .type = ARG_PURE_TOKEN, .token = "ABORT", .flags = ARG_OPTIONAL},
    {.name = "milliseconds", .type = ARG_INTEGER, .token = "TIMEOUT", .flags = ARG_OPTIONAL},
    {0},
};

static const struct commandArg replicaofArgs_args_host_port[] = {
    {.name = "host", .type = ARG_STRING},
    {.name = "port", .type = ARG_INTEGER},
    {0},
};

static const struct commandArg replicaofArgs_args_no_one[] = {
    {.name = "no", .type = ARG_PURE_TOKEN, .token = "NO"},
    {.name = "one", .type = ARG_PURE_TOKEN, .token = "ONE"},
    {0},
};

static const struct commandArg replicaofArgs_args[] = {
    {.name = "host-port", .type = ARG_BLOCK, .args = replicaofArgs_args_host_port},
    {.name = "no-one", .type = ARG_BLOCK, .args = replicaofArgs_args_no_one},
    {0},
};

const struct commandSpec commandsReplication[] = {
    {.name = "failover",
     .summary = "Hand the role of primary over to a replica, without losing a write.",
     .complexity = "O(1)",
     .since = "6.2.0",
     .group = "server",
     .proc = failoverCommand,
     .arity = -1,
     .flags = CMD_ADMIN | CMD_NOSCRIPT | CMD_STALE,
     .args = failoverArgs},
    {.name = "psync",
     .summary = "Start replication from this server, at a given offset if its backlog still has it.",
     .since = "2.8.0",
     .group = "server",
     .proc = psyncCommand,
     .arity = -3,
     .flags = CMD_MAIN_THREAD | CMD_NO_ASYNC_LOADING | CMD_ADMIN | CMD_NO_MULTI | CMD_NOSCRIPT,
     .args = ARGS({.name = "replicationid", .type = ARG_STRING}, {.name = "offset", .type = ARG_INTEGER})},
    {.name = "replconf",
     .summary = "Used between a replica and its primary.",
     .complexity = "O(1)",
     .since = "3.0.0",
     .group = "server",
     .doc_flags = CMD_DOC_SYSCMD,
     .proc = replconfCommand,
     .arity = -1,
     .flags = CMD_MAIN_THREAD | CMD_ADMIN | CMD_NOSCRIPT | CMD_LOADING | CMD_STALE | CMD_ALLOW_BUSY},
    {.name = "replicaof",
     .summary = "Make this server a replica of another, or a primary again.",
     .complexity = "O(1)",
     .since = "5.0.0",
     .group = "server",
     .proc = replicaofCommand,
     .arity = 3,
     .flags = CMD_NO_ASYNC_LOADING | CMD_ADMIN | CMD_NOSCRIPT | CMD_STALE,
     .args = ARGS({.name = "args", .type = ARG_ONEOF, .args = replicaofArgs_args})},
    {.name = "slaveof",
     .summary = "Make this server a replica of another, or a primary again.",
     .complexity = "O(1)",
     .since = "1.0.0",
     .group = "server",
     .deprecated_since = "5.0.0",
     .replaced_by = "`REPLICAOF`",
     .doc_flags = CMD_DOC_DEPRECATED,
     .proc = replicaofCommand,
     .arity = 3,
     .flags = CMD_NO_ASYNC_LOADING | CMD_ADMIN | CMD_NOSCRIPT | CMD_STALE,
     .args = ARGS({.name = "args", .type = ARG_ONEOF, .args = replicaofArgs_args})},
    {.name = "sync",
     .summary = "Start replication from this server.",
     .since = "1.0.0",
     .group = "server",
     .proc = syncCommand,
     .arity = 1,
     .flags = CMD_MAIN_THREAD | CMD_NO_ASYNC_LOADING | CMD_ADMIN | CMD_NO_MULTI | CMD_NOSCRIPT},
    {.name = "wait",
     .summary = "Wait until replicas have received the writes of this connection.",
     .complexity = "O(1)",
     .since = "3.0.0",
     .group = "generic",
     .proc = waitCommand,
     .arity = 3,
     .flags = CMD_BLOCKING,
     .acl = ACL_CONNECTION,
     .tips = TIPS("request_policy:all_shards", "response_policy:agg_min"),
     .args = ARGS({.name = "numreplicas", .type = ARG_INTEGER}, {.name = "timeout", .type = ARG_INTEGER})},
    {.name = "waitaof",
     .summary =
         "Wait until what this connection has written is safe in append-only files: here, and of replicas.",
     .complexity = "O(1)",
     .since = "7.2.0",
     .group = "generic",
     .proc = waitaofCommand,
     .arity = 4,
     .flags = CMD_BLOCKING,
     .acl = ACL_CONNECTION,
     .tips = TIPS("request_policy:all_shards", "response_policy:agg_min"),
     .args = ARGS({.name = "numlocal", .type = ARG_INTEGER}, {.name = "numreplicas", .type = ARG_INTEGER},
                  {.name = "timeout", .type = ARG_INTEGER})},
    {0},
};
