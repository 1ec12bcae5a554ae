/* SPDX-License-Identifier: BSD-3-Clause */
/* redact.h - which arguments of a command are secrets. Asked only when a command is about to be shown
 * (MONITOR, the command log, the crash report), so that it costs nothing while commands run. */
#pragma once

#include <stdbool.h>

#include "base/str.h"

struct client;

/* Is argv[i] a secret? For i > 0. */
typedef bool secretArg(const struct str *argv, int argc, int i);

/* The room of a command that takes secrets says which. fullname as in "config|set"; must stay. */
void redactRegister(const char *fullname, secretArg *fn);
/* Argument i of the command that c runs, or "(redacted)". */
struct str redactedArg(const struct client *c, int i);
/* For redactRegister: a command all of whose arguments are secret. */
bool redactAll(const struct str *argv, int argc, int i);
