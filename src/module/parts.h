/* SPDX-License-Identifier: BSD-3-Clause */
/* parts.h - the inits of the parts of the module room, called by moduleInit in this order: objections and
 * ends of a module are asked and done in it, too. */
#pragma once

#include <stdarg.h>

struct module;

void memoryPartInit(void);
void stringsInit(void);
void dictPartInit(void);
void miscPartInit(void);
void keyPartInit(void);
void callReplyPartInit(void);
void typePartInit(void); /* api_type.c, module_io.c, api_defrag.c */
void callPartInit(void);
void lockPartInit(void);
void blockPartInit(void);
void blockEventPartInit(void);
void timerPartInit(void);
void jobPartInit(void);
void moduleCommandsInit(void); /* api_command.c */
void serverEventPartInit(void);
void commandEventsInit(void);
void notifyPartInit(void);
void forkPartInit(void);
void clusterPartInit(void);
void authPartInit(void);
void configPartInit(void);
void sharedApisInit(void);
void infoPartInit(void);
void filterPartInit(void);
void enginePartInit(void); /* module_engine.c */

int moduleFilterCount(const struct module *m);

/* Whatever a module's own thread calls first: its allocations are counted from then on. */
void moduleThreadEnters(void);
/* As vmLog does; m may be NULL. */
void moduleLogV(const struct module *m, const char *level, const char *fmt, va_list ap);
