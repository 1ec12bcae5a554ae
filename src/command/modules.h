/* SPDX-License-Identifier: BSD-3-Clause */
/* modules.h - the modules that MODULE LIST and HELLO name. Built-in ones add themselves at start, loaded ones
 * come and go (module/). */
#pragma once

#include <stdbool.h>

#include "base/sds.h"

struct client;

struct listedModule {
    struct listedModule *next;
    const char *name, *path;
    int version;
    const sds *args; /* arguments of the load */
    int arg_count;
    bool (*end)(void); /* for a built-in one: unloads it and removes it from the list; false: refused */
};

void modulesListAdd(struct listedModule *m); /* the caller keeps m until it is removed */
void modulesListRemove(struct listedModule *m);
struct listedModule *modulesListFind(struct str name); /* ignores case; NULL: none */
void moduleReplyList(struct client *c);                /* array of maps, the oldest first */
