/* process.h - the process around the server: daemon, pid file, log destination, working directory. */
#pragma once

void processRegister(void); /* directives */
void processStart(void);    /* daemonize, pid file; after the configuration */
void processRemovePidFile(void);
