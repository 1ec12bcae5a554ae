/* SPDX-License-Identifier: BSD-3-Clause */
/* access.h - authentication and rights of HTTP requests.
 *
 *     Authorization: Basic user:password
 *         an ACL user: the answers show what the user's rules allow
 *     Authorization: Bearer token
 *         metrics-token: figures, but no names of keys or clients and no arguments of commands
 *     none
 *         the rights of the default user, if it needs no password, the peer is on this machine, and
 *         neither metrics-user nor metrics-token is set
 *
 * Invariant: an answer shows nothing that its user could not get from a command that the
 * user's rules allow. */
#pragma once

#include <stdbool.h>

#include "base/str.h"

struct httpRequest;
struct aclUser;

enum accessVerdict {
    ACCESS_GRANTED,
    ACCESS_DENIED,      /* wrong or no credentials: 401 */
    ACCESS_FORBIDDEN,   /* the user may not run INFO: 403 */
    ACCESS_MISDIRECTED, /* 421: the request names another host, perhaps by a page that tries to read ours */
};

struct access {
    enum accessVerdict verdict;
    bool failed_login;          /* wrong credentials were given */
    const struct aclUser *user; /* whose rights apply; NULL: none, figures only */
};

void accessInit(void);  /* metrics-user, metrics-token */
void accessStart(void); /* after the configuration */
struct access accessCheck(const struct httpRequest *request, bool local_peer, struct str peer);
/* Tells whether the user may run this command in that database. argv[0] is its name. */
bool accessAllows(const struct access *access, const struct str *argv, int argc, int db);
