/* SPDX-License-Identifier: BSD-3-Clause */
/* server_info.h - INFO sections server, replication, cpu and debug, the rates in stats, TIME and ROLE. */
#pragma once

#include <stdint.h>

void serverInfoRegister(void);
/* Called when the event loop goes to sleep and when it wakes up. */
void serverInfoSleep(void);
void serverInfoWake(void);
void serverInfoCron(uint64_t ticks); /* jobs have taken so many ticks */
const char *serverClockName(void);   /* "X86 TSC @ 2596 ticks/us" or "POSIX clock_gettime" */
