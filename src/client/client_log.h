/* SPDX-License-Identifier: BSD-3-Clause */
/* client_log.h - clients in the log. hide-user-data-from-log decides what may be shown about them. */
#pragma once

#include "base/sds.h"
#include "client/client.h"

/* Appends the line of CLIENT LIST to s; names are hidden if necessary. */
sds clientLogLine(struct client *c, sds s);
/* Appends what identifies the client and no more: id, addresses, names. */
sds clientLogName(struct client *c, sds s);
/* Appends what identifies a client that changes settings: id, addresses, and its user, never hidden. */
sds clientLogAuthor(struct client *c, sds s);
/* Logs, at level notice, what a client has changed. `what` is printable. */
void clientLogChange(struct client *c, struct str what);
/* Appends the text of an error reply: with '-' and its code, or without "ERR " when its text is not
 * constant. */
sds clientLogError(struct str error, sds s);
void clientLogInit(void);
