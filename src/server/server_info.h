/* server_info.h - INFO sections server, replication and cpu, the rates in stats, TIME and ROLE. */
#pragma once

void serverInfoRegister(void);
/* The event loop goes to sleep, and wakes up. */
void serverInfoSleep(void);
void serverInfoWake(void);
const char *serverClockName(void); /* "X86 TSC @ 2596 ticks/us" or "POSIX clock_gettime" */
