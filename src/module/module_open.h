/* SPDX-License-Identifier: BSD-3-Clause */
/* module_open.h - opening the shared object of a module. */
#pragma once

#include <stdbool.h>

/* One object per open file. moduleFileOpen returns NULL on failure; dlerror() has the reason. */
struct moduleFile;
struct moduleFile *moduleFileOpen(const char *path);
/* Returns the address of ValkeyModule_<name> or RedisModule_<name>, or NULL. *redis (which may be NULL) tells
 * whether it is the latter. */
void *moduleFileEntry(struct moduleFile *f, const char *name, bool *redis);
int moduleFileClose(struct moduleFile *f); /* returns what dlclose returns; frees f */
