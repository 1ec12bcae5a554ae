/* SPDX-License-Identifier: BSD-3-Clause */
/* processors.h - how many processors this process can use, and whether its threads get them. */
#pragma once

#include <stdint.h>

/* At least 1: those it may run on, or fewer where a control group (a container) has a quota of time. Reads
 * files. */
int processorsUsable(void);

/* The quota alone, in processors, rounded down but at least 1; 0: there is none. `cgroup`: the text of
 * /proc/self/cgroup; files: where control groups are mounted, /sys/fs/cgroup. The least of the group's own
 * and those it is in, of version 2 or 1. */
int processorsQuota(const char *files, const char *cgroup);

/* Nanoseconds that a thread of this process has run, and that it has waited for a processor though it could
 * have run; both of its life, and 0 where the system does not tell. */
struct processorTime {
    uint64_t ran_ns, waited_ns;
};
struct processorTime processorTimeOf(int tid);
