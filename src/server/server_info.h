/* server_info.h - INFO sections server and cpu, the rates in stats, and TIME. */
#pragma once

void serverInfoRegister(void);
/* The event loop goes to sleep, and wakes up. */
void serverInfoSleep(void);
void serverInfoWake(void);
const char *serverClockName(void); /* "X86 TSC @ 2596 ticks/us" or "POSIX clock_gettime" */
