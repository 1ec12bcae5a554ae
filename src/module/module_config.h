/* SPDX-License-Identifier: BSD-3-Clause */
/* module_config.h - values of directives whose modules are not loaded yet, from the file, the command line
 * and MODULE LOADEX. LoadConfigs takes those of its module. */
#pragma once

#include "base/str.h"

void pendingConfigSet(struct str name, struct str value); /* the last value of a name counts */
int pendingConfigCount(void);
void pendingConfigsDrop(void);
void pendingConfigsLog(void); /* logs them as unused */
