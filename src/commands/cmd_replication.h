/* SPDX-License-Identifier: BSD-3-Clause */
/* cmd_replication.h - the replication commands: their facts, and the handlers that these name. */
#pragma once

#include "commands/cmd_spec.h"

extern const struct commandSpec commandsReplication[];

commandProc failoverCommand, psyncCommand, replconfCommand, replicaofCommand, syncCommand, waitCommand,
    waitaofCommand;
