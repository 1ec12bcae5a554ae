/* SPDX-License-Identifier: BSD-3-Clause */
/* modules.h - the modules that the server names when asked: MODULE LIST, HELLO. Those that are built in add
 * themselves, those that are loaded come and go (module/). */
#pragma once

#include <stdbool.h>

#include "base/sds.h"

struct client;

struct listedModule {
    struct listedModule *next;
    const char *name, *path;
    int version;
    const sds *args; /* of the load */
    int arg_count;
    bool (*end)(void); /* of one that is built in: it goes, and is no longer listed; false: it would not */
};

void modulesListAdd(struct listedModule *m); /* stays the caller's, until it is removed */
void modulesListRemove(struct listedModule *m);
struct listedModule *modulesListFind(struct str name); /* case does not count; NULL */
void moduleReplyList(struct client *c);                /* an array of maps, the oldest first */
