/* SPDX-License-Identifier: BSD-3-Clause */
/* cmd_cluster.h - the cluster commands: their facts, and the handlers that these name. */
#pragma once

#include "commands/cmd_spec.h"

extern const struct commandSpec commandsCluster[];

commandProc clusterCommand, clusterscanCommand, askingCommand, readonlyCommand, readwriteCommand;
