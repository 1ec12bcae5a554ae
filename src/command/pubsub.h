/* SPDX-License-Identifier: BSD-3-Clause */
/* pubsub.h - channels, patterns of channels and shard channels: subscriptions, and publishing messages. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/str.h"

struct client;

enum pubsubKind { PUBSUB_CHANNEL, PUBSUB_PATTERN, PUBSUB_SHARD, PUBSUB_KINDS };

/* Sends to all subscribers of the channel, then to those with a pattern that matches it. Returns how many
 * messages were sent. O(subscribers + patterns). */
int64_t pubsubPublish(struct str channel, struct str message);
/* pubsubPublish for shard channels. */
int64_t pubsubPublishShard(struct str channel, struct str message);
/* Sends a client's message to the nodes of the cluster. False: this server is not in a cluster, and replicas
 * get it in the stream. cluster/ fills it in. */
extern bool (*pubsub_to_cluster)(bool shard, struct str channel, struct str message);
/* Returns whether there is any subscription. */
bool pubsubHasSubscribers(void);

/* Returns whether fn returns true for every channel or pattern that the client is subscribed to. */
bool pubsubAllAccepted(const struct client *c, enum pubsubKind kind,
                       bool (*fn)(const void *priv, struct str name), const void *priv);
/* Ends the subscriptions of shard channels for which fn returns false; the subscribers are notified. */
void pubsubUnsubscribeShards(bool (*stays)(struct str channel));
/* Ends all subscriptions of the client without notifying it. */
void pubsubUnsubscribeAll(struct client *c);

void pubsubInit(void);
/* Key changes as messages: directive notify-keyspace-events (keyspace_events.c). */
void keyspaceEventsInit(void);
int keyspaceEventsWanted(void);     /* classes that the directive names (data/notify.h) */
void subkeyEventsWant(int classes); /* the same classes; publishes fields of hashes (subkey_events.c) */
