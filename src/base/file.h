/* SPDX-License-Identifier: BSD-3-Clause */
/* file.h - small files as a whole: read one, and replace one so that a crash leaves the old or the new. */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

#include "base/sds.h"

/* All bytes of the file; NULL and errno when it cannot be read. *mode (may be NULL): its permissions. */
sds fileRead(const char *path, mode_t *mode);
/* Writes a temporary file beside it, syncs it, and renames it over `path`; the folder is synced, too. False
 * and errno: `path` is as it was. */
bool fileReplace(const char *path, struct str text, mode_t mode);
/* Names in this folder, or in that of this file, last through a crash. False: errno. File systems that cannot
 * (EINVAL) pass. */
bool fileSyncFolder(const char *folder);
bool fileSyncFolderOf(const char *path);
/* Gives the file to that group. False: errno, EINVAL when there is no such group. */
bool fileSetGroup(const char *path, const char *group);
