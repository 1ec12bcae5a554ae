/* SPDX-License-Identifier: BSD-3-Clause */
/* import_mode.c - see import_mode.h; db.c and evict.c apply it to keys. */
#include "data/server_state/import_mode.h"

#include "data/keyspace/db.h"
#include "registry/config.h"

bool import_mode;

static bool importModeIsActive(void) {
    return import_mode;
}

void importModeInit(void) {
    static struct configDirective directives[] = {
        CONFIG_BOOL("import-mode", NULL, CONFIG_MODIFIABLE, &import_mode, false, NULL),
    };
    configRegister(directives, sizeof directives / sizeof *directives);
    dbAddExpiryVeto(importModeIsActive);
}
