/* SPDX-License-Identifier: BSD-3-Clause */
/* access.h - who asks over HTTP, and what he may see.
 *
 *     Authorization: Basic user:password
 *         a user of ACL: he sees what his rules let him run
 *     Authorization: Bearer token
 *         metrics-token: figures, and no names of keys or clients, nor arguments of commands
 *     none
 *         the default user's rights, if he needs no password and the peer is on this machine, and neither
 *         metrics-user nor metrics-token asks for more
 *
 * Invariant: nothing is shown that its asker could not have got from a command that his rules allow. */
#pragma once

#include <stdbool.h>

#include "base/str.h"

struct httpRequest;
struct aclUser;

enum accessVerdict {
    ACCESS_GRANTED,
    ACCESS_DENIED,    /* wrong or no credentials: 401 */
    ACCESS_FORBIDDEN, /* he is known, and may not run INFO: 403 */
    ACCESS_ELSEWHERE, /* 421: a name that is not this machine's leads here, perhaps a page's that wants to
                         read us */
};

struct access {
    enum accessVerdict verdict;
    bool failed_login;          /* credentials were given, and are wrong */
    const struct aclUser *user; /* whose rights count; NULL: nobody's, figures only */
};

void accessInit(void);  /* metrics-user, metrics-token */
void accessStart(void); /* after the configuration */
struct access accessOf(const struct httpRequest *request, bool local_peer, struct str peer);
/* May the user run this command, in that database? argv[0] is its name. False for nobody. */
bool accessMay(const struct access *access, const struct str *argv, int argc, int db);
