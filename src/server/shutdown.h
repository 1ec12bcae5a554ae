/* shutdown.h - the orderly end: signals, SHUTDOWN, and what has to happen before exit. */
#pragma once

#include <stdbool.h>

void shutdownInit(void);     /* signal handlers; after the event loop exists */
void shutdownRegister(void); /* SHUTDOWN */
/* Last words of other rooms (saving, flushing); false refuses an orderly shutdown unless forced. */
void shutdownOnExit(int (*fn)(int flags));
/* All of that, but for the exit itself. False when one of them refuses: the server goes on. */
bool shutdownPrepare(int flags);
