/* SPDX-License-Identifier: BSD-3-Clause */
/* events.h - events of the server as modules are told of them (api_server_event.c), and what the parts about
 * them share. */
#pragma once

#include <stdbool.h>

#include "module/api.h"
#include "registry/server_events.h"

struct client;

/* Calls those who have subscribed; `info` is what the interface says comes with the event. c: whose event it
 * is; NULL: nobody's, then the context has a client of the pool, in database `db`. */
void eventsPublish(enum serverEventKind kind, int which, void *info, struct client *c, struct db *db);
/* Somebody wants events of this kind, or nobody any more. */
void commandEventsWanted(void);
/* The sink's part about denied commands (command_events.c). */
void commandEventDenied(int reason, const struct eventDenial *d);

/* From now on the keys of a slot that leaves are told of, and their values, one by one. */
void notifyKeysThatLeave(void);

/* What is told of a client (api_client.c). */
void clientInfoFill(ValkeyModuleClientInfo *info, struct client *c);
