/* SPDX-License-Identifier: BSD-3-Clause */
/* client_session.h - who a client says that it is, the names of both ends of its connection, and as whom it
 * may act.
 *
 * The users themselves live in a room above (acl/), which registers what is asked of it here. */
#pragma once

#include <stdbool.h>

#include "base/sds.h"
#include "base/str.h"
#include "client/client.h"

/* ---- What it is called ---- */

enum clientLabel { CLIENT_NAME, CLIENT_LIB_NAME, CLIENT_LIB_VERSION, CLIENT_LABELS };
struct str clientLabel(const struct client *c, enum clientLabel which);         /* ptr NULL: it has none */
void clientSetLabel(struct client *c, enum clientLabel which, struct str text); /* empty: none */

/* Addresses of its end and of ours; cached, owned by the client. */
sds clientPeerName(struct client *c);
sds clientSockName(struct client *c);

/* ---- Users ---- */

struct clientUsers {
    bool (*required)(void); /* must the default user give a password, or is it off? */
    /* False: an error has been replied. */
    bool (*authenticate)(struct client *c, struct str user, struct str password);
    void (*logout)(struct client *c); /* back to what it was when it came */
    struct str (*name)(const struct client *c);
    bool (*exists)(struct str user);
};
/* Without a room that has registered its own: nobody needs a password, and users have no names. */
extern const struct clientUsers *client_users;

/* Has it not given a password that is asked for? */
static inline bool clientAuthMissing(const struct client *c) {
    return __builtin_expect(!(c->flags & CLIENT_AUTHENTICATED), 0) && client_users->required();
}

void clientSessionInit(void);
