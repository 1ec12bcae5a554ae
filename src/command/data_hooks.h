/* SPDX-License-Identifier: BSD-3-Clause */
/* data_hooks.h - fills in the functions that the data layer needs from this one (data/keyspace/hooks.h). */
#pragma once

#include <stdbool.h>

struct client;

/* Returns whether c imports slots into this node whose keys still belong to another node. NULL: none. */
extern bool (*client_imports_slots)(const struct client *c);

void dataHooksInit(void); /* all hooks except keyCameOrWent, which is blocking.c's */
