/* SPDX-License-Identifier: BSD-3-Clause */
/* client_session.h - what a client says about itself (names), the addresses of its connection, and logging
 * in.
 *
 * Users live in a higher layer (acl/), which registers the functions that are needed here. */
#pragma once

#include <stdbool.h>

#include "base/sds.h"
#include "base/str.h"
#include "client/client.h"

/* ---- Labels ---- */

enum clientLabel { CLIENT_NAME, CLIENT_LIB_NAME, CLIENT_LIB_VERSION, CLIENT_LABELS };
struct str clientLabel(const struct client *c, enum clientLabel which);         /* ptr NULL: it has none */
void clientSetLabel(struct client *c, enum clientLabel which, struct str text); /* empty: removes it */

/* Addresses of the peer and of this server; cached, owned by the client. */
sds clientPeerName(struct client *c);
sds clientSockName(struct client *c);

/* ---- Users ---- */

struct clientUsers {
    bool (*required)(void); /* does the default user need a password, or is it off? */
    /* On failure it replies an error and returns false. */
    bool (*authenticate)(struct client *c, struct str user, struct str password);
    void (*logout)(struct client *c); /* back to the user with which it connected */
    struct str (*name)(const struct client *c);
    bool (*exists)(struct str user);
};
/* The functions of acl/. By default no passwords are needed, and users have no names. */
extern const struct clientUsers *client_users;

/* Returns whether the client still has to log in. */
static inline bool clientAuthMissing(const struct client *c) {
    return __builtin_expect(!(c->flags & CLIENT_AUTHENTICATED), 0) && client_users->required();
}

void clientSessionInit(void);
