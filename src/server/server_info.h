/* server_info.h - INFO sections server and cpu, the rates in stats, and TIME. */
#pragma once

void serverInfoRegister(void);
const char *serverClockName(void); /* "X86 TSC @ 2596 ticks/us" or "POSIX clock_gettime" */
