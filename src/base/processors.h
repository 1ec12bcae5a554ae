/* SPDX-License-Identifier: BSD-3-Clause */
/* processors.h - how many processors this process can use, and whether its threads get them. */
#pragma once

#include <stdint.h>

/* Returns the number of processors on which the process may run, or fewer when a control group (a container)
 * has a quota of CPU time; at least 1. Reads files. */
int processorsUsable(void);

/* Returns only the quota, in processors, rounded down but at least 1; 0: there is none. `cgroup` is the text
 * of /proc/self/cgroup, `files` is where control groups are mounted (/sys/fs/cgroup). The result is the least
 * of the group's own quota and those of the groups that contain it, of version 2 or 1. */
int processorsQuota(const char *files, const char *cgroup);

/* Nanoseconds that a thread of this process has run, and that it has waited for a processor though it could
 * have run, since it started; 0 when the system does not report them. The descriptor of what is read remains
 * in `file`, which is -1 before the first call: to find it by its path costs ten times as much as to read it.
 * The caller closes it. */
struct processorTime {
    uint64_t ran_ns, waited_ns;
};
struct processorTime processorTimeOf(int tid, int *file);
