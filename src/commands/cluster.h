/* SPDX-License-Identifier: BSD-3-Clause */
/* cluster.h - the cluster commands: their facts, and the handlers that these name. */
#pragma once

#include "commands/spec.h"

extern const struct commandSpec commandsCluster[];

commandProc clusterCommand, clusterscanCommand, askingCommand, readonlyCommand, readwriteCommand;
