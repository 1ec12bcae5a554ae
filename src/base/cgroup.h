/* SPDX-License-Identifier: BSD-3-Clause */
/* cgroup.h - the control groups of this process, which limit a container. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* Reads a file of at most size - 1 bytes into text, and ends it with a NUL. Returns false when the file
 * cannot be opened. */
bool cgroupReadText(const char *path, char *text, size_t size);

/* Calls fn for the folder of each group that has the controller ("cpu", "memory"): the process's own group
 * and all groups above it, up to the mount point, of version 2 or 1. `cgroup` is the text of
 * /proc/self/cgroup, `files` is where control groups are mounted (/sys/fs/cgroup). */
typedef void cgroupFolderFn(void *priv, const char *folder, bool version_2);
void cgroupForEachFolder(const char *files, const char *cgroup, const char *controller, cgroupFolderFn *fn,
                         void *priv);
