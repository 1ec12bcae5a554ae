/* SPDX-License-Identifier: BSD-3-Clause */
/* cpulist.h - which processors a thread may run on. A list is numbers and ranges, with a step if need be:
 * "0,2-5,8-20:2". */
#pragma once

/* For the calling thread; children inherit it. NULL: nothing. A list that is none, or that the system
 * refuses, is told of in the log and ignored. */
void cpulistApply(const char *list);
