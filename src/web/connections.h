/* SPDX-License-Identifier: BSD-3-Clause */
/* connections.h - the connections of the metrics port. */
#pragma once

struct connection;

/* Takes it over; when there are too many, another one goes, or this one. */
void connectionsTake(struct connection *conn);
void connectionsCloseAll(void);
