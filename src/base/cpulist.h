/* SPDX-License-Identifier: BSD-3-Clause */
/* cpulist.h - the processors on which a thread may run. A list consists of numbers and ranges, with an
 * optional step: "0,2-5,8-20:2". */
#pragma once

/* Applies a list to the calling thread, from which new threads inherit it. NULL: does nothing. A list that is
 * malformed or that the system refuses is logged and ignored. */
void cpulistApply(const char *list);
