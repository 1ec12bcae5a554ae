/* SPDX-License-Identifier: BSD-3-Clause */
/* client_auth.h - logging in (AUTH, HELLO AUTH), and the check of each command. Users are in acl.h. */
#pragma once

#include "client/client.h"

bool authRequired(void);    /* is a password of the default user required, or is it off? */
bool authPasswordSet(void); /* has the default user a password? */
/* Logs a new connection in as the default user, if that needs no password. */
void authNewClient(struct client *c);
/* Logs in; on failure it replies WRONGPASS and returns false. */
bool authLogin(struct client *c, struct str user, struct str password);
/* Logs in without a password as the first of these users that exists and is on: a certificate has proved who
 * the client is. -1: there is none; ACL LOG gets an entry with the last name. */
int authAsFirstUser(struct client *c, const sds *users, int count);
/* A hook that may decide a login before passwords are checked; NULL: none. AUTH_WAITS: the client is blocked,
 * and its command runs again; or it could not be blocked, and an error was replied. *err (the caller's) may
 * say why it was denied, *by who decided. */
enum authVerdict { AUTH_NOT_HANDLED, AUTH_GRANTED, AUTH_DENIED, AUTH_WAITS };
extern enum authVerdict (*auth_decide)(struct client *c, struct str user, struct str password, sds *err,
                                       const char **by);
/* Called when a client is about to become another user, or none; may be NULL. */
extern void (*auth_on_user_change)(struct client *c);
/* Makes the client this user without any check, except that the user has to be on. */
void authSetUser(struct client *c, struct aclUser *u);
/* Takes the user from the client and closes it; when its own command runs, after the reply. */
void authRevoke(struct client *c);
/* Has to be called after every change of users, their rules or the default user's password. */
void authUsersChanged(void);
void authInit(void); /* registers the checks of commands from clients and scripts: NOAUTH and NOPERM */
