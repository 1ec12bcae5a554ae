/* SPDX-License-Identifier: BSD-3-Clause */
/* cmd_sentinel.h - the commands of a Sentinel: their facts, and the handler that these name. Only registered
 * when the server is one (data/server_state/role.h). */
#pragma once

#include "commands/cmd_spec.h"

extern const struct commandSpec commandsSentinel[];

commandProc sentinelCommand;
commandIsSecret sentinelSetIsSecret, sentinelConfigIsSecret;
