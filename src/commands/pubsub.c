/* SPDX-License-Identifier: BSD-3-Clause */
/* pubsub.c - the commands about channels: what clients, ACLs, clusters and COMMAND know about them.
 *
 * An entry names its handler, and the tables above the list hold what does not fit into a line: key specs,
 * arguments. A shard channel is placed in a cluster as a key is, so it is named by a key spec, which says
 * that it is none. */
#include "commands/pubsub.h"

#include "commands/grammar.h"

static const struct keySpec spublishKeys[] = {
    {.flags = KEY_NOT_KEY, KEYS_AT(1), KEYS_RANGE(0, 1)},
};

static const struct keySpec ssubscribeKeys[] = {
    {.flags = KEY_NOT_KEY, KEYS_AT(1), KEYS_RANGE(-1, 1)},
};

static const struct commandArg psubscribeArgs[] = {
    {.name = "pattern", .type = ARG_PATTERN, .flags = ARG_MULTIPLE},
    {0},
};

static const struct commandArg publishArgs[] = {
    {.name = "channel", .type = ARG_STRING},
    {.name = "message", .type = ARG_STRING},
    {0},
};

static const struct commandArg pubsubChannelsArgs[] = {
    {.name = "pattern", .type = ARG_PATTERN, .flags = ARG_OPTIONAL},
    {0},
};

static const struct commandArg pubsubNumsubArgs[] = {
    {.name = "channel", .type = ARG_STRING, .flags = ARG_OPTIONAL | ARG_MULTIPLE},
    {0},
};

static const struct commandArg pubsubShardnumsubArgs[] = {
    {.name = "shardchannel", .type = ARG_STRING, .flags = ARG_OPTIONAL | ARG_MULTIPLE},
    {0},
};

static const struct commandArg punsubscribeArgs[] = {
    {.name = "pattern", .type = ARG_PATTERN, .flags = ARG_OPTIONAL | ARG_MULTIPLE},
    {0},
};

static const struct commandArg spublishArgs[] = {
    {.name = "shardchannel", .type = ARG_STRING},
    {.name = "message", .type = ARG_STRING},
    {0},
};

static const struct commandArg ssubscribeArgs[] = {
    {.name = "shardchannel", .type = ARG_STRING, .flags = ARG_MULTIPLE},
    {0},
};

static const struct commandArg subscribeArgs[] = {
    {.name = "channel", .type = ARG_STRING, .flags = ARG_MULTIPLE},
    {0},
};

static const struct commandSpec pubsubSubcommands[] = {
    {.name = "channels",
     .summary = "List the channels that somebody listens to.",
     .complexity = "O(N) for N channels",
     .since = "2.8.0",
     .group = "pubsub",
     .proc = pubsubChannelsCommand,
     .arity = -2,
     .flags = CMD_PUBSUB | CMD_LOADING | CMD_STALE,
     .args = pubsubChannelsArgs},
    {.name = "help",
     .summary = "Describe the subcommands.",
     .complexity = "O(1)",
     .since = "6.2.0",
     .group = "pubsub",
     .proc = pubsubHelpCommand,
     .arity = 2,
     .flags = CMD_LOADING | CMD_STALE},
    {.name = "numpat",
     .summary = "Count the different patterns that somebody listens to.",
     .complexity = "O(1)",
     .since = "2.8.0",
     .group = "pubsub",
     .proc = pubsubNumpatCommand,
     .arity = 2,
     .flags = CMD_PUBSUB | CMD_LOADING | CMD_STALE},
    {.name = "numsub",
     .summary = "Count the subscribers of channels.",
     .complexity = "O(N) for N channels asked for",
     .since = "2.8.0",
     .group = "pubsub",
     .proc = pubsubNumsubCommand,
     .arity = -2,
     .flags = CMD_PUBSUB | CMD_LOADING | CMD_STALE,
     .args = pubsubNumsubArgs},
    {.name = "shardchannels",
     .summary = "List the shard channels that somebody listens to.",
     .complexity = "O(N) for N shard channels",
     .since = "7.0.0",
     .group = "pubsub",
     .proc = pubsubShardchannelsCommand,
     .arity = -2,
     .flags = CMD_PUBSUB | CMD_LOADING | CMD_STALE,
     .args = pubsubChannelsArgs},
    {.name = "shardnumsub",
     .summary = "Count the subscribers of shard channels.",
     .complexity = "O(N) for N shard channels asked for",
     .since = "7.0.0",
     .group = "pubsub",
     .proc = pubsubShardnumsubCommand,
     .arity = -2,
     .flags = CMD_PUBSUB | CMD_LOADING | CMD_STALE,
     .args = pubsubShardnumsubArgs},
    {0},
};

const struct commandSpec commandsPubsub[] = {
    {.name = "psubscribe",
     .summary = "Listen to all channels whose names match patterns.",
     .complexity = "O(N) for N patterns",
     .since = "2.0.0",
     .group = "pubsub",
     .proc = psubscribeCommand,
     .arity = -2,
     .flags = CMD_PUBSUB | CMD_NOSCRIPT | CMD_LOADING | CMD_STALE | CMD_SENTINEL,
     .args = psubscribeArgs},
    {.name = "publish",
     .summary = "Send a message to a channel.",
     .complexity = "O(N+M) for N subscribers of the channel and M patterns in use",
     .since = "2.0.0",
     .group = "pubsub",
     .proc = publishCommand,
     .arity = 3,
     .flags = CMD_PUBSUB | CMD_LOADING | CMD_STALE | CMD_FAST | CMD_MAY_REPLICATE | CMD_SENTINEL,
     .args = publishArgs},
    {.name = "pubsub",
     .summary = "Commands about channels and those who listen.",
     .complexity = "Depends on the subcommand",
     .since = "2.8.0",
     .group = "pubsub",
     .arity = -2,
     .subcommands = pubsubSubcommands},
    {.name = "punsubscribe",
     .summary = "Stop listening to patterns, or to all of them.",
     .complexity = "O(N) for N patterns",
     .since = "2.0.0",
     .group = "pubsub",
     .proc = punsubscribeCommand,
     .arity = -1,
     .flags = CMD_PUBSUB | CMD_NOSCRIPT | CMD_LOADING | CMD_STALE | CMD_SENTINEL,
     .args = punsubscribeArgs},
    {.name = "spublish",
     .summary = "Send a message to a shard channel.",
     .complexity = "O(N) for N subscribers of the channel",
     .since = "7.0.0",
     .group = "pubsub",
     .proc = spublishCommand,
     .arity = 3,
     .flags = CMD_PUBSUB | CMD_LOADING | CMD_STALE | CMD_FAST | CMD_MAY_REPLICATE,
     .key_specs = spublishKeys,
     .key_spec_count = 1,
     .args = spublishArgs},
    {.name = "ssubscribe",
     .summary = "Listen to shard channels.",
     .complexity = "O(N) for N shard channels",
     .since = "7.0.0",
     .group = "pubsub",
     .proc = ssubscribeCommand,
     .arity = -2,
     .flags = CMD_PUBSUB | CMD_NOSCRIPT | CMD_LOADING | CMD_STALE,
     .key_specs = ssubscribeKeys,
     .key_spec_count = 1,
     .args = ssubscribeArgs},
    {.name = "subscribe",
     .summary = "Listen to channels.",
     .complexity = "O(N) for N channels",
     .since = "2.0.0",
     .group = "pubsub",
     .proc = subscribeCommand,
     .arity = -2,
     .flags = CMD_PUBSUB | CMD_NOSCRIPT | CMD_LOADING | CMD_STALE | CMD_SENTINEL,
     .args = subscribeArgs},
    {.name = "sunsubscribe",
     .summary = "Stop listening to shard channels, or to all of them.",
     .complexity = "O(N) for N shard channels",
     .since = "7.0.0",
     .group = "pubsub",
     .proc = sunsubscribeCommand,
     .arity = -1,
     .flags = CMD_PUBSUB | CMD_NOSCRIPT | CMD_LOADING | CMD_STALE,
     .key_specs = ssubscribeKeys,
     .key_spec_count = 1,
     .args = pubsubShardnumsubArgs},
    {.name = "unsubscribe",
     .summary = "Stop listening to channels, or to all of them.",
     .complexity = "O(N) for N channels",
     .since = "2.0.0",
     .group = "pubsub",
     .proc = unsubscribeCommand,
     .arity = -1,
     .flags = CMD_PUBSUB | CMD_NOSCRIPT | CMD_LOADING | CMD_STALE | CMD_SENTINEL,
     .args = pubsubNumsubArgs},
    {0},
};
