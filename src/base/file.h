/* SPDX-License-Identifier: BSD-3-Clause */
/* file.h - small files: reads one whole, and replaces one so that a crash leaves the old or the new. */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

#include "base/sds.h"

/* Returns all bytes of the file; NULL and errno on failure. *mode (may be NULL): its permissions. */
sds fileRead(const char *path, mode_t *mode);
/* Writes a temporary file beside `path`, syncs it, renames it to `path` and syncs the folder. False and
 * errno: `path` is unchanged. */
bool fileReplace(const char *path, struct str text, mode_t mode);
/* Syncs this folder, or the one of this file, so that names in it survive a crash. False: errno. File systems
 * that cannot do this (EINVAL) count as success. */
bool fileSyncFolder(const char *folder);
bool fileSyncFolderOf(const char *path);
/* Returns the path from the root, which stays valid when the process changes its folder. If the present
 * folder is not known, it is the path itself. */
sds fileAbsolutePath(const char *path);
/* Changes the group of the file. False: errno, EINVAL when there is no such group. */
bool fileSetGroup(const char *path, const char *group);
