/* SPDX-License-Identifier: BSD-3-Clause */
/* connections.h - the connections of the metrics port. */
#pragma once

struct connection;

/* Takes a connection over. If there are too many, another one is closed, or this one. */
void connectionsAdd(struct connection *conn);
void connectionsCloseAll(void);
