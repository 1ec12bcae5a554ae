/* SPDX-License-Identifier: BSD-3-Clause */
/* priority_clients.h - clients from the networks of priority-subnets: of administrators and probes.
 *
 * A connection is a priority client or not from the moment it is accepted. maxclients-reserved of maxclients
 * are only for priority clients, so that they get in when all others have used up their share. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct client;
struct connection;

void priorityClientsInit(void);  /* directives, INFO */
void priorityClientsStart(void); /* after the configuration */
/* Whether a connection that has just been accepted is one. A Unix socket has no address and is not. */
bool priorityClientsInclude(const struct connection *conn);
void priorityClientsAdd(struct client *c);
/* Returns whether another client that is none may connect. */
bool priorityClientsLeaveRoom(size_t maxclients);
void priorityClientsCountRejected(void);
