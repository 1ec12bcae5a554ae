/* SPDX-License-Identifier: BSD-3-Clause */
/* memory.h - where the memory is: INFO memory and the MEMORY command.
 *
 * What the process uses is split into what was there at the start, overhead (tables, client buffers, and the
 * parts that rooms report, registry/memory_report.h) and the rest, which is the users' data. */
#pragma once

void memoryInit(void);    /* commands, INFO fields, the watch over the peak */
void memoryStarted(void); /* the server is ready: from here on memory is the users' */
