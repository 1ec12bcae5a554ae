/* SPDX-License-Identifier: BSD-3-Clause */
/* client_session.c - see client_session.h. The part is only allocated for clients that have a name or whose
 * addresses were shown. */
#include "client/client_session.h"

#include "base/assert.h"
#include "base/zmalloc.h"
#include "net/connection.h"

struct clientSession {
    sds labels[CLIENT_LABELS]; /* NULL: none; never empty */
    sds peer, sock;            /* made on demand */
};

static bool clientSessionNoUserRequired(void) {
    return false;
}
static bool clientSessionNoUserAccepted(struct client *c, struct str user, struct str password) {
    (void)c, (void)user, (void)password;
    return false;
}
static void clientSessionNoUserLogout(struct client *c) {
    (void)c;
}
static struct str clientSessionNoUserName(const struct client *c) {
    (void)c;
    return STR("");
}
static bool clientSessionNoUserExists(struct str user) {
    (void)user;
    return false;
}
static const struct clientUsers nobody = {clientSessionNoUserRequired, clientSessionNoUserAccepted,
                                          clientSessionNoUserLogout, clientSessionNoUserName,
                                          clientSessionNoUserExists};
const struct clientUsers *client_users = &nobody;

static struct clientSession *clientSessionOf(struct client *c) {
    if (!c->session) c->session = zcalloc(1, sizeof *c->session);
    return c->session;
}

struct str clientLabel(const struct client *c, enum clientLabel which) {
    sds text = c->session ? c->session->labels[which] : NULL;
    return text ? sdsview(text) : strN(NULL, 0);
}

void clientSetLabel(struct client *c, enum clientLabel which, struct str text) {
    if (!text.len && !c->session) return;
    sds *label = &clientSessionOf(c)->labels[which];
    sdsfree(*label);
    *label = text.len ? sdsnewstr(text) : NULL;
}

sds clientPeerName(struct client *c) {
    struct clientSession *s = clientSessionOf(c);
    if (!s->peer) s->peer = c->conn ? connPeerName(c->conn) : sdsempty();
    return s->peer;
}

sds clientSockName(struct client *c) {
    struct clientSession *s = clientSessionOf(c);
    if (!s->sock) s->sock = c->conn ? connSockName(c->conn) : sdsempty();
    return s->sock;
}

static size_t clientSessionTextMemory(const sds s) {
    return s ? sdsAllocSize(s) : 0;
}

static size_t clientSessionMemory(const struct client *c) {
    const struct clientSession *s = c->session;
    if (!s) return 0;
    size_t n =
        zmallocGoodSize(sizeof *s) + clientSessionTextMemory(s->peer) + clientSessionTextMemory(s->sock);
    for (int i = 0; i < CLIENT_LABELS; i++) n += clientSessionTextMemory(s->labels[i]);
    return n;
}

static void clientSessionFree(struct client *c) {
    struct clientSession *s = c->session;
    if (!s) return;
    for (int i = 0; i < CLIENT_LABELS; i++) sdsfree(s->labels[i]);
    sdsfree(s->peer);
    sdsfree(s->sock);
    zfreeSized(s, sizeof *s);
    c->session = NULL;
}

void clientSessionInit(void) {
    clientOnFree(clientSessionFree);
    clientOnMemory(clientSessionMemory);
}
