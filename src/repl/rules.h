/* SPDX-License-Identifier: BSD-3-Clause */
/* rules.h - what changes for clients when this server is a replica or has too few replicas: commands are
 * refused (READONLY, MASTERDOWN, NOREPLICAS) or redirected, expired keys are kept, nothing is evicted. */
#pragma once

#include <stdbool.h>

void rulesInit(void);               /* rows of admission, vetoes, directives */
bool rulesUpdate(const char **err); /* looks at the directives and the role again */
void rulesStart(void);              /* after the configuration has been loaded */
