/* SPDX-License-Identifier: BSD-3-Clause */
/* module_open.h - a module's file, opened. */
#pragma once

/* One object per open file. NULL: it could not be opened, and dlerror() says why. */
struct moduleFile;
struct moduleFile *moduleFileOpen(const char *path);
void *moduleFileSymbol(struct moduleFile *f, const char *name); /* NULL: it has none of that name */
int moduleFileClose(struct moduleFile *f);                      /* as dlclose; f is gone */
