/* SPDX-License-Identifier: BSD-3-Clause */
/* dump.h - one key's value as bytes: DUMP, RESTORE, and MIGRATE, which does both between two servers
 * (types/keys/dump.c, types/keys/migrate.c). */
#pragma once

#include <stdbool.h>

#include "base/sds.h"

/* The server is a node of a cluster, and so is who is sent keys: they go into slots that are handed over,
 * whose owner he is not yet (RESTORE-ASKING). cluster/ says so. */
extern bool migrate_within_cluster;

void migrateInit(void); /* closes sockets that nobody has used for a while */
