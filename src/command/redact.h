/* SPDX-License-Identifier: BSD-3-Clause */
/* redact.h - hides secrets among a command's arguments, as its facts (is_secret in commands/cmd_spec.h) or
 * the command's module mark them. Only called when a command is about to be shown (MONITOR, the command log,
 * the crash report), so it costs nothing while commands run. */
#pragma once

#include "base/str.h"

struct client;

/* Returns argument i of the command that c runs, or "(redacted)". */
struct str redactedArg(const struct client *c, int i);
