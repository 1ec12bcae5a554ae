/* SPDX-License-Identifier: BSD-3-Clause */
/* memory.h - memory statistics: INFO memory and the command MEMORY.
 *
 * The memory of the process is split into what was allocated at the start, overhead (tables, client buffers,
 * and the parts that modules report, registry/memory_report.h) and the rest, which is the users' data. */
#pragma once

void memoryInit(void);        /* directive, INFO fields, jobs */
void memoryMarkStarted(void); /* the server is ready: memory allocated from now on is the users' */
