/* SPDX-License-Identifier: BSD-3-Clause */
/* sentinel_conf.h - sentinel.conf: its requirements, and its lines that begin with `sentinel`. */
#pragma once

#include <stdbool.h>

void sentinelConfRegister(void); /* registers the directive, in any server */
/* Applies the lines after all files and arguments have been read. An invalid line, or a file that cannot be
 * written, ends the process. */
void sentinelConfApply(void);
bool sentinelConfSave(void); /* false: failed, and logged */
