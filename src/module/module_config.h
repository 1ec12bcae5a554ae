/* SPDX-License-Identifier: BSD-3-Clause */
/* module_config.h - values for directives of modules that are not loaded yet: from the file, the command line
 * and MODULE LOADEX. LoadConfigs takes what is its module's. */
#pragma once

#include "base/str.h"

void pendingConfigSet(struct str name, struct str value); /* the last one counts */
int pendingConfigCount(void);
void pendingConfigsDrop(void);
void pendingConfigsLog(void); /* as unused ones */
