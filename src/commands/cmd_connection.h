/* SPDX-License-Identifier: BSD-3-Clause */
/* cmd_connection.h - the connection commands: their facts, and the handlers that these name. */
#pragma once

#include "commands/cmd_spec.h"

extern const struct commandSpec commandsConnection[];

commandProc authCommand, clientIdCommand, clientListCommand, clientInfoCommand, clientKillCommand,
    clientGetnameCommand, clientSetnameCommand, clientSetinfoCommand, clientReplyCommand,
    clientUnblockCommand, clientHelpCommand, clientTrackingCommand, clientCachingCommand,
    clientGetredirCommand, clientTrackinginfoCommand, clientPauseCommand, clientUnpauseCommand,
    clientNoEvictCommand, clientNoTouchCommand, clientCapaCommand, clientImportSourceCommand, echoCommand,
    helloCommand, pingCommand, quitCommand, resetCommand, selectCommand;
commandIsSecret helloIsSecret;
