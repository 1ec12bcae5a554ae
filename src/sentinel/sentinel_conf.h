/* SPDX-License-Identifier: BSD-3-Clause */
/* sentinel_conf.h - sentinel.conf: what it has to be, and its lines that begin with `sentinel`. */
#pragma once

#include <stdbool.h>

void sentinelConfRegister(void); /* the directive, in any server */
/* Of a Sentinel, when all that configures it is loaded: applies its lines. An error among them, or a file
 * that cannot be written to, ends the process. */
void sentinelConfApply(void);
bool sentinelConfSave(void); /* false: it failed, and was logged */
