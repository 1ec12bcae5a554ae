/* SPDX-License-Identifier: BSD-3-Clause */
/* pubsub.h - channels, patterns of channels, and shard channels: who listens, and telling them. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/str.h"

struct client;

enum pubsubKind { PUBSUB_CHANNEL, PUBSUB_PATTERN, PUBSUB_SHARD, PUBSUB_KINDS };

/* To all who listen to the channel, then to those with a pattern that matches it. Returns how often it was
 * sent. O(subscribers + patterns). */
int64_t pubsubPublish(struct str channel, struct str message);
/* The same for shard channels. */
int64_t pubsubPublishShard(struct str channel, struct str message);
/* What clients publish goes to the nodes of a cluster, if we are one. False: we are none, and replicas get it
 * in the stream. cluster/ fills it in. */
extern bool (*pubsub_to_cluster)(bool shard, struct str channel, struct str message);
/* Would anybody get a message of some channel? */
bool pubsubAnybody(void);

/* Does fn say yes to every channel or pattern that the client listens to? */
bool pubsubEvery(const struct client *c, enum pubsubKind kind, bool (*fn)(const void *priv, struct str name),
                 const void *priv);
/* Ends the subscriptions of shard channels that do not stay here; who listens to them is told. */
void pubsubShardLeave(bool (*stays)(struct str channel));
/* Ends all subscriptions of the client, without a word. */
void pubsubUnsubscribeAll(struct client *c);

void pubsubInit(void);
/* Key changes as messages: directive notify-keyspace-events (keyspace_events.c). */
void keyspaceEventsInit(void);
int keyspaceEventsWanted(void); /* classes that the directive names (data/notify.h) */
