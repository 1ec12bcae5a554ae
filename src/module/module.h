/* module.h - modules: what others have compiled, loaded into the server (MODULE, loadmodule). */
#pragma once

void moduleInit(void);  /* the parts, MODULE, directives */
void moduleStart(void); /* loads what the configuration names; a failure ends the server */
void moduleStop(void);  /* the server ends: they are unloaded, as far as they can be */
