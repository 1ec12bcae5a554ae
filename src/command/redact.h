/* SPDX-License-Identifier: BSD-3-Clause */
/* redact.h - hiding the secrets among a command's arguments, as its facts (is_secret in commands/cmd_spec.h)
 * or the module of the command tell them. Called only when a command is about to be shown (MONITOR, the
 * command log, the crash report), so that it costs nothing while commands run. */
#pragma once

#include "base/str.h"

struct client;

/* Argument i of the command that c runs, or "(redacted)". */
struct str redactedArg(const struct client *c, int i);
