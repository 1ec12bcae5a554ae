/* SPDX-License-Identifier: BSD-3-Clause */
/* dump.h - a key's value as bytes: DUMP, RESTORE, and MIGRATE, which does both between two servers
 * (types/keys/dump.c, types/keys/migrate.c). */
#pragma once

#include <stdbool.h>

#include "base/sds.h"

/* Whether keys are sent from one node of a cluster to another, into slots that are being handed over and
 * whose owner the receiver is not yet (RESTORE-ASKING). cluster/ sets it. */
extern bool migrate_within_cluster;

void migrateInit(void); /* its job closes sockets that have not been used for a while */
