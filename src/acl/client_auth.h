/* SPDX-License-Identifier: BSD-3-Clause */
/* client_auth.h - who a connection is: AUTH, HELLO AUTH, and the checks before each command. Users are in
 * acl.h. */
#pragma once

#include "client/client.h"

bool authRequired(void);    /* must the default user give a password, or is it off? */
bool authPasswordSet(void); /* has the default user a password? */
void authNewClient(
    struct client *c); /* a connection starts: as the default user, if that needs no password */
/* Checks and marks the client; on failure replies WRONGPASS and returns false. */
bool authenticate(struct client *c, struct str user, struct str password);
/* As the first of these users that is there and on, without a password: who it is has been proved otherwise,
 * by a certificate. -1: none is; that goes to ACL LOG, with the last name. */
int authAsOneOf(struct client *c, const sds *users, int count);
/* Who else may decide about a login, before passwords are looked at; NULL: nobody. AUTH_WAITS: the client has
 * been blocked, and its command comes again; or it could not be, and has been told so. *err (the caller's)
 * may say why it was denied, *by who decided.
 */
enum authVerdict { AUTH_NOT_HANDLED, AUTH_GRANTED, AUTH_DENIED, AUTH_WAITS };
extern enum authVerdict (*auth_decide)(struct client *c, struct str user, struct str password, sds *err,
                                       const char **by);
/* A client is about to become another user, or none; NULL: nobody cares. */
extern void (*auth_user_changes)(struct client *c);
/* As this user, about whom nothing is asked any more: it is on. */
void authBecome(struct client *c, struct aclUser *u);
/* It is nobody any more, and goes; when its own command runs, behind the reply. */
void authRevoke(struct client *c);
void authUsersChanged(void); /* users, their rules or the default user's password: after every change */
void authInit(void);         /* the checks of commands, from clients and from scripts: NOAUTH and NOPERM */
