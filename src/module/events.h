/* SPDX-License-Identifier: BSD-3-Clause */
/* events.h - events of the server for modules (api_server_event.c), as several parts share them. */
#pragma once

#include <stdbool.h>

#include "module/api.h"
#include "registry/server_events.h"

struct client;

/* Calls the modules that subscribed to an event. `info` is the struct that the interface defines for it. c
 * is the client of the event; if it is NULL, the context has a client of the pool, in database `db`. */
void eventsPublish(enum serverEventKind kind, int which, void *info, struct client *c, struct db *db);
/* Attaches or detaches the hooks on commands after subscriptions have changed. */
void commandEventsUpdateHooks(void);
/* Publishes that a command has been denied (command_events.c). */
void commandEventDenied(int reason, const struct eventDenial *d);

/* From now on, each key of a slot that leaves this node is announced with its value. */
void notifyEnableKeyLeft(void);

/* Fills info from a client (api_client.c). */
void clientInfoFill(ValkeyModuleClientInfo *info, struct client *c);
