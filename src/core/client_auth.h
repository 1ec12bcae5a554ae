/* client_auth.h - passwords: AUTH, HELLO AUTH and `requirepass` for the default user. The door for ACL users.
 */
#pragma once

#include "core/client.h"

bool authPasswordSet(void);           /* does the default user need a password? */
void authNewClient(struct client *c); /* a connection starts: authenticated when no password is set */
/* Checks and marks the client; on failure replies WRONGPASS and returns false. user may be "default" or empty
 * (only a password given). */
bool authenticate(struct client *c, struct str user, struct str password);
void authLogout(struct client *c); /* back to what authNewClient made it (RESET) */
bool authUserExists(struct str user);
void authInit(void); /* directive requirepass, the NOAUTH filter */
