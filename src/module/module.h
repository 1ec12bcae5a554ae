/* SPDX-License-Identifier: BSD-3-Clause */
/* module.h - modules: what others have compiled, loaded into the server (MODULE, loadmodule). */
#pragma once

#include <stdbool.h>

void moduleInit(void);  /* the parts, MODULE, directives */
void moduleStart(void); /* loads what the configuration names; a failure ends the server */
void moduleStop(void);  /* the server ends: they are unloaded, as far as they can be */

/* While a module is there, moduleTurnEnds is called before the loop ends a turn: what threads want is done
 * then. fn is told when the first has come, and when the last has gone. */
void moduleOnPresence(void (*fn)(bool any));
void moduleTurnEnds(void);
