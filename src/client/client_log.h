/* SPDX-License-Identifier: BSD-3-Clause */
/* client_log.h - clients in the log: what may be shown of them is up to the operator. */
#pragma once

#include "base/sds.h"
#include "client/client.h"

extern bool hide_user_data; /* hide-user-data-from-log: no names, keys, values or arguments */

/* The line of CLIENT LIST; names are hidden where they must be. Appends to s. */
sds clientLogLine(struct client *c, sds s);
/* Who it is, and no more: id, addresses, names. */
sds clientLogName(struct client *c, sds s);
/* Who it is that changes settings or users: id, addresses and its user, which is named in any case. */
sds clientLogAuthor(struct client *c, sds s);
/* Logs, at level notice, what a client has changed, and who that was. `what` is printable. */
void clientLogChange(struct client *c, struct str what);
/* The text of an error reply: with '-' and its code, or without ERR when it was made for the occasion. */
sds clientLogError(struct str error, sds s);
void clientLogInit(void);
