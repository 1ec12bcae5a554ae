/* SPDX-License-Identifier: BSD-3-Clause */
/* module_open.h - opening the shared object of a module. */
#pragma once

/* One object per open file. moduleFileOpen returns NULL on failure; dlerror() has the reason. */
struct moduleFile;
struct moduleFile *moduleFileOpen(const char *path);
void *moduleFileSymbol(struct moduleFile *f, const char *name); /* NULL: there is no such symbol */
int moduleFileClose(struct moduleFile *f);                      /* returns what dlclose returns; frees f */
