/* SPDX-License-Identifier: BSD-3-Clause */
/* parts.h - inits of the parts of src/module. moduleInit calls them in an order that is also the order in
 * which hooks of unloading run. */
#pragma once

#include <stdarg.h>

struct module;

void memoryPartInit(void);
void stringPartInit(void);
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
void commandPartInit(void); /* api_command.c */
void serverEventPartInit(void);
void commandEventPartInit(void);
void notifyPartInit(void);
void forkPartInit(void);
void clusterPartInit(void);
void authPartInit(void);
void configPartInit(void);
void sharedApiPartInit(void);
void infoPartInit(void);
void filterPartInit(void);
void enginePartInit(void); /* module_engine.c */

int moduleFilterCount(const struct module *m);

/* Registers a thread of a module, which calls this first: its allocations are counted from then on. */
void moduleThreadRegister(void);
/* Logs a line as vmLog does. m may be NULL. */
void moduleLogV(const struct module *m, const char *level, const char *fmt, va_list ap);
