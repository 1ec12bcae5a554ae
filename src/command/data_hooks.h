/* SPDX-License-Identifier: BSD-3-Clause */
/* data_hooks.h - what the data asks of this floor (data/keyspace/hooks.h). */
#pragma once

#include <stdbool.h>

struct client;

/* Does it bring slots here, whose keys another node decides about? NULL: nobody does. */
extern bool (*client_brings_slots)(const struct client *c);

void dataHooksInit(void); /* but for keyCameOrWent, which is blocking.c's */
