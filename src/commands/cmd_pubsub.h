/* SPDX-License-Identifier: BSD-3-Clause */
/* cmd_pubsub.h - the publish/subscribe commands: their facts, and the handlers that these name. */
#pragma once

#include "commands/cmd_spec.h"

extern const struct commandSpec commandsPubsub[];

commandProc psubscribeCommand, publishCommand, pubsubChannelsCommand, pubsubHelpCommand, pubsubNumpatCommand,
    pubsubNumsubCommand, pubsubShardchannelsCommand, pubsubShardnumsubCommand, punsubscribeCommand,
    spublishCommand, ssubscribeCommand, subscribeCommand, sunsubscribeCommand, unsubscribeCommand;
