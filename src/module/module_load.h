/* SPDX-License-Identifier: BSD-3-Clause */
/* module_load.h - for MODULE and loadmodule. */
#pragma once

#include <stdbool.h>

#include "base/str.h"

/* False: it has been logged why not, and nothing is left of it. */
bool moduleLoad(const char *path, int argc, const struct str *argv);
bool moduleUnload(struct str name, const char **err);

void moduleCommandInit(void); /* MODULE, its directives (module_commands.c) */
extern bool modules_starting; /* those of the configuration are being loaded */
