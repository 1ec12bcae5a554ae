/* SPDX-License-Identifier: BSD-3-Clause */
/* sentinel.h - the commands of a Sentinel: their facts, and the handler that these name. Of use only where
 * the server is one (data/role.h). */
#pragma once

#include "commands/spec.h"

extern const struct commandSpec commandsSentinel[];

commandProc sentinelCommand;
commandIsSecret sentinelSetIsSecret, sentinelConfigIsSecret;
