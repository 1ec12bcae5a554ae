/* SPDX-License-Identifier: BSD-3-Clause */
/* module_load.h - loading and unloading, for MODULE and loadmodule. */
#pragma once

#include <stdbool.h>

#include "base/str.h"

/* On failure it logs the reason, leaves nothing behind and returns false. */
bool moduleLoad(const char *path, int argc, const struct str *argv);
bool moduleUnload(struct str name, const char **err);

void moduleAdminInit(void);   /* MODULE, its directives (module_commands.c) */
extern bool modules_starting; /* the modules of the configuration are being loaded */
