/* SPDX-License-Identifier: BSD-3-Clause */
/* client_session.c - see client_session.h. Most clients have no name, or are never asked for their addresses:
 * the part is there for the others. */
#include "client/client_session.h"

#include "base/assert.h"
#include "base/zmalloc.h"
#include "net/connection.h"

struct clientSession {
    sds labels[CLIENT_LABELS]; /* NULL: none; never empty */
    sds peer, sock;            /* made on demand */
};

static bool noUserRequired(void) {
    return false;
}
static bool noUserAccepted(struct client *c, struct str user, struct str password) {
    (void)c, (void)user, (void)password;
    return false;
}
static void noUserLogout(struct client *c) {
    (void)c;
}
static struct str noUserName(const struct client *c) {
    (void)c;
    return STR("");
}
static bool noUserExists(struct str user) {
    (void)user;
    return false;
}
static const struct clientUsers nobody = {noUserRequired, noUserAccepted, noUserLogout, noUserName,
                                          noUserExists};
const struct clientUsers *client_users = &nobody;

static struct clientSession *sessionOf(struct client *c) {
    if (!c->session) c->session = zcalloc(1, sizeof *c->session);
    return c->session;
}

struct str clientLabel(const struct client *c, enum clientLabel which) {
    sds text = c->session ? c->session->labels[which] : NULL;
    return text ? sdsview(text) : strN(NULL, 0);
}

void clientSetLabel(struct client *c, enum clientLabel which, struct str text) {
    if (!text.len && !c->session) return;
    sds *label = &sessionOf(c)->labels[which];
    sdsfree(*label);
    *label = text.len ? sdsnewstr(text) : NULL;
}

sds clientPeerName(struct client *c) {
    struct clientSession *s = sessionOf(c);
    if (!s->peer) s->peer = c->conn ? connPeerName(c->conn) : sdsempty();
    return s->peer;
}

sds clientSockName(struct client *c) {
    struct clientSession *s = sessionOf(c);
    if (!s->sock) s->sock = c->conn ? connSockName(c->conn) : sdsempty();
    return s->sock;
}

static size_t textMemory(const sds s) {
    return s ? sdsAllocSize(s) : 0;
}

static size_t sessionMemory(const struct client *c) {
    const struct clientSession *s = c->session;
    if (!s) return 0;
    size_t n = zmallocGoodSize(sizeof *s) + textMemory(s->peer) + textMemory(s->sock);
    for (int i = 0; i < CLIENT_LABELS; i++) n += textMemory(s->labels[i]);
    return n;
}

static void sessionFree(struct client *c) {
    struct clientSession *s = c->session;
    if (!s) return;
    for (int i = 0; i < CLIENT_LABELS; i++) sdsfree(s->labels[i]);
    sdsfree(s->peer);
    sdsfree(s->sock);
    zfreeSized(s, sizeof *s);
    c->session = NULL;
}

void clientSessionInit(void) {
    clientOnFree(sessionFree);
    clientOnMemory(sessionMemory);
}
