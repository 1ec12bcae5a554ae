/* sentinel.h - the room of Sentinel: a server of another kind, that watches others (valkey-sentinel, or
 * --sentinel). Its decisions are supervisor.h's; here is the world around them.
 *
 *     supervisor*       decisions                    instance           what it knows of whom
 *     peer_sockets      connections to servers       sentinel_scripts   scripts of operators
 *     sentinel_conf     sentinel.conf, rewritten     sentinel_events    to the log and to subscribers
 *     sentinel_commands SENTINEL ... (with _show, _set) */
#pragma once

#include <stdbool.h>

#include "sentinel/supervisor.h"

struct tlsContext;

extern struct supervisor sentinel; /* of a Sentinel only */

/* Before the configuration is read, in any server; what it registers depends on `sentinel_mode`
 * (data/role.h). */
void sentinelInit(void);
void sentinelStart(void); /* of a Sentinel: the configuration is read, the loop is there */
/* For TLS to others; server/ registers it, as for replication. */
void sentinelSetTls(struct tlsContext *(*client)(sds *err), bool (*encrypted)(void));
bool sentinelSave(void); /* as supervisorSave */
