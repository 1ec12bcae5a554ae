/* SPDX-License-Identifier: BSD-3-Clause */
/* module.h - modules: shared objects that others have compiled, loaded into the
 * server (MODULE, loadmodule). */
#pragma once

#include <stdbool.h>

void moduleInit(void);  /* all parts, MODULE, the directives */
void moduleStart(void); /* loads the modules of the configuration; a failure ends the server */
void moduleStop(void);  /* at exit: unloads the modules that can be unloaded */

/* While a module is loaded, moduleRunPostedCalls has to run before the event loop ends a turn: it
 * does what threads have posted. fn is called when the first module has been loaded and when the last
 * has been unloaded. */
void moduleOnPresence(void (*fn)(bool any));
void moduleRunPostedCalls(void);
