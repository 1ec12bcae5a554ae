/* SPDX-License-Identifier: BSD-3-Clause */
/* usable_memory.h - how much memory this process can use. */
#pragma once

#include <stdint.h>

/* Returns the machine's memory in bytes, or less when a control group (a container) has a lower limit. Reads
 * files. */
uint64_t usableMemory(void);

/* Returns only the limit in bytes; UINT64_MAX: there is none. The result is the least of the group's own
 * limit and those of the groups that contain it; cgroup.h explains the parameters. */
uint64_t usableMemoryOfGroups(const char *files, const char *cgroup);
